"""Groups of rows that a table names without a column for it, and that tell what is hidden: what attackers go by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from statveil.errors import ColumnError
from statveil.tables.blocks import Array
from statveil.tables.groups import Masks
from statveil.tables.source import Source
from statveil.tables.structure.others.alongside import opaque
from statveil.tables.structure.rows.belonging import Belonging, belonging
from statveil.tables.structure.rows.together_search import alike, goes_across, told_by_the_others

__all__ = ["together_in"]

_MOST_ROWS = 2**18  # of tables in which they are looked for
_SHARE, _EQUAL = 0.05, 0.05  # of the variation, and of the rows in groups of one value
_MOST = 8


def together_in(
    source: Source, names: Sequence[Any], values: Array, apart: Masks | Array | None, *, categories: bool
) -> dict[str, Array]:
    """Such groups, by a name for people; a row that is in none has a number of its own.

    Parameters
    ----------
    source : Source
        The table.
    names : sequence
        The columns that stay as they are.
    values : array
        The hidden column, NaN where a row has no value.
    apart : pair of array of bool, array, or None
        The rows of two groups that move apart, or the other one of two columns.
    categories : bool
        Whether the column holds categories.
    """
    if len(values) > _MOST_ROWS:
        return {}
    groupings = belonging(_columns(source, names))
    found: Iterable[Belonging]
    if apart is None:
        found = (one for one, _, _ in alike(values, groupings, categories=categories, least=_SHARE, equal=_EQUAL))
    elif isinstance(apart, tuple):
        part = apart[0].astype(np.int8) + 2 * apart[1].astype(np.int8)
        found = goes_across(values, part, groupings)
    else:
        found = told_by_the_others(values, apart, groupings)
    return {one.name: _filled(one) for one in list(found)[:_MOST]}


def _columns(source: Source, names: Sequence[Any]) -> dict[str, pl.Series]:
    columns: dict[str, pl.Series] = {}
    for name in names:
        if source.names.count(name) > 1:
            continue
        try:
            column = source.column(name)
        except (ColumnError, pl.exceptions.PolarsError):
            continue
        if not opaque(column.dtype):
            columns[str(name)] = column.alias("")
    return columns


def _filled(one: Belonging) -> Array:
    alone = one.code < 0
    number = one.code.astype(np.float64)
    number[alone] = float(one.code.max(initial=0)) + 1 + np.arange(np.count_nonzero(alone))
    return number
