"""A family of your own, from its probabilities or its distribution function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from statveil.errors import ProblemError
from statveil.numbers import number
from statveil.numeric import Array, Index, bisected
from statveil.problem.domain import Param
from statveil.problem.family import Family
from statveil.problem.mass_quadrature import Integral, integrated, outwards

__all__ = ["Custom"]


_BLOCK = 4_000_000
_THETAS = 512
"""Parameters whose integrals are done together."""
_KEPT = 24
_ROUGHLY = 72
"""Halvings of the support that find where to look; any centre gives the same moments."""
_RESOLVED = 1e-14
"""A share that a distribution function near 1 still shows."""


class Custom(Family):
    """A one-parameter family given by ``pmf(k, theta)`` on counts 0..top, or by ``cdf(x, theta)`` on a range.

    The functions take arrays that broadcast. Everything else (moments, quantiles, draws, W1) is computed, by rules
    that look for the mass, so the support may be wide. Values beyond the support count as its end; a family whose
    moments hang on such values is refused.

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
    unresolved: ClassVar[float] = 1e-3
    """Part of the mean deviation, or of the variance, that values too rare to be resolved may carry."""

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
        self._low, self._high = _range("the domain", domain, endless=True)
        self._parameter, self._label, self._pmf, self._cdf = str(parameter), str(label), pmf, cdf
        self._kept: dict[tuple[int, tuple[int, ...], bytes], Array] = {}
        if pmf is not None:
            self._x = np.arange(float(top or 0) + 1)
        else:
            self._x = np.array(_range("'support', the range that holds all values,", support))

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
        low, high = self._low, self._high
        start, width = (low if math.isfinite(low) else min(high - 10, 0.0)), 10.0
        if math.isfinite(low) and math.isfinite(high):
            width = high - low
        typical = (start + 0.2 * width, start + 0.8 * width)
        return (Param(name=self._parameter, low=low, high=high, typical=typical, doc="its parameter"),)

    def settings(self) -> dict[str, Any]:
        return {"label": self._label}

    def _theta(self, params: Mapping[str, ArrayLike]) -> Array:
        return np.asarray(params[self._parameter], dtype=np.float64)

    def _values(self, x: Array, theta: Array) -> Array:
        """The pmf or cdf at points and parameters that broadcast."""
        function = self._pmf if self._pmf is not None else self._cdf
        assert function is not None
        shape = np.broadcast_shapes(x.shape, theta.shape)
        with np.errstate(all="ignore"):
            values = np.asarray(function(x, theta))
        fits = all(n in (1, m) for n, m in zip(values.shape[::-1], shape[::-1], strict=False))
        if values.dtype.kind not in "biuf" or values.ndim > len(shape) or not fits:
            raise ProblemError(
                f"the pmf or cdf of {self._label!r} must give one real number for each value and parameter, as arrays "
                f"that broadcast. Got {values.dtype} of shape {values.shape}."
            )
        return np.broadcast_to(values.astype(np.float64), shape)

    def _counts(self, theta: Array) -> Array:
        """The counts that these parameters can have."""
        return self._x

    def _below(self, theta: Array) -> Array:
        """Shares up to each count, along a new last axis."""
        return np.cumsum(self._values(self._counts(theta), theta[..., None]), axis=-1)

    def _share(self, x: Array, theta: Array) -> Array:
        """The distribution function of a continuous family, refused where it is none."""
        below = self._values(x, theta)
        if not np.all((below >= -1e-9) & (below <= 1 + 1e-9)):
            raise ProblemError(self._no_distribution())
        return np.clip(below, 0.0, 1.0)

    def _no_distribution(self) -> str:
        return (
            f"the {'pmf' if self.counts else 'cdf'} of {self._label!r} is no distribution on its values for every "
            "parameter that the prior allows: no share may be negative, the cdf must rise to 1. Check it, or widen "
            f"{'top' if self.counts else 'support'}."
        )

    # --- moments ------------------------------------------------------------------------------
    def _moments(self, params: Mapping[str, ArrayLike], order: int) -> Array:
        """A centre for each parameter, and the first and second moment about it, along a new last axis.

        Methods ask for the same parameters again and again: the last answers are kept.
        """
        theta = self._theta(params)
        key = order, theta.shape, theta.tobytes()
        if key not in self._kept:
            flat = theta.ravel()
            size = max(1, _BLOCK // len(self._x)) if self.counts else _THETAS
            part = self._counted if self.counts else self._measured
            found = [part(flat[i : i + size], order) for i in range(0, len(flat), size)]
            if len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = np.concatenate([np.zeros((0, 3)), *found]).reshape(*theta.shape, 3)
        return self._kept[key]

    def _counted(self, theta: Array, order: int) -> Array:
        x = self._counts(theta)
        masses = self._values(x, theta[..., None])
        centre = masses @ x
        away = np.abs(x - centre[:, None])
        first, second = (np.einsum("tk,tk->t", masses, away**power) for power in (1, 2))
        missing = np.maximum(1 - masses.sum(axis=-1) - 1e-12, 0.0)
        self._check_tail(missing, self._x[-1] - centre, first if order == 1 else second, order)
        return np.stack([centre, np.zeros(len(theta)), second], axis=-1)

    def _measured(self, theta: Array, order: int) -> Array:
        middle, result = self._integral(theta)
        found = result.value
        # what the distribution function cannot show must not matter
        short = np.maximum(1 - self._share(self._x[-1], theta), _RESOLVED)
        last = self._at_level(1 - short, theta, _ROUGHLY)
        size = found[:, :2].sum(axis=1) if order == 1 else found[:, 2]
        self._check_tail(short, last - middle, size, order)
        error = result.error[:, :2].sum(axis=1) if order == 1 else result.error[:, 2]
        if not np.all(error <= 1e-6 * size):
            raise ProblemError(
                f"the cdf of {self._label!r} is too rough to be integrated for every parameter that the prior allows; "
                "check that it only rises, and narrow 'support' to where the values lie."
            )
        return np.stack([middle, found[:, 0] - found[:, 1], found[:, 2]], axis=-1)

    def _integral(self, theta: Array) -> tuple[Array, Integral]:
        """Centres m near the medians; E(X - m)+, E(m - X)+ and E(X - m)^2."""
        quarter, middle, three = self._quarters(theta)
        panels = outwards(middle, 0.25 * (three - quarter), *self._x.tolist())

        def of(x: Array, owner: Index) -> tuple[Array, Array, Array]:
            below, away = self._share(x, theta[owner][:, None]), x - middle[owner][:, None]
            upper = (away.sum(axis=1) > 0)[:, None]  # no panel lies on both sides
            ones = np.broadcast_to(upper, x.shape)
            weight = np.stack([ones, ~ones, 2 * np.abs(away)], axis=-1).astype(np.float64)
            return np.where(upper, 1 - below, below), weight, below

        return middle, integrated(of, panels, len(theta))

    def _quarters(self, theta: Array) -> Array:
        return self._at_level(np.broadcast_to([[0.25], [0.5], [0.75]], (3, len(theta))), theta, _ROUGHLY)

    def _check_tail(self, share: Array, away: Array, spread: Array, order: int) -> None:
        """Refuse a moment that hangs on values beyond the support, or too rare for a cdf in floating point."""
        if np.any(share * np.abs(away) ** order > self.unresolved * spread):
            what, instead = (
                ("mean", "use a parameter range with lighter tails")
                if order == 1
                else ("standard deviation", "hide the mean instead, or use a parameter range with lighter tails")
            )
            raise ProblemError(
                f"the {what} of {self._label!r} cannot be resolved: values beyond {self._x[-1]:g}, or too rare for the "
                f"{'pmf' if self.counts else 'cdf'} to show, carry more than {self.unresolved:.2g} of it "
                f"(it may be infinite). Widen {'top' if self.counts else 'support'} if values can lie there; if they "
                f"cannot, give a distribution that ends there (divide by its value at the end); or {instead}."
            )

    def mean(self, params: Mapping[str, ArrayLike]) -> Array:
        found = self._moments(params, 1)
        return np.asarray(found[..., 0] + found[..., 1])

    def std(self, params: Mapping[str, ArrayLike]) -> Array:
        found = self._moments(params, 2)
        spread: Array = np.sqrt(np.maximum(found[..., 2] - found[..., 1] ** 2, 0.0))
        return spread

    def cdf(self, x: ArrayLike, params: Mapping[str, ArrayLike]) -> Array:
        at, theta = np.broadcast_arrays(np.asarray(x, dtype=np.float64), self._theta(params))
        if not self.counts:
            return np.where(at < self._x[0], 0.0, np.where(at >= self._x[-1], 1.0, self._share(at, theta)))
        below = self._below(theta)
        index = np.clip(np.floor(at), -1, below.shape[-1] - 1).astype(int)
        found = np.take_along_axis(below, np.maximum(index, 0)[..., None], axis=-1)[..., 0]
        return np.where(index < 0, 0.0, found)

    def pmf(self, k: ArrayLike, params: Mapping[str, ArrayLike]) -> Array:
        if not self.counts:
            return super().pmf(k, params)
        return self.cdf(k, params) - self.cdf(np.asarray(k) - 1.0, params)

    def quantile(self, alpha: ArrayLike, params: Mapping[str, ArrayLike]) -> Array:
        level, theta = np.broadcast_arrays(np.asarray(alpha, dtype=np.float64), self._theta(params))
        if not self.counts:
            return self._at_level(level, theta)
        below = self._below(theta)
        index = np.minimum((below < level[..., None] - 1e-12).sum(axis=-1), below.shape[-1] - 1)
        return np.asarray(self._x[index], dtype=np.float64)

    def _at_level(self, level: Array, theta: Array, steps: int = 128) -> Array:
        """Smallest value whose share up to it reaches the level, by default to the last digit."""
        low, high = (np.full(level.shape, end) for end in self._x)
        _, found = bisected(lambda x: self._share(x, theta) >= level, low, high, steps)
        return np.where(self._share(low, theta) >= level, low, found)

    def sample(self, params: Mapping[str, float], size: int, rng: Generator) -> Array:
        theta = np.asarray(self._theta(params))
        if not self.counts:
            return self._at_level(rng.random(size), np.broadcast_to(theta, (size,)))
        below = self._below(theta)
        index = np.minimum(np.searchsorted(below, rng.random(size)), len(below) - 1)
        return np.asarray(self._x[index], dtype=np.float64)

    def w1(self, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> Array:
        one, two = np.broadcast_arrays(self._theta(a), self._theta(b))
        pairs = np.stack([one.ravel(), two.ravel()])
        size = max(1, _BLOCK // len(self._x)) if self.counts else _THETAS
        part = self._counted_w1 if self.counts else self._measured_w1
        found = [part(*pairs[:, i : i + size]) for i in range(0, pairs.shape[1], size)]
        return np.concatenate(found).reshape(one.shape) if found else np.zeros(one.shape)

    def _counted_w1(self, one: Array, two: Array) -> Array:
        different, place = np.unique(np.concatenate([one, two]), return_inverse=True)
        below = self._below(different)[:, :-1]
        apart: Array = np.abs(below[place[: len(one)]] - below[place[len(one) :]]).sum(axis=1)
        return apart

    def _measured_w1(self, one: Array, two: Array) -> Array:
        """The area between two distribution functions, rounded up by what the rules disagree about."""
        quarters = [self._quarters(theta) for theta in (one, two)]
        centre = 0.5 * (quarters[0][1] + quarters[1][1])
        scale = 0.25 * np.minimum(*(found[2] - found[0] for found in quarters))

        def of(x: Array, owner: Index) -> tuple[Array, Array, Array]:
            first, second = (self._share(x, theta[owner][:, None]) for theta in (one, two))
            return np.abs(first - second), np.ones((*x.shape, 1)), 0.5 * (first + second)

        result = integrated(of, outwards(centre, scale, *self._x.tolist()), len(one))
        area = result.value[:, 0]
        # ordered members: the area is the difference of the means, known better
        means = np.abs(self.mean({self._parameter: one}) - self.mean({self._parameter: two}))
        same = np.abs(area - means) <= 1e-8 * means + result.error[:, 0]
        return np.where(same, means, np.maximum(means, area + result.error[:, 0]))

    def support_top(self, params: Mapping[str, ArrayLike]) -> int:
        """Largest count."""
        return len(self._x) - 1

    def ordered(self, low: float, high: float) -> bool:
        """Whether larger parameters always mean larger values, or always smaller ones (stochastic order)."""
        theta = np.linspace(low, high, 129)
        if self.counts:
            below = self._below(theta)
        else:
            _, found = self._integral(theta[::16])
            points = np.unique(
                np.concatenate([np.linspace(self._x[0], self._x[-1], 257), found.edges])
            )  # where any has its mass
            below = self._values(points, theta[:, None])
        valid = (
            np.all(np.isfinite(below)) and np.all(np.diff(below, axis=1) >= -1e-12) and np.all(below[:, 0] >= -1e-12)
        )
        if not (valid and np.all(np.abs(below[:, -1] - 1) <= 1e-6)):
            raise ProblemError(self._no_distribution())
        steps = np.diff(below, axis=0)
        return bool(np.all(steps <= 1e-12) or np.all(steps >= -1e-12))


def _range(what: str, ends: object, *, endless: bool = False) -> tuple[float, float]:
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise ProblemError(f"{what} must be a pair (low, high). Got {ends!r}.")
    low, high = (
        float(end) if endless and end in (-math.inf, math.inf) else number(end, f"an end of {what}") for end in ends
    )
    if low >= high:
        raise ProblemError(f"{what} must have its smaller end first. Got {low:g}, {high:g}.")
    return low, high
