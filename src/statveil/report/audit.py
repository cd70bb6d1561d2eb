"""An audit in words, and as a page. Both are private and say so first."""

from __future__ import annotations

import os

from statveil.auditing.audit import PRIVATE, Audit
from statveil.auditing.table_audit import TableAudit
from statveil.errors import FileError
from statveil.rounding import rate_down, rate_up, shown_up
from statveil.whole_file import write_whole
from statveil.words.audit import subject_text, verdict_sentence
from statveil.words.sentence import Sentence

__all__ = ["audit_page", "describe_audit", "distance_lines", "subject_of", "verdict_of"]


def describe_audit(found: Audit) -> str:
    """One line for each finding, the most harmful first."""
    lines = [
        PRIVATE,
        subject_of(found),
        f"{verdict_of(found)} {found.trials:,} tables of {found.rows:,} rows; attackers know {found.assumed}.",
        "",
        f"{'attacker':<14} {'rate':>6} {'interval':>17} {'claimed':>8}  verdict",
    ]
    for finding in found.findings:
        lines.append(
            f"{finding.attacker:<14} {rate_up(finding.rate):>6} "
            f"{f'{rate_down(finding.low)} to {rate_up(finding.high)}':>17} {shown_up(finding.claimed, 3):>8}  "
            f"{finding.verdict}"
        )
    lines += ["", *(f"{finding.attacker}: {finding.says}" for finding in found.findings)]
    if found.not_applicable:
        lines.append(f"not applicable here: {', '.join(found.not_applicable)}")
    lines += ["", "Distances between the tables:", *(f"  {line}" for line in distance_lines(found))]
    return "\n".join(lines)


def verdict_of(found: Audit) -> Sentence:
    """The audit in a sentence or two."""
    return verdict_sentence(
        found.verdict,
        rate=max(one.rate for one in found.findings),
        up_to=found.up_to,
        claimed=found.findings[0].claimed,
    )


def subject_of(found: Audit) -> str:
    """What was audited."""
    relative = found.tolerance_kind == "relative"
    return subject_text(found.secret, column=found.column, tolerance=found.tolerance, relative=relative)


def distance_lines(found: Audit) -> list[str]:
    """How far the tables lie apart, one line a measure."""
    numbers = found.distances
    lines = [f"released statistic {numbers['released_statistic']:.6g}"]
    if "rows_left_out" in numbers:
        lines.append(f"{numbers['rows_left_out']:.2%} of the rows left out")
    if "w1" in numbers:
        lines.append(f"W1 {numbers['w1']:.6g}")
    if "tv" in numbers:
        lines.append(f"total variation {numbers['tv']:.6g}, {numbers['rows_changed']:,} rows changed")
    for pair in numbers.get("correlations", []):
        lines.append(f"correlation with {pair['column']}: {pair['before']:.4f} before, {pair['after']:.4f} after")
    for pair in numbers.get("group_means", []):
        lines.append(
            f"largest difference of group means by {pair['column']}: {pair['before']:.6g} before, "
            f"{pair['after']:.6g} after"
        )
    return lines


def audit_page(found: Audit | TableAudit, path: str | os.PathLike[str]) -> None:
    """Write one self-contained page."""
    if not os.fspath(path).lower().endswith((".html", ".htm")):
        raise FileError(f"an audit is written as a page. Got {os.fspath(path)!r}; use a name that ends in .html.")
    from statveil.report.document.audit_part import audit_document  # which says what this file says

    write_whole(path, audit_document(found).encode(), private=True)
