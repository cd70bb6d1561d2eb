"""The hash of what is in a table in memory: one and the same for equal columns, whatever holds them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import polars as pl

from statveil.tables.frames.frame import Frame

__all__ = ["hash_frame"]


def hash_frame(frame: Frame) -> str:
    """SHA-256 of all columns with their names, in their order; of a query that makes a table, it runs once.

    Two equal hashes mean equal numbers, texts and times; of cells that hold other objects, equal texts of them. Where a
    library holds the same values in another type the hashes may differ, which is the safe side: the two then count as
    two releases.

    >>> from statveil.tables.frames import open_frame
    >>> hash_frame(open_frame([1.5, None])) == hash_frame(open_frame(np.array([1.5, np.nan])))
    False
    >>> hash_frame(open_frame([1.5, 2.5])) == hash_frame(open_frame(np.array([1.5, 2.5])))
    True
    """
    digests: dict[str, Any] = {}
    for block in frame.whole():
        for name, rows in block.items():
            if name not in digests:
                digests[name] = hashlib.sha256(f"{rows.dtype}\0".encode())
            digests[name].update(_content(rows))
    whole = hashlib.sha256(b"statveil table\0")
    for name, digest in digests.items():
        # hashes of both, so that no name can be taken for a part of another
        whole.update(hashlib.sha256(name.encode(errors="surrogatepass")).digest() + digest.digest())
    return whole.hexdigest()


def _content(rows: pl.Series) -> bytes:
    """The rows of a block: where one is missing, and the bits of numbers, else their text."""
    kind = rows.dtype
    if kind.is_temporal() or kind.is_integer() or kind.is_float() or kind == pl.Boolean:
        numbers = rows.to_physical()
        plain = numbers.fill_null(False if kind == pl.Boolean else 0)
        missing = np.packbits(numbers.is_null().to_numpy())
        return len(rows).to_bytes(8, "big") + missing.tobytes() + plain.to_numpy().tobytes()
    return repr(rows.to_list()).encode(errors="surrogatepass")
