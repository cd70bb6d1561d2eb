"""What the stated beliefs alone give away: how often the best guess hits that never saw a release."""

from __future__ import annotations

import numpy as np

from statveil.accounting import hit_window, support_polygon
from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.prior import Simplex
from statveil.problem.priors.tabulated import Tabulated
from statveil.problem.problem import Problem
from statveil.theory.bins import Bins
from statveil.theory.one_parameter import line
from statveil.theory.risk.lipschitz import lipschitz_risk
from statveil.theory.risk.log_slope import class_slope, log_slope_risk
from statveil.theory.risk.one_dimensional import interval_risk, simplex_risk
from statveil.theory.risk.partition import partition_risk
from statveil.theory.risk.polygon import chord

__all__ = ["risk_without_release"]


_NODES = 2048
"""Values of one parameter over which the other one is averaged."""
_EVERY = 200
"""Of so many drawn secrets one is where the search for the best window begins."""
_PEAKS = 3
"""Windows that beat their neighbours and are looked at closely."""
_ROUNDING = 1e-9
"""Relative error that a search for the best window may leave; added."""


def risk_without_release(problem: Problem) -> float:
    """P(a guess hits that knows the prior and no release), rounded up: no release can have a lower risk.

    It is the mass of the best window of length 2 eps under the prior of the secret; for a plain range of one parameter
    2 eps over the range of the secret. For a Lipschitz class it is an upper bound over the class.

    >>> import statveil as sv
    >>> risk_without_release(
    ...     sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100)), secret=sv.Mean(), tolerance=1)
    ... )
    0.02
    """
    if problem.also:  # two secrets, independent of each other: either
        missed = 1.0
        for one in problem.each:
            missed *= 1 - risk_without_release(one)
        return _up(1 - missed)
    if isinstance(problem.prior, Simplex):
        whole = Bins(low=0.0, high=1.0, origin=0.0, width=1.0)
        return simplex_risk(len(problem.family.params), whole, 2 * problem.tolerance)
    free = problem.box.free
    axes = [problem.box.axes[name] for name in free]
    slopes = _slopes(problem)
    if slopes is None:
        found = line(problem)
        edges = np.array([found.axis.low, found.axis.high])
        return _up(partition_risk(found.curve, found.axis, edges, found.window))
    if len(free) == 1:
        return _one_parameter(problem, free[0])
    if not all(axis.exact for axis in axes):
        return _of_a_class(problem, axes, [abs(slopes[name]) for name in free])
    if all(axis.flat for axis in axes):
        return _flat_pair(problem, slopes[free[0]], slopes[free[1]])
    return _pair(problem, slopes[free[0]], slopes[free[1]])


def _slopes(problem: Problem) -> Form | None:
    """The secret as a linear form of the parameters; ``None`` where it is a curve."""
    if not isinstance(problem.family, LocationScale) or problem.secret.rough:
        return None
    return problem.family.coefficients(problem.secret)


def _up(value: float) -> float:
    return min(1.0, value * (1 + _ROUNDING))


def _whole(axis: Axis, low: float, high: float, window: float) -> float:
    """The best window on one axis: bins of which there is one."""
    bins = Bins(low=low, high=high, origin=low, width=high - low)
    if not axis.exact:
        slope = class_slope(axis)
        return lipschitz_risk(axis, bins, window) if slope is None else log_slope_risk(axis, slope, bins, window)
    return interval_risk(axis, bins, window) if axis.flat else _up(interval_risk(axis, bins, window))


def _one_parameter(problem: Problem, name: str) -> float:
    axis = problem.box.axes[name]
    start = {other: found.low for other, found in problem.box.axes.items()}
    back, ahead = problem.support.extent(start, {name: 1.0})  # a known end of a range may cut it
    window = hit_window(problem, {name: 1.0}, problem.tolerance)
    return _whole(axis, axis.low + float(back), axis.low + float(ahead), window)


def _of_a_class(problem: Problem, axes: list[Axis], slopes: list[float]) -> float:
    """Whatever the one parameter is, the other one must fall into a window of its own."""
    if problem.box.cut(problem.family):
        return 1.0  # nothing is known of how a constraint shifts the mass of such a class
    window = 2 * problem.tolerance
    return min(
        (_whole(axis, axis.low, axis.high, window / slope) for axis, slope in zip(axes, slopes, strict=True) if slope),
        default=1.0,
    )


