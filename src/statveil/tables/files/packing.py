"""How the data of a long Parquet file is compressed: quickly, unless taking longer makes the file much smaller."""

from __future__ import annotations

import io
from typing import Any

import polars as pl

from statveil.tables.files.sinking import ENGINE_FAILURES

__all__ = ["CLOSE", "packing_for"]

CLOSE: dict[str, Any] = {"compression": "zstd", "compression_level": 1}
"""Zstandard at its quickest."""
_QUICK: dict[str, Any] = {"compression": "snappy"}
"""What pandas, Arrow, DuckDB and Spark use unless they are told otherwise: a third of the time of a copy less."""
_WORTH = 0.75
"""Of the size of the quickly packed file: how small the other one must be to be worth its time."""


def packing_for(first: pl.DataFrame) -> dict[str, Any]:
    """What to hand to the engine, by what both ways make of the first rows of the released table.

    >>> packing_for(pl.DataFrame({"x": pl.int_range(0, 50_000, eager=True).hash()}))["compression"]
    'snappy'
    >>> packing_for(pl.DataFrame({"x": [f"GET /index.html?visit={n % 977:09}" for n in range(50_000)]}))["compression"]
    'zstd'
    """
    try:
        close, quick = (_size(first, packing) for packing in (CLOSE, _QUICK))
    except ENGINE_FAILURES:  # whoever writes the table says why
        return CLOSE
    return CLOSE if close < _WORTH * quick else _QUICK


def _size(frame: pl.DataFrame, packing: dict[str, Any]) -> int:
    room = io.BytesIO()
    frame.write_parquet(room, **packing)
    return room.tell()
