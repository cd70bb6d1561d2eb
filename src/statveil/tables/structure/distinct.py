"""The different values of a column, found once: a dozen searches ask for them, each beside a dozen columns.

What a search is handed is kept as long as the array lives, if nobody can write to it (:func:`frozen`); the answer is
that of :func:`numpy.unique`. At most so many are kept, so a table of thousands of columns takes no more memory.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Distinct", "at_least", "distinct", "frozen", "in_order", "known_in_both", "mid_ranks"]

_MOST = 64


class Distinct(NamedTuple):
    """Different values, rising; which of them each row has; how many rows have each."""

    places: NDArray[Any]
    code: NDArray[np.int64]
    counts: NDArray[np.int64]


_kept: dict[int, tuple[weakref.ref[NDArray[Any]], Distinct]] = {}
_turn = threading.Lock()


def frozen(column: NDArray[Any]) -> NDArray[Any]:
    """The same array, to be read alone."""
    column.flags.writeable = False
    return column


def distinct(column: NDArray[Any]) -> Distinct:
    """The different values of a column.

    >>> distinct(np.array([2.0, 1.0, 2.0])).counts.tolist()
    [1, 2]
    """
    key = id(column)
    if column.flags.writeable:
        return _found(column)
    with _turn:
        kept = _kept.get(key)
    if kept is not None and kept[0]() is column:
        return kept[1]
    found = _found(column)
    with _turn:
        _kept.pop(key, None)
        _kept[key] = weakref.ref(column, lambda gone: _forget(key, gone)), found
        while len(_kept) > _MOST:
            del _kept[next(iter(_kept))]
    return found


def in_order(column: NDArray[Any]) -> NDArray[Any]:
    """The values of a column without NaN, sorted."""
    found = distinct(column)
    return found.places if len(found.places) == len(column) else np.repeat(found.places, found.counts)


def at_least(column: NDArray[Any], number: int) -> bool:
    """Whether a column has so many different values: as a rule its first rows have them."""
    some = column[: 4 * number]
    return len(np.unique(some)) >= number or (len(some) < len(column) and len(distinct(column).places) >= number)


def known_in_both(
    values: NDArray[np.float64], column: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rows that both columns have; themselves where these are all, so that what is kept of them serves again."""
    known = np.isfinite(values) & np.isfinite(column)
    return (values, column) if known.all() else (values[known], column[known])


def mid_ranks(column: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks, equal values in the middle; scipy's take ten times as long for a short column, and there are thousands.

    >>> mid_ranks(np.array([2.0, 1.0, 2.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, code, counts = distinct(column)
    return np.asarray((np.cumsum(counts) - 0.5 * (counts - 1))[code])


def _found(column: NDArray[Any]) -> Distinct:
    return Distinct(*np.unique(column, return_inverse=True, return_counts=True))


def _forget(key: int, gone: weakref.ref[NDArray[Any]]) -> None:
    # another array may have the number by now
    kept = _kept.get(key)
    if kept is not None and kept[0] is gone:
        del _kept[key]
