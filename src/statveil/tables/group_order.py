"""Whether an order of the rows shows how far two parts of a table moved apart: groups of rows, or two columns.

Each part keeps its own order under its map, but the order of both together it does not: of rows that were sorted, the
one factor (or distance) is known that makes them sorted again. So it is with result lists, sorted race by race, and
with a column that holds the place in the race. Where the parts lie beside each other is public, as the labels are, so
what counts is the order of each part's own ranks along the table, and along the blocks that another column makes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import erfc

from statveil.tables.between_columns import between
from statveil.tables.blocks import Array
from statveil.tables.groups import GroupRows
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.others.alongside import SIZES, Alongside, Gathering
from statveil.tables.structure.others.cell_search import Cells
from statveil.tables.structure.others.facets import Facet, Facets, Parted, Sampled
from statveil.tables.structure.reading.distinct import distinct
from statveil.tables.structure.reading.text_forms import leading_bytes
from statveil.tables.structure.rows.exchangeable import ordered
from statveil.tables.structure.rows.group_search import rises
from statveil.tables.structure.rows.order_search import ORDER_LEVEL, told_in_table
from statveil.tables.structure.rows.part_pairs import one_shape, told_by_parts
from statveil.tables.structure.rows.relation import scores_of, told_by_order

__all__ = ["ColumnOrder", "GroupOrder", "orders_blocks", "told_in_blocks"]

_ADDED = "\0"  # no column of a table is called so
_FEWEST = 10  # rows of a part that are looked at
_SHARE = 0.01  # of the variation that the order tells, as for maps that draw rows
_BY_BLOCKS = 0.1  # of the level for the whole order: there are many columns, and all rows count in each
_RESTORED = 0.5  # the same, where another column puts shuffled rows in order again: a date does so in any table
_PAIRS, _WRONG = 20, 0.02  # neighbours in blocks of which the place is known, and how many of them may be the other way
_GLANCE = 2048
_HELD = 2**20  # rows that are looked at for pairs
_BLOCKS, _TRIED = 64, 2000  # columns that make blocks; pairs of one of these with a column that may order it

Whole = NDArray[np.int64]
_Beside = tuple[Array, NDArray[Any]]


class GroupOrder:
    """Watches the column, its groups and all other columns; rows of neither group are a part of their own."""

    def __init__(self, groups: GroupRows) -> None:
        self.facets: Facets | None = partial(_beside_groups, groups)
        self._done, self._rows, self._first = 0, Gathering(), _First(partial(_in_groups, groups))

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> bool:
        """Take in the next rows; whether more of them are wanted."""
        assert self.facets is not None
        for facet in self.facets(values, others, self._done):
            self._rows.add(facet.values, facet.others)
        self._first.add(values, others)
        self._done += len(values)
        return True

    # --- by a sample of rows that lie elsewhere -----------------------------------------------------
    @property
    def searches(self) -> Sequence[Sampled] | None:
        """This one alone, beside :attr:`watchers`."""
        return (self,)

    @property
    def watchers(self) -> Sequence[Parted]:
        """Who sees the first rows."""
        return (self._first,)

    def must_see(self, values: Array, others: Mapping[str, pl.Series], *, whole: bool = False) -> list[str] | None:
        """No column must be seen in all rows."""
        return []

    def take(self, rows: Gathering, others: Collection[str], cells: Cells) -> None:
        """Take in all rows that were kept."""
        self._rows = rows

    def found(self, *, shuffled: bool) -> list[Finding]:
        """``order`` where rows must be shuffled, ``copies`` where another column puts them in order."""
        sample = self._rows.done()
        ranks = self._ranks(sample)
        share = max(_told(ranks, sample), self._paired())
        if share < (_RESTORED if shuffled else _SHARE):
            share = 0.0
        told = list(self._telling(sample))
        if shuffled and share:
            told += [name for name in _restoring(sample) if name not in told]
        found = [] if shuffled or not share else [ordered(f"and {_MOVED}")]
        if told:
            says = (
                f"other columns put rows of both in order by their values ({', '.join(map(repr, told[:5]))}), as a "
                f"place in a race does, or restore the order of rows that were sorted; {_MOVED}. Drop them."
            )
            found.append(Finding(name="copies", values=(), flag="", says=says))
        if one_shape(*self._parts()):
            says = (
                "one of both has the values of the other plus one amount, or times one factor: sorted, they show how "
                "far each moved. Release rows that are no copies of one another, or only one of both."
            )
            found.append(Finding(name="copies", values=(), flag="", says=says))
        return found

    def _parts(self) -> tuple[Array, Array]:
        """The values of both."""
        values, part = self._first.rows()
        return values[part == 1], values[part == 2]

    def _ranks(self, sample: Alongside) -> list[Array]:
        """The rows' ranks, each within its part: the parts may differ in level, and may stand one below the other."""
        scores = np.zeros(len(sample.values))
        part = sample.labels[_ADDED] if _ADDED in sample.labels else np.zeros(len(scores), np.uint64)
        for key in np.unique(part):
            rows = part == key
            if np.count_nonzero(rows) >= _FEWEST:
                scores[rows] = scores_of(sample.values[rows], categories=False)[0]
        return [scores]

    def _telling(self, sample: Alongside) -> Iterator[str]:
        return orders_blocks(sample.values, *_own(sample))

    def _paired(self) -> float:
        """The share that rows tell of those they may belong with, by where they stand in the table or in their part."""
        values, part = self._first.rows()
        known, scores = np.isfinite(values), np.zeros(len(values))
        for key in np.unique(part):
            inside = known & (part == key)
            if np.count_nonzero(inside) >= _FEWEST:
                scores[inside] = scores_of(values[inside], categories=False)[0]
        told = told_in_table(scores[None, known], known, level=ORDER_LEVEL)
        return max(told, told_by_parts(*self._parts(), level=ORDER_LEVEL))


