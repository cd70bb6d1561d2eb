"""Best direction and bin width by search, for any prior of two parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from statveil.accounting import distortion, risk
from statveil.design.interval.cuts import Chart, paper_cut, shift_cut
from statveil.design.target import MaxDistortion, MaxRisk, hides_nothing, meets, unreachable
from statveil.errors import ProblemError, TargetError
from statveil.mechanisms.interval import Interval
from statveil.numeric import halved
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.problem import Problem

__all__ = ["best_by_search"]

_Cut = tuple[Chart, Form]


def best_by_search(
    problem: Problem, options: tuple[Chart, ...], goal: MaxRisk | MaxDistortion, *, only: _Cut | None = None
) -> Interval:
    """Least distortion for a risk, or least risk for a distortion.

    A line piece of length at most s holds a window with at least the share c / s, whatever the prior, so no
    bins narrower than c / T meet the risk T. Directions are tried in the order of the distortion that this
    would mean, and the search ends when no direction left can beat the best one found.
    """
    cuts: list[_Cut]
    cuts = [only] if only else _accountable(problem, list(_cuts(problem, options)))
    cuts = [cut for cut in cuts if math.isfinite(_window(problem, cut))]
    if not cuts:
        raise TargetError("along this slope the secret does not change, so nothing is hidden; leave out the slope.")
    ranked = sorted(cuts, key=lambda cut: _promise(problem, cut))
    if isinstance(goal, MaxDistortion) and goal.value <= _promise(problem, ranked[0]) * (1 + 1e-9):
        raise hides_nothing(goal.value, _promise(problem, ranked[0]))
    found: tuple[float, _Cut, float] | None = None
    for cut in ranked:
        best = math.inf if found is None else found[0]
        if isinstance(goal, MaxRisk):
            if _promise(problem, cut) / goal.value >= best:
                break
            width = _narrowest(problem, cut, goal.value, best)
        else:
            width = _widest(problem, cut, goal.value)
            if _window(problem, cut) / width >= best:
                continue
        if width is None:
            continue
        option = cut[0].interval(problem, cut[1], width)
        score = distortion(problem, option) if isinstance(goal, MaxRisk) else risk(problem, option, quick=True).value
        if score < best:
            found = (score, cut, width)
    if found is None:
        assert isinstance(goal, MaxRisk)
        least = _least_risk(problem, cuts)
        raise unreachable(goal.value, least, "with this slope" if only else "with this prior")
    return _refined(problem, found, goal, fixed=only is not None)


def _least_risk(problem: Problem, cuts: list[_Cut]) -> float:
    """Smallest risk of one bin for everything: the full accounting only for the directions that look best."""
    whole = [chart.interval(problem, direction, chart.high - chart.low) for chart, direction in cuts]
    ranked = sorted(whole, key=lambda option: risk(problem, option, quick=True).value)
    return min(risk(problem, option).value for option in ranked[:3])


def _cuts(problem: Problem, options: tuple[Chart, ...]) -> Iterator[_Cut]:
    """Paper's slope, pure shift, every single parameter, and a fan of directions for every coordinate."""
    yield paper_cut(problem, None)
    yield shift_cut(problem, options)
    axes = problem.box.axes.values()
    classed = not all(axis.exact for axis in axes)
    fan = 121 if all(axis.flat for axis in axes) else 41  # a density costs ten times as much to try
    for chart in options:
        yield chart, chart.direction(0.0)
        if classed:
            continue  # only bounds are known there, and they are for the paper's directions
        ratio = max(other.high - other.low for other in options) / (chart.high - chart.low)
        for scale in {1.0, ratio}:
            for angle in np.linspace(-1.5, 1.5, fan):
                yield chart, chart.direction(scale * math.tan(float(angle)))


def _accountable(problem: Problem, cuts: list[_Cut]) -> list[_Cut]:
    """The cuts whose risk can be stated: where only a class of densities is known, that is not every one."""
    if all(axis.exact for axis in problem.box.axes.values()):
        return cuts
    kept, why = [], ProblemError("no direction can be accounted for.")
    for chart, direction in cuts:
        try:
            risk(problem, chart.interval(problem, direction, chart.high - chart.low))
        except ProblemError as error:
            why = error
        else:
            kept.append((chart, direction))
    if not kept:
        raise why
    return kept


def _window(problem: Problem, cut: _Cut) -> float:
    return cut[0].window(problem, cut[1])


def _unit(problem: Problem, cut: _Cut) -> float:
    assert isinstance(problem.family, LocationScale)
    return float(problem.family.length(cut[1]))


def _promise(problem: Problem, cut: _Cut) -> float:
    """Distortion times risk that the direction would have without any loss at the border."""
    return 0.5 * _window(problem, cut) * _unit(problem, cut)


def _narrowest(problem: Problem, cut: _Cut, goal: float, best: float) -> float | None:
    """Narrowest bins that meet the risk and beat the best distortion so far."""
    chart = cut[0]
    high = min(chart.high - chart.low, 2 * best / _unit(problem, cut))
    low = _window(problem, cut) / goal
    if low * (1 - 1e-9) > high or not _meets(problem, cut, high, goal):  # one bin for everything may just meet it
        return None
    return halved(lambda width: _meets(problem, cut, width, goal), low, high, close=1e-4)[1]


def _meets(problem: Problem, cut: _Cut, width: float, goal: float) -> bool:
    return meets(risk(problem, cut[0].interval(problem, cut[1], width), quick=True).value, goal)


def _widest(problem: Problem, cut: _Cut, goal: float) -> float:
    return min(cut[0].high - cut[0].low, 2 * goal / _unit(problem, cut))


def _refined(
    problem: Problem, found: tuple[float, _Cut, float], goal: MaxRisk | MaxDistortion, *, fixed: bool
) -> Interval:
    """Turn the direction a little to both sides while that helps."""
    score, cut, width = found
    chart = cut[0]
    turn = 0.05
    classed = not all(axis.exact for axis in problem.box.axes.values())
    while turn > 1e-3 and chart.across and not (fixed or classed):
        (name, part), *_ = chart.across.items()
        k = (cut[1].get(name, 0.0) - chart.base.get(name, 0.0)) / part
        size = max(abs(k), 0.05)
        for k_next in (k - turn * size, k + turn * size):
            trial = (chart, chart.direction(k_next))
            if isinstance(goal, MaxRisk):
                trial_width = _narrowest(problem, trial, goal.value, score)
            else:
                trial_width = _widest(problem, trial, goal.value)
            if trial_width is None:
                continue
            option = chart.interval(problem, trial[1], trial_width)
            value = (
                distortion(problem, option) if isinstance(goal, MaxRisk) else risk(problem, option, quick=True).value
            )
            if value < score * (1 - 1e-6):
                score, cut, width = value, trial, trial_width
                break
        else:
            turn /= 3
    return chart.interval(problem, cut[1], width)
