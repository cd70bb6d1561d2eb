"""The best comb for a target: its extent and, with two uncertain parameters, its direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from statveil.accounting import hit_window, support_polygon
from statveil.design.chart import Chart, charts
from statveil.design.comb_directions import best_slants, fan, least_extents, risks, slants
from statveil.design.failures import hides_nothing, unreachable
from statveil.design.target import MaxDistortion, MaxRisk
from statveil.errors import ProblemError, TargetError
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.problem import Problem
from statveil.problem.secrets.fraction import Fraction
from statveil.rounding import tolerant_ceil
from statveil.theory.comb_layout import STRETCH, longest_class, most_teeth
from statveil.theory.risk.combs import (
    line_lengths,
    polygon_comb_extent,
    polygon_comb_risk,
    range_comb_risk,
    simplex_comb_risk,
)

__all__ = ["CombDesign", "best_comb"]

Array = NDArray[np.float64]
Score = Callable[[Array], Array]
"""How good directions are, one a row: the smaller the better."""

_TIE = 1 + 1e-6
"""A direction that moves both parameters must be better than one that moves one by more than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CombDesign:
    """A comb in plain numbers, and what it guarantees.

    Parameters
    ----------
    along : str
        Name of the coordinate in which everything is measured.
    coordinate, direction : Form
        The coordinate, and how the parameters change per unit of it.
    window : float
        Least spacing of teeth, a hair over the length of a hit.
    teeth : int
        Largest number of teeth of a comb.
    extent : float
        Largest distance that two parameters of one release may have.
    risk, distortion : float
        P(best attacker hits), exact, and the largest distance between an original and its release.
    """

    along: str
    coordinate: Form
    direction: Form
    window: float
    teeth: int
    extent: float
    risk: float
    distortion: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    """The lines of one direction, and what combs cost and reach on them."""

    along: str
    coordinate: Form
    direction: Form
    hit: float
    """Length of a hit along the coordinate."""
    unit: float
    """Distance per unit of the coordinate."""
    longest: float
    """Length of the longest line."""
    even: bool
    """Whether all lines are equally long."""
    risk_of: Callable[[int, float, float, float], float]
    """Exact risk of (teeth, extent, window) against a hit."""
    reach_of: Callable[[int, float, float], float]
    """Largest distance of two points that share a release, of (teeth, extent, window)."""

    @property
    def window(self) -> float:
        """Least spacing of teeth."""
        return self.hit * STRETCH

    def comb(self, extent: float) -> tuple[int, float]:
        """Teeth and extent of the comb of about this extent."""
        teeth = most_teeth(extent, self.window)
        return teeth, max(extent, (teeth - 1) * self.window)

    def risk(self, extent: float) -> float:
        """Exact risk of the comb of this extent; where the secret stands still, all is caught."""
        if math.isinf(self.hit):
            return 1.0
        return self.risk_of(*self.comb(extent), self.window, self.hit)

    def meets(self, extent: float, goal: float) -> bool:
        """Whether the comb of this extent meets a risk."""
        return self.risk(extent) <= goal * (1 + 1e-12)

    def design(self, extent: float) -> CombDesign:
        """The comb of this extent in plain numbers."""
        teeth, extent = self.comb(extent)
        return CombDesign(
            along=self.along,
            coordinate=self.coordinate,
            direction=self.direction,
            window=self.window,
            teeth=teeth,
            extent=extent,
            risk=self.risk(extent),
            distortion=0.5 * self.unit * self.reach_of(teeth, extent, self.window),
        )


def best_comb(problem: Problem, goal: MaxRisk | MaxDistortion) -> CombDesign:
    """Least distortion for a risk, or least risk for a distortion, under beliefs that are plain ranges.

    docs/theory.md, combs: on each line the layout is the best of all mechanisms, and the risk never rises with the
    extent, so the extent is found by halving; with two uncertain parameters the direction is scanned.
    """
    if isinstance(problem.family, Categorical):
        return _on_lines(_share_lines(problem), goal)
    if not isinstance(problem.family, LocationScale):
        raise ProblemError(
            "combs in closed form are for the continuous families and the categorical share. "
            f"Got {problem.family.name!r}; use the method 'dynamic' or 'greedy'."
        )
    if not all(axis.flat or axis.known for axis in problem.box.axes.values()):
        raise ProblemError(
            "combs in closed form need plain ranges, and one of the beliefs has another shape. State ranges, or ask "
            "for intervals."
        )
    if len(problem.box.free) == 1:
        return _on_lines(_axis_lines(problem), goal)
    if isinstance(goal, MaxRisk):
        return _two_for_risk(problem, goal.value)
    return _two_for_distortion(problem, goal.value)


