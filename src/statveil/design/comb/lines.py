"""The lines of one direction, and the combs on them: extent in, comb with its exact risk and distortion out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from statveil.accounting import hit_window, support_polygon
from statveil.design.interval.cuts import Chart, charts
from statveil.design.target import CLOSELY, meets, unreachable
from statveil.numeric import Array, halved
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.problem import Problem
from statveil.rounding import tolerant_ceil
from statveil.theory.comb_layout import STRETCH, longest_class, most_teeth
from statveil.theory.risk.combs import (
    line_lengths,
    polygon_comb_extent,
    polygon_comb_risk,
    range_comb_risk,
    simplex_comb_risk,
)

__all__ = [
    "CombDesign",
    "CombLines",
    "axis_lines",
    "least_extent",
    "polygon_lines",
    "settled",
    "share_lines",
    "within",
]


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
class CombLines:
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
        return meets(self.risk(extent), goal, within=CLOSELY)

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


def axis_lines(problem: Problem) -> CombLines:
    """The one line of one uncertain parameter."""
    assert isinstance(problem.family, LocationScale)
    (chart,) = charts(problem)
    length = chart.high - chart.low
    return CombLines(
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


def share_lines(problem: Problem) -> CombLines:
    """The lines on which one share grows and all others give way equally; the distance is the change of the share."""
    chosen, direction = problem.share_direction
    return CombLines(
        along=chosen,
        coordinate={chosen: 1.0},
        direction=direction,
        hit=2 * problem.tolerance,
        unit=1.0,
        longest=1.0,
        even=len(direction) == 2,
        risk_of=partial(simplex_comb_risk, len(direction)),
        reach_of=partial(longest_class, 1.0 if len(direction) == 2 else 0.0, 1.0),
    )


def polygon_lines(problem: Problem, ray: Array) -> CombLines:
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
    return CombLines(
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


def least_extent(lines: CombLines, goal: float) -> float:
    """The least extent of a risk: fewer than 1/T teeth never meet it, and whole lines as intervals meet it best."""
    first = max(1, tolerant_ceil(1 / goal) - 1) * lines.window
    low, high = min(first, lines.longest), lines.longest
    if lines.meets(low, goal):
        return low
    if not lines.meets(high, goal):
        raise unreachable(goal, lines.risk(high))
    return _halved(lines, low, high, goal)


def _halved(lines: CombLines, low: float, high: float, goal: float) -> float:
    """The least extent between one that misses a risk and one that meets it."""
    return lines.comb(halved(lambda extent: lines.meets(extent, goal), low, high, close=1e-14)[1])[1]


def settled(lines: CombLines, extent: float, goal: float) -> float:
    """The extent, made larger by as little as it takes for the risk to meet the goal in spite of rounding errors."""
    low, nudge = extent, 1e-14
    while not lines.meets(extent, goal) and extent < lines.longest:
        low, extent, nudge = extent, min(extent * (1 + nudge), lines.longest), 4 * nudge
    return _halved(lines, low, extent, goal)


def within(lines: CombLines, extent: float, goal: float) -> CombDesign:
    """The comb of this extent, or of one a few rounding errors smaller that keeps to the distortion."""
    found = lines.design(extent)
    while found.distortion > goal * CLOSELY:
        extent *= 1 - 1e-9
        found = lines.design(extent)
    return found
