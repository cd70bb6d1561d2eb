"""Mechanisms of one column in each other's terms: where two problems name the same parameters differently."""

from __future__ import annotations

import numpy as np

from statveil.accounting.pieces import parts_of
from statveil.made_plan import Plan
from statveil.mechanisms.cells import Cells
from statveil.mechanisms.mechanism import Mechanism, renamed
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.families.two_secrets import TwoSecrets
from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem

__all__ = ["column_family", "in_terms_of", "names_in"]


def column_family(problem: Problem) -> Family:
    """The model of the column: for two secrets that of which they are statistics."""
    family = problem.family
    return family if not isinstance(family, TwoSecrets) or family.base is None else family.base


def in_terms_of(problem: Problem, plan: Plan) -> Mechanism | None:
    """The plan's mechanism with the parameter of this problem; ``None`` where the two are not tied to each other."""
    family, other = problem.family, plan.problem.family
    if isinstance(family, TwoSecrets) != isinstance(other, TwoSecrets) or (
        isinstance(family, TwoSecrets) and family != other
    ):
        return _in_pair(problem, plan)
    if not isinstance(family, AnyShape) or not isinstance(other, AnyShape):
        return plan.mechanism
    if problem.secret != plan.problem.secret:
        return None
    if family.parameter == other.parameter:
        return plan.mechanism
    parts = parts_of(plan.mechanism, plan.problem)
    if parts is None or not np.isinf(parts.spacing).all():
        return None
    with np.errstate(over="ignore"):
        edges = np.asarray(family.coordinate(other.value(problem.secret, {other.parameter: parts.edges})))
    choices = parts.choices
    if edges[0] > edges[-1]:
        edges, choices = edges[::-1], choices[::-1]
    count = 1 + max(release for choice in choices for release, _ in choice)
    return Cells(
        parameter=family.parameter,
        edges=tuple(edges.tolist()),
        released=tuple(float(i) for i in range(count)),
        choices=tuple(choices),
    )


def names_in(problem: Problem, other: Problem) -> dict[str, str] | None:
    """How the parameters of a problem are called in another one; ``None`` where they are not the same."""
    if problem.family == other.family:
        return {param.name: param.name for param in problem.family.params}
    own = _turned(problem, other)
    return None if own is None else renamed(own)


def _turned(problem: Problem, other: Problem) -> dict[str, dict[str, float]] | None:
    """Each parameter of a problem as a linear form of another one's, where both are a location and a scale."""
    one, two = problem.family, other.family
    if not isinstance(one, LocationScale) or not isinstance(two, LocationScale):
        return None
    if column_family(problem) != column_family(other) or len(one.params) != 2 or len(two.params) != 2:
        return None
    names = [[param.name for param in family.params] for family in (one, two)]
    systems = [
        np.array([[form.get(name, 0.0) for name in own] for form in (family.loc_form, family.scale_form)])
        for family, own in zip((one, two), names, strict=True)
    ]
    turn = np.linalg.solve(systems[0], systems[1])
    return {name: dict(zip(names[1], row.tolist(), strict=True)) for name, row in zip(names[0], turn, strict=True)}


def _in_pair(problem: Problem, plan: Plan) -> Mechanism | None:
    """A mechanism with the parameters of a problem of the same model that has others; ``None`` where that is none."""
    own, other = _turned(plan.problem, problem), _turned(problem, plan.problem)
    return None if own is None or other is None else plan.mechanism.turned(own, other)
