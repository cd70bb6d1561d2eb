"""Whether rows of one value stand together, whatever these values are: in the order of their last digits, of a hash.

Other searches ask whether large values stand near large ones. Here every value is a label of its own, and so is every
rest of the values' places modulo a small number: rows that were put in order by any function of the value have places
that depend on it. The share of what the value tells of a row's place, or of a wave along the rows, is held against
what rows in no order would show.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import rfft
from scipy.special import chdtrc

from statveil.tables.blocks import Array

__all__ = ["told_by_places"]

Codes = NDArray[np.int64]

_ROWS = 2**14  # that are looked at
_MOST, _WORK = 256, 2**22  # labels, and numbers in all waves of one grouping
_RESTS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 25, 50, 60, 100)
_ON_LATTICE = 1e-6  # of a step
_REORDERED = 19  # permutations that must show less
_FEWEST = 30


def told_by_places(values: Array, *, level: float) -> float:
    """How much the value tells of where its row stands; 0 where rows in no order could look the same.

    ``level`` is how often these may be taken for rows in some order.

    >>> rng = np.random.default_rng(0)
    >>> counts = rng.poisson(30, 500).astype(float)
    >>> told_by_places(counts, level=1e-3)
    0.0
    >>> bool(told_by_places(counts[np.argsort(counts % 10, kind="stable")], level=1e-3) > 0.5)
    True
    """
    known = values[np.isfinite(values)][:_ROWS]
    if len(known) < _FEWEST:
        return 0.0
    groupings = list(_groupings(known))
    rng = np.random.default_rng(0)
    best = 0.0
    for code in groupings:
        share, chance = _told(code)
        if chance * len(groupings) > level or share <= best:
            continue
        if all(_told(rng.permutation(code))[0] < share for _ in range(_REORDERED)):
            best = share
    return best


def _groupings(values: Array) -> list[Codes]:
    """Each value for itself, the most frequent ones; and the rests of the places on a lattice, if they lie on one."""
    places, code, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(places) < 2:
        return []
    most = max(2, min(_MOST, _WORK // len(values)))
    label = np.full(len(places), min(most, len(places)), dtype=np.int64)
    frequent = np.argsort(-counts, kind="stable")[:most]
    frequent = frequent[counts[frequent] > 1]
    label[frequent] = np.arange(len(frequent))
    found = [_numbered(label[code.ravel()])]
    steps = np.diff(places)
    step = float(steps.min())
    number = np.round((places - places[0]) / step)
    if np.abs((places - places[0]) / step - number).max() <= _ON_LATTICE * max(1.0, number[-1]):
        found += [_numbered((number % rest).astype(np.int64)[code.ravel()]) for rest in _RESTS if rest < number[-1]]
    return [one for one in found if one.max() > 0]


def _numbered(code: Codes) -> Codes:
    return np.unique(code, return_inverse=True)[1].ravel().astype(np.int64)


def _told(code: Codes) -> tuple[float, float]:
    """The largest share of the place, or of a wave, that the label tells, and how often chance gives as much."""
    rows, sizes = len(code), np.bincount(code).astype(np.float64)
    free = len(sizes) - 1
    # of the places themselves: the statistic of Kruskal and Wallis
    place = np.arange(rows) - 0.5 * (rows - 1)
    sums = np.bincount(code, place)
    trend = float((sums * sums / sizes).sum()) * 12 / (rows * (rows + 1))
    # of waves: each label's own, as long as its rows; of the sum, twice is a chi-square with twice the freedom
    waves = np.zeros(rows // 2 + 1)
    for number, size in enumerate(sizes):
        wave = rfft((code == number).astype(np.float32))
        waves += (wave.real.astype(np.float64) ** 2 + wave.imag.astype(np.float64) ** 2) / size
    waves = waves[1:]
    top, last = float(waves[: (rows - 1) // 2].max(initial=0.0)), float(waves[-1]) if rows % 2 == 0 else 0.0
    looks = [
        (float(chdtrc(free, trend)), -trend),
        (float(chdtrc(2 * free, 2 * top)) * len(waves), -top),
        (float(chdtrc(free, last)), -last),
    ]
    chance, seen = min(looks)[0], -min(looks)[1]
    return min(1.0, max(0.0, (seen - free) / max(rows - 1 - free, 1))), 3 * chance
