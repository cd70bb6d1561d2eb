"""Exponential(scale)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.problem.domain import Param
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.secret import Secret

__all__ = ["Exponential", "ExponentialShape"]


class ExponentialShape(LocationScale):
    """What the two exponential families share: Z is a standard exponential."""

    @property
    def z_mean(self) -> float:
        return 1.0

    @property
    def z_std(self) -> float:
        return 1.0

    def z_quantile(self, alpha: ArrayLike) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            return -np.log1p(-np.asarray(alpha, dtype=np.float64))

    def z_cdf(self, z: ArrayLike) -> NDArray[np.float64]:
        return -np.expm1(-np.maximum(np.asarray(z, dtype=np.float64), 0.0))

    def z_sample(self, size: int, rng: Generator) -> NDArray[np.float64]:
        return rng.standard_exponential(size)

    def z_distance(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        # E|a + bZ|: same sign: |a + b|; opposite signs, t = |a/b|: |b| (t - 1 + 2 exp(-t))
        shift, spread = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            opposite = np.abs(shift) - np.abs(spread) + 2 * np.abs(spread) * np.exp(-np.abs(shift / spread))
        return np.where(shift * spread < 0, opposite, np.abs(shift + spread))


class Exponential(ExponentialShape):
    """Exponential distribution with mean ``scale``, from 0 up."""

    name: ClassVar[str] = "exponential"
    doc: ClassVar[str] = "exponential distribution from 0 up: mean scale"
    secrets: ClassVar[tuple[str, ...]] = ("mean", "std", "quantile")
    coordinates: ClassVar[Mapping[str, Form]] = {"scale": {"scale": 1.0}}
    scale_form: ClassVar[Form] = {"scale": 1.0}
    minimum: ClassVar[str | float | None] = 0.0

    @property
    def params(self) -> tuple[Param, ...]:
        return (Param(name="scale", low=0.0, typical=(0.5, 20.0), doc="mean"),)

    def closed_gamma(self, secret: Secret) -> float | None:
        parts = secret.linear(self)
        # Corollaries 1, 2 and 5 for the mean, a quantile and the standard deviation
        return None if parts is None or not parts[1] else 1 / (2 * abs(parts[1]))
