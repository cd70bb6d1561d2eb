"""A column as blocks of a fixed number of rows: the same blocks whatever the engine's own chunks are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from statveil.numeric import Array

__all__ = ["BLOCK", "Array", "Blocks", "blocks_of", "in_blocks"]

BLOCK = 65_536
"""Rows of every block but the last. Seeded maps draw per block, so this number is part of what a seed means."""


Blocks = Callable[[], Iterator[Array]]
"""Starts a new pass over the column. A row that is not finite (missing, NaN, infinite) is never touched by a map."""

Tag = TypeVar("Tag")
Chunk = TypeVar("Chunk", bound=Any)  # anything with a length and slices: an array, a frame


def in_blocks(chunks: Iterable[tuple[Tag, Chunk]]) -> Iterator[list[tuple[Tag, Chunk]]]:
    """Chunks of any length, each with a tag, as pieces that together have exactly ``BLOCK`` rows.

    The last block has what is left.
    """
    held: list[tuple[Tag, Chunk]] = []
    size = 0
    for tag, chunk in chunks:
        start = 0
        while size + len(chunk) - start >= BLOCK:
            stop = start + BLOCK - size
            yield [*held, (tag, chunk[start:stop])]
            held, size, start = [], 0, stop
        if start < len(chunk):
            held.append((tag, chunk[start:]))
            size += len(chunk) - start
    if size:
        yield held


def blocks_of(values: Array) -> Blocks:
    """The blocks of a column that is in memory."""
    return lambda: (values[start : start + BLOCK] for start in range(0, len(values), BLOCK))
