"""Whether another column tells the rows' values: an id with one value, a group of like rows, a time that sorts them.

Columns are looked at one at a time. What parts of them, other rows and two columns together tell is looked for in
:mod:`.together_search`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PanicException, PolarsError

from statveil.tables.blocks import Array
from statveil.tables.structure.reading.text_forms import as_text, leading_bytes
from statveil.tables.structure.reading.written_digits import plain_digits, roman
from statveil.tables.structure.reading.written_times import compact_times, written_times
from statveil.tables.structure.rows.relation import Keys, alike_in_groups, equal_in_groups, scores_of, told_by_order

__all__ = [
    "ALL_COLUMNS",
    "Beside",
    "Others",
    "Told",
    "joined",
    "keys_of",
    "mixed",
    "numbers_in",
    "order_of",
    "read_in_full",
    "rises",
    "told_by_groups",
]

Beside = Iterator[tuple[Array, Mapping[str, pl.Series]]]
"""A pass over the column together with the same rows of all others, in pieces of any length."""

ALL_COLUMNS = "all columns together"
"""The name of the finest grouping, among those that tell."""
_KEPT, _LEAST_KEPT, _ALL_COLUMNS = 2**16, 2**12, 2**22
_LEVEL = 1e-3  # for all columns of a table together
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# 1.234,50 and 1,234.50, then decimals with a comma or a point
_NUMBER = r"([-+(]?(?:\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+,\d+|\d+(?:\.\d+)?))"
_SPACED = r"(\d)[ '\x{a0}\x{202f}](\d{3})\b"  # 1 234: marks between thousands that are no commas
_WORDS = {
    "first": r"^[^\p{L}\p{N}]*([\p{L}\p{N}]+)[^\p{L}\p{N}]+[\p{L}\p{N}]",
    "last": r"[\p{L}\p{N}][^\p{L}\p{N}]+([\p{L}\p{N}]+)[^\p{L}\p{N}]*$",
}
_RISES = 0.98  # share of the steps from row to row that go one way
_FEW = 256  # different texts
_LEAST_SIZE, _MOST_SIZE = 1e-100, 1e100  # of the largest number of a column that is looked at as it is
_IN_TEXT = 4  # numbers of a longer text that are read
_TIMES = (
    "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S%.fZ", "%Y-%m-%d",
)  # what programs write, which is read quickly; what people write is read in every order  # fmt: skip
_YEAR_FIRST = r"^\d{4}-"  # of two digits, it may be a day
_DATE_ALONE = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d{1,2}:\d{2}(?::\d{2})?)?$"  # there is no other number in it
_TIMED = r"\d\s*[-/.:]\s*[-+]?\d"  # in each of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one other column tells."""

    name: str
    share: float
    """Of the variation of the column."""
    equal: float = 0.0
    """Rows in groups of one value, beyond chance."""


_FEWEST_GROUPS, _NEARLY_ALL = 12, 0.95
_DIGITS_OF = 2**16  # rows of which each digit is looked at
_FEWEST_DIGITS, _MOST_DIGITS = 3, 16
_DIGITS_ALONE = r"^\d[\d .\-/]*$"
_DIVISORS = (2, 3, 7, 9, 11, 13)
_PARTS = (" word)", " from the end)", *(f" (rest by {divisor})" for divisor in _DIVISORS))
"""How the names of parts of a column end, which are not named beside the column itself."""


def cells_of(others: Mapping[str, pl.Series], rows: int) -> Keys:
    """A number for each row, which two rows share where they have the same in all columns."""
    cells = np.zeros(rows, dtype=np.uint64)
    for column in others.values():
        cells = mixed(cells * _GOLDEN + keys_of(column))
    return cells


