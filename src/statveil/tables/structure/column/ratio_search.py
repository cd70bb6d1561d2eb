"""Short numbers that are no decimals: multiples of a power of two, ratios of small whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.glance import glance

__all__ = ["binary_step", "denominators", "log_ratios", "ratios"]

_MOST_BITS = 44
"""Numbers that use no more bits than this, of 53, are on a lattice of powers of two."""
_LARGEST = 10_000
"""Denominators up to this are small: by chance a float is that close to such a ratio once in ten million."""
_CLOSE = 2e-15
_LOG_LARGEST, _LOG_CLOSE = 1_000, 1e-14  # of logarithms, whose inverses have larger errors
_LOOKED_AT = 20_000
_FEWEST = 3
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
    for some in (kept[glance(len(kept))], kept):  # what a few values need, all need
        low, high = _reach_of_bits(some)
        if high - low > _MOST_BITS:
            return None
    return float(2.0**low)


def _reach_of_bits(values: Array) -> tuple[int, int]:
    """The lowest bit that any of some values has, and one more than the highest, as powers of two."""
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = np.log2((whole & -whole).astype(np.float64)).astype(np.int64) + exponent - 53
    return int(lowest.min()), int(exponent.max())


def ratios(values: Array) -> bool:
    """Whether at least three values are ratios of small whole numbers, in one of the usual units."""
    kept = values[np.isfinite(values) & (values != 0)]
    if len(kept) > _LOOKED_AT:
        kept = kept[:: len(kept) // _LOOKED_AT + 1]
    return any(
        int(np.count_nonzero(_is_ratio(part))) >= _FEWEST
        for part in (kept[np.abs(kept / unit) < 1e3] / unit for unit in _UNITS)
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
    return denominators(values, close, largest) > 0


def denominators(values: Array, close: Array | float, largest: int) -> Array:
    """The denominator of the small ratio that each value is, up to its share ``close``; 0 where it is none.

    Continued fractions of all values at once, until the denominator is no longer small.

    >>> denominators(np.array([0.75, 5 / 7, np.pi / 4]), 1e-15, 1000)
    array([4., 7., 0.])
    """
    within = np.broadcast_to(close, values.shape)
    with np.errstate(all="ignore"):
        return _convergents(values, within, largest)


def _convergents(values: Array, close: Array, largest: int) -> Array:
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
