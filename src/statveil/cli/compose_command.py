"""``statveil compose``: what several releases of one column tell together."""

from __future__ import annotations

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.parsing import parse_also
from statveil.cli.terminal import echo
from statveil.composition import compose
from statveil.plan_file import load_plan
from statveil.spoken import describe

__all__ = ["command"]


@click.command("compose", cls=Once)
@click.argument("plan_files", metavar="PLAN...", nargs=-1, required=True)
@click.option(
    "--also",
    multiple=True,
    metavar="S; tolerance=E",
    help='Another statistic of the column, as in "std; tolerance=0.5": what the releases tell of it; repeatable.',
)
@json_option
def command(plan_files: tuple[str, ...], also: tuple[str, ...], as_json: bool) -> None:
    """Joint risk of all releases of one column under these plans: exact, or an upper bound, never below the truth."""
    found = compose([load_plan(file) for file in plan_files], also=[parse_also(text) for text in also])
    if as_json:
        echo_json(found.to_json())
    else:
        echo(describe(found))
