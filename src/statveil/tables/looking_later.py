"""Long tables: whether other columns tell the hidden one is looked at while the table is written, not in a pass before.

Writing reads all columns anyway, so the pass that measures has to read the hidden column alone. The refusal is the same
and comes before anything is published; up to ``SHORT`` rows it comes before anything is written, as that costs little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from statveil.problem.structure import Structure
from statveil.tables.blocks import Array
from statveil.tables.files.table_file import WatchedFile
from statveil.tables.source import Rows, Source
from statveil.tables.structure.telling import MOST_COLUMNS, Copies
from statveil.tables.verification import refuse_undeclared

__all__ = ["SHORT", "Later", "Watching", "looks_later"]

SHORT = 2**22
"""Rows up to which everything is looked at before the table is written."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Later:
    """What is still to be looked for: whether other columns tell a column that was measured alone."""

    column: str
    accepted: tuple[str, ...]
    copies: Copies
    statistics: tuple[float, ...]
    """Numbers of the column that no other column may hold."""

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> None:
        """Take in the next rows of the column and of all others."""
        # without their own names: the engine takes one such as ``^a.*$`` for a pattern
        self.copies.add(values, {name: one.alias("") for name, one in others.items()})

    def refuse(self) -> None:
        """Refuse what was found, once all rows were seen."""
        refuse_undeclared(self.column, self.accepted, self.copies.found(self.statistics), Structure())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Watching:
    """Sees rows while they are written, all of them or those that :class:`Copies` chose."""

    name: Any
    """The hidden column, as the table calls it."""
    later: Later

    def __call__(self, rows: Rows, others: Mapping[str, pl.Series]) -> None:
        self.later.add(rows[self.name], others)


def looks_later(table: Source) -> bool:
    """Whether a table is long, and shows its rows while it is written."""
    # too many columns are refused at once
    return isinstance(table, WatchedFile) and (table.rows or 0) > SHORT and len(table.names) <= MOST_COLUMNS
