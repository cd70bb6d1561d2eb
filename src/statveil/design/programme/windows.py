"""What a window of the secret catches of cells whose mass is spread evenly, and the risk of an assignment."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from statveil.design.cells.cell_grid import Assignment, CellGrid

__all__ = ["candidates", "covered", "reach", "risk_of", "runs_of"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_SLACK = 1e-12


def reach(grid: CellGrid, window: float | None = None) -> float:
    """Length of a window, a rounding error longer: two values exactly one window apart are both inside."""
    length = grid.window if window is None else window
    size = max(float(np.abs(grid.low).max()), float(np.abs(grid.high).max()))
    return length * (1 + _SLACK) + 4 * float(np.spacing(size))


def runs_of(grid: CellGrid) -> Index:
    """First cells of the runs that no other run contains: run i lies in run i - 1 where both end alike."""
    return np.flatnonzero(np.concatenate([[True], grid.last[1:] > grid.last[:-1]]))


def candidates(low: Array, high: Array, length: float) -> tuple[Array, Array]:
    """Start and stop of the windows among which one catches most, whatever the masses of these cells are.

    Moving a window to the right, what it gains per step only rises where it begins to enter a cell and what it loses
    only rises where it begins to leave one: the best window starts at a low end or stops at a high end. Windows
    that hang over the end of the cells catch no more than the one that stops there.
    """
    bottom, top = float(low.min()), float(high.max())
    if top - bottom <= length:
        return np.array([bottom]), np.array([top])
    starts = low[low + length < top]
    stops = high[high - length >= bottom]
    start, stop = np.concatenate([starts, stops - length]), np.concatenate([starts + length, stops])
    order = np.argsort(start)
    return start[order], stop[order]


def covered(low: Array, high: Array, start: Array, stop: Array) -> Array:
    """Share of each cell (columns) that lies in each closed window (rows)."""
    start, stop = start[:, None], stop[:, None]
    point = high <= low
    inside = np.minimum(stop, high) - np.maximum(start, low)
    share = np.clip(inside / np.where(point, 1.0, high - low), 0.0, 1.0)
    return np.where(point, inside >= 0, share)


def risk_of(grid: CellGrid, assignment: Assignment, window: float | None = None) -> float:
    """Prior mass that the best guess for each release catches, with the mass of each cell spread evenly in it."""
    length = reach(grid, window)
    layer = _layers(grid)
    order = np.lexsort((grid.high[assignment.cell], grid.low[assignment.cell], assignment.release))
    cell = assignment.cell[order]
    mass = (grid.mass[assignment.cell] * assignment.probability)[order]
    cuts = np.flatnonzero(np.diff(assignment.release[order])) + 1
    total = 0.0
    for part, weight in zip(np.split(cell, cuts), np.split(mass, cuts), strict=True):
        start, stop = candidates(grid.low[part], grid.high[part], length)
        caught = np.zeros(len(start))
        for which in np.unique(layer[part]):
            own = layer[part] == which
            low, high = grid.low[part[own]], grid.high[part[own]]
            caught += _below(low, high, weight[own], stop, "right") - _below(low, high, weight[own], start, "left")
        total += float(caught.max())
    return total


def _below(low: Array, high: Array, mass: Array, at: Array, side: Literal["left", "right"]) -> Array:
    """Mass below each value, of cells in their order that do not overlap; ``right`` counts mass at the very value."""
    whole = np.concatenate([[0.0], np.cumsum(mass)])
    done = np.searchsorted(high, at, side=side)
    next_ = np.minimum(done, len(mass) - 1)
    wide = (done < len(mass)) & (high[next_] > low[next_])
    part = np.clip((at - low[next_]) / np.where(wide, high[next_] - low[next_], 1.0), 0.0, 1.0)
    return whole[done] + np.where(wide, part, 0.0) * mass[next_]


def _layers(grid: CellGrid) -> Index:
    """A number for each cell, so that cells of one number do not overlap in the secret."""
    order = np.lexsort((grid.high, grid.low))
    layer = np.zeros(len(grid), dtype=np.int64)
    if np.all(grid.high[order][:-1] <= grid.low[order][1:]):
        return layer
    tops: list[float] = []  # of the highest cell of each layer so far
    for at in order.tolist():
        low = grid.low[at]
        which = next((number for number, top in enumerate(tops) if top <= low), len(tops))
        tops[which : which + 1] = [float(grid.high[at])]
        layer[at] = which
    return layer
