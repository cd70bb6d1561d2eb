"""Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import polars as pl

from statveil.tables.files.columnar import ColumnarFile

__all__ = ["ParquetFile"]


class ParquetFile(ColumnarFile):
    """A Parquet file. Key-value metadata and statistics of the input are not carried over: they may hold the secret."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    what: ClassVar[str] = "a Parquet"

    def _scan(self) -> pl.LazyFrame:
        # no patterns in file names, no columns made up from folder names such as "year=2024"
        return pl.scan_parquet(self.path, glob=False, hive_partitioning=False)

    def _sink(self, frame: pl.LazyFrame, target: Path) -> None:
        # Zstandard at its quickest: LZ4 would take a sixth to a third of the time of a copy less, but files of random
        # numbers are 11 to 27 % larger then, which everyone pays for who gets one, and older readers lack it
        frame.sink_parquet(target, compression_level=1)
