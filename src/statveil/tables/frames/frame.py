"""What a table in memory must offer: its columns as Polars series, and itself with another one."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK, Array
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.released import read_rows, released_rows
from statveil.tables.released_type import released_dtype
from statveil.tables.series import ColumnType, column_type
from statveil.tables.shuffling import shuffled_order
from statveil.tables.source import CATEGORIES, Progress, Source

__all__ = ["FRAMES", "Frame", "is_a"]

FRAMES: list[type[Frame]] = []
"""Every kind of table in memory; filled when the files of ``tables/frames`` are loaded."""


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether the object is an instance of a class of a library that may not be installed."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


class Frame(Source):
    """A table in memory, or a query that makes one.

    A subclass in one new file is enough: saying what it is (``what``) registers it. One whose tables are larger than
    memory also overrides :meth:`type_of`, :meth:`values`, :meth:`beside` and :meth:`released`.
    """

    what: ClassVar[str]
    """The kind of object with its article, for messages."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "what" in cls.__dict__:
            FRAMES.append(cls)

    def __init__(self, native: Any) -> None:
        self.native, self.rows, self.notes = native, None, []
        names = self.columns()
        self.names = [None] if names is None else names
        self._held: tuple[Any, pl.Series] | None = None
        self.labels: Sequence[str] | None = None
        """The plan's categories, from when a column of them is released."""

    def __str__(self) -> str:
        return "the table"

    @classmethod
    @abstractmethod
    def takes(cls, native: Any) -> bool:
        """Whether this is the right class for the object; must not import its library."""

    @abstractmethod
    def columns(self) -> list[Any] | None:
        """Names of the columns; ``None`` for a single column."""

    @abstractmethod
    def read(self, column: Any) -> pl.Series:
        """One column; a :class:`ColumnError` where its type is unknown to Polars."""

    @abstractmethod
    def with_series(self, column: Any, released: pl.Series) -> Any:
        """A new object of the same kind with another column in the place of this one."""

    @abstractmethod
    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        """An object of the same kind with its rows in another order; nothing of it tells the old one."""

    def others(self, column: Any) -> Mapping[str, pl.Series]:
        """All other columns, and whatever else goes with a row, such as an index."""
        return {str(name): self.read(name) for name in self.names if name != column}

    def column(self, name: Any) -> pl.Series:
        if self._held is None or self._held[0] != name:  # a release asks for one column again and again
            self._held = (name, self.read(name))
            self.rows = len(self._held[1])
        return self._held[1]

    def numeric_columns(self) -> list[Any]:
        return [name for name in self.names if self._is_numeric(name)]

    def _is_numeric(self, name: Any) -> bool:
        try:
            return self.type_of(name).numeric
        except ColumnError:
            return False

    def blocks(
        self, column: Any, *, labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Iterator[Array]:
        if labels is None:
            self.check_numbers(column, CATEGORIES)
        return self._told(column, labels, progress)

    def _told(self, column: Any, labels: Sequence[str] | None, progress: Progress | None) -> Iterator[Array]:
        rows = 0
        for block in self.values(column, labels):
            yield block
            rows += len(block)
            if progress:
                progress(len(block))
        self.rows = rows

    # --- what a query that is larger than memory overrides -----------------------------------------
    def type_of(self, column: Any) -> ColumnType:
        return column_type(self.column(column).dtype)

    def values(self, column: Any, labels: Sequence[str] | None) -> Iterator[Array]:
        """The blocks of a column, as numbers or as numbers of categories."""
        series = self.column(column)
        for start in range(0, len(series), BLOCK):
            yield read_rows(series.slice(start, BLOCK), labels)

    def beside(
        self, column: Any, *, labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Iterator[tuple[Array, Mapping[str, pl.Series]]]:
        others, start = self.others(column), 0
        for values in self.blocks(column, labels=labels, progress=progress):
            yield values, {name: other.slice(start, len(values)) for name, other in others.items()}
            start += len(values)

    def released(
        self,
        column: Any,
        column_map: ColumnMap,
        *,
        labels: Sequence[str] | None = None,
        round_digits: int | None = None,
        shuffle: int | None = None,
    ) -> Any:
        """The object with every block of the column released by the map, its rows shuffled where a seed is given."""
        self.labels = labels
        series = self.column(column)
        parts = [
            released_rows(
                [series.slice(start, BLOCK)], column_map, start // BLOCK, labels=labels, round_digits=round_digits
            )
            for start in range(0, len(series), BLOCK)
        ]
        if not parts:
            parts = [[series.cast(released_dtype(series.dtype, whole=column_map.whole, labels=labels))]]
        table = self.with_series(column, pl.concat([part for [part] in parts]))
        return table if shuffle is None else self.taken(table, shuffled_order(shuffle, len(series)))
