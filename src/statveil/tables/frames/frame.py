"""What a table in memory must offer: its columns as Polars series, and itself with others."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK
from statveil.tables.changes import Changes, Labels
from statveil.tables.released import fresh_columns, read_rows, released_schema
from statveil.tables.series import ColumnType, column_type
from statveil.tables.shuffling import shuffled_order
from statveil.tables.source import CATEGORIES, Progress, Rows, Source

__all__ = ["FRAMES", "Frame", "InMemory", "is_a"]

FRAMES: list[type[Frame]] = []
"""Every kind of table in memory; filled when the files of ``tables/frames`` are loaded."""


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether the object is an instance of a class of a library that may not be installed."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


class InMemory(Source):
    """A table that is an object, and is released to another one of its kind."""

    @abstractmethod
    def released(self, changes: Changes, *, shuffle: int | None = None) -> Any:
        """The object with the changes made block by block, its rows shuffled where a seed is given."""


class Frame(InMemory):
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
        self._held: dict[Any, pl.Series] = {}
        self.labels: Mapping[Any, Labels] = {}
        """The plan's categories of each released column, from when they are released."""

    def __str__(self) -> str:
        return "the table"

    @contextmanager
    def at_work(self, *, from_sums: bool) -> Iterator[InMemory]:
        """The table for the time of a release: what is needed for that alone is gone afterwards, however it ends.

        ``from_sums`` says that no pass reads rows again: see :attr:`statveil.tables.task.Task.from_sums`.
        """
        yield self

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
    def with_columns(self, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> Any:
        """A new object of the same kind without some columns and with others in the places of those of their names.

        A column whose name is new comes at the end.
        """

    @abstractmethod
    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        """An object of the same kind with its rows in another order; nothing of it tells the old one."""

    def others(self, columns: Collection[Any]) -> Mapping[str, pl.Series]:
        """All other columns, and whatever else goes with a row, such as an index."""
        return {str(name): self.read(name) for name in self.names if name not in columns}

    def column(self, name: Any) -> pl.Series:
        self._hold([name])
        return self._held[name]

    def _hold(self, names: Collection[Any]) -> None:
        """Keep these columns at hand: a release asks for the same ones again and again."""
        if any(name not in self._held for name in names):
            self._held = {name: self._held[name] if name in self._held else self.read(name) for name in names}
        self.rows = len(next(iter(self._held.values()))) if self._held else self.rows

    def numeric_columns(self) -> list[Any]:
        return [name for name in self.names if self._is_numeric(name)]

    def _is_numeric(self, name: Any) -> bool:
        try:
            return self.type_of(name).numeric
        except ColumnError:
            return False

    def together(self, columns: Mapping[Any, Labels], *, progress: Progress | None = None) -> Iterator[Rows]:
        for column, labels in columns.items():
            if labels is None:
                self.check_numbers(column, CATEGORIES)
        return self._told(columns, progress)

    def _told(self, columns: Mapping[Any, Labels], progress: Progress | None) -> Iterator[Rows]:
        rows = 0
        for block in self.values(columns):
            yield block
            size = len(next(iter(block.values())))
            rows += size
            if progress:
                progress(size)
        self.rows = rows

    # --- what a query that is larger than memory overrides -----------------------------------------
    def type_of(self, column: Any) -> ColumnType:
        return column_type(self.column(column).dtype)

    def values(self, columns: Mapping[Any, Labels]) -> Iterator[Rows]:
        """The blocks of several columns, as numbers or as numbers of categories."""
        self._hold(columns)
        held = dict(self._held)
        for start in range(0, self.rows or 0, BLOCK):
            yield {name: read_rows(held[name].slice(start, BLOCK), labels) for name, labels in columns.items()}

    def beside(
        self, columns: Mapping[Any, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        others, start = self.others(columns), 0
        for rows in self.together(columns, progress=progress):
            size = len(next(iter(rows.values())))
            yield rows, {name: other.slice(start, size) for name, other in others.items()}
            start += size

    def whole(self, *, progress: Progress | None = None) -> Iterator[Mapping[str, pl.Series]]:
        columns = self.others(())
        self.rows = max((len(one) for one in columns.values()), default=0)
        for start in range(0, self.rows, BLOCK):
            part = {name: one.slice(start, BLOCK) for name, one in columns.items()}
            yield part
            if progress:
                progress(min(BLOCK, self.rows - start))

    def released(self, changes: Changes, *, shuffle: int | None = None) -> Any:
        self.labels = changes.labels
        self._hold([*changes.replaced, *changes.read])
        held, rows = dict(self._held), self.rows or 0
        parts = [
            fresh_columns([{name: one.slice(start, BLOCK) for name, one in held.items()}], changes, start // BLOCK)[0]
            for start in range(0, rows, BLOCK)
        ]
        if parts:
            fresh = {name: pl.concat([part[name] for part in parts]) for name in parts[0]}
        else:
            types = released_schema({name: one.dtype for name, one in held.items()}, changes)
            own = (*changes.replaced, *changes.derived)
            fresh = {name: pl.Series(str(name), [], dtype=types[name]) for name in own}
        table = self.with_columns(fresh, changes.dropped)
        if shuffle is None:
            return table
        order = shuffled_order(shuffle, rows)
        return (
            self.taken(table, order) if changes.keep is None else self.pruned(self.taken(table, order[: changes.keep]))
        )

    def pruned(self, native: Any) -> Any:
        """The object without what is left of rows that it does not have, such as categories that none of it has."""
        return native
