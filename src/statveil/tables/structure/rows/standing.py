"""Which rows stand together: neighbours, the rows of each value of a column, rows that a column puts beside each other.

Relations between such rows are what outsiders know: two lines of an order differ by a fee, the next row is the net
price, the lines of an invoice make a round total.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.tables.structure.others.alongside import SIZES, Alongside
from statveil.tables.structure.others.within_search import groupings

__all__ = ["MOST_OF_A_GROUP", "Standing", "block_totals", "group_totals", "standings"]

_MOST_GROUPINGS, _MOST_ORDERS = 16, 8  # columns that group the rows, and that put them in order
_LEAST_ROWS = 30
_UNIQUE = 0.9  # different values per row, from which on a column puts the rows in an order
_MOST_PAIRS = 4096
_PAIRS_OF_EACH = 3  # of a group: those of one group may be alike for one reason
_FAR = 3
MOST_OF_A_GROUP = 64
"""Rows of a group whose total is looked at."""
_LONGEST = 12  # rows of a block
_LEAST_TOTALS = 12
_VARIED = 8.0  # of the least difference of two values: k rows of one value add up to a multiple of k
_REPEATED = 1.3  # times as often as among rows in no relation

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """Rows one after another, in groups.

    Parameters
    ----------
    name : str or None
        The column that says so; ``None`` for the order of the table.
    rows : array of int
        The rows in their order.
    group : array of int
        Number of the group of each of them, rising; rows of two groups do not stand together.
    grouped : bool
        Whether the groups are those of a column, and not pieces of the table.
    """

    name: str | None
    rows: Whole
    group: Whole
    grouped: bool

    def pairs(self) -> Iterator[tuple[Whole, Whole]]:
        """Rows that are one, two or three places apart: the first ones, and the second ones."""
        for far in range(1, _FAR + 1):
            together = self.group[far:] == self.group[:-far]
            if self.grouped:
                start = np.flatnonzero(np.concatenate(([True], np.diff(self.group) != 0)))
                inside = np.arange(len(self.group)) - np.repeat(start, np.diff(start, append=len(self.group)))
                together &= inside[:-far] < _PAIRS_OF_EACH
            at = np.flatnonzero(together)
            at = at[:: max(-(-len(at) // _MOST_PAIRS), 1)]
            if len(at):
                yield self.rows[at], self.rows[at + far]


def standings(sample: Alongside, *, shuffled: bool) -> Iterator[Standing]:
    """All ways in which rows of a table stand together, as it is or, ``shuffled``, put in order again by a column."""
    around = sample.around
    if len(around.values) < _LEAST_ROWS:
        return
    every = np.arange(len(around.values))
    pieces: Whole = np.cumsum(around.breaks).astype(np.int64)
    yield Standing(name=None, rows=every, group=pieces, grouped=False)
    left = _MOST_ORDERS
    for name, column in around.numbers.items():
        if not left or name.endswith(SIZES) or len(column) != len(every):
            continue
        known = np.flatnonzero(np.isfinite(column))
        if len(known) < _LEAST_ROWS or len(np.unique(column[known])) < _UNIQUE * len(known):
            continue
        order = known[np.argsort(column[known], kind="stable")]
        rising = bool(np.all(np.diff(order) > 0) or np.all(np.diff(order) < 0))
        if rising and not shuffled:
            continue  # the order of the table
        if sample.whole or rising:  # of a part of the rows, neighbours in another order are missing
            left -= 1
            yield Standing(name=name, rows=order, group=pieces[order], grouped=False)
    for name, code in list(groupings(around.labels).items())[:_MOST_GROUPINGS]:
        order = np.argsort(code, kind="stable")
        yield Standing(name=name, rows=order, group=code[order], grouped=True)


def group_totals(
    values: Array, standing: Standing, mixes: list[Whole], cell: float
) -> tuple[Array, list[Array]] | None:
    """The totals of groups of several rows, and those of other rows in groups of the same sizes.

    Of a table of which a part is looked at, a group may have rows that are missing: then nothing can be said of it.
    """
    x = values[standing.rows]
    good = np.isfinite(x)
    x, code = x[good], np.unique(standing.group[good], return_inverse=True)[1]
    rows = np.bincount(code)
    several = (rows > 1) & (rows <= MOST_OF_A_GROUP)
    if np.count_nonzero(several) < _LEAST_TOTALS:
        return None
    ends = np.concatenate(([0], np.cumsum(rows)[:-1]))

    made = [_in_groups(one, code, ends) for one in (x, *(x[np.argsort(mix[standing.rows][good])] for mix in mixes))]
    chosen = _free_of_copies([(apart, repeats) for _, apart, repeats in made], cell)
    kept = [one[0][several & which][:_MOST_PAIRS] for one, which in zip(made, chosen, strict=True)]
    return (kept[0], kept[1:]) if len(kept[0]) >= _LEAST_TOTALS else None


def _in_groups(x: Array, code: Whole, ends: Whole) -> tuple[Array, Array, Whole]:
    """Totals of the groups, how far their rows lie apart, and how many of them repeat another one."""
    order = np.lexsort((x, code))
    again = np.concatenate(([False], (np.diff(x[order]) == 0) & (np.diff(code[order]) == 0)))
    apart: Array = np.maximum.reduceat(x, ends) - np.minimum.reduceat(x, ends)
    return np.bincount(code, weights=x).astype(np.float64), apart, np.add.reduceat(again.astype(np.int64), ends)


def _free_of_copies(made: list[tuple[Array, Whole]], cell: float) -> list[NDArray[np.bool_]]:
    """Which totals count: k rows of one value add up to a multiple of k, whatever that is.

    ``made`` are how far rows lie apart and how many are repeated, of the groups and of those of rows in no relation.
    """
    varied: list[NDArray[np.bool_]] = [apart >= _VARIED * cell for apart, _ in made]
    repeated = [int(repeats[good].sum()) for (_, repeats), good in zip(made, varied, strict=True)]
    if repeated[0] > _REPEATED * float(np.mean(repeated[1:])) + 5:
        return [good & (repeats == 0) for (_, repeats), good in zip(made, varied, strict=True)]
    return varied


def block_totals(
    values: Array, mixed: list[Array], breaks: NDArray[np.bool_], cell: float
) -> Iterator[tuple[int, Array, list[Array]]]:
    """How many rows, totals of blocks of so many rows from the first one on, and those of rows in no order."""
    start = np.flatnonzero(breaks | (np.arange(len(values)) == 0))
    length = np.diff(start, append=len(values))
    for rows in range(2, _LONGEST + 1):
        if len(start) > 1 and 256 % rows:
            continue  # pieces from all over the table: where a block begins is known of these lengths alone
        first = np.concatenate(
            [np.arange(at, at + size - rows + 1, rows) for at, size in zip(start, length, strict=True)]
        )
        if len(first) < _LEAST_TOTALS:
            continue
        first = first[:_MOST_PAIRS]
        at = first[:, None] + np.arange(rows)
        blocks = [one[at] for one in (values, *mixed)]
        blocks = [one[np.isfinite(one).all(axis=1)] for one in blocks]
        repeats = [(np.diff(np.sort(one, axis=1), axis=1) == 0).sum(axis=1) for one in blocks]
        chosen = _free_of_copies([(np.ptp(b, axis=1), r) for b, r in zip(blocks, repeats, strict=True)], cell)
        totals: list[Array] = [one[which].sum(axis=1) for one, which in zip(blocks, chosen, strict=True)]
        yield rows, totals[0], totals[1:]
