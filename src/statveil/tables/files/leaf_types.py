"""The types that a column is made of, inside its lists and records too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

__all__ = ["leaf_types"]


def leaf_types(dtype: Any) -> Iterator[pl.DataType]:
    """The types that lists and records are made of; the type itself where it is neither.

    >>> [*leaf_types(pl.List(pl.Struct({"a": pl.Int8, "b": pl.String})))]
    [Int8, String]
    """
    made: pl.DataType = dtype() if isinstance(dtype, type) else dtype
    if isinstance(made, pl.List | pl.Array):
        yield from leaf_types(made.inner)
    elif isinstance(made, pl.Struct):
        for field in made.fields:
            yield from leaf_types(field.dtype)
    else:
        yield made