# --- one direction ------------------------------------------------------------------------------------
def _axis_lines(problem: Problem) -> _Lines:
    """The one line of one uncertain parameter."""
    assert isinstance(problem.family, LocationScale)
    (chart,) = charts(problem)
    length = chart.high - chart.low
    return _Lines(
        along=chart.name,
        coordinate=chart.coordinate,
        direction=chart.base,
        hit=chart.window(problem, chart.base),
        unit=float(problem.family.length(chart.base)),
        longest=length,
        even=True,
        risk_of=partial(range_comb_risk, length),
        reach_of=partial(longest_class, length, length),
    )


def _share_lines(problem: Problem) -> _Lines:
    """The lines on which one share grows and all others give way equally; the distance is the change of the share."""
    assert isinstance(problem.secret, Fraction)
    names = [param.name for param in problem.family.params]
    chosen = names[problem.family.category_index(problem.secret.category)]
    give = -1.0 / (len(names) - 1)
    return _Lines(
        along=chosen,
        coordinate={chosen: 1.0},
        direction={name: 1.0 if name == chosen else give for name in names},
        hit=2 * problem.tolerance,
        unit=1.0,
        longest=1.0,
        even=len(names) == 2,
        risk_of=partial(simplex_comb_risk, len(names)),
        reach_of=partial(longest_class, 1.0 if len(names) == 2 else 0.0, 1.0),
    )


def _on_lines(lines: _Lines, goal: MaxRisk | MaxDistortion) -> CombDesign:
    """The least extent that meets a risk, or that has the least risk within a distortion."""
    if isinstance(goal, MaxRisk):
        return lines.design(_least_extent(lines, goal.value))
    if lines.risk(lines.longest) >= 1:
        raise _too_narrow()
    if goal.value < 0.5 * lines.unit * lines.window * (1 - 1e-12):  # a comb needs two teeth
        raise hides_nothing(goal.value, 0.5 * lines.unit * lines.window)
    most = min(2 * goal.value / lines.unit, lines.longest)
    # an interval costs a hit, a comb its spacing, a hair more: for that hair alone no larger extent
    least = _least_extent(lines, lines.risk(most) * STRETCH)
    return _within(lines, min(least, most), goal.value)


def _least_extent(lines: _Lines, goal: float) -> float:
    """The least extent of a risk: fewer than 1/T teeth never meet it, and whole lines as intervals meet it best."""
    first = max(1, tolerant_ceil(1 / goal) - 1) * lines.window
    low, high = min(first, lines.longest), lines.longest
    if lines.meets(low, goal):
        return low
    if not lines.meets(high, goal):
        raise unreachable(goal, lines.risk(high))
    return _halved(lines, low, high, goal)


def _halved(lines: _Lines, low: float, high: float, goal: float) -> float:
    """The least extent between one that misses a risk and one that meets it."""
    while high - low > 1e-14 * high and low < 0.5 * (low + high) < high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if lines.meets(middle, goal) else (middle, high)
    return lines.comb(high)[1]


def _within(lines: _Lines, extent: float, goal: float) -> CombDesign:
    """The comb of this extent, or of one a few rounding errors smaller that keeps to the distortion."""
    found = lines.design(extent)
    while found.distortion > goal * (1 + 1e-12):
        extent *= 1 - 1e-9
        found = lines.design(extent)
    return found


def _too_narrow() -> TargetError:
    return TargetError(
        "no distortion hides anything with this prior: it leaves the secret no more room than one guess covers, so the "
        "risk is 1. Use a smaller tolerance, or state a wider prior if outsiders know less."
    )


# --- two uncertain parameters -------------------------------------------------------------------------
def _two_for_risk(problem: Problem, goal: float) -> CombDesign:
    window = 2 * problem.tolerance * STRETCH

    def score(directions: Array, *, roughly: bool = False) -> Array:
        lines = fan(problem, directions)
        return 0.5 * lines.price * least_extents(lines, goal, window, roughly=roughly)

    directions = np.stack([*_best_directions(problem, partial(score, roughly=True), score, score), *np.eye(2)])
    extents = least_extents(fan(problem, directions), goal, window) / window
    options = []
    for direction, windows in zip(directions, extents.tolist(), strict=True):
        lines = _polygon_lines(problem, direction)
        if lines.even and lines.meets(lines.longest, goal):
            # lines of one length: where whole hits just fill the goal, intervals meet it and combs miss it by a hair
            options.append(lines.design(_least_extent(lines, goal)))
        elif math.isfinite(windows):
            options.append(lines.design(_settled(lines, windows * lines.window, goal)))
    options = [option for option in options if option.risk <= goal * (1 + 1e-12)]
    if not options:  # a prior that gives too much away, or a goal on the edge of what can be reached
        whole = partial(_whole_risk, problem)
        lines = _polygon_lines(problem, _best_directions(problem, whole, whole, whole)[0])
        options.append(lines.design(_least_extent(lines, goal)))
    return _least(options, [option.distortion for option in options])


