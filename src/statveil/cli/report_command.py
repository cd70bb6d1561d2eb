"""``statveil report``: one page about a release, for those who decide, with the evidence below."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.outputs import check_output, page_of
from statveil.cli.progress import line_shown
from statveil.cli.table_plans import table_plan_of
from statveil.cli.terminal import IN_PLACE, echo
from statveil.errors import FileError
from statveil.plan_file import load_plan

if TYPE_CHECKING:
    from statveil.made_plan import Plan
    from statveil.specification.planned import TablePlan
    from statveil.specification.specification import Specification

__all__ = ["command"]

_CARD = ".card.json"


@click.command("report", cls=Once)
@click.option(
    "--plan", "plan_file", metavar="PLAN", help="The plan of the column, or the plans of a table ('statveil plan -o')."
)
@click.option(
    "--spec", metavar="SPEC", help="The specification of a whole table (TOML); with --plan it must be its own."
)
@click.option("--card", "card_file", metavar="CARD", help="The card of the release (OUT.card.json).")
@click.option("--audit", "audit_file", metavar="AUDIT", help="The audit as JSON ('statveil audit ... -o audit.json').")
@click.option("--column", metavar="NAME", help="Name of the column, where there is no card and no audit yet.")
@click.option(
    "--public", is_flag=True, help="Leave out all that was computed from the original, so that anyone may see the page."
)
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to write the page (.html).")
@json_option
def command(
    plan_file: str | None,
    spec: str | None,
    card_file: str | None,
    audit_file: str | None,
    column: str | None,
    public: bool,
    output: str,
    as_json: bool,
) -> None:
    """Write a report: one page that opens offline and prints. PRIVATE, unless it is made with --public.

    On top what is hidden, how well, at what change, what is not protected and what was assumed; below the plan, charts,
    the audit and the card.
    """
    from statveil.report.document.write import write_report

    audience = "public" if public else "private"
    named = {"the plan": plan_file, "the specification": spec, "the card": card_file, "the audit": audit_file}
    reads = [(name, path) for name, path in named.items() if path is not None]
    check_output(output, reads, overwrite=False, ours=page_of(f"{audience} report"), what=f"a {audience} report")
    plan = _plan(plan_file, spec)
    audit = None
    if audit_file is not None:
        from statveil.auditing.audit_file import load_audit

        audit = load_audit(audit_file)
    card, file = _card(card_file)
    with line_shown():
        write_report(plan, output, card=card, audit=audit, column=column, file=file, public=public)
    IN_PLACE.append(output)
    if as_json:
        echo_json({"output": output, "public": public, "card": card_file, "audit": audit_file})
        return
    echo(f"Written to {output} ({audience}).")


def _plan(plan_file: str | None, spec: str | None) -> Plan | TablePlan:
    """The plan of a column, or the plans of a table, which must be those of the specification."""
    if plan_file is None and spec is None:
        raise click.UsageError("a report is about a plan: give it with --plan, or the specification with --spec.")
    asked = None if spec is None else _specification(spec)
    if plan_file is None:
        from statveil.specification.planned import plan_specification

        assert asked is not None
        return plan_specification(asked)
    plans = table_plan_of(plan_file)
    if asked is None:
        return load_plan(plan_file) if plans is None else plans
    if plans is None or plans.specification.to_json() != asked.to_json():
        raise FileError(
            f"{plan_file} does not hold the plans of {spec}; give the plans that 'statveil plan --spec {spec} -o' "
            "wrote, or one of the two alone."
        )
    return plans


def _specification(spec: str) -> Specification:
    from statveil.specification.specification import load_specification

    return load_specification(spec)


def _card(path: str | None) -> tuple[dict[str, Any] | None, str | None]:
    """The card, and the name of the file that it lies beside."""
    if path is None:
        return None, None
    from statveil.tables.card import load_card

    place = Path(path)
    try:
        card = load_card(place)
    except FileNotFoundError:
        raise FileError(f"cannot read {path}: No such file or directory.") from None
    return card, place.name.removesuffix(_CARD) if place.name.endswith(_CARD) else None
