"""A number of a group, or a flag for one, as a link: the groups have that number in the column's own place alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.group_numbers import Grouped, Number
from statveil.tables.structure.others.links import Link, best_cut, wrong_sides

__all__ = ["FEW", "GroupFlagLink", "GroupNumberLink", "group_link"]

FEW = 3
"""Different values of a flag or tier."""

_WILD = 8.0

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _GroupLink(Link):
    """The last column is made of a number of the groups of the first one, or of those of its own values."""

    attacker: ClassVar[str] = "group-numbers"

    number: Number

    @property
    def groups(self) -> tuple[str, ...]:
        return self.columns[:1]

    def _numbers(self, column: Array, others: Mapping[str, Array]) -> tuple[Array, Codes, Codes]:
        """The number of each group; rows with a value, and which group each of them has."""
        rows = np.flatnonzero(np.isfinite(column))
        _, code = np.unique(np.nan_to_num(others[self.columns[0]][rows], nan=-1e300), return_inverse=True)
        return self.number.of(Grouped(column[rows], code)), rows, code.astype(np.int64)

    def _levels(self, others: Mapping[str, Array], rows: Codes, code: Codes) -> Array:
        """What the last column says of each group."""
        level = np.full(int(code.max(initial=-1)) + 1, np.nan)
        level[code] = others[self.columns[-1]][rows]
        return level


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupNumberLink(_GroupLink):
    """The number itself, up to a unit and rounding; ``logs`` where only the logarithms stand on a line."""

    says: ClassVar[str] = "a number of groups"

    slope: float
    start: float
    logs: bool
    fine: float
    """How much the number differs from group to group."""

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        made, rows, code = self._numbers(original, others)
        rest = np.abs(self._form(self._levels(others, rows, code)) - self.start - self.slope * self._form(made))
        rest = rest[np.isfinite(rest)]
        if not len(rest):
            return 0.0
        # of shares in groups of a few rows most are right in many places: all of them count, but for wild ones
        return float(np.log(np.mean(np.minimum(rest, _WILD * np.median(rest) + self.fine)) + 1e-6 * self.fine + 1e-300))

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        made, rows, code = self._numbers(after, others)
        form = self.start + self.slope * self._form(made)
        column = others[self.columns[-1]].copy()
        column[rows] = np.where(np.isfinite(form), np.exp(form) if self.logs else form, column[rows][0])[code]
        return {self.columns[-1]: column}

    def _form(self, column: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.log(column) if self.logs else column


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupFlagLink(_GroupLink):
    """Two or three labels by limits of the number; ``labels`` rise or fall with it."""

    says: ClassVar[str] = "a flag for a number of groups"

    labels: tuple[float, ...]
    cuts: tuple[float, ...]

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        made, rows, code = self._numbers(original, others)
        level = self._levels(others, rows, code)
        known = np.isfinite(level)
        return wrong_sides(self._made(made)[known] == level[known], np.ones(int(known.sum()), dtype=np.bool_))

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        made, rows, code = self._numbers(after, others)
        column = others[self.columns[-1]].copy()
        column[rows] = self._made(made)[code]
        return {self.columns[-1]: column}

    def _made(self, numbers: Array) -> Array:
        return np.asarray(self.labels)[np.searchsorted(np.asarray(self.cuts), numbers, side="left")]


def group_link(columns: tuple[str, ...], number: Number, level: Array, made: Array, *, straight: str) -> Link:
    """The link of a column that stands in the order of a number of the groups; ``straight`` is ``"log"`` or ``""``."""
    names = np.unique(level)
    if len(names) <= FEW:
        rising = float(np.corrcoef(level, made)[0, 1]) >= 0
        labels = names if rising else names[::-1]
        rank = np.searchsorted(names, level) if rising else len(names) - 1 - np.searchsorted(names, level)
        cuts = [best_cut(made, rank > i)[0] for i in range(len(names) - 1)]
        return GroupFlagLink(columns=columns, number=number, labels=tuple(labels.tolist()), cuts=tuple(sorted(cuts)))
    logs = straight == "log"
    x, y = (np.log(made), np.log(level)) if logs else (made, level)
    slope, middle = np.polyfit(x - x.mean(), y, 1)
    return GroupNumberLink(
        columns=columns,
        number=number,
        slope=float(slope),
        start=float(middle - slope * x.mean()),
        logs=logs,
        fine=float(y.std()),
    )
