"""Several columns of one table worked on at once, each in its own thread, all from the same passes over the rows.

What works on one column asks for passes over it, one after another (:func:`statveil.tables.preparing.prepare`). Here a
pass begins when every column has asked for one or is done, and all of them are fed from it: a table of twelve hidden
columns is read as often as the column that needs most passes. A column holds a few blocks at a time, so memory stays
bounded, and it sees the same blocks as if it were alone.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import polars as pl

from statveil.tables.blocks import Array, in_blocks
from statveil.tables.changes import Labels
from statveil.tables.looking import BesideColumn
from statveil.tables.source import Progress, Rows, Source
from statveil.tables.structure.others.alongside import Made, Seen, TableRows
from statveil.tables.structure.others.facets import Parted, Sampling
from statveil.tables.structure.rows.group_search import Beside

__all__ = ["Along", "Look", "Reader", "Shared", "each_beside"]

Result = TypeVar("Result")
Look = Callable[[Mapping[Any, Array], Mapping[str, pl.Series]], Callable[[Any], Mapping[str, pl.Series]]]
"""Which columns are looked at beside one, by its name: from the shared columns and all others of the same rows."""

_AHEAD = 2  # blocks that wait for a column
_AT_ONCE = 2  # columns that are worked on at the same time: what a search holds in memory, all would hold together
_LOOK = 0.05  # seconds between looks whether a run was stopped
_END = object()
_KINDS = ("together", "beside", "there")
"""Of passes, in the order in which they are served: over columns, with all others, and over rows that lie elsewhere."""


class _Stopped(BaseException):
    """Raised in threads whose work nobody waits for any more."""


class _Asked:
    """One pass that the work on a column asked for."""

    def __init__(self, name: Any, kind: str, beside: BesideColumn | None = None) -> None:
        self.name, self.kind, self.beside = name, kind, beside
        self.gone = False
        """Whether nobody takes any more of it."""
        self._pieces: queue.Queue[Any] = queue.Queue(_AHEAD)

    def take(self, stopped: Callable[[], bool]) -> Any:
        """The next piece."""
        while not stopped():
            try:
                return self._pieces.get(timeout=_LOOK)
            except queue.Empty:
                continue
        raise _Stopped

    def feed(self, piece: Any) -> None:
        """Hand over a piece, as soon as there is room."""
        while not self.gone:
            try:
                self._pieces.put(piece, timeout=_LOOK)
                return
            except queue.Full:
                continue


class Reader:
    """How the work on one column asks for its passes."""

    def __init__(self, shared: Shared[Any], name: Any) -> None:
        self.name, self._shared = name, shared
        self.waiting: _Asked | None = None
        """The pass that it waits for."""
        self.done = False
        self._busy = False

    def blocks(self, labels: Labels) -> Iterator[Array]:
        """A pass over the column."""
        return self._pass("together", lambda: self._shared.table.blocks(self.name, labels=labels))

    def beside(self, labels: Labels) -> Beside:
        """A pass over the column with the others beside it."""
        return self._pass("beside", lambda: self._shared.alone_beside(self.name))

    def look_beside(self, searches: Sequence[Sampling], watchers: Sequence[Parted]) -> bool:
        """Have the others looked at beside the column where its rows lie, in a pass that all columns share."""
        asked = _Asked(self.name, "there", BesideColumn(column=self.name, searches=searches, watchers=watchers))
        self._shared.ask(self, asked)
        return bool(self._shared.wait_for(asked))

    def _pass(self, kind: str, alone: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        if self._busy:  # a pass inside a pass cannot wait for others, who wait for this one
            yield from alone()
            return
        self._busy, asked = True, _Asked(self.name, kind)
        try:
            self._shared.ask(self, asked)
            while (piece := self._shared.wait_for(asked)) is not _END:
                yield piece
        finally:
            self._busy, asked.gone = False, True


def each_beside(
    text: Callable[[Any], str],
    *,
    stays: Callable[[str], bool],
    apart: Callable[[str, str], bool],
    left: Callable[[Mapping[str, Array]], Mapping[str, Callable[[], Array]]] = lambda rows: {},
    of_own: Callable[[str, str], bool] = lambda own, name: False,
) -> Callable[[], Look]:
    """Look at each shared column beside the others, of which one sample is kept for all of them.

    Parameters
    ----------
    text : callable
        What a shared column is called.
    stays : callable
        Whether a column that is not shared is looked at.
    apart : callable
        Whether a shared column, the first, is looked at beside the second.
    left : callable
        What columns that move together leave as it was, by name: how to work it out of the rows of shared columns.
    of_own : callable
        Whether a shared column is looked at beside what is left under a name.
    """

    def look() -> Look:
        table = TableRows()

        def beside(rows: Mapping[Any, Array], others: Mapping[str, pl.Series]) -> Callable[[Any], Seen]:
            stay = {key: partial(one.alias, "") for key, one in others.items() if stays(key)}
            shared = {text(name): partial(_series, values) for name, values in rows.items()}
            given = left({text(key): one for key, one in rows.items()})
            made = {key: partial(_left, one) for key, one in given.items()}
            seen = table.seen(Made({**stay, **shared, **made}), len(next(iter(rows.values()))))

            def of(name: Any) -> Seen:
                own = text(name)
                moved = [other for other in shared if apart(own, other)]
                return seen(own, list(dict.fromkeys((*stay, *moved, *(name for name in made if of_own(own, name))))))

            return of

        return beside

    return look


def _left(work_out: Callable[[], Array]) -> pl.Series:
    return _series(work_out())


def _series(values: Array) -> pl.Series:
    """A column of numbers, empty where there is none."""
    column = pl.Series(values)
    return column.fill_nan(None) if np.isnan(values).any() else column


@dataclass(kw_only=True, eq=False)
class Along:
    """Who sees further columns of all rows while the shared ones are read, so that nobody reads them once more."""

    others: Collection[Any]
    """The columns, by their names in the table."""
    add: Callable[[Rows, Mapping[str, pl.Series]], None]
    """Takes in the next rows of the shared columns and of these."""
    done: bool = False
    """Whether it has seen all rows."""


class Shared(Generic[Result]):
    """Passes over a table that the work on several columns shares.

    Parameters
    ----------
    table : Source
        Read by the calling thread alone, but for passes inside passes.
    columns : mapping
        The columns that are worked on, each with its labels.
    look : callable
        Makes what does for one pass: which columns are looked at beside one of them.
    along : Along, optional
        Sees the rows of the first pass over all of the columns, if there is one.
    progress : callable, optional
        Called with the number of rows of each block.
    """

    def __init__(
        self,
        table: Source,
        columns: Mapping[Any, Labels],
        *,
        look: Callable[[], Look] = lambda: lambda rows, others: lambda name: others,
        along: Along | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.table, self.columns = table, dict(columns)
        self.stopped = False
        self._look, self._along, self._progress = look, along, progress
        self._changed = threading.Condition()
        self._turns = threading.Semaphore(_AT_ONCE)

    def run(self, works: Mapping[Any, Callable[[Reader], Result]]) -> dict[Any, Result]:
        """All works, each with a reader of its column; the error of the first column that has one."""
        readers = {name: Reader(self, name) for name in works}
        results: dict[Any, Result] = {}
        errors: dict[Any, BaseException] = {}

        def work(name: Any) -> None:
            try:
                with self._turns:
                    results[name] = works[name](readers[name])
            except BaseException as error:
                errors[name] = error
            finally:
                with self._changed:
                    readers[name].done = True
                    self._changed.notify_all()

        # daemons: nobody waits for one whose run was stopped
        threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in works]
        try:
            for thread in threads:
                thread.start()
            while True:
                with self._changed:
                    while not all(one.done or one.waiting for one in readers.values()):
                        self._changed.wait(_LOOK)
                # nothing runs now, so which column failed does not depend on which was the quickest
                for name in works:
                    if name in errors:
                        raise errors[name]
                asked = [one.waiting for one in readers.values() if one.waiting is not None and not one.done]
                if not asked:
                    return {name: results[name] for name in works}
                first = next(found for kind in _KINDS if (found := [one for one in asked if one.kind == kind]))
                for reader in readers.values():
                    if reader.waiting in first:
                        reader.waiting = None
                self._serve(first)
        finally:
            self.stopped = True

    def ask(self, reader: Reader, asked: _Asked) -> None:
        """Say that the work of a reader waits for a pass."""
        with self._changed:
            reader.waiting = asked
            self._changed.notify_all()

    def wait_for(self, asked: _Asked) -> Any:
        """The next piece of a pass; others have their turn meanwhile."""
        self._turns.release()
        try:
            return asked.take(lambda: self.stopped)
        finally:
            self._turns.acquire()

    def alone_beside(self, name: Any) -> Beside:
        """A pass for one column by itself."""
        look = self._look()
        for rows, others in self.table.beside(self.columns):
            yield rows[name], look(rows, others)(name)

    def _serve(self, asked: list[_Asked]) -> None:
        """One pass, to all who asked for one of its kind."""
        if asked[0].kind == "there":
            wanted_beside = [one.beside for one in asked if one.beside is not None]
            found = self.table.look_beside(self.columns, wanted_beside, self._look)
            for one, done in zip(asked, found, strict=True):
                one.feed(done)
            return
        if asked[0].kind == "together":
            wanted = {one.name: self.columns[one.name] for one in asked}
            for block in self._together(wanted):
                for one in asked:
                    one.feed(block[one.name])
        else:
            look = self._look()
            for rows, others in self.table.beside(self.columns, progress=self._progress):
                beside = look(rows, others)
                for one in asked:
                    one.feed((rows[one.name], beside(one.name)))
        for one in asked:
            one.feed(_END)

    def _together(self, wanted: Mapping[Any, Labels]) -> Iterator[Rows]:
        along = self._along
        if along is None or along.done or wanted.keys() != self.columns.keys():
            yield from self.table.together(wanted, progress=self._progress)
            return

        def pieces() -> Iterator[tuple[Rows, range]]:
            for rows, others in self.table.beside_some(wanted, along.others):
                along.add(rows, others)
                size = len(next(iter(rows.values())))
                yield rows, range(size)
                if self._progress:
                    self._progress(size)

        for block in in_blocks(pieces()):
            yield {name: _joined([rows[name][at.start : at.stop] for rows, at in block]) for name in wanted}
        along.done = True


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
