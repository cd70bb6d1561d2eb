"""Columns that were released unchanged: one that is a multiple of the hidden column, or two that make it up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.evidence import Span, agreed, precision, span
from statveil.auditing.inversion import Inversion, inverted, released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.tables.blocks import Array

__all__ = ["Auxiliary"]

_ROWS = 64  # rows of the first look at a pair of columns
_PAIRS = 500  # pairs of columns that are tried
_ALIKE = 0.8  # correlation from which on a column is supposed to be a multiple of the hidden one
_DISTINCT = 6  # a line through fewer different values proves nothing
_UNITS = (2.0, 4.0, 5.0, 7.0, 12.0, 20.0, 24.0, 25.0, 30.0, 50.0, 52.0, 60.0, 365.0, 3600.0, 86400.0)
_TENS = tuple(10.0**power for power in range(1, 10))
_RATES = tuple(round(0.01 * percent, 2) for percent in range(5, 26) if percent not in (10, 20, 25))
_NICE: tuple[tuple[float, float], ...] = (
    (1.0, 1000.0),  # a copy
    *((ratio, 100.0) for ten in _TENS for ratio in (ten, 1 / ten)),
    *((ratio, 10.0) for unit in _UNITS for ratio in (unit, 1 / unit)),
    *((ratio, 1.0) for rate in _RATES for ratio in (rate, 1 + rate)),
)
"""Ratios of one column to another that people use, the more usual ones with more weight."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Line:
    """released = start + slope column, exact up to rounding."""

    column: Array
    slope: float
    start: float
    slack: float


class Auxiliary(Attacker):
    """Looks for unchanged columns from which the hidden one can be computed."""

    name: ClassVar[str] = "auxiliary"
    doc: ClassVar[str] = "unchanged columns that are multiples of the hidden one, or whose sum or product it is"
    remedy: ClassVar[str] = (
        "Leave out the columns from which the hidden one can be computed, or compute them anew from the released one."
    )

    def applies(self, view: View) -> bool:
        return not view.mode.categories and bool(view.others)

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        columns = [column for column in view.others.values() if len(column) == len(view.column)]
        if not view.mode.line:
            return _copies(view, found, columns) or found.posterior()
        off = view.mode.wander(view.plan.problem)
        lines = [_line(view.column, column, off) for column in columns]
        # the sum of two multiples is another multiple, which says nothing new
        rest = [column for column, line in zip(columns, lines, strict=True) if line is None]
        exact = [*(line for line in lines if line is not None), *_joint(view.column, rest, off)]
        zeros = [zero for line in exact if (zero := _zero(found, line)) is not None]
        return agreed(view, found, zeros) or _usual(view, found, exact) or found.posterior()


def _copies(view: View, found: Inversion, columns: list[Array]) -> Posterior | None:
    """Where single rows were redrawn: an unchanged column in the same order, taken for a usual multiple."""
    points, weights = [], []
    for column in columns:
        both = np.isfinite(view.column) & np.isfinite(column)
        mine, theirs = view.column[both], column[both]
        if len(np.unique(theirs[:4096])) < _DISTINCT or np.ptp(mine) == 0:
            continue
        with np.errstate(all="ignore"):
            if not np.corrcoef(mine, theirs)[0, 1] >= _ALIKE:
                continue
        for ratio, weight in _NICE:
            secret = released_statistic(replace(view, column=theirs / ratio))
            if found.nearest(secret, 0.0):
                points.append(secret)
                weights.append(weight)
    return Posterior.of(points, weights) if points else None


def _line(released: Array, column: Array, off: float) -> _Line | None:
    """The line through all rows; ``None`` where one of them lies off it by more than rounding and ``off``."""
    both = np.isfinite(released) & np.isfinite(column)
    mine, theirs = released[both], column[both]
    if len(mine) < _DISTINCT or len(np.unique(theirs[:4096])) < _DISTINCT:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        middle, level = float(theirs.mean()), float(mine.mean())
        spread = theirs - middle
        slope = float(np.dot(spread, mine - level) / np.dot(spread, spread))
        worst, size = float(np.abs(mine - level - slope * spread).max()), float(mine.std())
    if not worst <= size / 25 or not slope:  # a quick look: most columns end here
        return None
    slack = precision(mine) + abs(slope) * precision(theirs) + off
    # the second condition keeps coarse columns out, whose rounding would explain mere correlation
    if not (worst <= 2 * slack and 50 * worst <= size):
        return None
    slack = max(worst, 2.0**-40 * (abs(level) + size))
    return _Line(column=theirs, slope=slope, start=level - slope * middle, slack=slack)


def _zero(found: Inversion, line: _Line) -> Span | None:
    """A multiple of the original is 0 where the original is 0; ``None`` where 0 stays 0 or lies too far to tell."""
    leverage = 1 + abs(float(line.column.mean())) / float(line.column.std())
    one = span(found, 0.0, line.start, line.slack * leverage)
    return one if one is not None and one.high - one.low < 0.5 * float(np.ptp(found.secrets)) else None


def _usual(view: View, found: Inversion, lines: list[_Line]) -> Posterior | None:
    """The secrets for which a column is a usual multiple of the original: all that is left where 0 stays 0."""
    points, weights = [], []
    for line in lines:
        ends = (float(line.column.min()), float(line.column.max()))
        for ratio, weight in _NICE:
            places = [span(found, end / ratio, line.start + line.slope * end, line.slack) for end in ends]
            both = [place for place in places if place is not None]
            if not both or max(one.low for one in both) > min(one.high for one in both):
                continue  # a sum or difference of the original and a constant is no multiple of it
            sharp = agreed(view, found, both)
            if sharp is not None:
                points.append(sharp.points)
                weights.append(weight * sharp.weights)
    return Posterior.of(np.concatenate(points), np.concatenate(weights)) if points else None


def _joint(released: Array, columns: list[Array], off: float) -> Iterator[_Line]:
    """Lines through the sums, differences, products and ratios of two columns."""
    finite = np.isfinite(released)
    known = [column for column in columns if len(np.unique(column[np.isfinite(column)][:4096])) >= _DISTINCT]
    for one, two in islice(combinations(known, 2), _PAIRS):
        rows = np.flatnonzero(finite & np.isfinite(one) & np.isfinite(two))
        look = rows[:: max(1, len(rows) // _ROWS)]
        for number, joined in enumerate(_joined(one[look], two[look])):
            if _line(released[look], joined, off) is not None:
                line = _line(released[rows], _joined(one[rows], two[rows])[number], off)
                if line is not None:
                    yield line


def _joined(one: Array, two: Array) -> list[Array]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return [one + two, one - two, two - one, one * two, one / two, two / one]
