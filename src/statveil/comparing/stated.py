"""What a comparison takes for granted: family, prior, tolerance and the histograms' range, stated or stood in for.

A stand-in for the prior comes from the column's order of magnitude. That is fine in a private comparison, and is said
in its notes: a plan must never be made from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from statveil.comparing.reading import Column
from statveil.errors import ColumnError, ProblemError
from statveil.numbers import number
from statveil.problem.column_numbers import InMemory
from statveil.problem.families.exponential import Exponential
from statveil.problem.families.gaussian import Gaussian
from statveil.problem.families.location import Location
from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box, Prior
from statveil.problem.problem import Problem
from statveil.problem.secret import Secret
from statveil.problem.structure import Structure
from statveil.tables.blocks import Array, blocks_of
from statveil.tables.estimate import estimate
from statveil.tables.measure import measure

__all__ = ["Stated", "default_range", "estimated", "shifts", "state", "statistic"]

_TOLERANCE = 0.01
"""Of the width that the prior leaves to the secret."""
_TAIL = 1e-6
"""A range holds all but this share of each end of the widest column that the prior allows."""
_HEAVY = 100.0
"""How far above the largest believed mean a range reaches where the family has no shape."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stated:
    """The question, and what the column is under it. Private.

    Attributes
    ----------
    problem : Problem
        What outsiders believe, what is hidden, how close a guess counts.
    params, truth : dict, float
        The column's own parameters and its own statistic.
    ends : pair of float
        Least and largest secret under the prior.
    range : pair of float
        Ends of the histograms.
    floor : float or None
        A bound below that attackers are taken to know.
    notes : tuple of str
        What was not stated and what stands in for it, one sentence each.
    """

    problem: Problem
    params: dict[str, float]
    truth: float
    ends: tuple[float, float]
    range: tuple[float, float]
    floor: float | None
    notes: tuple[str, ...]

    @property
    def structure(self) -> Structure:
        """What redrawn columns keep, as in an audit: a column of any shape that starts at 0 stays there."""
        keeps = self.floor is not None and self.problem.family.name == "location"
        return Structure(minimum=self.floor) if keeps else Structure()


def statistic(problem: Problem, values: Array) -> float:
    """The secret of a column: what the paper's attacker takes for the truth."""
    return problem.secret.of_column(InMemory(values), problem.family)


def shifts(problem: Problem) -> bool:
    """Whether the columns that the prior allows differ by a shift alone."""
    family = problem.family
    return isinstance(family, LocationScale) and not set(family.scale_form) & set(problem.box.free)


def state(
    column: Column,
    *,
    secret: Secret,
    family: Family | None,
    prior: Prior | None,
    tolerance: float | None,
    range: tuple[float, float] | None,
) -> Stated:
    """The question with everything that was left open filled in."""
    if not isinstance(secret, Secret) or secret.linear(Gaussian()) is None:
        named = ", ".join(sorted(Gaussian.secrets))
        raise ProblemError(f"a comparison is for the secrets {named}. Got {getattr(secret, 'kind', secret)!r}.")
    values, notes = column.values, []
    chosen = family if family is not None else _family(secret, values)
    if not isinstance(chosen, LocationScale):
        raise ProblemError(
            f"a comparison is for the continuous families, whose bins are the paper's. Got "
            f"{getattr(chosen, 'name', chosen)!r}; take location for the mean of any column."
        )
    chosen.check_secret(secret)
    if family is None:
        notes.append(f"No family was stated: {chosen.name} was taken.")
    belief = prior
    if belief is None:
        belief = _stand_in(chosen, secret, values)
        notes.append(
            f"No prior was stated: {_in_words(belief)} was taken from the column's order of magnitude, for this "
            "comparison only. Never plan with it."
        )
    problem = Problem(family=chosen, prior=belief, secret=secret, tolerance=1.0 if tolerance is None else tolerance)
    ends = _ends(problem)
    if tolerance is None:
        problem = Problem(
            family=chosen, prior=belief, secret=secret, tolerance=float(f"{_TOLERANCE * (ends[1] - ends[0]):.3g}")
        )
        notes.append(
            f"No tolerance was stated: {problem.tolerance:g}, {_TOLERANCE:.0%} of the width that the prior leaves to "
            "the secret, was taken."
        )
    if 2 * problem.tolerance >= ends[1] - ends[0]:
        raise ProblemError(
            f"with the tolerance {problem.tolerance:g} one guess covers all that the prior allows, so nothing can be "
            "hidden; state a smaller tolerance or a wider prior."
        )
    if range is None:
        low, high = default_range(problem)
        notes.append(
            f"No range was stated: histograms run from {low:g} to {high:g}, round numbers beyond what the prior allows."
        )
    else:
        low, high = _range(range)
    outside = int(np.count_nonzero((values < low) | (values > high)))
    if outside == len(values):
        raise ProblemError(
            f"no value of the column lies in the range {low:g} to {high:g}; state the range it can have."
        )
    if outside:
        notes.append(f"{outside:,} of {len(values):,} rows lie outside the histograms' range and are clipped into it.")
    starts_at_zero = 0 <= values[0] <= 0.1 * values.mean()  # the audit's rule: everyone knows that
    truth = statistic(problem, values)
    return Stated(
        problem=problem,
        params=_params(problem, column, truth),
        truth=truth,
        ends=ends,
        range=(low, high),
        floor=0.0 if starts_at_zero else None,
        notes=tuple(notes),
    )


