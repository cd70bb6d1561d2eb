"""Rows of a table that are held together, all columns of them, in bounded memory: the first, and some of the others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

__all__ = ["RowSample"]

_FIRST = 32_768
"""Rows from the beginning, where rows that belong together often stand together."""
_OTHERS = 32_768
"""Of the rows behind them, at most: each as likely as any other."""
_MOST_COLUMNS = 256


class RowSample:
    """The first rows and a random part of the others; which ones does not depend on how the table comes in pieces."""

    def __init__(self) -> None:
        self._held: dict[str, list[pl.Series]] = {}
        self._chances: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []
        self._limit = 1.0
        self._rows = 0
        self._kept = 0
        self._rng = np.random.default_rng(0)

    def add(self, columns: Mapping[str, pl.Series]) -> None:
        """The next rows."""
        rows = max((len(one) for one in columns.values()), default=0)
        chance = self._rng.random(rows)
        chance[: max(_FIRST - self._rows, 0)] = -1.0
        self._rows += rows
        at = np.flatnonzero(chance < self._limit)
        for name, column in columns.items():
            if name not in self._held and len(self._held) >= _MOST_COLUMNS:
                continue
            if column.dtype != pl.Object and not column.dtype.is_nested() and len(column) == rows:
                labels = isinstance(column.dtype, pl.Categorical | pl.Enum)
                self._held.setdefault(name, []).append((column.cast(pl.String) if labels else column)[at])
        self._chances.append(chance[at])
        self._kept += len(at)
        while self._kept > _FIRST + _OTHERS:
            self._halve()

    def part(self, start: int) -> RowSample:
        """One for the rows from ``start`` on; it will :meth:`join` that of the rows before."""
        fresh = RowSample()
        fresh._rows = start
        bits = fresh._rng.bit_generator
        assert isinstance(bits, np.random.PCG64)
        bits.advance(start)  # a number of 64 bits for each row
        return fresh

    def join(self, other: RowSample) -> None:
        """Take in what was kept of the rows that follow."""
        names = dict.fromkeys((*self._held, *other._held))
        self._held = {name: self._held.get(name, []) + other._held.get(name, []) for name in names}
        self._chances += other._chances
        self._rows, self._limit = other._rows, min(self._limit, other._limit)
        self._cut()
        while self._kept > _FIRST + _OTHERS:
            self._halve()

    def _halve(self) -> None:
        self._limit /= 2
        self._cut()

    def _cut(self) -> None:
        """Keep rows below the limit."""
        chance = np.concatenate([np.zeros(0), *self._chances])
        at = np.flatnonzero(chance < self._limit)
        self._held = {name: [pl.concat(parts)[at]] for name, parts in self._held.items() if _complete(parts, chance)}
        self._chances, self._kept = [chance[at]], len(at)

    @property
    def whole(self) -> bool:
        """Whether these are all rows."""
        return self._kept == self._rows

    @property
    def columns(self) -> dict[str, pl.Series]:
        """The rows, column by column."""
        chance = np.concatenate(self._chances) if self._chances else np.zeros(0)
        return {name: pl.concat(parts) for name, parts in self._held.items() if _complete(parts, chance)}


def _complete(parts: list[pl.Series], chance: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    """Whether a column came with every piece, and in one type."""
    return sum(map(len, parts)) == len(chance) and len({part.dtype for part in parts}) == 1
