"""Whether 64-bit numbers can hold a release: its place beside the tolerance, and its rows beside each other."""

from __future__ import annotations

import math

from statveil.errors import ColumnError, ProblemError
from statveil.made_plan import Applied, Plan
from statveil.modes.mode import SEVEN_DIGITS
from statveil.problem.column_numbers import ColumnNumbers
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.tables.estimate import anchor_of
from statveil.tables.maps.affine import largest_factor
from statveil.tables.measure import Measured

__all__ = ["check_resolution", "grain_of", "slack_of"]

_FINEST = 0.02
"""Of the tolerance: what is rounded away stays in the released mean, so it must be far below a guess."""
_LEAST_PLACES = 2.0**20
"""Different numbers that the range of a column must still have room for; with fewer its rows fall onto each other."""
_FURTHER = 16.0
"""A column that is released about as far from 0 as it was loses nothing that it had."""


def grain_of(plan: Plan) -> float:
    """By how much at most a moved column's statistic is off, as its place is rounded by what the prior allows.

    The maps round to 2^-40 of the largest statistic under the prior, a grain that the plan alone sets.
    """
    if not isinstance(plan.problem.prior, Box) or not plan.release_mode.continuous:
        return 0.0
    ends = (max(abs(axis.low), abs(axis.high)) for axis in plan.problem.beliefs)
    return 2.0**-39 * sum(end for end in ends if math.isfinite(end))


def slack_of(plan: Plan, params: dict[str, float], numbers: ColumnNumbers, largest: float) -> float:
    """How far the secret of a released column of these parameters may be off, as its mode draws, rounds or blurs rows.

    ``numbers`` are those of the released column, ``largest`` is its largest value in size.
    """
    problem, mode = plan.problem, plan.release_mode
    moved = mode.slack(problem, numbers.rows, largest)
    if mode.blurs and mode.stretches:  # the blur came first and was stretched with the rest
        moved *= max(1.0, largest_factor(plan, mode.fixed_point(problem)))
    secret, family = problem.secret, problem.family
    if secret.anchor is secret or not moved:
        off = secret.off_by(moved, numbers)
        if isinstance(family, LocationScale) and secret.apart is None:
            # a statistic may move faster than the rows, as the sum of two quantiles does
            off = max(off, abs(secret.shift_rate(family)) * moved)
        return off
    # a function of the one parameter, which may be steep
    (name,) = problem.box.free
    step = 1e-6 * (problem.box.axes[name].high - problem.box.axes[name].low)
    rate = abs(anchor_of(problem, {**params, name: params[name] + step}) - anchor_of(problem, params)) / step
    if not rate:
        return moved
    there = (problem.secret_of({**params, name: params[name] + side * moved / rate}) for side in (-1, 0, 1))
    below, own, above = (float(value) for value in there)
    return max(abs(below - own), abs(above - own))


def _least(plan: Plan) -> float:
    """The least size of the statistic under the prior, where a share of it is least."""
    prior = plan.problem.prior
    return min((abs(axis.low) for axis in plan.problem.beliefs), default=0.0) if isinstance(prior, Box) else 0.0


def check_resolution(plan: Plan, column: str, measured: Measured, statistic: float, applied: Applied) -> None:
    """An error where the release would be another one than the plan's, or its rows would become one number."""
    if grain_of(plan) > _FINEST * plan.problem.within(_least(plan)):
        raise ProblemError(
            f"the prior reaches so far from 0 beside the tolerance {plan.problem.closeness} that 64-bit numbers "
            "cannot hold the release; state a narrower prior, a larger tolerance, or measure from a public offset."
        )
    _check_blur(plan, column, measured, statistic)
    secret = float(applied.secret) / (plan.problem.secret.times_mean or 1.0)
    places = () if plan.problem.family.shapeless else applied.released.values()
    moved = max(abs(secret), *(abs(float(value)) for value in places), 0.0)
    size, width = max(abs(measured.minimum), abs(measured.maximum)), measured.maximum - measured.minimum
    if moved > _FURTHER * size and 0 < width < _LEAST_PLACES * math.ulp(moved):
        raise ColumnError(
            f"column {column!r} would be moved so far that 64-bit numbers can no longer tell its rows apart; state a "
            "narrower prior, or ask for a larger risk."
        )


def _check_blur(plan: Plan, column: str, measured: Measured, statistic: float) -> None:
    """An error where the seventh digit of a stretched column's values counts beside the tolerance."""
    if not plan.release_mode.blurs:
        return
    spread = plan.problem.secret.anchor.per_shift == 0
    size = max(abs(statistic), abs(measured.mean) if spread else 0.0)
    if SEVEN_DIGITS * size > plan.problem.within(statistic):
        raise ColumnError(
            f"column {column!r} would be stretched, and a stretched column keeps seven digits; its values lie so far "
            f"from 0 beside the tolerance {plan.problem.closeness} that this is too few. State a larger tolerance, or "
            "measure from a public offset."
        )
