"""What the linear programme found, and the check of all that it says, without a solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from statveil.design.cells.grid import Assignment, CellGrid
from statveil.numeric import Array, Index

__all__ = ["Certificate", "Solution", "candidates", "check", "covered", "lower_bound", "reach", "risk_of", "runs_of"]


_ROUNDING = 1e-12
_LEAST = 1e-9
_SLACK = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Certificate:
    """For each run a guess drawn at random: windows with their weights.

    Parameters
    ----------
    run : array of int
        First cell of the run of each window.
    start, stop, weight : array
        Ends of each window in the secret, and its weight.
    """

    run: Index
    start: Array
    stop: Array
    weight: Array


def lower_bound(grid: CellGrid, certificate: Certificate) -> float:
    """A risk that no randomised mechanism on the grid is below.

    A release of run r lets a guess catch at least what a window drawn by the weights catches on average: the sum over
    cells i of mass_i P(r | i) c_r(i), c_r(i) being the expected share of cell i in that window. Summed over the runs it
    is at least the sum of mass_i min_r c_r(i), as the P(r | i) of a cell add up to 1.
    """
    # a window that is too long proves nothing, and weights of a run that add up to more than 1 are scaled down
    fits = certificate.stop - certificate.start <= reach(grid, reach(grid, grid.window))
    weight = np.where(fits & (certificate.weight > 0), certificate.weight, 0.0)
    total = np.zeros(len(grid))
    np.add.at(total, certificate.run, weight)
    weight = weight / np.maximum(total[certificate.run], 1.0)
    least = np.full(len(grid), np.inf)
    order = np.argsort(certificate.run, kind="stable")
    opens = np.searchsorted(certificate.run[order], np.arange(len(grid) + 1))
    for run in runs_of(grid):
        own = order[opens[run] : opens[run + 1]]
        part = slice(run, grid.last[run] + 1)
        share = covered(grid.low[part], grid.high[part], certificate.start[own], certificate.stop[own])
        least[part] = np.minimum(least[part], weight[own] @ share)
    return max(0.0, float(grid.mass @ least) * (1 - _ROUNDING))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """An assignment, its risk, and a risk that no assignment is below; the mass of a cell is spread evenly in it."""

    assignment: Assignment
    """A release has the number of the first cell of its run."""
    risk: float
    """Computed from the assignment, not the solver's word."""
    lower_bound: float
    """No randomised mechanism on the grid has a lower risk; 0 if it was not asked for."""
    certificate: Certificate
    """What proves it."""


def check(grid: CellGrid, solution: Solution) -> list[str]:
    """What does not hold of a solution: nothing, if the list is empty. Uses no solver."""
    found, certificate = solution.assignment, solution.certificate
    sizes = {len(found.cell), len(found.release), len(found.probability)}
    if len(sizes) > 1 or not len(found.cell) or not 0 <= found.cell.min() <= found.cell.max() < len(grid):
        return ["The entries of the assignment do not name cells of the grid."]
    if not np.all(np.isfinite(found.probability)) or found.probability.min() < 0:
        return ["A probability is negative or not a number."]
    wrong = []
    total = np.bincount(found.cell, found.probability, minlength=len(grid))
    worst = int(np.argmax(np.abs(total - 1)))
    if abs(total[worst] - 1) > _LEAST:
        wrong.append(f"The probabilities of cell {worst} add up to {total[worst]:.9g}, not 1.")
    order = np.argsort(found.release, kind="stable")
    cell, release = found.cell[order], found.release[order]
    opens = np.flatnonzero(np.diff(release, prepend=release[0] - 1))
    low, high = np.minimum.reduceat(cell, opens), np.maximum.reduceat(cell, opens)
    outside = np.flatnonzero(grid.last[low] < high)
    if len(outside):
        at = outside[0]
        wrong.append(f"Release {release[opens[at]]} serves the cells {low[at]} to {high[at]}, which no run holds.")
    risk = risk_of(grid, found)
    if not risk <= solution.risk * (1 + _ROUNDING):
        wrong.append(f"The risk is {risk:.9g}, not {solution.risk:.9g}.")
    if not len(certificate.run) or not 0 <= certificate.run.min() <= certificate.run.max() < len(grid):
        return [*wrong, "The certificate does not name runs of the grid."]
    bound = lower_bound(grid, certificate)
    if not solution.lower_bound <= bound + _ROUNDING:
        wrong.append(f"The certificate proves a lower bound of {bound:.9g}, not {solution.lower_bound:.9g}.")
    if solution.lower_bound > solution.risk * (1 + _LEAST):
        wrong.append(f"The lower bound, {solution.lower_bound:.9g}, is above the risk, {solution.risk:.9g}.")
    return wrong


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


def risk_of(grid: CellGrid, assignment: Assignment) -> float:
    """Prior mass that the best guess for each release catches, with the mass of each cell spread evenly in it."""
    length = reach(grid)
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
