"""Every value of a range is believed equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.problem.axis import Axis, check_finite_range

__all__ = ["Flat"]


@dataclass(frozen=True)
class Flat(Axis):
    """Uniform on ``[low, high]``."""

    low: float
    high: float
    kind: ClassVar[str] = "flat"
    flat: ClassVar[bool] = True

    def __post_init__(self) -> None:
        low, high = check_finite_range("a uniform prior", self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def believed(self) -> str:
        return f"between {self.low:,.12g} and {self.high:,.12g}, with every value as likely as any other"

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        at = np.asarray(x, dtype=np.float64)
        return np.where((at >= self.low) & (at <= self.high), 1 / self.width, 0.0)

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        return np.clip((np.asarray(x, dtype=np.float64) - self.low) / self.width, 0.0, 1.0)

    def ppf(self, u: ArrayLike) -> NDArray[np.float64]:
        return self.low + self.width * np.asarray(u, dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": self.low, "high": self.high}
