"""What a mechanism guarantees: its risk and its distortion, from the problem alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ProblemError
from statveil.mechanisms.cells import Cells
from statveil.mechanisms.comb import Comb
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.partition import Partition
from statveil.mechanisms.scaling import Scaling
from statveil.problem.axis import Axis
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.prior import Box, Simplex
from statveil.problem.problem import Problem
from statveil.rounding import tolerant_floor
from statveil.theory.bins import Bins
from statveil.theory.comb_layout import longest_class
from statveil.theory.curve import Curve
from statveil.theory.one_parameter import line
from statveil.theory.risk.cells import assigned_risk
from statveil.theory.risk.combs import polygon_comb_extent, polygon_comb_risk, range_comb_risk, simplex_comb_risk
from statveil.theory.risk.lipschitz import constants, lipschitz_line_risk, lipschitz_risk
from statveil.theory.risk.mass import polygon_mass
from statveil.theory.risk.one_dimensional import comb_axis_risk, comb_risk, interval_risk, teeth
from statveil.theory.risk.parallel import comb_density_risk, density_risk, marks
from statveil.theory.risk.partition import partition_risk
from statveil.theory.risk.polygon import Polygon, box_risk, longest_piece, polygon_risk
from statveil.theory.risk.radial import Quarter, radial_risk, ray_range
from statveil.theory.risk.simplex import simplex_risk

__all__ = ["KINDS", "Risk", "distortion", "hit_window", "quarter", "risk", "support_polygon"]


KINDS = ("exact", "numerical", "upper bound")
"""How a risk is obtained: in closed form, up to rounding; by quadrature or a search for the best window, with its error
estimate added; or as a proven bound that the truth may lie below."""


_COMB_MARGIN = 5e-6
"""Added to combs of two parameters under densities: an independent checker found an error estimate 2e-6 short."""


_SEARCHED = 1e-10
"""Added to windows that were searched for: their largest mass is flat at its top, so what a search misses is less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """P(best attacker hits), never below the truth; lower is better.

    ``kind`` says how the value was obtained (:data:`KINDS`).
    """

    value: float
    kind: str


def risk(problem: Problem, mechanism: Mechanism, *, tolerance: float | None = None, quick: bool = False) -> Risk:
    """Risk of a mechanism against an attacker with this tolerance (the problem's, if none is given).

    ``quick`` spends fewer quadrature nodes on non-uniform priors of two parameters: for comparing
    candidates, never for a reported risk.
    """
    eps = problem.tolerance if tolerance is None else tolerance
    if isinstance(mechanism, Scaling):
        return Risk(value=_scaling_risk(problem, mechanism, eps, quick), kind="numerical")
    if isinstance(mechanism, Partition):
        found = line(problem)
        value = partition_risk(found.curve, found.axis, np.array(mechanism.edges), 2 * eps, quick=quick)
        kind = "upper bound" if found.curve.rough else _kind_on_line(problem, found.curve)
        return Risk(value=min(1.0, value * (1 + _SEARCHED)) if kind == "numerical" else value, kind=kind)
    if isinstance(mechanism, Cells):
        return _cells_risk(problem, mechanism, eps, quick)
    if isinstance(mechanism, Comb):
        return Risk(value=_comb_risk(problem, mechanism, eps, quick), kind=_kind(problem))
    if not isinstance(mechanism, Interval):
        raise ProblemError(f"no accounting for the mechanism {mechanism.kind!r}.")
    if isinstance(problem.prior, Simplex):
        return Risk(value=simplex_risk(len(problem.family.params), mechanism.bins, 2 * eps), kind="exact")
    window = hit_window(problem, mechanism.direction, eps)
    axis = _only_axis(problem, mechanism)
    if axis is not None:
        return _one_dimensional(axis, mechanism, window, quick)
    return _two_dimensional(problem, mechanism, window, quick)


def _cells_risk(problem: Problem, mechanism: Cells, eps: float, quick: bool) -> Risk:
    found = line(problem)
    edges = np.array(mechanism.edges)
    total = assigned_risk(found.curve, found.axis, edges, mechanism.entries, 2 * eps, quick=quick)
    bound = found.curve.rough or total.slack > 1e-9 * total.value
    kind = "upper bound" if bound else _kind_on_line(problem, found.curve)
    return Risk(value=min(1.0, total.value * (1 + _SEARCHED)) if kind == "numerical" else total.value, kind=kind)


