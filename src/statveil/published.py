"""The paper's printed bounds, as printed, errors included: for comparison beside the accounted risk.

Numbers of propositions and lemmas count through the whole paper, appendices included.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.partition import Partition
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.priors.lipschitz import Lipschitz
from statveil.problem.problem import Problem
from statveil.theory.one_parameter import line
from statveil.theory.risk.partition import partition_risk

__all__ = [
    "printed_box",
    "printed_categorical",
    "printed_peak",
    "printed_relaxed",
    "printed_relaxed_box",
    "printed_uniform",
    "published_bound",
]


def printed_box(tolerance: float, rate: float, bin: float, slope: float, across: float) -> float:
    """Gaussian and shifted exponential: 2 eps / (|dg/dx| s) + |t0| s / A.

    Proposition 2 (quantile, shifted exponential), 5 (quantile, Gaussian) and 7 (standard deviation).
    """
    return 2 * tolerance / (rate * bin) + abs(slope) * bin / across


def printed_uniform(tolerance: float, rate: float, bin: float, slope: float, side: float) -> float:
    """Uniform: 2 eps / (|dg/dx| s) + 2 s t0 / ((t0 + 1) W) + s^2 / (2 W^2). Not a bound for alpha in (1/2, 31/48).

    Proposition 5 (quantile) and 7 (standard deviation).
    """
    return 2 * tolerance / (rate * bin) + 2 * bin * slope / ((slope + 1) * side) + bin**2 / (2 * side**2)


def printed_categorical(tolerance: float, bin: float, categories: int) -> float:
    """Categorical share: 2 eps / s + 1 - (1 - s / (C-1))^(C-1). False for nine or more categories (Proposition 9)."""
    return 2 * tolerance / bin + 1 - (1 - bin / (categories - 1)) ** (categories - 1)


def printed_relaxed(window: float, bin: float, floor: float, slope: float, *, sign: float = -1.0) -> float | None:
    """Lipschitz prior of one parameter; ``sign=+1`` is the sign misprinted for the std of an exponential.

    Lemma 1, in Proposition 3 (mean), 4 (quantile of an exponential) and 8 (its standard deviation).
    """
    if slope == 0:
        return None
    half, ratio = sign * window / 2, floor / slope
    x = bin + ratio + half - math.sqrt((ratio + half) ** 2 + 2 * floor * bin / slope)
    least = floor * bin + slope / 2 * (bin - x) ** 2
    return window * (floor + slope * (bin - x + half)) / least if least > 0 else 1.0


def printed_peak(length: float, floor: float, slope: float, mass: float) -> float:
    """The paper's function M: largest value of a Lipschitz density with this mass (Lemma 2)."""
    if floor <= mass / length - slope * length / 2:
        return mass / length + slope * length / 2
    return floor + math.sqrt(2 * slope * (mass - floor * length))


def printed_relaxed_box(window: float, bin: float, binned: Lipschitz, other: Lipschitz, slope: float) -> float | None:
    """Lipschitz priors of two parameters; divides by t0, so it says nothing at t0 = 0 (the std of a Gaussian).

    Proposition 4 (quantile, shifted exponential), 6 (quantile, Gaussian) and 8 (standard deviation).
    """
    t = abs(slope)
    if t == 0:
        return None
    stretched = printed_peak(other.width / t, other.floor, t * other.slope, 1 / t)
    peak_binned = printed_peak(binned.width, binned.floor, binned.slope, 1.0)
    along = binned.slope * stretched + t * other.slope * peak_binned
    green = printed_relaxed(window, bin, binned.floor * other.floor, along)
    peak_other = printed_peak(other.width, other.floor, other.slope, 1.0)
    return None if green is None else green + peak_other * peak_binned * binned.width * t * bin


def published_bound(problem: Problem, mechanism: Mechanism) -> float | None:
    """The printed bound at this mechanism's bin and slope, or ``None`` where the paper prints none."""
    return _printed(mechanism, problem)


@singledispatch
def _printed(mechanism: Mechanism, problem: Problem) -> float | None:
    return None


@_printed.register
def _(mechanism: Partition, problem: Problem) -> float | None:
    """Algorithm 1's own risk: a contiguous window, even where the secret turns."""
    found = line(problem)
    edges = np.array(mechanism.edges)
    return partition_risk(found.curve, found.axis, edges, found.window, contiguous=True)


@_printed.register
def _(mechanism: Interval, problem: Problem) -> float | None:
    if mechanism.step is not None:
        return None
    width, eps, family = mechanism.bins.width, problem.tolerance, problem.family
    if isinstance(family, Categorical):
        return printed_categorical(eps, width, len(family.params))
    if not isinstance(family, LocationScale) or not family.in_paper or mechanism.bins.origin != mechanism.bins.low:
        return None
    rate = family.rate(problem.secret, mechanism.direction)
    if rate == 0:
        return None
    moved = {name: change for name, change in mechanism.direction.items() if change}
    axes = problem.box.axes
    if (family.shift and moved == dict(family.shift)) or len(family.params) == 1:
        (name,) = mechanism.coordinate
        axis = axes[name]
        if isinstance(axis, Lipschitz):
            wrong = 1.0 if family.name == "exponential" and problem.secret.kind == "std" else -1.0
            return printed_relaxed(2 * eps / rate, width, axis.floor, axis.slope, sign=wrong)
        # Proposition 1 for a shift, 2 and 7 for the one parameter of an exponential
        return 2 * eps / (rate * width) if axis.flat else None
    slope = family.slope_of(mechanism.direction)
    if slope is None or mechanism.along != next(iter(family.coordinates)) or len(problem.box.free) != 2:
        return None
    if family.constraints:
        low, high = axes["low"], axes["high"]
        triangle = low.flat and high.flat and (low.low, low.high) == (high.low, high.high)
        return printed_uniform(eps, rate, width, slope, low.width) if triangle and slope >= 0 else None
    binned, other = axes[mechanism.along], axes[str(family.location)]
    if isinstance(binned, Lipschitz) and isinstance(other, Lipschitz):
        return printed_relaxed_box(2 * eps / rate, width, binned, other, slope)
    return printed_box(eps, rate, width, slope, other.width) if binned.flat and other.flat else None
