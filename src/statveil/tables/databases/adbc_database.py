"""SQLite and PostgreSQL by their ADBC drivers: rows pass as Arrow batches, and never one by one."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from statveil.errors import ColumnError, FileError
from statveil.tables.blocks import BLOCK
from statveil.tables.databases.address import Address
from statveil.tables.databases.database import (
    QUOTING,
    TAKEN,
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
from statveil.tables.databases.spool import not_kept
from statveil.tables.files.sinking import sink_frames
from statveil.tables.source import Progress

__all__ = ["AdbcDatabase"]

_DRIVERS = {"postgresql": "adbc_driver_postgresql", "sqlite": "adbc_driver_sqlite"}


class AdbcDatabase(Database):
    """A database that an ADBC driver reaches: ``adbc+sqlite:///file.db``, ``adbc+postgresql://host/db``."""

    schemes: ClassVar[tuple[str, ...]] = ("adbc",)

    def __init__(self, address: Address) -> None:
        product = address.product
        if product not in _DRIVERS:
            raise FileError(
                f"no database is known as 'adbc+{product}'. By ADBC are known "
                f"{', '.join(f'adbc+{name}' for name in _DRIVERS)}."
            )
        try:
            importlib.import_module("pyarrow")
            self._dbapi: Any = importlib.import_module(f"{_DRIVERS[product]}.dbapi")
        except ImportError as error:
            raise missing(error.name or _DRIVERS[product], extra="adbc") from None
        self.address, self._file = address, address.file
        # not that of SQLAlchemy's tables of the same database: the types are written otherwise
        self.dialect = f"adbc-{product}"
        self._talk: type[_Session] = _Sqlite if product == "sqlite" else _Postgres

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        if self._file is not None and not self._file.is_file():
            raise FileError(f"cannot read {self.address}: there is no file {self._file}.")
        with self._told("read"), self._connected() as held:
            session = self._talk(held, self.address, self._told)
            session.begin_reading()
            yield session

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        new = self._file is not None and not self._file.exists()
        session = None
        try:
            with self._told("write"), self._connected() as held:
                session = self._talk(held, self.address, self._told)
                yield session
        finally:
            if new and self._file is not None and not (session is not None and session.committed):
                with suppress(OSError):  # nothing is left, not even an empty database
                    self._file.unlink(missing_ok=True)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """A connection in a transaction, which is undone unless it was committed."""
        where = self.address.url.removeprefix("adbc+") if self._file is None else str(self._file.absolute())
        held = self._dbapi.connect(where, autocommit=False)
        try:
            yield held
        finally:
            # a connection that was lost says so again when it is closed
            with suppress(self._dbapi.Error):
                held.rollback()
            with suppress(self._dbapi.Error):
                held.close()

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        """A failure of the database as a sentence; without its words where they may quote values."""
        try:
            yield
        except self._dbapi.Error as error:
            raise FileError(f"cannot {doing} {self.address}: {self._why(error)}.") from None

    def _why(self, error: Any) -> str:
        state = getattr(error, "sqlstate", None) or ""
        if state in TAKEN:
            return "another run has made a table of this name meanwhile; give another name"
        if state.startswith(QUOTING) or isinstance(error, self._dbapi.DataError | self._dbapi.IntegrityError):
            return "a value does not fit its type"
        return said_of(self.address, str(error))


