"""What several releases of one column tell together. Decided from the plans alone, without data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from statveil.accounting import either, joint
from statveil.accounting.candidates import Candidates, candidates
from statveil.accounting.guarantee import Risk
from statveil.accounting.joint_tiles import one_coordinate
from statveil.accounting.telling import left_open
from statveil.baseline import risk_without_release
from statveil.errors import ProblemError, StatveilError
from statveil.made_plan import Plan
from statveil.mechanisms.mechanism import Mechanism
from statveil.numbers import number
from statveil.planning import plan
from statveil.problem.also import Also
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.tolerance import Relative
from statveil.same_column import column_family, in_terms_of, names_in
from statveil.spoken import Spoken

__all__ = [
    "Composition",
    "JointRisk",
    "Tiers",
    "checked",
    "compose",
    "in_common_terms",
    "of_secret",
    "stated_problems",
    "tiers",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRisk:
    """How often the best guess at one secret hits that knows all of the releases."""

    secret: str
    tolerance: float
    tolerance_kind: str
    risk: float
    risk_kind: str
    risk_without_release: float
    certain: float | None
    """Share of the values for which one guess is sure to hit; ``None`` where it is not worked out."""
    why: str
    candidates: Candidates | None = None
    """How many guesses are sure to hit; ``None`` where it is not worked out."""

    @property
    def leakage(self) -> float:
        """By how many bits the releases raise the chance of a hit: log2 of the risk over that without a release."""
        return math.log2(self.risk / self.risk_without_release) if self.risk_without_release > 0 else math.inf

    def to_json(self) -> dict[str, Any]:
        """The numbers for scripts."""
        return {
            "secret": self.secret,
            "tolerance": self.tolerance,
            "tolerance_kind": self.tolerance_kind,
            "risk": self.risk,
            "risk_kind": self.risk_kind,
            "risk_without_release": self.risk_without_release,
            "leakage_bits": self.leakage,
            "certain_share": self.certain,
            "candidates_least": None if self.candidates is None else self.candidates.least,
            "candidates_mean": None if self.candidates is None else self.candidates.mean,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition(Spoken):
    """The joint risk of several plans for one column, never below the truth."""

    words = "report.composition:describe_composition"

    alone: tuple[float, ...]
    """Risk of each plan by itself, as it states it."""
    different: int
    """How many of the plans differ: the same one again adds nothing."""
    secrets: tuple[JointRisk, ...]
    """For each secret, tolerance and prior that a plan states, the worst first."""

    @property
    def risk(self) -> float:
        """The largest joint risk of a secret that one of the plans hides."""
        return self.secrets[0].risk

    @property
    def risk_kind(self) -> str:
        """How that risk was obtained."""
        return self.secrets[0].risk_kind

    def to_json(self) -> dict[str, Any]:
        """The numbers for scripts."""
        return {
            "risk": self.risk,
            "risk_kind": self.risk_kind,
            "risk_alone": list(self.alone),
            "plans": len(self.alone),
            "different": self.different,
            "secrets": [each.to_json() for each in self.secrets],
        }


def compose(plans: Sequence[Plan], *, also: Sequence[Also] = ()) -> Composition:
    """The risk that all releases of one column under these plans have together.

    Every secret that a plan hides is looked at under its own prior and tolerance, with the releases of all plans. All
    releases are of the same, unchanged column, by one record (its secret stream), and everyone may see all of them.

    Parameters
    ----------
    plans : sequence of Plan
        Those of all releases of the column.
    also : sequence of Also, optional
        Other statistics of the column that no plan was made for, each with its tolerance: what the releases tell of
        them under the priors of the plans, which must have a family.

    Examples
    --------
    >>> import statveil as sv
    >>> problem = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100)), secret=sv.Mean(), tolerance=1)
    >>> ten, seven = (sv.plan(problem, bin=width) for width in (10, 7))
    >>> round(ten.risk, 6), round(compose([ten, ten]).risk, 6), round(compose([ten, seven]).risk, 6)
    (0.2, 0.2, 0.43)
    """
    return composed(plans, also=also, counted=True)


def composed(plans: Sequence[Plan], *, also: Sequence[Also] = (), counted: bool) -> Composition:
    """What :func:`compose` gives; candidates, which take as long as all else, only where they are to be counted."""
    given = checked(plans, "compose")
    problems = list({str(plan.problem.to_json()): plan.problem for plan in given}.values())
    found = [each for problem in problems for each in _of_secrets(problem, given, counted)]
    found += [of_secret(problem, given, counted=counted) for problem in _others(problems, also)]
    return Composition(
        alone=tuple(plan.risk for plan in given),
        different=len(_different(given)),
        secrets=tuple(sorted(found, key=lambda each: -each.risk)),
    )


def checked(plans: Sequence[Plan], what: str) -> tuple[Plan, ...]:
    """The plans, if there are any and all are about one column."""
    given = tuple(plans)
    if not given or not all(isinstance(each, Plan) for each in given):
        raise ProblemError(f"{what} takes a list of one plan or more for the same column.")
    _check_one_column(given)
    return given


def stated_problems(plans: Sequence[Plan]) -> list[Problem]:
    """Every secret, tolerance and prior that one of the plans states, once."""
    return list({str(one.to_json()): one for plan in plans for one in plan.problem.each}.values())


def in_common_terms(problem: Problem, plans: Sequence[Plan]) -> list[Mechanism] | str:
    """The mechanisms of all plans with the parameters of one problem; why they tell everything, where they may."""
    unequal = _different(plans)
    if len(unequal) > 1:
        told = _maps_that_tell(unequal)
        if told is not None:
            return told
        if not _same_ranges(problem, plans):
            return "the priors have different ranges or forms"
    mechanisms = [in_terms_of(problem, plan) for plan in unequal]
    known = [mechanism for mechanism in mechanisms if mechanism is not None]
    if len(known) < len(mechanisms):
        return "one of the plans hides another statistic, which moves with this one by an unknown amount"
    return known


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers(Spoken):
    """Plans for audiences of rising trust, each finer than the one before: together they tell what the finest does."""

    words = "report.composition:describe_tiers"

    plans: tuple[Plan, ...]

    def to_json(self) -> dict[str, Any]:
        """The numbers for scripts; ``plan`` is a plan as its file has it."""
        return {
            "tiers": [{"risk": plan.risk, "distortion": plan.distortion, "plan": plan.to_json()} for plan in self.plans]
        }


def tiers(problem: Problem, *, max_risks: Sequence[float]) -> Tiers:
    """One plan for each risk, from the least trusted audience to the most, each cutting the bins of the one before.

    A coalition that holds the releases of all tiers up to one knows no more than that tier alone, so its risk is that
    tier's own; plans made one by one tell more together.

    Examples
    --------
    >>> import statveil as sv
    >>> problem = sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1)
    >>> public, partner = tiers(problem, max_risks=[0.1, 0.3]).plans
    >>> public.risk, round(partner.risk, 6), round(compose([public, partner]).risk, 6)
    (0.1, 0.3, 0.3)
    """
    risks = [number(risk, "the risk of a tier") for risk in max_risks]
    if not risks or risks != sorted(set(risks)):
        raise ProblemError(
            f"the risks of tiers rise from the least trusted audience to the most, as in 0.1,0.2,0.4. Got "
            f"{', '.join(f'{risk:g}' for risk in risks) or 'none'}."
        )
    found: list[Plan] = []
    for risk in risks:
        found.append(plan(problem, max_risk=risk, after=found[-1:]) if found else _first(problem, risk))
    return Tiers(plans=tuple(found))


def _first(problem: Problem, risk: float) -> Plan:
    """The best plan whose bins can be cut further."""
    made: list[Plan] = []
    problems: list[StatveilError] = []
    for method in ("tiles",) if problem.also else ("interval", "dynamic"):
        try:
            made.append(plan(problem, max_risk=risk, method=method))
        except StatveilError as error:
            problems.append(error)
    if not made:
        raise problems[0]
    return min(made, key=lambda each: each.distortion)


def _different(plans: Sequence[Plan]) -> list[Plan]:
    """Plans whose releases differ: the same mechanism in the same coordinate and by the same map is one release."""
    return list(
        {str((_coordinate(plan.problem), plan.mode, plan.mechanism.to_json())): plan for plan in plans}.values()
    )


def _coordinate(problem: Problem) -> Any:
    return problem.family.settings() if isinstance(problem.family, AnyShape) else problem.family.to_json()


def _check_one_column(plans: Sequence[Plan]) -> None:
    first = column_family(plans[0].problem)
    for other in plans[1:]:
        family = column_family(other.problem)
        if first.shapeless != family.shapeless or (not first.shapeless and first != family):
            if first.label == family.label:
                raise ProblemError(
                    "one of these plans hides two statistics of a column without a family, and another one hides one: "
                    "what their releases tell together is not known, and may be everything. State a family, or hide "
                    "the same statistics in all of them."
                )
            raise ProblemError(
                f"these plans are about different models of a column ({first.label!r} and {family.label!r}), so what "
                "their releases tell together is not known: it may be everything. Plan all releases of a column with "
                "the same family."
            )


def _maps_that_tell(different: Sequence[Plan]) -> str | None:
    """Why the tables of plans whose releases differ tell more than their parameters do; ``None`` where they do not.

    Every map keeps something of the rows: a shift their differences, a scaling their ratios to a point. Two tables
    whose maps keep different things give the rows away. Rows that are drawn are drawn in one order of the column, and
    for some modes that is proven to tell no more than the parameters; the true order of the rows, which a model keeps,
    tells how many of them were drawn.
    """
    maps = {key for plan in different if (key := _kept(plan)) is not None}
    if len(maps) > 1:
        return "the maps of these releases keep different things of the rows, and together they give the rows away"
    drawn = [plan for plan in different if plan.release_mode.random and not plan.release_mode.of_model]
    if drawn and len(drawn) < len(different):
        return (
            f"the mode {drawn[0].mode!r} draws rows at random, and how far they agree with the order that another "
            "release keeps shows how many of them were changed"
        )
    if len(drawn) > 1 and not all(plan.release_mode.nested for plan in drawn):
        return (
            f"the mode {drawn[0].mode!r} redraws the rows, and that two such tables tell no more than their statistics "
            "is not proven"
        )
    return None


def _kept(plan: Plan) -> tuple[Any, ...] | None:
    """What the map keeps of the rows; ``None`` where the rows are the model's, and only their order is the column's."""
    mode = plan.release_mode
    if mode.of_model:
        return None
    if mode.bends:
        return "odds", plan.problem.known.minimum, plan.problem.known.maximum
    if not mode.stretches:
        return ("shift",) if mode.near_line else (mode.name,)
    return mode.name, mode.fixed_point(plan.problem)


def _others(problems: Sequence[Problem], also: Sequence[Also]) -> list[Problem]:
    """Statistics that no plan hides, under the prior of each plan."""
    found: dict[str, Problem] = {}
    for other in also:
        if not isinstance(other, Also) or other.prior is not None:
            raise ProblemError(
                "another statistic is given as sv.Also(sv.Mean(), tolerance=1), without a prior: the plans' holds."
            )
        for problem in problems:
            asked = replace(problem, secret=other.secret, tolerance=other.tolerance, also=())
            known = [(one.secret, one.tolerance, one.prior) for each in problems for one in each.each]
            if (asked.secret, asked.tolerance, asked.prior) not in known:
                found.setdefault(str((asked.secret.to_json(), asked.tolerance, asked.prior.to_json())), asked)
    return list(found.values())


def _of_secrets(problem: Problem, plans: Sequence[Plan], counted: bool) -> list[JointRisk]:
    """The secret of a problem; of two secrets each, and either."""
    found = [of_secret(one, plans, counted=counted) for one in problem.each]
    if not problem.also:
        return found
    known = tuple(Risk(value=each.risk, kind=each.risk_kind) for each in found)
    # a line that is told ties the two to each other
    apart = all(plan.mechanism.tiled for plan in plans)
    union = either(known) if apart else Risk(value=min(1.0, sum(each.value for each in known)), kind="upper bound")
    same = all(plan.problem == problem for plan in plans) and len(_different(plans)) == 1
    return [
        JointRisk(
            secret=" or ".join(one.secret.label for one in problem.each),
            tolerance=problem.tolerance,
            tolerance_kind="own",
            risk=plans[0].risk if same else union.value,
            risk_kind=plans[0].risk_kind if same else union.kind,
            risk_without_release=min(risk_without_release(problem), union.value),
            certain=None,
            why="one of the two is hit at least",
        ),
        *found,
    ]


def of_secret(problem: Problem, plans: Sequence[Plan], *, counted: bool = True) -> JointRisk:
    """The joint risk of one secret, under its prior and tolerance; with its candidates, where they are ``counted``."""
    unequal = _different(plans)
    told = _maps_that_tell(unequal)
    same = next((plan for plan in plans if plan.problem == problem), None)
    if same is not None and len(unequal) == 1:
        found = joint.joint_risk(problem, [same.mechanism])
        found = replace(found, risk=Risk(value=same.risk, kind=same.risk_kind))
    elif told is not None and len(unequal) > 1:
        found = joint.Joint(risk=Risk(value=1.0, kind="upper bound"), why=told)
    else:
        mechanisms = [in_terms_of(problem, plan) for plan in unequal]
        known = [mechanism for mechanism in mechanisms if mechanism is not None]
        if len(known) < len(mechanisms):
            why = "one of the plans hides another statistic, which moves with this one by an unknown amount"
            found = joint.Joint(risk=Risk(value=1.0, kind="upper bound"), why=why)
        else:
            found = joint.joint_risk(problem, known)
        if not _same_ranges(problem, plans):
            # a release tells that its prior holds: on one line that is counted, else it may tell all
            why = "the priors have different ranges or forms"
            found = joint.Joint(risk=Risk(value=1.0, kind="upper bound"), why=why)
    blind = risk_without_release(problem)
    closeness = problem.closeness
    return JointRisk(
        secret=problem.secret.label,
        tolerance=closeness.share if isinstance(closeness, Relative) else closeness,
        tolerance_kind="relative" if isinstance(closeness, Relative) else "absolute",
        risk=max(found.risk.value, min(blind, 1.0)),
        risk_kind=found.risk.kind,
        risk_without_release=min(blind, found.risk.value),
        certain=found.certain,
        why=found.why,
        candidates=_candidates(problem, plans) if counted else None,
    )


def _candidates(problem: Problem, plans: Sequence[Plan]) -> Candidates | None:
    mechanisms = in_common_terms(problem, plans)
    if isinstance(mechanisms, str):
        return Candidates(least=1, mean=1.0, certain=1.0)
    alone, cuts = one_coordinate(problem, mechanisms) or (problem, mechanisms)
    return candidates(alone, left_open(alone, cuts))


def _same_ranges(problem: Problem, plans: Sequence[Plan]) -> bool:
    """Whether all priors have the ranges of this one, where that is not counted by the edges of one parameter."""
    if not isinstance(problem.prior, Box) or (
        len(problem.box.free) == 1 and all(axis.exact for axis in problem.box.axes.values())
    ):
        return True
    ends = {name: (axis.low, axis.high) for name, axis in problem.box.axes.items()}
    boxes = [(plan.problem.box.axes, names_in(plan.problem, problem)) for plan in plans]
    return all(
        names is not None and {names[name]: (axis.low, axis.high) for name, axis in axes.items()} == ends
        for axes, names in boxes
    )
