"""The different values of a column, found once: a dozen searches ask for them, each beside a dozen columns.

What a search is handed is kept as long as the array lives, if nobody can write to it (:func:`frozen`); the answer is
that of :func:`numpy.unique`. At most so many are kept, so a table of thousands of columns takes no more memory.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = [
    "Distinct",
    "Memo",
    "at_least",
    "counted",
    "distinct",
    "distinct_memo",
    "finite_part",
    "frozen",
    "in_order",
    "known_in_both",
    "mid_ranks",
    "sorted_by_engine",
]

Answer = TypeVar("Answer")


class Distinct(NamedTuple):
    """Different values, rising; which of them each row has; how many rows have each."""

    places: NDArray[Any]
    code: NDArray[np.int64]
    counts: NDArray[np.int64]


class Memo(Generic[Answer]):
    """Answers about arrays that nobody can write to, kept while these live; those asked for last, at most so many."""

    def __init__(self, make: Callable[[NDArray[Any]], Answer], most: int) -> None:
        self._make, self._most = make, most
        self.kept: dict[int, tuple[weakref.ref[NDArray[Any]], Answer]] = {}
        self._turn = threading.Lock()

    def __call__(self, column: NDArray[Any]) -> Answer:
        """The answer, known or found now."""
        if column.flags.writeable:
            return self._make(column)
        key = id(column)
        known = self.kept.get(key)
        if known is not None and known[0]() is column:
            with self._turn:
                if self.kept.pop(key, None) is not None:
                    self.kept[key] = known
            return known[1]
        found = self._make(column)
        with self._turn:
            self.kept.pop(key, None)
            self.kept[key] = weakref.ref(column, lambda gone: self._forget(key, gone)), found
            while len(self.kept) > self._most:
                self.kept.pop(next(iter(self.kept)), None)
        return found

    def _forget(self, key: int, gone: weakref.ref[NDArray[Any]]) -> None:
        known = self.kept.get(key)
        if known is not None and known[0] is gone:  # another array may have the number by now
            self.kept.pop(key, None)


def frozen(column: NDArray[Any]) -> NDArray[Any]:
    """The same array, to be read alone."""
    column.flags.writeable = False
    return column


def distinct(column: NDArray[Any]) -> Distinct:
    """The different values of a column.

    >>> distinct(np.array([2.0, 1.0, 2.0])).counts.tolist()
    [1, 2]
    """
    return distinct_memo(column)


def counted(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The different values of a long column, and how many rows have each; which row has which is not kept."""
    return _counted_memo(column)


def sorted_by_engine(column: NDArray[Any]) -> NDArray[Any]:
    """A column without NaN, sorted: in half of NumPy's time."""
    return pl.Series(column).sort(multithreaded=False).to_numpy()


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


def finite_part(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows with a number; the column itself where these are all, so that what is kept of it serves again."""
    known = np.isfinite(column)
    return column if known.all() else column[known]


def mid_ranks(column: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks, equal values in the middle; scipy's take ten times as long for a short column, and there are thousands.

    >>> mid_ranks(np.array([2.0, 1.0, 2.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, code, counts = distinct(column)
    return np.asarray((np.cumsum(counts) - 0.5 * (counts - 1))[code])


def _found(column: NDArray[Any]) -> Distinct:
    return Distinct(*np.unique(column, return_inverse=True, return_counts=True))


def _counted(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    rising = sorted_by_engine(column)
    other = rising[1:] != rising[:-1]
    if other.all():  # as a rule, of numbers that were measured
        return rising, np.ones(len(rising), np.int64)
    first = np.flatnonzero(np.concatenate(([True], other)))
    return rising[first], np.diff(first, append=len(rising))


distinct_memo: Memo[Distinct] = Memo(_found, 128)
_counted_memo = Memo(_counted, 2)
