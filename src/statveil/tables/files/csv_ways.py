"""How the cells of columns that stay are written: in one way, or in several, which may tell another column's values.

A table that was printed in lines of one length has more blanks before a number where the field before it is short; of
two files that were pasted together one has quotes. Whoever looks at values alone does not see it, so such cells are
written in one way.
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
    """The ways in which the cells of one column are written, as far as they were seen. Empty cells have none."""

    separator: str
    needless: bool = False
    """Whether a cell stands in quotes that it does not need."""
    bare: bool = False
    """Whether one stands without."""
    _around: set[tuple[int, int]] = field(default_factory=set)
    _widths: set[int] = field(default_factory=set)

    def see(self, fields: list[bytes]) -> None:
        """Take in more cells; the few that settle the matter are enough."""
        if self.several:
            return
        said = contents(fields)
        raw = pl.Series(fields, dtype=pl.Binary).cast(pl.String)
        cells = pl.DataFrame({"raw": raw, "said": said}).filter(pl.col("said").str.strip_chars(_BLANKS) != "")
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
        return (self.needless and self.bare) or (len(self._around) > 1 and len(self._widths) > 1)


class Ways:
    """The ways in which the cells and the lines of a file are written."""

    def __init__(self, separator: str) -> None:
        self._separator = separator
        self._columns: dict[int, _Column] = {}
        self._returns: set[bool] = set()

    def see(self, records: Records, fields: Mapping[int, list[bytes]]) -> None:
        """Take in more records, with the cells of columns by their place."""
        for place, cells in fields.items():
            self._columns.setdefault(place, _Column(self._separator)).see(cells)
        raw = np.frombuffer(records.raw, dtype=np.uint8)
        stops = records.stops[(records.stops > 1) & (records.stops <= len(raw))]
        stops = stops[raw[stops - 1] == ord("\n")]
        self._returns |= set(np.unique(raw[stops - 2] == ord("\r")).tolist())

    @property
    def several(self) -> set[int]:
        """The places of columns whose cells are written in several ways."""
        return {place for place, column in self._columns.items() if column.several}

    @property
    def several_line_ends(self) -> bool:
        """Whether some lines end in a carriage return and a line feed, and others in a line feed alone."""
        return len(self._returns) > 1


def in_one_way(fields: list[bytes], separator: str) -> list[bytes]:
    """Cells with the quotes that they need, and numbers without blanks; empty cells as they are."""
    said = contents(fields)
    bare = said.str.strip_chars(_BLANKS)
    plain = bare.zip_with(bare.cast(pl.Float64, strict=False).is_not_null(), said)
    marks = ('"', "\n", "\r", separator)
    return [
        raw if not text else in_quotes(text.encode()) if any(mark in text for mark in marks) else text.encode()
        for raw, text in zip(fields, plain.to_list(), strict=True)
    ]
