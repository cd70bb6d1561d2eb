"""A column measured and verified block by block, or in parts that are looked at where their rows lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import BLOCK, Array, Blocks, Places, Spread
from statveil.tables.measure import Measured, Sums
from statveil.tables.quantile import Tally
from statveil.tables.structure.sampler import thinning
from statveil.tables.verification import Verifier, Watched

__all__ = ["Glimpse", "Look"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Glimpse:
    """What was seen of some blocks. Private."""

    sums: Sums
    watched: Watched
    digits: tuple[NDArray[np.int64], NDArray[np.int64]] | None
    """How often leading digits were met, where quantiles are asked for."""


class Look:
    """Looks at whole blocks, in any order; what parts of it have seen joins it, and is the same to the last bit."""

    def __init__(self, verifier: Verifier, counted: float | None, levels: Sequence[float] = ()) -> None:
        self._verifier, self._counted, self.levels = verifier, counted, levels
        self._sums, self._tally = Sums(counted=counted), Tally()
        self._places: Places | None = None

    def begin(self, first: Array, rows: int) -> bool:
        """Get ready for parts, from the first block and the number of finite rows; false where that is not possible."""
        self._sums, self._tally = Sums(counted=self._counted), Tally()
        return self._verifier.begin(first, thinning(rows))

    def part(self) -> Look:
        """One for other blocks."""
        return Look(self._verifier.part(), self._counted, self.levels)

    def add(self, block: Array, start: int, room: Array | None = None) -> None:
        """Look at the block that begins with row ``start``; ``room`` is memory for ``BLOCK`` numbers."""
        self._verifier.watch(block, start)
        values = self._sums.add(block, np.empty(BLOCK) if room is None else room)
        if self.levels and len(values):
            self._tally.add(values)

    def seen(self) -> Glimpse:
        """What was seen so far."""
        return Glimpse(
            sums=self._sums, watched=self._verifier.seen(), digits=self._tally.told() if self.levels else None
        )

    def join(self, part: Glimpse) -> None:
        """Take in what a part has seen."""
        self._sums.join(part.sums)
        self._verifier.join(part.watched)
        if part.digits is not None:
            self._tally.take(part.digits)

    def settle(self) -> bool:
        """Once all parts have joined; false where they must look again, as they have kept too few rows."""
        return self._verifier.sampler.settle()

    @property
    def rows(self) -> int:
        """Finite rows."""
        return sum(self._sums.counts)

    def give_up(self) -> None:
        """Forget all parts."""
        self._verifier.sampler.thin(0)

    def lies_in(self, places: Places) -> None:
        """Whoever had the column looked at hands functions to where its blocks lie, too."""
        self._places = places

    def spread(self, blocks: Blocks) -> Blocks:
        """The column, which can be read again, with what is known of where it lies."""
        return blocks if self._places is None else Spread(blocks, self._places)

    def measured(self, blocks: Blocks) -> Measured:
        """The statistics of the column, which can be read again."""
        return self._sums.measured(blocks, tallies=dict.fromkeys(self.levels, self._tally))
