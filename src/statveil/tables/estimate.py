"""Parameters of a column, anchored on the secret: the model's secret is the column's own statistic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.problem.column_numbers import ColumnNumbers
from statveil.problem.families.any_shape import VALUE, AnyShape
from statveil.problem.location_scale import LocationScale
from statveil.problem.ordinal import Ordinal
from statveil.problem.problem import Problem
from statveil.problem.secret import Secret
from statveil.problem.secrets.mean import Mean
from statveil.tables.blocks import Array, Blocks
from statveil.tables.groups import GroupRows
from statveil.tables.measure import Measured, measure

__all__ = ["WIDENING", "anchor_of", "companion", "estimate", "measured_for", "own_statistic", "shares_of"]

WIDENING = (
    "The plan guarantees nothing there. Widening the prior after looking at the data would tell outsiders where the "
    "data lies; state a prior from public knowledge alone."
)

_GRID = 4097


def measured_for(
    problem: Problem,
    blocks: Blocks,
    watch: Callable[[Array, int], None] = lambda values, start: None,
    groups: GroupRows | None = None,
) -> Measured:
    """The column measured in one pass with what the secret will ask for."""
    counted = problem.secret.counted(problem.family)
    return measure(blocks, levels=levels_of(problem), counted=counted, groups=groups, watch=watch)


def levels_of(problem: Problem) -> tuple[float, ...]:
    """The quantiles that the secret will ask for."""
    return tuple(dict.fromkeys(level for one in problem.each for level in one.secret.levels))


def own_statistic(problem: Problem, numbers: ColumnNumbers) -> float:
    """The column's own value of the secret.

    A function of the parameter is not a statistic of rows: its value is g at the parameter whose mean is the
    column's.
    """
    secret = problem.secret
    if secret.anchor is secret:
        return secret.of_column(numbers, problem.family)
    return float(problem.secret_of({problem.box.free[0]: _by_anchor(problem, numbers)}))


def anchor_of(problem: Problem, params: Mapping[str, float]) -> float:
    """What the map of a column moves, at these parameters: the secret, or the mean that a function goes by."""
    return float(problem.family.value(problem.secret.anchor, params))


def estimate(problem: Problem, measured: Measured | None, statistic: float) -> dict[str, float]:
    """The parameters whose secret equals the column's ``statistic``; what is left free follows mean and spread.

    A released column is then exact in the secret, so that it depends on the true value only through the bin.
    """
    family = problem.family
    if isinstance(family, AnyShape):
        return {VALUE: statistic} if family.parameter == VALUE else _in_range(problem, family, statistic)
    assert measured is not None  # what is left free follows the rows
    if problem.secret.anchor is not problem.secret:
        return {problem.box.free[0]: _by_anchor(problem, measured)}
    if isinstance(family, LocationScale):
        return _location_scale(problem, family, measured, statistic)
    return {family.params[0].name: _one_parameter(problem, measured, statistic)}


def _in_range(problem: Problem, family: AnyShape, statistic: float) -> dict[str, float]:
    """The logarithm of a statistic that has one; the side is named here, where none is."""
    if statistic <= 0:
        raise ColumnError(f"its {problem.secret.label} lies below the prior's range. {WIDENING}")
    return {family.parameter: float(family.coordinate(statistic))}


def shares_of(labels: tuple[str, ...], counts: NDArray[np.int64]) -> dict[str, float]:
    """Shares of the categories."""
    total = int(counts.sum())
    if not total:
        raise ColumnError("the column has no category at all, so it has no share to hide; leave it as it is.")
    return {label: int(count) / total for label, count in zip(labels, counts, strict=True)}


def _location_scale(problem: Problem, family: LocationScale, measured: Measured, statistic: float) -> dict[str, float]:
    box, slopes = problem.box, family.coefficients(problem.secret)
    params = {name: axis.low for name, axis in box.axes.items() if axis.known}
    at = float(family.coordinate(statistic))
    if not math.isfinite(at):
        raise ColumnError(f"its {problem.secret.label} lies below the prior's range. {WIDENING}")
    if len(box.free) == 1:
        (name,) = box.free
        params[name] = (at - sum(slopes[known] * value for known, value in params.items())) / slopes[name]
        return params
    # two unknowns: the secret gives one equation, the spread (for the spread itself: the mean) the other
    other = companion(problem.secret, family)
    names, beside = [param.name for param in family.params], family.coefficients(other)
    system = np.array([[slopes[name] for name in names], [beside[name] for name in names]])
    found = np.linalg.solve(system, np.array([at, family.read(other, measured)]))
    return dict(zip(names, found.tolist(), strict=True))


def companion(secret: Secret, family: LocationScale) -> Secret:
    """The statistic that gives the second equation where two parameters are unknown."""
    return family.measured_spread() if secret.moves(family) else family.measured_place()


def _one_parameter(problem: Problem, measured: Measured, statistic: float) -> float:
    """The parameter inside the prior with this secret, the one nearest to the mean's where there are several."""
    family, (name,) = problem.family, problem.box.free
    axis = problem.box.axes[name]
    if isinstance(family, Ordinal) and isinstance(problem.secret, Mean):
        return float(family.inverse_mean(np.array(statistic)))
    grid = np.linspace(axis.low, axis.high, _GRID)
    near = _nearest(grid, family.mean({name: grid}), measured.mean)
    return _root(grid, problem.secret_of({name: grid}), statistic, near, problem.secret.label)


def _by_anchor(problem: Problem, numbers: ColumnNumbers) -> float:
    """The parameter inside the prior that gives the column's own value of what stands for the secret."""
    (name,), anchor = problem.box.free, problem.secret.anchor
    axis = problem.box.axes[name]
    grid = np.linspace(axis.low, axis.high, _GRID)
    level = anchor.of_column(numbers, problem.family)
    return _root(grid, anchor.of(problem.family, {name: grid}), level, None, anchor.label)


def _nearest(grid: NDArray[np.float64], levels: NDArray[np.float64], level: float) -> float:
    return float(grid[int(np.argmin(np.abs(levels - level)))])


def _root(grid: NDArray[np.float64], levels: NDArray[np.float64], level: float, near: float | None, what: str) -> float:
    """Where the levels cross ``level``; between grid points they are linear to well within any bin."""
    slack = 1e-9 * float(np.ptp(levels))
    for outside, side in ((level < levels.min() - slack, "below"), (level > levels.max() + slack, "above")):
        if outside:
            raise ColumnError(f"the column's {what} lies {side} what the stated prior allows. {WIDENING}")
    level = float(np.clip(level, levels.min(), levels.max()))
    left, right = levels[:-1] - level, levels[1:] - level
    index = np.flatnonzero(left * right <= 0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        part = np.where(left[index] == right[index], 0.0, left[index] / (left[index] - right[index]))
    roots = grid[index] + part * (grid[index + 1] - grid[index])
    return float(roots[0] if near is None else roots[np.argmin(np.abs(roots - near))])
