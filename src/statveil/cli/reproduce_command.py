"""``statveil reproduce``: every figure and table of the paper, with one page that collects them."""

from __future__ import annotations

import sys

import click

from statveil.cli.options import Once, echo_json, json_option
from statveil.cli.progress import line_shown
from statveil.cli.terminal import IN_PLACE, echo

__all__ = ["command"]


@click.command("reproduce", cls=Once)
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Where to; index.html collects everything.")
@click.option("--only", multiple=True, metavar="NAME", help="Only this item; repeatable, or names with commas.")
@click.option("--wwt", metavar="FILE", help="Wikipedia Web Traffic (Kaggle's train_1.csv); else a stand-in.")
@click.option("--mba", metavar="FILE", help="Measuring Broadband America (curr_netusage.csv); else a stand-in.")
@click.option("--mba-homes", metavar="FILE", help="The FCC's unit profile: which provider each home has.")
@click.option("--mba-provider", default="AT&T", show_default=True, metavar="NAME", help="Whose homes, or all.")
@click.option("--salary", metavar="FILE", help="The salary table of the appendix; else a stand-in.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Seed.")
@click.option("--quick", is_flag=True, help="A first look in about a minute, with rougher numbers.")
@json_option
def command(
    output: str,
    only: tuple[str, ...],
    wwt: str | None,
    mba: str | None,
    mba_homes: str | None,
    mba_provider: str,
    salary: str | None,
    seed: int,
    quick: bool,
    as_json: bool,
) -> None:
    """Make the paper's figures and tables anew. Exit code 1 where an item failed."""
    from statveil.reproducing.item import FULL, QUICK
    from statveil.reproducing.page import INDEX
    from statveil.reproducing.run import reproduce

    names = [name.strip() for part in only for name in part.split(",") if name.strip()]
    with line_shown() as progress:
        found = reproduce(
            output,
            only=names if only else None,
            wwt=wwt,
            mba=mba,
            mba_homes=mba_homes,
            mba_provider=None if mba_provider.lower() == "all" else mba_provider,
            salary=salary,
            seed=seed,
            sizes=QUICK if quick else FULL,
            progress=progress,
        )
    failed = [done for done in found if done.failure is not None]
    IN_PLACE.append(output)
    if as_json:
        echo_json({"output": output, "page": INDEX, "items": [done.to_json() for done in found]})
    else:
        for done in found:
            claims = () if done.outcome is None else done.outcome.claims
            held = f"{sum(claim.holds for claim in claims)} of {len(claims)} statements hold"
            echo(f"{done.name:<16} {held if done.failure is None else f'FAILED: {done.failure}'}")
        echo(f"Written to {output}; open {INDEX} there.")
    if failed:
        sys.exit(1)