def _flat_pair(problem: Problem, first: float, second: float) -> float:
    """Uniform on a polygon: the density of the secret is piecewise linear, bending where its lines pass a corner."""
    _, polygon = support_polygon(problem)
    secret = polygon.corners @ np.array([first, second])
    across = polygon.corners @ np.array([second, -first])
    values = np.unique(secret)
    spread = float(values[-1] - values[0])
    values = values[np.concatenate([[True], np.diff(values) > 1e-12 * spread])]
    low, high = chord(across, secret, np.roll(across, -1), np.roll(secret, -1), values)
    belief = Tabulated(values.tolist(), np.maximum(high - low, 0.0).tolist())
    return _whole(belief, belief.low, belief.high, 2 * problem.tolerance)


def _pair(problem: Problem, first: float, second: float) -> float:
    """Two densities: one parameter averaged over, the mass of the other one from its distribution function.

    Rounded up by twice the difference to half as many values, or to values between.
    """
    names = problem.box.free
    slopes = dict(zip(names, (first, second), strict=True))
    # a narrow belief is averaged over and a wide one integrated exactly, so that no step falls between two values
    names = tuple(sorted(names, key=lambda name: abs(slopes[name]) * _middle_half(problem.box.axes[name])))
    over, inner = names
    if not slopes[inner]:
        over, inner = inner, over
    axis, rate, window = problem.box.axes[inner], slopes[inner], 2 * problem.tolerance

    def average(count: int, shift: float) -> tuple[Array, Array, Array, float]:
        """Values of the parameter averaged over, the range it leaves to the other one, the mass of all of it."""
        at = problem.box.axes[over].ppf((np.arange(count) + shift) / count)
        start = {name: np.full(count, known.low) for name, known in problem.box.axes.items()} | {over: at}
        back, ahead = problem.support.extent(start, {inner: 1.0})
        bottom, top = (np.broadcast_to(axis.low + end, (count,)) for end in (back, ahead))
        bottom, top = np.clip(bottom, axis.low, axis.high), np.clip(top, axis.low, axis.high)
        mass = np.maximum(axis.cdf(top) - axis.cdf(bottom), 0.0)
        return slopes[over] * at, bottom, np.maximum(top, bottom), float(mass.sum())

    def hit(starts: Array, count: int, shift: float = 0.5) -> Array:
        """Mass of windows that start at these values of the secret."""
        offset, bottom, top, mass = average(count, shift)
        caught = np.empty(len(starts))
        for i, start in enumerate(starts):
            ends = np.sort(np.stack([start - offset, start + window - offset]) / rate, axis=0)
            caught[i] = (axis.cdf(np.clip(ends[1], bottom, top)) - axis.cdf(np.clip(ends[0], bottom, top))).sum()
        return caught / mass

    draws = problem.sample(20_000, np.random.default_rng(0))  # only to know where to look
    secret = np.sort(sum(slopes[name] * draws[name] for name in names))
    starts = np.concatenate([secret[::_EVERY], secret[::_EVERY] - 0.5 * window, secret[::_EVERY] - window])
    starts = np.unique(starts)
    seen = hit(starts, _NODES // 8)
    peak = np.flatnonzero((seen >= np.append(seen[1:], 0.0)) & (seen >= np.insert(seen[:-1], 0, 0.0)))
    found, error = 0.0, 0.0
    for top_at in peak[np.argsort(-seen[peak])][:_PEAKS].tolist():
        low, high = float(starts[max(top_at - 1, 0)]), float(starts[min(top_at + 1, len(starts) - 1)])
        for _ in range(5):
            fan = np.linspace(low, high, 9)
            masses = hit(fan, _NODES)
            best = int(masses.argmax())
            if masses[best] > found:
                found, place = float(masses[best]), fan[best : best + 1]
                others = [hit(place, _NODES // 2), *(hit(place, _NODES, shift) for shift in (0.25, 0.75))]
                middle = 0.5 * float(others[1][0] + others[2][0])  # the rule with twice as many values
                error = max(abs(found - float(others[0][0])), 2 * abs(found - middle))
            low, high = float(fan[max(best - 1, 0)]), float(fan[min(best + 1, 8)])
    value = min(1.0, _up(found) + 2 * error)
    if problem.box.cut(problem.family):
        return value
    # whatever the one parameter is, the other one must fall into a window of its own
    alone = [(problem.box.axes[name], abs(slopes[name])) for name in names if slopes[name]]
    return min(value, *(_whole(one, one.low, one.high, window / slope) for one, slope in alone), 1.0)


def _middle_half(axis: Axis) -> float:
    low, high = axis.ppf(np.array([0.25, 0.75]))
    return float(high - low)
