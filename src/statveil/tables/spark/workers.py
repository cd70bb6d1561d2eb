"""What Python workers do with spans of Parquet files: read and written by themselves, so that no row passes Java.

Spark says who does what, and does it again elsewhere where a worker is lost. A task gets a few numbers, and gives back
what the driver puts together: some bytes a block.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import BLOCK, Array, Part
from statveil.tables.changes import Changes, Labels
from statveil.tables.files.columnar import FILE
from statveil.tables.hashing import hash_file
from statveil.tables.looking import Look, ShownBeside
from statveil.tables.record import hash_column
from statveil.tables.source import Rows
from statveil.tables.spark.failures import quiet, spark_works
from statveil.tables.spark.hidden import Hidden
from statveil.tables.spark.layout import unsteady
from statveil.tables.spark.shipping import packed, unpacked
from statveil.tables.spark.spans import ParquetSpan, Span
from statveil.tables.spark.watching import finite_in_pieces
from statveil.tables.structure.others.alongside import Gathering
from statveil.tables.structure.others.cell_search import Few
from statveil.tables.structure.others.facets import Facet, Facets, Parted

__all__ = [
    "Aside",
    "AsidesOf",
    "FirstRows",
    "Looking",
    "LookingBeside",
    "OnePart",
    "Shape",
    "Shaping",
    "Showing",
    "SpanSeen",
    "SpanWritten",
    "ToWrite",
    "ToldBeside",
    "Writing",
    "all_others",
    "do_in_span",
    "do_item",
    "hash_of_column",
    "hashes_of",
    "join_watchers",
    "look_at_span",
    "look_beside_span",
    "on_workers",
    "read_watchers",
    "shapes_in_span",
    "show_span",
    "with_files",
    "write_span",
]

_ONE_AT_A_TIME = threading.Lock()
"""Columns of a specification are worked on by threads of their own; what is asked of the workers takes all of them."""

Work = TypeVar("Work")
Task = TypeVar("Task")
Told = TypeVar("Told")


def on_workers(
    session: Any, do: Callable[[Work, Task], Told], work: Work, tasks: Sequence[Task], *, what: str
) -> list[Told]:
    """What the workers tell of the tasks, in their order; ``work`` is what all of them need, and ``what`` they do."""
    context = session.sparkContext
    data = packed(work, context)  # not part of a query: it stands in no plan, and in no log of events

    def done(task: Task) -> Told:
        return do(unpacked(data), task)

    with _ONE_AT_A_TIME, spark_works(what), quiet():
        told: list[Told] = context.parallelize(tasks, max(len(tasks), 1)).map(done).collect()
    return told


def hashes_of(work: None, files: Sequence[Path]) -> list[str]:
    """The hashes of some files."""
    return [hash_file(file) for file in files]


def hash_of_column(work: Any, span: Span) -> str:
    """The hash of a column in a span."""
    return hash_column(ParquetSpan(span), work)


# --- looking at a column --------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Looking:
    """What a column is looked at by. Private."""

    look: Look
    hidden: Hidden


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpanSeen:
    """What is told of the column in a span. Private."""

    glimpse: Any
    sums: list[int]
    """A checksum of each block."""
    finite: dict[int, NDArray[np.uint16]]
    """Of blocks of one column with rows that have no value, by their number: see :func:`finite_in_pieces`."""


def look_at_span(work: Looking, span: Span) -> SpanSeen:
    """Look at the column in all blocks of a span."""
    look, row, room = work.look.part(), work.hidden.each * span.first, np.empty(BLOCK)
    sums, finite = [], {}
    for values in work.hidden.blocks(ParquetSpan(span)):
        look.add(values, row, room)
        sums.append(_sum(values))
        if work.hidden.each == 1 and not np.isfinite(values).all():
            finite[row // BLOCK] = finite_in_pieces(values)
        row += len(values)
    return SpanSeen(glimpse=look.seen(), sums=sums, finite=finite)


def _sum(values: Array, before: int = 0) -> int:
    return crc32(np.ascontiguousarray(values).data, before)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnePart:
    """What is made of a column in each span. Private."""

    hidden: Hidden
    do: Callable[[Part], Any]


def do_in_span(work: OnePart, span: Span) -> Any:
    """What a function makes of the column in a span."""
    table = ParquetSpan(span)
    return work.do(enumerate(work.hidden.blocks(table), work.hidden.each * table.first_block))


def do_item(work: Callable[[Task], Told], item: Task) -> Told:
    """What a function makes of an item."""
    return work(item)


# --- writing --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aside:
    """What is told of the other columns while they are written, for whoever looks whether they tell the hidden one."""

    column: Any
    """The hidden one, or two that are looked at as one."""
    chosen: Gathering
    """Which rows are told."""
    few: Sequence[str]
    """The columns whose different values are told, as they have few."""
    others: Sequence[str]
    """All that are looked at, in order."""
    ends: NDArray[np.int64]
    """Where the rows of each file end, where there are several."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Writing:
    """What spans are written by. Private."""

    changes: Changes
    folder: str
    aside: Aside | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ToWrite:
    """One span, with the checksums of the blocks of columns that were measured elsewhere."""

    span: Span
    sums: Mapping[str, NDArray[np.uint32]]


