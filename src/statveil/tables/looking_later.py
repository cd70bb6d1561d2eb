"""Long tables: whether other columns tell the hidden one is looked at while the table is written, not in a pass before.

Writing reads all columns anyway, so the pass that measures has to read the hidden column alone. What the column shows
by itself is looked for beside the writing as well, by a thread of its own; what the others tell, as soon as the last
row was seen, while the engine still writes what it was handed. The refusal is the same and comes before anything is
published; up to ``SHORT`` rows it comes before anything is written, as that costs little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from statveil.errors import StatveilError
from statveil.problem.structure import Structure
from statveil.tables.ahead import started
from statveil.tables.blocks import Array
from statveil.tables.files.table_file import WatchedFile
from statveil.tables.source import Rows, Source
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.others.telling import MOST_COLUMNS, Copies
from statveil.tables.verification import refuse_undeclared

__all__ = ["SHORT", "Later", "Own", "Watching", "first_of_all", "has_many_rows", "is_long", "looks_later"]

SHORT = 2**22
"""Rows up to which everything is looked at before the table is written."""


class Own(NamedTuple):
    """What was found in the column itself, and was accepted."""

    found: list[Finding]
    statistics: tuple[float, ...]
    """Numbers of the column that no other column may hold."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Later:
    """What is still to be looked for: what a column that was measured alone shows, and whether others tell it."""

    column: str
    accepted: tuple[str, ...]
    copies: Copies
    own: Future[Own]
    """Of the search in the column itself, or its refusal, which comes before all others."""
    told: list[Future[list[Finding]]] = field(default_factory=list, init=False)
    """What the others tell, once the search for it has begun."""

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> None:
        """Take in the next rows of the column and of all others; refuse them as soon as the column is."""
        if self.own.done():
            self.own.result()
        # without their own names: the engine takes one such as ``^a.*$`` for a pattern
        self.copies.add(values, {name: one.alias("") for name, one in others.items()})

    def search(self) -> None:
        """Begin to look for what the others tell: all rows were seen."""
        self.told.append(started(lambda: self.copies.found(self.own.result().statistics)))

    def refuse(self) -> list[Finding]:
        """Refuse what was found, once all rows were seen; else what was found in the column itself."""
        found = self.own.result().found
        if not self.told:  # whoever showed the rows did not know which is the last
            self.search()
        refuse_undeclared(self.column, self.accepted, self.told[0].result(), Structure())
        return found


@contextmanager
def first_of_all(later: Later | None) -> Iterator[None]:
    """An error of the steps after the search in the column itself, unless that refuses it."""
    try:
        yield
        return
    except StatveilError as error:
        failed = error
    if later is not None:
        later.own.result()
    raise failed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Watching:
    """Sees rows while they are written, all of them or those that :class:`Copies` chose."""

    name: Any
    """The hidden column, as the table calls it."""
    later: Later
    rows: int | None
    """How many rows there are, where that is known."""
    seen: Counter[str] = field(default_factory=Counter, init=False)

    def __call__(self, rows: Rows, others: Mapping[str, pl.Series]) -> None:
        self.later.add(rows[self.name], others)
        self.seen["rows"] += len(rows[self.name])
        if self.seen["rows"] == self.rows:
            self.later.search()


def looks_later(table: Source) -> bool:
    """Whether a table is long, and shows its rows while it is written."""
    return isinstance(table, WatchedFile) and is_long(table)


def is_long(table: Source) -> bool:
    """Whether a table has so many rows that it is worth to have them looked at elsewhere."""
    # too many columns are refused at once
    return has_many_rows(table) and len(table.names) <= MOST_COLUMNS


def has_many_rows(table: Source) -> bool:
    """Whether a table has so many rows that what grows with them should not be held in one place."""
    return (table.rows or 0) > SHORT
