"""Cells of an Excel sheet to numbers and categories, and released values to cells."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from statveil.errors import ColumnError
from statveil.tables.blocks import Array

__all__ = [
    "ExcelForm",
    "Formats",
    "as_text",
    "categories",
    "numbers",
    "refuse_beyond_exact",
    "released_numbers",
    "written_cell",
]

_MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "-", "?"))
_LARGEST_WHOLE = 2**53


def _missing(cell: Any) -> bool:
    """Whether a cell holds no value: no cell, an empty one, an error such as #N/A, or a usual mark."""
    if cell is None or cell.value is None or cell.data_type == "e":
        return True
    return isinstance(cell.value, str) and cell.value.strip(" \t").lower() in _MISSING


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(slots=True)
class ExcelForm:
    """What the cells of a column are.

    Parameters
    ----------
    whole, numeric, boolean : bool
        Whether every value so far is a whole number, a number, or true or false.
    dates : bool
        Whether there is a date or time.
    values : int
        How many cells hold a value.
    first_text : int or None
        The first cell with something else in a column that begins with numbers.
    """

    whole: bool = True
    numeric: bool = True
    boolean: bool = True
    dates: bool = False
    values: int = 0
    first_text: int | None = None
    _formats: set[str] = field(default_factory=set)

    @property
    def number_format(self) -> str:
        """How the column's numbers are shown: as all of them are, or plainly. A row's own format may tell its value."""
        return next(iter(self._formats)) if len(self._formats) == 1 else "General"

    @property
    def kind(self) -> str:
        """The kind of the column, as in ``ColumnType``."""
        if self.numeric:
            return "integer" if self.whole and self.values else "float"
        return "boolean" if self.boolean else "other" if self.dates else "text"

    @property
    def dtype(self) -> pl.DataType:
        """The type in which the column's values are compared with a plan's categories."""
        types: dict[str, pl.DataType] = {"integer": pl.Int64(), "float": pl.Float64(), "boolean": pl.Boolean()}
        return types.get(self.kind, pl.String())

    def see(self, cells: Iterable[Any]) -> None:
        """Take in more cells."""
        for cell in cells:
            if _missing(cell):
                continue
            value = cell.value
            if not _is_number(value) and self.numeric and self.values:
                self.first_text = self.values
            self.values += 1
            self._formats.add(str(cell.number_format))
            self.whole = self.whole and isinstance(value, int) and not isinstance(value, bool)
            self.numeric = self.numeric and _is_number(value)
            self.boolean = self.boolean and isinstance(value, bool)
            self.dates = self.dates or isinstance(value, (date, time, timedelta))


class Formats:
    """How the cells of columns that stay are shown: values of one kind alike.

    A row's own format may tell another column's value.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, type], Counter[str]] = {}

    def see(self, place: int, cells: Iterable[Any]) -> None:
        """Take in more cells of a column."""
        for cell in cells:
            if not _missing(cell):
                self._seen.setdefault((place, type(cell.value)), Counter())[str(cell.number_format)] += 1

    def of(self, place: int, cell: Any) -> str:
        """The format of a cell: that of most cells of its kind, the first by name of several."""
        if cell is None:
            return "General"
        seen = self._seen.get((place, type(cell.value)))
        return str(cell.number_format) if seen is None else min(seen, key=lambda name: (-seen[name], name))


def numbers(cells: Sequence[Any]) -> tuple[Array, int | None]:
    """The numbers, NaN where missing, and where the first cell stands that is neither."""
    values = np.full(len(cells), math.nan)
    for row, cell in enumerate(cells):
        if cell is not None and _is_number(cell.value):
            values[row] = float(cell.value)
        elif not _missing(cell):
            return values, row
    return values, None


def categories(cells: Sequence[Any], column: str, labels: Sequence[str], form: ExcelForm) -> pl.Series:
    """The cells as a column of its own type; null where missing, unless the plan lists that very mark."""
    known = frozenset(labels)
    text = form.dtype == pl.String
    values: list[Any] = []
    for cell in cells:
        value = None if cell is None or cell.value is None else str(cell.value) if text else cell.value
        values.append(None if _missing(cell) and not (text and value in known) else value)
    return pl.Series(column, values, dtype=form.dtype)


def as_text(cells: Sequence[Any]) -> pl.Series:
    """Cells that are only looked at: what they hold, as text; times in the order of time."""
    return pl.Series([None if _missing(cell) else str(cell.value) for cell in cells], dtype=pl.String)


def refuse_beyond_exact(cells: Sequence[Any], values: Array, column: str) -> None:
    """An error where a whole number is too large to be held exactly."""
    rows = np.flatnonzero(np.isfinite(values) & (np.abs(values) >= _LARGEST_WHOLE)).tolist()
    if any(isinstance(cells[row].value, int) and abs(cells[row].value) > _LARGEST_WHOLE for row in rows):
        raise ColumnError(
            f"column {column!r} holds whole numbers beyond 2^53, which 64-bit floats cannot hold exactly. "
            "Measure them from a public offset or in a coarser unit first."
        )


def released_numbers(released: Array, column: str, whole: bool) -> list[int] | list[float]:
    """Released numbers as Python's own, whole ones as ``int``."""
    if not whole:
        return [float(value) for value in released]
    nearest = np.floor(released + 0.5)
    if len(nearest) and np.abs(nearest).max() > _LARGEST_WHOLE:
        raise ColumnError(
            f"released values of column {column!r} are whole numbers beyond 2^53, which cannot be held exactly. "
            "Measure the column from a public offset or in a coarser unit first."
        )
    return [int(value) for value in nearest]


@cache
def _new_cell() -> Any:
    """The library's cell; it is asked for once a cell."""
    return importlib.import_module("openpyxl.cell").WriteOnlyCell


def written_cell(sheet: Any, original: Any, value: Any, number_format: str) -> Any:
    """A cell of the new sheet in the given format; the original, where there is one, says whether it is an error."""
    if value is None:
        return None
    cell = _new_cell()(sheet, value=value)
    if isinstance(value, str):
        # text that looks like a formula or an error is still text
        cell.data_type = "e" if original is not None and original.data_type == "e" else "s"
    elif isinstance(value, float):
        # openpyxl writes 16 digits of a float, which is one too few; as text it is written as it stands
        cell.value = repr(value)
        cell.data_type = "n"
    if number_format != cell.number_format:
        cell.number_format = number_format
    return cell
