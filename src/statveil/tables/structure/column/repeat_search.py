"""Values that repeat although the column is fine enough for all of them to differ: a menu of few known values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["repeats"]

OFTEN = 5
"""Rows per value, on average, from which a column is a menu rather than rows that a join has doubled."""
SHORT_MENU = 50
"""Different values up to which two rows per value are enough."""
_ROOM = 50
"""Places per different value on a lattice that is so fine that values do not repeat by accident."""


def repeats(counts: NDArray[np.int64], places: float) -> bool:
    """Whether the rows choose among few values.

    Parameters
    ----------
    counts : array of int
        How many rows have each of the different values.
    places : float
        How many values the column could have had: places of its lattice within its range, or infinity.

    Examples
    --------
    >>> repeats(np.full(11, 73), float("inf")), repeats(np.ones(800, dtype=np.int64), float("inf"))
    (True, False)
    """
    different, rows = len(counts), int(np.sum(counts))
    if different < 2 or places < _ROOM * different:
        return False
    return rows >= (2 if different <= SHORT_MENU else OFTEN) * different
