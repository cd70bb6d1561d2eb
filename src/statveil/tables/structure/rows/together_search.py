"""Whether rows that belong together without a column for it tell what is hidden (:mod:`.belonging`).

Rows that are drawn one by one stick out of a group that was alike. Of two groups of rows that move apart, each row
tells of the other where pairs go across: if all pairs differ by one amount, or go along with one another, only one
factor makes them do so again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import betainc

from statveil.tables.blocks import Array
from statveil.tables.structure.others.row_search import holds_values
from statveil.tables.structure.reading.row_sample import RowSample
from statveil.tables.structure.rows.belonging import Belonging, belonging
from statveil.tables.structure.rows.group_search import Told, told_by_groups
from statveil.tables.structure.rows.naming import numbered
from statveil.tables.structure.rows.relation import beats_chance, scores_of

__all__ = ["VALUE", "Together", "alike", "goes_across", "rows_across", "told_by_the_others"]

VALUE = "\0value"
"""No column of a table is called so."""
_LEVEL = 1e-3  # for all groupings of a table together
_GROUPS = 8  # that have rows of both parts
_ACROSS = 0.5  # correlation of two rows of a group, of different parts
_NEARER = 0.1  # how much more two rows of a group than the two values of a row
_TOLD = 0.95  # rank correlation from which a column tells another one, as among copies
_SMALL = 4.0  # rows of a group on average, up to which single rows are compared to the last digit

Codes = NDArray[np.int64]


class Together:
    """Watches a column that is drawn row by row, and all others, in bounded memory."""

    def __init__(self) -> None:
        self.rows = RowSample()

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> bool:
        """Take in the next rows; whether more of them are wanted."""
        self.rows.add({VALUE: pl.Series(values), **others})
        return True

    def part(self, start: int) -> Together:
        """One for the rows from ``start`` on; it will :meth:`join` that of the rows before."""
        fresh = Together()
        fresh.rows = self.rows.part(start)
        return fresh

    def join(self, other: Together) -> None:
        """Take in what was kept of the rows that follow."""
        self.rows.join(other.rows)

    def told(self, *, categories: bool, least: float, equal: float | None, known: Collection[str]) -> list[Told]:
        """Groupings whose rows are alike, but for those by columns that are ``known`` to tell."""
        values, columns = self.sample()
        found = alike(values, belonging(columns), categories=categories, least=least, equal=equal, known=known)
        return [Told(name=one.name, share=share, equal=same) for one, share, same in found]

    def sample(self) -> tuple[Array, dict[str, pl.Series]]:
        """Rows of the column, and of all others."""
        columns = self.rows.columns
        values = columns.pop(VALUE, pl.Series([], dtype=pl.Float64))
        return values.to_numpy(), columns


def alike(
    values: Array,
    groupings: Sequence[Belonging],
    *,
    categories: bool,
    least: float,
    equal: float | None,
    known: Collection[str] = (),
) -> Iterator[tuple[Belonging, float, float]]:
    """Groupings whose rows are alike, each with the share that it tells and that of rows in groups of one value.

    A column that tells is named once, and one that is ``known`` to tell not at all.
    """
    level = _LEVEL / max(len(groupings), 1)
    names = set(known)
    for one in groupings:
        if names.intersection(one.columns):
            continue
        code = numbered(one.code, (one.code >= 0) & np.isfinite(values))
        inside = code >= 0
        share, same = told_by_groups(
            values[inside], code[inside], categories=categories, level=level, least=least, equal=equal, strict=True
        )
        if share or same:
            names.update(one.columns)
            yield one, share, same


def goes_across(values: Array, part: NDArray[np.integer], groupings: Sequence[Belonging]) -> list[Belonging]:
    """Groupings that join rows of different parts whose values go along with one another."""
    finite = np.isfinite(values)
    scores = np.zeros(len(values))
    for which in np.unique(part):
        rows = finite & (part == which)
        if np.count_nonzero(rows) > 1 and np.ptp(values[rows]):
            ranks = scores_of(values[rows], categories=False)[0]
            scores[rows] = ranks / ranks.std()
    level = _LEVEL / max(len(groupings), 1)
    joined = [one for one in (_joined(belongs, finite, part) for belongs in groupings) if one.links]
    along = _once(
        one.belongs
        for one in joined
        if any(_along(scores[rows], code, part[rows] == first, level) for first, rows, code in one.links)
    )
    # to the last digit even rows that were joined by accident may show it: only where nothing else does
    return along or _once(
        one.belongs
        for one in joined
        if any(_same_steps(values[rows], code, part[rows] == first) for first, rows, code in one.links)
    )


def _once(found: Iterable[Belonging]) -> list[Belonging]:
    """Each column once, by the first grouping that names it."""
    told: set[str] = set()
    kept = []
    for one in found:
        if not told.intersection(one.columns):
            told.update(one.columns)
            kept.append(one)
    return kept


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Joined:
    """A grouping with the rows of two parts that it joins: the first of the two parts, the rows, and their groups."""

    belongs: Belonging
    links: list[tuple[int, NDArray[np.int64], Codes]]


def _joined(belongs: Belonging, finite: NDArray[np.bool_], part: NDArray[np.integer]) -> _Joined:
    inside = np.flatnonzero((belongs.code >= 0) & finite)
    links = []
    for first, second in ((1, 2), (1, 0), (2, 0)):
        found = rows_across(belongs.code[inside], part[inside], first, second)
        if found is not None:
            links.append((first, inside[found[0]], found[1]))
    return _Joined(belongs=belongs, links=links)


def rows_across(
    code: Codes, part: NDArray[np.integer], first: int, second: int
) -> tuple[NDArray[np.int64], Codes] | None:
    """Rows of groups that have rows of both parts, and the number of their group; ``None`` where these are few."""
    ours = np.flatnonzero((part == first) | (part == second))
    group = code[ours]
    size = int(group.max(initial=-1)) + 1
    both = (np.bincount(group[part[ours] == first], minlength=size) > 0) & (
        np.bincount(group[part[ours] == second], minlength=size) > 0
    )
    if np.count_nonzero(both) < _GROUPS:
        return None
    kept = both[group]
    return ours[kept], (np.cumsum(both) - 1)[group[kept]]


def _along(scores: Array, code: Codes, first: NDArray[np.bool_], level: float) -> bool:
    """Whether two rows of a group, one of each part, go along with one another far more than by chance."""
    groups = int(code.max()) + 1
    here, there = (np.bincount(code[side], minlength=groups) for side in (first, ~first))
    weight = np.minimum(here, there).astype(np.float64)

    def along(order: NDArray[np.int64] | slice) -> float:
        mixed = scores[order]
        one, two = (np.bincount(code[side], mixed[side], minlength=groups) for side in (first, ~first))
        return abs(float((weight * one * two / (here * there)).sum()))

    seen = along(slice(None))
    if seen < _ACROSS * weight.sum():
        return False
    one, two = (np.bincount(code[side], scores[side]) / rows for side, rows in ((first, here), (~first, there)))
    if not np.ptp(one) or not np.ptp(two):
        return False
    squared = min(float(np.corrcoef(one, two)[0, 1]) ** 2, 1.0)
    chance = 1 - float(betainc(0.5, 0.5 * (groups - 2), squared))  # of the correlation of as many independent pairs
    return chance <= level and beats_chance(seen, along, len(scores))


def _same_steps(values: Array, code: Codes, first: NDArray[np.bool_]) -> bool:
    """Whether some pairs, one row of each part, share one difference or quotient to the last digit."""
    groups = int(code.max()) + 1
    if len(values) > _SMALL * groups:
        return False
    one, two = np.full(groups, np.nan), np.full(groups, np.nan)
    one[code[first][::-1]] = values[first][::-1]
    two[code[~first][::-1]] = values[~first][::-1]
    return holds_values(one, two)


def told_by_the_others(one: Array, two: Array, groupings: Sequence[Belonging]) -> list[Belonging]:
    """Groupings in which one of two columns goes along with the other one in the other rows of a group."""
    known = np.isfinite(one) & np.isfinite(two)
    together = abs(_rank_correlation(one[known], two[known]))
    level = _LEVEL / max(len(groupings), 1)
    sides = [(belongs, list(_sides(one, two, known, belongs))) for belongs in groupings]

    def along(x: Array, y: Array) -> bool:
        much = abs(_rank_correlation(x, y))
        if much < _TOLD and much < max(_ACROSS, together + _NEARER):
            return False
        # the two rows of a pair say the same twice
        return 1 - float(betainc(0.5, 0.5 * (0.5 * len(x) - 2), min(much * much, 1.0))) <= level

    found = _once(belongs for belongs, pairs in sides if any(along(x, y) for x, y, _ in pairs))
    return found or _once(
        belongs for belongs, pairs in sides if any(small and holds_values(x, y) for x, y, small in pairs)
    )


def _sides(one: Array, two: Array, known: NDArray[np.bool_], belongs: Belonging) -> Iterator[tuple[Array, Array, bool]]:
    """Each of two columns beside the other one in the other rows of a group, and whether the groups are small."""
    rows = np.flatnonzero((belongs.code >= 0) & known)
    code = np.unique(belongs.code[rows], return_inverse=True)[1].ravel()
    groups = int(code.max(initial=-1)) + 1
    for here, there in ((one, two), (two, one)) if groups >= _GROUPS else ():
        x, y = here[rows], _of_the_others(there[rows], code)
        inside = np.isfinite(y)
        if np.count_nonzero(inside) >= 2 * _GROUPS:
            yield x[inside], y[inside], len(rows) <= _SMALL * groups


def _of_the_others(values: Array, code: Codes) -> Array:
    """The mean of the other rows of each row's group, NaN where there are none."""
    sums, rows = np.bincount(code, values), np.bincount(code)
    with np.errstate(all="ignore"):
        return np.where(rows[code] > 1, (sums[code] - values) / (rows[code] - 1), np.nan)


def _rank_correlation(one: Array, two: Array) -> float:
    if len(one) < 3 or not np.ptp(one) or not np.ptp(two):
        return 0.0
    x, y = (scores_of(column, categories=False)[0] for column in (one, two))
    return float(np.corrcoef(x, y)[0, 1])
