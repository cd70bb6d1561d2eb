"""Columns of a small table, found by name however it is spelled."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from statveil.tables.blocks import Array
from statveil.tables.files import TableFile

__all__ = ["find_column", "numbers_of", "plain", "texts_of"]


def plain(text: str) -> str:
    """Letters and digits alone, in lower case.

    >>> plain("Education Level"), plain("Master's"), plain("unit_id")
    ('educationlevel', 'masters', 'unitid')
    """
    return re.sub(r"[^a-z0-9]", "", text.lower())


def find_column(table: TableFile, *spellings: str) -> str | None:
    """The table's first column that is called one of these, or None."""
    return next((name for name in table.names if plain(name) in map(plain, spellings)), None)


def numbers_of(table: TableFile, column: str) -> Array:
    """The whole column, NaN where a value is missing."""
    return np.concatenate([np.empty(0), *table.blocks(column)])


def texts_of(table: TableFile, column: str) -> pl.Series:
    """The whole column as text, null where it is empty; a whole number has no decimals, whatever the file's type."""
    table.position(column)
    series = table.column(column).alias("")  # the engine takes a name such as ``^a.*$`` for a pattern
    if series.dtype.is_float() and bool((series.drop_nulls() % 1 == 0).all()):
        series = series.cast(pl.Int64)
    text = series.cast(pl.String).str.strip_chars()
    return pl.select(pl.when(text != "").then(text)).to_series().alias(column)
