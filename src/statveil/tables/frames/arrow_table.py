"""PyArrow tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.frames.frame import Frame, is_a

__all__ = ["ArrowTable", "from_arrow"]


def from_arrow(column: Any, name: str) -> pl.Series:
    """An Arrow column in Polars, or a refusal of a type that Polars does not know."""
    import pyarrow as pa

    kind = column.type
    coded = pa.types.is_dictionary(kind) and not (
        pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)
    )
    if not (coded or pa.types.is_decimal256(kind)):
        try:
            series = pl.from_arrow(_plain(column))
            assert isinstance(series, pl.Series)
            return series
        except pl.exceptions.PolarsError:
            pass
    raise ColumnError(f"column {name!r} has the type {kind}, which cannot be released; cast it first.")


def _plain(column: Any) -> Any:
    """Text in views as plain text: Polars 2.0 crashes on them."""
    import pyarrow as pa

    return column.cast(pa.large_string()) if column.type == pa.string_view() else column


def _any_series(column: Any) -> pl.Series:
    """A column that is only looked at: as it is, or as text where Polars does not know its type."""
    import pyarrow as pa

    try:
        if pa.types.is_decimal256(column.type):  # the engine reads it and panics later
            raise pl.exceptions.ComputeError
        series = pl.from_arrow(_plain(column))
        assert isinstance(series, pl.Series)
        return series
    except pl.exceptions.PolarsError:
        return pl.Series([repr(value) for value in column.to_pylist()])


class ArrowTable(Frame):
    """A PyArrow table. Metadata of the schema is dropped: it can hold anything, the true statistic too."""

    what: ClassVar[str] = "a PyArrow Table"

    @classmethod
    def takes(cls, native: Any) -> bool:
        return is_a(native, "pyarrow", "Table")

    def columns(self) -> list[Any] | None:
        return list(self.native.column_names)

    def read(self, column: Any) -> pl.Series:
        return from_arrow(self.native[column], column)

    def others(self, column: Any) -> Mapping[str, pl.Series]:
        names = self.native.column_names
        return {
            f"{name} ({place})" if names.count(name) > 1 else name: _any_series(self.native.column(place))
            for place, name in enumerate(names)
            if name != column
        }

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        return native.take(order)

    def with_series(self, column: Any, released: pl.Series) -> Any:
        place = self.native.column_names.index(column)
        field = self.native.schema.field(place)
        fresh = released.to_arrow()
        if (
            released.dtype == self.column(column).dtype
        ):  # the same values in Arrow's own flavour: string, not large_string
            fresh = fresh.cast(field.type)
        table = self.native.set_column(place, field.with_type(fresh.type).remove_metadata(), fresh)
        return table.replace_schema_metadata(None)
