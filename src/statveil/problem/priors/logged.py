"""A belief about x, seen as one about ln x (or -ln x): relative closeness is closeness there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.axis import Axis, axis_from_json
from statveil.problem.priors.flat import Flat
from statveil.problem.priors.log_slope import LogSlope
from statveil.problem.priors.log_uniform import LogUniform, above_zero

__all__ = ["Logged", "logged"]


def logged(belief: Axis) -> tuple[Axis, float]:
    """The belief about ln x, or about -ln x where that one is dense at its lower end, and the sign of the logarithm.

    >>> logged(LogUniform(1.0, 20.0))[0].flat, logged(Flat(1.0, 20.0))[1]
    (True, -1.0)
    """
    if isinstance(belief, LogUniform):
        return Flat(math.log(belief.low), math.log(belief.high)), 1.0
    sign = -1.0 if belief.flat else 1.0  # a plain range is dense at its upper end: e^h
    return Logged(belief, sign), sign


@dataclass(frozen=True)
class Logged(Axis):
    """The law of ``sign`` ln x, x as believed."""

    belief: Axis
    sign: float = 1.0
    kind: ClassVar[str] = "logged"

    def __post_init__(self) -> None:
        if not self.belief.exact and not isinstance(self.belief, LogSlope):
            raise ProblemError(
                "a Lipschitz class of beliefs is about the statistic itself, not its logarithm, so it has no bound for "
                "a relative tolerance; state LO:HI~slope(L), or a tolerance in the column's unit."
            )
        low, high = above_zero("the prior of a statistic with a relative tolerance", self.belief.low, self.belief.high)
        ends = sorted((self.sign * math.log(low), self.sign * math.log(high)))
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])

    @property
    def exact(self) -> bool:  # type: ignore[override]  # a fact of the class elsewhere, of what is inside here
        return self.belief.exact

    @property
    def falling(self) -> bool:  # type: ignore[override]
        return self.belief.flat and self.sign < 0

    @property
    def slope(self) -> float:
        """For a class of beliefs: how fast the logarithm of its density may change."""
        assert isinstance(self.belief, LogSlope)
        return self.belief.slope

    @property
    def landmarks(self) -> NDArray[np.float64]:
        return np.sort(self._there(self.belief.landmarks)) if not self.belief.flat else np.zeros(0)

    def _there(self, x: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(self.sign * np.log(np.asarray(x, dtype=np.float64)), dtype=np.float64)

    def _back(self, h: ArrayLike) -> NDArray[np.float64]:
        return np.clip(np.exp(self.sign * np.asarray(h, dtype=np.float64)), self.belief.low, self.belief.high)

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        at = np.asarray(x, dtype=np.float64)
        there = self._back(np.clip(at, self.low, self.high))
        return np.where((at >= self.low) & (at <= self.high), self.belief.pdf(there) * there, 0.0)

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        below = self.belief.cdf(self._back(np.clip(np.asarray(x, dtype=np.float64), self.low, self.high)))
        return below if self.sign > 0 else np.asarray(1.0 - below, dtype=np.float64)

    def ppf(self, u: ArrayLike) -> NDArray[np.float64]:
        share = np.asarray(u, dtype=np.float64)
        found = self._there(self.belief.ppf(share if self.sign > 0 else 1.0 - share))
        return np.clip(found, self.low, self.high)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "belief": self.belief.to_json(), "sign": self.sign}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Logged:
        return cls(axis_from_json(data["belief"]), float(data["sign"]))
