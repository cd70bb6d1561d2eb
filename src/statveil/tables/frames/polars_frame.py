"""Polars: eager frames, single series, and lazy frames of any size."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK, in_blocks
from statveil.tables.changes import Changes, Labels
from statveil.tables.empty_cells import emptied_frame
from statveil.tables.frames.frame import Frame
from statveil.tables.released import changed_frame, fresh_columns, read_rows, released_schema
from statveil.tables.series import ColumnType, column_type
from statveil.tables.shuffling import keys_of, shuffled_frames
from statveil.tables.source import Progress, Rows

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

    def with_columns(self, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> Any:
        return emptied_frame(changed_frame(self.native, fresh, dropped))


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
        return native.alias("").gather(order).alias(native.name)  # the engine takes ``^a.*$`` for a pattern

    def with_columns(self, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> Any:
        return fresh[None].alias(self.native.name)


class PolarsLazyFrame(Frame):
    """A query; it stays a query, and is never held in memory as a whole.

    The released query runs the original one again. Should that give its rows in another order, the maps that go by
    row number would hit other rows: a checksum of every block is kept, and a difference is an error.
    """

    what: ClassVar[str] = "a Polars LazyFrame"
    only_whole: ClassVar[str] = "a query runs again where it is used; collect() it first."

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._checks: dict[Any, tuple[Labels, list[int]]] = {}

    @classmethod
    def takes(cls, native: Any) -> bool:
        return isinstance(native, pl.LazyFrame)

    def columns(self) -> list[Any] | None:
        return list(self.native.collect_schema().names())

    def read(self, column: Any) -> pl.Series:
        series: pl.Series = self.native.select(self._nth(column)).collect()[column]
        return series

    def with_columns(self, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> Any:
        raise AssertionError("a lazy frame is released block by block")

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        raise AssertionError("a lazy frame is shuffled block by block")

    def type_of(self, column: Any) -> ColumnType:
        return column_type(self.native.collect_schema()[column])

    def values(self, columns: Mapping[Any, Labels]) -> Iterator[Rows]:
        query = self.native.select([self._nth(name) for name in columns])
        return (block for block, _ in self._steady(query, columns))

    def _steady(self, query: pl.LazyFrame, columns: Mapping[Any, Labels]) -> Iterator[tuple[Rows, pl.DataFrame]]:
        """The columns' blocks with the rows they stand in; an error where they are not those of an earlier pass."""
        checks: dict[Any, list[int]] = {name: [] for name in columns}
        for rows in frame_blocks(query):
            block = {name: read_rows(rows[name], labels) for name, labels in columns.items()}
            for name, values in block.items():
                checks[name].append(crc32(values.tobytes()))
            yield block, rows
        for name, labels in columns.items():
            known = self._checks.get(name)
            if known is not None and known[0] == labels and known[1] != checks[name]:
                raise self._unsteady()
            self._checks[name] = (labels, checks[name])

    def beside(
        self, columns: Mapping[Any, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        done = 0
        for own, rows in self._steady(self.native, columns):
            yield own, {one.name: one for one in rows.get_columns() if one.name not in columns}
            done += len(rows)
            if progress:
                progress(len(rows))
        self.rows = done

    def whole(self, *, progress: Progress | None = None) -> Iterator[Mapping[str, pl.Series]]:
        for rows in frame_blocks(self.native):
            yield {one.name: one for one in rows.get_columns()}

    def released(self, changes: Changes, *, shuffle: int | None = None) -> Any:
        native = self.native
        checks = {name: self._checks[name] for name in changes.replaced}
        blocks = max(len(found) for _, found in checks.values())

        def released_blocks() -> Iterator[tuple[int, pl.DataFrame]]:
            index = -1
            for index, rows in enumerate(frame_blocks(native)):
                for name, (labels, found) in checks.items():
                    if index >= blocks or crc32(read_rows(rows[name], labels).tobytes()) != found[index]:
                        raise self._unsteady()
                columns = {one.name: one for one in rows.get_columns()}
                fresh = fresh_columns([columns], changes, index)[0]
                yield index, emptied_frame(changed_frame(rows, fresh, changes.dropped))
            if index + 1 < blocks:
                raise self._unsteady()

        def fresh_blocks() -> Iterator[pl.DataFrame]:
            if shuffle is None:
                return (rows for _, rows in released_blocks())
            keyed = ((rows, keys_of(shuffle, index, len(rows))) for index, rows in released_blocks())
            return shuffled_frames(keyed, rows=BLOCK * blocks)

        def source(
            with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
        ) -> Iterator[pl.DataFrame]:
            left = n_rows
            for fresh in fresh_blocks():
                fresh = fresh if left is None else fresh.head(left)
                left = None if left is None else left - len(fresh)
                if with_columns is not None:  # by their numbers, as :meth:`_nth` says why
                    fresh = fresh.select(pl.nth(fresh.get_column_index(name)) for name in with_columns)
                yield fresh if predicate is None else fresh.filter(predicate)
                if left == 0:
                    return

        return register_io_source(source, schema=released_schema(native.collect_schema(), changes))

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
