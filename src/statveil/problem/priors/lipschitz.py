"""Only two constants of the density are known: a floor and how fast it can change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numbers import number
from statveil.problem.axis import Axis, check_finite_range
from statveil.problem.priors.tabulated import Tabulated

__all__ = ["Lipschitz"]


@dataclass(frozen=True)
class Lipschitz(Axis):
    """Every density on ``[low, high]`` that stays above ``floor`` and has slope at most ``slope``.

    This is the paper's relaxed assumption. The risk is bounded for the whole class; drawing from it
    uses :meth:`steepest`, the member that is as concentrated as the two constants allow.
    """

    low: float
    high: float
    floor: float
    slope: float
    kind: ClassVar[str] = "lipschitz"
    exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        low, high = check_finite_range("a Lipschitz prior", self.low, self.high)
        floor, slope = number(self.floor, "the floor of a density"), number(self.slope, "the slope of a density")
        for name, value in (("low", low), ("high", high), ("floor", floor), ("slope", slope)):
            object.__setattr__(self, name, value)
        if self.floor < 0 or self.slope < 0:
            raise ProblemError(
                f"the floor and the slope of a Lipschitz prior must be finite and not negative. "
                f"Got floor {self.floor:g}, slope {self.slope:g}."
            )
        top = 1 / self.width
        if self.floor > top * (1 + 1e-12):
            raise ProblemError(
                f"a density with floor {self.floor:g} on {low:g}:{high:g} would have mass above 1. "
                f"Allowed: a floor of at most {top:g}."
            )
        if self.slope == 0 and self.floor < top * (1 - 1e-12):
            raise ProblemError(
                f"with slope 0 the density is constant, so its floor is {top:g}. Got floor {self.floor:g}; "
                "leave out the Lipschitz part for a uniform prior."
            )

    @property
    def peak(self) -> float:
        """Largest value a density of the class can take (the paper's function M with mass 1)."""
        if self.floor <= 1 / self.width - self.slope * self.width / 2:
            return 1 / self.width + self.slope * self.width / 2
        return self.floor + math.sqrt(2 * self.slope * max(0.0, 1 - self.floor * self.width))

    @cached_property
    def steepest(self) -> Tabulated:
        """The member that falls from the peak at the upper end with the full slope, down to the floor."""
        start = max(self.floor, self.peak - self.slope * self.width)
        bend = self.high - (self.peak - start) / self.slope if self.slope else self.low
        if bend <= self.low or bend >= self.high:  # at the largest floor the only member is flat
            return Tabulated([self.low, self.high], [start, self.peak])
        return Tabulated([self.low, bend, self.high], [start, start, self.peak])

    @property
    def believed(self) -> str:
        return f"between {self.low:,.12g} and {self.high:,.12g}; how likely each value is, stays almost open"

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        return self.steepest.pdf(x)

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        return self.steepest.cdf(x)

    def ppf(self, u: ArrayLike) -> NDArray[np.float64]:
        return self.steepest.ppf(u)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": self.low, "high": self.high, "floor": self.floor, "slope": self.slope}
