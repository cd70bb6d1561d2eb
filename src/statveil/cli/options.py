"""Options that several commands share, and the problem made of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from statveil import problem as _problem  # noqa: F401  (fills the registries)
from statveil.cli.parsing import parse_family, parse_known, parse_priors, parse_secret
from statveil.cli.terminal import echo
from statveil.problem.problem import Problem
from statveil.problem.secret import spellings

__all__ = ["Once", "echo_json", "grid_options", "json_option", "problem_from", "problem_options"]

Command = TypeVar("Command", bound=Callable[..., Any])


class Once(click.Command):
    """A command whose options of one value refuse a second one: the last would win, and the first column stay raw."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        seen: set[str] = set()
        for option in order:
            if not isinstance(option, click.Option) or option.multiple or option.is_flag:
                continue
            if option.opts[-1] in seen:
                raise click.UsageError(f"the option {option.opts[-1]} is given twice; keep one of them.", ctx=ctx)
            seen.add(option.opts[-1])
        return super().parse_args(ctx, args)


_PROBLEM = (
    click.option(
        "--family",
        required=True,
        metavar="NAME",
        help="Family of the column; 'statveil list' shows them. shape:lognorm(1): any continuous distribution of "
        "SciPy, moved and stretched; shape:FILE:COLUMN: the shape of a column of a public table.",
    ),
    click.option("--trials-per-draw", "trials", type=int, metavar="N", help="Trials behind each count (binomial)."),
    click.option("--categories", type=int, metavar="C", help="Number of categories (categorical)."),
    click.option("--labels", metavar="A,B,C", help="Labels of the categories (categorical)."),
    click.option(
        "--prior",
        "priors",
        multiple=True,
        metavar="NAME=LO:HI",
        help="What outsiders believe of a parameter of this very column (its own rows, not a population that they were "
        "drawn from); once per parameter. NAME=X: known. NAME~between(A,B,0.9): 90 % sure. NAME=LO:HI~normal(M,S): a "
        "density, also lognormal(M,S), exponential(S) and SciPy's. NAME=LO:HI~lipschitz(FLOOR,L): only constants.",
    ),
    click.option("--secret", required=True, metavar="S", help=f"{', '.join(spellings()[:-1])}, or {spellings()[-1]}."),
    click.option(
        "--tolerance", required=True, metavar="E", help="A guess within E, in the unit of the statistic, is a hit."
    ),
    click.option("--distance", metavar="D", help="w1 (default), or tv for discrete families."),
    click.option("--known", metavar="K", help='Public structure, as in "min=0,step=1,heaps=5,atoms=0".'),
)


def problem_options(command: Command) -> Command:
    """Add the options that state a problem."""
    for option in reversed(_PROBLEM):
        command = option(command)
    return command


def grid_options(command: Command) -> Command:
    """Add the options of the numeric methods."""
    command = click.option("--release", default="free", metavar="R", help="free (default), or grid: an edge of it.")(
        command
    )
    return click.option(
        "--grid",
        type=int,
        metavar="N",
        help="Cells of the parameter range (default 800; layers and combs 400, optimal 240).",
    )(command)


def json_option(command: Command) -> Command:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")(command)


def problem_from(options: dict[str, Any]) -> Problem:
    """The problem that the options state; takes them out of ``options``."""
    from statveil.cli.parsing import parse_number

    family = parse_family(
        options.pop("family"),
        trials=options.pop("trials"),
        categories=options.pop("categories"),
        labels=options.pop("labels"),
    )
    prior = parse_priors(options.pop("priors"))
    secret, tolerance = parse_secret(options.pop("secret")), parse_number(options.pop("tolerance"), "the tolerance")
    known, distance = parse_known(options.pop("known")), options.pop("distance") or ""
    if prior is None:
        return Problem(family=family, secret=secret, tolerance=tolerance, known=known, distance=distance)
    return Problem(family=family, prior=prior, secret=secret, tolerance=tolerance, known=known, distance=distance)


def echo_json(value: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    echo(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False))
