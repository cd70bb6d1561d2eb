"""``statveil schema``: the JSON schema of a kind of file, for scripts and editors."""

from __future__ import annotations

import click

from statveil.cli.options import Once, echo_json
from statveil.schemas import schema

__all__ = ["command"]


@click.command("schema", cls=Once)
@click.argument("name")
def command(name: str) -> None:
    """Print the JSON schema of a file: plan, table-plan, specification, card or record.

    A card or record of one column and one of a whole table differ in their version: card-3 and card-4, record-1 and
    record-2.
    """
    echo_json(schema(name))
