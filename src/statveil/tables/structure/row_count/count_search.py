"""What in a table tells how many rows it had, once a random part of them is released in random order."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from statveil.tables.blocks import Array
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.reading.group_sizes import LEAST_MEAN, GroupSizes, steadier_than_chance
from statveil.tables.structure.reading.row_sample import RowSample
from statveil.tables.structure.row_count.reference_search import REFERENCES, find_references
from statveil.tables.structure.row_count.referring import Referring
from statveil.tables.structure.row_count.total_search import Totals, made_of_ranks, odd_constant, stratum_weights

__all__ = ["RowTellers", "as_numbers"]

_HEAD = 32_768
"""Rows from the beginning that are kept, for what goes from row to row."""
_EXPECTED = 8.0
"""Values that would repeat by chance, at least, where one says that they repeat less often than that."""
_SORTED = 0.999
_DAY = 86_400_000_000
"""Microseconds of a day: how dates and times are counted."""
_BY_CHANCE = 2e-3
"""A column whose counts are divisible by its values: how often that happens by itself at most."""
_LARGEST = 2.0**53
_MILLION = 10**6


def as_numbers(column: pl.Series) -> Array | None:
    """The rows of a column as numbers, NaN where there is none; ``None`` where they are no numbers at all."""
    if column.dtype == pl.Object or column.dtype.is_nested():
        return None
    numbers = _Column()._numbers(column)
    return None if numbers is None else numbers.fill_null(np.nan).to_numpy()


class RowTellers:
    """Watches all columns of a table in one pass, then names those that tell the number of rows."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._sample = RowSample()
        self.rows = 0

    def add(self, columns: Mapping[str, pl.Series]) -> None:
        """The next rows."""
        for name, column in columns.items():
            self._columns.setdefault(name, _Column()).add(column)
        self._sample.add(columns)
        self.rows += max((len(one) for one in columns.values()), default=0)

    def found(self) -> list[Finding]:
        """What tells the number of rows, column by column: what it is and what to do, and no number of the data."""
        return [
            Finding(name=name, values=(), flag="", says=f"column {column!r} {says}")
            for column, told in self.by_column().items()
            for name, says in told.items()
        ][:_MOST_SAID]

    def by_column(self) -> dict[str, dict[str, str]]:
        """What each column is, by the names of leaks, and the sentence on it."""
        if not self.rows:
            return {}
        told = {name: dict(self._of(name, seen)) for name, seen in self._columns.items()}
        for name, says in self._references({name for name, seen in told.items() if "panels" in seen}).items():
            told[name][REFERENCES] = says
        return told

    def _references(self, panels: Collection[str] = ()) -> dict[str, str]:
        """What rows say of other rows, beside columns that are known to tell the sizes of groups."""
        sample = self._sample.columns
        held = [_referring(name, column) for name, column in sample.items()]
        kept = max((len(column) for column in sample.values()), default=0)
        return find_references(held, share=kept / self.rows, panels=panels)

    def group_sizes(self) -> dict[str, Array]:
        """Sizes of the groups of each column, some of them where there are many."""
        return {name: seen.sizes.sizes for name, seen in self._columns.items()}

    def _of(self, name: str, seen: _Column) -> Iterator[tuple[str, str]]:
        if seen.counts_up(self.rows):
            if seen.temporal:
                yield "timestamps", f"holds times at even distances, whose range tells how many there were; {_DROP}"
            else:
                yield (
                    "row-numbers",
                    f"holds numbers that count the rows: the largest one, and the gaps, tell how many there were; "
                    f"{_DROP}, or replace it by keys drawn at random",
                )
        elif seen.a_log(self.rows):
            yield (
                "timestamps",
                f"says when each row came, and who knows how often rows come learns how many there were; {_DROP}, or "
                "make it coarse, such as a year",
            )
        elif seen.rises(self.rows) or self._adds_up(name, seen):
            yield (
                "running",
                f"rises from row to row, as a running total or a sorted list does, and the end of a total tells how "
                f"many there were; {_DROP}, or put the rows in another order first if they are only sorted by it",
            )
        if seen.dictionary * 20 >= self.rows and seen.dictionary >= 50:
            yield (
                "row-numbers",
                "lists all of its values in its type, also those of rows that are left out; make it text",
            )
        yield from self._groups(seen)
        yield from self._whole(name, seen)

    def _groups(self, seen: _Column) -> Iterator[tuple[str, str]]:
        sizes = seen.sizes
        if seen.says_its_size():
            yield "panels", f"says how many rows its group has, and the release shows how many are left; {_DROP}"
        elif any(seen.counts_in_groups(other.sizes) for other in self._columns.values() if other is not seen):
            yield (
                "panels",
                f"counts the rows of a group (a visit, a line of an order), and its gaps show how many are left out; "
                f"{_DROP}",
            )
        elif seen.numbers_groups():
            yield (
                "panels",
                "numbers groups of rows without a gap (customers, households), and who knows how large such groups are "
                f"sees how many rows are left out; {_DROP}",
            )
        elif steadier_than_chance(sizes.sizes):
            yield (
                "panels",
                "makes groups of about one size (a complete panel, pairs, households), and the release shows how many "
                f"rows of each are left; {_DROP}, or release one row of each group",
            )

    def _whole(self, name: str, seen: _Column) -> Iterator[tuple[str, str]]:
        """Numbers of the table as a whole."""
        sums = [other.sum for key, other in self._columns.items() if key != name and other.sum]
        ranked = seen.ranks(self.rows)
        filled = {other.filled for other in self._columns.values()}
        if seen.constant and (
            any(abs(seen.low - count - one) < 0.5 for count in filled for one in (-1, 0, 1))
            or any(abs(seen.low - total) <= 1e-9 * abs(total) for total in sums)
        ):
            yield "totals", f"holds the number of rows or a total in every row; {_DROP}"
        elif seen.shares():
            yield "totals", f"holds shares of a total, which no longer add up in a part of the rows; {_DROP}"
        elif seen.constant and not seen.temporal and odd_constant(seen.low):
            yield "copies", f"holds one number of many digits in every row, as a weight N/n does; {_DROP}, or round it"
        elif not ranked and not seen.counts_up(self.rows) and seen.weighs():
            yield (
                "copies",
                "adds up to a round number, or has a round mean or a variance of 1, over all rows or in strata, as "
                f"weights, shares and standardised values do, and a part of the rows does not; {_DROP}",
            )
        if ranked:
            yield "ranks", f"holds ranks or shares whose steps tell how many rows there were; {_DROP}"
        elif seen.scores(self.rows):
            yield "copies", f"holds scores or logarithms of ranks, which tell how many rows there were; {_DROP}"

    def _adds_up(self, name: str, seen: _Column) -> bool:
        """Whether the column is the running total of another one."""
        head = seen.first
        if head is None or len(head) < 20 or not seen.varies:
            return False
        rise = np.diff(head)
        slack = 1e-9 * max(float(np.abs(head).max()), 1e-300)
        for key, other in self._columns.items():
            steps = other.first
            if key == name or steps is None or len(steps) != len(head) or not other.varies:
                continue
            if any(bool(np.all(np.abs(rise - part) <= slack)) for part in (steps[1:], steps[:-1])):
                return True
        return False


