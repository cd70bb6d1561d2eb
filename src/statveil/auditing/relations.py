"""What ties the other columns to the audited one: multiples, sums, copies in another form, flags and labels.

A redrawn table must keep these ties, and an attacker who knows the makers of such tables knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice, pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from statveil.auditing.written import precision
from statveil.tables.blocks import Array

__all__ = ["CONVERSIONS", "Copy", "Threshold", "find_copies", "find_thresholds", "followers"]

_EXACT = 1e-9
_MOST_PAIRS = 200
_LOOK = 64  # rows of the first look at two columns
_FEW = 20  # different values of a label
_SIDE = 5  # rows on either side of a threshold, for it to be no accident
_STRAY = 1e-3  # share of rows that may be off: typing errors

CONVERSIONS: tuple[float, ...] = (0.45359237, 2.54, 1.609344, 0.3048, 28.349523125, 3.785411784, 0.9144, 4.184)
"""Units that tables are converted between: pounds, inches, miles, feet, ounces, gallons, yards, calories."""

_UNITS = (1.0, 10.0, 100.0, 1000.0, 1e6, 7.0, 12.0, 24.0, 52.0, 60.0, 365.0, 3600.0, 86400.0)
_FACTORS = tuple(sorted({*_UNITS, *CONVERSIONS, *(1 / unit for unit in (*_UNITS, *CONVERSIONS))}))

_FORMS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "itself": (lambda x: x, lambda y: y),
    "log": (np.log, np.exp),
    "log1p": (np.log1p, np.expm1),
    "log10": (np.log10, lambda y: 10.0**y),
    "log2": (np.log2, np.exp2),
    "exp": (np.exp, np.log),
    "sqrt": (np.sqrt, np.square),
    "square": (np.square, np.sqrt),
    "reciprocal": (lambda x: 1 / x, lambda y: 1 / y),
    "fahrenheit": (lambda x: 1.8 * x + 32, lambda y: (y - 32) / 1.8),
    "celsius": (lambda x: (x - 32) / 1.8, lambda y: 1.8 * y + 32),
}
"""Forms in which a column is kept twice, each with the way back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Another column, or two of them, that is a function of the original column up to rounding.

    Parameters
    ----------
    columns, joint : tuple of str, str
        One column, or two and ``"-"`` or ``"+"`` between them.
    form, unit : str, float
        y = unit form(x), before rounding.
    digits, lean : int or None, float
        Decimals of y (``None``: not rounded), and where in its cell the exact value lies: 0 for the nearest, else half
        a unit of the last decimal up or down.
    """

    columns: tuple[str, ...]
    joint: str
    form: str
    unit: float
    digits: int | None
    lean: float

    def original(self, others: Mapping[str, Array]) -> Array:
        """The original column, read from the copy."""
        copy = _together([others[name] for name in self.columns], self.joint)
        with np.errstate(all="ignore"):
            return np.asarray(_FORMS[self.form][1]((copy + self.lean) / self.unit), dtype=np.float64)

    def of(self, column: Array) -> Array:
        """The copy of a column, for one column alone."""
        with np.errstate(all="ignore"):
            exact = self.unit * np.asarray(_FORMS[self.form][0](column), dtype=np.float64) - self.lean
        return exact if self.digits is None else np.round(exact, self.digits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A number that the original column passes where another column changes its value.

    ``lower`` and ``upper`` are the values (or numbers of the text) just below and from the number on.
    """

    column: str
    value: float
    lower: float
    upper: float


def _together(columns: list[Array], joint: str) -> Array:
    if len(columns) == 1:
        return columns[0]
    return columns[0] - columns[1] if joint == "-" else columns[0] + columns[1]


