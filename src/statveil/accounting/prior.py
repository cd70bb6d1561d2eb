"""What the accounting of several mechanisms asks of a prior: where its mass is, and how long a hit is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ProblemError
from statveil.mechanisms.directed import Directed
from statveil.problem.axis import Axis
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.theory.risk.mass import polygon_mass
from statveil.theory.risk.polygon import Polygon

__all__ = ["core", "hit_window", "hit_windows", "kind_of", "only_axis", "pair", "support_polygon", "whole_mass"]


def kind_of(problem: Problem) -> str:
    """Plain ranges and secrets with a formula have closed forms; densities, and secrets of one's own, are searched."""
    flat = not isinstance(problem.prior, Box) or all(axis.flat for axis in problem.prior.axes.values())
    plain = not problem.secret.rough and problem.family.name != "custom"
    return "exact" if flat and plain else "numerical"


def hit_window(problem: Problem, direction: Form, tolerance: float) -> float:
    """Length of a hit along the binned coordinate: c = 2 eps / |dg/dx|."""
    if not isinstance(problem.family, LocationScale):
        return 2 * tolerance
    rate = problem.family.rate(problem.secret, direction)
    return 2 * tolerance / rate if rate else math.inf


def hit_windows(problem: Problem, directions: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """:func:`hit_window` along many directions of a location-scale family at once."""
    assert isinstance(problem.family, LocationScale)
    rate = problem.family.rate(problem.secret, directions)
    with np.errstate(divide="ignore"):
        return np.where(rate > 0, 2 * problem.tolerance / np.where(rate > 0, rate, 1.0), np.inf)


def support_polygon(problem: Problem) -> tuple[tuple[str, str], Polygon]:
    """The two free parameters and the polygon on which they can lie."""
    box = problem.box
    first, second = box.free
    a, b = box.axes[first], box.axes[second]
    polygon = Polygon(np.array([[a.low, b.low], [a.high, b.low], [a.high, b.high], [a.low, b.high]]))
    for form in problem.family.constraints:
        polygon = polygon.cut((form.get(first, 0.0), form.get(second, 0.0)), 0.0)
    return (first, second), polygon


def only_axis(problem: Problem, mechanism: Directed) -> Axis | None:
    """The one belief that matters, if one parameter is both moved and binned and nothing ties it to another.

    Bins of the length of a uniform also cut lines along which only ``high`` moves: there both beliefs matter.
    """
    moved = {name: change for name, change in mechanism.direction.items() if change}
    binned = {name: part for name, part in mechanism.coordinate.items() if part}
    alone = len(problem.box.free) == 1
    plain = len(moved) == 1 and moved == binned and set(moved.values()) == {1.0}
    if plain and (alone or not problem.box.cut(problem.family)):
        (name,) = moved
        return problem.box.axes[name]
    if alone:
        raise ProblemError(
            "with one uncertain parameter, its own values must be binned and moved, by one unit per unit."
        )
    return None


def whole_mass(problem: Problem, axes: Sequence[Axis], polygon: Polygon) -> tuple[float, float]:
    """Mass of the belief as its density is scaled, inside what a constraint leaves of the box, and its error."""
    if not problem.box.cut(problem.family):
        return math.prod(axis.width for axis in axes if axis.flat), 0.0
    return polygon_mass(polygon, axes)


def core(axes: Sequence[Axis], polygon: Polygon) -> tuple[Polygon, float]:
    """Where the mass is, to integrate there, and what is left out, which counts as hit."""
    outside = 0.0
    for i, axis in enumerate(axes):
        if not axis.flat:
            low, high = axis.core
            normal = (1.0, 0.0) if i == 0 else (0.0, 1.0)
            polygon = polygon.cut(normal, low).cut((-normal[0], -normal[1]), -high)
            outside += 2e-12
    if len(polygon.corners) < 3:
        raise ProblemError(
            "the prior has hardly any mass where its parameters are possible together. State ranges or densities of "
            "which most is possible."
        )
    return polygon, outside


def pair(names: tuple[str, str], form: Form) -> tuple[float, float]:
    """A form as the numbers of two parameters."""
    return form.get(names[0], 0.0), form.get(names[1], 0.0)
