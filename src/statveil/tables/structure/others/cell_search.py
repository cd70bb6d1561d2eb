"""Whether a cell of another column is a number of the whole column: its total, its mean, the statistic itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import polars as pl
from polars.exceptions import PanicException, PolarsError

from statveil.tables.structure.rows.group_search import order_of

__all__ = ["Cells", "Few"]

_MOST = 3  # different values: notes in single cells, or one number all the way down
_EQUAL = 1e-7
_DIGITS = 4  # of a number that was rounded: fewer are met by chance


class Cells:
    """The values of the columns that have few of them, from all rows of the table: a single cell may be anywhere."""

    def __init__(self) -> None:
        self._held: dict[str, set[float]] = {}
        self._read: dict[str, set[Any]] = {}  # as they stand in the table: none is read twice
        self._filled: dict[str, int] = {}
        self._many: set[str] = set()

    def add(self, others: Mapping[str, pl.Series]) -> None:
        """Take in the next rows of the other columns."""
        for name in others:
            if name not in self._many:  # nor is a column made then that nobody else asks for
                self._add(name, others[name])

    def open(self) -> list[str]:
        """Columns that have had few values so far: these must be seen in all rows."""
        return list(self._held)

    def take(self, name: str, few: pl.Series | None) -> None:
        """Take in the different values of some rows as :class:`Few` gives them."""
        if few is None:
            self._close(name)
        elif name not in self._many:
            self._add(name, few)

    def fill(self, name: str, filled: int) -> None:
        """How many rows of a column have a value, where these were not counted by :meth:`take`."""
        self._filled[name] = filled

    def _close(self, name: str) -> None:
        self._many.add(name)
        self._held.pop(name, None)
        self._read.pop(name, None)

    def _add(self, name: str, column: pl.Series) -> None:
        held, read = self._held.setdefault(name, set()), self._read.setdefault(name, set())
        try:
            if column.dtype.is_nested():
                raise TypeError
            known = _known(column)
            self._filled[name] = self._filled.get(name, 0) + len(known)
            # no other than those before: comparing takes a third of the time of finding the different ones
            if len(read) <= _MOST and sum(int((known == value).sum()) for value in read) == len(known):
                return
            few = known if known.head(64).n_unique() > _MOST else known.unique()
            if len(few) <= _MOST and not read.issuperset(values := few.to_list()):
                held.update(number for number in order_of(few).tolist() if number == number)
                read.update(values)
            many = len(few) > _MOST or len(held) > _MOST
        except (PolarsError, PanicException, TypeError):  # lists, objects: they are refused as such
            many = True
        if many:
            self._close(name)

    def holding(self, statistics: Collection[float]) -> Iterator[str]:
        """Columns that hold one of some numbers, exactly or rounded to a few digits."""
        for name, held in self._held.items():
            # a short number among labels that many rows have is a label
            alone = self._filled[name] <= _MOST or len(held) == 1
            least = 2 if self._filled[name] <= _MOST else 3
            if any(_same(cell, one, rounded=alone, least=least) for cell in held for one in statistics):
                yield name


class Few:
    """The different values of a column in some rows of the table, for :class:`Cells` to take in."""

    def __init__(self) -> None:
        self.filled = 0
        self._told: set[Any] = set()
        self._done = False

    def add(self, column: pl.Series, *, always: bool = False) -> tuple[pl.Series | None, ...]:
        """The different values of the next rows, as many as matter, if some are new or ``always`` asked for."""
        if self._done and not always:
            return ()
        try:
            known = _known(column)
            self.filled += len(known)
            if not always and sum(int((known == value).sum()) for value in self._told) == len(known):
                return ()
            some = known.head(64).unique()
            few = (some if len(some) > _MOST else known.unique()).head(_MOST + 1)
            self._done = len(few) > _MOST  # which is all that is asked of the column
            if len(self._told) < _MOST:
                self._told.update(few.to_list())
        except (PolarsError, PanicException, TypeError):
            self._done = True
            return (None,)
        return (few,)


def _known(column: pl.Series) -> pl.Series:
    """The rows that have a value."""
    known = column.fill_nan(None) if column.dtype.is_float() else column
    return known.drop_nulls() if known.null_count() else known


def _same(cell: float, statistic: float, *, rounded: bool, least: int) -> bool:
    """Whether a cell is a statistic; ``rounded`` where it may be written shorter, a count with ``least`` digits."""
    if not statistic or not abs(cell) < 1e15:
        return False
    if float(statistic).is_integer():
        return rounded and cell == statistic and len(f"{abs(statistic):.0f}") >= least
    digits = len(f"{abs(cell):.15e}".partition("e")[0].replace(".", "").rstrip("0"))
    if abs(cell - statistic) <= _EQUAL * abs(statistic):
        return digits >= (_DIGITS if rounded else 2 * _DIGITS)
    decimals = len(f"{cell:.12f}".rstrip("0").partition(".")[2])
    return rounded and digits >= _DIGITS and round(statistic, decimals) == cell