class _Session(Writing, ABC):
    """A transaction on one connection; subclasses know the words of their database."""

    created: ClassVar[dict[type[pl.DataType], str]]
    """What a new column is, by what it holds."""
    longest: ClassVar[int | None] = None
    """Bytes of a name that the database takes whole."""

    def __init__(self, held: Any, address: Address, told: Callable[[str], Any]) -> None:
        self._held, self.address, self._told = held, address, told
        self.committed = False

    # --- what differs -------------------------------------------------------------------------
    def begin_reading(self) -> None:
        """Ask for one snapshot, before anything is read."""

    @abstractmethod
    def _columns_of(self, table: str) -> list[tuple[str, str]]:
        """Names and types of the columns of a table, in order; nothing where there is no such table."""

    @abstractmethod
    def _column(self, name: str, said: str) -> SqlColumn:
        """What a column of a type is read as."""

    @abstractmethod
    def _primary(self) -> list[str]:
        """The columns of the primary key, in order."""

    @abstractmethod
    def _cells(self, one: SqlColumn, place: int) -> list[str]:
        """What is asked for to read a column."""

    def _frame(self, batch: pl.DataFrame, columns: Sequence[SqlColumn]) -> pl.DataFrame:
        """The rows of a batch of these cells, in exactly the types that were stated."""
        return pl.DataFrame([batch[f"c{place}"].alias(one.name).cast(one.dtype) for place, one in enumerate(columns)])

    def _check(self, columns: Sequence[SqlColumn]) -> None:
        """Refuse a column that holds something else than its type says."""

    # --- reading ------------------------------------------------------------------------------
    def _asked(self, query: str) -> list[tuple[Any, ...]]:
        with self._held.cursor() as cursor:
            cursor.execute(query)
            return [tuple(row) for row in cursor.fetchall()]

    def _run(self, statement: str) -> None:
        with self._held.cursor() as cursor:
            cursor.execute(statement)

    def _named(self, table: str) -> str:
        return ".".join(in_quotes(name) for name in (self.address.schema, table) if name is not None)

    def columns(self) -> Sequence[SqlColumn]:
        found = self._columns_of(self.address.table)
        if not found:
            raise no_such_table(self.address)
        return [self._column(name, said) for name, said in found]

    def exists(self, table: str) -> bool:
        return bool(self._columns_of(table))

    def texts(self, table: str) -> list[str] | None:
        found = self._columns_of(table)
        if not found:
            return None
        if len(found) != 1:
            return [""]
        query = f"SELECT CAST({in_quotes(found[0][0])} AS TEXT) FROM {self._named(table)} LIMIT 2"
        return [str(row[0]) for row in self._asked(query)]

    def read(self, columns: Sequence[SqlColumn], path: Path, progress: Progress | None) -> None:
        key = key_of(self.address, [one.name for one in columns], self._primary)
        self._check(columns)
        cells = ", ".join(cell for place, one in enumerate(columns) for cell in self._cells(one, place))
        order = f" ORDER BY {', '.join(map(in_quotes, key))}" if key else ""
        query = f"SELECT {cells} FROM {self._named(self.address.table)}{order}"
        schema = {one.name: one.dtype for one in columns}

        def frames() -> Iterator[pl.DataFrame]:
            with self._told("read"), self._held.cursor() as cursor:
                cursor.execute(query)
                for batch in cursor.fetch_record_batch():
                    if not batch.num_rows:
                        continue
                    found = pl.from_arrow(batch)
                    assert isinstance(found, pl.DataFrame)
                    yield self._frame(found, columns)
                    if progress:
                        progress(len(found))

        sink_frames(frames(), schema, lambda frame: frame.sink_parquet(path, compression="lz4"), not_kept)

    # --- writing ------------------------------------------------------------------------------
    def type_for(self, name: str, dtype: pl.DataType) -> SqlColumn:
        own = self.created.get(type(dtype))
        if own is None:
            what = f"a released {self.address.product} table by ADBC"
            raise refuse_type(name, dtype, what, f"cast it, or write to {self.address.product}:// without adbc+.")
        return replace(self._column(name, own), own=own)

    def drop(self, table: str) -> None:
        self._run(f"DROP TABLE {self._named(table)}")

    def create(self, table: str, columns: Sequence[SqlColumn]) -> None:
        for name in (table, *(one.name for one in columns)):
            if self.longest is not None and len(name.encode()) > self.longest:
                raise FileError(  # it would be cut short, and could be another one then
                    f"cannot write {self.address}: the name {name!r} is longer than the {self.longest} bytes that a "
                    f"{self.address.product} database takes; give a shorter one."
                )
        cells = ", ".join(f"{in_quotes(one.name)} {one.own}" for one in columns)
        self._run(f"CREATE TABLE {self._named(table)} ({cells})")

    def fill(self, table: str, columns: Sequence[SqlColumn], path: Path, progress: Progress | None) -> None:
        scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        for frame in scan.collect_batches(maintain_order=True, chunk_size=BLOCK, engine="streaming"):
            self._append(table, frame)
            if progress:
                progress(len(frame))

    def _append(self, table: str, frame: pl.DataFrame) -> None:
        rows = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        with self._held.cursor() as cursor:
            cursor.adbc_ingest(table, rows, mode="append", db_schema_name=self.address.schema)

    def put_text(self, table: str, column: str, text: str) -> None:
        self.create(table, [self.type_for(column, pl.String())])
        self._append(table, pl.DataFrame({column: [text]}))

    def commit(self) -> None:
        self._held.commit()
        self.committed = True


