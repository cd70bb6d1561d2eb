"""A column looked at by the executors: what they tell of their partitions, put together as one machine would see it.

Spark counts the rows of each partition, fetches some rows of all columns (the first block, and those that are compared
with the column), looks whether columns of few values have no others anywhere, and hands the column alone to Python,
where the rows are.  What comes to the driver does not grow with the rows, but for some bytes a
block.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import BLOCK, Array
from statveil.tables.frames.arrow_table import any_series
from statveil.tables.looking import Look
from statveil.tables.released import read_rows
from statveil.tables.spark.failures import quiet, spark_works
from statveil.tables.spark.layout import BITS, Layout, Seen, unsteady
from statveil.tables.spark.passes import NUMBER, SeenColumn, finite_there, numbered, own_name
from statveil.tables.spark.shipping import packed
from statveil.tables.spark.watching import WATCHED, PartSeen, Watch, spread_in_pieces, watcher
from statveil.tables.structure.others.alongside import PIECE, Gathering
from statveil.tables.structure.others.cell_search import Cells, Few
from statveil.tables.structure.others.telling import Copies

__all__ = ["Looked", "look_there", "partitions_stay"]

_STAY = {
    *("Project", "Filter", "Union", "SubqueryAlias", "MapInArrow", "MapInPandas"),
    *("LogicalRelation", "InMemoryRelation", "LogicalRDD", "Range"),
}
"""Steps of a query that make the same partitions whichever columns are asked for."""
_MOST_STEPS = 500
_MOST_PARTS = 500
"""Partitions with rows: the values of the blocks at their edges come to the driver together, half a megabyte each."""
_PLAIN = (pl.String, pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Float32, pl.Float64)
"""Types whose values Spark compares as Polars does."""


def partitions_stay(native: Any) -> bool:
    """Whether a query makes the same partitions for some of its columns as for all of them.

    Others are read as a whole: after a shuffle Spark merges partitions by the bytes that are asked for.
    """
    # a new query: that of the DataFrame may be from before it was persisted
    steps = [numbered(native)._jdf.queryExecution().optimizedPlan()]
    for number, step in enumerate(steps):  # which grows
        if number >= _MOST_STEPS or step.nodeName() not in _STAY:
            return False
        below = step.children()
        steps += [below.apply(place) for place in range(below.size())]
    return True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Looked:
    """The column that is looked at, and what goes beside it."""

    native: Any
    layout: Layout
    finite: int
    """Rows in which the column has a finite number."""
    place: int
    """Of the column."""
    names: Mapping[str, int]
    """Of all others, with their places."""
    parts: str | None
    """What the number of a row's partition is called among the others; ``None`` if there is one alone."""

    def others(self, frame: pl.DataFrame, part: NDArray[np.int64]) -> dict[str, pl.Series]:
        """The other columns of some rows without their own names, and where these rows lie."""
        found = {name: frame[own_name(place)].alias("") for name, place in self.names.items()}
        return found if self.parts is None else found | {self.parts: pl.Series(part)}


