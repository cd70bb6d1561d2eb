"""The plan of one hidden column, which must serve all of its secrets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from statveil.accounting import KINDS
from statveil.design.target import ROUNDED
from statveil.errors import ProblemError, TargetError
from statveil.made_plan import Plan
from statveil.planning import plan
from statveil.problem.also import Also
from statveil.problem.families.any_shape import VALUE
from statveil.problem.problem import Problem
from statveil.rounding import shown_up
from statveil.specification.together import ColumnRisk
from statveil.specification.treatments import Hide
from statveil.spelling import parse_priors

__all__ = ["SecretRisk", "column_risk", "plan_column", "planned_problems", "secret_risks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRisk:
    """How often one hidden statistic is guessed from the release of its own column."""

    secret: str
    risk: float
    kind: str


def plan_column(hide: Hide, **target: Any) -> Plan:
    """The plan of least distortion that hides every secret of the column as the target asks.

    A column is released once, so one plan must serve all. Two secrets with beliefs of their own get bins in both
    coordinates, and a risk is then that of either; else each secret's own plan is tried, and what it does for the
    others is accounted for.
    """
    if len(hide.problems) == 1:
        return plan(hide.problems[0], method=hide.method, **target)
    if _apart(hide):
        return plan(_both(hide), method=hide.method, **target)
    _check_one_belief(hide)
    found: list[Plan] = []
    refused: list[str] = []
    for problem in hide.problems:
        try:
            made = plan(problem, method=hide.method, **target)
            risks = secret_risks(hide, made)
        except TargetError as error:
            refused.append(str(error))
            continue
        goal = target.get("max_risk")
        missed = [each for each in risks if each.risk >= 1 or (goal is not None and each.risk > goal * ROUNDED)]
        if not missed:
            found.append(made)
        else:
            refused.append(
                f"the plan that hides the {problem.secret.label} "
                + (
                    f"tells the {missed[0].secret}"
                    if missed[0].risk >= 1
                    else f"leaves a risk of {shown_up(missed[0].risk)} for the {missed[0].secret}"
                )
            )
    if not found:
        raise TargetError(
            "no one plan hides all of "
            + ", ".join(problem.secret.label for problem in hide.problems)
            + f" as asked: {refused[0].rstrip('.')}. Hide one of them, ask for a larger risk, or state statistics that "
            "one map moves together."
        )
    return min(found, key=lambda each: each.distortion)


def planned_problems(hide: Hide) -> tuple[Problem, ...]:
    """The problems that a plan of the column may be about."""
    return (_both(hide),) if _apart(hide) else hide.problems


def _apart(hide: Hide) -> bool:
    """Whether there are two secrets, each with a prior of its own, or parameters of a family that have them."""
    own = len({each.prior for each in hide.secrets}) == 2 and all(each.prior for each in hide.secrets)
    # one moves with the column, the other only stretches with it
    kinds = [bool(problem.secret.per_shift) for problem in hide.problems]
    return sorted(kinds) == [False, True] and (own or hide.family is not None)


def _both(hide: Hide) -> Problem:
    """The problem of two secrets."""
    first, second = hide.problems
    # a share is refused there
    tolerance: Any = second.closeness
    if hide.family is not None:
        return replace(first, also=(Also(second.secret, tolerance=tolerance),))
    beliefs = [parse_priors(each.prior, named=False) for each in hide.secrets]
    axes = [None if one is None else one.axes.get(VALUE) for one in beliefs]
    also = (Also(second.secret, axes[1], tolerance=tolerance),)
    stated: Any = axes[0]
    return Problem(secret=first.secret, prior=stated, tolerance=first.closeness, known=first.known, also=also)


def _check_one_belief(hide: Hide) -> None:
    """Statistics that one map moves are one unknown, of which there is one belief."""
    if hide.family is not None:
        raise ProblemError(
            "three secrets of one column are accounted for without a family; leave out 'family', or hide two of them."
        )
    priors = {each.prior for each in hide.secrets}
    if len(priors) > 1:
        raise ProblemError(
            "the secrets of one column share a prior, for one map moves them all and each tells the others. Got "
            f"{' and '.join(sorted(', '.join(prior) for prior in priors))}; state it once, for the column, or hide one "
            "of them."
        )


def secret_risks(hide: Hide, made: Plan) -> tuple[SecretRisk, ...]:
    """The risk of each secret of the column under this plan; 1 where none is known."""
    if made.problem.also:
        alone = [(one.secret.label, made.for_secret(one.secret)) for one in made.problem.each]
        return tuple(SecretRisk(secret=label, risk=one.risk, kind=one.risk_kind) for label, one in alone)
    if len(hide.problems) == 1:
        return (SecretRisk(secret=hide.problems[0].secret.label, risk=made.risk, kind=made.risk_kind),)
    found = []
    for problem in hide.problems:
        label = problem.secret.label
        if problem == made.problem:
            found.append(SecretRisk(secret=label, risk=made.risk, kind=made.risk_kind))
            continue
        (other,) = made.protects([problem.secret], tolerance=problem.closeness)
        if other.risk is None or other.kind not in KINDS:
            found.append(SecretRisk(secret=label, risk=1.0, kind="upper bound"))
        else:
            found.append(SecretRisk(secret=label, risk=other.risk, kind=other.kind))
    return tuple(found)


def column_risk(hide: Hide, made: Plan) -> ColumnRisk:
    """How often one of the column's secrets is guessed, and how often all are."""
    risks = secret_risks(hide, made)
    if len(risks) == 1:
        return ColumnRisk(plan=made, union=made.risk, intersection=made.risk, kind=made.risk_kind)
    if (both := made.of_each) is not None:
        intersection = both.intersection.value
        return ColumnRisk(plan=made, union=made.risk, intersection=intersection, kind=made.risk_kind, secrets=2)
    # one unknown and a window for each secret: side by side they catch at most their sum (theory 17.4)
    return ColumnRisk(
        plan=made,
        union=min(1.0, math.fsum(each.risk for each in risks)),
        intersection=min(each.risk for each in risks),
        kind="upper bound",
        secrets=len(risks),
    )
