"""Files with typed columns (Parquet, Arrow) and folders of them, streamed by Polars."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, groupby
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl

from statveil.errors import FileError
from statveil.tables.blocks import BLOCK, in_blocks
from statveil.tables.changes import Changes, Labels
from statveil.tables.files.failures import cannot_read, cannot_write
from statveil.tables.files.sinking import ENGINE_FAILURES, sink_frames
from statveil.tables.files.table_file import Watch, WatchedFile
from statveil.tables.released import changed_frame, fresh_columns, read_rows, released_schema
from statveil.tables.released_type import DIGITS
from statveil.tables.series import ColumnType, column_type
from statveil.tables.shuffling import First, Keys, first_of, keys_of, shuffled_frames
from statveil.tables.source import CATEGORIES, Progress, Rows

__all__ = ["FILE", "ColumnarFile", "ColumnarParts"]

FILE = "the files of the folder"
"""What the number of a row's file is called among the other columns, where there are several files."""

_READ = 4 * BLOCK
"""Rows that the engine hands over at once: a twentieth of the time of a long file less than single blocks take."""


class ColumnarParts(WatchedFile):
    """One or more files of typed columns that together are one table.

    Blocks are those of the concatenation: a block may begin in one file and end in the next.
    """

    first_block: int = 0
    """The number of the block that it begins with: a part of a longer table has those of that table."""

    @abstractmethod
    def _parts(self) -> Sequence[ColumnarFile]:
        """The files in row order."""

    @abstractmethod
    def _targets(self, target: Path) -> Sequence[Path]:
        """Where each file is written."""

    def together(self, columns: Mapping[str, Labels], *, progress: Progress | None = None) -> Iterator[Rows]:
        self._check(columns)
        return self._together(columns, progress)

    def _together(self, columns: Mapping[str, Labels], progress: Progress | None) -> Iterator[Rows]:
        for pieces in map(_merged, in_blocks(self._batches([*columns]))):
            parts = [_rows(batch, columns) for _, batch in pieces]
            block = (
                parts[0] if len(parts) == 1 else {name: np.concatenate([p[name] for p in parts]) for name in columns}
            )
            yield block
            if progress:
                progress(sum(len(batch) for _, batch in pieces))

    def beside(
        self, columns: Mapping[str, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        self._check(columns)
        for part, batch in self._batches(None):
            yield self._beside(part, batch, columns)
            if progress:
                progress(len(batch))

    def _beside(
        self, part: int, batch: pl.DataFrame, columns: Mapping[str, Labels]
    ) -> tuple[Rows, Mapping[str, pl.Series]]:
        others = {one.name: one for one in batch.get_columns() if one.name not in columns}
        if len(self._parts()) > 1:  # which file a row lies in is known as well
            others[FILE] = pl.Series(np.full(len(batch), part))
        return _rows(batch, columns), others

    def beside_some(
        self, columns: Mapping[str, Labels], others: Collection[str]
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        self._check(columns)
        for _, batch in self._batches(list(dict.fromkeys((*columns, *others)))):
            yield _rows(batch, columns), {name: batch.get_column(name) for name in others if name not in columns}

    def write(
        self,
        target: Path,
        changes: Changes,
        *,
        shuffle: int | None = None,
        progress: Progress | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._check(changes.labels)

        def batches() -> Iterator[tuple[_Made, pl.DataFrame]]:
            for part, batch in self._batches(None):
                if watch:
                    watch(*self._beside(part, batch, changes.labels))
                yield _Made(part, batch), batch

        def released() -> Generator[tuple[int, pl.DataFrame, Keys | None], None, None]:
            for index, pieces in enumerate(in_blocks(batches()), self.first_block):
                fresh = fresh_columns([_Columns(batch) for _, batch in pieces], changes, index)
                rows = sum(len(batch) for _, batch in pieces)
                keys = None if shuffle is None else keys_of(shuffle, index, rows)
                start = 0
                for (made, batch), columns in zip(pieces, fresh, strict=True):
                    stop = start + len(batch)
                    if made.take(columns, None if keys is None else keys[start:stop], len(batch)):
                        yield made.part, *made.whole(changes)
                    start = stop
                if progress:
                    progress(rows)

        parts, targets = self._parts(), self._targets(target)
        frames = released()
        first = None if shuffle is None else first_of(shuffle, self.rows or 0, changes.keep)
        try:
            by_part = groupby(frames, key=lambda piece: piece[0])
            following = next(by_part, None)
            for number, (part, path) in enumerate(zip(parts, targets, strict=True)):
                if following is not None and following[0] == number:
                    rows = _in_order(((frame, keys) for _, frame, keys in following[1]), part.rows or 0, first)
                    part._sink_rows(rows, path, changes)
                    following = next(by_part, None)
                else:  # a file without rows keeps its place and its columns
                    part._sink_rows(iter(()), path, changes)
        finally:
            with suppress(ValueError):  # a thread of the engine may still be in it after an error
                frames.close()

    def pieces(self, column: str) -> Iterator[pl.Series]:
        return (batch.to_series() for _, batch in self._batches([column]))

    def column(self, name: str) -> pl.Series:
        return pl.concat(list(self.pieces(name)))

    def _check(self, columns: Mapping[str, Labels]) -> None:
        """An error unless the columns are there and of a usable kind."""
        for column, labels in columns.items():
            self.type_of(column)
            if labels is None:
                self.check_numbers(column, CATEGORIES)

    def _batches(self, columns: Collection[str] | None) -> Iterator[tuple[int, pl.DataFrame]]:
        """Batches of rows of all files in order, each with its file's number; all columns unless some are named."""
        return chain.from_iterable(
            ((number, batch) for batch in part._read(columns)) for number, part in enumerate(self._parts())
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
        except ENGINE_FAILURES as error:
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

    def _read(self, columns: Collection[str] | None) -> Iterator[pl.DataFrame]:
        """Batches of rows in order."""
        # by number: a name such as "*" or "^a.*$" would be taken for a pattern
        chosen = [] if columns is None else [pl.nth(self.position(name)) for name in columns]
        scan = self._scan() if columns is None else self._scan().select(chosen)
        rows = 0
        try:
            for batch in scan.collect_batches(maintain_order=True, chunk_size=_READ, engine="streaming"):
                rows += len(batch)
                yield batch
        except ENGINE_FAILURES as error:
            raise cannot_read(self.path, error, self.what) from None
        if rows != self.rows:  # the batches just end where a thread of the engine fails on damaged data
            raise FileError(
                f"cannot read {self.path}: {rows} rows could be read, but it says that it has {self.rows}; it is "
                "damaged. Write it again with the program that made it."
            )

    def _sink_rows(self, frames: Iterator[pl.DataFrame], target: Path, changes: Changes) -> None:
        """Write the frames; what fails in producing them comes out as it was raised."""
        sink_frames(
            frames,
            released_schema(self.schema, changes),
            lambda frame: self._sink(frame, target),
            lambda error: cannot_write(target, error),
        )


class _Made:
    """A batch as it was read, and what was made of its rows: the engine writes it whole, in a thirtieth less time."""

    def __init__(self, part: int, batch: pl.DataFrame) -> None:
        self.part = part
        self._batch, self._left = batch, len(batch)
        self._fresh: list[Mapping[str, pl.Series]] = []
        self._keys: list[Keys] = []

    def take(self, fresh: Mapping[str, pl.Series], keys: Keys | None, rows: int) -> bool:
        """Take in what was made of the next rows; whether these were the last."""
        self._fresh.append(fresh)
        if keys is not None:
            self._keys.append(keys)
        self._left -= rows
        return self._left == 0

    def whole(self, changes: Changes) -> tuple[pl.DataFrame, Keys | None]:
        """The released rows, with their keys where they have some."""
        first, *others = self._fresh
        fresh = {name: pl.concat([one, *(more[name] for more in others)], rechunk=True) for name, one in first.items()}
        return changed_frame(self._batch, fresh, changes.dropped), np.concatenate(self._keys) if self._keys else None


class _Columns(Mapping[str, pl.Series]):
    """The columns of a batch by name."""

    def __init__(self, batch: pl.DataFrame) -> None:
        self._batch = batch

    def __getitem__(self, name: str) -> pl.Series:
        return self._batch.get_column(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._batch.columns)

    def __len__(self) -> int:
        return self._batch.width


def _rows(batch: pl.DataFrame, columns: Mapping[str, Labels]) -> Rows:
    """The columns of a batch as maps see them."""
    return {name: read_rows(batch.get_column(name), labels) for name, labels in columns.items()}


def _in_order(
    frames: Iterator[tuple[pl.DataFrame, Keys | None]], rows: int, part: First | None
) -> Iterator[pl.DataFrame]:
    """The frames as they come, or, where their rows have keys, in the order of the keys, or the first of them."""
    first = next(frames, None)
    if first is None or first[1] is None:
        return (frame for frame, _ in chain([] if first is None else [first], frames))
    keyed = ((frame, keys) for frame, keys in chain([first], frames) if keys is not None)
    return shuffled_frames(keyed, rows=rows, first=part)


def _merged(pieces: list[tuple[int, pl.DataFrame]]) -> list[tuple[int, pl.DataFrame]]:
    """Neighbouring pieces of the same file as one."""
    return [
        (part, pl.concat([batch for _, batch in group], rechunk=False))
        for part, group in groupby(pieces, key=lambda piece: piece[0])
    ]
