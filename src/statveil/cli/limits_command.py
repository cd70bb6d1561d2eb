"""``statveil limits``: what no mechanism can beat."""

from __future__ import annotations

from typing import Any

import click

from statveil.cli.options import Once, echo_json, json_option, problem_from, problem_options
from statveil.cli.parsing import parse_amount, parse_share
from statveil.cli.terminal import echo
from statveil.planning import limits
from statveil.spoken import describe

__all__ = ["command"]


@click.command("limits", cls=Once)
@problem_options
@click.option("--max-risk", metavar="T", help="Largest allowed risk: bounds the distortion from below.")
@click.option("--max-distortion", metavar="B", help="Largest allowed distortion: bounds the risk from below.")
@json_option
def command(max_risk: str | None, max_distortion: str | None, as_json: bool, **options: Any) -> None:
    """The least distortion for a risk, or the least risk for a distortion, of any mechanism."""
    problem = problem_from(options)
    found = limits(
        problem,
        max_risk=None if max_risk is None else parse_share(max_risk, "the largest allowed risk"),
        max_distortion=None if max_distortion is None else parse_amount(max_distortion, "the largest distortion"),
    )
    if as_json:
        echo_json(found.to_json())
    else:
        echo(describe(found))
