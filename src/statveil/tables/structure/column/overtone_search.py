"""Gaps far apart on a lattice of so many places that no single one has rows enough to show them.

Amounts in cents that were changed by a rate near 1 and rounded again leave out, or use twice, one place in so many. On
a few hundred places that is seen place by place (:mod:`skip_search`). On a hundred thousand it is a wave: weak at its
own frequency g, but as strong at 2 g, 3 g, 4 g, and with a known sign at each: whole numbers times 1 / (1 - g) leave
out the places p where p g is nearest to a whole number and a half, and those times 1 / (1 + g) use them twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.column.lattice_search import Lattice
from statveil.tables.structure.column.rough_search import LUCK, PERIODS, real_parts

__all__ = ["find_overtones"]

_FEWEST_PLACES, _FARTHEST = 4_000, 2**20
_FEWEST_ROWS = 1_000
_MOST_OVERTONES = 64
_GREATEST = 1 / 8
"""Share of the places that are left out: beyond, the wave itself stands out."""
_CAP = 4.0
"""Standard errors that one overtone may add: a single wave that stands out is looked for elsewhere."""


def find_overtones(lattice: Lattice, counts: Array) -> bool:
    """Whether places are left out, or used twice, as by a factor near 1, on a lattice of very many."""
    from scipy.special import ndtri

    if not lattice.anchored or np.sum(counts) < _FEWEST_ROWS:
        return False
    found = real_parts(lattice, counts, farthest=_FARTHEST)
    if found is None or found[1] < _FEWEST_PLACES:
        return False
    parts, span = found
    parts = np.clip(parts, -_CAP, _CAP)
    sure = -float(ndtri(LUCK / (2 * len(parts))))
    return any(float(np.max(np.abs(together))) > sure for together in _together(parts, span))


def _together(parts: Array, span: int) -> Iterator[Array]:
    """For every share g of the places, what its overtones say, in standard errors.

    ``parts`` are those of all frequencies from 0 to half a turn per place.
    """
    size = 2 * (len(parts) - 1)
    overtones = _MOST_OVERTONES
    most = 0.5 / overtones
    least = 6 * PERIODS / span
    while most <= _GREATEST:
        # shares in parts of a bin, so that the last overtone is met as well as the first
        share = np.arange(math.ceil(max(least, 0.0) * size * overtones), math.floor(most * size * overtones))
        if len(share):
            total = np.zeros(len(share))
            for number in range(1, overtones + 1):
                met = parts[(number * share + overtones // 2) // overtones]
                total += -met if number % 2 else met
            yield total / math.sqrt(overtones)
        least = max(least, most)
        overtones, most = overtones // 2, 2 * most
