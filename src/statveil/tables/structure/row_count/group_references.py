"""Whether a column says something of all rows of a group: a total, an average, the best, or which row is the one.

The rows that are left of a group no longer add up to its total, and groups whose one marked row is gone have none: both
tell the share of rows that was left out. What half of the rows has as well as all of them is not meant: a price that is
the least amount of its product stays so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.row_count.referring import Referring, beyond_chance

__all__ = ["numbers_of_groups", "sums_in_groups"]

Mask = NDArray[np.bool_]

_LEAST_GROUPS = 8
_LEAST_SIZE = 1.2  # rows of a group on average
_AGREE, _BY_CHANCE = 0.9, 0.6  # share of the groups
_ALL = 0.99  # for the largest and the smallest, which may be a usual value (the price of one piece)
_EXCEPTIONS = 0.02  # groups in which what is said of them is not the same in all rows
_LASTS = 0.85  # of the groups that agree, if half of the rows is left: then nothing is missing
_GROUPINGS, _NUMBERS = 16, 48
_MARKS = 8  # labels of a column of which one may mark a row of each group
_TRIES = 3


class _Groups:
    """Rows in the order of their groups, and a random half of them."""

    def __init__(self, column: Referring, rng: Generator) -> None:
        self.name, self.rng = column.name, rng
        rows = np.flatnonzero(column.code >= 0)
        self.rows = rows[np.argsort(column.code[rows], kind="stable")]
        self.size = np.bincount(column.code[rows])
        self.starts = np.concatenate(([0], np.cumsum(self.size)[:-1]))
        self.several = self.size > 1
        self.gone = rng.random(len(self.rows)) < 0.5

    def low(self, values: Array) -> Array:
        return np.asarray(np.fmin.reduceat(values, self.starts))

    def high(self, values: Array) -> Array:
        return np.asarray(np.fmax.reduceat(values, self.starts))

    def total(self, values: Array) -> Array:
        """The sum in each group, NaN where it has no value."""
        known = np.isfinite(values)
        total = np.add.reduceat(np.where(known, values, 0.0), self.starts)
        return np.where(self._count(known) > 0, total, np.nan)

    def mean(self, values: Array) -> Array:
        return np.asarray(self.total(values) / np.maximum(self._count(np.isfinite(values)), 1))

    def half(self, values: Array) -> Array:
        """The rows that are left, NaN for the others."""
        return np.where(self.gone, np.nan, values)

    def _count(self, known: Mask) -> Array:
        return np.asarray(np.add.reduceat(known.astype(np.float64), self.starts))


def _groupings(columns: Sequence[Referring]) -> list[_Groups]:
    fit = [one for one in columns if one.numbers is None or one.whole or one.temporal]
    fit = [one for one in fit if _LEAST_GROUPS <= one.different <= one.known.sum() / _LEAST_SIZE]
    rng = np.random.default_rng(0)
    return [_Groups(one, rng) for one in fit[:_GROUPINGS]]


def numbers_of_groups(columns: Sequence[Referring], asked: Collection[str]) -> Iterator[tuple[str, str]]:
    """Columns with a total, an average, the largest or the smallest of a group, or its size; and what groups them.

    ``asked`` are the names of the columns that may be such a number.
    """
    numbers = [one for one in columns if one.numbers is not None and one.different > 1][:_NUMBERS]
    for groups in _groupings(columns):
        several = int(groups.several.sum())
        if several < _LEAST_GROUPS:
            continue
        said: list[tuple[Referring, Array]] = []
        varied: list[tuple[Array, Mask, float]] = [(np.ones(len(groups.rows)), groups.several, 0.0)]
        for one in numbers:
            if one.numbers is None or one.name == groups.name:
                continue
            values = one.numbers[groups.rows]
            low = groups.low(values)
            differ = groups.several & (groups.high(values) - low > one.fine)
            if differ.sum() >= _LEAST_GROUPS:
                varied.append((values, differ, one.fine))
            one_each = differ.sum() <= _EXCEPTIONS * several
            if one.name in asked and one_each and np.isfinite(low).sum() >= _LEAST_GROUPS:
                said.append((one, low))
        for column, level in said:
            near = 0.51 * column.step + column.fine
            if any(_number_of(groups, level, values, differ, near + fine) for values, differ, fine in varied):
                yield column.name, groups.name


def _number_of(groups: _Groups, level: Array, values: Array, differ: Mask, near: float) -> bool:
    """Whether what is said of groups is a number of these values over them, up to a factor (a tax, a unit)."""
    several = groups.several & np.isfinite(level)
    for number in (groups.total, groups.mean, groups.high, groups.low):
        made = number(values)
        at = several & np.isfinite(made)
        factor = _factor(level[at], made[at], near)
        agrees = np.abs(level - factor * made) <= near
        least = _ALL if number in (groups.high, groups.low) else _AGREE
        agree, of = int(agrees[at].sum()), int(at.sum())
        if of < _LEAST_GROUPS or agree < least * of or agrees[at & differ].sum() < _AGREE * (at & differ).sum():
            continue
        chance = 0.0
        for _ in range(_TRIES):
            other = groups.rng.permutation(level[at])
            chance = max(chance, float((np.abs(other - _factor(other, made[at], near) * made[at]) <= near).mean()))
        left = number(groups.half(values))
        there = at & np.isfinite(left)
        lasts = float((np.abs(level - factor * left) <= near)[there].mean()) if there.any() else 1.0
        if chance <= _BY_CHANCE and beyond_chance(agree, of, chance) and lasts <= _LASTS * agree / of:
            return True
    return False


def _factor(level: Array, made: Array, near: float) -> float:
    """How many times the numbers of groups what is said of them is: 1 where that does for as many."""
    at = made != 0
    if not at.any():
        return 1.0
    usual = float(np.median(level[at] / made[at]))
    plain, scaled = ((np.abs(level - factor * made) <= near).sum() for factor in (1.0, usual))
    return 1.0 if plain >= scaled else usual


def sums_in_groups(columns: Sequence[Referring], asked: Collection[str]) -> Iterator[tuple[str, str]]:
    """Columns that add up to one number in each group: one row that is marked, shares, distances from an average.

    ``asked`` are the names of the columns that may do so.
    """
    for groups in _groupings(columns):
        if groups.size.min() == groups.size.max():  # told of by their size
            continue
        for one in [column for column in columns if column.name in asked and column.name != groups.name][
            : 2 * _NUMBERS
        ]:
            if any(_one_sum(groups, *given) for given in _addends(one, groups)):
                yield one.name, groups.name


def _addends(column: Referring, groups: _Groups) -> Iterator[tuple[Array, float, float]]:
    """What may add up: the numbers of a column, and marks of each of its labels; its step, and errors of floats."""
    if column.numbers is not None and not column.temporal and column.different > 2:
        yield np.where(column.known, column.numbers, 0.0)[groups.rows], column.step, column.fine
    if column.different <= _MARKS:
        for label in range(column.different):
            yield (column.code == label)[groups.rows].astype(np.float64), 1.0, 0.0


def _one_sum(groups: _Groups, values: Array, step: float, fine: float) -> bool:
    # rows of a group may all be rounded by the same: their distances from one average
    off = 0.0 if step >= 1 else (0.51 * step + fine) * groups.size
    total = groups.total(values)
    usual = float(np.median(total))
    agree, of = int((np.abs(total - usual) <= off).sum()), len(total)
    if agree < _AGREE * of or not np.ptp(values):
        return False
    chance = 0.0
    for _ in range(_TRIES):
        other = groups.total(groups.rng.permutation(values))
        chance = max(chance, float((np.abs(other - usual) <= off).mean()))
    left = groups.total(groups.half(values))
    there = groups.several & np.isfinite(left)
    lasts = float((np.abs(left - usual) <= off)[there].mean()) if there.any() else 1.0
    return chance <= _BY_CHANCE and beyond_chance(agree, of, chance) and lasts <= _LASTS
