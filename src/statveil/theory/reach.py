"""How far a bin may go: distortion of a bin, the released parameter, and the farthest feasible edge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.numeric import Array, bisected

__all__ = ["Ruler"]


_SLACK = 1e-12
"""A budget is met up to this relative error: lattice budgets would otherwise lose a step."""

_CLOSE = 0.1
"""Part of a cell up to which two false positions may be wrong; nearer decisions are made exactly."""


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

    def farthest_in_table(self, grid: Array, apart: Array, budget: float) -> NDArray[np.int64]:
        """The same as :meth:`farthest`, from a table of the distances between all edges.

        A bin [i, j] fits where what is near enough to edge i reaches what is near enough to edge j. The table tells
        the cell in which each reach ends; inside it the distance is nearly linear.
        """
        limit, last = budget * (1 + _SLACK), len(grid) - 1
        near = apart <= limit
        index = np.arange(last + 1)
        ahead = index + np.sum(np.triu(near), axis=1) - 1
        back = index - np.sum(np.tril(near), axis=1) + 1
        cell = (grid[-1] - grid[0]) / last

        def reaches(rows: NDArray[np.int64], inner: NDArray[np.int64], outer: NDArray[np.int64], steps: int) -> Array:
            """How far from each edge parameters are near enough: between an edge that is and one that is not."""
            at = np.minimum(apart[rows, inner] - limit, 0.0)
            beyond = np.where(inner == outer, 0.0, apart[rows, outer] - limit)  # at an end everything is near enough
            return _crossed(
                lambda x: self.distance(grid[rows], x) - limit, grid[inner], grid[outer], (at, beyond), steps=steps
            )

        beyond_up, beyond_down = np.minimum(ahead + 1, last), np.maximum(back - 1, 0)
        up, down = reaches(index, ahead, beyond_up, 2), reaches(index, back, beyond_down, 2)
        # where a tenth of a cell decides, look closer
        least = np.searchsorted(np.maximum.accumulate(down), up - _CLOSE * cell, side="right") - 1
        most = np.searchsorted(np.maximum.accumulate(down), up + _CLOSE * cell, side="right") - 1
        rows = np.flatnonzero(least < most)
        columns = np.unique(np.concatenate([np.arange(least[i], most[i] + 1) for i in rows])) if len(rows) else rows
        up[rows] = reaches(rows, ahead[rows], beyond_up[rows], 14)
        down[columns] = reaches(columns, back[columns], beyond_down[columns], 14)
        found: NDArray[np.int64] = np.searchsorted(np.maximum.accumulate(down), up + 1e-13 * last * cell, "right") - 1
        return found

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
        low, _ = bisected(lambda at: ~(self.distance(start, at) <= limit), low, high, 60)
        return np.where(whole, top, low)

    def release(self, low: Array, high: Array) -> Array:
        """The parameter whose larger distance to the two ends is least."""
        if self.position is not None and self.at_position is not None:
            return self.at_position(0.5 * (self.position(low) + self.position(high)))
        return _crossed(lambda x: self.distance(low, x) - self.distance(x, high), low, high, self.distance(low, high))

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


def _crossed(
    of: Callable[[Array], Array], low: Array, high: Array, at: Array | tuple[Array, Array], *, steps: int = 14
) -> Array:
    """Where a function that rises from ``low`` to ``high`` is 0; ``at`` are its values there (one number: minus, plus).

    False position with halving of the end that stays (Illinois): keeps the bracket, gains digits fast.
    """
    a, b = low.astype(np.float64), high.astype(np.float64)
    at_a, at_b = at if isinstance(at, tuple) else (-np.asarray(at), np.asarray(at))
    left, right = np.minimum(a, b), np.maximum(a, b)

    def secant() -> Array:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            x = np.where(at_b != at_a, (a * at_b - b * at_a) / (at_b - at_a), b)
        return np.clip(x, left, right)

    for _ in range(steps):
        x = secant()
        at_x = of(x)
        same = np.sign(at_x) == np.sign(at_b)
        at_a, a = np.where(same, 0.5 * at_a, at_b), np.where(same, a, b)
        b, at_b = x, at_x
    return np.where(low == high, low, secant())


def _increasing(values: Array) -> Array:
    return values if values[-1] >= values[0] else -values
