"""The same problem under another belief: what a plan's mechanism is worth where outsiders believe something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from statveil.errors import ProblemError
from statveil.problem.axis import Axis
from statveil.problem.families.any_shape import VALUE, AnyShape
from statveil.problem.prior import Box, Prior, Simplex, as_axis
from statveil.problem.priors.flat import Flat
from statveil.problem.priors.known import Known
from statveil.problem.priors.log_uniform import LogUniform
from statveil.problem.priors.logged import Logged
from statveil.problem.problem import Problem

__all__ = ["another_belief", "under_prior"]

_SLACK = 1e-9


def under_prior(problem: Problem, prior: Prior | Mapping[str, Any] | Any) -> Problem:
    """This problem, in its own parameters, with another prior inside the range of the first.

    Parameters that are not named keep what was believed of them.

    >>> import statveil as sv
    >>> problem = sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1)
    >>> under_prior(problem, (20, 60)).box
    Box(value=Flat(low=20.0, high=60.0))
    """
    if isinstance(problem.prior, Simplex):
        raise ProblemError("a categorical column has no other prior: every vector of shares is equally likely.")
    axes = dict(problem.box.axes) | _stated(problem, prior)
    for name, axis in axes.items():
        _check_inside(problem, name, axis)
        if not axis.exact:
            raise ProblemError(
                f"the other prior of {name!r} must be one belief, from which values can be drawn. Got a class of them; "
                "state a density, a table or a plain range."
            )
    if not any(not axis.known for axis in axes.values()):
        raise ProblemError("under the other prior every parameter is known: there is nothing to guess; state a range.")
    return replace(problem, prior=Box(axes))


def another_belief(problem: Problem, prior: Prior | Mapping[str, Any] | Any) -> Axis:
    """What is believed instead of the one uncertain parameter: also that it is known to be one value."""
    if isinstance(problem.prior, Simplex) or len(problem.box.free) != 1:
        raise ProblemError("two priors are compared for one uncertain parameter; state a known value for the others.")
    (name,) = problem.box.free
    stated = _stated(problem, prior)
    if set(stated) != {name}:
        raise ProblemError(
            f"the other prior must be one of {name!r}, which alone is uncertain. Got one of {[*stated]}."
        )
    _check_inside(problem, name, stated[name])
    return stated[name]


def _stated(problem: Problem, prior: Any) -> dict[str, Axis]:
    """What was said, by the problem's own parameters."""
    family = problem.family
    if isinstance(prior, Box | Mapping):
        axes = dict(prior.axes if isinstance(prior, Box) else Box(prior).axes)
    elif len(problem.box.free) == 1:
        axes = {VALUE if isinstance(family, AnyShape) else problem.box.free[0]: as_axis("the other prior", prior)}
    else:
        raise ProblemError("the other prior must name its parameters, as in sv.Box(mu=(0, 50)).")
    names = [VALUE] if isinstance(family, AnyShape) else [param.name for param in family.params]
    for name in axes:
        if name not in names:
            raise ProblemError(f"the other prior is one of {', '.join(map(repr, names))}. Got one of {name!r}.")
    if not isinstance(family, AnyShape):
        return {name: axis.fit(next(p for p in family.params if p.name == name)) for name, axis in axes.items()}
    axis = axes[VALUE]
    if axis.low < family.belief.low - _SLACK * abs(family.belief.low) or axis.high > family.belief.high + _SLACK * abs(
        family.belief.high
    ):
        raise _outside(VALUE, axis, family.belief)
    return {family.parameter: _in_its_coordinate(family, axis)}


def _in_its_coordinate(family: AnyShape, axis: Axis) -> Axis:
    if not family.log:
        return axis
    if axis.known:
        return Known(float(family.coordinate(axis.low)))
    if isinstance(axis, LogUniform):
        ends = sorted(float(family.coordinate(end)) for end in (axis.low, axis.high))
        return Flat(*ends)
    return Logged(axis, family.sign)


def _check_inside(problem: Problem, name: str, axis: Axis) -> None:
    own = problem.box.axes[name]
    slack = _SLACK * max(abs(own.low), abs(own.high))
    if axis.low < own.low - slack or axis.high > own.high + slack:
        raise _outside(name, axis, own)


def _outside(name: str, axis: Axis, own: Axis) -> ProblemError:
    return ProblemError(
        f"the other prior of {name!r} must lie in the range that the plan is for, {own.low:g}:{own.high:g}: outside it "
        f"nothing is released. Got {axis.low:g}:{axis.high:g}; plan for a wider range."
    )
