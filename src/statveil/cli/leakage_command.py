"""``statveil leakage``: what releases tell whatever is believed, and in other measures than the risk."""

from __future__ import annotations

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.parsing import parse_other_prior
from statveil.cli.terminal import echo
from statveil.leaking import leakage
from statveil.plan_file import load_plan
from statveil.spoken import describe

__all__ = ["command"]


@click.command("leakage", cls=Once)
@click.argument("plan_files", metavar="PLAN...", nargs=-1, required=True)
@click.option(
    "--against",
    multiple=True,
    metavar="PRIOR",
    help="A prior, or known value, to be told from the plan's; given twice: from each other.",
)
@json_option
def command(plan_files: tuple[str, ...], against: tuple[str, ...], as_json: bool) -> None:
    """Leakage of the releases under these plans: without a prior, and under the one that they state."""
    plans = [load_plan(file) for file in plan_files]
    others = [parse_other_prior([text], plans[0].problem) for text in against]
    found = leakage(plans, against=others)
    if as_json:
        echo_json(found.to_json())
    else:
        echo(describe(found))
