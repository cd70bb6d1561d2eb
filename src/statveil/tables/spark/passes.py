"""Passes over a Spark DataFrame: its partitions one after the other, on their way past the driver."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import IO, Any
from zlib import crc32

import numpy as np
import polars as pl

from statveil.tables.blocks import Array, in_blocks
from statveil.tables.frames.arrow_table import any_series
from statveil.tables.spark.executors import PACKED, packer
from statveil.tables.spark.failures import quiet, spark_works
from statveil.tables.spark.layout import BITS, Edges, Layout, Seen

__all__ = ["NUMBER", "SeenColumn", "blocks_of_rows", "counted", "finite_there", "numbered", "own_name", "rows_of"]

NUMBER = "statveil_row"


def own_name(place: int) -> str:
    """What a column is called while we work: its own name may hold dots, or be that of another one."""
    return f"c{place}"


def numbered(native: Any) -> Any:
    """The DataFrame with its columns by place, and Spark's numbers of the rows: partition, and place inside it."""
    from pyspark.sql import functions

    plain = native.toDF(*[own_name(place) for place in range(len(native.columns))])
    return plain.withColumn(NUMBER, functions.monotonically_increasing_id())


def rows_of(native: Any, places: Sequence[int]) -> Iterator[tuple[int, pl.DataFrame]]:
    """The columns at these places, in row order and in pieces of any length, each with its partition's number.

    The driver holds what it needs of one partition, and that of the next while it is made.
    """
    import pyarrow as pa

    chosen = numbered(native).select(*([own_name(place) for place in places] or [NUMBER]))
    with spark_works("read the DataFrame"), quiet():
        for row in chosen.mapInArrow(packer(), PACKED).toLocalIterator(prefetchPartitions=True):
            table = pa.ipc.open_stream(io.BytesIO(row["data"])).read_all()
            columns = [any_series(table.column(one)).alias(own_name(one_place)) for one, one_place in enumerate(places)]
            frame = pl.DataFrame(columns) if columns else pl.DataFrame(height=row["rows"])
            yield int(row["part"]), frame


def counted(native: Any, place: int | None = None) -> tuple[Layout, int]:
    """How many rows each partition has, and in how many rows of all the column at a place has a finite number."""
    from pyspark.sql import functions

    known = functions.lit(False) if place is None else finite_there(place)
    with spark_works("count the rows"):
        table = numbered(native).select(functions.shiftright(NUMBER, BITS).alias("part"), known.alias("known"))
        found = table.groupBy("part").agg(functions.count("*"), functions.count_if("known")).collect()
    rows = np.zeros(1 + max((part for part, *_ in found), default=-1), dtype=np.int64)
    for part, size, _ in found:
        rows[part] = size
    return Layout(rows=rows), sum(finite for *_, finite in found)


def finite_there(place: int) -> Any:
    """Whether the column at a place has a finite number, as Spark says it: what is none is larger than all others."""
    from pyspark.sql import functions

    return functions.abs(functions.col(own_name(place)).cast("double")) < float("inf")


def blocks_of_rows(
    pieces: Iterator[tuple[int, pl.DataFrame]], parts: dict[int, int]
) -> Iterator[tuple[pl.DataFrame, list[int]]]:
    """Blocks of rows, each with how many of them lie in each of its partitions; ``parts`` counts all of these."""
    for held in in_blocks(pieces):
        sizes: list[int] = []
        for part, own in groupby(held, key=lambda one: one[0]):
            sizes.append(sum(len(frame) for _, frame in own))
            parts[part] = parts.get(part, 0) + sizes[-1]
        yield (held[0][1] if len(held) == 1 else pl.concat([frame for _, frame in held])), sizes


class SeenColumn:
    """Gathers what is kept of a column in a pass; shared blocks go to a file without a name."""

    def __init__(self) -> None:
        self._sums: list[int] = []
        self._blocks: list[int] = []
        self._sizes: list[int] = []
        self._file: IO[bytes] | None = None
        self._index = 0

    def add(self, values: Array, sizes: Collection[int]) -> None:
        """The next block, and how many of its rows lie in each of its partitions."""
        start = 0
        for size in sizes:
            self._sums.append(crc32(values[start : start + size].tobytes()))
            start += size
        if len(sizes) > 1:
            self._share(values)
        self._index += 1

    def told(self, sums: Collection[int], values: Array | None) -> None:
        """The next block as executors tell it: sums of its pieces, and its values if it lies in several partitions."""
        self._sums += sums
        if values is not None:
            self._share(values)
        self._index += 1

    def _share(self, values: Array) -> None:
        self._blocks.append(self._index)
        self._sizes.append(len(values))
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  (closed by whoever gathers)
        self._file.write(values.tobytes())

    def done(self) -> Seen:
        """All of it."""
        starts = np.concatenate([[0], np.cumsum(self._sizes)]).astype(np.int64)
        values: Array = np.zeros(0)
        if self._file is not None:
            self._file.flush()
            values = np.memmap(self._file, dtype=np.float64, mode="r")
        edges = Edges(blocks=np.array(self._blocks, dtype=np.int64), starts=starts, values=values)
        return Seen(sums=np.array(self._sums, dtype=np.uint32), edges=edges)

    def close(self) -> None:
        """Nothing more comes; what was given out stays mapped."""
        if self._file is not None:
            self._file.close()
