"""An audit in words, and as a page. Both are private and say so first."""

from __future__ import annotations

import html
import os
from datetime import date

from statveil.auditing.audit import PRIVATE, Audit, Finding
from statveil.auditing.table_audit import TableAudit
from statveil.errors import FileError
from statveil.report.page import policy
from statveil.whole_file import write_whole

__all__ = ["audit_page", "describe_audit"]


def describe_audit(found: Audit) -> str:
    """One line for each finding, the most harmful first."""
    lines = [
        PRIVATE,
        _subject(found),
        f"{_verdict(found)}. {found.trials:,} tables of {found.rows:,} rows; attackers know {found.assumed}.",
        "",
        f"{'attacker':<14} {'rate':>6} {'interval':>17} {'claimed':>8}  verdict",
    ]
    for finding in found.findings:
        lines.append(
            f"{finding.attacker:<14} {finding.rate:>6.3f} {f'{finding.low:.3f} to {finding.high:.3f}':>17} "
            f"{finding.claimed:>8.3g}  {finding.verdict}"
        )
    lines += ["", *(f"{finding.attacker}: {finding.says}" for finding in found.findings)]
    if found.not_applicable:
        lines.append(f"not applicable here: {', '.join(found.not_applicable)}")
    lines += ["", "Distances between the tables:", *(f"  {line}" for line in _distances(found))]
    return "\n".join(lines)


def _verdict(found: Audit) -> str:
    """The audit in one sentence, without its full stop."""
    if found.leaks:
        return "LEAKS: an attacker beats the plan's risk"
    claimed = found.findings[0].claimed
    if found.verdict == "undecided":
        return (
            f"UNDECIDED: an attacker may hit up to {found.up_to:.3f} of the time, the plan claims {claimed:.3g}; allow "
            "more trials"
        )
    return f"Holds up to {found.up_to:.3f}: no attacker hits more often (with 99 %), the plan claims {claimed:.3g}"


def _subject(found: Audit) -> str:
    """What was audited."""
    what = f"the {found.secret}" + ("" if found.column is None else f" of the column {found.column}")
    within = f"{100 * found.tolerance:g} %" if found.tolerance_kind == "relative" else f"{found.tolerance:g}"
    return f"Secret: {what}; a guess within {within} is a hit."


def _distances(found: Audit) -> list[str]:
    numbers = found.distances
    lines = [f"released statistic {numbers['released_statistic']:.6g}"]
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
    write_whole(path, _page(found).encode(), private=True)


def _page(found: Audit | TableAudit) -> str:
    sections = "".join(_section(one) for one in ((found,) if isinstance(found, Audit) else found.audits))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">{policy()}<title>Audit of a release</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1f; }}
.private {{ background: #8c1d18; color: #fff; padding: .5rem 1rem; font-weight: 600; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; padding: .4rem .6rem; border-bottom: 1px solid #d5d5dc; vertical-align: top; }}
td.number {{ font-variant-numeric: tabular-nums; white-space: nowrap; }}
svg {{ display: block; }}
.leaks {{ color: #8c1d18; font-weight: 600; }}
</style></head><body>
<p class="private">{html.escape(PRIVATE)}</p>
{sections}</body></html>
"""


def _section(found: Audit) -> str:
    """One audit."""
    rows = "".join(_row(finding) for finding in found.findings)
    verdict = _verdict(found)
    listed = "".join(f"<li>{html.escape(line)}</li>" for line in _distances(found))
    return f"""<h1>{html.escape(verdict)}</h1>
<p>{html.escape(_subject(found))} Audited on {date.today().isoformat()}.</p>
<p>{found.trials:,} tables of {found.rows:,} rows. Attackers know {html.escape(found.assumed)}.
Bars show how often an attacker hits (shorter is better), the dashed line the plan's risk, whiskers
the interval (all of them hold together with 99 %).</p>
<table><thead><tr><th>attacker</th><th>rate</th><th></th><th>verdict</th><th>what it says</th></tr></thead>
<tbody>{rows}</tbody></table>
<h2>Distances between the tables</h2><ul>{listed}</ul>
"""


def _row(finding: Finding) -> str:
    mark = ' class="leaks"' if finding.verdict == "leaks" else ""
    return (
        f"<tr><td>{html.escape(finding.attacker)}</td><td class='number'>{finding.rate:.3f}</td>"
        f"<td>{_bar(finding)}</td>"
        f"<td{mark}>{html.escape(finding.verdict)}</td><td>{html.escape(finding.says)}</td></tr>"
    )


def _bar(finding: Finding) -> str:
    """A bar of the rate with its interval and the claimed risk, drawn to the scale 0 to 1."""
    width, colour = 160, "#8c1d18" if finding.verdict == "leaks" else "#3b6ea5"
    at = {
        name: 1 + value * (width - 2)
        for name, value in (
            ("rate", finding.rate),
            ("low", finding.low),
            ("high", finding.high),
            ("claimed", finding.claimed),
        )
    }
    return (
        f"<svg width='{width}' height='18' role='img' "
        f"aria-label='rate {finding.rate:.3f}, claimed {finding.claimed:.3g}'>"
        f"<rect x='1' y='4' width='{max(at['rate'] - 1, 1):.1f}' height='10' fill='{colour}' opacity='.75'/>"
        f"<line x1='{at['low']:.1f}' x2='{at['high']:.1f}' y1='9' y2='9' stroke='#1b1b1f'/>"
        f"<line x1='{at['claimed']:.1f}' x2='{at['claimed']:.1f}' y1='0' y2='18' stroke='#1b1b1f' "
        "stroke-dasharray='3 2'/></svg>"
    )
