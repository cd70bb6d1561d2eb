"""``statveil tiers``: nested plans for audiences of rising trust."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from statveil.cli.options import Once, echo_json, json_option, problem_from, problem_options
from statveil.cli.parsing import parse_share
from statveil.cli.terminal import IN_PLACE, echo
from statveil.composition import tiers
from statveil.errors import FileError
from statveil.plan_file import save_plan
from statveil.spoken import describe
from statveil.whole_file import check_folder

__all__ = ["command"]


@click.command("tiers", cls=Once)
@problem_options
@click.option(
    "--max-risk", "risks", required=True, metavar="T,T,...", help="Largest risk of each audience, rising: 0.1,0.2,0.4."
)
@click.option("-o", "--output", metavar="FOLDER", help="Write the plans to this new folder: tier-1.json and so on.")
@json_option
def command(risks: str, output: str | None, as_json: bool, **options: Any) -> None:
    """One plan for each audience, each finer than the one before: together they tell what the finest does."""
    if output is not None:
        check_folder(output)
        if Path(output).exists():
            raise FileError(f"{output} exists; give the name of a new folder.")
    parts = [parse_share(part.strip(), "the risk of a tier") for part in risks.split(",")]
    found = tiers(problem_from(options), max_risks=parts)
    if output is not None:
        folder = Path(output)
        try:
            folder.mkdir()
        except OSError as error:
            raise FileError(f"cannot make the folder {output}: {error.strerror or error}.") from None
        for i, made in enumerate(found.plans, 1):
            save_plan(made, folder / f"tier-{i}.json")
        IN_PLACE.append(output)
    if as_json:
        echo_json(found.to_json())
        return
    echo(describe(found))
    if output is not None:
        echo(f"Written to {output}.")
