"""A problem with one uncertain parameter, as curves on a line: belief, secret and distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from statveil.errors import ProblemError
from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.problem.families.custom import Custom
from statveil.problem.location_scale import LocationScale
from statveil.problem.ordinal import Ordinal
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.theory.curve import Curve, curve
from statveil.theory.distances import distance
from statveil.theory.interpolated import interpolated
from statveil.theory.reach import Ruler

__all__ = ["Line", "line"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Everything about a one-parameter problem that the numeric methods use."""

    name: str
    axis: Axis
    curve: Curve
    ruler: Ruler
    window: float


def line(problem: Problem, *, exact: bool = True) -> Line:
    """The line of a problem with one uncertain parameter; of a class of densities only where ``exact`` is false."""
    if not isinstance(problem.prior, Box) or len(problem.box.free) != 1:
        raise ProblemError(
            "the numeric methods are for one uncertain parameter. Got "
            f"{len(problem.family.params) if not isinstance(problem.prior, Box) else len(problem.box.free)}; "
            "state a known value for the others, or use the method 'interval'."
        )
    (name,) = problem.box.free
    axis = problem.box.axes[name]
    if exact and not axis.exact:
        raise ProblemError(
            "the numeric methods need a density. Got a Lipschitz class; state a density, a table or a plain range, "
            "or use the method 'interval'."
        )
    if problem.box.cut(problem.family):
        raise ProblemError(
            f"the range of {name!r} reaches beyond {problem.family.constraint_doc}; state a range inside, "
            "or use the method 'interval'."
        )
    known = {other: ax.low for other, ax in problem.box.axes.items() if ax.known}

    def params(theta: Array) -> dict[str, Array]:
        return {name: theta, **{other: np.full(np.shape(theta), at) for other, at in known.items()}}

    def secret(theta: Array) -> Array:
        return problem.position_of(params(np.asarray(theta, dtype=np.float64)))

    family = problem.family
    turns = None
    rough = problem.secret.rough
    if isinstance(family, Ordinal) and not rough:
        turns = [float(t) for t in family.shape_of(problem.secret).peaks if axis.low < t < axis.high]
    elif isinstance(family, LocationScale) and not rough:
        turns = []
    value = interpolated(secret, axis.low, axis.high) if isinstance(family, Custom) and not rough else secret
    return Line(
        name=name,
        axis=axis,
        curve=curve(value, axis.low, axis.high, turns=turns, rough=rough),
        ruler=_ruler(problem, name, params),
        window=2 * problem.tolerance,
    )


def _ordered_ruler(
    apart: Callable[[Array, Array], Array], mean: Callable[[Array], Array], low: float, high: float
) -> Ruler:
    """A stochastically ordered family without a closed inverse of its mean: W1 is the difference of the means."""
    means = curve(mean, low, high, turns=[])
    (piece,) = means.pieces
    return Ruler(distance=apart, position=mean, at_position=lambda m: piece.inverse(means.value, np.asarray(m)))


def _ruler(problem: Problem, name: str, params: Callable[[Array], dict[str, Array]]) -> Ruler:
    family = problem.family

    def apart(a: Array, b: Array) -> Array:
        return distance(family, params(a), params(b), problem.distance)

    if problem.distance == "w1" and isinstance(family, Ordinal):
        return Ruler(
            distance=apart, position=lambda t: family.mean(params(np.asarray(t))), at_position=family.inverse_mean
        )
    if problem.distance == "w1" and isinstance(family, Custom):
        axis = problem.box.axes[name]
        if not family.ordered(axis.low, axis.high):
            raise ProblemError(
                "this family is not stochastically ordered in its parameter, so bins of it have no exact distortion; "
                "use a parameter for which larger always means larger values (or always smaller ones)."
            )
        mean = interpolated(lambda t: family.mean(params(np.asarray(t))), axis.low, axis.high)
        return _ordered_ruler(apart, mean, axis.low, axis.high)
    if isinstance(family, LocationScale):  # W1, of the logarithms where these have the shape
        unit = float(family.length({name: 1.0}))
        return Ruler(
            distance=apart, position=lambda t: unit * np.asarray(t), at_position=lambda p: np.asarray(p) / unit
        )
    return Ruler(distance=apart)
