"""How one block of a typed column is read and released."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from statveil.tables.blocks import Array
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.rounding_digits import rounded
from statveil.tables.series import codes_of, from_codes, from_numbers, numbers_of

__all__ = ["read_rows", "released_rows"]


def read_rows(column: pl.Series, labels: Sequence[str] | None) -> Array:
    """The rows as a map sees them: numbers, or numbers of categories."""
    return numbers_of(column) if labels is None else codes_of(column, labels)


def released_rows(
    originals: Sequence[pl.Series],
    column_map: ColumnMap,
    index: int,
    *,
    labels: Sequence[str] | None,
    round_digits: int | None,
) -> list[pl.Series]:
    """One block of the column, which may come in several pieces, each released as its own type says."""
    pieces = [read_rows(original, labels) for original in originals]
    values = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    released = column_map.block(values, index)
    if labels is None:
        released = rounded(released, round_digits)
    out: list[pl.Series] = []
    start = 0
    for original, before in zip(originals, pieces, strict=True):
        after = released[start : start + len(original)]
        start += len(original)
        if labels is None:
            out.append(from_numbers(original, after, whole=column_map.whole))
        else:
            out.append(from_codes(original, before, after, labels))
    return out
