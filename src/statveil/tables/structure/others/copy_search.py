"""Whether other columns tell the values themselves: a copy in another form, a flag, a sum, a product, a running total.

Maps that move all rows alike keep ranks, so whatever follows the column's values follows the released ones too, and
says where they were: ``log(wage)`` beside ``wage``, ``passed`` beside ``score``, two clock times beside the delay
between them, a balance beside the amounts. A loose copy tells as much as an exact one, since errors average out: a tax
of 23 % give or take a tenth says what the mean income is. A column that knows ranks alone (1, 2, 3, ... in the
column's order; quarters of equal size) tells nothing.

The release refuses what is found here, and the audit attacks with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.glance import glance, stretches_alike
from statveil.tables.structure.others.ties import FORMS, JOINTS, Tie, fitted
from statveil.tables.structure.reading.clocks import is_clock, minutes_between
from statveil.tables.structure.reading.distinct import Memo, distinct, finite_part, known_in_both, mid_ranks

__all__ = ["Change", "find_changes", "find_ties", "likely_pairs", "ranks_alone", "surely_less"]

Keys = NDArray[np.uint64]

_LEAST_ROWS = 10
_GLANCED = 0.9  # rank correlation in the first look, from which the whole column is looked at
_FUNCTION, _STRAIGHT = 1 - 1e-9, 1 - 1e-6  # correlation with a function of the rows' numbers, and with themselves
_LEAST_STRETCH = 256
_STRETCHES = 16  # parts of a long table, each looked at by itself: a copy may begin late
_CLOSE = 0.995  # correlation, in one of the usual forms, from which a column is a copy up to its errors
_EXACT = 0.9999  # rank correlation from which it is a copy in whatever form
_LOOSE = 0.95  # rank correlation from which a single column tells the mean to those who know the relation
_LOOSE_MULTIPLE, _ERRORS = 0.8, 0.15  # the same for a multiple, whose one number is soon known, up to such errors
_IN_PROPORTION = 0.15
_SURE = 4.5  # standard errors of a correlation, so that few rows prove nothing
_PART = 0.2  # share of the rows with one common ratio or difference: a copy for a part of the rows
_LABELS = 20  # different values of a label or flag
_SIDE = 5  # rows on either side of a place where a label changes, for it to be no accident
_STRAY = 0.02  # share of rows that may be off: typing errors
_LIKELY = 0.8  # share of the variation, in a glance, from which two columns together are looked at
_MOST_PAIRS = 2000  # pairs that are looked at closely, those first that explain most
_TOGETHER = 200  # columns whose sum or product is looked at
_TIMES = 16  # columns of clock times, each with each other
_LUCK = 1e-9  # that products with a count are whole by chance
_MOST_COUNT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Where a label changes as the released column rises: between ``low`` and ``high``, from ``lower`` to ``upper``."""

    low: float
    high: float
    lower: int
    upper: int


def find_ties(values: Array, columns: Mapping[str, Array], *, breaks: NDArray[np.bool_] | None = None) -> list[Tie]:
    """How other columns of numbers tell the column, alone or together.

    Parameters
    ----------
    values, columns
        The column and the others, row by row; NaN where a row has no number.
    breaks
        Rows that do not follow the one before them.
    """
    finite = np.isfinite(values)
    if not finite.all():
        columns = {name: column[finite] for name, column in columns.items()}
        values, breaks = values[finite], None if breaks is None else breaks[finite]
    if len(values) < _LEAST_ROWS or np.ptp(values) == 0:
        return []
    found = []
    for name, column in columns.items():
        tie = _single(values, name, column, breaks)
        if tie is not None:
            found.append(tie)
    told = {name for tie in found for name in tie.columns}
    free = {name: column for name, column in columns.items() if name not in told and _usable(column)}
    found += _pairs(values, free)
    found += _clocks(values, free)
    if not found and (together := _together(values, free)) is not None:
        found.append(together)
    return found


