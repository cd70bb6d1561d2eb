"""Binomial(p) with a fixed number of trials."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.domain import Param
from statveil.problem.ordinal import Ordinal, Shape, deviance, stirling_error, tail_reach

__all__ = ["Binomial"]


_MOST_TRIALS = 100_000
"""Sums over all counts would not end for many more."""


class Binomial(Ordinal):
    """Successes in ``trials`` independent trials, each with probability ``p``."""

    name: ClassVar[str] = "binomial"
    doc: ClassVar[str] = "binomial counts: successes in a known number of trials, each with probability p"

    def __init__(self, *, trials: int) -> None:
        try:
            whole = -1 if isinstance(trials, bool) else operator.index(trials)
        except TypeError:
            whole = -1
        if not 1 <= whole <= _MOST_TRIALS:
            raise ProblemError(
                f"the 'trials' of a binomial must be a whole number from 1 to {_MOST_TRIALS:,}. "
                f"Got {whole if whole > 0 else trials!r}; with more trials counts are as good as continuous: use "
                "'location'."
            )
        self.trials = whole

    @classmethod
    def example(cls) -> Binomial:
        return cls(trials=20)

    @property
    def parameter(self) -> Param:
        return Param(name="p", low=0.0, high=1.0, typical=(0.1, 0.9), doc="probability of success in one trial")

    @property
    def last_count(self) -> float:
        return float(self.trials)

    def settings(self) -> dict[str, Any]:
        return {"trials": self.trials}

    def mean_at(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.trials * theta

    def std_at(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(self.trials * theta * (1 - theta))

    def inverse_mean(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        return mean / self.trials

    def pmf_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return _share(k, float(self.trials), theta)

    def cdf_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.special import betaincc

        # the paper's I_{1-p}(n-k, k+1), written without 1 - p
        return np.asarray(betaincc(k + 1, self.trials - k, theta), dtype=np.float64)

    def sample(self, params: Mapping[str, float], size: int, rng: Generator) -> NDArray[np.float64]:
        return rng.binomial(self.trials, params["p"], size).astype(np.float64)

    def support_top(self, params: Mapping[str, ArrayLike]) -> int:
        p = self.theta(params)
        reach = self.trials * float(np.max(p)) + tail_reach(float(np.max(self.trials * p * (1 - p))))
        return min(self.trials, math.ceil(reach))

    def mean_slope(self, theta: ArrayLike) -> NDArray[np.float64]:
        return np.full(np.shape(theta), float(self.trials))

    def std_slope(self, theta: ArrayLike) -> NDArray[np.float64]:
        p = np.asarray(theta, dtype=np.float64)
        return np.asarray(math.sqrt(self.trials) * (1 - 2 * p) / (2 * np.sqrt(p * (1 - p))), dtype=np.float64)

    def cdf_slope_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        # dF_k/dp = -n P(Binomial(n-1, p) = k)
        return -self.trials * _share(k, self.trials - 1.0, theta)

    def cdf_slope_peak(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(k, dtype=np.float64) / max(self.trials - 1, 1)

    def crossing(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        one, two = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        # k' = n log((1-a)/(1-b)) / log(b (1-a) / (a (1-b))) of the corollary, by log1p
        same = one == two
        apart = np.where(same, 1.0, two - one)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            rise, fall = np.log1p(apart / one), np.log1p(apart / (1 - two))
            found = self.trials * fall / (rise + fall)
        return np.where(same, self.trials * one, found)

    def std_shape(self) -> Shape:  # concave in p
        n = self.trials

        def tv_turns(k: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
            # p^(k+1/2) q^(n-k-1/2) / |1 - 2p|: 2 (n-1) p^2 - (n + 2k - 1) p + k + 1/2 = 0
            half = (n + 2 * k - 1) / (4 * (n - 1)) if n > 1 else np.full(np.shape(k), np.nan)
            with np.errstate(invalid="ignore"):
                root = np.sqrt(half * half - (k + 0.5) / (2 * (n - 1))) if n > 1 else half
            return (half - root, half + root)

        return Shape(slope=self.std_slope, peaks=(0.5,), tv_turns=tv_turns)

    def share_shape(self, j: int) -> Shape:
        n = self.trials
        # pmf_j'' = 0 where n (n-1) p^2 - 2 j (n-1) p + j (j-1) = 0
        root = math.sqrt(j * (n - j) / (n - 1)) if n > 1 else 0.0
        bends = tuple((j + sign * root) / n for sign in (-1, 1)) if n > 1 else ()

        def tv_turns(k: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
            power = k - j + 1  # p^m q^(1-m) / |j - n p|, m = k - j + 1
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                return (power * j / (power * n + j - n),)

        return Shape(
            slope=partial(self.share_slope, j),
            peaks=(j / n,),
            bends=bends,
            w1_turns=bends,  # mean' is constant
            tv_turns=tv_turns,
        )


def _share(k: NDArray[np.float64], n: float, p: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(Binomial(n, p) = k) in Loader's form, which keeps full precision for large n."""
    left = n - k
    inner = (k > 0) & (left > 0)
    kk, ll = np.where(inner, k, 1.0), np.where(inner, left, 1.0)
    size = kk + ll
    exponent = stirling_error(size) - stirling_error(kk) - stirling_error(ll)
    exponent = exponent - deviance(kk, size * p) - deviance(ll, size * (1 - p))
    bulk = np.exp(exponent) * np.sqrt(size / (2 * math.pi * kk * ll))
    edge = np.where(k == 0, np.exp(n * np.log1p(-p)), np.exp(n * np.log(p)))
    return np.where(inner, bulk, edge)
