"""A sample of a column and its ends, also of what maps make of it, in one pass over it wherever it lies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from statveil.tables.blocks import BLOCK, Array, Blocks, Part, Spread, by_parts, finite_rows
from statveil.tables.structure.reading.sampler import Sampler, thinning

__all__ = ["Sampled", "View", "as_it_is", "sampled_column"]

View = Callable[[Array, int], Array]
"""What is made of a block, by its number; rows without a value are left out."""


def as_it_is(values: Array, index: int) -> Array:
    """The column itself."""
    return values


@dataclass(slots=True, kw_only=True, eq=False)
class Sampled:
    """What is kept of one view of the column."""

    sampler: Sampler = field(default_factory=Sampler)
    rows: int = 0
    """With a value."""
    low: float = math.inf
    high: float = -math.inf

    def add(self, values: Array, start: int) -> None:
        """Take in the rows from ``start`` on."""
        finite, least, most = finite_rows(values)
        self.rows += len(finite)
        self.low, self.high = min(self.low, least), max(self.high, most)
        self.sampler.add(values, start)

    def join(self, other: Sampled) -> None:
        """Take in what was kept of other rows."""
        self.rows += other.rows
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.sampler.join(other.sampler)


def sampled_column(blocks: Blocks, views: Sequence[View] = (as_it_is,)) -> list[Sampled]:
    """The views of a column, each with the sample that one machine keeps of all rows."""
    if not isinstance(blocks, Spread):
        return by_parts(blocks, partial(_seen, views, None))[0]
    rows = blocks.places.rows
    while True:
        shift = thinning(rows)
        parted = Sampler()
        parted.thin(shift)
        told = by_parts(blocks, partial(_seen, views, parted))
        found = [Sampled() for _ in views]
        for number, one in enumerate(found):
            one.sampler.thin(shift)
            for part in told:
                one.join(part[number])
        if all(one.sampler.settle() for one in found):
            return found
        # rows without a value are kept by nobody, so fewer are than are needed
        rows = min(one.rows for one in found) if rows > min(one.rows for one in found) else 0


def _seen(views: Sequence[View], sampler: Sampler | None, part: Part) -> list[Sampled]:
    """The views of a part; ``sampler`` is that of all rows where this is not all of them."""
    found = [Sampled() if sampler is None else Sampled(sampler=sampler.part()) for _ in views]
    for index, block in part:
        for one, view in zip(found, views, strict=True):
            one.add(view(block, index), index * BLOCK)
    return found
