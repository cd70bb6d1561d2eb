"""What groups add: shares of a group's total, values written once per id; and the same values in other rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.column.multiple_search import common_multiples, multiples
from statveil.tables.structure.others.links import SameLink, WithinLink, within_groups
from statveil.tables.structure.reading.distinct import Memo, distinct, in_order

__all__ = [
    "constant_totals",
    "find_same",
    "find_within",
    "group_totals",
    "groupings",
    "marks_repeats",
    "multiples_of",
    "multiples_within",
    "numbers_rows",
    "one_code_each",
    "written_once",
]

_LEAST_ROWS = 20
_GROUPS = 3
_TOLD = 0.99  # of the variation within groups
_COMBINED = 300  # pairs of a group column and a column of numbers that are looked at
_GLANCE = 4096
_SAME, _DIFFERENT = 0.9, 20
_ONE_VALUE, _FILLED = 0.95, 0.5
_CODES, _DENSE = 20, 0.2
_TOTALS, _FINE = 3, 1e-4  # groups whose total is written down, and how exactly
_FEWEST_MARKED, _UNMARKED = 5, 0.1  # rows of the rarer mark, and its errors
_CONSTANT = 0.9  # share of the groups that have one total
_NUMBERED = 8  # groups whose rows are numbered

Keys = NDArray[np.generic]


def groupings(labels: Mapping[str, Keys]) -> dict[str, NDArray[np.int64]]:
    """Columns that put at least two rows each into several groups."""
    found = {}
    for name, keys in labels.items():
        names, code, counts = distinct(keys)
        if len(names) >= _GROUPS and counts[counts > 1].sum() >= 0.5 * len(keys):
            found[name] = code.astype(np.int64)
    return found


def find_within(values: Array, numbers: Mapping[str, Array], labels: Mapping[str, Keys]) -> list[WithinLink]:
    """Columns that are multiples of the column in each group, as shares of the group's total are."""
    look = slice(None, _GLANCE)  # the first rows: groups often stand together
    with np.errstate(all="ignore"):
        x = np.log(np.abs(values[look]))
        shapes = {name: np.log(np.abs(column[look])) for name, column in numbers.items()}
    shapes = {name: shape for name, shape in shapes.items() if np.mean(np.isfinite(shape)) >= 0.5}
    found: list[WithinLink] = []
    left = _COMBINED
    for group, code in groupings({name: keys[look] for name, keys in labels.items()}).items():
        own = within_groups(x, code.astype(np.float64))
        for name, shape in shapes.items():
            if name == group or left == 0 or any(one.columns[0] == name for one in found):
                continue
            left -= 1
            good = np.isfinite(own) & np.isfinite(shape)
            if np.count_nonzero(good) < _LEAST_ROWS:
                continue
            with np.errstate(invalid="ignore"):
                ratio = np.where(good, x - shape, np.nan)
            rest = within_groups(ratio, code.astype(np.float64))
            if not np.isfinite(rest[good]).any():  # each group has both numbers in one row at most
                continue
            spread, off = float(np.nanmean(own[good] ** 2)), float(np.nanmean(rest[good] ** 2))
            if spread > 1e-12 and off <= (1 - _TOLD) * spread:
                found.append(WithinLink(columns=(name, group)))
    return found


def written_once(values: Array, column: Array, code: NDArray[np.int64]) -> Array | None:
    """A column that is empty but in one row of each group, filled in for all of the group; ``None`` if it is not so."""
    known = np.flatnonzero(np.isfinite(column))
    if not _LEAST_ROWS <= len(known) <= 0.8 * len(column):
        return None
    groups = int(code.max()) + 1
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, code[known], column[known])
    np.maximum.at(high, code[known], column[known])
    told = np.isfinite(low)
    if np.mean((low == high)[told]) < _ONE_VALUE or np.mean(told[code]) < _FILLED:
        return None
    return np.where(told & (low == high), low, np.nan)[code]


