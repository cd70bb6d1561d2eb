"""Best bins along one parameter."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from statveil.accounting import risk
from statveil.design.interval.cuts import Chart
from statveil.design.target import MaxDistortion, MaxRisk, hides_nothing, meets, unreachable
from statveil.mechanisms.interval import Interval
from statveil.numeric import halved
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.model import REDRAWN
from statveil.problem.problem import Problem
from statveil.rounding import tolerant_floor
from statveil.theory.risk.one_dimensional import teeth

__all__ = ["best_on_axis", "best_on_lattice", "least_number"]

_OFFSETS = 24


def least_number(ok: Callable[[int], bool], start: int, stop: int) -> int | None:
    """Smallest integer in [start, stop] for which ``ok`` holds, for a condition that stays true once it is."""
    if stop < start or not ok(stop):
        return None
    while start < stop:
        middle = (start + stop) // 2
        if ok(middle):
            stop = middle
        else:
            start = middle + 1
    return start


def best_on_axis(problem: Problem, chart: Chart, direction: Form, goal: MaxRisk | MaxDistortion) -> Interval:
    """Least distortion for a risk, or least risk for a distortion, with equal bins along one parameter."""
    assert isinstance(problem.family, LocationScale)
    (name,) = chart.coordinate
    axis = problem.box.axes[name]
    length, unit = chart.high - chart.low, float(problem.family.length(direction))
    window = chart.window(problem, direction)
    whole = chart.interval(problem, direction, length)
    if isinstance(goal, MaxDistortion):
        if 2 * goal.value / unit <= window * (1 + 1e-9):
            raise hides_nothing(goal.value, 0.5 * window * unit)
        width = min(length, 2 * goal.value / unit)
        if not axis.exact:  # whole bins only: a shorter last bin can only worsen the bound
            return chart.interval(problem, direction, length / math.ceil(length / width - 1e-9))
        options = [whole] if width >= length else _offsets(problem, chart, direction, width, axis.flat or axis.falling)
        return min(options, key=lambda option: risk(problem, option, quick=True).value)
    least = risk(problem, whole).value
    if not meets(least, goal, within=1.0):
        raise unreachable(goal.value, least)
    if axis.flat:
        # risk = (n c + r) / R with r = R - n s < c for the largest n with n c <= T R; solve for s
        count = tolerant_floor(goal.value * length / window)
        return chart.interval(problem, direction, window + length * (1 - goal.value) / count)
    if not axis.exact:
        most = max(1, math.floor(length / window))
        fewest = least_number(lambda i: _meets(problem, chart, direction, length / (most + 1 - i), goal), 1, most)
        return chart.interval(problem, direction, length / (most + 1 - (fewest or most)))
    if axis.falling:  # from the dense end on, wider bins only catch less (docs/theory.md, relative tolerance)
        _, width = halved(
            lambda w: _meets(problem, chart, direction, w, goal), min(window / goal.value, length), length, close=1e-13
        )
        return chart.interval(problem, direction, width)
    return _best_width(problem, chart, direction, goal, window / goal.value)


def _meets(problem: Problem, chart: Chart, direction: Form, width: float, goal: MaxRisk) -> bool:
    return meets(risk(problem, chart.interval(problem, direction, width)).value, goal)


def _offsets(problem: Problem, chart: Chart, direction: Form, width: float, flat: bool) -> list[Interval]:
    """The same bins started at several places: where the belief is not flat, alignment matters."""
    shares = [0.0] if flat else np.linspace(0.0, 1.0, _OFFSETS, endpoint=False)
    return [chart.interval(problem, direction, width, origin=chart.low - width * float(f)) for f in shares]


def _best_width(problem: Problem, chart: Chart, direction: Form, goal: MaxRisk, ideal: float) -> Interval:
    """Narrowest bins that meet the risk at some alignment; no bins narrower than window / T can."""

    def best(width: float) -> Interval:
        options = _offsets(problem, chart, direction, width, False)
        return min(options, key=lambda option: risk(problem, option, quick=True).value)

    low, high = ideal, chart.high - chart.low
    found = chart.interval(problem, direction, high)
    while high - low > 1e-4 * high:
        middle = math.sqrt(low * high)
        option = best(middle)
        if meets(risk(problem, option, quick=True).value, goal):
            high, found = middle, option
        else:
            low = middle
    return found


def best_on_lattice(
    problem: Problem, chart: Chart, direction: Form, step: float, goal: MaxRisk | MaxDistortion
) -> Interval:
    """Whole steps only: with N candidates a bin the farthest is floor(N / 2) steps away, so N is odd."""
    length = chart.high - chart.low

    def option(half: int) -> Interval:
        return chart.interval(problem, direction, step * (2 * half + 1), step=step)

    most = max(1, math.ceil(length / step / 2))
    if isinstance(goal, MaxDistortion):
        fewest = (
            teeth(chart.window(problem, direction), step) // 2
        )  # 2 fewest + 1 candidates are more than a guess holds
        half = min(most, tolerant_floor(goal.value / step))
        if half < max(1, fewest):
            raise hides_nothing(goal.value, (max(1, fewest) - 1e-6) * step)
        return option(half)
    start = max(1, (teeth(chart.window(problem, direction), step) - 1) // 2)
    found = least_number(lambda half: meets(risk(problem, option(half)).value, goal), min(start, most), most)
    if found is None:
        family = problem.family
        other = f"{REDRAWN}, which need not move by whole steps." if family.shapeless and family.model is None else ""
        raise unreachable(goal.value, risk(problem, option(most)).value, "with this prior and step", other)
    return option(found)
