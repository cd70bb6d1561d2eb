"""Bins of the secret for a column that can only be scaled about a known bound."""

from __future__ import annotations

from dataclasses import replace

from statveil.accounting import distortion, quarter, risk
from statveil.design.target import BinWidth, MaxDistortion, Target, hides_nothing, meets, unreachable
from statveil.errors import ProblemError
from statveil.mechanisms.scaling import Scaling
from statveil.numeric import halved
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem
from statveil.theory.bins import Bins

__all__ = ["best_scaling"]


def best_scaling(problem: Problem, goal: Target, about: float) -> Scaling:
    """Narrowest bins for a risk, widest for a distortion, or bins of a given width."""
    whole = _whole(problem, about)
    span = whole.bins.high - whole.bins.low
    if isinstance(goal, BinWidth):
        return _with(whole, min(goal.value, span))
    if isinstance(goal, MaxDistortion):
        if distortion(problem, whole) <= goal.value:
            return whole
        narrowest = min(2 * problem.tolerance, span)
        if distortion(problem, _with(whole, narrowest)) >= goal.value:
            raise hides_nothing(goal.value, distortion(problem, _with(whole, narrowest)))
        width, _ = halved(lambda w: not _fits(problem, whole, w, goal.value), narrowest, span, steps=60)
        return _with(whole, width)
    if not meets(risk(problem, whole).value, goal, within=1.0):
        raise unreachable(goal.value, risk(problem, whole).value)
    low = 2 * problem.tolerance / goal.value  # no window holds less than its share of a bin
    _, width = halved(
        lambda w: meets(risk(problem, _with(whole, w), quick=True).value, goal), low, span, close=1e-6, geometric=True
    )
    return _with(whole, width)


def _fits(problem: Problem, whole: Scaling, width: float, most: float) -> bool:
    return distortion(problem, _with(whole, width)) <= most


def _with(mechanism: Scaling, width: float) -> Scaling:
    return replace(mechanism, bins=replace(mechanism.bins, width=width))


def _whole(problem: Problem, about: float) -> Scaling:
    """One bin for everything."""
    family = problem.family
    assert isinstance(family, LocationScale)
    (loc,), (scale,) = family.loc_form, family.scale_form
    side = 1.0 if problem.box.axes[loc].low > about else -1.0
    slopes = family.coefficients(problem.secret)
    if not problem.secret.moves(family):
        side = 1.0
    form = {name: side * slope for name, slope in slopes.items() if slope}
    view, _ = quarter(problem, about=about, loc=loc, scale=scale, form=form)
    levels = view.secret(view.corners[:, 0], view.corners[:, 1])
    low, high = float(levels.min()), float(levels.max())
    if low <= 0:
        raise ProblemError(
            f"the prior lets the secret {problem.secret.label!r} reach the known bound {about:g}; "
            "narrow the prior so that it stays on one side."
        )
    bins = Bins(low=low, high=high, origin=low, width=high - low)
    return Scaling(about=about, loc=loc, scale=scale, form=form, bins=bins)
