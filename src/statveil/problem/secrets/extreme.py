"""The smallest and the largest value of the column."""

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
from statveil.problem.secrets.quantile import Quantile

__all__ = ["Maximum", "Minimum"]


class _Extreme(Secret):
    """An end of the column."""

    level: ClassVar[float]
    on_steps: ClassVar[bool] = True

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.quantile(self.level, params)

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        return numbers.quantile(self.level)

    @property
    def levels(self) -> tuple[float, ...]:
        return (self.level,)

    def check(self, family: Family) -> None:
        Quantile(self.level).check(family)

    @property
    def per_shift(self) -> float:
        return 1.0

    def linear(self, family: LocationScale) -> tuple[float, float]:
        return 1.0, float(family.z_quantile(self.level))

    @property
    def plain(self) -> str:
        return self.doc.removeprefix("the ")


@dataclass(frozen=True)
class Maximum(_Extreme):
    """The largest value of the column."""

    kind: ClassVar[str] = "max"
    doc: ClassVar[str] = "the largest value"
    also: ClassVar[Mapping[str, str]] = {"maximum": "max"}
    level: ClassVar[float] = 1.0


@dataclass(frozen=True)
class Minimum(_Extreme):
    """The smallest value of the column."""

    kind: ClassVar[str] = "min"
    doc: ClassVar[str] = "the smallest value"
    also: ClassVar[Mapping[str, str]] = {"minimum": "min"}
    level: ClassVar[float] = 0.0
