"""Risk of a hidden chain month by month, over all histories of releases; ``drift_paths`` has drawn ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from statveil.numeric import Array, Index
from statveil.theory.drift_chain import Chain

__all__ = ["Months", "all_histories", "best_of", "earlier", "likes", "wide"]

_RARE = 1e-6
"""Histories that are rarer, of all that begin in a bin, are not followed; they count as hit."""
_MOST = 6_000
"""Histories that are followed at a time; of more the rarest count as hit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Months:
    """Share that is hit in each month: by those who know the releases so far, and by those who know all."""

    online: Array
    later: Array
    dropped: float
    """Share that was not followed, counted as hit in both."""
    histories: int
    kept: tuple[int, int] = (0, 0)
    """How far below and above the first zone the followed histories came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    zone: Index
    parent: Index
    vectors: Array  # a row for each history, as long as the longest zone


def all_histories(chain: Chain, months: int) -> Months:
    """Every history of releases that begins in the first zone, the rare ones left out and counted as hit."""
    whole = 1.0
    begin = chain.start[None, :] / chain.start.sum()
    level = _Level(zone=np.array([chain.first]), parent=np.zeros(1, dtype=np.int64), vectors=begin)
    levels, lost = [level], [0.0]
    for _ in range(months - 1):
        level = _next(chain, level, _RARE * whole)
        levels.append(level)
        lost.append(max(0.0, whole - float(level.vectors.sum())))
    online = np.array([_hit(chain, each.zone, each.vectors) for each in levels]) + np.array(lost)
    rows = np.arange(len(level.zone))
    later = np.zeros(months)
    zone, back = level.zone, np.ones_like(level.vectors)
    for t in range(months - 1, -1, -1):
        now = levels[t]
        later[t] = _hit(chain, zone, _product(now.vectors[rows], back))
        if t:
            rows = now.parent[rows]
            before = levels[t - 1].zone[rows]
            back = earlier(chain, before, zone, back, levels[t - 1].vectors.shape[1])
            zone = before
    away = np.concatenate([each.zone for each in levels]) - chain.first
    return Months(
        online=online,
        later=later + lost[-1],
        dropped=lost[-1],
        histories=len(level.zone),
        kept=(int(away.min()), int(away.max())),
    )


def _product(one: Array, two: Array) -> Array:
    width = min(one.shape[1], two.shape[1])
    return one[:, :width] * two[:, :width]


def _hit(chain: Chain, zone: Index, vectors: Array) -> float:
    return math.fsum(best_of(chain, zone, vectors))


def best_of(chain: Chain, zone: Index, vectors: Array) -> Array:
    """What the best window of each row touches."""
    found, kind = np.zeros(len(zone)), likes(chain, zone)
    for each in np.unique(kind).tolist():
        rows = np.flatnonzero(kind == each)
        cells = len(chain.edges(each)) - 1
        found[rows] = chain.best(each, wide(vectors[rows], cells))
    return found


def wide(vectors: Array, cells: int) -> Array:
    """Rows of just so many cells."""
    if vectors.shape[1] >= cells:
        return vectors[:, :cells]
    return np.pad(vectors, ((0, 0), (0, cells - vectors.shape[1])))


def _next(chain: Chain, level: _Level, rare: float) -> _Level:
    zones, parents, vectors = [], [], []
    kind = likes(chain, level.zone)
    for each in np.unique(kind).tolist():
        rows = np.flatnonzero(kind == each)
        here = wide(level.vectors[rows], len(chain.edges(each)) - 1)
        for new, chance in chain.moves(each):
            after = here @ chance
            kept = after.sum(axis=1) > rare
            if kept.any():
                zones.append(level.zone[rows[kept]] + (new - each))
                parents.append(rows[kept])
                vectors.append(after[kept])
    if not zones:
        return _Level(zone=level.zone[:0], parent=level.zone[:0], vectors=level.vectors[:0])
    most = max(each.shape[1] for each in vectors)
    found = np.concatenate([wide(each, most) for each in vectors])
    zone, parent = np.concatenate(zones), np.concatenate(parents)
    if len(zone) > _MOST:
        kept_rows = np.sort(np.argsort(-found.sum(axis=1), kind="stable")[:_MOST])
        zone, parent, found = zone[kept_rows], parent[kept_rows], found[kept_rows]
    return _Level(zone=zone, parent=parent, vectors=found)


def earlier(chain: Chain, before: Index, zone: Index, back: Array, width: int) -> Array:
    """Chance of all later releases of each history, for each cell of the month before."""
    found = np.zeros((len(zone), width))
    kind = np.stack([likes(chain, before), zone - before], axis=1)
    for old, away in np.unique(kind, axis=0).tolist():
        rows = np.flatnonzero((kind[:, 0] == old) & (kind[:, 1] == away))
        chance = chain.matrix(old, old + away)
        here = wide(back[rows], chance.shape[1]) @ chance.T
        found[rows, : here.shape[1]] = here
    return found


def likes(chain: Chain, zone: Index) -> Index:
    """For each zone the one that stands for all of its kind."""
    each, which = np.unique(zone, return_inverse=True)
    return np.array([chain.like(one) for one in each.tolist()], dtype=np.int64)[which]