# --- one column ---------------------------------------------------------------------------------
def _single(values: Array, name: str, column: Array, breaks: NDArray[np.bool_] | None) -> Tie | None:
    """The column by itself, what it grows by from row to row, a stretch of it, or a count that makes products whole."""
    tie = Tie(columns=(name,))
    if _copied(values, column) or _loose(values, column) or _of_number(values, column):
        return fitted(tie, values, column, close=0.8 * _LOOSE)
    if (scattered := _in_part(values, column)) is not None:
        return replace(tie, scattered=True, slope=scattered[0], start=scattered[1])
    steps = np.concatenate(([np.nan], np.diff(column)))
    steps[np.zeros(len(steps), dtype=np.bool_) if breaks is None else breaks] = np.nan
    if _copied(values, steps):
        return fitted(replace(tie, joint="grows"), values, steps, close=0.8 * _CLOSE)
    following = np.concatenate((steps[1:], [np.nan]))
    if _copied(values, following):  # the balance before the amount
        return fitted(replace(tie, joint="grows next"), values, following, close=0.8 * _CLOSE)
    if (part := _in_stretch(values, column)) is not None:
        inside = slice(*(round(end * len(values)) for end in part))
        return fitted(replace(tie, part=part), values[inside], column[inside], close=0.8 * _CLOSE)
    return replace(tie, joint="whole") if _makes_whole(values, column) else None


def _known(values: Array, column: Array) -> tuple[Array, Array] | None:
    """The rows known in both, unless a glance says that one is a flag or label: these are looked at by themselves."""
    x, y = known_in_both(values, column)
    if len(x) < _LEAST_ROWS:
        return None
    look = glance(len(x))
    return None if len(np.unique(y[look])) < 3 or len(np.unique(x[look])) < 3 else (x, y)


def _alike(values: Array, column: Array, least: float) -> tuple[Array, Array] | None:
    """The rows known in both, if a glance at their ranks says that they may be copies: most columns are none."""
    known = _known(values, column)
    if known is None:
        return None
    x, y = known
    look = glance(len(x))
    # the glance first: it takes a hundredth of the time
    return known if _by_rank(x[look], y[look]) >= least and not ranks_alone(y) else None


def _copied(values: Array, column: Array) -> bool:
    """Whether a column is the other one in a usual form, or rises or falls with it exactly, up to rounding."""
    alike = _alike(values, column, _GLANCED)
    if alike is None:
        return False
    x, y = alike
    return _in_form(x, y) >= _CLOSE or _by_rank(x, y) >= _EXACT


def _loose(values: Array, column: Array) -> bool:
    """Whether a column follows the other one so closely that whoever knows how knows the mean.

    Errors of single rows average out, so what counts is whether the relation is known: it is for near copies, and for
    multiples, which have a single number (a rate, a unit). Columns that merely go together are left alone.
    """
    alike = _alike(values, column, 0.7)
    if alike is None:
        return False
    x, y = alike
    near = _by_rank(x, y)
    if near < np.tanh(_SURE / np.sqrt(max(len(x) - 3, 1))):
        return False
    if near >= _LOOSE:
        return True
    with np.errstate(all="ignore"):
        low, middle, high = np.quantile(np.nan_to_num(y / x, posinf=1e300, neginf=-1e300), (0.16, 0.5, 0.84))
        # a multiple grows in proportion; narrow columns have nearly one ratio whatever ties them
        rise = float(np.cov(x, y)[0, 1] / np.var(x) * np.mean(x) / np.mean(y))
    return near >= _LOOSE_MULTIPLE and high - low <= 2 * _ERRORS * abs(middle) and abs(rise - 1) <= _IN_PROPORTION


def ranks_alone(y: Array) -> bool:
    """Whether a column only numbers the rows, in whatever order, or numbers classes of equal size.

    Numbers stand in equal steps: a column with one tie is no numbering, and classes that are called by their means say
    more than ranks.
    """
    return _ranks_alone(y)


def _in_equal_steps(y: Array) -> bool:
    places, _, counts = distinct(y)
    if len(places) < 2 or np.ptp(counts) > 1 or (len(places) < len(y) and len(places) > 100):
        return False
    gaps = np.diff(places)
    return bool(np.all(np.abs(gaps - gaps[0]) <= 1e-9 * np.abs(y).max()))


_ranks_alone = Memo(_in_equal_steps, 128)


def _of_number(values: Array, column: Array) -> bool:
    """Whether the column is a usual function, and no straight line, of the rows' numbers: a squared trend."""
    if not np.isfinite(column).all() or not ranks_alone(column):
        return False
    return _in_form(values, column) >= _FUNCTION and _correlated(values, column) < _STRAIGHT


def _correlated(x: Array, y: Array) -> float:
    good = np.isfinite(x) & np.isfinite(y)
    if np.count_nonzero(good) < 0.9 * len(x):
        return 0.0
    if not good.all():
        x, y = x[good], y[good]
    return abs(float(np.corrcoef(x, y)[0, 1])) if np.ptp(x) and np.ptp(y) else 0.0


