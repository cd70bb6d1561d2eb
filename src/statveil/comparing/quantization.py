"""Our mechanisms on an array: the plan's bins, laid at random places around the column."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from statveil.auditing.attackers.bayes import Bayes
from statveil.auditing.redraw import redrawn
from statveil.auditing.view import View
from statveil.comparing.contender import Contender, Hits
from statveil.comparing.stated import estimated, statistic
from statveil.made_plan import Applied, Plan
from statveil.mechanisms.directed import Directed
from statveil.problem.location_scale import LocationScale, evaluate
from statveil.rounding import shown_up
from statveil.tables.blocks import Array, blocks_of
from statveil.tables.maps.build import Job, build_map

__all__ = ["Quantization", "laid"]

_ROWS = 1_250
"""Rows of the table that is redrawn: a map of all rows alike tells as much of a short column as of a long one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Quantization(Contender):
    """Interval or comb quantization of the column's parameters.

    Where a column's statistic falls in its bin is an accident, and decides the error. So each realisation lays the
    prior's range, and with it all bins, at another place around the column: the averages are those of a column that
    may lie anywhere in the range, evenly.
    """

    plan: Plan

    @property
    def risk(self) -> float | None:
        return self.plan.risk

    @property
    def guarantee(self) -> str:
        kind = "" if self.plan.risk_kind == "exact" else f" ({self.plan.risk_kind})"
        return (
            f"the best attacker gets within {self.plan.problem.tolerance:g} of the {self.plan.problem.secret.label} "
            f"with probability at most {shown_up(self.plan.risk, 4)}{kind} under the stated prior, unless a bound, a "
            "step or a row of the column is known."
        )

    def release(self, column: Array, rng: Generator, place: float) -> Array:
        mechanism, family = self.plan.mechanism, self.plan.problem.family
        assert isinstance(mechanism, Directed)
        assert isinstance(family, LocationScale)
        plan = replace(self.plan, mechanism=laid(mechanism, family, self.stated.params, place))
        return _mapped(plan, column, self.stated.params, self.stated.truth)

    def informed(self, released: Array) -> float:
        return statistic(self.plan.problem, released)  # the middle of its bin: there is no bias to remove

    def attacked(self, column: Array, trials: int, rng: Generator) -> Hits:
        few = column[np.linspace(0, len(column) - 1, min(len(column), _ROWS)).astype(np.int64)]
        problem, attacker, hits = self.plan.problem, Bayes(), 0
        for _ in range(trials):
            fresh = redrawn(problem, few, self.stated.structure, rng)
            truth = statistic(problem, fresh)
            released = _mapped(self.plan, fresh, estimated(problem, fresh, truth), truth)
            found = attacker.attack(View(plan=self.plan, column=released))
            if found is not None:
                guess, _share = found.best(problem.tolerance)
                hits += abs(guess - truth) <= problem.tolerance * (1 + 1e-9)
        return Hits(attacker=attacker.name, hits=hits, trials=trials)


def _mapped(plan: Plan, column: Array, params: dict[str, float], truth: float) -> Array:
    """The column with the parameters that the plan releases for its own."""
    released = plan.mechanism.release(params)
    blocks = blocks_of(column)
    job = Job(
        plan=plan,
        params=params,
        statistic=truth,
        applied=Applied(released=released, secret=plan.problem.secret_of(released)),
        blocks=blocks,
        offset=0.0,
        smear=False,
        seed=0,
    )
    column_map = build_map(job)
    return np.concatenate([column_map.block(block, index) for index, block in enumerate(blocks())])


def laid(mechanism: Directed, family: LocationScale, params: dict[str, float], place: float) -> Directed:
    """The mechanism with its range moved, so that the parameters lie at a ``place`` from 0 to 1 in it.

    The range is not moved below what the family allows: no scale becomes 0 or negative.
    """
    at, length = mechanism.room(params)
    shrinks = float(evaluate(family.scale_form, {p.name: mechanism.direction.get(p.name, 0.0) for p in family.params}))
    if shrinks > 0:
        length = min(length, (1 - 1e-9) * float(family.scale(params)) / shrinks)
    return mechanism.laid(at - place * length)
