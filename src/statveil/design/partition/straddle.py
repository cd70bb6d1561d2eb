"""The dynamic programme for secrets that turn: one bin may lie on both sides of the turning point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.theory.bin_costs import BinCosts
from statveil.theory.straddle_costs import StraddleCosts

__all__ = ["best_straddling", "solve_any"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


def best_straddling(
    left: Array, right: Array, farthest: Index, costs: StraddleCosts, turn: tuple[int, int]
) -> tuple[float, int, int]:
    """Least left[i] + cost(i, j) + right[j] with i before and j after the turn, (inf, -1, -1) if none is feasible.

    Every feasible pair is tried, a block of rows at a time; among equals the widest bin is taken.
    """
    before, after = turn
    n = len(right) - 1
    best = (float("inf"), -1, -1)
    rows = max(1, 400_000 // (n - after + 1))
    for start in range(0, before + 1, rows):
        i = np.arange(start, min(start + rows, before + 1))[:, None]
        j = np.arange(after, n + 1)[None, :]
        total = np.where(j <= farthest[i], left[i] + costs.of(i, j) + right[j], np.inf)
        column = np.argmin(total[:, ::-1], axis=1)  # from the right: the widest of equals
        lowest = total[np.arange(len(i)), total.shape[1] - 1 - column]
        row = int(np.argmin(lowest))
        if lowest[row] < best[0] * (1 - 1e-13):
            best = (float(lowest[row]), int(i[row, 0]), int(j[0, total.shape[1] - 1 - column[row]]))
    return best


def solve_any(farthest: Index, costs: BinCosts, cells: int) -> list[int] | None:
    """Edges of the best bins for any costs, trying every feasible bin; ``None`` where a cell is too wide."""
    first = np.searchsorted(farthest, np.arange(cells + 1), side="left")
    value, previous = np.zeros(cells + 1), np.zeros(cells + 1, dtype=np.int64)
    for j in range(1, cells + 1):
        if first[j] >= j:
            return None
        i = np.arange(first[j], j)
        total = value[i] + costs.of(i, np.full(len(i), j))
        best = int(np.flatnonzero(total <= total.min() * (1 + 1e-13))[0])  # among equals, fewer bins
        value[j], previous[j] = total[best], i[best]
    edges = [cells]
    while edges[-1] > 0:
        edges.append(int(previous[edges[-1]]))
    return edges[::-1]
