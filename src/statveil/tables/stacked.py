"""Two columns of a table as one, block above block: what compares them sees two groups of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from statveil.errors import ColumnError
from statveil.problem.of_columns import OfColumns
from statveil.problem.problem import Problem
from statveil.tables.blocks import BLOCK, Array, Blocks
from statveil.tables.changes import Labels
from statveil.tables.groups import GroupRows, Masks
from statveil.tables.series import ColumnType
from statveil.tables.source import Progress, Rows, Source

if TYPE_CHECKING:  # which looks at tables
    from statveil.tables.looking import BesideColumn, Look, ShownBeside
    from statveil.tables.structure.others.telling import Copies

__all__ = ["Halves", "Stacked", "above_each_other", "both_columns", "stacked"]


class Halves(GroupRows):
    """Rows of the first column and of the second by turns, a block each: nothing has to be kept of them."""

    names: tuple[str, str]
    """What the columns are called."""

    def __init__(self, names: tuple[str, str]) -> None:
        self.names = names

    def rows(self, start: int, size: int) -> Masks:
        # a block of the first column has whole blocks of both before it, one of the second never has
        first = np.full(size, start % (2 * BLOCK) == 0)
        return first, ~first

    @property
    def known(self) -> tuple[bool, bool]:
        return True, True

    def most(self, rows: int) -> tuple[int, int, int]:
        return rows // 2, rows // 2, 0


def above_each_other(pairs: Blocks) -> Blocks:
    """Blocks of rows with two numbers as blocks of the first ones and of the second ones, by turns."""

    def blocks() -> Iterator[Array]:
        for block in pairs():
            yield np.ascontiguousarray(block[:, 0])
            yield np.ascontiguousarray(block[:, 1])

    return blocks


def both_columns(table: Source, secret: OfColumns) -> tuple[Any, Any]:
    """The two columns that a secret compares, by their names as the table has them."""
    if table.names == [None]:
        raise ColumnError(
            f"the {secret.kind} compares the columns {secret.column!r} and {secret.base!r}, and here is a single "
            "column without a name; give the table."
        )
    return table.called(secret.column), table.called(secret.base)


def stacked(table: Source, problem: Problem) -> Source:
    """The table as the secret sees it: with both columns as one where it compares two."""
    secret = problem.secret
    return Stacked(table, both_columns(table, secret)) if isinstance(secret, OfColumns) else table


class Stacked(Source):
    """One column without a name, with twice as many rows as the table."""

    def __init__(self, table: Source, both: tuple[Any, Any]) -> None:
        self.table, self.both = table, both
        self.names, self.notes, self.rows, self.makes_maps = [None], [], None, table.makes_maps
        self.halves = Halves((str(both[0]), str(both[1])))
        for name in both:
            table.check_numbers(name, why=" and the means of two columns are compared")

    def __str__(self) -> str:
        return str(self.table)

    def label(self, column: Any) -> str:
        return " and ".join(str(name) for name in self.both)

    def type_of(self, column: Any) -> ColumnType:
        found = [self.table.type_of(name) for name in self.both]
        name = " and ".join(one.name for one in found)
        return ColumnType(kind="float", name=name, bits=min(one.bits for one in found))

    def column(self, name: Any) -> pl.Series:
        values = np.concatenate([np.zeros(0), *self.blocks(None)])
        return pl.Series(self.label(None), values).fill_nan(None)

    def numeric_columns(self) -> list[Any]:
        return [None]

    def pairs(self, *, progress: Progress | None = None) -> Iterator[Array]:
        """Blocks of rows with their two numbers."""
        for rows in self.table.together(dict.fromkeys(self.both), progress=progress):
            yield self._paired(rows)

    def together(self, columns: Mapping[Any, Labels], *, progress: Progress | None = None) -> Iterator[Rows]:
        return ({None: block} for block in above_each_other(lambda: self.pairs(progress=progress))())

    def beside(
        self, columns: Mapping[Any, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        """Rows with their two numbers, and the same rows of all other columns."""
        for rows, others in self.table.beside(dict.fromkeys(self.both), progress=progress):
            yield {None: self._paired(rows)}, others

    def look(self, column: Any, look: Look, copies: Copies | None, *, progress: Progress | None = None) -> bool:
        # a table that looks at two columns as one is one that makes maps as well
        return self.makes_maps and self.table.look(self.both, look, copies, progress=progress)

    def look_beside(
        self, columns: Mapping[Any, Labels], asked: Sequence[BesideColumn], others: ShownBeside | None = None
    ) -> list[bool]:
        of_both = [replace(one, column=self.both) for one in asked]
        return self.table.look_beside(dict.fromkeys(self.both), of_both, others)

    def _paired(self, rows: Rows) -> Array:
        return np.stack([rows[name] for name in self.both], axis=1)
