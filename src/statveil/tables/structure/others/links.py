"""Links: relations between the column and others that are no copies, but that fit in one place only.

Whoever knows a link moves the released column until the link holds again. The release refuses links, and the audit
attacks with them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = [
    "EdgeLink",
    "FilterLink",
    "Link",
    "SameLink",
    "TurnLink",
    "WithinLink",
    "best_cut",
    "codes_among",
    "lagged",
    "log_size",
    "within_groups",
    "wrong_sides",
]

_NO_LABEL = -1e300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Link(ABC):
    """A relation that an original keeps with other columns."""

    says: ClassVar[str]
    """What the others are, in a few words."""
    attacker: ClassVar[str] = "links"
    """Who of the audit uses it."""

    columns: tuple[str, ...]

    @property
    def groups(self) -> tuple[str, ...]:
        """Columns whose groups must be there with all their rows for it to hold; ``()`` if a part of them will do."""
        return ()

    @property
    def in_order(self) -> bool:
        """Whether it is about rows that follow one another."""
        return False

    @abstractmethod
    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        """How badly a column fits the others, as minus the log likelihood per row up to a constant."""

    @abstractmethod
    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        """The other columns as they would be beside ``after`` instead of ``before``."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgeLink(Link):
    """The share of a label jumps at a value."""

    says: ClassVar[str] = "a label that changes at a limit"

    label: float
    value: float
    below: float
    above: float

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        flag = others[self.columns[0]] == self.label
        chance = np.clip(np.where(original >= self.value, self.above, self.below), 0.01, 0.99)
        return -float(np.mean(np.log(np.where(flag, chance, 1 - chance))))

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        name = self.columns[0]
        column = others[name].copy()
        known = np.isfinite(before) & np.isfinite(after)
        for side in (False, True):  # a row that comes to a side takes the label of a row that was there
            there = np.flatnonzero(known & ((before >= self.value) == side))
            came = np.flatnonzero(known & ((after >= self.value) == side) & ((before >= self.value) != side))
            if len(there):
                column[came] = others[name][there[np.arange(len(came)) % len(there)]]
        return {name: column}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TurnLink(Link):
    """Another column is a function of this one that rises and falls; ``places`` and ``heights`` are points of it."""

    says: ClassVar[str] = "a function of it"

    places: Array
    heights: Array

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        return log_size(others[self.columns[0]] - self._there(original))

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        change = self._there(after) - self._there(before)
        return {self.columns[0]: others[self.columns[0]] + np.nan_to_num(change, nan=0.0)}

    def _there(self, column: Array) -> Array:
        known = np.interp(np.nan_to_num(column), self.places, self.heights)
        return np.where(np.isfinite(column), known, np.nan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FilterLink(Link):
    """Another column is a weighted sum of this one's neighbouring rows, or grows by it (``steps``)."""

    says: ClassVar[str] = "a sum of the rows around"

    lags: tuple[int, ...]
    weights: tuple[float, ...]
    start: float
    steps: bool

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        column = others[self.columns[0]]
        target = np.concatenate(([np.nan], np.diff(column))) if self.steps else column
        return log_size(target - self.start - self._made(original))

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        change = np.nan_to_num(self._made(after) - self._made(before), nan=0.0)
        return {self.columns[0]: others[self.columns[0]] + (np.cumsum(change) if self.steps else change)}

    def _made(self, column: Array) -> Array:
        return np.asarray(
            sum((weight * lagged(column, lag) for lag, weight in zip(self.lags, self.weights, strict=True)), 0.0)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WithinLink(Link):
    """Within each group of ``columns[1]`` another column is a multiple of this one: shares of the group's total."""

    says: ClassVar[str] = "shares within groups"

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        with np.errstate(all="ignore"):
            ratio = np.log(np.abs(original / others[self.columns[0]]))
        return log_size(within_groups(ratio, others[self.columns[1]]))

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            moved = others[self.columns[0]] * after / before
        return {self.columns[0]: np.where(np.isfinite(moved), moved, others[self.columns[0]])}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SameLink(Link):
    """Another column has the very same values, in other rows."""

    says: ClassVar[str] = "its values in other rows"

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        there, here = (np.sort(one[np.isfinite(one)]) for one in (others[self.columns[0]], original))
        if not len(there) or not len(here):
            return 0.0
        places = np.linspace(0.05, 0.95, 37)
        return log_size(np.quantile(here, places) - np.quantile(there, places))

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        column = others[self.columns[0]]
        finite = np.isfinite(before) & np.isfinite(after)
        order = np.argsort(before[finite], kind="stable")
        change = (after - before)[finite][order]
        moved = column + np.interp(np.nan_to_num(column), before[finite][order], change)
        return {self.columns[0]: np.where(np.isfinite(column), moved, np.nan)}


def lagged(column: Array, lag: int) -> Array:
    """The value so many rows before (after, for a negative lag), NaN beyond the ends.

    >>> lagged(np.array([1.0, 2.0, 3.0]), 1)
    array([nan,  1.,  2.])
    """
    moved = np.full(len(column), np.nan)
    if abs(lag) < len(column):
        moved[max(lag, 0) : len(column) + min(lag, 0)] = column[max(-lag, 0) : len(column) - max(lag, 0)]
    return moved


def codes_among(names: NDArray[np.generic], column: NDArray[np.generic]) -> NDArray[np.int64]:
    """Which of some labels, in rising order, each row has; -1 for others. Cells without a label are one too.

    >>> codes_among(np.array([1.0, 3.0]), np.array([3.0, 2.0, 1.0])).tolist()
    [1, -1, 0]
    """
    labels = np.nan_to_num(column, nan=_NO_LABEL) if column.dtype.kind == "f" else column
    at = np.minimum(np.searchsorted(names, labels), len(names) - 1)
    return np.where(names[at] == labels, at, -1)


def best_cut(score: Array, flag: NDArray[np.bool_]) -> tuple[float, bool]:
    """The number that parts flagged from other rows with the fewest errors, and whether the flagged ones lie above it.

    >>> best_cut(np.array([1.0, 2.0, 4.0]), np.array([False, False, True]))
    (3.0, True)
    """
    order = np.argsort(score, kind="stable")
    ranked = score[order]
    balance = np.cumsum(np.where(flag[order], 1, -1))[:-1]
    inside = ranked[1:] > ranked[:-1]  # equal values are not parted
    if not inside.any():
        return float(ranked[0]), True
    rows = len(flag)
    least, most = int(np.argmin(np.where(inside, balance, rows))), int(np.argmax(np.where(inside, balance, -rows)))
    total = 2 * int(np.count_nonzero(flag)) - len(flag)
    above = -balance[least] >= balance[most] - total
    at = least if above else most
    return 0.5 * float(ranked[at] + ranked[at + 1]), bool(above)


def wrong_sides(beyond: NDArray[np.bool_], flag: NDArray[np.bool_]) -> float:
    """Minus the log likelihood per row where a flag says on which side a row lies, but for one error in a hundred."""
    return float(np.mean(np.where(beyond == flag, _RIGHT, _WRONG))) if len(flag) else 0.0


_RIGHT, _WRONG = -float(np.log(0.99)), -float(np.log(0.01))


def within_groups(values: Array, groups: Array) -> Array:
    """Rows less the mean of their group; NaN in groups of one row."""
    _, code = np.unique(groups, return_inverse=True)
    good = np.isfinite(values)
    rows = np.bincount(code[good], minlength=int(code.max(initial=0)) + 1)
    sums = np.bincount(code[good], weights=values[good], minlength=len(rows))
    with np.errstate(all="ignore"):
        return np.where(rows[code] > 1, values - (sums / rows)[code], np.nan)


def log_size(rest: Array) -> float:
    """The log of how large the rest is in the middle: rows that are off for another reason do not count."""
    known = np.abs(rest[np.isfinite(rest)])
    return float(np.log(np.median(known) + 1e-12)) if len(known) else 0.0
