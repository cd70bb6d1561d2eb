"""A column measured and verified block by block, or in parts that are looked at where their rows lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import BLOCK, Array, Blocks, Places, Spread
from statveil.tables.changes import Labels
from statveil.tables.groups import GroupRows
from statveil.tables.maps.sampling import Counts
from statveil.tables.measure import GroupSums, Measured, Sums
from statveil.tables.quantile import Tally
from statveil.tables.structure.others.facets import Parted, Sampling
from statveil.tables.structure.rows.order_search import Order
from statveil.tables.verification import Verifier, Watched

__all__ = ["BesideColumn", "CategoryLook", "Glimpse", "Look", "NumberLook", "ShownBeside"]


ShownBeside = Callable[[], Callable[[Mapping[Any, Array], Mapping[str, pl.Series]], Callable[[Any], Any]]]
"""Makes what says for one pass, from rows of several columns and of all others, what is looked at beside one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BesideColumn:
    """Who looks at all other columns beside one."""

    column: Any
    searches: Sequence[Sampling]
    watchers: Sequence[Parted]


class Look(ABC):
    """Looks at whole blocks, in any order; what parts of it have seen joins it, and is the same to the last bit."""

    labels: Labels = None
    """The categories, where the column has some."""
    levels: Sequence[float] = ()
    """The quantiles that are asked for."""
    order: Order | None = None
    """Rows in their order, where that is looked at."""

    def __init__(self) -> None:
        self._places: Places | None = None

    def begin(self, first: Array, rows: int, total: int) -> bool:
        """Get ready for parts; false where that is not possible.

        From the first block, the number of finite rows, as far as it is known, and that of all rows.
        """
        if self.order is not None:
            self.order.begin(total)
        return True

    @abstractmethod
    def part(self) -> Self:
        """One for other blocks."""

    @abstractmethod
    def add(self, block: Array, start: int, room: Array | None = None) -> None:
        """Look at the block that begins with row ``start``; ``room`` is memory for ``BLOCK`` numbers."""

    @abstractmethod
    def seen(self) -> Any:
        """What was seen so far."""

    @abstractmethod
    def join(self, part: Any) -> None:
        """Take in what a part has seen."""

    def settle(self) -> bool:
        """Once all parts have joined; false where they must look again, as they have kept too few rows."""
        return True

    def give_up(self) -> None:
        """Forget all parts."""
        if self.order is not None:
            self.order.begin(0)

    @property
    @abstractmethod
    def rows(self) -> int:
        """Finite rows."""

    def lies_in(self, places: Places) -> None:
        """Whoever had the column looked at hands functions to where its blocks lie, too."""
        self._places = places

    def spread(self, blocks: Blocks) -> Blocks:
        """The column, which can be read again, with what is known of where it lies."""
        return blocks if self._places is None else Spread(blocks, self._places)

    def _see_order(self, block: Array, start: int) -> None:
        if self.order is not None:
            one = self.order.part(start)
            one.add(block)
            self.order.join(one)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Glimpse:
    """What was seen of some blocks. Private."""

    sums: Sums
    watched: Watched
    digits: tuple[NDArray[np.int64], NDArray[np.int64]] | None
    """How often leading digits were met, where quantiles are asked for."""
    order: Order | None
    groups: Any
    """What was added up of the two groups."""


class NumberLook(Look):
    """A column of numbers: what is measured of it, and whether it has the structure that it must have."""

    def __init__(
        self,
        verifier: Verifier,
        counted: float | None,
        levels: Sequence[float] = (),
        order: Order | None = None,
        groups: GroupRows | None = None,
    ) -> None:
        super().__init__()
        self._verifier, self._counted, self.levels, self.order = verifier, counted, levels, order
        self._groups = groups
        self._sums, self._tally, self._parts = Sums(counted=counted), Tally(), GroupSums(groups)

    def begin(self, first: Array, rows: int, total: int) -> bool:
        super().begin(first, rows, total)
        self._sums, self._tally, self._parts = Sums(counted=self._counted), Tally(), GroupSums(self._groups)
        return self._verifier.begin(first, rows)

    def part(self) -> NumberLook:
        order = None if self.order is None else self.order.part()
        return NumberLook(self._verifier.part(), self._counted, self.levels, order, self._groups)

    def add(self, block: Array, start: int, room: Array | None = None) -> None:
        self._verifier.watch(block, start)
        self._see_order(block, start)
        self._parts.add(block, start)
        values = self._sums.add(block, np.empty(BLOCK) if room is None else room)
        if self.levels and len(values):
            self._tally.add(values)

    def seen(self) -> Glimpse:
        return Glimpse(
            sums=self._sums,
            watched=self._verifier.seen(),
            digits=self._tally.told() if self.levels else None,
            order=self.order,
            groups=self._parts.seen(),
        )

    def join(self, part: Glimpse) -> None:
        self._sums.join(part.sums)
        self._verifier.join(part.watched)
        self._parts.join(part.groups)
        if part.digits is not None:
            self._tally.take(part.digits)
        if self.order is not None and part.order is not None:
            self.order.join(part.order)

    def settle(self) -> bool:
        return self._verifier.settle()

    def give_up(self) -> None:
        super().give_up()
        self._verifier.give_up()

    @property
    def rows(self) -> int:
        return sum(self._sums.counts)

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest finite value."""
        return self._sums.low, self._sums.high

    def measured(self, blocks: Blocks) -> Measured:
        """The statistics of the column, which can be read again."""
        tallies = dict.fromkeys(self.levels, self._tally)
        return self._sums.measured(blocks, tallies=tallies, parts=self._parts.measured)


class CategoryLook(Look):
    """A column of categories: how many rows each has."""

    def __init__(self, labels: Sequence[str], order: Order | None = None) -> None:
        super().__init__()
        self.labels, self.order = labels, order
        self.counts: Counts = np.zeros(len(labels), dtype=np.int64)

    def part(self) -> CategoryLook:
        assert self.labels is not None
        return CategoryLook(self.labels, None if self.order is None else self.order.part())

    def add(self, block: Array, start: int, room: Array | None = None) -> None:
        self._see_order(block, start)
        self.counts += np.bincount(block[np.isfinite(block)].astype(np.int64), minlength=len(self.counts))

    def seen(self) -> tuple[Counts, Order | None]:
        return self.counts, self.order

    def join(self, part: tuple[Counts, Order | None]) -> None:
        self.counts += part[0]
        if self.order is not None and part[1] is not None:
            self.order.join(part[1])

    @property
    def rows(self) -> int:
        return int(self.counts.sum())
