"""A row keeps only its rank: the i-th smallest of n gets the public quantile of (i - 1/2) / n.

Ties are put in order by secret random keys, so equal rows become different rows of the public shape. A column too long
for memory is cut by value into runs, one file each. These files have no name, so that nothing of the column is left
behind however the process ends.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ColumnError, FileError, cannot
from statveil.made_plan import Plan
from statveil.problem.structure import Structure
from statveil.tables.ahead import worked_ahead
from statveil.tables.blocks import BLOCK, Array, Blocks
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap, stream
from statveil.tables.maps.lattice import on_lattice
from statveil.tables.structure.distinct import sorted_by_engine

__all__ = ["Rank", "inside", "model_values", "prepare", "prepare_rank"]

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]
Released = Callable[[int, int], Array]

_KEYS, _SAMPLE = 0x20, 0x21  # purposes of the random streams
_RUN = 2**20  # rows of one run, about: what is sorted in memory at a time, twice
_RUNS = 256  # at most, so that a run's number is one byte and the open files stay few
_SAMPLED = 64  # rows of a full block that decide where the runs are cut
_CELLS, _SHARED = 4096, 4  # by which a row's run is found, and cuts in one of them that are compared one by one
_SIZE = np.int64(2**63 - 1)  # bits of a float but for its sign
_RECORD = np.dtype([("value", np.float64), ("key", np.uint64)])


def _random_keys(seed: int, index: int, finite: NDArray[np.bool_]) -> Keys:
    """One 64-bit key for each finite row; a row's key depends on its place in the block and on nothing else."""
    draws = stream(seed, _KEYS, index)
    return draws.integers(0, 2**64 - 1, size=len(finite), dtype=np.uint64, endpoint=True)[finite]


def _by_value(values: Array) -> Places:
    """The rows by (value, row), in a third of the time of sorting their numbers by their values."""
    # one number a row: the value's bits, which rise with its size, above the row's own number
    bits = values.view(np.int64)
    size = bits & _SIZE
    size = np.negative(size, out=size, where=bits < 0)
    joint = (size - size.min()).view(np.uint64)  # which is right even where the difference is beyond an int64
    del size
    places = (len(values) - 1).bit_length()
    every = int(np.bitwise_or.reduce(joint))
    spare = (every & -every).bit_length() - 1 if every else 0  # zeros that all end in, as whole numbers do
    lost = max(every.bit_length() - spare + places - 64, 0)
    joint >>= np.uint64(spare + lost)
    joint <<= np.uint64(places)
    joint |= np.arange(len(values), dtype=np.uint64)
    joint = sorted_by_engine(joint)
    order = (joint & np.uint64((1 << places) - 1)).view(np.int64)
    if lost:  # the bits that found no room tell the others apart
        near = _with_an_equal(joint >> np.uint64(places))
        rows = order[near]
        order[near] = rows[np.argsort(values[rows], kind="stable")]
    return order


