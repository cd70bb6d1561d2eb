"""Bounds that a column shows: nothing below 0, counts from 1 on, shares up to 1, percentages up to 100, sharp ends."""

from __future__ import annotations

import math

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.column.end_search import End, sharp_ends

__all__ = ["Bounds", "bounds_shown", "ends_shown", "natural_bounds", "partners"]

Bounds = tuple[float | None, float | None]

CLEAR = 20.0
"""How many times likelier the column's end is at a bound than anywhere else, for it to be named."""
_NEAR = 0.1
"""Of the mean: a column of positive numbers that comes so near to 0 is taken to be of a kind that starts there. And of
the way from 0 to 1: how near to 1 a column must begin, and its rows lie to each other there, for it to begin at 1."""
_THIN = 0.03
"""Of the spread: a column that comes so near to 1 from above is taken to begin there."""
_EDGE = 8
"""Rows next to the end whose distances say how far the end lies from the bound."""
_PAIRS = ((0.0, 1.0, 0.1), (-1.0, 1.0, 0.25), (0.0, 100.0, 0.02))
"""Bounds that go together, and how near to the second one a column must end, in parts of their distance."""
_PAST = 8.0
"""Gaps between the rows next to the end that it lies beyond a bound, for the bound not to be why it ends."""


def bounds_shown(values: Array, declared: Bounds = (None, None)) -> Bounds:
    """The bounds that a release asks for where they are not declared.

    Natural ones, and the partner of a bound that is declared or found, as :func:`partners` says.
    """
    finite = values[np.isfinite(values)]
    natural = natural_bounds(finite)
    shown = [None if given is not None else one for one, given in zip(natural, declared, strict=True)]
    known = [end if given is None else given for end, given in zip(shown, declared, strict=True)]
    for side, partner in enumerate(partners(finite, known[0], known[1])):
        shown[side] = shown[side] if partner is None else partner
    return shown[0], shown[1]


def ends_shown(values: Array, known: Bounds, step: float | None) -> tuple[End | None, End | None]:
    """The ends that are sharp without a bound that is known: none is, or it lies well beyond the end."""
    finite = values[np.isfinite(values)]
    low, high = sharp_ends(finite, step)
    minimum, maximum = known
    if minimum is not None and not _past(finite, minimum):
        low = None
    if maximum is not None and not _past(-finite, -maximum):
        high = None
    return low, high


def partners(values: Array, minimum: float | None, maximum: float | None) -> Bounds:
    """A bound that goes with the one that is known (0 and 1, -1 and 1, 0 and 100), where the column comes near it.

    Near is a tenth of the distance of the two bounds at most (of -1 and 1 a quarter, of 0 and 100, where amounts lie as
    well, a fiftieth), and not further than the eight outermost rows lie apart: values from 0 up that stay far below 1,
    or 100, are no shares.

    >>> partners(np.random.default_rng(0).beta(3, 3, 400), 0.0, None)
    (None, 1.0)
    >>> partners(np.linspace(0.2, 0.5, 400), 0.0, None)
    (None, None)
    """
    if len(values) < _EDGE or (minimum is None) == (maximum is None):
        return None, None
    parted = np.partition(values, (_EDGE - 1, len(values) - _EDGE))
    low, high = float(np.min(parted[:_EDGE])), float(np.max(parted[-_EDGE:]))
    below, above = float(parted[_EDGE - 1]) - low, high - float(parted[-_EDGE])
    for least, most, share in _PAIRS:
        near = share * (most - least)
        if minimum == least and 0 <= most - high <= min(near, above):
            return None, most
        if maximum == most and 0 <= low - least <= min(near, below):
            return least, None
    return None, None


def _past(values: Array, known: float) -> bool:
    """Whether the lower end lies so far above a bound that this is not why the column ends there."""
    if len(values) <= _EDGE:
        return False
    ends = np.sort(np.partition(values, _EDGE)[: _EDGE + 1])
    return float(ends[0]) - known > _PAST * float(ends[-1] - ends[0]) / _EDGE


def natural_bounds(values: Array) -> Bounds:
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
