"""Released numbers to a fixed number of decimals, the same on every engine."""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["rounded"]


def rounded(values: Array, digits: int | None) -> Array:
    """Finite numbers as ``floor(x * 10**digits + 0.5) / 10**digits``; all others as they are.

    Engines round halves differently; this formula has only operations that are exact or correctly rounded everywhere.

    >>> rounded(np.array([1.25, -1.25, np.nan]), 1).tolist()
    [1.3, -1.2, nan]
    """
    if digits is None:
        return values
    power = 10.0**digits
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * power
        short = np.floor(scaled + 0.5) / power
    # a number too large to be scaled has no such decimals, so it stays as it is
    return np.where(np.isfinite(scaled), short, values)
