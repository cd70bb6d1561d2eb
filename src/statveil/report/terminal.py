"""The trade-off between risk and distortion, drawn in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from statveil.errors import TargetError
from statveil.made_plan import Plan
from statveil.planning import plan
from statveil.problem.problem import Problem
from statveil.rounding import shown_down, shown_up

__all__ = ["tradeoff"]

_WIDTH = 36


def tradeoff(problem: Problem, risks: Sequence[float]) -> Table:
    """One row per risk: the plan's distortion as a bar, the part below the limit solid, the rest light.

    Up and left is private, down and right is close to the original; no mechanism ends inside the solid part.
    """
    plans: list[tuple[float, Plan | None]] = [(risk, _try(problem, risk)) for risk in risks]
    longest = max((made.distortion for _, made in plans if made is not None), default=1.0)
    table = Table(
        title=f"Distortion needed to hide the {problem.secret.label} (shorter is better)",
        caption="█ no mechanism does better   ░ what this plan adds",
        title_justify="left",
        caption_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_column("risk at most", justify="right")
    table.add_column("distortion", justify="right")
    table.add_column("limit", justify="right")
    table.add_column("")
    for goal, made in plans:
        if made is None:
            table.add_row(f"{goal:g}", "-", "-", "not reachable with this prior")
            continue
        whole = max(1, round(_WIDTH * made.distortion / longest))
        solid = min(whole, round(_WIDTH * made.lower_bound / longest))
        table.add_row(
            f"{goal:g}",
            shown_up(made.distortion, 3),
            shown_down(made.lower_bound, 3),
            "█" * solid + "░" * (whole - solid),
        )
    return table


def _try(problem: Problem, risk: float) -> Plan | None:
    try:
        return plan(problem, max_risk=risk)
    except TargetError:
        return None
