"""NegativeBinomial(mean) with a fixed size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numbers import number
from statveil.numeric import halved
from statveil.problem.domain import Param
from statveil.problem.ordinal import TAIL, Ordinal, Shape, deviance, stirling_error

__all__ = ["NegativeBinomial"]

_SIZES = (1e-3, 1e6)
"""Beyond the first hardly any count is above 0, beyond the second the counts are Poisson's."""


class NegativeBinomial(Ordinal):
    """Counts with mean ``mean`` and variance mean + mean^2 / size: a Poisson rate that varies from row to row.

    Size 1 is the geometric, a large one the Poisson distribution. With p = size / (size + mean) and q = 1 - p,
    P(X = k) is proportional to q^k p^size (SciPy's ``nbinom(size, p)``).
    """

    name: ClassVar[str] = "negative-binomial"
    doc: ClassVar[str] = "counts of mean mean and variance mean + mean^2 / SIZE, written negative-binomial(SIZE)"

    def __init__(self, *, size: float) -> None:
        self.size = number(size, "the 'size' of a negative binomial")
        if not _SIZES[0] <= self.size <= _SIZES[1]:
            raise ProblemError(
                f"the 'size' of a negative binomial must lie between {_SIZES[0]:g} and {_SIZES[1]:g}. "
                f"Got {self.size:g}; larger ones are as good as 'poisson'."
            )

    @classmethod
    def example(cls) -> NegativeBinomial:
        return cls(size=2.5)

    @property
    def label(self) -> str:
        return f"{self.name}({repr(self.size).removesuffix('.0')})"

    @property
    def parameter(self) -> Param:
        return Param(name="mean", low=0.0, typical=(0.5, 20.0), doc="mean count")

    def settings(self) -> dict[str, Any]:
        return {"size": self.size}

    def mean_at(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return theta

    def std_at(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(theta * (1 + theta / self.size))

    def inverse_mean(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        return mean

    def pmf_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return _share(k, self.size, *self._odds(theta))

    def cdf_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.special import betainc

        return np.asarray(betainc(self.size, k + 1, self._odds(theta)[0]), dtype=np.float64)

    def _odds(self, theta: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """p and q of each mean, neither as 1 minus the other."""
        mean = np.asarray(theta, dtype=np.float64)
        return self.size / (self.size + mean), mean / (self.size + mean)

    def sample(self, params: Mapping[str, float], size: int, rng: Generator) -> NDArray[np.float64]:
        return rng.negative_binomial(self.size, float(self._odds(params["mean"])[0]), size).astype(np.float64)

    def support_top(self, params: Mapping[str, ArrayLike]) -> int:
        from scipy.special import betainc

        mean = float(np.max(self.theta(params)))  # a larger mean has larger counts
        q = mean / (self.size + mean)

        def ends(k: float) -> bool:
            return bool(betainc(math.floor(k) + 1, self.size, q) < TAIL)

        high = 16.0
        while not ends(high):
            high *= 2
        return math.ceil(halved(ends, 0.0, high, close=1e-3)[1])

    def mean_slope(self, theta: ArrayLike) -> NDArray[np.float64]:
        return np.ones(np.shape(theta))

    def std_slope(self, theta: ArrayLike) -> NDArray[np.float64]:
        mean = np.asarray(theta, dtype=np.float64)
        return np.asarray((0.5 + mean / self.size) / self.std_at(mean), dtype=np.float64)

    def cdf_slope_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        # dF_k/dmean = -P(k) of size + 1 at the same p, proportional to q^k p^(size+1)
        return -_share(k, self.size + 1, *self._odds(theta))

    def cdf_slope_peak(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(k, dtype=np.float64) * (self.size / (self.size + 1))

    def crossing(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        one, two = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        # k' = r log(p_a/p_b) / log(q_b/q_a), by log1p
        same = one == two
        apart, r = np.where(same, 1.0, two - one), self.size
        with np.errstate(divide="ignore", invalid="ignore"):
            found = r * np.log1p(apart / (r + one)) / np.log1p(r * apart / (one * (r + two)))
        return np.where(same, one, found)

    # With m the mean: P_j' = P_j r (j - m) / (m (r + m)).
    def std_shape(self) -> Shape:
        # the deviation is a concave hyperbola, and |F_k'| / std' has one extremum, a maximum:
        # (k + 1/2) / m - (r + k + 1/2) / (r + m) - 2 / (r + 2m) changes its sign once
        return Shape(slope=self.std_slope)

    def share_shape(self, j: int) -> Shape:
        # P_j'' = 0 where (r+1) m^2 - 2 j (r+1) m + r j (j-1) = 0
        r = self.size
        root = math.sqrt(j * (j + r) / (r + 1))
        bends = (j - root, j + root)

        def tv_turns(k: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
            power = k - j + 1  # m^power (r + m)^(1 - power) / |j - m|
            with np.errstate(divide="ignore", invalid="ignore"):
                return (power * r * j / ((power - 1) * r - j),)

        return Shape(
            slope=partial(self.share_slope, j),
            peaks=(float(j),),
            bends=bends,
            w1_turns=bends,  # mean' is constant
            tv_turns=tv_turns,
        )


def _share(k: NDArray[np.float64], size: float, p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(X = k) in Loader's form: size / (size + k) times a binomial share, which keeps full precision for large k."""
    # Stirling's error is known from 1 up: below, by P of size + 1
    r = size if size >= 1 else size + 1
    count = np.maximum(k, 1.0)
    total = r + count
    one = np.asarray(r)
    exponent = stirling_error(total) - stirling_error(one) - stirling_error(count)
    exponent = exponent - deviance(one, total * p) - deviance(count, total * q)
    bulk = np.exp(exponent) * np.sqrt(total / (2 * math.pi * r * count)) * (r / total)
    none = np.exp(r * np.where(q < 0.5, np.log1p(-np.minimum(q, 0.5)), np.log(p)))
    found = np.where(k == 0, none, bulk)
    return found if size >= 1 else found * (size / (size + k)) / p
