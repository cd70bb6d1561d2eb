"""What every table file can do: tell its columns, give one column in blocks, write itself with that column replaced."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl

from statveil.errors import ColumnError, unknown_name
from statveil.tables.blocks import Array
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.series import ColumnType

__all__ = ["Progress", "TableFile"]

Progress = Callable[[int], None]
"""Called with the number of rows just done."""


class TableFile(ABC):
    """A table in a file or folder, read in passes of bounded memory.

    Attributes
    ----------
    path : Path
        The file or folder.
    names : list of str
        Column names in order.
    rows : int or None
        Number of rows where the file tells it without being read, else None until a pass has counted them.
    notes : list of str
        What of the file is not carried over to a written table, one sentence each.
    """

    suffixes: ClassVar[tuple[str, ...]]
    path: Path
    names: list[str]
    rows: int | None
    notes: list[str]

    @abstractmethod
    def type_of(self, column: str) -> ColumnType:
        """What the column holds; where the file has no types, its content decides."""

    @abstractmethod
    def column(self, name: str) -> pl.Series:
        """A whole column in memory: in its own type, or as text where the file has no types."""

    @abstractmethod
    def numeric_columns(self) -> list[str]:
        """Columns that hold numbers, as far as that is cheap to tell."""

    @abstractmethod
    def blocks(
        self, column: str, *, labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Iterator[Array]:
        """The column in row order as blocks of ``BLOCK`` rows, NaN where a value is missing.

        Parameters
        ----------
        column : str
            Name of the column.
        labels : sequence of str, optional
            The plan's categories; the blocks then hold the number of each row's category.
        progress : callable, optional
            Called with the number of rows of each block.
        """

    @abstractmethod
    def beside(
        self, column: str, *, labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Iterator[tuple[Array, Mapping[str, pl.Series]]]:
        """The column as :meth:`blocks` gives it, in pieces of any length, with the same rows of all other columns.

        The others are only looked at: in their own types, or as text.
        """

    @abstractmethod
    def write(
        self,
        target: Path,
        column: str,
        column_map: ColumnMap,
        *,
        labels: Sequence[str] | None = None,
        round_digits: int | None = None,
        shuffle: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write the whole table to ``target`` with the column released by the map, and all else as it is.

        Parameters
        ----------
        target : Path
            Where to write; the format is the input's whatever this is called. The caller removes it after an error.
        column : str
            Name of the column.
        column_map : ColumnMap
            Sees exact blocks with their number, whatever the chunks of the file are.
        labels : sequence of str, optional
            The plan's categories, for a column of categories.
        round_digits : int, optional
            Decimals of the released numbers.
        shuffle : int, optional
            The secret seed that puts all rows in another order; in a folder, those of each file.
        progress : callable, optional
            Called with the number of rows of each block.
        """

    def position(self, column: str) -> int:
        """Where the column stands; an error if it is missing, or if two columns have its name."""
        if column not in self.names:
            raise ColumnError(unknown_name("column", column, self.names))
        if self.names.count(column) > 1:
            raise ColumnError(
                f"{self.names.count(column)} columns of {self.path} are called {column!r}; rename all but one."
            )
        return self.names.index(column)

    def _refuse_unless_numbers(self, column: str, found: ColumnType) -> None:
        """An error if the column does not hold numbers."""
        if found.numeric:
            return
        others = [name for name in self.numeric_columns() if name != column]
        ways = f"name a column of numbers ({', '.join(others[:8])}) or plan" if others else "plan"
        raise ColumnError(
            f"column {column!r} holds {found.name} values where numbers are needed; "
            f"{ways} for categories with --labels."
        )
