"""CSV under Spark: parsed once, into Parquet files of the folder beside OUT that workers read and write by themselves.

Spark says what the texts are and how values are written, as it does without these files. They lie in a folder that only
its owner can read, and go with it when the run ends.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from uuid import uuid4

from statveil.tables.changes import Changes
from statveil.tables.files.table_file import TableFile, Watch, WatchedFile
from statveil.tables.handing_on import HandsOn
from statveil.tables.source import Progress, Source

if TYPE_CHECKING:  # which opens such tables
    from statveil.tables.spark.spark_file import SparkFile

__all__ = ["SparkCsv"]


class SparkCsv(HandsOn, WatchedFile):
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
        self._rows: Source = csv

    def work_in(self, folder: Path) -> None:
        place = folder / f"parsed-{uuid4().hex}"
        self._csv.write_parquet(place)
        there = self._opened(place)
        if isinstance(there, WatchedFile):  # else types that only Spark writes: it goes on with the texts
            there.work_in(folder)
            self._folder, self._rows = folder, there

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