def _by_rank(x: Array, y: Array) -> float:
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return 0.0
    return _correlated(mid_ranks(x), mid_ranks(y))


def _in_form(x: Array, y: Array) -> float:
    with np.errstate(all="ignore"):
        return max(_correlated(there(x), y) for there, _ in FORMS.values())


def _in_part(values: Array, column: Array) -> tuple[float, float] | None:
    """Slope and start of a ratio or difference that more rows have than by chance: rates by class, some rows copied."""
    known = _known(values, column)
    if known is None:
        return None
    x, y = known
    look = glance(len(x))
    for rows in (look, slice(None)):
        found = _common(x[rows], y[rows])
        if found is None:
            return None
    return None if ranks_alone(y) else found


def _common(x: Array, y: Array) -> tuple[float, float] | None:
    before = np.roll(x, 1)
    with np.errstate(all="ignore"):
        for ratio in (True, False):
            fine = 1e-3 if ratio else 1e-3 * float(np.std(x))
            rest, chance = (np.log(np.abs(y / one)) if ratio else y - one for one in (x, before))
            (seen, at), (luck, _) = _fullest(rest, fine), _fullest(chance, fine)
            if seen >= _PART and seen >= 4 * luck:
                sign = float(np.sign(np.median(x) * np.median(y))) or 1.0
                return (sign * float(np.exp(-at)), 0.0) if ratio else (1.0, -at)
    return None


def _fullest(values: Array, width: float) -> tuple[float, float]:
    """The largest share of the values that lies within a window, and its middle."""
    known = np.sort(values[np.isfinite(values)])
    if len(known) < _LEAST_ROWS:
        return 0.0, 0.0
    held = np.searchsorted(known, known + 2 * width, side="right") - np.arange(len(known))
    best = int(np.argmax(held))
    return float(held[best]) / len(values), float(np.median(known[best : best + int(held[best])]))


def _in_stretch(values: Array, column: Array) -> tuple[float, float] | None:
    """The stretch of the rows, as shares of all, in which a column is a copy though not in the others."""
    if len(values) < _STRETCHES * _LEAST_STRETCH:
        return None
    edges = np.linspace(0, len(values), _STRETCHES + 1).astype(np.int64)
    open_ = range(_STRETCHES) if not np.isfinite(column).all() else stretches_alike(values, column, edges, _GLANCED)
    found = [i for i in open_ if _copied(*(part[edges[i] : edges[i + 1]] for part in (values, column)))]
    return (found[0] / _STRETCHES, (found[0] + 1) / _STRETCHES) if found else None


def _makes_whole(values: Array, column: Array) -> bool:
    """Whether the column times a count is whole, up to its rounding: an average beside its count."""
    from scipy.special import bdtrc

    known = np.isfinite(column)
    x, count = values[known], column[known]
    if len(x) < _LEAST_ROWS or np.any(count < 0) or np.any(count != np.floor(count)) or len(np.unique(count)) < 3:
        return False
    # as it is written: to so many decimals, or exactly
    digits = next((d for d in range(7) if np.all(np.abs(np.round(x, d) - x) <= 1e-9 * np.abs(x))), None)
    slack = count * (1e-9 * np.abs(x).max() if digits is None else 0.5 * 10.0**-digits) * 1.001 + 1e-9
    told = (count >= 2) & (count <= _MOST_COUNT) & (slack < 0.15)
    if np.count_nonzero(told) < _LEAST_ROWS:
        return False
    x, count, slack = x[told], count[told], slack[told]
    hits, chance = (_whole(x * number, slack) for number in (count, np.roll(count, 1)))
    share = max(float(np.mean(2 * slack)), chance / len(x), 1e-9)
    return hits >= 0.9 * len(x) and chance < 0.8 * hits and float(bdtrc(hits - 1, len(x), min(share, 1.0))) < _LUCK


def _whole(values: Array, slack: Array) -> int:
    return int(np.count_nonzero(np.abs(values - np.rint(values)) <= slack))


