"""The mechanism inverted: every original statistic that a release leaves open, and the map that would undo it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.errors import ColumnError, StatveilError
from statveil.numeric import Index
from statveil.problem.column_numbers import InMemory
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.tables.blocks import Array, blocks_of
from statveil.tables.estimate import estimate, shares_of
from statveil.tables.measure import measure

__all__ = ["Inversion", "inverted", "released_statistic"]

_NODES = 4001


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inversion:
    """Candidates for the secret, weighted by the prior, each with the map that the holder would have used.

    Attributes
    ----------
    secrets, weights : array
        Candidates and their prior weights along the fibre of the release.
    points : mapping of str to array
        The candidates' parameters.
    factor, offset : array or None
        x' = offset + factor x for each candidate; ``None`` for the modes that redraw the column.
    """

    secrets: Array
    weights: Array
    points: Mapping[str, Array]
    factor: Array | None = None
    offset: Array | None = None

    def posterior(self, weights: Array | float = 1.0) -> Posterior | None:
        """The candidates, with further evidence multiplied in."""
        return Posterior.of(self.secrets, self.weights * weights)

    def nearest(self, secret: float, slack: float) -> bool:
        """Whether a value of the secret lies among the candidates, up to ``slack``."""
        return bool(self.secrets.min() - slack <= secret <= self.secrets.max() + slack)


def released_statistic(view: View) -> float:
    """The statistic of the released column: the paper's surrogate of an attacker's guess."""
    problem = view.plan.problem
    if isinstance(problem.family, Categorical):
        return float(problem.secret_of(_released(view)))
    values = view.column[np.isfinite(view.column)]
    if not len(values):
        return float("nan")
    if problem.secret.anchor is problem.secret:
        return problem.secret.of_column(view.numbers, problem.family)
    try:  # of the parameters: those of the column itself
        return float(problem.secret_of(_released(view)))
    except StatveilError:
        return float("nan")


def _level(view: View) -> float:
    """The released column's own value of what its map moves."""
    problem, values = view.plan.problem, view.column[np.isfinite(view.column)]
    if not len(values):
        raise ColumnError("the released column has no finite number.")
    return problem.secret.anchor.of_column(view.numbers, problem.family)


def _released(view: View) -> dict[str, float]:
    """Parameters of the released column, inside the prior."""
    problem = view.plan.problem
    if isinstance(problem.family, Categorical):
        codes = view.column[np.isfinite(view.column)].astype(np.int64)
        counts = np.bincount(codes, minlength=len(problem.family.labels))
        return shares_of(problem.family.labels, counts)
    if view.mode.of_model and isinstance(problem.family, LocationScale) and not problem.family.shapeless:
        drawn = _drawn_from(view, problem.family)
        if drawn is not None:
            return drawn
    level = _level(view)
    if problem.family.shapeless:  # the middle of the class that was released
        return estimate(problem, None, level / problem.family.shrunk(view.plan.distortion))
    return estimate(problem, measure(blocks_of(view.column)), level)


def _drawn_from(view: View, family: LocationScale) -> dict[str, float] | None:
    """Parameters of the shape whose quantiles the released rows are, by rank.

    Rows that were cut at a declared bound say nothing: mean and spread of the whole column would be off by them.
    """
    values, known, box = np.sort(view.column[np.isfinite(view.column)]), view.plan.problem.known, view.plan.problem.box
    z = np.asarray(family.z_quantile((np.arange(len(values)) + 0.5) / max(len(values), 1)), dtype=np.float64)
    low = -np.inf if known.minimum is None else known.minimum
    high = np.inf if known.maximum is None else known.maximum
    inside = (values > low) & (values < high) & np.isfinite(family.coordinate(values))
    if np.count_nonzero(inside) < 8:
        return None
    values, z = family.coordinate(values[inside]), z[inside]
    params = {name: axis.low for name, axis in box.axes.items() if axis.known}
    parts = {name: family.loc_form.get(name, 0.0) + family.scale_form.get(name, 0.0) * z for name in box.axes}
    rest = values - sum((params[name] * parts[name] for name in params), np.zeros(len(values)))
    system = np.column_stack([parts[name] for name in box.free])
    found, _, rank, _ = np.linalg.lstsq(system, rest, rcond=None)
    if rank < len(box.free):
        return None
    return params | dict(zip(box.free, found.tolist(), strict=True))


