"""Arrow IPC files (Feather version 2)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import ClassVar

import polars as pl

from statveil.tables.changes import Changes
from statveil.tables.empty_cells import emptied_frame
from statveil.tables.files.columnar import ColumnarFile

__all__ = ["IpcFile"]


class IpcFile(ColumnarFile):
    """An Arrow IPC file. Metadata of its schema and fields is not carried over: it may hold the secret."""

    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")
    what: ClassVar[str] = "an Arrow IPC"

    def _scan(self) -> pl.LazyFrame:
        return pl.scan_ipc(self.path, glob=False, hive_partitioning=False)

    def _read(self, columns: Collection[str] | None) -> Iterator[pl.DataFrame]:
        with _not_mapped():
            yield from super()._read(columns)

    def _sink_rows(self, frames: Iterator[pl.DataFrame], target: Path, changes: Changes) -> None:
        super()._sink_rows(map(emptied_frame, frames), target, changes)

    def _sink(self, frame: pl.LazyFrame, target: Path) -> None:
        # the oldest layout and Feather's own compression: what every reader of such files understands
        frame.sink_ipc(target, compression="lz4", compat_level=pl.CompatLevel.oldest())


_SETTING = "POLARS_FORCE_ASYNC"
_lock = Lock()
_passes = 0


@contextmanager
def _not_mapped() -> Iterator[None]:
    """Have the engine read such files piece by piece.

    It maps them into memory otherwise, and a process that touches a mapped file which someone has cut short is ended by
    the system (SIGBUS), without a word. Reading says that it failed.
    """
    _count_pass(1)
    try:
        yield
    finally:
        _count_pass(-1)


def _count_pass(step: int) -> None:
    """Passes may overlap: the first sets the engine's switch, the last sets it back."""
    global _passes
    with _lock:
        before, _passes = _passes, _passes + step
        if before and _passes:
            return
        if _passes:
            _saved[:] = [os.environ.get(_SETTING)]
            os.environ[_SETTING] = "1"
        elif _saved[0] is None:
            os.environ.pop(_SETTING, None)
        else:
            os.environ[_SETTING] = _saved[0]
        pl.Config.reload_env_vars()


_saved: list[str | None] = [None]
