"""The median of the column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.problem.column_numbers import ColumnNumbers
from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.secret import Secret

__all__ = ["Median"]


@dataclass(frozen=True, slots=True)
class Median(Secret):
    """The median of the column, the mean of the two middle rows where their number is even."""

    kind: ClassVar[str] = "median"
    doc: ClassVar[str] = "the median"
    on_steps: ClassVar[bool] = True

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.quantile(0.5, params)

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        return numbers.quantile(0.5)

    @property
    def levels(self) -> tuple[float, ...]:
        return (0.5,)

    @property
    def per_shift(self) -> float:
        return 1.0

    @property
    def most_away(self) -> float:
        return 1.0  # rows lie nearer to no other point, and no farther than a standard deviation from the mean

    def linear(self, family: LocationScale) -> tuple[float, float]:
        return 1.0, float(family.z_quantile(0.5))

    @property
    def explained(self) -> str:
        return "half of the rows lie below it, half above"
