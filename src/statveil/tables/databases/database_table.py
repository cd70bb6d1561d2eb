"""A table of a database, as one snapshot of it that lies in a private file: read once, then passed over as any file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import polars as pl

from statveil.errors import FileError
from statveil.tables.databases.address import Address
from statveil.tables.databases.database import Database, Reading, SqlColumn, open_database
from statveil.tables.databases.rows_hash import hash_in_order, hash_of_rows
from statveil.tables.databases.spool import Spool
from statveil.tables.files.parquet_file import ParquetFile
from statveil.tables.series import ColumnType
from statveil.tables.source import Progress

__all__ = ["DatabaseTable", "open_database_table", "snapshot", "spooled"]


class DatabaseTable(ParquetFile):
    """The rows of a table as they were in one snapshot.

    Attributes
    ----------
    address : Address
        Where the table is.
    columns : sequence of SqlColumn
        Its columns with the database's own types.
    dialect : str
        Which database it is.
    """

    def __init__(
        self, address: Address, dialect: str, columns: Sequence[SqlColumn], spool: Spool, left: Sequence[str] = ()
    ) -> None:
        self._spool = spool  # which goes with this object
        super().__init__(spool.path)
        self.address, self.dialect, self.columns = address, dialect, columns
        if left:
            self.notes = [f"Not carried over from {address}: {', '.join(left)}."]

    def __str__(self) -> str:
        return str(self.address)

    def type_of(self, column: str) -> ColumnType:
        own = self.columns[self.position(column)]
        if own.as_text and own.kept:
            return ColumnType(kind="other", name=f"{own.said} (which passes as text; cast it in a view)")
        return super().type_of(column)

    def hashed(self) -> str:
        return hash_in_order(self._frames())

    def hashed_in_any_order(self) -> str:
        """What the card of a table in a database states."""
        return hash_of_rows(self.names, self._frames())

    def _frames(self) -> Iterator[pl.DataFrame]:
        return (batch for _, batch in self._batches(None))


def open_database_table(text: str, *, progress: Progress | None = None) -> DatabaseTable:
    """The table at an address, as it is now."""
    with snapshot(Address.parse(text)) as (database, reading):
        return spooled(database, reading, progress=progress)


@contextmanager
def snapshot(address: Address) -> Iterator[tuple[Database, Reading]]:
    """A database with a snapshot of it."""
    database = open_database(address)
    with database.reading() as reading:
        yield database, reading


def spooled(database: Database, reading: Reading, *, progress: Progress | None = None) -> DatabaseTable:
    """The table of a snapshot, or of a transaction that has just made it."""
    columns = reading.columns()
    names = [one.name for one in columns]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise FileError(f"two columns of {reading.address} are called {doubled!r}; rename one in a view.")
    spool = Spool()
    reading.read(columns, spool.path, progress)
    return DatabaseTable(reading.address, database.dialect, columns, spool, reading.left_behind())
