"""Hashes of the rows of a table: in their order, or of all of them together in whichever order they come.

A table in a database has no order, so its card states the second. Each row has a number of 4096 bits, which are added:
finding other rows with the same sum takes about 2^128 steps (the generalised birthday attack on sums takes
2^(2 sqrt 4096)).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import polars as pl

__all__ = ["hash_in_order", "hash_of_rows", "row_texts"]

_BYTES = 512


def row_texts(frame: pl.DataFrame) -> pl.Series:
    """Each row as a text: equal ones for equal rows alone, whatever the width of a number's type.

    >>> row_texts(pl.DataFrame({"a": [1, None], "b": ["x", "1:x"]})).to_list()
    ['1:1;1:x;', '-;3:1:x;']
    """
    cells = []
    for one in frame.get_columns():
        text = _text(one).alias("")
        size = text.str.len_bytes().cast(pl.String)
        cells.append((size + ":" + text + ";").fill_null("-;"))
    if not cells:
        return pl.Series("", [""] * len(frame), dtype=pl.String)
    whole = cells[0]
    for cell in cells[1:]:
        whole = whole + cell
    return whole


def _text(column: pl.Series) -> pl.Series:
    """Every value as a text of its own."""
    dtype = column.dtype
    if dtype.is_float():
        # by their bits: no digit is lost, and minus zero and what is no number stay apart from all others
        return column.cast(pl.Float64).reinterpret(dtype=pl.UInt64).cast(pl.String)
    if dtype == pl.Time or dtype == pl.Date:
        return column.to_physical().cast(pl.String)
    if isinstance(dtype, pl.Datetime):
        # as a number of microseconds, whatever its zone; nanoseconds would not reach the year 2300
        return (column.dt.cast_time_unit("us") if dtype.time_unit == "ms" else column).to_physical().cast(pl.String)
    if dtype == pl.Binary:
        return column.bin.encode("hex")
    return column.cast(pl.String)


def hash_in_order(frames: Iterable[pl.DataFrame]) -> str:
    """SHA-256 of the rows in their order, and of the names and types of the columns."""
    digest = None
    for frame in frames:
        if digest is None:
            digest = hashlib.sha256(repr([(name, str(dtype)) for name, dtype in frame.schema.items()]).encode())
        digest.update("\n".join([*row_texts(frame), ""]).encode())
    return (hashlib.sha256() if digest is None else digest).hexdigest()


def hash_of_rows(names: Iterable[str], frames: Iterable[pl.DataFrame]) -> str:
    """SHA-256 of the rows in any order, and of the names of the columns."""
    total, rows = 0, 0
    for frame in frames:
        for text in row_texts(frame):
            total += int.from_bytes(hashlib.shake_128(text.encode()).digest(_BYTES), "big")
        rows += len(frame)
        total %= 1 << (8 * _BYTES)
    head = f"statveil rows\0{list(names)!r}\0{rows}\0".encode()
    return hashlib.sha256(head + total.to_bytes(_BYTES, "big")).hexdigest()
