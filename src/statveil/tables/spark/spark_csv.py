"""CSV under Spark: parsed once, into Parquet files of the folder beside OUT that workers read and write by themselves.

Spark says what the texts are and how values are written, as it does without these files. They lie in a folder that only
its owner can read, and go with it when the run ends.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

import polars as pl

from statveil.tables.changes import Changes, Labels
from statveil.tables.files.table_file import TableFile, Watch, WatchedFile
from statveil.tables.groups import GroupRows, LabelColumn
from statveil.tables.looking import BesideColumn, Look, ShownBeside
from statveil.tables.series import ColumnType
from statveil.tables.source import Progress, Rows
from statveil.tables.structure.others.facets import Parted
from statveil.tables.structure.others.telling import Copies

if TYPE_CHECKING:  # which opens such tables
    from statveil.tables.spark.spark_file import SparkFile

__all__ = ["SparkCsv"]


class SparkCsv(WatchedFile):
    """A CSV file, or a folder of some, read from Parquet files as soon as there is a folder for these.

    Parameters
    ----------
    csv : SparkFile
        The same table as Spark reads it.
    opened : callable
        Opens Parquet files: for workers, or for Spark alone where only that writes their types.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()
    as_folder: ClassVar[bool] = True

    def __init__(self, csv: SparkFile, opened: Callable[[Path], TableFile]) -> None:
        self.path, self.names, self.notes, self.only_whole = csv.path, csv.names, csv.notes, csv.only_whole  # type: ignore[misc]
        self._csv, self._opened = csv, opened
        self._folder: Path | None = None
        self._rows: TableFile = csv

    @property
    def rows(self) -> int | None:  # type: ignore[override]
        """As many as the Parquet files have."""
        return self._rows.rows

    def work_in(self, folder: Path) -> None:
        place = folder / f"parsed-{uuid4().hex}"
        self._csv.write_parquet(place)
        there = self._opened(place)
        if isinstance(there, WatchedFile):  # else types that only Spark writes: it goes on with the texts
            there.work_in(folder)
            self._folder, self._rows, self.makes_maps = folder, there, there.makes_maps

    def write(
        self,
        target: Path,
        changes: Changes,
        *,
        shuffle: int | None = None,
        progress: Progress | None = None,
        watch: Watch | None = None,
    ) -> None:
        if self._folder is None or not isinstance(self._rows, WatchedFile):
            if watch is not None:
                for rows, others in self.beside(changes.labels):
                    watch(rows, others)
            self._csv.write(target, changes, shuffle=shuffle, progress=progress)
            return
        released = self._folder / f"released-{uuid4().hex}"
        self._rows.write(released, changes, shuffle=shuffle, progress=progress, watch=watch)
        self._csv.write_csv(released, target)
        shutil.rmtree(released)

    # --- as the rows are read -----------------------------------------------------------------------
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

    def groups_there(self, column: LabelColumn, seen: dict[str, None]) -> GroupRows | None:
        return self._rows.groups_there(column, seen)

    def look(self, column: Any, look: Look, copies: Copies | None, *, progress: Progress | None = None) -> bool:
        return self._rows.look(column, look, copies, progress=progress)

    def look_beside(
        self, columns: Mapping[Any, Labels], asked: Sequence[BesideColumn], others: ShownBeside | None = None
    ) -> list[bool]:
        return self._rows.look_beside(columns, asked, others)

    def show_rows(self, columns: Mapping[Any, Labels], others: Collection[Any], watcher: Parted) -> bool:
        return self._rows.show_rows(columns, others, watcher)