def _with_an_equal(rising: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries of sorted ones are not the only ones of their value."""
    same = rising[1:] == rising[:-1]
    found = np.zeros(len(rising), dtype=np.bool_)
    found[1:] = same
    found[:-1] |= same
    return found


def _ordered(values: Array, keys: Keys) -> Places:
    """The rows by (value, key, row)."""
    order = _by_value(values) if len(values) > 1 else np.zeros(len(values), dtype=np.int64)
    ranked = values[order]
    tied = _with_an_equal(ranked)
    if not tied.any():
        return order
    ranked = ranked[tied]
    group = np.zeros(len(ranked), dtype=np.uint64)
    np.cumsum(ranked[1:] != ranked[:-1], dtype=np.uint64, out=group[1:])
    rows = order[tied]
    # One sort of one number, the value's group above the key, takes a third of the time of lexsort. Only when shortened
    # keys collide, which random keys practically never do, is the full key needed.
    joint = keys[rows]
    bits = int(group[-1]).bit_length()
    if bits:
        joint >>= np.uint64(bits)
        joint |= group << np.uint64(64 - bits)
    inside = np.argsort(joint)
    joint = joint[inside]
    if (joint[1:] == joint[:-1]).any():
        inside = np.lexsort((keys[rows], group))
    order[tied] = rows[inside]
    return order


class _Cuts:
    """Where runs end: a row belongs to the run after the last cut that is not above its (value, key)."""

    def __init__(self, values: Array, keys: Keys) -> None:
        self.values, self.keys = values, keys
        self._above = np.append(values, np.inf)
        self._low, self._per_cell = 0.0, 0.0
        self._first: Places | None = None  # cuts below each of many cells of equal width
        self._most = 0  # cuts in one cell
        with np.errstate(all="ignore"):
            width = np.subtract(*values[[-1, 0]]) if len(values) else np.float64(0)
            per_cell = _CELLS / width
        if 0 < per_cell < np.inf:
            self._low, self._per_cell = float(values[0]), float(per_cell)
            own = self._cells(values)
            self._first, self._most = np.searchsorted(own, np.arange(_CELLS + 1)), int(np.bincount(own).max())

    def runs_of(self, values: Array, keys: Keys) -> NDArray[np.uint8]:
        run = self._runs_by_value(values)
        # A frequent value may hold several cuts: its rows are told apart by their keys, so no run grows with the ties.
        at = np.flatnonzero(self.values[np.maximum(run - 1, 0)] == values) if len(self.values) else run[:0]
        for value in np.unique(values[at]):
            rows = at[values[at] == value]
            first, stop = np.searchsorted(self.values, value, "left"), np.searchsorted(self.values, value, "right")
            run[rows] = first + np.searchsorted(self.keys[first:stop], keys[rows], side="right")
        return run.astype(np.uint8)

    def _runs_by_value(self, values: Array) -> Places:
        """How many cuts are not above each value."""
        if self._first is None or self._most > _SHARED:
            return np.searchsorted(self.values, values, side="right")
        # a quarter of the time of searching: a cell's number rises with the value, so that only cuts in its own cell
        # are left to be compared with
        run = self._first[self._cells(values)]
        for _ in range(self._most):
            run += values >= self._above[run]
        return run

    def _cells(self, values: Array) -> Places:
        with np.errstate(over="ignore"):
            place = values - self._low
            place *= self._per_cell
        return np.clip(place, 0.0, float(_CELLS), out=place).astype(np.int64)


def _cuts(values: Array, keys: Keys, runs: int) -> _Cuts:
    """Cuts that divide a sample of the column into ``runs`` equal parts."""
    order = np.lexsort((keys, values))
    chosen = order[np.arange(1, runs) * len(order) // runs]
    return _Cuts(values[chosen], keys[chosen])


def _sorted_in_memory(blocks: Blocks, *, rows: int, seed: int, released: Released) -> Array:
    values, keys = np.empty(rows), np.empty(rows, dtype=np.uint64)
    start = 0
    for index, block in enumerate(blocks()):
        finite = np.isfinite(block)
        stop = start + int(finite.sum())
        values[start:stop] = block[finite]
        keys[start:stop] = _random_keys(seed, index, finite)
        start = stop
    order = _ordered(values, keys)
    del values, keys
    result = np.empty(rows)
    result[order] = released(0, rows)
    return result


def _sorted_in_files(blocks: Blocks, *, rows: int, cuts: _Cuts, seed: int, released: Released) -> Array:
    """The same by way of files, each of which is only read and written from its beginning to its end."""
    runs = len(cuts.values) + 1
    with ExitStack() as opened:
        files = [opened.enter_context(tempfile.TemporaryFile()) for _ in range(runs)]
        of_row = opened.enter_context(tempfile.TemporaryFile())
        stored = np.zeros(runs, dtype=np.int64)
        cut = partial(_cut, cuts=cuts, seed=seed)
        for run, records in worked_ahead(cut, enumerate(blocks())):
            of_row.write(run.data)
            sizes = np.bincount(run, minlength=runs)
            for file, part in zip(files, np.split(records, np.cumsum(sizes)[:-1]), strict=True):
                file.write(part.data)
            stored += sizes
        if stored.sum() != rows:
            raise _changed()

        def ranked(item: tuple[IO[bytes], int, int]) -> None:
            """One run's records replaced by the values of their ranks, in the order of the rows."""
            file, below, size = item
            file.seek(0)
            records = np.fromfile(file, dtype=_RECORD, count=size)
            order = _ordered(np.ascontiguousarray(records["value"]), np.ascontiguousarray(records["key"]))
            del records
            values = np.empty(size)
            values[order] = released(below, size)
            file.seek(0)
            file.truncate()  # frees its room
            file.write(values.data)
            file.seek(0)

        below = np.cumsum(stored) - stored
        deque(worked_ahead(ranked, zip(files, below.tolist(), stored.tolist(), strict=True)), maxlen=0)
        result = _mapped(rows)
        of_row.seek(0)
        for start in range(0, rows, BLOCK):  # every run's next values go to its next rows
            run = np.fromfile(of_row, dtype=np.uint8, count=min(BLOCK, rows - start))
            sizes = np.bincount(run, minlength=runs).tolist()
            values = [np.fromfile(file, dtype=np.float64, count=size) for file, size in zip(files, sizes, strict=True)]
            result[start : start + len(run)][np.argsort(run, kind="stable")] = np.concatenate(values)
    return result


def _cut(item: tuple[int, Array], *, cuts: _Cuts, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.void]]:
    """The run of every finite row of a block, and the rows run by run, in the column's order within each."""
    index, block = item
    finite = np.isfinite(block)
    values, keys = block[finite], _random_keys(seed, index, finite)
    run = cuts.runs_of(values, keys)
    order = np.argsort(run, kind="stable")
    records = np.empty(len(values), dtype=_RECORD)
    records["value"], records["key"] = values[order], keys[order]
    return run, records


