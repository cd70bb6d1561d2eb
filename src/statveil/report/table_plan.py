"""The plans of a table in words: one row for each hidden statistic, and the joint risk."""

from __future__ import annotations

from statveil.errors import shortened
from statveil.problem.wording import distortion_text, tolerance_text
from statveil.rounding import shown_up
from statveil.specification.planned import TablePlan
from statveil.words.table import DEPENDENCE

__all__ = ["describe_table_plan"]


def describe_table_plan(table: TablePlan) -> str:
    """A table of columns, secrets, tolerances, risks and distortions, rounded up, and what all tell together."""
    rows = [("column", "secret", "tolerance", "risk", "distortion", "mode")]
    hidden = table.specification.hidden
    stated = iter(table.secrets)
    for name, plan in table.plans.items():
        for problem in hidden[name].problems:
            each = next(stated)
            risk = f"{shown_up(each['risk'])} ({each['risk_kind']})"
            moved = distortion_text(plan.problem, plan.distortion)
            rows.append((_one_line(name), each["secret"], tolerance_text(problem), risk, moved, plan.mode))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [
        "",
        f"any    {shown_up(table.risk)}   the best attacker who sees all columns guesses one or more of these at most "
        f"this often ({table.risk_kind})",
        f"all    {shown_up(table.intersection)}   and all of them at most this often",
        f"Assumed: {DEPENDENCE[table.dependence]}.",
    ]
    raised = [
        f"{_one_line(name)} {shown_up(risk)}"
        for name, risk in table.column_risks.items()
        if risk > table.plans[name].risk * (1 + 1e-9) and len(hidden[name].secrets) == 1
    ]
    if raised:
        lines.append(f"Seen with the other columns a column's own risk is: {', '.join(raised)}.")
    return "\n".join(lines)


def _one_line(name: str) -> str:
    """A column's name as it fits into a row, whatever its owner put into it."""
    return shortened(" ".join(name.split())) or repr(name)
