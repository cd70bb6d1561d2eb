"""What an attacker ends with: candidates for the secret with weights, and the best guess among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statveil.problem.problem import Problem
from statveil.tables.blocks import Array

__all__ = ["Posterior"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posterior:
    """Candidates for the secret, sorted, with weights that sum to 1."""

    points: Array
    weights: Array

    @classmethod
    def of(cls, points: ArrayLike, weights: ArrayLike = 1.0) -> Posterior | None:
        """From any candidates; ``None`` where no candidate is left."""
        values = np.atleast_1d(np.asarray(points, dtype=np.float64))
        given = np.broadcast_to(np.asarray(weights, dtype=np.float64), values.shape)
        kept = np.isfinite(values) & np.isfinite(given) & (given > 0)
        if not kept.any():
            return None
        order = np.argsort(values[kept], kind="stable")
        share = given[kept][order]
        return cls(points=values[kept][order], weights=share / share.sum())

    def best(self, tolerance: float) -> tuple[float, float]:
        """The guess whose closed window of this tolerance holds the largest share, and that share.

        >>> posterior = Posterior.of([1.0, 1.5, 9.0])
        >>> posterior.best(0.5)[0]
        1.25
        """
        total = np.concatenate([[0.0], np.cumsum(self.weights)])
        width = 2 * tolerance * (1 + 1e-12)
        stop = np.searchsorted(self.points, self.points + width, side="right")
        share = total[stop] - total[:-1]
        first = int(np.argmax(share))
        return 0.5 * float(self.points[first] + self.points[stop[first] - 1]), float(min(1.0, share[first]))

    def on(self, problem: Problem) -> Posterior:
        """The same on the scale on which a hit is two tolerances long, where guesses are made and judged."""
        return Posterior.of(problem.position(self.points), self.weights) or self

    @property
    def interval(self) -> tuple[float, float]:
        """Where the secret can still lie."""
        return float(self.points[0]), float(self.points[-1])
