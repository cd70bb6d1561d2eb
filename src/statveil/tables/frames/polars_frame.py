"""Polars: eager frames, single series, and lazy frames of any size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK, Array, in_blocks
from statveil.tables.frames.frame import Frame, Released
from statveil.tables.released import read_rows
from statveil.tables.series import ColumnType, column_type
from statveil.tables.shuffling import keys_of, shuffled_frames

__all__ = ["PolarsFrame", "PolarsLazyFrame", "PolarsSeries"]


class PolarsFrame(Frame):
    """An eager frame."""

    @classmethod
    def takes(cls, native: Any) -> bool:
        return isinstance(native, pl.DataFrame)

    def names(self) -> list[Any] | None:
        return list(self.native.columns)

    def series(self) -> pl.Series:
        series: pl.Series = self.native[self.column]
        return series

    def others(self) -> Mapping[str, pl.Series]:
        return {column.name: column for column in self.native.get_columns() if column.name != self.column}

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        return native[order]

    def with_series(self, released: pl.Series) -> Any:
        return self.native.with_columns(released.alias(self.column))


class PolarsSeries(Frame):
    """A single series."""

    @classmethod
    def takes(cls, native: Any) -> bool:
        return isinstance(native, pl.Series)

    def names(self) -> list[Any] | None:
        return None

    def series(self) -> pl.Series:
        series: pl.Series = self.native
        return series if series.name else series.alias("values")

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        return native.gather(order)

    def with_series(self, released: pl.Series) -> Any:
        return released.alias(self.native.name)


class PolarsLazyFrame(Frame):
    """A query; it stays a query, and is never held in memory as a whole.

    The released query runs the original one again. Should that give its rows in another order, the maps that go by
    row number would hit other rows: a checksum of every block is kept, and a difference is an error.
    """

    def __init__(self, native: Any, column: Any) -> None:
        super().__init__(native, column)
        self._checks: list[int] = []
        self._labels: Sequence[str] | None = None

    @classmethod
    def takes(cls, native: Any) -> bool:
        return isinstance(native, pl.LazyFrame)

    def names(self) -> list[Any] | None:
        return list(self.native.collect_schema().names())

    def series(self) -> pl.Series:
        series: pl.Series = self.native.select(self.column).collect()[self.column]
        return series

    def with_series(self, released: pl.Series) -> Any:
        raise AssertionError("a lazy frame is released block by block")

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        raise AssertionError("a lazy frame is shuffled block by block")

    def type(self) -> ColumnType:
        return column_type(self.native.collect_schema()[self.column])

    def blocks(self, labels: Sequence[str] | None) -> Iterator[Array]:
        if labels != self._labels:
            self._labels, self._checks = labels, []
        checks = []
        for rows in frame_blocks(self.native.select(self.column)):
            values = self._values(rows)
            checks.append(crc32(values.tobytes()))
            yield values
        if self._checks and checks != self._checks:
            raise self._unsteady()
        self._checks = checks

    def beside(self, labels: Sequence[str] | None) -> Iterator[tuple[Array, Mapping[str, pl.Series]]]:
        for rows in frame_blocks(self.native):
            yield (
                read_rows(rows[self.column], labels),
                {column.name: column for column in rows.get_columns() if column.name != self.column},
            )

    def _values(self, rows: pl.DataFrame) -> Array:
        return read_rows(rows[self.column], self._labels)

    def released(self, release: Released, *, shuffle: int | None = None) -> Any:
        native, column, checks = self.native, self.column, list(self._checks)
        schema = native.collect_schema()
        empty = release(pl.Series(column, [], dtype=schema[column]), 0)

        def released_blocks() -> Iterator[tuple[int, pl.DataFrame]]:
            index = -1
            for index, rows in enumerate(frame_blocks(native)):
                if index >= len(checks) or crc32(self._values(rows).tobytes()) != checks[index]:
                    raise self._unsteady()
                yield index, rows.with_columns(release(rows[column], index).alias(column))
            if index + 1 < len(checks):
                raise self._unsteady()

        def fresh_blocks() -> Iterator[pl.DataFrame]:
            if shuffle is None:
                return (rows for _, rows in released_blocks())
            keyed = ((rows, keys_of(shuffle, index, len(rows))) for index, rows in released_blocks())
            return shuffled_frames(keyed, rows=BLOCK * len(checks))

        def source(
            with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
        ) -> Iterator[pl.DataFrame]:
            left = n_rows
            for fresh in fresh_blocks():
                fresh = fresh if left is None else fresh.head(left)
                left = None if left is None else left - len(fresh)
                fresh = fresh if with_columns is None else fresh.select(with_columns)
                yield fresh if predicate is None else fresh.filter(predicate)
                if left == 0:
                    return

        return register_io_source(source, schema={**schema, column: empty.dtype})

    def _unsteady(self) -> ColumnError:
        return ColumnError(
            "the lazy query gives its rows in another order each time it runs; collect() it first, or sort it."
        )


def frame_blocks(query: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Run a query in the streaming engine, ``BLOCK`` rows at a time, in row order."""
    batches = query.collect_batches(maintain_order=True, chunk_size=BLOCK, engine="streaming")
    for pieces in in_blocks((None, batch) for batch in batches):
        yield pieces[0][1] if len(pieces) == 1 else pl.concat([piece for _, piece in pieces])
