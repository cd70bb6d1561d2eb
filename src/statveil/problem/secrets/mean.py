"""The mean of the column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.secret import Secret

__all__ = ["Mean"]


@dataclass(frozen=True, slots=True)
class Mean(Secret):
    """The mean of the column."""

    kind: ClassVar[str] = "mean"
    doc: ClassVar[str] = "the mean"

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.mean(params)

    def linear(self, family: LocationScale) -> tuple[float, float]:
        return 1.0, family.z_mean
