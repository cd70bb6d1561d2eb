"""A family of your own, from its probabilities or its distribution function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numbers import number
from statveil.problem.domain import Param
from statveil.problem.family import Family

__all__ = ["Custom"]

Array = NDArray[np.float64]

_POINTS = 2001
_BLOCK = 4_000_000


class Custom(Family):
    """A one-parameter family given by ``pmf(k, theta)`` on counts 0..top, or by ``cdf(x, theta)`` on a range.

    The functions take arrays that broadcast. Everything else (moments, quantiles, draws, W1) is computed.

    Examples
    --------
    >>> import numpy as np
    >>> from statveil import Custom
    >>> coin = Custom(parameter="p", pmf=lambda k, p: np.where(k == 1, p, 1 - p), top=1, domain=(0, 1))
    >>> float(coin.mean({"p": 0.25}))
    0.25
    """

    name: ClassVar[str] = "custom"
    doc: ClassVar[str] = "a family of your own, from its pmf or cdf"
    portable: ClassVar[bool] = False
    secrets: ClassVar[tuple[str, ...]] = ("mean", "std")

    def __init__(
        self,
        *,
        parameter: str,
        domain: tuple[float, float],
        pmf: Callable[[Array, Array], ArrayLike] | None = None,
        top: int | None = None,
        cdf: Callable[[Array, Array], ArrayLike] | None = None,
        support: tuple[float, float] | None = None,
        label: str = "custom",
    ) -> None:
        if (pmf is None) == (cdf is None):
            raise ProblemError("give either pmf and top (counts), or cdf and support (continuous values).")
        if not callable(pmf if pmf is not None else cdf):
            raise ProblemError("the pmf or cdf must be a function of a value and the parameter.")
        if pmf is not None and (isinstance(top, bool) or not isinstance(top, int) or not 1 <= top <= 1_000_000):
            raise ProblemError(f"counts need 'top', a largest count from 1 to 1,000,000. Got {top!r}.")
        self._low, self._high = _range("the domain", domain)
        self._parameter, self._label, self._pmf, self._cdf = str(parameter), str(label), pmf, cdf
        if pmf is not None:
            self._x = np.arange(float(top or 0) + 1)
        else:
            self._x = np.linspace(*_range("'support', the range that holds all values,", support), _POINTS)

    @classmethod
    def example(cls) -> Custom:
        """A coin: 1 with probability p."""
        return cls(parameter="p", pmf=lambda k, p: np.where(k == 1, p, 1 - p), top=1, domain=(0, 1))

    @property
    def counts(self) -> bool:
        """Whether the values are counts."""
        return self._pmf is not None

    @property
    def params(self) -> tuple[Param, ...]:
        width = self._high - self._low
        typical = (self._low + 0.2 * width, self._high - 0.2 * width)
        return (Param(name=self._parameter, low=self._low, high=self._high, typical=typical, doc="its parameter"),)

    def settings(self) -> dict[str, Any]:
        return {"label": self._label}

    def _theta(self, params: Mapping[str, ArrayLike]) -> Array:
        return np.asarray(params[self._parameter], dtype=np.float64)

    def _masses(self, theta: Array) -> Array:
        """Probabilities of the counts, or cdf at the points, along a new last axis."""
        function = self._pmf if self._pmf is not None else self._cdf
        assert function is not None
        shape = (*theta.shape, len(self._x))
        values = np.asarray(function(self._x, theta[..., None]))
        fits = all(n in (1, m) for n, m in zip(values.shape[::-1], shape[::-1], strict=False))
        if values.dtype.kind not in "biuf" or values.ndim > len(shape) or not fits:
            raise ProblemError(
                f"the pmf or cdf of {self._label!r} must give one real number for each value and parameter, as arrays "
                f"that broadcast. Got {values.dtype} of shape {values.shape}."
            )
        return np.broadcast_to(values.astype(np.float64), shape)

    def _below(self, theta: Array) -> Array:
        masses = self._masses(theta)
        return np.cumsum(masses, axis=-1) if self.counts else masses

    def _integrals(self, theta: Array, of: Callable[[Array], Array]) -> Array:
        """``of`` applied to the masses or the cdf, a block of parameters at a time, so that memory stays bounded."""
        flat = np.atleast_1d(theta).ravel()
        size = max(1, _BLOCK // len(self._x))
        parts = [np.asarray(of(flat[i : i + size])) for i in range(0, len(flat), size)]
        return np.concatenate(parts).reshape(theta.shape) if parts else np.zeros(theta.shape)

    @cached_property
    def _weights(self) -> Array:
        """Simpson's rule on the points of a continuous family: the error falls with the fourth power of their gap."""
        weights = np.full(len(self._x), 2.0)
        weights[1::2] = 4.0
        weights[[0, -1]] = 1.0
        scaled: Array = weights * (self._x[1] - self._x[0]) / 3
        return scaled

    def mean(self, params: Mapping[str, ArrayLike]) -> Array:
        if self.counts:
            return self._integrals(self._theta(params), lambda t: self._masses(t) @ self._x)
        return self._integrals(self._theta(params), lambda t: self._x[-1] - self._below(t) @ self._weights)

    def std(self, params: Mapping[str, ArrayLike]) -> Array:
        top = self._x[-1]

        def square(theta: Array) -> Array:
            if self.counts:
                return np.asarray(self._masses(theta) @ (self._x**2))
            return np.asarray(top**2 - self._below(theta) @ (2 * self._x * self._weights))

        variance = self._integrals(self._theta(params), square) - self.mean(params) ** 2
        spread: Array = np.sqrt(np.maximum(variance, 0.0))
        return spread

    def cdf(self, x: ArrayLike, params: Mapping[str, ArrayLike]) -> Array:
        at, theta = np.broadcast_arrays(np.asarray(x, dtype=np.float64), self._theta(params))
        if not self.counts:
            assert self._cdf is not None
            return np.asarray(self._cdf(at, theta), dtype=np.float64)
        below = self._below(theta)
        index = np.clip(np.floor(at), -1, len(self._x) - 1).astype(int)
        found = np.take_along_axis(below, np.maximum(index, 0)[..., None], axis=-1)[..., 0]
        return np.where(index < 0, 0.0, found)

    def pmf(self, k: ArrayLike, params: Mapping[str, ArrayLike]) -> Array:
        if not self.counts:
            return super().pmf(k, params)
        return self.cdf(k, params) - self.cdf(np.asarray(k) - 1.0, params)

    def quantile(self, alpha: ArrayLike, params: Mapping[str, ArrayLike]) -> Array:
        level, theta = np.broadcast_arrays(np.asarray(alpha, dtype=np.float64), self._theta(params))
        below = self._below(theta)
        index = np.minimum((below < level[..., None] - 1e-12).sum(axis=-1), len(self._x) - 1)
        return np.asarray(self._x[index], dtype=np.float64)

    def sample(self, params: Mapping[str, float], size: int, rng: Generator) -> Array:
        below = self._below(np.asarray(self._theta(params)))
        if self.counts:
            index = np.minimum(np.searchsorted(below, rng.random(size)), len(self._x) - 1)
            return np.asarray(self._x[index], dtype=np.float64)
        return np.asarray(np.interp(rng.random(size), below, self._x), dtype=np.float64)

    def w1(self, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> Array:
        one, two = np.broadcast_arrays(self._theta(a), self._theta(b))
        pairs = np.stack([one.ravel(), two.ravel()])
        weights = np.concatenate([np.ones(len(self._x) - 1), [0.0]]) if self.counts else self._weights
        size = max(1, _BLOCK // len(self._x))
        found = [
            np.abs(self._below(pairs[0, i : i + size]) - self._below(pairs[1, i : i + size])) @ weights
            for i in range(0, pairs.shape[1], size)
        ]
        return np.concatenate(found).reshape(one.shape) if found else np.zeros(one.shape)

    def support_top(self, params: Mapping[str, ArrayLike]) -> int:
        """Largest count."""
        return len(self._x) - 1

    def ordered(self, low: float, high: float) -> bool:
        """Whether larger parameters always mean larger values, or always smaller ones (stochastic order)."""
        below = self._below(np.linspace(low, high, 129))
        valid = (
            np.all(np.isfinite(below)) and np.all(np.diff(below, axis=1) >= -1e-12) and np.all(below[:, 0] >= -1e-12)
        )
        if not (valid and np.all(np.abs(below[:, -1] - 1) <= 1e-6)):
            raise ProblemError(
                f"the {'pmf' if self.counts else 'cdf'} of {self._label!r} is no distribution on its values for every "
                "parameter that the prior allows: no share may be negative, the cdf must rise to 1. Check it, or widen "
                f"{'top' if self.counts else 'support'}."
            )
        steps = np.diff(below, axis=0)
        return bool(np.all(steps <= 1e-12) or np.all(steps >= -1e-12))


def _range(what: str, ends: object) -> tuple[float, float]:
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise ProblemError(f"{what} must be a pair (low, high). Got {ends!r}.")
    low, high = (number(end, f"an end of {what}") for end in ends)
    if low >= high:
        raise ProblemError(f"{what} must have its smaller end first. Got {low:g}, {high:g}.")
    return low, high
