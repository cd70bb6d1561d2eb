"""Parallel lines through a polygon of two parameters, with any independent beliefs on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.theory.bins import Bins
from statveil.theory.comb_layout import knots
from statveil.theory.risk.comb_density import comb_sweep_risk
from statveil.theory.risk.lines import Caught, Sweep, caught_share
from statveil.theory.risk.mass import height, primitive
from statveil.theory.risk.polygon import Polygon, chord
from statveil.theory.risk.windows_on_lines import best_windows

__all__ = ["comb_density_risk", "density_risk", "marks", "pieces_caught"]

Pair = tuple[float, float]

_QUANTILES = 48
_MOST_BENDS = 20_000
_MOST_PEAKS = 400


def density_risk(
    polygon: Polygon,
    axes: Sequence[Axis],
    direction: Pair,
    coordinate: Pair,
    bins: Bins,
    window: float,
    *,
    mass: float | None = None,
    quick: bool = False,
) -> float:
    """P(hit) for bands along ``coordinate`` and lines along ``direction`` (coordinate . direction = 1).

    ``quick`` uses fewer nodes: for comparing candidates, never for a reported risk.
    """
    edges = bins.edges()
    x, y = _coordinates(polygon, direction, coordinate)
    x_next, y_next = np.roll(x, -1), np.roll(y, -1)
    # lengths bend where a line meets a corner of its band, and where the piece is just one window long
    levels = np.concatenate([edges, edges[:-1] + window, edges[1:] - window])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        share = (levels[:, None] - x) / (x_next - x)
    crossings = (y + share * (y_next - y))[(share > 0) & (share < 1)]
    sweep = _lines(polygon, axes, direction, coordinate, crossings)
    return pieces_caught(sweep, edges, window, mass=mass, quick=quick)


def pieces_caught(
    sweep: Sweep, edges: Array, window: float, *, mass: float | None = None, quick: bool = False
) -> float:
    """P(hit) where bins with these edges cut the lines of a sweep into pieces."""
    bins = len(edges) - 1
    cells = int(np.clip((64 if quick else 192) // bins, 2, 4 if quick else 12))

    def on_lines(at: Array) -> Caught:
        enter, leave = sweep.chord(at)
        # the bins that each line meets are neighbours: of many bins on long lines these are few
        first = np.clip(np.searchsorted(edges, enter, side="right") - 1, 0, bins - 1)
        last = np.clip(np.searchsorted(edges, leave, side="left") - 1, 0, bins - 1)
        met = np.maximum(last - first + 1, 0)
        line = np.repeat(np.arange(len(at)), met)
        band = first[line] + np.arange(len(line)) - np.repeat(np.cumsum(met) - met, met)
        start, stop = np.maximum(enter[line], edges[band]), np.minimum(leave[line], edges[band + 1])
        inside = stop > start
        line, start, stop = line[inside], start[inside], stop[inside]
        found = best_windows(sweep, at[line], start, stop, window, cells=cells, zooms=0 if quick else 3)
        hit, whole = np.zeros(len(at)), np.zeros(len(at))
        np.add.at(hit, line, found.hit)
        np.add.at(whole, line, found.mass)
        return Caught(hit=hit, mass=whole)

    return caught_share(sweep, on_lines, mass=mass, quick=quick, most=int(np.clip(400_000 / bins, 2_000, 40_000)))


def comb_density_risk(
    polygon: Polygon,
    axes: Sequence[Axis],
    direction: Pair,
    coordinate: Pair,
    combs: tuple[int, float, float],
    attacker: float,
    *,
    core: Polygon,
    mass: float | None = None,
    quick: bool = False,
) -> float:
    """P(hit) for ``combs`` (teeth, extent, window) on the lines along ``direction``."""
    x, y = _coordinates(polygon, direction, coordinate)
    at = np.sort(y)
    low, high = chord(x, y, np.roll(x, -1), np.roll(y, -1), at)
    length = np.maximum(high - low, 0.0)
    bends = [at]
    for y0, y1, l0, l1 in zip(at[:-1], at[1:], length[:-1], length[1:], strict=True):
        few = abs(l1 - l0) < _MOST_BENDS * combs[2]
        if y1 > y0 and abs(l1 - l0) > 1e-12 * length.max() and few:  # where the layout of the line changes
            found = knots(min(l0, l1), max(l0, l1), *combs, attacker)
            bends.append(y0 + (found - l0) / (l1 - l0) * (y1 - y0))
    u, v = _coordinates(core, direction, coordinate)  # quadrature where the mass is
    inside = np.concatenate(bends)
    inside = inside[(inside > v.min()) & (inside < v.max())]
    sweep = _lines(polygon, axes, direction, coordinate, inside, ends=(float(v.min()), float(v.max())))
    return comb_sweep_risk(
        sweep,
        *combs,
        attacker,
        inner=lambda at: chord(u, v, np.roll(u, -1), np.roll(v, -1), at),
        mass=mass,
        quick=quick,
    )


def _lines(
    polygon: Polygon,
    axes: Sequence[Axis],
    direction: Pair,
    coordinate: Pair,
    bends: Array,
    *,
    ends: Pair | None = None,
) -> Sweep:
    """The lines along ``direction``; ``bends`` are the transverse coordinates where their pieces change."""
    x, y = _coordinates(polygon, direction, coordinate)
    x_next, y_next = np.roll(x, -1), np.roll(y, -1)
    determinant = coordinate[0] * -direction[0] - coordinate[1] * direction[1]  # of (x, y) in the parameters, = -1

    def parameters(across: Array, along: Array) -> tuple[Array, Array]:
        # solve x = coordinate . p, y = (d1, -d0) . p for the parameters p
        first = (-direction[0] * along - coordinate[1] * across) / determinant
        second = (coordinate[0] * across - direction[1] * along) / determinant
        return first, second

    def weight(across: Array, along: Array) -> Array:
        first, second = parameters(across, along)
        return height(axes[0], first) * height(axes[1], second)

    def spread(across: Array, along: Array) -> Array:
        parts = zip(axes, parameters(across, along), direction, strict=True)
        return np.asarray(sum((np.sign(d) * axis.cdf(p) for axis, p, d in parts if d and not axis.flat), 0.0 * along))

    bent = [(i, axes[i].turns) for i in (0, 1) if direction[i] and not axes[i].flat]

    def turns(across: Array) -> Array:
        # along a line the parameters change by the direction: from where it stands at 0 to each turn of a belief
        at = parameters(across, np.zeros(across.shape))
        return np.concatenate([(places - at[i][:, None]) / direction[i] for i, places in bent], axis=1)

    low, high = (float(y.min()), float(y.max())) if ends is None else ends
    inner = bends[(bends > low) & (bends < high)]
    corners = y[(y > low) & (y < high)]
    points = np.meshgrid(*(marks(axis) for axis in axes))
    across = points[0].ravel() * direction[1] - points[1].ravel() * direction[0]
    moved = [i for i in (0, 1) if direction[i] and (axes[1 - i].flat or not direction[1 - i])]
    below = None
    if moved:  # one belief alone changes along the lines: its distribution function is the mass
        i = moved[0] if len(moved) == 1 or not axes[moved[0]].flat else moved[1]

        def mass_below(across: Array, along: Array) -> Array:
            place = parameters(across, along)
            return primitive(axes[i], place[i]) / direction[i] * height(axes[1 - i], place[1 - i])

        below = mass_below
    return Sweep(
        knots=np.sort(np.concatenate([[low], inner, corners, [high]])),
        landmarks=np.unique(np.concatenate([np.quantile(across, np.linspace(0.0, 1.0, 65)), _peaks(axes, direction)])),
        chord=lambda at: chord(x, y, x_next, y_next, at),
        weight=weight,
        spread=spread if any(d and not axis.flat for axis, d in zip(axes, direction, strict=True)) else None,
        below=below,
        turns=turns if bent else None,
    )


def _peaks(axes: Sequence[Axis], direction: Pair) -> Array:
    """Lines that pass where both beliefs turn: the mass of narrow peaks begins, tops and ends on them."""
    turns = [np.array([axis.low, axis.high]) if axis.flat else axis.turns for axis in axes]
    for i in (0, 1):
        if not direction[1 - i]:  # lines along the one parameter: only the other one tells them apart
            turns[i] = turns[i][:1]
    few = [places if len(places) <= 48 else places[:: len(places) // 48 + 1] for places in turns]
    if len(few[0]) * len(few[1]) > _MOST_PEAKS:
        return np.zeros(0)
    first, second = np.meshgrid(*few)
    return np.asarray((first * direction[1] - second * direction[0]).ravel())


def marks(axis: Axis) -> Array:
    """Values of a parameter with equal mass between them."""
    return axis.ppf((np.arange(_QUANTILES) + 0.5) / _QUANTILES)


def _coordinates(polygon: Polygon, direction: Pair, coordinate: Pair) -> tuple[Array, Array]:
    return polygon.corners @ np.array(coordinate), polygon.corners @ np.array([direction[1], -direction[0]])
