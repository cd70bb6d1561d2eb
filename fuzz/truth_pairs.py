"""Two secrets of one column: the truth of their plans, from the bins in a plan's JSON and from what it releases.

For every rectangle an attacker is spelled out who guesses a window of each statistic. That one of the two is hit is
summed over all rectangles by the beliefs' distribution functions, and counted in pairs of values that are drawn,
released and looked up by their release: where the two do not agree, the plan was misread. Nothing here comes from
statveil.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.beliefs import Belief, belief, members
from fuzz.laws import loc_scale_of, width_of

__all__ = ["Pair", "distortion_of_pair", "draws_agree", "label_of", "pair_truth"]

Array = NDArray[np.float64]
Json = dict[str, Any]

_GRID, _ROUNDS, _FAN = 96, 12, 9
_DRAWN = 30_000


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Hit rates that are attained: of either secret, of each, and of both at once."""

    union: float
    each: tuple[float, ...]
    both: float
    windows: tuple[Array, ...]
    """Where the guess of each bin begins, for the beliefs of the largest union."""
    beliefs: tuple[Belief, ...]


def label_of(secret: Json) -> str:
    """What a plan calls a statistic."""
    if secret["kind"] == "quantile":
        return f"quantile:{secret['alpha']:g}"
    return f"total:{secret['rows']}" if secret["kind"] == "total" else str(secret["kind"])


def edges_of(axis: Json) -> Array:
    """Edges of the bins that a plan's JSON states of one parameter."""
    if "edges" in axis:
        return np.array(axis["edges"], dtype=float)
    low, high, origin, width = (float(axis[key]) for key in ("low", "high", "origin", "width"))
    first, last = math.floor((low - origin) / width), math.ceil((high - origin) / width)
    inner = origin + width * np.arange(first + 1, last)
    hair = 1e-9 * width  # an edge that lies at an end but for rounding is none
    return np.concatenate([[low], inner[(inner > low + hair) & (inner < high - hair)], [high]])


def _sides(plans: Sequence[Json]) -> list[tuple[Json, Json, float, Array]]:
    """Secret, belief, tolerance and all edges of each coordinate."""
    problem = plans[-1]["problem"]
    first = {"secret": problem["secret"], "prior": problem["prior"], "tolerance": problem["tolerance"]}
    found = []
    for part in (first, problem["also"][0]):
        name = label_of(part["secret"])
        cuts = [edges_of(plan["mechanism"]["axes"][name]) for plan in plans]
        edges = np.unique(np.concatenate(cuts))
        near = np.concatenate([[True], np.diff(edges) > 1e-9 * float(np.ptp(edges))])
        found.append((part["secret"], part["prior"], float(part["tolerance"]), edges[near]))
    return found


def _options(secret: Json, prior: Json, edges: Array) -> list[Belief]:
    if prior["kind"] == "lipschitz":
        return members(prior, periods=(float(np.median(np.diff(edges))),))[:8]
    bounds = (0.0, math.inf) if secret["kind"] in ("std", "iqr") else (-math.inf, math.inf)
    return [belief(prior, bounds=bounds)]


def _windows(one: Belief, edges: Array, window: float) -> tuple[Array, Array, Array]:
    """For each bin its mass, the start of the best window found, and what that catches."""
    low = np.maximum(edges[:-1], one.low)
    high = np.maximum(np.minimum(edges[1:], one.high), low)
    mass = np.maximum(one.cdf(high) - one.cdf(low), 0.0)
    last = np.maximum(high - window, low)

    def caught(start: Array) -> Array:
        return np.asarray(one.cdf(np.minimum(start + window, high[:, None])) - one.cdf(start))

    share = np.linspace(0.0, 1.0, _GRID)
    tried = [low[:, None] + (last - low)[:, None] * share]
    inner = one.ppf(one.cdf(low)[:, None] + mass[:, None] * share)  # where the mass is
    marks = np.concatenate([one.knots, one.knots - window / 2, one.knots - window])
    tried += [inner, inner - window / 2, inner - window, np.broadcast_to(marks, (len(low), len(marks)))]
    start = np.sort(np.clip(np.concatenate(tried, axis=1), low[:, None], last[:, None]), axis=1)
    held = caught(start)
    best = np.argmax(held, axis=1)
    rows, count = np.arange(len(low)), start.shape[1]
    at, top = start[rows, best], held[rows, best]
    left, right = start[rows, np.maximum(best - 1, 0)], start[rows, np.minimum(best + 1, count - 1)]
    for _ in range(_ROUNDS):
        fan = left[:, None] + (right - left)[:, None] * np.linspace(0.0, 1.0, _FAN)
        held = caught(fan)
        near = np.argmax(held, axis=1)
        better = held[rows, near] > top
        at, top = np.where(better, fan[rows, near], at), np.maximum(top, held[rows, near])
        left, right = fan[rows, np.maximum(near - 1, 0)], fan[rows, np.minimum(near + 1, _FAN - 1)]
    return mass, at, np.minimum(top, mass)


