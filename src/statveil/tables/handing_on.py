"""A table whose rows are read as another table has them, which may be known only later."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from statveil.tables.changes import Labels
from statveil.tables.series import ColumnType
from statveil.tables.source import Progress, Rows, Source

if TYPE_CHECKING:  # both look at tables
    from statveil.tables.groups import GroupRows, LabelColumn
    from statveil.tables.looking import BesideColumn, Look, ShownBeside
    from statveil.tables.panel_units import Units
    from statveil.tables.structure.others.facets import Parted
    from statveil.tables.structure.others.telling import Copies

__all__ = ["HandsOn"]


class HandsOn(Source):
    """Whatever is asked of its rows is asked of :attr:`_rows`."""

    _rows: Source

    @property
    def rows(self) -> int | None:  # type: ignore[override]
        """As many as that table has."""
        return self._rows.rows

    @property
    def makes_maps(self) -> bool:  # type: ignore[override]
        """Whether maps can be made where the rows lie now."""
        return self._rows.makes_maps

    def type_of(self, column: Any) -> ColumnType:
        return self._rows.type_of(column)

    def column(self, name: Any) -> pl.Series:
        return self._rows.column(name)

    def pieces(self, column: Any) -> Iterator[pl.Series]:
        return self._rows.pieces(column)

    def numeric_columns(self) -> list[Any]:
        return self._rows.numeric_columns()

    def together(self, columns: Mapping[Any, Labels], *, progress: Progress | None = None) -> Iterator[Rows]:
        return self._rows.together(columns, progress=progress)

    def beside(
        self, columns: Mapping[Any, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        return self._rows.beside(columns, progress=progress)

    def beside_some(
        self, columns: Mapping[Any, Labels], others: Collection[Any]
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        return self._rows.beside_some(columns, others)

    def whole(self, *, progress: Progress | None = None) -> Iterator[Mapping[str, pl.Series]]:
        return self._rows.whole(progress=progress)

    def groups_there(self, column: LabelColumn, seen: dict[str, None]) -> GroupRows | None:
        return self._rows.groups_there(column, seen)

    def units_there(self, column: Any, labels: Labels, group: Any, others: Collection[Any] | None) -> Units | None:
        return self._rows.units_there(column, labels, group, others)

    def hash_there(self, column: Any) -> str | None:
        return self._rows.hash_there(column)

    def look(self, column: Any, look: Look, copies: Copies | None, *, progress: Progress | None = None) -> bool:
        return self._rows.look(column, look, copies, progress=progress)

    def look_beside(
        self, columns: Mapping[Any, Labels], asked: Sequence[BesideColumn], others: ShownBeside | None = None
    ) -> list[bool]:
        return self._rows.look_beside(columns, asked, others)

    def show_rows(self, columns: Mapping[Any, Labels], others: Collection[Any], watcher: Parted) -> bool:
        return self._rows.show_rows(columns, others, watcher)
