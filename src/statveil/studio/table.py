"""A table that the page opened: its columns and first rows. Nothing but the first rows is read here."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PanicException

from statveil.errors import StatveilError
from statveil.studio.refusal import Refusal
from statveil.tables.files import open_table  # noqa: F401  (fills the formats)
from statveil.tables.files.csv_numbers import numbers
from statveil.tables.files.table_file import FORMATS
from statveil.tables.source import Source, open_source

__all__ = ["OpenTable", "look_at", "suffix_of"]

SHOWN = 100
"""Rows that are kept for the preview."""
_LONGEST = 200  # characters of a cell
MOST_COLUMNS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTable:
    """What is known of a table without reading it."""

    path: Path
    """What jobs read."""
    name: str
    """As its holder calls it."""
    shown_path: str | None
    """Where its holder has it; ``None`` for an upload."""
    size: int
    rows: int | None
    names: tuple[str, ...]
    types: tuple[str, ...]
    numeric: tuple[bool, ...]
    first: tuple[tuple[str, ...], ...]
    """The first rows as text, a missing value as nothing."""

    def preview(self, rows: int) -> dict[str, Any]:
        """The first rows for the page."""
        return {"names": list(self.names), "rows": [list(row) for row in self.first[:rows]], "total_rows": self.rows}


def look_at(path: Path, *, name: str, shown_path: str | None, size: int, field: str) -> OpenTable:
    """Open a table file and read its first rows; a :class:`Refusal` at ``field`` where that fails."""
    try:
        source = open_source(path)
        names = tuple(str(one) for one in source.names)
        if len(names) > MOST_COLUMNS:
            raise Refusal(
                f"the table has {len(names):,} columns, and the studio shows at most {MOST_COLUMNS:,}; use the command "
                "line, or leave some out.",
                field=field,
            )
        again = next((one for one in names if names.count(one) > 1), None)
        if again is not None:
            raise Refusal(f"{names.count(again)} columns are called {again!r}; rename all but one.", field=field)
        first = _first_rows(source, names)
    except StatveilError as error:
        raise Refusal(str(error).replace(str(path), name), field=field) from None
    except PanicException:
        raise Refusal(f"cannot read {name}: the engine gave up on it. Write it again.", field=field) from None
    types, numeric = zip(*(_kind(one) for one in first), strict=True) if first else ((), ())
    texts = [_texts(one) for one in first]
    return OpenTable(
        path=path,
        name=name,
        shown_path=shown_path,
        size=size,
        rows=source.rows,
        names=names,
        types=types,
        numeric=numeric,
        first=tuple(zip(*texts, strict=True)) if texts else (),
    )


def _first_rows(source: Source, names: tuple[str, ...]) -> list[pl.Series]:
    for _, others in islice(source.beside({}), 1):
        return [others[name].head(SHOWN) for name in names]
    return [pl.Series(name, [], dtype=pl.String) for name in names]


def _kind(column: pl.Series) -> tuple[str, bool]:
    """What the first rows hold; of a text file a guess, until the whole column was looked at."""
    if column.dtype == pl.String:
        values, wrong = numbers(column.fill_null(""))
        guess = wrong is None and len(values) > 0 and bool((values == values).any())
        return ("number" if guess else "text"), guess
    return str(column.dtype).lower(), column.dtype.is_numeric()


def _texts(column: pl.Series) -> list[str]:
    return ["" if value is None else _short(str(value)) for value in column.to_list()]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def suffix_of(name: str) -> str:
    """The suffix that says the format, as in ``.csv.gz``; nothing of a name but that becomes part of a path."""
    return next((suffix for suffix in sorted(FORMATS, key=len, reverse=True) if name.lower().endswith(suffix)), "")
