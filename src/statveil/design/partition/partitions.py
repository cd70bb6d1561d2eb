"""A partition for a target: the distortion budget searched for a risk, never returned over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from statveil.design.partition.designer import Designer, check_grid
from statveil.design.target import BinWidth, MaxDistortion, MaxRisk, Target, meets, unreachable
from statveil.errors import TargetError
from statveil.mechanisms.partition import Partition
from statveil.problem.problem import Problem
from statveil.rounding import shown_up

__all__ = ["Point", "best_partition", "curve_points", "design_partition"]

Method = Callable[[float], list[int] | None]
Point = tuple[float, float, list[int]]
"""Distortion, risk and edges of a partition."""

_PROBES = 120
_BEYOND = 1.25


def design_partition(problem: Problem, goal: Target, name: str, *, cells: int, on_grid: bool) -> Partition:
    """The partition for a risk or a distortion."""
    designer = Designer(problem=problem, cells=check_grid(cells), on_grid=on_grid)
    return designer.partition(best_partition(designer, name, goal))


def best_partition(designer: Designer, name: str, goal: Target) -> list[int]:
    """Edges of least risk within a distortion, or of least distortion within a risk (Algorithm 2)."""
    method = _method(designer, name)
    assert not isinstance(goal, BinWidth)
    if isinstance(goal, MaxDistortion):
        edges = method(goal.value)
        if edges is None:
            raise TargetError(
                f"no partition into {designer.cells:,} cells has a distortion of {goal.value:g}: a single cell has "
                f"{shown_up(designer.least_budget)}. Allow more, or use a finer grid."
            )
        return designer.merged(edges, goal.value)
    if name == "greedy":  # not monotone in the budget: look at many
        points = curve_points(designer, name, _PROBES, until=goal)
        met = [point for point in points if meets(point[1], goal)]
        if not met:
            raise unreachable(goal.value, min(point[1] for point in points), "by the greedy rule")
        return met[0][2]
    whole = method(designer.most_budget)
    if whole is None or not meets(designer.total(whole), goal):
        raise unreachable(goal.value, 1.0 if whole is None else designer.total(whole))
    return _narrowed(designer, method, goal, whole)


def _method(designer: Designer, name: str) -> Method:
    return {"dynamic": designer.dynamic, "greedy": designer.greedy}[name]


def _narrowed(designer: Designer, method: Method, goal: MaxRisk, found: list[int]) -> list[int]:
    """Bisect the budget; keep the last partition that met the risk, tightened to what it really distorts."""
    low, high = designer.least_budget, designer.realised(found)
    first = method(low)
    if first is not None and meets(designer.total(first), goal):
        return designer.merged(first, low)
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        edges = method(middle)
        if edges is not None and meets(designer.total(edges), goal):
            found = designer.merged(edges, middle)
            high = min(middle, designer.realised(found))
        else:
            low = middle
    return found


def curve_points(designer: Designer, name: str, points: int, *, until: MaxRisk | None = None) -> list[Point]:
    """Undominated points by rising distortion, each at its realised distortion; of interest ``until`` a risk is met."""
    method = _method(designer, name)
    low, high = designer.least_budget, designer.most_budget
    budgets = np.unique(np.concatenate([np.linspace(low, high, points), np.geomspace(low, high, points)]))
    found: dict[float, tuple[float, list[int]]] = {}
    met = np.inf
    for budget in budgets:
        if budget > _BEYOND * met:
            break  # what distorts less than that, a budget so much larger does not find
        edges = method(float(budget))
        if edges is None:
            continue
        edges = designer.merged(edges, float(budget))
        at, risk = designer.realised(edges), designer.total(edges)
        if until is not None and meets(risk, until):
            met = min(met, at)
        if at not in found or risk < found[at][0]:
            found[at] = (risk, edges)
    kept: list[Point] = []
    for at in sorted(found):
        risk, edges = found[at]
        if not kept or risk < kept[-1][1] * (1 - 1e-12):
            kept.append((at, risk, edges))
    return _thinned(kept, points)


def _thinned(points: Sequence[Point], most: int) -> list[Point]:
    if len(points) <= most:
        return list(points)
    return [points[i] for i in np.unique(np.linspace(0, len(points) - 1, most).astype(int))]
