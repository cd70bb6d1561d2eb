"""Small numerical tools that exist once: names of arrays, halving, and zooming in on a largest value."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from statveil.rounding import REL_TOL

__all__ = ["Array", "Index", "bisected", "halved", "whole_parts", "zoomed"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


def whole_parts(ratio: Array) -> Array:
    """:func:`~statveil.rounding.tolerant_floor` of many ratios at once.

    >>> np.floor(np.array([0.3 / 0.1, 2.5])).tolist(), whole_parts(np.array([0.3 / 0.1, 2.5])).tolist()
    ([2.0, 2.0], [3.0, 2.0])
    """
    return np.floor(ratio + REL_TOL * np.maximum(1.0, np.abs(ratio)))


def halved(
    holds: Callable[[float], bool],
    low: float,
    high: float,
    *,
    close: float = 0.0,
    steps: int | None = None,
    geometric: bool = False,
) -> tuple[float, float]:
    """A range at whose end a condition holds (and at whose start it does not), halved again and again.

    It stops after so many ``steps``, where the range is ``close`` times its end long (which is positive), or where
    floating point ends.
    ``geometric`` halves the ratio of the ends rather than their distance.

    >>> halved(lambda x: x * x >= 2, 1.0, 2.0, close=0.1)
    (1.375, 1.5)
    """
    while high - low > close * high and steps != 0:
        middle = math.sqrt(low * high) if geometric else 0.5 * (low + high)
        if not low < middle < high:
            break
        if holds(middle):
            high = middle
        else:
            low = middle
        steps = None if steps is None else steps - 1
    return low, high


def bisected(
    holds: Callable[[Array], NDArray[np.bool_]], low: Array, high: Array, steps: int = 128
) -> tuple[Array, Array]:
    """:func:`halved` for many ranges at once: where the condition holds nowhere, the end stays."""
    for _ in range(steps):
        middle = 0.5 * (low + high)
        inside = (low < middle) & (middle < high)
        if not inside.any():
            break
        met = holds(middle)
        low, high = np.where(inside & ~met, middle, low), np.where(inside & met, middle, high)
    return low, high


def zoomed(
    values: Callable[[Array], Array], low: float, high: float, *, rounds: int, points: int = 17
) -> tuple[float, float, float]:
    """Ends of a range narrowed around the largest value, and that value: each time to the neighbours of the best point.

    >>> low, high, top = zoomed(lambda x: 1 - (x - 0.3) ** 2, 0.0, 1.0, rounds=8)
    >>> round(0.5 * (low + high), 6), round(top, 6)
    (0.3, 1.0)
    """
    top = -math.inf
    for _ in range(rounds):
        fan = np.linspace(low, high, points)
        found = values(fan)
        best = int(np.argmax(found))
        top = max(top, float(found[best]))
        low, high = float(fan[max(best - 1, 0)]), float(fan[min(best + 1, points - 1)])
    return low, high, top
