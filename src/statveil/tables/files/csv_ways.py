"""How the cells of columns that stay are written: in one way, or in several, which may tell another column's values.

A table that was printed in lines of one length has more blanks before a number where the field before it is short; of
two files that were pasted together one has quotes, ``""`` where nothing is said, or blank lines. Whoever looks at
values alone does not see it, so such cells and lines are written in one way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from statveil.tables.files.csv_numbers import contents, in_quotes
from statveil.tables.files.csv_records import Records

__all__ = ["Ways", "in_one_way"]

_BLANKS = " \t"


@dataclass(slots=True)
class _Column:
    """The ways in which the cells of one column are written, as far as they were seen."""

    separator: str
    needless: bool = False
    """Whether a cell stands in quotes that it does not need."""
    bare: bool = False
    """Whether one stands without."""
    _around: set[tuple[int, int]] = field(default_factory=set)
    _widths: set[int] = field(default_factory=set)
    _empty: set[str] = field(default_factory=set)
    """How cells are written that hold nothing: with quotes, or without."""

    def see(self, fields: list[bytes]) -> None:
        """Take in more cells; the few that settle the matter are enough."""
        if self.several:
            return
        said = contents(fields)
        raw = pl.Series(fields, dtype=pl.Binary).cast(pl.String)
        cells = pl.DataFrame({"raw": raw, "said": said})
        self._empty |= set(cells.filter(pl.col("said") == "")["raw"].unique().to_list())
        cells = cells.filter(pl.col("said") != "")
        if not len(cells):
            return
        quoted, marks = pl.col("raw").str.starts_with('"'), ['"', "\n", "\r", self.separator]
        needs = pl.any_horizontal(*(pl.col("said").str.contains(mark, literal=True) for mark in marks))
        size = pl.col("said").str.len_bytes()
        seen = cells.select(
            needless=quoted & ~needs,
            bare=~quoted,
            number=pl.col("said").str.strip_chars(_BLANKS).cast(pl.Float64, strict=False).is_not_null(),
            before=size - pl.col("said").str.strip_chars_start(_BLANKS).str.len_bytes(),
            behind=size - pl.col("said").str.strip_chars_end(_BLANKS).str.len_bytes(),
            width=pl.col("raw").str.len_bytes(),
        )
        self.needless = self.needless or bool(seen["needless"].any())
        self.bare = self.bare or bool(seen["bare"].any())
        numbers = seen.filter("number")
        # blanks around texts are part of them, and are searched as such
        self._around |= set(numbers.select("before", "behind").unique().head(3).rows())
        self._widths |= set(numbers["width"].unique().head(3).to_list())

    @property
    def several(self) -> bool:
        """Whether what stands around a value is not the same for all, nor fills all fields to one length."""
        uneven = len(self._around) > 1 and len(self._widths) > 1
        return (self.needless and self.bare) or uneven or len(self._empty) > 1


class Ways:
    """The ways in which the cells and the lines of a file are written."""

    def __init__(self, separator: str) -> None:
        self._separator = separator
        self._columns: dict[int, _Column] = {}
        self._returns: set[bool] = set()
        self._blank = False

    def see(self, records: Records, fields: Mapping[int, list[bytes]]) -> None:
        """Take in more records, with the cells of columns by their place."""
        for place, cells in fields.items():
            self._columns.setdefault(place, _Column(self._separator)).see(cells)
        raw = np.frombuffer(records.raw, dtype=np.uint8)
        stops = records.stops[(records.stops > 1) & (records.stops <= len(raw))]
        stops = stops[raw[stops - 1] == ord("\n")]
        self._returns |= set(np.unique(raw[stops - 2] == ord("\r")).tolist())
        # of a table of one column a blank line is a row, and no record begins behind it
        begins = np.append(0, stops)
        begins = begins[begins < len(raw)]
        self._blank = self._blank or bool(np.isin(raw[begins], list(b"\r\n")).any())

    @property
    def several(self) -> set[int]:
        """The places of columns whose cells are written in several ways."""
        return {place for place, column in self._columns.items() if column.several}

    @property
    def several_line_ends(self) -> bool:
        """Whether lines end in several ways: with a carriage return or without, with blank lines or without."""
        return len(self._returns) > 1 or self._blank


def in_one_way(fields: list[bytes], separator: str) -> list[bytes]:
    """Cells with the quotes that they need, numbers without blanks, and nothing where there is nothing."""
    said = contents(fields)
    bare = said.str.strip_chars(_BLANKS)
    plain = bare.zip_with(bare.cast(pl.Float64, strict=False).is_not_null(), said)
    marks = ('"', "\n", "\r", separator)
    return [
        in_quotes(text.encode()) if any(mark in text for mark in marks) else text.encode() for text in plain.to_list()
    ]
