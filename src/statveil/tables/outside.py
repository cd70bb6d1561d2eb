"""A column outside the stated prior, in terms of its own statistics: which ones were measured, never their values."""

from __future__ import annotations

import numpy as np

from statveil.problem.location_scale import LocationScale
from statveil.problem.parameters import OutsidePriorError
from statveil.problem.problem import Problem
from statveil.tables.estimate import companion

__all__ = ["implied_by", "outside"]


def outside(problem: Problem, error: OutsidePriorError) -> str:
    """Which statistics of the column put a parameter outside, and on which side."""
    name, side = error.parameter, error.side
    if problem.family.shapeless:
        return f"its {problem.secret.label} lies {side} the prior's range."
    if _is_secret(problem, name):
        return f"its {problem.secret.label} lies {side} the prior's range of {name!r}."
    statistics = implied_by(problem, name)
    if len(statistics) == 1:
        return f"its {statistics[0]} implies a {name!r} {side} the prior's range."
    return (
        f"its {' and its '.join(statistics)} together imply a {name!r} {side} the prior's range. (What the plan hides "
        f"is the {problem.secret.label}, so the parameters are those that give this column's own, under the family "
        f"{problem.family.name!r}; they need not be those that fit the rest of it.)"
    )


def implied_by(problem: Problem, name: str) -> list[str]:
    """The column's own statistics that a parameter is computed from.

    >>> import statveil as sv
    >>> problem = sv.Problem(
    ...     family=sv.Gaussian(), prior=sv.Box(mu=(0, 9), sigma=(1, 2)), secret=sv.Quantile(0.9), tolerance=1
    ... )
    >>> implied_by(problem, "mu"), implied_by(problem, "sigma")
    (['quantile:0.9', 'std'], ['std'])
    """
    family, secret = problem.family, problem.secret
    if not isinstance(family, LocationScale) or len(problem.box.free) == 1:
        return [secret.anchor.label]
    anchors = [secret, companion(secret, family)]
    names = [param.name for param in family.params]
    forms = [family.coefficients(anchor) for anchor in anchors]
    weights = np.linalg.inv(np.array([[form[other] for other in names] for form in forms]))[names.index(name)]
    return [
        anchor.label
        for anchor, weight in zip(anchors, weights, strict=True)
        if abs(weight) > 1e-9 * float(np.abs(weights).max())
    ]


def _is_secret(problem: Problem, name: str) -> bool:
    """Whether the secret is this very parameter."""
    if not isinstance(problem.family, LocationScale) or problem.secret.linear(problem.family) is None:
        return False
    slopes = problem.family.coefficients(problem.secret)
    return slopes[name] == 1.0 and all(slope == 0 for other, slope in slopes.items() if other != name)
