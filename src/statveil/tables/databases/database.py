"""What every database is asked: what columns a table has, its rows in one snapshot, and to take a new table whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from statveil.errors import ColumnError, FileError
from statveil.tables.databases.address import Address
from statveil.tables.source import Progress

__all__ = ["Database", "Reading", "SqlColumn", "Writing", "in_quotes", "open_database", "said_of"]

TAKEN = ("23505", "42P07")
"""What PostgreSQL says of two tables of one name, at the same time or one after the other."""
QUOTING = ("22", "23")
"""Classes of PostgreSQL's errors whose words may quote a value."""

DATABASES: dict[str, type[Database]] = {}
"""Every way to reach a database, by the beginning of its URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlColumn:
    """A column of a table in a database.

    Parameters
    ----------
    name : str
        As the database has it.
    dtype : DataType
        What it is read as.
    own : object
        The database's own type.
    said : str
        The same for messages.
    as_text : bool
        Whether it is of a type that the engine does not know, and passes as the database's own text for its values.
    kept : bool
        Whether a new table can have a column of the same type.
    """

    name: str
    dtype: pl.DataType
    own: Any
    said: str
    as_text: bool = False
    kept: bool = True


class Reading(ABC):
    """A snapshot of a database: whatever others write meanwhile is not seen in it."""

    address: Address

    @abstractmethod
    def columns(self) -> Sequence[SqlColumn]:
        """The columns of the table, in order; an error where there is no such table."""

    @abstractmethod
    def read(self, columns: Sequence[SqlColumn], path: Path, progress: Progress | None) -> None:
        """Write all rows to a Parquet file, in the order of the key or as they lie; in bounded memory."""

    @abstractmethod
    def left_behind(self) -> Sequence[str]:
        """What else the table has that a released one will not, in a word each."""

    @abstractmethod
    def texts(self, table: str) -> list[str] | None:
        """All cells of a table of one column of text, two at most; None where there is no such table."""

    def exists(self, table: str) -> bool:
        """Whether something has this name."""
        return self.texts(table) is not None


class Writing(Reading):
    """A transaction: a new table and its card are there for everyone after :meth:`commit`, and nothing before."""

    @abstractmethod
    def type_for(self, name: str, dtype: pl.DataType) -> SqlColumn:
        """A column of a new table, by what it holds; a :class:`ColumnError` where the database has no such type."""

    @abstractmethod
    def drop(self, table: str) -> None:
        """Remove a table."""

    @abstractmethod
    def create(self, table: str, columns: Sequence[SqlColumn]) -> None:
        """Make an empty table."""

    @abstractmethod
    def fill(self, table: str, columns: Sequence[SqlColumn], path: Path, progress: Progress | None) -> None:
        """Put the rows of a Parquet file into it, in their order."""

    @abstractmethod
    def put_text(self, table: str, column: str, text: str) -> None:
        """A table of one cell."""

    @abstractmethod
    def commit(self) -> None:
        """All of it is there from now on, or an error and nothing is."""


class Database(ABC):
    """A way to reach databases. A subclass in one new file is enough: its schemes register it."""

    schemes: ClassVar[tuple[str, ...]]
    dialect: str
    """Tables of the same dialect have the same types."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        DATABASES.update(dict.fromkeys(cls.schemes, cls))

    @abstractmethod
    def __init__(self, address: Address) -> None: ...

    @abstractmethod
    def reading(self) -> AbstractContextManager[Reading]:
        """One snapshot, read only."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Writing]:
        """One transaction; all is as it was unless it was committed."""


def open_database(address: Address) -> Database:
    """The right way to reach a database."""
    # each registers itself, and none imports its library yet
    from statveil.tables.databases import adbc_database, duckdb_file, sqlalchemy_database  # noqa: F401

    return DATABASES.get(address.scheme, DATABASES[""])(address)


def missing(library: str, *, extra: str = "database") -> FileError:
    """A library that is not installed."""
    return FileError(
        f"tables in this database need {library}, which is not installed; pip install 'statveil[{extra}]'."
    )


def in_quotes(name: str) -> str:
    """A name in a statement."""
    return '"' + name.replace('"', '""') + '"'


def said_of(address: Address, message: str) -> str:
    """The first line of what a database says, without passwords."""
    said = next(iter(message.strip().splitlines()), "").strip().rstrip(".")
    for secret in address.passwords:
        said = said.replace(secret, "***")
    return said or "the database gave no reason"


def no_such_table(address: Address) -> FileError:
    """A table that is not there."""
    return FileError(f"cannot read {address}: there is no such table, or it may not be read.")


def refuse_type(name: str, dtype: pl.DataType, what: str, advice: str) -> ColumnError:
    """A type that a database has none for."""
    return ColumnError(f"column {name!r} is of type {dtype}, which {what} cannot hold; {advice}")


def key_of(address: Address, names: Sequence[str], primary: Callable[[], Sequence[str]]) -> list[str]:
    """The columns by which the rows are put in order: what the address says, else the primary key."""
    wrong = [name for name in address.order_by if name not in names]
    if wrong:
        raise ColumnError(f"{address} has no column {wrong[0]!r} to order its rows by; it has {', '.join(names)}.")
    return list(address.order_by or primary())