def _referring(name: str, column: pl.Series) -> Referring:
    """A column as the search for references takes it: keys such as ``A-0017`` are texts."""
    if column.dtype == pl.String:
        column = pl.select(pl.when(column.str.strip_chars() != "").then(column)).to_series()
    read = _Column()
    numbers = read._numbers(column) if column.null_count() < len(column) else None
    known = None if numbers is None or read.text else numbers.fill_null(np.nan).to_numpy()
    return Referring(name, column, known, read.temporal)


_DROP = "leave it out"
_MOST_SAID = 12


@dataclass(slots=True)
class _Column:
    """What is kept of one column."""

    sizes: GroupSizes = field(default_factory=GroupSizes)
    temporal: bool = False
    clock: bool = False
    """Whether its times have an hour."""
    numeric: bool = True
    text: bool = False
    """Whether its numbers are digits at the end of keys."""
    whole: bool = True
    decimal: bool = True
    """Whether all values are multiples of a millionth."""
    low: float = math.inf
    high: float = -math.inf
    sum: float = 0.0
    squares: float = 0.0
    absolute: float = 0.0
    numbers: int = 0
    """Rows with a finite number."""
    filled: int = 0
    dictionary: int = 0
    _parts: int = 1
    """Of one, in which steps are counted."""
    _start: int | None = None
    _step: int = 0
    _up: int = 0
    _down: int = 0
    _level: int = 0
    _last: float | None = None
    _head: list[Array] = field(default_factory=list)
    _kept: int = 0

    def add(self, column: pl.Series) -> None:
        if column.dtype == pl.Object or column.dtype.is_nested():
            self.numeric = False
            return
        if isinstance(column.dtype, pl.Enum):
            self.dictionary = len(column.dtype.categories)
        numbers = self._numbers(column)
        self.sizes.add(column, numbers)
        self.filled += len(column) - column.null_count()
        if numbers is None:
            self.numeric = False
            return
        if self._kept < _HEAD and self.numeric:
            self._head.append(numbers.slice(0, _HEAD - self._kept).fill_null(np.nan).to_numpy())
            self._kept += len(self._head[-1])
        values = numbers.drop_nulls().to_numpy()
        values = values[np.isfinite(values)]
        if len(values):
            self._watch(values)

    def _watch(self, values: Array) -> None:
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        with np.errstate(over="ignore"):
            self.sum += float(values.sum())
            self.squares += float(values @ values)
            self.absolute += float(np.abs(values).sum())
        self.numbers += len(values)
        pairs = values if self._last is None else np.concatenate([[self._last], values])
        rise = np.diff(pairs)
        self._up, self._down = self._up + int((rise > 0).sum()), self._down + int((rise < 0).sum())
        self._level += int((rise == 0).sum())
        self._last = float(values[-1])
        self.whole = self.whole and bool(np.all(values == np.floor(values))) and float(np.abs(values).max()) < _LARGEST
        self._watch_decimals(values)
        if self.temporal:
            self.clock = self.clock or bool(np.any(values % _DAY))

    def _watch_decimals(self, values: Array) -> None:
        """The largest step of which all values are multiples, in millionths where they are not whole numbers."""
        if not self.whole and self._parts == 1:
            self._parts, self._step = _MILLION, self._step * _MILLION
            self._start = None if self._start is None else self._start * _MILLION
        scaled = values * self._parts
        if not self.decimal or float(np.abs(scaled).max()) >= 2.0**62:
            self.decimal = False
            return
        near = np.round(scaled)
        self.decimal = bool(np.all(np.abs(scaled - near) <= 1e-4 + 2.0**-51 * np.abs(scaled)))
        if self.decimal:
            places = near.astype(np.int64)
            self._start = int(places[0]) if self._start is None else self._start
            self._step = int(np.gcd(self._step, np.gcd.reduce(np.abs(places - self._start))))

    def _numbers(self, column: pl.Series) -> pl.Series | None:
        """The rows as numbers: of dates and times microseconds, of keys such as ``A-0017`` the digits at their end."""
        if not self.numeric:
            return None
        if column.dtype in (pl.Date, pl.Datetime):
            self.temporal = True
            return column.cast(pl.Datetime("us")).to_physical().cast(pl.Float64)
        if column.dtype.is_temporal():
            return None
        if column.dtype == pl.Boolean or column.dtype.is_numeric():
            return column.cast(pl.Float64)
        text = column.cast(pl.String)
        known = text.drop_nulls().head(1000)
        if known.str.contains(_TIME).all() and len(known):
            self.temporal = True
            made = text.str.replace("T", " ").str.slice(0, 19).str.pad_end(19, "~")
            made = made.str.replace("~+$", "").str.replace(r"^(\d{4}-\d\d-\d\d)$", "${1} 00:00:00")
            made = made.str.replace(r"^(.{16})$", "${1}:00")
            return made.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False).to_physical().cast(pl.Float64)
        plain = text.cast(pl.Float64, strict=False)
        if plain.null_count() <= text.null_count() + 0.05 * len(text):
            return plain
        self.text = True
        ending = text.str.extract(r"(\d{1,15})\D{0,3}$").cast(pl.Float64, strict=False)
        return ending if ending.null_count() <= text.null_count() + 0.05 * len(text) else None

    # --- what it shows -------------------------------------------------------------------------
    @property
    def constant(self) -> bool:
        return self.numeric and self.filled > 0 and self.low == self.high

    @property
    def varies(self) -> bool:
        return self.numeric and self.low < self.high

    @property
    def first(self) -> Array | None:
        """The first rows, where all of them have a number."""
        if not self.numeric or not self._head:
            return None
        head = np.concatenate(self._head)
        return head if np.isfinite(head).all() else None

    def _distinct(self, rows: int) -> bool:
        return self.sizes.groups >= 0.5 * rows

    def counts_up(self, rows: int) -> bool:
        """Whether numbers on a lattice repeat less often than by chance, in their range: keys that count up."""
        if not (self.numeric and self.decimal and self._step and self._distinct(rows)):
            return False
        sizes = self.sizes.sizes
        places = (self.high - self.low) * self._parts / self._step + 1
        expected = len(sizes) * -math.expm1(-self.filled / places)
        return expected >= _EXPECTED and float((sizes > 1).sum()) <= 0.1 * expected

    def numbers_groups(self) -> bool:
        """Whether no number is missing between the first and the last, where some would by chance."""
        if not (self.numeric and self.decimal and self._step) or self.filled < LEAST_MEAN * self.sizes.groups:
            return False
        seen = len(self.sizes.sizes)
        places = ((self.high - self.low) * self._parts / self._step + 1) * seen / self.sizes.groups
        missing = places * math.exp(-float(self.sizes.sizes.sum()) / places)
        if self.sizes.whole:
            return missing >= 0.6 * _EXPECTED and places - seen <= 0.1 * missing
        return missing >= 4 * math.sqrt(seen) and places - seen <= 0.5 * missing  # counted by a sample

    def a_log(self, rows: int) -> bool:
        """Whether its times are those at which rows came: with an hour and hardly one twice, or in the rows' order."""
        if not self.temporal or self.sizes.groups < 20:
            return False
        return (self.clock and self._distinct(rows)) or self._in_order()

    def rises(self, rows: int) -> bool:
        """Whether it rises, or falls, all along the table."""
        return self.numeric and not self.temporal and rows >= 20 and self._distinct(rows) and self._in_order()

    def _in_order(self) -> bool:
        moved = self._up + self._down
        return moved >= 20 and max(self._up, self._down) >= _SORTED * moved

    def _counts(self) -> tuple[Array, Array] | None:
        """Small whole numbers from 0 or 1 on, and how often each occurs; ``None`` for other columns."""
        if not (self.numeric and self.whole and self.sizes.whole and not self.temporal and self.low >= 0):
            return None
        values, counts = self.sizes.by_value
        return (values, counts) if len(values) >= 2 else None

    def says_its_size(self) -> bool:
        """Whether each value s, as the size of a group, is held by a whole number of groups of s rows."""
        known = self._counts()
        if known is None or self.low < 1 or self.high > self.filled:
            return False
        values, counts = known
        chance = float(np.exp(-np.log(values).sum()))
        return chance <= _BY_CHANCE and bool(np.all(counts % values == 0))

    def counts_in_groups(self, others: GroupSizes) -> bool:
        """Whether each of its numbers occurs no more often than the one before, and the first once in each group."""
        known = self._counts()
        if known is None or self.low not in (0.0, 1.0) or not 10 <= others.groups <= 0.9 * self.filled:
            return False
        values, counts = known
        slack = 0.0 if others.whole else 0.03 * others.groups  # where groups are counted by a sample
        dense = len(values) >= 3 and bool(np.all(np.diff(values) == 1)) and bool(np.all(np.diff(counts) <= 0))
        return dense and abs(float(counts[0]) - others.groups) <= slack

    def shares(self) -> bool:
        """Whether it adds up to 1 or 100."""
        if not self.varies or self.filled < 10 or self.low < 0 or self.sizes.groups < 3 or self.temporal:
            return False
        return abs(self.sum - 1) <= 1e-6 or (abs(self.sum - 100) <= 1e-4 and not self.whole)

    @property
    def _lattice(self) -> float:
        """What all values are multiples of, 0 where they have more decimals than six."""
        if not self.decimal or self._start is None:
            return self._short_decimals
        return math.gcd(self._step, self._start) / self._parts

    @property
    def _short_decimals(self) -> float:
        """The step of decimals that were kept as 32-bit floats, 0 where they are none."""
        head = np.concatenate(self._head) if self._head else np.zeros(0)
        head = head[np.isfinite(head)]
        near = (10.0**-d for d in range(6) if np.all(np.abs(np.round(head, d) - head) <= 2.0**-23 * np.abs(head)))
        return next(near, 0.0) if len(head) else 0.0

    def weighs(self) -> bool:
        """Whether it adds up to what other columns add up to by chance only."""
        if not self.varies or self.temporal or self.text:
            return False
        totals = Totals(
            rows=self.numbers,
            sum=self.sum,
            squares=self.squares,
            sizes=self.absolute,
            step=self._lattice,
            low=self.low,
            high=self.high,
        )
        strata = self.sizes.whole and not self.whole and self.sizes.groups <= 0.2 * self.numbers
        return totals.told() or (strata and stratum_weights(*self.sizes.by_value, self._lattice))

    def scores(self, rows: int) -> bool:
        """Whether its values are a usual function of ranks."""
        if not self.varies or self.temporal or self.text or self.whole or not self._head:
            return False
        head = np.concatenate(self._head)
        return any(made_of_ranks(head, count, self.high, self._lattice) for count in {rows, self.numbers})

    def ranks(self, rows: int) -> bool:
        """Whether its values are multiples of one part in as many as there are rows."""
        head = self.first
        if head is None or self.whole or not 0 <= self.low <= self.high <= 100 or self.sizes.groups < 20:
            return False
        if self.decimal:
            return False  # multiples of many numbers
        scale = 1.0 if self.high <= 1 else 100.0
        parts = [part for part in (rows - 1, rows, rows + 1, 2 * rows) if part > 1]
        return any(bool(np.all(np.abs(at - np.round(at)) <= 1e-6)) for at in (head * part / scale for part in parts))


_TIME = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z?)?$"
