"""The dynamic programme for secrets that turn: one bin may lie on both sides of the turning point."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from statveil.theory.bin_costs import BinCosts

__all__ = ["best_straddling", "solve_any"]

Index = NDArray[np.int64]


def best_straddling(
    left: list[float], right: list[float], farthest: Index, costs: BinCosts, turn: tuple[int, int]
) -> tuple[float, int, int]:
    """Least left[i] + cost(i, j) + right[j] with i before and j after the turn, (inf, -1, -1) if none is feasible.

    left never falls in i, right never rises in j, and a cost grows with its bin, so a block of pairs costs at
    least left[first i] + cost(last i, first j) + right[last j]: best first, exact, few blocks.
    """
    before, after = turn
    n = len(right) - 1

    def floor(block: tuple[int, int, int, int]) -> float:
        i0, i1, j0, j1 = block
        if farthest[i1] < j0:
            return float("inf")
        inner = float(costs.of(np.array([i1]), np.array([j0]))[0])
        return left[i0] + inner + right[min(j1, int(farthest[i1]))]

    start = (0, before, after, n)
    heap = [(floor(start), start)]
    while heap:
        bound, block = heapq.heappop(heap)
        if bound == float("inf"):
            break
        i0, i1, j0, j1 = block
        if i0 == i1 and j0 == j1:
            return bound, i0, j0
        if i1 - i0 >= j1 - j0:
            middle = (i0 + i1) // 2
            parts = [(i0, middle, j0, j1), (middle + 1, i1, j0, j1)]
        else:
            middle = (j0 + j1) // 2
            parts = [(i0, i1, j0, middle), (i0, i1, middle + 1, j1)]
        for part in parts:
            heapq.heappush(heap, (floor(part), part))
    return float("inf"), -1, -1


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
