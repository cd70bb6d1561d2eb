"""Costs of many bins at once: what one guess catches in each, for secrets with or without turning points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from statveil.numeric import Array, Index
from statveil.problem.axis import Axis
from statveil.theory.curve import Curve
from statveil.theory.windows import Windows

__all__ = ["BinCosts", "GuessTable", "MonotoneCosts", "guess_table"]


_SPREAD = 1500


class BinCosts(Protocol):
    """Costs of bins between edges of a grid; ``i`` and ``j`` broadcast."""

    def of(self, i: Index, j: Index) -> Array:
        """Unnormalised cost of each bin (i, j)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MonotoneCosts:
    """Costs for a secret that only rises or only falls, in closed form from its windows."""

    windows: Windows

    def of(self, i: Index, j: Index) -> Array:
        w = self.windows
        i, j = np.broadcast_arrays(i, j)
        wide = np.maximum(w.after[i], w.before[j])
        for at, mass in w.peaks:
            inside = (w.grid[i] < at) & (at < w.start[j])
            wide = np.where(inside, np.maximum(wide, mass), wide)
        return np.where(i >= w.first_narrow[j], w.below[j] - w.below[i], wide)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessTable:
    """Costs for any secret, as the best of a fixed set of guesses.

    A guess's mass bends where its window meets the secret at an edge or at a turning point: these guesses are
    all in the table, with a dense spread of others between them.
    """

    below: Array
    guesses: Array
    """Lower ends of the guesses' windows, increasing."""
    pieces: tuple[tuple[float, float, Array, Array], ...]
    """For each monotone piece: mass below its ends, and below where each guess's window opens and closes."""

    def of(self, i: Index, j: Index) -> Array:
        i, j = np.broadcast_arrays(np.atleast_1d(i), np.atleast_1d(j))
        low, high = self.below[i][:, None], self.below[j][:, None]
        total = np.zeros((len(i), len(self.pieces[0][2])))
        for start, stop, opening, closing in self.pieces:
            a, b = np.maximum(low, start), np.minimum(high, stop)
            b = np.maximum(a, b)
            total += np.abs(np.clip(closing, a, b) - np.clip(opening, a, b))
        best: Array = total.max(axis=1)
        return best


def guess_table(curve: Curve, axis: Axis, grid: Array, window: float) -> GuessTable:
    """All guesses that can be best for a bin between edges of the grid."""
    marks = np.concatenate([grid, np.array(curve.turns)])
    heights = np.asarray(curve.value(marks), dtype=np.float64)
    inside = axis.landmarks[(axis.landmarks > grid[0]) & (axis.landmarks < grid[-1])]
    near = np.asarray(curve.value(inside), dtype=np.float64)
    spread = np.linspace(heights.min() - window, heights.max(), _SPREAD)
    guesses = np.unique(np.concatenate([heights, heights - window, near, near - 0.5 * window, near - window, spread]))
    pieces = []
    for piece in curve.pieces:
        opening = axis.cdf(piece.inverse(curve.value, guesses))
        closing = axis.cdf(piece.inverse(curve.value, guesses + window))
        ends = axis.cdf(np.array([piece.low, piece.high]))
        pieces.append((float(ends[0]), float(ends[1]), np.asarray(opening), np.asarray(closing)))
    return GuessTable(below=np.asarray(axis.cdf(grid), dtype=np.float64), guesses=guesses, pieces=tuple(pieces))
