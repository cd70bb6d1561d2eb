"""Short numbers that are no decimals: multiples of a power of two or of any number, ratios of small whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["binary_step", "common_multiples", "log_ratios", "multiples", "of_multiples", "ratios", "spacing"]

_MOST_BITS = 44
"""Numbers that use no more bits than this, of 53, are on a lattice of powers of two."""
_LARGEST = 10_000
"""Denominators up to this are small: by chance a float is that close to such a ratio once in ten million."""
_CLOSE = 2e-15
_LOG_LARGEST, _LOG_CLOSE = 1_000, 1e-14  # of logarithms, whose inverses have larger errors
_LOOKED_AT = 20_000
_FEWEST = 3
_PAIRS, _FEWEST_PAIRS = 2_048, 8
_MULTIPLE_CLOSE = 4e-15  # three rounding errors of a product each
_BACK_CLOSE = 3e-14  # of what logarithms and powers come back from
_MULTIPLES = ((20_000, 0.04), (10**6, 0.3))
"""Whole numbers up to this, in so many pairs: by chance they are met in a pair of 500 at most."""
_SPACED = ((20_000, 0.015), (300_000, 0.05))
"""The same of differences, where a row off the lattice spoils four times as many."""
_TENFOLD = (1.0, 2.5, 5.0, 10.0, 20.0, 2 / 3, 1.5, -1.0, -2.5, -5.0, -10.0, -20.0)
"""Decimal logarithms times these: magnitudes of stars and earthquakes, decibels, absorbances."""
_NATURAL = (1.0, 10.0, 100.0, 1 / np.log(2), 10 / np.log(2), 12 / np.log(2), -1.0, -1 / np.log(2))
_POWERS = (2.0, 3.0, 1.5, 4.0, 0.5, 1 / 3, 2 / 3, 0.75, 4 / 3, 0.25, -2.0, -0.5, -1 / 3)
_UNITS = (1.0, 100.0, 1e3, 1e5, 1e6)
"""Plain ratios, percentages, and rates per so many."""


def binary_step(values: Array) -> float | None:
    """The power of two that divides every value, if they have far fewer bits than floats have.

    >>> binary_step(np.array([1.25, 7.5, 3.0, 10.75]))
    0.25
    """
    kept = values[values != 0]
    if len(kept) < 4:
        return None
    mantissa, exponent = np.frexp(kept)
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = np.log2((whole & -whole).astype(np.float64)).astype(np.int64) + exponent - 53
    low, high = int(lowest.min()), int(exponent.max())
    return float(2.0**low) if high - low <= _MOST_BITS else None


def ratios(values: Array) -> bool:
    """Whether at least three values are ratios of small whole numbers, in one of the usual units."""
    kept = values[np.isfinite(values) & (values != 0)]
    if len(kept) > _LOOKED_AT:
        kept = kept[:: len(kept) // _LOOKED_AT + 1]
    return any(
        int(np.count_nonzero(_is_ratio(part))) >= _FEWEST
        for part in (kept[np.abs(kept / unit) < 1e3] / unit for unit in _UNITS)
    )


def multiples(values: Array, *, close: float = _MULTIPLE_CLOSE, most: int = _PAIRS) -> bool:
    """Whether many of some distinct rising values are whole multiples of one number, whatever it is.

    A fifth of the rows in another unit, converted with all digits, are enough: two of them stand to each other as two
    whole numbers do.

    >>> rng = np.random.default_rng(1)
    >>> yards, free = 0.9144 * rng.integers(500, 4000, 300), rng.gamma(4, 400, 300)
    >>> multiples(np.sort(np.where(rng.random(300) < 0.5, yards, free)))
    True
    >>> multiples(np.sort(free))
    False
    """
    kept = values[values != 0]
    # pairs of about one size, so that the whole numbers stay short; the fewer the rows, the more pairs of them
    many = max(3, min(len(kept) // 4, 2 * _PAIRS // max(len(kept), 1)))
    apart = np.unique(np.linspace(1, max(1, len(kept) // 4), many).astype(np.int64)).tolist()
    first = np.concatenate([kept[:-by] for by in apart])
    second = np.concatenate([kept[by:] for by in apart])
    return common_multiples(first, second, close=close, most=most)


def of_multiples(values: Array) -> str | None:
    """Which logarithms or powers distinct rising values are of multiples of one number, whatever it is; ``None``: none.

    A constant before a power, or added to a logarithm, is a factor of the numbers behind it.

    >>> of_multiples(np.unique(25 - 2.5 * np.log10(np.random.default_rng(1).integers(500, 5000, 200))))
    'logarithms'
    >>> of_multiples(np.unique(np.pi / 6 * np.random.default_rng(1).integers(100, 900, 200) ** 3.0))
    'powers or roots'
    """
    positive = values[values > 0]
    with np.errstate(all="ignore"):
        tens = ((10.0 ** (values / by), "logarithms") for by in _TENFOLD)
        others = ((np.exp(values / by), "logarithms") for by in _NATURAL)
        powers = ((positive ** (1 / by), "powers or roots") for by in _POWERS)
        for back, says in (*tens, *others, *powers):
            kept = back[np.isfinite(back) & (back > 1e-290)]
            if len(kept) >= 0.8 * len(values) and multiples(np.unique(kept), close=_BACK_CLOSE, most=_PAIRS // 4):
                return says
    return None


def spacing(values: Array) -> tuple[float, float] | None:
    """The step of a lattice, with whatever offset, that many of some distinct rising values lie on; ``None``: of none.

    Differences of values on it are whole multiples of the step, and two of them stand to each other as whole numbers.

    Returns
    -------
    tuple of float, optional
        The step beside the values, and beside the largest of them.
    """
    number = len(values)
    if number < 2 * _FEWEST_PAIRS:
        return None
    most = max(1, min(number // 20, 12))  # of near neighbours, whose whole numbers are short
    apart = np.unique(np.linspace(1, most, min(most, max(1, 4 * _PAIRS // number))).astype(np.int64)).tolist()
    first = np.concatenate([values[:-by] for by in apart])
    second = np.concatenate([values[by:] for by in apart])
    size = np.maximum(np.abs(first), np.abs(second))
    gap = second - first
    error = 4 * np.spacing(size) / gap
    sure = np.flatnonzero(error < 2.0**-38)
    draw = np.random.default_rng(0)
    one, two = (draw.permutation(sure)[: 2 * _PAIRS] for _ in range(2))
    swap = gap[one] > gap[two]
    one, two = np.where(swap, two, one), np.where(swap, one, two)
    ratio = gap[one] / gap[two]
    kept = np.flatnonzero((ratio > 1e-3) & (ratio < 1))
    one, two, ratio = one[kept], two[kept], ratio[kept]
    close = error[one] + error[two]
    with np.errstate(all="ignore"):
        below = _convergents(ratio, close, _SPACED[-1][0])
    for largest, share in reversed(_SPACED):  # the finer first: of a fine lattice, small numbers show a coarser one
        hit = (below > 0) & (below <= largest)
        # 0.3 n^2 fractions up to 1 have denominators up to n
        chance = float(np.sum(np.minimum(1.0, 0.61 * largest**2 * close)))
        if np.count_nonzero(hit) >= max(_FEWEST_PAIRS, share * len(ratio), 2 * chance + 6 * np.sqrt(chance)):
            step = gap[two[hit]] / below[hit]
            top = float(np.abs(values[[0, -1]]).max())
            # common factors shorten many fractions, so that the smallest steps are the step itself, but for chance
            return float(np.quantile(step / size[two[hit]], 0.1)), float(np.quantile(step, 0.1)) / top
    return None


def common_multiples(first: Array, second: Array, *, close: float = _MULTIPLE_CLOSE, most: int = _PAIRS) -> bool:
    """Whether the two numbers of many pairs are whole multiples of one number, which may differ from pair to pair."""
    kept = np.flatnonzero(np.isfinite(first) & np.isfinite(second) & (first != 0) & (second != 0))
    with np.errstate(all="ignore"):
        ratio = np.abs(first[kept] / second[kept])
    ratio = np.where(ratio > 1, 1 / np.maximum(ratio, 1e-300), ratio)
    ratio = ratio[(ratio > 1e-3) & (ratio < 1 - 0.9 / _MULTIPLES[-1][0])]  # closer to 1, only longer numbers stand so
    if len(ratio) > most:
        ratio = ratio[:: len(ratio) // most + 1]
    if len(ratio) < _FEWEST_PAIRS:
        return False
    return any(
        int(np.count_nonzero(_is_ratio(ratio, close, largest))) >= max(_FEWEST_PAIRS, share * len(ratio))
        for largest, share in _MULTIPLES
    )


def log_ratios(values: Array) -> bool:
    """Whether a third of the values, and five at least, are logarithms of ratios of small whole numbers.

    >>> log_ratios(np.log2(np.array([3 / 7, 11 / 5, 9 / 13, 17 / 4, 6 / 19, 23 / 8])))
    True
    """
    # powers of the base itself come back from whole numbers, which prove nothing
    kept = values[np.isfinite(values) & (np.abs(values) < 12) & (np.abs(values - np.rint(values)) > 1e-9)]
    if len(kept) > _LOOKED_AT:
        kept = kept[:: len(kept) // _LOOKED_AT + 1]
    least = max(5, len(kept) / 3)
    for back in (np.exp, np.exp2, lambda x: 10.0**x):
        original = back(kept)
        original = original[(original > 1e-3) & (original < 1e3)]  # beyond, every float is such a ratio
        if int(np.count_nonzero(_is_ratio(original, _LOG_CLOSE, _LOG_LARGEST))) >= least:
            return True
    return False


def _is_ratio(values: Array, close: float = _CLOSE, largest: int = _LARGEST) -> NDArray[np.bool_]:
    """Continued fractions of all values at once, until the denominator is no longer small."""
    with np.errstate(all="ignore"):
        return _convergents(values, np.full(len(values), close), largest) > 0


def _convergents(values: Array, close: Array, largest: int) -> Array:
    """The denominator of the small ratio that each value is; 0 where it is none."""
    found = np.zeros(len(values))
    open_ = np.arange(len(values))  # those whose denominators are still small
    size: Array = np.abs(values)
    rest = size
    before, now = np.zeros_like(size), np.ones_like(size)  # denominators of the last two convergents
    for _ in range(20):
        scaled = size * now
        nearest = np.rint(scaled)
        hit = (np.abs(scaled - nearest) <= close[open_] * scaled) & (nearest > 0)
        found[open_[hit]] = now[hit]
        rest = 1 / (rest - np.floor(rest))
        before, now = now, np.floor(rest) * now + before
        left = ~hit & (now <= largest)
        if not left.any():
            break
        open_, size, rest, before, now = open_[left], size[left], rest[left], before[left], now[left]
    return found
