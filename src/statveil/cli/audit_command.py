"""``statveil audit``: attack a released table before someone else does. Private."""

from __future__ import annotations

import sys
from typing import Any

import click

from statveil.cli.engines import engine_option, read_by
from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.parsing import parse_knowledge
from statveil.cli.progress import shown
from statveil.cli.table_plans import table_plan_of
from statveil.cli.terminal import IN_PLACE, echo
from statveil.plan_file import load_plan
from statveil.problem.structure import Structure
from statveil.spoken import describe

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

    write = save_audit if output is not None and output.lower().endswith(".json") else audit_page
    tables = table_plan_of(plan_file)
    plan: Any = load_plan(plan_file) if tables is None else tables
    if column is None and tables is None and plan.release_mode.of_one_column:
        raise click.UsageError("the plan is about one column: name it (--column). A specification needs none.")
    structure, records, releases = parse_knowledge(known)
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
                f"{where or 'U'}ndecided after {one.trials:,} trials: an attacker may hit up to {one.up_to:.3f} of the "
                f"time. Allow more of them, such as --trials {4 * one.trials}.",
                err=True,
            )
    if found.leaks:
        sys.exit(1)
