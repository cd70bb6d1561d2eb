"""NumPy arrays and plain lists."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.frames.frame import Frame

__all__ = ["ArrayFrame", "ListFrame"]


class ArrayFrame(Frame):
    """A one-dimensional NumPy array."""

    what: ClassVar[str] = "a NumPy array"

    @classmethod
    def takes(cls, native: Any) -> bool:
        return isinstance(native, np.ndarray)

    def columns(self) -> list[Any] | None:
        if self.native.ndim != 1:
            raise ColumnError(
                f"an array must have one dimension, a column. Got {self.native.ndim}; release one column at a time."
            )
        if isinstance(self.native, np.ma.MaskedArray):
            raise ColumnError("a masked array hides values that are still there; fill it with NaN first.")
        return None

    def read(self, column: Any) -> pl.Series:
        if self.native.dtype.kind in "OUS":
            return ListFrame(self.native.tolist()).read(None)
        if self.native.dtype.kind not in "biuf" or self.native.dtype.itemsize > 8:
            raise ColumnError(f"an array of type {self.native.dtype} holds no plain numbers or categories.")
        return pl.Series("values", np.ascontiguousarray(self.native).astype(self.native.dtype.newbyteorder("=")))

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        return native[order]

    def with_columns(self, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> Any:
        if self.native.dtype.kind in "OUS":
            values = ListFrame(self.native.tolist()).with_columns(fresh, dropped)
            if self.native.dtype.kind == "O":
                return np.array([*values, None], dtype=object)[:-1]
            # as wide as the plan's longest label: the original's width tells its longest text
            return np.array(values, dtype=np.array(list(self.labels[None] or ())).dtype)
        values = fresh[None].to_numpy(allow_copy=True).copy()
        same = values.dtype.kind == self.native.dtype.kind
        return values.astype(values.dtype.newbyteorder(self.native.dtype.byteorder)) if same else values


class ListFrame(Frame):
    """A plain list or tuple of numbers or labels, ``None`` where one is missing."""

    what: ClassVar[str] = "a list"

    @classmethod
    def takes(cls, native: Any) -> bool:
        return isinstance(native, list | tuple)

    def columns(self) -> list[Any] | None:
        return None

    def read(self, column: Any) -> pl.Series:
        kinds = {type(value) for value in self.native if value is not None}
        if kinds and not kinds <= {int, float} and len(kinds) > 1:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise ColumnError(f"a column must hold values of one kind. Got {names}; convert them to one.")
        try:
            if kinds == {int, float}:
                return pl.Series(
                    "values", [None if value is None else float(value) for value in self.native], dtype=pl.Float64
                )
            return pl.Series(
                "values", self.native if kinds else [None] * len(self.native), dtype=None if kinds else pl.Float64
            )
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            raise ColumnError("the list holds values that are neither plain numbers nor labels.") from None

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        return getattr(type(native), "_make", type(native))([native[row] for row in order.tolist()])

    def with_columns(self, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> Any:
        return getattr(type(self.native), "_make", type(self.native))(fresh[None].to_list())
