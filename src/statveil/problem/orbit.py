"""A problem without a family: from what is declared to the map along which the secret moves."""

from __future__ import annotations

import math
from collections.abc import Mapping

from statveil.errors import ProblemError
from statveil.problem.axis import Axis
from statveil.problem.domain import Param
from statveil.problem.families.any_shape import VALUE, AnyShape
from statveil.problem.families.row_count import RowCount
from statveil.problem.model import REDRAWN, model_of
from statveil.problem.prior import Box, Prior, Simplex, as_axis
from statveil.problem.secret import Secret
from statveil.problem.structure import Structure
from statveil.problem.tolerance import Relative

__all__ = ["any_shape"]

_SHARE = (", as a tolerance in per cent is a share of it", ", or state the tolerance in the unit of the statistic")
"""Why a prior must lie above 0, and what else may be stated."""


def any_shape(
    *, secret: Secret, prior: object, tolerance: float | Relative, known: Structure, shape: object = None
) -> AnyShape:
    """The orbit of a secret whose prior is on itself, for what everyone knows of the column.

    With a public ``shape`` there is none: the column is redrawn from it.
    """
    relative = isinstance(tolerance, Relative)
    if secret.of_table:
        if shape is not None or known != Structure():
            raise ProblemError(
                f"the {secret.label} of a table are no values of a column, so nothing is known of their structure or "
                "shape; leave out what is declared."
            )
        return RowCount(secret=secret, belief=_belief(secret, prior), tolerance=tolerance)
    secret.check_stated(known, relative=relative)
    belief = _belief(secret, prior).fit(_domain(secret, known, relative=relative))
    if belief.known:
        raise ProblemError(f"the {secret.label} is publicly known, so there is nothing to hide; give it a range.")
    if shape is not None and secret.apart is not None:
        raise ProblemError(
            f"the {secret.kind} of two {secret.apart.parts} is hidden by a map that keeps the shape of each; leave out "
            "the shape."
        )
    if shape is not None:
        return AnyShape(
            secret=secret,
            belief=belief,
            log=relative and not (secret.on_steps and known.step is not None),
            closeness=tolerance if isinstance(tolerance, Relative) else None,
            model=model_of(shape, secret=secret, known=known, width=belief.high - belief.low),
        )
    if not secret.per_shift and secret.per_shift is not None and known.spacing is None and not known.fixed_points:
        about = None  # a spread is stretched about the column's own centre
    else:
        about = _fixed(known)
    if about is not None and secret.per_shift and belief.low <= secret.per_shift * about <= belief.high:
        raise ProblemError(
            f"the prior lets the {secret.label} reach {secret.per_shift * about:g}, about which the column is scaled: "
            "there every value would be the same, and beyond it the column would be turned over. State a range on one "
            f"side of it. {REDRAWN}, which need not be."
        )
    return AnyShape(
        secret=secret,
        belief=belief,
        # whole steps are equally long in the unit of the column, not in its logarithm
        log=relative and (known.spacing is None or bool(known.fixed_points)),
        about=about,
        inside=about is not None and about not in (known.minimum, known.maximum),
        between=_bounds(secret, known),
        closeness=tolerance if isinstance(tolerance, Relative) else None,
    )


def _bounds(secret: Secret, known: Structure) -> tuple[float, float] | None:
    """Both bounds, where an odds map between them moves the secret and keeps all that is known."""
    if known.minimum is None or known.maximum is None or known.spacing is not None or secret.times_mean is None:
        return None
    return None if set(known.atoms) - {known.minimum, known.maximum} else (known.minimum, known.maximum)


def _fixed(known: Structure) -> float | None:
    """The point that every map must leave where it is: a bound, or the only atom."""
    bounds = [bound for bound in (known.minimum, known.maximum) if bound is not None]
    if len(bounds) == 1:
        return bounds[0]
    return known.fixed_points[0] if len(known.fixed_points) == 1 else None


def _belief(secret: Secret, prior: object) -> Axis:
    if isinstance(prior, Simplex):  # none was given
        raise ProblemError(
            f"what outsiders believe of the {secret.label} is missing: without a family the prior is a range of it, "
            "such as 100:250, or what else they believe ('statveil list' shows the forms)."
        )
    if isinstance(prior, Box) or (isinstance(prior, Mapping) and prior):
        axes = prior.axes if isinstance(prior, Box) else Box(prior).axes
        if list(axes) != [VALUE]:
            raise ProblemError(
                f"without a family the prior is on the {secret.label} itself, without a name. Got one of "
                f"{', '.join(map(repr, axes))}; write the range alone, or state the family (--family) that has these "
                "parameters."
            )
        return axes[VALUE]
    if isinstance(prior, Prior):
        raise ProblemError(f"the prior must be a range or a density of the {secret.label}. Got {prior!r}.")
    return as_axis(secret.label, prior)


def _domain(secret: Secret, known: Structure, *, relative: bool) -> Param:
    """Where the secret can lie: inside known bounds, and above 0 for a spread or a relative tolerance."""
    low, high = -math.inf, math.inf
    if secret.per_shift:
        low = -math.inf if known.minimum is None else secret.per_shift * known.minimum
        high = math.inf if known.maximum is None else secret.per_shift * known.maximum
    # a spread is above 0 anyway, and of what is compared the tolerance is always a share
    because, instead = ("", "") if secret.per_shift in (None, 0) or not relative or low >= 0 else _SHARE
    if relative or secret.per_shift == 0:
        low = max(low, 0.0)
    if secret.per_shift == 0 and known.minimum is not None and known.maximum is not None:
        high = secret.most_of_range * (known.maximum - known.minimum)
    return Param(
        name=secret.label,
        low=low,
        high=high,
        typical=(1.0, 2.0),
        doc="the secret itself",
        because=because,
        instead=instead,
    )
