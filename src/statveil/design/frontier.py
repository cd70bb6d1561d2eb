"""The whole trade-off at once: undominated points of every method, and the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from statveil.design.numeric import Designer, check_grid
from statveil.design.partitions import curve_points
from statveil.errors import ProblemError, TargetError, unknown_name
from statveil.problem.problem import Problem
from statveil.theory.gamma import gamma
from statveil.theory.limits import least_risk

__all__ = ["FRONTIER_METHODS", "Frontier", "frontier"]

FRONTIER_METHODS = ("dynamic", "greedy")
_MOST_POINTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """Points of (distortion, risk); lower is better for both."""

    problem: Problem
    points: list[dict[str, Any]]
    """``method``, ``distortion`` and ``risk`` of each point, by method and rising distortion."""
    lower_bound: list[dict[str, float]]
    """``distortion`` and the least ``risk`` of any mechanism with it (Theorem 2)."""

    def to_json(self) -> dict[str, Any]:
        """The points for scripts."""
        return {"points": self.points, "lower_bound": self.lower_bound}


def frontier(
    problem: Problem,
    *,
    methods: Sequence[str] = FRONTIER_METHODS,
    grid: int = 800,
    points: int = 200,
    release: str = "free",
) -> Frontier:
    """Undominated points of each method, each at the distortion it really has, with the limit beside them.

    Parameters
    ----------
    problem : Problem
        A problem with one uncertain parameter.
    methods : sequence of str
        ``"dynamic"``, ``"greedy"``.
    grid : int
        Cells of the parameter range.
    points : int
        At most so many points of each method.
    release : str
        ``"free"``, or ``"grid"``: the released parameter must be an edge of the grid.
    """
    if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= _MOST_POINTS:
        raise ProblemError(f"the number of points must lie between 2 and {_MOST_POINTS:,}. Got {points!r}.")
    if release not in ("free", "grid"):
        raise ProblemError(unknown_name("release", str(release), ["free", "grid"]))
    if not methods:
        raise ProblemError(f"give at least one method. Allowed: {', '.join(FRONTIER_METHODS)}.")
    for method in methods:
        if method not in FRONTIER_METHODS:
            raise ProblemError(unknown_name("method of a frontier", method, FRONTIER_METHODS))
    designer = Designer(problem=problem, cells=check_grid(grid), on_grid=release == "grid")
    found: list[dict[str, Any]] = []
    for method in dict.fromkeys(methods):
        for distortion, risk, _ in curve_points(designer, method, points):
            found.append({"method": method, "distortion": distortion, "risk": min(1.0, risk)})
    if not found:
        raise TargetError(f"no partition into {grid:,} cells is feasible; use a finer grid.")
    return Frontier(problem=problem, points=found, lower_bound=_limit(problem, found, points))


def _limit(problem: Problem, found: Sequence[dict[str, Any]], points: int) -> list[dict[str, float]]:
    """The limit at every distortion of the frontier, and at the jumps of the limit between them."""
    constant = gamma(problem)
    low, high = min(p["distortion"] for p in found), max(p["distortion"] for p in found)
    unit = 2 * constant * problem.tolerance
    jumps = unit * np.arange(max(1, np.floor(low / unit)), min(np.floor(high / unit), 10 * points) + 1)
    at = np.unique(np.concatenate([[p["distortion"] for p in found], jumps[(jumps >= low) & (jumps <= high)]]))
    return [{"distortion": float(d), "risk": least_risk(constant, problem.tolerance, float(d))} for d in at]
