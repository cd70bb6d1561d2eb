"""Short numbers that are no decimals: multiples of a power of two, ratios of small whole numbers."""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["binary_step", "ratios"]

_MOST_BITS = 44
"""Numbers that use no more bits than this, of 53, are on a lattice of powers of two."""
_LARGEST = 2_000
"""Denominators up to this are small: by chance a float is that close to such a ratio once in 1e8."""
_LOOKED_AT = 20_000
_FEWEST = 3


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
    """Whether at least a few values, or a few hundredths of them, are ratios of small whole numbers."""
    kept = values[np.isfinite(values) & (values != 0) & (np.abs(values) < 1e3)][:_LOOKED_AT]
    return any(int(np.count_nonzero(_is_ratio(kept / unit))) >= max(_FEWEST, len(kept) // 100) for unit in (1.0, 100.0))


def _is_ratio(values: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Continued fractions of all values at once, until the denominator is no longer small."""
    with np.errstate(all="ignore"):
        return _convergents(values)


def _convergents(values: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    rest = np.abs(values)
    before, now = np.zeros(len(values)), np.ones(len(values))  # denominators of the last two convergents
    found = np.zeros(len(values), dtype=bool)
    open_ = np.ones(len(values), dtype=bool)
    for _ in range(20):
        part = rest - np.floor(rest)
        scaled = np.abs(values) * now
        found |= (
            open_ & (np.abs(scaled - np.rint(scaled)) <= 1e-14 * scaled) & (np.rint(scaled) > 0) & (now <= _LARGEST)
        )
        rest = 1 / part
        before, now = now, np.floor(rest) * now + before
        open_ &= np.isfinite(now) & (now <= _LARGEST)
        if not open_.any():
            break
        now, rest = np.where(open_, now, 1.0), np.where(open_, rest, 1.5)
    return found
