"""Natural bounds that a column keeps to: nothing below 0, counts from 1 on, shares up to 1, percentages up to 100."""

from __future__ import annotations

import math

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["natural_bounds"]

CLEAR = 20.0
"""How many times likelier the column's end is at a bound than anywhere else, for it to be named."""
_NEAR = 0.1
"""Of the mean: a column of positive numbers that comes so near to 0 is taken to be of a kind that starts there. And of
the way from 0 to 1: how near to 1 a column must begin, and its rows lie to each other there, for it to begin at 1."""
_THIN = 0.03
"""Of the spread: a column that comes so near to 1 from above is taken to begin there."""
_EDGE = 8
"""Rows next to the end whose distances say how far the end lies from the bound."""


def natural_bounds(values: Array) -> tuple[float | None, float | None]:
    """The natural minimum and maximum that a column keeps to and comes near, or ``None``.

    The distance between the end of a column and a bound that cuts it off is about that of neighbouring rows; without a
    bound it would be anything up to the column's spread. A tail that ends near 0 by accident is not named.

    >>> shares = np.random.default_rng(0).random(500)
    >>> natural_bounds(shares)
    (0.0, 1.0)
    >>> natural_bounds(1 + 10 * shares), natural_bounds(2 + shares)
    ((1.0, None), (None, None))
    """
    finite = np.isfinite(values)
    kept = values if finite.all() else values[finite]
    if len(kept) < _EDGE or float(np.min(kept)) == float(np.max(kept)):
        return None, None
    size = min(_EDGE, len(kept)) - 1
    parted = np.partition(kept, (size, len(kept) - size - 1))
    ends, tops = np.sort(parted[: size + 1]), np.sort(parted[-size - 1 :])
    low, high = float(ends[0]), float(tops[-1])
    spread = float(np.std(kept))
    below = [bound for bound in (0.0, -1.0) if bound <= low]
    above = [bound for bound, least in ((0.0, -math.inf), (1.0, -1.0), (100.0, 0.0)) if bound >= high and low >= least]
    gap = float(ends[-1] - ends[0]) / size
    minimum = below[0] if below and _at(low - below[0], gap, spread) else None
    from_one = 1 <= low <= 1 + _NEAR and gap <= _NEAR  # and not from 0, which would be many gaps away
    if from_one and (_at(low - 1, gap, spread) or low - 1 <= _THIN * spread):
        minimum = 1.0
    if minimum is None and 0 <= low <= _NEAR * float(np.mean(kept)):
        minimum = 0.0  # thins out towards 0, as amounts and durations do: everyone takes them not to be negative
    maximum = above[0] if above and _at(above[0] - high, float(tops[-1] - tops[0]) / size, spread) else None
    return minimum, maximum


def _at(distance: float, gap: float, spread: float) -> bool:
    """Whether an end at this distance from a bound is there because of the bound."""
    gap = max(gap, 1e-9 * spread)
    return 3 * spread / gap * math.exp(-min(distance / gap, 700.0)) >= CLEAR
