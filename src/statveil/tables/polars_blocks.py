"""A Polars query as frames of exactly ``BLOCK`` rows, in row order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from statveil.tables.blocks import BLOCK

__all__ = ["frame_blocks", "sliced"]


def frame_blocks(query: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Run a query in the streaming engine, a block at a time."""
    return sliced(query.collect_batches(maintain_order=True, chunk_size=BLOCK, engine="streaming"))


def sliced(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Frames of any length as frames of ``BLOCK`` rows and one shorter last one."""
    held: list[pl.DataFrame] = []
    size = 0
    for frame in frames:
        start = 0
        while size + len(frame) - start >= BLOCK:
            stop = start + BLOCK - size
            held.append(frame.slice(start, stop - start))
            yield held[0] if len(held) == 1 else pl.concat(held)
            held, size, start = [], 0, stop
        if start < len(frame):
            held.append(frame.slice(start))
            size += len(frame) - start
    if size:
        yield held[0] if len(held) == 1 else pl.concat(held)
