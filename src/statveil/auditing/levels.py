"""Rows that share one original value: their released values average to a level, and the levels draw the original.

Ties are shuffled, jittered or thinned row by row. Whoever can tell which rows were equal (neighbours in a sorted table,
the rows of one person) averages that away: each average lies at the level of one original value, and where the levels
lie depends on the secret.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statveil.auditing.believed import originals
from statveil.auditing.inversion import Inversion, released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.problem.location_scale import LocationScale
from statveil.tables.blocks import Array

__all__ = ["by_levels", "captured", "varies"]

Codes = NDArray[np.int64]

_CANDIDATES = 51
_FINE = 301  # candidates for levels on a line: far from the bound a small change of the factor is a whole step
_AVERAGES = (100, 150)  # for ranks, for levels on a line
_LEVELS = 90
_STRAYS = (0.08, 0.5)  # share of averages over rows of two values
_CONCLUSIVE = 6.0
_FEWEST = 8  # averages
_FEWEST_PAIRS = 30


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
    return bool(among / within > 1 + 6 * np.sqrt(2 / (groups - 1) + 2 / (total - groups)))


def _averages(values: Array, codes: Codes, most: int) -> _Averages | None:
    counts = np.bincount(codes).astype(np.float64)
    means = np.bincount(codes, weights=values) / np.maximum(counts, 1)
    kept = np.flatnonzero(counts >= 2)
    if len(kept) < _FEWEST:
        return None
    squares = np.bincount(codes, weights=(values - means[codes]) ** 2)
    # the middle one: averages over rows of two values vary much more, and are not what is looked for
    within = float(np.median(squares[kept] / (counts[kept] - 1))) / 0.85
    kept = kept[np.argsort(-counts[kept], kind="stable")[:most]]
    return _Averages(means=means[kept], rows=counts[kept], within=within)


def by_levels(view: View, found: Inversion, codes: Codes) -> tuple[Posterior, float] | None:
    """Candidates weighed by how well the averages of these groups lie on their levels, and how conclusively.

    ``codes`` numbers the group of each finite row. ``None`` where the averages say nothing.
    """
    values = view.column[np.isfinite(view.column)]
    step = view.knowledge.structure.step or view.plan.problem.known.step
    if view.plan.problem.family.discrete:
        step = 1.0
    averages = _averages(values, codes, _AVERAGES[not view.mode.of_model])
    if step is None or averages is None:
        return None
    order = np.argsort(found.secrets, kind="stable")
    most = _CANDIDATES if view.mode.of_model else _FINE
    nodes = order[np.unique(np.linspace(0, len(order) - 1, most).astype(np.int64))]
    nodes = nodes[found.weights[nodes] > 0]
    if len(nodes) < 3:
        return None
    phases = tuple(np.arange(view.mode.phases) / view.mode.phases)
    if view.mode.of_model:
        made = [_rank_levels(view, found, nodes, step)]
    else:
        made = [_line_levels(view, found, nodes, step, phase, averages) for phase in phases]
    tables = [one for one in made if one is not None]
    if not tables:
        return None
    gains = np.logaddexp.reduce([_fit(averages, one) for one in tables])
    best = float(gains[:, 0].max())
    sure = best - float(gains[:, 1].max()) - np.log(len(nodes) * len(phases))
    if sure < _CONCLUSIVE:
        return None
    # between the nodes the fit is interpolated
    place = np.interp(found.secrets, found.secrets[nodes], np.maximum(gains[:, 0] - best, -200.0))
    posterior = found.posterior(np.exp(place))
    return None if posterior is None else (posterior, sure)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Levels:
    """By candidate, average (or one for all) and original value: the level, its share of the rows, and variances."""

    level: Array
    share: Array
    variance: Array
    """Of a row about its level."""
    drift: Array
    """Of the level itself, from table to table."""
    gap: Array
    """Between the levels, by candidate."""


def _line_levels(
    view: View, found: Inversion, nodes: Codes, step: float, phase: float, averages: _Averages
) -> _Levels | None:
    """Levels on a line: ``jitter`` and ``smooth`` scale, ``unit`` thins or adds."""
    plan, statistic = view.plan, released_statistic(view)
    secrets = found.secrets[nodes]
    known = plan.problem.known
    about = known.minimum if known.minimum is not None else known.maximum
    about = 0.0 if about is None else about
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rise = (statistic - about) / (secrets - about)
    start = view.mode.first_level(rise, phase)
    if view.mode.of_family:
        mean = np.asarray(plan.problem.family.mean({name: value[nodes] for name, value in found.points.items()}))
        released = float(view.column[np.isfinite(view.column)].mean())
        urn = plan.problem.family.name != "poisson"
        more = released >= mean
        growth = 1 + (released - mean) / (mean + 1) if urn else np.ones(len(nodes))
        start = np.where(more, growth - 1 if urn else released - mean, 0.0)
        rise = np.where(more, growth, released / mean)
    rise, start = rise * step, about + start * step
    if not np.isfinite(rise).all() or not np.all(rise > 0):
        return None
    # of all levels only those next to an average matter; each has the share of one among all
    place = np.round((averages.means[None, :] - start[:, None]) / rise[:, None])
    near = place[:, :, None] + np.array([-1.0, 0.0, 1.0])
    count = np.ptp(averages.means) / rise + 3
    shape = near.shape
    return _Levels(
        level=start[:, None, None] + rise[:, None, None] * near,
        share=np.broadcast_to(1 / count[:, None, None], shape),
        variance=np.full(shape, averages.within),
        drift=np.zeros(shape),
        gap=rise,
    )


def _rank_levels(view: View, found: Inversion, nodes: Codes, step: float) -> _Levels | None:
    """After ``rank``: which ranks each original value has, and the mean of the released values of those ranks."""
    family, ranked = originals(view), np.sort(view.column[np.isfinite(view.column)])
    rows = len(ranked)
    params = {name: np.asarray(value)[nodes] for name, value in found.points.items()}
    low = np.asarray(family.quantile(0.5 / rows, params), dtype=np.float64)
    high = np.asarray(family.quantile(1 - 0.5 / rows, params), dtype=np.float64)
    first, last = float(np.floor(np.min(low) / step)), float(np.ceil(np.max(high) / step))
    if not last - first <= 2 * _LEVELS:
        return None
    numbers = np.arange(first, last + 1)[:, None] * step
    # a continuous shape was rounded to the nearest step
    at = numbers + (0.5 * step if isinstance(view.plan.problem.family, LocationScale) else 0.0)
    below = np.asarray(family.cdf(at, {name: value[None, :] for name, value in params.items()}), dtype=np.float64)
    cuts = np.concatenate([np.zeros((1, len(nodes))), below * rows]).T
    cuts[:, -1] = rows
    grid, size = np.arange(rows + 1), np.diff(cuts, axis=1)
    used = size >= 0.5
    length = np.where(used, size, 1.0)
    sums, squares = (np.concatenate([[0.0], np.cumsum(power)]) for power in (ranked, ranked**2))
    mean = np.diff(np.interp(cuts, grid, sums), axis=1) / length
    spread = np.maximum(np.diff(np.interp(cuts, grid, squares), axis=1) / length - mean**2, 0.0)
    # where the ranks end varies from table to table
    middle = 0.5 * (cuts[:, 1:] + cuts[:, :-1]) / rows
    drift = np.sqrt(rows * middle * (1 - middle)) * np.gradient(mean, axis=1) / length
    gaps = np.where(used[:, 1:] & used[:, :-1], np.abs(np.diff(mean, axis=1)), np.nan)
    with np.errstate(all="ignore"):
        gap = np.nan_to_num(np.nanmedian(gaps, axis=1), nan=step)
    return _Levels(
        level=mean[:, None, :],
        share=np.where(used, size / rows, 0.0)[:, None, :],
        variance=spread[:, None, :],
        drift=np.where(used, 0.25 * drift**2, 0.0)[:, None, :],
        gap=gap,
    )


def _fit(averages: _Averages, on: _Levels) -> Array:
    """By candidate: log likelihood of the averages on its levels, and on levels blurred until nothing is left."""
    gap = on.gap[:, None, None]
    floor = (1e-3 * gap) ** 2 + 1e-300
    rows, means = averages.rows[None, :, None], averages.means[None, :, None]
    off = (means - on.level) ** 2
    overall = float(np.var(averages.means)) + 1e-300
    stray = np.exp(-0.5 * (averages.means - averages.means.mean()) ** 2 / overall) / np.sqrt(overall)
    sharp = on.variance / rows + on.drift + floor
    fits = []
    for variance in (sharp, sharp + 0.25 * gap**2):
        density = np.sum(on.share * np.exp(-0.5 * off / variance) / np.sqrt(variance), axis=2)
        mixed = [np.sum(np.log((1 - odd) * density + odd * stray + 1e-300), axis=1) for odd in _STRAYS]
        fits.append(np.logaddexp.reduce(mixed))
    return np.stack(fits, axis=1)


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
        return _torn_pairs(view, found, labels, codes)
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
    guess = released_statistic(replace(view, column=column))
    near = np.exp(-0.5 * ((found.secrets - guess) / (0.3 * view.plan.problem.within(guess))) ** 2)
    posterior = found.posterior(near)
    return None if posterior is None else (posterior, (pure - by_chance) / spread)


def _torn_pairs(view: View, found: Inversion, labels: Codes, codes: Codes) -> tuple[Posterior, float] | None:
    """Pairs that had one label each: as many as differ now, as many rows were relabelled, in whichever direction."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.bincount(codes)[codes[order]] == 2)[::2]
    one, two = labels[order[starts]], labels[order[starts + 1]]
    names = [param.name for param in view.plan.problem.family.params]
    if len(one) < _FEWEST_PAIRS or any(name not in found.points for name in names):
        return None
    torn = int(np.count_nonzero(one != two))
    now = np.bincount(labels, minlength=len(names)) / len(labels)
    by_chance = 1 - float(np.sum(now**2))
    if torn > 0.5 * by_chance * len(one):
        return None
    before = np.stack([np.broadcast_to(found.points[name], found.secrets.shape) for name in names])
    left = np.clip(before - now[:, None], 0.0, None) / np.maximum(before, 1e-12)
    gained = np.clip(now[:, None] - before, 0.0, None)
    gained = gained / np.maximum(gained.sum(axis=0), 1e-12)
    apart = 2 * left * (1 - left) + left**2 * (1 - np.sum(gained**2, axis=0))
    expected = np.clip(np.sum(before * apart, axis=0), 0.5 / len(one), 1 - 0.5 / len(one))
    fit = torn * np.log(expected) + (len(one) - torn) * np.log(1 - expected)
    posterior = found.posterior(np.exp(fit - fit.max()))
    return None if posterior is None else (posterior, by_chance * len(one) - torn)
