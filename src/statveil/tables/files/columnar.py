"""Files with typed columns (Parquet, Arrow) and folders of them, streamed by Polars."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, groupby
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
from polars.exceptions import PanicException, PolarsError
from polars.io.plugins import register_io_source

from statveil.errors import FileError
from statveil.tables.blocks import BLOCK, Array, in_blocks
from statveil.tables.files.failures import cannot_read, cannot_write
from statveil.tables.files.table_file import TableFile
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.released import read_rows, released_rows
from statveil.tables.released_type import DIGITS, released_dtype
from statveil.tables.series import ColumnType, column_type
from statveil.tables.shuffling import Keys, keys_of, shuffled_frames
from statveil.tables.source import CATEGORIES, Progress

__all__ = ["ColumnarFile", "ColumnarParts"]

# a panic of the engine (for example on a type it does not know) is not an Exception
_ENGINE_FAILURES = (PolarsError, PanicException, OSError)
_FILE = "the files of the folder"


class ColumnarParts(TableFile):
    """One or more files of typed columns that together are one table.

    Blocks are those of the concatenation: a block may begin in one file and end in the next.
    """

    @abstractmethod
    def _parts(self) -> Sequence[ColumnarFile]:
        """The files in row order."""

    @abstractmethod
    def _targets(self, target: Path) -> Sequence[Path]:
        """Where each file is written."""

    def blocks(
        self, column: str, *, labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Iterator[Array]:
        self._check(column, labels)
        return self._blocks(column, labels, progress)

    def _blocks(self, column: str, labels: Sequence[str] | None, progress: Progress | None) -> Iterator[Array]:
        for pieces in map(_merged, in_blocks(self._batches(column))):
            rows = [read_rows(batch.to_series(), labels) for _, batch in pieces]
            block = rows[0] if len(rows) == 1 else np.concatenate(rows)
            yield block
            if progress:
                progress(len(block))

    def beside(
        self, column: str, *, labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Iterator[tuple[Array, Mapping[str, pl.Series]]]:
        self._check(column, labels)
        several = len(self._parts()) > 1
        for part, batch in self._batches(None):
            others = {one.name: one for one in batch.get_columns() if one.name != column}
            if several:  # which file a row lies in is known as well
                others[_FILE] = pl.Series(np.full(len(batch), part))
            yield read_rows(batch.get_column(column), labels), others
            if progress:
                progress(len(batch))

    def write(
        self,
        target: Path,
        column: str,
        column_map: ColumnMap,
        *,
        labels: Sequence[str] | None = None,
        round_digits: int | None = None,
        shuffle: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._check(column, labels)

        def released() -> Generator[tuple[int, pl.DataFrame, Keys | None], None, None]:
            for index, pieces in enumerate(map(_merged, in_blocks(self._batches(None)))):
                originals = [batch.get_column(column) for _, batch in pieces]
                fresh = released_rows(originals, column_map, index, labels=labels, round_digits=round_digits)
                rows = sum(len(series) for series in fresh)
                keys = None if shuffle is None else keys_of(shuffle, index, rows)
                start = 0
                for (part, batch), series in zip(pieces, fresh, strict=True):
                    stop = start + len(series)
                    released_batch = batch.replace_column(batch.get_column_index(column), series)
                    yield part, released_batch, None if keys is None else keys[start:stop]
                    start = stop
                if progress:
                    progress(rows)

        parts, targets = self._parts(), self._targets(target)
        frames = released()
        try:
            by_part = groupby(frames, key=lambda piece: piece[0])
            following = next(by_part, None)
            for number, (part, path) in enumerate(zip(parts, targets, strict=True)):
                if following is not None and following[0] == number:
                    rows = _in_order(((frame, keys) for _, frame, keys in following[1]), part.rows or 0)
                    part._sink_rows(rows, path, column, column_map.whole, labels)
                    following = next(by_part, None)
                else:  # a file without rows keeps its place and its columns
                    part._sink_rows(iter(()), path, column, column_map.whole, labels)
        finally:
            with suppress(ValueError):  # a thread of the engine may still be in it after an error
                frames.close()

    def column(self, name: str) -> pl.Series:
        return pl.concat([batch.to_series() for _, batch in self._batches(name)])

    def _check(self, column: str, labels: Sequence[str] | None) -> None:
        """An error unless the column is there and of a usable kind."""
        self.type_of(column)
        if labels is None:
            self.check_numbers(column, CATEGORIES)

    def _batches(self, column: str | None) -> Iterator[tuple[int, pl.DataFrame]]:
        """Batches of rows of all files in order, each with its file's number; all columns unless one is named."""
        return chain.from_iterable(
            ((number, batch) for batch in part._read(column)) for number, part in enumerate(self._parts())
        )


