"""Rows that share one original value: their released values average to a level, and the levels draw the original.

Ties are shuffled, jittered or thinned row by row. Whoever can tell which rows were equal (neighbours in a sorted table,
the rows of one person) averages that away: each average lies at the level of one original value, and where the levels
lie depends on the secret.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.auditing.inversion import Inversion, released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.problem.location_scale import LocationScale
from statveil.tables.blocks import Array

__all__ = ["RANDOM_ROWS", "by_levels", "captured", "varies"]

RANDOM_ROWS = ("jitter", "rank", "smooth", "unit")
"""Modes that draw something for each row of numbers."""

Codes = NDArray[np.int64]

_CANDIDATES = 121
_AVERAGES = 240
_LEVELS = 90
_STRAY = 0.08  # averages over rows of two values
_CONCLUSIVE = 6.0
_FEWEST = 8  # averages


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Averages:
    """Averages of rows that go together."""

    means: Array
    rows: Array
    within: float
    """Variance of a row about its average."""


def varies(values: Array, codes: Codes) -> bool:
    """Whether the averages of the groups differ by more than chance explains."""
    counts = np.bincount(codes)
    several = counts >= 2
    groups = int(several.sum())
    if groups < 2:
        return False
    inside = several[codes]
    x, code = values[inside], codes[inside]
    total = len(x)
    if total <= groups + 1:
        return False
    means = np.bincount(code, weights=x, minlength=len(counts))[several] / counts[several]
    among = float(np.sum(counts[several] * (means - x.mean()) ** 2)) / (groups - 1)
    rest = float(np.sum((x - x.mean()) ** 2)) - among * (groups - 1)
    within = max(rest, 0.0) / (total - groups)
    if within <= 1e-12 * among:
        return True
    return among / within > 1 + 6 * np.sqrt(2 / (groups - 1) + 2 / (total - groups))


def _averages(values: Array, codes: Codes) -> _Averages | None:
    counts = np.bincount(codes).astype(np.float64)
    means = np.bincount(codes, weights=values) / np.maximum(counts, 1)
    kept = np.flatnonzero(counts >= 2)
    if len(kept) < _FEWEST:
        return None
    rest = values - means[codes]
    inside = counts[codes] >= 2
    within = float(np.sum(rest[inside] ** 2)) / max(float(counts[kept].sum()) - len(kept), 1.0)
    kept = kept[np.argsort(-counts[kept], kind="stable")[:_AVERAGES]]
    return _Averages(means=means[kept], rows=counts[kept], within=within)


def by_levels(view: View, found: Inversion, codes: Codes) -> tuple[Posterior, float] | None:
    """Candidates weighed by how well the averages of these groups lie on their levels, and how conclusively.

    ``codes`` numbers the group of each finite row. ``None`` where the averages say nothing.
    """
    values = view.column[np.isfinite(view.column)]
    step = view.knowledge.structure.step or view.plan.problem.known.step
    if view.plan.problem.family.discrete:
        step = 1.0
    averages = _averages(values, codes)
    if step is None or averages is None:
        return None
    order = np.argsort(found.secrets, kind="stable")
    nodes = order[np.unique(np.linspace(0, len(order) - 1, _CANDIDATES).astype(np.int64))]
    nodes = nodes[found.weights[nodes] > 0]
    if len(nodes) < 3:
        return None
    gains = np.full((len(nodes), 2), -np.inf)
    phases = (0.0,) if view.plan.mode != "smooth" else tuple(np.arange(8) / 8)
    ranked = np.sort(values)
    for place, node in enumerate(nodes):
        for phase in phases:
            levels = _levels(view, found, int(node), ranked, step, phase, averages)
            if levels is not None:
                gains[place] = np.logaddexp(gains[place], _fit(averages, *levels))
    if not np.isfinite(gains).any():
        return None
    best = float(gains[:, 0].max())
    sure = best - float(gains[:, 1].max()) - np.log(len(nodes) * len(phases))
    if sure < _CONCLUSIVE:
        return None
    # between the nodes the fit is interpolated
    place = np.interp(found.secrets, found.secrets[nodes], np.maximum(gains[:, 0] - best, -200.0))
    posterior = found.posterior(np.exp(place))
    return None if posterior is None else (posterior, sure)


def _levels(
    view: View, found: Inversion, node: int, ranked: Array, step: float, phase: float, averages: _Averages
) -> tuple[Array, Array, Array, Array] | None:
    """Level, share, variance of a row, and uncertainty of the level itself, for each original value."""
    plan = view.plan
    secret = float(found.secrets[node])
    if plan.mode == "rank":
        return _rank_levels(view, found, node, ranked, step)
    statistic = released_statistic(view)
    known = plan.problem.known
    about = known.minimum if known.minimum is not None else known.maximum
    about = 0.0 if about is None else about
    if secret == about or statistic == about:
        return None
    factor = (statistic - about) / (secret - about)
    low, high = float(averages.means.min()), float(averages.means.max())
    if plan.mode == "unit":
        mean, released = secret, statistic
        if plan.problem.secret.kind != "mean":
            family = plan.problem.family
            mean = float(family.mean({name: value[node] for name, value in found.points.items()}))
            released = float(view.column[np.isfinite(view.column)].mean())
        urn = plan.problem.family.name != "poisson"
        rise = released / mean if released < mean else (1 + (released - mean) / (mean + 1) if urn else 1.0)
        start = 0.0 if released < mean else (rise - 1 if urn else released - mean)
    elif plan.mode == "jitter":
        rise, start = factor, 0.5 * factor - 0.5
    else:
        rise, start = factor, phase * factor
    rise, start = rise * step, about + start * step
    if not rise or (high - low) / abs(rise) > _LEVELS:
        return None
    first, last = sorted(((low - start) / rise, (high - start) / rise))
    numbers = np.arange(np.floor(first) - 1, np.ceil(last) + 2)
    levels = start + rise * numbers
    size = len(levels)
    return levels, np.full(size, 1 / size), np.full(size, averages.within), np.zeros(size)


def _rank_levels(
    view: View, found: Inversion, node: int, ranked: Array, step: float
) -> tuple[Array, Array, Array, Array] | None:
    """Ranks of each original value under the candidate, and the mean of the released values of those ranks."""
    family, rows = view.plan.problem.family, len(ranked)
    params = {name: float(value[node]) for name, value in found.points.items()}
    if isinstance(family, LocationScale):
        ends = family.quantile(np.array([0.5 / rows, 1 - 0.5 / rows]), params)
        numbers = np.arange(np.floor(ends[0] / step), np.ceil(ends[1] / step) + 1) * step
        if len(numbers) > _LEVELS:
            return None
        below = np.asarray(family.cdf(numbers + 0.5 * step, params))
    else:
        low, high = np.asarray(family.quantile(np.array([0.5 / rows, 1 - 0.5 / rows]), params))
        numbers = np.arange(low, high + 1)
        if len(numbers) > _LEVELS:
            return None
        below = np.asarray(family.cdf(numbers, params))
    cuts = np.clip(np.concatenate([[0.0], below]) * rows, 0, rows)
    cuts[-1] = rows
    sums = np.concatenate([[0.0], np.cumsum(ranked)])
    squares = np.concatenate([[0.0], np.cumsum(ranked**2)])
    grid = np.arange(rows + 1)
    size = np.diff(cuts)
    kept = size >= 0.5
    mean = np.diff(np.interp(cuts, grid, sums))[kept] / size[kept]
    spread = np.maximum(np.diff(np.interp(cuts, grid, squares))[kept] / size[kept] - mean**2, 0.0)
    # where the ranks end varies from table to table
    middle = 0.5 * (cuts[1:] + cuts[:-1])[kept] / rows
    drift = np.sqrt(rows * middle * (1 - middle)) * np.gradient(mean) / size[kept] if kept.sum() > 1 else 0 * mean
    return mean, size[kept] / rows, spread, 0.25 * drift**2


def _fit(averages: _Averages, levels: Array, shares: Array, variances: Array, drift: Array) -> Array:
    """Log likelihood of the averages on these levels, and on levels so blurred that nothing of them is left."""
    gap = float(np.median(np.abs(np.diff(levels)))) if len(levels) > 1 else 1.0
    floor = (1e-3 * gap) ** 2 + 1e-300
    rows, means = averages.rows[:, None], averages.means[:, None]
    off = (means - levels) ** 2
    overall = float(np.var(averages.means)) + floor
    stray = _STRAY * np.exp(-0.5 * (averages.means - averages.means.mean()) ** 2 / overall) / np.sqrt(overall)
    fits = []
    for blur in (0.0, 0.25 * gap**2):
        variance = variances / rows + drift + floor + blur
        density = np.sum(shares * np.exp(-0.5 * off / variance) / np.sqrt(variance), axis=1)
        fits.append(float(np.sum(np.log((1 - _STRAY) * density + stray + 1e-300))))
    return np.array(fits)


def captured(view: View, found: Inversion, codes: Codes) -> tuple[Posterior, float] | None:
    """Categories: most rows of a group keep their label, so each group's majority is the original."""
    finite = np.isfinite(view.column)
    labels = view.column[finite].astype(np.int64)
    groups, size = int(codes.max()) + 1, int(labels.max()) + 1
    table = np.bincount(codes * size + labels, minlength=groups * size).reshape(groups, size)
    rows = table.sum(axis=1)
    most = table.max(axis=1)
    several = rows >= 3
    if several.sum() < 5 or rows[several].sum() < 0.5 * len(labels):
        return None
    chance = float(np.max(np.bincount(labels)) / len(labels))
    pure = float(most[several].sum() / rows[several].sum())
    # chance alone makes a majority of few rows larger than the share of the label
    rng = np.random.default_rng(0)
    mixed = rng.permutation(labels)
    expected = np.bincount(codes * size + mixed, minlength=groups * size).reshape(groups, size).max(axis=1)
    by_chance = float(expected[several].sum() / rows[several].sum())
    spread = np.sqrt(max(by_chance * (1 - by_chance), 1e-4) / rows[several].sum())
    if pure < by_chance + 8 * spread or pure < chance + 0.02:
        return None
    back = np.where(several, table.argmax(axis=1), -1)[codes]
    original = np.where(back >= 0, back, labels)
    column = view.column.copy()
    column[finite] = original
    guess = released_statistic(_with(view, column))
    near = np.exp(-0.5 * ((found.secrets - guess) / (0.3 * view.plan.problem.tolerance)) ** 2)
    posterior = found.posterior(near)
    return None if posterior is None else (posterior, (pure - by_chance) / spread)


def _with(view: View, column: Array) -> View:
    from dataclasses import replace

    return replace(view, column=column)
