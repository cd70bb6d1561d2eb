"""Costs of bins across one turning point, any number of them at once.

Orient the secret so that it rises to the turn and falls after it, and let the bin (a, b) have the lower end on
the left, g(a) <= g(b). A guess y catches the parameters with secret in [y, y + w]:

* y >= g(b): whole windows of both branches, S(y); the best is a maximum over all higher guesses.
* y + w < g(b): a window of the left branch alone.
* else: a window of the left branch, and the right branch from y + w down to b.
* y < g(a): never better than y = g(a).

Each case is a maximum over a range of guesses of a function that does not depend on the bin, so a sparse table
answers it in constant time. The other orientation is the mirror image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.numeric import Array, Index
from statveil.problem.axis import Axis
from statveil.theory.bin_costs import guess_table
from statveil.theory.curve import Curve, curve

__all__ = ["StraddleCosts", "straddle_costs"]


class _RangeMax:
    """Largest value of any range of a fixed array."""

    def __init__(self, values: Array) -> None:
        rows = [values]
        while 2 << (len(rows) - 1) <= len(values):
            half = 1 << (len(rows) - 1)
            rows.append(np.maximum(rows[-1][:-half], rows[-1][half:]))
        self._table = np.full((len(rows), len(values)), -np.inf)
        for i, row in enumerate(rows):
            self._table[i, : len(row)] = row

    def of(self, start: Index, stop: Index) -> Array:
        """Largest of start <= i < stop; minus infinity where the range is empty."""
        length = np.maximum(stop - start, 1)
        level = np.frexp(length.astype(np.float64))[1] - 1
        found = np.maximum(self._table[level, start], self._table[level, np.maximum(stop - (1 << level), 0)])
        return np.where(stop > start, found, -np.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class StraddleCosts:
    """Costs of bins (i, j) with the turning point between their edges."""

    below: Array
    low: Index
    """Position of each edge's secret among the guesses."""
    under: Index
    """Position of the guess one window below each edge's secret."""
    both: _RangeMax
    left: _RangeMax
    right: _RangeMax
    left_and_end: _RangeMax
    right_and_end: _RangeMax
    count: int

    def of(self, i: Index, j: Index) -> Array:
        """Unnormalised cost of each bin (i, j)."""
        i, j = np.broadcast_arrays(i, j)
        a, b = self.low[i], self.low[j]
        top = np.full(i.shape, self.count)
        whole = self.both.of(np.maximum(a, b), top)
        # the lower end on the left: windows of the left branch, and the right branch down to b
        one = np.maximum(
            self.left.of(a, self.under[j] + 1),
            self.below[j] + self.left_and_end.of(np.maximum(a, self.under[j]), b + 1),
        )
        two = np.maximum(
            self.right.of(b, self.under[i] + 1),
            self.right_and_end.of(np.maximum(b, self.under[i]), a + 1) - self.below[i],
        )
        return np.maximum(whole, np.where(a <= b, one, two))


def straddle_costs(secret: Curve, axis: Axis, grid: Array, window: float) -> StraddleCosts:
    """Costs across the single turning point of a secret."""
    sign = secret.pieces[0].sign  # rising before the turn
    oriented = curve(lambda x: sign * np.asarray(secret.value(x)), secret.low, secret.high, turns=secret.turns)
    table = guess_table(oriented, axis, grid, window)
    (_, _, left_open, left_close), (_, _, right_open, right_close) = table.pieces
    heights = np.asarray(oriented.value(grid), dtype=np.float64)
    left, right = left_close - left_open, right_open - right_close
    return StraddleCosts(
        below=table.below,
        low=np.searchsorted(table.guesses, heights),
        under=np.searchsorted(table.guesses, heights - window),
        both=_RangeMax(left + right),
        left=_RangeMax(left),
        right=_RangeMax(right),
        left_and_end=_RangeMax(left - right_close),
        right_and_end=_RangeMax(right + left_close),
        count=len(table.guesses),
    )
