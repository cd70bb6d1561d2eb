"""The dynamic programme over bins of one parameter: fast for a secret that only rises or only falls, and for any other.

V(j) is the least unnormalised risk of the cells below edge j (the paper's Algorithm 1, with its integrals
carried out). V never falls and V - F never rises, F being the prior mass below an edge, so

* among bins narrower than one window, which cost their whole mass, the best last bin is a single cell;
* a wider bin (i, j) costs the largest of m(i), the window that starts at i, of c(j), the window that ends at j,
  and of the peaks of m between them, say max(m(i), K). On a stretch where m rises, only the first edge and the
  first edge with m above K can be best; where m falls, only the first edge with m at most K, and the least V + m
  before it. Both are found by bisection: O(N log N) altogether.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from statveil.numeric import Array, Index
from statveil.theory.bin_costs import BinCosts
from statveil.theory.straddle_costs import StraddleCosts
from statveil.theory.windows import Windows

__all__ = ["Solution", "best_straddling", "edges_of", "solve", "solve_any"]

_NOISE = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Least risk of every prefix, and the last bin of each."""

    value: list[float]
    previous: list[int]


class _Minima:
    """Least value of any range of a growing list (a sparse table, one row a power of two)."""

    def __init__(self) -> None:
        self.rows: list[list[tuple[float, int]]] = [[]]

    def append(self, value: float, index: int) -> None:
        self.rows[0].append((value, index))
        size, level = len(self.rows[0]), 1
        while 1 << level <= size:
            if level == len(self.rows):
                self.rows.append([])
            half = 1 << (level - 1)
            lower = self.rows[level - 1]
            self.rows[level].append(min(lower[size - 2 * half], lower[size - half]))
            level += 1

    def least(self, start: int, stop: int) -> tuple[float, int]:
        """Least of the entries start <= i < stop."""
        level = (stop - start).bit_length() - 1
        row = self.rows[level]
        return min(row[start], row[stop - (1 << level)])


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Edges first <= i < stop on which m only rises, or only falls; peaks that lie beyond it."""

    first: int
    stop: int
    rising: bool
    peaks: tuple[tuple[float, float], ...]
    key: list[float]  # m or -m: increasing


def solve(windows: Windows, first_allowed: NDArray[np.int64]) -> Solution | None:
    """Least risk with bins (i, j), i >= first_allowed[j]; ``None`` where a single cell is already too wide."""
    n = len(windows.grid) - 1
    if np.any(first_allowed[1:] > np.arange(n)):
        return None
    below, after, before = windows.below.tolist(), windows.after.tolist(), windows.before.tolist()
    starts, narrow, allowed = windows.start.tolist(), windows.first_narrow.tolist(), first_allowed.tolist()
    stretches = _stretches(windows)
    tables: dict[int, _Minima] = {s.first: _Minima() for s in stretches if not s.rising}
    value, previous = [0.0], [-1]
    owner = _owners(stretches, n)
    for j in range(1, n + 1):
        i = j - 1
        stretch = owner[i]
        if not stretch.rising:
            tables[stretch.first].append(value[i] + after[i], i)
        low, high = allowed[j], min(narrow[j], j)  # wider than a window: low <= i < high
        best, at = (value[i] + below[j] - below[i], i) if narrow[j] <= i else (float("inf"), -1)
        for s in stretches:
            a, b = max(low, s.first), min(high, s.stop)
            if a >= b:
                continue
            k = before[j]
            for where, mass in s.peaks:
                if mass > k and where < starts[j]:
                    k = mass
            if s.rising:
                r = bisect_right(s.key, k, a - s.first, b - s.first) + s.first  # first edge with m above k
                options = [(value[a] + k, a)] if r > a else []
                if r < b:
                    options.append((value[r] + after[r], r))
            else:
                r = bisect_left(s.key, -k, a - s.first, b - s.first) + s.first  # first edge with m at most k
                options = [(value[r] + k, r)] if r < b else []
                if r > a:
                    options.append(tables[s.first].least(a - s.first, r - s.first))
            for cost, where_from in options:
                if cost < best or (cost <= best * (1 + _NOISE) and where_from < at):  # among equals, fewer bins
                    best, at = cost, where_from
        value.append(best)
        previous.append(at)
    return Solution(value=value, previous=previous)


def edges_of(solution: Solution, last: int) -> list[int]:
    """Edges of the best bins below an edge."""
    edges = [last]
    while edges[-1] > 0:
        edges.append(solution.previous[edges[-1]])
    return edges[::-1]


def _stretches(windows: Windows) -> list[_Stretch]:
    """Cut the edges where m turns."""
    m, grid = windows.after, windows.grid
    n = len(m) - 1
    rises = np.diff(m[:n])
    rises[np.abs(rises) <= _NOISE * float(m.max())] = 0.0
    cuts, direction = [0], 0.0
    for i in np.flatnonzero(rises):
        sign = float(np.sign(rises[i]))
        if direction and sign != direction:
            cuts.append(int(i))  # edge i belongs to the next stretch: it is the turn
        direction = sign
    # edges of one stretch see the same peaks to their right, also those that lie between two edges
    cuts = sorted(
        {*cuts, *(int(k) for k in np.searchsorted(grid[:n], [at for at, _ in windows.peaks]) if 0 < k < n), n}
    )
    found = []
    for first, stop in pairwise(cuts):
        part = m[first:stop]
        rising = bool(part[-1] >= part[0])
        key = np.maximum.accumulate(part if rising else -part)  # rounding errors must not break the order
        beyond = tuple(peak for peak in windows.peaks if peak[0] > grid[stop - 1])
        found.append(_Stretch(first, stop, rising, beyond, key.tolist()))
    return found


def _owners(stretches: list[_Stretch], n: int) -> list[_Stretch]:
    owner: list[_Stretch] = []
    for stretch in stretches:
        owner += [stretch] * (stretch.stop - stretch.first)
    return owner[:n]


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
