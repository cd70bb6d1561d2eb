"""Risk of a hidden chain month by month: over all histories of releases, or along drawn ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from statveil.numeric import Array, Index
from statveil.theory.drift_chain import Chain

__all__ = ["Drawn", "Months", "all_histories", "drawn_histories"]

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
            back = _earlier(chain, before, zone, back, levels[t - 1].vectors.shape[1])
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
    return math.fsum(_best(chain, zone, vectors))


def _best(chain: Chain, zone: Index, vectors: Array) -> Array:
    found = np.zeros(len(zone))
    for each in np.unique(zone).tolist():
        rows = np.flatnonzero(zone == each)
        cells = len(chain.edges(each)) - 1
        found[rows] = chain.best(each, _wide(vectors[rows], cells))
    return found


def _dense(chance: Any) -> Array:
    found: Array = chance if isinstance(chance, np.ndarray) else chance.toarray()
    return found


def _wide(vectors: Array, cells: int) -> Array:
    """Rows of just so many cells."""
    if vectors.shape[1] >= cells:
        return vectors[:, :cells]
    return np.pad(vectors, ((0, 0), (0, cells - vectors.shape[1])))


def _next(chain: Chain, level: _Level, rare: float) -> _Level:
    zones, parents, vectors = [], [], []
    for each in np.unique(level.zone).tolist():
        rows = np.flatnonzero(level.zone == each)
        here = _wide(level.vectors[rows], len(chain.edges(each)) - 1)
        for new, chance in chain.moves(each):
            after = here @ chance
            kept = after.sum(axis=1) > rare
            if kept.any():
                zones.append(np.full(int(kept.sum()), new))
                parents.append(rows[kept])
                vectors.append(after[kept])
    if not zones:
        return _Level(zone=level.zone[:0], parent=level.zone[:0], vectors=level.vectors[:0])
    most = max(each.shape[1] for each in vectors)
    found = np.concatenate([_wide(each, most) for each in vectors])
    zone, parent = np.concatenate(zones), np.concatenate(parents)
    if len(zone) > _MOST:
        kept_rows = np.sort(np.argsort(-found.sum(axis=1), kind="stable")[:_MOST])
        zone, parent, found = zone[kept_rows], parent[kept_rows], found[kept_rows]
    return _Level(zone=zone, parent=parent, vectors=found)


def _earlier(chain: Chain, before: Index, zone: Index, back: Array, width: int) -> Array:
    """Chance of all later releases of each history, for each cell of the month before."""
    found = np.zeros((len(zone), width))
    pairs = np.unique(np.stack([before, zone], axis=1), axis=0) if len(zone) else np.zeros((0, 2), dtype=np.int64)
    for old, new in pairs.tolist():
        rows = np.flatnonzero((before == old) & (zone == new))
        chance = chain.matrix(old, new)
        here = _wide(back[rows], chance.shape[1]) @ chance.T
        found[rows, : here.shape[1]] = here
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """For each drawn path the share that the best guess catches of what its releases leave open, month by month."""

    online: Array
    later: Array


def drawn_histories(chain: Chain, months: int, paths: int, rng: Generator) -> Drawn:
    """Exact posteriors along paths drawn from the chain; whoever leaves the cells counts as hit from then on."""
    share = chain.start / chain.start.sum()
    cell = rng.choice(len(share), size=paths, p=share)
    zone = np.full(paths, chain.first)
    ahead = np.broadcast_to(share, (paths, len(share))).copy()
    lost = np.zeros(paths, dtype=bool)
    zones, vectors = [zone], [ahead]
    online = [_best(chain, zone, ahead)]
    for _ in range(months - 1):
        after_zone, after_cell = zone.copy(), cell.copy()
        after: list[tuple[Index, Array]] = []
        for each in np.unique(zone).tolist():
            rows = np.flatnonzero(zone == each)
            moves = list(chain.moves(each))
            ladder = np.cumsum(np.concatenate([_dense(chance) for _, chance in moves], axis=1), axis=1)
            starts = np.cumsum([0, *(chance.shape[1] for _, chance in moves)])
            u = rng.random(len(rows))
            at = np.array([np.searchsorted(ladder[c], x, side="right") for c, x in zip(cell[rows], u, strict=True)])
            lost[rows] |= at >= ladder.shape[1]
            at = np.minimum(at, ladder.shape[1] - 1)
            which = np.searchsorted(starts, at, side="right") - 1
            after_cell[rows] = at - starts[which]
            here = _wide(vectors[-1][rows], len(chain.edges(each)) - 1)
            for i, (new, chance) in enumerate(moves):
                held = which == i
                if held.any():
                    after_zone[rows[held]] = new
                    after.append((rows[held], here[held] @ chance))
        most = max(part.shape[1] for _, part in after)
        ahead = np.zeros((paths, most))
        for rows, part in after:
            ahead[rows, : part.shape[1]] = part
        total = ahead.sum(axis=1, keepdims=True)
        ahead = ahead / np.where(total > 0, total, 1.0)
        zone, cell = after_zone, after_cell
        zones.append(zone)
        vectors.append(ahead)
        online.append(np.where(lost, 1.0, _best(chain, zone, ahead)))
    later = [np.zeros(paths)] * months
    back = np.ones_like(vectors[-1])
    for t in range(months - 1, -1, -1):
        both = _product(vectors[t], back)
        total = both.sum(axis=1)
        caught = _best(chain, zones[t], both) / np.where(total > 0, total, 1.0)
        later[t] = np.where(lost | (total <= 0), 1.0, np.minimum(caught, 1.0))
        if t:
            back = _earlier(chain, zones[t - 1], zones[t], back, vectors[t - 1].shape[1])
            top = back.max(axis=1, keepdims=True)
            back = back / np.where(top > 0, top, 1.0)
    return Drawn(online=np.minimum(np.array(online), 1.0), later=np.array(later))