class _Sqlite(_Session):
    """SQLite: a value may be of any type whatever its column says, and the driver guesses from the first rows."""

    created: ClassVar[dict[type[pl.DataType], str]] = {
        **dict.fromkeys((pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32), "BIGINT"),
        **dict.fromkeys((pl.Float32, pl.Float64), "DOUBLE"),
        pl.String: "TEXT",
    }
    _kept: ClassVar[dict[str, str]] = {"Int64": "0", "Float64": "0.0", "String": "''"}
    _types: ClassVar[dict[str, str]] = {"Int64": "'integer'", "Float64": "'real', 'integer'", "String": "'text'"}

    def begin_reading(self) -> None:
        self._asked("SELECT count(*) FROM sqlite_master")  # the snapshot is that of the first rows that are read

    def _pragma(self, what: str, table: str) -> str:
        schema = "" if self.address.schema is None else f", {_text(self.address.schema)}"
        return f"pragma_{what}({_text(table)}{schema})"

    def _columns_of(self, table: str) -> list[tuple[str, str]]:
        return [
            (str(row[0]), str(row[1]))
            for row in self._asked(f"SELECT name, type FROM {self._pragma('table_info', table)}")
        ]

    def _column(self, name: str, said: str) -> SqlColumn:
        # by the rules of SQLite (datatype3.html, 3.1)
        kinds = {"INT": pl.Int64(), "CHAR": pl.String(), "CLOB": pl.String(), "TEXT": pl.String()}
        kinds |= dict.fromkeys(("REAL", "FLOA", "DOUB"), pl.Float64())
        found = next((dtype for part, dtype in kinds.items() if part in said.upper()), None)
        if found is None:
            raise ColumnError(
                f"column {name!r} of {self.address} is of type {said or 'none'}, which is not read by ADBC: whole "
                f"numbers, floats and text are. Read {self.address.product}:// without adbc+, or cast it in a view."
            )
        # a new column has a type of ours: what stands there may be any text
        return SqlColumn(name=name, dtype=found, own=self.created[type(found)], said=said)

    def _primary(self) -> list[str]:
        found = self._asked(
            f"SELECT name FROM {self._pragma('table_info', self.address.table)} WHERE pk > 0 ORDER BY pk"
        )
        return [str(row[0]) for row in found]

    def _check(self, columns: Sequence[SqlColumn]) -> None:
        for one in columns:
            allowed = self._types[str(one.dtype)]
            where = f"typeof({in_quotes(one.name)}) NOT IN ({allowed}, 'null')"
            if self._asked(f"SELECT 1 FROM {self._named(self.address.table)} WHERE {where} LIMIT 1"):
                raise ColumnError(
                    f"column {one.name!r} holds a value that is no {one.dtype}, as which its type is read; cast the "
                    "column in a view, and release that."
                )

    def _cells(self, one: SqlColumn, place: int) -> list[str]:
        # a driver that guesses takes a column whose first rows are missing for another type
        name, kept = in_quotes(one.name), self._kept[str(one.dtype)]
        read = f"coalesce({name}, {kept})"
        read = f"CAST({read} AS REAL)" if one.dtype == pl.Float64 else read
        return [f"{read} AS c{place}", f"{name} IS NULL AS n{place}"]

    def _frame(self, batch: pl.DataFrame, columns: Sequence[SqlColumn]) -> pl.DataFrame:
        found = super()._frame(batch, columns)
        gaps = (batch[f"n{place}"] == 1 for place in range(len(columns)))
        return pl.DataFrame(
            [one.set(gap, None) if gap.any() else one for one, gap in zip(found.get_columns(), gaps, strict=True)]
        )

    def left_behind(self) -> Sequence[str]:
        table = self.address.table
        asked = {
            "primary key": f"SELECT 1 FROM {self._pragma('table_info', table)} WHERE pk > 0",
            "foreign key": f"SELECT 1 FROM {self._pragma('foreign_key_list', table)}",
            "index": f"SELECT 1 FROM {self._pragma('index_list', table)} WHERE origin <> 'pk'",
            "default": f"SELECT 1 FROM {self._pragma('table_info', table)} WHERE dflt_value IS NOT NULL",
        }
        return [what for what, query in asked.items() if self._asked(f"{query} LIMIT 1")]