def _settled(lines: _Lines, extent: float, goal: float) -> float:
    """The extent, larger by as many rounding errors as the exact risk asks for."""
    low, nudge = extent, 1e-14
    while not lines.meets(extent, goal) and extent < lines.longest:
        low, extent, nudge = extent, min(extent * (1 + nudge), lines.longest), 4 * nudge
    return _halved(lines, low, extent, goal)


def _two_for_distortion(problem: Problem, goal: float) -> CombDesign:
    window = 2 * problem.tolerance * STRETCH

    def score(directions: Array, *, share: float = 1.0) -> Array:
        lines = fan(problem, directions)
        return risks(lines, np.minimum(2 * share * goal / lines.price, lines.longest), window)

    def price(directions: Array) -> Array:
        lines = fan(problem, directions)
        return np.where(lines.longest > window, lines.price, np.inf)

    cheapest = _best_directions(problem, price, price, price)[0]
    least = 0.5 * window * float(price(cheapest[None, :])[0])
    if math.isinf(least):
        raise _too_narrow()
    if goal < least * (1 - 1e-12):
        raise hides_nothing(goal, least)
    # the best slant is often the last one at which a tooth more fits: keep clear of rounding errors there
    careful = partial(score, share=1 - 1e-8)
    directions = np.stack([*_best_directions(problem, careful, careful, score), cheapest])
    found = fan(problem, directions)
    most = np.minimum(2 * goal / found.price, found.longest)
    same = risks(found, most, window)
    extents = np.minimum(least_extents(found, same * (1 + 1e-12), window), most) / window
    options = [
        _within(_polygon_lines(problem, direction), windows * hit_window_of(direction), goal)
    ]
    return _least(options, [option.risk for option in options])


def _best_directions(problem: Problem, rough: Score, score: Score, rank: Score, *, most: int = 3) -> list[Array]:
    """The best directions, best first: scanned roughly and zoomed in on, or of one parameter, or of both alike."""
    names, _ = support_polygon(problem)
    assert isinstance(problem.family, LocationScale)
    shift = [problem.family.shift.get(name, 0.0) for name in names]
    plain = np.array([[1.0, 0.0], [0.0, 1.0], shift])
    zoomed = best_slants(slants(problem), lambda k: rough(_rays(k)), lambda k: score(_rays(k)))
    options = np.concatenate([plain, _rays(zoomed)])
    options = options[np.isfinite(fan(problem, options).price)]
    both = np.all(options != 0, axis=1)
    order = np.argsort(rank(options) * np.where(both, _TIE, 1.0), kind="stable")
    return list(options[order[:most]])


def _rays(values: Array) -> Array:
    return np.stack([np.ones(values.shape), values], axis=1)


def _whole_risk(problem: Problem, directions: Array) -> Array:
    """Risk of whole lines as intervals: no comb along these directions has less."""
    lines = fan(problem, directions)
    return risks(lines, lines.longest, 2 * problem.tolerance)


def _polygon_lines(problem: Problem, ray: Array) -> _Lines:
    """The lines along a direction, measured in the coordinate that changes most along it."""
    assert isinstance(problem.family, LocationScale)
    names, polygon = support_polygon(problem)
    changes = dict(zip(names, ray.tolist(), strict=True))

    def gain(chart: Chart) -> float:
        return float(sum(part * changes.get(name, 0.0) for name, part in chart.coordinate.items()))

    options = charts(problem)
    steepest = max(abs(gain(chart)) / (chart.high - chart.low) for chart in options)
    chart = next(c for c in options if abs(gain(c)) / (c.high - c.low) >= 0.999 * steepest)
    direction = {name: change / gain(chart) for name, change in changes.items() if change}
    pair = (direction.get(names[0], 0.0), direction.get(names[1], 0.0))
    form = (chart.coordinate.get(names[0], 0.0), chart.coordinate.get(names[1], 0.0))
    lengths = np.concatenate(line_lengths(polygon, pair, form)[1:])
    return _Lines(
        along=chart.name,
        coordinate=chart.coordinate,
        direction=direction,
        hit=hit_window(problem, direction, problem.tolerance),
        unit=float(problem.family.length(direction)),
        longest=float(lengths.max()),
        even=float(np.ptp(lengths)) <= 1e-9 * float(lengths.max()),
        risk_of=partial(polygon_comb_risk, polygon, pair, form),
        reach_of=partial(polygon_comb_extent, polygon, pair, form),
    )


def _least(options: list[CombDesign], scores: list[float]) -> CombDesign:
    """The option of least score; among equals the one that moves the fewest parameters."""
    best = min(scores)
    equal = [option for option, score in zip(options, scores, strict=True) if score <= best * _TIE]
    return min(equal, key=lambda option: len(option.direction))
