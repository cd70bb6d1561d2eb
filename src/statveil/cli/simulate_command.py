"""``statveil simulate``: the best attacker played for real."""

from __future__ import annotations

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.parsing import parse_other_prior, parse_share
from statveil.cli.terminal import echo
from statveil.plan_file import load_plan
from statveil.planning import simulate
from statveil.rounding import shown_up
from statveil.spoken import describe

__all__ = ["command"]


@click.command("simulate", cls=Once)
@click.argument("plan_file", metavar="PLAN")
@click.option("--trials", type=int, default=100_000, show_default=True, metavar="N", help="Independent trials.")
@click.option("--seed", type=click.IntRange(min=0), metavar="S", help="Seed, to repeat a run exactly.")
@click.option("--confidence", default="0.999", show_default=True, metavar="P", help="Level of the interval.")
@click.option(
    "--prior",
    "priors",
    multiple=True,
    metavar="PRIOR",
    help="Another prior than the plan's, inside its range: values are drawn from it, and the attacker knows it.",
)
@json_option
def command(
    plan_file: str, trials: int, seed: int | None, confidence: str, priors: tuple[str, ...], as_json: bool
) -> None:
    """Success rate of the best attacker, with a confidence interval; independent of the plan's accounting."""
    plan = load_plan(plan_file)
    level = parse_share(confidence, "the confidence")
    prior = parse_other_prior(priors, plan.problem) if priors else None
    found = simulate(plan, trials=trials, seed=seed, confidence=level, prior=prior)
    labels = [one.secret.label for one in plan.problem.each] if plan.problem.also and prior is None else []
    alone = {label: plan.for_secret(label) for label in labels}
    each = {label: simulate(one, trials=trials, seed=seed, confidence=level) for label, one in alone.items()}
    if as_json:
        secrets = [{"secret": label, **rate.to_json()} for label, rate in each.items()]
        echo_json({**found.to_json(), **({"secrets": secrets} if secrets else {})})
        return
    own = " under its own prior" if priors else ""
    echo(f"{describe(found)}; the plan says {shown_up(plan.risk, 5)}{own}.")
    for label, rate in each.items():
        echo(f"Of the {label} alone: {describe(rate)}; the plan says {shown_up(alone[label].risk, 5)}.")
