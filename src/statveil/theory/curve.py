"""The secret as a function of one parameter: where it turns, and which parameters lead to a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from statveil.errors import ProblemError
from statveil.numeric import Array

__all__ = ["Curve", "Piece", "curve"]


_NODES = 1025
_SAMPLES = 4097


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A range of the parameter on which the secret only rises or only falls."""

    low: float
    high: float
    nodes: Array
    values: Array  # increasing: the secret at the nodes, times ``sign``
    sign: float

    def inverse(self, value: Callable[[Array], Array], y: Array) -> Array:
        """Parameter of this piece where the secret is ``y``; the nearer end where it is nowhere."""
        goal = self.sign * np.asarray(y, dtype=np.float64)
        i = np.clip(np.searchsorted(self.values, goal) - 1, 0, len(self.nodes) - 2)
        a, b = self.nodes[i], self.nodes[i + 1]
        at_a, at_b = self.values[i] - goal, self.values[i + 1] - goal
        # false position with halving of the end that stays (Illinois): keeps the bracket, gains digits fast
        for _ in range(14):
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                x = np.where(at_b != at_a, (a * at_b - b * at_a) / (at_b - at_a), 0.5 * (a + b))
            x = np.clip(x, np.minimum(a, b), np.maximum(a, b))
            at_x = self.sign * value(x) - goal
            same = np.sign(at_x) == np.sign(at_b)
            at_a = np.where(same, 0.5 * at_a, at_b)
            a = np.where(same, a, b)
            b, at_b = x, at_x
        found = np.where(goal <= self.values[0], self.nodes[0], np.where(goal >= self.values[-1], self.nodes[-1], b))
        return np.clip(found, self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The secret on ``[low, high]``, cut at its turning points."""

    value: Callable[[Array], Array]
    low: float
    high: float
    turns: tuple[float, ...]
    pieces: tuple[Piece, ...] = field(repr=False)
    rough: bool = False
    """Whether nothing is known of it between two points but that it rises or falls there: a function of the user's."""

    @property
    def monotone(self) -> bool:
        """Whether the secret only rises or only falls."""
        return not self.turns

    def images(self, edges: Array) -> tuple[Array, Array]:
        """Lowest and highest secret between neighbouring edges."""
        ends = np.asarray(self.value(edges), dtype=np.float64)
        low, high = np.minimum(ends[:-1], ends[1:]), np.maximum(ends[:-1], ends[1:])
        for turn in self.turns:
            if edges[0] < turn < edges[-1]:
                at = min(int(np.searchsorted(edges, turn, side="right")) - 1, len(low) - 1)
                there = float(np.asarray(self.value(np.array([turn])))[0])
                low[at], high[at] = min(low[at], there), max(high[at], there)
        return low, high

    @property
    def straight(self) -> bool:
        """Whether a secret with a formula is linear: it is at a few uneven places only if it is everywhere."""
        if self.turns or self.rough:
            return False
        share = np.array([0.0, 0.013, 0.11, 0.29, 0.47, 0.62, 0.83, 0.97, 1.0])
        at = np.asarray(self.value(self.low + (self.high - self.low) * share), dtype=np.float64)
        return bool(np.all(np.abs(at - (at[0] + (at[-1] - at[0]) * share)) <= 1e-13 * np.abs(at).max()))


def curve(
    value: Callable[[Array], Array],
    low: float,
    high: float,
    *,
    turns: list[float] | tuple[float, ...] | None = None,
    rough: bool = False,
) -> Curve:
    """Make a curve; turning points that are not given are looked for."""
    grid = np.linspace(low, high, _SAMPLES)
    heights = np.asarray(value(grid), dtype=np.float64)
    if heights.shape != grid.shape or not np.all(np.isfinite(heights)):
        raise ProblemError("the secret must give one finite number for every parameter the prior allows.")
    if turns is None and np.ptp(heights) <= 1e-12 * max(1.0, float(np.abs(heights).max())):
        raise ProblemError(
            "the secret is the same for every parameter that the prior allows: there is nothing to hide."
        )
    found = sorted(_turning_points(value, grid, heights) if turns is None else turns)
    inner = tuple(float(t) for t in found if low < t < high)
    ends = [low, *inner, high]
    pieces = tuple(_piece(value, a, b) for a, b in pairwise(ends))
    return Curve(value=value, low=low, high=high, turns=inner, pieces=pieces, rough=rough)


def _piece(value: Callable[[Array], Array], low: float, high: float) -> Piece:
    nodes = np.linspace(low, high, _NODES)
    heights = np.asarray(value(nodes), dtype=np.float64)
    sign = 1.0 if heights[-1] >= heights[0] else -1.0
    return Piece(low=low, high=high, nodes=nodes, values=np.maximum.accumulate(sign * heights), sign=sign)


def _turning_points(value: Callable[[Array], Array], grid: Array, heights: Array) -> list[float]:
    """Inner extrema: signs of differences on a fine grid, then golden-section search around each."""
    steps = np.diff(heights)
    steps[np.abs(steps) <= 1e-13 * max(1.0, float(np.abs(heights).max()))] = 0.0
    moving = np.flatnonzero(steps)
    change = moving[:-1][np.sign(steps[moving[:-1]]) != np.sign(steps[moving[1:]])]
    ratio = (5**0.5 - 1) / 2
    turns = []
    for i in change:
        sign = np.sign(steps[i])
        a, b = float(grid[max(i - 1, 0)]), float(grid[min(i + 3, len(grid) - 1)])
        for _ in range(60):
            left, right = b - ratio * (b - a), a + ratio * (b - a)
            at = sign * np.asarray(value(np.array([left, right])), dtype=np.float64)
            a, b = (a, right) if at[0] > at[1] else (left, b)
        turns.append(0.5 * (a + b))
    return turns
