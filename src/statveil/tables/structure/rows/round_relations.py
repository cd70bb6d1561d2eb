"""Whether differences, totals or sums of rows are multiples of a number of which the column's own values are none.

A total that is a round amount, or a difference in whole steps, is round again in one place only. Rows in no relation
tell how often that is so by itself: prices that end in .99 differ by whole amounts whoever the buyer is.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from statveil.tables.structure.rows.recurring_search import Chance

__all__ = ["on_round_numbers"]

_LEAST = 6
_EXACT, _COARSER = 0.1, 0.25
"""Share that is round beyond chance: where no number is by itself, and where some multiples are met anyway."""
_LUCK = 1e-8
_STEPS = (2, 3, 5, 7, 10, 11, 13, 100)
_ROUND = tuple(10.0**power for power in range(-4, 5))
_CLOSE = 0.02  # of a step: rounding errors that leave something to see
_FEWEST = 20
_MOST_STEPS = 2.0**40

Array = NDArray[np.float64]


def on_round_numbers(numbers: Array, chance: Chance, fine: float, *, step: float, kept: Collection[int] = ()) -> bool:
    """Whether far more of the numbers are multiples than of those that ``chance`` makes of rows in no relation.

    Parameters
    ----------
    numbers : array
        Differences, totals or sums.
    chance : callable
        The same of other rows, which is asked for only where many are.
    fine : float
        Rounding error of a number.
    step : float
        The step on which all of them lie anyway, and 0 if there is none.
    kept : collection of int
        Of totals whose rows all move by one number, how many rows they have: rows of one rest by a period have totals
        of few rests, which such a move keeps.
    """
    numbers = numbers[np.isfinite(numbers)]
    if len(numbers) < _FEWEST:
        return False
    if step:
        number = numbers / step
        whole = np.rint(number)
        if float(np.max(np.abs(whole), initial=0.0)) > _MOST_STEPS:
            return False
        off = numbers - whole * step
        # the totals of rows that are all off by the same stand on the lattice at some place of their own
        return not np.any(np.abs(off) > 1e-3 * step) and _on_coarser(whole, chance, step, kept)
    for one in _ROUND:
        close = fine / one + 1e-10
        if close <= _CLOSE and _multiples(numbers, chance, one, close):
            return True
    return False


def _multiples(numbers: Array, chance: Chance, step: float, close: float) -> bool:
    """Whether many are multiples of a step, up to a share of it."""
    seen, rows = _hit(numbers, step, close)
    if seen < max(_LEAST, _EXACT * rows) or not _far_beyond(seen, rows, 2 * close, _EXACT):
        return False
    both = [_hit(one, step, close) for one in chance()]
    return _far_beyond(seen, rows, max(2 * close, _share(both)), _EXACT)


def _hit(numbers: Array, step: float, close: float) -> tuple[int, int]:
    number = numbers / step
    whole = np.rint(number)
    other = whole != 0  # a difference of nothing is a copy, and no multiple
    return int(np.count_nonzero(np.abs(number - whole)[other] <= close)), int(np.count_nonzero(other))


def _on_coarser(whole: Array, chance: Chance, step: float, kept: Collection[int]) -> bool:
    spread = float(np.subtract(*np.quantile(whole, [0.75, 0.25]))) / 1.35
    larger = {round(one / step) for one in _ROUND if one > step and abs(one / step - round(one / step)) < 1e-6}
    others: list[Array] = []
    for period in sorted({*_STEPS, *larger}):
        if period < 2 or period > spread:
            continue  # a narrow hump has favourites of its own
        rest = np.mod(whole, period)
        if period > len(whole):  # hardly any rest is met twice by chance
            rests, counts = np.unique(rest, return_counts=True)
            mode = float(rests[np.argmax(counts)])
        else:
            mode = float(np.argmax(np.bincount(rest.astype(np.int64))))
        seen, rows = _at(whole, period, mode)
        least = max((math.gcd(period, parts) for parts in kept), default=1) / period
        if not _far_beyond(seen, rows, least, _COARSER):
            continue
        others = others or [np.rint(one / step) for one in chance()]
        share = max(least, _share([_at(one, period, mode) for one in others]))
        if _far_beyond(seen, rows, share, _COARSER):
            return True
    return False


def _at(whole: Array, period: int, rest: float) -> tuple[int, int]:
    """How many leave a rest, of all in the stretches of one period about such places, but for those about 0.

    Where numbers thin out, fewer lie in the middle of such a stretch than on average of it; a peak at 0 is left out.
    """
    place = np.rint((whole - rest) / period) * period + rest
    away = np.abs(place) >= period
    return int(np.count_nonzero((place == whole) & away)), int(np.count_nonzero(away))


def _share(seen: list[tuple[int, int]]) -> float:
    """The share that are round by chance, and rather more."""
    hits, rows = sum(one[0] for one in seen), sum(one[1] for one in seen)
    if not rows:
        return 1.0
    share = hits / rows
    return float(min(share + 3 * (share * (1 - share) / rows) ** 0.5 + 1 / rows, 1.0))


def _far_beyond(seen: int, rows: int, share: float, least: float) -> bool:
    if rows < _FEWEST or share >= 1 or seen < _LEAST or (seen / rows - share) / (1 - share) < least:
        return False
    return float(bdtrc(seen - 1, rows, share)) < _LUCK
