"""Releases of a drifting statistic as a hidden chain: zones that a release stands for, cut into cells.

Memoryless: the zones are the bins of the plan, every month anew; the first and the last one go on beyond the range, as
the mechanism has it. Sticky: a release stays while the statistic is within half a bin of it, and then moves by half a
bin until it is again, so that zones are two halves of which a move tells one. No release moves beyond those that cover
the ends of the range, and these go on beyond it too: an end has no edge that could tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from statveil.numeric import Array, Index
from statveil.theory.drift import Drift

__all__ = ["Chain", "memoryless", "sticky"]

_DENSE, _THIN = 300, 0.35
"""Zones of more cells have their chances kept sparse, where fewer than this share of them are there."""


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Zones by number. ``blocks``: edges of the cells of each block; a zone is one block, or two neighbouring ones."""

    drift: Drift
    window: float
    size: float
    """The largest cell."""
    halves: bool
    blocks: dict[int, Array] = field(repr=False)
    first: int
    start: Array = field(default_factory=lambda: np.zeros(0))
    """Mass of the cells of the first zone."""
    _found: dict[tuple[int, int], Any] = field(default_factory=dict, repr=False)
    _shapes: dict[tuple[float, ...], Any] = field(default_factory=dict, repr=False)
    _held: dict[int, Index] = field(default_factory=dict, repr=False)
    _like: dict[int, int] = field(default_factory=dict, repr=False)
    _kinds: dict[tuple[Any, ...], int] = field(default_factory=dict, repr=False)

    def starting(self, start: Array) -> Chain:
        """The chain with this mass in the cells of the first zone."""
        return replace(self, start=start)

    def alike(self, other: Chain, kept: tuple[int, int]) -> bool:
        """Whether this chain is the other one, moved or turned over, as far as histories of that were followed.

        What was not followed counts as hit, so that nothing is said too low where the two differ only beyond.
        """
        return self._moved(other, kept, turned=False) or (
            self.drift.symmetric and self._moved(other, kept, turned=True)
        )

    def _moved(self, other: Chain, kept: tuple[int, int], *, turned: bool) -> bool:
        one, two = self.start / self.start.sum(), other.start / other.start.sum()
        one = one[::-1] if turned else one
        if len(one) != len(two) or not np.allclose(one, two, rtol=1e-9, atol=1e-15):
            return False
        here, there = self.edges(self.first), other.edges(other.first)
        own = 1 if self.halves else 0
        for away in range(kept[0], kept[1] + own + 1):
            mine = self.blocks.get(self.first + own - away if turned else self.first + away)
            its = other.blocks.get(other.first + away)
            if mine is None or its is None or len(mine) != len(its):
                return False
            moved = here[-1] - mine[::-1] if turned else mine - here[0]
            if not np.allclose(moved, its - there[0], rtol=0.0, atol=1e-9 * self.size):
                return False
        return True

    def edges(self, zone: int) -> Array:
        """Edges of the cells of a zone."""
        return np.concatenate([self.blocks[zone], self.blocks[zone + 1][1:]]) if self.halves else self.blocks[zone]

    def _reached(self, zone: int) -> range:
        """Blocks that may hold next month what a zone holds now."""
        here = self.edges(zone)
        low, high = here[0] + self.drift.ends[0], here[-1] + self.drift.ends[1]
        down, up = zone - 1, zone + 2 if self.halves else zone + 1
        while (found := self.blocks.get(down)) is not None and found[-1] > low:
            down -= 1
        while (found := self.blocks.get(up)) is not None and found[0] < high:
            up += 1
        return range(down + 1, up)

    def like(self, zone: int) -> int:
        """The first zone that is this one, moved, with all that it leads to: what is worked out for it holds here."""
        if zone not in self._like:
            here, blocks = self.edges(zone), self._reached(zone)
            ends = [(*np.round(self.blocks[i][[0, -1]] - here[0], 9), len(self.blocks[i])) for i in blocks]
            self._like[zone] = self._kinds.setdefault((blocks.start - zone, *ends), zone)
        return self._like[zone]

    def moves(self, zone: int) -> Iterator[tuple[int, Any]]:
        """Zones of the next month, with the chance of each of their cells for each cell of this zone."""
        own = zone + 1 if self.halves else zone
        for number in self._reached(zone):
            if zone <= number <= own:
                if number == zone:
                    yield zone, self.matrix(zone, zone)
                continue
            # halves: above, the new zone ends with this half; below, it begins with it
            new = number - 1 if self.halves and number > own else number
            yield new, self.matrix(zone, new)

    def matrix(self, zone: int, new: int) -> Any:
        """Chance of each cell of the new zone, given that it is the next, for each cell of this one; sparse if long."""
        if (zone, new) in self._found:
            return self._found[zone, new]
        here, there = self.edges(zone), self.edges(new)
        shape = (len(here), len(there), *np.round([there[0] - here[0], np.ptp(here), np.ptp(there)], 10), new - zone)
        if shape not in self._shapes:
            chance = self.drift.between(here, there)
            if self.halves and new != zone:
                half = len(self.blocks[new]) - 1
                chance[:, :half] = 0.0 if new > zone else chance[:, :half]
                chance[:, half:] = 0.0 if new < zone else chance[:, half:]
            few = len(here) > _DENSE and np.count_nonzero(chance) < _THIN * chance.size
            self._shapes[shape] = csr_array(chance) if few else chance
        self._found[zone, new] = self._shapes[shape]
        return self._found[zone, new]

    def best(self, zone: int, mass: Array) -> Array:
        """What a window of each row touches at most: it begins anywhere in a cell and counts every cell it reaches."""
        if zone not in self._held:
            edges = self.edges(zone)
            reach = edges[1:] + self.window * (1 - 1e-12)
            self._held[zone] = np.minimum(np.searchsorted(edges[:-1], reach, side="left"), len(edges) - 1)
        total = np.concatenate([np.zeros((len(mass), 1)), np.cumsum(mass, axis=1)], axis=1)
        found: Array = (total[:, self._held[zone]] - total[:, :-1]).max(axis=1)
        return found


