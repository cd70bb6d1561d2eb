"""From a plan's JSON to lines: where parameters lie, which of them share a release."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.beliefs import Belief
from fuzz.comb_layouts import SAME, comb_blocks, packed_blocks, turning_lengths
from fuzz.laws import names_of, secret
from fuzz.truth_lines import Lines, Pieces

__all__ = ["bin_edges", "parallel", "points_of", "rays", "simplex"]

Array = NDArray[np.float64]
Json = Mapping[str, Any]

_MOST_BENDS = 40_000
_FEW_BLOCKS = 57


def bin_edges(mechanism: Json) -> Array:
    """Edges of equal bins from the origin, the last one cut where the range ends."""
    low, high, origin, width = (float(mechanism[key]) for key in ("low", "high", "origin", "width"))
    first, last = math.floor((low - origin) / width) - 1, math.ceil((high - origin) / width) + 1
    inner = origin + width * np.arange(first, last + 1)
    slack = 1e-9 * width
    return np.concatenate([[low], inner[(inner > low + slack) & (inner < high - slack)], [high]])


def _bins(mechanism: Json, low: Array, high: Array) -> Pieces:
    edges = bin_edges(mechanism)
    first = np.clip(np.searchsorted(edges, low, side="right") - 1, 0, len(edges) - 2)
    last = np.clip(np.searchsorted(edges, high, side="left"), 1, len(edges) - 1)
    count = np.maximum(last - first, 1)
    row = np.repeat(np.arange(len(low)), count)
    index = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    start = np.maximum(edges[index], low[row])
    stop = np.minimum(edges[index + 1], high[row])
    # beyond the outermost edges the outermost bins go on
    start = np.where(index == 0, low[row], start)
    stop = np.where(index == len(edges) - 2, high[row], stop)
    step = float(mechanism["step"]) if mechanism.get("step") else 0.0
    return Pieces(row=row, start=start, stop=np.maximum(stop, start), spacing=np.full(len(row), step))


def _combs(mechanism: Json, low: Array, high: Array) -> Pieces:
    window, teeth = float(mechanism["window"]), int(mechanism["teeth"])
    if mechanism.get("packed"):
        count, size, spacing, rest = packed_blocks(high - low, window=window, teeth=teeth)
        end = np.where(rest > (teeth - 1) * window * (1 + SAME), window, 0.0)
    else:
        count, size, spacing, rest = comb_blocks(high - low, window=window, teeth=teeth, extent=mechanism["extent"])
        end = np.zeros_like(low)
    total = (count + (rest > 0)).astype(np.int64)
    row = np.repeat(np.arange(len(low)), total)
    index = np.arange(len(row)) - np.repeat(np.cumsum(total) - total, total)
    left = index >= count[row]
    start = low[row] + index * size[row]
    return Pieces(
        row=row,
        start=start,
        stop=np.where(left, start + rest[row], start + size[row]),
        spacing=np.where(left, end[row], spacing[row]),
    )


def _pieces(mechanism: Json, low: Array, high: Array) -> Pieces:
    return _combs(mechanism, low, high) if mechanism["kind"] == "comb" else _bins(mechanism, low, high)


def _form(form: Json, names: tuple[str, ...]) -> Array:
    return np.array([float(form.get(name, 0.0)) for name in names])


def points_of(names: tuple[str, ...], base: Array, direction: Array) -> Any:
    """theta(u, t) of parallel lines, as a function."""
    return lambda u, t: {name: u * base[i] + t * direction[i] for i, name in enumerate(names)}


def _unimodal(beliefs: list[Belief], moved: list[bool]) -> bool:
    """One peak along every line: a single belief with one peak, or any number of log-concave ones."""
    bent = [b for b, move in zip(beliefs, moved, strict=True) if move and not b.flat and not b.known]
    return all(b.log_concave for b in bent) or (len(bent) == 1 and bent[0].unimodal)


def parallel(plan: Json, beliefs: Mapping[str, Belief], tolerance: float) -> tuple[Lines, Any]:
    """Lines along the mechanism's direction through a box, and theta(u, t)."""
    family, mechanism = plan["problem"]["family"], plan["mechanism"]
    names = names_of(family)
    axes = [beliefs[name] for name in names]
    d, k = _form(mechanism["direction"], names), _form(mechanism["coordinate"], names)
    if len(names) == 1:
        n = np.array([0.0])
        d = d / (d @ k)
    else:
        n = np.array([-k[1], k[0]])
    free = [not axis.known for axis in axes]
    slope = _slope(plan, names, d)
    if slope == 0 or any(not f and abs(x) > 1e-12 for f, x in zip(free, d, strict=True)):
        raise Certain
    corner = [np.array(point) for point in _corners(axes, family["name"])]

    def u_of(point: Array) -> float:
        if len(names) == 1:
            return 0.0
        return float((point[0] * d[1] - point[1] * d[0]) / (n[0] * d[1] - n[1] * d[0]))

    limits = [(np.eye(len(names))[i], axis.low, axis.high) for i, axis in enumerate(axes) if free[i]]
    cut = family["name"] == "uniform"
    if cut:
        limits.append((np.array([-1.0, 1.0]), 0.0, math.inf))

    def span(u: Array) -> tuple[Array, Array]:
        back, ahead = np.full(u.shape, -np.inf), np.full(u.shape, np.inf)
        for form, low, high in limits:
            rate, at = float(form @ d), u * float(form @ n)
            if abs(rate) > 1e-14:
                ends = np.stack([(low - at) / rate, (high - at) / rate])
                back, ahead = np.maximum(back, ends.min(axis=0)), np.minimum(ahead, ends.max(axis=0))
        return back, np.maximum(ahead, back)

    def density(u: Array, t: Array) -> Array:
        total: Array = np.ones(np.broadcast(u, t).shape)
        for i, axis in enumerate(axes):
            if free[i]:
                # rounding at the ends of a line must not put a point outside
                total = total * axis.pdf(np.clip(u * n[i] + t * d[i], axis.low, axis.high))
        return total

    def knots(u: Array) -> Array:
        rows = [np.zeros((len(u), 0))]
        for i, axis in enumerate(axes):
            if free[i] and abs(d[i]) > 1e-14 and not axis.flat:
                rows.append((axis.knots - (u * n[i])[:, None]) / d[i])
        return np.concatenate(rows, axis=1)

    moving = [i for i in range(len(axes)) if free[i] and abs(d[i]) > 1e-14]
    bent = [i for i in moving if not axes[i].flat]

    def below(u: Array, t: Array) -> Array:
        # one belief changes along the line: its distribution function; the others are constant there
        total: Array = np.ones(np.broadcast(u, t).shape)
        for i, axis in enumerate(axes):
            at = np.clip(u * n[i] + t * d[i], axis.low, axis.high)
            if i == bent[0]:
                total = total * axis.cdf(at) / d[i]
            elif free[i]:
                total = total * axis.pdf(at)
        return total

    moved = [abs(x) > 1e-14 for x in d]
    even = all(axis.flat or axis.known or not move for axis, move in zip(axes, moved, strict=True))
    single = sum(free) == 1
    values = sorted(u_of(point) for point in corner)
    if single:
        cuts, every = np.array([values[0]]), True
    else:
        # with a formula for each line, thousands of bends cost nothing
        most = _MOST_BENDS if even else 1500
        window = 2 * tolerance / abs(slope)
        cuts, every = _bends(mechanism, _u_cuts(axes, u_of, values, d), values, span, window, most=most)
    clipped = cut and axes[0].high > axes[1].low
    lines = Lines(
        span=span,
        density=density,
        knots=knots,
        cuts=cuts,
        window=2 * tolerance / abs(slope),
        pieces=lambda u, low, high: _pieces(mechanism, low, high),
        flat=even,
        unimodal=_unimodal(axes, moved),
        mass=None if clipped or single else 1.0,
        below=below if len(bent) == 1 else None,
        crooked=mechanism["kind"] == "comb" and _blocks(mechanism, values, span) > _FEW_BLOCKS,
        unseen=not every,
        caught=_caught(mechanism, 2 * tolerance / abs(slope))
        if even and mechanism["kind"] == "comb" and not mechanism.get("packed")
        else None,
    )
    return lines, points_of(names, n, d)


