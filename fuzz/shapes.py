"""Standard columns Z of which others are loc + scale Z: moments, quantiles and E|a + b Z|, with SciPy alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["SHAPES", "TABLES", "Standard", "standard"]

Array = NDArray[np.float64]

SHAPES = (
    "norm",
    "uniform",
    "expon",
    "logistic",
    "laplace",
    "gumbel_r",
    "lognorm(0.5)",
    "lognorm(1)",
    "t(3)",
    "t(5)",
    "gamma(0.7)",
    "gamma(2)",
    "weibull_min(1.5)",
    "pareto(3)",
    "beta(2, 5)",
    "skewnorm(4)",
    "invgauss(0.5)",
)
TABLES = (
    {0.0: 1.0, 0.5: 3.0, 0.9: 8.0, 1.0: 20.0},
    {0.0: -2.0, 0.25: -1.0, 0.75: 1.5, 1.0: 2.0},
    {0.0: 0.0, 0.1: 0.01, 0.6: 5.0, 0.99: 9.0, 1.0: 60.0},
)
_X, _W = np.polynomial.legendre.leggauss(24)
_TAIL = 10.0 ** np.arange(-15, -1.5, 0.5)
_EDGES = np.concatenate([_TAIL, np.linspace(0.05, 0.95, 46), 1 - _TAIL[::-1]])


@dataclass(frozen=True, kw_only=True)
class Standard:
    """One Z: its moments, its quantiles, and the integral of its quantile function up to a level."""

    mean: float
    std: float
    low: float
    high: float
    levels: Array
    """Where the integral is known; between them the quantile function is smooth."""
    until: Array
    law: Any = None
    values: Array | None = None

    def ppf(self, u: Any) -> Array:
        """Quantiles."""
        if self.values is not None:
            return np.asarray(np.interp(u, self.levels, self.values))
        return np.asarray(self.law.ppf(u), dtype=float)

    def cdf(self, z: Array) -> Array:
        """Shares below."""
        if self.values is not None:
            return np.asarray(np.interp(z, self.values, self.levels))
        return np.asarray(self.law.cdf(z), dtype=float)

    def integral(self, u: Array) -> Array:
        """The integral of the quantile function from the lowest level to ``u``."""
        u = np.clip(u, self.levels[0], self.levels[-1])
        at = np.clip(np.searchsorted(self.levels, u, side="right") - 1, 0, len(self.levels) - 2)
        half = 0.5 * (u - self.levels[at])
        nodes = self.levels[at][..., None] + half[..., None] * (1 + _X)
        return np.asarray(self.until[at] + half * (self.ppf(nodes) * _W).sum(axis=-1))

    def trimmed(self, share: float) -> float:
        """The mean of what is left without this share at each end."""
        ends = self.integral(np.array([share, 1 - share]))
        return float(ends[1] - ends[0]) / (1 - 2 * share)

    def length(self, a: Array, b: Array) -> Array:
        """E|a + b Z|, cut at the outermost levels: never above the truth."""
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.where(b != 0, -a / np.where(b == 0, 1.0, b), 0.0)
        first, last = float(self.levels[0]), float(self.levels[-1])
        turn = np.clip(self.cdf(root), first, last)
        below = a * (turn - first) + b * self.integral(turn)
        above = a * (last - turn) + b * (self.until[-1] - self.integral(turn))
        return np.where(b == 0, np.abs(a), np.abs(below) + np.abs(above))


def standard(of: Any) -> Standard:
    """The shape that a plan's JSON states."""
    if isinstance(of, Mapping):
        return _table(tuple(of["levels"]), tuple(of["values"]))
    return _scipy(str(of))


@cache
def _scipy(text: str) -> Standard:
    name, _, inside = text.partition("(")
    law = getattr(stats, name)(*(float(number) for number in re.findall(r"[\d.]+", inside)))
    half = 0.5 * np.diff(_EDGES)
    nodes = _EDGES[:-1, None] + half[:, None] * (1 + _X)
    until = np.concatenate([[0.0], np.cumsum(half * (law.ppf(nodes) * _W).sum(axis=1))])
    low, high = law.support()
    return Standard(
        mean=float(law.mean()),
        std=float(law.std()),
        low=float(low),
        high=float(high),
        levels=_EDGES,
        until=until,
        law=law,
    )


@cache
def _table(levels: tuple[float, ...], values: tuple[float, ...]) -> Standard:
    u, z = np.array(levels, dtype=float), np.array(values, dtype=float)
    mass = np.diff(u)
    mean = float((mass * (z[1:] + z[:-1])).sum() / 2)
    square = float((mass * (z[1:] ** 2 + z[1:] * z[:-1] + z[:-1] ** 2)).sum() / 3)
    until = np.concatenate([[0.0], np.cumsum(mass * (z[1:] + z[:-1]) / 2)])
    return Standard(
        mean=mean,
        std=float(np.sqrt(square - mean**2)),
        low=float(z[0]),
        high=float(z[-1]),
        levels=u,
        until=until,
        values=z,
    )
