"""How one block of a typed column is read and released."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from statveil.tables.blocks import Array
from statveil.tables.changes import Changes, Labels, Replacement
from statveil.tables.released_type import released_dtype
from statveil.tables.rounding_digits import rounded
from statveil.tables.series import codes_of, from_codes, from_numbers, numbers_of

__all__ = ["changed_frame", "fresh_columns", "read_rows", "released_rows", "released_schema"]


def read_rows(column: pl.Series, labels: Labels) -> Array:
    """The rows as a map sees them: numbers, or numbers of categories."""
    return numbers_of(column) if labels is None else codes_of(column, labels)


def released_rows(originals: Sequence[pl.Series], change: Replacement, index: int) -> list[pl.Series]:
    """One block of the column, which may come in several pieces, each released as its own type says."""
    labels = change.labels
    pieces = [read_rows(original, labels) for original in originals]
    values = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    released = change.column_map.block(values, index)
    if labels is None:
        released = rounded(released, change.round_digits)
    out: list[pl.Series] = []
    start = 0
    for original, before in zip(originals, pieces, strict=True):
        after = released[start : start + len(original)]
        start += len(original)
        if labels is None:
            out.append(from_numbers(original, after, whole=change.column_map.whole))
        else:
            out.append(from_codes(original, before, after, labels))
    return out


def fresh_columns(
    pieces: Sequence[Mapping[Any, pl.Series]], changes: Changes, index: int
) -> list[dict[Any, pl.Series]]:
    """All columns of one block that are not as they were: those that a map releases, then those worked out of them."""
    fresh: list[dict[Any, pl.Series]] = [{} for _ in pieces]
    for name, change in changes.replaced.items():
        for held, series in zip(fresh, released_rows([one[name] for one in pieces], change, index), strict=True):
            held[name] = series
    for held, piece in zip(fresh, pieces, strict=True):
        held |= changes.worked_out({name: held[name] if name in held else piece[name] for name in changes.read})
    return fresh


def changed_frame(frame: pl.DataFrame, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> pl.DataFrame:
    """The frame without some columns, with others in the places of those of their names, and new ones at the end."""
    table = frame.clone()
    for name, series in fresh.items():
        if name in frame.columns:
            table.replace_column(frame.get_column_index(name), series.alias(name))
        else:
            table.insert_column(table.width, series.alias(str(name)))
    # by number: a name such as "*" or "^a.*$" would be taken for a pattern
    return table[:, [place for place, name in enumerate(table.columns) if name not in dropped]] if dropped else table


def released_schema(schema: Mapping[str, pl.DataType], changes: Changes) -> dict[str, pl.DataType]:
    """Names and types of the released table, in order."""
    fresh = {name: dtype for name, dtype in schema.items() if name not in changes.dropped}
    for name, change in changes.replaced.items():
        fresh[name] = released_dtype(schema[name], whole=change.column_map.whole, labels=change.labels)
    return fresh | {name: one.dtype for name, one in changes.derived.items()}
