"""Parameters as people give them: by name, finite, of one shape, inside the prior."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, unknown_name
from statveil.problem.families.any_shape import VALUE, AnyShape
from statveil.problem.location_scale import evaluate
from statveil.problem.prior import Box
from statveil.problem.problem import Problem

__all__ = ["OutsidePriorError", "checked_parameters"]


_WHY = (
    "The plan guarantees nothing there, and widening the prior after looking at the data would leak; state a prior "
    "from public knowledge alone."
)


class OutsidePriorError(ProblemError):
    """A parameter lies outside its range; the side is known, the value is not kept."""

    def __init__(self, parameter: str, side: str, why: str) -> None:
        super().__init__(f"{parameter!r} lies {side} the prior's range. {why}")
        self.parameter, self.side, self.why = parameter, side, why


def checked_parameters(problem: Problem, params: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
    """Parameters by name, finite, of one shape, inside the prior."""
    if isinstance(problem.family, AnyShape) and VALUE in params and problem.family.parameter != VALUE:
        params = {problem.family.parameter: _position(problem, problem.family, params)}
    names = [param.name for param in problem.family.params]
    for name in params:
        if name not in names:
            raise ProblemError(unknown_name(f"parameter of {problem.family.name!r}", name, names))
    known = {}
    if isinstance(problem.prior, Box):
        known = {name: axis.low for name, axis in problem.prior.axes.items() if axis.known}
    missing = [name for name in names if name not in params and name not in known]
    if missing:
        raise ProblemError(f"a value is missing for {', '.join(missing)}; give one for each parameter.")
    try:
        values = {name: np.asarray(params.get(name, known.get(name, 0.0)), dtype=np.float64) for name in names}
        shape = np.broadcast_shapes(*(value.shape for value in values.values()))
    except (TypeError, ValueError):
        raise ProblemError("parameters must be numbers, or arrays of numbers of one shape.") from None
    for name, value in values.items():
        if not np.all(np.isfinite(value)):
            raise ProblemError(f"the parameter {name!r} must be finite; remove NaN and infinite values.")
    full = {name: np.broadcast_to(value, shape) for name, value in values.items()}
    _check_inside(problem, full)
    return full


def _named(problem: Problem, name: str, side: str) -> tuple[str, str]:
    """A parameter and the side on which it lies outside, in terms of the secret where it is one."""
    family = problem.family
    if not isinstance(family, AnyShape):
        return name, side
    return problem.secret.label, side if family.sign > 0 else {"below": "above", "above": "below"}[side]


def _position(problem: Problem, family: AnyShape, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
    """The parameter of a value of the secret that lies in its range."""
    if len(params) != 1:
        raise ProblemError(f"give the value of the {problem.secret.label} alone, as {VALUE}.")
    try:
        value = np.asarray(params[VALUE], dtype=np.float64)
    except (TypeError, ValueError):
        raise ProblemError("the value must be a number, or an array of numbers.") from None
    if not np.all(np.isfinite(value)):
        raise ProblemError("the value must be finite; remove NaN and infinite values.")
    low, high = family.belief.low, family.belief.high
    slack = 1e-9 * max(abs(low), abs(high))
    for side, outside in (("below", value < low - slack), ("above", value > high + slack)):
        if np.any(outside):
            raise OutsidePriorError(problem.secret.label, side, _WHY)
    return family.coordinate(np.clip(value, low, high))


def _check_inside(problem: Problem, params: Mapping[str, NDArray[np.float64]]) -> None:
    """Refuse parameters outside the prior, naming the side and never the value."""
    why = _WHY
    if isinstance(problem.prior, Box):
        for name, axis in problem.prior.axes.items():
            slack = 1e-9 * max(axis.width, abs(axis.low), abs(axis.high))
            if np.any(params[name] < axis.low - slack):
                raise OutsidePriorError(*_named(problem, name, "below"), why)
            if np.any(params[name] > axis.high + slack):
                raise OutsidePriorError(*_named(problem, name, "above"), why)
    else:
        total = np.sum(np.stack(list(params.values())), axis=0)
        if np.any(np.abs(total - 1) > 1e-9):
            raise ProblemError("the shares must add up to 1; normalise them.")
    size = max(1.0, *(float(np.max(np.abs(value), initial=0.0)) for value in params.values()))
    open_sides = all(np.all(evaluate(form, params) > 0) for form in problem.family.constraints)
    if not (open_sides and np.all(problem.support.contains(params, slack=1e-9 * size))):
        raise ProblemError(
            f"the parameters lie outside what {problem.family.name!r} allows"
            f"{f' ({problem.family.constraint_doc})' if problem.family.constraints else ''}. {why}"
        )
