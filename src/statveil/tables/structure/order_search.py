"""Whether the order of the rows tells their values: sorted or grouped rows, a series in time, a cycle."""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.relation import scores_of, told_by_order

__all__ = ["ORDER_LEVEL", "Order"]

ORDER_LEVEL = 1e-3
"""How often a table of independent rows is taken for an ordered one, at most."""

_PIECE, _PIECES = 2**13, 128  # rows that stay together, and how many such pieces are kept, up to twice


class Order:
    """Keeps a bounded part of a column in the order of its rows: whole pieces of neighbours, spread over the table.

    Up to a million rows everything is kept; of a longer column every second, fourth, ... piece of 8,192 rows.
    """

    def __init__(self, *, categories: bool = False) -> None:
        self._categories = categories
        self._stride = 1
        self._pieces: dict[int, list[Array]] = {}
        self.rows = 0

    def add(self, values: Array) -> None:
        """Take in the next rows; those that are not finite are left out."""
        rows = values[np.isfinite(values)]
        start = 0
        while start < len(rows):
            number, inside = divmod(self.rows, _PIECE)
            part = rows[start : start + _PIECE - inside]
            if number % self._stride == 0:
                self._pieces.setdefault(number, []).append(part.copy())
            start += len(part)
            self.rows += len(part)
        while len(self._pieces) > 2 * _PIECES:
            self._stride *= 2
            self._pieces = {number: parts for number, parts in self._pieces.items() if number % self._stride == 0}

    @property
    def values(self) -> Array:
        """What was kept, in order."""
        kept = [part for number in sorted(self._pieces) for part in self._pieces[number]]
        return np.concatenate(kept) if kept else np.zeros(0)

    def share(self) -> float:
        """How much of the column's variation its order tells; 0 where independent rows could look the same."""
        values = self.values
        gaps = range(_PIECE, len(values), _PIECE) if self._stride > 1 else ()
        return told_by_order(scores_of(values, categories=self._categories), level=ORDER_LEVEL, gaps=tuple(gaps))
