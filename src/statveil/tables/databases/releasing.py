"""A release from a database, to a database, or both: the rows go through private files, and out in one transaction."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from statveil.errors import ColumnError, FileError, TableError, cannot
from statveil.tables.bookkeeping import Bookkeeper
from statveil.tables.card import check_card
from statveil.tables.changes import Changes
from statveil.tables.databases.address import Address, is_address
from statveil.tables.databases.database import Database, Reading, SqlColumn, Writing, open_database
from statveil.tables.databases.database_table import DatabaseTable, open_database_table, spooled
from statveil.tables.databases.rows_hash import hash_of_rows
from statveil.tables.files import open_table
from statveil.tables.files.parquet_file import ParquetFile
from statveil.tables.files.table_file import TableFile
from statveil.tables.publishing import table_in
from statveil.tables.source import Progress
from statveil.whole_file import Named, check_apart, check_folder

__all__ = ["CARD_COLUMN", "DatabaseOutlet", "check_places", "opened", "read_card_in"]

CARD_COLUMN = "card"
"""The one column of the table that holds a card, in one row."""


def opened(source: str, target: str, progress: Progress) -> TableFile:
    """The input: a snapshot of a table in a database, or a Parquet file, which is what a database can take."""
    parquet = ParquetFile.suffixes
    if is_address(source):
        if not is_address(target) and not target.lower().endswith(parquet):
            raise FileError(
                f"a table of a database is released to a database or to a Parquet file. Got {target}; give it the "
                "suffix .parquet."
            )
        return open_database_table(source, progress=progress)
    if not source.lower().endswith(parquet) or Path(source).is_dir():
        raise FileError(
            f"a Parquet file can be released to a database, as it has types. Got {source}; write the table to a "
            "Parquet file first."
        )
    return open_table(source)


def read_card_in(reading: Reading) -> dict[str, Any] | None:
    """The card beside a table, where it has one; an error where something else has its name."""
    place = reading.address.card
    cells = reading.texts(place.table)
    if cells is None:
        return None
    try:
        card = json.loads(cells[0]) if len(cells) == 1 else None
    except (ValueError, RecursionError):
        card = None
    if card is None:
        raise FileError(f"{place} is not the card of a release: it is not one row with a card.")
    return check_card(card, str(place))


class DatabaseOutlet:
    """A new table in a database, with its card beside it.

    The released rows are made ready in a private folder. Then one transaction makes the table, takes the rows, and
    reads them again: what ``verify`` would look at is checked before it ends, with the card in it.
    """

    target: Path | None = None

    def __init__(self, address: Address, table: TableFile, *, overwrite: bool) -> None:
        self.address, self._table, self._overwrite = address, table, overwrite
        self._database: Database = open_database(address)
        self._held = ExitStack()
        self._writing: Writing | None = None

    @property
    def named(self) -> str:
        """The address without a password."""
        return str(self.address)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Around the release: an error, or the end of the process, undoes what was not committed."""
        with tempfile.TemporaryDirectory(prefix="statveil-") as folder, ExitStack() as self._held:
            self.fresh = table_in(Path(folder), Path("table.parquet"))
            yield

    def check(self) -> None:
        """Refuse what is there already, before anything is read; the transaction looks again."""
        if isinstance(self._table, DatabaseTable) and self.address.same(self._table.address):
            raise FileError(f"input and output are the same table, {self.address}; give the output another name.")
        file = self.address.file
        if file is not None and not file.exists():
            check_folder(file, named=str(self.address))
            return
        with self._database.reading() as reading:
            self._refuse(reading)

    def _refuse(self, reading: Reading) -> bool:
        """Refuse to replace anything but an earlier release; whether there is one."""
        there = reading.exists(self.address.table)
        if there and not self._overwrite:
            raise FileError(f"{self.address} exists and is kept; give another name, or --overwrite (overwrite=True).")
        if read_card_in(reading) is None and there:
            raise FileError(
                f"{self.address} exists and is no release: there is no card {self.address.card.table} beside it. Only "
                "a release is replaced; move it away, or give another name."
            )
        return there

    def digest(
        self, changes: Changes, check: Callable[[Callable[[], TableFile]], None], progress: Progress | None
    ) -> str:
        """Put the rows into the transaction, read and check them there; the hash that the card states."""
        fresh = ParquetFile(self.fresh)
        check(lambda: fresh)
        self._writing = writing = self._held.enter_context(self._database.writing())
        there = self._refuse(writing)
        if writing.exists(self.address.card.table):
            writing.drop(self.address.card.table)
        if there:
            writing.drop(self.address.table)
        columns = self._columns(writing, fresh, changes)
        writing.create(self.address.table, columns)
        writing.fill(self.address.table, columns, self.fresh, progress)
        again = spooled(self._database, writing)
        self._compare(fresh, again)
        check(lambda: again)
        return again.hashed_in_any_order()

    def _columns(self, writing: Writing, fresh: ParquetFile, changes: Changes) -> list[SqlColumn]:
        """The columns of the new table: those that were kept with the input's own type, where it has the same ones."""
        table, known = self._table, {}
        touched = {*changes.replaced, *changes.derived}
        if isinstance(table, DatabaseTable):
            same = table.dialect == self._database.dialect
            for one in table.columns:
                if one.name in changes.dropped:
                    continue
                if same and one.kept and one.name not in touched:
                    known[one.name] = one
                elif one.as_text:
                    table.notes.append(f"Column {one.name!r} is {one.said} in the input, and text in the output.")
        return [known.get(name) or writing.type_for(name, dtype) for name, dtype in fresh.schema.items()]

    def _compare(self, fresh: ParquetFile, again: DatabaseTable) -> None:
        """The database has the very rows that were made, whatever the types that it has for them."""
        if fresh.names != again.names:
            raise TableError(f"{self.address} has other columns than were written, so nothing was published.")
        if hash_of_rows(fresh.names, _as(fresh, fresh)) == hash_of_rows(fresh.names, _as(again, fresh)):
            return
        wrong = [
            name
            for name in fresh.names
            if hash_of_rows([name], _as(fresh, fresh, name)) != hash_of_rows([name], _as(again, fresh, name))
        ]
        raise ColumnError(
            f"{self.address} does not give back what was written, so nothing was published. Columns: "
            f"{', '.join(map(repr, wrong)) or 'the rows as a whole'}. Cast them to types that the database holds "
            "exactly (it may know no NaN, fewer digits, or shorter texts)."
        )

    def publish(self, card: bytes) -> None:
        """The card beside it, and the end of the transaction."""
        assert self._writing is not None
        self._writing.put_text(self.address.card.table, CARD_COLUMN, card.decode())
        # from here on nobody can be sure that it is not there, whatever goes wrong: the ledger looks for this file
        self.fresh.unlink()
        self._writing.commit()
        self._held.close()


def _as(table: ParquetFile, like: ParquetFile, name: str | None = None) -> Iterator[pl.DataFrame]:
    """Rows in the types of another table; those that do not fit are missing."""
    for batch in table._read(None if name is None else [name]):
        yield pl.DataFrame([one.cast(like.schema[one.name], strict=False) for one in batch.get_columns()])


def check_places(source: str, target: str, record: Path | None, protect: Collection[Path], books: Bookkeeper) -> None:
    """No output may be a file that is read or written otherwise."""
    files = {Address.parse(place).file for place in (source, target) if is_address(place)}
    inputs: list[Named] = [("the database", path) for path in {_real(file) for file in files if file is not None}]
    if not is_address(source):
        inputs.append(("the input", source))
    inputs += [("the file", path) for path in protect]
    outputs: list[Named] = [] if record is None else [("the record", record)]
    outputs += [("the ledger's file", path) for path in books.files]
    if not is_address(target):
        outputs.append(("the output", target))
    try:
        check_apart(inputs, outputs)
        if record is not None:
            check_folder(record)
    except (OSError, ValueError) as error:
        raise cannot(f"write {target if not is_address(target) else Address.parse(target)}", error) from None


def _real(path: Path) -> str:
    return os.path.realpath(path)