@dataclass(slots=True, kw_only=True, eq=False)
class ToldBeside:
    """What is told of the other columns in a span. Private."""

    few: list[tuple[str, pl.Series | None]] = field(default_factory=list)
    filled: dict[str, int] = field(default_factory=dict)
    numbers: list[NDArray[np.int64]] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    others: list[pl.DataFrame] = field(default_factory=list)
    """Rows that were chosen: their numbers, the column, and all others by their places."""


@dataclass(slots=True, kw_only=True, eq=False)
class SpanWritten(ToldBeside):
    """What is told of a span that was written. Private."""

    name: str
    """Of its file: no other attempt at the same span has it."""
    rows: int


def write_span(work: Writing, task: ToWrite) -> SpanWritten:
    """Write the released rows of a span to a file of this attempt's own."""
    table = ParquetSpan(task.span)
    told = SpanWritten(name=f"{task.span.first}-{uuid4().hex}.parquet", rows=task.span.rows)
    few = {} if work.aside is None else {name: Few() for name in work.aside.few}
    sums = {name: _BlockSums() for name in task.sums}
    row = task.span.first

    def watch(rows: Rows, others: Mapping[str, pl.Series]) -> None:
        nonlocal row
        for name, one in sums.items():
            one.add(rows[name])
        if work.aside is not None:
            values = rows[work.aside.column]
            _tell(work.aside, told, few, values, with_files({**others}, row, len(values), work.aside.ends), row)
        row += max((*(len(one) for one in rows.values()), *(len(one) for one in others.values())), default=0)

    path = Path(work.folder) / told.name
    try:
        table.write(path, work.changes, watch=watch)
        if any(one.done() != task.sums[name].tolist() for name, one in sums.items()):
            raise unsteady()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    told.filled = {name: one.filled for name, one in few.items()}
    return told


def _tell(
    aside: Aside,
    told: ToldBeside,
    few: Mapping[str, Few],
    values: Array,
    others: Mapping[str, pl.Series],
    row: int,
) -> None:
    """Take down what is told of some rows, the first of which has the number ``row``."""
    for name, one in few.items():
        told.few += [(name, found) for found in one.add(others[name])]
    inside = aside.chosen.inside(values, row)
    if len(inside) or not told.numbers:  # with the types of the columns, also where no row is told
        told.numbers.append(row + inside)
        told.values.append(values[inside])
        told.others.append(pl.DataFrame([one[inside].alias(str(i)) for i, one in enumerate(others.values())]))


