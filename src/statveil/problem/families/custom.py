"""A family of your own, from its probabilities or its distribution function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

_POINTS = 4001


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
        if pmf is not None and (top is None or not 1 <= top <= 1_000_000):
            raise ProblemError(f"counts need 'top', a largest count from 1 to 1,000,000. Got {top!r}.")
        if cdf is not None and support is None:
            raise ProblemError("a cdf needs 'support', the range that holds all values for every parameter.")
        self._low, self._high = (number(end, "an end of the domain") for end in domain)
        self._parameter, self._label, self._pmf, self._cdf = str(parameter), str(label), pmf, cdf
        ends = (0.0, float(top or 0)) if support is None else support
        self._x = np.arange(ends[1] + 1) if pmf is not None else np.linspace(ends[0], ends[1], _POINTS)

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
        values = np.asarray(function(self._x, theta[..., None]), dtype=np.float64)
        return np.broadcast_to(values, (*theta.shape, len(self._x)))

    def _below(self, theta: Array) -> Array:
        masses = self._masses(theta)
        return np.cumsum(masses, axis=-1) if self.counts else masses

    def mean(self, params: Mapping[str, ArrayLike]) -> Array:
        theta = self._theta(params)
        if self.counts:
            return np.asarray(self._masses(theta) @ self._x)
        return np.asarray(self._x[-1] - np.trapezoid(self._below(theta), self._x, axis=-1))

    def std(self, params: Mapping[str, ArrayLike]) -> Array:
        theta = self._theta(params)
        mean = self.mean(params)
        if self.counts:
            square = self._masses(theta) @ (self._x**2)
        else:
            square = self._x[-1] ** 2 - np.trapezoid(2 * self._x * self._below(theta), self._x, axis=-1)
        spread: Array = np.sqrt(np.maximum(square - mean**2, 0.0))
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
            return self._x[np.minimum(np.searchsorted(below, rng.random(size)), len(self._x) - 1)]
        return np.interp(rng.random(size), below, self._x)

    def w1(self, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> Array:
        gap = np.abs(self._below(self._theta(a)) - self._below(self._theta(b)))
        return np.asarray(gap[..., :-1].sum(axis=-1) if self.counts else np.trapezoid(gap, self._x, axis=-1))

    def support_top(self, params: Mapping[str, ArrayLike]) -> int:
        """Largest count."""
        return len(self._x) - 1

    def ordered(self, low: float, high: float) -> bool:
        """Whether larger parameters always mean larger values, or always smaller ones (stochastic order)."""
        steps = np.diff(self._below(np.linspace(low, high, 129)), axis=0)
        return bool(np.all(steps <= 1e-12) or np.all(steps >= -1e-12))
