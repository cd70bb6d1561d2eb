"""What the linear programme found, and the check of all it says, without a solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.design.cells.cell_grid import Assignment, CellGrid
from statveil.design.programme.certificate import Certificate, lower_bound
from statveil.design.programme.windows import risk_of

__all__ = ["Solution", "check"]

_ROUNDING = 1e-12
_LEAST = 1e-9


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