# --- looking at the other columns -------------------------------------------------------------------
Shape = tuple[int, NDArray[np.uint16] | None]
"""How many rows of a block a search sees, and, where some of these have no value, how many of each piece have one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shaping:
    """Of which facets of which columns shapes are told. Private."""

    columns: Mapping[str, Labels]
    facets: Sequence[tuple[Hidden, Facets]]


def shapes_in_span(work: Shaping, span: Span) -> list[list[list[Shape]]]:
    """Of each block, for all facets of each column, how many rows have a value: what a sample is chosen by."""
    row, found = span.first, []
    for rows in ParquetSpan(span).together(work.columns):
        found.append([[_shape(one) for one in facets(of.values(rows), {}, row)] for of, facets in work.facets])
        row += BLOCK
    return found


def _shape(facet: Facet) -> Shape:
    full = np.isfinite(facet.values).all()
    return len(facet.values), None if full else finite_in_pieces(facet.values, facet.start)


class FirstRows(Gathering):
    """The choice of the first so many rows."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def inside(self, block: Array, start: int) -> NDArray[np.int64]:
        return np.arange(min(len(block), max(self._most - start, 0)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AsidesOf:
    """What is told for the searches of one who has several. Private."""

    facets: Facets | None
    """What they see; ``None`` for one that sees the rows as they are."""
    asides: Sequence[Aside | None]
    """For each of them; ``None`` where nothing is asked."""

    def seen(self, values: Array, others: Mapping[str, pl.Series], row: int) -> Sequence[Facet]:
        """What they see of some rows."""
        return (Facet(values, others, row),) if self.facets is None else self.facets(values, others, row)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LookingBeside:
    """What the other columns are looked at by. Private."""

    columns: Mapping[str, Labels]
    others: ShownBeside
    asides: Sequence[Sequence[AsidesOf]]
    watchers: Sequence[Sequence[Parted]]
    """Of each column that others are looked at beside."""
    names: Sequence[Any]
    """Of these columns, each by itself or two that are looked at as one."""
    folder: str | None
    """Where is written what they have seen; ``None`` where nobody watches."""
    ends: NDArray[np.int64]
    """Where the rows of each file end, where there are several."""


@dataclass(slots=True, kw_only=True, eq=False)
class SpanSeenBeside:
    """What is told of a span whose other columns were looked at. Private."""

    told: list[list[ToldBeside]]
    """For all searches of each column, one after the other."""
    name: str
    """Of the file with what the watchers have seen: no other attempt at the same span has it."""


def all_others() -> Callable[[Mapping[Any, Array], Mapping[str, pl.Series]], Callable[[Any], Mapping[str, pl.Series]]]:
    """Beside one column all others are looked at."""
    return lambda rows, others: lambda name: others


def look_beside_span(work: LookingBeside, span: Span) -> SpanSeenBeside:
    """Show the other columns of a span to all who look at them."""
    asked = [[aside for one in own for aside in one.asides] for own in work.asides]
    hidden = [Hidden.of(name) for name in work.names]
    told = [[ToldBeside() for _ in own] for own in asked]
    few = [[{name: Few() for name in (() if one is None else one.few)} for one in own] for own in asked]
    watchers = [[one.part(span.first) for one in own] for own in work.watchers]
    row, shown = span.first, work.others()
    for rows, others in ParquetSpan(span).beside(work.columns):
        size = len(rows[hidden[0].names[0]])
        beside = shown(rows, with_files(_unnamed(others), row, size, work.ends))
        for place, name in enumerate(work.names):
            values, seen = hidden[place].values(rows), beside(name)
            facets = (facet for one in work.asides[place] for facet in one.seen(values, seen, row))
            for aside, facet, own_told, counted in zip(asked[place], facets, told[place], few[place], strict=True):
                if aside is not None:
                    _tell(aside, own_told, counted, *facet)
            for one in watchers[place] if seen else ():
                one.add(values, seen)
        row += size
    for place, own in enumerate(few):
        for own_told, counted in zip(told[place], own, strict=True):
            own_told.filled = {name: one.filled for name, one in counted.items()}
    name = "" if work.folder is None else _kept(Path(work.folder), [one for own in watchers for one in own])
    return SpanSeenBeside(told=told, name=name)


def _unnamed(columns: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """Without their own names: the engine takes one such as ``^a.*$`` for a pattern."""
    return {name: one.alias("") for name, one in columns.items()}


def with_files(others: dict[str, pl.Series], row: int, size: int, ends: NDArray[np.int64]) -> dict[str, pl.Series]:
    """The other columns of rows from a number on, and the files that these lie in where there are several."""
    if not len(ends):
        return others
    return {**others, FILE: pl.Series(np.searchsorted(ends, np.arange(row, row + size), side="right"))}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Showing:
    """Who is shown which columns. Private."""

    columns: Mapping[str, Labels]
    others: Sequence[str]
    watcher: Parted
    folder: str


def show_span(work: Showing, span: Span) -> str:
    """Show the rows of a span to someone; the name of the file with what was seen."""
    watcher = work.watcher.part(span.first)
    for rows, others in ParquetSpan(span).beside_some(work.columns, work.others):
        watcher.add(rows, others)
    return _kept(Path(work.folder), [watcher])


def join_watchers(folder: str, names: Sequence[str]) -> str:
    """What watchers have seen of spans that follow each other, put together in a new file."""
    first, *others = (read_watchers(Path(folder) / name) for name in names)
    for watchers in others:
        for own, one in zip(first, watchers, strict=True):
            own.join(one)
    return _kept(Path(folder), first)


def read_watchers(path: Path) -> list[Any]:
    """What is in a file of this run's own folder, which nobody else can write to."""
    with path.open("rb") as file:
        found: list[Any] = pickle.load(file)
    return found


def _kept(folder: Path, watchers: Sequence[Parted]) -> str:
    from pyspark import cloudpickle

    name = uuid4().hex
    with (folder / name).open("xb") as file:
        cloudpickle.dump(watchers, file, protocol=5)
    return name


class _BlockSums:
    """Checksums of blocks of rows that come in pieces of any length."""

    def __init__(self) -> None:
        self._sums: list[int] = []
        self._room = 0

    def add(self, values: Array) -> None:
        while len(values):
            if not self._room:
                self._sums.append(0)
                self._room = BLOCK
            taken, values = values[: self._room], values[self._room :]
            self._sums[-1] = _sum(taken, self._sums[-1])
            self._room -= len(taken)

    def done(self) -> list[int]:
        return self._sums
