"""Which type of a SQL database is read as what, and which one a new table has."""

from __future__ import annotations

from typing import Any

import polars as pl

from statveil.tables.databases.database import SqlColumn
from statveil.tables.released_type import DIGITS

__all__ = ["dtype_of", "sql_type"]


def dtype_of(name: str, own: Any, dialect: Any) -> SqlColumn:
    """What a column of a SQLAlchemy type is read as."""
    import sqlalchemy as sa

    found = _dtype(sa, own, dialect.name)
    try:
        said = str(own.compile(dialect=dialect))
    except (sa.exc.CompileError, sa.exc.UnsupportedCompilationError):
        return SqlColumn(name=name, dtype=pl.String(), own=sa.Text(), said="unknown", as_text=True, kept=False)
    if isinstance(own, sa.Enum) or type(own).__name__ == "DOMAIN":  # types that someone made, by their names
        return SqlColumn(name=name, dtype=pl.String(), own=sa.Text(), said=said, as_text=True, kept=False)
    if found is None:
        return SqlColumn(name=name, dtype=pl.String(), own=own, said=said, as_text=True)
    return SqlColumn(name=name, dtype=found, own=own, said=said)


def _dtype(sa: Any, own: Any, dialect: str) -> pl.DataType | None:
    """What holds its values exactly; None where they pass as text."""
    wide = dialect != "postgresql"  # where the name of a type promises no width
    if isinstance(own, sa.Boolean):
        return pl.Boolean()
    if isinstance(own, sa.Integer):
        if wide or isinstance(own, sa.BigInteger):
            return pl.Int64()
        return pl.Int16() if isinstance(own, sa.SmallInteger) else pl.Int32()
    if isinstance(own, sa.Float | sa.Numeric):
        return _number(sa, own, dialect)
    if isinstance(own, sa.DateTime):
        return pl.Datetime("us", "UTC" if own.timezone else None)
    if isinstance(own, sa.Date):
        return pl.Date()
    if isinstance(own, sa.Time):
        return None if own.timezone else pl.Time()
    if isinstance(own, sa.LargeBinary):
        return pl.Binary()
    return pl.String() if isinstance(own, sa.String) else None


def _number(sa: Any, own: Any, dialect: str) -> pl.DataType | None:
    if isinstance(own, sa.Float) or dialect == "sqlite":  # which keeps decimals as floats
        return pl.Float32() if dialect == "postgresql" and isinstance(own, sa.REAL) else pl.Float64()
    if own.precision is None or own.precision > DIGITS or not 0 <= (own.scale or 0) <= own.precision:
        return None
    return pl.Decimal(own.precision, own.scale or 0)


def sql_type(sa: Any, dtype: pl.DataType, *, dialect: str = "", raw: bool = False) -> Any:
    """The type of a new column; a :class:`TypeError` that says what to do where there is none.

    ``raw`` asks for the one by which values pass the driver, which gives and takes floats as they are.
    """
    if dialect == "sqlite" and (isinstance(dtype, pl.Decimal) or dtype == pl.UInt64):
        raise TypeError("SQLite holds no exact decimals; cast it to floats or to whole numbers of a smaller unit.")
    if dialect == "sqlite" and isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        raise TypeError("SQLite holds no time zones; cast it to one without, or to text.")
    if isinstance(dtype, pl.Decimal):
        return sa.Numeric(dtype.precision, dtype.scale)
    if isinstance(dtype, pl.Datetime):
        if dtype.time_unit == "ns":
            raise TypeError("cast it to microseconds.")
        return sa.DateTime(timezone=dtype.time_zone is not None)
    if dtype.is_float():
        return sa.REAL() if dtype == pl.Float32 and not raw else sa.Double()
    if dtype in (pl.Categorical, pl.Enum, pl.Null):
        return sa.Text()
    plain: dict[Any, Any] = {
        pl.Boolean: sa.Boolean,
        pl.Int8: sa.SmallInteger,
        pl.Int16: sa.SmallInteger,
        pl.UInt8: sa.SmallInteger,
        pl.Int32: sa.Integer,
        pl.UInt16: sa.Integer,
        pl.Int64: sa.BigInteger,
        pl.UInt32: sa.BigInteger,
        pl.String: sa.Text,
        pl.Binary: sa.LargeBinary,
        pl.Date: sa.Date,
        pl.Time: sa.Time,
    }
    if dtype == pl.UInt64:
        return sa.Numeric(20, 0)
    if dtype not in plain:
        raise TypeError("cast it, or leave it out.")
    return plain[dtype]()
