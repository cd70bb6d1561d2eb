"""Flags inside columns of many values: a sign, a digit, a rest, a weekday, a word, a way of writing.

A flag for a range of the column is refused, and so must be the same flag inside a code. Each other column is read as
labels of few values (:mod:`number_marks`, :mod:`text_marks`). Along the sorted column each value of a label, each set
of values against one limit, and two or three labels of two values together (even or odd in sum) are held against
chance (:mod:`goes_with`). Some thousand rows are enough for that: an indicator that goes with ranges does so there too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, zip_longest
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PolarsError

from statveil.tables.blocks import Array
from statveil.tables.structure.others.copy_search import ranks_alone
from statveil.tables.structure.others.edge_search import Ranked
from statveil.tables.structure.others.goes_with import (
    FEWEST,
    MOST_CHANGES,
    OF_FEWER,
    STRAY,
    Source,
    goes_with,
    in_step,
    limits_of,
    ways,
)
from statveil.tables.structure.others.marks import FEWEST_ROWS, Marks, marks
from statveil.tables.structure.others.number_marks import LAST_DAY, RANGE, are_times, number_marks, time_marks
from statveil.tables.structure.others.text_marks import missing_marks, text_marks
from statveil.tables.structure.reading.distinct import distinct
from statveil.tables.structure.reading.text_forms import as_text

__all__ = ["Inside", "hidden_flags"]

Codes = NDArray[np.int64]

_MOST_ROWS = 1024  # that are looked at
_INDICATORS = 1000.0  # of one column, about
_SLICES = 32  # of the column, between which a limit is looked for first
_TOGETHER = 24  # labels of two values of which two or three are looked at together
_PLAIN = 64  # different values up to which a column is a label by itself
_GROUPS = 20  # different values up to which a column is one of groups
_FEWEST_GROUPS, _MOST_IDS = 6, 12  # columns of ids whose rows may belong together
_MOST_EDGES = 4  # values of the labels of a column whose rate may jump, looked at closely
_APART = 0.15  # that its rate changes by
_RARER = 1e4  # an edge is taken for one so much less often than one of a plain label
_LEVEL = float(np.log(1e-8))
_DAY = 86_400_000_000
_LEADING = 16  # characters by which texts are sorted
_KNOWN = 0.9  # of the rows, for a column to be one of numbers

Found = tuple[tuple[str, str], ...]
"""Columns, each with what in it tells; nothing where it is the column itself."""
Parts = Iterator[tuple[NDArray[np.bool_], Mapping[str, NDArray[np.generic]]]]


def _looked_at(rows: int) -> Codes:
    """Which rows are looked at, in no order: so equal values come in none."""
    return np.random.default_rng(rows).permutation(rows)[:_MOST_ROWS]


class Inside:
    """One column in the rows that are looked at, and the labels inside it, found when they are asked for first."""

    def __init__(
        self, column: pl.Series | None, numbers: Sequence[Array], keys: NDArray[np.uint64], *, numbering: bool = False
    ) -> None:
        """``numbers`` are all that a row holds, the first the column's own; ``keys`` are the same for equal values.

        Of a column of lists, records, bytes or objects there is none, as nobody can look into it. With ``numbering``
        also a column that only numbers the rows is read: its digits know no more of a size, but of a label they may.
        """
        self._numbering = numbering
        self._every, self._keys = numbers[0], keys
        self._rows = _looked_at(len(keys))
        self._column = None if column is None else column.gather(self._rows)
        self._number, *self._others = (one[self._rows] for one in numbers)

    def __getstate__(self) -> dict[str, Any]:
        """Without what was worked out meanwhile, by whichever thread."""
        worked_out = ("source", "marks")
        return {name: value for name, value in dict(self.__dict__).items() if name not in worked_out}

    @property
    def rows(self) -> Codes:
        """Which rows are looked at, in the order in which the labels have them."""
        return self._rows

    @cached_property
    def source(self) -> Source:
        """The column as what an indicator comes from."""
        known = np.isfinite(self._number)
        code = np.unique(self._keys[self._rows], return_inverse=True)[1].reshape(-1).astype(np.int64)
        numbers = bool(np.count_nonzero(known) >= _KNOWN * len(known))
        text = None if self._column is None else as_text(self._column)
        if numbers:
            rank = np.where(known, self._number, np.median(self._number[known]))
        elif text is not None:
            rank = np.unique([(one or "")[:_LEADING] for one in text.to_list()], return_inverse=True)[1].astype(
                np.float64
            )
        else:
            rank = code.astype(np.float64)
        return Source(
            rank=rank, code=code, ordered=numbers or int(code.max(initial=0)) < _GROUPS, numbers=tuple(self._others)
        )

    @cached_property
    def marks(self) -> tuple[Marks, ...]:
        """The labels, by the rows that have them."""
        size = len(self._rows)
        if self._column is None or size < FEWEST_ROWS or (not self._numbering and self._knows_ranks_alone()):
            return ()
        try:
            return tuple(marks(size, self._labels(self._column)))
        except PolarsError:  # a type that is neither number nor text nor time
            return ()

    def _knows_ranks_alone(self) -> bool:
        """Whether a column only numbers the rows, or classes of equal size: its digits know no more."""
        if self._in_steps() and ranks_alone(self._every):
            return True
        if self.source.code.max() >= _GROUPS:
            return False
        counts = distinct(self._keys).counts
        return len(counts) > 2 and bool(np.ptp(counts) <= 1)

    def _in_steps(self) -> bool:
        """Whether the rows that are looked at may be of a column that numbers rows or classes: as a rule not."""
        look = np.unique(self._number)
        if not np.isfinite(look).all() or len(look) < 2:
            return False
        if len(look) < len(self._number):
            return len(look) <= _PLAIN
        low, high = float(self._every.min()), float(self._every.max())
        steps = (look - low) / (high - low) * (len(self._every) - 1)
        return bool(np.all(np.abs(steps - np.rint(steps)) < 1e-3))

    def _labels(self, column: pl.Series) -> Parts:
        code = self.source.code
        if code.max() < _PLAIN:
            yield np.ones(len(code), np.bool_), {"": code}
        if code.max() < 2:  # of two values nothing else is to be said
            return
        text = as_text(column)
        if text is not None:
            texts = text.to_list()
            yield from missing_marks(texts, code)
            there = np.array([one is not None for one in texts])
            known_texts = [one for one in texts if one is not None]
            if len(known_texts) >= FEWEST_ROWS:
                yield from _spread(there, text_marks(known_texts, code if there.all() else code[there]))
            for numbers in (self._number, *self._others):
                if are_times(texts, numbers):
                    yield from _moments(numbers)
                    break
        elif column.dtype.is_temporal():
            yield from _temporal(column)
            return
        elif not column.dtype.is_numeric():
            return
        known = np.isfinite(self._number)
        if np.count_nonzero(known) < FEWEST_ROWS:
            return
        # a float would round a long code
        exact = column.cast(pl.Int64, strict=False) if column.dtype.is_integer() else None
        whole = None if exact is None else exact.fill_null(0).to_numpy()[known]
        found = number_marks(self._number[known], whole)
        yield from _spread(known, iter([(np.ones(np.count_nonzero(known), np.bool_), found)]))
        for moments in self._others[:1] if text is None else ():  # days as whole numbers: 20240131
            yield from _moments(moments)


def _spread(there: NDArray[np.bool_], parts: Parts) -> Parts:
    """Labels of some rows, as labels of all of them."""
    if there.all():
        yield from parts
        return
    at = np.flatnonzero(there)
    for inside, labels in parts:
        every = np.zeros(len(there), np.bool_)
        every[at[inside]] = True
        whole: dict[str, NDArray[np.generic]] = {}
        for name, codes in labels.items():
            made = np.zeros(len(there), np.int64)
            made[at] = codes
            whole[name] = made
        yield every, whole


def _moments(numbers: Array) -> Parts:
    """Labels of days since 1970, or of microseconds, where a text or a number was read as such."""
    known = np.isfinite(numbers)
    if np.count_nonzero(known) < FEWEST_ROWS:
        return
    some = numbers[known]
    timed = bool(np.abs(some).max() > LAST_DAY)
    moments = np.rint(some * (1 if timed else _DAY)).astype(np.int64)
    dated = not timed or bool(moments.min() < 0 or moments.max() >= 2 * _DAY)
    yield from _spread(known, iter([(np.ones(len(some), np.bool_), time_marks(moments, dated=dated, timed=timed))]))


def _temporal(column: pl.Series) -> Parts:
    there = column.is_not_null().to_numpy()
    if np.count_nonzero(there) < FEWEST_ROWS:
        return
    known = column.filter(pl.Series(there))
    if isinstance(known.dtype, pl.Datetime):  # by the clock of its own zone, as it is shown
        known = known.dt.replace_time_zone(None) if known.dtype.time_zone else known
        moments, dated, timed = known.cast(pl.Datetime("us")).to_physical(), True, True
    elif known.dtype == pl.Date:
        moments, dated, timed = known.to_physical().cast(pl.Int64) * _DAY, True, False
    elif known.dtype == pl.Time:
        moments, dated, timed = known.to_physical() // 1000, False, True
    else:
        moments, dated, timed = known.cast(pl.Duration("us")).to_physical(), False, True
    found = time_marks(moments.to_numpy(), dated=dated, timed=timed)
    yield from _spread(there, iter([(np.ones(len(known), np.bool_), found)]))


# --- the search -----------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, eq=False)
class _Search:
    """The column in the rows that are looked at, and what counts as chance beside so many others."""

    values: Array
    rows: Codes
    groups: tuple[Codes, ...]
    tried: float

    def holds(self, flag: NDArray[np.bool_], sources: Sequence[Source], rows: Codes | None, more: float = 0.0) -> bool:
        """Whether an indicator, of some of the rows, goes with ranges."""
        tried = self.tried + more
        if rows is None:
            return goes_with(self.values, flag, sources, tried=tried, rows=self.rows, groups=self.groups)
        some = [one.of(rows) for one in sources]
        groups = self._groups(rows)
        return goes_with(self.values[rows], flag, some, tried=tried, rows=self.rows[rows], groups=groups)

    def between(self, numbers: Array, flag: NDArray[np.bool_], source: Source, rows: Codes | None) -> bool:
        """Whether numbers in some ranges of theirs go with one side of a limit, of which an indicator says about where.

        The ranges' ends are between two numbers, not where the indicator has them.
        """
        values = self.values if rows is None else self.values[rows]
        limits = limits_of(values, flag)
        if len(limits) != 1:
            return False
        number = self.rows if rows is None else self.rows[rows]
        tried = self.tried + float(np.log(len(values)))
        other = Source(rank=values, code=source.code if rows is None else source.code[rows], ordered=True)
        return goes_with(numbers, values >= limits[0], [other], tried=tried, rows=number, groups=self._groups(rows))

    def edge(self, flag: NDArray[np.bool_], source: Source, rows: Codes | None, tests: int) -> bool:
        """Whether the rate of an indicator jumps at a limit, beyond which nearly all rows have it, or hardly any."""
        if rows is None:
            ranked, order = self._ranked, np.argsort(self.rows)
        else:
            order = np.argsort(self.rows[rows])
            ranked = Ranked(self.values[rows][order], {f"{i}": one[rows][order] for i, one in enumerate(self.groups)})
        found = ranked.edge(flag[order], labels=tests)
        if found is None:
            return False
        inside = slice(None) if rows is None else rows
        if in_step(self.values[inside], flag, [source], self.rows[inside]):
            return False
        return min(found.below, found.above, 1 - found.below, 1 - found.above) <= STRAY

    @cached_property
    def _ranked(self) -> Ranked:
        order = np.argsort(self.rows)
        return Ranked(self.values[order], {f"{i}": one[order] for i, one in enumerate(self.groups)})

    def _groups(self, rows: Codes | None) -> list[Codes]:
        return [one if rows is None else one[rows] for one in self.groups]


def hidden_flags(values: Array, columns: Mapping[str, Inside], *, known: Collection[str] = ()) -> Iterator[Found]:
    """Columns, with what in them goes with ranges of the column: alone, or two or three together.

    Parameters
    ----------
    values
        The column, where all rows have a value.
    columns
        The others in the same rows.
    known
        Those that are known to tell, and need not be looked at.
    """
    rows = _looked_at(len(values))
    some = values[rows]
    if len(some) < FEWEST_ROWS or np.ptp(some) == 0:
        return
    others = {name: one for name, one in columns.items() if name not in known}
    ids = [one.source.code for one in columns.values()]
    groups = tuple(code for code in ids if _FEWEST_GROUPS <= code.max() + 1 <= 0.9 * len(some))[:_MOST_IDS]
    search = _Search(values=some, rows=rows, groups=groups, tried=float(np.log(_INDICATORS * max(len(others), 1))))
    order = np.argsort(some, kind="stable")
    binary: dict[str, list[tuple[str, NDArray[np.uint8], Source]]] = {}
    for name, one in others.items():
        free = binary.setdefault(name, [])
        for kept in one.marks:
            every = len(kept.rows) == len(some)
            inside = order if every else np.argsort(some[kept.rows], kind="stable")
            label = _telling(search, kept, inside, one.source, every=every)
            if label is not None:
                yield ((name, label),)
                binary.pop(name)
                break
            if every:
                two = np.flatnonzero((kept.codes.max(axis=1) - kept.codes.min(axis=1)) == 1)
                free += [(kept.names[i], kept.codes[i] == kept.codes[i].max(), one.source) for i in two.tolist()]
    yield from _together(search, binary, order)


def _telling(search: _Search, kept: Marks, order: Codes, source: Source, *, every: bool) -> str | None:
    """The first label of which a value, or a set of values, goes with ranges."""
    size = len(order)
    sizes = kept.codes.max(axis=1).astype(np.int64) + 1
    base = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    along = kept.codes[:, order].astype(np.int64)
    keys = along + base[:, None]
    total = int(sizes.sum())
    counts = np.bincount(keys.ravel(), minlength=total)
    rows = None if every else kept.rows
    of = np.repeat(np.arange(len(sizes)), sizes)
    # one value against all others: ends of ranges make one change each, errors two
    line, at = np.nonzero(along[:, 1:] != along[:, :-1])
    turns = np.bincount(keys[line, at + 1], minlength=total) + np.bincount(keys[line, at], minlength=total)
    fewer = np.minimum(counts, size - counts)
    allowed = MOST_CHANGES + 2 * np.minimum(STRAY * size, OF_FEWER * fewer) + 2
    chance = ways(np.full(total, float(size)), counts.astype(np.float64))
    open_ = (fewer >= FEWEST) & (turns <= allowed) & (chance + _LEVEL > search.tried)
    for key in np.flatnonzero(open_).tolist():
        i = int(of[key])
        if search.holds(kept.codes[i] == key - base[i], [source], rows):
            return kept.names[i]
    ranked = (search.values if rows is None else search.values[rows])[order]
    slices = np.searchsorted(ranked, ranked, side="left") * _SLICES // size
    there = np.bincount((keys * _SLICES + slices).ravel(), minlength=total * _SLICES).reshape(total, _SLICES)
    below = np.cumsum(there, axis=1)[:, :-1]
    under = np.searchsorted(slices, np.arange(1, _SLICES), side="left")
    found = _sets(search, kept, below, under, source, counts, base, rows)
    return _sided(search, kept, below, under, source, counts, of, base, rows) if found is None else found


def _sided(
    search: _Search,
    kept: Marks,
    below: Codes,
    under: Codes,
    source: Source,
    counts: Codes,
    of: Codes,
    base: Codes,
    rows: Codes | None,
) -> str | None:
    """A label of which one value is in nearly all rows on one side of a limit, or in none, and in some on the other."""
    size = kept.codes.shape[1]
    some = np.flatnonzero(np.minimum(counts, size - counts) >= FEWEST)
    held = counts[some, None]
    share = held / size
    best = np.zeros(len(some))
    sides = ((below[some], under), (held - below[some], size - under))
    parts = [held / np.maximum(many, 1) for held, many in sides]
    apart = np.abs(parts[0] - parts[1]) >= _APART
    for part, (_, many) in zip(parts, sides, strict=True):
        for off, chance in ((1 - part, share), (part, 1 - share)):
            sure = np.where(apart & (off <= 2 * STRAY), -many * np.log(chance), 0.0)
            best = np.maximum(best, sure.max(axis=1))
    least = search.tried - _LEVEL
    tests = int(np.exp(search.tried) * _RARER)
    surest = some[np.argsort(-best, kind="stable")]
    left = _MOST_EDGES
    for key in surest[: np.count_nonzero(best >= least)].tolist():
        i = int(of[key])
        flag = kept.codes[i] == key - base[i]
        part = source if rows is None else source.of(rows)
        if left and not part.is_slope(flag):
            left -= 1
            if search.edge(flag, part, rows, tests):
                return kept.names[i]
    return None


def _sets(
    search: _Search,
    kept: Marks,
    below: Codes,
    under: Codes,
    source: Source,
    counts: Codes,
    base: Codes,
    rows: Codes | None,
) -> str | None:
    """A label of which some values go with one side of a limit, and the others with the other side."""
    size, total = kept.codes.shape[1], len(counts)
    off = np.add.reduceat(np.minimum(below, counts[:, None] - below), base, axis=0)
    fewer = np.minimum(under, size - under)
    used = np.add.reduceat((counts > 0).astype(np.float64), base)
    more = used * np.log(2.0)
    slack = size / _SLICES / 2 + 2  # the limit is somewhere in a slice
    allowed = np.minimum(STRAY * size, OF_FEWER * fewer) + slack
    chance = ways(np.full(len(fewer), float(size)), fewer.astype(np.float64))
    open_ = (off <= allowed) & (fewer >= FEWEST) & (chance + _LEVEL > search.tried + more[:, None])
    open_ &= (used > 2)[:, None]  # of two values each was looked at
    for i in np.flatnonzero(open_.any(axis=1)).tolist():
        limit = int(np.argmin(np.where(open_[i], off[i], size)))
        end = base[i + 1] if i + 1 < len(base) else total
        chosen = 2 * below[base[i] : end, limit] > counts[base[i] : end]
        flag = chosen[kept.codes[i]]
        if kept.names[i] == RANGE:
            numbers = source.rank if rows is None else source.rank[rows]
            if search.between(numbers, flag, source, rows):
                return kept.names[i]
        elif search.holds(flag, [source], rows, float(more[i])):
            return kept.names[i]
    return None


def _together(
    search: _Search, labels: Mapping[str, list[tuple[str, NDArray[np.uint8], Source]]], order: Codes
) -> Iterator[Found]:
    """Two or three labels of two values whose sum is even in some ranges, and odd in the others."""
    chosen = _first_of_each(labels)
    if len(chosen) < 2:
        return
    size = len(order)
    along = np.stack([label[order] for _, _, label, _ in chosen]).astype(np.bool_)
    # whether the sum changes from row to row is the sum of the changes
    packed = np.packbits(along[:, 1:] != along[:, :-1], axis=1)
    most = MOST_CHANGES + 2 * STRAY * size + 2
    told: set[int] = set()
    for number in (2, 3):
        sets = [one for one in combinations(range(len(chosen)), number) if len({chosen[i][0] for i in one}) == number]
        if not sets:
            return
        which = np.array(sets)
        changes = packed[which[:, 0]]
        for i in range(1, number):
            changes = changes ^ packed[which[:, i]]
        turns = np.bitwise_count(changes).sum(axis=1, dtype=np.int64)
        for one in which[turns <= most].tolist():
            if told & set(one):
                continue
            flag = np.bitwise_xor.reduce([chosen[i][2] for i in one])
            fewer = min(np.count_nonzero(flag), np.count_nonzero(~flag))
            if fewer >= FEWEST and search.holds(flag, [chosen[i][3] for i in one], None, float(np.log(3))):
                told |= set(one)
                yield tuple(chosen[i][:2] for i in one)


def _first_of_each(
    labels: Mapping[str, list[tuple[str, NDArray[np.uint8], Source]]],
) -> list[tuple[str, str, NDArray[np.bool_], Source]]:
    """Columns of two values first, then one label of each column after another."""
    plain = [(name, *one) for name, found in labels.items() for one in found if not one[0]]
    rest = [[(name, *one) for one in found if one[0]] for name, found in labels.items()]
    turns = [one for turn in zip_longest(*rest) for one in turn if one is not None]
    return [(name, label, codes.astype(np.bool_), source) for name, label, codes, source in (*plain, *turns)][
        :_TOGETHER
    ]
