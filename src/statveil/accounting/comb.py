"""Risk and distortion of combs."""

from __future__ import annotations

from statveil.accounting.guarantee import Risk, accounted_distortion, accounted_risk
from statveil.accounting.prior import core, hit_window, kind_of, only_axis, pair, support_polygon, whole_mass
from statveil.errors import ProblemError
from statveil.mechanisms.comb import Comb
from statveil.problem.axis import Axis
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Simplex
from statveil.problem.problem import Problem
from statveil.theory.comb_layout import longest_class
from statveil.theory.risk.combs import polygon_comb_extent, polygon_comb_risk, range_comb_risk, simplex_comb_risk
from statveil.theory.risk.log_slope import class_slope, log_slope_combs
from statveil.theory.risk.one_dimensional import comb_axis_risk, packed_risk
from statveil.theory.risk.parallel import comb_density_risk

__all__: list[str] = []

_COMB_MARGIN = 5e-6
"""Added to combs of two parameters under densities: an independent checker found an error estimate 2e-6 short."""


@accounted_risk.register
def _(mechanism: Comb, problem: Problem, eps: float, quick: bool) -> Risk:
    if mechanism.packed:
        return _packed(problem, mechanism, hit_window(problem, mechanism.direction, eps))
    return _comb_risk(problem, mechanism, eps, quick)


def _packed(problem: Problem, mechanism: Comb, window: float) -> Risk:
    """Combs laid from the dense end of one belief, or of a class of them."""
    axis = only_axis(problem, mechanism)
    slope = None if axis is None else class_slope(axis)
    if axis is None or not (axis.falling or slope is not None):
        raise ProblemError("packed combs are for one belief that only falls, or for a class of them.")
    blocks = mechanism.layout(axis.width)
    if slope is not None:
        return Risk(value=log_slope_combs(axis, slope, blocks, window), kind="upper bound")
    return Risk(value=packed_risk(axis, blocks, window), kind="exact")


def _comb_risk(problem: Problem, mechanism: Comb, eps: float, quick: bool) -> Risk:
    kind = kind_of(problem)
    combs = mechanism.teeth, mechanism.extent, mechanism.window
    if isinstance(problem.prior, Simplex):
        return Risk(value=simplex_comb_risk(len(problem.family.params), *combs, 2 * eps), kind=kind)
    attacker = hit_window(problem, mechanism.direction, eps)
    if not all(axis.exact for axis in problem.box.axes.values()):
        raise ProblemError(
            "a comb needs a density: in a class of priors all mass may sit on one tooth. State a density or a plain "
            "range, or use the method 'interval'."
        )
    axis = only_axis(problem, mechanism)
    if axis is not None:
        low, high = _ends(problem, axis)
        if axis.flat:
            return Risk(value=range_comb_risk(high - low, *combs, attacker), kind=kind)
        return Risk(value=comb_axis_risk(axis, low, high, *combs, attacker, quick=quick), kind=kind)
    names, polygon = support_polygon(problem)
    axes = [problem.box.axes[name] for name in names]
    direction, coordinate = pair(names, mechanism.direction), pair(names, mechanism.coordinate)
    if all(axis.flat for axis in axes):
        return Risk(value=polygon_comb_risk(polygon, direction, coordinate, *combs, attacker), kind=kind)
    inner, outside = core(axes, polygon)
    mass, error = whole_mass(problem, axes, polygon)
    if error >= mass:
        return Risk(value=1.0, kind=kind)
    value = comb_density_risk(polygon, axes, direction, coordinate, combs, attacker, core=inner, mass=mass, quick=quick)
    found = value + outside + 2 * error / mass
    rounded = min(1.0, found + value * _COMB_MARGIN)
    return Risk(value=rounded, kind=kind, margin=max(0.0, 1 - found / rounded))


def _ends(problem: Problem, axis: Axis) -> tuple[float, float]:
    """The range of the one uncertain parameter, as a constraint of the family leaves it."""
    low, high = axis.low, axis.high
    if len(problem.box.free) == 1:
        (name,) = problem.box.free
        start = {other: found.low for other, found in problem.box.axes.items()}
        back, ahead = problem.support.extent(start, {name: 1.0})
        low, high = axis.low + float(back), axis.low + float(ahead)
    return low, high


@accounted_distortion.register
def _(mechanism: Comb, problem: Problem) -> float:
    """Half of the largest distance between two parameters that share a release."""
    combs = mechanism.teeth, mechanism.extent, mechanism.window
    if isinstance(problem.prior, Simplex):
        return 0.5 * longest_class(0.0, 1.0, *combs)  # TV is the change of the share itself
    assert isinstance(problem.family, LocationScale)
    unit = float(problem.family.length(mechanism.direction))
    axis = only_axis(problem, mechanism)
    if mechanism.packed:
        assert axis is not None
        return 0.5 * unit * min(mechanism.extent, axis.width)
    if axis is not None:
        low, high = _ends(problem, axis)
        return 0.5 * unit * longest_class(high - low, high - low, *combs)
    names, polygon = support_polygon(problem)
    direction, coordinate = pair(names, mechanism.direction), pair(names, mechanism.coordinate)
    return 0.5 * unit * polygon_comb_extent(polygon, direction, coordinate, *combs)
