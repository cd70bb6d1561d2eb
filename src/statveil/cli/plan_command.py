"""``statveil plan``: the best mechanism for a target."""

from __future__ import annotations

import json
from typing import Any

import click
from click.core import ParameterSource

from statveil.cli.options import Once, echo_json, grid_options, json_option, problem_from, problem_options
from statveil.cli.outputs import check_output, content, json_kind, keep_another, overwrite_option, shape_files
from statveil.cli.parsing import parse_amount, parse_number, parse_range, parse_share
from statveil.cli.progress import line_shown
from statveil.cli.terminal import IN_PLACE, echo
from statveil.design.methods import METHODS
from statveil.errors import ProblemError
from statveil.made_plan import Plan
from statveil.plan_file import FORMAT, dump_plan, load_plan, save_plan
from statveil.planning import plan
from statveil.problem.problem import Problem
from statveil.spoken import describe
from statveil.whole_file import Named

__all__ = ["command"]


@click.command("plan", cls=Once)
@problem_options
@click.option(
    "--max-risk",
    metavar="T",
    help="Least distortion with at most this risk; with two secrets that of either, or T,T for one of each.",
)
@click.option("--max-distortion", metavar="B", help="Least risk with at most this distortion, also as a share (8%).")
@click.option("--bin", "width", metavar="S", help="The paper's mechanism with bins of this width.")
@click.option("--slope", metavar="X", help="Force a direction (the paper's t0).")
@click.option("--method", default="auto", metavar="M", help=f"{', '.join(('auto', *METHODS))} (default: auto).")
@click.option("--robust-to", metavar="LO:HI", help="The target holds for attackers of any tolerance from LO to HI.")
@grid_options
@click.option(
    "--after",
    multiple=True,
    metavar="PLAN",
    help="Plan of an earlier release of the same column, which states the problem: --max-risk is that of all together.",
)
@click.option(
    "--spec",
    metavar="FILE",
    help="Plan all hidden columns of this specification (TOML) at once, and split its budget; no other option but -o, "
    "--overwrite and --json; see docs/specification.md.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the plan to this file.")
@overwrite_option
@json_option
def command(
    max_risk: str | None,
    max_distortion: str | None,
    width: str | None,
    slope: str | None,
    method: str,
    robust_to: str | None,
    grid: int | None,
    release: str,
    after: tuple[str, ...],
    spec: str | None,
    output: str | None,
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Plan a release: exactly one of --max-risk, --max-distortion and --bin. No data is read."""
    if spec is not None:
        _plan_table(spec, output, overwrite, as_json)
        return
    if output is not None:
        reads: list[Named] = [*(("the plan", file) for file in after), *shape_files(options)]
        check_output(output, reads, overwrite=overwrite, ours=json_kind(FORMAT), what="a plan")
    earlier = [load_plan(file) for file in after]
    problem = _problem(options, earlier)
    with line_shown() as progress:
        made = plan(
            problem,
            max_risk=_risks(max_risk, problem),
            max_distortion=None
            if max_distortion is None
            else parse_amount(max_distortion, "the largest allowed distortion"),
            bin=_number(width, "the bin width"),
            slope=_number(slope, "the slope"),
            method=method,
            robust_to=None if robust_to is None else parse_range(robust_to),
            grid=grid,
            release=release,
            after=earlier,
            progress=progress,
        )
    if output is not None:
        _keep(output, dump_plan(made), overwrite)
        save_plan(made, output)
        IN_PLACE.append(output)
    if as_json:
        echo(json.dumps(json.loads(dump_plan(made)), indent=2, ensure_ascii=False))
        return
    echo(describe(made))
    if output is not None:
        echo(f"Written to {output}.")


def _plan_table(spec: str, output: str | None, overwrite: bool, as_json: bool) -> None:
    """All plans of a specification at once."""
    from statveil.specification.planned import FORMAT as TABLE_FORMAT
    from statveil.specification.planned import plan_specification
    from statveil.specification.plans_file import dump_table_plan, save_table_plan
    from statveil.specification.specification import load_specification

    context = click.get_current_context()
    for param in context.command.params:
        given = context.get_parameter_source(param.name or "")
        if param.name not in ("spec", "output", "overwrite", "as_json") and given is not ParameterSource.DEFAULT:
            raise ProblemError(
                f"--spec states all of it, so {param.opts[-1]} is not for the command line; write it into {spec}."
            )
    if output is not None:
        ours = json_kind(TABLE_FORMAT)
        check_output(output, [("the specification", spec)], overwrite=overwrite, ours=ours, what="a plan of a table")
    with line_shown():
        made = plan_specification(load_specification(spec))
    if output is not None:
        _keep(output, dump_table_plan(made), overwrite)
        save_table_plan(made, output)
        IN_PLACE.append(output)
    if as_json:
        echo_json(made.to_json())
        return
    echo(describe(made))
    if output is not None:
        echo(f"Written to {output}.")


def _problem(options: dict[str, Any], earlier: list[Plan]) -> Problem:
    """What the options state, or the problem of an earlier release of the same column."""
    if not earlier:
        return problem_from(options)
    if any(value not in (None, ()) for value in options.values()):
        raise ProblemError("--after takes the problem of the earlier plan; give the target alone, such as --max-risk.")
    return earlier[0].problem


def _keep(output: str, made: str, overwrite: bool) -> None:
    """A plan that is there stays, unless it is the same one."""
    keep_another(output, "another plan", same=lambda place: content(place) == json.loads(made), overwrite=overwrite)


def _risks(text: str | None, problem: Problem) -> float | list[float] | None:
    """One risk, or one for each of two secrets."""
    if text is None or not problem.also or "," not in text:
        return None if text is None else parse_share(text, "the largest allowed risk")
    return [parse_share(part, "the largest allowed risk of each secret") for part in text.split(",")]


def _number(text: str | None, what: str) -> float | None:
    return None if text is None else parse_number(text, what)