class ColumnOrder(GroupOrder):
    """Watches two columns, what lies between the two values of a row, and all other columns.

    Sorted by the sum of both, by the larger one or by their ratio, rows are ordered in at least one of the three.
    """

    def __init__(self, *, stretched: bool) -> None:
        self.facets = _beside_the_other
        self._stretched, self._done, self._rows, self._first = stretched, 0, Gathering(), _First(_both)

    def _parts(self) -> tuple[Array, Array]:
        return self._first.rows()

    def _ranks(self, sample: Alongside) -> list[Array]:
        one = sample.values
        two = sample.numbers.get(_ADDED, np.zeros(len(one)))
        return self._scores(one, two)

    def _scores(self, one: Array, two: Array) -> list[Array]:
        apart = between(one, two, stretched=self._stretched)
        scores = [scores_of(one, categories=False)[0], scores_of(two, categories=False)[0]]
        inside = np.isfinite(apart)
        scores.append(np.zeros(len(one)))
        scores[-1][inside] = scores_of(apart[inside], categories=False)[0]
        return scores

    def _telling(self, sample: Alongside) -> Iterator[str]:
        return iter(())  # the rank of one of the two is kept by its map

    def _paired(self) -> float:
        one, two = self._first.rows()
        known = np.isfinite(one) & np.isfinite(two)
        ranks = self._scores(one[known], two[known])
        level = ORDER_LEVEL / len(ranks)
        told = [told_in_table(scores[None, :], known, level=level) for scores in ranks]
        return max(*told, told_by_parts(one, two, level=ORDER_LEVEL, beside=True))


class _First:
    """The first rows of a table, all of them and side by side, up to a million."""

    def __init__(self, beside: Callable[[Array, int], _Beside]) -> None:
        """``beside`` gives of some rows, by the number of the first of them, the values and what stands beside them."""
        self._beside = beside
        self._parts: list[_Beside] = []
        self._held = 0

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> None:
        kept = max(_HELD - self._held, 0)
        if kept:
            own, beside = self._beside(values[:kept], self._held)
            self._parts.append((own.copy(), beside.copy()))
            self._held += len(own)

    def part(self, start: int) -> Self:
        """One for the rows from ``start`` on; it will :meth:`join` that of the rows before."""
        fresh = copy(self)
        fresh._parts, fresh._held = [], start
        return fresh

    def join(self, other: Self) -> None:
        """Take in the rows that follow."""
        self._parts += other._parts
        self._held = other._held

    def rows(self) -> tuple[Array, NDArray[Any]]:
        """The values, and what stands beside them."""
        if not self._parts:
            return np.zeros(0), np.zeros(0)
        values, beside = zip(*self._parts, strict=True)
        return np.concatenate(values), np.concatenate(beside)


def _in_groups(groups: GroupRows, values: Array, start: int) -> _Beside:
    """The rows with the number of their group, 0 for neither."""
    one, two = groups.rows(start, len(values))
    return values, one.astype(np.int8) + 2 * two.astype(np.int8)


def _beside_groups(groups: GroupRows, values: Array, others: Mapping[str, pl.Series], start: int) -> list[Facet]:
    return [Facet(values, {**others, _ADDED: pl.Series(_in_groups(groups, values, start)[1])}, start)]


def _both(values: Array, start: int) -> _Beside:
    """The values of both columns."""
    return np.ascontiguousarray(values[:, 0]), np.ascontiguousarray(values[:, 1])


