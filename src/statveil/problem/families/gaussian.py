"""Gaussian(mu, sigma)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.problem.domain import Param
from statveil.problem.location_scale import Form, LocationScale

__all__ = ["Gaussian"]


class Gaussian(LocationScale):
    """Normal distribution with mean ``mu`` and standard deviation ``sigma``."""

    name: ClassVar[str] = "gaussian"
    doc: ClassVar[str] = "normal distribution: mean mu, standard deviation sigma"
    secrets: ClassVar[tuple[str, ...]] = ("mean", "std", "quantile")
    coordinates: ClassVar[Mapping[str, Form]] = {"sigma": {"sigma": 1.0}, "mu": {"mu": 1.0}}
    location: ClassVar[str | None] = "mu"
    shift: ClassVar[Form] = {"mu": 1.0}
    loc_form: ClassVar[Form] = {"mu": 1.0}
    scale_form: ClassVar[Form] = {"sigma": 1.0}

    @property
    def params(self) -> tuple[Param, ...]:
        return (
            Param(name="mu", typical=(-10.0, 10.0), doc="mean"),
            Param(name="sigma", low=0.0, typical=(0.5, 5.0), doc="standard deviation"),
        )

    @property
    def z_mean(self) -> float:
        return 0.0

    @property
    def z_std(self) -> float:
        return 1.0

    def z_quantile(self, alpha: ArrayLike) -> NDArray[np.float64]:
        from scipy.special import ndtri

        return np.asarray(ndtri(alpha), dtype=np.float64)

    def z_cdf(self, z: ArrayLike) -> NDArray[np.float64]:
        from scipy.special import ndtr

        return np.asarray(ndtr(z), dtype=np.float64)

    def z_sample(self, size: int, rng: Generator) -> NDArray[np.float64]:
        return rng.standard_normal(size)

    def z_distance(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        from scipy.special import erf

        # mean of a folded normal: E|a + bZ| = |b| 2 phi(a/b) + a erf(a / (b sqrt 2)); |a| where b = 0.
        shift, spread = np.asarray(a, dtype=np.float64), np.abs(np.asarray(b, dtype=np.float64))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = np.abs(shift) / spread
            folded = spread * math.sqrt(2 / math.pi) * np.exp(-0.5 * t * t) + np.abs(shift) * erf(t / math.sqrt(2))
        return np.where(spread == 0, np.abs(shift), folded)

    def direction(self, slope: float) -> Form:
        return {"mu": slope, "sigma": 1.0}

    def slope_of(self, direction: Form) -> float | None:
        rise = direction.get("sigma", 0.0)
        return direction.get("mu", 0.0) / rise if rise else None

    def shift_optimum(self, q: float) -> tuple[float | None, float]:
        slope = _quantile_slope(q)
        # Corollary 4, whose minimum is Phi(|t0|) - 1/2; at the median t0 is infinite and gamma is the mean's 1/2.
        return slope, 0.5 if slope is None else 0.5 * math.erf(abs(slope) / math.sqrt(2))

    def scale_optimum(self) -> tuple[float | None, float]:
        return 0.0, 1 / math.sqrt(2 * math.pi)  # Corollary 5, whose minimum lies at t = 0


def _quantile_slope(q: float) -> float | None:
    """Root of phi(t) = |Q| (Phi(t) - 1/2) with the sign of Q.

    Minimising the printed ratio instead runs off to 1e8 near the median; the root is always bracketed.
    """
    if q == 0.0:
        return None
    from scipy.optimize import brentq

    size = abs(q)

    def gap(t: float) -> float:
        return math.exp(-0.5 * t * t) / math.sqrt(2 * math.pi) - size * 0.5 * math.erf(t / math.sqrt(2))

    # gap(0) > 0, gap is decreasing, and phi(40) underflows: the bracket always holds the root.
    root = float(brentq(gap, 0.0, 40.0, xtol=1e-15, rtol=8.9e-16))
    return math.copysign(root, q)
