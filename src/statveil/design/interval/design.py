"""Interval plans: the paper's mechanism as asked for, or the best direction, alignment and width."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from statveil.accounting import distortion, risk
from statveil.design.interval.axis import best_on_axis, best_on_lattice
from statveil.design.interval.closed import Cut, box_cuts, triangle_cuts
from statveil.design.interval.cuts import Chart, charts, paper_cut, shift_cut
from statveil.design.interval.scaling import best_scaling
from statveil.design.interval.search import best_by_search
from statveil.design.interval.share import best_share_bins
from statveil.design.target import BinWidth, MaxDistortion, MaxRisk, Target, hides_nothing, meets, unreachable
from statveil.design.treatment import Treatment
from statveil.errors import ProblemError
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.scaling import Scaling
from statveil.numbers import LARGEST
from statveil.numeric import halved
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem

__all__ = ["design_interval"]

Binned = TypeVar("Binned", Interval, Scaling)


def design_interval(problem: Problem, goal: Target, how: Treatment, *, slope: float | None = None) -> Mechanism:
    """The interval mechanism for a target."""
    if isinstance(problem.family, Categorical):
        _refuse_slope(slope, "a share")
        return best_share_bins(problem, goal)
    if not isinstance(problem.family, LocationScale):
        raise ProblemError(
            f"equal bins are for the continuous families and the categorical share. Got {problem.family.name!r}; "
            "use the method 'dynamic' or 'greedy'."
        )
    if how.kind == "scale" and len(problem.box.free) == 2:
        _refuse_slope(slope, "scaling about a known bound")
        scaling = best_scaling(problem, goal, how.about)
        return _settle(problem, scaling, goal) if isinstance(goal, MaxRisk) else scaling
    if how.lattice is not None:
        _refuse_slope(slope, "moving by whole steps")
        return _lattice(problem, goal, how)
    if isinstance(goal, BinWidth):
        chart, direction = paper_cut(problem, slope)
        return chart.interval(problem, direction, goal.value)
    mechanism = _forced(problem, goal, slope) if slope is not None else _best(problem, goal)
    settled = _settle(problem, mechanism, goal)
    return settled if isinstance(goal, MaxRisk) else _tightened(problem, settled)


def _refuse_slope(slope: float | None, what: str) -> None:
    if slope is not None:
        raise ProblemError(f"a slope has no meaning for {what}; leave it out.")


def _lattice(problem: Problem, goal: Target, how: Treatment) -> Interval:
    options = charts(problem)
    if len(problem.box.free) == 1:
        chart: Chart = options[0]
        direction: Form = chart.base
    else:
        chart, direction = shift_cut(problem, options)
    assert how.step is not None
    if isinstance(goal, BinWidth):
        return chart.interval(problem, direction, goal.value, step=how.step)
    return best_on_lattice(problem, chart, direction, how.step, goal)


def _forced(problem: Problem, goal: MaxRisk | MaxDistortion, slope: float) -> Interval:
    """Best bin width along a given slope."""
    return best_by_search(problem, charts(problem), goal, only=paper_cut(problem, slope))


def _best(problem: Problem, goal: MaxRisk | MaxDistortion) -> Interval:
    options, box = charts(problem), problem.box
    if len(box.free) == 1:
        return best_on_axis(problem, options[0], options[0].base, goal)
    axes = [box.axes[name] for name in box.free]
    if not all(axis.flat for axis in axes):
        return best_by_search(problem, options, goal)
    if problem.family.constraints:
        first, second = axes
        if (first.low, first.high) != (second.low, second.high):
            return best_by_search(problem, options, goal)
        return _pick(problem, options, goal, triangle_cuts)
    return _pick(problem, options, goal, box_cuts)


def _pick(
    problem: Problem,
    options: tuple[Chart, ...],
    goal: MaxRisk | MaxDistortion,
    cuts: Callable[[Problem, tuple[Chart, ...], MaxRisk | MaxDistortion], list[Cut]],
) -> Interval:
    closed = problem.family.closed_gamma(problem.secret) if isinstance(problem.family, LocationScale) else None
    if isinstance(goal, MaxDistortion) and closed and goal.value <= 2 * closed * problem.tolerance * (1 + 1e-9):
        raise hides_nothing(goal.value, 2 * closed * problem.tolerance)  # s > c in every direction
    found = [cut for cut in cuts(problem, options, goal) if math.isfinite(cut[0])]
    if not found:
        widest = [cut for cut in cuts(problem, options, MaxDistortion(LARGEST)) if math.isfinite(cut[0])]
        best = min(widest, key=lambda cut: cut[0])  # one bin for everything
        if not (isinstance(goal, MaxRisk) and meets(best[0], goal)):
            raise unreachable(goal.value, best[0])
        found = [best]
    # near a knife edge a rounding error costs a whole bin: compare what is left after settling
    settled = [
        _settle(problem, chart.interval(problem, chart.direction(k), width), goal)
        for score, chart, k, width in found
        if score <= 1.2 * min(cut[0] for cut in found)
    ]
    if isinstance(goal, MaxRisk):
        return _least(settled, [distortion(problem, option) for option in settled])
    return _least(settled, [risk(problem, option).value for option in settled])


def _least(options: list[Interval], scores: list[float]) -> Interval:
    """The option of least score; among equals the one with the fewest moved parameters."""
    best = min(scores)
    equal = [option for option, score in zip(options, scores, strict=True) if score <= best * (1 + 1e-9)]
    return min(equal, key=lambda option: len(option.direction))


def _settle(problem: Problem, mechanism: Binned, goal: MaxRisk | MaxDistortion) -> Binned:
    """Hold the target against the final accounting, not against the search's."""
    if isinstance(goal, MaxDistortion):
        for _ in range(4):  # rounding errors only
            over = distortion(problem, mechanism) / goal.value
            if over > 1:
                mechanism = _with_width(mechanism, mechanism.bins.width / over * (1 - 1e-15))
        return mechanism
    whole = _without_sliver(mechanism)
    if meets(risk(problem, whole).value, goal):
        return whole
    flat = isinstance(problem.prior, Box) and all(a.flat or a.falling for a in problem.prior.axes.values())
    close = 1e-7 if flat and isinstance(mechanism, Interval) else 1e-4  # without quadrature, or with it
    low, high, nudge = mechanism.bins.width, mechanism.bins.width, 10 * close
    while not meets(risk(problem, _with_width(mechanism, high)).value, goal):
        if high >= mechanism.bins.high - mechanism.bins.low:
            raise unreachable(goal.value, risk(problem, mechanism).value)
        low, high = high, min(high * (1 + nudge), mechanism.bins.high - mechanism.bins.low)
        nudge *= 4
    _, high = halved(lambda w: meets(risk(problem, _with_width(mechanism, w)).value, goal), low, high, close=close)
    return _with_width(mechanism, high)


def _without_sliver(mechanism: Binned) -> Binned:
    """Bins that divide the range, where the last bin would only be a rounding error wide."""
    bins = mechanism.bins
    span = bins.high - bins.low
    count = round(span / bins.width)
    near = bins.origin == bins.low and count >= 1 and abs(span / bins.width - count) <= 1e-6 * count
    return _with_width(mechanism, span / count) if near else mechanism


def _with_width(mechanism: Binned, width: float) -> Binned:
    return replace(mechanism, bins=replace(mechanism.bins, width=width))


def _tightened(problem: Problem, mechanism: Binned) -> Binned:
    """Narrower bins of the same risk: the risk only falls when a bin less is needed."""
    if not all(axis.flat or axis.falling for axis in problem.box.axes.values()):
        return mechanism
    most = risk(problem, mechanism).value
    width = mechanism.bins.width
    _, width = halved(lambda w: risk(problem, _with_width(mechanism, w)).value <= most, width / 2, width, steps=40)
    return _with_width(mechanism, width)