class Others:
    """Keeps a bounded part of every other column beside the one that is released.

    Of each column two samples are kept: whole groups (rows whose value has a small hash), which show ids of few rows,
    and single rows, which show large groups and orders. Up to 65,536 rows (fewer if there are many columns) both are
    the table itself.
    """

    def __init__(self, *, categories: bool, shuffled: bool = False) -> None:
        self._categories, self.shuffled = categories, shuffled
        self._columns: dict[str, tuple[_Kept, _Kept]] = {}
        self._rows = 0

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> None:
        """Take in the next rows of the column and of all others."""
        if self._categories and self._rows < _DIGITS_OF < self._rows + len(values):
            cut = _DIGITS_OF - self._rows  # so that it does not depend on the pieces in which the rows come
            self.add(values[:cut], {name: one[:cut] for name, one in others.items()})
            values, others = values[cut:], {name: one[cut:] for name, one in others.items()}
        finite = np.flatnonzero(np.isfinite(values))
        most = max(_LEAST_KEPT, min(_KEPT, _ALL_COLUMNS // max(len(others), 1)))
        numbers = np.arange(self._rows, self._rows + len(values), dtype=np.uint64) * _GOLDEN
        rows, known = mixed(numbers[finite]), values[finite]
        whole = self._rows < _DIGITS_OF
        columns = _with_forms(others, categories=self._categories, digits=self._categories and whole)
        # the finest grouping that all columns make together: whatever they say of the rows is said by it
        together = ((ALL_COLUMNS, pl.Series(cells_of(others, len(values)))) for _ in range(len(others) > 1))
        for name, column in chain(columns, together):
            keys = keys_of(column)[finite]
            groups, single = self._columns.setdefault(name, (_Kept(most), _Kept(most)))
            groups.add(mixed(keys), keys, known)
            single.add(rows, keys, known, column, finite)
        self._rows += len(values)

    def part(self, start: int) -> Others:
        """One for the rows from ``start`` on; it will :meth:`join` that of the rows before."""
        fresh = Others(categories=self._categories, shuffled=self.shuffled)
        fresh._rows = start
        return fresh

    def join(self, other: Others) -> None:
        """Take in what was kept of the rows that follow."""
        for name, kept in other._columns.items():
            if name not in self._columns:
                self._columns[name] = kept
                continue
            for own, one in zip(self._columns[name], kept, strict=True):
                own.join(one)
        self._rows = other._rows

    def told(self, *, least: float, equal: float | None) -> list[Told]:
        """What each column tells, where it is at least ``least`` and no accident.

        With ``equal``, also columns whose groups have one value each in so many more rows than by chance.
        """
        level = _LEVEL / max(len(self._columns), 1)
        found = [self._one(name, *kept, level, least, equal) for name, kept in self._columns.items()]
        told = {one.name: one for one in found if one.share or one.equal}
        return [one for name, one in told.items() if not (name.endswith(_PARTS) and name.rpartition(" (")[0] in told)]

    def _one(self, name: str, groups: _Kept, single: _Kept, level: float, least: float, equal: float | None) -> Told:
        samples = [groups.rows()] if groups.whole and single.whole else [groups.rows(), single.rows()]
        share = same = 0.0
        for keys, values in samples:
            number, counts = np.unique(keys, return_inverse=True, return_counts=True)[1:]
            shared = counts[number] > 1
            _, group = np.unique(number[shared], return_inverse=True)
            alike, one_value = told_by_groups(
                values[shared], group, categories=self._categories, level=level / 2, least=least, equal=equal
            )
            share, same = max(share, alike), max(same, one_value)
        orders = self._orders(single)
        if self._categories and equal is not None:
            runs = max(_run(*one, level / 4) for one in orders)
            same = max(same, runs if runs >= equal else 0.0)
        in_order = max(self._in_order(*one, level / 4) for one in orders)
        share = max(share, in_order if in_order >= least else 0.0)
        return Told(name=name, share=share, equal=same)

    def _in_order(self, order: Array, values: Array, level: float) -> float:
        """How much is told by the rows in the order of another column."""
        known = np.isfinite(order)
        if len(np.unique(order[known])) <= 2:
            return 0.0
        # rows that will be shuffled stand in no order where the other column has one value
        ties = np.random.default_rng(0).permutation(int(known.sum())) if self.shuffled else None
        at = np.argsort(order[known], kind="stable") if ties is None else np.lexsort((ties, order[known]))
        return told_by_order(scores_of(values[known][at], categories=self._categories), level=level)

    def _orders(self, single: _Kept) -> list[tuple[Array, Array]]:
        """The orders that a column puts the rows in, by its numbers and by its text, each with the rows' values."""
        _, values = single.rows()
        column = single.column()
        order, text = order_of(column), as_text(column)
        if text is None:
            return [(order, values)]
        by_text = np.unique(leading_bytes(text), return_inverse=True)[1].astype(np.float64)
        return [(order, values), (by_text, values)]

    def restoring(self) -> list[str]:
        """Columns that sort the rows as they stood: numbers, times, or texts that rise or fall from row to row."""
        return [
            name
            for name, (_, single) in self._columns.items()
            if any(rises(order) for order, _ in self._orders(single))
        ]


class _Kept:
    """Rows whose hash is below a limit that halves as they become too many."""

    def __init__(self, most: int) -> None:
        self._most, self._shift, self._held = most, 0, 0
        self._parts: list[tuple[Keys, Keys, Array]] = []
        self._columns: list[pl.Series] = []

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return self._shift == 0

    def add(
        self,
        hashes: Keys,
        keys: Keys,
        values: Array,
        column: pl.Series | None = None,
        at: NDArray[np.int64] | None = None,
    ) -> None:
        """Take in the next rows; of a ``column`` too, whose rows ``at`` these are."""
        inside = self._inside(hashes)
        self._parts.append((hashes[inside], keys[inside], values[inside]))
        if column is not None and at is not None:
            self._columns.append(column if len(inside) == len(column) else column[at[inside]])
        self._held += len(inside)
        self._thin()

    def join(self, other: _Kept) -> None:
        """Take in what was kept of the rows that follow."""
        self._parts += other._parts
        self._columns += other._columns
        self._shift = max(self._shift, other._shift)
        self._cut()
        self._thin()

    def _thin(self) -> None:
        while self._held > self._most:
            self._shift += 1
            self._cut()

    def _cut(self) -> None:
        """Keep rows below the limit."""
        below = [self._inside(part[0]) for part in self._parts]
        self._parts = [(p[0][i], p[1][i], p[2][i]) for p, i in zip(self._parts, below, strict=True)]
        if self._columns:
            self._columns = [one[i] for one, i in zip(self._columns, below, strict=True)]
        self._held = sum(len(part[0]) for part in self._parts)

    def rows(self) -> tuple[Keys, Array]:
        """Keys and values of the rows, in the order of the table."""
        joined = [np.concatenate(column) for column in zip(*self._parts, strict=True)]
        return (joined[1], joined[2]) if joined else (np.zeros(0, np.uint64), np.zeros(0))

    def column(self) -> pl.Series:
        """The column in these rows: as a whole, since a few texts do not show which kind of date they are."""
        return joined(self._columns) if self._columns else pl.Series([], dtype=pl.Float64)

    def _inside(self, hashes: Keys) -> NDArray[np.int64]:
        if not self._shift:
            return np.arange(len(hashes))
        return np.flatnonzero(hashes < np.uint64(2**64 - 1 >> self._shift))


def told_by_groups(
    values: Array,
    group: NDArray[np.int64],
    *,
    categories: bool,
    level: float,
    least: float,
    equal: float | None,
    strict: bool = False,
) -> tuple[float, float]:
    """The share of the variation that lies between groups, and of rows in groups of one value; 0 each if by accident.

    ``group`` numbers the group of each row, from 0 on; every group has at least two rows. With ``equal`` also groups of
    one value each are looked for, ``strict`` where that is asked of very many groupings.
    """
    share = alike_in_groups(scores_of(values, categories=categories), group, level=level, least=least)
    same = 0.0 if equal is None else equal_in_groups(values, group, least=equal, level=level if strict else None)
    return (max(share, _one_each(values, group, strict=strict)) if categories else share), same


def _run(order: Array, values: Array, level: float) -> float:
    """The share of the rows in the longest run of one category in another column's order; 0 if by accident.

    Beyond some number, or below it, there may be rows of one label alone.
    """
    known = np.isfinite(order)
    rows = int(known.sum())
    if rows < 10 or len(np.unique(order[known])) <= 2:
        return 0.0
    ties = np.random.default_rng(0).permutation(rows)
    label = np.unique(values[known][np.lexsort((ties, order[known]))], return_inverse=True)[1]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(label)) + 1, [rows]))
    share = np.bincount(label) / rows
    lengths = np.diff(starts)
    # how often rows in no order have a run of that label and length somewhere
    sure = lengths * np.log(share[label[starts[:-1]]]) + np.log(rows) < np.log(level)
    return float(lengths[sure].max(initial=0)) / len(values)


