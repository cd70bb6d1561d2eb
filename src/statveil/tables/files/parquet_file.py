"""Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from statveil.errors import FileError
from statveil.tables.blocks import BLOCK
from statveil.tables.changes import Changes
from statveil.tables.files.columnar import ColumnarFile
from statveil.tables.files.failures import cannot_read
from statveil.tables.files.leaf_types import leaf_types
from statveil.tables.files.packing import CLOSE, packing_for
from statveil.tables.files.parquet_footer import lacks_data
from statveil.tables.hashing import hashed_as_written
from statveil.tables.source import Progress

if TYPE_CHECKING:
    from statveil.tables.files.table_file import Watch
    from statveil.tables.looking import Look
    from statveil.tables.structure.others.telling import Copies

__all__ = ["LONG", "ParquetFile"]

LONG = 2**22
"""Rows from which on work beside the reading or writing saves time."""

_LAST = 2**63 - 1
"""Billionths of a second since 1970: what the engine reads where a time does not fit into so many."""


class ParquetFile(ColumnarFile):
    """A Parquet file. Key-value metadata and statistics of the input are not carried over: they may hold the secret."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    what: ClassVar[str] = "a Parquet"
    _written: tuple[Path, Callable[[], str]] | None = None
    """The long file that was written last, and what has its hash."""
    _packing: Mapping[str, Any] = CLOSE

    def __init__(self, path: Path) -> None:
        try:
            cut = lacks_data(path)
        except OSError as error:
            raise cannot_read(path, error, self.what) from None
        if cut:
            raise FileError(
                f"cannot read {path}: it is damaged, parts of its data are missing. Copy it again, or write it again "
                "with the program that made it."
            )
        super().__init__(path)

    def _scan(self) -> pl.LazyFrame:
        # no patterns in file names, no columns made up from folder names such as "year=2024"
        return pl.scan_parquet(self.path, glob=False, hive_partitioning=False)

    def _read(self, columns: Collection[str] | None) -> Iterator[pl.DataFrame]:
        fine = [name for name, dtype in self.schema.items() if _has_billionths(dtype)]
        for batch in super()._read(columns):
            for name in fine:
                if name in batch.columns and _cut_off(batch.get_column(name)):
                    raise FileError(
                        f"cannot read {self.path}: column {name!r} holds times before 1677 or after 2262 (such as "
                        "9999-12-31) as INT96, which would all become one time. Write it with microseconds; in Spark: "
                        "spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS."
                    )
            yield batch

    def look(self, column: str, look: Look, copies: Copies | None, *, progress: Progress | None = None) -> bool:
        from statveil.tables.files.in_halves import looked_at_in_halves  # which opens such files

        return copies is None and looked_at_in_halves(self, column, look, progress)

    def write(
        self,
        target: Path,
        changes: Changes,
        *,
        shuffle: int | None = None,
        progress: Progress | None = None,
        watch: Watch | None = None,
    ) -> None:
        if (self.rows or 0) < LONG:
            super().write(target, changes, shuffle=shuffle, progress=progress, watch=watch)
            return
        with hashed_as_written(target) as digest:
            super().write(target, changes, shuffle=shuffle, progress=progress, watch=watch)
        self._written = target, digest

    def hash_of(self, path: Path) -> str:
        written = self._written
        return super().hash_of(path) if written is None or written[0] != path else written[1]()

    def _sink_rows(self, frames: Iterator[pl.DataFrame], target: Path, changes: Changes) -> None:
        if (self.rows or 0) >= LONG and (first := next(frames, None)) is not None:
            self._packing = packing_for(first.head(BLOCK))
            frames = chain([first], frames)
        super()._sink_rows(frames, target, changes)

    def _sink(self, frame: pl.LazyFrame, target: Path) -> None:
        frame.sink_parquet(target, **self._packing)


def _has_billionths(dtype: pl.DataType) -> bool:
    return any(isinstance(one, pl.Datetime) and one.time_unit == "ns" for one in leaf_types(dtype))


def _cut_off(values: pl.Series) -> bool:
    """Whether a time is the last that nanoseconds can say: the engine reads all that lie outside as that one."""
    if isinstance(values.dtype, pl.List | pl.Array):
        return _cut_off(values.explode())
    if isinstance(values.dtype, pl.Struct):
        return any(_cut_off(values.struct.field(field.name)) for field in values.dtype.fields)
    if not _has_billionths(values.dtype):
        return False
    return values.to_physical().max() == _LAST
