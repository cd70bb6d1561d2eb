"""Polars: eager frames, single series, and lazy frames of any size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK, Array, in_blocks
from statveil.tables.frames.frame import Frame
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.released import read_rows, released_rows
from statveil.tables.released_type import released_dtype
from statveil.tables.series import ColumnType, column_type
from statveil.tables.shuffling import keys_of, shuffled_frames
from statveil.tables.source import Progress

__all__ = ["PolarsFrame", "PolarsLazyFrame", "PolarsSeries"]


class PolarsFrame(Frame):
    """An eager frame."""

    what: ClassVar[str] = "a Polars DataFrame"

    @classmethod
    def takes(cls, native: Any) -> bool:
        return isinstance(native, pl.DataFrame)

    def columns(self) -> list[Any] | None:
        return list(self.native.columns)

    def read(self, column: Any) -> pl.Series:
        series: pl.Series = self.native[column]
        return series

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        return native[order]

    def with_series(self, column: Any, released: pl.Series) -> Any:
        return self.native.with_columns(released.alias(column))


class PolarsSeries(Frame):
    """A single series."""

    what: ClassVar[str] = "a Polars Series"

    @classmethod
    def takes(cls, native: Any) -> bool:
        return isinstance(native, pl.Series)

    def columns(self) -> list[Any] | None:
        return None

    def read(self, column: Any) -> pl.Series:
        series: pl.Series = self.native
        return series if series.name else series.alias("values")

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        return native.gather(order)

    def with_series(self, column: Any, released: pl.Series) -> Any:
        return released.alias(self.native.name)


class PolarsLazyFrame(Frame):
    """A query; it stays a query, and is never held in memory as a whole.

    The released query runs the original one again. Should that give its rows in another order, the maps that go by
    row number would hit other rows: a checksum of every block is kept, and a difference is an error.
    """

    what: ClassVar[str] = "a Polars LazyFrame"

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._checks: list[int] = []
        self._checked: tuple[Any, Sequence[str] | None] | None = None

    @classmethod
    def takes(cls, native: Any) -> bool:
        return isinstance(native, pl.LazyFrame)

    def columns(self) -> list[Any] | None:
        return list(self.native.collect_schema().names())

    def read(self, column: Any) -> pl.Series:
        series: pl.Series = self.native.select(self._nth(column)).collect()[column]
        return series

    def with_series(self, column: Any, released: pl.Series) -> Any:
        raise AssertionError("a lazy frame is released block by block")

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        raise AssertionError("a lazy frame is shuffled block by block")

    def type_of(self, column: Any) -> ColumnType:
        return column_type(self.native.collect_schema()[column])

    def values(self, column: Any, labels: Sequence[str] | None) -> Iterator[Array]:
        return (values for values, _ in self._steady(self.native.select(self._nth(column)), column, labels))

    def _steady(
        self, query: pl.LazyFrame, column: Any, labels: Sequence[str] | None
    ) -> Iterator[tuple[Array, pl.DataFrame]]:
        """The column's blocks with the rows they stand in; an error where they are not those of an earlier pass."""
        if self._checked != (column, labels):
            self._checked, self._checks = (column, labels), []
        checks = []
        for rows in frame_blocks(query):
            values = read_rows(rows[column], labels)
            checks.append(crc32(values.tobytes()))
            yield values, rows
        if self._checks and checks != self._checks:
            raise self._unsteady()
        self._checks = checks

    def beside(
        self, column: Any, *, labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Iterator[tuple[Array, Mapping[str, pl.Series]]]:
        done = 0
        for values, rows in self._steady(self.native, column, labels):
            yield values, {one.name: one for one in rows.get_columns() if one.name != column}
            done += len(rows)
            if progress:
                progress(len(rows))
        self.rows = done

    def released(
        self,
        column: Any,
        column_map: ColumnMap,
        *,
        labels: Sequence[str] | None = None,
        round_digits: int | None = None,
        shuffle: int | None = None,
    ) -> Any:
        native, checks = self.native, list(self._checks)
        schema = native.collect_schema()
        dtype = released_dtype(schema[column], whole=column_map.whole, labels=labels)

        def released_blocks() -> Iterator[tuple[int, pl.DataFrame]]:
            index = -1
            for index, rows in enumerate(frame_blocks(native)):
                if index >= len(checks) or crc32(read_rows(rows[column], labels).tobytes()) != checks[index]:
                    raise self._unsteady()
                fresh = released_rows([rows[column]], column_map, index, labels=labels, round_digits=round_digits)[0]
                yield index, rows.with_columns(fresh.alias(column))
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

        return register_io_source(source, schema={**schema, column: dtype})

    def _nth(self, column: str) -> pl.Expr:
        """The column by its number: a name such as "*" or "^a.*$" would be taken for a pattern."""
        return pl.nth(self.names.index(column))

    def _unsteady(self) -> ColumnError:
        return ColumnError(
            "the lazy query gives its rows in another order each time it runs; collect() it first, or sort it."
        )


def frame_blocks(query: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Run a query in the streaming engine, ``BLOCK`` rows at a time, in row order."""
    batches = query.collect_batches(maintain_order=True, chunk_size=BLOCK, engine="streaming")
    for pieces in in_blocks((None, batch) for batch in batches):
        yield pieces[0][1] if len(pieces) == 1 else pl.concat([piece for _, piece in pieces])
