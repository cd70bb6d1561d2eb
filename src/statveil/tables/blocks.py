"""A column as blocks of a fixed number of rows: the same blocks whatever the engine's own chunks are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from statveil.numeric import Array

__all__ = [
    "BLOCK",
    "GROUP",
    "Array",
    "Blocks",
    "Part",
    "Places",
    "Spread",
    "all_finite",
    "blocks_of",
    "by_parts",
    "changed",
    "finite_rows",
    "in_blocks",
    "made",
]

BLOCK = 65_536
"""Rows of every block but the last. Seeded maps draw per block, so this number is part of what a seed means."""
GROUP = 64
"""Blocks whose sums are added up first, where these are many: long parts of a column hold whole groups of blocks, so
that few sums come together from many places."""

Blocks = Callable[[], Iterator[Array]]
"""Starts a new pass over the column. A row that is not finite (missing, NaN, infinite) is never touched by a map."""

Tag = TypeVar("Tag")
Item = TypeVar("Item")
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


class Places(Protocol):
    """Machines on which the blocks of a column lie: functions are handed to them, and what they tell comes back."""

    @property
    def folder(self) -> Path:
        """A folder that all of them see, and nobody but its owner; it goes with all that is in it after the work."""

    @property
    def rows(self) -> int:
        """Rows of the column, with those that have no value."""

    def by_parts(self, do: Callable[[Part], Found]) -> list[Found]:
        """What a function makes of each part of the column, in row order, where the part lies."""

    def each(self, do: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """What a function makes of each item, in their order, wherever there is time for it."""


class Spread:
    """A column whose blocks lie in several places: each pass reads it here, or a function is handed to where they are.

    Parameters
    ----------
    read : function
        Starts a pass that reads all blocks here.
    places : Places
        Where they lie.
    """

    def __init__(self, read: Blocks, places: Places) -> None:
        self._read, self.places = read, places

    def __call__(self) -> Iterator[Array]:
        return self._read()


def by_parts(blocks: Blocks, do: Callable[[Part], Found]) -> list[Found]:
    """What a function makes of each part of the column, in row order; one part where all of it lies in one place.

    >>> by_parts(blocks_of(np.arange(3.0)), lambda part: [(index, block.sum()) for index, block in part])
    [[(0, np.float64(3.0))]]
    """
    return blocks.places.by_parts(do) if isinstance(blocks, Spread) else [do(enumerate(blocks()))]


def changed(blocks: Blocks, change: Callable[[Array, int], Array]) -> Blocks:
    """The column with every block, by its number, made into another one; where it lies, if not here.

    >>> [block.tolist() for block in changed(blocks_of(np.arange(3.0)), lambda block, index: block + 1)()]
    [[1.0, 2.0, 3.0]]
    """

    def read() -> Iterator[Array]:
        return (change(block, index) for index, block in enumerate(blocks()))

    return Spread(read, _Changed(blocks.places, change)) if isinstance(blocks, Spread) else read


class _Others:
    """Places whose machines and folder are those of another column."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self.each = places.each

    @property
    def folder(self) -> Path:
        return self._places.folder


class _Changed(_Others):
    """The places of a column whose blocks are changed before anybody sees them."""

    def __init__(self, places: Places, change: Callable[[Array, int], Array]) -> None:
        super().__init__(places)
        self._change = change

    @property
    def rows(self) -> int:
        return self._places.rows

    def by_parts(self, do: Callable[[Part], Found]) -> list[Found]:
        return self._places.by_parts(partial(_do_changed, do, self._change))


def _do_changed(do: Callable[[Part], Found], change: Callable[[Array, int], Array], part: Part) -> Found:
    return do((index, change(block, index)) for index, block in part)


def made(make: Callable[[int], Array], number: int, like: Blocks | None = None) -> Blocks:
    """So many blocks, each worked out from its number alone: by the machines that another column lies on, if not here.

    >>> [block.tolist() for block in made(lambda index: np.full(2, float(index)), 2)()]
    [[0.0, 0.0], [1.0, 1.0]]
    """

    def read() -> Iterator[Array]:
        return map(make, range(number))

    return Spread(read, _Made(like.places, make, number)) if isinstance(like, Spread) else read


class _Made(_Others):
    """Places that work out blocks of a column that lies nowhere."""

    def __init__(self, places: Places, make: Callable[[int], Array], number: int) -> None:
        super().__init__(places)
        self._make, self._number = make, number

    @property
    def rows(self) -> int:
        return self._number * BLOCK

    def by_parts(self, do: Callable[[Part], Found]) -> list[Found]:
        tasks = [range(start, min(start + _MADE, self._number)) for start in range(0, self._number, _MADE)]
        return self._places.each(partial(_do_made, do, self._make), tasks)


_MADE = 64  # blocks that are worked out by one task


def _do_made(do: Callable[[Part], Found], make: Callable[[int], Array], numbers: range) -> Found:
    return do((number, make(number)) for number in numbers)


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
