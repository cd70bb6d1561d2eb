"""The least distortion that any mechanism of a risk has, where it can be computed."""

from __future__ import annotations

from dataclasses import replace

from statveil.design.comb_search import best_comb
from statveil.design.target import MaxRisk
from statveil.errors import StatveilError
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.theory.comb_layout import STRETCH

__all__ = ["least_possible"]


def least_possible(problem: Problem, risk: float) -> float | None:
    """Least distortion of all randomised mechanisms with at most this risk; ``None`` where it is not known.

    On one line under a plain range the best comb is the best mechanism (docs/theory.md, combs), up to the hair that
    its teeth stand farther apart than a guess is long.
    """
    if not _one_line(problem) or not 1e-9 <= risk < 1:
        return None
    try:
        return best_comb(replace(problem, tolerance=problem.tolerance / STRETCH), MaxRisk(risk)).distortion
    except StatveilError:
        return None


def _one_line(problem: Problem) -> bool:
    if isinstance(problem.family, Categorical):
        return len(problem.family.params) == 2
    if not isinstance(problem.family, LocationScale) or not isinstance(problem.prior, Box):
        return False
    return len(problem.box.free) == 1 and problem.box.axes[problem.box.free[0]].flat
