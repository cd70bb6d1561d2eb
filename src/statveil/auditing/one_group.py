"""One of two groups by itself: within it the release is a line, and the group's mean is what is not known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from statveil.auditing.inversion import Inversion, inverted, released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.problem.column_numbers import TwoGroups
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.of_two import OfTwo
from statveil.problem.problem import Problem
from statveil.problem.secrets.mean import Mean
from statveil.problem.tolerance import Relative
from statveil.tables.between_columns import between
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
    """The rows of the group of this number; ``None`` where the release fits no bin of the plan.

    Of two columns number 2 is what lies between the two values of a row.
    """
    if place == 2:
        return _between_columns(view)
    plan, found = view.plan, inverted(view)
    secret, family = plan.problem.secret, plan.problem.family
    if found is None or view.parts is None or len(found.secrets) < 2:
        return None
    assert isinstance(secret, OfTwo)
    assert isinstance(family, AnyShape)
    released = secret.weighed(TwoGroups.of(view.column, view.parts))
    both = family.rows_shrunk(plan.distortion)
    here = [mean / both for mean in released.means]
    originals = secret.moved(here[0], here[1], released.share, found.secrets)[place]
    own = replace(view, column=np.where(view.parts[place], view.column, np.nan))
    # each group takes a part of the move
    return _alone(own, place, found, originals, released.means[place], part=0.5)


def _between_columns(view: View) -> OneGroup | None:
    """What lies between two columns, which moves by as much as the secret does."""
    found, stretched = inverted(view), view.mode.stretches
    if found is None or len(found.secrets) < 2:
        return None
    one, two = np.split(view.column, 2)
    apart, released = between(one, two, stretched=stretched), released_statistic(view)
    if not np.isfinite(apart).any():
        return None
    level = float(np.nanmean(apart))
    originals = level * found.secrets / released if stretched else level + (found.secrets - released)
    half = len(one)
    own = replace(
        view,
        column=apart,
        others={name: values[:half] for name, values in view.others.items()},
        groups={name: values[:half] for name, values in view.groups.items()},
        together={name: values[:half] for name, values in view.together.items()},
    )
    return _alone(own, 2, found, originals, level, part=1.0)


def _alone(view: View, place: int, found: Inversion, originals: Array, level: float, *, part: float) -> OneGroup | None:
    """A column of which the mean is now ``level`` and was one of these ``originals``.

    It takes so large a ``part`` of the move of the secret.
    """
    plan, stretched = view.plan, view.mode.stretches
    order = np.argsort(originals, kind="stable")
    means = originals[order]
    if not np.ptp(means):
        return None
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
        tolerance=Relative(part * closeness.share) if isinstance(closeness, Relative) else part * closeness,
        known=plan.problem.known,
    )
    knowledge = view.knowledge.within[place] if view.knowledge.within else view.knowledge
    return OneGroup(
        view=replace(
            view,
            plan=replace(plan, problem=problem, mode=view.mode.alone),
            parts=None,
            inversion=alone,
            knowledge=replace(knowledge, records=view.knowledge.records),
        ),
        means=means,
        secrets=found.secrets[order],
    )
