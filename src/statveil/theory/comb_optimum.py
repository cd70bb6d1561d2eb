"""The least that any mechanism lets the best window catch of a line, and its integral over lengths.

docs/theory.md, combs: with the window c, the extent E, K = floor(E/c) + 1 teeth, n = floor(L / (K c)) and the widest
spacing w = E / (K - 1),

    F(L) = min((n + 1) c, max(L / K, L - n E)).

:func:`statveil.theory.comb_layout.cost` is what a layout costs against any window, one comb at a time; here are sums
over n in closed form, for arrays of everything, so that a search can try thousands of combs at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from statveil.numeric import Array, whole_parts

__all__ = ["least_cost", "least_cost_integral", "least_cost_mean", "teeth_of"]


def teeth_of(extent: ArrayLike, window: ArrayLike) -> Array:
    """K = floor(E/c) + 1, where a ratio a rounding error below a whole number is that number."""
    ratio = np.asarray(extent, dtype=np.float64) / np.asarray(window, dtype=np.float64)
    return np.asarray(whole_parts(ratio) + 1)


def least_cost(length: ArrayLike, extent: ArrayLike, window: ArrayLike) -> Array:
    """F of lines of these lengths, by the formula above."""
    line, reach, c = (np.asarray(value, dtype=np.float64) for value in (length, extent, window))
    k = teeth_of(reach, c)
    n = np.floor(line / (k * c))
    inner = np.maximum(line / k, line - n * np.maximum(reach, (k - 1) * c))
    return np.asarray(np.minimum((n + 1) * c, inner))


def least_cost_integral(length: ArrayLike, extent: ArrayLike, window: ArrayLike) -> Array:
    """Integral of F from 0 to each length.

    From n K c to (n + 1) K c the formula reads, with the ends in between: L/K up to n K w, L - n E up to
    n E + (n + 1) c, and (n + 1) c; from the first n with n w >= (n + 1) c on, L/K throughout.
    """
    line, reach, c = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (length, extent, window)))
    k = teeth_of(reach, c)
    w = np.where(k > 1, np.maximum(reach / np.maximum(k - 1, 1.0), c), 2 * c)  # one tooth: all is caught from n = 1 on
    reach = (k - 1) * w
    with np.errstate(divide="ignore"):
        level = np.where(w > c, np.ceil(c / np.where(w > c, w - c, 1.0)), np.inf)
    n = np.floor(line / (k * c))
    m = np.minimum(n, level)
    total = _blocks(m, k, w, c)
    even = 0.5 / k * (line * line - (m * k * c) ** 2)
    # the last block, if it is not even throughout
    top = np.minimum(line, m * k * w)
    middle = np.clip(line, m * k * w, m * reach + (m + 1) * c)
    part = 0.5 / k * (top * top - (m * k * c) ** 2)
    part += 0.5 * ((middle - m * reach) ** 2 - (m * w) ** 2)
    part += (m + 1) * c * np.maximum(line - (m * reach + (m + 1) * c), 0.0)
    return np.asarray(total + np.where(n >= level, even, part))


def _blocks(m: Array, k: Array, w: Array, c: Array) -> Array:
    """Integral of F from 0 to m K c, where no block up to there is even throughout."""
    first = 0.5 * m * (m - 1)  # sum of n
    second = (m - 1) * m * (2 * m - 1) / 6  # sum of n^2
    ahead = second + 2 * first + m  # sum of (n + 1)^2
    return np.asarray(
        0.5 * k * (w * w - c * c) * second
        + 0.5 * (c * c * ahead - w * w * second)
        + (k - 1) * c * (c * ahead - w * (second + first))
    )


def least_cost_mean(low: ArrayLike, high: ArrayLike, extent: ArrayLike, window: ArrayLike) -> Array:
    """Mean of F over lengths that are equally likely between two ends, given in either order."""
    a, b = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    apart = np.abs(b - a)
    same = apart <= 1e-7 * np.maximum(a, b)  # the difference of two integrals would cancel
    whole = least_cost_integral(b, extent, window) - least_cost_integral(a, extent, window)
    return np.where(same, least_cost(np.maximum(a, b), extent, window), whole / np.where(same, 1.0, b - a))
