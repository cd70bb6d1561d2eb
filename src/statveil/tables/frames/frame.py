"""What a table in memory must offer: its target column as a Polars series, and itself with another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError, unknown_name
from statveil.tables.blocks import BLOCK, Array
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.released import read_rows, released_rows
from statveil.tables.series import ColumnType, column_type, from_numbers
from statveil.tables.shuffling import shuffled_order

__all__ = ["Frame", "Released", "mapped"]

Released = Callable[[pl.Series, int], pl.Series]
"""The rows of one block, and its number, to the released rows."""


class Frame(ABC):
    """A table in memory, or a query that makes one."""

    def __init__(self, native: Any, column: Any) -> None:
        self.native, self.column = native, column
        names = self.names()
        if names is None:
            if column is not None:
                raise ColumnError(f"a single column has no names. Got column={column!r}; leave it out.")
            return
        if column is None:
            raise ColumnError(f"say which column to release: column=... Columns: {', '.join(map(str, names))}.")
        if not isinstance(column, Hashable):
            raise ColumnError("the column must be the name of one column.")
        if column not in names:
            raise ColumnError(unknown_name("column", str(column), [str(name) for name in names]))
        if names.count(column) > 1:
            raise ColumnError(f"the table has more than one column called {column!r}; rename all but one.")

    @classmethod
    @abstractmethod
    def takes(cls, native: Any) -> bool:
        """Whether this is the right class for the object; must not import its library."""

    @abstractmethod
    def names(self) -> list[Any] | None:
        """Names of the columns; ``None`` for a single column."""

    @abstractmethod
    def series(self) -> pl.Series:
        """The target column."""

    @abstractmethod
    def with_series(self, released: pl.Series) -> Any:
        """A new object of the same kind with another target column."""

    @abstractmethod
    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        """An object of the same kind with its rows in another order; nothing of it tells the old one."""

    def others(self) -> Mapping[str, pl.Series]:
        """All other columns, and whatever else goes with a row, such as an index."""
        return {}

    # --- what a release needs; a query that is larger than memory overrides these ----------------
    def type(self) -> ColumnType:
        """What the target column holds."""
        return column_type(self.series().dtype)

    def blocks(self, labels: Sequence[str] | None) -> Iterator[Array]:
        """The target column as numbers, or as numbers of categories."""
        series = self.series()
        for start in range(0, len(series), BLOCK):
            yield read_rows(series.slice(start, BLOCK), labels)

    def beside(self, labels: Sequence[str] | None) -> Iterator[tuple[Array, Mapping[str, pl.Series]]]:
        """The target column as numbers, with the same rows of all other columns."""
        others, start = self.others(), 0
        for values in self.blocks(labels):
            yield values, {name: column.slice(start, len(values)) for name, column in others.items()}
            start += len(values)

    def released(self, release: Released, *, shuffle: int | None = None) -> Any:
        """The object with every block of the target column replaced, its rows shuffled where a seed is given."""
        series = self.series()
        parts = [release(series.slice(start, BLOCK), start // BLOCK) for start in range(0, len(series), BLOCK)]
        table = self.with_series(pl.concat(parts) if parts else series)
        return table if shuffle is None else self.taken(table, shuffled_order(shuffle, len(series)))


def mapped(column_map: ColumnMap, labels: Sequence[str] | None, round_digits: int | None) -> Released:
    """A map of numbers as a map of series of any type."""

    def release(rows: pl.Series, index: int) -> pl.Series:
        if not len(rows):  # only its type is asked for
            return rows if labels is not None else from_numbers(rows, np.zeros(0), whole=column_map.whole)
        return released_rows([rows], column_map, index, labels=labels, round_digits=round_digits)[0]

    return release
