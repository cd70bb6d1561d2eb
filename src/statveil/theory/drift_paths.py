"""Risk of a hidden chain month by month along drawn paths: the posterior of each is exact, their mean is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from statveil.numeric import Array, Index
from statveil.theory.drift_chain import Chain
from statveil.theory.drift_risk import best_of, earlier, likes, wide

__all__ = ["Drawn", "drawn_histories"]

_AT_A_TIME = 2e7
"""Numbers that are held for the way back: paths are drawn a few hundred at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """For each drawn path the share that the best guess catches of what its releases leave open, month by month."""

    online: Array
    later: Array


def drawn_histories(chains: Sequence[Chain], months: int, paths: int, rng: Generator) -> Drawn:
    """Paths that begin in the first zones of these chains, each as often as its mass says."""
    share = np.array([chain.start.sum() for chain in chains])
    number = rng.multinomial(paths, share / share.sum())
    found: list[Drawn] = []
    for group in _alike([(chain, int(n)) for chain, n in zip(chains, number, strict=True) if n]):
        chain, begins = group
        cells = max(len(chain.edges(zone)) - 1 for zone, _, _ in begins)
        most = max(16, int(_AT_A_TIME / (months * cells)))
        zone = np.concatenate([np.full(n, zone) for zone, _, n in begins])
        start = np.concatenate([np.broadcast_to(wide(s[None, :] / s.sum(), cells), (n, cells)) for _, s, n in begins])
        found += [
            _drawn(chain, zone[i : i + most], start[i : i + most], months, rng) for i in range(0, len(zone), most)
        ]
    return Drawn(
        online=np.concatenate([each.online for each in found], axis=1),
        later=np.concatenate([each.later for each in found], axis=1),
    )


_Begins = list[tuple[int, Array, int]]


def _alike(chains: Sequence[tuple[Chain, int]]) -> list[tuple[Chain, _Begins]]:
    """Chains of the same blocks, which differ by where they begin: zone, mass of its cells, number of paths."""
    found: list[tuple[Chain, _Begins]] = []
    for chain, number in chains:
        for other, begins in found:
            away = _offset(chain, other)
            if away is not None:
                begins.append((chain.first + away, chain.start, number))
                break
        else:
            found.append((chain, [(chain.first, chain.start, number)]))
    return found


def _offset(chain: Chain, other: Chain) -> int | None:
    """By how much the numbers of the blocks differ, where the blocks are the same."""
    away = min(other.blocks) - min(chain.blocks)
    if len(chain.blocks) != len(other.blocks):
        return None
    for number, block in chain.blocks.items():
        its = other.blocks[number + away]
        if len(its) != len(block) or np.abs(its - block).max() > 1e-9 * chain.size:
            return None
    return away


def _drawn(chain: Chain, zone: Index, ahead: Array, months: int, rng: Generator) -> Drawn:
    """Exact posteriors along paths drawn from the chain; whoever leaves the cells counts as hit from then on."""
    paths = len(zone)
    cell = (np.cumsum(ahead, axis=1) <= rng.random(paths)[:, None]).sum(axis=1)
    cell = np.minimum(cell, np.array([len(chain.edges(one)) - 2 for one in zone.tolist()]))
    lost = np.zeros(paths, dtype=bool)
    zones, vectors = [zone], [ahead]
    online = [best_of(chain, zone, ahead)]
    for _ in range(months - 1):
        zone, cell, ahead, left = _next(chain, zone, cell, ahead, rng)
        lost |= left
        zones.append(zone)
        vectors.append(ahead)
        online.append(np.where(lost, 1.0, best_of(chain, zone, ahead)))
    later = [np.zeros(paths)] * months
    back = np.ones_like(vectors[-1])
    for t in range(months - 1, -1, -1):
        width = min(vectors[t].shape[1], back.shape[1])
        both = vectors[t][:, :width] * back[:, :width]
        total = both.sum(axis=1)
        caught = best_of(chain, zones[t], both) / np.where(total > 0, total, 1.0)
        later[t] = np.where(lost | (total <= 0), 1.0, np.minimum(caught, 1.0))
        if t:
            back = earlier(chain, zones[t - 1], zones[t], back, vectors[t - 1].shape[1])
            top = back.max(axis=1, keepdims=True)
            back = back / np.where(top > 0, top, 1.0)
    return Drawn(online=np.minimum(np.array(online), 1.0), later=np.array(later))


def _next(chain: Chain, zone: Index, cell: Index, ahead: Array, rng: Generator) -> tuple[Index, Index, Array, Index]:
    """Zone, cell and posterior of each path a month later, and which of them left the cells."""
    after_zone, after_cell = zone.copy(), cell.copy()
    left = np.zeros(len(zone), dtype=bool)
    parts: list[tuple[Index, Array]] = []
    kind = likes(chain, zone)
    for each in np.unique(kind).tolist():
        rows = np.flatnonzero(kind == each)
        moves = list(chain.moves(each))
        ladder = np.cumsum(np.concatenate([_rows(chance, cell[rows]) for _, chance in moves], axis=1), axis=1)
        starts = np.cumsum([0, *(chance.shape[1] for _, chance in moves)])
        at = (ladder <= rng.random(len(rows))[:, None]).sum(axis=1)
        left[rows] = at >= ladder.shape[1]
        at = np.minimum(at, ladder.shape[1] - 1)
        which = np.searchsorted(starts, at, side="right") - 1
        after_cell[rows] = at - starts[which]
        here = wide(ahead[rows], len(chain.edges(each)) - 1)
        for i, (new, chance) in enumerate(moves):
            held = which == i
            if held.any():
                after_zone[rows[held]] += new - each
                parts.append((rows[held], here[held] @ chance))
    found = np.zeros((len(zone), max(part.shape[1] for _, part in parts)))
    for rows, part in parts:
        found[rows, : part.shape[1]] = part
    total = found.sum(axis=1, keepdims=True)
    return after_zone, after_cell, found / np.where(total > 0, total, 1.0), left


def _rows(chance: Any, cells: Index) -> Array:
    """Chances of some cells, which are kept sparse or not."""
    rows = chance[cells]
    found: Array = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return found
