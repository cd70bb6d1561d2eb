"""A Polars column as floating-point numbers, and back to its own type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PolarsError

from statveil.errors import ColumnError
from statveil.tables.blocks import Array, all_finite
from statveil.tables.empty_cells import emptied
from statveil.tables.released_type import released_dtype, wide_dtype

__all__ = ["ColumnType", "codes_of", "column_type", "from_codes", "from_numbers", "label_values", "numbers_of"]

_LARGEST_WHOLE = 2.0**53


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """What a column holds.

    Parameters
    ----------
    kind : str
        ``"float"``, ``"integer"``, ``"decimal"`` (numbers), ``"boolean"``, ``"text"`` (categories) or ``"other"``.
    bits : int
        Precision of its numbers: 24 for 32-bit floats, otherwise 53.
    name : str
        The engine's name of the type, for messages.
    """

    kind: str
    name: str
    bits: int = 53
    scale: int | None = None
    """Decimals that the type can hold; ``None`` for floats."""
    first_text: int | None = None
    """Row of the first text, counted from 1, in a column that began with numbers."""
    marks: bool = False
    """Whether the table holds texts alone, in which marks such as ``NA``, or nothing, stand for missing values."""

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.kind in ("float", "integer", "decimal")


def column_type(dtype: pl.DataType) -> ColumnType:
    """The kind of a Polars type."""
    name = str(dtype)
    if dtype == pl.Float32:
        return ColumnType(kind="float", name=name, bits=24)
    if dtype == pl.Float64:
        return ColumnType(kind="float", name=name)
    if dtype.is_integer():
        return ColumnType(kind="integer", name=name, scale=0)
    if isinstance(dtype, pl.Decimal):
        return ColumnType(kind="decimal", name=name, scale=dtype.scale)
    if dtype == pl.Boolean:
        return ColumnType(kind="boolean", name=name)
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return ColumnType(kind="text", name=name)
    return ColumnType(kind="other", name=name)


def numbers_of(series: pl.Series) -> Array:
    """The column as 64-bit floats, NaN where a value is missing."""
    values = series.cast(pl.Float64).to_numpy(allow_copy=True)
    # asked of the whole numbers themselves: as a float, 2^53 + 1 is 2^53
    ends = (series.min(), series.max()) if series.dtype.is_integer() else ()
    if any(abs(int(end)) > _LARGEST_WHOLE for end in ends if end is not None):  # type: ignore[arg-type]
        raise ColumnError(
            f"column {series.name!r} holds whole numbers beyond 2^53, which 64-bit floats cannot hold exactly. "
            "Measure them from a public offset or in a coarser unit first."
        )
    if series.dtype.is_decimal() and not (pl.Series(values).cast(series.dtype, strict=False) == series).all():
        raise ColumnError(
            f"column {series.name!r} holds decimals with more digits than 64-bit floats can hold exactly. "
            "Round them, or measure them from a public offset first."
        )
    return np.asarray(values, dtype=np.float64)


def from_numbers(original: pl.Series, released: Array, *, whole: bool) -> pl.Series:
    """Released numbers in the type that :func:`released_dtype` says.

    Rows that are not finite in the original (missing, NaN, infinite) are taken from the original.
    """
    dtype = released_dtype(original.dtype, whole=whole, labels=None)
    if original.dtype == pl.Float64 and not original.null_count() and all_finite(released):
        return pl.Series(original.name, released)  # rows that are not finite were handed through by the map
    touched = np.isfinite(numbers_of(original))
    if dtype.is_integer():
        fresh = _whole(original.name, dtype, released, touched)
    elif dtype.is_decimal():
        fresh = _decimal(original.name, dtype, released, touched)
    elif dtype == pl.Float32:
        with np.errstate(over="ignore"):
            fresh = pl.Series(released.astype(np.float32))
    else:
        fresh = pl.Series(released)
    if fresh.dtype.is_float() and not bool(fresh.filter(pl.Series(touched)).is_finite().all()):
        raise _does_not_fit(original.name, dtype, "a wider type, or measure it in a larger unit,")
    kept = original if dtype == original.dtype else original.cast(dtype)
    mask = pl.Series(touched)
    return fresh.zip_with(mask, emptied(kept)).alias(original.name)


def _decimal(name: str, dtype: pl.DataType, released: Array, touched: NDArray[np.bool_]) -> pl.Series:
    """Numbers in a decimal type, or a refusal where they do not fit."""
    try:
        fresh = pl.Series(released).cast(dtype, strict=False)
    except PolarsError:
        raise _does_not_fit(name, dtype, "a decimal type of fewer decimals") from None
    if bool((fresh.is_null() & pl.Series(touched)).any()):
        raise _does_not_fit(name, dtype, "a decimal type of fewer decimals")
    return fresh


def _whole(name: str, dtype: pl.DataType, released: Array, touched: NDArray[np.bool_]) -> pl.Series:
    """Whole numbers in an integer type, or a refusal where they do not fit."""
    rounded = np.where(touched, np.rint(released), 0.0)
    low, high = _ends(dtype)
    fits = (rounded >= max(low, -_LARGEST_WHOLE)) & (rounded <= min(high, _LARGEST_WHOLE))
    if not bool(fits.all()):
        raise _does_not_fit(name, dtype, "a wider or a signed integer type")
    return pl.Series(rounded.astype(np.int64)).cast(dtype)


def _ends(dtype: pl.DataType) -> tuple[float, float]:
    """The least and the largest number of a type."""
    low, high = (pl.select(end).item() for end in (dtype.min(), dtype.max()))  # type: ignore[attr-defined]
    return float(low), float(high)


def _does_not_fit(name: str, dtype: pl.DataType, remedy: str) -> ColumnError:
    return ColumnError(
        f"released values of column {name!r} do not fit its type, which is {dtype} when released; cast it to {remedy} "
        "first."
    )


# --- categories -------------------------------------------------------------------------------
def label_values(labels: Sequence[str], dtype: pl.DataType) -> pl.Series:
    """The plan's labels as values of the column's type."""
    if dtype == pl.Boolean:
        names = {"true": True, "false": False}
        if {label.casefold() for label in labels} - set(names) or len({name.casefold() for name in labels}) < len(
            labels
        ):
            raise ColumnError("a true/false column has the categories true and false; plan with --labels true,false.")
        return pl.Series([names[label.casefold()] for label in labels])
    if dtype.is_integer() or dtype.is_float():
        try:
            numbers = [float(label) for label in labels]
        except ValueError:
            numbers = [math.nan]
        low, high = _ends(dtype)
        if len(set(numbers)) < len(numbers) or not all(low <= number <= high for number in numbers):
            raise ColumnError(f"the plan's categories are not different numbers of the column's type {dtype}.")
        if any(math.isnan(number) or (dtype.is_integer() and number != int(number)) for number in numbers):
            raise ColumnError(f"the plan's categories are not all numbers, but the column's type is {dtype}.")
        return pl.Series(numbers).cast(dtype)
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return pl.Series(list(labels), dtype=pl.String)
    raise ColumnError(f"a column of type {dtype} cannot be read as categories; cast it to text first.")


def codes_of(series: pl.Series, labels: Sequence[str]) -> Array:
    """Number of each row's category in the plan's list; NaN where a value is missing."""
    wide = wide_dtype(series.dtype)
    values = label_values(labels, wide)
    plain = series.cast(pl.String if wide in (pl.Categorical, pl.Enum) else wide)
    codes = plain.replace_strict(values, pl.Series(range(len(labels)), dtype=pl.Int32), default=-1)
    unknown = plain.filter((codes == -1) & plain.is_not_null()).unique().sort().head(3)
    if series.dtype.is_float():
        unknown = unknown.filter(unknown.is_finite())
    if len(unknown):
        shown = "" if series.dtype.is_numeric() else ", such as " + ", ".join(repr(v) for v in unknown.to_list())
        raise ColumnError(
            f"column {series.name!r} holds categories that the plan does not list{shown}. "
            f"The plan has: {', '.join(labels)}. Plan again with --labels that name every category there can be."
        )
    found = codes.cast(pl.Float64).to_numpy(allow_copy=True)
    return np.where(plain.is_null().to_numpy() | (found < 0), np.nan, found)


def from_codes(original: pl.Series, before: Array, after: Array, labels: Sequence[str]) -> pl.Series:
    """The column with the rows relabelled whose category changed; all others are the original's."""
    dtype = wide_dtype(original.dtype)
    values = label_values(labels, dtype)
    # also where no row changes: which of the labels a type has may tell which of them the rows had
    if isinstance(dtype, pl.Enum) and not set(values) <= set(dtype.categories):
        raise ColumnError(f"column {original.name!r} is an Enum without all of the plan's categories; cast it to text.")
    kept = emptied(original if dtype == original.dtype else original.cast(dtype))
    changed = np.isfinite(before) & (before != after)
    if not changed.any():
        return kept
    fresh = values.gather(np.where(changed, after, 0).astype(np.int64))
    if dtype in (pl.Categorical, pl.Enum):
        fresh = fresh.cast(dtype)
    return fresh.zip_with(pl.Series(changed), kept).alias(original.name)