# --- flags and labels -----------------------------------------------------------------------------
def find_changes(values: Array, keys: NDArray[np.generic]) -> list[Change]:
    """Where a label changes, if few of its values go with few ranges of the column's, but for some typing errors.

    The labels of a change are positions among the different ones, sorted.
    """
    names, codes, counts = distinct(keys)
    if not 2 <= len(names) <= _LABELS or len(values) - counts.max() < _SIDE:
        return []
    if len(names) > 2 and np.ptp(counts) <= 1:
        return []  # as many rows each: quarters or tenths, which know ranks alone
    # rows of one value belong to its most frequent label, or are errors
    places, code, _ = distinct(values)
    pairs, rows = np.unique(code * len(names) + codes, return_counts=True)
    order = np.lexsort((-rows, pairs // len(names)))
    first = order[np.searchsorted(pairs[order] // len(names), np.arange(len(places)))]
    if len(values) - int(rows[first].sum()) > _STRAY * len(values):
        return []
    label = pairs[first] % len(names)
    turns = np.flatnonzero(np.diff(label))
    mixed = len(values) * (1 - float(np.sum((counts / len(values)) ** 2)))  # runs of labels that know nothing
    allowed = 2 * len(names) + 2 * min(_STRAY * len(values), 0.1 * mixed)
    if len(turns) + 1 > allowed or mixed < 3 * len(turns) or mixed - len(turns) - 1 < _SIDE:
        return []
    return _changes(places, label, rows[first])


def _changes(places: Array, label: NDArray[np.int64], rows: NDArray[np.int64]) -> list[Change]:
    """The borders of the ranges, once short runs are taken for errors."""
    starts = np.concatenate(([0], np.flatnonzero(np.diff(label)) + 1))
    held = np.add.reduceat(rows, starts)
    kept: list[int] = []
    for start, size in zip(starts, held, strict=True):
        if size >= _SIDE and (not kept or label[start] != label[kept[-1]]):
            kept.append(int(start))
    ends = [max(int(s) for s in starts if s <= start) for start in kept]
    return [
        Change(low=float(places[end - 1]), high=float(places[end]), lower=int(label[one]), upper=int(label[end]))
        for one, end in zip(kept[:-1], ends[1:], strict=True)
    ]


# --- several columns ------------------------------------------------------------------------------
def _pairs(values: Array, columns: Mapping[str, Array]) -> Iterator[Tie]:
    """Pairs of columns whose difference, sum, quotient, product, larger, smaller or hypotenuse is a copy of it."""
    names = list(columns)
    for one, two in likely_pairs(values, names, columns):
        y, z = columns[names[one]], columns[names[two]]
        numbered = [part for part in (y, z) if ranks_alone(finite_part(part))]
        if len(numbered) == 2 or any(_by_rank(values, part) >= _LOOSE for part in numbered):
            continue  # the rows' numbers in the column's order: with whatever else, they know ranks alone
        for joint, join in JOINTS.items():
            if joint == "clock":  # for clock times alone
                continue
            with np.errstate(all="ignore"):
                joined = join(y, z)
            if _copied(values, joined):
                yield fitted(Tie(columns=(names[one], names[two]), joint=joint), values, joined, close=0.8 * _CLOSE)
                break


def _clocks(values: Array, columns: Mapping[str, Array]) -> Iterator[Tie]:
    """Clock times with the minutes between them: a sum would not see it, for times go round at midnight."""
    times = [name for name, column in columns.items() if is_clock(column)][:_TIMES]
    for later, earlier in permutations(times, 2):
        between = minutes_between(columns[later], columns[earlier])
        if _copied(values, between):
            tie = Tie(columns=(later, earlier), joint="clock")
            yield fitted(tie, values, between, close=0.8 * _CLOSE)


def likely_pairs(values: Array, names: list[str], columns: Mapping[str, Array]) -> list[tuple[int, int]]:
    """Pairs of which a glance says that they may make the column, at most as many as can be looked at closely.

    The share of the variation that two columns explain together is a formula of the three correlations, so that all
    pairs are looked at once: of the columns for sums, of their logarithms for products, of their squares for the sides
    of a right triangle, beside every usual form.
    """
    if len(names) < 2:
        return []
    look = glance(len(values))
    x = values[look]
    plain = np.column_stack([columns[name][look] for name in names])
    best = np.zeros((len(names), len(names)))
    with np.errstate(all="ignore"):
        forms = [form(x) for form, _ in FORMS.values()]
        forms = [form for form in forms if np.isfinite(form).all() and np.ptp(form)]
        for table in (plain, np.log(np.abs(plain)), plain * plain):
            table = _standard(table)
            among = table.T @ table
            rest = np.maximum(1 - among**2, 1e-13)
            for form in forms:
                r = (_standard(form[:, None]).T @ table)[0]
                np.maximum(best, (r[:, None] ** 2 + r**2 - 2 * among * np.outer(r, r)) / rest, out=best)
        # the larger of two is no sum: most rows are one or the other
        same = (np.abs(plain - x[:, None]) <= 1e-3 * np.abs(x)[:, None]).astype(np.float64)
        share = same.mean(axis=0)
        either = share[:, None] + share - same.T @ same / len(x)
    best[either >= 0.9] = np.inf
    found = np.argwhere(np.triu(best >= _LIKELY, k=1))
    if len(found) > _MOST_PAIRS:  # few rows, which many pairs of columns explain by chance
        found = found[np.argsort(-best[found[:, 0], found[:, 1]], kind="stable")[:_MOST_PAIRS]]
    return sorted((int(i), int(j)) for i, j in found)


def _standard(table: Array) -> Array:
    """Columns of mean 0 and length 1; what is missing counts as the mean."""
    good = np.isfinite(table)
    rows = np.maximum(good.sum(axis=0), 1)
    centred = np.where(good, table - np.where(good, table, 0.0).sum(axis=0) / rows, 0.0)
    return np.asarray(centred / np.maximum(np.sqrt((centred**2).sum(axis=0)), 1e-300))


def _together(values: Array, columns: Mapping[str, Array]) -> Tie | None:
    """Columns that make the column, or its logarithm, as a weighted sum: a fit that leaves next to nothing."""
    names = [name for name, column in columns.items() if not ranks_alone(finite_part(column))][:_TOGETHER]
    if len(names) < 2:
        return None
    with np.errstate(all="ignore"):
        for joint, target, parts in (
            ("sum", values, [columns[name] for name in names]),
            ("product", np.log(values), [np.log(columns[name]) for name in names]),
        ):
            kept = [i for i, part in enumerate(parts) if np.mean(np.isfinite(part)) >= 0.9]
            if len(kept) < 2 or not np.isfinite(target).all():
                continue
            table = np.column_stack([parts[i] for i in kept])
            rows = np.isfinite(table).all(axis=1)
            table, wanted = table[rows], target[rows]
            if len(wanted) < 4 * len(kept) + 20 or not np.ptp(wanted):
                continue
            spread = np.maximum(table.std(axis=0), 1e-300)
            table = (table - table.mean(axis=0)) / spread
            centred = wanted - wanted.mean()
            if surely_less(table, centred, _CLOSE**2):
                continue
            weights, *_ = np.linalg.lstsq(table, centred, rcond=None)
            left = float(np.sum((centred - table @ weights) ** 2)) / float(np.sum(centred**2))
            if 1 - left >= _CLOSE**2:
                heavy = [i for i in np.argsort(-np.abs(weights)) if abs(weights[i]) > 1e-6 * np.abs(weights).max()]
                tie = Tie(
                    columns=tuple(names[kept[i]] for i in heavy),
                    joint=joint,
                    weights=tuple(float(weights[i] / spread[i]) for i in heavy),
                )
                return fitted(tie, values, tie.joined(columns), close=0.8 * _CLOSE)
    return None


def surely_less(table: Array, wanted: Array, share: float) -> bool:
    """Whether columns of mean 0 and spread 1 explain far less, by equations that are ten times as quick to solve.

    Where two of them are nearly one (a year, as a number and as a date), their difference is worked out row by row.
    What is left of it by rounding errors alone says nothing, as in the solution for which this is a first look; where
    it is neither that nor clearly more, the answer is no.
    """
    sizes, ways = np.linalg.eigh(table.T @ table)
    if not sizes[-1] > 0:
        return False
    nothing = float(np.finfo(np.float64).eps) * max(table.shape)  # of the largest: what a least-squares fit leaves out
    along, explained = table.T @ wanted, 0.0
    for size, way in zip(sizes, ways.T, strict=True):
        made = table @ way if size <= 1e-6 * sizes[-1] else None
        size = float(size) if made is None else float(made @ made)
        if size < (0.5 * nothing) ** 2 * sizes[-1]:
            continue
        if size < 1e-16 * sizes[-1]:
            return False
        explained += float(way @ along if made is None else made @ wanted) ** 2 / size
    return explained < (share - 0.01) * float(wanted @ wanted)


def _usable(column: Array) -> bool:
    known = finite_part(column)
    return len(known) >= max(_LEAST_ROWS, 0.5 * len(column)) and bool(np.ptp(known) > 0)
