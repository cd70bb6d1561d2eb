"""Comb plans: the mechanism that attains the limit, for the continuous families and the categorical share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from statveil.accounting import distortion, hit_window, risk
from statveil.design.comb.search import best_comb
from statveil.design.interval.axis import least_number
from statveil.design.interval.cuts import Chart, charts, shift_cut
from statveil.design.target import BinWidth, MaxDistortion, MaxRisk, Target, hides_nothing, meets, unreachable
from statveil.design.treatment import Treatment
from statveil.errors import ProblemError, TargetError
from statveil.mechanisms.comb import KNIFE, Comb
from statveil.numeric import halved
from statveil.problem.axis import Axis
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.prior import Box
from statveil.problem.priors.flat import Flat
from statveil.problem.problem import Problem
from statveil.rounding import tolerant_ceil
from statveil.theory.comb_layout import STRETCH, most_teeth
from statveil.theory.risk.log_slope import class_slope

__all__ = ["design_comb"]


def design_comb(problem: Problem, goal: Target, how: Treatment) -> Comb:
    """The comb for a risk or a distortion."""
    assert not isinstance(goal, BinWidth)
    if how.kind == "scale" and len(problem.box.free) == 2:
        raise ProblemError(
            "scaling about a known bound with two uncertain parameters has no combs; use the method 'interval'."
        )
    asked = _close(goal)
    problem = _coarser(problem)
    if isinstance(problem.family, Categorical) or all(axis.flat or axis.known for axis in problem.box.axes.values()):
        found = best_comb(problem, asked)
        return Comb(
            along=found.along,
            coordinate=found.coordinate,
            direction=found.direction,
            window=found.window,
            teeth=found.teeth,
            extent=found.extent,
            keep=problem.support,
        )
    return _with_density(problem, asked)


def _close(goal: MaxRisk | MaxDistortion) -> MaxRisk | MaxDistortion:
    """A risk two hairs larger: where teeth divide the range, 1/k is only met up to the hair between w and a guess."""
    if isinstance(goal, MaxRisk) and goal.value * KNIFE < 1:
        return MaxRisk(goal.value * (2 * STRETCH - 1))
    return goal


def _coarser(problem: Problem) -> Problem:
    """The problem with a tolerance so much larger that rounding errors of numbers this far from zero cannot matter."""
    if not isinstance(problem.prior, Box) or not isinstance(problem.family, LocationScale):
        return problem
    slopes = problem.family.coefficients(problem.secret)
    size = sum(abs(slopes[name]) * max(abs(a.low), abs(a.high)) for name, a in problem.box.axes.items())
    share = 2**-46 * size / problem.tolerance
    return replace(problem, tolerance=problem.tolerance * (1 + share)) if share > 1e-9 else problem


def _with_density(problem: Problem, goal: MaxRisk | MaxDistortion) -> Comb:
    """The best extent along a few directions, held against the accounting of the density."""
    found, failures = [], []
    for chart, direction in _directions(problem, goal):
        try:
            found.append(_along(problem, chart, direction, goal))
        except TargetError as error:
            failures.append(error)
    if not found:
        raise failures[0]
    if isinstance(goal, MaxRisk):
        return min(found, key=lambda option: distortion(problem, option))
    return min(found, key=lambda option: risk(problem, option).value)


def _directions(problem: Problem, goal: MaxRisk | MaxDistortion) -> list[tuple[Chart, Form]]:
    """The only direction of one parameter; of two, that of plain ranges in place of the densities, and the shift."""
    options = charts(problem)
    if len(problem.box.free) == 1:
        return [(options[0], options[0].base)]
    assert isinstance(problem.family, LocationScale)
    found: list[tuple[Chart, Form]] = []
    if problem.family.shift and problem.secret.moves(problem.family):
        found.append(shift_cut(problem, options))
    axes = {name: axis if axis.flat or axis.known else _bulk(axis) for name, axis in problem.box.axes.items()}
    try:
        flat = best_comb(replace(problem, prior=Box(**axes)), goal)
    except TargetError:
        slope = problem.family.best_slope(problem.secret)
        if slope is not None:
            found.append((options[0], {n: c for n, c in problem.family.direction(slope).items() if c}))
    else:
        chart = next(chart for chart in options if chart.name == flat.along)
        found.insert(0, (chart, flat.direction))
    return found


def _bulk(axis: Axis) -> Flat:
    """A plain range that holds most of the belief."""
    ends = axis.ppf(np.array([0.02, 0.98]))
    return Flat(float(ends[0]), float(ends[1]))


def _along(problem: Problem, chart: Chart, direction: Form, goal: MaxRisk | MaxDistortion) -> Comb:
    assert isinstance(problem.family, LocationScale)
    window = hit_window(problem, direction, problem.tolerance) * STRETCH
    unit = float(problem.family.length(direction))
    widths = {name: axis.width for name, axis in problem.box.axes.items()}
    longest = max(2 * window, min(widths[name] / abs(change) for name, change in direction.items() if change))

    def option(extent: float) -> Comb:
        teeth = max(2, most_teeth(extent, window))
        return Comb(
            along=chart.name,
            coordinate=chart.coordinate,
            direction=direction,
            window=window,
            teeth=teeth,
            extent=max(extent, (teeth - 1) * window),
            keep=problem.support,
        )

    (first, *others) = problem.box.axes.values()
    if not others and (first.falling or class_slope(first) is not None):
        return _packed(problem, option, goal, window=window, unit=unit, longest=first.width)
    if isinstance(goal, MaxDistortion):
        if 2 * goal.value / unit < window:
            raise hides_nothing(goal.value, 0.5 * unit * window)
        return option(min(2 * goal.value / unit, longest))
    whole = risk(problem, option(longest)).value
    if not meets(whole, goal):
        raise unreachable(goal.value, whole)
    # the risk need not fall everywhere with the extent: the last one that met it counts
    _, high = halved(lambda at: meets(risk(problem, option(at), quick=True).value, goal), window, longest, close=1e-4)
    nudge = 1e-4
    while not meets(risk(problem, option(high)).value, goal):  # quick risks may be a little too low
        high, nudge = min(high * (1 + nudge), longest), 2 * nudge
    return option(high)


def _packed(
    problem: Problem,
    option: Callable[[float], Comb],
    goal: MaxRisk | MaxDistortion,
    *,
    window: float,
    unit: float,
    longest: float,
) -> Comb:
    """Whole teeth from the dense end on: the fewest for a risk, the most for a distortion."""

    def comb(teeth: int) -> Comb:
        return replace(option((teeth - 1) * window), teeth=teeth, extent=(teeth - 1) * window, packed=True)

    most = max(2, tolerant_ceil(longest / window) + 1)
    if isinstance(goal, MaxDistortion):
        teeth = most_teeth(2 * goal.value / unit, window)
        if teeth < 2:
            raise hides_nothing(goal.value, 0.5 * unit * window)
        return comb(min(teeth, most))
    fewest = least_number(lambda teeth: meets(risk(problem, comb(teeth)).value, goal), 2, most)
    if fewest is None:
        raise unreachable(goal.value, risk(problem, comb(most)).value)
    return comb(fewest)
