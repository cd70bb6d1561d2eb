"""Results as Polars data frames: one row a finding, a point, a column or a statistic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from statveil.auditing.audit import Audit
from statveil.auditing.table_audit import TableAudit
from statveil.comparing.points import Comparison
from statveil.design.frontier import Frontier
from statveil.made_plan import Plan
from statveil.report.comparison import parameter_text
from statveil.specification.planned import TablePlan
from statveil.tables.inspection import Inspection
from statveil.words.plan import plan_sentences

__all__ = [
    "audit_frame",
    "comparison_frame",
    "frontier_frame",
    "inspection_frame",
    "plan_frame",
    "table_plan_frame",
]


def _frame(rows: Sequence[dict[str, Any]]) -> Any:
    import polars as pl

    # the first rows need not have every number, so all of them are looked at
    return pl.DataFrame(list(rows), infer_schema_length=None)


def plan_frame(plan: Plan) -> Any:
    """What the plan says: one row a sentence, with its value, unit, direction and how it was obtained."""
    return _frame([sentence.to_json() for sentence in plan_sentences(plan)])


def table_plan_frame(table: TablePlan) -> Any:
    """One row for each hidden statistic."""
    return _frame(table.secrets)


def frontier_frame(found: Frontier) -> Any:
    """One row a point; those of the limit have the method ``lower_bound``."""
    limit = [{"method": "lower_bound", **point, "grid": None} for point in found.lower_bound]
    return _frame([*found.points, *limit]).select("method", "distortion", "risk", "grid")


def audit_frame(found: Audit | TableAudit) -> Any:
    """One row for each attacker of each column. Private."""
    audits = (found,) if isinstance(found, Audit) else found.audits
    rows = []
    for audit in audits:
        for one in audit.findings:
            finding = one.to_json()
            low, high = finding.pop("interval") or (None, None)
            rows.append(
                {"column": audit.column, "secret": audit.secret, **finding, "secret_from": low, "secret_to": high}
            )
    return _frame(rows)


def comparison_frame(found: Comparison) -> Any:
    """One row a setting. Private."""
    return _frame([{**point, "parameter": parameter_text(point)} for point in found.points])


def inspection_frame(found: Inspection) -> Any:
    """One row a column. Private."""
    rows = []
    for report in found.columns:
        plain = report.to_json()
        structure, families = plain.pop("structure"), plain.pop("families")
        rows.append(
            {
                **plain,
                "structure": [one["says"] for one in structure],
                "families": [one["family"] for one in families],
            }
        )
    return _frame(rows)
