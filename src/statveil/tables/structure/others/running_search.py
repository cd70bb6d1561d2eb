"""What another column counts or measures along the rows: exceedances so far, cases in the last days, a rolling spread.

Sums and averages of the rows around are found as weighted sums (:mod:`.filter_search`);
these here are functions of the values that are no sums, so the changes of the column are looked at instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.copy_search import find_changes
from statveil.tables.structure.others.links import Link, lagged
from statveil.tables.structure.others.running_links import (
    WINDOWED,
    CountLink,
    CountUpLink,
    RollingLink,
    changes_of,
    most_of_each,
    rolled,
)
from statveil.tables.structure.reading.distinct import distinct, known_in_both

__all__ = ["Rolling", "counts_along", "find_running"]

Flags = NDArray[np.bool_]

_ROWS = 2048  # neighbouring ones that are looked at
_LEAST_ROWS = 40
_EACH = 10  # rows of either change
_PLACES, _STRAY = 20, 0.02  # of a running number, and errors per place
_CHANGES = 20  # different changes of a count
_COLUMNS = 64
_GROUPINGS = 8
_OF_TWO = ("deviation", "range")  # of two rows the others say the same, or are rows themselves
_WINDOWS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 20, 21, 24, 28, 30)
_GLANCED, _ROLLING = 0.9, 0.99  # correlation in a glance and in all rows, also of the changes
_CHANGED = 0.95


def find_running(
    values: Array, numbers: Mapping[str, Array], labels: Mapping[str, NDArray[np.generic]], breaks: Flags
) -> Iterator[Link]:
    """Columns that are made of the rows up to this one, or of those around it.

    Parameters
    ----------
    values : array
        The column in the order of its rows, NaN where a row has no number.
    numbers, labels : mapping of str to array
        Other columns, all rows of them.
    breaks : array of bool
        Rows that do not follow the one before them.
    """
    span = slice(None, _ROWS)
    x, starts = values[span], breaks[span]
    finite = np.isfinite(x)
    if np.count_nonzero(finite) < _LEAST_ROWS or not np.ptp(x[finite]):
        return
    rolling = Rolling(x, starts)
    inside = list(_within({name: keys[span] for name, keys in labels.items()}))
    for name, whole in list(numbers.items())[:_COLUMNS]:
        column = whole[span]
        if np.count_nonzero(np.isfinite(column)) < _LEAST_ROWS:
            continue
        found = _along((name,), x, column, starts) or _counts_up(name, values, whole) or rolling.find(name, column)
        for group, order, first in inside:
            if found is None and group != name:
                found = _along((group, name), x[order], column[order], first)
        if found is not None:
            yield found


def counts_along(values: Array, column: Array, breaks: Flags) -> bool:
    """Whether a column changes by what the value of the row is: a number of exceedances, so far or in a window.

    Rows at which it rises have larger values, or smaller ones, than those at which it falls or, where it never falls,
    than those at which it stays.
    """
    return _along(("",), values, column, breaks) is not None


def _along(columns: tuple[str, ...], values: Array, column: Array, breaks: Flags) -> CountLink | None:
    for ahead in (False, True):
        found = _parts(values, changes_of(column, breaks, ahead=ahead))
        if found is not None:
            unit, limits = found
            return CountLink(columns=columns, ahead=ahead, unit=unit, limits=limits)
    return None


def _parts(values: Array, change: Array) -> tuple[float, tuple[tuple[float, float, float], ...]] | None:
    """The largest change, and at which values rows change by how much of it."""
    known = np.isfinite(values) & np.isfinite(change)
    x, step = values[known], change[known]
    if len(x) < _LEAST_ROWS or not np.any(step):
        return None
    unit = float(np.abs(step).max())
    step = np.round(step / unit, 6)  # shares of a window change by 1/7, up to the last digit
    if len(np.unique(step[:512])) > _CHANGES:
        return None  # no count
    up, down = step > 0, step < 0
    if min(up.sum(), down.sum()) >= _EACH:
        moved = up | down
        found = find_changes(x[moved], up[moved])
        if found:
            sides = (-np.inf, np.inf)
            return unit, tuple((0.5 * (one.low + one.high), sides[one.lower], sides[one.upper]) for one in found)
    names = np.unique(step)
    found = find_changes(x, step) if len(names) <= _CHANGES else []
    if not found:
        return None
    return unit, tuple((0.5 * (one.low + one.high), float(names[one.lower]), float(names[one.upper])) for one in found)


def _counts_up(name: str, values: Array, column: Array) -> CountUpLink | None:
    """Whether each value of a running number has one row that stands out from all others: the one that was counted.

    So the rows need not stand in their order.
    """
    x, number = known_in_both(values, column)
    if len(x) < _LEAST_ROWS or np.any(number != np.floor(number)):
        return None
    places, code, counts = distinct(number)
    if not _PLACES <= len(places) <= 0.7 * len(x) or np.mean(np.diff(places) == 1) < 0.9 or np.mean(counts > 1) < 0.2:
        return None
    for sign in (1, -1):  # the largest of each, or the smallest
        marked = most_of_each(sign * x, code)
        for lone in (0, len(places) - 1):  # before the first, or after the last, nothing is counted
            inside = code != lone
            y, one = sign * x[inside], marked[inside]
            low, high = np.quantile(y[~one], 1 - _STRAY * one.sum() / (~one).sum()), np.quantile(y[one], _STRAY)
            if high > low:
                return CountUpLink(columns=(name,), limit=sign * 0.5 * float(low + high), above=sign > 0)
    return None


class Rolling:
    """Spreads, ends and middles of windows over the rows, prepared once for all other columns."""

    def __init__(self, values: Array, breaks: Flags) -> None:
        piece = np.cumsum(breaks).astype(np.float64)
        made: list[Array] = []
        self._kinds: list[tuple[str, int, int]] = []
        for width in _WINDOWS:
            if len(values) < max(_LEAST_ROWS, 4 * width):
                break
            together = piece[width - 1 :] == piece[: len(piece) - width + 1]
            for kind in WINDOWED if width > 2 else _OF_TWO:
                ended = rolled(values, kind, width, 0)
                ended[width - 1 :] = np.where(together, ended[width - 1 :], np.nan)
                for ahead in {0, width // 2, width - 1}:
                    self._kinds.append((kind, width, ahead))
                    made.append(lagged(ended, -ahead))
        self._numbers = np.stack(made) if made else np.zeros((0, len(values)))
        rows = np.flatnonzero(np.isfinite(self._numbers).all(axis=0)) if made else np.zeros(0, dtype=np.int64)
        self._look = rows[:: max(1, len(rows) // 256)]
        glanced = self._numbers[:, self._look]
        self._glance = _scaled(glanced) if len(self._look) >= _LEAST_ROWS else None

    def find(self, name: str, column: Array) -> RollingLink | None:
        """Which of them a column is, in its changes from row to row too."""
        if self._glance is None:
            return None
        here = column[self._look]
        good = np.isfinite(here)
        if np.count_nonzero(good) < 0.9 * len(here) or not np.ptp(here[good]):
            return None
        near = np.abs(self._glance @ _scaled(np.where(good, here, here[good].mean())[None, :])[0])
        for i in np.argsort(-near)[:3]:
            made = self._numbers[i]
            if near[i] >= _GLANCED and _like(made, column) >= _ROLLING:
                if _like(np.diff(made), np.diff(column)) < _CHANGED:
                    return None
                both = np.isfinite(made) & np.isfinite(column)
                slope, start = np.polyfit(made[both], column[both], 1)
                kind, width, ahead = self._kinds[i]
                return RollingLink(
                    columns=(name,), made=kind, width=width, ahead=ahead, slope=float(slope), start=float(start)
                )
        return None


def _scaled(table: Array) -> Array:
    centred = table - table.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.maximum(np.sqrt((centred**2).sum(axis=1, keepdims=True)), 1e-300))


def _like(one: Array, two: Array) -> float:
    good = np.isfinite(one) & np.isfinite(two)
    x, y = one[good], two[good]
    if len(x) < _LEAST_ROWS or not np.ptp(x) or not np.ptp(y):
        return 0.0
    return abs(float(np.corrcoef(x, y)[0, 1]))


def _within(
    labels: Mapping[str, NDArray[np.generic]],
) -> Iterator[tuple[str, NDArray[np.int64], Flags]]:
    """Columns that group the rows: the rows group by group, each in its order, and where a group begins."""
    found = 0
    for name, keys in labels.items():
        names, code, counts = distinct(keys)
        if len(names) < 2 or counts[counts > 2].sum() < 0.5 * len(keys) or found >= _GROUPINGS:
            continue
        found += 1
        order = np.argsort(code, kind="stable")
        yield name, order, np.concatenate(([True], np.diff(code[order]) != 0))
