"""Proof that no randomised mechanism on a grid of cells has a lower risk, and its check, without a solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.design.cells.cell_grid import CellGrid
from statveil.design.programme.windows import covered, reach, runs_of

__all__ = ["Certificate", "lower_bound"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_ROUNDING = 1e-12


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
