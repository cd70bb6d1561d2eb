"""The ways to cut the parameters into lines and bins: a binned coordinate and a direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.accounting import hit_window, support_polygon
from statveil.errors import ProblemError
from statveil.mechanisms.interval import Interval
from statveil.problem.location_scale import Form, LocationScale, evaluate
from statveil.problem.problem import Problem
from statveil.theory.bins import Bins
from statveil.theory.gamma import least_direction

__all__ = ["Chart", "charts", "paper_cut"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One coordinate to bin; directions are ``base + k * across`` with any number k.

    ``own`` marks the coordinate of the paper and that of a pure shift, whose releases need no care. Along any
    other coordinate a bin's middle may leave the parameters' domain, so a release is the middle of what the
    prior allows of the line piece.
    """

    name: str
    coordinate: Form
    base: Form
    across: Form
    low: float
    high: float
    own: bool

    def direction(self, k: float) -> Form:
        """Direction of slant ``k``, one unit of the coordinate long."""
        names = {**self.base, **self.across}
        form = {name: self.base.get(name, 0.0) + k * self.across.get(name, 0.0) for name in names}
        return {name: change for name, change in form.items() if change}

    def interval(
        self, problem: Problem, direction: Form, width: float, *, origin: float | None = None, step: float | None = None
    ) -> Interval:
        """The mechanism with bins of this width along this direction."""
        start = self.low if origin is None else origin
        bins = Bins(low=self.low, high=self.high, origin=start, width=min(width, self.high - self.low) or width)
        family = _family(problem)
        # where low < high cuts the box, the middle of a bin of ``low`` may lie above ``high``
        alone = len(direction) == 1 and not problem.box.cut(family)
        plain = self.own or alone or dict(direction) == dict(family.shift)
        if plain:
            return Interval(along=self.name, coordinate=self.coordinate, direction=direction, bins=bins, step=step)
        return Interval(
            along=self.name,
            coordinate=self.coordinate,
            direction=direction,
            bins=bins,
            keep=problem.support,
            centre="piece",
        )

    def window(self, problem: Problem, direction: Form) -> float:
        """Length of a hit along the coordinate."""
        return hit_window(problem, direction, problem.tolerance)


def charts(problem: Problem) -> tuple[Chart, ...]:
    """Every coordinate that bins can be cut along, the paper's first."""
    family, free = _family(problem), problem.box.free
    if len(free) == 1:
        (name,) = free
        axis = problem.box.axes[name]
        low, high = axis.low, axis.high
        for form in family.constraints:  # high > low, with the other one known
            rest = sum(c * problem.box.axes[n].low for n, c in form.items() if n != name)
            low, high = (max(low, -rest), high) if form.get(name, 0.0) > 0 else (low, min(high, rest))
        unit = {name: 1.0}
        return (Chart(name=name, coordinate=unit, base=unit, across={}, low=low, high=high, own=True),)
    names, polygon = support_polygon(problem)
    corners = {name: polygon.corners[:, i] for i, name in enumerate(names)}
    found = []
    for i, (label, form) in enumerate(family.coordinates.items()):
        values = evaluate(form, corners)
        base, across = _basis(form, names)
        own = i == 0
        found.append(
            Chart(
                name=label,
                coordinate=form,
                base=base,
                across=across,
                low=float(np.min(values)),
                high=float(np.max(values)),
                own=own,
            )
        )
    return tuple(found)


def _basis(form: Form, names: tuple[str, str]) -> tuple[Form, Form]:
    """A direction with one unit of the coordinate, and one with none."""
    if len(form) == 1:
        (name,) = form
        other = names[1] if name == names[0] else names[0]
        return {name: 1.0 / form[name]}, {other: 1.0}
    # length = high - low: lengthen at the upper end; shift both
    (first, a), (second, b) = form.items()
    return {second: 1.0 / b}, {first: 1.0, second: -a / b}


def paper_cut(problem: Problem, slope: float | None) -> tuple[Chart, Form]:
    """The paper's coordinate and direction, or the forced slope's."""
    family, options = _family(problem), charts(problem)
    if len(problem.box.free) == 1:
        if slope is not None:
            raise ProblemError("a slope has no meaning when only one parameter is uncertain; leave it out.")
        return options[0], options[0].base
    if slope is None and family.closed_gamma(problem.secret) is None:
        return _least_cut(problem, options)
    chosen = family.best_slope(problem.secret) if slope is None else slope
    if chosen is not None:
        direction = {name: change for name, change in family.direction(chosen).items() if change}
        return options[0], direction
    return shift_cut(problem, options)


def _least_cut(problem: Problem, options: tuple[Chart, ...]) -> tuple[Chart, Form]:
    """The direction of least distance for a family or a secret without a closed form."""
    _, found = least_direction(problem)
    size = sum(abs(change) for change in found.values())
    for chart in options:
        along = sum(chart.coordinate.get(name, 0.0) * change for name, change in found.items())
        if abs(along) > 1e-9 * size:
            return chart, {name: change / along for name, change in found.items() if abs(change) > 1e-12 * size}
    return shift_cut(problem, options)


def shift_cut(problem: Problem, options: tuple[Chart, ...]) -> tuple[Chart, Form]:
    """The pure shift, with bins along the location."""
    family = _family(problem)
    chart = next(chart for chart in options if chart.name == family.location)
    return chart, dict(family.shift)


def _family(problem: Problem) -> LocationScale:
    if not isinstance(problem.family, LocationScale):
        raise ProblemError(f"the family {problem.family.name!r} has no interval bins in closed form.")
    return problem.family