def _kind_on_line(problem: Problem, secret: Curve) -> str:
    """Where the secret bends, its inverse is iterated and the best window searched for: numerical, not exact."""
    return _kind(problem) if secret.straight else "numerical"


def _kind(problem: Problem) -> str:
    """Plain ranges and secrets with a formula have closed forms; densities, and secrets of one's own, are searched."""
    flat = not isinstance(problem.prior, Box) or all(axis.flat for axis in problem.prior.axes.values())
    plain = problem.secret.kind != "function" and problem.family.name != "custom"
    return "exact" if flat and plain else "numerical"


def _comb_risk(problem: Problem, mechanism: Comb, eps: float, quick: bool) -> float:
    combs = mechanism.teeth, mechanism.extent, mechanism.window
    if isinstance(problem.prior, Simplex):
        return simplex_comb_risk(len(problem.family.params), *combs, 2 * eps)
    attacker = hit_window(problem, mechanism.direction, eps)
    if not all(axis.exact for axis in problem.box.axes.values()):
        raise ProblemError(
            "a comb needs a density: in a class of priors all mass may sit on one tooth. State a density or a plain "
            "range, or use the method 'interval'."
        )
    axis = _only_axis(problem, mechanism)
    if axis is not None:
        low, high = _ends(problem, axis)
        if axis.flat:
            return range_comb_risk(high - low, *combs, attacker)
        return comb_axis_risk(axis, low, high, *combs, attacker, quick=quick)
    names, polygon = support_polygon(problem)
    axes = [problem.box.axes[name] for name in names]
    direction, coordinate = _pair(names, mechanism.direction), _pair(names, mechanism.coordinate)
    if all(axis.flat for axis in axes):
        return polygon_comb_risk(polygon, direction, coordinate, *combs, attacker)
    core, outside = _core(axes, polygon)
    mass, error = _whole(problem, axes, polygon)
    if error >= mass:
        return 1.0
    value = comb_density_risk(polygon, axes, direction, coordinate, combs, attacker, core=core, mass=mass, quick=quick)
    return min(1.0, value * (1 + _COMB_MARGIN) + outside + 2 * error / mass)


def _ends(problem: Problem, axis: Axis) -> tuple[float, float]:
    """The range of the one uncertain parameter, as a constraint of the family leaves it."""
    low, high = axis.low, axis.high
    if len(problem.box.free) == 1:
        (name,) = problem.box.free
        start = {other: found.low for other, found in problem.box.axes.items()}
        back, ahead = problem.support.extent(start, {name: 1.0})
        low, high = axis.low + float(back), axis.low + float(ahead)
    return low, high


def _comb_distortion(problem: Problem, mechanism: Comb) -> float:
    """Half of the largest distance between two parameters that share a release."""
    combs = mechanism.teeth, mechanism.extent, mechanism.window
    if isinstance(problem.prior, Simplex):
        return 0.5 * longest_class(0.0, 1.0, *combs)  # TV is the change of the share itself
    assert isinstance(problem.family, LocationScale)
    unit = float(problem.family.length(mechanism.direction))
    axis = _only_axis(problem, mechanism)
    if axis is not None:
        low, high = _ends(problem, axis)
        return 0.5 * unit * longest_class(high - low, high - low, *combs)
    names, polygon = support_polygon(problem)
    direction, coordinate = _pair(names, mechanism.direction), _pair(names, mechanism.coordinate)
    return 0.5 * unit * polygon_comb_extent(polygon, direction, coordinate, *combs)


def hit_window(problem: Problem, direction: Form, tolerance: float) -> float:
    """Length of a hit along the binned coordinate: c = 2 eps / |dg/dx|."""
    if not isinstance(problem.family, LocationScale):
        return 2 * tolerance
    slopes = problem.family.coefficients(problem.secret)
    rate = abs(sum(slopes[name] * change for name, change in direction.items()))
    return 2 * tolerance / rate if rate else float("inf")


def support_polygon(problem: Problem) -> tuple[tuple[str, str], Polygon]:
    """The two free parameters and the polygon on which they can lie."""
    box = problem.box
    first, second = box.free
    a, b = box.axes[first], box.axes[second]
    polygon = Polygon(np.array([[a.low, b.low], [a.high, b.low], [a.high, b.high], [a.low, b.high]]))
    for form in problem.family.constraints:
        polygon = polygon.cut((form.get(first, 0.0), form.get(second, 0.0)), 0.0)
    return (first, second), polygon


