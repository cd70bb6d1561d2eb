"""Whether rows that belong together without a column for it show how far two groups, or two columns, moved apart.

If all pairs differ by one amount, or go along with one another, only one factor makes them do so again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from statveil.tables.blocks import Array
from statveil.tables.groups import GroupRows
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.rows.belonging import Belonging, belonging
from statveil.tables.structure.rows.together_search import VALUE, Together, goes_across, told_by_the_others

__all__ = ["LinkedColumns", "LinkedGroups"]

_OTHER = "\0other"  # no column of a table is called so


class LinkedGroups(Together):
    """Watches a column whose two groups of rows move apart; rows of neither stay, and are a part of their own."""

    def __init__(self, groups: GroupRows) -> None:
        super().__init__()
        self._groups, self._done = groups, 0

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> bool:
        one, two = self._groups.rows(self._done, len(values))
        self._done += len(values)
        part = one.astype(np.int8) + 2 * two.astype(np.int8)
        self.rows.add({VALUE: pl.Series(values), _OTHER: pl.Series(part), **others})
        return True

    def part(self, start: int) -> LinkedGroups:
        fresh = LinkedGroups(self._groups)
        fresh.rows, fresh._done = self.rows.part(start), start
        return fresh

    def found(self) -> list[Finding]:
        """``groups`` where rows of one part belong to rows of another one, and go along with them."""
        values, columns = self.sample()
        part = columns.pop(_OTHER, pl.Series([], dtype=pl.Int8)).to_numpy()
        return _named("rows of the two groups", goes_across(values, part, belonging(columns)))


class LinkedColumns(Together):
    """Watches two columns that move apart."""

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> bool:
        one, two = (pl.Series(np.ascontiguousarray(values[:, place])) for place in range(2))
        self.rows.add({VALUE: one, _OTHER: two, **others})
        return True

    def part(self, start: int) -> LinkedColumns:
        fresh = LinkedColumns()
        fresh.rows = self.rows.part(start)
        return fresh

    def found(self) -> list[Finding]:
        """``groups`` where the one value of a row is told by the other value of rows that belong to it."""
        one, columns = self.sample()
        two = columns.pop(_OTHER, pl.Series([], dtype=pl.Float64)).to_numpy()
        groupings = belonging(columns)
        return _named("the two columns", told_by_the_others(one, two, groupings))


def _named(what: str, groupings: list[Belonging]) -> list[Finding]:
    told = [one.name for one in groupings]
    if not told:
        return []
    listed = ", ".join(map(repr, told[:5])) + (f" and {len(told) - 5} more" if len(told) > 5 else "")
    says = (
        f"other columns say which values of {what} belong together ({listed}): an id that both have, a part of a text, "
        "a column that names another row, or two columns together. Such values go along with one another, both move "
        "apart, and the move that makes them fit again is what the release must hide; drop or pseudonymise those "
        "columns row by row (--shuffle does not help)."
    )
    return [Finding(name="groups", values=(), flag="", says=says)]
