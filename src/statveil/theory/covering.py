"""How many guesses are sure to hit: the least number of windows that hold all that a release leaves open."""

from __future__ import annotations

import numpy as np

from statveil.numeric import Array
from statveil.rounding import REL_TOL

__all__ = ["guesses", "guesses_for_union", "weighted_guesses"]


def guesses(length: Array, window: float) -> Array:
    """Windows that hold intervals of these lengths; a rounding error needs none of its own.

    >>> guesses(np.array([0.5, 2.0, 2.1, 10.0]), 2.0).tolist()
    [1.0, 1.0, 2.0, 5.0]
    """
    ratio = length / window
    return np.maximum(1.0, np.ceil(ratio - REL_TOL * np.maximum(1.0, ratio)))


def guesses_for_union(low: Array, high: Array, window: float) -> int:
    """Windows that hold a union of intervals: each begins where something is not yet held.

    >>> guesses_for_union(np.array([0.0, 5.0, 1.0]), np.array([1.0, 6.0, 1.5]), 2.0)
    2
    """
    slack = REL_TOL * window
    held, count = -np.inf, 0
    order = np.argsort(low, kind="stable")
    for start, stop in zip(low[order].tolist(), high[order].tolist(), strict=True):
        if stop <= held + slack and count:
            continue
        begin = max(start, held)
        more = int(guesses(np.array([stop - begin]), window)[0])
        count, held = count + more, begin + more * window
    return count


def weighted_guesses(width: Array, left: Array, right: Array, window: float) -> Array:
    """Integral of length times guesses over pieces across which the length is linear, from ``left`` to ``right``."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    flat = high - low <= 1e-12 * np.maximum(high, 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        slanted = (_upto(high, window) - _upto(low, window)) / np.where(flat, 1.0, high - low)
    return np.asarray(width * np.where(flat, low * guesses(low, window), slanted))


def _upto(length: Array, window: float) -> Array:
    """Integral of x ceil(x / window) from 0."""
    n = guesses(length, window) - 1  # whole windows below
    whole = 0.5 * window**2 * (n * (n + 1) * (2 * n + 1) / 3 - n * (n + 1) / 2)
    return np.asarray(whole + 0.5 * (n + 1) * (length**2 - (n * window) ** 2))
