"""Statistics of a column in one pass: the same to the last bit whatever the engine, its chunks and its threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.problem.column_numbers import TwoGroups
from statveil.tables.blocks import BLOCK, Array, Blocks, Part, Spread, by_parts, finite_rows
from statveil.tables.groups import GroupRows
from statveil.tables.quantile import Tally, linear_quantile

__all__ = ["GroupSums", "Measured", "Sums", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured. Private: it contains the secret."""

    rows: int
    """Rows with a finite value."""
    mean: float
    std: float
    """Population standard deviation (divided by the number of rows)."""
    minimum: float
    maximum: float
    quantiles: Mapping[float, float] = field(default_factory=dict)
    """The quantiles that were asked for beforehand, by level."""
    shares: Mapping[float, float] = field(default_factory=dict)
    """The share of the value that was counted."""
    groups: TwoGroups | None = None
    """The two groups that the secret compares."""
    read: Blocks | None = field(default=None, repr=False, compare=False)

    def blocks(self) -> Iterator[Array]:
        """The finite values, in another pass."""
        if self.read is None:
            raise ColumnError("the column cannot be read again; name what is needed before it is measured.")
        return (block[np.isfinite(block)] for block in self.read())

    def quantile(self, alpha: float) -> float:
        """The exact quantile: measured, or by passes of its own."""
        if alpha in self.quantiles:
            return self.quantiles[alpha]
        tally = Tally()
        for block in self.blocks():
            tally.add(block, alpha)
        return linear_quantile(self.blocks, alpha, self.rows, tally)

    def share(self, value: float) -> float:
        """The share of one value: counted, or by a pass of its own."""
        if value in self.shares:
            return self.shares[value]
        return sum(int(np.count_nonzero(block == value)) for block in self.blocks()) / self.rows


def measure(
    blocks: Blocks,
    *,
    levels: Sequence[float] = (),
    counted: float | None = None,
    groups: GroupRows | None = None,
    watch: Callable[[Array, int], None] = lambda values, start: None,
) -> Measured:
    """Count, mean, standard deviation, range, exact quantiles and the share of a value among the finite values.

    ``watch`` sees every block with the number of its first row, so that checks cost no pass of their own; of a column
    that lies elsewhere nobody sees any.
    """
    if isinstance(blocks, Spread):
        return _measured_there(blocks, levels, counted)
    sums, start, room = Sums(counted=counted), 0, np.empty(BLOCK)
    tallies = {alpha: Tally() for alpha in levels}
    parts = GroupSums(groups)
    for block in blocks():
        watch(block, start)
        parts.add(block, start)
        start += len(block)
        values = sums.add(block, room)
        for alpha, tally in tallies.items():
            if len(values):
                tally.add(values, alpha)
    return sums.measured(blocks, tallies=tallies, parts=parts.measured)


def _measured_there(blocks: Spread, levels: Sequence[float], counted: float | None) -> Measured:
    sums, tally = Sums(counted=counted), Tally()
    for own, digits in by_parts(blocks, partial(_added_up, counted, bool(levels))):
        sums.join(own)
        tally.take(digits)
    return sums.measured(blocks, tallies=dict.fromkeys(levels, tally))


