"""A table of quantiles as a public shape: linear in between, from the smallest value to the largest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from statveil.errors import ProblemError
from statveil.numbers import number
from statveil.numeric import Array
from statveil.problem.shapes.standard import Standard

__all__ = ["LONGEST", "QuantileTable", "table_of_sample"]

LONGEST = 4096
"""Entries of a table; more would only make plans long."""
_KEPT = 513
"""Even levels that are kept of a long sample, besides ever finer ones in its tails."""


class QuantileTable(Standard):
    """Levels from 0 to 1 and the quantiles there."""

    def __init__(self, levels: Sequence[float], values: Sequence[float], label: str = "") -> None:
        if isinstance(levels, str) or isinstance(values, str) or not 2 <= len(levels) == len(values) <= LONGEST:
            raise ProblemError(
                f"a table of quantiles must have 2 to {LONGEST:,} levels and as many values. "
                f"Got {len(levels)} and {len(values)}."
            )
        self.levels = np.array([number(level, "a level of a table of quantiles") for level in levels])
        self.values = np.array([number(value, "a quantile") for value in values])
        if self.levels[0] != 0 or self.levels[-1] != 1 or np.any(np.diff(self.levels) <= 0):
            raise ProblemError(
                "the levels of a table of quantiles must rise from 0 (smallest value) to 1 (largest value). "
                f"Got {self.levels[0]:g} to {self.levels[-1]:g}, or a level that does not rise."
            )
        if np.any(np.diff(self.values) < 0):
            raise ProblemError("the values of a table of quantiles must not fall from one level to the next.")
        if self.values[0] == self.values[-1]:
            raise ProblemError("a table of quantiles that are all the same is no shape; it must have some spread.")
        self.label = str(label)[:200] or f"quantiles({len(levels)} levels)"
        self.support = float(self.values[0]), float(self.values[-1])
        self.smooth = bool(np.all(np.diff(self.values) > 0))
        widths, left, right = np.diff(self.levels), self.values[:-1], self.values[1:]
        # E(q_j - Z)^+ = sum of widths below: u_j (q_j+1 - q_j) plus the triangle of each piece, and from above alike
        rise = right - left
        self._below = np.concatenate([[0.0], np.cumsum((self.levels[:-1] + 0.5 * widths) * rise)])
        self._above = np.concatenate([np.cumsum(((1 - self.levels[1:] + 0.5 * widths) * rise)[::-1])[::-1], [0.0]])
        self.mean = float(np.sum(widths * 0.5 * (left + right)))
        centred = (left - self.mean) ** 2 + (left - self.mean) * (right - self.mean) + (right - self.mean) ** 2
        self.std = math.sqrt(float(np.sum(widths * centred)) / 3)
        self.error = 1e-15 * float(np.max(np.abs(self.values)))

    def quantile(self, level: ArrayLike) -> Array:
        return np.asarray(np.interp(np.asarray(level, dtype=np.float64), self.levels, self.values))

    def upper_quantile(self, share: ArrayLike) -> Array:
        return np.asarray(np.interp(np.asarray(share, dtype=np.float64), 1 - self.levels[::-1], self.values[::-1]))

    def _piece(self, z: Array) -> tuple[Any, Array]:
        """The piece of each value, after all that equal it, and the share below the value."""
        piece = np.clip(np.searchsorted(self.values, z, side="right") - 1, 0, len(self.values) - 2)
        rise = self.values[piece + 1] - self.values[piece]
        part = np.where(rise > 0, (z - self.values[piece]) / np.where(rise > 0, rise, 1.0), 1.0)
        return piece, self.levels[piece] + np.clip(part, 0.0, 1.0) * (self.levels[piece + 1] - self.levels[piece])

    def cdf(self, z: ArrayLike) -> Array:
        at = np.asarray(z, dtype=np.float64)
        found = self._piece(at)[1]
        return np.where(at < self.values[0], 0.0, np.where(at >= self.values[-1], 1.0, found))

    def sample(self, size: int, rng: Generator) -> Array:
        return self.quantile(rng.random(size))

    def below(self, z: Array) -> Array:
        at = np.clip(z, *self.support)
        piece, share = self._piece(at)
        return np.asarray(self._below[piece] + 0.5 * (self.levels[piece] + share) * (at - self.values[piece]))

    def above(self, z: Array) -> Array:
        at = np.clip(z, *self.support)
        piece, share = self._piece(at)
        rest = self.values[piece + 1] - at
        return np.asarray(self._above[piece + 1] + 0.5 * (2 - share - self.levels[piece + 1]) * rest)

    def to_json(self) -> dict[str, Any]:
        return {"levels": self.levels.tolist(), "values": self.values.tolist(), "label": self.label}


def table_of_sample(sample: ArrayLike, label: str = "") -> QuantileTable:
    """The quantiles of a public sample: all of a short one, about 600 of a long one, denser in the tails."""
    try:
        values = np.sort(np.asarray(sample, dtype=np.float64).ravel())
    except (TypeError, ValueError):
        raise ProblemError("a public sample must be numbers.") from None
    values = values[np.isfinite(values)]
    if len(values) == 0:
        raise ProblemError("a public sample without any finite value is no shape; name a column of numbers.")
    if values[0] == values[-1]:
        raise ProblemError("all values of the public sample are the same, so it is no shape; it must have some spread.")
    rows = len(values)
    if rows <= 2 * _KEPT:
        return QuantileTable((np.arange(rows) / (rows - 1)).tolist(), values.tolist(), label)
    tail = 1 / (_KEPT - 1) * 0.5 ** np.arange(0.5, math.log2(rows / _KEPT), 0.5)
    levels = np.unique(np.concatenate([np.linspace(0.0, 1.0, _KEPT), tail, 1 - tail]))
    return QuantileTable(levels.tolist(), np.quantile(values, levels).tolist(), label)
