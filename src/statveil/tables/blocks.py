"""A column as blocks of a fixed number of rows: the same blocks whatever the engine's own chunks are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from statveil.numeric import Array

__all__ = [
    "BLOCK",
    "Array",
    "Blocks",
    "Part",
    "Spread",
    "all_finite",
    "blocks_of",
    "by_parts",
    "finite_rows",
    "in_blocks",
]

BLOCK = 65_536
"""Rows of every block but the last. Seeded maps draw per block, so this number is part of what a seed means."""


Blocks = Callable[[], Iterator[Array]]
"""Starts a new pass over the column. A row that is not finite (missing, NaN, infinite) is never touched by a map."""

Tag = TypeVar("Tag")
Found = TypeVar("Found")
Part = Iterable[tuple[int, Array]]
"""Some whole blocks of a column that follow each other, with their numbers."""
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


class Spread:
    """A column whose blocks lie in several places: each pass reads it here, or a function is handed to where they are.

    Parameters
    ----------
    read : function
        Starts a pass that reads all blocks here.
    by_parts : function
        As :func:`by_parts`.
    """

    def __init__(self, read: Blocks, by_parts: Callable[[Callable[[Part], Any]], list[Any]]) -> None:
        self._read, self.by_parts = read, by_parts

    def __call__(self) -> Iterator[Array]:
        return self._read()


def by_parts(blocks: Blocks, do: Callable[[Part], Found]) -> list[Found]:
    """What a function makes of each part of the column, in row order; one part where all of it lies in one place.

    >>> by_parts(blocks_of(np.arange(3.0)), lambda part: [(index, block.sum()) for index, block in part])
    [[(0, np.float64(3.0))]]
    """
    return blocks.by_parts(do) if isinstance(blocks, Spread) else [do(enumerate(blocks()))]


def all_finite(values: Array) -> bool:
    """Whether all values are finite.

    >>> all_finite(np.array([1e308, 1e308])), all_finite(np.array([np.inf, -np.inf]))
    (True, False)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # whatever is not finite shows in the sum, which takes a quarter of the time; so does one that is too large
        return math.isfinite(values.sum()) or bool(np.isfinite(values).all())


def finite_rows(values: Array) -> tuple[Array, float, float]:
    """The finite values, the block itself where all are, with the least and the largest of them.

    >>> finite_rows(np.array([3.0, np.nan, 1.0]))
    (array([3., 1.]), 1.0, 3.0)
    """
    if not len(values):
        return values, math.inf, -math.inf
    # a value that is not finite shows in one of the ends: they are needed anyway, so nothing is looked at twice
    least, most = float(values.min()), float(values.max())
    if math.isfinite(least) and math.isfinite(most):
        return values, least, most
    finite = values[np.isfinite(values)]
    return (finite, float(finite.min()), float(finite.max())) if len(finite) else (finite, math.inf, -math.inf)


def blocks_of(values: Array) -> Blocks:
    """The blocks of a column that is in memory."""
    return lambda: (values[start : start + BLOCK] for start in range(0, len(values), BLOCK))
