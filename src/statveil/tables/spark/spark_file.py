"""Files and folders that Spark reads, and writes as folders: for the command line."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from statveil.errors import FileError, StatveilError
from statveil.tables.changes import Changes, Labels
from statveil.tables.files.columnar import ColumnarParts
from statveil.tables.files.opening import check_name, open_table
from statveil.tables.files.parquet_file import ParquetFile
from statveil.tables.files.table_file import TableFile
from statveil.tables.frames.spark_frame import SparkFrame
from statveil.tables.looking import Look
from statveil.tables.series import ColumnType
from statveil.tables.source import Progress, Rows
from statveil.tables.spark.copying import below_each_other, remove_marks, write_copy
from statveil.tables.spark.failures import spark_works
from statveil.tables.spark.footers import odd_columns, read_footer
from statveil.tables.spark.session import open_session
from statveil.tables.spark.spark_csv import SparkCsv
from statveil.tables.spark.spark_parquet import SparkParquet
from statveil.tables.structure.others.telling import Copies

__all__ = ["SparkFile", "open_spark", "read_spark"]

_KINDS = {"parquet": (".parquet", ".pq"), "csv": (".csv",)}


def read_spark(path: str | os.PathLike[str]) -> Any:
    """The table of a file, or of a folder of files in the order of their paths, as a Spark DataFrame."""
    return SparkFile(Path(path)).frame.native


def open_spark(path: str | os.PathLike[str]) -> TableFile:
    """The same as a table that can be written with changes: by Python workers alone, where Polars has all its types."""
    place = Path(path)
    check_name(place)
    kind, files = _files(place)
    if kind == "csv":
        return SparkCsv(SparkFile(place), open_spark)
    session = open_session()
    try:
        footers = [read_footer(file) for file in files]
    except (OSError, ValueError, StatveilError):  # damaged, or encrypted: Spark says what it makes of it
        return SparkFile(place)
    if any(not footer.schema.equals(footers[0].schema) for footer in footers):
        return SparkFile(place)  # which may know that they are the same, or refuses them
    odd = odd_columns(footers, ParquetFile(files[0]).schema)
    if odd:
        table = SparkFile(place)
        table.notes.append(
            f"Types that only Spark writes as they were ({', '.join(map(repr, odd[:5]))}{' ...' if odd[5:] else ''}): "
            "all rows went through Spark, which takes longer."
        )
        return table
    local = open_table(place)
    assert isinstance(local, ColumnarParts)

    def shuffled(folder: Path, target: Path, shuffle: int) -> None:
        SparkFile(folder).write(target, Changes(), shuffle=shuffle)

    return SparkParquet(local, footers, session, shuffled)


class SparkFile(TableFile):
    """A Parquet or CSV file, or a folder of either; written as a folder of as many files as there are partitions."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    as_folder: ClassVar[bool] = True
    only_whole: ClassVar[str] = "Spark reads a table again to write it; leave out --engine spark."

    def __init__(self, path: Path) -> None:
        check_name(path)
        self.path, self.notes = path, []
        self.kind, files = _files(path)
        session = open_session()
        with spark_works(f"read {path}"):
            # one by one: of several files Spark reads the largest first
            parts = [_read(session, self.kind, file) for file in files]
            if any(part.schema != parts[0].schema for part in parts):
                raise FileError(f"the files of {path} do not have the same columns and types; cast them to one.")
            self.frame = SparkFrame(below_each_other(parts))
        self.names = self.frame.names

    @property
    def rows(self) -> int | None:  # type: ignore[override]
        """Counted by a pass."""
        return self.frame.rows

    def type_of(self, column: Any) -> ColumnType:
        self.position(column)
        return self.frame.type_of(column)

    def column(self, name: Any) -> pl.Series:
        return self.frame.column(name)

    def pieces(self, column: Any) -> Iterator[pl.Series]:
        return self.frame.pieces(column)

    def numeric_columns(self) -> list[Any]:
        return self.frame.numeric_columns()

    def together(self, columns: Mapping[Any, Labels], *, progress: Progress | None = None) -> Iterator[Rows]:
        return self.frame.together(columns, progress=progress)

    def beside(
        self, columns: Mapping[Any, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        return self.frame.beside(columns, progress=progress)

    def look(self, column: Any, look: Look, copies: Copies | None, *, progress: Progress | None = None) -> bool:
        return self.frame.look(column, look, copies, progress=progress)

    def write(
        self, target: Path, changes: Changes, *, shuffle: int | None = None, progress: Progress | None = None
    ) -> None:
        _write(self.frame.released(changes, shuffle=shuffle), self.kind, target)

    def write_parquet(self, target: Path) -> None:
        """The table as it is, in Parquet files of types that other programs read."""
        with spark_works(f"read {self.path}"):
            write_copy(self.frame.native, target)

    def write_csv(self, source: Path, target: Path) -> None:
        """Parquet files, in the order of their names, as CSV."""
        _write(SparkFile(source).frame.native, "csv", target)


def _files(path: Path) -> tuple[str, list[Path]]:
    """The format and the files, by their suffixes."""
    if path.is_dir():
        inside = (place.relative_to(path) for place in path.rglob("*") if place.is_file())
        names = sorted(one for one in inside if not any(part.startswith(("_", ".")) for part in one.parts))
        found: Collection[Path] = [path / one for one in names]
    else:
        found = [path]
    for kind, suffixes in _KINDS.items():
        own = [file for file in found if file.name.lower().endswith(suffixes)]
        if own and len(own) == len(found):
            return kind, own
    if not path.exists():
        raise FileError(f"cannot read {path}: No such file or directory.")
    raise FileError(
        f"--engine spark reads Parquet (.parquet, .pq) and CSV (.csv) files, and folders of either; {path} is neither."
    )


def _write(native: Any, kind: str, target: Path) -> None:
    """A file for each partition."""
    with spark_works(f"write {target.name}"):
        writer = native.write.mode("error")
        if kind == "csv":
            writer.option("header", True).option("escape", '"').csv(target.absolute().as_uri())
        else:
            writer.parquet(target.absolute().as_uri())
    remove_marks(target)


def _read(session: Any, kind: str, file: Path) -> Any:
    place = file.absolute().as_uri()
    if kind == "csv":
        return session.read.csv(place, header=True, inferSchema=True, escape='"', enforceSchema=False)
    return session.read.parquet(place)
