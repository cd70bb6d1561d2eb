"""What outsiders believe about one parameter: a range and, usually, a density on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, unknown_name
from statveil.numbers import LARGEST, number
from statveil.numeric import Array, zoomed
from statveil.problem.domain import Param

__all__ = ["AXES", "Axis", "axis_from_json", "check_finite_range"]

AXES: dict[str, type[Axis]] = {}
"""Every kind of belief about one parameter; filled when the files of ``problem/priors`` are loaded."""


class Axis(ABC):
    """Belief about one parameter, on ``[low, high]``. Nothing here is ever taken from private data."""

    kind: ClassVar[str]
    exact: ClassVar[bool] = True
    """Whether the density is fully known; a class of densities only allows upper bounds on the risk."""
    flat: ClassVar[bool] = False
    """Whether the density is constant."""
    linear: ClassVar[bool] = False
    """Whether the density is linear between its :attr:`turns`; else it only rises or only falls there."""
    falling: ClassVar[bool] = False
    """Whether the density only falls and has its mass in closed form: the best window of a piece is where it starts."""
    low: float
    high: float

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            AXES[cls.kind] = cls

    @property
    def width(self) -> float:
        """Length of the range; 0 for a known value."""
        return self.high - self.low

    @property
    def core(self) -> tuple[float, float]:
        """The part of the range that holds all but 2e-12 of the mass."""
        ends = self.ppf(np.array([1e-12, 1 - 1e-12]))
        return float(ends[0]), float(ends[1])

    @property
    def landmarks(self) -> NDArray[np.float64]:
        """Places that a search over the range must not jump over: quantiles, so that no narrow peak is missed."""
        return np.zeros(0) if self.flat else self.ppf(np.linspace(0.0, 1.0, 514)[1:-1])

    @property
    def turns(self) -> NDArray[np.float64]:
        """Places between which the density only rises or only falls, found by a search that starts from quantiles."""
        return np.zeros(0) if self.flat else turning_points(self)

    @property
    def believed(self) -> str:
        """Where it lies, in words that follow "outsiders believe that it lies"; the ends as they were stated."""
        return f"between {self.low:,.12g} and {self.high:,.12g}, with some values more likely than others"

    @property
    def known(self) -> bool:
        """Whether the parameter is publicly known."""
        return self.width == 0

    def fit(self, param: Param) -> Axis:
        """This belief, checked against the domain of the parameter it is about."""
        if not self.known:
            param.check_range(self.low, self.high)
        elif not (param.low < self.low < param.high):
            raise ProblemError(
                f"the known value of {param.name!r} must be {param.domain}. Got {self.low:g}; state a value inside."
            )
        return self

    @abstractmethod
    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Density, with mass 1 on the range and 0 outside."""

    @abstractmethod
    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Mass below ``x``."""

    @abstractmethod
    def ppf(self, u: ArrayLike) -> NDArray[np.float64]:
        """Inverse of :meth:`cdf`; ``ppf`` of uniform numbers draws from the belief."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :func:`axis_from_json` makes the same belief."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Axis:
        """The belief that :meth:`to_json` wrote."""
        return cls(**{key: value for key, value in data.items() if key != "kind"})


def turning_points(axis: Axis) -> NDArray[np.float64]:
    """Where the density of a belief has its peaks and dips, each between two places that are close together."""
    tails = 1 / (1 + np.exp(-np.linspace(-25.0, 25.0, 401)))
    parts = [axis.landmarks, axis.ppf(tails), np.linspace(axis.low, axis.high, 1025)]
    x = np.unique(np.clip(np.concatenate(parts), axis.low, axis.high))
    height = axis.pdf(x)
    moving = np.flatnonzero(np.diff(height))  # steps over which the density changes
    sign = np.sign(np.diff(height)[moving])
    found = [np.array([axis.low, axis.high])]
    turning = np.flatnonzero(sign[1:] != sign[:-1])
    for k in turning[np.argsort(-np.abs(height[moving[turning] + 1]))][:64]:
        way = float(sign[k])
        a, b, _ = zoomed(partial(_signed, axis, way), float(x[moving[k]]), float(x[moving[k + 1] + 1]), rounds=10)
        found.append(np.array([a, 0.5 * (a + b), b]))
    return np.unique(np.concatenate(found))


def _signed(axis: Axis, way: float, x: Array) -> Array:
    return way * axis.pdf(x)


def axis_from_json(data: Mapping[str, Any]) -> Axis:
    """Any belief about one parameter from its JSON object."""
    kind = data.get("kind")
    if kind not in AXES:
        raise ProblemError(unknown_name("kind of prior", str(kind), AXES))
    return AXES[kind].from_json(data)


def check_finite_range(what: str, low: float, high: float) -> tuple[float, float]:
    """Both ends as floats, if they are finite and in order."""
    low, high = number(low, f"the lower end of {what}"), number(high, f"the upper end of {what}")
    if low >= high:
        state = "reversed" if low > high else "empty"
        raise ProblemError(f"the range of {what} is {state}. Got {low:g}:{high:g}; write the smaller end first.")
    if high - low < 1 / LARGEST:
        least = f"must be at least {1 / LARGEST:g} wide"
        raise ProblemError(f"the range of {what} {least}. Got {low:g}:{high:g}; change the unit.")
    return low, high
