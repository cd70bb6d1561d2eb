"""The shape of a column of a public table: read once, when the plan is made, and kept in the plan."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from statveil.errors import ColumnError, ProblemError
from statveil.problem.families.shape import Shape
from statveil.problem.shapes.table import table_of_sample
from statveil.tables.databases.address import Address, is_address
from statveil.tables.source import open_source

__all__ = ["public_shape"]


def public_shape(table: Any, column: Any = None) -> Shape:
    """The family of columns that have the shape of a public column, moved and stretched.

    Its quantiles become part of the plan, which anyone may read: the table must be public. Taken from the private
    column they publish it.

    Parameters
    ----------
    table : path or table
        A file (CSV, Parquet, Arrow, Excel) or a table in memory.
    column : str
        Name of the column.

    Examples
    --------
    >>> import polars as pl
    >>> public_shape(pl.DataFrame({"income": [10.0, 20.0, 25.0, 60.0]}), "income").label
    'shape:income'
    """
    source = open_source(table)
    name = source.find(column)
    source.check_numbers(name, why=" where the numbers of a shape are needed")
    blocks = [block[np.isfinite(block)] for block in source.blocks(name)]
    label = source.label(name)
    if is_address(table):
        said = f"{Address.parse(table).table}:{label}"
    else:
        said = f"{Path(table).name}:{label}" if isinstance(table, str | os.PathLike) else label
    try:
        return Shape(table_of_sample(np.concatenate([np.zeros(0), *blocks]), said))
    except ProblemError as error:
        raise ColumnError(f"the column {label!r} cannot be a shape: {error}") from None
