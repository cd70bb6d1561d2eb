"""Parallel lines through a polygon of two parameters, with any density on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from statveil.theory.bins import Bins
from statveil.theory.comb_layout import knots
from statveil.theory.risk.comb_density import comb_sweep_risk
from statveil.theory.risk.lines import Sweep, sweep_risk
from statveil.theory.risk.polygon import Polygon, chord

__all__ = ["comb_density_risk", "density_risk", "parallel_lines"]

Array = NDArray[np.float64]


def density_risk(
    polygon: Polygon,
    density: Callable[[Array, Array], Array],
    direction: tuple[float, float],
    coordinate: tuple[float, float],
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
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (levels[:, None] - x) / (x_next - x)
    crossings = (y + share * (y_next - y))[(share > 0) & (share < 1)]
    sweep = parallel_lines(polygon, density, direction, coordinate, crossings)
    return sweep_risk(sweep, edges, window, mass=mass, quick=quick)


def comb_density_risk(
    polygon: Polygon,
    density: Callable[[Array, Array], Array],
    direction: tuple[float, float],
    coordinate: tuple[float, float],
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
    bends = []
    for y0, y1, l0, l1 in zip(at[:-1], at[1:], length[:-1], length[1:], strict=True):
        if y1 > y0 and abs(l1 - l0) > 1e-12 * length.max():  # where the layout of the line changes
            found = knots(min(l0, l1), max(l0, l1), *combs, attacker)
            bends.append(y0 + (found - l0) / (l1 - l0) * (y1 - y0))
    sweep = parallel_lines(polygon, density, direction, coordinate, np.concatenate([at, *bends]))
    u, v = _coordinates(core, direction, coordinate)  # quadrature where the mass is
    inside = sweep.knots[(sweep.knots > v.min()) & (sweep.knots < v.max())]
    return comb_sweep_risk(
        replace(sweep, knots=np.sort(np.concatenate([v, inside]))),
        *combs,
        attacker,
        inner=lambda at: chord(u, v, np.roll(u, -1), np.roll(v, -1), at),
        mass=mass,
        quick=quick,
    )


def parallel_lines(
    polygon: Polygon,
    density: Callable[[Array, Array], Array],
    direction: tuple[float, float],
    coordinate: tuple[float, float],
    bends: Array,
) -> Sweep:
    """The lines along ``direction``; ``bends`` are the transverse coordinates where their pieces change."""
    x, y = _coordinates(polygon, direction, coordinate)
    x_next, y_next = np.roll(x, -1), np.roll(y, -1)
    determinant = coordinate[0] * -direction[0] - coordinate[1] * direction[1]  # of (x, y) in the parameters, = -1

    def weight(across: Array, along: Array) -> Array:
        # solve x = coordinate . p, y = (d1, -d0) . p for the parameters p
        first = (-direction[0] * along - coordinate[1] * across) / determinant
        second = (coordinate[0] * across - direction[1] * along) / determinant
        return density(first, second)

    return Sweep(
        knots=np.sort(np.concatenate([y, bends])),
        chord=lambda at: chord(x, y, x_next, y_next, at),
        weight=weight,
    )


def _coordinates(
    polygon: Polygon, direction: tuple[float, float], coordinate: tuple[float, float]
) -> tuple[Array, Array]:
    return polygon.corners @ np.array(coordinate), polygon.corners @ np.array([direction[1], -direction[0]])