def rises(order: Array) -> bool:
    """Whether an order is that of the rows, up or down, but for few of them."""
    known = order[np.isfinite(order)]
    if len(known) < 10 or len(np.unique(known)) < 0.5 * len(known):
        return False
    steps = np.diff(known)
    return bool(max(np.mean(steps >= 0), np.mean(steps <= 0)) >= _RISES)


def _one_each(values: Array, group: NDArray[np.int64], *, strict: bool = False) -> float:
    """The share of the groups that have exactly one row of a label, as a household has one head; 0 if by accident."""
    if not len(values):
        return 0.0
    sizes = np.bincount(group)
    if len(sizes) < _FEWEST_GROUPS:
        return 0.0
    most = 0.0
    for label, rows in zip(*np.unique(values, return_counts=True), strict=True):
        share = rows / len(values)
        one = float(np.mean(np.bincount(group, weights=values == label, minlength=len(sizes)) == 1))
        chance = float(np.mean(sizes * share * (1 - share) ** (sizes - 1)))
        if one >= _NEARLY_ALL and one - chance > (8 if strict else 5) * np.sqrt(
            max(chance * (1 - chance), 0.0) / len(sizes)
        ):
            most = max(most, one)
    return most


def _with_forms(
    columns: Mapping[str, pl.Series], *, categories: bool, digits: bool = False
) -> Iterator[tuple[str, pl.Series]]:
    """The columns, and the first and last words of texts: families share a surname, and rooms a building.

    Beside categories also where a column is empty, and how long its texts are: a field that one label alone fills; and
    the ``digits`` of numbers one by one, one of which says the sex in many a personal number, and what they leave when
    divided.
    """
    for name, column in columns.items():
        yield name, column
        if categories:
            nan = column.is_nan().fill_null(True) if column.dtype.is_float() else column.is_null()
            yield f"{name} (empty or not)", column.is_null() | nan
        if digits:
            yield from _digits_of(name, column)
        if column.dtype == pl.String:
            if categories:
                yield f"{name} (length)", column.str.len_chars()
            texts, codes = _distinct(column)
            for which, pattern in _WORDS.items():
                words = texts.str.extract(pattern)
                yield f"{name} ({which} word)", words if codes is None else words[codes]


