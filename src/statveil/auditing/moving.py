"""The same plan in other units: the table stays as it is, and its place in the prior is drawn anew.

A rate needs trials in which the secret lies elsewhere in its bin. A table cannot be moved there without losing what it
really is: the logarithm of a whole number plus 0.3 is no such logarithm any more, and a flag for "60 or more" is one
for another number. So the plan moves instead. Under x -> factor x + offset its beliefs, its bins and its tolerance are
those of the same plan written in another unit, with the same risk, and the table, with its order, its other columns
and all its structure, is the very one that is released.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from statveil.errors import StatveilError
from statveil.made_plan import Plan
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.priors.flat import Flat
from statveil.problem.priors.log_uniform import LogUniform
from statveil.problem.problem import Problem
from statveil.problem.structure import Structure

__all__ = ["can_move", "moved", "moved_onto"]


def can_move(plan: Plan) -> bool:
    """Whether the plan has a form in other units: flat beliefs about location and scale, bins of a linear form."""
    box, family = plan.problem.prior, plan.problem.family
    if isinstance(family, AnyShape):
        return _orbit_moves(plan, family)
    return (
        isinstance(family, LocationScale)
        and not family.redrawn  # other units are no move of its logarithms
        and isinstance(box, Box)
        and all(axis.flat or axis.known for axis in box.axes.values())
        and plan.mechanism.rescaled(1.0, 0.0, dict.fromkeys(box.axes, 0.0)) is not None
        and plan.problem.secret.linear(family) is not None
    )


def _orbit_moves(plan: Plan, family: AnyShape) -> bool:
    """Without a family: a plain range moves with the unit; in logarithms no other unit but a multiple is a move."""
    if plan.mechanism.rescaled(1.0, 0.0, {family.parameter: 0.0}) is None:
        return False
    if family.between is not None or family.model is not None:
        return False  # the bounds stay where they are, and a model's forms have a unit
    if not family.log:
        return family.belief.flat and not family.widened
    return isinstance(family.belief, Flat | LogUniform) and not family.about and plan.problem.known.spacing is None


def _moved_orbit(plan: Plan, family: AnyShape, factor: float, offset: float, structure: bool) -> Plan:
    """The plan without a family for the column factor x + offset; of two groups for a secret that is so much larger."""
    problem, rate = plan.problem, plan.problem.secret.shift_rate(family)
    low, high = (factor * end + rate * offset for end in (family.belief.low, family.belief.high))
    start = family.sign * math.log(factor) if family.log else rate * offset
    mechanism = plan.mechanism.rescaled(1.0 if family.log else factor, offset, {family.parameter: start})
    assert mechanism is not None
    absolute = problem.measure.kind == "absolute"
    return replace(
        plan,
        problem=Problem(
            secret=problem.secret,
            prior=type(family.belief)(low, high),  # type: ignore[call-arg]  # Flat and LogUniform have no more
            tolerance=problem.closeness if family.log else factor * problem.tolerance,
            known=_structure(problem.known, factor, offset) if structure else problem.known,
        ),
        mechanism=mechanism,
        distortion=plan.distortion * (factor if absolute else 1.0),
        lower_bound=plan.lower_bound * (factor if absolute else 1.0),
        optimum=None,
        optimum_kind=None,
        certificate=None,
        robust_to=None,
        robust_risk=None,
    )


def moved(plan: Plan, factor: float, offset: float, *, structure: bool = True) -> Plan:
    """The plan for the column factor x + offset; without ``structure`` what is declared stays where it is.

    >>> import statveil as sv
    >>> problem = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 10)), secret=sv.Mean(), tolerance=1)
    >>> there = moved(sv.plan(problem, max_risk=0.2), 2.0, 1.0)
    >>> there.problem.prior, there.problem.tolerance, there.bin
    (Box(mean=Flat(low=1.0, high=21.0)), 2.0, 20.0)
    """
    problem, family = plan.problem, plan.problem.family
    assert isinstance(family, LocationScale)
    if isinstance(family, AnyShape):
        return _moved_orbit(plan, family, factor, offset, structure)
    start = {param.name: offset * family.shift.get(param.name, 0.0) for param in family.params}
    axes = {
        name: factor * axis.low + start[name]
        if axis.known
        else (factor * axis.low + start[name], factor * axis.high + start[name])
        for name, axis in problem.box.axes.items()
    }
    mechanism = plan.mechanism.rescaled(factor, offset, start)
    assert mechanism is not None
    return replace(
        plan,
        problem=replace(
            problem,
            prior=Box(**axes),
            tolerance=factor * problem.tolerance,
            known=_structure(problem.known, factor, offset) if structure else problem.known,
        ),
        mechanism=mechanism,
        distortion=factor * plan.distortion,
        lower_bound=factor * plan.lower_bound,
        optimum=None,
        optimum_kind=None,
        certificate=None,
        robust_to=None,
        robust_risk=None,
    )


def _structure(known: Structure, factor: float, offset: float) -> Structure:
    def there(value: float | None) -> float | None:
        return None if value is None else factor * value + offset

    return Structure(
        minimum=there(known.minimum),
        maximum=there(known.maximum),
        step=None if known.step is None else factor * known.step,
        atoms=tuple(factor * atom + offset for atom in known.atoms),
        heaps=tuple(factor * heap for heap in known.heaps),
    )


def moved_onto(plan: Plan, *, statistic: float, place: float, spread: float, rng: Generator) -> Plan | None:
    """The plan moved so that a column with this statistic, place and spread lies where the prior draws it.

    ``None`` where the draw cannot be reached: a bound that the plan rests on must stay where it is.
    """
    problem, family = plan.problem, plan.problem.family
    assert isinstance(family, LocationScale)
    drawn = {name: float(value[0]) for name, value in problem.sample(1, rng).items()}
    wanted, rate = float(problem.secret_of(drawn)), problem.secret.shift_rate(family)
    stepped = problem.known.step is not None
    about = _pinned(plan)
    try:
        if stepped:  # a step is what it is in every unit
            reach = (statistic - wanted) / (rate or 1.0)
            there = moved(plan, 1.0, reach, structure=about is None)
            lowest = float(min(np.min(there.problem.secret_of(corner)) for corner in _corners(there)))
            if about is not None and plan.release_mode.pinned and lowest <= about + 0.25 * (statistic - about):
                return None  # so near to the bound no plan would have been made
            return there
        if about is not None:
            factor = (statistic - rate * about) / (wanted - rate * about)
            return moved(plan, factor, about * (1 - factor)) if np.isfinite(factor) and factor > 0 else None
        if family.shapeless and (family.log or not rate):
            return moved(plan, statistic / wanted, 0.0)
        free = set(family.scale_form) & set(problem.box.free)
        deviation = float(family.measured_spread().of(family, drawn)) if free else 0.0
        factor = spread / deviation if free and deviation > 0 and spread > 0 else 1.0
        if not rate:
            factor = statistic / wanted
            return moved(plan, factor, place - factor * float(family.measured_place().of(family, drawn)))
        return moved(plan, factor, (statistic - factor * wanted) / rate)
    except StatveilError:
        return None


def _pinned(plan: Plan) -> float | None:
    """A value that a change of units must leave where it is."""
    family, known = plan.problem.family, plan.problem.known
    assert isinstance(family, LocationScale)
    if known.fixed_points:
        return known.fixed_points[0]
    if (bound := plan.release_mode.fixed_point(plan.problem)) is not None:
        return bound
    return 0.0 if not family.shift and not family.shapeless else None


def _corners(plan: Plan) -> list[dict[str, float]]:
    box = plan.problem.box
    return [{name: getattr(axis, side) for name, axis in box.axes.items()} for side in ("low", "high")]