# --- copies -----------------------------------------------------------------------------------
def find_copies(column: Array, others: Mapping[str, Array]) -> tuple[Copy, ...]:
    """The columns, and differences and sums of two, that are the audited one in another form."""
    found = []
    for names, joint in _candidates(others):
        both = np.isfinite(column)
        for name in names:
            both &= np.isfinite(others[name])
        rows = np.flatnonzero(both)
        if len(rows) < 10:
            continue
        rows = rows if len(rows) <= 20_000 else rows[:: len(rows) // 20_000]
        copy = _copy(column, [others[name] for name in names], rows, names, joint)
        if copy is not None:
            found.append(copy)
    return tuple(found)


def _candidates(others: Mapping[str, Array]) -> Iterator[tuple[tuple[str, ...], str]]:
    for name in others:
        yield (name,), ""
    for one, two in islice(permutations(others, 2), _MOST_PAIRS):
        yield (one, two), "-"
        if one < two:
            yield (one, two), "+"


def _copy(
    column: Array, parts: list[Array], rows: NDArray[np.int64], names: tuple[str, ...], joint: str
) -> Copy | None:
    look = rows[:: max(1, len(rows) // _LOOK)]
    x, y = column[rows], _together([part[rows] for part in parts], joint)
    few_x, few_y = column[look], _together([part[look] for part in parts], joint)
    if np.ptp(y) == 0 or np.ptp(x) == 0:
        return None
    # decimals that float subtraction leaves are not the column's own
    slack = sum(precision(part[rows]) for part in parts)
    size = max(float(np.abs(part[rows]).max()) for part in parts)
    fine = slack <= 2.0**-20 * size  # not rounded to decimals
    slack = 1e-9 * size if fine else slack
    if float(np.std(y)) < 2 * slack:
        return None
    for form in _FORMS if len(parts) == 1 else ("itself",):
        with np.errstate(all="ignore"):
            first, whole = np.asarray(_FORMS[form][0](few_x)), np.asarray(_FORMS[form][0](x))
        if not np.isfinite(whole).all() or np.ptp(first) == 0:
            continue
        for unit in _FACTORS if form == "itself" else (1.0,):
            if len(parts) == 1 and form == "itself" and fine:
                continue  # an exact multiple: the attacker with unchanged columns looks for those
            gap = few_y - unit * first
            if np.count_nonzero(np.abs(gap) > 2.05 * slack) > 1:
                continue
            gap = y - unit * whole
            if np.mean(np.abs(gap) > 2.05 * slack) > _STRAY:
                continue
            lean = -float(np.median(gap)) if abs(float(np.median(gap))) > 0.3 * slack else 0.0
            if np.mean(np.abs(gap + lean) > 1.05 * slack) > _STRAY or float(np.std(y)) < 4 * float(np.std(gap)):
                continue
            digits = None if fine else round(-np.log10(2 * slack)) if len(parts) == 1 else None
            lean = 0.0 if lean == 0 else float(np.copysign(slack, lean))
            return Copy(columns=names, joint=joint, form=form, unit=unit, digits=digits, lean=lean)
    return None


# --- flags and labels -------------------------------------------------------------------------
def find_thresholds(column: Array, columns: Mapping[str, Array]) -> tuple[Threshold, ...]:
    """Where other columns of few values change with the audited one, at numbers that are round enough to be rules."""
    found: list[Threshold] = []
    for name, labels in columns.items():
        both = np.isfinite(column) & np.isfinite(labels)
        values, codes = np.unique(labels[both], return_inverse=True)
        if not 2 <= len(values) <= _FEW:
            continue
        x = column[both]
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(values)))
        low, high = np.minimum.reduceat(x[order], starts), np.maximum.reduceat(x[order], starts)
        counts = np.bincount(codes)
        ranked = np.argsort(low, kind="stable")
        if np.any(high[ranked][:-1] >= low[ranked][1:]):
            continue
        below = np.cumsum(counts[ranked])[:-1]
        for place, (one, two) in enumerate(pairwise(ranked)):
            if min(below[place], len(x) - below[place]) < _SIDE:
                continue
            value = _roundest(float(high[one]), float(low[two]))
            if value is not None:
                found.append(Threshold(column=name, value=value, lower=float(values[one]), upper=float(values[two])))
    return tuple(found)


def _roundest(low: float, high: float) -> float | None:
    """The number of fewest digits in (low, high]; ``None`` where two digits and a half do not reach it.

    >>> _roundest(59.7, 60.2), _roundest(59.71, 59.72)
    (60.0, None)
    """
    if low < 0.0 <= high:
        return 0.0
    size = max(abs(low), abs(high))
    for digits, lead in ((1, 5.0), (1, 1.0), (2, 5.0), (2, 1.0), (3, 5.0)):
        unit = lead * 10.0 ** (np.floor(np.log10(size)) - digits + 1)
        value = float(np.floor(high / unit + 1e-12) * unit)
        if low < value <= high * (1 + 1e-12 * np.sign(high)):
            return float(f"{value:.12g}")
    return None


# --- what a redrawn table keeps ---------------------------------------------------------------
def followers(
    column: Array,
    others: Mapping[str, Array],
    copies: tuple[Copy, ...] = (),
    thresholds: tuple[Threshold, ...] = (),
) -> Callable[[Array, Mapping[str, Array]], dict[str, Array]]:
    """How the other columns move when the audited one does: a multiple stays a multiple, a flag stays a flag.

    Returns a function of the redrawn column and the other columns' rows that gives the other columns' redrawn rows.
    """
    multiples = {name: ratio for name, values in others.items() if (ratio := _ratio(column, values)) is not None}
    free = [name for name in others if name not in multiples]
    sums: dict[str, tuple[str, float]] = {}
    for one, two in list(combinations(free, 2))[:_MOST_PAIRS]:
        for total, part in ((one, two), (two, one)):
            sign = _sum(column, others[total], others[part])
            if sign is not None:
                sums[total] = (part, sign)

    def follow(redrawn: Array, rows: Mapping[str, Array]) -> dict[str, Array]:
        moved = dict(rows)
        for copy in copies:
            if len(copy.columns) == 1 and copy.columns[0] in moved:
                moved[copy.columns[0]] = copy.of(redrawn)
            elif copy.joint == "-" and copy.columns[0] in moved:
                moved[copy.columns[0]] = moved[copy.columns[1]] + copy.unit * redrawn
        moved |= {name: ratio * redrawn for name, ratio in multiples.items() if name in rows}
        moved |= {total: moved[part] + sign * redrawn for total, (part, sign) in sums.items() if total in rows}
        for name in {threshold.column for threshold in thresholds} & set(rows):
            rules = sorted((one for one in thresholds if one.column == name), key=lambda one: one.value)
            label = np.full(len(redrawn), rules[0].lower)
            for rule in rules:
                label = np.where(redrawn >= rule.value, rule.upper, label)
            moved[name] = np.where(np.isfinite(redrawn), label, rows[name])
        return moved

    return follow


def _size(*columns: Array) -> float:
    return max(float(np.nanmax(np.abs(column), initial=0.0)) for column in columns)


def _ratio(column: Array, other: Array) -> float | None:
    """c where other = c column in every row."""
    both = np.isfinite(column) & np.isfinite(other)
    if np.count_nonzero(both) < 3 or np.ptp(column[both]) == 0:
        return None
    x, y = column[both], other[both]
    ratio = float(np.dot(x, y) / np.dot(x, x))
    return ratio if ratio and np.all(np.abs(y - ratio * x) <= _EXACT * _size(y)) else None


def _sum(column: Array, total: Array, part: Array) -> float | None:
    """1 or -1 where total = part + sign column in every row."""
    both = np.isfinite(column) & np.isfinite(total) & np.isfinite(part)
    if np.count_nonzero(both) < 3 or np.ptp(part[both]) == 0:
        return None
    for sign in (1.0, -1.0):
        rest = total[both] - part[both] - sign * column[both]
        if np.all(np.abs(rest) <= _EXACT * _size(total[both], part[both], column[both])):
            return sign
    return None