def _digits_of(name: str, column: pl.Series) -> Iterator[tuple[str, pl.Series]]:
    """The digits of whole numbers, and of texts of digits, from the last one on; their rest by small numbers."""
    if column.dtype.is_integer():
        text = column.cast(pl.String)
    elif column.dtype == pl.String and bool(column.head(_FEW).str.contains(_DIGITS_ALONE).fill_null(True).all()):
        text = column.str.replace_all(r"\D", "")
    else:
        return
    longest = text.str.len_chars().max()
    if not isinstance(longest, int) or longest < _FEWEST_DIGITS:
        return
    for place in range(2, min(longest, _MOST_DIGITS) + 1):
        yield f"{name} (digit {place} from the end)", text.str.slice(-place, 1)
    number = text.str.slice(-_MOST_DIGITS).cast(pl.Int64, strict=False)
    for divisor in _DIVISORS:
        yield f"{name} (rest by {divisor})", number % divisor


def _distinct(column: pl.Series) -> tuple[pl.Series, NDArray[np.int64] | None]:
    """The texts of a column that has few of them, and which one each row has: looking at each row takes longer."""
    if column.head(4 * _FEW).n_unique() > _FEW or (texts := column.unique()).len() > _FEW:
        return column, None
    known = texts.drop_nulls()
    codes = column.cast(pl.Enum(known)).to_physical().cast(pl.Int64).fill_null(len(known))
    return known.extend(pl.Series([None], dtype=pl.String)), codes.to_numpy()


def joined(parts: list[pl.Series]) -> pl.Series:
    """One column of several pieces, which need not have one type."""
    try:
        return pl.concat(parts) if len(parts) > 1 else parts[0]
    except (PolarsError, TypeError):
        return pl.Series([repr(value) for part in parts for value in part.to_list()])


def mixed(keys: Keys) -> Keys:
    """Numbers spread over all 64 bits, whatever pattern they have (the finaliser of splitmix64)."""
    mixed = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def keys_of(column: pl.Series) -> Keys:
    """One number per value, of any type; equal values have equal ones."""
    try:
        if column.dtype == pl.Object:  # the engine panics
            raise TypeError
        return np.asarray(column.hash(seed=1).to_numpy(), dtype=np.uint64)
    except (PolarsError, PanicException, TypeError):
        return np.asarray(pl.Series([repr(value) for value in column.to_list()]).hash(seed=1).to_numpy(), np.uint64)