def _only_axis(problem: Problem, mechanism: Interval | Comb) -> Axis | None:
    """The one belief that matters, if one parameter is both moved and binned and nothing ties it to another.

    Bins of the length of a uniform also cut lines along which only ``high`` moves: there both beliefs matter.
    """
    moved = {name: change for name, change in mechanism.direction.items() if change}
    binned = {name: part for name, part in mechanism.coordinate.items() if part}
    alone = len(problem.box.free) == 1
    plain = len(moved) == 1 and moved == binned and set(moved.values()) == {1.0}
    if plain and (alone or not problem.box.cut(problem.family)):
        (name,) = moved
        return problem.box.axes[name]
    if alone:
        raise ProblemError(
            "with one uncertain parameter, its own values must be binned and moved, by one unit per unit."
        )
    return None


def _one_dimensional(axis: Axis, mechanism: Interval, window: float, quick: bool) -> Risk:
    bins = mechanism.bins
    if not axis.exact:
        if mechanism.step is not None:
            raise ProblemError(
                "a known step together with a Lipschitz prior is not accounted for; state a density or a plain range."
            )
        if bins.low > axis.low or bins.high < axis.high:
            raise ProblemError(
                "no bound is known for a Lipschitz prior whose range is cut by low < high; state a range on one side."
            )
        return Risk(value=lipschitz_risk(axis, bins, window), kind="upper bound")
    kind = "exact" if axis.flat else "numerical"
    if mechanism.step is not None:
        return Risk(value=comb_risk(axis, bins, mechanism.step, window), kind=kind)
    return Risk(value=interval_risk(axis, bins, window, quick=quick), kind=kind)


def _two_dimensional(problem: Problem, mechanism: Interval, window: float, quick: bool) -> Risk:
    names, polygon = support_polygon(problem)
    axes = [problem.box.axes[name] for name in names]
    bins, step = mechanism.bins, mechanism.step
    direction = _pair(names, mechanism.direction)
    coordinate = _pair(names, mechanism.coordinate)
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
    mass, error = _whole(problem, axes, polygon)
    if error >= mass:
        return Risk(value=1.0, kind="numerical")
    polygon, outside = _core(axes, polygon)
    inner = _band_range(polygon, coordinate, bins)
    value = density_risk(polygon, axes, direction, coordinate, inner, window, mass=mass, quick=quick)
    return Risk(value=min(1.0, value + outside + 2 * error / mass), kind="numerical")


def _whole(problem: Problem, axes: Sequence[Axis], polygon: Polygon) -> tuple[float, float]:
    """Mass of the belief as its density is scaled, inside what a constraint leaves of the box, and its error."""
    if not problem.box.cut(problem.family):
        return math.prod(axis.width for axis in axes if axis.flat), 0.0
    return polygon_mass(polygon, axes)


def _core(axes: Sequence[Axis], polygon: Polygon) -> tuple[Polygon, float]:
    """Where the mass is, to integrate there, and what is left out, which counts as hit."""
    outside = 0.0
    for i, axis in enumerate(axes):
        if not axis.flat:
            low, high = axis.core
            normal = (1.0, 0.0) if i == 0 else (0.0, 1.0)
            polygon = polygon.cut(normal, low).cut((-normal[0], -normal[1]), -high)
            outside += 2e-12
    return polygon, outside


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


def _pair(names: tuple[str, str], form: Form) -> tuple[float, float]:
    return form.get(names[0], 0.0), form.get(names[1], 0.0)


def quarter(
    problem: Problem, *, about: float, loc: str, scale: str, form: Form, core: bool = False
) -> tuple[Quarter, float]:
    """The prior seen from the bound (``core``: where its mass is), and the side of the bound on which it lies."""
    loc_axis, scale_axis = problem.box.axes[loc], problem.box.axes[scale]
    side = 1.0 if loc_axis.low >= about else -1.0
    left, right = loc_axis.core if core and not loc_axis.flat else (loc_axis.low, loc_axis.high)
    bottom, top = scale_axis.core if core and not scale_axis.flat else (scale_axis.low, scale_axis.high)
    near, far = sorted((side * (left - about), side * (right - about)))
    return Quarter(near, far, bottom, top, form.get(loc, 0.0) * side, form.get(scale, 0.0)), side


