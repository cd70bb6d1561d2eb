"""Mean, standard deviation and quantile of a histogram whose rows lie uniformly inside their bins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from statveil.alternatives.alternative import Array
from statveil.errors import ProblemError

__all__ = ["HistogramNumbers", "histogram_mean", "histogram_quantile", "histogram_std"]


def _shares(counts: Array) -> Array:
    if np.any(counts < 0) or not counts.sum() > 0:
        raise ProblemError("the counts of a histogram must be 0 or more, and not all 0.")
    shares: Array = counts / counts.sum()
    return shares


def histogram_mean(counts: Array, edges: Array) -> float:
    """Mean of the histogram.

    >>> histogram_mean(np.array([1.0, 3.0]), np.array([0.0, 2.0, 4.0]))
    2.5
    """
    return float(_shares(counts) @ ((edges[1:] + edges[:-1]) / 2))


def histogram_std(counts: Array, edges: Array) -> float:
    """Standard deviation of the histogram: between the bins and, width^2 / 12, inside them."""
    middle = (edges[1:] + edges[:-1]) / 2 - histogram_mean(counts, edges)
    return math.sqrt(float(_shares(counts) @ (middle**2 + np.diff(edges) ** 2 / 12)))


def histogram_quantile(counts: Array, edges: Array, alpha: float) -> float:
    """The least value below which a share ``alpha`` of the histogram lies.

    >>> histogram_quantile(np.array([1.0, 3.0]), np.array([0.0, 2.0, 4.0]), 0.5)
    2.6666666666666665
    """
    if not 0 < alpha < 1:
        raise ProblemError(f"the quantile must lie between 0 and 1. Got {alpha!r}.")
    shares = _shares(counts)
    below = np.cumsum(shares)
    bin = min(int(np.searchsorted(below, alpha)), len(shares) - 1)
    inside = (alpha - (below[bin] - shares[bin])) / shares[bin] if shares[bin] > 0 else 1.0
    return float(edges[bin] + np.clip(inside, 0.0, 1.0) * (edges[bin + 1] - edges[bin]))


@dataclass(frozen=True, slots=True, eq=False)
class HistogramNumbers:
    """A histogram as a column of which only the counts are known."""

    counts: Array
    edges: Array

    @property
    def rows(self) -> int:
        return round(float(self.counts.sum()))

    @property
    def mean(self) -> float:
        return histogram_mean(self.counts, self.edges)

    @property
    def std(self) -> float:
        return histogram_std(self.counts, self.edges)

    def quantile(self, alpha: float) -> float:
        """The quantile."""
        return histogram_quantile(self.counts, self.edges, alpha)

    def share(self, value: float) -> float:
        """No value has a share of its own."""
        return 0.0

    def blocks(self) -> Iterator[Array]:
        """Nothing is known of single rows."""
        raise ProblemError("a histogram has no rows, so this statistic cannot be computed from one.")
