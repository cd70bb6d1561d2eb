"""The mean of the column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.problem.column_numbers import ColumnNumbers
from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.ordinal import Ordinal, Shape
from statveil.problem.secret import Secret

__all__ = ["Mean"]


@dataclass(frozen=True, slots=True)
class Mean(Secret):
    """The mean of the column."""

    kind: ClassVar[str] = "mean"
    doc: ClassVar[str] = "the mean"
    also: ClassVar[Mapping[str, str]] = {"average": "mean", "avg": "mean"}
    of_rows: ClassVar[bool] = True
    bounded_by_w1: ClassVar[bool] = True

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.mean(params)

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        return numbers.mean

    @property
    def per_shift(self) -> float:
        return 1.0

    @property
    def times_mean(self) -> float:
        return 1.0

    def linear(self, family: LocationScale) -> tuple[float, float]:
        return 1.0, family.z_mean

    def shape(self, family: Ordinal) -> Shape:
        return family.mean_shape()

    @property
    def plain(self) -> str:
        return "average"
