"""What runs on the executors while a column is looked at where it lies: each partition by itself, one result each."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import BLOCK, Array
from statveil.tables.looking import Look
from statveil.tables.released import read_rows
from statveil.tables.spark.executors import Placed, cut, partition
from statveil.tables.spark.layout import BITS, Layout
from statveil.tables.spark.shipping import unpacked
from statveil.tables.structure.others.alongside import PIECE
from statveil.tables.structure.others.cell_search import Few

__all__ = ["WATCHED", "PartSeen", "Watch", "finite_in_pieces", "spread_in_pieces", "watcher"]

WATCHED = "part bigint, data binary"
"""The columns of what :func:`watcher` makes of a table."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Watch:
    """All that a partition is looked at by. Private."""

    look: Look
    layout: Layout
    names: Sequence[str]
    """The columns that are handed over: the one that is looked at, then those whose few values are told."""


@dataclass(slots=True, kw_only=True, eq=False)
class PartSeen:
    """What is told of a partition. Private."""

    glimpse: Any
    """Of the blocks that lie in it as a whole."""
    rows: int = 0
    sums: list[int] = field(default_factory=list)
    """A checksum of each piece of a block."""
    edges: dict[int, Array] = field(default_factory=dict)
    """The values of pieces whose blocks lie in other partitions too, by the number of their block."""
    finite: dict[int, NDArray[np.uint16]] = field(default_factory=dict)
    """Of blocks with rows that have no value, by their number: see :func:`finite_in_pieces`."""
    few: list[tuple[int, str, pl.Series | None]] = field(default_factory=list)
    """Number of a block, name of a column, its different values there."""
    filled: dict[str, int] = field(default_factory=dict)
    """Rows in which each of these columns has a value."""


def watcher(data: bytes) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What is told of a partition; ``data`` is a packed :class:`Watch`."""

    def watch(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        work: Watch = unpacked(data)
        part = partition()
        seen = pickle.dumps(_seen(work, _placed(batches, part)), protocol=5)
        columns = [pa.array([part], pa.int64()), pa.array([seen], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=["part", "data"])

    return watch


def _placed(batches: Iterator[Any], part: int) -> Iterator[Placed]:
    number = part << BITS
    for batch in batches:
        if rows := batch.num_rows:
            yield batch.columns, number, number + rows - 1, rows
            number += rows


def _seen(work: Watch, batches: Iterator[Placed]) -> PartSeen:
    look, layout = work.look.part(), work.layout
    own, *others = work.names
    seen, room = PartSeen(glimpse=look.seen()), np.empty(BLOCK)
    few = {name: Few() for name in others}
    for row, columns in cut(layout, work.names, batches):
        values = np.ascontiguousarray(read_rows(columns[own], None))
        index = row // BLOCK
        whole = len(values) == min(BLOCK, layout.total - index * BLOCK)
        seen.rows += len(values)
        seen.sums.append(crc32(values.data))
        if whole:
            look.add(values, row, room)
            if not np.isfinite(values).all():
                seen.finite[index] = finite_in_pieces(values)
        else:
            seen.edges[index] = values
        for name, one in few.items():
            seen.few += [(index, name, told) for told in one.add(columns[name], always=not whole)]
    seen.glimpse = look.seen()
    seen.filled = {name: one.filled for name, one in few.items()}
    return seen


def finite_in_pieces(values: Array, start: int = 0) -> NDArray[np.uint16]:
    """How many rows of each piece of neighbours have a finite value, of rows from a number on."""
    return np.add.reduceat(
        np.isfinite(values), [0, *range(-start % PIECE or PIECE, len(values), PIECE)], dtype=np.uint16
    )


def spread_in_pieces(size: int, finite: NDArray[np.uint16] | None, start: int = 0) -> Array:
    """Numbers for rows, as many of them finite in each piece of neighbours as there are; all if none is said."""
    made = np.zeros(size)
    if finite is not None:
        place, before = np.arange(size), start % PIECE
        piece = (place + before) // PIECE
        made[place - np.maximum(piece * PIECE - before, 0) >= finite[piece]] = np.nan
        assert np.array_equal(finite_in_pieces(made, start), finite)
    return made
