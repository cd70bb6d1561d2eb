"""What a report is made from, checked to belong together before anything is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from typing import Any

from statveil.auditing.result import Audit
from statveil.auditing.table_audit import TableAudit
from statveil.errors import FileError, ProblemError
from statveil.made_plan import Plan
from statveil.problem.tolerance import Relative
from statveil.specification.planned import TablePlan
from statveil.tables.card import check_card
from statveil.tables.verify_file import stated_on
from statveil.words.phrases import named

__all__ = ["Material", "gather"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """A plan, or the plans of a table, with what came of it.

    Attributes
    ----------
    plan : Plan or TablePlan
        What was decided.
    card : dict or None
        The public card of the release, if there is one yet.
    audit : Audit or TableAudit or None
        What attackers found; private.
    column, file : str or None
        The column of a plan, and the released file, where they are known.
    public : bool
        Whether the report may hold nothing computed from the original.
    made_on : date
        The day that it bears.
    """

    plan: Plan | TablePlan
    card: dict[str, Any] | None
    audit: Audit | TableAudit | None
    column: str | None
    file: str | None
    public: bool
    made_on: date

    @property
    def plans(self) -> dict[str | None, Plan]:
        """The plan of each hidden column; of a single plan under the name of its column, if that is known."""
        if isinstance(self.plan, TablePlan):
            return {name: plan for name, plan in self.plan.plans.items()}  # noqa: C416  (its names may be None)
        return {self.column: self.plan}

    @property
    def audits(self) -> tuple[Audit, ...]:
        """The audit of each attacked statistic, the worst one first."""
        if self.audit is None:
            return ()
        return (self.audit,) if isinstance(self.audit, Audit) else self.audit.audits


def gather(
    plan: Plan | TablePlan,
    *,
    card: dict[str, Any] | None = None,
    audit: Audit | TableAudit | None = None,
    column: str | None = None,
    file: str | None = None,
    public: bool = False,
    on: date | None = None,
) -> Material:
    """The material of a report; what belongs to another plan, column or audience is refused."""
    if public and audit is not None:
        raise ProblemError(
            "a public report holds nothing computed from the original table, and an audit is computed from it; leave "
            "out the audit (--audit), or make the report a private one (without --public)."
        )
    if column is not None and isinstance(plan, TablePlan):
        raise ProblemError("the plans of a table name their columns themselves; leave out the column (--column).")
    if card is not None:
        column = _of_card(plan, card, column)
    if audit is not None:
        column = _of_audit(plan, audit, column)
        own = audit if isinstance(audit, Audit) else audit.audits[0]
        file = own.released if file is None else file
    return Material(
        plan=plan,
        card=card,
        audit=audit,
        column=column,
        file=file,
        public=public,
        made_on=date.today() if on is None else on,
    )


def _of_card(plan: Plan | TablePlan, card: dict[str, Any], column: str | None) -> str | None:
    """The column that a card names, if the card is that of this plan and says what the plan implies."""
    on_card, check = stated_on(check_card(card, "the card"), "the card")
    # compared as they are written: a specification knows its file, too, which is no part of what it says
    if type(on_card) is not type(plan) or on_card.to_json() != plan.to_json():
        raise FileError(
            "the card belongs to another plan than the one given; give the plan that the table was released under, or "
            "the card of its release."
        )
    if not check.ok:
        raise FileError(f"{check.says.rstrip('.')}; 'statveil verify' says more. Give the card as it was written.")
    stated = None if isinstance(plan, TablePlan) else card["column"]
    return _same_column(column, stated, "the card")


def _of_audit(plan: Plan | TablePlan, audit: Audit | TableAudit, column: str | None) -> str | None:
    """The column of an audit, if it attacked what this plan hides."""
    if isinstance(plan, TablePlan) != isinstance(audit, TableAudit):
        raise FileError(
            "the audit is of one column and the plans are of a whole table, or the other way round; give the audit "
            "that was made under this plan."
        )
    for one in (audit,) if isinstance(audit, Audit) else audit.audits:
        own = plan.plans.get(str(one.column)) if isinstance(plan, TablePlan) else plan
        if own is None or not _attacks(own, one):
            whose = "" if one.column is None else f" of the column {named(one.column)}"
            raise FileError(
                f"the audit{whose} was made under another plan than the one given (another statistic, tolerance or "
                "claimed risk); give the audit of this plan's release."
            )
    return _same_column(column, audit.column, "the audit") if isinstance(audit, Audit) else None


def _attacks(plan: Plan, audit: Audit) -> bool:
    """Whether an audit is one of a release under this plan: the same statistic, closeness and promised risk."""
    labels = [one.secret.label for one in plan.problem.each]
    if audit.secret not in labels:
        return False
    own = plan.for_secret(audit.secret) if plan.problem.also else plan
    closeness = own.problem.closeness
    kind, stated = ("relative", closeness.share) if isinstance(closeness, Relative) else ("absolute", closeness)
    close = audit.tolerance_kind == kind and math.isclose(audit.tolerance, stated, rel_tol=1e-9)
    # beside other columns an audit is held against a larger risk than the column's own
    return close and all(one.claimed >= own.risk * (1 - 1e-9) for one in audit.findings)


def _same_column(given: str | None, stated: str | None, source: str) -> str | None:
    if given is not None and stated is not None and given != stated:
        raise FileError(
            f"{source} is about the column {named(stated)}, and the report is asked for {named(given)}; give what "
            "belongs together."
        )
    return stated if given is None else given
