"""Best direction and bin width in closed form, for uniform beliefs on a box and on a triangle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from statveil.accounting import hit_windows
from statveil.design.interval.cuts import Chart
from statveil.design.target import MaxDistortion, MaxRisk
from statveil.numeric import Array, bisected
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem
from statveil.theory.risk.polygon import box_band, triangle_risk

__all__ = ["Cut", "box_cuts", "triangle_cuts"]

Cut = tuple[float, Chart, float, float]
"""(score, chart, slant k, bin width): the score is the distortion, or the risk, that is to be small."""


def box_cuts(problem: Problem, options: tuple[Chart, ...], goal: MaxRisk | MaxDistortion) -> list[Cut]:
    """The best cuts of each chart on an uncut box."""
    found = []
    for chart in options:
        (other,) = chart.across
        across = problem.box.axes[other].width
        height = chart.high - chart.low

        def score(
            k: Array, chart: Chart = chart, across: float = across, height: float = height
        ) -> tuple[Array, Array]:
            window, unit, t = _window(problem, chart, k), _unit(problem, chart, k), np.abs(k)
            if isinstance(goal, MaxRisk):
                width = _box_width(across, height, t, window, goal.value)
            else:
                width = np.minimum(2 * goal.value / unit, height)
            with np.errstate(divide="ignore"):
                piece = width if chart.own else np.minimum(width, across / t)
            if isinstance(goal, MaxRisk):
                return np.where(np.isfinite(width), 0.5 * piece * unit, np.inf), width
            count = np.floor(height / width + 1e-9)
            rest = np.maximum(height - count * width, 0.0)
            area = count * box_band(across, width, t, window) + box_band(across, rest, t, window)
            return np.where(np.isfinite(window), area / (across * height), np.inf), width

        found += _scan(chart, score, _slants(problem, chart, across / height))
    return found


def _box_width(across: float, height: float, t: Array, window: Array, goal: float) -> Array:
    """Narrowest bins of risk ``goal``: n whole bins and a rest shorter than a window (docs/theory.md, exact risk)."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        inner = across - t * window
        count = np.floor((goal * across * height - window * t * height) / (window * inner) * (1 + 1e-13))
        width = window + across * height * (1 - goal) / (count * inner)
    return np.where((inner > 0) & (count >= 1) & (width <= height * (1 + 1e-9)), np.minimum(width, height), np.inf)


def triangle_cuts(problem: Problem, options: tuple[Chart, ...], goal: MaxRisk | MaxDistortion) -> list[Cut]:
    """The best cuts on the triangle lo <= low < high <= hi: along the length, and the pure shift."""
    length, low = options[0], options[1]
    side = length.high - length.low
    found = []
    for chart, slants in ((length, np.linspace(-1.0, 0.0, 801)), (low, np.array([1.0]))):

        def score(k: Array, chart: Chart = chart) -> tuple[Array, Array]:
            window, unit = _window(problem, chart, k), _unit(problem, chart, k)
            if isinstance(goal, MaxDistortion):
                width = np.minimum(2 * goal.value / unit, side)
                return np.where(np.isfinite(window), triangle_risk(side, width, window), np.inf), width
            small, large = np.minimum(window, side), np.full(k.shape, side)
            possible = triangle_risk(side, large, window) <= goal.value
            _, large = bisected(partial(_triangle_meets, side, window, goal.value), small, large, steps=50)
            width = np.where(possible, large, np.inf)
            return 0.5 * width * unit, width

        found += _scan(chart, score, slants, most=1)
    return found


def _triangle_meets(side: float, window: Array, goal: float, width: Array) -> NDArray[np.bool_]:
    return triangle_risk(side, width, window) <= goal


def _scan(chart: Chart, score: Callable[[Array], tuple[Array, Array]], slants: Array, *, most: int = 6) -> list[Cut]:
    """Best slants of a dense scan, zoomed in on; and no slant at all.

    The score jumps where a bin more or less is needed: the best slant of each of the best numbers of bins counts.
    """
    points = np.unique(slants)
    values, widths = score(points)
    counts = np.floor((chart.high - chart.low) / widths + 1e-9)
    found = []
    for count in np.unique(counts[np.isfinite(values)]):
        here = np.flatnonzero((counts == count) & np.isfinite(values))
        found.append(int(here[np.argmin(values[here])]))
    found = sorted(found, key=lambda i: float(values[i]))[:most]
    cuts = [_zoomed(chart, score, points, i) for i in found]
    at_zero, width = score(np.zeros(1))
    return [*cuts, (float(at_zero[0]), chart, 0.0, float(width[0]))]


def _zoomed(chart: Chart, score: Callable[[Array], tuple[Array, Array]], points: Array, best: int) -> Cut:
    """The best slant between the neighbours of a point, three times finer each time."""
    for _ in range(3):
        below, above = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
        points = np.unique(np.concatenate([np.linspace(below, above, 81), points[best : best + 1]]))
        values, widths = score(points)
        best = int(np.argmin(values))
    return float(values[best]), chart, float(points[best]), float(widths[best])


def _slants(problem: Problem, chart: Chart, ratio: float) -> Array:
    """Slants on the scale of the box, of the parameters themselves, and around the paper's slope."""
    assert isinstance(problem.family, LocationScale)
    tangents = np.tan(np.linspace(-1.56, 1.56, 601))
    tangents[300] = 0.0
    paper = problem.family.best_slope(problem.secret)
    near: Array = np.zeros(1)
    if paper:
        direction = problem.family.direction(paper)
        along = sum(chart.coordinate.get(n, 0.0) * change for n, change in direction.items())
        (other,) = chart.across
        k = direction.get(other, 0.0) / along if along else 0.0
        near = k * np.concatenate([[1.0], np.geomspace(0.05, 20.0, 200)])
    return np.concatenate([tangents * ratio, tangents, near, [0.0]])


def _change(chart: Chart, k: Array) -> Mapping[str, Array]:
    names = {**chart.base, **chart.across}
    return {name: chart.base.get(name, 0.0) + k * chart.across.get(name, 0.0) for name in names}


def _window(problem: Problem, chart: Chart, k: Array) -> Array:
    return hit_windows(problem, _change(chart, k))


def _unit(problem: Problem, chart: Chart, k: Array) -> Array:
    assert isinstance(problem.family, LocationScale)
    return problem.family.length(_change(chart, k))