class ColumnarFile(ColumnarParts):
    """One file of typed columns."""

    what: ClassVar[str]
    """The format with its article, for messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes = []
        try:
            self.schema = self._scan().collect_schema()
            self.rows = int(self._scan().select(pl.len()).collect().item())
        except _ENGINE_FAILURES as error:
            raise cannot_read(path, error, self.what) from None
        self.names = list(self.schema)
        for name, dtype in self.schema.items():
            # the engine reads such a column but stops the process's thread when it writes it
            if isinstance(dtype, pl.Decimal) and dtype.precision > DIGITS:
                raise FileError(
                    f"cannot read {path}: column {name!r} holds decimals of more than {DIGITS} digits. "
                    "Cast them to fewer digits first."
                )

    @abstractmethod
    def _scan(self) -> pl.LazyFrame:
        """The file, not yet read."""

    @abstractmethod
    def _sink(self, frame: pl.LazyFrame, target: Path) -> None:
        """Write the rows in the file's own format."""

    def _parts(self) -> Sequence[ColumnarFile]:
        return (self,)

    def _targets(self, target: Path) -> Sequence[Path]:
        return (target,)

    def type_of(self, column: str) -> ColumnType:
        self.position(column)
        return column_type(self.schema[column])

    def numeric_columns(self) -> list[str]:
        return [name for name, dtype in self.schema.items() if column_type(dtype).numeric]

    def _read(self, column: str | None) -> Iterator[pl.DataFrame]:
        """Batches of rows in order."""
        # by number: a name such as "*" or "^a.*$" would be taken for a pattern
        scan = self._scan() if column is None else self._scan().select(pl.nth(self.position(column)))
        rows = 0
        try:
            for batch in scan.collect_batches(maintain_order=True, chunk_size=BLOCK, engine="streaming"):
                rows += len(batch)
                yield batch
        except _ENGINE_FAILURES as error:
            raise cannot_read(self.path, error, self.what) from None
        if rows != self.rows:  # the batches just end where a thread of the engine fails on damaged data
            raise FileError(
                f"cannot read {self.path}: {rows} rows could be read, but it says that it has {self.rows}; it is "
                "damaged. Write it again with the program that made it."
            )

    def _sink_rows(
        self, frames: Iterator[pl.DataFrame], target: Path, column: str, whole: bool, labels: Sequence[str] | None
    ) -> None:
        """Write the frames; what fails in producing them comes out as it was raised."""
        schema = dict(self.schema)
        schema[column] = released_dtype(self.schema[column], whole=whole, labels=labels)
        raised: list[BaseException] = []

        def source(*_: object) -> Iterator[pl.DataFrame]:
            try:
                yield from frames
            except GeneratorExit:
                raise
            except BaseException as error:
                raised.append(error)
                raise

        try:
            self._sink(register_io_source(source, schema=schema), target)
        except BaseException as error:
            if raised:
                raise raised[0] from None
            if isinstance(error, _ENGINE_FAILURES):
                raise cannot_write(target, error) from None
            raise


def _in_order(frames: Iterator[tuple[pl.DataFrame, Keys | None]], rows: int) -> Iterator[pl.DataFrame]:
    """The frames as they come, or, where their rows have keys, in the order of the keys."""
    first = next(frames, None)
    if first is None or first[1] is None:
        return (frame for frame, _ in chain([] if first is None else [first], frames))
    keyed = ((frame, keys) for frame, keys in chain([first], frames) if keys is not None)
    return shuffled_frames(keyed, rows=rows)


def _merged(pieces: list[tuple[int, pl.DataFrame]]) -> list[tuple[int, pl.DataFrame]]:
    """Neighbouring pieces of the same file as one."""
    return [
        (part, pl.concat([batch for _, batch in group], rechunk=False))
        for part, group in groupby(pieces, key=lambda piece: piece[0])
    ]
