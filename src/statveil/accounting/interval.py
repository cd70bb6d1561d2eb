"""Risk and distortion of interval quantization."""

from __future__ import annotations

import numpy as np

from statveil.accounting.guarantee import Risk, accounted_distortion, accounted_risk
from statveil.accounting.prior import core, hit_window, only_axis, pair, support_polygon, whole_mass
from statveil.errors import ProblemError
from statveil.mechanisms.interval import Interval
from statveil.problem.axis import Axis
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Simplex
from statveil.problem.problem import Problem
from statveil.rounding import tolerant_floor
from statveil.theory.bins import Bins
from statveil.theory.risk.lipschitz import constants, lipschitz_line_risk, lipschitz_risk
from statveil.theory.risk.log_slope import class_slope, log_slope_risk
from statveil.theory.risk.one_dimensional import comb_risk, interval_risk, simplex_risk, teeth
from statveil.theory.risk.parallel import density_risk
from statveil.theory.risk.polygon import Polygon, box_risk, longest_piece, polygon_risk

__all__: list[str] = []


@accounted_risk.register
def _(mechanism: Interval, problem: Problem, eps: float, quick: bool) -> Risk:
    if isinstance(problem.prior, Simplex):
        return Risk(value=simplex_risk(len(problem.family.params), mechanism.bins, 2 * eps), kind="exact")
    window = hit_window(problem, mechanism.direction, eps)
    axis = only_axis(problem, mechanism)
    if axis is not None:
        return _one_dimensional(axis, mechanism, window, quick)
    return _two_dimensional(problem, mechanism, window, quick)


def _one_dimensional(axis: Axis, mechanism: Interval, window: float, quick: bool) -> Risk:
    bins = mechanism.bins
    if not axis.exact:
        if mechanism.step is not None:
            raise ProblemError(
                "a known step together with a class of beliefs is not accounted for; state a density or a plain range."
            )
        if bins.low > axis.low or bins.high < axis.high:
            raise ProblemError(
                "no bound is known for a Lipschitz prior whose range is cut by low < high; state a range on one side."
            )
        slope = class_slope(axis)
        bound = lipschitz_risk(axis, bins, window) if slope is None else log_slope_risk(axis, slope, bins, window)
        return Risk(value=bound, kind="upper bound")
    kind = "exact" if axis.flat or axis.falling else "numerical"
    if mechanism.step is not None:
        return Risk(value=comb_risk(axis, bins, mechanism.step, window), kind=kind)
    return Risk(value=interval_risk(axis, bins, window, quick=quick), kind=kind)


def _two_dimensional(problem: Problem, mechanism: Interval, window: float, quick: bool) -> Risk:
    names, polygon = support_polygon(problem)
    axes = [problem.box.axes[name] for name in names]
    bins, step = mechanism.bins, mechanism.step
    direction = pair(names, mechanism.direction)
    coordinate = pair(names, mechanism.coordinate)
    if not all(axis.exact for axis in axes):
        return Risk(value=_lipschitz(problem, mechanism, names, window), kind="upper bound")
    if all(axis.flat for axis in axes):
        # on a flat piece a comb costs what an interval costs against a window of K whole steps
        width = window if step is None else teeth(window, step) * step
        if len(mechanism.coordinate) == 1 and not problem.box.cut(problem.family):
            across, slope = _other_side(problem, mechanism)
            return Risk(value=box_risk(across, slope, bins, width), kind="exact")
        return Risk(value=polygon_risk(polygon, direction, coordinate, bins, width), kind="exact")
    if step is not None:
        raise ProblemError(
            "a known step is not accounted for when both parameters are uncertain and one has a density; "
            "state plain ranges, or a known value for one of them."
        )
    mass, error = whole_mass(problem, axes, polygon)
    if error >= mass:
        return Risk(value=1.0, kind="numerical")
    polygon, outside = core(axes, polygon)
    inner = _band_range(polygon, coordinate, bins)
    value = density_risk(polygon, axes, direction, coordinate, inner, window, mass=mass, quick=quick)
    return Risk(value=min(1.0, value + outside + 2 * error / mass), kind="numerical")


def _band_range(polygon: Polygon, coordinate: tuple[float, float], bins: Bins) -> Bins:
    """The bins that the polygon reaches."""
    x = polygon.corners @ np.array(coordinate)
    first, last = (int(i) for i in bins.locate(np.array([x.min(), x.max()])))
    low, high = float(bins.span(first)[0]), float(bins.span(last)[1])
    return Bins(low=low, high=high, origin=bins.origin, width=bins.width)


def _lipschitz(problem: Problem, mechanism: Interval, names: tuple[str, str], window: float) -> float:
    if problem.box.cut(problem.family) or len(mechanism.coordinate) != 1 or mechanism.step is not None:
        raise ProblemError(
            f"no bound is known for a Lipschitz prior of {problem.family.name!r} on these ranges; "
            "state densities, or plain ranges."
        )
    (binned,) = mechanism.coordinate
    other = names[1] if binned == names[0] else names[0]
    one, two = problem.box.axes[binned], problem.box.axes[other]
    if constants(one) is None or constants(two) is None:
        raise ProblemError(
            "a Lipschitz prior of one parameter can only stand beside a plain range, a Lipschitz prior or a known "
            "value of the other; state the other one so."
        )
    return lipschitz_line_risk(one, two, mechanism.bins, window, mechanism.direction.get(other, 0.0))


def _other_side(problem: Problem, mechanism: Interval) -> tuple[float, float]:
    """Range of the parameter that is not binned, and its change per unit of the binned coordinate."""
    (binned,) = mechanism.coordinate
    (other,) = (name for name in problem.box.free if name != binned)
    return problem.box.axes[other].width, mechanism.direction.get(other, 0.0)


@accounted_distortion.register
def _(mechanism: Interval, problem: Problem) -> float:
    longest = max(length for length, _ in mechanism.bins.pieces())
    if not isinstance(problem.family, LocationScale):
        return longest / 2  # categorical: TV is the change of the share itself
    unit = float(problem.family.length(mechanism.direction))
    if mechanism.step is not None:
        # at most N candidates a step apart, released at the middle one: floor(N / 2) steps
        most = tolerant_floor(longest / mechanism.step)
        most += longest / mechanism.step - most > 1e-9
        return unit * (most // 2) * mechanism.step
    if mechanism.centre == "piece" and len(mechanism.coordinate) == 1 and not problem.box.cut(problem.family):
        across, slope = _other_side(problem, mechanism)
        longest = min(longest, across / abs(slope)) if slope else longest
    elif mechanism.centre == "piece":
        names, polygon = support_polygon(problem)
        direction, coordinate = pair(names, mechanism.direction), pair(names, mechanism.coordinate)
        longest = longest_piece(polygon, direction, coordinate, mechanism.bins)
    return unit * longest / 2
