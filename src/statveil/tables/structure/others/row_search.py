"""Whether another column holds some of the values: in a few rows, a row further on, or as averages of groups."""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.others.apart import FINE, shifted, surely_apart
from statveil.tables.structure.reading.distinct import Memo, distinct, known_in_both, sorted_by_engine

__all__ = ["holds_values"]

_LEAST_ROWS = 10
_EQUAL = 3  # rows with one difference or quotient to all digits: among continuous values no accident
_DISTINCT = 0.95
_LAGS = (1, 2, 3)
_NEAR = 20  # places about a difference that it is compared with
_USUAL = 0.05  # share of the rows that make a value a usual one
_FEW = 0.2  # different values per row below which equal rows are no surprise
_PLACES = 50  # different differences, for one of them to stand out
_GROUPS, _SHARE = 3, 0.5  # groups, and the share of the rows in groups whose average or total the column is
_MEAN_FINE = 1e-4  # of the spread, or of a total: averages are often written to a few digits


def holds_values(values: Array, column: Array) -> bool:
    """Whether some rows of a column are the other's values, in whatever row, or averages or totals of its groups.

    All rows of a shifted or scaled column move alike, so one difference or quotient that three rows share to the last
    digit is the shift or the factor itself. Values on a lattice share many by chance: they are not looked at.

    Parameters
    ----------
    values, column : array
        The released column and another one, row by row; NaN where a row has no number.
    """
    x, y = known_in_both(values, column)
    if len(x) < _LEAST_ROWS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return False
    if _averages(x, y):
        return True
    if _equal_on_lattice(x, y):
        return True
    if len(distinct(x).places) < _DISTINCT * len(x):
        return False
    shifts = (0, *(shift for lag in _LAGS for shift in (lag, -lag)))
    return any(
        not surely_apart(values, column, shift) and _share_one(*shifted(values, column, shift)) for shift in shifts
    )


def _equal_on_lattice(x: Array, y: Array) -> bool:
    """Whether more rows have one difference than any near it, on a lattice such as that of cents.

    By chance, rows share differences there, and related columns share small ones more often; but not a single one so
    much more often than its neighbours.
    """
    scale = _scale(x)
    if scale is None or float(np.abs(x).max()) * scale > 1e15:
        return False
    with np.errstate(invalid="ignore"):
        whole = (np.abs(y) * scale < 1e15) & (np.abs(np.round(y * scale) - y * scale) < 1e-6)
    if np.mean(whole) < _SHARE or min(len(np.unique(one[whole])) for one in (x, y)) < _PLACES:
        return False
    if len(np.unique(x)) < _FEW * len(x):
        return False
    # rows that have the usual value of both columns, such as 0, are equal for another reason
    for column in (x, y):
        _, code, rows = np.unique(column, return_inverse=True, return_counts=True)
        whole &= (rows <= _USUAL * len(x))[code]
    if np.count_nonzero(whole) < _PLACES:
        return False
    here, there = np.round(x[whole] * scale), np.round(y[whole] * scale)
    places, counts = np.unique(there - here, return_counts=True)
    best = int(np.argmax(counts))
    seen, rest = int(counts[best]), np.delete(counts, best)
    near = np.delete(np.abs(places - places[best]), best) <= _NEAR * max(1.0, np.ptp(places) / len(places))
    beside, anywhere = int(rest[near].max(initial=1)), int(rest.max(initial=1))
    if seen <= _EQUAL or seen <= beside + 4 * np.sqrt(beside) or seen < anywhere + 3 * np.sqrt(anywhere):
        return False
    # favourite values of both columns meet by chance, too
    rng = np.random.default_rng(0)
    luck = max(int(np.unique(rng.permutation(there) - here, return_counts=True)[1].max()) for _ in range(5))
    return bool(seen > luck + 4 * np.sqrt(luck))


def _decimal_scale(x: Array) -> float | None:
    """What makes decimals of the values whole, if they have few of them."""
    return next((10.0**d for d in range(5) if np.all(np.abs(np.round(x, d) - x) <= 1e-9 * np.abs(x))), None)


_scale = Memo(_decimal_scale, 8)


def _share_one(values: Array, column: Array) -> bool:
    """Whether three rows share a difference or quotient, though no rows of other pairs do."""
    x, y = known_in_both(values, column)
    if len(x) < _LEAST_ROWS:
        return False
    return any(
        _share(x, y, _EQUAL, ratio=ratio) and not any(_share(np.roll(x, far), y, 2, ratio=ratio) for far in (5, 17))
        for ratio in (False, True)
    )


def _share(x: Array, y: Array, rows: int, *, ratio: bool) -> bool:
    """Whether so many rows share one difference, or one quotient."""
    with np.errstate(all="ignore"):
        rest = np.log(np.abs(y / x)) if ratio else (y - x) / float(np.std(x))
    good = np.isfinite(rest)
    rest = rest if good.all() else rest[good]
    if len(rest) < _LEAST_ROWS or not _may_share(rest, rows):
        return False
    rest = np.sort(rest)
    return bool(np.any(rest[rows - 1 :] <= rest[: 1 - rows] + FINE))


def _may_share(rest: Array, rows: int) -> bool:
    """A first look at cells of the range, whose numbers are half as long to sort; rising values have rising cells."""
    low, width = float(rest.min()), float(np.ptp(rest))
    if not 1e-200 < width < 1e200:
        return True
    scale = (2**32 - 2) / width
    window = FINE + 2 * float(np.spacing(max(abs(low), abs(low + width))))  # as far as a sum of two may be rounded
    cells = sorted_by_engine(((rest - low) * scale).astype(np.uint32))
    # two more than the window holds: one for either end
    return bool(np.any(cells[rows - 1 :] - cells[: 1 - rows] <= window * scale + 2))


def _averages(x: Array, y: Array) -> bool:
    """Whether rows with one value of the column have that value as their average, or as their total."""
    _, group, counts = distinct(y)
    several = counts > 1
    if np.count_nonzero(several) < _GROUPS or counts[several].sum() < _SHARE * len(x):
        return False
    level, total = np.zeros(len(counts)), np.bincount(group, weights=x)
    level[group] = y
    near = np.abs(total / counts - level) <= _MEAN_FINE * float(np.std(x))
    whole = np.abs(total - level) <= _MEAN_FINE * np.abs(total)
    return any(
        np.count_nonzero(told & several) >= _GROUPS and counts[told & several].sum() >= _SHARE * len(x)
        for told in (near, whole)
    )
