"""From the solver's masses to probabilities that add up to 1, with few entries."""

from __future__ import annotations

import numpy as np

from statveil.design.cells.cell_grid import Assignment, CellGrid
from statveil.design.programme.solver import Optimum
from statveil.design.programme.windows import risk_of

__all__ = ["assignment_of", "thinned"]

_LEAST = 1e-9
_THRESHOLDS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
_AFFORDABLE = 1e-6
"""Share by which the risk may rise for fewer entries."""


def assignment_of(grid: CellGrid, best: Optimum) -> Assignment:
    """The solver's answer, made exact: no negative masses, and probabilities that add up to 1."""
    mass = best.mass.copy()
    cells, first = np.unique(best.cell, return_index=True)
    total = np.bincount(best.cell, mass, minlength=len(grid))
    mass[first[total[cells] <= 0]] = 1.0  # cells without mass go anywhere
    return _kept(Assignment(cell=best.cell, release=best.run, probability=mass), _LEAST)


def _kept(found: Assignment, least: float) -> Assignment:
    """The entries of at least this share of their cell, and the largest of each cell, scaled to add up to 1."""
    total = np.bincount(found.cell, found.probability)
    share = found.probability / total[found.cell]
    largest = np.zeros(len(total))
    np.maximum.at(largest, found.cell, share)
    used = share >= np.minimum(least, largest[found.cell])
    cell, share = found.cell[used], share[used]
    return Assignment(cell=cell, release=found.release[used], probability=share / np.bincount(cell, share)[cell])


def thinned(grid: CellGrid, found: Assignment) -> Assignment:
    """The same risk with fewer entries: small ones are left out."""
    risk = risk_of(grid, found)
    for least in _THRESHOLDS:
        thinner = _kept(found, least)
        if risk_of(grid, thinner) <= risk * (1 + _AFFORDABLE):
            return thinner
    return found
