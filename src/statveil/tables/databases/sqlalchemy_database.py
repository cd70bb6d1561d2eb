"""Any database that SQLAlchemy reaches; new tables only where making one is part of a transaction."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
from statveil.tables.databases.sql_types import dtype_of, sql_type
from statveil.tables.files.sinking import ENGINE_FAILURES, sink_frames
from statveil.tables.source import Progress

__all__ = ["SqlAlchemyDatabase"]

_DRIVERS = {"postgresql": "postgresql+psycopg"}
_WHOLE = ("postgresql", "sqlite")
"""Databases that undo a new table where its transaction does not end well."""
_SNAPSHOT: dict[str, dict[str, Any]] = {
    "postgresql": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
    "mysql": {"isolation_level": "REPEATABLE READ"},
    "mariadb": {"isolation_level": "REPEATABLE READ"},
    "mssql": {"isolation_level": "SNAPSHOT"},
    "sqlite": {},
}
"""How each is asked for one snapshot; all others for the strictest that there is."""


_OWN = ("mariadb", "mssql", "mysql", "oracle", "postgresql", "sqlite")
"""What SQLAlchemy knows by itself."""


def _unknown(scheme: str) -> FileError:
    return FileError(
        f"no database is known as {scheme!r}. Known are duckdb, postgresql, sqlite and every other dialect of "
        "SQLAlchemy that is installed; a file is given by its path, without '://'."
    )


class SqlAlchemyDatabase(Database):
    """A database that SQLAlchemy has a dialect for, and its driver installed."""

    schemes: ClassVar[tuple[str, ...]] = ("",)

    def __init__(self, address: Address) -> None:
        try:
            import sqlalchemy
        except ImportError:
            if address.scheme not in _OWN:  # which may be anything
                raise _unknown(address.scheme) from None
            raise missing("SQLAlchemy") from None
        self.address, self._sa = address, sqlalchemy
        scheme, _, rest = address.url.partition("://")
        url = f"{_DRIVERS.get(scheme, scheme)}://{rest}"
        try:
            self._engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.pool.NullPool, hide_parameters=True)
        except ImportError as error:
            raise missing(error.name or "the driver of this database") from None
        except sqlalchemy.exc.NoSuchModuleError:
            raise _unknown(scheme) from None
        except (sqlalchemy.exc.ArgumentError, ValueError, TypeError):
            raise FileError(f"SQLAlchemy cannot read the address of {address}; check its form.") from None
        self.dialect = self._engine.dialect.name
        self._dbapi: Any = self._engine.dialect.dbapi
        if self.dialect == "sqlite":
            _in_transactions(sqlalchemy, self._engine)
        self._file = address.file

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        if self._file is not None and not self._file.is_file():
            raise FileError(f"cannot read {self.address}: there is no file {self._file}.")
        with self._told("read"), self._connected() as held:
            held = held.execution_options(**_SNAPSHOT.get(self.dialect, {"isolation_level": "SERIALIZABLE"}))
            with held.begin():
                yield _Session(self._sa, held, self.address, self._told)

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        if self.dialect not in _WHOLE:
            raise FileError(
                f"cannot write {self.address}: a {self.dialect} database may keep half of a table when the connection "
                f"is lost. Release to {' or '.join(('duckdb', *_WHOLE))}, or to a Parquet file."
            )
        new = self._file is not None and not self._file.exists()
        session = None
        try:
            with self._told("write"), self._connected() as held, held.begin() as transaction:
                session = _Session(self._sa, held, self.address, self._told, transaction)
                yield session
                if not session.committed:
                    transaction.rollback()
        finally:
            if new and self._file is not None and not (session is not None and session.committed):
                with suppress(OSError):  # nothing is left, not even an empty database
                    self._file.unlink(missing_ok=True)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        held = self._engine.connect()
        try:
            yield held
        finally:
            # a connection that was lost says so again when it is closed
            with suppress(self._sa.exc.SQLAlchemyError, self._dbapi.Error):
                held.close()

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        """A failure of the database as a sentence; without its words where they may quote values."""
        try:
            yield
        except (self._sa.exc.SQLAlchemyError, self._dbapi.Error) as error:
            raise FileError(f"cannot {doing} {self.address}: {self._why(error)}.") from None

    def _why(self, error: Any) -> str:
        cause = getattr(error, "orig", None) or error
        state = getattr(cause, "sqlstate", None) or ""
        if state in TAKEN:  # no table of ours has keys of its own
            return "another run has made a table of this name meanwhile; give another name"
        if isinstance(error, self._sa.exc.NoSuchTableError):
            return "there is no such table, or it may not be read"
        quoting = (self._dbapi.DataError, self._dbapi.IntegrityError)
        if state.startswith(QUOTING) or isinstance(cause, quoting):
            return "a value does not fit its type"
        if not isinstance(cause, self._dbapi.Error):
            return "SQLAlchemy could not do it"
        return said_of(self.address, getattr(getattr(cause, "diag", None), "message_primary", None) or str(cause))


class _Session(Writing):
    """A transaction on one connection."""

    def __init__(
        self, sa: Any, held: Any, address: Address, told: Callable[[str], Any], transaction: Any = None
    ) -> None:
        self._sa, self._held, self.address, self._told = sa, held, address, told
        self._transaction, self.committed = transaction, False
        self._dialect = held.dialect

    def columns(self) -> Sequence[SqlColumn]:
        try:
            with warnings.catch_warnings():  # of types that the dialect does not know, which pass as text
                warnings.simplefilter("ignore", self._sa.exc.SAWarning)
                found = self._sa.inspect(self._held).get_columns(self.address.table, schema=self.address.schema)
        except self._sa.exc.NoSuchTableError:
            raise no_such_table(self.address) from None
        if not found:
            raise no_such_table(self.address)
        return [dtype_of(str(one["name"]), one["type"], self._dialect) for one in found]

    def exists(self, table: str) -> bool:
        return bool(self._sa.inspect(self._held).has_table(table, schema=self.address.schema))

    def texts(self, table: str) -> list[str] | None:
        sa = self._sa
        if not self.exists(table):
            return None
        found = sa.inspect(self._held).get_columns(table, schema=self.address.schema)
        if len(found) != 1:
            return [""]
        cell = sa.column(sa.sql.quoted_name(str(found[0]["name"]), True), sa.Text)
        rows = self._held.execute(sa.select(sa.cast(cell, sa.Text)).select_from(self._named(table)).limit(2))
        return [str(row[0]) for row in rows]

    def _named(self, table: str) -> Any:
        quoted = self._sa.sql.quoted_name
        schema = self.address.schema
        return self._sa.table(quoted(table, True), schema=None if schema is None else quoted(schema, True))

    def _primary(self) -> Sequence[str]:
        found = self._sa.inspect(self._held).get_pk_constraint(self.address.table, schema=self.address.schema)
        return list(found.get("constrained_columns", ()))

    def left_behind(self) -> Sequence[str]:
        look, where = self._sa.inspect(self._held), {"schema": self.address.schema}
        found: dict[str, Callable[[], Any]] = {
            "primary key": self._primary,
            "foreign key": lambda: look.get_foreign_keys(self.address.table, **where),
            "unique constraint": lambda: look.get_unique_constraints(self.address.table, **where),
            "check constraint": lambda: look.get_check_constraints(self.address.table, **where),
            "index": lambda: look.get_indexes(self.address.table, **where),
            "default": lambda: [one for one in look.get_columns(self.address.table, **where) if one.get("default")],
        }
        left = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._sa.exc.SAWarning)
            for what, ask in found.items():
                with suppress(NotImplementedError):  # some dialects cannot tell
                    left += [what] if ask() else []
        return left

    def read(self, columns: Sequence[SqlColumn], path: Path, progress: Progress | None) -> None:
        sa = self._sa
        key = key_of(self.address, [one.name for one in columns], self._primary)
        if self._dialect.name == "postgresql":
            # as the rows lie, the same way each time: not from where another reader is, nor as workers bring them
            for setting in ("synchronize_seqscans = off", "max_parallel_workers_per_gather = 0", "TimeZone = 'UTC'"):
                self._held.exec_driver_sql(f"SET LOCAL {setting}")
        cells = []
        for place, one in enumerate(columns):
            cell = sa.column(sa.sql.quoted_name(one.name, True), one.own)
            read = sa.cast(cell, sa.Text) if one.as_text else sa.type_coerce(cell, sql_type(sa, one.dtype, raw=True))
            cells.append(read.label(f"c{place}"))
        query = sa.select(*cells).select_from(self._named(self.address.table))
        if key:
            query = query.order_by(*(sa.column(sa.sql.quoted_name(name, True)) for name in key))
        schema = {one.name: one.dtype for one in columns}

        def frames() -> Iterator[pl.DataFrame]:
            with self._told("read"):
                options = {"stream_results": True, "yield_per": BLOCK // 4}
                found = self._held.execute(query, execution_options=options)
                for rows in found.partitions():
                    yield _frame(rows, schema)
                    if progress:
                        progress(len(rows))

        sink_frames(frames(), schema, lambda frame: frame.sink_parquet(path, compression="lz4"), not_kept)

    def type_for(self, name: str, dtype: pl.DataType) -> SqlColumn:
        try:
            own = sql_type(self._sa, dtype, dialect=self._dialect.name)
        except TypeError as error:
            raise refuse_type(name, dtype, f"a released {self._dialect.name} table", str(error)) from None
        return dtype_of(name, own, self._dialect)

    def _made(self, table: str, columns: Sequence[SqlColumn]) -> Any:
        sa = self._sa
        longest = self._dialect.max_identifier_length
        for name in (table, *(one.name for one in columns)):
            if len(name.encode()) > longest:  # it would be cut short, and could be another one then
                raise FileError(
                    f"cannot write {self.address}: the name {name!r} is longer than the {longest} bytes that a "
                    f"{self._dialect.name} database takes; give a shorter one."
                )
        quoted, schema = sa.sql.quoted_name, self.address.schema
        made = [
            sa.Column(quoted(one.name, True), one.own, key=f"c{place}", nullable=True, autoincrement=False)
            for place, one in enumerate(columns)
        ]
        return sa.Table(
            quoted(table, True), sa.MetaData(), *made, schema=None if schema is None else quoted(schema, True)
        )

    def drop(self, table: str) -> None:
        self._made(table, ()).drop(self._held, checkfirst=False)

    def create(self, table: str, columns: Sequence[SqlColumn]) -> None:
        self._made(table, columns).create(self._held, checkfirst=False)

    def fill(self, table: str, columns: Sequence[SqlColumn], path: Path, progress: Progress | None) -> None:
        sa, made = self._sa, self._made(table, columns)
        scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        frames = scan.collect_batches(maintain_order=True, chunk_size=BLOCK // 4, engine="streaming")
        if self._dialect.driver == "psycopg":
            # not SQLAlchemy's quoting: it doubles every %, which no parameter takes back here
            into = ".".join(in_quotes(name) for name in (self.address.schema, table) if name is not None)
            into = f"COPY {into} ({', '.join(in_quotes(one.name) for one in columns)}) FROM STDIN"
            with self._held.connection.driver_connection.cursor() as cursor, cursor.copy(into) as copy:
                for frame in frames:
                    for row in frame.iter_rows():
                        copy.write_row(row)
                    if progress:
                        progress(len(frame))
            return
        values = {
            f"c{place}": sa.cast(sa.bindparam(f"c{place}", type_=sa.Text), one.own)
            if one.as_text
            else sa.bindparam(f"c{place}", type_=sql_type(sa, one.dtype, raw=True))
            for place, one in enumerate(columns)
        }
        insert = made.insert().values(values)
        for frame in frames:
            keys = [f"c{place}" for place in range(frame.width)]
            rows = [dict(zip(keys, row, strict=True)) for row in frame.iter_rows()]
            if rows:
                self._held.execute(insert, rows)
            if progress:
                progress(len(rows))

    def put_text(self, table: str, column: str, text: str) -> None:
        made = self._made(table, [self.type_for(column, pl.String())])
        made.create(self._held, checkfirst=False)
        self._held.execute(made.insert().values(c0=text))

    def commit(self) -> None:
        self._transaction.commit()
        self.committed = True


def _frame(rows: Sequence[Any], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """Rows as a frame of exactly these types; a column that holds something else is named."""
    columns = []
    for (name, dtype), values in zip(schema.items(), zip(*rows, strict=True), strict=True):
        try:
            if dtype.is_decimal() and not all(value is None or value.is_finite() for value in values):
                raise ValueError("no number")  # at which the engine would panic
            one = pl.Series(name, values, dtype=dtype, strict=True)
        except (TypeError, ValueError, ArithmeticError, *ENGINE_FAILURES):
            raise ColumnError(
                f"column {name!r} holds a value that is no {dtype}, as which its type is read; cast the column in a "
                "view, and release that."
            ) from None
        columns.append(one)
    return pl.DataFrame(columns)


def _in_transactions(sa: Any, engine: Any) -> None:
    """Have SQLite begin a transaction where we say so: by itself Python begins none for a new table."""

    @sa.event.listens_for(engine, "connect")  # type: ignore[untyped-decorator]
    def connect(connection: Any, _: object) -> None:
        connection.isolation_level = None

    @sa.event.listens_for(engine, "begin")  # type: ignore[untyped-decorator]
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")
