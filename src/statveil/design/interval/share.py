"""Bins of a category's share."""

from __future__ import annotations

from statveil.accounting import distortion, risk
from statveil.design.target import BinWidth, MaxDistortion, Target, hides_nothing, meets, unreachable
from statveil.mechanisms.interval import Interval
from statveil.numeric import halved
from statveil.problem.problem import Problem
from statveil.theory.bins import Bins

__all__ = ["best_share_bins"]


def best_share_bins(problem: Problem, goal: Target) -> Interval:
    """Bins of p_j from 0 up, all other shares giving way equally; a release is clipped at zero."""
    if isinstance(goal, MaxDistortion) and goal.value <= problem.tolerance * (1 + 1e-9):
        raise hides_nothing(goal.value, problem.tolerance)
    if isinstance(goal, BinWidth | MaxDistortion):
        return _bins(problem, min(1.0, goal.value if isinstance(goal, BinWidth) else 2 * goal.value))
    if not meets(risk(problem, _bins(problem, 1.0)).value, goal, within=1.0):
        raise unreachable(goal.value, risk(problem, _bins(problem, 1.0)).value, "with this tolerance", wider=False)
    # No bins narrower than 2 eps / T can meet T. The risk is not quite monotone in the width (a short last bin costs
    # little), so walk up from there to the first width that meets it, then halve the last stride.
    low, high = 0.0, min(1.0, 2 * problem.tolerance / goal.value)
    while not meets(risk(problem, _bins(problem, high)).value, goal):
        low, high = high, min(1.0, high * 1.002)
    if low:
        _, high = halved(lambda w: meets(risk(problem, _bins(problem, w)).value, goal), low, high, steps=50)
    option = _bins(problem, high)
    assert distortion(problem, option) <= high / 2 * (1 + 1e-9)
    return option


def _bins(problem: Problem, width: float) -> Interval:
    chosen, direction = problem.share_direction
    return Interval(
        along=chosen,
        coordinate={chosen: 1.0},
        direction=direction,
        bins=Bins(low=0.0, high=1.0, origin=0.0, width=width),
        keep=problem.support,
    )
