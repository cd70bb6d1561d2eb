"""gamma, the least distance per change of the secret, and what no mechanism can beat because of it: two theorems."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ProblemError
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.families.categorical import Categorical
from statveil.problem.families.custom import Custom
from statveil.problem.location_scale import LocationScale
from statveil.problem.ordinal import Ordinal
from statveil.problem.problem import Problem
from statveil.rounding import tolerant_ceil
from statveil.theory.gamma_ordinal import ordinal_gamma
from statveil.theory.one_parameter import line

__all__ = [
    "gamma",
    "least_direction",
    "least_distortion",
    "least_risk",
    "limit_on_distortion",
    "limit_on_risk",
]

_STEPS = 20_001


def gamma(problem: Problem) -> float:
    """inf over pairs of parameters the prior allows of (distance / 2) / (difference of the secrets).

    A known parameter closes directions, so gamma is larger then: the limit is that of the stated prior.
    """
    family = problem.family
    if isinstance(family, Categorical):
        return 0.5  # TV is at least the change of one share, and reaches it
    if problem.secret.rough or isinstance(family, Custom):
        return _line_gamma(problem)
    if isinstance(family, Ordinal):
        axis = problem.box.axes[family.parameter.name]
        return ordinal_gamma(family, problem.secret, axis.low, axis.high, problem.distance)
    if not isinstance(family, LocationScale):
        raise ProblemError(f"no limit is known for the family {family.name!r}.")
    free = problem.box.free
    closed = family.closed_gamma(problem.secret)
    if len(free) == len(family.params) and closed is not None:
        return closed
    if len(free) == 2:
        return least_direction(problem)[0]
    (name,) = free
    slope = abs(family.coefficients(problem.secret)[name])
    return float(family.length({name: 1.0})) / (2 * slope)


_gamma = gamma  # where a parameter has its name


def least_direction(problem: Problem) -> tuple[float, dict[str, float]]:
    """gamma, rounded down, and a direction that has it, for two free parameters of a family without a closed form.

    The length of a change is a norm, so along the changes that move the secret by 1 it is convex: a search that
    narrows around the least value finds it, and a secant beside the last step bounds it from below.
    """
    family = problem.family
    assert isinstance(family, LocationScale)
    first, second = problem.box.free
    slopes = family.coefficients(problem.secret)
    one, two = slopes[first], slopes[second]
    size = one * one + two * two
    start, along = np.array([one, two]) / size, np.array([-two, one]) / math.sqrt(size)

    def length(k: NDArray[np.float64]) -> NDArray[np.float64]:
        return family.length({first: start[0] + k * along[0], second: start[1] + k * along[1]})

    points = np.concatenate([-np.geomspace(1e9, 1e-9, 200), [0.0], np.geomspace(1e-9, 1e9, 200)]) / math.sqrt(size)
    for _ in range(60):
        values = length(points)
        best = min(max(int(np.argmin(values)), 1), len(points) - 2)
        low, high = points[best - 1], points[best + 1]
        if not np.all(np.isfinite(values)):
            raise ProblemError(
                f"the family {family.name!r} gives a distance that is not finite, so no limit is known; its E|a + bZ| "
                "must be finite for every a and b."
            )
        if high - low <= 1e-7 * max(abs(low), abs(high), 1 / math.sqrt(size)):
            break
        points = np.linspace(low, high, 33)
    rises = np.abs(np.diff(values[best - 1 : best + 2]) / np.diff(points[best - 1 : best + 2]))
    least = float(values[best]) - float(rises.max()) * float(high - low)
    at = float(points[best])
    return 0.5 * least * (1 - 1e-12), {first: start[0] + at * along[0], second: start[1] + at * along[1]}


def _line_gamma(problem: Problem) -> float:
    """Any secret of a stochastically ordered family: 1/2 inf |position'| / |secret'|, rounded down.

    W1 is a difference of positions, so the ratio of a pair is at least the least ratio of the small steps
    between them.
    """
    found = line(problem)
    if found.ruler.position is None:
        raise ProblemError("a secret of your own is accounted for in the distance w1 only; leave out the distance.")
    position, secret = found.ruler.position, found.curve.value

    def ratios(grid: NDArray[np.float64]) -> NDArray[np.float64]:
        moved, changed = np.abs(np.diff(position(grid))), np.abs(np.diff(np.asarray(secret(grid))))
        with np.errstate(over="ignore"):  # a secret that hardly changes is as good as one that does not
            return np.where(changed > 0, moved / np.where(changed > 0, changed, 1.0), np.inf)

    grid = np.linspace(found.axis.low, found.axis.high, _STEPS)
    values = ratios(grid)
    low_before = np.concatenate([[True], values[1:] <= values[:-1]])
    low_after = np.concatenate([values[:-1] <= values[1:], [True]])
    starts = np.flatnonzero(low_before & low_after)
    least = float(values.min())
    for i in starts[np.argsort(values[starts])][:40]:  # zoom in on the lowest steps: the ratio of slopes is a limit
        a, b = float(grid[max(i - 1, 0)]), float(grid[min(i + 2, _STEPS - 1)])
        for _ in range(3):
            fine = np.linspace(a, b, 201)
            inner = ratios(fine)
            k = int(np.argmin(inner))
            if not inner[k] < np.inf or b - a < 1e-10 * (found.axis.high - found.axis.low):
                break
            least = min(least, float(inner[k]))
            a, b = float(fine[max(k - 1, 0)]), float(fine[min(k + 2, 200)])
    return 0.5 * least * (1 - 1e-5)


def limit_on_distortion(problem: Problem, gamma: float, risk: float) -> float:
    """Theorem 1 in the terms of the problem: no mechanism of this risk distorts less.

    Who hits either of two secrets with this risk hits each with no more.
    """
    if problem.also:
        return max(limit_on_distortion(one, _gamma(one), risk) for one in problem.each)
    family = problem.family
    if isinstance(family, AnyShape) and family.widened and family.closeness is not None and not family.log:
        # the window of a share is shortest at the lowest value: k - 1 of them from there on
        windows = max(0, tolerant_ceil(1 / risk) - 1) * 2 * math.atanh(family.closeness.share)
        return gamma * family.belief.low * math.expm1(windows) * (1 - 1e-12)
    return problem.measure.bound(least_distortion(gamma, family.narrow(problem.tolerance), risk))


def limit_on_risk(problem: Problem, gamma: float, distance: float) -> float:
    """Theorem 2: no mechanism within this distance has a smaller risk; that of either of two secrets is not less."""
    if problem.also:
        return max(limit_on_risk(one, _gamma(one), distance) for one in problem.each)
    family = problem.family
    if isinstance(family, AnyShape) and family.widened and family.closeness is not None and not family.log:
        span = math.log1p(distance / (gamma * family.belief.low))
        return 1 / max(1, tolerant_ceil(span / (2 * math.atanh(family.closeness.share))))
    return least_risk(gamma, family.narrow(problem.tolerance), distance)


def least_distortion(gamma: float, tolerance: float, risk: float) -> float:
    """Theorem 1: with risk at most T, distortion > (ceil(1/T) - 1) 2 gamma eps.

    >>> least_distortion(0.5, 1.0, 1 / 49)
    48.0
    """
    return max(0, tolerant_ceil(1 / risk) - 1) * 2 * gamma * tolerance


def least_risk(gamma: float, tolerance: float, distortion: float) -> float:
    """Theorem 2: with distortion at most B, risk >= 1 / ceil(B / (2 gamma eps)).

    >>> least_risk(0.5, 1.0, 9.0)
    0.1111111111111111
    """
    return 1 / max(1, tolerant_ceil(distortion / (2 * gamma * tolerance)))