def _caught(mechanism: Json, window: float) -> Any:
    """What the best windows catch of even lines of these lengths: of each block so many whole spacings."""

    def of(length: Array) -> Array:
        count, size, spacing, rest = comb_blocks(
            length, window=mechanism["window"], teeth=mechanism["teeth"], extent=mechanism["extent"]
        )
        comb = spacing > 0
        held = np.where(comb, (np.floor(window / np.where(comb, spacing, 1.0) + 1e-12) + 1) * spacing, window)
        return np.asarray(np.minimum(count * np.minimum(size, held) + np.minimum(rest, window), length))

    return of


class Certain(Exception):  # noqa: N818  (not a failure: the release tells the secret)
    """Every line tells the secret: the risk is 1."""


def _slope(plan: Json, names: tuple[str, ...], d: Array) -> float:
    problem = plan["problem"]
    # far from each other, so that rounding of a large location does not matter; every secret here is linear
    one = {name: np.array([1.0 + i]) for i, name in enumerate(names)}
    two = {name: one[name] + d[i] for i, name in enumerate(names)}
    values = [secret(problem["family"], problem["secret"], params) for params in (one, two)]
    rate = float((values[1] - values[0])[0])
    return 0.0 if abs(rate) < 1e-12 else rate


def _corners(axes: list[Belief], family: str) -> list[tuple[float, ...]]:
    if len(axes) == 1:
        return [(axes[0].low,), (axes[0].high,)]
    a, b = axes
    found: list[tuple[float, ...]] = [(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    if family == "uniform":
        found = [(x, y) for x, y in found if x <= y]
        low, high = max(a.low, b.low), min(a.high, b.high)
        if low < high:
            found += [(low, low), (high, high)]
    return found


def _u_cuts(axes: list[Belief], u_of: Any, corners: list[float], d: Array) -> Array:
    """Corners of the support, and where the bulk of peaked beliefs lies."""
    picks = []
    for axis in axes:
        if axis.flat or axis.known:
            picks.append(np.array([axis.low, axis.high]))
        else:
            picks.append(axis.knots[:: max(1, len(axis.knots) // 6)])
    grid = [u_of(np.array([x, y])) for x in picks[0] for y in picks[1]]
    if abs(d[0]) < 1e-14 or abs(d[1]) < 1e-14:  # lines along one axis: the other one's knots are all there is
        still = axes[0] if abs(d[0]) < 1e-14 else axes[1]
        other = axes[1] if still is axes[0] else axes[0]
        grid = [
            u_of(np.array([x, other.low] if still is axes[0] else [other.low, x]))
            for x in (still.knots if not still.known else [still.low])
        ]
    low, high = corners[0], corners[-1]
    values = np.array([u for u in [*grid, *corners] if low <= u <= high])
    even = np.linspace(low, high, 9)
    return np.unique(np.concatenate([values, even]))


def _blocks(mechanism: Json, corners: list[float], span: Any) -> float:
    """About how many blocks of a comb the longest line has."""
    low, high = span(np.array(corners))
    return float(np.max(high - low, initial=0.0)) / (float(mechanism["teeth"]) * float(mechanism["window"]))


def _bends(
    mechanism: Json,
    cuts: Array,
    corners: list[float],
    span: Any,
    window: float,
    *,
    rays: bool = False,
    most: int = 1500,
) -> tuple[Array, bool]:
    """The cuts, and where pieces appear, vanish, or grow past a window: the integrand bends there; and whether all.

    Between corners the ends of parallel lines are linear in u, and so are the inverse ends of rays.
    """
    if mechanism["kind"] == "comb":
        many = _blocks(mechanism, corners, span) if most == _MOST_BENDS else 0.0
        n = np.arange(1, int(np.clip(many, _FEW_BLOCKS, _MOST_BENDS)) + 3)
        ends: Array = np.zeros(0)
        lengths = turning_lengths(mechanism, n, window)
    else:
        edges = bin_edges(mechanism)
        ends, lengths = np.concatenate([edges, edges - window, edges + window]), np.array([window])
    found = [cuts]
    places = np.unique(np.array(corners))
    for a, b in pairwise(places):
        near = np.array([a + 1e-9 * (b - a), b - 1e-9 * (b - a)])
        low, high = span(near)
        wanted = [(low, ends), (high, ends)] + ([] if rays else [(high - low, lengths)])
        for values, targets in wanted:
            if rays:
                with np.errstate(divide="ignore"):
                    values, targets = 1 / values, 1 / targets[targets > 0]
            if values[0] != values[1] and np.all(np.isfinite(values)):
                share = (targets - values[0]) / (values[1] - values[0])
                found.append(near[0] + (near[1] - near[0]) * share[(share > 0) & (share < 1)])
    every = np.unique(np.concatenate(found))
    return (every, True) if len(every) < most else (cuts, False)


def rays(plan: Json, beliefs: Mapping[str, Belief], tolerance: float) -> tuple[Lines, Any]:
    """Rays from the known bound through a box, and theta(u, t); t is the secret measured from the bound."""
    mechanism, family = plan["mechanism"], plan["problem"]["family"]
    names = (mechanism["loc"], mechanism["scale"])
    axes = [beliefs[name] for name in names]
    about = float(mechanism["about"])
    f = _form(mechanism["form"], names)
    base, turn = f / (f @ f), np.array([-f[1], f[0]])
    apex = np.array([about, 0.0])

    def way(u: Array) -> tuple[Array, Array]:
        return base[0] + u * turn[0], base[1] + u * turn[1]

    def point(u: Array, t: Array) -> dict[str, Array]:
        p, q = way(u)
        return {names[0]: about + t * p, names[1]: t * q}

    def span(u: Array) -> tuple[Array, Array]:
        back, ahead = np.zeros(u.shape), np.full(u.shape, np.inf)
        for part, axis, at in zip(way(u), axes, apex, strict=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = np.stack([(axis.low - at) / part, (axis.high - at) / part])
            back = np.where(part != 0, np.maximum(back, ends.min(axis=0)), back)
            ahead = np.where(part != 0, np.minimum(ahead, ends.max(axis=0)), ahead)
        return back, np.maximum(ahead, back)

    def density(u: Array, t: Array) -> Array:
        where = point(u, t)
        total = np.abs(t) + 0.0 * u
        for name, axis in zip(names, axes, strict=True):
            total = total * axis.pdf(np.clip(where[name], axis.low, axis.high))
        return total

    def knots(u: Array) -> Array:
        rows = [np.zeros((len(u), 0))]
        for part, axis, at in zip(way(u), axes, apex, strict=True):
            if not axis.flat:
                with np.errstate(divide="ignore", invalid="ignore"):
                    place = (axis.knots - at) / part[:, None]
                rows.append(np.where(np.isfinite(place), place, 0.0))
        return np.concatenate(rows, axis=1)

    def u_of(at: Array) -> float:
        moved = at - apex
        return float(moved @ turn / (moved @ f) / (turn @ turn))

    if any(axis.known for axis in axes):
        raise Certain  # a ray meets a known value once
    corners = sorted(u_of(np.array(corner)) for corner in _corners(axes, family["name"]))
    one = point(np.array([corners[0]]), np.array([1.0]))
    two = point(np.array([corners[0]]), np.array([2.0]))
    problem = plan["problem"]
    rate = float((secret(family, problem["secret"], two) - secret(family, problem["secret"], one))[0])
    window = 2 * tolerance / abs(rate)
    cuts, every = _bends(
        mechanism, _u_cuts(axes, u_of, corners, np.array([1.0, 1.0])), corners, span, window, rays=True
    )
    lines = Lines(
        span=span,
        density=density,
        knots=knots,
        cuts=cuts,
        unseen=not every,
        window=window,
        pieces=lambda u, low, high: _bins(mechanism, low, high),
        flat=False,
        unimodal=False,
        mass=1.0,
    )
    return lines, point


def simplex(plan: Json, tolerance: float) -> tuple[Lines, Any]:
    """Lines of a share that grows at the cost of all others alike; u is the length of a line.

    Every vector of shares is equally likely. With the smallest other share m, a line runs from 0 to p + (C - 1) m;
    lines of length u are as likely as u (1 - u)^(C - 3), and the share is uniform on them.
    """
    mechanism, family = plan["mechanism"], plan["problem"]["family"]
    labels = list(family["labels"])
    count, along = len(labels), str(mechanism["along"])
    others = [label for label in labels if label != along]

    def density(u: Array, t: Array) -> Array:
        return (1 - u) ** (count - 3) + 0.0 * t if count > 2 else np.ones(np.broadcast(u, t).shape)

    def point(u: Array, t: Array) -> dict[str, Array]:
        spare = (u - t) / (count - 1)
        # what is not on the line lies with the last of the others, or two of them
        rest = {label: spare + ((1 - u) if i == count - 2 else 0.0) for i, label in enumerate(others)}
        return {along: t + 0.0 * u, **rest}

    edges = np.linspace(0.0, 1.0, 17)
    if mechanism["kind"] == "interval":
        inner = bin_edges(mechanism)
        edges = np.concatenate([inner, np.minimum(inner + 2 * tolerance, 1.0)])

    def span(u: Array) -> tuple[Array, Array]:
        return np.zeros(u.shape), u

    comb = mechanism["kind"] == "comb"
    if comb:
        edges, _ = _bends(mechanism, edges, [0.0, 1.0], span, 2 * tolerance, most=_MOST_BENDS)
    lines = Lines(
        span=span,
        density=density,
        knots=lambda u: np.zeros((len(u), 0)),
        cuts=np.array([1.0]) if count == 2 else np.unique(np.clip(np.concatenate([edges, [0.0, 1.0]]), 0, 1)),
        window=2 * tolerance,
        pieces=lambda u, low, high: _pieces(mechanism, low, high),
        flat=True,
        unimodal=True,
        mass=None,
        crooked=comb,
    )
    return lines, point
