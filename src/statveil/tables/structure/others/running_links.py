"""Counts along the rows and numbers of windows over them, as links: they fit the column in its own place alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.links import Link, lagged, log_size, wrong_sides

__all__ = ["WINDOWED", "CountLink", "CountUpLink", "RollingLink", "changes_of", "most_of_each", "rolled"]

Flags = NDArray[np.bool_]


def _median(windows: Array) -> Array:
    """As ``np.median`` has it, which takes several times as long for many short rows."""
    rising, middle = np.sort(windows, axis=1), windows.shape[1] // 2
    median = rising[:, middle] if windows.shape[1] % 2 else 0.5 * (rising[:, middle - 1] + rising[:, middle])
    return np.where(np.isnan(rising[:, -1]), np.nan, median)


WINDOWED: dict[str, Callable[[Array], Array]] = {
    "deviation": lambda windows: windows.std(axis=1),
    "range": lambda windows: reduce(np.maximum, windows.T) - reduce(np.minimum, windows.T),
    "largest": lambda windows: reduce(np.maximum, windows.T),  # several times as fast as along each short row
    "smallest": lambda windows: reduce(np.minimum, windows.T),
    "median": _median,
}
"""What is said of the rows of a window."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Running(Link):
    attacker: ClassVar[str] = "running"

    @property
    def in_order(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountLink(_Running):
    """The last column changes, from row to row or within the groups of the first, by what the value of the row is.

    Parameters
    ----------
    ahead : bool
        Whether it is the change from this row to the next.
    unit : float
        The largest change; ``lower`` and ``upper`` are in this unit.
    limits : tuple of (value, lower, upper)
        Rows from the value on change by ``upper``, those below it by ``lower``; infinite ones stand for any rise or
        fall.
    """

    says: ClassVar[str] = "a count along the rows"

    ahead: bool
    unit: float
    limits: tuple[tuple[float, float, float], ...]

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        column = others[self.columns[-1]]
        order, first = _order(others, self.columns, len(column))
        x, change = original[order], np.round(changes_of(column[order], first, ahead=self.ahead) / self.unit, 6)
        known = np.isfinite(x) & np.isfinite(change)
        x, change = x[known], change[known]
        total = 0.0
        for value, lower, upper in self.limits:
            on, off = _is(change, upper), _is(change, lower)
            total += wrong_sides(x[on | off] >= value, on[on | off])
        return total / max(len(self.limits), 1)

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        """A count of all rows so far, as the changes would be; a count in a window stays as it is."""
        value, lower, upper = self.limits[0]
        if not (np.isfinite(lower) and np.isfinite(upper)) or len(self.limits) > 1:
            return {}
        column = others[self.columns[-1]]
        order, first = _order(others, self.columns, len(column))
        change = changes_of(column[order], first, ahead=self.ahead)
        beyond = after[order] >= value
        made = self.unit * np.where(beyond, upper, lower)
        moved = beyond != (before[order] >= value)
        step = np.where(moved & np.isfinite(change) & np.isfinite(after[order]), made - change, 0.0)
        step = np.concatenate(([0.0], step[:-1])) if self.ahead else step
        starts = np.flatnonzero(first)
        total = np.cumsum(step)
        before_group = np.repeat(np.concatenate(([0.0], total[starts[1:] - 1])), np.diff(starts, append=len(total)))
        fresh = column.copy()
        fresh[order] += total - before_group
        return {self.columns[-1]: fresh}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountUpLink(_Running):
    """Of the rows of each value of a running number one lies beyond a limit: the one that was counted."""

    says: ClassVar[str] = "a running number of rows beyond a limit"

    limit: float
    above: bool

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        number = others[self.columns[-1]]
        rows = np.flatnonzero(np.isfinite(number) & np.isfinite(original))
        x = original[rows] if self.above else -original[rows]
        marked = most_of_each(x, np.unique(number[rows], return_inverse=True)[1])
        return wrong_sides(x > (self.limit if self.above else -self.limit), marked)

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        counted = after > self.limit if self.above else after < self.limit
        return {self.columns[-1]: np.cumsum(counted).astype(np.float64)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RollingLink(_Running):
    """A number of ``width`` rows, of which ``ahead`` come after the row itself."""

    says: ClassVar[str] = "a number of the rows around"

    made: str
    width: int
    ahead: int
    slope: float
    start: float

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        return log_size(others[self.columns[-1]] - self._expected(original))

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        change = np.nan_to_num(self._expected(after) - self._expected(before), nan=0.0)
        return {self.columns[-1]: others[self.columns[-1]] + change}

    def _expected(self, column: Array) -> Array:
        return self.start + self.slope * rolled(column, self.made, self.width, self.ahead)


def rolled(column: Array, made: str, width: int, ahead: int) -> Array:
    """A number of the windows over a column, in the row so many before the window's end; NaN at the ends.

    >>> rolled(np.array([1.0, 5.0, 2.0, 3.0]), "largest", 2, 0)
    array([nan,  5.,  5.,  3.])
    """
    ended = np.full(len(column), np.nan)
    if len(column) >= width:
        ended[width - 1 :] = WINDOWED[made](np.lib.stride_tricks.sliding_window_view(column, width))
    return lagged(ended, -ahead)


def changes_of(column: Array, breaks: Flags, *, ahead: bool) -> Array:
    """From the row before to this one, or from this one to the next; NaN where rows do not follow one another."""
    change = np.concatenate(([np.nan], np.diff(column)))
    change[breaks] = np.nan
    return np.concatenate((change[1:], [np.nan])) if ahead else change


def most_of_each(values: Array, code: NDArray[np.int64]) -> Flags:
    """The row with the largest value of each group."""
    marked = np.zeros(len(values), dtype=np.bool_)
    order = np.lexsort((values, code))
    marked[order[np.cumsum(np.bincount(code)) - 1]] = True
    return marked


def _order(others: Mapping[str, Array], columns: tuple[str, ...], rows: int) -> tuple[NDArray[np.int64], Flags]:
    """The rows group by group, each in its order, and where a group begins; as they stand where nothing groups them."""
    if len(columns) == 1:
        return np.arange(rows), np.arange(rows) == 0
    _, code = np.unique(np.nan_to_num(others[columns[0]], nan=-1e300), return_inverse=True)
    order = np.argsort(code, kind="stable")
    return order, np.concatenate(([True], np.diff(code[order]) != 0))


def _is(change: Array, wanted: float) -> Flags:
    return np.asarray(change * np.sign(wanted) > 0 if np.isinf(wanted) else change == wanted)
