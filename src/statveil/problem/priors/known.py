"""The parameter is publicly known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.numbers import number
from statveil.problem.axis import Axis

__all__ = ["Known"]


@dataclass(frozen=True)
class Known(Axis):
    """A single value, like the paper's sigma = 1."""

    value: float
    kind: ClassVar[str] = "known"
    flat: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", number(self.value, "a known parameter"))
        object.__setattr__(self, "low", self.value)
        object.__setattr__(self, "high", self.value)

    @property
    def believed(self) -> str:
        return f"at {self.value:,.12g}, which is public"

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """1 at the value: the density relative to a unit mass there."""
        return np.where(np.asarray(x, dtype=np.float64) == self.value, 1.0, 0.0)

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        return np.where(np.asarray(x, dtype=np.float64) >= self.value, 1.0, 0.0)

    def ppf(self, u: ArrayLike) -> NDArray[np.float64]:
        return np.full(np.shape(u), self.value)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "value": self.value}
