"""How many secrets can be told apart: points more than a window apart, each with a release of its own.

The supremum over priors of risk / risk without a release is the largest sum over releases of max P(release | point)
over sets of points whose secrets lie more than a window apart (docs/leakage.md). A release of its own for each point is
a job of one window's length: its release time is the lower end of the secrets that lead to it, and it must have begun
before the upper one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from statveil.numeric import Array
from statveil.rounding import REL_TOL, tolerant_ceil

__all__ = ["in_order", "in_two_chains", "of_a_range", "served"]


def of_a_range(length: float, window: float) -> int:
    """Most points of a range that are pairwise more than a window apart.

    >>> of_a_range(100.0, 2.0), of_a_range(99.0, 2.0), of_a_range(1.0, 2.0)
    (50, 50, 1)
    """
    return max(1, tolerant_ceil(length / window))


def served(low: Array, high: Array, window: float) -> NDArray[np.bool_]:
    """Which of the intervals, disjoint and in order, get a point when each takes the first that is free.

    Whoever takes the first point possible leaves most to the others, so their number is the largest.
    A point exactly a window away would be hit by the same guess, so equality (up to rounding) is not enough.
    """
    slack = REL_TOL * window
    free = -np.inf
    got = np.zeros(len(low), dtype=bool)
    for i, (start, stop) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        at = max(start, free)
        if at < stop - slack:
            got[i], free = True, at + window
    return got


def in_order(low: Array, high: Array, window: float) -> Array:
    """The same count for many lines at once: a row for each, whose intervals are in order; empty ones do not count.

    >>> in_order(np.array([[0.0, 10.0, 11.0]]), np.array([[10.0, 11.0, 20.0]]), 2.0).tolist()
    [3.0]
    >>> in_order(np.array([[0.0, 1.0, 2.0]]), np.array([[1.0, 2.0, 3.0]]), 2.0).tolist()
    [2.0]
    """
    slack = REL_TOL * window
    free, count = np.full(len(low), -np.inf), np.zeros(len(low))
    for start, stop in zip(low.T, high.T, strict=True):
        at = np.maximum(start, free)
        fits = at < stop - slack
        free, count = np.where(fits, at + window, free), count + fits
    return count


def in_two_chains(one: Sequence[tuple[float, float]], two: Sequence[tuple[float, float]], window: float) -> int:
    """The same for a secret that turns once: two chains of intervals, each disjoint and in order.

    Sorted by their points, the jobs of each chain come in its order; of all ways to have looked at i of the one and j
    of the other and to have served n of them, only the one that is free first matters.

    >>> in_two_chains([(0.0, 1.0), (1.0, 2.0)], [(0.0, 3.0)], 1.0)
    3
    """
    slack = REL_TOL * window
    most = len(one) + len(two)

    def placed(free: Array, job: tuple[float, float]) -> Array:
        at = np.maximum(free, job[0])
        after = np.full(most + 1, np.inf)
        after[1:] = np.where(at < job[1] - slack, at + window, np.inf)[:-1]
        best: Array = np.minimum(free, after)
        return best

    begin = np.full(most + 1, np.inf)
    begin[0] = -np.inf
    above: list[Array] = []
    for i in range(len(one) + 1):
        row: list[Array] = []
        for j in range(len(two) + 1):
            ways = [begin] if i == j == 0 else []
            if i:
                ways.append(placed(above[j], one[i - 1]))
            if j:
                ways.append(placed(row[j - 1], two[j - 1]))
            row.append(np.minimum.reduce(ways))
        above = row
    return int(np.flatnonzero(np.isfinite(above[-1]) | (np.arange(most + 1) == 0)).max())
