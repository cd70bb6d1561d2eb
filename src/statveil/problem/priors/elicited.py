"""A belief as people say it: "90 % sure it lies between a and b"."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numbers import number
from statveil.problem.axis import Axis, check_finite_range
from statveil.problem.domain import Param

__all__ = ["Elicited"]

_TAIL = 4.0
"""The belief ends this many standard deviations from its centre: nothing finite hides in an infinite tail."""


@dataclass(frozen=True)
class Elicited(Axis):
    """``sure`` of the mass lies between ``a`` and ``b``, the rest equally below and above.

    The density is normal on the natural scale of the parameter: plain for any real number, logarithmic
    for one with an end below or above (a positive one, or the mean of a column with a known minimum), log-odds for one
    with both (a share); it is cut four standard deviations from the centre. ``scale`` and the ends ``bottom`` and
    ``top`` are set from the parameter's domain when the problem is put together.
    """

    a: float
    b: float
    sure: float
    scale: str | None = None
    bottom: float = 0.0
    top: float = 1.0
    kind: ClassVar[str] = "elicited"

    def __post_init__(self) -> None:
        a, b = check_finite_range("an elicited prior", self.a, self.b)
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)
        object.__setattr__(self, "sure", number(self.sure, "how sure you are"))
        if not 0.01 <= self.sure <= 0.9999:
            raise ProblemError(
                f"how sure you are must be a number between 0 and 1 (0.01 to 0.9999). Got {self.sure:g}; "
                "for a range that cannot be left, state it as LO:HI."
            )
        for name in ("bottom", "top"):
            object.__setattr__(self, name, number(getattr(self, name), f"the {name!r} of an elicited prior"))
        if self.scale not in (None, "plain", "log", "log below", "logit"):
            raise ProblemError(
                f"unknown scale {self.scale!r} of an elicited prior. Allowed: plain, log, log below, logit."
            )
        if (self.scale in ("log", "logit") and a <= self.bottom) or (
            self.scale in ("log below", "logit") and b >= self.top
        ):
            raise ProblemError(f"a belief from {a:g} to {b:g} does not fit the scale {self.scale!r}.")
        if self.scale is not None:
            object.__setattr__(self, "low", float(self._back(self._centre - _TAIL * self._spread)))
            object.__setattr__(self, "high", float(self._back(self._centre + _TAIL * self._spread)))
            if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.a < self.b < self.high):
                raise ProblemError(
                    f"no belief puts {self.sure:g} of its mass between {a:g} and {b:g} and ends {_TAIL:g} standard "
                    "deviations out; be surer than that, or state the range as LO:HI."
                )

    def fit(self, param: Param) -> Axis:
        if self.scale is not None:  # of a plan that was made before: its numbers are of this very belief
            param.check_range(self.low, self.high)
            return self
        scale = {(True, True): "logit", (True, False): "log", (False, True): "log below", (False, False): "plain"}[
            math.isfinite(param.low), math.isfinite(param.high)
        ]
        if not (param.low < self.a and self.b < param.high):
            raise ProblemError(
                f"each end of the belief about {param.name!r} must be {param.domain}. Got {self.a:g} and {self.b:g}."
            )
        ends = {"bottom": param.low, "top": param.high}
        fitted = replace(self, scale=scale, **{name: end for name, end in ends.items() if math.isfinite(end)})
        param.check_range(fitted.low, fitted.high)
        return fitted

    def _to(self, x: ArrayLike) -> NDArray[np.float64]:
        at = np.asarray(x, dtype=np.float64)
        if self.scale == "log":
            return np.log(at - self.bottom)
        if self.scale == "log below":
            return -np.log(self.top - at)
        if self.scale == "logit":
            share = (at - self.bottom) / (self.top - self.bottom)
            return np.log(share) - np.log1p(-share)
        return at

    def _back(self, y: ArrayLike) -> NDArray[np.float64]:
        at = np.asarray(y, dtype=np.float64)
        if self.scale == "log":
            return self.bottom + np.exp(at)
        if self.scale == "log below":
            return self.top - np.exp(-at)
        return self.bottom + (self.top - self.bottom) / (1 + np.exp(-at)) if self.scale == "logit" else at

    @cached_property
    def _centre(self) -> float:
        return float(0.5 * (self._to(self.a) + self._to(self.b)))

    @cached_property
    def _spread(self) -> float:
        from scipy.special import ndtri

        # the tails are cut, so a little less than `sure` must lie inside before cutting
        inside = self.sure * math.erf(_TAIL / math.sqrt(2))
        return float((self._to(self.b) - self._centre) / ndtri(0.5 + 0.5 * inside))

    def _z(self, x: ArrayLike) -> NDArray[np.float64]:
        return (self._to(np.clip(np.asarray(x, dtype=np.float64), self.low, self.high)) - self._centre) / self._spread

    @property
    def believed(self) -> str:
        return f"between {self.a:,.12g} and {self.b:,.12g}, of which they are {100 * self.sure:.6g} % sure"

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        at = np.asarray(x, dtype=np.float64)
        inside = (at >= self.low) & (at <= self.high)
        clipped = np.clip(at, self.low, self.high)
        below, above = clipped - self.bottom, self.top - clipped
        stretch = {
            "plain": np.ones(clipped.shape),
            "log": below,
            "log below": above,
            "logit": below * above / (self.top - self.bottom),
        }[str(self.scale)]
        z = self._z(clipped)
        height = np.exp(-0.5 * z * z) / (math.sqrt(2 * math.pi) * self._spread * stretch)
        return np.where(inside, height / math.erf(_TAIL / math.sqrt(2)), 0.0)

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        from scipy.special import ndtr

        whole = math.erf(_TAIL / math.sqrt(2))
        mass: NDArray[np.float64] = np.clip((ndtr(self._z(x)) - ndtr(-_TAIL)) / whole, 0.0, 1.0)
        return mass

    def ppf(self, u: ArrayLike) -> NDArray[np.float64]:
        from scipy.special import ndtr, ndtri

        inner = ndtr(-_TAIL) + math.erf(_TAIL / math.sqrt(2)) * np.asarray(u, dtype=np.float64)
        return np.clip(self._back(self._centre + self._spread * ndtri(inner)), self.low, self.high)

    def to_json(self) -> dict[str, Any]:
        plain = {"kind": self.kind, "a": self.a, "b": self.b, "sure": self.sure, "scale": self.scale}
        ends = {"bottom": self.bottom, "top": self.top}
        return plain | {name: end for name, end in ends.items() if end != {"bottom": 0.0, "top": 1.0}[name]}
