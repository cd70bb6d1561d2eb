"""Poisson(rate)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.problem.domain import Param
from statveil.problem.ordinal import Ordinal, Shape, deviance, stirling_error, tail_reach

__all__ = ["Poisson"]


class Poisson(Ordinal):
    """Poisson counts with mean ``rate``."""

    name: ClassVar[str] = "poisson"
    doc: ClassVar[str] = "Poisson counts: mean rate"

    @property
    def parameter(self) -> Param:
        return Param(name="rate", low=0.0, typical=(0.5, 20.0), doc="mean count")

    def mean_at(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return theta

    def std_at(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(theta)

    def inverse_mean(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        return mean

    def pmf_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        # Loader's form: exp(-stirling - deviance) / sqrt(2 pi k) keeps full precision for large rates
        count = np.maximum(k, 1.0)
        bulk = np.exp(-stirling_error(count) - deviance(count, theta)) / np.sqrt(2 * math.pi * count)
        return np.where(k == 0, np.exp(-theta), bulk)

    def cdf_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.special import gammaincc

        return np.asarray(gammaincc(k + 1, theta), dtype=np.float64)  # the paper's Q(k + 1, rate)

    def sample(self, params: Mapping[str, float], size: int, rng: Generator) -> NDArray[np.float64]:
        return rng.poisson(params["rate"], size).astype(np.float64)

    def support_top(self, params: Mapping[str, ArrayLike]) -> int:
        rate = float(np.max(self.theta(params)))
        return math.ceil(rate + tail_reach(rate))

    def mean_slope(self, theta: ArrayLike) -> NDArray[np.float64]:
        return np.ones(np.shape(theta))

    def std_slope(self, theta: ArrayLike) -> NDArray[np.float64]:
        return 0.5 / np.sqrt(np.asarray(theta, dtype=np.float64))

    def cdf_slope_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return -self.pmf_at(k, theta)

    def cdf_slope_peak(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(k, dtype=np.float64)

    def crossing(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        one, two = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        # k' = (b - a) / log(b/a) of the corollary (the logarithmic mean), by log1p
        same = one == two
        apart = np.where(same, 1.0, two - one)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            found = apart / np.log1p(apart / one)
        return np.where(same, one, found)

    def std_shape(self) -> Shape:
        return Shape(slope=self.std_slope)

    def share_shape(self, j: int) -> Shape:
        bends = (j - math.sqrt(j), j + math.sqrt(j))

        def tv_turns(k: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
            power = k - j + 1  # rate^m / |j - rate|, m = k - j + 1
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                return (power * j / (power - 1),)

        return Shape(
            slope=partial(self.share_slope, j),
            peaks=(float(j),),
            bends=bends,
            w1_turns=bends,  # mean' is constant
            tv_turns=tv_turns,
        )
