"""The standard deviation of the column."""

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

__all__ = ["Std"]


@dataclass(frozen=True, slots=True)
class Std(Secret):
    """The standard deviation of the column."""

    kind: ClassVar[str] = "std"
    doc: ClassVar[str] = "the standard deviation"
    also: ClassVar[Mapping[str, str]] = {"sd": "std", "stdev": "std"}
    most_of_range: ClassVar[float] = 0.5  # half of the rows at either bound (Popoviciu)
    most_spread: ClassVar[float | None] = 1.0  # E|X - mean| <= std (Jensen)

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.std(params)

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        return numbers.std

    @property
    def per_shift(self) -> float:
        return 0.0

    def linear(self, family: LocationScale) -> tuple[float, float]:
        return 0.0, family.z_std

    def shape(self, family: Ordinal) -> Shape:
        return family.std_shape()

    @property
    def text(self) -> str:
        return "standard deviation"

    @property
    def plain(self) -> str:
        return "spread"

    @property
    def explained(self) -> str:
        return "how far the rows usually lie from their average (the standard deviation)"
