"""``statveil audit``: attack a released table before someone else does. Private."""

from __future__ import annotations

import sys

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.parsing import parse_knowledge
from statveil.cli.progress import shown
from statveil.cli.terminal import IN_PLACE, echo
from statveil.plan_file import load_plan
from statveil.spoken import describe

__all__ = ["command"]


@click.command("audit", cls=Once)
@click.argument("plan_file", metavar="PLAN")
@click.argument("original", metavar="ORIGINAL")
@click.argument("released", metavar="RELEASED")
@click.option("--column", required=True, metavar="NAME", help="The released column.")
@click.option(
    "--known",
    multiple=True,
    metavar="K",
    help='What attackers know: "min=0", "step=1", "record=17:52000" (row from 0 : true value), '
    '"release=PLAN:TABLE" (another release); repeatable.',
)
@click.option("--secret", metavar="S", help="Which secret to attack, where the plan hides two: one audit for each.")
@click.option("--record", metavar="FILE", help="The private record of the release, where its rows were shuffled.")
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
@click.option("-o", "--output", metavar="FILE", help="Write the audit as a page (.html). It is private.")
@json_option
def command(
    plan_file: str,
    original: str,
    released: str,
    column: str,
    known: tuple[str, ...],
    secret: str | None,
    record: str | None,
    attackers: str,
    trials: int,
    seed: int | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Attack a released table. PRIVATE. Exit code 1 where an attacker beats the plan's risk.

    Exit code 0 says that none does: where the audit stays undecided, the verdict and a line on standard error say so.
    """
    from statveil.auditing.audit import audit
    from statveil.report.audit import audit_page

    structure, records, releases = parse_knowledge(known)
    with shown() as progress:
        found = audit(
            load_plan(plan_file),
            original,
            released,
            column=column,
            known=structure,
            records=records,
            releases=[(load_plan(plan), table) for plan, table in releases],
            record=record,
            secret=secret,
            attackers=attackers if attackers == "all" else [name.strip() for name in attackers.split(",")],
            trials=trials,
            seed=seed,
            progress=progress,
        )
    if output is not None:
        audit_page(found, output)
        IN_PLACE.append(output)
    if as_json:
        echo_json(found.to_json())
    else:
        echo(describe(found))
        if output is not None:
            echo(f"Written to {output} (private).")
    if found.verdict == "undecided":
        echo(
            f"Undecided after {found.trials:,} trials: an attacker may hit up to {found.up_to:.3f} of the time. "
            f"Allow more of them, such as --trials {4 * found.trials}.",
            err=True,
        )
    if found.leaks:
        sys.exit(1)
