"""How far a bin may go: distortion of a bin, the released parameter, and the farthest feasible edge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ruler"]

Array = NDArray[np.float64]

_SLACK = 1e-12
"""A budget is met up to this relative error: lattice budgets would otherwise lose a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler:
    """Distances between members of a one-parameter family.

    With ``position`` (stochastically ordered families under W1) the distance is the difference of the
    positions, here the means, and everything is in closed form; otherwise ``distance`` must grow as either
    parameter moves away from the other.
    """

    distance: Callable[[Array, Array], Array]
    position: Callable[[Array], Array] | None = None
    at_position: Callable[[Array], Array] | None = None

    def farthest(self, grid: Array, budget: float, *, on_grid: bool) -> NDArray[np.int64]:
        """For each grid edge i the largest j such that the bin [i, j] has distortion at most ``budget``."""
        limit = budget * (1 + _SLACK)
        if on_grid:
            once = self._step(grid, limit)
            return once[once]  # released at the farthest grid point within the budget of the left end
        if self.position is not None:
            at = _increasing(self.position(grid))
            return np.searchsorted(at, at + 2 * limit, side="right") - 1
        # D(a, b) <= T exactly when b <= up(up(a)), up(a) being the farthest parameter within T of a
        return np.searchsorted(grid, self._up(self._up(grid, grid[-1], limit), grid[-1], limit), side="right") - 1

    def _step(self, grid: Array, limit: float) -> NDArray[np.int64]:
        if self.position is not None:
            at = _increasing(self.position(grid))
            return np.searchsorted(at, at + limit, side="right") - 1
        low = np.arange(len(grid))
        high = np.full(len(grid), len(grid) - 1)
        while np.any(low < high):
            middle = (low + high + 1) // 2
            fits = self.distance(grid, grid[middle]) <= limit
            low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
        return low

    def _up(self, start: Array, top: float, limit: float) -> Array:
        low, high = start.copy(), np.full(start.shape, top)
        whole = self.distance(start, high) <= limit
        for _ in range(60):
            middle = 0.5 * (low + high)
            fits = self.distance(start, middle) <= limit
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.where(whole, top, low)

    def release(self, low: Array, high: Array) -> Array:
        """The parameter whose larger distance to the two ends is least."""
        if self.position is not None and self.at_position is not None:
            return self.at_position(0.5 * (self.position(low) + self.position(high)))
        a, b = low.copy(), high.copy()
        for _ in range(60):
            middle = 0.5 * (a + b)
            nearer = self.distance(low, middle) <= self.distance(middle, high)
            a, b = np.where(nearer, middle, a), np.where(nearer, b, middle)
        return 0.5 * (a + b)

    def release_on_grid(self, grid: Array, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
        """Index of the grid point whose larger distance to the two edges is least."""
        a, b = low.copy(), high.copy()
        while np.any(b - a > 1):
            middle = (a + b) // 2
            nearer = self.distance(grid[low], grid[middle]) <= self.distance(grid[middle], grid[high])
            a, b = np.where(nearer & (b - a > 1), middle, a), np.where(~nearer & (b - a > 1), middle, b)
        worse = np.maximum(self.distance(grid[low], grid[a]), self.distance(grid[a], grid[high]))
        other = np.maximum(self.distance(grid[low], grid[b]), self.distance(grid[b], grid[high]))
        return np.where(worse <= other, a, b)

    def distortion(self, low: Array, high: Array, released: Array) -> Array:
        """Largest distance from the release to a member of the bin: at one of its ends."""
        return np.maximum(self.distance(low, released), self.distance(released, high))


def _increasing(values: Array) -> Array:
    return values if values[-1] >= values[0] else -values
