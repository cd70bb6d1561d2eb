"""Uniform(low, high)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.domain import Param
from statveil.problem.location_scale import Form, LocationScale

__all__ = ["Uniform"]


class Uniform(LocationScale):
    """Uniform distribution on [low, high]; a prior box is cut to low < high."""

    name: ClassVar[str] = "uniform"
    doc: ClassVar[str] = "uniform distribution on [low, high]; a prior box is cut to low < high"
    secrets: ClassVar[tuple[str, ...]] = ("mean", "std", "quantile")
    quantile_ends: ClassVar[tuple[bool, bool]] = (True, True)
    coordinates: ClassVar[Mapping[str, Form]] = {
        "length": {"low": -1.0, "high": 1.0},
        "low": {"low": 1.0},
        "high": {"high": 1.0},
    }
    location: ClassVar[str | None] = "low"
    shift: ClassVar[Form] = {"low": 1.0, "high": 1.0}
    loc_form: ClassVar[Form] = {"low": 1.0}
    scale_form: ClassVar[Form] = {"low": -1.0, "high": 1.0}
    constraints: ClassVar[tuple[Form, ...]] = ({"low": -1.0, "high": 1.0},)
    constraint_doc: ClassVar[str] = "low < high"
    minimum: ClassVar[str | float | None] = "low"
    maximum: ClassVar[str | float | None] = "high"

    @property
    def params(self) -> tuple[Param, ...]:
        return (
            Param(name="low", typical=(-5.0, 0.0), doc="smallest value"),
            Param(name="high", typical=(1.0, 6.0), doc="largest value"),
        )

    @property
    def z_mean(self) -> float:
        return 0.5

    @property
    def z_std(self) -> float:
        return 1 / math.sqrt(12)

    def z_quantile(self, alpha: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(alpha, dtype=np.float64)

    def z_cdf(self, z: ArrayLike) -> NDArray[np.float64]:
        return np.clip(np.asarray(z, dtype=np.float64), 0.0, 1.0)

    def z_sample(self, size: int, rng: Generator) -> NDArray[np.float64]:
        return rng.random(size)

    def z_distance(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        # a + bU runs from a to a + b: the mean of |.| over a segment, which may straddle 0.
        start = np.asarray(a, dtype=np.float64)
        end = start + np.asarray(b, dtype=np.float64)
        x, y = np.abs(start), np.abs(end)
        same_side = 0.5 * (x + y)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            straddling = (x * x + y * y) / (2 * (x + y))
        return np.where(start * end < 0, straddling, same_side)

    def direction(self, slope: float) -> Form:
        # the paper's t0 = l / (1 - l), with (dlow, dhigh) = (-l, 1 - l) per unit of length
        if slope == -1.0:
            raise ProblemError(
                "the slope -1 keeps the length of a uniform fixed. Got -1; leave it out for a pure shift."
            )
        part = slope / (1 + slope)
        return {"low": -part, "high": 1 - part}

    def slope_of(self, direction: Form) -> float | None:
        low, high = direction.get("low", 0.0), direction.get("high", 0.0)
        return -low / high if high and high != low else None

    def shift_optimum(self, q: float) -> tuple[float | None, float]:
        part = _best_part(q)
        # Corollary 4; the median is the mean: l = 1, t0 infinite; the pure shift has the same gamma
        return part / (1 - part) if part < 1 else None, abs(part - 0.5)

    def scale_optimum(self) -> tuple[float | None, float]:
        return 1.0, math.sqrt(3) / 4  # Corollary 5


def _best_part(alpha: float) -> float:
    """The paper's l: share of the change of length that comes from the lower end."""
    root = math.sqrt(alpha * alpha - alpha + 0.5)
    return alpha + root if alpha <= 0.5 else alpha - root
