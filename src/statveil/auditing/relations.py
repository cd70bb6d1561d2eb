"""What ties the other columns to the audited one: multiples, sums, copies in another form, flags and labels.

A redrawn table must keep these ties, and an attacker who knows the makers of such tables knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.others.copy_search import find_changes
from statveil.tables.structure.others.links import Link
from statveil.tables.structure.others.ties import Tie

__all__ = ["CONVERSIONS", "MISSING", "Threshold", "find_thresholds", "followers"]

_EXACT = 1e-9
_MOST_PAIRS = 200
_FEW = 20  # different values of a label
MISSING = -1e300
"""Stands for a cell without a value among the labels."""

CONVERSIONS: tuple[float, ...] = (0.45359237, 2.54, 1.609344, 0.3048, 28.349523125, 3.785411784, 0.9144, 4.184)
"""Units that tables are converted between: pounds, inches, miles, feet, ounces, gallons, yards, calories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A number that the original column passes where another column changes its value.

    ``lower`` and ``upper`` are the values (or numbers of the text) just below and from the number on.
    """

    column: str
    value: float
    lower: float
    upper: float


# --- flags and labels -------------------------------------------------------------------------
def find_thresholds(column: Array, columns: Mapping[str, Array]) -> tuple[Threshold, ...]:
    """Where other columns of few values change with the audited one: at a round number, if there is one, or anywhere.

    What counts as a label is what a release refuses (:func:`find_changes`). Cells without a value are a label too.
    """
    found: list[Threshold] = []
    finite = np.isfinite(column)
    for name, labels in columns.items():
        values = np.unique(np.nan_to_num(labels[finite], nan=MISSING))
        if not 2 <= len(values) <= _FEW:
            continue
        for change in find_changes(column[finite], np.nan_to_num(labels[finite], nan=MISSING)):
            value = _roundest(change.low, change.high)
            found.append(
                Threshold(
                    column=name,
                    value=0.5 * (change.low + change.high) if value is None else value,
                    lower=float(values[change.lower]),
                    upper=float(values[change.upper]),
                )
            )
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
    ties: Sequence[Tie] = (),
    thresholds: tuple[Threshold, ...] = (),
    links: Sequence[Link] = (),
) -> Callable[[Array, Array, Mapping[str, Array]], dict[str, Array]]:
    """How the other columns move when the audited one does: a multiple stays a multiple, a flag stays a flag.

    Returns a function of the column before and after, and the other columns' rows, that gives the latter redrawn.
    """
    multiples = {name: ratio for name, values in others.items() if (ratio := _ratio(column, values)) is not None}
    free = [name for name in others if name not in multiples]
    sums: dict[str, tuple[str, float]] = {}
    for one, two in list(combinations(free, 2))[:_MOST_PAIRS]:
        for total, part in ((one, two), (two, one)):
            sign = _sum(column, others[total], others[part])
            if sign is not None:
                sums[total] = (part, sign)

    def follow(before: Array, redrawn: Array, rows: Mapping[str, Array]) -> dict[str, Array]:
        moved = dict(rows)
        for tie in ties:
            if all(name in rows for name in tie.columns):
                moved |= tie.moved(before, redrawn, rows)
        for link in links:
            if all(name in rows for name in link.columns):
                moved |= link.moved(before, redrawn, rows)
        moved |= {name: ratio * redrawn for name, ratio in multiples.items() if name in rows}
        moved |= {total: moved[part] + sign * redrawn for total, (part, sign) in sums.items() if total in rows}
        for name in {threshold.column for threshold in thresholds} & set(rows):
            rules = sorted((one for one in thresholds if one.column == name), key=lambda one: one.value)
            label = np.full(len(redrawn), rules[0].lower)
            for rule in rules:
                label = np.where(redrawn >= rule.value, rule.upper, label)
            label = np.where(label == MISSING, np.nan, label)
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
