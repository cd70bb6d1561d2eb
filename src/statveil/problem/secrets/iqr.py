"""The range of the middle half of the column."""

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

__all__ = ["Iqr"]


@dataclass(frozen=True, slots=True)
class Iqr(Secret):
    """The distance between the quartiles; unlike the standard deviation it is finite for every shape."""

    kind: ClassVar[str] = "iqr"
    doc: ClassVar[str] = "the distance between the quartiles"
    on_steps: ClassVar[bool] = True

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.quantile(0.75, params) - family.quantile(0.25, params)

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        return numbers.quantile(0.75) - numbers.quantile(0.25)

    @property
    def levels(self) -> tuple[float, ...]:
        return 0.25, 0.5, 0.75  # the median too: it is what the column is stretched about

    @property
    def per_shift(self) -> float:
        return 0.0

    def centre(self, numbers: ColumnNumbers) -> float:
        return numbers.quantile(0.5)  # no other point is nearer to the rows

    def linear(self, family: LocationScale) -> tuple[float, float]:
        low, high = family.z_quantile(np.array([0.25, 0.75]))
        return 0.0, float(high - low)

    @property
    def text(self) -> str:
        return "distance between the quartiles"

    @property
    def plain(self) -> str:
        return "middle spread"

    @property
    def explained(self) -> str:
        return "the middle half of the rows spans this much"
