"""Empty cells hold nothing: typed columns keep a place for every row, and what once stood there stays in its bytes."""

from __future__ import annotations

import io

import numpy as np
import polars as pl

__all__ = ["emptied", "emptied_frame"]


def emptied(column: pl.Series) -> pl.Series:
    """The same column, with zeros in the bytes under its empty cells.

    A program that blanks a cell often sets a bit beside it and leaves the number. Arrow files carry those bytes, so
    whoever reads the buffers would see the original under the release.
    """
    plain = column.alias("x")  # the engine takes a name such as ``^a.*$`` for a pattern
    if column.dtype.is_nested():
        return _rewritten(plain.to_frame()).to_series().alias(column.name)
    if not column.null_count():
        return column
    there = plain.is_not_null()
    places = pl.Series(np.cumsum(there.to_numpy()) - 1, dtype=pl.Int64).clip(0).cast(pl.UInt32)
    # a place that is empty itself gathers nothing, whatever lies in the column
    return plain.drop_nulls().gather(places.zip_with(there, pl.Series([None], dtype=pl.UInt32))).alias(column.name)


def emptied_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """All columns so."""
    fresh = frame.clone()
    for place, column in enumerate(frame.get_columns()):
        fresh.replace_column(place, emptied(column))
    return fresh


def _rewritten(frame: pl.DataFrame) -> pl.DataFrame:
    """Through Parquet, which stores no byte of an empty cell at any depth."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="uncompressed", statistics=False)
    buffer.seek(0)
    return pl.read_parquet(buffer)
