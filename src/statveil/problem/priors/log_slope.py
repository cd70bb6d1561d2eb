"""Only one constant of the density is known: how fast it can change with the logarithm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numbers import number
from statveil.problem.axis import Axis
from statveil.problem.priors.log_uniform import above_zero

__all__ = ["LogSlope"]

_FLATTEST, _STEEPEST = 1e-6, 1e3


@dataclass(frozen=True)
class LogSlope(Axis):
    """Every belief on ``[low, high]`` whose log-density of ln x changes by at most ``slope`` per unit of ln x.

    Written ``LO:HI~slope(L)``. Uniform in the logarithm has slope 0, uniform has slope 1, and no floor of the density
    is needed (docs/theory.md, log-Lipschitz lemma). The risk is bounded for the whole class; drawing from it uses the
    member that rises as fast as it may, which attains the bound in whole bins.
    """

    low: float
    high: float
    slope: float
    kind: ClassVar[str] = "log-slope"
    exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        low, high = above_zero("a prior with a slope in the logarithm", self.low, self.high)
        slope = number(self.slope, "the slope of a belief in the logarithm")
        if 0 < slope < _FLATTEST:
            slope = _FLATTEST  # a larger class: smaller slopes are lost in rounding errors
        for name, value in (("low", low), ("high", high), ("slope", slope)):
            object.__setattr__(self, name, value)
        if not 0 <= slope <= _STEEPEST:
            raise ProblemError(
                f"the slope of a belief in the logarithm must lie between 0 (every factor equally likely) and "
                f"{_STEEPEST:g}. Got {slope:g}; a plain range has the slope 1."
            )

    @cached_property
    def _length(self) -> float:
        return math.log(self.high) - math.log(self.low)

    @cached_property
    def _mass(self) -> float:
        """Integral of e^(-slope y) over the range, y counted in logarithms from the upper end."""
        return self._length if not self.slope else -math.expm1(-self.slope * self._length) / self.slope

    @property
    def believed(self) -> str:
        return f"between {self.low:,.12g} and {self.high:,.12g}; how likely each value is, stays almost open"

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        at = np.asarray(x, dtype=np.float64)
        inside = (at >= self.low) & (at <= self.high)
        safe = np.where(inside, at, self.high)
        return np.where(inside, np.exp(self.slope * np.log(safe / self.high)) / (safe * self._mass), 0.0)

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        at = np.clip(np.asarray(x, dtype=np.float64), self.low, self.high)
        left = np.log(at / self.low)
        if not self.slope:
            return np.clip(left / self._length, 0.0, 1.0)
        rest = np.exp(-self.slope * (self._length - left)) * -np.expm1(-self.slope * left) / self.slope
        return np.clip(rest / self._mass, 0.0, 1.0)

    def ppf(self, u: ArrayLike) -> NDArray[np.float64]:
        share = np.asarray(u, dtype=np.float64)
        if not self.slope:
            found = self.low * np.exp(self._length * share)
        else:
            end = math.exp(-self.slope * self._length)
            found = self.high * np.exp(np.log(end + share * (1 - end)) / self.slope)
        return np.clip(found, self.low, self.high)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": self.low, "high": self.high, "slope": self.slope}