def _beside_the_other(values: Array, others: Mapping[str, pl.Series], start: int) -> list[Facet]:
    """The first column where both have a value, with the second among the others."""
    one, two = _both(values, start)
    return [Facet(np.where(np.isfinite(two), one, np.nan), {**others, _ADDED: pl.Series(two)}, start)]


_MOVED = "both move apart, and the move that puts them in order again is what the release must hide"


def _own(sample: Alongside) -> tuple[dict[str, Array], dict[str, NDArray[np.uint64]]]:
    """Numbers and labels of the table's own columns."""
    return (
        {name: one for name, one in sample.numbers.items() if not name.startswith(_ADDED) and not name.endswith(SIZES)},
        {name: one for name, one in sample.labels.items() if not name.startswith(_ADDED)},
    )


def _told(ranks: Sequence[Array], sample: Alongside) -> float:
    """The largest share of one of the ranks that the order of the rows tells, all over or in blocks."""
    gaps = tuple(int(place) for place in np.flatnonzero(sample.breaks)[1:])
    level = ORDER_LEVEL / len(ranks)
    shares = [0.0]
    blocks = _blocks(_own(sample)[1])
    for scores in ranks:
        shares.append(told_by_order(scores[None, :], level=level, gaps=gaps))
        shares += [told_in_blocks(scores, code, level=_BY_BLOCKS * level / len(blocks)) for code in blocks.values()]
    return max(shares)


def told_in_blocks(scores: Array, code: Whole, *, level: float) -> float:
    """The share of the variation within blocks that goes up or down with the rows of the block; 0 if by accident.

    Of independent rows every order within a block is as likely, so the sum of place times score has a known variance.
    """
    order = np.argsort(code, kind="stable")
    block, value = code[order], scores[order]
    sizes = np.bincount(block)
    first = np.cumsum(sizes) - sizes
    place = np.arange(len(block)) - first[block] - 0.5 * (sizes[block] - 1)
    value = value - (np.bincount(block, value) / np.maximum(sizes, 1))[block]
    by_place, by_value = (np.bincount(block, one * one) for one in (place, value))
    several = sizes > 1
    variance = float((by_place[several] * by_value[several] / (sizes[several] - 1)).sum())
    total = float(by_place[several].sum()) * float(by_value[several].sum())
    if np.count_nonzero(several) < 2 or not variance or not total:
        return 0.0
    along = float(np.abs((place * value).sum()))
    if float(erfc(along / math.sqrt(2 * variance))) > level:
        return 0.0
    return along * along / total


def orders_blocks(
    values: Array, numbers: Mapping[str, Array], labels: Mapping[str, NDArray[np.uint64]]
) -> Iterator[str]:
    """Columns that go up or down with the column in every block: the place in a race, who won, a score by class."""
    look = slice(None, _GLANCE)
    tried, told = 0, set[str]()
    for block, code in _blocks(labels).items():
        for name, column in numbers.items():
            if name == block or name in told or tried >= _TRIED:
                continue
            tried += 1
            if _goes_along(values[look], column[look], code[look], least=0) and _goes_along(values, column, code):
                told.add(name)
                yield name


def _goes_along(values: Array, column: Array, code: Whole, least: int = _PAIRS) -> bool:
    ties = np.random.default_rng(0).permutation(len(values))  # of one number, in no order
    order = np.lexsort((ties, column, code))
    order = order[np.isfinite(column[order])]
    rise = np.diff(values[order])[(np.diff(code[order]) == 0) & (np.diff(column[order]) > 0)]
    rise = rise[rise != 0]
    up = int(np.count_nonzero(rise > 0))
    return len(rise) >= least and min(up, len(rise) - up) <= max(_WRONG * len(rise), 0 if least else 1)


def _blocks(labels: Mapping[str, NDArray[np.uint64]]) -> dict[str, Whole]:
    """Columns whose values put most rows beside others, in two blocks at least."""
    found: dict[str, Whole] = {}
    for name, keys in labels.items():
        _, code, counts = distinct(keys)
        if len(counts) >= 2 and counts[counts > 1].sum() >= 0.5 * len(keys) and len(found) < _BLOCKS:
            found[name] = code.astype(np.int64)
    return found


def _restoring(sample: Alongside) -> Iterator[str]:
    """Columns that rise or fall from row to row: sorted by one, shuffled rows stand as they stood."""
    numbers, _ = _own(sample)
    for name, column in numbers.items():
        if rises(column):
            yield name
    for name, text in sample.texts.items():
        if name not in numbers and rises(np.unique(leading_bytes(text), return_inverse=True)[1].astype(np.float64)):
            yield name
