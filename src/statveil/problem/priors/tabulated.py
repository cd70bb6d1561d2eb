"""A density given by its values at some points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.axis import Axis, check_finite_range

__all__ = ["Tabulated"]


@dataclass(frozen=True, init=False)
class Tabulated(Axis):
    """Density proportional to ``weights`` at ``values``, linear in between.

    >>> float(Tabulated([0, 1, 2], [0, 1, 0]).cdf(1.0))
    0.5
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]
    kind: ClassVar[str] = "table"
    linear: ClassVar[bool] = True

    def __init__(self, values: Sequence[float], weights: Sequence[float]) -> None:
        points, heights = tuple(map(float, values)), tuple(map(float, weights))
        if len(points) != len(heights) or len(points) < 2:
            raise ProblemError(
                f"a table of values needs at least 2 values and one weight for each. "
                f"Got {len(points)} values and {len(heights)} weights."
            )
        check_finite_range("a table of values", points[0], points[-1])
        if not all(a < b for a, b in pairwise(points)):
            raise ProblemError("the values of a table must increase; sort them and drop repeats.")
        if not all(np.isfinite(heights)) or min(heights) < 0 or max(heights) == 0:
            raise ProblemError("the weights of a table must be finite, not negative, and not all zero.")
        object.__setattr__(self, "values", points)
        object.__setattr__(self, "weights", heights)
        object.__setattr__(self, "low", points[0])
        object.__setattr__(self, "high", points[-1])

    @cached_property
    def _parts(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        x, w = np.array(self.values), np.array(self.weights)
        mass = np.concatenate([[0.0], np.cumsum(0.5 * (w[1:] + w[:-1]) * np.diff(x))])
        return x, w / mass[-1], mass / mass[-1]

    @property
    def landmarks(self) -> NDArray[np.float64]:
        return np.unique(np.concatenate([super().landmarks, self.values]))

    @property
    def turns(self) -> NDArray[np.float64]:
        return np.array(self.values)

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        points, heights, _ = self._parts
        return np.interp(np.asarray(x, dtype=np.float64), points, heights, left=0.0, right=0.0)

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        points, heights, mass = self._parts
        at = np.clip(np.asarray(x, dtype=np.float64), self.low, self.high)
        i = np.clip(np.searchsorted(points, at, side="right") - 1, 0, len(points) - 2)
        step = at - points[i]
        rise = (heights[i + 1] - heights[i]) / (points[i + 1] - points[i])
        return mass[i] + step * (heights[i] + 0.5 * rise * step)

    def ppf(self, u: ArrayLike) -> NDArray[np.float64]:
        points, heights, mass = self._parts
        at = np.clip(np.asarray(u, dtype=np.float64), 0.0, 1.0)
        i = np.clip(np.searchsorted(mass, at, side="right") - 1, 0, len(points) - 2)
        rest = at - mass[i]
        rise = (heights[i + 1] - heights[i]) / (points[i + 1] - points[i])
        # root of rise/2 t^2 + h t = rest, in the form that stays stable when rise or h is 0
        root = np.sqrt(np.maximum(heights[i] ** 2 + 2 * rise * rest, 0.0))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            step = np.where(rest > 0, 2 * rest / (heights[i] + root), 0.0)
        return np.minimum(points[i] + step, points[i + 1])

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "values": list(self.values), "weights": list(self.weights)}
