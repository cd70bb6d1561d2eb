"""What attackers found, as a part of a report and as a page of its own. Private."""

from __future__ import annotations

from statveil.auditing.audit_file import release_mark
from statveil.auditing.result import PRIVATE, Audit
from statveil.auditing.table_audit import TableAudit
from statveil.report.audit import distance_lines, subject_of, verdict_of
from statveil.report.audit_chart import rates_chart
from statveil.report.document.elements import bullets, facts, figure, section, table, text
from statveil.report.document.shell import framed
from statveil.report.look import finished, svg_of
from statveil.rounding import rate_up, shown_up
from statveil.words.audit import within_text
from statveil.words.phrases import named

__all__ = ["audit_document", "audit_part"]


def audit_document(found: Audit | TableAudit) -> str:
    """The whole page: what was attacked, the verdict, every finding."""
    audits = (found,) if isinstance(found, Audit) else found.audits
    parts = []
    for number, audit in enumerate(audits):
        verdict = verdict_of(audit)
        short, _, rest = verdict.says.partition(". ")
        parts.append(
            f"<h1>{text(short)}.</h1><p class=lead>{text(rest)}</p>{facts(_about(audit))}"
            f"<h2>Findings</h2><p class=note>{text(verdict.means)}</p>"
            f"{audit_part(audit, f'a{number}')}"
        )
    return framed(
        f"<main>{''.join(parts)}</main>",
        title="Audit of a release",
        mark=PRIVATE,
        kind="private",
        what="audit",
        about=release_mark(found),
    )


def _about(audit: Audit) -> list[tuple[str, str]]:
    """File, column, secret, tolerance and date."""
    files = " and ".join(named(file) for file in (audit.original, audit.released) if file)
    within = within_text(audit.tolerance, relative=audit.tolerance_kind == "relative")
    return [
        ("Files compared" if audit.original and audit.released else "File", files or "tables in memory"),
        ("Column", "not named" if audit.column is None else named(audit.column)),
        ("Secret", audit.secret),
        ("A guess is right", within),
        ("Date", audit.made_on or "not known"),
    ]


def audit_part(audit: Audit, name: str) -> str:
    """One audit as HTML; ``name`` keeps its chart apart from others."""
    head = ("attacker", "rate", "at most", "promised", "verdict", "what it says")
    rows = [
        (one.attacker, rate_up(one.rate), rate_up(one.high), shown_up(one.claimed, 3), one.verdict, one.says)
        for one in audit.findings
    ]
    tried = f"{audit.trials:,} tables of {audit.rows:,} rows. Attackers know {audit.assumed}."
    files = " and ".join(named(file) for file in (audit.original, audit.released) if file)
    where = f" Compared: {files}." if files else ""
    chart = figure(
        "How often each attack was right.",
        "Lines across the bars: where the true rate lies, with 99 % certainty. Upright marks: what is promised.",
        svg_of(finished(rates_chart((audit,))), name=name),
    )
    idle = (
        f"<p class=note>{text('Not applicable here: ' + ', '.join(audit.not_applicable))}</p>"
        if audit.not_applicable
        else ""
    )
    return "".join(
        [
            section(
                "What attackers found",
                f"<p>{text(subject_of(audit))}</p><p class=note>{text(tried + where)}</p>",
                table(head, rows, name=f"what attackers found, {name}"),
                idle,
            ),
            chart,
            section("Distances between the tables", bullets(distance_lines(audit)), kind="short"),
        ]
    )
