"""An alternative as a contender: its noise on the column, and both attackers on redrawn columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from statveil.alternatives.alternative import Alternative, no_less
from statveil.auditing.redraw import redrawn
from statveil.comparing.attackers import corrected, informed_guess, is_common, noise_cdf, within_prior
from statveil.comparing.contender import Contender, Hits
from statveil.comparing.stated import Stated, shifts, statistic
from statveil.tables.blocks import Array

__all__ = ["Noisy", "shift_risk"]

_TRIAL_ROWS, _FEWEST_TRIALS = 3_000_000, 10
"""Rows of all redrawn columns of a setting together: long columns are redrawn less often, but at full length, as noise
averages out over the rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Noisy(Contender):
    """One of :mod:`statveil.alternatives` with one setting."""

    mechanism: Alternative

    @property
    def risk(self) -> float | None:
        return shift_risk(self.stated, self.mechanism)

    @property
    def guarantee(self) -> str:
        return self.mechanism.guarantee

    def release(self, column: Array, rng: Generator, place: float) -> Array:
        return self.mechanism.release(column, rng)

    def informed(self, released: Array) -> float:
        return informed_guess(self.stated, self.mechanism, released)

    def attacked(self, column: Array, trials: int, rng: Generator) -> Hits:
        stated, hits = self.stated, {"plug-in": 0, "informed": 0}
        problem = stated.problem
        reach = problem.tolerance * (1 + 1e-9)
        trials = min(trials, max(_FEWEST_TRIALS, _TRIAL_ROWS // len(column)))
        for _ in range(trials):
            fresh = redrawn(problem, column, stated.structure, rng)
            truth, released = statistic(problem, fresh), self.mechanism.release(fresh, rng)
            guesses = {
                "plug-in": statistic(problem, released),
                "informed": corrected(problem, self.mechanism, released, stated.floor),
            }
            for name, guess in guesses.items():
                hits[name] += abs(within_prior(stated, guess) - truth) <= reach
        best = max(hits, key=lambda name: hits[name])
        return Hits(attacker=best, hits=hits[best], trials=trials)


def shift_risk(stated: Stated, mechanism: Alternative) -> float | None:
    """Exact risk of one common shift, rounded up; ``None`` for anything else.

    With an even prior of width W the posterior is the noise's symmetric density around the released statistic, cut to
    the prior: the best window is centred there, moved inside the prior. It misses on the upper side where the secret
    lies below the upper end by more than 2 eps and the noise exceeds eps; likewise below. So the risk is
    1 - 2 P(noise > eps) (1 - 2 eps / W).
    """
    problem = stated.problem
    free = problem.box.free
    if not (is_common(mechanism) and shifts(problem) and len(free) == 1 and problem.box.axes[free[0]].flat):
        return None
    beyond = float(noise_cdf(mechanism, np.array(-problem.tolerance)))
    width = stated.ends[1] - stated.ends[0]
    return min(1.0, no_less(1 - 2 * beyond * (1 - 2 * problem.tolerance / width)))
