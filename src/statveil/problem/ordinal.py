"""Counts 0, 1, 2, ... with one parameter: geometric, binomial, Poisson.

Two facts carry the theory. The members are stochastically ordered, so W1 is the difference of the means.
The likelihood ratio of two members is monotone in the count, so their shares cross once and total
variation is the gap of the two distribution functions at the crossing.

Every derivative here is with respect to the parameter, and has a closed form.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.domain import Param
from statveil.problem.family import Family
from statveil.problem.secret import Secret

__all__ = ["TAIL", "Ordinal", "Shape", "deviance", "stirling_error", "tail_reach"]

TAIL = 1e-16
"""``support_top`` leaves out less than this probability."""

# Gauss-Legendre on [0, 1]: the gap of two close members is an integral of the slope, which does not cancel.
_NODES = 0.5 * (1 + np.polynomial.legendre.leggauss(8)[0])
_WEIGHTS = 0.5 * np.polynomial.legendre.leggauss(8)[1]


Turns = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The derivative of a secret in the parameter, and where it turns (some places may lie outside the domain).

    Attributes
    ----------
    slope : function
        The derivative.
    peaks, bends : tuple of float
        Parameters where the derivative is 0, and where it has an extremum.
    w1_turns : tuple of float
        Parameters where |mean'| / |secret'| has a finite extremum.
    tv_turns : function
        Parameters where |F_k'| / |secret'| can have an inner minimum, for each k (NaN: nowhere). None where the
        ratio is log-concave: the mean of every family here, and most standard deviations.
    """

    slope: Callable[[ArrayLike], NDArray[np.float64]]
    peaks: Turns = ()
    bends: Turns = ()
    w1_turns: Turns = ()
    tv_turns: Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], ...]] = lambda k: ()


