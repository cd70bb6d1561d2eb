"""Clock times that are written as whole numbers, 1745 for a quarter to six: the minutes between two of them."""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["DAY", "hhmm", "is_clock", "minutes", "minutes_between"]

DAY = 1440
_LEAST_ROWS, _LEAST_TIMES = 20, 24
"""Rows and different times that a column of clock times has at least."""


def is_clock(column: Array) -> bool:
    """Whether a column reads as times of a day, most of them later than one in the morning.

    >>> is_clock(np.array([*range(100, 160), *range(2300, 2360)], dtype=float)), is_clock(np.arange(0.0, 2400.0))
    (True, False)
    """
    known = column[np.isfinite(column)]
    if len(known) < _LEAST_ROWS or known.min() < 0 or known.max() > 2400 or np.mean(known >= 100) < 0.5:
        return False
    whole = bool(np.all(known == np.floor(known))) and bool(np.all(known % 100 < 60))
    return whole and len(np.unique(known)) >= _LEAST_TIMES


def minutes(column: Array) -> Array:
    """Minutes after midnight."""
    return np.asarray(60 * (column // 100) + column % 100)


def hhmm(column: Array) -> Array:
    """Clock times of minutes after midnight, of whichever day."""
    whole = np.rint(column) % DAY
    return np.asarray(100 * (whole // 60) + whole % 60)


def minutes_between(later: Array, earlier: Array) -> Array:
    """From one time to another, the shorter way round the clock.

    >>> minutes_between(np.array([517.0, 10.0]), np.array([515.0, 2350.0])).tolist()
    [2.0, 20.0]
    """
    half = DAY // 2
    return np.asarray((minutes(later) - minutes(earlier) + half) % DAY - half)
