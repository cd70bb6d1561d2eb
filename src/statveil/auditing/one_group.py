"""One of two groups by itself: within it the release is a line, and the group's mean is what is not known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from statveil.auditing.inversion import Inversion, inverted
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.problem.column_numbers import TwoGroups
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.of_groups import OfGroups
from statveil.problem.problem import Problem
from statveil.problem.secrets.mean import Mean
from statveil.problem.tolerance import Relative
from statveil.tables.blocks import Array

__all__ = ["OneGroup", "one_group"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneGroup:
    """A group as a column of its own, whose mean is asked for; what is found is said of the secret of both."""

    view: View
    means: Array
    """The group's mean for each candidate, rising."""
    secrets: Array
    """The candidates."""

    def told(self, found: Posterior | None) -> Posterior | None:
        """Candidates for the mean as candidates for the secret."""
        if found is None:
            return None
        return Posterior.of(np.interp(found.points, self.means, self.secrets), found.weights)


def one_group(view: View, place: int) -> OneGroup | None:
    """The rows of the group of this number; ``None`` where the release fits no bin of the plan."""
    plan, found = view.plan, inverted(view)
    secret, family = plan.problem.secret, plan.problem.family
    if found is None or view.parts is None or len(found.secrets) < 2:
        return None
    assert isinstance(secret, OfGroups)
    assert isinstance(family, AnyShape)
    released = TwoGroups.of(view.column, view.parts)
    both = family.rows_shrunk(plan.distortion)
    here = [mean / both for mean in released.means]
    originals = secret.moved(here[0], here[1], released.share, found.secrets)[place]
    order = np.argsort(originals, kind="stable")
    means, level = originals[order], released.means[place]
    if not np.ptp(means):
        return None
    stretched = view.mode.stretches
    alone = Inversion(
        secrets=means,
        weights=found.weights[order],
        points={"mean": means},
        factor=level / means if stretched else np.ones(len(means)),
        offset=np.zeros(len(means)) if stretched else level - means,
    )
    closeness = plan.problem.closeness
    problem = Problem(
        secret=Mean(),
        prior=(float(means[0]), float(means[-1])),
        # each group takes a part of the move
        tolerance=Relative(0.5 * closeness.share) if isinstance(closeness, Relative) else 0.5 * closeness,
        known=plan.problem.known,
    )
    knowledge = view.knowledge.within[place] if view.knowledge.within else view.knowledge
    return OneGroup(
        view=replace(
            view,
            plan=replace(plan, problem=problem, mode=view.mode.alone),
            column=np.where(view.parts[place], view.column, np.nan),
            parts=None,
            inversion=alone,
            knowledge=replace(knowledge, records=view.knowledge.records),
        ),
        means=means,
        secrets=found.secrets[order],
    )
