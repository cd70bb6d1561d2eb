"""``statveil inspect``: what the holder should know before declaring. Private."""

from __future__ import annotations

from typing import Any

import click

from statveil.cli.engines import engine_option, read_by
from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.outputs import check_output, tables
from statveil.cli.progress import shown
from statveil.cli.terminal import IN_PLACE, echo
from statveil.spoken import describe
from statveil.whole_file import write_whole

__all__ = ["command"]


@click.command("inspect", cls=Once)
@click.argument("table", metavar="IN")
@click.option("--column", metavar="NAME", help="One column; all if left out.")
@click.option("--spec", is_flag=True, help="Draft a specification of the whole table, to edit.")
@click.option("-o", "--output", metavar="FILE", help="Write the draft to this file, which its owner alone can read.")
@engine_option
@json_option
def command(table: str, column: str | None, spec: bool, output: str | None, engine: str | None, as_json: bool) -> None:
    """Structure of a table's columns, families that fit, and what would leak. PRIVATE: not for publication."""
    if spec:
        if column is not None or as_json:
            raise click.UsageError("a specification is about all columns, and is TOML; leave out --column and --json.")
        if output is not None:
            kept = "it may hold someone's edits, so give the draft another name"
            check_output(output, tables(original=table), overwrite=False, advice=kept)
        _draft(read_by(engine, table), output)
        return
    if output is not None:
        raise click.UsageError("-o is for the draft of a specification; add --spec, or leave it out.")
    from statveil.tables.inspection import inspect

    with shown() as progress:
        found = inspect(read_by(engine, table), column=column, progress=progress)
    if as_json:
        echo_json(found.to_json())
        return
    echo(describe(found))


def _draft(table: Any, output: str | None) -> None:
    from statveil.tables.drafting import draft_specification

    with shown() as progress:
        text = draft_specification(table, progress=progress)
    if output is None:
        echo(text.rstrip("\n"))
        return
    write_whole(output, text.encode(), private=True)
    IN_PLACE.append(output)
    echo(
        f"{output}: a draft to edit (PRIVATE: made by looking at the table). Fill in the priors from public knowledge."
    )
