"""The type of a released column, by its own type alone: one that was chosen by the largest value tells that value.

Arrow counts the digits of decimals, and pandas and Polars shrink whole numbers to 8 or 16 bits. So all decimals are
released with as many digits as there can be, and whole numbers with 32 bits at least. Types of 32 and 64 bits are what
programs give to any column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from statveil.errors import ColumnError

__all__ = ["DIGITS", "listed_categories", "released_dtype", "wide_arrow", "wide_dtype"]

DIGITS = 38
"""Digits of the widest decimals that the engine writes."""

_WIDE: dict[Any, pl.DataType] = {
    pl.Int8: pl.Int32(),
    pl.Int16: pl.Int32(),
    pl.UInt8: pl.UInt32(),
    pl.UInt16: pl.UInt32(),
}


def wide_dtype(dtype: pl.DataType) -> pl.DataType:
    """The type that stands for all that differ from it in their width alone.

    Examples
    --------
    >>> wide_dtype(pl.Int8()), wide_dtype(pl.UInt16()), wide_dtype(pl.Int64())
    (Int32, UInt32, Int64)
    >>> wide_dtype(pl.Decimal(5, 2))
    Decimal(precision=38, scale=2)
    """
    if isinstance(dtype, pl.Decimal):
        return pl.Decimal(DIGITS, dtype.scale)
    return _WIDE.get(dtype, dtype)


def released_dtype(dtype: pl.DataType, *, whole: bool, labels: Sequence[str] | None) -> pl.DataType:
    """The type that the released column has; a sink must know it before the first row.

    Parameters
    ----------
    dtype
        The column's own.
    whole
        Whether the map keeps whole numbers whole; otherwise they are released as floats.
    labels
        The plan's categories, where it has them.
    """
    if labels is None and not whole and (dtype.is_integer() or dtype.is_decimal()):
        return pl.Float64()
    return wide_dtype(dtype)


def wide_arrow(kind: Any) -> Any:
    """The same of an Arrow dictionary: how wide its codes are tells about how many categories there were."""
    import pyarrow as pa

    index = kind.index_type
    if index.bit_width < pa.int32().bit_width:
        index = pa.int32() if pa.types.is_signed_integer(index) else pa.uint32()
    return pa.dictionary(index, kind.value_type, ordered=kind.ordered)


def listed_categories(labels: Sequence[Any], declared: Sequence[Any] | None) -> list[Any]:
    """What a released column of categories lists: all of the plan's, in the plan's order.

    Which of them the original had, or in which order they were met, would tell something of it. An order that was
    ``declared`` is kept, with all its categories; it must have all of the plan's.
    """
    if declared is None:
        return list(labels)
    if not set(labels) <= set(declared):
        raise ColumnError("an ordered category type lacks some of the plan's categories; add them to it, in order.")
    return list(declared)
