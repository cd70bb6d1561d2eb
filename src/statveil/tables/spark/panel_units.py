"""A table of one row for each group of Parquet files, found, written and mapped by workers: the driver holds no row.

What it holds are the names of files, and a few numbers for each stretch of rows, each run of groups and each block.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array, Blocks, by_parts
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.maps.rank import Rank
from statveil.tables.maps.spread_ranks import FiledRows, changed
from statveil.tables.panel_units import Units
from statveil.tables.panels import different_sizes, different_values, empty_cells
from statveil.tables.pieces import check_room
from statveil.tables.source import Source
from statveil.tables.spark.panel_groups import (
    RECORD,
    Finding,
    RunJoined,
    SpanCut,
    begin_in_stretch,
    cut_span,
    hand_to_runs,
    hand_to_stretches,
    join_run,
    put_in_rows,
    release_part,
)
from statveil.tables.spark.spans import Span

__all__ = ["UnitsThere"]

Each = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""What workers make of some items."""
Opened = Callable[[Sequence[Path]], tuple[Source, Blocks]]
"""A table of some Parquet files, and the blocks of its hidden column, with where they lie."""

_EACH_ROW = 12  # bytes, at least: the group of a row, and what it is released as
_EACH_RECORD = RECORD.itemsize + 12  # at most, with its group, and what that is released as


class UnitsThere(Units):
    """The groups of rows that lie where workers read them.

    Parameters
    ----------
    work : Finding
        What is looked for.
    spans : sequence of Span
        All rows.
    rows : int
        How many.
    each : callable
        Hands items to workers.
    opened : callable
        Opens the files that they have written.
    """

    def __init__(self, work: Finding, spans: Sequence[Span], *, rows: int, each: Each, opened: Opened) -> None:
        check_room(work.folder.parent, rows * _EACH_ROW, "finding groups of rows")
        self._work, self._each = work, each
        self._kept = False
        work.make_folders()
        try:
            self._find(spans, opened)
        except BaseException:
            self.clear()
            raise

    def _find(self, spans: Sequence[Span], opened: Opened) -> None:
        work, each = self._work, self._each
        told: list[SpanCut] = each(partial(cut_span, work), spans)
        if any(one.empty for one in told):
            raise empty_cells(work.name, work.group)
        if not all(one.same for one in told):
            raise different_values(work.name, work.group)
        self.sums: NDArray[np.uint32] = np.array([one for part in told for one in part.sums], dtype=np.uint32)
        """A checksum of each block of the column."""
        self._finite = np.array([one for part in told for one in part.finite], dtype=np.int64)
        self._stretches = [one for part in told for one in part.stretches]
        self.rows = int(self._finite.sum())
        records = sum(one.groups for one in self._stretches)
        check_room(work.folder, records * (_EACH_RECORD - RECORD.itemsize) + 8 * self.rows, "finding groups of rows")

        self._runs: list[RunJoined] = each(partial(join_run, work, self._stretches), range(work.runs))
        self._done_with("records")
        if not all(one.same for one in self._runs):
            raise different_values(work.name, work.group)
        sizes = [one.sizes for one in self._runs if one.groups]
        if sizes and min(least for least, _ in sizes) != max(most for _, most in sizes):
            raise different_sizes(work.name, work.group)
        self.groups = sum(one.groups for one in self._runs)

        begin = partial(begin_in_stretch, work, self._runs, len(self._stretches))
        begun: list[tuple[str | None, int]] = each(begin, list(enumerate(self._stretches)))
        self._before = np.cumsum([0, *(number for _, number in begun)], dtype=np.int64)
        if self._before[-1] != self.groups:
            raise changed()
        files = [work.folder / "units" / name for name, _ in begun if name is not None]
        self.table, self._blocks = opened(files)

    def spread(self, inner: ColumnMap) -> ColumnMap:
        work, each, stretches = self._work, self._each, self._stretches
        parts = by_parts(self._blocks, partial(release_part, inner, work.folder / "released"))
        starts = np.cumsum([0, *(rows for _, rows in parts)], dtype=np.int64)
        if starts[-1] != self.groups:
            raise changed()
        released = FiledRows(folder=work.folder / "released", names=tuple(name for name, _ in parts), starts=starts)
        numbers = [(place, *self._before[place : place + 2].tolist()) for place in range(len(stretches))]
        to_runs = each(partial(hand_to_runs, work, self._runs, released, len(stretches)), numbers)
        to_stretches = each(partial(hand_to_stretches, work, to_runs), list(enumerate(self._runs)))
        self._done_with("members", "begins", "to-runs", "released")
        names = each(partial(put_in_rows, work, to_stretches, len(stretches)), list(enumerate(stretches)))
        self._kept = True
        rows = FiledRows(
            folder=work.folder / "rows",
            names=tuple(names),
            starts=np.cumsum([0, *(one.finite for one in stretches)], dtype=np.int64),
        )
        by_row = Rank(starts=np.cumsum([0, *self._finite.tolist()], dtype=np.int64), released=rows)
        return (_WholeFiledMap if inner.whole else _FiledMap)(by_row, {**inner.coefficients(), "groups": self.groups})

    def clear(self) -> None:
        for place in [*self._work.folder.iterdir()] if self._kept else [self._work.folder]:
            if not (self._kept and place.name == "rows"):
                shutil.rmtree(place, ignore_errors=True)

    def _done_with(self, *names: str) -> None:
        for name in names:
            shutil.rmtree(self._work.folder / name, ignore_errors=True)


class _FiledMap(ColumnMap):
    """Every row becomes what its group became, as files say that all workers see."""

    def __init__(self, by_row: Rank, coefficients: dict[str, Any]) -> None:
        self._by_row, self._coefficients = by_row, coefficients

    def block(self, values: Array, index: int) -> Array:
        return self._by_row.block(values, index)

    def coefficients(self) -> dict[str, Any]:
        return self._coefficients


class _WholeFiledMap(_FiledMap):
    """The same for a map that keeps whole numbers whole."""

    whole: ClassVar[bool] = True
