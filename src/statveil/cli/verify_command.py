"""``statveil verify``: a released table against its card."""

from __future__ import annotations

import sys

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.terminal import echo
from statveil.spoken import describe

__all__ = ["command"]


@click.command("verify", cls=Once)
@click.argument("table", metavar="OUT")
@json_option
def command(table: str, as_json: bool) -> None:
    """Check a released table against its card, OUT.card.json. Exit code 1 where they disagree."""
    from statveil.tables.verify_file import verify_file

    found = verify_file(table)
    if as_json:
        echo_json(found.to_json())
    else:
        echo(describe(found))
    if not found.ok:
        sys.exit(1)
