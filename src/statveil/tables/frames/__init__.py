"""Tables in memory, one file a library; none of the libraries is imported before its object is given."""

from __future__ import annotations

from typing import Any

from statveil.errors import ColumnError
from statveil.tables.frames.arrow_table import ArrowTable
from statveil.tables.frames.duckdb_relation import DuckDBRelation
from statveil.tables.frames.frame import Frame
from statveil.tables.frames.pandas_frame import PandasFrame, PandasSeries
from statveil.tables.frames.plain import ArrayFrame, ListFrame
from statveil.tables.frames.polars_frame import PolarsFrame, PolarsLazyFrame, PolarsSeries

__all__ = ["Frame", "open_frame"]

_KINDS: tuple[type[Frame], ...] = (
    PolarsFrame,
    PolarsLazyFrame,
    PolarsSeries,
    PandasFrame,
    PandasSeries,
    ArrowTable,
    DuckDBRelation,
    ArrayFrame,
    ListFrame,
)


def open_frame(native: Any, column: Any) -> Frame:
    """The right view of a table in memory."""
    for kind in _KINDS:
        if kind.takes(native):
            return kind(native, column)
    raise ColumnError(
        f"cannot release an object of type {type(native).__module__}.{type(native).__qualname__}. Allowed: a pandas "
        "DataFrame, a Polars DataFrame or LazyFrame, a PyArrow Table, a DuckDB relation, a NumPy array, a list; "
        "for a file use sv.release_file."
    )