def _cut(low: float, high: float, size: float) -> Array:
    return np.linspace(low, high, max(2, int(np.ceil((high - low) / size * (1 - 1e-9)))) + 1)


def memoryless(edges: Array, first: int, *, drift: Drift, window: float, size: float, room: float) -> Chain:
    """Bins as zones.

    ``room``: how far the first and the last bin reach beyond the range; whoever leaves it counts as hit.
    """
    ends = edges.copy()
    ends[0], ends[-1] = ends[0] - room, ends[-1] + room
    blocks = {i: _cut(ends[i], ends[i + 1], size) for i in range(len(edges) - 1)}
    return Chain(drift=drift, window=window, size=size, halves=False, blocks=blocks, first=first)


def sticky(
    low: float, half: float, ends: tuple[float, float], *, drift: Drift, window: float, size: float, room: float
) -> Chain:
    """Zones of two halves, one of them from ``low`` on; the outermost ones cover the ends of the range.

    ``room``: how far they reach beyond it; whoever leaves it counts as hit.
    """
    hair = 1e-9 * half
    down = max(0, math.ceil((low - ends[0] - hair) / half))
    up = max(0, math.ceil((ends[1] - low - 2 * half - hair) / half))
    cuts = low + half * np.arange(-down, up + 3)
    cuts[0], cuts[-1] = min(cuts[0], ends[0] - room), max(cuts[-1], ends[1] + room)
    blocks = {i - down: _cut(cuts[i], cuts[i + 1], size) for i in range(len(cuts) - 1)}
    return Chain(drift=drift, window=window, size=size, halves=True, blocks=blocks, first=0)