def group_totals(values: Array, column: Array, code: NDArray[np.int64]) -> bool:
    """Whether a column, empty but in a row or so of each group, holds the groups' totals, averages or ends."""
    good, known = np.isfinite(values), np.flatnonzero(np.isfinite(column))
    if not _TOTALS <= len(known) <= 0.8 * len(column):
        return False
    groups = int(code.max()) + 1
    at, x = code[good], values[good]
    rows = np.bincount(at, minlength=groups)
    total = np.bincount(at, weights=x, minlength=groups)
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, at, x)
    np.maximum.at(high, at, x)
    several = rows[code[known]] > 1
    here, level = code[known][several], column[known][several]
    if len(np.unique(here)) < _TOTALS or len(np.unique(level)) < _TOTALS:
        return False
    with np.errstate(all="ignore"):
        fits = [
            np.abs(level - one[here]) <= _FINE * np.minimum(np.abs(one[here]), float(np.std(x)))
            for one in (total, total / rows, low, high)
        ]
    return any(np.count_nonzero(fit) >= max(_TOTALS, _FILLED * len(level)) for fit in fits)


def constant_totals(values: Array, code: NDArray[np.int64]) -> bool:
    """Whether the groups have one total, as shares of a whole do, or values less the average of their group."""
    rows = np.bincount(code)
    total, sizes = np.bincount(code, weights=values), np.bincount(code, weights=np.abs(values))
    several = rows > 1
    if np.count_nonzero(several) < _TOTALS or rows[several].sum() < _FILLED * len(values):
        return False
    total, sizes, rows = total[several], sizes[several], rows[several]
    step = next((10.0**-d for d in range(5) if np.all(np.abs(np.round(values, d) - values) <= 1e-9)), 0.0)
    slack = 1e-9 * sizes + 0.5 * step * rows  # each row is rounded by itself
    middle = float(np.median(total))
    if np.mean(np.abs(total - middle) <= slack) < _CONSTANT or len(np.unique(values)) < 2 * _TOTALS:
        return False
    # rows in no relation have totals that differ: the same groups, with the rows of others
    mixed = np.random.default_rng(0).permutation(values)
    other = np.bincount(code, weights=mixed)[several]
    return bool(np.mean(np.abs(other - np.median(other)) <= slack) < 0.5 * _CONSTANT)


def numbers_rows(values: Array, code: NDArray[np.int64]) -> bool:
    """Whether the values number the rows of each group, as visits of a patient: the groups' sizes tell them all."""
    sizes = np.bincount(code)
    several = sizes > 1
    if np.count_nonzero(several) < _NUMBERED or sizes[several].sum() < _FILLED * len(values):
        return False
    # rows in no relation do so in few groups: the same groups, with the rows of others
    mixed = np.random.default_rng(0).permutation(values)
    return _numbered(values, code, sizes) >= _CONSTANT and _numbered(mixed, code, sizes) < 0.5 * _CONSTANT


