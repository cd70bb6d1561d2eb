"""The columns that a public rule may compare: numbers, points in time, times of a day and spans, each in one unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.number_marks import LAST_DAY, are_times
from statveil.tables.structure.reading.clocks import is_clock, minutes
from statveil.tables.structure.reading.distinct import distinct
from statveil.tables.structure.reading.text_forms import as_text
from statveil.tables.structure.reading.written_times import compact_times
from statveil.tables.structure.rows.group_search import keys_of, numbers_in

__all__ = ["DAY", "Readable", "readable", "texts_of", "two_values"]

DAY = 86_400_000_000
"""Of microseconds, in which all times are."""
_MINUTE = DAY / 1440
_READINGS = 3  # of one column
_KNOWN = 0.5  # of the rows that have a number
_CLOCK = r"^\s*\d{1,2}:\d{2}"
_LOOKED, _TIMED = 64, 512  # rows that say of what kind a text is, and whether it is one of times


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Readable:
    """One way to read a column: what is compared with another one only if it is of the same ``kind``."""

    name: str
    kind: str
    numbers: Array


def readable(columns: Mapping[str, pl.Series]) -> list[Readable]:
    """All ways to read the columns as numbers or times, those that have the same number in all rows left out."""
    return [
        Readable(name=name, kind=kind, numbers=numbers)
        for name, column in columns.items()
        for kind, numbers in _readings(column)
        if np.isfinite(numbers).mean() >= _KNOWN and np.nanmax(numbers) > np.nanmin(numbers)
    ]


def two_values(columns: Mapping[str, pl.Series]) -> Iterator[Readable]:
    """Columns of two values that are no numbers, as 0 and 1: such as are counted."""
    for name, column in columns.items():
        if column.dtype != pl.Boolean and as_text(column) is None:
            continue
        code = distinct(keys_of(column)).code
        if code.max(initial=0) == 1:
            yield Readable(name=name, kind="number", numbers=code.astype(np.float64))


def texts_of(columns: Mapping[str, pl.Series]) -> dict[str, NDArray[np.uint64]]:
    """The columns of text as keys that two of them share where they say the same, case and blanks aside."""
    texts = ((name, as_text(column)) for name, column in columns.items())
    return {
        name: keys_of(text.str.to_lowercase().str.replace_all(r"\s+", "").alias(""))
        for name, text in texts
        if text is not None
    }


def _readings(column: pl.Series) -> Iterator[tuple[str, Array]]:
    dtype = column.dtype
    if isinstance(dtype, pl.Duration):
        yield "span", _floats(column.cast(pl.Duration("us")))
        return
    if isinstance(dtype, pl.Datetime):
        yield "time", _floats(column.cast(pl.Datetime("us", dtype.time_zone)))
        return
    if dtype == pl.Date:
        yield "time", _floats(column) * DAY
        return
    if dtype == pl.Time:
        yield "clock", _floats(column) / 1000
        return
    text = as_text(column)
    if text is None and not dtype.is_numeric():
        return
    if text is not None and not bool(text.drop_nulls().head(_LOOKED).str.contains(r"\p{N}").any()):
        return  # names: reading them as numbers takes longer than all else
    found = numbers_in(column)[:_READINGS]
    if text is not None:
        yield from _of_text(text, found)
        return
    numbers = found[0]
    yield "number", numbers
    if is_clock(numbers):
        yield "clock", minutes(numbers) * _MINUTE
    for days in found[1:]:  # of whole numbers such as 20240131
        yield "time", _moments(days)


def _of_text(text: pl.Series, found: list[Array]) -> Iterator[tuple[str, Array]]:
    some = text.drop_nulls().head(_LOOKED)
    if bool(some.str.contains(_CLOCK).all()) and np.nanmax(found[0], initial=0.0) > 0:
        yield "clock", found[0] / (1000 if np.nanmax(found[0]) > DAY else 1)  # read in one way or another
        return
    rows = text.head(_TIMED).to_list()
    dated = False
    for numbers in found:
        if are_times(rows, numbers[:_TIMED]):
            dated = True
            yield "time", _moments(numbers)
        elif not dated:
            yield "number", numbers
            yield from (("time", _moments(days)) for days in compact_times(numbers)[:1] if len(found) == 1)


def _moments(numbers: Array) -> Array:
    """Days since 1970, or microseconds, as microseconds."""
    largest = np.nanmax(np.abs(numbers), initial=0.0)
    return np.asarray(numbers * (1 if largest > LAST_DAY else DAY))


def _floats(column: pl.Series) -> Array:
    return np.asarray(column.to_physical().cast(pl.Float64).to_numpy(), dtype=np.float64)
