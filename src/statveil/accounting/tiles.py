"""Risk and distortion of bins in two coordinates: exact where the two beliefs are independent.

Given a release the two parameters stay independent, each inside its bin, so the best guess at one is the best window of
its bin, whatever the other one is: risks p1 and p2, either hit with 1 - (1 - p1)(1 - p2), both with p1 p2
(docs/theory.md, two secrets of one column).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from statveil.accounting.guarantee import KINDS, Risk, accounted_distortion, accounted_risk, risk
from statveil.errors import ProblemError
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.partition import Partition
from statveil.mechanisms.tiles import Tiles
from statveil.problem.families.location import Location
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.secrets.mean import Mean
from statveil.theory.bins import Bins
from statveil.theory.unequal_bins import UnequalBins

__all__ = ["Both", "along", "both", "either", "sum_of_two"]

_UP = 1 + 1e-12
"""For the products and sums of a few rounded numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """Risks of two secrets: of each alone, of hitting either, and of hitting both."""

    each: tuple[Risk, ...]
    union: Risk
    intersection: Risk


def both(problem: Problem, mechanism: Mechanism, *, tolerance: float | None = None, quick: bool = False) -> Both:
    """All of them; ``tolerance`` is that of the first secret, and the others are in proportion."""
    times = 1.0 if tolerance is None else tolerance / problem.tolerance
    each = tuple(risk(one, mechanism, tolerance=times * one.tolerance, quick=quick) for one in problem.each)
    return Both(each=each, union=either(each), intersection=_all(each))


def either(each: tuple[Risk, ...]) -> Risk:
    """P(one of independent guesses hits), rounded up; it is not less than any of them."""
    if len(each) == 1:
        return each[0]
    missed = math.prod(1 - one.value for one in each)
    # 1 - (1 - p)(1 - q) = p + q - p q, which does not lose the digits of small risks
    value = each[0].value + each[1].value - each[0].value * each[1].value if len(each) == 2 else 1 - missed
    return Risk(value=min(1.0, max(value, *(one.value for one in each))), kind=_kind(each))


def _all(each: tuple[Risk, ...]) -> Risk:
    return Risk(value=min(1.0, math.prod(one.value for one in each) * _UP), kind=_kind(each))


def _kind(each: tuple[Risk, ...]) -> str:
    return max((one.kind for one in each), key=KINDS.index)


@accounted_risk.register
def _(mechanism: Tiles, problem: Problem, eps: float, quick: bool) -> Risk:
    if problem.also:
        return both(problem, mechanism, tolerance=eps, quick=quick).union
    family = problem.family
    if not isinstance(family, LocationScale) or problem.box.cut(family) or set(problem.box.axes) != set(mechanism.axes):
        raise ProblemError("bins in two coordinates are accounted for where the beliefs about both are independent.")
    slopes = {name: abs(slope) for name, slope in family.coefficients(problem.secret).items() if slope}
    if len(slopes) == 1:
        ((name, slope),) = slopes.items()
        return _alone(problem, mechanism, name, slope, eps, quick)
    if all(problem.box.axes[name].flat for name in slopes):
        pieces = {name: list(bins.pieces()) for name, bins in mechanism.axes.items()}
        return Risk(value=sum_of_two(pieces, slopes, eps), kind="exact")
    # whatever the one is, the other must fall into a window of its own
    alone = (_alone(problem, mechanism, name, slope, eps, quick).value for name, slope in slopes.items())
    return Risk(value=min(alone), kind="upper bound")


def _alone(problem: Problem, mechanism: Tiles, name: str, slope: float, eps: float, quick: bool) -> Risk:
    """Of its bins of one parameter, as the bins of the other one tell nothing of it."""
    bins = mechanism.axes[name]
    if isinstance(bins, Bins):
        own = Interval(along=name, coordinate={name: 1.0}, direction={name: 1.0}, bins=bins)
        return risk(problem, own, tolerance=eps, quick=quick)
    line, (cuts,) = along(problem, name, slope, [bins])
    return risk(line, cuts, tolerance=eps / slope, quick=quick)


def along(
    problem: Problem, name: str, slope: float, bins: Sequence[Bins | UnequalBins]
) -> tuple[Problem, list[Mechanism]]:
    """One coordinate by itself, with its bins; ``slope`` is by how much the secret moves with it."""
    line = Problem(
        family=Location(),
        prior=Box(mean=problem.box.axes[name]),
        secret=Mean(),
        tolerance=problem.tolerance / slope,
    )
    return line, [_on_the_line(each) for each in bins]


def _on_the_line(bins: Bins | UnequalBins) -> Mechanism:
    form = {"mean": 1.0}
    if isinstance(bins, Bins):
        return Interval(along="mean", coordinate=form, direction=form, bins=bins)
    middles = tuple(0.5 * (low + high) for low, high in pairwise(bins.ends))
    return Partition(parameter="mean", edges=bins.ends, released=middles)


def sum_of_two(pieces: Mapping[str, Sequence[tuple[float, int]]], slopes: Mapping[str, float], eps: float) -> float:
    """A secret that moves with both, uniform on each rectangle: its density there is a trapezoid.

    With sides a >= b in units of the secret the best window lies in the middle: w / a of the mass up to w = a - b, and
    1 - (a + b - w)^2 / (4 a b) up to w = a + b. ``pieces`` are the lengths of the bins of each parameter, and how many
    there are of each.
    """
    one, two = pieces
    window, total, area = 2 * eps, 0.0, 0.0
    for first, many in pieces[one]:
        for second, times in pieces[two]:
            a, b = sorted((slopes[one] * first, slopes[two] * second), reverse=True)
            caught = window / a if window <= a - b else 1 - max(0.0, a + b - window) ** 2 / (4 * a * b)
            total += many * times * first * second * min(1.0, caught)
            area += many * times * first * second
    return min(1.0, total / area * _UP)


@accounted_distortion.register
def _(mechanism: Tiles, problem: Problem) -> float:
    """The farthest corner of the largest rectangle: W1 is a norm, so largest at a corner."""
    family = problem.family
    assert isinstance(family, LocationScale)
    one, two = mechanism.axes
    first, second = mechanism.widest(one) / 2, mechanism.widest(two) / 2
    return max(float(family.length({one: first, two: sign * second})) for sign in (1.0, -1.0))
