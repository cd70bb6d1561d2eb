"""The audit of a whole table: every hidden column attacked in turn, beside all that is published."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from statveil.auditing.attacker import Attacker
from statveil.auditing.audit import PRIVATE, Audit, attack_column
from statveil.auditing.result import VERDICTS
from statveil.auditing.table_pair import read_pair
from statveil.errors import ProblemError, unknown_name
from statveil.problem.structure import Structure
from statveil.specification.planned import TablePlan
from statveil.spoken import Drawn, Progress
from statveil.tables.record import read_record, table_seed

__all__ = ["TableAudit", "audit_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAudit(Drawn):
    """One audit for each hidden statistic of a table, the worst one first. Private.

    Attributes
    ----------
    audits : tuple of Audit
        Each with its column and secret. Their intervals hold together with 99 %.
    assumed : str
        What was assumed of the other columns.
    """

    words = "report.table_audit:describe_table_audit"
    picture = "report.audit_chart:audit_chart"
    frame = "report.frames:audit_frame"

    audits: tuple[Audit, ...]
    assumed: str

    def __getitem__(self, column: str) -> Audit:
        """The audit of a column; of two secrets the worse one."""
        for one in self.audits:
            if one.column == column:
                return one
        raise KeyError(column)

    @property
    def leaks(self) -> bool:
        """Whether an attacker beats the risk of a column."""
        return any(one.leaks for one in self.audits)

    @property
    def verdict(self) -> str:
        """That of the worst column: ``"leaks"``, ``"undecided"`` or ``"holds"``."""
        return min((one.verdict for one in self.audits), key=VERDICTS.index)

    def to_json(self) -> dict[str, Any]:
        """The audits for scripts."""
        return {
            "private": PRIVATE,
            "verdict": self.verdict,
            "assumed": self.assumed,
            "columns": [one.to_json() for one in self.audits],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TableAudit:
        """The audits that :meth:`to_json` wrote."""
        return cls(audits=tuple(Audit.from_json(one) for one in data["columns"]), assumed=str(data["assumed"]))


def audit_table(
    plan: TablePlan,
    original: Any,
    released: Any,
    *,
    column: Any,
    known: Structure | None,
    record: dict[str, Any] | str | os.PathLike[str] | None,
    secret: str | None,
    chosen: Sequence[Attacker],
    trials: int,
    seed: int | None,
    progress: Progress,
) -> TableAudit:
    """Attack the hidden columns of a table, or the one that is named; see :func:`statveil.audit`."""
    games = _games(plan, None if column is None else str(column), secret)
    if known is not None and len({name for name, _ in games}) > 1:
        raise ProblemError("what attackers know is known of one column; name it (--column), too.")
    content = record if record is None or isinstance(record, dict) else read_record(Path(record))
    pair = read_pair(plan, original, released, seed=None if content is None else table_seed(content, plan))
    found = []
    for number, (name, label) in enumerate(games):
        own = pair.for_column(name)
        before, after = own.beside_kept(name)
        one = plan.plans[name].for_secret(label)
        found.append(
            attack_column(
                one,
                before,
                after,
                column=name,
                known=known,
                chosen=chosen,
                trials=trials,
                seed=None if seed is None else seed + number,
                progress=_about(progress, name if len(games) > 1 else None),
                scene=own.scene(name, before),
                # an attacker who sees dependent columns may hit more often than the column's own plan says
                claimed=one.risk if plan.dependence == "independent" else max(one.risk, plan.column_risks[name]),
                together=len(games),
            ).of_tables(original, released)
        )
    return TableAudit(
        audits=tuple(sorted(found, key=lambda one: (VERDICTS.index(one.verdict), -one.up_to))), assumed=_assumed(plan)
    )


def _about(progress: Progress, column: str | None) -> Progress:
    """Progress that says which of several columns it is about."""
    return progress if column is None else lambda stage, rows, total: progress(f"{stage} {column}", rows, total)


def _games(plan: TablePlan, column: str | None, secret: str | None) -> list[tuple[str, str]]:
    """Each hidden statistic that is attacked: its column and name."""
    if column is not None and column not in plan.plans:
        raise ProblemError(unknown_name("hidden column", column, list(plan.plans)))
    pairs = [(name, one.secret.label) for name, own in plan.plans.items() for one in own.problem.each]
    named = [(name, label) for name, label in pairs if column in (None, name)]
    if secret is not None and secret not in {label for _, label in named}:
        raise ProblemError(unknown_name("secret", secret, sorted({label for _, label in named})))
    return [(name, label) for name, label in named if secret in (None, label)]


def _assumed(plan: TablePlan) -> str:
    """What the trials take for granted."""
    parts = ["kept columns are as they are"]
    if plan.specification.linked:
        parts.append("linked columns move with the attacked one")
    if plan.specification.derived:
        parts.append("derived ones are worked out anew in every trial")
    if len(plan.plans) > 1:
        parts.append(
            "other hidden columns stay as they were released, or are released anew where they hold the same in another "
            "form"
        )
    return "; ".join(parts)
