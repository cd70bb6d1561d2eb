"""Options that several commands share, and the problem made of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from statveil import problem as _problem  # noqa: F401  (fills the registries)
from statveil.cli.parsing import (
    parse_also,
    parse_amount,
    parse_family,
    parse_known,
    parse_priors,
    parse_secret,
    parse_shape,
)
from statveil.cli.terminal import echo
from statveil.errors import ProblemError
from statveil.problem.family import FAMILIES
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
        metavar="NAME",
        help="Family of the column; 'statveil list' shows them. Left out: any shape, and the prior is on the statistic "
        "itself. shape:lognorm(1): any continuous distribution of SciPy, moved and stretched; shape:FILE:COLUMN: the "
        "shape of a column of a public table; log-shape:norm: positive values whose logarithm has the shape; "
        "counts:betabinom(n=20,b=3): any discrete distribution of SciPy, with one argument left open.",
    ),
    click.option(
        "--shape",
        metavar="NAME",
        help="Without a family: redraw the column by rank from this public shape at the released statistic, whatever "
        "its structure. lognorm(1) or another continuous distribution of SciPy, quantiles(0=1,0.5=3,1=20), FILE:COLUMN "
        "of a public table, or catalogue for the nearest of the documented ones.",
    ),
    click.option("--trials-per-draw", "trials", type=int, metavar="N", help="Trials behind each count (binomial)."),
    click.option("--categories", type=int, metavar="C", help="Number of categories (categorical)."),
    click.option("--labels", metavar="A,B,C", help="Labels of the categories (categorical)."),
    click.option(
        "--prior",
        "priors",
        multiple=True,
        metavar="LO:HI",
        help="What outsiders believe of the statistic of this very column (its own rows, not a population that they "
        "were drawn from). LO:HI~log: every factor equally likely. between(A,B,0.9): 90 % sure. LO:HI~normal(M,S): a "
        "density, also lognormal(M,S), exponential(S) and SciPy's. LO:HI~slope(L): only how fast it changes. With a "
        "family once per parameter, as NAME=LO:HI, NAME=X (known), NAME~between(A,B,0.9), "
        "NAME=LO:HI~lipschitz(FLOOR,L) and so on.",
    ),
    click.option(
        "--secret", metavar="S", help=f"What to hide (needed): {', '.join(spellings()[:-1])}, or {spellings()[-1]}."
    ),
    click.option(
        "--tolerance",
        metavar="E",
        help="How close counts (needed): a guess within E, in the unit of the statistic or as a share (5%), is a hit.",
    ),
    click.option(
        "--also",
        multiple=True,
        metavar="S; prior=LO:HI; tolerance=E",
        help='A second secret of the same column, as in "std; prior=5:20; tolerance=0.5"; then --prior is of the first '
        "one. What is believed of one must not depend on the other.",
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
    asked = FAMILIES.get(options["family"])
    if asked is not None and not asked.takes_ranges and options["priors"]:
        raise ProblemError(asked.without_ranges())
    for needed in ("secret", "tolerance"):
        if options[needed] is None:
            context = click.get_current_context()
            raise click.MissingParameter(
                ctx=context, param=next(param for param in context.command.params if param.name == needed)
            )
    name, shape = options.pop("family"), options.pop("shape")
    if name is not None and shape is not None:
        raise ProblemError(
            "--shape redraws a column without a family; leave out --family, or write the shape there (--family "
            "shape:lognorm(1)) to move and stretch the column."
        )
    settings = {key: options.pop(key) for key in ("trials", "categories", "labels")}
    if name is None and any(value is not None for value in settings.values()):
        raise ProblemError("--trials-per-draw, --categories and --labels are for a family; name it with --family.")
    family = None if name is None else parse_family(name, **settings)
    also, priors = [parse_also(text) for text in options.pop("also")], options.pop("priors")
    # beside a second secret the prior may be one of the first itself
    prior = parse_priors(priors, named=family is not None and not (also and len(priors) == 1))
    secret, tolerance = parse_secret(options.pop("secret")), parse_amount(options.pop("tolerance"), "the tolerance")
    known, distance = parse_known(options.pop("known")), options.pop("distance") or ""
    given = {} if prior is None else {"prior": prior}
    return Problem(
        family=family,
        secret=secret,
        tolerance=tolerance,
        known=known,
        distance=distance,
        shape=parse_shape(shape),
        also=also,
        **given,
    )


def echo_json(value: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    echo(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False))
