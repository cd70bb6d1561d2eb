"""``statveil frontier``: the whole trade-off at once."""

from __future__ import annotations

from typing import Any

import click

from statveil.cli.options import Once, echo_json, grid_options, json_option, problem_from, problem_options
from statveil.cli.outputs import check_output, overwrite_option, shape_files
from statveil.cli.progress import line_shown
from statveil.cli.terminal import IN_PLACE, echo
from statveil.design.frontier import frontier
from statveil.design.methods import METHODS
from statveil.report.chart import check_suffix, save_frontier
from statveil.spoken import describe

__all__ = ["command"]


@click.command("frontier", cls=Once)
@problem_options
@click.option(
    "--methods",
    metavar="A,B",
    help=f"Some of {', '.join(METHODS)} (default: dynamic,greedy; with two parameters interval,comb).",
)
@click.option("--points", type=int, default=200, show_default=True, metavar="K", help="At most so many points each.")
@grid_options
@click.option("-o", "--output", metavar="FILE", help="Write a page (.html), a picture (.svg, .png) or a table (.csv).")
@overwrite_option
@json_option
def command(
    methods: str | None,
    points: int,
    grid: int | None,
    release: str,
    output: str | None,
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Undominated (distortion, risk) points of each method, with the limit."""
    if output is not None:
        check_suffix(output)
        check_output(output, shape_files(options), overwrite=overwrite)
    names = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    with line_shown() as progress:
        found = frontier(
            problem_from(options), methods=names, grid=grid, points=points, release=release, progress=progress
        )
    if output is not None:
        save_frontier(found, output)
        IN_PLACE.append(output)
    if as_json:
        echo_json(found.to_json())
        return
    if output is not None:
        echo(f"Written to {output}.")
        return
    echo(describe(found))
