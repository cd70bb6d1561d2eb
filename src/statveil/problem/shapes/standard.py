"""A public shape Z: what the theory of X = loc + scale Z asks of it, and the best direction that follows.

Both tails are kept apart, each as a sum of positive terms, so that nothing cancels where a pivot lies far out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from statveil.numeric import Array, halved

__all__ = ["Standard"]


class Standard(ABC):
    """A distribution Z that everyone knows: SciPy's, or a table of quantiles."""

    label: str
    """How people write it: ``lognorm(1)``."""
    mean: float
    """E Z; infinite where the tails are too heavy for one."""
    std: float
    """Standard deviation; infinite where there is none."""
    support: tuple[float, float]
    """Smallest and largest value, or infinity."""
    error: float
    """How far, at most, :meth:`below` and :meth:`above` are off."""
    smooth: bool = True
    """Whether no single value has a share of its own."""

    # --- the distribution ---------------------------------------------------------------------
    @abstractmethod
    def quantile(self, level: ArrayLike) -> Array:
        """Quantile function Q."""

    @abstractmethod
    def upper_quantile(self, share: ArrayLike) -> Array:
        """Q(1 - share), exact also for the smallest shares."""

    @abstractmethod
    def cdf(self, z: ArrayLike) -> Array:
        """P(Z <= z)."""

    @abstractmethod
    def sample(self, size: int, rng: Generator) -> Array:
        """Independent draws."""

    @abstractmethod
    def below(self, z: Array) -> Array:
        """E(z - Z)^+ for z up to the median."""

    @abstractmethod
    def above(self, z: Array) -> Array:
        """E(Z - z)^+ for z from the median up."""

    @abstractmethod
    def to_json(self) -> Any:
        """What :func:`statveil.problem.shapes.reading.standard_of` makes the same shape of."""

    @cached_property
    def median(self) -> float:
        """The median."""
        return float(self.quantile(0.5))

    @cached_property
    def iqr(self) -> float:
        """Distance of the quartiles."""
        return float(self.quantile(0.75) - self.quantile(0.25))

    # --- Wasserstein-1 and its best direction -------------------------------------------------
    def away(self, x: ArrayLike) -> Array:
        """E|Z - x|, rounded up; infinite where Z has no mean."""
        at = np.asarray(x, dtype=np.float64)
        if not math.isfinite(self.mean):
            return np.full(at.shape, np.inf)
        low = at <= self.median
        inner = np.where(low, at, self.median)
        outer = np.where(low, self.median, at)
        # E|Z - x| = m - x + 2 E(x - Z)^+ = x - m + 2 E(Z - x)^+
        found = np.where(low, self.mean - inner + 2 * self.below(inner), outer - self.mean + 2 * self.above(outer))
        return found * (1 + 4e-16) + 2 * self.error

    @cached_property
    def _pivots(self) -> dict[float, tuple[float | None, float]]:
        return {}

    def best_pivot(self, c: float) -> tuple[float | None, float]:
        """Where to stretch about so that loc + c scale changes most per W1, and gamma rounded down.

        The line of slope c through (1/2, m/2) meets the curve L(u) = int_0^u Q at one u0 besides its ends (its value
        there is u Q(u) - E(Q(u) - Z)^+, also across atoms); gamma = |u0 - 1/2|, and the pivot is Q(u0). Below 1/2 a u
        on the far side of the curve certifies gamma >= |u - 1/2|, so the inner end of the bracket is taken. ``None``
        is the pure shift: c is the mean, or so near that the pivot lies beyond all rows.
        """
        if c not in self._pivots:
            self._pivots[c] = self._found_pivot(c)
        return self._pivots[c]

    def _found_pivot(self, c: float) -> tuple[float | None, float]:
        half, slack = 0.5 * abs(c - self.mean), self.error + 4e-16 * (abs(c) + abs(self.mean))
        if half <= slack:
            return None, 0.5
        lower = c > self.mean

        def beyond(u: float) -> bool:
            if lower:
                z = self.quantile(u)
                tail = (c - z) * u + self.below(z)
            else:
                z = self.upper_quantile(u)
                tail = (z - c) * u + self.above(z)
            return bool(tail > half + slack + 4e-16 * abs(z) * u)

        _, u = halved(beyond, 0.0, 0.5, close=1e-16, steps=90)
        pivot = float(self.quantile(u) if lower else self.upper_quantile(u))
        return (None if u < 1e-12 or not math.isfinite(pivot) else pivot), 0.5 - u
