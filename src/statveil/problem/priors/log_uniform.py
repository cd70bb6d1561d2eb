"""Every factor is believed equally likely: from 10 to 20 as likely as from 100 to 200."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.axis import Axis, check_finite_range

__all__ = ["LogUniform", "above_zero"]


def above_zero(what: str, low: float, high: float) -> tuple[float, float]:
    """Both ends of a range whose logarithm is needed."""
    low, high = check_finite_range(what, low, high)
    if low <= 0:
        raise ProblemError(
            f"{what} must lie above 0, as it goes by the logarithm. Got {low:g}:{high:g}; state the smallest positive "
            "value that outsiders think possible."
        )
    return low, high


@dataclass(frozen=True)
class LogUniform(Axis):
    """Uniform in the logarithm on ``[low, high]``, written ``LO:HI~log``.

    >>> belief = LogUniform(1, 100)
    >>> float(belief.cdf(10)), round(float(belief.ppf(0.5)), 9)
    (0.5, 10.0)
    """

    low: float
    high: float
    kind: ClassVar[str] = "log"
    falling: ClassVar[bool] = True

    def __post_init__(self) -> None:
        low, high = above_zero("a prior that is uniform in the logarithm", self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def _length(self) -> float:
        return math.log(self.high) - math.log(self.low)

    @property
    def believed(self) -> str:
        return f"between {self.low:,.12g} and {self.high:,.12g}, with every factor as likely as any other"

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        at = np.asarray(x, dtype=np.float64)
        inside = (at >= self.low) & (at <= self.high)
        return np.where(inside, 1 / (np.where(inside, at, 1.0) * self._length), 0.0)

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        at = np.clip(np.asarray(x, dtype=np.float64), self.low, self.high)
        return np.clip((np.log(at) - math.log(self.low)) / self._length, 0.0, 1.0)

    def ppf(self, u: ArrayLike) -> NDArray[np.float64]:
        found = np.exp(math.log(self.low) + self._length * np.asarray(u, dtype=np.float64))
        return np.clip(found, self.low, self.high)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": self.low, "high": self.high}