def look_there(table: Looked, look: Look, copies: Copies | None) -> Seen | None:
    """Have the executors look; ``None`` where they cannot say what is asked."""
    if np.count_nonzero(table.layout.rows) > _MOST_PARTS:
        return None
    guessed = Gathering()
    if copies is not None:
        for index in range(-(-table.layout.total // BLOCK)):
            guessed.add(np.zeros(_size(table.layout, index)), {})
    rows = _fetched(table, guessed, alone=copies is None, first=True)
    head = rows.where(rows.number < BLOCK)
    cells = Cells()
    wanted = [] if copies is None else copies.must_see(head.values, head.others)
    if wanted is None or not look.begin(head.values, table.finite, table.layout.total):
        return None
    told = _few(table, head, wanted, cells)
    seen = _watched(table, look, [name for name in wanted if name not in told and name != table.parts])
    kept, chosen, own = SeenColumn(), Gathering(), look.part()
    try:
        for index, values, sums in _blocks(table.layout, seen):
            if not index and sums != _sums(table.layout, head.values):
                raise unsteady()
            if values is not None:
                own.add(values, index * BLOCK)
            kept.told(sums, values)
            if copies is not None and table.finite < table.layout.total:
                chosen.add(_gaps(table.layout, index, values, seen), {})
        found = kept.done()
    finally:
        kept.close()
    for one in (*(part.glimpse for part in seen.values()), own.seen()):
        look.join(one)
    if not look.settle() or look.rows != table.finite:
        return None
    if copies is not None:
        if table.finite == table.layout.total:
            chosen = guessed
        if not chosen.gaps or chosen.stride != guessed.stride:
            rows = _fetched(table, chosen, alone=False, first=False)
        sample = rows.where(_chosen(rows, chosen))
        if len(sample.number) != chosen.rows:
            raise unsteady()
        _take_cells(table, seen, [name for name in wanted if name not in told], cells)
        copies.take(Gathering.of(sample.number, sample.values, sample.others, chosen), sample.others.keys(), cells)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """Some rows: their numbers in the table, and the columns."""

    number: NDArray[np.int64]
    values: Array
    others: dict[str, pl.Series]

    def where(self, inside: NDArray[np.bool_]) -> _Rows:
        rows = np.flatnonzero(inside)
        others = {name: one[rows] for name, one in self.others.items()}
        return _Rows(number=self.number[rows], values=self.values[rows], others=others)


def _chosen(rows: _Rows, chosen: Gathering) -> NDArray[np.bool_]:
    """Which rows a gathering has chosen."""
    inside = rows.number // PIECE % chosen.stride == 0
    return np.asarray(inside if chosen.gaps else inside & np.isfinite(rows.values))


def _fetched(table: Looked, chosen: Gathering, *, alone: bool, first: bool) -> _Rows:
    """The rows that were chosen, of all columns, and the ``first`` block; that ``alone``, of the column, if asked."""
    from pyspark.sql import functions

    number = functions.col(NUMBER)
    starts = functions.lit(table.layout.starts[:-1].tolist())
    # a partition that was not there before has no rows here, and is missed by whoever counts them
    start = functions.try_element_at(starts, functions.shiftright(number, BITS).cast("int") + 1)
    row = start + number.bitwiseAND((1 << BITS) - 1)
    here = functions.shiftright(row, PIECE.bit_length() - 1).bitwiseAND(chosen.stride - 1) == 0
    here = here if chosen.gaps else here & finite_there(table.place)
    begin = row < BLOCK
    asked = begin if alone else here | begin if first else here
    plain = numbered(table.native)
    with spark_works("read the DataFrame"), quiet():
        found = (plain.select(own_name(table.place), NUMBER) if alone else plain).where(asked).toArrow()
    frame = pl.DataFrame([any_series(found.column(name)).alias(name) for name in found.column_names]).sort(NUMBER)
    numbers = frame[NUMBER].to_numpy()
    part = numbers >> BITS
    return _Rows(
        number=table.layout.starts[part] + (numbers & ((1 << BITS) - 1)),
        values=read_rows(frame[own_name(table.place)], None),
        others={} if alone else table.others(frame, part),
    )


def _size(layout: Layout, index: int) -> int:
    return min(BLOCK, layout.total - index * BLOCK)


def _sums(layout: Layout, first: Array) -> list[int]:
    """Checksums of the pieces of the first block."""
    ends = np.unique(np.clip(layout.starts, 0, len(first))).tolist()
    return [crc32(first[start:stop].tobytes()) for start, stop in pairwise(ends)]


def _few(table: Looked, head: _Rows, wanted: list[str], cells: Cells) -> set[str]:
    """Columns that have the few values of the first block in all others too, as Spark says; they are told."""
    from pyspark.sql import functions

    asked: dict[str, pl.Series] = {}
    counts: list[Any] = []
    for name in wanted:
        if name == table.parts or head.others[name].dtype not in _PLAIN:
            continue
        (few,) = Few().add(head.others[name], always=True)
        if few is None:
            continue
        column = functions.col(own_name(table.names[name]))
        known = column.isNotNull() & ~functions.isnan(column) if few.dtype.is_float() else column.isNotNull()
        same = functions.lit(False)
        for value in few.to_list():
            same |= column == functions.lit(value)
        asked[name] = few
        counts += [functions.count_if(known), functions.count_if(known & same)]
    if not asked:
        return set()
    with spark_works("read the DataFrame"):
        (found,) = numbered(table.native).agg(*counts).collect()
    told = set()
    for (name, few), filled, same in zip(asked.items(), found[::2], found[1::2], strict=True):
        if filled == same:
            cells.take(name, few)
            cells.fill(name, filled)
            told.add(name)
    return told


def _watched(table: Looked, look: Look, wanted: list[str]) -> dict[int, PartSeen]:
    """What the executors tell of each partition that has rows."""
    names = [own_name(table.place), *(own_name(table.names[name]) for name in wanted)]
    work = packed(Watch(look=look.part(), layout=table.layout, names=names), table.native.sparkSession.sparkContext)
    with spark_works("read the DataFrame"), quiet():
        told = numbered(table.native).select(*names).mapInArrow(watcher(work), WATCHED).toArrow()
    seen: dict[int, PartSeen] = {}
    for part, data in zip(told.column("part"), told.column("data"), strict=True):
        one: PartSeen = pickle.loads(data.as_buffer())
        if one.rows:
            seen[part.as_py()] = one
    rows = np.zeros(1 + max(seen, default=-1), dtype=np.int64)
    for number, one in seen.items():
        rows[number] = one.rows
    if not table.layout.same(Layout(rows=rows)):
        raise unsteady()
    return dict(sorted(seen.items()))


def _blocks(layout: Layout, seen: Mapping[int, PartSeen]) -> Iterator[tuple[int, Array | None, list[int]]]:
    """All blocks in order: their numbers, their values where they lie in several partitions, sums of their pieces."""
    pieces: list[Array] = []
    sums: list[int] = []
    for part, one in seen.items():
        start, stop = int(layout.starts[part]), int(layout.starts[part + 1])
        for index, total in enumerate(one.sums, start // BLOCK):
            sums.append(total)
            if index in one.edges:
                pieces.append(one.edges[index])
            if stop >= min((index + 1) * BLOCK, layout.total):  # the block ends here
                yield index, np.concatenate(pieces) if pieces else None, sums
                pieces, sums = [], []


def _gaps(layout: Layout, index: int, values: Array | None, seen: Mapping[int, PartSeen]) -> Array:
    """Numbers for a block, as many of them finite in each piece of neighbours as are: of these it is chosen."""
    size = _size(layout, index)
    if values is not None:
        return values
    part = int(np.searchsorted(layout.starts, index * BLOCK, side="right")) - 1
    return spread_in_pieces(size, seen[part].finite.get(index))


def _take_cells(table: Looked, seen: Mapping[int, PartSeen], wanted: list[str], cells: Cells) -> None:
    """The few values of the columns that have no more, taken in block by block."""
    named = {own_name(table.names[name]): name for name in wanted if name != table.parts}
    told: dict[int, dict[str, list[pl.Series | None]]] = {}
    for one in seen.values():
        for index, own, few in one.few:
            told.setdefault(index, {}).setdefault(named[own], []).append(few)
    if table.parts is not None:
        for part in seen:
            first, last = (int(row) // BLOCK for row in table.layout.starts[part : part + 2] - [0, 1])
            for index in {first, min(first + 1, last), last}:  # between them a block has no other
                told.setdefault(index, {}).setdefault(table.parts, []).append(pl.Series([part]))
    for _, columns in sorted(told.items()):
        for name, parts in columns.items():
            known = [one for one in parts if one is not None]
            cells.take(name, pl.concat(known).unique() if len(known) == len(parts) else None)
    for own, name in named.items():
        cells.fill(name, sum(one.filled[own] for one in seen.values()))
    if table.parts is not None:
        cells.fill(table.parts, table.layout.total)
