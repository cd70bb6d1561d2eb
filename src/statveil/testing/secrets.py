"""Conformance of a secret: its value two ways, and the whole life of a plan that hides it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from statveil.errors import ProblemError, StatveilError, TargetError
from statveil.made_plan import Plan
from statveil.planning import plan, simulate
from statveil.problem.column_numbers import InMemory
from statveil.problem.families.categorical import Categorical
from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.secret import Secret, secret_from_json
from statveil.problem.tolerance import Relative
from statveil.tables.blocks import Array, blocks_of
from statveil.tables.measure import measure
from statveil.testing.comparison import ConformanceError, close, drawn, same
from statveil.testing.lives import check_plan_file, check_release
from statveil.theory.gamma import gamma

__all__ = ["check_secret"]

_DRAWS = 5
_TRIALS = 4_000
_COLUMNS, _ROWS = 20, 4_000
_TRIES = 20


def check_secret(family: Family, secret: Secret, *, seed: int = 0) -> None:
    """A secret of a family: accepted, vectorised, the same after JSON, not constant, measured on columns.

    A plan is made that hides it, played against, written and read again, and a column of the family released with it.
    """
    family.check_secret(secret)
    if secret.portable:
        same(secret_from_json(secret.to_json()) == secret, f"{secret!r} changes when written to JSON and back")
    rng = np.random.default_rng(seed)
    points = [drawn(family, rng) for _ in range(_DRAWS)]
    together = secret.of(family, {name: np.array([p[name] for p in points]) for name in points[0]})
    alone = np.array([float(secret.of(family, p)) for p in points])
    close(together, alone, 1e-12, f"{secret.label} of arrays and of single parameters")
    same(bool(np.all(np.isfinite(alone))), f"{secret.label} is not finite for typical parameters")
    same(float(np.ptp(alone)) > 0, f"{secret.label} is the same for every parameter: nothing to hide")
    if isinstance(family, LocationScale):
        _linear_secret(family, secret, points)
    _of_columns(family, secret, points, rng)
    _life(family, secret, seed)


def _linear_secret(family: LocationScale, secret: Secret, points: list[dict[str, float]]) -> None:
    """The form a loc + b scale that the secret states, against its values."""
    try:
        slopes = family.coefficients(secret)
    except ProblemError as error:
        raise ConformanceError(str(error)) from None
    for a, b in pairwise(points):
        rise = sum(slopes[name] * (b[name] - a[name]) for name in a)
        real = float(family.position(secret, b)) - float(family.position(secret, a))
        close(rise, real, 1e-9 * max(1.0, abs(real)), f"linear form and values of {secret.label}", absolute=True)


def _of_columns(family: Family, secret: Secret, points: list[dict[str, float]], rng: Generator) -> None:
    """Its value for columns: near that for their parameters, the same in one pass, moved as its linear form says."""
    anchor = secret.anchor
    if isinstance(family, Categorical) or type(anchor).of_column is Secret.of_column:
        return
    for point in points[:2]:
        try:
            columns = [family.sample(point, _ROWS, rng) for _ in range(_COLUMNS)]
        except ProblemError:  # a family that cannot be drawn from
            return
        values = np.array([anchor.of_column(InMemory(column), family) for column in columns])
        spread = float(values.std(ddof=1))
        gap = abs(float(values.mean()) - float(anchor.of(family, point)))
        # a rare category may be in no column at all: where 20 rows are expected, none come once in 5e8 times
        rare = 20 / (_COLUMNS * _ROWS) if anchor.is_share else 0.0
        same(
            gap <= 7 * spread / math.sqrt(_COLUMNS) + rare,
            f"{anchor.label} of columns and of their parameters differ by {gap:.3g}",
        )
        column, value = columns[0], float(values[0])
        size = 1e-9 * (abs(value) + spread)
        measured = measure(blocks_of(column), levels=anchor.levels, counted=anchor.counted(family))
        once = anchor.of_column(measured, family)
        close(once, value, size, f"{anchor.label} of a column in one pass and in memory", absolute=True)
        if isinstance(family, LocationScale) and anchor.linear(family) is not None:
            moved = anchor.of_column(InMemory(2.5 * column + 7), family)
            expected = 2.5 * value + 7 * anchor.shift_rate(family)
            close(moved, expected, 1e-9 * (7 + abs(expected)), f"{anchor.label} of 2.5 x + 7", absolute=True)


def _life(family: Family, secret: Secret, seed: int) -> None:
    """A plan on the typical ranges, its file, and a column of the family released with it."""
    stage = "made"
    try:
        found = _planned(family, secret, seed)
        if found is not None:
            stage = "written and read again"
            check_plan_file(found)
            stage = "used"
            _released(found, seed)
    except ConformanceError as error:
        raise ConformanceError(f"{secret.label} of {family.name!r}: {error}") from None
    except Exception as error:  # whatever it is: the suite passed it, and it cannot be used
        raise ConformanceError(f"no plan can be {stage} for {secret.label}: {error}") from error


def _planned(family: Family, secret: Secret, seed: int) -> Plan | None:
    """Finite numbers, never below the limit, and never below what an attacker reaches."""
    rng = np.random.default_rng(seed)
    if isinstance(family, Categorical):
        problem = Problem(family=family, secret=secret, tolerance=0.02)
    else:
        values = [float(secret.of(family, drawn(family, rng))) for _ in range(40)]
        prior = Box({param.name: param.typical for param in family.params})
        relative = "log-w1" in family.distances
        tolerance = Relative(0.02) if relative else 0.01 * float(np.ptp(values))
        problem = Problem(family=family, secret=secret, prior=prior, tolerance=tolerance)
    try:
        found = plan(problem, max_risk=0.5, grid=None if isinstance(family, Categorical | LocationScale) else 60)
    except TargetError:  # a secret that is nearly the same over most of the range: only its limit can be looked at
        constant = gamma(problem)
        same(math.isfinite(constant) and constant > 0, f"gamma must be above 0. Got {constant}")
        return None
    numbers = (found.risk, found.distortion, found.gamma, found.lower_bound)
    same(all(math.isfinite(x) for x in numbers), f"a plan has numbers that are not finite: {numbers}")
    same(found.gamma > 0, f"gamma must be above 0. Got {found.gamma:g}")
    same(found.distortion >= found.lower_bound * (1 - 1e-9), "a plan distorts less than the limit")
    reached = simulate(found, trials=_TRIALS, seed=seed)
    same(
        reached.low <= found.risk,
        f"an attacker hits with probability {reached.rate:.4g}, more than the stated {found.risk:.4g}",
    )
    return found


def _released(found: Plan, seed: int) -> None:
    """A column of the family goes through the plan; one that falls outside the prior is refused, and another drawn."""
    family, anchor = found.problem.family, found.problem.secret.anchor
    if not found.release_mode.categories and type(anchor).of_column is Secret.of_column:
        return  # its plans are for parameters
    rng = np.random.default_rng(seed)
    last: StatveilError | None = None
    for _ in range(_TRIES):
        try:
            column: Array = family.sample(drawn(family, rng), _ROWS, rng)
        except ProblemError:  # a family that cannot be drawn from
            return
        try:
            check_release(found, column)
            return
        except StatveilError as error:
            last = error
    raise ConformanceError(f"no column of the family can be released: {last}")
