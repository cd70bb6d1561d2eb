"""Parallel lines through a polygon of two parameters, with any density on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from statveil.theory.bins import Bins
from statveil.theory.risk.lines import Sweep, sweep_risk
from statveil.theory.risk.polygon import Polygon, chord

__all__ = ["density_risk"]

Array = NDArray[np.float64]


def density_risk(
    polygon: Polygon,
    density: Callable[[Array, Array], Array],
    direction: tuple[float, float],
    coordinate: tuple[float, float],
    bins: Bins,
    window: float,
    *,
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
    determinant = coordinate[0] * -direction[0] - coordinate[1] * direction[1]  # of (x, y) in the parameters, = -1

    def weight(across: Array, along: Array) -> Array:
        # solve x = coordinate . p, y = (d1, -d0) . p for the parameters p
        first = (-direction[0] * along - coordinate[1] * across) / determinant
        second = (coordinate[0] * across - direction[1] * along) / determinant
        return density(first, second)

    sweep = Sweep(
        knots=np.sort(np.concatenate([y, crossings])),
        chord=lambda at: chord(x, y, x_next, y_next, at),
        weight=weight,
    )
    return sweep_risk(sweep, edges, window, quick=quick)


def _coordinates(
    polygon: Polygon, direction: tuple[float, float], coordinate: tuple[float, float]
) -> tuple[Array, Array]:
    return polygon.corners @ np.array(coordinate), polygon.corners @ np.array([direction[1], -direction[0]])
