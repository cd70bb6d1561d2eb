"""A row keeps only its rank: the i-th smallest of n gets the public quantile of (i - 1/2) / n.

Ties are put in order by secret random keys, so equal rows become different rows of the public shape. A column too long
for memory is cut by value into runs, one file each. These files have no name, so that nothing of the column is left
behind however the process ends. A column that lies in several places is ranked there (:mod:`.spread_ranks`).
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
from typing import IO, Any, ClassVar, Protocol

import numpy as np

from statveil.errors import ColumnError, FileError, cannot
from statveil.made_plan import Plan
from statveil.problem.structure import Structure
from statveil.tables.ahead import worked_ahead
from statveil.tables.blocks import BLOCK, Array, Blocks, Part, Spread, by_parts
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.maps.lattice import on_lattice
from statveil.tables.maps.rank_order import RECORD, Cuts, Places, Sample, cut, cuts_of, ordered, random_keys, sampled
from statveil.tables.maps.spread_ranks import FiledRows, Released, changed, ranked_there, run_size

__all__ = ["Rank", "inside", "model_values", "prepare", "prepare_rank"]

_RUN = 2**20  # rows of one run, about: what is sorted in memory at a time, twice
_RUNS = 256  # at most, so that a run's number is one byte and the open files stay few
_SAMPLED, _SAMPLED_THERE = 64, 4  # rows of a full block that decide where the runs are cut; fewer if they travel


def _sorted_in_memory(blocks: Blocks, *, rows: int, seed: int, released: Released) -> Array:
    values, keys = np.empty(rows), np.empty(rows, dtype=np.uint64)
    start = 0
    for index, block in enumerate(blocks()):
        finite = np.isfinite(block)
        stop = start + int(finite.sum())
        values[start:stop] = block[finite]
        keys[start:stop] = random_keys(seed, index, finite)
        start = stop
    order = ordered(values, keys)
    del values, keys
    result = np.empty(rows)
    result[order] = released(0, rows)
    return result


def _sorted_in_files(blocks: Blocks, *, rows: int, cuts: Cuts, seed: int, released: Released) -> Array:
    """The same by way of files, each of which is only read and written from its beginning to its end."""
    runs = cuts.runs
    with ExitStack() as opened:
        files = [opened.enter_context(tempfile.TemporaryFile()) for _ in range(runs)]
        of_row = opened.enter_context(tempfile.TemporaryFile())
        stored = np.zeros(runs, dtype=np.int64)
        in_runs = partial(cut, cuts=cuts, seed=seed)
        for run, records in worked_ahead(in_runs, enumerate(blocks())):
            of_row.write(run.data)
            sizes = np.bincount(run, minlength=runs)
            for file, part in zip(files, np.split(records, np.cumsum(sizes)[:-1]), strict=True):
                file.write(part.data)
            stored += sizes
        if stored.sum() != rows:
            raise changed()

        def ranked(item: tuple[IO[bytes], int, int]) -> None:
            """One run's records replaced by the values of their ranks, in the order of the rows."""
            file, below, size = item
            file.seek(0)
            records = np.fromfile(file, dtype=RECORD, count=size)
            order = ordered(np.ascontiguousarray(records["value"]), np.ascontiguousarray(records["key"]))
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


def _mapped(rows: int) -> Array:
    """Room for the released column in a file without a name, which goes when the array does."""
    with tempfile.TemporaryFile() as file:
        if hasattr(os, "posix_fallocate"):  # all of it now: a mapped file that finds the disk full is a crash
            os.posix_fallocate(file.fileno(), 0, rows * 8)
        mapped: Array = np.memmap(file, dtype=np.float64, mode="w+", shape=(rows,))
        return mapped


class _ByRow(Protocol):
    def __getitem__(self, rows: slice, /) -> Array: ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Rank(ColumnMap):
    """Every row is released as the public quantile of its rank."""

    whole: ClassVar[bool] = True  # whoever prepares the map guarantees it, through ``finish``

    starts: Places
    """Finite rows before each block, and before the end."""
    released: _ByRow
    """By finite row: in memory, in a file without a name, or in files that all places of the column see."""

    def block(self, values: Array, index: int) -> Array:
        finite = np.isfinite(values)
        part = self.released[self.starts[index] : self.starts[index + 1]]
        if int(finite.sum()) != len(part):
            raise changed()
        result = values.copy()
        result[finite] = part
        return result

    def coefficients(self) -> dict[str, Any]:
        return {"rows": int(self.starts[-1])}

    def forget(self) -> None:
        """Nobody asks for the rows any more: files that would stay until all work is done go now."""
        if isinstance(self.released, FiledRows):
            self.released.remove()


def _check_room(rows: int) -> None:
    """Refuse before the work where the disk for temporary files has too little room."""
    # every row's run beside its record; the released column comes when the records have shrunk to half
    needed = rows * (RECORD.itemsize + 1)
    if shutil.disk_usage(tempfile.gettempdir()).free < needed:
        raise FileError(
            f"the folder for temporary files has less than the {needed / 1e9:.1f} GB free that ranking a long column "
            "needs. Free some space, or set TMPDIR to a folder on a larger disk."
        )


def _counted(part: Part, *, seed: int, of_full: int) -> tuple[Places, Sample]:
    """The finite rows of each block of a part, and some of them."""
    held: list[int] = []
    values: list[Array] = [np.zeros(0)]
    keys = [np.zeros(0, dtype=np.uint64)]
    for index, block in part:
        held.append(int(np.count_nonzero(np.isfinite(block))))
        chosen = sampled(block, index, seed=seed, of_full=of_full)
        values.append(chosen[0])
        keys.append(chosen[1])
    return np.array(held, dtype=np.int64), (np.concatenate(values), np.concatenate(keys))


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
    there = isinstance(blocks, Spread)
    found = by_parts(blocks, partial(_counted, seed=seed, of_full=_SAMPLED_THERE if there else _SAMPLED))
    held = np.concatenate([np.zeros(1, dtype=np.int64), *(counts for counts, _ in found)])
    starts = np.cumsum(held, dtype=np.int64)
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

    if rows <= in_memory and not there:
        return Rank(starts=starts, released=_sorted_in_memory(blocks, rows=rows, seed=seed, released=released))
    values, keys = (np.concatenate([sample[one] for _, sample in found]) for one in (0, 1))
    if isinstance(blocks, Spread):
        cuts = cuts_of(values, keys, -(-rows // run_size(rows)))
        return Rank(starts=starts, released=ranked_there(blocks, rows=rows, cuts=cuts, seed=seed, released=released))
    cuts = cuts_of(values, keys, min(_RUNS, -(-rows // _RUN)))
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
