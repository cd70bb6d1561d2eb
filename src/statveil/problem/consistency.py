"""Whether the declared structure of a column fits its family and prior."""

from __future__ import annotations

import math

from statveil.errors import ProblemError
from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box, Prior
from statveil.problem.structure import Structure

__all__ = ["check_structure"]


def check_structure(family: Family, prior: Prior, known: Structure) -> None:
    """Refuse bounds, steps and atoms that contradict the family or the prior."""
    if not isinstance(prior, Box):
        if known.spacing is not None or known.fixed_points:
            raise ProblemError(
                f"a {family.name} column has no minimum, maximum, step, heaps or atoms; leave out the known structure."
            )
        return
    if not isinstance(family, LocationScale):
        return
    for side, bound, own in (("minimum", known.minimum, family.minimum), ("maximum", known.maximum, family.maximum)):
        if bound is None:
            continue
        if isinstance(own, str):
            axis = prior.axes[own]
            if not (axis.known and axis.low == bound):
                raise ProblemError(
                    f"{own!r} is the {side} of {family.name!r}, and the known {side} is {bound:g}; "
                    f"state the prior as {own}={bound:g}, a known value."
                )
        elif own is not None and own != bound:
            raise ProblemError(f"the {side} of {family.name!r} is {own:g}. Got a known {side} of {bound:g}.")
        elif own is None and family.quantile_ends[side == "maximum"]:
            # outsiders who know the end of a shape and where it lies know its scale from its location
            spread = family.params[1].name
            raise ProblemError(
                f"{family.label!r} ends at its {side}, and the known {side} is {bound:g}; state the prior as "
                f"{side[:3]}={bound:g}, a known value, beside a range of {spread!r}."
            )
        elif own is None and (family.minimum is not None or family.maximum is not None):
            raise ProblemError(
                f"{family.name!r} has no {side}. Got a known {side} of {bound:g}; choose another family."
            )
        elif own is None:
            _check_side(prior, family, side, bound)
    if known.minimum is not None and known.maximum is not None and family.minimum is None and family.maximum is None:
        _check_spread(prior, family, known.minimum, known.maximum)


def _check_spread(prior: Box, family: LocationScale, low: float, high: float) -> None:
    """Between two bounds no column of mean m has a standard deviation above sqrt((m - low) (high - m)).

    An attacker knows the bounds: a prior that allows more is not one that they can hold.
    """
    wide = [name for name in family.scale_form if name in prior.axes]
    if not wide:
        return
    (scale,) = wide
    for place in (prior.axes[str(family.location)].low, prior.axes[str(family.location)].high):
        mean = place + prior.axes[scale].high * family.z_mean if family.z_mean else place
        most = math.sqrt(max((mean - low) * (high - mean), 0.0)) / family.z_std
        if prior.axes[scale].high > most:
            raise ProblemError(
                f"between {low:g} and {high:g} a column of mean {mean:g} cannot have {scale!r} above {most:g}, and "
                f"outsiders who know the bounds know that. Got a prior up to {prior.axes[scale].high:g}; end it at "
                f"{most:g} or below, or keep {family.location!r} farther from the bounds."
            )


def _check_side(prior: Box, family: LocationScale, side: str, bound: float) -> None:
    """The mean of a bounded column lies strictly inside the bound."""
    axis = prior.axes[str(family.location)]
    if (side == "minimum" and axis.low <= bound) or (side == "maximum" and axis.high >= bound):
        end = "lower" if side == "minimum" else "upper"
        raise ProblemError(
            f"the prior lets {family.location!r} reach the known {side} {bound:g}, where every value would be the "
            f"same; move the {end} end of its range inside."
        )
