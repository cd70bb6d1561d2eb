"""Whether another column is made of neighbouring rows: rolling averages, lags, differences, running totals and means.

A weighted sum of the rows around keeps the level of the column, and so tells how far the released one moved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.links import FilterLink, lagged

__all__ = ["Neighbours"]

_LAGS = 30
_MOST, _ROWS = 2**14, 4096  # rows that are looked at, and rows of a fit
_PER_WEIGHT = 8  # rows per weight, at least
_TOLD = 0.9  # of the variation: that of a rank correlation of 0.95
_TOLD_SLOW = 0.98  # of the changes of a column that changes slowly, which any other slow column follows a little
_SLOW = 0.5  # likeness of neighbours from which a column is slow
_HALF = 0.4  # told by the near end of a long window: the far end is looked for
_USUAL = 0.6  # of the usual deviation of a row may be left, at most
_SORTED, _ITSELF = 0.99, 0.5
_LEAST_ROWS = 100
_CHANGES = 0.05
_LONGEST_TURN, _REPEATS, _STAYS = 400, 0.95, 0.8  # rows after which a column repeats itself; more at once: it stays
_HERE = 0.03  # that the rows around must tell beyond the row itself


class Neighbours:
    """The rows around each row, prepared once for all other columns.

    Parameters
    ----------
    values : array
        The column in the order of its rows, NaN where a row has no number.
    breaks : array of bool
        Rows that do not follow the one before them.
    whole : bool
        Whether no rows were left out, so that far rows and the number of a row mean something.
    """

    def __init__(self, values: Array, breaks: NDArray[np.bool_], *, whole: bool) -> None:
        self._span = slice(None, _MOST)
        values, breaks = values[self._span], breaks[self._span]
        self.values, self.breaks, self.whole = values, breaks, whole
        known = values[np.isfinite(values)]
        self._lags = [*range(-(most := min(_LAGS, len(known) // (3 * _PER_WEIGHT))), most + 1)]
        self.usable = most >= 1 and bool(np.ptp(known))
        if not self.usable:
            return
        piece = np.cumsum(breaks)
        centred = values - known.mean()
        self._pieces = [np.where(lagged(piece.astype(np.float64), lag) == piece, 0.0, np.nan) for lag in self._lags]
        design = np.column_stack([lagged(centred, lag) for lag in self._lags]) + np.column_stack(self._pieces)
        rows = np.flatnonzero(np.isfinite(design).all(axis=1))
        if len(rows) > _ROWS:  # the first and the last ones, in whole stretches
            rows = np.concatenate((rows[: _ROWS // 2], rows[-_ROWS // 2 :]))
        self._rows, self._design = rows, design[rows]
        self.usable = len(rows) >= max(_PER_WEIGHT * len(self._lags), _LEAST_ROWS)
        if self.usable:
            self._basis = np.linalg.qr(self._design - self._design.mean(axis=0))[0]
        near = centred[1:] * centred[:-1]
        near = near[np.isfinite(near)]
        self._slow = bool(len(near)) and float(near.mean()) / float(known.var()) > _SLOW

    def find(self, name: str, column: Array) -> FilterLink | None:
        """How a column is made of the rows around, if it is; what the row itself tells does not count."""
        column = column[self._span]
        if not self.usable or np.count_nonzero(np.isfinite(column)) < _PER_WEIGHT * len(self._lags):
            return None
        steps = np.concatenate(([np.nan], np.diff(column)))
        steps[self.breaks] = np.nan
        known = steps[np.isfinite(steps)]
        in_order = len(known) > 0 and max(np.mean(known >= 0), np.mean(known <= 0)) >= _SORTED
        # a time follows the average of whatever drifts; a total rises by the rows themselves
        targets = [] if in_order else [(column, False)]
        if self._here(column) < _ITSELF:  # where the row itself tells, steps follow the steps of the column
            targets.append((steps, True))
            if self.whole and not in_order:
                number = np.arange(1, len(column) + 1)
                targets.append((np.concatenate(([np.nan], np.diff(number * column))), True))  # of a running mean
        for target, grown in targets:
            found = self._fit(name, target, grown=grown)
            if found is not None:
                return None if _in_turn(column) else found
        return None

    def _here(self, target: Array) -> float:
        """The share that the row itself tells."""
        x, y = self.values[self._rows], target[self._rows]
        good = np.isfinite(y)
        return float(np.corrcoef(x[good], y[good])[0, 1]) ** 2 if np.ptp(y[good]) and np.ptp(x[good]) else 0.0

    def _fit(self, name: str, target: Array, *, grown: bool) -> FilterLink | None:
        y, good = target[self._rows], np.isfinite(target[self._rows])
        if np.count_nonzero(good) < max(0.5 * len(y), _PER_WEIGHT * len(self._lags)) or not np.ptp(y[good]):
            return None
        if self._glance(y, good) < (_HALF if self.whole else _TOLD) - 0.1:
            return None
        table, wanted = self._design[good], y[good]
        if np.mean(wanted != np.median(wanted)) < _CHANGES:
            return None  # a few changes are fitted by as many weights
        weights, start, told, usual = _solved(table, wanted)
        lags = list(self._lags)
        if told < _TOLD and told >= _HALF and self.whole:
            far = self._far_end(target - start - _applied(self.values, lags, weights))
            if far is not None:
                lags.append(far)
                more = lagged(self.values - np.nanmean(self.values), far)[self._rows][good]
                both = np.isfinite(more)
                if np.count_nonzero(both) < _PER_WEIGHT * len(lags):
                    return None
                weights, start, told, usual = _solved(np.column_stack((table[both], more[both])), wanted[both])
        if not grown and self._here(target) >= told - _HERE:
            return None  # told by the row itself
        if told < _TOLD or not usual or (self._slow and not self._follows_changes(target)):
            return None
        level = start - float(np.sum(weights)) * float(np.nanmean(self.values))
        return FilterLink(
            columns=(name,), lags=tuple(lags), weights=tuple(map(float, weights)), start=level, steps=grown
        )

    def _glance(self, y: Array, good: NDArray[np.bool_]) -> float:
        """What the rows around tell of a column at most, where missing cells count as the mean."""
        centred = np.where(good, y - y[good].mean(), 0.0)
        if np.count_nonzero(~good) > 0.02 * len(y):
            return 1.0
        return float(np.sum((centred @ self._basis) ** 2) / np.sum(centred**2))

    def _follows_changes(self, target: Array) -> bool:
        change = np.concatenate(([np.nan], np.diff(target)))[self._rows]
        design = self._design[:, 1:] - self._design[:, :-1]
        good = np.isfinite(change)
        if np.count_nonzero(good) < _PER_WEIGHT * len(self._lags) or not np.ptp(change[good]):
            return False
        return _solved(design[good], change[good])[2] >= _TOLD_SLOW

    def _far_end(self, rest: Array) -> int | None:
        """The lag beyond the near ones at which the column goes with what is left."""
        from scipy.signal import fftconvolve

        x = np.nan_to_num(self.values - np.nanmean(self.values), nan=0.0)
        e = np.nan_to_num(rest - np.nanmean(rest), nan=0.0)
        across = np.abs(fftconvolve(e, x[::-1]))[len(x) - 1 :][: len(x) // 2]
        across[: _LAGS + 1] = 0.0
        return int(np.argmax(across)) if len(across) > _LAGS + 1 else None


def _in_turn(column: Array) -> bool:
    """Whether a column repeats itself every so many rows: the year in a panel, the states of each day.

    It goes with the rows' own order, which whatever has the same order tells; a sum of rows does not repeat.
    """
    known = column[np.isfinite(column)]
    for period in range(2, min(_LONGEST_TURN, len(known) // 3) + 1):
        if known[0] == known[period] and np.mean(known[period:] == known[:-period]) >= _REPEATS:
            return bool(np.mean(known[1:] == known[:-1]) < _STAYS)
    return False


def _solved(table: Array, wanted: Array) -> tuple[Array, float, float, bool]:
    """Weights, start, the share told (less what so many weights tell of anything), and whether of most rows."""
    middle, centre = table.mean(axis=0), float(wanted.mean())
    weights, *_ = np.linalg.lstsq(table - middle, wanted - centre, rcond=1e-10)
    left = wanted - centre - (table - middle) @ weights
    rows, spread = len(wanted), float(np.var(wanted))
    # a few extreme rows are fitted by as many weights: the usual rows must be told, too
    usual, off = (float(np.median(np.abs(one - np.median(one)))) for one in (wanted, left))
    told = 1 - float(np.var(left)) / spread * (rows - 1) / max(rows - len(weights) - 1, 1) if spread else 0.0
    return weights, centre - float(middle @ weights), told, not usual or off <= _USUAL * usual


def _applied(values: Array, lags: list[int], weights: Array) -> Array:
    centred = values - np.nanmean(values)
    return np.asarray(sum((weight * lagged(centred, lag) for lag, weight in zip(lags, weights, strict=True)), 0.0))