def _view(problem: Problem, mechanism: Scaling, *, core: bool) -> tuple[Quarter, float]:
    return quarter(
        problem, about=mechanism.about, loc=mechanism.loc, scale=mechanism.scale, form=mechanism.form, core=core
    )


def _scaling_risk(problem: Problem, mechanism: Scaling, eps: float, quick: bool) -> float:
    view, side = _view(problem, mechanism, core=True)

    def density(u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        params = {mechanism.loc: mechanism.about + side * u, mechanism.scale: v}
        return np.broadcast_to(problem.prior.density(params), np.shape(u))

    levels = view.secret(view.corners[:, 0], view.corners[:, 1])
    bins = mechanism.bins
    first, last = (int(i) for i in bins.locate(np.array([levels.min(), levels.max()])))
    low, high = float(bins.span(first)[0]), float(bins.span(last)[1])
    inner = Bins(low=low, high=high, origin=bins.origin, width=bins.width)
    axes = problem.box.axes[mechanism.loc], problem.box.axes[mechanism.scale]

    def spread(u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        return side * axes[0].cdf(mechanism.about + side * u) + axes[1].cdf(v)

    u, v = np.meshgrid(side * (marks(axes[0]) - mechanism.about), marks(axes[1]))
    value = radial_risk(
        view,
        density,
        inner,
        2 * eps,
        spread=None if all(axis.flat for axis in axes) else spread,
        points=np.stack([u.ravel(), v.ravel()], axis=1),
        bends=(np.sort(side * (axes[0].turns - mechanism.about)), axes[1].turns),
        mass=math.prod(axis.width for axis in axes if axis.flat),
        quick=quick,
    )
    return min(1.0, value + 4e-12)


def distortion(problem: Problem, mechanism: Mechanism) -> float:
    """Largest distance between an original and its release, over every parameter the prior allows."""
    if isinstance(mechanism, Scaling):
        return _scaling_distortion(problem, mechanism)
    if isinstance(mechanism, Partition):
        edges, released = np.array(mechanism.edges), np.array(mechanism.released)
        return float(np.max(line(problem).ruler.distortion(edges[:-1], edges[1:], released)))
    if isinstance(mechanism, Cells):
        edges, (cell, release, _) = np.array(mechanism.edges), mechanism.entries
        released = np.array(mechanism.released)[release]
        ruler = line(problem).ruler
        return float(
            np.max(np.maximum(ruler.distance(edges[cell], released), ruler.distance(released, edges[cell + 1])))
        )
    if isinstance(mechanism, Comb):
        return _comb_distortion(problem, mechanism)
    if not isinstance(mechanism, Interval):
        raise ProblemError(f"no accounting for the mechanism {mechanism.kind!r}.")
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
        pair, coordinate = _pair(names, mechanism.direction), _pair(names, mechanism.coordinate)
        longest = longest_piece(polygon, pair, coordinate, mechanism.bins)
    return unit * longest / 2


def _scaling_distortion(problem: Problem, mechanism: Scaling) -> float:
    """W1 = |a - 1| E|X - L|: largest at the ends of a bin, or on the border of the prior's box."""
    view, side = _view(problem, mechanism, core=False)
    assert isinstance(problem.family, LocationScale)
    bins = mechanism.bins
    edges = bins.edges()
    middles = 0.5 * (edges[1:] + edges[:-1])
    u_parts, v_parts, goals = [], [], []
    for ends in (edges[:-1], edges[1:]):
        for angle in ray_range(view, ends):
            rho = ends / view.secret(np.cos(angle), np.sin(angle))
            u_parts.append(rho * np.cos(angle))
            v_parts.append(rho * np.sin(angle))
            goals.append(middles)
    share = np.linspace(0.0, 1.0, 4001)
    for end in (view.near, view.far):
        u_parts.append(np.full(share.shape, end))
        v_parts.append(view.bottom + (view.top - view.bottom) * share)
    for end in (view.bottom, view.top):
        u_parts.append(view.near + (view.far - view.near) * share)
        v_parts.append(np.full(share.shape, end))
    for u, v in zip(u_parts[-4:], v_parts[-4:], strict=True):
        start, stop = bins.span(bins.locate(view.secret(u, v)))
        goals.append(0.5 * (start + stop))
    u_all, v_all, goal = (np.concatenate(parts) for parts in (u_parts, v_parts, goals))
    factor = goal / view.secret(u_all, v_all) - 1
    lengths = problem.family.z_distance(side * factor * u_all, factor * v_all)
    return float(np.nanmax(lengths))
