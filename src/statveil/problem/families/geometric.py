"""Geometric(p) on 0, 1, 2, ..."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.problem.domain import Param
from statveil.problem.ordinal import TAIL, Ordinal, Shape

__all__ = ["Geometric"]


class Geometric(Ordinal):
    """Failures before the first success: P(X = k) = (1 - p)^k p."""

    name: ClassVar[str] = "geometric"
    doc: ClassVar[str] = "geometric counts from 0: P(X = k) = (1 - p)^k p"

    @property
    def parameter(self) -> Param:
        return Param(name="p", low=0.0, high=1.0, typical=(0.1, 0.9), doc="probability of stopping at each count")

    def mean_at(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return (1 - theta) / theta

    def std_at(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(1 - theta) / theta

    def inverse_mean(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1 / (1 + mean)

    def pmf_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return theta * np.exp(k * np.log1p(-theta))

    def cdf_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return -np.expm1((k + 1) * np.log1p(-theta))

    def sample(self, params: Mapping[str, float], size: int, rng: Generator) -> NDArray[np.float64]:
        return rng.geometric(params["p"], size).astype(np.float64) - 1

    def support_top(self, params: Mapping[str, ArrayLike]) -> int:
        return math.ceil(math.log(TAIL) / math.log1p(-float(np.min(self.theta(params)))))

    def mean_slope(self, theta: ArrayLike) -> NDArray[np.float64]:
        p = np.asarray(theta, dtype=np.float64)
        return -1 / (p * p)

    def std_slope(self, theta: ArrayLike) -> NDArray[np.float64]:
        p = np.asarray(theta, dtype=np.float64)
        return -(2 - p) / (2 * p * p * np.sqrt(1 - p))

    def cdf_slope_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return (k + 1) * np.exp(k * np.log1p(-theta))

    def cdf_slope_peak(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.zeros(np.shape(k))  # falls in p for every k

    def crossing(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        one, two = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        # k' = log(b/a) / log((1-a)/(1-b)) of the corollary, by log1p so that close parameters do not cancel
        same = one == two
        apart = np.where(same, 1.0, two - one)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            found = np.log1p(apart / one) / np.log1p(apart / (1 - two))
        return np.where(same, (1 - one) / one, found)

    # With q = 1 - p: |mean'| = p^-2, |std'| = (2-p) p^-2 q^-1/2 / 2, pmf_j' = q^(j-1) (1 - (j+1) p).
    def std_shape(self) -> Shape:
        # no turn of W1: 2 sqrt(1-p) / (2-p) falls in p, so gamma is sqrt(1-hi) / (2-hi)
        return Shape(slope=self.std_slope, bends=(2 - 2 / math.sqrt(3),))

    def share_shape(self, j: int) -> Shape:
        # p^2 q^(j-1) |1 - (j+1) p| is stationary where (j+1)(j+2) p^2 - 4 (j+1) p + 2 = 0
        root = math.sqrt(2 * j * (j + 1))

        def tv_turns(k: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
            power = k - j + 1  # q^m / |1 - (j+1) p|, m = k - j + 1
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                return ((power - j - 1) / ((power - 1) * (j + 1)),)

        return Shape(
            slope=partial(self.share_slope, j),
            peaks=(1 / (j + 1),),
            bends=(2 / (j + 1),),
            w1_turns=tuple((2 * (j + 1) + sign * root) / ((j + 1) * (j + 2)) for sign in (-1, 1)),
            tv_turns=tv_turns,
        )
