"""``statveil compare``: our mechanisms beside the alternatives, on one column. Private."""

from __future__ import annotations

import re

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.outputs import check_output, overwrite_option, tables
from statveil.cli.parsing import parse_family, parse_number, parse_priors, parse_secret
from statveil.cli.progress import shown
from statveil.cli.terminal import IN_PLACE, echo
from statveil.errors import ProblemError
from statveil.spoken import describe

__all__ = ["command"]


@click.command("compare", cls=Once)
@click.argument("table", metavar="TABLE")
@click.option("--column", required=True, metavar="NAME", help="The column.")
@click.option("--secret", required=True, metavar="S", help="mean, std or quantile:A.")
@click.option(
    "--family", metavar="NAME", help="Family of our bins (default: location, exponential, gaussian, by the secret)."
)
@click.option(
    "--prior",
    "priors",
    multiple=True,
    metavar="NAME=LO:HI",
    help="What outsiders believe of a parameter; repeatable. Without it the column's order of magnitude stands in.",
)
@click.option("--tolerance", metavar="E", help="A guess within E is a hit (default: 1 % of the prior's width).")
@click.option("--methods", metavar="A,B", help="Some of ours, comb, dp, ap, distp, directional, opendp (default: all).")
@click.option("--seeds", type=int, default=10, show_default=True, metavar="N", help="Realisations of each setting.")
@click.option("--points", type=int, default=12, show_default=True, metavar="K", help="Settings of each form.")
@click.option("--bins", default="20,200,2000", show_default=True, metavar="N,M", help="Bins of the histograms.")
@click.option(
    "--range",
    "ends",
    metavar="LO:HI",
    help="Range of the histograms, from public knowledge (default: round numbers beyond what the prior allows).",
)
@click.option(
    "--trials", type=int, default=100, show_default=True, metavar="N", help="Redrawn columns on which hits count."
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed, to repeat a comparison exactly.")
@click.option(
    "-o", "--output", metavar="FILE", help="Write a page (.html), a picture (.svg, .png) or a table (.csv). Private."
)
@overwrite_option
@json_option
def command(
    table: str,
    column: str,
    secret: str,
    family: str | None,
    priors: tuple[str, ...],
    tolerance: str | None,
    methods: str | None,
    seeds: int,
    points: int,
    bins: str,
    ends: str | None,
    trials: int,
    seed: int | None,
    output: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Attackers' errors and distortions of our mechanisms and the alternatives on one column. PRIVATE."""
    from statveil.comparing.compare import compare
    from statveil.report.chart import check_suffix
    from statveil.report.comparison import save_comparison

    if output is not None:
        check_suffix(output)
        check_output(output, tables(original=table), overwrite=overwrite)
    with shown() as progress:
        found = compare(
            table,
            column=column,
            secret=parse_secret(secret),
            family=None if family is None else parse_family(family),
            prior=parse_priors(priors),
            tolerance=None if tolerance is None else parse_number(tolerance, "the tolerance"),
            methods=None if methods is None else [name.strip() for name in methods.split(",") if name.strip()],
            seeds=seeds,
            points=points,
            bins=_bins(bins),
            range=None if ends is None else _ends(ends),
            trials=trials,
            seed=seed,
            progress=progress,
        )
    if output is not None:
        save_comparison(found, output)
        IN_PLACE.append(output)
    if as_json:
        echo_json(found.to_json())
        return
    echo(describe(found))
    if output is not None:
        echo(f"Written to {output} (private).")


def _bins(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts:
        if not re.fullmatch(r"\d{1,9}", part):
            raise ProblemError(
                f"the numbers of bins are whole numbers separated by commas, as in 20,200. Got {text!r}."
            )
    return [int(part) for part in parts]


def _ends(text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    if not colon:
        raise ProblemError(f"a range is written LO:HI. Got {text!r}; write for example 0:50000.")
    return parse_number(low, "the lower end of the range"), parse_number(high, "the upper end of the range")
