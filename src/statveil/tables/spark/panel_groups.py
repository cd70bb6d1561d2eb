"""Which rows of Parquet files belong together: workers tell it of each other's rows, and none holds all of them.

1. Each span of rows writes what it has of every group, a stretch of rows at a time: one record for each group that has
   rows there, run by run of the numbers that mark groups, and beside them the record of each row.
2. One run is put together at a time, from the records of all stretches: how many rows its groups have, whether these
   hold one value, and at which row they begin. The first rows go to a file of the run, by stretches, and so does the
   group of each record.
3. Each stretch puts the groups that begin in it in order, and writes their first rows, as the stretch has them, to a
   Parquet file: all files together are a table of one row for each group.
4. Once that table has a map, each stretch hands what its groups are released as to the runs, these hand it to the
   stretches that have records of them, and these to their rows.

All files are cut into pieces (:mod:`statveil.tables.pieces`), and lie in a folder that all workers see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import BLOCK, Array, Part, in_blocks
from statveil.tables.changes import Labels
from statveil.tables.files.columnar import FILE
from statveil.tables.files.failures import cannot_write
from statveil.tables.files.sinking import sink_frames
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.maps.spread_ranks import FiledRows, changed
from statveil.tables.panels import marks_of
from statveil.tables.pieces import piece_sizes, read_piece, write_pieces
from statveil.tables.spark.spans import ParquetSpan, Piece, Span, span_of
from statveil.tables.spark.workers import with_files

__all__ = [
    "RECORD",
    "Finding",
    "RunJoined",
    "SpanCut",
    "Stretch",
    "begin_in_stretch",
    "cut_span",
    "hand_to_runs",
    "hand_to_stretches",
    "join_run",
    "put_in_rows",
    "release_part",
]

RECORD = np.dtype([("mark", np.uint64), ("value", np.float64), ("first", np.uint32), ("rows", np.uint32)])
"""What a stretch has of a group: its mark, the value of the first row, the place of that in the stretch, all rows."""

_ROW = np.dtype([("mark", np.uint64), ("value", np.float64)])
_NUMBER, _VALUE = np.dtype(np.uint32), np.dtype(np.float64)
_FOLDERS = ("records", "codes", "members", "begins", "units", "released", "to-runs", "to-stretches", "rows")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Finding:
    """What everybody needs to know. Private."""

    name: str
    """The hidden column."""
    labels: Labels
    group: str
    folder: Path
    runs: int
    size: int
    """Rows of a stretch, about."""
    files: Sequence[Piece]
    """All rows of each file of the table."""
    others: Sequence[str] | None
    """What lies beside the column; ``None`` for nothing, not even the file of a row."""
    ends: NDArray[np.int64]
    """Where the rows of each file end, where there are several."""

    def make_folders(self) -> None:
        """One for each kind of files, for the owner alone."""
        for name in ("", *_FOLDERS):
            (self.folder / name).mkdir(mode=0o700)


# --- 1. cutting -----------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """Blocks of rows that follow each other."""

    first: int
    """The number of the first row."""
    rows: int
    finite: int
    """Rows with a value."""
    groups: int
    """Groups that have such rows here."""
    name: str
    """Of its files."""


@dataclass(slots=True, kw_only=True, eq=False)
class SpanCut:
    """What is told of a span. Private."""

    stretches: list[Stretch] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    """A checksum of each block of the column."""
    finite: list[int] = field(default_factory=list)
    """Rows of each block with a value."""
    empty: bool = False
    """Whether a row with a value is in no group."""
    same: bool = True
    """Whether rows of one group hold one value."""


def cut_span(work: Finding, span: Span) -> SpanCut:
    """Write what a span has of each group."""
    told = SpanCut()
    held: list[NDArray[np.void]] = []
    first, size = span.first, 0
    for block in in_blocks((None, rows) for rows in _marked(work, span, told)):
        rows = np.concatenate([piece for _, piece in block])
        values = np.ascontiguousarray(rows["value"])
        told.sums.append(crc32(values.data))
        told.finite.append(int(np.count_nonzero(np.isfinite(values))))
        held.append(rows)
        size += len(rows)
        if size + BLOCK > work.size:
            _cut_stretch(work, first, np.concatenate(held), told)
            held, first, size = [], first + size, 0
    if held:
        _cut_stretch(work, first, np.concatenate(held), told)
    return told


def _marked(work: Finding, span: Span, told: SpanCut) -> Iterator[NDArray[np.void]]:
    """Values and marks of the rows of a span, in pieces of any length."""
    for columns, others in ParquetSpan(span).beside_some({work.name: work.labels}, [work.group]):
        values, keys = columns[work.name], others[work.group].alias("")  # no name that the engine takes for a pattern
        told.empty |= bool(keys.has_nulls()) and bool((keys.is_null().to_numpy() & np.isfinite(values)).any())
        rows = np.empty(len(values), dtype=_ROW)
        rows["mark"], rows["value"] = marks_of(keys), values
        yield rows


def _cut_stretch(work: Finding, first: int, rows: NDArray[np.void], told: SpanCut) -> None:
    """Write the record of each group that has rows here, in the order of their marks, and the record of each row."""
    at = np.flatnonzero(np.isfinite(rows["value"]))
    marks, values = rows["mark"][at], rows["value"][at]
    order = np.argsort(marks, kind="stable")
    begins, own = _in_groups(marks[order])
    heads = order[begins]
    told.same &= np.array_equal(values[heads][own], values[order])
    records = np.empty(len(begins), dtype=RECORD)
    records["mark"], records["value"], records["first"] = marks[heads], values[heads], at[heads]
    records["rows"] = np.bincount(own, minlength=len(begins))
    codes = np.empty(len(at), dtype=_NUMBER)
    codes[order] = own
    ends = np.searchsorted(records["mark"], _cuts(work.runs))
    name = uuid4().hex
    write_pieces(work.folder / "records" / name, np.diff(ends, prepend=0, append=len(records)), [records])
    codes.tofile(work.folder / "codes" / name)
    told.stretches.append(Stretch(first=first, rows=len(rows), finite=len(at), groups=len(records), name=name))


def _in_groups(marks: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where groups begin among sorted marks, and the group of each."""
    begins = np.flatnonzero(np.concatenate([np.ones(min(len(marks), 1), np.bool_), marks[1:] != marks[:-1]]))
    return begins, np.repeat(np.arange(len(begins)), np.diff(begins, append=len(marks)))


