"""The distance of the quartiles, as the measured spread of columns that a standard deviation does not describe."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.problem.column_numbers import ColumnNumbers
from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.secret import Secret

__all__ = ["QuartileRange"]


class QuartileRange(Secret):
    """The 0.75-quantile minus the 0.25-quantile; a statistic that stands beside the secret, not one to plan for."""

    @property
    def label(self) -> str:
        return "iqr"

    @property
    def levels(self) -> tuple[float, ...]:
        return 0.25, 0.75

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.quantile(0.75, params) - family.quantile(0.25, params)

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        return numbers.quantile(0.75) - numbers.quantile(0.25)

    def linear(self, family: LocationScale) -> tuple[float, float]:
        return 0.0, float(family.z_quantile(0.75)) - float(family.z_quantile(0.25))