class Ordinal(Family):
    """Base of the count families."""

    secrets: ClassVar[tuple[str, ...]] = ("mean", "std", "fraction")
    distances: ClassVar[tuple[str, ...]] = ("w1", "tv")
    discrete: ClassVar[bool] = True

    # --- declarations -------------------------------------------------------------------------
    @property
    @abstractmethod
    def parameter(self) -> Param:
        """The only parameter."""

    @property
    def params(self) -> tuple[Param, ...]:
        return (self.parameter,)

    @property
    def last_count(self) -> float:
        """The largest count, infinite for most families."""
        return math.inf

    def theta(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Give the parameter as an array."""
        return np.asarray(params[self.parameter.name], dtype=np.float64)

    def at(self, theta: ArrayLike) -> dict[str, ArrayLike]:
        """Give the parameters of the member with this value of the parameter."""
        return {self.parameter.name: theta}

    def category_index(self, category: int | str) -> int:
        try:
            if isinstance(category, bool):
                raise ValueError
            count = int(category)
            if count != category and not isinstance(category, str):
                raise ValueError
        except (TypeError, ValueError):
            count = -1
        if not 0 <= count <= self.last_count:
            top = "" if math.isinf(self.last_count) else f" to {self.last_count:g}"
            raise ProblemError(
                f"the categories of {self.name!r} are its counts, whole numbers from 0{top}. Got {category!r}; "
                "write fraction:0 for the share of zeros."
            )
        return count

    # --- one family: formulas in the parameter ------------------------------------------------
    @abstractmethod
    def mean_at(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the mean."""

    @abstractmethod
    def std_at(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the standard deviation."""

    @abstractmethod
    def pmf_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(X = k) for a count k."""

    @abstractmethod
    def cdf_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(X <= k) for a count k below the last."""

    @abstractmethod
    def mean_slope(self, theta: ArrayLike) -> NDArray[np.float64]:
        """Give the derivative of the mean; it has the same sign for every parameter."""

    @abstractmethod
    def std_slope(self, theta: ArrayLike) -> NDArray[np.float64]:
        """Give the derivative of the standard deviation."""

    @abstractmethod
    def cdf_slope_at(self, k: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the derivative of P(X <= k) for a count k below the last.

        Its size must rise and then fall in the parameter (or do only one of both).
        """

    @abstractmethod
    def cdf_slope_peak(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        """Parameter at which the derivative of P(X <= k) is largest in size."""

    @abstractmethod
    def inverse_mean(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Parameter with this mean."""

    @abstractmethod
    def crossing(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Real k' at which the shares under ``a`` and ``b`` are equal; its limit where a = b."""

    @abstractmethod
    def support_top(self, params: Mapping[str, ArrayLike]) -> int:
        """Give a count that each of these members exceeds with a probability below 1e-15."""

    def mean_shape(self) -> Shape:
        """Give the derivative of the mean, which turns nowhere."""
        return Shape(slope=self.mean_slope)

    @abstractmethod
    def std_shape(self) -> Shape:
        """Give the derivative of the standard deviation and where it turns."""

    @abstractmethod
    def share_shape(self, j: int) -> Shape:
        """Give the derivative of P(X = j) and where it turns."""

    # --- the distribution ---------------------------------------------------------------------
    def mean(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return self.mean_at(self.theta(params))

    def std(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return self.std_at(self.theta(params))

    def pmf(self, k: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        count, theta = np.broadcast_arrays(np.asarray(k, dtype=np.float64), self.theta(params))
        is_count = (count >= 0) & (count <= self.last_count) & (count == np.floor(count)) & np.isfinite(count)
        return np.where(is_count, self.pmf_at(np.where(is_count, count, 0.0), theta), 0.0)

    def cdf(self, x: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        value, theta = np.broadcast_arrays(np.asarray(x, dtype=np.float64), self.theta(params))
        count = np.floor(value)
        inside = (count >= 0) & (count < self.last_count)
        below = np.where(count < 0, 0.0, np.where(np.isnan(value), np.nan, 1.0))
        return np.where(inside, self.cdf_at(np.where(inside, count, 0.0), theta), below)

    def quantile(self, alpha: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        level, theta = np.broadcast_arrays(np.asarray(alpha, dtype=np.float64), self.theta(params))
        if level.size == 0:
            return np.zeros(level.shape)
        # Invariant of the search: cdf(low) < alpha <= cdf(high). It gives back k from the computed cdf(k).
        low = np.full(level.shape, -1.0)
        high = np.full(level.shape, float(self.support_top(params)))
        while np.any(short := self.cdf(high, self.at(theta)) < np.minimum(level, 1 - 1e-15)):
            high = np.where(short, 2 * high + 1, high)
        while np.any(high - low > 1):
            middle = np.floor(0.5 * (low + high))
            short = self.cdf(middle, self.at(theta)) < level
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        found = np.where(level == 1, self.last_count, np.maximum(high, 0.0))  # alpha = 0: the least count
        return np.where((level >= 0) & (level <= 1), found, np.nan)

    # --- slopes -------------------------------------------------------------------------------
    def cdf_slope(self, k: ArrayLike, theta: ArrayLike) -> NDArray[np.float64]:
        """Give the derivative of P(X <= k) with respect to the parameter."""
        count, at = np.broadcast_arrays(np.floor(np.asarray(k, dtype=np.float64)), np.asarray(theta, dtype=np.float64))
        inside = (count >= 0) & (count < self.last_count)
        return np.where(inside, self.cdf_slope_at(np.where(inside, count, 0.0), at), 0.0)

    def share_slope(self, j: int, theta: ArrayLike) -> NDArray[np.float64]:
        """Give the derivative of P(X = j) with respect to the parameter."""
        return self.cdf_slope(j, theta) - self.cdf_slope(j - 1, theta)

    def shape_of(self, secret: Secret) -> Shape:
        """Give the derivative of the secret and where it turns; refused where the secret does not say it."""
        found = secret.shape(self)
        if found is None:
            self.check_secret(secret)
            raise ProblemError(
                f"the derivative of the secret {secret.label!r} of {self.name!r} is not known: give the secret a "
                "method 'shape', or say with 'rough = True' that nothing is known of it between two parameters."
            )
        return found

    def secret_slope(self, secret: Secret, theta: ArrayLike) -> NDArray[np.float64]:
        """Give the derivative of the secret with respect to the parameter."""
        return self.shape_of(secret).slope(theta)

    # --- distances ----------------------------------------------------------------------------
    def w1(self, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return np.abs(self.mean(a) - self.mean(b))  # stochastic order: W1 is the gap of the means

    def tv(self, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        one, two = np.broadcast_arrays(self.theta(a), self.theta(b))
        return np.abs(self.cdf_gap(self.crossing_count(one, two), one, two))

    def crossing_count(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Give the k of TV(a, b) = |F_k(a) - F_k(b)|.

        Where k' is a whole number the two shares are equal at k', so k' and k' - 1 give the same gap: a
        floor that lands on either side of it does no harm.
        """
        return np.clip(np.floor(self.crossing(a, b)), 0.0, self.last_count - 1)

    def cdf_gap(self, k: ArrayLike, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """F_k(b) - F_k(a), without cancellation where ``a`` and ``b`` are close."""
        count, one, two = np.broadcast_arrays(
            np.asarray(k, dtype=np.float64), np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        )
        gap = np.asarray(self.cdf(count, self.at(two)) - self.cdf(count, self.at(one)))
        near = self.close(one, two)
        if np.any(near):
            start, step, kk = one[near], (two - one)[near], count[near]
            gap[near] = step * sum(
                w * self.cdf_slope(kk, start + x * step) for x, w in zip(_NODES, _WEIGHTS, strict=True)
            )
        return gap

    def secret_gap(self, secret: Secret, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """secret(b) - secret(a), without cancellation where ``a`` and ``b`` are close."""
        one, two = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
        gap = np.asarray(secret.of(self, self.at(two)) - secret.of(self, self.at(one)))
        near = self.close(one, two)
        if np.any(near):
            start, step = one[near], (two - one)[near]
            gap[near] = step * sum(
                w * self.secret_slope(secret, start + x * step) for x, w in zip(_NODES, _WEIGHTS, strict=True)
            )
        return gap

    def close(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether two members are so close that eight nodes integrate every slope between them exactly.

        Close means a thousandth of a standard deviation, and far from the ends of the domain.
        """
        middle, width = 0.5 * (a + b), np.abs(b - a)
        spread = self.std_at(middle) / np.abs(self.mean_slope(middle))
        room = np.minimum(np.minimum(a, b) - self.parameter.low, self.parameter.high - np.maximum(a, b))
        return np.asarray((width < 1e-3 * spread) & (width < 0.1 * room))


def stirling_error(k: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give log k! minus Stirling's approximation of it; exact to rounding, where subtracting the two cancels."""
    from scipy.special import gammaln

    small = np.clip(k, 1.0, 16.0)
    direct = gammaln(small + 1) - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    inverse = 1 / np.maximum(k, 16.0)
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    return np.where(k < 16, direct, series)


def deviance(k: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give k log(k / mean) + mean - k, the exponent of Loader's form of the Poisson and binomial shares."""
    from scipy.special import xlog1py

    x = (k - mean) / mean
    return np.asarray(mean * (xlog1py(1 + x, x) - x), dtype=np.float64)


def tail_reach(variance: float) -> float:
    """How far above its mean a count with this variance stays, up to ``TAIL`` (Bernstein's inequality)."""
    size = -math.log(TAIL)
    return size / 3 + math.sqrt(size * size / 9 + 2 * variance * size)
