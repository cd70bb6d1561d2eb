"""``statveil inspect``: what the holder should know before declaring. Private."""

from __future__ import annotations

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.progress import shown
from statveil.cli.terminal import echo
from statveil.spoken import describe

__all__ = ["command"]


@click.command("inspect", cls=Once)
@click.argument("table", metavar="IN")
@click.option("--column", metavar="NAME", help="One column; all if left out.")
@json_option
def command(table: str, column: str | None, as_json: bool) -> None:
    """Structure of a table's columns, families that fit, and what would leak. PRIVATE: not for publication."""
    from statveil.tables.inspection import inspect

    with shown() as progress:
        found = inspect(table, column=column, progress=progress)
    if as_json:
        echo_json(found.to_json())
        return
    echo(describe(found))
