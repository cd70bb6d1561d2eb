"""Where the rows of each partition stand: Spark knows no row numbers, and maps are addressed by them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK, Array

__all__ = ["BITS", "Edges", "Layout", "Seen", "unsteady"]

BITS = 33
"""Of ``monotonically_increasing_id``: the row's place in its partition; the partition's number is above them."""

Numbers = NDArray[np.int64]


def unsteady() -> ColumnError:
    """A refusal of rows that are not the same in two passes."""
    return ColumnError(
        "the Spark DataFrame gives other rows, or the same in another order or in other partitions, each time it runs; "
        "persist() it, or write it to files and read those."
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """How many rows each partition has; their rows follow each other in the order of the partitions' numbers.

    A piece is what of a block of ``BLOCK`` rows lies in one partition.
    """

    rows: Numbers

    @cached_property
    def starts(self) -> Numbers:
        """The number of each partition's first row, and how many rows there are."""
        return np.concatenate([[0], np.cumsum(self.rows)]).astype(np.int64)

    @cached_property
    def pieces(self) -> Numbers:
        """The number of each partition's first piece, and how many pieces there are."""
        first, stop = self.starts[:-1] // BLOCK, -(-self.starts[1:] // BLOCK)
        own = np.where(self.rows > 0, stop - first, 0)
        return np.concatenate([[0], np.cumsum(own)]).astype(np.int64)

    @property
    def total(self) -> int:
        """All rows."""
        return int(self.starts[-1])

    def same(self, other: Layout) -> bool:
        """Whether another pass found the same; partitions without rows at the end do not count."""
        return self.total == other.total and np.array_equal(
            np.trim_zeros(self.rows, "b"), np.trim_zeros(other.rows, "b")
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Edges:
    """The values of the blocks that lie in more than one partition: a map needs a whole block."""

    blocks: Numbers
    """Their numbers, going up."""
    starts: Numbers
    """Where each begins in :attr:`values`, and where the last ends."""
    values: Array

    def block(self, index: int) -> Array:
        """The values of one of them."""
        place = int(np.searchsorted(self.blocks, index))
        return np.array(self.values[self.starts[place] : self.starts[place + 1]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seen:
    """What a pass keeps of a column, so that the executors release the rows that were measured, and no others."""

    sums: NDArray[np.uint32]
    """A checksum of each piece."""
    edges: Edges
