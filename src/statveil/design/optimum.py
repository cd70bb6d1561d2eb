"""The least distortion that any mechanism of a risk has, where it can be computed."""

from __future__ import annotations

import math
from dataclasses import replace

from statveil.design.cell_designer import CellDesigner
from statveil.design.comb_search import best_comb
from statveil.design.target import MaxRisk
from statveil.errors import StatveilError
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.theory.comb_layout import STRETCH

__all__ = ["least_possible"]

_CELLS, _MOST_WINDOWS, _STEPS = 96, 16, 6
"""Cells of the programme; ranges of more windows would need more; halvings of the budget."""


def least_possible(problem: Problem, risk: float, *, low: float, high: float) -> float | None:
    """Least distortion of all randomised mechanisms with at most this risk; ``None`` where it is not known.

    On one line under a plain range the best comb is the best mechanism (docs/theory.md, combs), up to the hair that
    its teeth stand farther apart than a guess is long. Other problems with one uncertain parameter: the linear
    programme on a coarse grid, between the limit ``low`` and the distortion ``high`` of a mechanism with this risk.
    """
    if not 1e-9 <= risk < 1:
        return None
    try:
        if _one_line(problem):
            return best_comb(replace(problem, tolerance=problem.tolerance / STRETCH), MaxRisk(risk)).distortion
        if isinstance(problem.prior, Box) and len(problem.box.free) == 1:
            return _by_programme(problem, risk, low, high)
    except StatveilError:
        return None
    return None


def _one_line(problem: Problem) -> bool:
    if isinstance(problem.family, Categorical):
        return len(problem.family.params) == 2
    if not isinstance(problem.family, LocationScale) or not isinstance(problem.prior, Box):
        return False
    return len(problem.box.free) == 1 and problem.box.axes[problem.box.free[0]].flat


def _by_programme(problem: Problem, risk: float, low: float, high: float) -> float | None:
    from statveil.design.linear_programme import solve_programme

    designer = CellDesigner(problem=problem, cells=_CELLS, even=True)
    rise = sum(abs(piece.values[-1] - piece.values[0]) for piece in designer.line.curve.pieces)
    if rise > _MOST_WINDOWS * designer.line.window or problem.distance != "w1":
        return None

    def reached(budget: float) -> bool:
        grid = designer.grid(budget)
        return grid is not None and solve_programme(grid, certify=False).risk <= risk

    if not reached(high):  # the grid is too coarse to say anything
        return None
    low = max(low, designer.least_budget, 1e-3 * high)
    for _ in range(_STEPS):
        if high <= low * 1.005:
            break
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