def _mapped(rows: int) -> Array:
    """Room for the released column in a file without a name, which goes when the array does."""
    with tempfile.TemporaryFile() as file:
        if hasattr(os, "posix_fallocate"):  # all of it now: a mapped file that finds the disk full is a crash
            os.posix_fallocate(file.fileno(), 0, rows * 8)
        mapped: Array = np.memmap(file, dtype=np.float64, mode="w+", shape=(rows,))
        return mapped


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Rank(ColumnMap):
    """Every row is released as the public quantile of its rank."""

    whole: ClassVar[bool] = True  # whoever prepares the map guarantees it, through ``finish``

    starts: Places
    """Finite rows before each block, and before the end."""
    released: Array
    """By finite row: in memory, or in a file without a name."""

    def block(self, values: Array, index: int) -> Array:
        finite = np.isfinite(values)
        part = self.released[self.starts[index] : self.starts[index + 1]]
        if int(finite.sum()) != len(part):
            raise _changed()
        result = values.copy()
        result[finite] = part
        return result

    def coefficients(self) -> dict[str, Any]:
        return {"rows": int(self.starts[-1])}


def _changed() -> ColumnError:
    return ColumnError(
        "the column changed after the map was prepared: a block has another number of finite rows than before. "
        "The rows must be the same in every pass; prepare the map again on the present table."
    )


def _check_room(rows: int) -> None:
    """Refuse before the work where the disk for temporary files has too little room."""
    # every row's run beside its record; the released column comes when the records have shrunk to half
    needed = rows * (_RECORD.itemsize + 1)
    if shutil.disk_usage(tempfile.gettempdir()).free < needed:
        raise FileError(
            f"the folder for temporary files has less than the {needed / 1e9:.1f} GB free that ranking a long column "
            "needs. Free some space, or set TMPDIR to a folder on a larger disk."
        )


