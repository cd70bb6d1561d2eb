"""``statveil audit``: attack a released table before someone else does. Private."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from statveil.cli.engines import engine_option, read_by
from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.outputs import check_output, keep_another, overwrite_option, page_of, subject_of_page, tables
from statveil.cli.parsing import parse_knowledge
from statveil.cli.progress import shown
from statveil.cli.table_plans import table_plan_of
from statveil.cli.terminal import IN_PLACE, echo
from statveil.errors import FileError
from statveil.plan_file import load_plan
from statveil.problem.structure import Structure
from statveil.rounding import rate_up
from statveil.spoken import describe
from statveil.whole_file import Named

if TYPE_CHECKING:
    from statveil.auditing.audit import Audit
    from statveil.auditing.table_audit import TableAudit

__all__ = ["command"]


@click.command("audit", cls=Once)
@click.argument("plan_file", metavar="PLAN|SPEC")
@click.argument("original", metavar="ORIGINAL")
@click.argument("released", metavar="RELEASED")
@click.option(
    "--column",
    metavar="NAME",
    help="The released column; of a whole table the one to attack (otherwise all hidden ones).",
)
@click.option(
    "--known",
    multiple=True,
    metavar="K",
    help='What attackers know: "min=0", "step=1", "record=17:52000" (row from 0 : true value), '
    '"release=PLAN:TABLE" (another release); repeatable.',
)
@click.option("--secret", metavar="S", help="Which secret to attack, where the plan hides two: one audit for each.")
@click.option(
    "--record",
    metavar="FILE",
    help="The private record of the release, where its rows were shuffled; for a whole table it also checks the rows.",
)
@click.option("--attackers", default="all", show_default=True, metavar="A,B", help="Names, or all.")
@click.option(
    "--trials",
    type=int,
    default=2000,
    show_default=True,
    metavar="N",
    help="Tables to attack at most, at least 200; an audit ends as soon as its verdict is clear.",
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed, to repeat an audit exactly.")
@click.option(
    "-o", "--output", metavar="FILE", help="Write the audit as a page (.html), or as JSON (.json). It is private."
)
@overwrite_option
@engine_option
@json_option
def command(
    plan_file: str,
    original: str,
    released: str,
    column: str | None,
    known: tuple[str, ...],
    secret: str | None,
    record: str | None,
    attackers: str,
    trials: int,
    seed: int | None,
    output: str | None,
    overwrite: bool,
    engine: str | None,
    as_json: bool,
) -> None:
    """Attack a released table. PRIVATE. Exit code 1 where an attacker beats the plan's risk.

    PLAN is that of one column. SPEC (a .toml file, or the plans made of it by 'statveil plan --spec') is about a whole
    table: every hidden column is attacked in turn, beside all that is published.

    Exit code 0 says that none does: where the audit stays undecided, the verdict and a line on standard error say so.
    """
    from statveil.auditing.audit import Audit, audit
    from statveil.auditing.audit_file import save_audit
    from statveil.report.audit import audit_page

    write = save_audit if output is not None and _is_json(output) else audit_page
    structure, records, releases = parse_knowledge(known)
    if output is not None:
        reads: list[Named] = [("the plan", plan_file), *tables(original=original, released=released)]
        reads += [] if record is None else [("the record", record)]
        for other, table in releases:
            reads += [("the plan", other), *tables(other=table)]
        check_output(output, reads, overwrite=overwrite, ours=_AUDITS[_is_json(output)], what="an audit")
    whole = table_plan_of(plan_file)
    plan: Any = load_plan(plan_file) if whole is None else whole
    if column is None and whole is None and plan.release_mode.of_one_column:
        raise click.UsageError("the plan is about one column: name it (--column). A specification needs none.")
    with shown() as progress:
        found = audit(
            plan,
            read_by(engine, original),
            read_by(engine, released),
            column=column,
            known=None if structure == Structure() else structure,
            records=records,
            releases=[(load_plan(plan), read_by(engine, table)) for plan, table in releases],
            record=record,
            secret=secret,
            attackers=attackers if attackers == "all" else [name.strip() for name in attackers.split(",")],
            trials=trials,
            seed=seed,
            progress=progress,
        )
    if output is not None:
        keep_another(output, "the audit of another release", same=_of_the_same(found), overwrite=overwrite)
        write(found, output)
        IN_PLACE.append(output)
    if as_json:
        echo_json(found.to_json())
    else:
        echo(describe(found))
        if output is not None:
            echo(f"Written to {output} (private).")
    for one in (found,) if isinstance(found, Audit) else found.audits:
        if one.verdict == "undecided" and not found.leaks:
            where = "" if isinstance(found, Audit) else f"Column {one.column}: u"
            echo(
                f"{where or 'U'}ndecided after {one.trials:,} trials: an attacker may hit up to "
                f"{rate_up(one.up_to)} of the time. Allow more of them, such as --trials {4 * one.trials}.",
                err=True,
            )
    if found.leaks:
        sys.exit(1)


def _is_json(output: str) -> bool:
    return output.lower().endswith(".json")


def _audit_json(place: Path) -> bool:
    from statveil.auditing.audit_file import load_audit

    try:
        load_audit(place)
    except FileError:
        return False
    return True


_AUDITS = {True: _audit_json, False: page_of("private audit")}
"""Whether a file is an earlier audit: as JSON, or as a page."""


def _of_the_same(found: Audit | TableAudit) -> Callable[[Path], bool]:
    """Whether a file that is an audit is one of the same release."""
    from statveil.auditing.audit_file import load_audit, release_mark

    def same(place: Path) -> bool:
        about = release_mark(load_audit(place)) if _is_json(place.name) else subject_of_page(place)
        return about == release_mark(found)

    return same
