"""A continuous distribution of SciPy as a public shape."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from statveil.errors import ProblemError, unknown_name
from statveil.numbers import LARGEST
from statveil.numeric import Array
from statveil.problem.shapes.integrals import Tail, tail_of
from statveil.problem.shapes.partial_means import PARTIAL_MEANS, Partial
from statveil.problem.shapes.standard import Standard

__all__ = ["ScipyShape", "scipy_shape"]

_ALIASES = {
    "normal": "norm",
    "gaussian": "norm",
    "lognormal": "lognorm",
    "exponential": "expon",
    "student": "t",
    "weibull": "weibull_min",
    "gumbel": "gumbel_r",
}
_SLOW = ("levy_stable", "studentized_range")
_AGREE = 1e-8
"""By how much, against the spread, SciPy's mean may differ from that of its quantiles (1,000 times that: the std)."""


@lru_cache(maxsize=64)
def scipy_shape(name: str, args: tuple[float, ...]) -> ScipyShape:
    """The shape by name and shape arguments."""
    return ScipyShape(name, args)


class ScipyShape(Standard):
    """A continuous distribution of :mod:`scipy.stats` with its shape arguments, at loc 0 and scale 1."""

    def __init__(self, name: str, args: tuple[float, ...]) -> None:
        known = _ALIASES.get(name, name)
        self.label = f"{known}({','.join(repr(value).removesuffix('.0') for value in args)})" if args else known
        dist = _distribution(known, name)
        _check_arguments(dist, known, args)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._dist: Any = dist(*args)
            self._closed: Partial | None = None
            self._tails: tuple[Tail, Tail] | None = None
            try:
                self._measure(known, args)
            except (ValueError, ArithmeticError, RuntimeError) as error:
                if isinstance(error, ProblemError):
                    raise
                raise ProblemError(self._rough()) from None  # SciPy itself gives up

    def _measure(self, name: str, args: tuple[float, ...]) -> None:
        low, high = (float(end) for end in self._dist.support())
        self.support = low, high
        self._check_quantiles()
        mean, variance = (float(value) for value in self._dist.stats(moments="mv"))
        # SciPy has nan where there is none
        self.mean = mean if math.isfinite(mean) else math.inf
        self.std = math.sqrt(variance) if math.isfinite(variance) and math.isfinite(mean) else math.inf
        spread = self.iqr + abs(self.median) * 2.0**-50
        self.error = 2e-16 * (abs(self.median) + spread)
        if not math.isfinite(self.mean):
            return
        if abs(self.mean) + self.iqr > LARGEST:
            raise ProblemError(self._rough())
        if name in PARTIAL_MEANS:
            self._closed = PARTIAL_MEANS[name](*args)
        else:
            self._integrate(spread)

    def _check_quantiles(self) -> None:
        """Refuse a distribution whose quantiles do not invert its shares, where the theory would compute nonsense."""
        levels = np.concatenate([[1e-6, 1e-4], np.linspace(0.01, 0.99, 49), [1 - 1e-4, 1 - 1e-6]])
        values = np.asarray(self._dist.ppf(levels), dtype=np.float64)
        back = np.asarray(self._dist.cdf(values), dtype=np.float64)
        fine = np.all(np.isfinite(values)) and np.all(np.diff(values) >= 0) and values[0] < values[-1]
        if not (fine and self.iqr > 0 and np.all(np.abs(back - levels) <= 1e-9)):
            raise ProblemError(
                f"SciPy's quantiles and shares of the shape {self.label} do not fit together, so nothing can be "
                "computed with it; choose other arguments, another shape or a table of its quantiles."
            )

    def _integrate(self, spread: float) -> None:
        """Both tails by Gauss rules, and the mean that they give, held against SciPy's."""
        dist, centre = self._dist, self.median
        lower = tail_of(lambda p: centre - dist.ppf(p), lambda x: dist.cdf(centre - x), spread)
        upper = tail_of(lambda p: dist.isf(p) - centre, lambda x: dist.sf(centre + x), spread)
        if lower is None or upper is None:
            raise ProblemError(self._rough())
        down, up = float(lower.rest[0]), float(upper.rest[0])
        mean, size = centre + up - down, up + down
        off = abs(mean - self.mean)
        std = math.sqrt(max(lower.second + upper.second - (mean - centre) ** 2, 0.0))
        if not (off <= _AGREE * size and (math.isinf(self.std) or abs(std - self.std) <= 1000 * _AGREE * self.std)):
            raise ProblemError(self._rough())
        self.error += off + 1e-14 * size
        self._tails = lower, upper

    def _rough(self) -> str:
        return (
            f"SciPy's quantiles of the shape {self.label} do not give the mean and standard deviation that it states, "
            "so distances would be off; its tails are too heavy. Choose other arguments, another shape or a table of "
            "its quantiles."
        )

    def quantile(self, level: ArrayLike) -> Array:
        return self._of(self._dist.ppf, level)

    def upper_quantile(self, share: ArrayLike) -> Array:
        return self._of(self._dist.isf, share)

    def cdf(self, z: ArrayLike) -> Array:
        return self._of(self._dist.cdf, z)

    def _of(self, function: Callable[[Array], Any], x: ArrayLike) -> Array:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(function(np.asarray(x, dtype=np.float64)), dtype=np.float64)

    def sample(self, size: int, rng: Generator) -> Array:
        return np.asarray(self._dist.rvs(size=size, random_state=rng), dtype=np.float64)

    def below(self, z: Array) -> Array:
        if self._tails is not None:
            return self._tails[0].beyond(self.median - z)
        assert self._closed is not None
        return np.where(z > self.support[0], self._closed(self._inside(z))[0], 0.0)

    def above(self, z: Array) -> Array:
        if self._tails is not None:
            return self._tails[1].beyond(z - self.median)
        assert self._closed is not None
        return np.where(z < self.support[1], self._closed(self._inside(z))[1], 0.0)

    def _inside(self, z: Array) -> Array:
        return np.clip(z, *self.support)

    def to_json(self) -> str:
        return self.label


def _distribution(known: str, given: str) -> Any:
    from scipy import stats

    found = vars(stats).get(known)
    if known in _SLOW or not isinstance(found, stats.rv_continuous):
        names = [n for n, d in vars(stats).items() if isinstance(d, stats.rv_continuous) and n not in _SLOW]
        raise ProblemError(unknown_name("shape", given, sorted(names)))
    return found


def _check_arguments(dist: Any, name: str, args: tuple[float, ...]) -> None:
    needed = [part.strip() for part in dist.shapes.split(",")] if dist.shapes else []
    if len(args) != len(needed):
        form = f"{name}({','.join(needed)})" if needed else name
        raise ProblemError(
            f"the shape {name!r} is written {form}: {len(needed)} number{'s' * (len(needed) != 1)}, without location "
            f"and scale, which are the parameters of the column. Got {len(args)}."
        )
    if not all(math.isfinite(value) for value in args) or not bool(np.all(dist._argcheck(*args))):
        shown = ", ".join(f"{value:g}" for value in args)
        raise ProblemError(f"the shape {name!r} does not exist for the arguments {shown}; choose others.")
