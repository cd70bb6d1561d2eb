"""Whether one exact number recurs among many far more often than chance: a fee between two rows, a fixed ratio.

Differences of rows that have nothing to do with each other show how often a number recurs by itself (prices that end
in .99 differ by whole amounts), and those beside it how much more alike the rows are that stand together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtrc

__all__ = ["Chance", "recurring", "recurring_ratio"]

_LEAST = 5
_SHARE = 0.01
_TIMES = 3.0
"""How often it recurs: of all, and beside chance."""
_LUCK = 1e-7
_CANDIDATES = 4
_SMALL = 2.5  # steps up to which differences are those of a smooth column
_BESIDE = 40  # numbers of rows in no relation that tell how often it may recur
_WIDTHS = np.array([*range(-12, -1), *range(2, 13)], dtype=np.float64)  # beside a ratio, in widths of its rounding
_NEAR = 3  # of them, those next to it: a hump may be narrow
_RESOLVED = 20.0  # steps of the larger row: ratios of smaller ones are few
_COARSE = 1 / 80
_RATIOS = (0.02, 0.995)
_APART = 10.0  # steps between the two rows: nearer ones are those of a smooth column

Array = NDArray[np.float64]
Chance = Callable[[], list[Array]]
"""Makes the same numbers of rows in no relation, some times over."""


def recurring(numbers: Array, chance: Chance, cell: float, *, step: bool) -> bool:
    """Whether one of the sizes recurs; numbers within a cell are one, and steps of a lattice where that is ``step``.

    >>> rng = np.random.default_rng(0)
    >>> apart = rng.normal(0, 20, 500)
    >>> recurring(apart, lambda: [rng.normal(0, 20, 500)], 1e-12, step=False)
    False
    >>> apart[::25] = 5
    >>> recurring(apart, lambda: [rng.normal(0, 20, 500)], 1e-12, step=False)
    True
    """
    if len(numbers) < 2 * _LEAST:
        return False
    again = np.concatenate(([False], np.abs(np.diff(numbers)) <= cell / 2))  # a straight line is one piece of evidence
    size = np.sort(np.abs(numbers[~again]))
    places, counts = _places(size, cell)
    far = places > _SMALL * cell if step else places > 1e-9 * size[-1:].max(initial=0.0)
    least = max(_LEAST, _SHARE * len(size))
    likely = np.flatnonzero(far & (counts >= least))
    if not len(likely):
        return False
    likely = likely[np.argsort(-counts[likely], kind="stable")][:_CANDIDATES]
    others = [np.abs(one) for one in chance()]
    beside, times = np.sort(np.concatenate(others)), len(size) / max(sum(map(len, others)), 1)
    for at in likely:
        usual = _usual(size, beside, float(places[at]), cell, times, step=step)
        seen = int(counts[at])
        if seen >= _TIMES * usual and float(pdtrc(seen - 1, usual)) * len(places) < _LUCK:
            return True
    return False


def _places(rising: Array, cell: float) -> tuple[Array, NDArray[np.int64]]:
    first = np.flatnonzero(np.concatenate(([True], np.diff(rising) > cell / 2))) if len(rising) else np.zeros(0, int)
    return rising[first], np.diff(first, append=len(rising))


def _usual(size: Array, beside: Array, place: float, cell: float, times: float, *, step: bool) -> float:
    """How often a size is met by chance, by rows in no relation, times how much more often those near it are met."""
    low, high = place - cell / 2, place + cell * (1.5 if not step else 0.5)
    at = np.searchsorted(beside, [low, high])
    met = int(at[1] - at[0])
    usual = (met + 2 * met**0.5 + 1) * times
    more = 1.0
    for inside, end in ((max(at[0] - _BESIDE, 0), low), (min(at[1] + _BESIDE, len(beside)) - 1, high)):
        window = sorted((float(beside[min(inside, len(beside) - 1)]), float(end)))
        by_chance = _between(beside, *window) * times
        if by_chance > 5 * times:
            more = max(more, (_between(size, *window) + 2) / by_chance)
    usual = float(usual * more)
    if step:  # in a bump that is narrower than that, its neighbours are as frequent
        for sign in (-1, 1):
            near = [place + sign * far * cell for far in (1, 2)]
            usual = max(usual, sum(_between(size, one - cell / 2, one + cell / 2) for one in near) / 2)
    return usual


def _between(rising: Array, low: float, high: float) -> int:
    return int(np.subtract(*np.searchsorted(rising, [high, low])))


def recurring_ratio(first: Array, second: Array, mixes: Callable[[], list[Array]], step: float) -> bool:
    """Whether one ratio, the smaller of two rows over the larger one, recurs up to the rounding of one of them.

    ``mixes`` makes seconds of rows in no relation to the first; ``step`` is that of the rounding.
    """
    small, large = _sorted_pairs(first, second, step)
    if len(large) < 2 * _LEAST:
        return False
    ratio = small / large
    width = float(np.median(0.5 * step / large))
    if width > _COARSE:
        return False  # every ratio is met
    rising = np.sort(ratio)
    others: list[tuple[Array, Array]] = []
    for start in _crowded(rising, 2 * width):
        places = start + np.linspace(0, 2 * width, 17)
        seen = _met(small, large, places, step)
        place, most = float(places[np.argmax(seen)]), int(seen.max())
        if not _RATIOS[0] < place < min(_RATIOS[1], 1 - 2 * _APART * width):
            continue
        if most < max(2 * _LEAST, 2 * _SHARE * len(ratio)):
            continue
        beside = place + 2 * width * _WIDTHS
        near, half = _met(small, large, beside, step), len(beside) // 2
        parts = (near[half - _NEAR : half], near[half : half + _NEAR])
        usual = max(1.0, *(float(one.mean()) for one in (near[:half], near[half:], *parts)))
        if not _beyond(most, usual, 1 / width):
            continue
        others = others or [_sorted_pairs(first, one, step) for one in mixes()]
        here = sum(int(_met(*one, np.array([place]), step)[0]) for one in others)
        there = sum(float(_met(*one, beside, step).mean()) for one in others)
        usual *= max((here + 2 * here**0.5 + 1) / (there + 1), 1.0)
        if _beyond(most, usual, 1 / width):
            return True
    return False


def _crowded(rising: Array, width: float) -> list[float]:
    """Where intervals of a width begin that hold the most numbers, beside those around."""
    here = np.searchsorted(rising, rising + width, side="right") - np.arange(len(rising))
    near = [np.searchsorted(rising, rising + far * width) for far in (-10, -2, 3, 11)]
    around = (near[3] - near[2] + near[1] - near[0]) / 16
    score = here - around - 2 * np.sqrt(around + 1)
    found: list[float] = []
    for at in np.argsort(-score, kind="stable")[: 16 * _CANDIDATES]:
        if all(abs(rising[at] - one) > width for one in found):
            found.append(float(rising[at]))
    return found[:_CANDIDATES]


def _beyond(seen: int, usual: float, chances: float) -> bool:
    # the place was moved to where most rows lie: half as many again may be luck
    return bool(seen >= _TIMES * usual and float(pdtrc(seen - 1, 1.3 * usual)) * chances * 17 < _LUCK)


def _sorted_pairs(first: Array, second: Array, step: float) -> tuple[Array, Array]:
    small, large = np.minimum(first, second), np.maximum(first, second)
    good = (small > 0) & (large >= _RESOLVED * step)
    return small[good], large[good]


def _met(small: Array, large: Array, places: Array, step: float) -> NDArray[np.int64]:
    """How many pairs have each ratio."""
    met: NDArray[np.int64] = (np.abs(small - places[:, None] * large) <= 0.5 * step * (1 + 1e-9)).sum(axis=1)
    return met
