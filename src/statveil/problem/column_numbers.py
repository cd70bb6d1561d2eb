"""A column in plain numbers: all that a secret needs to know of rows, whoever has read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["ColumnNumbers", "InMemory"]


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
