"""pandas: frames and single series, with NumPy, nullable and Arrow-backed types."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.frames.arrow_table import emptied_array, from_arrow, to_arrow
from statveil.tables.frames.frame import Frame, is_a
from statveil.tables.frames.plain import ListFrame
from statveil.tables.released_type import listed_categories
from statveil.tables.series import ColumnType, label_values

__all__ = ["PandasFrame", "PandasSeries"]


class PandasSeries(Frame):
    """A single pandas series."""

    what: ClassVar[str] = "a pandas Series"

    @classmethod
    def takes(cls, native: Any) -> bool:
        return is_a(native, "pandas", "Series")

    def columns(self) -> list[Any] | None:
        return None

    def target(self, column: Any) -> Any:
        """A column as pandas has it."""
        return self.native

    def read(self, column: Any) -> pl.Series:
        held = self.target(column)
        dtype, name = held.dtype, "values" if held.name is None else str(held.name)
        if _arrow_backed(dtype):
            return from_arrow(held.array.__arrow_array__(), name).alias(name)
        if hasattr(dtype, "numpy_dtype") and dtype.kind in "biuf" and dtype.itemsize <= 8:  # nullable
            missing = held.isna().to_numpy()
            values = held.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
            numbers = pl.Series(name, values)
            return numbers.set(pl.Series(missing), None) if missing.any() else numbers
        if isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 8:
            return pl.Series(name, np.ascontiguousarray(held.to_numpy()))
        if dtype.kind in "OU":  # objects, strings, categories
            missing = held.isna().to_numpy()
            listed = [None if gone else value for value, gone in zip(held.tolist(), missing, strict=True)]
            return ListFrame(listed).read(None).alias(name)
        if isinstance(dtype, np.dtype) and dtype.kind in "mM":  # not released, but an audit looks at times
            return pl.Series(name, held.to_numpy())
        raise ColumnError(f"column {name!r} has the type {dtype}, which holds neither numbers nor categories.")

    def others(self, columns: Collection[Any]) -> Mapping[str, pl.Series]:
        return _index_columns(self.native.index)

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        rows = native.iloc[order]
        if _numbered(native.index):  # numbers of the rows, which would tell the old order
            rows = rows.set_axis(native.index[: len(order)], axis=0)
        return rows

    def type_of(self, column: Any) -> ColumnType:
        if type(self.target(column).dtype).__name__ == "CategoricalDtype":
            return ColumnType(kind="text", name="category")
        return super().type_of(column)

    def with_columns(self, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> Any:
        return self._released(None, fresh[None])

    def _released(self, column: Any, released: pl.Series) -> Any:
        """A column as pandas has it, from its released rows."""
        import pandas as pd

        old = self.target(column)
        dtype = old.dtype
        same = released.dtype == self.column(column).dtype
        values: Any
        if isinstance(dtype, pd.CategoricalDtype):
            names = label_values(self.labels[column] or (), released.dtype).to_list()
            listed = listed_categories(names, dtype.categories.to_list() if dtype.ordered else None)
            kept = dtype if dtype.ordered else pd.CategoricalDtype(listed)
            values = pd.Categorical(released.to_list(), dtype=kept)
        elif _arrow_backed(dtype):
            arrow = to_arrow(released, old.array.__arrow_array__(), self.labels[column], same=same)
            values = pd.array(arrow, dtype=pd.ArrowDtype(arrow.type))
        elif dtype.kind in "OU":
            if dtype is np.dtype(object):
                values = old.to_numpy(dtype=object, copy=True)
                held = released.is_not_null().to_numpy()
                values[held] = np.array([*released.drop_nulls().to_list(), None], dtype=object)[:-1]
            else:
                values = pd.Series(released.to_list(), dtype=dtype if same else None).array
        elif isinstance(dtype, np.dtype):
            values = released.to_numpy(allow_copy=True).copy()
        else:  # nullable numbers: the type of the same name, or Float64
            missing = released.is_null().to_numpy()
            numbers = released.fill_null(False if released.dtype == pl.Boolean else 0).to_numpy(allow_copy=True).copy()
            kind = pd.arrays.FloatingArray if numbers.dtype.kind == "f" else type(old.array)
            values = kind(numbers, missing)
        return pd.Series(values, index=old.index, name=old.name, copy=False, dtype=values.dtype)


class PandasFrame(PandasSeries):
    """A pandas frame. Its ``attrs`` are dropped: they can hold anything, the true statistic too."""

    what: ClassVar[str] = "a pandas DataFrame"

    @classmethod
    def takes(cls, native: Any) -> bool:
        return is_a(native, "pandas", "DataFrame")

    def columns(self) -> list[Any] | None:
        return list(self.native.columns)

    def target(self, column: Any) -> Any:
        return self.native[column]

    def others(self, columns: Collection[Any]) -> Mapping[str, pl.Series]:
        found = dict(_index_columns(self.native.index))
        for place, name in enumerate(self.native.columns):
            if name not in columns:
                key = str(name)
                found[key if key not in found else f"{key} ({place})"] = _any_series(self.native.iloc[:, place])
        return found

    def with_columns(self, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> Any:
        import pandas as pd

        # from pandas 3 on a copy is made where someone writes; before, a release would share the holder's columns
        table = self.native.copy(deep=int(pd.__version__.partition(".")[0]) < 3)
        for name, released in fresh.items():  # the same index, so by position: an index may repeat
            table[name] = self._released(name, released) if name in self.labels else self._derived(released)
        table = table.drop(columns=[*dropped]) if dropped else table
        for place, name in enumerate(table.columns):
            if name not in fresh and (rest := _emptied(table.iloc[:, place])) is not None:
                table.isetitem(place, rest)
        table.attrs = {}
        return table

    def pruned(self, native: Any) -> Any:
        import pandas as pd

        for place, dtype in enumerate(native.dtypes):
            if isinstance(dtype, pd.CategoricalDtype):  # it lists the categories of all rows
                native.isetitem(place, native.iloc[:, place].cat.remove_unused_categories())
            elif _arrow_backed(dtype) and hasattr(dtype.pyarrow_dtype, "value_type"):
                kind = dtype.pyarrow_dtype
                if hasattr(kind, "index_type"):  # a dictionary, which lists them too
                    plain = native.iloc[:, place].astype(pd.ArrowDtype(kind.value_type))
                    native.isetitem(place, plain.astype(dtype))
        if isinstance(native.index, pd.MultiIndex):
            native.index = native.index.remove_unused_levels()
        return native

    def _derived(self, rows: pl.Series) -> Any:
        """A column that was worked out: plain numbers where none is missing, else pandas' own types with gaps."""
        import pandas as pd

        if not rows.null_count() and rows.dtype != pl.String:
            values: Any = rows.to_numpy(allow_copy=True).copy()
        elif rows.dtype == pl.Float64:
            values = rows.fill_null(np.nan).to_numpy(allow_copy=True).copy()
        else:
            kinds = {pl.Int64: "Int64", pl.Boolean: "boolean"}
            values = pd.array(rows.to_list(), dtype=kinds.get(type(rows.dtype), "str"))
        return pd.Series(values, index=self.native.index, copy=False)


