"""What becomes of a table's columns when it is written: some replaced, some left out, some worked out anew."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from statveil.tables.maps.column_map import ColumnMap

__all__ = ["Changes", "Derived", "Labels", "Replacement"]

Labels = Sequence[str] | None
"""The plan's categories, for a column of categories; ``None`` for numbers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replacement:
    """How one column is released.

    Parameters
    ----------
    column_map : ColumnMap
        Sees exact blocks with their number, whatever the chunks of the table are.
    labels : sequence of str, optional
        The plan's categories, for a column of categories.
    round_digits : int, optional
        Decimals of the released numbers.
    """

    column_map: ColumnMap
    labels: Labels = None
    round_digits: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Derived:
    """A column that is worked out of released ones, row by row.

    Parameters
    ----------
    needs : collection
        The columns that it is worked out of, by their names in the released table.
    kind : str
        ``"integer"``, ``"float"``, ``"boolean"`` or ``"text"``: a sink must know it before the first row.
    rows : callable
        The rows of the column, from the same rows of what it needs; of the type that :attr:`dtype` says.
    """

    needs: Collection[Any]
    kind: str
    rows: Callable[[Mapping[Any, pl.Series]], pl.Series]

    @property
    def dtype(self) -> pl.DataType:
        """The type of its rows."""
        return _TYPES[self.kind]


_TYPES: dict[str, pl.DataType] = {
    "integer": pl.Int64(),
    "float": pl.Float64(),
    "boolean": pl.Boolean(),
    "text": pl.String(),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changes:
    """All changes of a table, made in one pass. What is not named stays as it is.

    Parameters
    ----------
    replaced : mapping
        Columns that are released by a map, by name.
    dropped : collection
        Columns that are left out.
    derived : mapping
        Columns that are worked out of the released ones, each after those that it needs. One that the table has
        takes its place; a new one comes at the end.
    keep : int, optional
        How many rows stay, the first in the order of the secret seed; all of them where it is left out.
    """

    replaced: Mapping[Any, Replacement] = field(default_factory=dict)
    dropped: Collection[Any] = ()
    derived: Mapping[Any, Derived] = field(default_factory=dict)
    keep: int | None = None

    @classmethod
    def one(
        cls, column: Any, column_map: ColumnMap, *, labels: Labels = None, round_digits: int | None = None
    ) -> Changes:
        """One column released, and all else as it is."""
        return cls(replaced={column: Replacement(column_map=column_map, labels=labels, round_digits=round_digits)})

    @property
    def labels(self) -> dict[Any, Labels]:
        """The columns that are replaced, each with its categories."""
        return {name: one.labels for name, one in self.replaced.items()}

    @property
    def read(self) -> list[Any]:
        """The columns whose released rows are needed for others."""
        made = {*self.derived}
        return list(dict.fromkeys(name for one in self.derived.values() for name in one.needs if name not in made))

    def worked_out(self, released: Mapping[Any, pl.Series]) -> dict[Any, pl.Series]:
        """The derived columns, from the same rows of the columns that they need."""
        known = dict(released)
        for name, one in self.derived.items():
            known[name] = one.rows({other: known[other] for other in one.needs}).alias(str(name))
        return {name: known[name] for name in self.derived}
