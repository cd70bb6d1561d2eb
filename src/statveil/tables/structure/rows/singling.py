"""What is published beside a column that singles out rows, so that it might say which of them belong together.

Rows that are drawn one by one, and two groups that move apart, hide a statistic only from those who do not know which
rows belong together. A column can say that in more ways than any search knows: a digest of a partner's id, two columns
swapped, a start plus a duration. Whatever the way, it is a function of the published columns, so it cannot part rows
that have the same in all of them. The cells of all columns together are therefore the finest grouping there is: where
they have many rows, one look at them says what all ways together could (:mod:`.group_search`). Where columns single out
rows, only the holder can know, and is told which columns these are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from statveil.tables.blocks import Array
from statveil.tables.structure.rows.group_search import keys_of
from statveil.tables.structure.rows.relation import Keys

__all__ = ["Singling"]

_CELL = 10
"""Rows that have the same, among which a partner is lost."""
_FEW = 20
"""Rows in smaller cells that may be there: too few to learn from how they were drawn."""
_ROWS = 2**14  # that are looked at
_MOST_NAMED = 5


class Singling:
    """Watches the first rows of all columns beside one."""

    def __init__(self) -> None:
        self._keys: dict[str, list[Keys]] = {}
        self._seen = 0

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> bool:
        """Take in the next rows; whether more of them are wanted."""
        rows = min(len(values), _ROWS - self._seen)
        if rows <= 0:
            return False
        for name, column in others.items():
            self._keys.setdefault(name, []).append(keys_of(column.head(rows)))
        self._seen += rows
        return self._seen < _ROWS

    def part(self, start: int) -> Singling:
        """One for the rows from ``start`` on; it will :meth:`join` that of the rows before."""
        fresh = Singling()
        fresh._seen = start
        return fresh

    def join(self, other: Singling) -> None:
        """Take in what was seen of the rows that follow."""
        for name, keys in other._keys.items():
            self._keys.setdefault(name, []).extend(keys)
        self._seen = other._seen

    @property
    def columns(self) -> list[str]:
        """The columns by whose value alone rows can be told apart."""
        return [name for name, keys in self._keys.items() if _in_small(keys) > _FEW]

    def to_check(self, *, shuffled: bool, drawn: bool) -> tuple[str, ...]:
        """What the holder alone can know, in a sentence; ``drawn`` of rows that are, else of two groups or columns."""
        names = self.columns
        listed = ", ".join(map(repr, names[:_MOST_NAMED]))
        listed += f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        what = [f"{'columns' if len(names) > 1 else 'column'} {listed}"] if names else []
        what += [] if shuffled else ["the order of the rows"]
        if not what:
            return ()
        ways = ["drop or coarsen what links them"] if names else []
        ways += [] if shuffled else ["add --shuffle (shuffle=True)"]
        return (
            f"{'rows are drawn one by one' if drawn else 'two groups of values move apart'}, which hides the statistic "
            "only if nobody can tell which rows belong together (those of one person, pairs, repeated measurements); "
            f"{' and '.join(what)} may say so in ways that no check knows. If some rows do belong together, "
            f"publish one of each, or {' and '.join(ways)}.",
        )


def _in_small(keys: list[Keys]) -> int:
    """Rows whose value few others share."""
    counts = np.unique(np.concatenate(keys), return_counts=True)[1]
    return int(counts[counts < _CELL].sum())