def _numbered(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex"


def _index_columns(index: Any) -> Mapping[str, pl.Series]:
    """What the index tells of a row; the plain numbers of the rows tell their order, which is looked at by itself."""
    if _numbered(index):
        return {}
    levels = [index.get_level_values(level) for level in range(index.nlevels)]
    return {f"index level {number}" if number else "index": _any_series(level) for number, level in enumerate(levels)}


def _any_series(column: Any) -> pl.Series:
    """A column that is only looked at: as it is, or as text where Polars does not know its type."""
    try:
        if column.dtype.kind in "biufmM":
            return pl.Series(column.to_numpy())
        cells = list(column)
        # lists and bytes stay what they are: the text of a cell would look as if it could be checked
        if any(isinstance(cell, _NESTED) for cell in cells):
            return pl.Series(cells, dtype=pl.Object)
        return pl.Series(map(_text, cells))
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return pl.Series(map(_text, column))


_NESTED = (bytes, bytearray, memoryview, list, tuple, dict, set, frozenset, np.ndarray)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _emptied(column: Any) -> Any:
    """The column with nothing in the bytes under its empty cells; ``None`` where its type has no such bytes."""
    import pandas as pd

    array, gaps = column.array, column.isna().to_numpy()
    if not gaps.any():
        return None
    if _arrow_backed(column.dtype):
        return pd.Series(type(array)(emptied_array(array.__arrow_array__())), index=column.index, name=column.name)
    if hasattr(array, "_mask"):  # numbers and truths with a mask beside them
        zero = array.dtype.numpy_dtype.type(0)
        values = array.to_numpy(dtype=array.dtype.numpy_dtype, na_value=zero)
        return pd.Series(type(array)(values, gaps.copy()), index=column.index, name=column.name)
    return None


def _arrow_backed(dtype: Any) -> bool:
    return type(dtype).__name__ == "ArrowDtype"
