"""``statveil series``: risk month by month of a statistic that drifts."""

from __future__ import annotations

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.parsing import parse_number, parse_share
from statveil.cli.terminal import echo
from statveil.drifting import series
from statveil.plan_file import load_plan
from statveil.spoken import describe

__all__ = ["command"]


@click.command("series", cls=Once)
@click.argument("plan_file", metavar="PLAN")
@click.option("--drift", metavar="DENSITY", help="Change from month to month, as in 'normal(0,0.5)'.")
@click.option("--months", type=int, default=12, show_default=True, metavar="K", help="Number of releases.")
@click.option("--trend", metavar="X", help="Known change per month, beside the drift.")
@click.option("--sticky", is_flag=True, help="Keep a release while the statistic is within half a bin of it.")
@click.option("--max-risk", metavar="T", help="Also look for the bins that hold this risk in every month.")
@click.option("--paths", type=int, default=2_000, show_default=True, metavar="N", help="Paths drawn beyond 12 months.")
@click.option("--seed", type=click.IntRange(min=0), metavar="S", help="Seed of the paths, to repeat a run exactly.")
@json_option
def command(
    plan_file: str,
    drift: str | None,
    months: int,
    trend: str | None,
    sticky: bool,
    max_risk: str | None,
    paths: int,
    seed: int | None,
    as_json: bool,
) -> None:
    """Risk of each month's statistic: with the releases so far, and once all are known."""
    found = series(
        load_plan(plan_file),
        drift=drift,
        months=months,
        trend=0.0 if trend is None else parse_number(trend, "the trend"),
        sticky=sticky,
        max_risk=None if max_risk is None else parse_share(max_risk, "the risk"),
        paths=paths,
        seed=seed,
    )
    if as_json:
        echo_json(found.to_json())
    else:
        echo(describe(found))