def _added_up(
    counted: float | None, quantiles: bool, part: Part
) -> tuple[Sums, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """What is added up of a part, and how often leading digits are met where quantiles are asked for."""
    sums, tally, room = Sums(counted=counted), Tally(), np.empty(BLOCK)
    for _, block in part:
        values = sums.add(block, room)
        if quantiles and len(values):
            tally.add(values)
    return sums, tally.told()


@dataclass(slots=True, kw_only=True, eq=False)
class Sums:
    """What is added up of every block; blocks that were added up elsewhere join them, in whichever order."""

    counted: float | None = None
    """The value whose rows are counted."""
    counts: list[int] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)
    """About each block's own mean."""
    low: float = math.inf
    high: float = -math.inf
    hits: int = 0

    def add(self, block: Array, room: Array) -> Array:
        """Take in a block, and give its finite values; ``room`` is memory for ``BLOCK`` numbers."""
        values, least, most = finite_rows(block)
        if not len(values):
            return values
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(values.sum())
            offset = np.subtract(values, total / len(values), out=room[: len(values)])
            # not by a dot product: its last bits, and idle threads that spin, depend on how many cores there are
            self.squares.append(float(np.square(offset, out=offset).sum()))
        self.counts.append(len(values))
        self.totals.append(total)
        self.low, self.high = min(self.low, least), max(self.high, most)
        self.hits += 0 if self.counted is None else int(np.count_nonzero(values == self.counted))
        return values

    def join(self, other: Sums) -> None:
        """Take in what was added up of other blocks: the sum of all is that of exact numbers, whatever their order."""
        self.counts += other.counts
        self.totals += other.totals
        self.squares += other.squares
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.hits += other.hits

    def measured(
        self,
        blocks: Blocks,
        *,
        tallies: Mapping[float, Tally] = MappingProxyType({}),
        parts: Callable[[], TwoGroups | None] = lambda: None,
    ) -> Measured:
        """The statistics of all blocks, which can be read again."""
        rows = sum(self.counts)
        if rows == 0:
            raise ColumnError(
                "the column has no finite number, so it has no statistic to hide. Leave the column as it is, or drop "
                "it."
            )
        if not all(map(math.isfinite, (*self.totals, *self.squares))):
            raise ColumnError(
                "the column's values are too large for their squares to be added up; measure it in a larger unit."
            )
        mean = math.fsum(self.totals) / rows
        # the squares about the common mean: those within the blocks and those between them
        between = math.fsum(n * (s / n - mean) ** 2 for n, s in zip(self.counts, self.totals, strict=True))
        spread = math.sqrt((math.fsum(self.squares) + between) / rows) if self.high > self.low else 0.0
        return Measured(
            rows=rows,
            mean=mean,
            std=spread,
            minimum=self.low,
            maximum=self.high,
            quantiles={alpha: linear_quantile(blocks, alpha, rows, tally) for alpha, tally in tallies.items()},
            shares={} if self.counted is None else {self.counted: self.hits / rows},
            groups=parts(),
            read=blocks,
        )


class GroupSums:
    """Rows and sums of the two groups, where there are some."""

    def __init__(self, groups: GroupRows | None) -> None:
        self._groups = groups
        self._rows = [0, 0]
        self._sums: tuple[list[float], list[float]] = ([], [])

    def add(self, block: Array, start: int) -> None:
        """Take in the block that begins with row ``start``."""
        if self._groups is None:
            return
        finite = np.isfinite(block)
        for place, inside in enumerate(self._groups.rows(start, len(block))):
            values = block[finite & inside]
            self._rows[place] += len(values)
            self._sums[place].append(float(values.sum()))

    def seen(self) -> tuple[list[int], tuple[list[float], list[float]]]:
        """What was added up so far, for another one to :meth:`join`."""
        return self._rows, self._sums

    def join(self, seen: tuple[list[int], tuple[list[float], list[float]]]) -> None:
        """Take in what was added up of other blocks."""
        for place, (rows, sums) in enumerate(zip(*seen, strict=True)):
            self._rows[place] += rows
            self._sums[place].extend(sums)

    def measured(self) -> TwoGroups | None:
        """Rows and means of both."""
        if self._groups is None:
            return None
        if not all(self._rows):
            raise ColumnError(
                "one of the two groups that the plan compares has no row with a finite number; a group without values "
                "has no mean."
            )
        one, two = (math.fsum(sums) / rows for sums, rows in zip(self._sums, self._rows, strict=True))
        return TwoGroups(rows=(self._rows[0], self._rows[1]), means=(one, two))
