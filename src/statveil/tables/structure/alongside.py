"""Rows of a column with the same rows of all others: neighbours stay together, and pieces come from the whole table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.group_search import joined, keys_of, numbers_in, order_of, read_in_full
from statveil.tables.structure.text_forms import as_text, other_forms

__all__ = ["EMPTY", "SIZES", "Alongside", "Around", "Gathering", "opaque", "sizes_of"]

_Part = tuple[NDArray[np.int64], Array, dict[str, pl.Series]]

_PIECE, _MOST = 256, 2**15  # rows that stay together, and rows that are kept: half of them at least, if there are
_LABELS = 20
_MOST_GAPS = 2**17  # rows that are kept where few of them have a value
EMPTY = "(empty or not)"
SIZES = "(rows of each)"
"""What is called the number of rows that share a value."""
"""Added to a column's name: the label that says where it has no value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Around:
    """All rows in their order, also those in which the column has no value."""

    values: Array
    numbers: dict[str, Array]
    labels: dict[str, NDArray[np.uint64]]
    breaks: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alongside:
    """The finite rows of a column, with what the others say there.

    Parameters
    ----------
    values : array
        Rows of the column.
    numbers : dict of str to array
        Numbers in the other columns: one array per number that a text holds, and per other way to read it as one.
    labels : dict of str to array
        The other columns as keys of their values, and whether they have one.
    breaks : array of bool
        Rows that did not follow the one before.
    texts : dict of str to Series
        The other columns of text.
    unreadable : tuple of str
        Columns of lists, records, bytes or other objects, with more than one value: nobody can say what they tell.
    around : Around
        The rows with their neighbours.
    whole : bool
        Whether no rows were left out.
    """

    values: Array
    numbers: dict[str, Array]
    labels: dict[str, NDArray[np.uint64]]
    breaks: NDArray[np.bool_]
    texts: dict[str, pl.Series]
    unreadable: tuple[str, ...]
    around: Around
    whole: bool

    @classmethod
    def of(cls, kept: list[_Part], *, stride: int, whole: bool) -> Alongside:
        """From rows with their numbers, of every so many pieces; ``whole`` if none was left out."""
        number = np.concatenate([part[0] for part in kept]) if kept else np.zeros(0, np.int64)
        every = np.concatenate([part[1] for part in kept]) if kept else np.zeros(0)
        finite = np.flatnonzero(np.isfinite(every))
        complete = len(finite) == len(every)
        numbers: dict[str, Array] = {}
        labels: dict[str, NDArray[np.uint64]] = {}
        texts: dict[str, pl.Series] = {}
        unreadable = []
        around: dict[str, Array] = {}
        groups: dict[str, NDArray[np.uint64]] = {}
        for name in kept[0][2] if kept else ():
            parts = [part[2][name] for part in kept]
            together = joined(parts)
            column = together if complete else together[finite]
            found = numbers_in(column)
            numbers |= {name if not i else f"{name} (number {i + 1})": one for i, one in enumerate(found)}
            labels[name] = keys_of(column)
            if any(opaque(part.dtype) for part in parts) and len(np.unique(labels[name])) > 1:
                unreadable.append(name)
            if (text := as_text(column)) is not None:
                texts[name] = text
                # of few texts each is a label by itself, and its length or code tells no more
                few = len(np.unique(labels[name])) <= _LABELS
                forms = {} if few or read_in_full(text) else other_forms(text)
                numbers |= {f"{name} ({how})": one for how, one in forms.items()}
                labels |= {f"{name} ({how})": keys_of(pl.Series(one)) for how, one in forms.items() if how == "length"}
            if stride == 1:  # of a part of the rows it would be wrong
                numbers |= sizes_of(name, labels[name])
            gap = column.is_null().to_numpy() | (column.dtype.is_float() & np.isnan(found[0]))
            labels[f"{name} {EMPTY}"] = gap.astype(np.uint64)
            if not complete:
                groups[name] = keys_of(together)
                around[name] = order_of(together)
        return cls(
            values=every[finite],
            numbers=numbers,
            labels=labels,
            breaks=_breaks(number[finite], _PIECE),
            texts=texts,
            unreadable=tuple(unreadable),
            around=Around(
                values=every,
                numbers=numbers if complete else around,
                labels=labels if complete else groups,
                breaks=_breaks(number, 1),
            ),
            whole=whole,
        )


class Gathering:
    """A pass over the table, of which all rows are kept, or every second, fourth, ... piece of neighbours."""

    def __init__(self) -> None:
        self._stride, self._start, self._gaps = 1, 0, True
        self._kept: list[_Part] = []
        self._rows = self._finite = 0  # of what is kept

    def add(self, block: Array, others: Mapping[str, pl.Series]) -> None:
        """Take in the next rows of the column and of all others."""
        start, self._start = self._start, self._start + len(block)
        inside = self._inside(block, start)
        if not len(inside) and self._kept:
            return
        whole = len(inside) == len(block)
        self._kept.append(
            (start + inside, block[inside], {n: one if whole else one[inside] for n, one in others.items()})
        )
        self._count(self._kept[-1])
        if self._gaps and self._rows > _MOST_GAPS:  # hardly any row has a value
            self._gaps = False
            self._keep(lambda part: np.isfinite(part[1]))
        while self._finite > _MOST:
            self._stride *= 2
            self._keep(lambda part: part[0] // _PIECE % self._stride == 0)

    def done(self) -> Alongside:
        """What was kept, read as columns."""
        return Alongside.of(self._kept, stride=self._stride, whole=self._stride == 1 and self._gaps)

    def _inside(self, block: Array, start: int) -> NDArray[np.int64]:
        """Which rows are kept: only these are looked at, as most pieces of a long table hold none."""
        stop, first = start + len(block), start // _PIECE
        pieces = np.arange(first + -first % self._stride, -(-stop // _PIECE), self._stride)
        rows = (pieces[:, None] * _PIECE + np.arange(_PIECE)).ravel()
        inside = rows[(rows >= start) & (rows < stop)] - start
        return inside if self._gaps else inside[np.isfinite(block[inside])]

    def _keep(self, chosen: Callable[[_Part], NDArray[np.bool_]]) -> None:
        parts, self._rows, self._finite = [_taken(part, chosen(part)) for part in self._kept], 0, 0
        self._kept = [part for number, part in enumerate(parts) if not number or len(part[0])]
        for part in self._kept:
            self._count(part)

    def _count(self, part: _Part) -> None:
        self._rows += len(part[0])
        self._finite += int(np.count_nonzero(np.isfinite(part[1])))


def opaque(dtype: pl.DataType) -> bool:
    """Whether a column holds what cannot be looked at: lists, records, bytes, objects."""
    return dtype.is_nested() or dtype in (pl.Binary, pl.Object)


def _breaks(number: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    return np.concatenate(([True], np.diff(number) > most)) if len(number) else np.zeros(0, np.bool_)


def sizes_of(name: str, keys: NDArray[np.generic]) -> dict[str, Array]:
    """How many rows have the same value, by a name of its own: a class's size is the number of its rows."""
    _, code, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return {f"{name} {SIZES}": counts[code].astype(np.float64)} if len(np.unique(counts)) >= 3 else {}


def _taken(part: _Part, chosen: NDArray[np.bool_]) -> _Part:
    inside = np.flatnonzero(chosen)
    return part[0][inside], part[1][inside], {name: column[inside] for name, column in part[2].items()}