def pair_truth(plans: Sequence[Json]) -> Pair:
    """What is attained against all of these releases together; under a class of densities, of several members."""
    sides = _sides(plans)
    found: Pair | None = None
    each = [0.0, 0.0]
    for beliefs in itertools.product(*(_options(secret, prior, edges) for secret, prior, _, edges in sides)):
        parts = [_windows(one, side[3], 2 * side[2]) for one, side in zip(beliefs, sides, strict=True)]
        (mass1, _, hit1), (mass2, _, hit2) = parts
        # over all rectangles: both statistics in theirs, less both outside the guesses
        area, missed = np.outer(mass1, mass2), np.outer(mass1 - hit1, mass2 - hit2)
        union, both = float((area - missed).sum()), float(np.outer(hit1, hit2).sum())
        each = [max(old, float(part[2].sum())) for old, part in zip(each, parts, strict=True)]
        if found is None or union > found.union:
            windows = tuple(part[1] for part in parts)
            found = Pair(union=union, each=(), both=both, windows=windows, beliefs=tuple(beliefs))
    assert found is not None
    return Pair(union=found.union, each=tuple(each), both=found.both, windows=found.windows, beliefs=found.beliefs)


def draws_agree(plans: Sequence[Any], data: Sequence[Json], truth: Pair, *, seed: int = 0) -> str:
    """What is wrong with the reading, by drawn pairs that are looked up by their releases; empty where nothing is."""
    rng = np.random.default_rng(seed)
    sides = _sides(data)
    names = [label_of(side[0]) for side in sides]
    drawn = {name: one.ppf(rng.random(_DRAWN)) for name, one in zip(names, truth.beliefs, strict=True)}
    released = [plan.mechanism.release(drawn) for plan in plans]
    hit = []
    for name, side, windows in zip(names, sides, truth.windows, strict=True):
        edges = side[3]
        middle = 0.5 * (edges[1:] + edges[:-1])
        # the guess of a release is that of the bin whose middle has this release
        like = [
            plan.mechanism.release({n: middle if n == name else np.full(len(middle), drawn[n][0]) for n in names})
            for plan in plans
        ]
        keys = np.round(np.stack([one[name] for one in like], axis=1), 9)
        known = {tuple(key): i for i, key in enumerate(keys.tolist())}
        if len(known) < len(middle):
            return f"two bins of the {name} have the same releases"
        seen = np.round(np.stack([one[name] for one in released], axis=1), 9)
        place = np.array([known.get(tuple(key), -1) for key in seen.tolist()])
        if (place < 0).mean() > 1e-3:
            return f"releases of the {name} that no bin has"
        guess = windows[place]
        hit.append((drawn[name] >= guess) & (drawn[name] <= guess + 2 * side[2]))
    rate = float((hit[0] | hit[1]).mean())
    error = math.sqrt(max(truth.union * (1 - truth.union), 1e-4) / _DRAWN)
    return (
        "" if abs(rate - truth.union) <= 5 * error else f"{rate:.5f} of the drawn pairs are hit, {truth.union:.5f} true"
    )


def distortion_of_pair(plan: Any, data: Json, *, seed: int = 0) -> float:
    """Largest W1 between a column and its release that was found, never above the truth."""
    rng = np.random.default_rng(seed)
    sides = _sides([data])
    ends = []
    for _, _, _, edges in sides:
        size = np.diff(edges)
        largest = np.argsort(-size)[:4]
        bins = np.unique(np.concatenate([largest, rng.integers(0, len(size), 12)]))
        ends.append((edges[bins][:, None] + size[bins][:, None] * np.array([1e-7, 0.3, 1 - 1e-7])).ravel())
    grid = np.meshgrid(*ends, indexing="ij")
    names = [label_of(side[0]) for side in sides]
    points = {name: one.ravel() for name, one in zip(names, grid, strict=True)}
    out = plan.mechanism.release(points)
    moved = [out[name] - points[name] for name in names]
    base = data["problem"]["family"]
    if sides[0][0]["kind"] in ("std", "iqr"):
        moved.reverse()
    place, spread = (side[0] for side in sorted(sides, key=lambda side: side[0]["kind"] in ("std", "iqr")))
    if base is not None:
        loc, scale = loc_scale_of(base, place, spread, *moved)
        return float(width_of(base, loc, scale).max())
    return _of_any_shape(place, moved[0] / place.get("rows", 1), moved[1])


def _of_any_shape(place: Mapping[str, Any], shift: Array, stretch: Array) -> float:
    """E|shift + stretch z| for columns z with this statistic at 0 and a standard deviation of 1, spelled out."""
    found = np.abs(shift).max()
    if place["kind"] in ("mean", "total"):
        # two values such that all rows move by the same distance
        reach = np.hypot(shift, stretch)
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = (reach - shift) / stretch, (-reach - shift) / stretch
            share = -down / (up - down)
            moved = share * np.abs(shift + stretch * up) + (1 - share) * np.abs(shift + stretch * down)
        return float(np.nanmax(np.where(np.isfinite(moved), moved, found)))
    level = place.get("alpha", 0.5)
    for share in np.linspace(0.01, 0.99, 99):
        for sign, room in ((1.0, 1 - level), (-1.0, level)):
            if share < room:  # the rest stays at the quantile
                z = sign / math.sqrt(share * (1 - share))
                found = max(found, float(((1 - share) * np.abs(shift) + share * np.abs(shift + stretch * z)).max()))
    return float(found)
