"""DuckDB files: rows go through Parquet files, which DuckDB reads and writes by itself, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from statveil.errors import FileError
from statveil.tables.databases.address import Address
from statveil.tables.databases.database import (
    Database,
    Reading,
    SqlColumn,
    Writing,
    in_quotes,
    key_of,
    missing,
    no_such_table,
    refuse_type,
    said_of,
)
from statveil.tables.source import Progress

__all__ = ["DuckDBFile"]

_KNOWN: dict[str, pl.DataType] = {
    "BOOLEAN": pl.Boolean(),
    "TINYINT": pl.Int8(),
    "SMALLINT": pl.Int16(),
    "INTEGER": pl.Int32(),
    "BIGINT": pl.Int64(),
    "UTINYINT": pl.UInt8(),
    "USMALLINT": pl.UInt16(),
    "UINTEGER": pl.UInt32(),
    "UBIGINT": pl.UInt64(),
    "FLOAT": pl.Float32(),
    "DOUBLE": pl.Float64(),
    "VARCHAR": pl.String(),
    "BLOB": pl.Binary(),
    "DATE": pl.Date(),
    "TIME": pl.Time(),
    "TIMESTAMP": pl.Datetime("us"),
    "TIMESTAMP WITH TIME ZONE": pl.Datetime("us", "UTC"),
}
_NAMES: dict[Any, str] = {dtype: name for name, dtype in _KNOWN.items()}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


class DuckDBFile(Database):
    """A DuckDB file."""

    schemes: ClassVar[tuple[str, ...]] = ("duckdb",)
    dialect = "duckdb"

    def __init__(self, address: Address) -> None:
        try:
            import duckdb
        except ImportError:
            raise missing("duckdb") from None
        self.address, self._duckdb = address, duckdb
        file = address.file
        assert file is not None
        self._file = file

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        if not self._file.is_file():
            raise FileError(f"cannot read {self.address}: there is no file {self._file}.")
        with self._told("read"):
            try:
                held = self._duckdb.connect(self._file, read_only=True)
            except self._duckdb.ConnectionException:  # this process has it open already, to write
                held = self._duckdb.connect(self._file)
            with held:
                held.execute("BEGIN TRANSACTION READ ONLY")
                yield _Session(held, self.address)
                held.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        new = not self._file.exists()
        committed = False
        try:
            with self._told("write"), self._duckdb.connect(self._file) as held:
                held.execute("BEGIN TRANSACTION")
                session = _Session(held, self.address)
                yield session
                committed = session.committed
        finally:
            if new and not committed:  # nothing is left, not even an empty database
                for path in (self._file, self._file.with_name(self._file.name + ".wal")):
                    with suppress(OSError):
                        path.unlink(missing_ok=True)

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        """A failure of the database as a sentence; without its words where they may quote values."""
        try:
            yield
        except self._duckdb.Error as error:
            spoken = (
                self._duckdb.IOException,
                self._duckdb.CatalogException,
                self._duckdb.PermissionException,
                self._duckdb.TransactionException,
                self._duckdb.ConnectionException,
                self._duckdb.OutOfMemoryException,
            )
            why = said_of(self.address, str(error)) if isinstance(error, spoken) else "a value or a type does not fit"
            raise FileError(f"cannot {doing} {self.address}: {why}.") from None


class _Session(Writing):
    """A transaction of a DuckDB file."""

    def __init__(self, held: Any, address: Address) -> None:
        self._held, self.address, self.committed = held, address, False

    def _place(self, table: str) -> str:
        schema = self.address.schema
        return in_quotes(table) if schema is None else f"{in_quotes(schema)}.{in_quotes(table)}"

    def _where(self, table: str) -> list[str]:
        return [self.address.schema or "main", table]

    def columns(self) -> Sequence[SqlColumn]:
        found = self._held.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = current_database() AND "
            "schema_name = ? AND lower(table_name) = lower(?) ORDER BY column_index",
            self._where(self.address.table),
        ).fetchall()
        if not found:
            raise no_such_table(self.address)
        return [_column(name, kind) for name, kind in found]

    def exists(self, table: str) -> bool:
        found = self._held.execute(
            "SELECT 1 FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = ? AND "
            "lower(table_name) = lower(?)",
            self._where(table),
        ).fetchone()
        return found is not None

    def texts(self, table: str) -> list[str] | None:
        if not self.exists(table):
            return None
        found = self._held.execute(f"SELECT * FROM {self._place(table)} LIMIT 2").fetchall()
        return [row[0] if len(row) == 1 and isinstance(row[0], str) else "" for row in found]

    def _primary(self) -> list[str]:
        found = self._held.execute(
            "SELECT constraint_column_names FROM duckdb_constraints() WHERE database_name = current_database() AND "
            "schema_name = ? AND lower(table_name) = lower(?) AND constraint_type = 'PRIMARY KEY'",
            self._where(self.address.table),
        ).fetchone()
        return [] if found is None else list(found[0])

    def left_behind(self) -> Sequence[str]:
        found = self._held.execute(
            "SELECT DISTINCT lower(constraint_type) || ' constraint' FROM duckdb_constraints() WHERE "
            "database_name = current_database() AND schema_name = $1 AND lower(table_name) = lower($2) UNION "
            "SELECT 'index' FROM duckdb_indexes() WHERE database_name = current_database() AND schema_name = $1 AND "
            "lower(table_name) = lower($2) UNION SELECT 'default' FROM duckdb_columns() WHERE "
            "database_name = current_database() AND schema_name = $1 AND lower(table_name) = lower($2) AND "
            "column_default IS NOT NULL ORDER BY 1",
            self._where(self.address.table),
        ).fetchall()
        return [row[0] for row in found]

    def read(self, columns: Sequence[SqlColumn], path: Path, progress: Progress | None) -> None:
        cells = [
            f"CAST({in_quotes(one.name)} AS VARCHAR) AS {in_quotes(one.name)}" if one.as_text else in_quotes(one.name)
            for one in columns
        ]
        key = key_of(self.address, [one.name for one in columns], self._primary)
        order = f" ORDER BY {', '.join(map(in_quotes, key))}" if key else ""
        self._held.execute("SET preserve_insertion_order = true")
        self._held.execute(
            f"COPY (SELECT {', '.join(cells)} FROM {self._place(self.address.table)}{order}) "
            f"TO {_literal(path)} (FORMAT parquet, COMPRESSION lz4_raw, USE_TMP_FILE false)"
        )

    def type_for(self, name: str, dtype: pl.DataType) -> SqlColumn:
        if isinstance(dtype, pl.Decimal):
            own = f"DECIMAL({dtype.precision},{dtype.scale})"
        elif isinstance(dtype, pl.Datetime) and dtype.time_unit != "ns":
            own = _NAMES[pl.Datetime("us", "UTC" if dtype.time_zone else None)]
        elif dtype in (pl.Categorical, pl.Enum, pl.Null):
            own = "VARCHAR"
        elif dtype in _NAMES:
            own = _NAMES[dtype]
        else:
            raise refuse_type(name, dtype, "a released DuckDB table", "cast it, or leave it out.")
        return _column(name, own)

    def drop(self, table: str) -> None:
        self._held.execute(f"DROP TABLE {self._place(table)}")

    def create(self, table: str, columns: Sequence[SqlColumn]) -> None:
        made = ", ".join(f"{in_quotes(one.name)} {one.own}" for one in columns)
        self._held.execute(f"CREATE TABLE {self._place(table)} ({made})")

    def fill(self, table: str, columns: Sequence[SqlColumn], path: Path, progress: Progress | None) -> None:
        cells = ", ".join(f"CAST({in_quotes(one.name)} AS {one.own})" for one in columns)
        self._held.execute("SET preserve_insertion_order = true")
        rows = f"read_parquet({_literal(path)}, hive_partitioning=false)"
        self._held.execute(f"INSERT INTO {self._place(table)} SELECT {cells} FROM {rows}")

    def put_text(self, table: str, column: str, text: str) -> None:
        self._held.execute(f"CREATE TABLE {self._place(table)} ({in_quotes(column)} VARCHAR)")
        self._held.execute(f"INSERT INTO {self._place(table)} VALUES (?)", [text])

    def commit(self) -> None:
        self._held.execute("COMMIT")
        self.committed = True


def _column(name: str, kind: str) -> SqlColumn:
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is not None:
        return SqlColumn(name=name, dtype=pl.Decimal(int(decimal[1]), int(decimal[2])), own=kind, said=kind)
    known = _KNOWN.get(kind)
    if known is None:
        return SqlColumn(name=name, dtype=pl.String(), own=kind, said=kind, as_text=True)
    return SqlColumn(name=name, dtype=known, own=kind, said=kind)


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