_last: tuple[View, Inversion | None] | None = None


def inverted(view: View) -> Inversion | None:
    """All originals that the mechanism maps to this release; ``None`` where the release fits no bin.

    Every attacker asks for it, so the last answer is kept.
    """
    global _last
    if view.inversion is not None:
        return view.inversion
    if _last is None or _last[0] is not view:
        _last = view, _inverted(view)
    return _last[1]


def _inverted(view: View) -> Inversion | None:
    plan, problem = view.plan, view.plan.problem
    try:
        found = {name: np.atleast_1d(np.float64(value)) for name, value in _released(view).items()}
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            released = plan.mechanism.snap(found)  # not plan.nearest: a release may lie outside the prior
    except StatveilError:
        return None
    support = problem.prior.support(problem.family)
    try:
        fibre = plan.mechanism.candidates(released, support, _NODES)
    except (ValueError, StatveilError):
        return None
    open_ = fibre.weight[0] > 0  # the others only fill the row
    if not open_.any():
        return None
    points = {name: np.broadcast_to(value, fibre.weight.shape)[0, open_] for name, value in fibre.points.items()}
    for name, value in released.items():  # parameters that the mechanism leaves alone
        points.setdefault(name, np.full(int(open_.sum()), float(value[0])))
    size = max(float(np.abs(value).max()) for value in points.values())
    if not np.all(support.contains(points, slack=1e-9 * size)):
        return None
    weight = fibre.weight[0, open_]
    density = problem.prior.density(points) if isinstance(problem.prior, Box) else np.ones(len(weight))
    weights = weight * np.broadcast_to(density, weight.shape)
    secrets = np.asarray(problem.secret_of(points), dtype=np.float64)
    moved = abs(float(problem.position_of(found)[0] - problem.position_of(released)[0]))
    if not moved <= problem.tolerance + problem.measure.of_plan(plan.distortion) / plan.gamma:
        return None  # far from every bin: no release under this plan
    order: slice | Index = slice(None)
    if plan.mechanism.tiled:
        order = np.argsort(secrets, kind="stable")  # its points lie all over a rectangle
    elif len(secrets) > 1 and secrets[0] > secrets[-1]:
        order = slice(None, None, -1)
    # from the lowest on, whichever way the parameter goes
    secrets, weights = secrets[order], weights[order]
    points = {name: value[order] for name, value in points.items()}
    factor, offset = _maps(view, points)
    return Inversion(secrets=secrets, weights=weights, points=points, factor=factor, offset=offset)


def _maps(view: View, points: dict[str, Array]) -> tuple[Array | None, Array | None]:
    """For each candidate original, the coefficients of the map that gives this release."""
    plan, family = view.plan, view.plan.problem.family
    if not view.mode.near_line or not isinstance(family, LocationScale):
        return None, None
    secret, statistic = plan.problem.secret, _level(view)
    rate = secret.shift_rate(family)
    levels = np.asarray(family.value(secret.anchor, points), dtype=np.float64)
    if not view.mode.stretches:
        return np.ones(len(levels)), (statistic - levels) / rate
    about = view.mode.fixed_point(plan.problem)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if about is not None:
            factor = (statistic - rate * about) / (levels - rate * about)
            return factor, about - factor * about
        if family.shapeless:
            factor = statistic / levels
            return factor, secret.centre(InMemory(view.column[np.isfinite(view.column)])) * (1 - factor)
        released = _released(view)
        factor = float(family.scale(released)) / np.asarray(family.scale(points), dtype=np.float64)
        if not rate:
            return factor, float(family.loc(released)) - factor * np.asarray(family.loc(points), dtype=np.float64)
        return factor, (statistic - factor * levels) / rate
