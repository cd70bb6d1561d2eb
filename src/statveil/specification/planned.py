"""All plans of a table at once, with the risk that they have together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from statveil.design.target import meets
from statveil.errors import ProblemError
from statveil.made_plan import Plan
from statveil.plan_file import content_of, plan_from, refuse_unknown
from statveil.problem.tolerance import Relative
from statveil.rounding import shown_up
from statveil.specification.column_plan import column_risk, plan_column, planned_problems, secret_risks
from statveil.specification.placed import PlacedError, PlacedTargetError, about
from statveil.specification.reading import placed_in
from statveil.specification.specification import Specification
from statveil.specification.split import split
from statveil.specification.together import Together, joint
from statveil.spoken import Drawn

__all__ = ["FORMAT", "VERSION", "TablePlan", "plan_specification"]

FORMAT = "statveil-table-plan"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan(Drawn):
    """One plan for each hidden column of a specification; made without data, it can be published.

    Attributes
    ----------
    specification : Specification
        What was asked.
    plans : mapping of str to Plan
        One plan for each hidden column, in the order of the specification.
    risk, risk_kind : float, str
        P(the best attacker guesses any of the hidden statistics), never below the truth, and how it was obtained.
    intersection : float
        P(the best attacker guesses all of them at once).
    column_risks : mapping of str to float
        P(the best attacker, who sees all columns, guesses one of the column's own statistics): more than the plan's
        risk where columns depend on each other.
    """

    words = "report.table_plan:describe_table_plan"
    picture = "report.plan_chart:table_chart"
    frame = "report.frames:table_plan_frame"

    specification: Specification
    plans: Mapping[str, Plan]
    risk: float
    risk_kind: str
    intersection: float
    column_risks: Mapping[str, float]

    @property
    def dependence(self) -> str:
        """How the columns' statistics are taken to depend on each other."""
        return _dependence(self.specification)

    @property
    def distortions(self) -> dict[str, float]:
        """Distortion of each hidden column."""
        return {name: plan.distortion for name, plan in self.plans.items()}

    @property
    def secrets(self) -> list[dict[str, Any]]:
        """Each hidden statistic: its column, tolerance, risk from its own column's release, and distortion."""
        found = []
        for name, plan in self.plans.items():
            hide = self.specification.hidden[name]
            for problem, each in zip(hide.problems, secret_risks(hide, plan), strict=True):
                close = problem.closeness
                found.append(
                    {
                        "column": name,
                        "secret": each.secret,
                        "tolerance": close.share if isinstance(close, Relative) else close,
                        "tolerance_kind": "relative" if isinstance(close, Relative) else "absolute",
                        "risk": each.risk,
                        "risk_kind": each.kind,
                        "distortion": plan.distortion,
                        "distortion_kind": plan.problem.measure.kind,
                    }
                )
        return found

    def to_json(self) -> dict[str, Any]:
        """The plans as one JSON object; :meth:`from_json` makes the same."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "risk": self.risk,
            "risk_kind": self.risk_kind,
            "intersection": self.intersection,
            "dependence": self.dependence,
            "column_risks": dict(self.column_risks),
            "secrets": self.secrets,
            "specification": self.specification.to_json(),
            "plans": {name: content_of(plan) for name, plan in self.plans.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TablePlan:
        """The plans that :meth:`to_json` wrote; all numbers are accounted for anew, and others are refused."""
        specification = Specification.from_json(data["specification"])
        written = data["plans"]
        if not isinstance(written, Mapping) or list(written) != list(specification.hidden):
            raise ProblemError("its plans are not those of the columns that its specification hides.")
        plans = {name: plan_from(one, source=f"the plan of {name!r}") for name, one in written.items()}
        for name, plan in plans.items():
            if plan.problem not in planned_problems(specification.hidden[name]):
                raise ProblemError(f"the plan of {name!r} is about another problem than its specification states.")
        made = _table_plan(specification, plans)
        _check_targets(made)
        stated = made.to_json()
        refuse_unknown({**data, "plans": {}}, {**stated, "plans": {}}, source="it")
        for key in ("risk", "risk_kind", "intersection", "dependence", "column_risks", "secrets"):
            if not _same(data[key], stated[key]):
                raise ProblemError(f"its {key!r} does not follow from its plans.")
        return made


def plan_specification(specification: Specification) -> TablePlan:
    """A plan for each hidden column, within each column's target and the joint budget. No data is read.

    Examples
    --------
    >>> import statveil as sv
    >>> spec = sv.Specification.from_toml(\'\'\'
    ... [budget]
    ... max_risk = 0.2
    ... [columns.wage]
    ... hide = "mean"
    ... prior = "0:10000"
    ... tolerance = 10
    ... [columns.rent]
    ... hide = "median"
    ... prior = "0:10000"
    ... tolerance = 40
    ... \'\'\')
    >>> table = plan_specification(spec)
    >>> round(table.risk, 3), {name: round(plan.risk, 3) for name, plan in table.plans.items()}
    (0.2, {'wage': 0.074, 'rent': 0.136})
    """
    try:
        return _planned(specification)
    except PlacedError as error:
        raise (error if specification.origin is None else placed_in(error, *specification.origin)) from None


def _planned(specification: Specification) -> TablePlan:
    hidden, budget = specification.hidden, specification.budget
    own: dict[str, Plan] = {}
    for name, hide in hidden.items():
        if hide.target:
            with about(name):
                own[name] = plan_column(hide, **hide.target)
    fixed = [column_risk(hidden[name], plan) for name, plan in own.items()]
    open_ = {name: hide for name, hide in hidden.items() if name not in own}
    if open_:
        assert budget is not None  # the specification has seen to it
        own.update(split(open_, fixed, budget))
    made = _table_plan(specification, {name: own[name] for name in hidden})
    _check_targets(made)
    return made


def _check_targets(made: TablePlan) -> None:
    """What the specification asks of risks holds: of each column with a target of its own, and of all together."""
    specification = made.specification
    budget = specification.budget
    for each in made.secrets:
        asked = specification.hidden[each["column"]].max_risk
        if asked is not None and not meets(each["risk"], asked):
            raise PlacedTargetError(
                f"the plan of {each['column']!r} has a risk of {shown_up(each['risk'])}, above its {asked:g}.",
                ("columns", each["column"], "max_risk"),
            )
    if budget is not None and not meets(made.risk, budget.max_risk):
        raise PlacedTargetError(
            f"the columns' own targets have a joint risk of {shown_up(made.risk)} ({budget.dependence}), above the "
            f"budget of {budget.max_risk:g}; ask for less of them, or raise the budget.",
            ("budget",),
        )


def _table_plan(specification: Specification, plans: Mapping[str, Plan]) -> TablePlan:
    """The plans with their joint risk."""
    _check_links(specification, plans)
    found = _joint(specification, plans)
    return TablePlan(
        specification=specification,
        plans=dict(plans),
        risk=found.union,
        risk_kind=found.kind,
        intersection=found.intersection,
        column_risks=dict(zip(plans, found.alone, strict=True)),
    )


def _joint(specification: Specification, plans: Mapping[str, Plan]) -> Together:
    hidden, budget = specification.hidden, specification.budget
    found = joint([column_risk(hidden[name], plan) for name, plan in plans.items()], _dependence(specification))
    if budget is not None and found.union > budget.max_risk and meets(found.union, budget.max_risk):
        return replace(found, union=budget.max_risk)  # the budget itself, up to rounding errors
    return found


def _dependence(specification: Specification) -> str:
    return "independent" if specification.budget is None else specification.budget.dependence


def _check_links(specification: Specification, plans: Mapping[str, Plan]) -> None:
    """A linked column needs a map of values to values; rows that are drawn or given out by rank have none."""
    for name, link in specification.linked.items():
        plan = plans[link.to]
        if plan.release_mode.random:
            raise PlacedError(
                f"the column {name!r} cannot move with {link.to!r}, whose rows are drawn anew (mode {plan.mode!r}), so "
                f"no map of values moves them; drop {name!r}, compute it with 'derive', or state another structure of "
                f"{link.to!r}.",
                ("columns", name, "link"),
            )


def _same(one: Any, two: Any) -> bool:
    """Whether a number, a text, a list or a mapping that someone wrote is the one that follows."""
    if isinstance(two, Mapping):
        return isinstance(one, Mapping) and one.keys() == two.keys() and all(_same(one[key], two[key]) for key in two)
    if isinstance(two, list):
        return isinstance(one, list) and len(one) == len(two) and all(map(_same, one, two))
    if isinstance(two, float):
        return isinstance(one, int | float) and not isinstance(one, bool) and math.isclose(one, two, rel_tol=1e-9)
    return type(one) is type(two) and bool(one == two)
