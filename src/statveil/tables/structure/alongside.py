"""Rows of a column with the same rows of all others: neighbours stay together, and pieces come from the whole table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PolarsError

from statveil.tables.blocks import Array
from statveil.tables.structure.group_search import Beside, keys_of, numbers_in

__all__ = ["EMPTY", "Alongside", "sizes_of"]

_PIECE, _MOST = 256, 2**15  # rows that stay together, and rows that are kept: half of them at least, if there are
EMPTY = "(empty or not)"
"""Added to a column's name: the label that says where it has no value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alongside:
    """The finite rows of a column, with what the others say there.

    Parameters
    ----------
    values : array
        Rows of the column.
    numbers : dict of str to array
        Numbers in the other columns: one array per number that a text holds.
    labels : dict of str to array
        The other columns as keys of their values, and whether they have one.
    breaks : array of bool
        Rows that did not follow the one before.
    """

    values: Array
    numbers: dict[str, Array]
    labels: dict[str, NDArray[np.uint64]]
    breaks: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Beside) -> Alongside:
        """From a pass over the table: all of it, or every second, fourth, ... piece of neighbours."""
        stride, start, held = 1, 0, 0
        kept: list[tuple[NDArray[np.int64], Array, dict[str, pl.Series]]] = []
        for block, others in rows:
            number = np.arange(start, start + len(block))
            start += len(block)
            inside = np.flatnonzero(np.isfinite(block) & (number // _PIECE % stride == 0))
            kept.append((number[inside], block[inside], {name: part.gather(inside) for name, part in others.items()}))
            held += len(inside)
            while held > _MOST:
                stride *= 2
                kept = [_thinned(*part, stride) for part in kept]
                held = sum(len(part[0]) for part in kept)
        number = np.concatenate([part[0] for part in kept]) if kept else np.zeros(0, np.int64)
        numbers: dict[str, Array] = {}
        labels: dict[str, NDArray[np.uint64]] = {}
        for name in kept[0][2] if kept else ():
            column = _joined([part[2][name] for part in kept])
            found = numbers_in(column)
            numbers |= {name if not i else f"{name} (number {i + 1})": one for i, one in enumerate(found)}
            labels[name] = keys_of(column)
            if stride == 1:  # of a part of the rows it would be wrong
                numbers |= sizes_of(name, labels[name])
            gap = column.is_null().to_numpy() | (column.dtype.is_float() & np.isnan(found[0]))
            labels[f"{name} {EMPTY}"] = gap.astype(np.uint64)
        return cls(
            values=np.concatenate([part[1] for part in kept]) if kept else np.zeros(0),
            numbers=numbers,
            labels=labels,
            breaks=np.concatenate(([True], np.diff(number) > _PIECE)) if len(number) else np.zeros(0, np.bool_),
        )


def sizes_of(name: str, keys: NDArray[np.generic]) -> dict[str, Array]:
    """How many rows have the same value, by a name of its own: a class's size is the number of its rows."""
    _, code, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return {f"{name} (rows of each)": counts[code].astype(np.float64)} if len(np.unique(counts)) >= 3 else {}


def _thinned(
    number: NDArray[np.int64], values: Array, others: dict[str, pl.Series], stride: int
) -> tuple[NDArray[np.int64], Array, dict[str, pl.Series]]:
    inside = np.flatnonzero(number // _PIECE % stride == 0)
    return number[inside], values[inside], {name: part.gather(inside) for name, part in others.items()}


def _joined(parts: list[pl.Series]) -> pl.Series:
    """One column: a text is read as a whole, since a few rows do not show which kind of date it is."""
    try:
        return pl.concat(parts) if len(parts) > 1 else parts[0]
    except (PolarsError, TypeError):
        return pl.Series([repr(value) for part in parts for value in part.to_list()])
