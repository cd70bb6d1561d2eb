"""Parameters of a column, anchored on the secret: the model's secret is the column's own statistic."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.problem.location_scale import LocationScale
from statveil.problem.ordinal import Ordinal
from statveil.problem.problem import Problem
from statveil.problem.secrets.function import Function
from statveil.problem.secrets.quantile import Quantile
from statveil.tables.measure import Measured

__all__ = ["WIDENING", "anchor_of", "estimate", "own_statistic", "shares_of"]

WIDENING = (
    "The plan guarantees nothing there. Widening the prior after looking at the data would tell outsiders where the "
    "data lies; state a prior from public knowledge alone."
)

_GRID = 4097


def own_statistic(problem: Problem, measured: Measured, share: float = math.nan) -> float:
    """The column's own value of the secret.

    A function of the parameter is not a statistic of rows: its value is g at the parameter whose mean is the
    column's. ``share`` is the share of the category of a fraction, which :class:`Measured` does not hold.
    """
    secret = problem.secret
    if isinstance(secret, Function):
        return float(problem.secret_of({problem.box.free[0]: _by_mean(problem, measured.mean)}))
    if isinstance(secret, Quantile):
        assert measured.quantile is not None
        return measured.quantile
    known = {"mean": measured.mean, "std": measured.std, "fraction": share}
    if secret.kind not in known:
        raise ColumnError(
            f"columns are not measured for the secret {secret.label!r}: its plans are for parameters (plan.apply). "
            f"To release a column, hide one of {', '.join(known)} or a quantile."
        )
    return known[secret.kind]


def anchor_of(problem: Problem, params: Mapping[str, float]) -> float:
    """What the map of a column moves, at these parameters: the secret, or the mean that a function goes by."""
    anchored = problem.family.mean(params) if isinstance(problem.secret, Function) else problem.secret_of(params)
    return float(anchored)


def estimate(problem: Problem, measured: Measured, statistic: float) -> dict[str, float]:
    """The parameters whose secret equals the column's ``statistic``; what is left free follows mean and spread.

    A released column is then exact in the secret, so that it depends on the true value only through the bin.
    """
    family = problem.family
    if isinstance(problem.secret, Function):
        return {problem.box.free[0]: _by_mean(problem, measured.mean)}
    if isinstance(family, LocationScale):
        return _location_scale(problem, family, measured, statistic)
    return {family.params[0].name: _one_parameter(problem, measured, statistic)}


def shares_of(labels: tuple[str, ...], counts: NDArray[np.int64]) -> dict[str, float]:
    """Shares of the categories."""
    total = int(counts.sum())
    if not total:
        raise ColumnError("the column has no category at all, so it has no share to hide; leave it as it is.")
    return {label: int(count) / total for label, count in zip(labels, counts, strict=True)}


def _location_scale(problem: Problem, family: LocationScale, measured: Measured, statistic: float) -> dict[str, float]:
    box, slopes = problem.box, family.coefficients(problem.secret)
    params = {name: axis.low for name, axis in box.axes.items() if axis.known}
    if len(box.free) == 1:
        (name,) = box.free
        params[name] = (statistic - sum(slopes[known] * value for known, value in params.items())) / slopes[name]
        return params
    # two unknowns: the secret gives one equation, the spread (for the spread itself: the mean) the other
    other = (
        (_full(family, family.loc_form, family.scale_form, family.z_mean), measured.mean)
        if problem.secret.kind == "std"
        else (_full(family, {}, family.scale_form, family.z_std), measured.std)
    )
    names = [param.name for param in family.params]
    system = np.array([[slopes[name] for name in names], [other[0][name] for name in names]])
    found = np.linalg.solve(system, np.array([statistic, other[1]]))
    return dict(zip(names, found.tolist(), strict=True))


def _full(
    family: LocationScale, loc: Mapping[str, float], scale: Mapping[str, float], weight: float
) -> dict[str, float]:
    return {param.name: loc.get(param.name, 0.0) + weight * scale.get(param.name, 0.0) for param in family.params}


def _one_parameter(problem: Problem, measured: Measured, statistic: float) -> float:
    """The parameter inside the prior with this secret, the one nearest to the mean's where there are several."""
    family, (name,) = problem.family, problem.box.free
    axis = problem.box.axes[name]
    if isinstance(family, Ordinal) and problem.secret.kind == "mean":
        return float(family.inverse_mean(np.array(statistic)))
    grid = np.linspace(axis.low, axis.high, _GRID)
    near = _nearest(grid, family.mean({name: grid}), measured.mean)
    return _root(grid, problem.secret_of({name: grid}), statistic, near, problem.secret.label)


def _by_mean(problem: Problem, mean: float) -> float:
    """The parameter inside the prior under which the family has this mean."""
    (name,) = problem.box.free
    axis = problem.box.axes[name]
    grid = np.linspace(axis.low, axis.high, _GRID)
    return _root(grid, problem.family.mean({name: grid}), mean, None, "mean")


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
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(left[index] == right[index], 0.0, left[index] / (left[index] - right[index]))
    roots = grid[index] + part * (grid[index + 1] - grid[index])
    return float(roots[0] if near is None else roots[np.argmin(np.abs(roots - near))])
