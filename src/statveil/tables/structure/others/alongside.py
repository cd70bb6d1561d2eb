"""Rows of a column with the same rows of all others: neighbours stay together, and pieces come from the whole table."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.cell_search import Cells
from statveil.tables.structure.others.hidden_flags import Inside
from statveil.tables.structure.reading.distinct import Distinct, distinct, frozen
from statveil.tables.structure.reading.text_forms import as_text, other_forms
from statveil.tables.structure.rows.group_search import joined, keys_of, numbers_in, order_of, read_in_full

__all__ = [
    "EMPTY",
    "LEFT",
    "MOST_ROWS",
    "PIECE",
    "SIZES",
    "Alongside",
    "Around",
    "Gathering",
    "Made",
    "Seen",
    "TableRows",
    "opaque",
    "sizes_of",
]

_Part = tuple[NDArray[np.int64], Array, dict[str, pl.Series]]

PIECE = 256
"""Rows that stay together."""
MOST_ROWS = 2**15
"""Rows that are kept; half of them at least, if there are."""
_LABELS = 20
_MOST_GAPS = 2**17  # rows that are kept where few of them have a value
EMPTY = "(empty or not)"
"""Added to a column's name: the label that says where it has no value."""
LEFT = "(left by a link)"
"""What is called the rest that a linked column leaves beside the one that it moves with."""
SIZES = "(rows of each)"
"""What is called the number of rows that share a value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Around:
    """All rows in their order, also those in which the column has no value."""

    values: Array
    numbers: dict[str, Array]
    labels: dict[str, NDArray[np.uint64]]
    breaks: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Reading:
    """One column as numbers, labels and text: what the searches look at, whichever column they are about."""

    numbers: dict[str, Array]
    labels: dict[str, NDArray[np.uint64]]
    text: pl.Series | None
    unreadable: bool
    inside: Inside

    @classmethod
    def of(cls, name: str, column: pl.Series, *, hidden: bool, stride: int) -> _Reading:
        """``hidden`` says that a piece of it is of a type that cannot be looked at."""
        found = numbers_in(column)
        numbers = {name if not i else f"{name} (number {i + 1})": one for i, one in enumerate(found)}
        labels = {name: frozen(keys_of(column))}
        different = len(distinct(labels[name]).places)
        if (text := as_text(column)) is not None:
            # of few texts each is a label by itself, and its length or code tells no more
            forms = {} if different <= _LABELS or read_in_full(text) else other_forms(text)
            numbers |= {f"{name} ({how})": one for how, one in forms.items()}
            labels |= {f"{name} ({how})": keys_of(pl.Series(one)) for how, one in forms.items() if how == "length"}
        if stride == 1:  # of a part of the rows it would be wrong
            numbers |= sizes_of(name, labels[name])
        gap = column.is_null().to_numpy() | (column.dtype.is_float() & np.isnan(found[0]))
        labels[f"{name} {EMPTY}"] = gap.astype(np.uint64)
        for one in (*numbers.values(), *labels.values()):
            frozen(one)
        inside = Inside(None if hidden or opaque(column.dtype) else column, found, labels[name])
        return cls(numbers=numbers, labels=labels, text=text, unreadable=hidden and different > 1, inside=inside)


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
    inside : dict of str to Inside
        What stands inside the other columns: digits, words, weekdays, ways of writing.
    """

    values: Array
    numbers: dict[str, Array]
    labels: dict[str, NDArray[np.uint64]]
    breaks: NDArray[np.bool_]
    texts: dict[str, pl.Series]
    unreadable: tuple[str, ...]
    around: Around
    whole: bool
    inside: dict[str, Inside] = field(default_factory=dict)

    @classmethod
    def of(cls, kept: list[_Part], *, stride: int, whole: bool) -> Alongside:
        """From rows with their numbers, of every so many pieces; ``whole`` if none was left out."""
        number = np.concatenate([part[0] for part in kept]) if kept else np.zeros(0, np.int64)
        every = np.concatenate([part[1] for part in kept]) if kept else np.zeros(0)
        finite = np.flatnonzero(np.isfinite(every))
        complete = len(finite) == len(every)
        read: dict[str, _Reading] = {}
        around: dict[str, Array] = {}
        groups: dict[str, NDArray[np.uint64]] = {}
        for name in kept[0][2] if kept else ():
            parts = [part[2][name] for part in kept]
            together = joined(parts)
            column = together if complete else together[finite]
            read[name] = _Reading.of(name, column, hidden=any(opaque(one.dtype) for one in parts), stride=stride)
            if not complete:
                groups[name] = frozen(keys_of(together))
                around[name] = frozen(order_of(together))
        sample = cls._made(every if complete else every[finite], number[finite], read, whole=whole)
        if complete:
            return sample
        return replace(sample, around=Around(values=every, numbers=around, labels=groups, breaks=_breaks(number, 1)))

    @classmethod
    def _made(cls, values: Array, number: NDArray[np.int64], read: dict[str, _Reading], *, whole: bool) -> Alongside:
        """From columns that were read, where all rows have a value."""
        values = frozen(values)
        numbers = {key: column for one in read.values() for key, column in one.numbers.items()}
        labels = {key: column for one in read.values() for key, column in one.labels.items()}
        return cls(
            values=values,
            numbers=numbers,
            labels=labels,
            breaks=_breaks(number, PIECE),
            texts={name: one.text for name, one in read.items() if one.text is not None},
            unreadable=tuple(name for name, one in read.items() if one.unreadable),
            around=Around(values=values, numbers=numbers, labels=labels, breaks=_breaks(number, 1)),
            whole=whole,
            inside={name: one.inside for name, one in read.items()},
        )