def _cuts(runs: int) -> NDArray[np.uint64]:
    """Where runs begin among all marks, but for the first: marks are spread evenly, whatever the groups are called."""
    return np.array([(place << 64) // runs for place in range(1, runs)], dtype=np.uint64)


# --- 2. putting groups together -------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, slots=True)
class RunJoined:
    """What is told of the groups of a run. Private."""

    name: str
    """Of its files."""
    groups: int
    sizes: tuple[int, int]
    """The least and the largest number of rows."""
    same: bool
    """Whether the rows of each hold one value, as far as stretches differ."""


def join_run(work: Finding, stretches: Sequence[Stretch], run: int) -> RunJoined:
    """Put the groups of a run together, in the order in which they begin."""
    pieces = [read_piece(work.folder / "records" / one.name, run, of=work.runs, dtype=RECORD) for one in stretches]
    lengths = np.array([len(one) for one in pieces], dtype=np.int64)
    records = np.concatenate(pieces)
    starts = np.array([one.first for one in stretches], dtype=np.int64)
    del pieces
    order = np.argsort(records["mark"], kind="stable")  # which leaves those of one group in the order of the rows
    begins, own = _in_groups(records["mark"][order])
    heads, values = order[begins], records["value"][order]
    sizes = np.bincount(own, weights=records["rows"][order], minlength=len(begins))  # exact up to 2**53 rows
    first = (records["first"] + np.repeat(starts, lengths))[heads]
    in_order = np.argsort(first)
    place = np.empty(len(begins), dtype=_NUMBER)
    place[in_order] = np.arange(len(begins))
    members = np.empty(len(records), dtype=_NUMBER)
    members[order] = place[own]
    first = first[in_order]
    held = np.diff(np.searchsorted(first, starts), append=len(first))
    name = uuid4().hex
    write_pieces(work.folder / "members" / name, lengths, [members])
    write_pieces(work.folder / "begins" / name, held, [(first - np.repeat(starts, held)).astype(_NUMBER)])
    return RunJoined(
        name=name,
        groups=len(begins),
        sizes=(int(sizes.min()), int(sizes.max())) if len(sizes) else (0, 0),
        same=np.array_equal(values[begins][own], values),
    )


# --- 3. one row for each group ----------------------------------------------------------------------
def begin_in_stretch(
    work: Finding, runs: Sequence[RunJoined], of: int, item: tuple[int, Stretch]
) -> tuple[str | None, int]:
    """Write the first rows of the groups that begin in a stretch, of so many; the name of the file, and how many."""
    place, stretch = item
    rows = np.sort(np.concatenate(_begins(work, runs, place, of))).astype(np.int64)
    if not len(rows) and place:
        return None, 0  # the first stretch has a file anyway, so that there is a table
    last = int(rows[-1]) + 1 if len(rows) else stretch.rows
    table = ParquetSpan(span_of(work.files, stretch.first, stretch.first + last))
    names = [work.name, *(work.others or ())]
    schema = {name: table.schema[name] for name in names}
    files = work.others is not None and len(work.ends) > 0
    written = 0

    def frames() -> Iterator[pl.DataFrame]:
        nonlocal written
        row = 0
        for _, columns in table.beside_some({}, names):
            size = len(columns[work.name])
            low, high = np.searchsorted(rows, [row, row + size])
            if low < high:
                shown = with_files({**columns}, stretch.first + row, size, work.ends) if files else columns
                chosen = rows[low:high] - row
                yield pl.DataFrame([one.alias("").gather(chosen).alias(key) for key, one in shown.items()])
            row += size
            written += int(high - low)

    path = work.folder / "units" / f"{uuid4().hex}.parquet"
    sink_frames(
        frames(),
        {**schema, FILE: pl.Int64()} if files else schema,
        lambda frame: frame.sink_parquet(path, compression_level=1),
        lambda error: cannot_write(path, error),
    )
    if written != len(rows):
        raise changed()
    return path.name, written


def _begins(work: Finding, runs: Sequence[RunJoined], place: int, of: int) -> list[NDArray[np.uint32]]:
    """Where the groups of each run begin in a stretch, of so many."""
    return [read_piece(work.folder / "begins" / one.name, place, of=of, dtype=_NUMBER) for one in runs]


# --- 4. back to the rows ----------------------------------------------------------------------------
def release_part(inner: ColumnMap, folder: Path, part: Part) -> tuple[str, int]:
    """Write what some of the groups are released as, in their order; the name of the file, and how many."""
    name, rows = uuid4().hex, 0
    with (folder / name).open("xb") as file:
        for index, block in part:
            file.write(np.ascontiguousarray(inner.block(block, index)).data)
            rows += len(block)
    return name, rows


def hand_to_runs(
    work: Finding, runs: Sequence[RunJoined], released: FiledRows, of: int, item: tuple[int, int, int]
) -> str:
    """Hand what the groups that begin in a stretch, of so many, are released as to their runs."""
    place, start, stop = item
    pieces = _begins(work, runs, place, of)
    values = np.empty(stop - start)
    values[np.argsort(np.concatenate(pieces))] = released[start:stop]
    name = uuid4().hex
    write_pieces(work.folder / "to-runs" / name, np.array([len(one) for one in pieces]), [values])
    return name


def hand_to_stretches(work: Finding, names: Sequence[str], item: tuple[int, RunJoined]) -> str:
    """Hand what the groups of a run are released as to all stretches that have rows of them."""
    place, run = item
    values = _values(work.folder / "to-runs", names, place, work.runs)
    if len(values) != run.groups:
        raise changed()
    path = work.folder / "members" / run.name
    lengths = piece_sizes(path, 0, len(names))
    members = np.fromfile(path, dtype=_NUMBER, offset=8 * (len(names) + 1))
    name = uuid4().hex
    write_pieces(work.folder / "to-stretches" / name, lengths, [values[members]])
    return name


def put_in_rows(work: Finding, names: Sequence[str], of: int, item: tuple[int, Stretch]) -> str:
    """Give each row of a stretch, of so many, what its group is released as."""
    place, stretch = item
    values = _values(work.folder / "to-stretches", names, place, of)
    codes = np.fromfile(work.folder / "codes" / stretch.name, dtype=_NUMBER)
    if len(values) != stretch.groups or len(codes) != stretch.finite:
        raise changed()
    name = uuid4().hex
    values[codes].tofile(work.folder / "rows" / name)
    return name


def _values(folder: Path, names: Sequence[str], place: int, of: int) -> Array:
    """One piece of each of some files, one after the other."""
    found: list[NDArray[Any]] = [read_piece(folder / name, place, of=of, dtype=_VALUE) for name in names]
    return np.concatenate(found)
