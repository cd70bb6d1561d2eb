"""What runs on the executors: rows packed for a pass, and rows released. Each partition by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl

from statveil.tables.blocks import BLOCK, Array
from statveil.tables.changes import Changes, Replacement
from statveil.tables.frames.arrow_table import from_arrow
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.released import fresh_columns, read_rows
from statveil.tables.shuffling import keys_of
from statveil.tables.spark.layout import BITS, Layout, Seen, unsteady
from statveil.tables.spark.shipping import unpacked

__all__ = ["KEY", "PACKED", "Placed", "Work", "cut", "packer", "partition", "releaser"]

KEY = "key"
PACKED = "part bigint, rows bigint, data binary"
"""The columns of what :func:`packer` makes of a table."""

_MASK = (1 << BITS) - 1

Placed = tuple[list[Any], int, int, int]
"""Columns of some rows, the numbers of the first and the last of these, and how many they are."""


def packer() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Batches of rows as Arrow streams of about a block each, with the number of their partition."""

    def pack(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        part = partition()

        def stream(held: list[Any]) -> Any:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, held[0].schema.remove_metadata()) as writer:
                for one in held:
                    writer.write_batch(one.replace_schema_metadata(None))
            columns = (
                pa.array([part], pa.int64()),
                pa.array([sum(one.num_rows for one in held)], pa.int64()),
                pa.array([sink.getvalue().to_pybytes()], pa.binary()),
            )
            return pa.RecordBatch.from_arrays(list(columns), names=["part", "rows", "data"])

        held: list[Any] = []
        size = 0
        for batch in batches:
            if batch.num_rows:
                held.append(batch)
                size += batch.num_rows
            if size >= BLOCK:
                yield stream(held)
                held, size = [], 0
        if held:
            yield stream(held)

    return pack


def partition() -> int:
    """The number of the partition that is worked on: of the one that is read, as nothing merges them before."""
    from pyspark import TaskContext

    return int(TaskContext.get().partitionId())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """All that a partition is released by. Private."""

    changes: Changes
    layout: Layout
    seen: Mapping[Any, Seen]
    """Of each column that is replaced."""
    names: Sequence[Any]
    """The columns that are handed over, in order."""
    made: Mapping[Any, Any]
    """The columns that come back, with their Arrow types."""
    shuffle: int | None


class _Part(ColumnMap):
    """A map for a part of a block, whose other rows lie in other partitions."""

    def __init__(self, whole_block: ColumnMap, values: Array, start: int) -> None:
        self.whole = whole_block.whole  # type: ignore[misc]
        self._map, self._values, self._start = whole_block, values, start

    def block(self, values: Array, index: int) -> Array:
        return self._map.block(self._values, index)[self._start : self._start + len(values)]

    def coefficients(self) -> dict[str, Any]:
        raise AssertionError("a part of a map has none of its own")


def releaser(data: bytes) -> Callable[[Iterator[tuple[Any, ...]]], Iterator[Any]]:
    """The released columns of a partition; ``data`` is a packed :class:`Work`."""

    def release(batches: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
        work: Work = unpacked(data)
        for row, columns in _pieces(work, batches):
            yield _released(work, columns, row)

    return release


def _pieces(work: Work, batches: Iterator[tuple[Any, ...]]) -> Iterator[tuple[int, dict[Any, pl.Series]]]:
    """The rows of a partition cut where blocks end, each with the number of its first row."""

    def placed() -> Iterator[Placed]:
        for batch in batches:
            # Spark hands over numbers alone as they are
            *columns, numbers = batch if isinstance(batch, tuple) else (batch,)
            if rows := len(numbers):
                yield columns, numbers[0].as_py(), numbers[rows - 1].as_py(), rows

    return cut(work.layout, work.names, placed())


def cut(layout: Layout, names: Sequence[Any], batches: Iterator[Placed]) -> Iterator[tuple[int, dict[Any, pl.Series]]]:
    """Rows of a partition, with Spark's numbers of the first and the last and how many, cut where blocks end."""
    held: list[list[Any]] = []
    size, expected, row, stop = 0, -1, 0, 0
    for columns, first, last, rows in batches:
        if expected < 0:
            part = first >> BITS
            if first & _MASK or part >= len(layout.rows):
                raise unsteady()
            expected, row, stop = first, int(layout.starts[part]), int(layout.starts[part + 1])
        if first != expected or last - first != rows - 1 or row + size + rows > stop:
            raise unsteady()
        expected += rows
        start = 0
        while start < rows:
            taken = min(rows - start, min((row // BLOCK + 1) * BLOCK, stop) - row - size)
            held.append([one.slice(start, taken) for one in columns])
            start, size = start + taken, size + taken
            if row + size == min((row // BLOCK + 1) * BLOCK, stop):
                yield row, _joined(names, held)
                row, held, size = row + size, [], 0
    if row != stop:
        raise unsteady()


def _joined(names: Sequence[Any], held: list[list[Any]]) -> dict[Any, pl.Series]:
    import pyarrow as pa

    chunks = [pa.chunked_array([one[place] for one in held]) for place in range(len(names))]
    return {name: from_arrow(one, str(name)).alias(str(name)) for name, one in zip(names, chunks, strict=True)}


def _released(work: Work, columns: Mapping[Any, pl.Series], row: int) -> Any:
    """One piece as a struct of what is made of it."""
    import pyarrow as pa

    layout, index = work.layout, row // BLOCK
    first, size = index * BLOCK, min((index + 1) * BLOCK, layout.total) - index * BLOCK
    # the last partition that begins here: those before it have no rows
    part = int(np.searchsorted(layout.starts, row, side="right")) - 1
    piece = int(layout.pieces[part]) + index - int(layout.starts[part]) // BLOCK
    rows = min(first + size, int(layout.starts[part + 1])) - row
    changes = work.changes
    replaced: dict[Any, Replacement] = {}
    for name, change in changes.replaced.items():
        seen = work.seen[name]
        if crc32(read_rows(columns[name], change.labels).tobytes()) != int(seen.sums[piece]):
            raise unsteady()
        if rows < size:
            replaced[name] = replace(change, column_map=_Part(change.column_map, seen.edges.block(index), row - first))
    if replaced:
        changes = replace(changes, replaced=replaced)
    fresh = fresh_columns([columns], changes, index)[0]
    arrays = [fresh[name].to_arrow().cast(kind) for name, kind in work.made.items()]
    if work.shuffle is not None:
        keys = keys_of(work.shuffle, index, size)[row - first : row - first + rows]
        # Spark has no unsigned numbers: the order stays, from the lowest to the highest
        arrays.append(pa.array((keys ^ np.uint64(1 << 63)).view(np.int64)))
    names = [f"f{place}" for place in range(len(work.made))] + ([] if work.shuffle is None else [KEY])
    return pa.StructArray.from_arrays([_plain(one) for one in arrays], names=names)


def _plain(array: Any) -> Any:
    return array.combine_chunks() if hasattr(array, "combine_chunks") else array