def _numbered(values: Array, code: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    """The share of the groups of several rows that have the first numbers, at one step from one start."""
    order = np.lexsort((values, code))
    rising, first = values[order], np.cumsum(sizes) - sizes
    step = float(np.median(np.diff(rising)[np.diff(code[order]) == 0]))
    if not step:
        return 0.0
    expected = float(np.median(rising[first])) + step * (np.arange(len(values)) - np.repeat(first, sizes))
    wrong = np.bincount(code[order], np.abs(rising - expected) > 1e-9 * np.maximum(np.abs(expected), step))
    return float(np.mean(wrong[sizes > 1] == 0))


def find_same(values: Array, name: str, column: Array) -> SameLink | None:
    """Whether a column has the same values as this one, in whatever rows."""
    here, there = (one if good.all() else one[good] for one in (values, column) for good in (np.isfinite(one),))
    x, y = in_order(here), in_order(there)
    if abs(len(x) - len(y)) > 0.02 * len(x) or len(x) < _LEAST_ROWS:
        return None
    places, _, first = distinct(here)
    if len(x) == len(y) and bool(np.all(x == y)) and len(places) >= 5 and (np.ptp(first) or _rare(places)):
        return SameLink(columns=(name,))  # as many of each value, and not by design
    if len(places) < _DIFFERENT:
        return None
    at = np.searchsorted(places, y)
    hit = (at < len(places)) & (places[np.minimum(at, len(places) - 1)] == y)
    second = np.bincount(at[hit], minlength=len(places))
    shared = float(np.minimum(first, second).sum()) / len(x)
    # lattices share many values by chance: then the counts must agree, value by value
    busy = first >= 5
    agree = shared >= _SAME and (np.mean(first) < 2 or bool(np.all(np.abs(first - second)[busy] <= 0.05 * first[busy])))
    return SameLink(columns=(name,)) if agree and _rare(places) else None


def _rare(places: Array) -> bool:
    """Whether two independent columns would hardly have the same values: not every place of a short lattice is used."""
    gaps = np.diff(places)
    return bool(len(places) > 200 or np.ptp(places) > 3 * len(places) * float(gaps.min()))


def multiples_within(values: Array, keys: Keys) -> bool:
    """Whether rows of one label are multiples of one number, which each label has of its own: amounts by an index."""
    names, code, _ = distinct(keys)
    if len(names) == len(keys):
        return False  # no two rows of one label
    if len(names) == 1:
        return _all_multiples(values)
    order = np.lexsort((values, code))
    same = code[order[1:]] == code[order[:-1]]
    return common_multiples(values[order[:-1]][same], values[order[1:]][same])


def multiples_of(values: Array, column: Array) -> bool:
    """Whether the rows are round amounts times, or over, what another column says in the row."""
    x, first = _once_in_a_glance(values)
    y = column[:_GLANCE][first]
    if len(np.unique(y[np.isfinite(y)])) < _GROUPS:
        return False
    with np.errstate(all="ignore"):
        both = (x / y, x * y)
    return any(multiples(np.unique(one[np.isfinite(one)])) for one in both)


def _met_once(values: Array) -> tuple[Array, NDArray[np.int64]]:
    """The values that one of the first rows has, rising, and which: one over several numbers stands as those do."""
    x, first, counts = np.unique(values[:_GLANCE], return_index=True, return_counts=True)
    return x[counts == 1], first[counts == 1]


_once_in_a_glance = Memo(_met_once, 8)


def _multiples_in_order(values: Array) -> bool:
    rising = in_order(values)
    return common_multiples(rising[:-1], rising[1:])


_all_multiples = Memo(_multiples_in_order, 8)


def marks_repeats(values: Array, keys: Keys) -> bool:
    """Whether two labels say which rows have a value that occurs again, or for the first or the last time.

    How often values of a lattice recur tells how wide the column is beside the step.
    """
    names, code, _ = distinct(keys)
    if len(names) != 2 or len(values) < _LEAST_ROWS:
        return False
    _, first, place, counts = np.unique(values, return_index=True, return_inverse=True, return_counts=True)
    last = len(values) - 1 - np.unique(values[::-1], return_index=True)[1]
    marks = np.zeros((3, len(values)), dtype=np.int64)
    marks[0, first] = marks[1, last] = 1
    marks[2] = counts[place] > 1
    marked = marks.sum(axis=1)
    rarer = np.minimum(marked, len(values) - marked)
    wrong = (marks != code).sum(axis=1)
    wrong = np.minimum(wrong, len(values) - wrong)
    return bool(np.any((rarer >= _FEWEST_MARKED) & (wrong <= _UNMARKED * rarer)))


def one_code_each(values: Array, keys: Keys) -> bool:
    """Whether each value goes with one label and each label with one value, on a lattice where values recur.

    An id of people or places meets one value in many ids; a digest of the value, or a code for it, does not.
    """
    places, code, _ = distinct(values)
    if len(places) < _CODES or len(places) > 0.5 * len(values):
        return False
    gaps = np.diff(places)
    if len(places) < _DENSE * (np.ptp(places) / float(gaps.min()) + 1):  # so fine a scale does not recur by chance
        return False
    names, label, _ = distinct(keys)
    pairs = len(np.unique(code.astype(np.int64) * len(names) + label))
    return pairs == len(places) == len(names)