class _Postgres(_Session):
    """PostgreSQL: types are what they say, and all others pass as text."""

    longest: ClassVar[int | None] = 63
    created: ClassVar[dict[type[pl.DataType], str]] = {
        pl.Int16: "smallint",
        pl.Int32: "integer",
        pl.Int64: "bigint",
        pl.Float32: "real",
        pl.Float64: "double precision",
        pl.Boolean: "boolean",
        pl.Date: "date",
        pl.String: "text",
    }

    def begin_reading(self) -> None:
        self._run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _place(self, table: str) -> str:
        return f"to_regclass({_text(self._named(table))})"

    def _columns_of(self, table: str) -> list[tuple[str, str]]:
        found = self._asked(
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute "
            f"WHERE attrelid = {self._place(table)} AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        return [(str(row[0]), str(row[1])) for row in found]

    def _column(self, name: str, said: str) -> SqlColumn:
        known = {own: dtype for dtype, own in self.created.items()}
        found = known.get("text" if said.startswith("character varying") else said)
        if found is None:
            return SqlColumn(name=name, dtype=pl.String(), own="text", said=said, as_text=True, kept=False)
        return SqlColumn(name=name, dtype=found(), own=said, said=said)

    def _primary(self) -> list[str]:
        found = self._asked(
            "SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
            f"AND a.attnum = ANY(i.indkey) WHERE i.indrelid = {self._place(self.address.table)} AND i.indisprimary "
            "ORDER BY array_position(i.indkey::smallint[], a.attnum)"
        )
        return [str(row[0]) for row in found]

    def _cells(self, one: SqlColumn, place: int) -> list[str]:
        name = in_quotes(one.name)
        return [f"{f'CAST({name} AS text)' if one.as_text else name} AS c{place}"]

    def read(self, columns: Sequence[SqlColumn], path: Path, progress: Progress | None) -> None:
        # as the rows lie, the same way each time: not from where another reader is, nor as workers bring them
        for setting in ("synchronize_seqscans = off", "max_parallel_workers_per_gather = 0", "TimeZone = 'UTC'"):
            self._run(f"SET LOCAL {setting}")
        super().read(columns, path, progress)

    def left_behind(self) -> Sequence[str]:
        place = self._place(self.address.table)
        kinds = {"primary key": "p", "foreign key": "f", "unique constraint": "u", "check constraint": "c"}
        asked = {
            what: f"SELECT 1 FROM pg_constraint WHERE conrelid = {place} AND contype = '{kind}'"
            for what, kind in kinds.items()
        }
        asked["index"] = f"SELECT 1 FROM pg_index WHERE indrelid = {place} AND NOT indisprimary"
        asked["default"] = f"SELECT 1 FROM pg_attrdef WHERE adrelid = {place}"
        return [what for what, query in asked.items() if self._asked(f"{query} LIMIT 1")]


def _text(value: str) -> str:
    """A text in a statement, as every setting of both databases reads it."""
    return "'" + value.replace("'", "''") + "'"
