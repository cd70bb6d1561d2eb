"""Statistics of a column in one pass: the same to the last bit whatever the engine, its chunks and its threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from statveil.errors import ColumnError
from statveil.problem.column_numbers import TwoGroups
from statveil.tables.blocks import BLOCK, Array, Blocks, finite_rows
from statveil.tables.groups import GroupRows
from statveil.tables.quantile import Tally, linear_quantile

__all__ = ["Measured", "measure"]


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

    ``watch`` sees every block with the number of its first row, so that checks cost no pass of their own.
    """
    counts: list[int] = []
    sums: list[float] = []
    squares: list[float] = []  # about each block's own mean
    low, high, start = math.inf, -math.inf, 0
    room: Array = np.empty(BLOCK)
    tallies = [Tally() for _ in levels]
    hits = 0
    parts = _Parts(groups)
    for block in blocks():
        watch(block, start)
        parts.add(block, start)
        start += len(block)
        values, least, most = finite_rows(block)
        if not len(values):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(values.sum())
            offset = np.subtract(values, total / len(values), out=room[: len(values)])
            # not by a dot product: its last bits, and idle threads that spin, depend on how many cores there are
            squares.append(float(np.square(offset, out=offset).sum()))
        counts.append(len(values))
        sums.append(total)
        low, high = min(low, least), max(high, most)
        for tally, alpha in zip(tallies, levels, strict=True):
            tally.add(values, alpha)
        hits += 0 if counted is None else int(np.count_nonzero(values == counted))
    rows = sum(counts)
    if rows == 0:
        raise ColumnError(
            "the column has no finite number, so it has no statistic to hide. Leave the column as it is, or drop it."
        )
    if not all(map(math.isfinite, (*sums, *squares))):
        raise ColumnError(
            "the column's values are too large for their squares to be added up; measure it in a larger unit."
        )
    mean = math.fsum(sums) / rows
    # the squares about the common mean: those within the blocks and those between them
    between = math.fsum(n * (s / n - mean) ** 2 for n, s in zip(counts, sums, strict=True))
    spread = math.sqrt((math.fsum(squares) + between) / rows) if high > low else 0.0
    pairs = zip(levels, tallies, strict=True)
    return Measured(
        rows=rows,
        mean=mean,
        std=spread,
        minimum=low,
        maximum=high,
        quantiles={alpha: linear_quantile(blocks, alpha, rows, tally) for alpha, tally in pairs},
        shares={} if counted is None else {counted: hits / rows},
        groups=parts.measured(),
        read=blocks,
    )


class _Parts:
    """Rows and sums of the two groups, where there are some."""

    def __init__(self, groups: GroupRows | None) -> None:
        self._groups = groups
        self._rows = [0, 0]
        self._sums: tuple[list[float], list[float]] = ([], [])

    def add(self, block: Array, start: int) -> None:
        if self._groups is None:
            return
        finite = np.isfinite(block)
        for place, inside in enumerate(self._groups.rows(start, len(block))):
            values = block[finite & inside]
            self._rows[place] += len(values)
            self._sums[place].append(float(values.sum()))

    def measured(self) -> TwoGroups | None:
        if self._groups is None:
            return None
        if not all(self._rows):
            raise ColumnError(
                "one of the two groups that the plan compares has no row with a finite number; a group without values "
                "has no mean."
            )
        one, two = (math.fsum(sums) / rows for sums, rows in zip(self._sums, self._rows, strict=True))
        return TwoGroups(rows=(self._rows[0], self._rows[1]), means=(one, two))