def default_range(problem: Problem) -> tuple[float, float]:
    """A range for histograms from the prior alone: round numbers beyond what it allows.

    >>> import statveil as sv
    >>> default_range(sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 900)), secret=sv.Mean(), tolerance=1))
    (0.0, 100000.0)
    """
    family, corners = problem.family, _corners(problem)
    if family.name == "location" and not family.settings():
        low, high = (_HEAVY * float(end) for end in (corners["mean"].min(), corners["mean"].max()))
    else:
        low = float(np.min(family.quantile(_TAIL, corners)))
        high = float(np.max(family.quantile(1 - _TAIL, corners)))
    size = _power_of_ten(max(abs(low), abs(high)))
    return (0.0 if low >= 0 else -size), (size if high > 0 else 0.0)


def _family(secret: Secret, values: Array) -> LocationScale:
    """The paper's: any shape for the mean, exponential for a quantile of traffic; normal where nothing else fits."""
    if secret.fits(Location()):
        return Location()
    return Exponential() if secret.moves(Gaussian()) and values[0] >= 0 else Gaussian()


def _stand_in(family: LocationScale, secret: Secret, values: Array) -> Box:
    mean, spread = float(values.mean()), float(values.std())
    if family.name == "location":
        if values[0] >= 0:
            return Box(mean=(0.0, _power_of_ten(mean)))
        size = _power_of_ten(max(abs(mean), spread))
        return Box(mean=(-size, size))
    if family.name == "exponential":
        level = secret.of_column(InMemory(values), family) / float(family.coefficients(secret)["scale"])
        if level <= 0:
            raise ColumnError("an exponential column is positive, and this one's statistic is not; use gaussian.")
        return Box(scale=(_power_of_ten(level) / 100, _power_of_ten(level)))
    if family.name == "gaussian":
        level = abs(secret.of_column(InMemory(values), family)) + 8 * spread if secret.moves(family) else abs(mean)
        middle = _power_of_ten(max(level, spread))
        return Box(mu=(-middle, middle), sigma=(_power_of_ten(spread) / 100, _power_of_ten(spread)))
    names = ", ".join(f"{param.name}=LO:HI" for param in family.params)
    raise ProblemError(f"the family {family.name!r} needs a stated prior: {names}.")


def _power_of_ten(size: float) -> float:
    """The least power of ten that is no smaller."""
    return float(f"1e{math.ceil(math.log10(size) - 1e-12)}")


def _in_words(prior: Prior) -> str:
    assert isinstance(prior, Box)
    return ", ".join(f"{name}={axis.low:g}:{axis.high:g}" for name, axis in prior.axes.items())


def _corners(problem: Problem) -> dict[str, Array]:
    axes = problem.box.axes
    points = np.array(list(product(*((axis.low, axis.high) for axis in axes.values()))))
    return {name: points[:, index] for index, name in enumerate(axes)}


def _ends(problem: Problem) -> tuple[float, float]:
    """Least and largest secret: it is linear, so they lie in corners."""
    secrets = problem.secret_of(_corners(problem))
    return float(secrets.min()), float(secrets.max())


def _range(given: tuple[float, float]) -> tuple[float, float]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ProblemError(f"the range must be a pair (low, high). Got {given!r}.")
    low, high = number(given[0], "the lower end of the range"), number(given[1], "the upper end of the range")
    if low >= high:
        raise ProblemError(f"the lower end of the range must lie below the upper end. Got {low:g} and {high:g}.")
    return low, high


def estimated(problem: Problem, values: Array, truth: float) -> dict[str, float]:
    """The parameters of a column, with its own statistic as the secret."""
    return estimate(problem, measure(blocks_of(values)), truth)


def _params(problem: Problem, column: Column, truth: float) -> dict[str, float]:
    """The column's parameters; a column outside the prior is no example of what outsiders believe."""
    params = estimated(problem, column.values, truth)
    size = max(1.0, *(abs(value) for value in params.values()))
    if not bool(problem.support.contains(params, slack=1e-9 * size)):
        raise ColumnError(
            f"column {column.name!r} lies outside the stated prior, so no plan for it could release the column; state "
            "a prior that outsiders would hold and that allows this column."
        )
    return params
