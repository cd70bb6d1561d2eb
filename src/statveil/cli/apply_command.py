"""``statveil apply``: parameter in, released parameter out."""

from __future__ import annotations

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.parsing import parse_point
from statveil.cli.terminal import echo
from statveil.errors import ProblemError
from statveil.plan_file import load_plan
from statveil.problem.families.any_shape import VALUE

__all__ = ["command"]


@click.command("apply", cls=Once)
@click.argument("plan_file", metavar="PLAN")
@click.option(
    "--at",
    required=True,
    metavar="NAME=X,...",
    help="The parameter, as in mu=103,sigma=7; without a family the statistic, as in value=103.",
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="For a randomised plan: must stay secret.")
@json_option
def command(plan_file: str, at: str, seed: int | None, as_json: bool) -> None:
    """Released parameter of a parameter, and the secret's value at the release."""
    point = parse_point(at)
    plan = load_plan(plan_file)
    if plan.randomised and seed is None:
        raise ProblemError(
            "this plan releases at random: give --seed N with a number that stays secret, and use it only once for a "
            "column ('statveil release' draws its own)."
        )
    done = plan.apply(point, secret_seed=seed)
    alone = plan.problem.family.shapeless  # the statistic is all there is
    released = {VALUE: float(done.secret)} if alone else {n: float(value) for n, value in done.released.items()}
    if as_json:
        echo_json({"released": released, "secret": float(done.secret)})
        return
    echo("released: " + ", ".join(f"{name} = {value:.10g}" for name, value in released.items()))
    echo(f"secret at the release: {float(done.secret):.10g}")
