"""Text of CSV fields to numbers, and released numbers to text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from statveil.errors import ColumnError
from statveil.tables.blocks import Array

__all__ = [
    "Form",
    "contents",
    "in_quotes",
    "missing_marks",
    "needs_quotes",
    "numbers",
    "numbers_as_text",
    "refuse_beyond_exact",
    "typed_fields",
]

_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_WHOLE = r"^[+-]?[0-9]+$"
_DECIMALS = r"^[+-]?[0-9]*\.([0-9]+)$"
_MISSING = ("", "na", "n/a", "nan", "null", "none", "-", "?")
_INFINITE = {sign + word: float(sign + word) for sign in ("", "+", "-") for word in ("inf", "infinity")}
_QUOTED = re.compile(rb'"((?:[^"]++|"")*+)"(.*)', re.DOTALL)
_LARGEST_WHOLE = 2.0**53
_BLANKS = " \t"


def contents(fields: list[bytes]) -> pl.Series:
    """What the fields say, without their quotes."""
    plain = [_unquoted(raw) if raw[:1] == b'"' else raw for raw in fields]
    return pl.Series(plain, dtype=pl.Binary).cast(pl.String)


def _unquoted(raw: bytes) -> bytes:
    """The content of a field that begins with a quote."""
    if raw.count(b'"') == 2 and raw.endswith(b'"'):
        return raw[1:-1]
    match = _QUOTED.fullmatch(raw)
    return match[1].replace(b'""', b'"') + match[2] if match else raw


def in_quotes(text: bytes) -> bytes:
    """The text as a quoted field."""
    return b'"' + text.replace(b'"', b'""') + b'"'


def needs_quotes(text: str, separator: str) -> bool:
    """Whether a text can only be a field in quotes."""
    return not text or any(mark in text for mark in ('"', "\n", "\r", separator))


def missing_marks(text: pl.Series) -> pl.Series:
    """Whether each text is one of the usual marks of a missing value."""
    return text.str.strip_chars(_BLANKS).str.to_lowercase().is_in(_MISSING)


def numbers(text: pl.Series) -> tuple[Array, int | None]:
    """The numbers, NaN where missing, and where the first text stands that is none of these.

    >>> numbers(pl.Series(["1.5", " 2 ", "NA", "-inf", "two"]))
    (array([ 1.5,  2. ,  nan, -inf,  nan]), 4)
    """
    bare = text.str.strip_chars(_BLANKS)
    plain = bare.str.contains(_NUMBER).to_numpy()
    # a copy, as what the engine hands out cannot be written to; words such as "inf" are looked up below
    values = np.where(plain, bare.cast(pl.Float64, strict=False).to_numpy(allow_copy=True), np.nan)
    rows = np.flatnonzero(~plain)
    # digits beyond the largest float are no infinity that stays as it is: the cell would be published raw
    beyond = np.flatnonzero(plain & ~np.isfinite(values))
    first: int | None = int(beyond[0]) if len(beyond) else None
    for row, word in zip(rows.tolist(), bare.filter(pl.Series(~plain)).to_list(), strict=True):
        if not word or (lower := word.lower()) in _MISSING:
            continue
        if lower not in _INFINITE:
            first = row if first is None else min(first, row)
            break
        values[row] = _INFINITE[lower]
    return values, first


def refuse_beyond_exact(text: pl.Series, values: Array, column: str) -> None:
    """An error where a whole number is too large to be held exactly."""
    large = np.isfinite(values) & (np.abs(values) >= _LARGEST_WHOLE)
    if not large.any():
        return
    bare = text.filter(pl.Series(large)).str.strip_chars(_BLANKS)
    # asked of the digits themselves: as a float, 2^53 + 1 is 2^53
    if any(abs(int(digits)) > _LARGEST_WHOLE for digits in bare.filter(bare.str.contains(_WHOLE)).to_list()):
        raise ColumnError(
            f"column {column!r} holds whole numbers beyond 2^53, which 64-bit floats cannot hold exactly. "
            "Measure them from a public offset or in a coarser unit first."
        )


@dataclass(slots=True)
class Form:
    """How a column is written, gathered over all its rows.

    Parameters
    ----------
    whole, numeric, boolean : bool
        Whether every value so far is a whole number without decimal point, a number, or true or false.
    values, rows : int
        How many rows hold a value, and how many there are.
    first_text : int or None
        The first row with text in a column that begins with numbers.
    """

    whole: bool = True
    numeric: bool = True
    boolean: bool = True
    values: int = 0
    rows: int = 0
    first_text: int | None = None
    _decimals: set[int] = field(default_factory=set)

    @property
    def settled(self) -> bool:
        """Whether no further row can change what the column is."""
        return not self.numeric and not self.boolean

    @property
    def decimals(self) -> int | None:
        """How many decimals every number has; None if they differ."""
        return next(iter(self._decimals)) if len(self._decimals) == 1 else None

    @property
    def kind(self) -> str:
        """The kind of the column, as in ``ColumnType``."""
        if self.numeric:
            return "integer" if self.whole and self.values else "float"
        return "boolean" if self.boolean else "text"

    def see(self, text: pl.Series) -> None:
        """Take in more rows."""
        bare = text.str.strip_chars(_BLANKS)
        plain = bare.str.contains(_NUMBER)
        words = bare.filter(~plain).str.to_lowercase()
        words = words.filter(~words.is_in(_MISSING))
        finite = bare.filter(plain)
        if self.numeric and self.first_text is None and (len(finite) or self.values):
            odd = np.flatnonzero((~plain & ~missing_marks(text)).to_numpy())
            wrong = [row for row in odd.tolist() if bare[row].lower() not in _INFINITE]
            self.first_text = self.rows + wrong[0] + 1 if wrong else None
        self.rows += len(text)
        if len(words) or len(finite):
            self.boolean = self.boolean and not len(finite) and bool(words.is_in(["true", "false"]).all())
            self.numeric = self.numeric and bool(words.is_in(list(_INFINITE)).all())
            self.whole = self.whole and not len(words) and bool(finite.str.contains(_WHOLE).all())
            self.values += len(words) + len(finite)
        if len(finite) and self.numeric:
            counts = finite.str.extract(_DECIMALS).str.len_bytes().fill_null(0)
            self._decimals.update((int(counts.min()), int(counts.max())))  # type: ignore[arg-type]


def numbers_as_text(released: Array, form: Form, column: str, *, whole: bool) -> list[bytes]:
    """Released numbers as the column writes them.

    Whole numbers stay whole numbers and a fixed number of decimals stays fixed where the map keeps the lattice;
    otherwise the shortest text that reads back as the same number.
    """
    if whole and form.kind == "integer":
        nearest = np.floor(released + 0.5)
        if len(nearest) and np.abs(nearest).max() > _LARGEST_WHOLE:
            raise ColumnError(
                f"released values of column {column!r} are whole numbers beyond 2^53, which cannot be held exactly. "
                "Measure the column from a public offset or in a coarser unit first."
            )
        texts: list[bytes] = pl.Series(nearest.astype(np.int64)).cast(pl.String).cast(pl.Binary).to_list()
        return texts
    if whole and form.decimals:
        # adding zero makes a negative zero a plain one
        return [b"%.*f" % (form.decimals, number) for number in (released + 0.0).tolist()]
    shortest: list[bytes] = pl.Series(released).cast(pl.String).cast(pl.Binary).to_list()
    return shortest


def typed_fields(text: pl.Series, kind: str) -> pl.Series:
    """The fields of a column as values of its kind, null where one is missing."""
    text = text.fill_null("")
    if kind in ("integer", "float"):
        return pl.Series(numbers(text)[0]).fill_nan(None)
    if kind == "boolean":
        return (
            text.str.strip_chars()
            .str.to_lowercase()
            .replace_strict(["true", "false"], [True, False], default=None, return_dtype=pl.Boolean)
        )
    return pl.select(pl.when(~missing_marks(text)).then(text)).to_series()
