"""A table with columns, wherever it lies: what a release, an audit, a comparison and an inspection ask of it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from statveil.errors import ColumnError, unknown_name
from statveil.tables.blocks import Array
from statveil.tables.changes import Labels
from statveil.tables.series import ColumnType

if TYPE_CHECKING:  # both look at tables
    from statveil.tables.groups import GroupRows, LabelColumn
    from statveil.tables.looking import BesideColumn, Look, ShownBeside
    from statveil.tables.panel_units import Units
    from statveil.tables.structure.others.facets import Parted
    from statveil.tables.structure.others.telling import Copies

__all__ = ["CATEGORIES", "Progress", "Rows", "Source", "open_source"]

Progress = Callable[[int], None]
"""Called with the number of rows just done."""

Rows = dict[Any, Array]
"""The same rows of several columns, as maps see them."""

CATEGORIES = "plan for categories with --labels"
"""What to do about a column of text."""


def open_source(table: Any) -> Source:
    """The table in a file, by the suffix of its path, in a database, by its URL, or in memory, by the object's type.

    A new format is one file in ``tables/files``, a new engine one in ``tables/frames``, or anywhere else: deriving from
    :class:`TableFile` or :class:`Frame` registers it.
    """
    # all derive from Source
    from statveil.tables.databases.address import is_address
    from statveil.tables.files import open_table
    from statveil.tables.frames import open_frame

    if is_address(table):
        from statveil.tables.databases.database_table import open_database_table

        return open_database_table(table)
    return open_table(table) if isinstance(table, str | os.PathLike) else open_frame(table)


class Source(ABC):
    """A table that is read in passes, a column at a time or row by row.

    Rows are addressed by their number, so whatever an engine's own chunks are, and in whichever order they arrive,
    block ``i`` holds the rows from ``i * BLOCK`` on.

    Attributes
    ----------
    names : list
        Column names in order; ``[None]`` for a single column, which has no name to be found by.
    rows : int or None
        Number of rows where the table tells it without being read, else None until a pass has counted them.
    notes : list of str
        What of the table is not carried over to a released one, one sentence each.
    """

    names: list[Any]
    rows: int | None
    notes: list[str]

    @abstractmethod
    def __str__(self) -> str:
        """What messages call the table."""

    @abstractmethod
    def type_of(self, column: Any) -> ColumnType:
        """What the column holds; where the table has no types, its content decides."""

    @abstractmethod
    def column(self, name: Any) -> pl.Series:
        """A whole column in memory: in its own type, or as text where the table has no types."""

    def pieces(self, column: Any) -> Iterator[pl.Series]:
        """The same in pieces of any length, where it need not be in memory as a whole."""
        yield self.column(column)

    @abstractmethod
    def numeric_columns(self) -> list[Any]:
        """Columns that hold numbers, as far as that is cheap to tell."""

    def types_of(self, columns: Collection[Any]) -> dict[Any, ColumnType]:
        """What several columns hold; in one pass where the table has no types."""
        return {name: self.type_of(name) for name in columns}

    @abstractmethod
    def together(self, columns: Mapping[Any, Labels], *, progress: Progress | None = None) -> Iterator[Rows]:
        """Several columns in one pass, in row order as blocks of ``BLOCK`` rows, NaN where a value is missing.

        Parameters
        ----------
        columns : mapping
            Names of the columns, each with ``None`` for numbers, or with the plan's categories: the blocks then hold
            the number of each row's category.
        progress : callable, optional
            Called with the number of rows of each block.
        """

    def blocks(self, column: Any, *, labels: Labels = None, progress: Progress | None = None) -> Iterator[Array]:
        """One column as :meth:`together` gives it."""
        return (rows[column] for rows in self.together({column: labels}, progress=progress))

    @abstractmethod
    def beside(
        self, columns: Mapping[Any, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        """The columns as :meth:`together` gives them, in pieces of any length, with the same rows of all others.

        The others are only looked at: in their own types, or as text. A pass to the end counts the rows, as one of
        :meth:`blocks` does, since a release measures the column in either.
        """

    def look(self, column: Any, look: Look, copies: Copies | None, *, progress: Progress | None = None) -> bool:
        """Have all blocks of a column looked at where they lie, and the others beside it if that is asked.

        False where the table has no such place, or cannot say there what is asked: then nothing was looked at. A table
        that makes maps there also looks at two columns, named together, as :class:`statveil.tables.stacked.Stacked`
        makes one of them.
        """
        return False

    makes_maps: bool = False
    """Whether maps can be made where the rows lie, too, so that none that are drawn by row need be read here."""

    def groups_there(self, column: LabelColumn, seen: dict[str, None]) -> GroupRows | None:
        """The rows of two groups where they lie, so that no label is kept here; ``None`` where they are read here.

        ``seen`` takes in labels, as :meth:`LabelColumn.masks` gives them.
        """
        return None

    def units_there(self, column: Any, labels: Labels, group: Any, others: Collection[Any] | None) -> Units | None:
        """A table of one row for each group of a column, made where the rows lie; ``None`` where they are read here.

        ``others`` are the columns beside it; ``None`` where nobody looks at any, not even at the file of a row.
        """
        return None

    def hash_there(self, column: Any) -> str | None:
        """What :func:`statveil.tables.record.hash_column` makes of a column where it lies; ``None`` if it lies here."""
        return None

    def look_beside(
        self, columns: Mapping[Any, Labels], asked: Sequence[BesideColumn], others: ShownBeside | None = None
    ) -> list[bool]:
        """Have all other columns looked at beside some that were looked at where they lie, in one pass.

        ``columns`` are those that are read as maps see them; ``others`` makes what says, for one pass, which are looked
        at beside each of them, as :class:`statveil.tables.sharing.Shared` does.

        False for each column of which that is not possible: then nobody has seen anything of it.
        """
        return [False for _ in asked]

    def show_rows(self, columns: Mapping[Any, Labels], others: Collection[Any], watcher: Parted) -> bool:
        """Show all rows of some columns, and of others beside them, to someone who goes to where they lie.

        False where they lie here, and can be read: then nobody has seen anything.
        """
        return False

    only_whole: ClassVar[str] = ""
    """Why no part of its rows can be released, and what to do; nothing where one can."""

    def whole(self, *, progress: Progress | None = None) -> Iterator[Mapping[str, pl.Series]]:
        """All columns, in pieces of any length, in their own types or as text; a pass to the end counts the rows."""
        return (others for _, others in self.beside({}, progress=progress))

    def beside_some(
        self, columns: Mapping[Any, Labels], others: Collection[Any]
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        """The same with some of the others alone, where they are read by themselves."""
        wanted = {str(name) for name in others}
        for rows, rest in self.beside(columns):
            yield rows, {name: one for name, one in rest.items() if name in wanted}

    def find(self, column: Any) -> Any:
        """The column's name as the table has it; an error if it is missing, or if two columns have it."""
        if self.names == [None]:
            if column is not None:
                raise ColumnError(f"a single column has no names. Got column={column!r}; leave it out.")
            return None
        known = [str(name) for name in self.names]
        if column is None:
            raise ColumnError(f"say which column: column=... Columns: {', '.join(known)}.")
        if not isinstance(column, Hashable):
            raise ColumnError("the column must be the name of one column.")
        if column not in self.names:
            raise ColumnError(unknown_name("column", str(column), known))
        if self.names.count(column) > 1:
            raise ColumnError(
                f"{self.names.count(column)} columns of {self} are called {column!r}; rename all but one."
            )
        return column

    def called(self, text: str) -> Any:
        """The same for a name as text, which the names of some engines are not."""
        return self.find(next((name for name in self.names if str(name) == text), text))

    def label(self, column: Any) -> str:
        """What messages call the column."""
        return str(self.column(None).name or "values") if column is None else str(column)

    def check_numbers(self, column: Any, *ways: str, why: str = " where numbers are needed") -> None:
        """An error if the column does not hold numbers, with what else one can do about it."""
        found = self.type_of(column)
        if not found.numeric:
            others = [str(name) for name in self.numeric_columns() if name != column]
            named = [f"name a column of numbers ({', '.join(others[:8])})"] if others else []
            raise ColumnError(
                f"column {self.label(column)!r} holds {found.name} values{why}; "
                f"{' or '.join([*named, *ways]) or 'name a column of numbers'}."
            )
