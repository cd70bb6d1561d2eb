"""Whether an indicator goes with ranges of a column: so sharply, and with so few errors, as chance or a slope never do.

Where it does, it says at which values the column changes from one range to the next, so how far these have moved. What
is merely more frequent among large values has no edge, and is left alone: an indicator of a number that goes along with
the column is wrong for many rows next to each edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, pdtr

from statveil.tables.blocks import Array
from statveil.tables.structure.reading.distinct import distinct

__all__ = ["FEWEST", "MOST_CHANGES", "OF_FEWER", "STRAY", "Source", "goes_with", "in_step", "limits_of", "ways"]

Codes = NDArray[np.int64]
Flag = NDArray[np.bool_]

FEWEST = 6
"""Rows that must have an indicator, and rows that must not."""
MOST_CHANGES = 6
"""Ends of ranges."""
STRAY, OF_FEWER = 0.025, 0.1
"""Errors, as shares of all rows and of those on the smaller side; and one more."""
_LUCK = 1e-8  # that any indicator of a table goes with ranges by chance
_CHANGE = 4  # rows that a range must have more of one kind, for it to be one
_NEAR, _LEAST_NEAR = 0.05, 10  # rows beside an end: there must be no more errors than elsewhere
_ERRORS_NEAR, _AND = 0.06, 1.5
_SLOPE = 0.25  # share of the smaller side that a number which only goes along with the column (0.93) gets wrong
_SLOPE_LUCK = 1e-5
_COARSE = 0.5  # of the changes that chance makes along the source's own order
_ALIKE = 0.15  # correlation of neighbouring rows, from which rows of one run count once
_BELONG = 0.1  # of the smaller side that may be off where an indicator is one of a group
_FEWEST_GROUPS = 6
_GATHERED = 0.05  # share of the variation that groups have more than by chance, for their rows to count once


def ways(number: Array | float, chosen: Array | float) -> Array:
    """The logarithm of how many ways there are to choose so many of a number."""
    chosen = np.asarray(chosen, dtype=np.float64)
    return np.asarray(gammaln(number + 1) - gammaln(chosen + 1) - gammaln(number - chosen + 1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """The column that an indicator comes from, in the rows that are looked at.

    Parameters
    ----------
    rank : array
        Where each row stands in the column's own order.
    code : array of int
        Which of the column's different values each row has.
    ordered : bool
        Whether its order means something: it holds numbers or times, or so few values that these are groups.
    numbers : tuple of array
        Further orders: of each number that a text holds.
    """

    rank: Array
    code: Codes
    ordered: bool
    numbers: tuple[Array, ...] = ()

    def is_slope(self, flag: Flag) -> bool:
        """Whether an indicator says about how large the column is, so that it may go along with another by itself."""
        return self.ordered and any(_coarse(flag, rank) for rank in (self.rank, *self.numbers))

    def of(self, rows: Codes) -> Source:
        """The same for some of the rows."""
        numbers = tuple(one[rows] for one in self.numbers)
        return replace(self, rank=self.rank[rows], code=self.code[rows], numbers=numbers)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fit:
    """Where the ranges end, in rows of the sorted column, and which rows, sorted, are errors."""

    ends: list[int]
    wrong: Flag


def goes_with(
    values: Array,
    flag: Flag,
    sources: Sequence[Source],
    *,
    tried: float,
    rows: Codes,
    groups: Sequence[Codes] = (),
) -> bool:
    """Whether an indicator goes with ranges of the column.

    Parameters
    ----------
    values, flag
        Rows of the column and the indicator.
    sources
        The columns that the indicator comes from, in the same rows.
    tried
        The logarithm of how many indicators were looked at.
    rows
        The rows' numbers in the table: those of one time may be alike.
    groups
        Columns of ids, as numbers of their values.
    """
    order = np.argsort(values, kind="stable")
    fit = _fitted(values[order], flag[order])
    if fit is None:
        return False
    errors = int(np.count_nonzero(fit.wrong))
    fewer = min(np.count_nonzero(flag), np.count_nonzero(~flag))
    if errors > min(STRAY * len(flag), OF_FEWER * fewer) + 1 or not _sharp(fit):
        return False
    if any(one.is_slope(flag) for one in sources) and (pdtr(errors, _SLOPE * fewer) > _SLOPE_LUCK):
        return False
    wrong = np.zeros(len(flag), dtype=np.bool_)
    wrong[order] = fit.wrong
    changes = len(fit.ends)
    return all(
        _chance(flag[units], wrong[units], changes) + tried <= np.log(_LUCK)
        for units in _units(values, flag, sources, rows, groups)
    )


def limits_of(values: Array, flag: Flag) -> list[float]:
    """The values at which the ranges begin that agree best with an indicator; none if it has too many."""
    order = np.argsort(values, kind="stable")
    fit = _fitted(values[order], flag[order])
    return [] if fit is None else values[order][fit.ends].tolist()


def _chance(flag: Flag, wrong: Flag, changes: int) -> float:
    """The logarithm of how likely it is that so many rows lie in so few ranges, but for so many errors."""
    size, marked, errors = len(flag), int(np.count_nonzero(flag)), int(np.count_nonzero(wrong))
    return float(np.log(2) + ways(size, min(changes, size)) + ways(size, errors) - ways(size, marked))


def _fitted(ranked: Array, flag: Flag) -> _Fit | None:
    """The ranges that agree best with an indicator, each change counted as some errors; equal values stay together."""
    starts = np.concatenate(([0], np.flatnonzero(np.diff(ranked)) + 1))
    sizes = np.diff(np.append(starts, len(ranked)))
    marked = np.add.reduceat(flag.astype(np.int64), starts)
    cost = [0, 0]
    came: list[tuple[int, int]] = []  # for each place and either state, the state before
    for off in zip(marked.tolist(), (sizes - marked).tolist(), strict=True):  # errors if the state is 0, and if it is 1
        before = (int(cost[1] + _CHANGE < cost[0]), int(cost[1] <= cost[0] + _CHANGE))
        cost = [min(cost[0], cost[1] + _CHANGE) + off[0], min(cost[1], cost[0] + _CHANGE) + off[1]]
        came.append(before)
    state = int(cost[1] < cost[0])
    states = np.zeros(len(starts), dtype=np.bool_)
    for i in range(len(starts) - 1, -1, -1):
        states[i] = state
        state = came[i][state]
    turns = np.flatnonzero(states[1:] != states[:-1]) + 1
    if not 1 <= len(turns) <= MOST_CHANGES:
        return None
    return _Fit(ends=starts[turns].tolist(), wrong=np.repeat(states, sizes) != flag)


def _sharp(fit: _Fit) -> bool:
    """Whether there are no more errors beside the ends than elsewhere: on a slope they are all there."""
    size = len(fit.wrong)
    wide = max(int(_NEAR * size), _LEAST_NEAR)
    near = np.zeros(size, dtype=np.bool_)
    for end in fit.ends:
        near[max(end - wide, 0) : end + wide] = True
    return bool(np.count_nonzero(fit.wrong & near) <= _AND + _ERRORS_NEAR * np.count_nonzero(near))


def _coarse(flag: Flag, rank: Array) -> bool:
    """Whether an indicator has few changes along the order of its own column: a leading digit, a month."""
    known = np.isfinite(rank)
    if not known.all():
        flag, rank = flag[known], rank[known]
    if not len(flag):
        return False
    along = flag[np.unique(rank, return_index=True)[1]]  # rows of one number once
    changes = np.count_nonzero(along[1:] != along[:-1])
    share = np.count_nonzero(along) / len(along)
    return bool(changes < _COARSE * 2 * share * (1 - share) * len(along))


# --- what counts once -----------------------------------------------------------------------------
def _units(
    values: Array, flag: Flag, sources: Sequence[Source], rows: Codes, groups: Sequence[Codes]
) -> Iterator[Codes]:
    """Rows that stand for all, in every way in which rows may be one piece of evidence."""
    yield np.arange(len(flag))
    # an id may stand inside a text, beside the number of a row
    parts = (
        np.unique(one, return_inverse=True)[1].reshape(-1)
        for source in sources
        for one in (source.rank, *source.numbers)
    )
    for code in [*(source.code for source in sources), *parts, *groups]:
        if _is_of_group(flag, code):
            # neighbours of one group in the column's order are as one, and all its rows if they lie together
            yield _first_of_runs(code, np.lexsort((code, values)))
            if _gathered(values, flag, code):
                yield np.unique(code, return_index=True)[1]
    if in_step(values, flag, sources, rows):
        yield _first_of_runs(flag, np.argsort(rows, kind="stable"))


def in_step(values: Array, flag: Flag, sources: Sequence[Source], rows: Codes) -> bool:
    """Whether the column and a source both are alike in neighbouring rows of the table: what they share may be time."""
    order = np.argsort(rows, kind="stable")
    if len(order) < 2 or not _alike(values, flag, order):
        return False
    # in the order of the column itself all that is the same in a range is the same in neighbouring rows
    rising = np.diff(values[order])
    is_sorted = bool(np.all(rising >= 0) or np.all(rising <= 0))
    return any(
        not (is_sorted and _settled(rank, flag)) and _alike(rank, flag, order)
        for source in sources
        for rank in (source.rank, *source.numbers)
    )


def _first_of_runs(code: NDArray[np.generic], order: Codes) -> Codes:
    along = code[order]
    return order[np.concatenate(([True], along[1:] != along[:-1]))]


def _is_of_group(flag: Flag, code: Codes) -> bool:
    """Whether rows of a group have one indicator, as a rule, and groups have several rows."""
    counts = np.bincount(code)
    groups = np.count_nonzero(counts)
    if not _FEWEST_GROUPS <= groups <= 0.9 * len(flag):  # few are labels by themselves, that go with ranges or not
        return False
    marked = np.bincount(code, weights=flag)
    off = np.minimum(marked, counts - marked).sum()
    return bool(off <= _BELONG * min(np.count_nonzero(flag), np.count_nonzero(~flag)))


def _gathered(values: Array, flag: Flag, code: Codes) -> bool:
    """Whether rows of a group have like values, beyond what the indicator says of them."""
    rank = distinct(values).code.astype(np.float64)
    rest = rank - np.where(flag, rank[flag].mean(), rank[~flag].mean())
    total = float(np.sum(rest**2))
    if not total:
        return True
    counts = np.bincount(code)
    between = float(np.sum(np.bincount(code, weights=rest) ** 2 / np.maximum(counts, 1)))
    return bool(between / total > np.count_nonzero(counts) / len(flag) * 1.2 + _GATHERED)


def _settled(column: Array, flag: Flag) -> bool:
    """Whether a column says no more than the indicator: one value where it is there, and one where it is not."""
    return all(len(np.unique(column[side])) < 2 for side in (flag, ~flag))


def _alike(column: Array, flag: Flag, order: Codes) -> bool:
    """Whether neighbouring rows of the table are alike, among those with the same indicator."""
    if not np.isfinite(column).all():
        column = np.where(np.isfinite(column), column, -np.inf)
    along, same = np.unique(column[order], return_inverse=True)[1].reshape(-1).astype(np.float64), flag[order]
    rest = along - np.where(same, along[same].mean(), along[~same].mean())
    both = same[1:] == same[:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        near = np.sum(rest[1:][both] * rest[:-1][both]) / np.sum(rest**2) * len(rest) / max(np.count_nonzero(both), 1)
    return bool(not near <= max(_ALIKE, 3 / np.sqrt(len(rest))))
