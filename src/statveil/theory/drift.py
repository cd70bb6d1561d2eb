"""How a statistic drifts from one month to the next: a density of the change, seen through cells of a lattice.

From a cell a value moves as if it lay evenly in it: the chance of the next cell is a second difference of the integral
of the distribution function. What that neglects is bounded (docs/series.md): the law of all cells of a path is off by
at most (V h)^2 / 16 a month in total variation, V the variation of the density of the change, h the largest cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from statveil.errors import ProblemError
from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.problem.priors.density import Density, in_scipys_terms

__all__ = ["Drift", "drift_density"]

_TAIL = 1e-9
"""Mass of each tail of a density that is cut off; it counts as hit."""
_NODES = 8193


def drift_density(name: str, args: tuple[float, ...]) -> Density:
    """A density without a range, cut where next to nothing of it is left.

    >>> density = drift_density("normal", (0.0, 0.5))
    >>> round(density.low, 2), round(density.high, 2)
    (-3.0, 3.0)
    """
    from scipy import stats

    known, given = in_scipys_terms(name, args)
    found = getattr(stats, known, None)
    ends = (-1.0, 1.0)
    if isinstance(found, stats.rv_continuous):
        try:
            with np.errstate(all="ignore"):
                frozen = found(*given)
                ends = float(frozen.ppf(_TAIL)), float(frozen.isf(_TAIL))
        except TypeError:
            ends = (-1.0, 1.0)
    if not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] < ends[1]):
        ends = (-1.0, 1.0)
    if ends[1] - ends[0] > 1e6 * max(1e-300, *(abs(value) for value in given)):
        raise ProblemError(f"the drift {name} has tails that are too heavy; state one with a finite spread.")
    return Density(name, args, low=ends[0], high=ends[1])


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Change from one month to the next: a belief, turned over where the scale of the secret is, and a known trend."""

    density: Axis
    trend: float = 0.0
    turned: bool = False

    @property
    def variation(self) -> float:
        """V: total variation of the density, its fall to nothing at both ends included."""
        hair = 1e-9 * self.density.width
        at = np.clip(np.unique(self.density.turns), self.density.low + hair, self.density.high - hair)
        at = np.concatenate([[self.density.low + hair], at, [self.density.high - hair]])
        height = self.density.pdf(at)
        return float(np.abs(np.diff(height)).sum() + height[0] + height[-1]) * (1 + 1e-6)

    def neglected(self, size: float, months: int, first: float) -> float:
        """Total variation, at most, between the cells of a path and those of the chain, over so many months.

        ``first``: how far, on average, the first month's value is from even in its cell (Wasserstein-1). From then on
        given its cells, a value has a density that is the change's, seen through one cell: its variation is at most V
        in all, so that it is at most V h^2 / 8 from even on average; and moving a value by w moves its next by w V / 2.
        """
        if months < 2:
            return 0.0
        later = (months - 2) * self.variation * size**2 / 8
        return 0.5 * self.variation * (first + later) + (months - 1) * self.cut

    @property
    def cut(self) -> float:
        """Mass that is cut off in a month."""
        return 2 * _TAIL if isinstance(self.density, Density) else 0.0

    @cached_property
    def symmetric(self) -> bool:
        """Whether a change and its opposite are equally likely."""
        x = np.linspace(0.0, max(abs(self.density.low), abs(self.density.high)), 257)
        return not self.trend and bool(np.abs(self.density.cdf(x) + self.density.cdf(-x) - 1).max() <= 1e-12)

    @property
    def ends(self) -> tuple[float, float]:
        """Least and largest change of a month."""
        low, high = self.density.low, self.density.high
        return (-high + self.trend, -low + self.trend) if self.turned else (low + self.trend, high + self.trend)

    @property
    def mean_size(self) -> float:
        """E|change|, rounded up."""
        u = (np.arange(200_000) + 0.5) / 200_000
        return float(np.abs(self._signed(self.density.ppf(u)) + self.trend).mean()) * (1 + 1e-4)

    def _signed(self, change: Array) -> Array:
        return -change if self.turned else change

    @cached_property
    def _integral(self) -> tuple[Any, Array]:
        """The integral of the distribution function of the change without trend, as a spline that is true to 1e-12."""
        from scipy.interpolate import CubicHermiteSpline

        axis = self.density
        parts = [np.linspace(axis.low, axis.high, _NODES), axis.ppf(np.linspace(0.0, 1.0, _NODES)), axis.turns]
        x = np.unique(np.clip(np.concatenate(parts), axis.low, axis.high))
        x = x[np.concatenate([[True], np.diff(x) > 1e-9 * axis.width])]
        hair = 1e-12 * axis.width
        below, left, right = axis.cdf(x), axis.pdf(x[:-1] + hair), axis.pdf(x[1:] - hair)
        gap = np.diff(x)
        # the trapezoid with its end correction, exact for cubics
        area = 0.5 * gap * (below[1:] + below[:-1]) + gap**2 / 12 * (left - right)
        total = np.concatenate([[0.0], np.cumsum(area)])
        return CubicHermiteSpline(x, total, below), x

    def _upto(self, x: Array) -> Array:
        """Integral of P(change without trend <= .) up to x."""
        spline, nodes = self._integral
        inside = np.clip(x, nodes[0], nodes[-1])
        return np.asarray(spline(inside) + np.maximum(x - nodes[-1], 0.0))

    def between(self, start: Array, stop: Array) -> Array:
        """Chance of each cell (edges ``stop``) of the next month, for values even in each cell (edges ``start``)."""
        apart = stop[None, :] - start[:, None] - self.trend
        # P(-X <= x) = 1 - P(X < -x): its integral is x plus that of X's at -x, up to a constant
        whole = apart + self._upto(-apart) if self.turned else self._upto(apart)
        mixed = whole[:-1, 1:] - whole[1:, 1:] - whole[:-1, :-1] + whole[1:, :-1]
        return np.maximum(mixed / np.diff(start)[:, None], 0.0)
