"""Whether the order of the rows tells their values: sorted or grouped rows, a series in time, a cycle, pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.rows.pairings import in_places, told_by_pairs
from statveil.tables.structure.rows.relation import scores_of, told_by_order
from statveil.tables.structure.rows.rest_places import told_by_rests
from statveil.tables.structure.rows.value_places import told_by_places

__all__ = ["ORDER_LEVEL", "Order", "told_in_table"]

ORDER_LEVEL = 1e-3
"""How often a table of independent rows is taken for an ordered one, at most; by pairs of rows, as often again."""

_PIECE, _PIECES = 2**13, 128  # rows that stay together, and how many such pieces are kept, up to twice
_FEWEST = 10
_FOR_RESTS = 5  # times as rarely are rests taken for ordered: they count however little they tell
_ENOUGH = 0.9  # a share that no mode hides: nothing more is looked for


class Order:
    """Keeps a bounded part of a column in the order of its rows: whole pieces of neighbours, spread over the table.

    Up to two million rows everything is kept; of a longer column every second, fourth, ... piece of 8,192 rows. Rows
    without a value keep their place: the others stand as far from each other as in the table.
    """

    def __init__(self, *, categories: bool = False) -> None:
        self._categories = categories
        self._stride, self._seen = 1, 0
        self._pieces: dict[int, list[Array]] = {}
        self._share: tuple[int, float] = (0, 0.0)
        self._rests: tuple[int, float] = (0, 0.0)
        self.rows = 0
        """Rows that have a value."""

    def begin(self, rows: int) -> None:
        """Begin anew, with parts of a column of so many rows: what would be given up again is not kept."""
        self._stride, self._seen, self._pieces, self.rows = 1, 0, {}, 0
        while -(-rows // (_PIECE * self._stride)) > 2 * _PIECES:
            self._stride *= 2

    def part(self, start: int = 0) -> Order:
        """One for the rows from ``start`` on, where a piece begins; it will :meth:`join` this one."""
        fresh = Order(categories=self._categories)
        fresh._stride, fresh._seen = self._stride, start
        return fresh

    def join(self, other: Order) -> None:
        """Take in what a :meth:`part` has kept."""
        self._pieces |= other._pieces
        self._seen = max(self._seen, other._seen)
        self.rows += other.rows

    def add(self, values: Array) -> None:
        """Take in the next rows; of those that are not finite, the place alone."""
        start = 0
        while start < len(values):
            number, inside = divmod(self._seen, _PIECE)
            part = values[start : start + _PIECE - inside]
            if number % self._stride == 0:
                self._pieces.setdefault(number, []).append(part.copy())
            start += len(part)
            self._seen += len(part)
        self.rows += int(np.count_nonzero(np.isfinite(values)))
        while len(self._pieces) > 2 * _PIECES:
            self._stride *= 2
            self._pieces = {number: parts for number, parts in self._pieces.items() if number % self._stride == 0}

    @property
    def values(self) -> Array:
        """The values that were kept, in order."""
        placed = self._placed()
        return placed[np.isfinite(placed)]

    def _placed(self) -> Array:
        """The rows that were kept, in order, with those that have no value."""
        kept = [part for number in sorted(self._pieces) for part in self._pieces[number]]
        return np.concatenate(kept) if kept else np.zeros(0)

    def share(self) -> float:
        """How much of the column's variation its order tells; 0 where independent rows could look the same."""
        if self._share[0] != self._seen:
            self._share = (self._seen, self._told())
        return self._share[1]

    def rests(self) -> float:
        """How much it tells of the values' rests by some number; 0 where independent rows could look the same."""
        if self._rests[0] != self._seen:
            told = 0.0 if self._categories else told_by_rests(self.values, level=ORDER_LEVEL / _FOR_RESTS)
            self._rests = (self._seen, told)
        return self._rests[1]

    def _told(self) -> float:
        placed = self._placed()
        known = np.isfinite(placed)
        scores = scores_of(placed[known], categories=self._categories)
        if self._stride > 1:
            before = np.concatenate(([0], np.cumsum(known)))
            gaps = np.unique(before[_PIECE : len(placed) : _PIECE])
            inside = gaps[(gaps > 0) & (gaps < scores.shape[1])]
            told = told_by_order(scores, level=ORDER_LEVEL, gaps=tuple(inside.tolist()))
        else:
            told = told_in_table(scores, known, level=ORDER_LEVEL)
        if self._categories or told >= _ENOUGH:  # each label is one of the scores already
            return told
        return max(told, told_by_places(placed, level=ORDER_LEVEL))


def told_in_table(scores: Array, known: NDArray[np.bool_], *, level: float) -> float:
    """The share that the order of all rows of a table tells, by the scores of the rows that are ``known``."""
    if scores.shape[1] < _FEWEST:  # such few rows tell nothing, wherever they stand
        return 0.0
    told = told_by_order(scores, level=level)
    if not known.all() and told < _ENOUGH:
        told = max(told, told_by_order(in_places(scores, known), level=level))
    return told if told >= _ENOUGH else max(told, told_by_pairs(scores, known, level=level))
