"""A column of a long Parquet file looked at by two threads, each in a half of the rows, to the same last bit."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from statveil.errors import StatveilError
from statveil.tables.ahead import started
from statveil.tables.blocks import BLOCK
from statveil.tables.files.parquet_file import LONG, ParquetFile
from statveil.tables.looking import Look
from statveil.tables.source import Progress

__all__ = ["looked_at_in_halves"]


class _StoppedError(Exception):
    """Nobody waits for this half any more."""


class _Rows(ParquetFile):
    """Some rows of a file that is open, from the first of a block on."""

    def __init__(self, whole: ParquetFile, start: int, rows: int) -> None:
        self.path, self.schema, self.names, self.notes = whole.path, whole.schema, whole.names, []
        self._whole, self.start, self.rows = whole, start, rows

    def _scan(self) -> pl.LazyFrame:
        return self._whole._scan().slice(self.start, self.rows)


def looked_at_in_halves(table: ParquetFile, column: str, look: Look, progress: Progress | None) -> bool:
    """As :meth:`Source.look`; false, too, where a half cannot be read: whoever reads the whole says why."""
    rows = table.rows or 0
    if rows < LONG or look.levels:  # a quantile is found in passes that follow one another
        return False
    middle = rows // (2 * BLOCK) * BLOCK
    halves = _Rows(table, 0, middle), _Rows(table, middle, rows - middle)
    finite = rows
    try:
        for _ in range(2):
            if not look.begin(next(_Rows(table, 0, BLOCK).blocks(column)), finite, rows):
                break
            for glimpse in _seen(halves, column, look, progress):
                look.join(glimpse)
            if look.settle():
                return True
            finite = look.rows  # fewer than there are rows, so fewer were kept than are needed
    except StatveilError:
        pass
    look.give_up()
    return False


def _seen(halves: tuple[_Rows, _Rows], column: str, look: Look, progress: Progress | None) -> tuple[Any, Any]:
    """What is seen of both halves: of the second by a thread of its own, which ends when the first fails."""
    stop, turn = threading.Event(), threading.Lock()
    first, second = (partial(_looked, half, column, look.part(), progress, stop, turn) for half in halves)
    beside = started(second)
    try:
        return first(), beside.result()
    finally:
        stop.set()


def _looked(
    half: _Rows, column: str, look: Look, progress: Progress | None, stop: threading.Event, turn: threading.Lock
) -> Any:
    row, room = half.start, np.empty(BLOCK)
    for values in half.blocks(column):
        if stop.is_set():
            raise _StoppedError
        look.add(values, row, room)
        row += len(values)
        if progress:
            with turn:
                progress(len(values))
    return look.seen()
