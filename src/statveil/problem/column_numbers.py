"""A column in plain numbers: all that a secret needs to know of rows, whoever has read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ColumnError

__all__ = ["ColumnNumbers", "InMemory", "TwoGroups", "two_groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoGroups:
    """Rows with a value and their mean, of the two groups or columns that a secret compares; the base is the second."""

    rows: tuple[int, int]
    means: tuple[float, float]
    even: bool = False
    """Whether both weigh the same, however many rows each has."""

    @classmethod
    def of(cls, values: NDArray[np.float64], inside: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> TwoGroups:
        """Of values in memory, with the rows that belong to each group; rows that are not finite have none."""
        one, two = (values[rows & np.isfinite(values)] for rows in inside)
        if not len(one) or not len(two):
            raise ColumnError("one of the two groups that the secret compares has no row with a finite number.")
        return cls(rows=(len(one), len(two)), means=(float(one.mean()), float(two.mean())))

    @property
    def share(self) -> float:
        """Share of the first one among the rows of both, or its weight."""
        return 0.5 if self.even else self.rows[0] / sum(self.rows)

    @property
    def mean(self) -> float:
        """The mean of both together."""
        return self.share * self.means[0] + (1 - self.share) * self.means[1]


def two_groups(numbers: ColumnNumbers) -> TwoGroups:
    """The two groups of a column that was measured with them."""
    found = getattr(numbers, "groups", None)
    if not isinstance(found, TwoGroups):
        raise ColumnError(
            "the secret compares two groups of rows, and here is a column without the labels of its rows; give the "
            "table with the column that names them."
        )
    return found


class ColumnNumbers(Protocol):
    """Statistics of the finite values of a column. What a secret announces is there after one pass, the rest costs one.

    A column may also be one that nobody has: a histogram, or what an attacker makes of noisy rows.
    """

    @property
    def rows(self) -> int:
        """How many there are."""

    @property
    def mean(self) -> float:
        """The mean."""

    @property
    def std(self) -> float:
        """The standard deviation, divided by the number of rows."""

    def quantile(self, alpha: float) -> float:
        """The quantile, linear between two neighbours."""

    def share(self, value: float) -> float:
        """The share of one value."""

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """The values themselves, in blocks that are the same for every engine."""


@dataclass(frozen=True, slots=True, eq=False)
class InMemory:
    """Finite values that lie in memory."""

    values: NDArray[np.float64]
    groups: TwoGroups | None = field(default=None, kw_only=True)
    """Where the secret compares two groups of them."""

    @property
    def rows(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def std(self) -> float:
        return float(self.values.std())

    def quantile(self, alpha: float) -> float:
        return float(np.quantile(self.values, alpha))

    def share(self, value: float) -> float:
        return float(np.mean(self.values == value))

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        yield self.values
