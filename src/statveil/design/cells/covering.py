"""Cover a need at every cell by levels on runs of cells, at the least total level.

Level z_r >= 0 lies on run r; the levels of the runs that hold cell i must sum to need_i or more. The greedy rule
from left to right, which puts what is missing at a cell on the run that starts there, is optimal: every column of
the constraints is an interval, so the programme equals its dual, the largest sum of needs over cells no two of which
share a run (:func:`packing`). With a stride s the cells of each residue class modulo s are covered apart; all classes
are worked on at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.design.cells.grid import Assignment
from statveil.errors import ProblemError
from statveil.numeric import Array, Index

__all__ = ["Layers", "cover", "cover_from_right", "first_of", "packing"]


_NOISE = 1e-12
"""A need met up to this relative error is met: differences of sums leave crumbs."""
_MOST_ENTRIES = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layers:
    """Runs of cells ``start``, ``start + stride``, ..., ``stop``, and the level on each."""

    start: Index
    stop: Index
    level: Array
    stride: int

    @property
    def total(self) -> float:
        """Sum of the levels."""
        return float(np.sum(self.level))

    def assignment(self, last: Index) -> Assignment:
        """P(run | cell) = level of the run / sum of the levels of the runs that hold the cell.

        Cells that no level holds (nothing was needed there) go to plain runs of their own.
        """
        level = self.level / max(float(self.level.max()), np.finfo(float).tiny)  # sums stay in floating point
        kept = level > 0
        start, stop, level = self.start[kept], self.stop[kept], level[kept]
        count = (stop - start) // self.stride + 1
        if (entries := int(count.sum())) > _MOST_ENTRIES:
            raise ProblemError(
                f"this grid of {len(last):,} cells needs {entries:,} pairs of a cell and a release; at most "
                f"{_MOST_ENTRIES:,} can be worked with. Use fewer cells."
            )
        release = np.repeat(np.arange(len(count)), count)
        step = np.arange(len(release)) - np.repeat(np.cumsum(count) - count, count)
        cell = start[release] + step * self.stride
        weight = level[release]
        held = np.bincount(cell, weights=weight, minlength=len(last))
        probability = weight / held[cell]
        rest, number = _own_runs(np.flatnonzero(held <= 0), last, self.stride)
        return Assignment(
            cell=np.concatenate([cell, rest]),
            release=np.concatenate([release, number + len(count)]),
            probability=np.concatenate([probability, np.ones(len(rest))]),
        )


def _own_runs(cells: Index, last: Index, stride: int) -> tuple[Index, Index]:
    """The cells, and for each the number of a run that it shares with those of its residue class while they fit."""
    number: list[int] = []
    count, open_run = 0, dict[int, tuple[int, int]]()  # residue: number and last cell of its latest run
    for cell in cells.tolist():
        at, end = open_run.get(cell % stride, (-1, -1))
        if cell > end:
            at, count = count, count + 1
            open_run[cell % stride] = (at, int(last[cell]))
        number.append(at)
    return cells, np.array(number, dtype=np.int64)


def first_of(last: Index) -> Index:
    """For each cell the first cell that shares a run with it."""
    return np.searchsorted(last, np.arange(len(last)), side="left").astype(np.int64)


def _earliest(last: Index, stride: int) -> Index:
    """For each cell the first one of its residue class that shares a run with it."""
    here = np.arange(len(last))
    found: Index = here - stride * ((here - first_of(last)) // stride)
    return found


def cover(need: Array, last: Index, stride: int = 1) -> Layers:
    """Least levels by the greedy rule from left to right; the run of cell i is i, i + stride, ... up to last[i]."""
    n = len(need)
    here, earliest = np.arange(n), _earliest(last, stride)
    level = np.zeros(n)
    total = np.zeros(n + stride)  # total[j + stride]: levels of the class of j on runs that start at j or before
    for first in range(0, n, stride):
        j = slice(first, min(first + stride, n))
        missing = need[j] - (total[j] - total[earliest[j]])
        level[j] = np.where(missing > _NOISE * need[j], missing, 0.0)
        total[first + stride : j.stop + stride] = total[j] + level[j]
    return Layers(start=here, stop=here + stride * ((last - here) // stride), level=level, stride=stride)


def cover_from_right(need: Array, last: Index) -> Layers:
    """The same from right to left: what is missing at a cell goes to the run that ends there."""
    n = len(need)
    mirrored = cover(need[::-1], n - 1 - first_of(last)[::-1])
    return Layers(
        start=n - 1 - mirrored.stop[::-1], stop=n - 1 - mirrored.start[::-1], level=mirrored.level[::-1], stride=1
    )


def packing(need: Array, last: Index, stride: int = 1) -> float:
    """Largest sum of needs over cells no two of which share a run, for each residue class: no cover has less."""
    n = len(need)
    earliest = _earliest(last, stride)
    best = np.zeros(n + stride)  # best[j + stride]: of the cells of the class of j up to j
    for first in range(0, n, stride):
        j = slice(first, min(first + stride, n))
        best[first + stride : j.stop + stride] = np.maximum(best[j], need[j] + best[earliest[j]])
    return float(np.sum(best[n:]))
