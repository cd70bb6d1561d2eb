"""Numbers of groups in tables too long to keep: whole groups are kept, of columns that another one is constant in.

Of a part of its rows nothing can be said of a group. So the first rows say which columns may be numbers of the groups
of which others, as a rule none; of those the rows of some groups are kept, chosen by a hash of the group, all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.aggregate_search import find_aggregates, find_shares
from statveil.tables.structure.others.alongside import Seen, opaque
from statveil.tables.structure.others.links import Link
from statveil.tables.structure.reading.distinct import Distinct, distinct
from statveil.tables.structure.rows.group_search import keys_of, mixed, order_of

__all__ = ["LongGroups"]

Keys = NDArray[np.uint64]

_LOOKED_AT = 2**14  # rows that say which columns may be numbers of groups
_LEAST_ROWS = 40  # of groups of two or more among them
_LEAST_GROUPS, _ENOUGH = 16, 128  # that are worth keeping: fewer prove little, more prove no more
_FEW_ROWS, _ROWS = 2**15, 2**18  # that are kept of a column of groups: the more for large ones
_CONSTANT = 0.98
_COLUMNS, _GROUPINGS, _LEVELS = 64, 12, 16


class LongGroups:
    """Whole groups of the rows of a long table, beside the column that is looked at.

    Parameters
    ----------
    above : int
        Rows up to which a table is kept as a whole elsewhere, and nothing is looked at here.
    categories : bool
        Whether the column is one of categories.
    """

    def __init__(self, *, above: int, categories: bool) -> None:
        self._above, self._categories = above, categories
        self._first: list[tuple[Array, Mapping[str, pl.Series]]] | None = []
        self._seen = 0
        self._groups: list[_Groups] = []

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> None:
        """Take in the next rows of the column and of all others."""
        if self._first is None:
            for one in self._groups:
                one.add(values, others)
            return
        self._first.append((values, others))
        self._seen += len(values)
        if self._seen > self._above:
            first, self._first = self._first, None
            largest = max((block for _, block in first), key=lambda block: len(next(iter(block.values()), ())))
            self._groups = list(_candidates(largest))
            for block in first:
                self.add(*block)

    @property
    def any(self) -> bool:
        """Whether there are groups of which rows are kept."""
        return bool(self._groups)

    def found(self) -> Iterator[Link]:
        """Links of columns that say something of the groups of another one."""
        for one in self._groups:
            rows = one.rows()
            if rows is None:
                continue
            keys, values, levels = rows
            labels = {one.name: keys}
            with np.errstate(all="ignore"):
                if self._categories:
                    yield from find_shares(values, levels, labels, alone=False)
                elif np.ptp(values):
                    yield from find_aggregates(values, levels, labels, alone=False)


class _Groups:
    """The rows of some groups of one column, with the columns that are constant in them."""

    def __init__(self, name: str, levels: Mapping[str, np.uint64 | None]) -> None:
        self.name, self._levels = name, levels
        self._parts: list[tuple[Keys, Array, Array]] = []
        self._shift, self._held, self._limit = 0, 0, _FEW_ROWS

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> None:
        if self._shift > 63:
            return
        keys = keys_of(others[self.name])
        inside = np.flatnonzero(np.isfinite(values) & self._inside(keys))
        levels = np.stack([_level(others[name], flag)[inside] for name, flag in self._levels.items()])
        self._parts.append((keys[inside], values[inside], levels))
        self._held += len(inside)
        while self._held > self._limit and self._shift <= 63:
            if self._number() <= _ENOUGH and self._limit < _ROWS:
                self._limit *= 2
            else:
                self._thin()

    def rows(self) -> tuple[Keys, Array, dict[str, Array]] | None:
        """The groups of the rows, the values, and the other columns; ``None`` where too few groups are whole."""
        if not self._held:
            return None
        keys, values = (np.concatenate([part[i] for part in self._parts]) for i in (0, 1))
        table = np.concatenate([part[2] for part in self._parts], axis=1)
        if self._number() < _LEAST_GROUPS:
            return None
        return keys, values, {name: table[i] for i, name in enumerate(self._levels)}

    def _number(self) -> int:
        """Of groups that are kept."""
        return len(np.unique(np.concatenate([part[0] for part in self._parts])))

    def _inside(self, keys: Keys) -> NDArray[np.bool_]:
        return np.asarray(mixed(keys) <= np.uint64((2**64 - 1) >> self._shift))

    def _thin(self) -> None:
        """Half of the groups, or none where too few are left: such large ones cannot be kept."""
        self._shift += 1
        kept = [self._inside(part[0]) for part in self._parts]
        self._parts = [(p[0][i], p[1][i], p[2][:, i]) for p, i in zip(self._parts, kept, strict=True)]
        self._held = sum(len(part[0]) for part in self._parts)
        if self._number() < _LEAST_GROUPS:
            self._shift, self._held, self._parts = 64, 0, []


def _candidates(columns: Mapping[str, pl.Series]) -> Iterator[_Groups]:
    """Columns that group the rows, with those that have one value in each group."""
    plain = [(name, column) for name, column in columns.items() if not opaque(column.dtype)][:_COLUMNS]
    few = {name: column.head(_LOOKED_AT) for name, column in plain}
    known: dict[str, Distinct] = columns.codes if isinstance(columns, Seen) else {}
    known |= {name: distinct(keys_of(column)) for name, column in few.items() if name not in known}
    codes = {name: known[name] for name in few}
    flags: dict[str, np.uint64 | None] = {}
    for name, (places, _, _) in codes.items():
        if len(places) == 2:
            flags[name] = places[0]
        elif len(places) > 2 and _of_numbers(few[name]):
            flags[name] = None
    found = 0
    for name, (places, code, counts) in codes.items():
        shared = counts[code] > 1
        if len(places) < _LEAST_GROUPS or np.count_nonzero(shared) < _LEAST_ROWS or found >= _GROUPINGS:
            continue
        order = np.argsort(code[shared], kind="stable")
        together = np.diff(code[shared][order]) == 0
        levels = {
            other: flag
            for other, flag in flags.items()
            if other != name and _constant(codes[other][1][shared][order], together)
        }
        if levels:
            found += 1
            yield _Groups(name, dict(list(levels.items())[:_LEVELS]))


def _of_numbers(column: pl.Series) -> bool:
    """Whether a column holds numbers, as such or as text."""
    if column.dtype != pl.String:
        return column.dtype.is_numeric()
    return float(np.mean(np.isfinite(order_of(column.head(256))))) >= _CONSTANT


def _constant(code: NDArray[np.int64], together: NDArray[np.bool_]) -> bool:
    """Whether rows that follow one another in a group have one value, nearly always."""
    return float(np.mean((np.diff(code) == 0)[together])) >= _CONSTANT


def _level(column: pl.Series, flag: np.uint64 | None) -> Array:
    return order_of(column) if flag is None else (keys_of(column) == flag).astype(np.float64)