class Gathering:
    """A pass over the table, of which all rows are kept, or every second, fourth, ... piece of neighbours."""

    def __init__(self) -> None:
        self._stride, self._start, self._gaps = 1, 0, True
        self._kept: list[_Part] = []
        self._rows = self._finite = 0  # of what is kept
        self._seen: Seen | None = None
        """The last rows, while what is kept is the same as for all other columns."""

    def add(self, block: Array, others: Mapping[str, pl.Series]) -> None:
        """Take in the next rows of the column and of all others."""
        if isinstance(others, Seen) and (self._seen is not None or not self._start) and np.isfinite(block).all():
            self._seen = others
            others.kept()
            return
        if self._seen is not None:  # from here on this column has rows without a value, and other rows are kept
            self._take_over(self._seen)
            self._seen = None
        start, self._start = self._start, self._start + len(block)
        inside = self.inside(block, start)
        if not len(inside) and self._kept:
            return
        whole = len(inside) == len(block)
        at = _places(inside)
        self._kept.append((start + inside, block[inside], {n: one if whole else one[at] for n, one in others.items()}))
        self._count(self._kept[-1])
        if self._gaps and self._rows > _MOST_GAPS:  # hardly any row has a value
            self._gaps = False
            self._keep(lambda part: np.isfinite(part[1]))
        while self._finite > MOST_ROWS:
            self._stride *= 2
            self._keep(lambda part: part[0] // PIECE % self._stride == 0)

    def done(self) -> Alongside:
        """What was kept, read as columns."""
        if self._seen is not None:
            return self._seen.kept().alongside(self._seen)
        return Alongside.of(self._kept, stride=self._stride, whole=self._stride == 1 and self._gaps)

    @classmethod
    def of(
        cls, number: NDArray[np.int64], values: Array, others: Mapping[str, pl.Series], like: Gathering
    ) -> Gathering:
        """With these rows kept, which another one has chosen."""
        made = cls()
        made._stride, made._gaps, made._kept = like._stride, like._gaps, [(number, values, dict(others))]
        return made

    def without_rows(self) -> Gathering:
        """The same choice of rows, and how many they are, without those that are kept: for :meth:`inside`."""
        made = type(self)()
        made._stride, made._gaps, made._rows = self._stride, self._gaps, self._rows
        return made

    @property
    def stride(self) -> int:
        """Of so many pieces of ``PIECE`` rows one is kept."""
        return self._stride

    @property
    def gaps(self) -> bool:
        """Whether rows are kept in which the column has no value."""
        return self._gaps

    @property
    def rows(self) -> int:
        """Rows that are kept."""
        return self._rows

    def state(self) -> _Kept:
        """What is kept at the moment."""
        return _Kept(parts=tuple(self._kept), stride=self._stride, start=self._start, gaps=self._gaps, rows=self._rows)

    def _take_over(self, seen: Seen) -> None:
        kept = seen.kept()
        self._stride, self._start, self._gaps = kept.stride, kept.start, kept.gaps
        self._rows = self._finite = kept.rows
        self._kept = [
            (number, _numbers(columns[seen.own]), {name: columns[name] for name in seen})
            for number, _, columns in kept.parts
        ]

    def inside(self, block: Array, start: int) -> NDArray[np.int64]:
        """Which rows are kept: only these are looked at, as most pieces of a long table hold none."""
        stop, first = start + len(block), start // PIECE
        pieces = np.arange(first + -first % self._stride, -(-stop // PIECE), self._stride)
        rows = (pieces[:, None] * PIECE + np.arange(PIECE)).ravel()
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kept:
    """What a gathering keeps of all columns of a table after some rows."""

    parts: tuple[_Part, ...]
    stride: int
    start: int
    gaps: bool
    rows: int
    read: dict[str, _Reading] = field(default_factory=dict)
    owns: dict[str, Array] = field(default_factory=dict)
    """Columns that were looked at themselves: the same arrays stand for them beside others."""
    turn: Any = field(default_factory=threading.Lock)

    def alongside(self, seen: Seen) -> Alongside:
        """The sample of one column; what the others say is read once for all columns."""
        number = np.concatenate([part[0] for part in self.parts])
        values = np.concatenate([_numbers(part[2][seen.own]) for part in self.parts])
        with self.turn:
            for name in seen:
                if name not in self.read:
                    parts = [part[2][name] for part in self.parts]
                    hidden = any(opaque(one.dtype) for one in parts)
                    self.read[name] = _Reading.of(name, joined(parts), hidden=hidden, stride=self.stride)
                    _as_one(self.read[name].numbers, name, self.owns.get(name))
            if seen.own in self.read:
                values = _as_one({seen.own: values}, seen.own, self.read[seen.own].numbers.get(seen.own))
            self.owns[seen.own] = frozen(values)
        read = {name: self.read[name] for name in seen}
        return Alongside._made(values, number, read, whole=self.stride == 1 and self.gaps)


class TableRows:
    """A pass over a table of which several columns are each looked at beside the others.

    All that have a value in every row keep the same rows, so these are kept once.
    """

    def __init__(self) -> None:
        self._gathering, self._cells, self._turn = Gathering(), Cells(), threading.Lock()

    def seen(self, columns: Mapping[str, pl.Series], rows: int | None = None) -> Callable[[str, Collection[str]], Seen]:
        """The next rows: a function of a column and of those beside it, by their names."""
        size = len(next(iter(columns.values()))) if rows is None else rows
        codes: dict[str, Distinct] = {}
        kept: list[_Kept] = []
        fed: list[Cells] = []

        def keep() -> _Kept:
            with self._turn:
                if not kept:
                    self._gathering.add(np.zeros(size), columns)
                    kept.append(self._gathering.state())
                return kept[0]

        def feed() -> Cells:
            with self._turn:
                if not fed:
                    self._cells.add(columns)
                    fed.append(self._cells)
                return self._cells

        return lambda own, beside: Seen(columns, beside, own, keep, feed, codes)


class Made(Mapping[str, pl.Series]):
    """Columns of some rows, each made when it is asked for first: of most rows of a long table nobody asks."""

    def __init__(self, makers: Mapping[str, Callable[[], pl.Series]]) -> None:
        self._makers, self._made = makers, dict[str, pl.Series]()

    def __getitem__(self, name: str) -> pl.Series:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class Seen(Mapping[str, pl.Series]):
    """The columns beside one, in rows that several columns look at."""

    def __init__(
        self,
        columns: Mapping[str, pl.Series],
        beside: Collection[str],
        own: str,
        kept: Callable[[], _Kept],
        cells: Callable[[], Cells],
        codes: dict[str, Distinct],
    ) -> None:
        """``kept`` and ``cells`` are of all columns up to these rows; only whoever asks for them has them made.

        ``codes`` is where what was found in the first of these rows is kept for the next column that looks at them.
        """
        self._columns, self._beside = columns, dict.fromkeys(beside)
        self.own, self.kept, self.cells, self.codes = own, kept, cells, codes

    def __getitem__(self, name: str) -> pl.Series:
        if name not in self._beside:
            raise KeyError(name)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._beside)

    def __len__(self) -> int:
        return len(self._beside)


def _as_one(numbers: dict[str, Array], name: str, other: Array | None) -> Array:
    """The column, as the other array where that is the same: what is known of the one is known of both."""
    if other is not None and np.array_equal(numbers[name], other):
        numbers[name] = other
    return numbers[name]


def _numbers(column: pl.Series) -> Array:
    return np.asarray(column.to_numpy(), dtype=np.float64)


def opaque(dtype: pl.DataType) -> bool:
    """Whether a column holds what cannot be looked at: lists, records, bytes, objects."""
    return dtype.is_nested() or dtype in (pl.Binary, pl.Object)


def _breaks(number: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    return np.concatenate(([True], np.diff(number) > most)) if len(number) else np.zeros(0, np.bool_)


def sizes_of(name: str, keys: NDArray[np.generic]) -> dict[str, Array]:
    """How many rows have the same value, by a name of its own: a class's size is the number of its rows."""
    _, code, counts = distinct(keys)
    return {f"{name} {SIZES}": counts[code].astype(np.float64)} if len(np.unique(counts)) >= 3 else {}


def _taken(part: _Part, chosen: NDArray[np.bool_]) -> _Part:
    inside = np.flatnonzero(chosen)
    at = _places(inside)
    return part[0][inside], part[1][inside], {name: column[at] for name, column in part[2].items()}


def _places(rows: NDArray[np.int64]) -> pl.Series:
    """Numbers of rows as the engine has them: what it makes of an array for each column anew takes most of the time."""
    return pl.Series(rows, dtype=pl.get_index_type())