def prepare_rank(
    blocks: Blocks,
    *,
    quantile: Callable[[Array], Array],
    seed: int,
    finish: Callable[[Array], Array] | None = None,
    in_memory: int = 2**22,
) -> Rank:
    """The map that gives the i-th smallest of n rows the value finish(quantile((i - 1/2) / n)).

    Parameters
    ----------
    blocks
        The column. Rows that are not finite are not ranked.
    quantile
        Quantile function of the released shape, entry by entry on an array of levels inside (0, 1).
    seed
        128 secret bits: ties are in random order, by (value, key, row).
    finish
        Applied to the quantiles, entry by entry, to put them on the column's grid. For an integer column it must give
        whole numbers.
    in_memory
        Columns with more finite rows are sorted by way of files; the result is the same to the bit.

    Raises
    ------
    ColumnError
        A quantile that is not finite, or a column that is not the same in two passes.
    FileError
        Too little room for the temporary files of a long column.
    """
    held: list[int] = []
    sampled: list[Array] = []
    sampled_keys: list[Keys] = []
    for index, values in enumerate(blocks()):
        known = values[np.isfinite(values)]
        held.append(len(known))
        if len(known):
            draws = stream(seed, _SAMPLE, index)
            size = -(-len(known) * _SAMPLED // BLOCK)  # in proportion, so that sparse blocks do not decide the cuts
            sampled.append(known[draws.integers(0, len(known), size)])
            sampled_keys.append(draws.integers(0, 2**64 - 1, size=size, dtype=np.uint64, endpoint=True))
    starts = np.concatenate([[0], np.cumsum(np.array(held, dtype=np.int64))]).astype(np.int64)
    rows = int(starts[-1])

    def released(below: int, count: int) -> Array:
        """Values of the ranks after ``below``, worked out on the same arrays whatever ``below`` is.

        Vector instructions may round the last bits by where an entry stands in its array, so the arrays are fixed.
        """
        result = np.empty(count)
        for first in range(below - below % BLOCK, below + count, BLOCK):
            values = quantile((np.arange(first, min(first + BLOCK, rows)) + 0.5) / rows)
            values = values if finish is None else finish(values)
            if not np.isfinite(values).all():
                raise ColumnError(
                    "the released shape has a quantile that is not finite, and a row cannot be released as missing. "
                    "Its quantile function must be finite inside (0, 1); check the shape that the plan names."
                )
            start, stop = max(first, below), min(first + BLOCK, below + count)
            result[start - below : stop - below] = values[start - first : stop - first]
        return result

    if rows <= in_memory:
        return Rank(starts=starts, released=_sorted_in_memory(blocks, rows=rows, seed=seed, released=released))
    cuts = _cuts(np.concatenate(sampled), np.concatenate(sampled_keys), min(_RUNS, -(-rows // _RUN)))
    try:
        _check_room(rows)
        result = _sorted_in_files(blocks, rows=rows, cuts=cuts, seed=seed, released=released)
    except OSError as error:
        raise cannot("write to the folder for temporary files", error, "Set TMPDIR to another folder.") from None
    return Rank(starts=starts, released=result)


def prepare(job: Job) -> Rank:
    """The released model's quantiles by rank."""
    return prepare_rank(job.blocks, quantile=model_values(job.plan, job.released), seed=job.seed)


def model_values(plan: Plan, params: dict[str, float]) -> Callable[[Array], Array]:
    """Quantiles of the model with these parameters, made to fit the declared bounds and step."""
    family, finish = plan.problem.family, inside(plan.problem.known)

    def quantile(levels: Array) -> Array:
        return finish(np.asarray(family.quantile(levels, params), dtype=np.float64))

    return quantile


def inside(known: Structure, offset: float = 0.0) -> Callable[[Array], Array]:
    """A model's values made to fit the declared bounds and step; ``offset`` is where a lattice without bounds lies."""
    if known.step is None and known.minimum is None and known.maximum is None:
        return lambda values: values
    anchor = known.fixed_points[0] if known.fixed_points else offset

    def finish(values: Array) -> Array:
        low = -np.inf if known.minimum is None else known.minimum
        held = np.clip(values, low, np.inf if known.maximum is None else known.maximum)
        if known.step is None:
            return held
        place = np.floor((held - anchor) / known.step + 0.5)
        if known.maximum is not None:  # a bound off the lattice: the last place inside
            place = np.minimum(place, np.floor((known.maximum - anchor) / known.step + 1e-9))
        if known.minimum is not None:
            place = np.maximum(place, np.ceil((known.minimum - anchor) / known.step - 1e-9))
        return on_lattice(place, known.step, anchor)

    return finish
