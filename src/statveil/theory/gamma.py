"""gamma: the least distance per change of the secret, which sets the limit for every mechanism."""

from __future__ import annotations

from statveil.errors import ProblemError
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.ordinal import Ordinal
from statveil.problem.problem import Problem
from statveil.theory.gamma_ordinal import ordinal_gamma

__all__ = ["gamma"]


def gamma(problem: Problem) -> float:
    """inf over pairs of parameters the prior allows of (distance / 2) / (difference of the secrets).

    A known parameter closes directions, so gamma is larger then: the limit is that of the stated prior.
    """
    family = problem.family
    if isinstance(family, Categorical):
        return 0.5  # TV is at least the change of one share, and reaches it
    if isinstance(family, Ordinal):
        axis = problem.box.axes[family.parameter.name]
        return ordinal_gamma(family, problem.secret, axis.low, axis.high, problem.distance)
    if not isinstance(family, LocationScale):
        raise ProblemError(f"no limit is known for the family {family.name!r}.")
    free = problem.box.free
    closed = family.closed_gamma(problem.secret)
    if len(free) == len(family.params) and closed is not None:
        return closed
    (name,) = free
    slope = abs(family.coefficients(problem.secret)[name])
    return float(family.length({name: 1.0})) / (2 * slope)
