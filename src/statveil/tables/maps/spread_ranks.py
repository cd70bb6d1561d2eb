"""Ranks of a column that lies in several places, found there: of its rows nothing comes to whoever hands out the work.

1. Each part writes its rows to files, a stretch of the column each: run by run, and beside them the run of every row.
2. What all files hold of a run is added up: so many rows lie below the next one.
3. One run is sorted at a time. Its rows come from all files, and the values of their ranks go to a file of the run, by
   stretches.
4. Each stretch is put together from the files of all runs, in the order of its rows.

The files lie in the folder that all places see, cut into pieces (:mod:`statveil.tables.pieces`).
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK, Array, Part, Spread
from statveil.tables.maps.rank_order import RECORD, Cuts, Keys, ordered, random_keys
from statveil.tables.pieces import check_room, piece_sizes, read_piece, write_pieces

__all__ = ["FiledRows", "Released", "changed", "ranked_there", "run_size"]

Released = Callable[[int, int], Array]
"""The values of so many ranks after a number of others."""
Runs = NDArray[np.unsignedinteger[Any]]
Numbers = NDArray[np.int64]

_RUN = 2**21  # rows of a run and of a stretch, at least
_PIECE = 2**11  # rows that a run and a stretch of a very long column share, about: what is read at a time
_COUNTING = 64  # tasks that add up how long the runs are
_PEAK = RECORD.itemsize + 4 + 8  # bytes a row: records, numbers of runs, and the values of the ranks beside them


def run_size(rows: int) -> int:
    """Rows that are sorted at a time: more in a long column, as its runs are cut out of as many stretches."""
    return max(_RUN, math.isqrt(rows * _PIECE))


def changed() -> ColumnError:
    """A refusal of rows that are not the same in two passes."""
    return ColumnError(
        "the column changed after the map was prepared: a block has another number of finite rows than before. "
        "The rows must be the same in every pass; prepare the map again on the present table."
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FiledRows:
    """Numbers by finite row, in files of a folder that all places see: only what is asked for is read."""

    folder: Path
    names: tuple[str, ...]
    starts: Numbers
    """Rows before each file, and before the end."""

    def __getitem__(self, rows: slice, /) -> Array:
        start, stop = int(rows.start), int(rows.stop)
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        found = [np.zeros(0)]
        for name, (begin, end) in zip(self.names[first:], pairwise(self.starts[first:].tolist()), strict=True):
            if begin >= stop:
                break
            low, high = max(start, begin), min(stop, end)
            found.append(np.fromfile(self.folder / name, count=high - low, offset=8 * (low - begin)))
        made = np.concatenate(found)
        if len(made) != stop - start:
            raise changed()
        return made

    def remove(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.folder, ignore_errors=True)


def ranked_there(blocks: Spread, *, rows: int, cuts: Cuts, seed: int, released: Released) -> FiledRows:
    """The released value of every finite row, in the order of the rows."""
    places = blocks.places
    check_room(places.folder, rows * _PEAK, "ranking a long column")
    own = places.folder / f"ranks-{uuid4().hex}"
    folders = {name: own / name for name in ("records", "runs", "sorted", "rows")}
    own.mkdir(mode=0o700)
    try:
        for one in folders.values():
            one.mkdir(mode=0o700)
        work = _Work(folders=folders, cuts=cuts, seed=seed, size=run_size(rows))
        stretches = [one for part in places.by_parts(partial(_cut_part, work)) for one in part]
        if sum(one.rows for one in stretches) != rows:
            raise changed()
        runs = np.array_split(np.arange(cuts.runs), min(_COUNTING, cuts.runs))
        cut_files = [one.records for one in stretches]
        stored = np.concatenate(places.each(partial(_lengths, folders["records"], cut_files), runs))
        below = np.cumsum(stored) - stored
        ranked = partial(_ranked_run, work, cut_files, released)
        run_files = places.each(ranked, list(zip(range(cuts.runs), below.tolist(), stored.tolist(), strict=True)))
        shutil.rmtree(folders["records"])
        put = partial(_put_back, work, run_files, len(stretches))
        names = places.each(put, list(enumerate(stretches)))
        shutil.rmtree(folders["sorted"])
        shutil.rmtree(folders["runs"])
    except BaseException:
        shutil.rmtree(own, ignore_errors=True)
        raise
    starts = np.cumsum([0, *(one.rows for one in stretches)], dtype=np.int64)
    return FiledRows(folder=folders["rows"], names=tuple(names), starts=starts)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Work:
    """What everybody needs to know. Private."""

    folders: dict[str, Path]
    cuts: Cuts
    seed: int
    size: int
    """Rows of a stretch, about."""

    @property
    def number(self) -> np.dtype[Any]:
        """How the run of a row is written."""
        return np.min_scalar_type(self.cuts.runs - 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stretch:
    """Blocks that follow each other: the names of two files, and how many finite rows they hold."""

    records: str
    runs: str
    rows: int


def _cut_part(work: _Work, part: Part) -> list[_Stretch]:
    return [_cut_stretch(work, *stretch) for stretch in _stretches(work, part)]


def _stretches(work: _Work, part: Part) -> Iterator[tuple[Array, Keys, Runs]]:
    """The finite rows of a part, a stretch at a time: values, keys and runs."""
    held: list[tuple[Array, Keys, Runs]] = []
    size = 0
    for index, block in part:
        finite = np.isfinite(block)
        values, keys = block[finite], random_keys(work.seed, index, finite)
        held.append((values, keys, work.cuts.runs_of(values, keys)))
        size += len(values)
        if size + BLOCK > work.size:
            yield _joined(held)
            held, size = [], 0
    if held:
        yield _joined(held)


def _joined(held: Sequence[tuple[Array, Keys, Runs]]) -> tuple[Array, Keys, Runs]:
    values, keys, runs = (np.concatenate([one[place] for one in held]) for place in range(3))
    return values, keys, runs


def _cut_stretch(work: _Work, values: Array, keys: Keys, runs: Runs) -> _Stretch:
    name = uuid4().hex
    order = np.argsort(runs, kind="stable")
    sizes = np.bincount(runs, minlength=work.cuts.runs)

    def pieces() -> Iterator[NDArray[np.void]]:
        for start in range(0, len(order), BLOCK):
            rows = order[start : start + BLOCK]
            records = np.empty(len(rows), dtype=RECORD)
            records["value"], records["key"] = values[rows], keys[rows]
            yield records

    write_pieces(work.folders["records"] / name, sizes, pieces())
    runs.tofile(work.folders["runs"] / name)
    return _Stretch(records=name, runs=name, rows=len(values))


def _lengths(folder: Path, names: Sequence[str], runs: Numbers) -> Numbers:
    """How many rows all files hold of each of some runs that follow each other."""
    total = np.zeros(len(runs), dtype=np.int64)
    for name in names:
        total += piece_sizes(folder / name, int(runs[0]), len(runs))
    return total


def _ranked_run(work: _Work, names: Sequence[str], released: Released, item: tuple[int, int, int]) -> str:
    """Sort one run, and write the values of its ranks by stretches, each in the order of its rows."""
    run, below, size = item
    pieces = [read_piece(work.folders["records"] / name, run, of=work.cuts.runs, dtype=RECORD) for name in names]
    sizes, records = [len(one) for one in pieces], np.concatenate(pieces)
    del pieces
    if len(records) != size:
        raise changed()
    order = ordered(np.ascontiguousarray(records["value"]), np.ascontiguousarray(records["key"]))
    del records
    values = np.empty(size)
    values[order] = released(below, size)
    name = uuid4().hex
    write_pieces(work.folders["sorted"] / name, np.array(sizes), iter([values]))
    return name


def _put_back(work: _Work, names: Sequence[str], of: int, item: tuple[int, _Stretch]) -> str:
    """The values of one stretch, of so many, in the order of its rows."""
    place, stretch = item
    runs = np.fromfile(work.folders["runs"] / stretch.runs, dtype=work.number)
    # run by run, and in each the next value goes to the next row
    values = [read_piece(work.folders["sorted"] / name, place, of=of, dtype=np.dtype(np.float64)) for name in names]
    if len(runs) != stretch.rows or [len(one) for one in values] != np.bincount(runs, minlength=len(names)).tolist():
        raise changed()
    result = np.empty(stretch.rows)
    result[np.argsort(runs, kind="stable")] = np.concatenate(values)
    name = uuid4().hex
    result.tofile(work.folders["rows"] / name)
    return name
