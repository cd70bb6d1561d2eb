"""write_report(): the report of a release as one file."""

from __future__ import annotations

import os
from datetime import date
from typing import Any

from statveil.auditing.result import Audit
from statveil.auditing.table_audit import TableAudit
from statveil.errors import FileError
from statveil.made_plan import Plan
from statveil.report.document.elements import text
from statveil.report.document.evidence import evidence_part
from statveil.report.document.front import PRIVATE_MARK, PUBLIC_MARK, front_part, title_of
from statveil.report.document.material import Material, gather
from statveil.report.document.shell import framed
from statveil.specification.planned import TablePlan
from statveil.tables.card import used_versions
from statveil.whole_file import write_whole

__all__ = ["report_page", "write_report"]


def write_report(
    plan: Plan | TablePlan,
    output: str | os.PathLike[str],
    *,
    card: dict[str, Any] | None = None,
    audit: Audit | TableAudit | None = None,
    column: str | None = None,
    file: str | None = None,
    public: bool = False,
    on: date | None = None,
) -> None:
    """Write the report of a plan and what came of it: one page that opens offline and prints.

    Parameters
    ----------
    plan : Plan or TablePlan
        The plan, or the plans of a whole table.
    output : path
        An ``.html`` file. A private report can be read by its owner only.
    card : dict, optional
        The card of the release (:attr:`Release.card`); one of another plan is refused.
    audit : Audit or TableAudit, optional
        What :func:`audit` found; for private reports only.
    column, file : str, optional
        Names of the column and of the released file, where neither card nor audit has them.
    public : bool
        Leave out everything that was computed from the original, so that anyone may see the page.
    on : date, optional
        The day that the report bears; today by default.
    """
    if not os.fspath(output).lower().endswith((".html", ".htm")):
        raise FileError(f"a report is written as a page. Got {os.fspath(output)!r}; use a name that ends in .html.")
    material = gather(plan, card=card, audit=audit, column=column, file=file, public=public, on=on)
    write_whole(output, report_page(material).encode(), private=not public)


def report_page(material: Material) -> str:
    """The report as HTML: no script, nothing fetched, every name escaped."""
    mark = PUBLIC_MARK if material.public else PRIVATE_MARK
    body = f"""<main><div id="decide">{front_part(material)}</div>
<div id="evidence">{evidence_part(material)}</div></main>
<footer>Made by statveil {text(used_versions()["statveil"])} on {material.made_on.isoformat()}. {text(mark)}</footer>"""
    return framed(
        body, title=title_of(material), mark=mark, kind="public" if material.public else "private", what="report"
    )
