"""Risk and distortion of scaling about a known bound."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from statveil.accounting.guarantee import Risk, accounted_distortion, accounted_risk
from statveil.errors import ProblemError
from statveil.mechanisms.scaling import Scaling
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.problem import Problem
from statveil.theory.bins import Bins
from statveil.theory.risk.parallel import marks
from statveil.theory.risk.radial import Quarter, radial_risk, ray_range

__all__ = ["quarter"]


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


@accounted_risk.register
def _(mechanism: Scaling, problem: Problem, eps: float, quick: bool) -> Risk:
    if not all(axis.exact for axis in problem.box.axes.values()):
        # the steepest member of a class is not the worst one here: along a ray both beliefs and the distance grow
        raise ProblemError(
            "no bound is known for a class of beliefs (lipschitz, slope) where the column is scaled about a bound and "
            "two parameters are uncertain; state densities or plain ranges, or a known value for one of them."
        )
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
    return Risk(value=min(1.0, value + 4e-12), kind="numerical")


@accounted_distortion.register
def _(mechanism: Scaling, problem: Problem) -> float:
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
