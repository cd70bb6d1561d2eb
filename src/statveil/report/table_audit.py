"""The audit of a whole table in words."""

from __future__ import annotations

from statveil.auditing.audit import PRIVATE
from statveil.auditing.table_audit import TableAudit
from statveil.report.audit import describe_audit
from statveil.rounding import rate_up, shown_up

__all__ = ["describe_table_audit"]


def describe_table_audit(found: TableAudit) -> str:
    """One line for each column, the worst first, and then each audit by itself."""
    says = {
        "leaks": "LEAKS: an attacker beats the risk of a column",
        "undecided": "UNDECIDED: an attacker may beat the risk of a column; allow more trials",
        "holds": "Holds: no attacker is seen to beat the risk of a column",
    }
    width = max(len("column"), *(len(str(one.column)) for one in found.audits))
    lines = [
        PRIVATE,
        f"{says[found.verdict]}. In every trial {found.assumed}.",
        "",
        f"{'column':<{width}}  {'secret':<12} {'best attacker':<14} {'rate':>6} {'claimed':>8}  verdict",
    ]
    for one in found.audits:
        best = one.findings[0]
        lines.append(
            f"{one.column!s:<{width}}  {one.secret:<12} {best.attacker:<14} {rate_up(best.rate):>6} "
            f"{shown_up(best.claimed, 3):>8}  "
            f"{one.verdict}"
        )
    for one in found.audits:
        lines += ["", f"--- {one.column}: {one.secret} ---", *describe_audit(one).splitlines()[1:]]
    return "\n".join(lines)
