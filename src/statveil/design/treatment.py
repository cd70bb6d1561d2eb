"""Which maps of the column keep what is publicly known of it. Decided from the declaration alone."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from statveil.errors import ProblemError
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.location_scale import LocationScale
from statveil.problem.model import REDRAWN
from statveil.problem.prior import Box
from statveil.problem.problem import Problem

__all__ = ["Treatment", "treatment"]

_MOST_BEYOND = 0.16
"""Largest share of a model beyond a declared bound where the column is drawn from the model: one standard deviation."""
_FEWEST_STEPS, _MANY_STEPS, _HEAPS = 3, 30, 6
"""Steps between bound and mean for any map and for ``jitter``; periods of a heap between them for ``smooth``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Treatment:
    """How a column is moved.

    ``free``: any direction; ``lattice``: whole steps; ``scale``, ``jitter``, ``smooth``: about a bound; ``odds``:
    between two; ``rank``: redrawn from the model; ``model``: from a public shape. Two groups are moved apart as
    their secret says.
    """

    kind: str
    about: float = 0.0
    step: float | None = None

    @property
    def lattice(self) -> float | None:
        """The step of the lattice on which the secret itself lies, where bins are whole numbers of steps."""
        return self.step if self.kind in ("lattice", "model") else None


def treatment(problem: Problem) -> Treatment:
    """The treatment that keeps the declared structure (design table: shift, scale, affine, lattice, rank)."""
    known, family = problem.known, problem.family
    spacing = known.spacing
    if family.redrawn:
        _check_model(problem)
        return Treatment(kind="rank")
    if family.model is not None:
        return Treatment(kind="model", step=known.step if problem.secret.on_steps else None)
    if problem.secret.apart is not None:  # which said itself what its map keeps
        return Treatment(kind=problem.secret.apart.kind)
    if spacing is None and not known.fixed_points:
        return Treatment(kind="free")
    if isinstance(family, AnyShape):
        return _any_shape(problem, family)
    if not isinstance(family, LocationScale):
        _check_model(problem)
        return Treatment(kind="free")
    if spacing is not None and not known.fixed_points and _can_shift(problem, family):
        return Treatment(kind="lattice", step=spacing)
    if spacing is None and len(known.fixed_points) == 1 and _can_scale(problem, family, known.fixed_points[0]):
        return Treatment(kind="scale", about=known.fixed_points[0])
    if family.name == "location" and not family.settings():
        axis = problem.box.axes["mean"]
        return _shape_kept(problem, axis.low, axis.high)
    _check_model(problem)
    return Treatment(kind="rank")


def _check_model(problem: Problem) -> None:
    """Refuse to draw a column from a model that contradicts a declared bound.

    What lies beyond the bound would be put onto it: the released column would have other statistics than the plan
    promises, and an attacker who knows the bound would not believe the prior where the model contradicts it.
    """
    known, family = problem.known, problem.family
    if not isinstance(problem.prior, Box):
        return
    axes = problem.prior.axes
    for ends in itertools.product(*({axis.low, axis.high} for axis in axes.values())):
        params = dict(zip(axes, ends, strict=True))
        if not bool(problem.support.contains(params)):
            continue
        for side, bound in (("minimum", known.minimum), ("maximum", known.maximum)):
            if bound is None:
                continue
            # at the bound itself a column may lie
            below = side == "minimum"
            at = np.nextafter(bound, -np.inf) if below else bound
            share = float(family.cdf(at, params))
            beyond = share if below else 1 - share
            if beyond > _MOST_BEYOND:
                where = ", ".join(f"{name}={value:g}" for name, value in params.items())
                raise ProblemError(
                    f"at {where}, which the prior allows, the {family.name} model has {beyond:.0%} of its values "
                    f"beyond the known {side} {bound:g}, and the column would be drawn from that model; at most "
                    f"{_MOST_BEYOND:.0%} may lie there. Narrow the prior (for a location and a scale: keep the mean "
                    "one standard deviation inside the bound), or use a family that ends at the bound."
                )


def _any_shape(problem: Problem, family: AnyShape) -> Treatment:
    """A column of any shape: whole steps, a scaling about the one point that stays, or steps above a bound."""
    known, secret = problem.known, problem.secret
    spacing, fixed = known.spacing, known.fixed_points
    if family.between is not None:
        return Treatment(kind="odds")
    if spacing is not None and not fixed and secret.per_shift:
        return Treatment(kind="lattice", step=spacing * secret.per_shift)
    if spacing is None and len(fixed) == 1:
        return Treatment(kind="scale", about=fixed[0])
    if secret.times_mean is not None:
        return _shape_kept(problem, *(end / secret.times_mean for end in (family.belief.low, family.belief.high)))
    raise ProblemError(
        f"no shift or scaling of the column hides its {secret.label} and keeps this combination of known bounds, step, "
        f"heaps and atoms. {REDRAWN}, or hide its mean, which can be, or use a family with a full model (gaussian, "
        "exponential, poisson and so on)."
    )


def _shape_kept(problem: Problem, low: float, high: float) -> Treatment:
    """Steps, heaps or atoms above one bound, of any shape: jitter or smooth, where attackers were measured to fail.

    What was measured, with which attackers, is in docs/audit.md. The rule uses declared facts alone: how many steps the
    prior stays away from the bound, and how long the heaps are.
    """
    known = problem.known
    bounds = [bound for bound in (known.minimum, known.maximum) if bound is not None]
    if len(bounds) != 1:
        raise ProblemError(
            f"no shift or scaling keeps this combination of known bounds, step, heaps and atoms. {REDRAWN}; or "
            "declare exactly one bound, or use a family with a full model (gaussian, exponential, poisson and so on)."
        )
    about = bounds[0]
    away = min(abs(low - about), abs(high - about))
    longest = max(known.heaps, default=0.0)
    if away < _HEAPS * longest:
        raise ProblemError(
            f"with heaps of {longest:g} the prior must keep the mean {_HEAPS * longest:g} or more away from the bound. "
            f"Got {away:g}: nearer, attackers who know the shape hit 0.28 to 0.41 of the time where 0.10 is claimed. "
            f"{REDRAWN}; or narrow the prior, or use a family with a full model."
        )
    inner = set(known.atoms) - {about}
    if known.step is None or longest or inner:
        return Treatment(kind="smooth", about=about, step=known.step)
    steps = away / known.step
    if steps < _FEWEST_STEPS:
        raise ProblemError(
            f"the prior lets the mean come within {steps:g} steps of the bound, where no map of whole steps that keeps "
            "the shape hides it: attackers who know the shape hit up to 0.75 of the time where 0.10 is claimed. "
            f"{REDRAWN}, or use a family of counts (poisson, geometric, binomial)."
        )
    return Treatment(kind="jitter" if steps >= _MANY_STEPS else "smooth", about=about, step=known.step)


def _can_shift(problem: Problem, family: LocationScale) -> bool:
    return bool(family.shift) and problem.secret.moves(family) and all(n in problem.box.free for n in family.shift)


def _can_scale(problem: Problem, family: LocationScale, about: float) -> bool:
    free = problem.box.free
    if family.location is None:
        return about == family.minimum
    if family.minimum is not None or family.maximum is not None:
        ends = {end for end in (family.minimum, family.maximum) if isinstance(end, str)}
        fixed = [end for end in ends if end not in free and problem.box.axes[end].low == about]
        return bool(fixed)
    axis = problem.box.axes[family.location]
    one_side = axis.low > about or axis.high < about
    # a known spread would be given away together with the mean: the release shows their ratio
    return one_side and (not family.settings() if len(family.params) == 1 else len(free) == 2)
