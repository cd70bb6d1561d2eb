"""PyArrow tables."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.frames.frame import Frame, is_a
from statveil.tables.released_type import listed_categories, wide_arrow

__all__ = ["ArrowTable", "any_series", "from_arrow", "to_arrow"]


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


def to_arrow(released: pl.Series, original: Any, labels: Sequence[str] | None, *, same: bool) -> Any:
    """The released rows as an Arrow column.

    Parameters
    ----------
    released
        The rows.
    original
        The Arrow column that they take the place of.
    labels
        The plan's categories, where it has them.
    same
        Whether Polars knows both by one type; then Arrow's own flavour of it is kept: string, not large_string.
    """
    import pyarrow as pa

    kind = original.type
    if not pa.types.is_dictionary(kind):
        return released.to_arrow().cast(kind) if same else released.to_arrow()
    kind = wide_arrow(kind)
    names = listed_categories(labels or (), _declared(original) if kind.ordered else None)
    codes = released.cast(pl.String).replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    return pa.DictionaryArray.from_arrays(
        codes.to_arrow().cast(kind.index_type), pa.array(names, kind.value_type), ordered=kind.ordered
    )


def _declared(column: Any) -> list[Any]:
    """The categories of an ordered dictionary, in their order."""
    found = {tuple(chunk.dictionary.to_pylist()) for chunk in column.chunks}
    if len(found) != 1:
        raise ColumnError("the pieces of an ordered dictionary have different orders; cast the column to text first.")
    return list(dict.fromkeys(found.pop()))


def _plain(column: Any) -> Any:
    """Text in views as plain text: Polars 2.0 crashes on them."""
    import pyarrow as pa

    return column.cast(pa.large_string()) if column.type == pa.string_view() else column


def any_series(column: Any) -> pl.Series:
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


def emptied_array(column: Any) -> Any:
    """The same column with nothing in the bytes under its empty cells (:mod:`statveil.tables.empty_cells`)."""
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        parquet, buffer = importlib.import_module("pyarrow.parquet"), pa.BufferOutputStream()
        parquet.write_table(pa.table({"x": column}), buffer, compression="none", write_statistics=False)
        return parquet.read_table(pa.BufferReader(buffer.getvalue())).column(0).cast(column.type)
    if not column.null_count:
        return column
    there = np.asarray(column.is_valid())
    places = pa.array(np.maximum(np.cumsum(there) - 1, 0), mask=~there)
    return column.drop_null().take(places)


def _bare(table: Any) -> Any:
    """A table without metadata, neither of its schema nor of any field, at whatever depth."""
    import pyarrow as pa

    schema = pa.schema([_bare_field(field) for field in table.schema])
    if any(
        not one.type.equals(other.type, check_metadata=True) for one, other in zip(schema, table.schema, strict=True)
    ):
        table = table.cast(schema)  # fields inside a column: records, lists
    return pa.Table.from_arrays(table.columns, schema=schema)


def _bare_field(field: Any) -> Any:
    return field.with_type(_bare_type(field.type)).remove_metadata()


def _bare_type(kind: Any) -> Any:
    import pyarrow as pa

    types = pa.types
    if types.is_struct(kind):
        return pa.struct([_bare_field(kind.field(place)) for place in range(kind.num_fields)])
    if types.is_map(kind):
        return pa.map_(_bare_field(kind.key_field), _bare_field(kind.item_field), keys_sorted=kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return pa.list_(_bare_field(kind.value_field), kind.list_size)
    if types.is_list(kind) or types.is_large_list(kind):
        return (pa.list_ if types.is_list(kind) else pa.large_list)(_bare_field(kind.value_field))
    return kind


class ArrowTable(Frame):
    """A PyArrow table. Metadata of schema and fields is dropped: it can hold anything, the true statistic too."""

    what: ClassVar[str] = "a PyArrow Table"

    @classmethod
    def takes(cls, native: Any) -> bool:
        return is_a(native, "pyarrow", "Table")

    def columns(self) -> list[Any] | None:
        return list(self.native.column_names)

    def read(self, column: Any) -> pl.Series:
        return from_arrow(self.native[column], column)

    def others(self, columns: Collection[Any]) -> Mapping[str, pl.Series]:
        names = self.native.column_names
        return {
            f"{name} ({place})" if names.count(name) > 1 else name: any_series(self.native.column(place))
            for place, name in enumerate(names)
            if name not in columns
        }

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        return native.take(order)

    def pruned(self, native: Any) -> Any:
        import pyarrow as pa

        for place, field in enumerate(native.schema):
            if pa.types.is_dictionary(field.type):  # it lists the values of all rows
                plain = native.column(place).cast(field.type.value_type).combine_chunks()
                fresh = plain.dictionary_encode().cast(pa.dictionary(field.type.index_type, field.type.value_type))
                native = native.set_column(place, field.with_type(fresh.type), fresh)
        return native

    def with_columns(self, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> Any:
        table, names = self.native, self.native.column_names
        for name, released in fresh.items():
            if name not in names:
                table = table.append_column(name, released.to_arrow())
                continue
            place = names.index(name)
            field = self.native.schema.field(place)
            if name in self.labels:
                same = released.dtype == self.column(name).dtype
                column = to_arrow(released, self.native.column(place), self.labels[name], same=same)
            else:
                column = released.to_arrow()
            table = table.set_column(place, field.with_type(column.type).remove_metadata(), column)
        table = table.drop_columns([*dropped])
        for place, name in enumerate(table.column_names):
            if name not in fresh:
                table = table.set_column(place, table.schema.field(place), emptied_array(table.column(place)))
        return _bare(table)
