"""Parquet files of a disk that all machines see: Spark's workers read and write them by themselves, in spans of rows.

What workers cannot look at by parts is read on the driver, as on one machine.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from uuid import uuid4

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import TableError
from statveil.tables.blocks import BLOCK, Blocks, Part, Spread
from statveil.tables.changes import Changes, Labels
from statveil.tables.files.columnar import ColumnarParts
from statveil.tables.files.table_file import Watch, WatchedFile
from statveil.tables.groups import GroupRows, LabelColumn
from statveil.tables.hashing import hash_file
from statveil.tables.looking import BesideColumn, Look, ShownBeside
from statveil.tables.looking_later import Watching, has_many_rows, looks_later
from statveil.tables.maps.spread_ranks import run_size
from statveil.tables.series import ColumnType
from statveil.tables.source import Progress, Rows
from statveil.tables.spark.asides import LooksBeside, each_search, take_told
from statveil.tables.spark.footers import Footer, read_footer
from statveil.tables.spark.hidden import Hidden
from statveil.tables.spark.labels import GroupsThere, labels_in_span
from statveil.tables.spark.panel_groups import Finding
from statveil.tables.spark.panel_units import UnitsThere
from statveil.tables.spark.spans import ParquetSpan, Span, cut_spans, first_rows, whole_files
from statveil.tables.spark.workers import (
    Aside,
    AsidesOf,
    Looking,
    LookingBeside,
    OnePart,
    Shape,
    Showing,
    SpanSeen,
    ToWrite,
    Writing,
    all_others,
    do_in_span,
    do_item,
    hash_of_column,
    hashes_of,
    join_watchers,
    look_at_span,
    look_beside_span,
    on_workers,
    read_watchers,
    show_span,
    write_span,
)
from statveil.tables.structure.others.facets import Parted
from statveil.tables.structure.others.telling import Copies

__all__ = ["SparkParquet", "remove_folder"]

_JOINED = 16
"""Spans, or groups of spans, of which one task puts together what was seen beside a column."""

Work = TypeVar("Work")
Task = TypeVar("Task")
Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """What the workers told of a column. Private."""

    sums: NDArray[np.uint32]
    """A checksum of each block."""
    finite: Mapping[int, NDArray[np.uint16]]
    """Of blocks with rows that have no value, how many of each piece have one."""


class SparkParquet(WatchedFile):
    """A Parquet file, or a folder of some; written as a folder of one file for each task.

    Parameters
    ----------
    local : ColumnarParts
        The same table as one machine reads it.
    footers : sequence of Footer
        Of its files, in their order.
    session : SparkSession
        Who hands out the tasks.
    shuffled : callable
        Writes files in another order: from one folder to another, by a secret seed.
    called : str, optional
        What messages call the table; left out: by its path.
    apart : bool
        Whether others know in which of its files a row lies.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()
    as_folder: ClassVar[bool] = True
    only_whole: ClassVar[str] = "Spark writes a file for each part of the rows; leave out --engine spark."

    def __init__(
        self,
        local: ColumnarParts,
        footers: Sequence[Footer],
        session: Any,
        shuffled: Callable[[Path, Path, int], None],
        *,
        called: str | None = None,
        apart: bool = True,
    ) -> None:
        self.path, self.notes, self.names, self.rows = local.path, local.notes, local.names, local.rows
        self._local, self._footers, self._session, self._shuffled = local, footers, session, shuffled
        self._called, self._apart = called or str(local.path), apart
        self._cores = session.sparkContext.defaultParallelism
        self._spans = cut_spans(footers, self._cores)
        self._seen: dict[str, _Column] = {}
        self._sums: dict[str, NDArray[np.uint32]] = {}
        """A checksum of each block of columns that are drawn by groups."""
        self._folder: Path | None = None

    def __str__(self) -> str:
        return self._called

    # --- as on one machine ------------------------------------------------------------------------
    def type_of(self, column: str) -> ColumnType:
        return self._local.type_of(column)

    def column(self, name: str) -> pl.Series:
        return self._local.column(name)

    def pieces(self, column: str) -> Iterator[pl.Series]:
        return self._local.pieces(column)

    def numeric_columns(self) -> list[str]:
        return self._local.numeric_columns()

    def together(self, columns: Mapping[str, Labels], *, progress: Progress | None = None) -> Iterator[Rows]:
        return self._local.together(columns, progress=progress)

    def beside(
        self, columns: Mapping[str, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        return self._local.beside(columns, progress=progress)

    def beside_some(
        self, columns: Mapping[str, Labels], others: Collection[str]
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        return self._local.beside_some(columns, others)

    # --- by the workers ---------------------------------------------------------------------------
    def _ask(self, do: Callable[[Work, Task], Found], work: Work, tasks: Sequence[Task]) -> list[Found]:
        """What the workers tell of what they read."""
        return on_workers(self._session, do, work, tasks, what=f"read {self}")

    def hash_of(self, path: Path) -> str:
        def each(files: Sequence[Path]) -> list[str]:
            size = -(-len(files) // (2 * self._cores)) or 1
            places = [file.absolute() for file in files]  # of this process, not of those where the workers run
            tasks = [places[start : start + size] for start in range(0, len(places), size)]
            found = on_workers(self._session, hashes_of, None, tasks, what=f"read {path}")
            return [one for part in found for one in part]

        return hash_file(path, each)

    def look(
        self, column: str | tuple[str, ...], look: Look, copies: Copies | None, *, progress: Progress | None = None
    ) -> bool:
        if copies is not None or not looks_later(self):  # the others are looked at while they are written
            return False
        hidden = Hidden.of(column, look.labels)
        first = next(hidden.blocks(ParquetSpan(first_rows(self._footers, BLOCK))))
        finite = total = hidden.each * (self.rows or 0)
        for _ in range(2):
            if not look.begin(first, finite, total):
                break
            seen = self._looked(hidden, look)
            if look.settle():
                self._seen |= _put_together(hidden, seen)
                look.lies_in(_WorkerPlaces(self, hidden))
                if progress:
                    progress(self.rows or 0)
                return True
            finite = look.rows  # fewer than there are rows, so fewer were kept than are needed
        look.give_up()
        return False

    makes_maps = True

    def hash_there(self, column: str) -> str | None:
        if not looks_later(self):
            return None
        (found,) = self._ask(hash_of_column, column, [first_rows(self._footers, self.rows or 0)])
        return found

    def groups_there(self, column: LabelColumn, seen: dict[str, None]) -> GroupRows | None:
        if not looks_later(self):
            return None
        told = self._ask(labels_in_span, column, self._long_spans())
        seen.update(dict.fromkeys(label for part in told for label in part.labels))
        return GroupsThere(whole_files(self._footers), column, told)

    def units_there(self, column: str, labels: Labels, group: str, others: Collection[str] | None) -> UnitsThere | None:
        if self._folder is None or not has_many_rows(self):
            return None
        rows, folder = self.rows or 0, self.folder() / f"groups-{uuid4().hex}"
        work = Finding(
            name=column,
            labels=labels,
            group=group,
            folder=folder,
            runs=-(-rows // run_size(rows)),
            size=run_size(rows),
            files=whole_files(self._footers),
            others=None if others is None else list(others),
            ends=self._ends,
        )

        def opened(files: Sequence[Path]) -> tuple[SparkParquet, Blocks]:
            footers = [read_footer(file) for file in files]
            local = ParquetSpan(first_rows(footers, sum(footer.rows for footer in footers)))
            table = SparkParquet(local, footers, self._session, self._shuffled, called=self._called, apart=False)
            table.work_in(folder)
            return table, table._lying_there(Hidden.of(column, labels))

        units = UnitsThere(work, self._long_spans(), rows=rows, each=self.each, opened=opened)
        self._sums[column] = units.sums
        return units

    def _lying_there(self, hidden: Hidden) -> Blocks:
        """The blocks of a column, with where they lie if it is long."""
        read = partial(self.blocks, hidden.names[0], labels=hidden.labels)
        return Spread(read, _WorkerPlaces(self, hidden)) if looks_later(self) else read

    def look_beside(
        self, columns: Mapping[str, Labels], asked: Sequence[BesideColumn], others: ShownBeside | None = None
    ) -> list[bool]:
        shown = all_others if others is None else others
        asides = {} if self._folder is None else self._asides(columns, asked, shown)
        done = [one for one in asked if one.column in asides]
        if any(asides.values()) or any(one.watchers for one in done):
            with self._own_folder("beside") as folder:
                work = LookingBeside(
                    columns=columns,
                    others=shown,
                    asides=[asides[one.column] for one in done],
                    watchers=[one.watchers for one in done],
                    names=[one.column for one in done],
                    folder=str(folder),
                    ends=self._ends,
                )
                told = self._ask(look_beside_span, work, self._spans)
                for place, one in enumerate(done):
                    for number, (search, aside) in enumerate(each_search(one.searches, asides[one.column])):
                        take_told(search, aside, [span.told[place][number] for span in told])
                self._join([watcher for one in done for watcher in one.watchers], folder, [one.name for one in told])
        return [one.column in asides for one in asked]

    def show_rows(self, columns: Mapping[str, Labels], others: Collection[str], watcher: Parted) -> bool:
        if self._folder is None or not looks_later(self):
            return False
        with self._own_folder("shown") as folder:
            work = Showing(columns=columns, others=list(others), watcher=watcher, folder=str(folder))
            names = self._ask(show_span, work, self._spans)
            self._join([watcher], folder, names)
        return True

    def _join(self, watchers: Sequence[Parted], folder: Path, names: list[str]) -> None:
        """Have put together what watchers have seen of all spans, and take it in."""
        while len(names) > 1:  # by and by, as what all spans have seen is more than one place should hold
            groups = [names[start : start + _JOINED] for start in range(0, len(names), _JOINED)]
            names = self._ask(join_watchers, str(folder), groups)
        for own, one in zip(watchers, read_watchers(folder / names[0]), strict=True):
            own.join(one)

    @contextmanager
    def _own_folder(self, what: str) -> Iterator[Path]:
        """A folder that all workers see, for a while."""
        folder = self.folder() / f"{what}-{uuid4().hex}"
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            remove_folder(folder)

    def _looked(self, hidden: Hidden, look: Look) -> list[SpanSeen]:
        work = Looking(look=look.part(), hidden=hidden)
        seen = self._ask(look_at_span, work, self._long_spans())
        for one in seen:
            look.join(one.glimpse)
        return seen

    def by_parts(self, hidden: Hidden, do: Callable[[Part], Found]) -> list[Found]:
        """What workers make of each part of a column, with a function that is handed to them."""
        work = OnePart(hidden=hidden, do=do)
        return self._ask(do_in_span, work, self._long_spans())

    def each(self, do: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """What workers make of some items."""
        return self._ask(do_item, do, items)

    def work_in(self, folder: Path) -> None:
        self._folder = folder

    def folder(self) -> Path:
        """The folder of this run that all workers see."""
        if self._folder is None:
            raise TableError(f"{self} is ranked by workers only on its way to an output that all of them see.")
        return self._folder.absolute()

    def _long_spans(self) -> list[Span]:
        """For one column alone."""
        return cut_spans(self._footers, self._cores, columns=len(self.names))

    def write(
        self,
        target: Path,
        changes: Changes,
        *,
        shuffle: int | None = None,
        progress: Progress | None = None,
        watch: Watch | None = None,
    ) -> None:
        if shuffle is not None:
            in_order = target.with_name("in-order")
            try:
                self.write(in_order, changes, progress=progress, watch=watch)
                self._shuffled(in_order, target, shuffle)
            finally:
                remove_folder(in_order)
            return
        aside = self._aside(watch, changes)
        if watch is not None and aside is None:
            for rows, others in self.beside(changes.labels):
                watch(rows, others)
        attempts = target.with_name("attempts")
        attempts.mkdir(mode=0o700)
        try:
            work = Writing(changes=changes, folder=str(attempts.absolute()), aside=aside)
            done = on_workers(self._session, write_span, work, self._tasks(changes), what=f"write {target.name}")
            if sum(one.rows for one in done) != self.rows:
                raise TableError("Spark's workers wrote another number of rows than were read; nothing was published.")
            target.mkdir()
            digits = max(5, len(str(len(done))))
            for number, one in enumerate(done):
                (attempts / one.name).rename(target / f"part-{number:0{digits}}.parquet")
        finally:
            remove_folder(attempts)
        if aside is not None and isinstance(watch, Watching):
            take_told(watch.later.copies, aside, done)
        if progress:
            progress(self.rows or 0)

    def _tasks(self, changes: Changes) -> list[ToWrite]:
        sums = {**self._sums, **{name: one.sums for name, one in self._seen.items()}}
        known = {name: sums[name] for name in changes.replaced if name in sums}
        tasks = []
        for span in self._spans:
            first, last = span.first // BLOCK, -(-(span.first + span.rows) // BLOCK)
            tasks.append(ToWrite(span=span, sums={name: sums[first:last] for name, sums in known.items()}))
        return tasks

    # --- whether other columns tell the hidden one --------------------------------------------------
    def _aside(self, watch: Watch | None, changes: Changes) -> Aside | None:
        """What the workers are to tell while they write; ``None`` where all rows must be seen in one place."""
        if not isinstance(watch, Watching) or watch.name not in self._seen:
            return None
        asked = BesideColumn(column=watch.name, searches=[watch.later.copies], watchers=())
        found = self._asides({watch.name: None}, [asked], all_others).get(watch.name)
        return None if found is None else found[0].asides[0]

    def _asides(
        self, columns: Mapping[str, Labels], asked: Sequence[BesideColumn], shown: ShownBeside
    ) -> dict[Any, list[AsidesOf]]:
        """What the workers are to tell of the others, for each column of which parts can tell all that is asked."""
        beside = LooksBeside(
            ask=self._ask,
            first=first_rows(self._footers, BLOCK),
            spans=self._spans,
            long_spans=self._long_spans(),
            columns=columns,
            shown=shown,
            ends=self._ends,
            plain=self._shapes,
        )
        return beside.asides([one for one in asked if all(name in self._seen for name in Hidden.of(one.column).names)])

    def _shapes(self, column: str) -> list[Shape]:
        """What is known of each block of a column that was looked at."""
        own, total = self._seen[column], self.rows or 0
        return [(min(BLOCK, total - index * BLOCK), own.finite.get(index)) for index in range(len(own.sums))]

    @property
    def _ends(self) -> NDArray[np.int64]:
        """Where the rows of each file end, where there are several."""
        rows = [footer.rows for footer in self._footers]
        return np.cumsum(rows if self._apart and len(rows) > 1 else [], dtype=np.int64)


class _WorkerPlaces:
    """Where the blocks of one column are: in spans of files, which workers read."""

    def __init__(self, table: SparkParquet, hidden: Hidden) -> None:
        self._table, self._hidden = table, hidden

    @property
    def folder(self) -> Path:
        return self._table.folder()

    @property
    def rows(self) -> int:
        return self._hidden.each * (self._table.rows or 0)

    def by_parts(self, do: Callable[[Part], Found]) -> list[Found]:
        return self._table.by_parts(self._hidden, do)

    def each(self, do: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        return self._table.each(do, items)


def _put_together(hidden: Hidden, seen: Sequence[SpanSeen]) -> dict[str, _Column]:
    """What was told of each column; blocks of two come by turns."""
    sums = np.array([one for part in seen for one in part.sums], dtype=np.uint32)
    finite = {index: one for part in seen for index, one in part.finite.items()}
    return {name: _Column(sums=sums[place :: hidden.each], finite=finite) for place, name in enumerate(hidden.names)}


def remove_folder(folder: Path) -> None:
    """Remove a folder in which attempts that were given up may still write.

    It loses its name first, so that none begins a new file in it: a folder to which one is added meanwhile cannot be
    removed. One that goes on writes to a file that no longer has a name.
    """
    gone = folder.with_name(f"{folder.name}.removed")
    with suppress(OSError):
        folder.rename(gone)
    for place in (gone, folder):
        shutil.rmtree(place, ignore_errors=True)
