"""The least distortion that any mechanism of a risk has, where it can be computed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from statveil.design.cells.grid import CellDesigner
from statveil.design.comb.search import best_comb
from statveil.design.target import MaxRisk
from statveil.errors import StatveilError
from statveil.numeric import halved
from statveil.problem.axis import Axis
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.theory.comb_layout import STRETCH

__all__ = ["Least", "least_possible", "one_line"]

_CELLS, _MOST_WINDOWS, _STEPS = 96, 16, 6
"""Cells of the programme; ranges of more windows would need more; halvings of the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """The least distortion of a risk: of all mechanisms (``exact``), or of those on a grid (``grid``)."""

    distortion: float
    kind: str


def least_possible(problem: Problem, risk: float, *, low: float, high: float) -> Least | None:
    """Least distortion of all randomised mechanisms with at most this risk; ``None`` where it is not known.

    On one line under a plain range the best comb is the best mechanism (docs/theory.md, combs), up to the hair that
    its teeth stand farther apart than a guess is long. Other problems with one uncertain parameter: the linear
    programme on a coarse grid, between the limit ``low`` and the distortion ``high`` of a mechanism with this risk.
    """
    if not 1e-9 <= risk < 1:
        return None
    try:
        if one_line(problem):
            found = best_comb(replace(problem, tolerance=problem.tolerance / STRETCH), MaxRisk(risk))
            return Least(distortion=found.distortion, kind="exact")
        if isinstance(problem.prior, Box) and len(problem.box.free) == 1:
            axis = problem.box.axes[problem.box.free[0]]
            if axis.falling and isinstance(problem.family, LocationScale) and not problem.secret.rough:
                return _packed(problem, problem.family, axis, risk, high)
            budget = _by_programme(problem, risk, low, high)
            return None if budget is None else Least(distortion=budget, kind="grid")
    except StatveilError:
        return None
    return None


def _packed(problem: Problem, family: LocationScale, axis: Axis, risk: float, high: float) -> Least | None:
    """A belief that only falls: the packing bound, where a mechanism attains it (docs/theory.md, relative tolerance).

    Windows of a hit, each farther from the last than a release reaches: no release meets two of them, so naming the
    one it meets hits with their mass together. That bounds the reach of every mechanism with this risk from below.
    """
    (name,) = problem.box.free
    unit = float(family.length({name: 1.0}))
    window = 2 * problem.tolerance / family.rate(problem.secret, {name: 1.0})

    def caught(reach: float) -> float:
        starts = axis.low + (window + reach) * np.arange(min(int(axis.width / (window + reach)) + 1, 100_000))
        return float(np.sum(axis.cdf(starts + window) - axis.cdf(starts)))

    most = 2 * high / unit
    reach, _ = halved(lambda at: caught(at) <= risk, 0.0, most, close=1e-9, steps=80)
    attained = high <= 0.5 * unit * reach * (1 + 1e-6)
    return Least(distortion=high, kind="exact") if attained else None


def one_line(problem: Problem) -> bool:
    """Whether all parameters lie on one line with a plain range."""
    if isinstance(problem.family, Categorical):
        return len(problem.family.params) == 2
    if not isinstance(problem.family, LocationScale) or not isinstance(problem.prior, Box):
        return False
    if problem.secret.rough:
        return False
    return len(problem.box.free) == 1 and problem.box.axes[problem.box.free[0]].flat


def _by_programme(problem: Problem, risk: float, low: float, high: float) -> float | None:
    from statveil.design.programme.solve import solve_programme

    designer = CellDesigner(problem=problem, cells=_CELLS, even=True)
    rise = sum(abs(piece.values[-1] - piece.values[0]) for piece in designer.line.curve.pieces)
    if rise > _MOST_WINDOWS * designer.line.window or problem.distance == "tv":
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