def _read(column: pl.Series, most: int = 1) -> list[pl.Series]:
    """A text as the number, the point in time, the time of day, or the first few numbers in it."""
    empty = column.null_count()
    text = plain_digits(column).str.strip_chars()
    plain = text.cast(pl.Float64, strict=False)
    if plain.null_count() == empty:
        return [plain]
    if (numerals := roman(text)) is not None:
        return [numerals]
    if bool(text.str.contains(_TIMED).all()):  # else none of the many forms can be all of it
        for form in _TIMES if bool(text.str.contains(_YEAR_FIRST).all()) else ():
            days = "%H" not in form
            read = text.str.to_date(form, strict=False) if days else text.str.to_datetime(form, strict=False)
            if read.null_count() == empty:
                return [read.to_physical().cast(pl.Float64)]
        clock = text.str.to_time("%H:%M:%S%.f", strict=False)
        if clock.null_count() > empty:
            clock = text.str.to_time("%H:%M", strict=False)
        if clock.null_count() == empty:
            return [clock.to_physical().cast(pl.Float64)]
    times = [pl.Series(one, nan_to_null=True) for one in written_times(text)]
    if times and (most == 1 or bool(text.str.contains(_DATE_ALONE).all())):
        return times[:most]
    if most == 1:
        return [_number(text.str.extract(_NUMBER))]
    every = text.str.extract_all(_NUMBER)
    inside = [_number(every.list.get(i, null_on_oob=True)) for i in range(most)]
    spaced = text.str.replace_all(_SPACED, "$1$2")
    if bool((spaced != text).any()):  # a mark between thousands, or two numbers: both are read
        inside.append(_number(spaced.str.extract(_NUMBER)))
    found = times + inside
    return found[:1] + [one for one in found[1:] if one.null_count() < len(one)]


def _number(text: pl.Series) -> pl.Series:
    """The number that a piece of text means; in brackets, as bookkeepers write it, it is negative."""
    plain = pl.col("text").str.replace("(", "-", literal=True)
    comma = plain.str.contains(r"\.\d{3},|^[-+]?\d+,(\d{1,2}|\d{4,})$").fill_null(False)  # a decimal comma
    european = plain.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    english = plain.str.replace_all(",", "", literal=True)
    number = pl.when(comma).then(european).otherwise(english).cast(pl.Float64, strict=False)
    return text.alias("text").to_frame().select(number).to_series()  # in one go: the engine starts once


def read_in_full(text: pl.Series) -> bool:
    """Whether every text is a plain number, a date or a time, so that there is nothing else to read in it."""
    known = text.drop_nulls()
    if not len(known):
        return True
    some = _read(known.head(256))[0]
    return some.null_count() == 0 and not bool(known.head(256).str.contains(r"\p{L}").any())


def numbers_in(column: pl.Series) -> list[NDArray[np.float64]]:
    """Where values stand in the column's own order, as :func:`order_of`, then further numbers that a text holds.

    Of whole numbers of six or eight digits also the days that they are, if they are.
    """
    try:
        text = as_text(column)
        if text is not None:
            found = [_in_reach(np.asarray(one.to_numpy(), dtype=np.float64)) for one in _read(text, _IN_TEXT)]
            return found if len(found) > 1 else found + compact_times(found[0])
    except (PolarsError, PanicException):
        pass
    order = order_of(column)
    return [order, *(compact_times(order) if column.dtype.is_numeric() else ())]


def order_of(column: pl.Series) -> NDArray[np.float64]:
    """Where a value stands in the column's own order: numbers, times, and what a text says of them."""
    dtype = column.dtype
    try:
        if (text := as_text(column)) is not None:
            column = _read(text)[0]
        elif dtype == pl.Boolean or not (dtype.is_numeric() or dtype.is_temporal()):
            return np.full(len(column), np.nan)
        elif dtype.is_temporal():
            column = column.to_physical()
        return _in_reach(np.asarray(column.cast(pl.Float64, strict=False).to_numpy(), dtype=np.float64))
    except (PolarsError, PanicException):
        return np.full(len(column), np.nan)


def _in_reach(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The numbers in a unit in which no search overflows: a power of two, which leaves every relation as it is.

    A few that are larger beyond measure, as a mark for a missing value may be, end at a limit, and a few that are as
    small are 0.
    """
    size = np.abs(values)
    known = size[np.isfinite(size) & (size > 0)]
    if not len(known) or (_LEAST_SIZE <= known.max() <= _MOST_SIZE and known.min() >= _LEAST_SIZE**2):
        return values
    with np.errstate(under="ignore", over="ignore"):
        scaled = np.ldexp(values, -int(np.median(np.frexp(known)[1])))
    scaled[np.abs(scaled) < _LEAST_SIZE] = 0.0
    return np.where(np.isfinite(values), np.clip(scaled, -_MOST_SIZE, _MOST_SIZE), values)
