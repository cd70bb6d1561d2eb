"""Arrow IPC files (Feather version 2)."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import polars as pl

from statveil.tables.files.columnar import ColumnarFile

__all__ = ["IpcFile"]


class IpcFile(ColumnarFile):
    """An Arrow IPC file. Metadata of its schema and fields is not carried over: it may hold the secret."""

    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")
    what: ClassVar[str] = "an Arrow IPC"

    def _scan(self) -> pl.LazyFrame:
        return pl.scan_ipc(self.path, glob=False, hive_partitioning=False)

    def _sink(self, frame: pl.LazyFrame, target: Path) -> None:
        # the oldest layout and Feather's own compression: what every reader of such files understands
        frame.sink_ipc(target, compression="lz4", compat_level=pl.CompatLevel.oldest())
