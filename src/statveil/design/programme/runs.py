"""Which runs the linear programme starts with, and what the combs inside other runs are worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.design.cells.cell_grid import CellGrid
from statveil.design.programme.windows import reach, runs_of

__all__ = ["comb_worth", "first_runs"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_PER_RUN = 10
"""How many runs start within the length of one, to begin with; more are added where they help."""
_ALIKE = 1e-9


def first_runs(grid: CellGrid) -> Index:
    """Some of the runs that no other one contains, spread evenly, so that each cell is in one of them."""
    kept = {0}
    latest = 0
    after: int = int(grid.last[0]) + 1  # the runs 0, after, ... that follow each other hold every cell
    for run in runs_of(grid).tolist():
        if run >= latest + max(1, (int(grid.last[latest]) - latest + 1) // _PER_RUN):
            kept.add(run)
            latest = run
        if after < len(grid) and grid.last[run] >= grid.last[after]:
            kept.add(run)  # run `after`, or one that contains it
            after = int(grid.last[run]) + 1
    return np.array(sorted(kept))


def comb_worth(grid: CellGrid, price: Array, runs: Index) -> Array:
    """Largest sum of prices over cells of each run of which a window catches no more than one.

    With cells i and j whose low ends and high ends are both a window apart, what a window takes of j it has already
    left of i. A run whose worth is above 1 lets the programme send mass there at less than the mass costs now. Exact
    where the window is a whole number of cells, never too large otherwise.
    """
    order = np.lexsort((grid.high, grid.low))
    low, high = grid.low[order], grid.high[order]
    window = reach(grid) * (1 - _ALIKE)
    least_high = np.minimum.accumulate(high[::-1])[::-1]  # of this cell and all above it
    after = np.maximum(np.searchsorted(low, low + window), np.searchsorted(least_high, high + window))
    points = np.flatnonzero(high <= low)
    after[points] = np.maximum(after[points], np.searchsorted(low, low[points] + reach(grid), side="right"))
    best = np.zeros((len(grid) + 1, len(runs)))
    first, stop = np.searchsorted(grid.last[runs], order), np.searchsorted(runs, order, side="right")
    for k in range(len(grid) - 1, -1, -1):
        best[k] = best[k + 1]
        held = slice(first[k], stop[k])  # the runs that hold this cell
        best[k, held] = np.maximum(best[k + 1, held], price[order[k]] + best[after[k], held])
    worth: Array = best[0]
    return worth
