"""What another column says of groups: the share above a limit, a number of cases, a spread, a quantile, a tier.

A column that has one value in each group of another (the late rate of a carrier, the tier of a customer) may be worked
out from the rows of the group. Then it stands in the same order as that very number of the groups, without exception
but for rounding, and tells where the column was. Averages and totals are looked for by their size as well, in
:mod:`~statveil.tables.structure.others.row_search`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.group_links import FEW, group_link
from statveil.tables.structure.others.group_numbers import Grouped, Number, usual_numbers
from statveil.tables.structure.others.links import Link
from statveil.tables.structure.reading.distinct import distinct

__all__ = ["GroupNumbers", "find_aggregates", "find_shares"]

Keys = NDArray[np.generic]
Codes = NDArray[np.int64]

_LEAST_GROUPS, _MOST_GROUPS = 5, 256
_SEVERAL = 0.5  # share of the rows that are in groups of two or more
_CONSTANT = 0.98  # share of the groups in which a column has one value
_MOST_LIMITS = 1024  # between two of those that are tried first
_LIMITS = 64  # limits that are tried: as many quantiles of the column
_GLANCED = 0.85  # correlation of ranks, in absolute terms, from which the order is looked at pair by pair
_LOOKS = np.log(32.0)  # numbers of the groups that differ: most go together
_CLOSEST = 12  # numbers of the groups that are looked at so
_WRONG = 0.01  # share of the pairs of groups that may stand in another order: other ways to round
_STRAIGHT = 0.995  # squared correlation: whole per cent of a few hundred rows
_BY_SIZE = 0.1  # of what the mere size of the groups gets wrong
_LUCK, _LUCK_FLAG = np.log(1e-9), np.log(1e-6)  # that groups in no relation stand in one order; of a flag
_GROUPINGS, _PAIRS = 24, 400  # columns that group the rows, and pairs of such a column and another one
_LABELS = 8  # of a hidden category


class GroupNumbers:
    """All that may be said of the groups of one column, prepared once for every other column.

    Parameters
    ----------
    values : array
        The hidden column, with a number in each row.
    code : array of int
        The group of each row, from 0.
    shares_only : bool
        Whether the values are 0 and 1, as for a label of a hidden category.
    """

    def __init__(self, values: Array, code: Codes, *, shares_only: bool = False) -> None:
        self._groups = Grouped(values, code)
        self._size = self._groups.size
        self._ranks: Array | None = None
        self._limits, self._exact = np.array([0.5]), shares_only
        if not shares_only:
            self._limits = np.unique(np.quantile(values, np.linspace(0, 1, _LIMITS + 2)[1:-1]))
        above = self._size - self._groups.below(self._limits)
        self._made = _by_limit(self._limits)
        self._numbers = np.vstack((above / self._size, above))
        if not shares_only:
            usual = usual_numbers(self._groups)
            self._made += usual
            self._numbers = np.vstack((self._numbers, *(one.of(self._groups) for one in usual)))

    def tell(self, level: Array) -> tuple[Number, Array, str] | None:
        """The number of the groups that a number of each group, NaN where it has none, is made of.

        With what it is of each group, and ``"log"`` where only logarithms stand on a line.
        """
        good = np.isfinite(level)
        if np.count_nonzero(good) < _LEAST_GROUPS or not np.ptp(level[good]):
            return None
        z = level[good]
        chance = _log_chance(z)
        few = len(np.unique(z)) <= FEW
        luck = _LUCK_FLAG if few else _LUCK  # averages of a country's regions go together anyway
        if chance + _LOOKS > luck:
            return None
        by_size = _wrong(z, self._size[good][None, :].astype(np.float64))[0]
        table = self._numbers[:, good]
        if good.all() and self._ranks is None:
            self._ranks = _ranks(table)
        near = _by_rank(z, self._ranks if good.all() and self._ranks is not None else _ranks(table))
        best = np.argsort(-near)[:_CLOSEST]
        best = best[near[best] >= _GLANCED * _tied(z)]
        if not len(best):
            return None
        made = [self._made[i] for i in best]
        between = self._between(best)
        above = (self._size - self._groups.below(between))[:, good]
        table = np.vstack((table[best], above / self._size[good], above))
        made += _by_limit(between)
        sized = np.array([one.sized for one in made])
        wrong = _wrong(z, table)
        pairs = _pairs(z)
        # a number of the group that goes with its size says no more than that unless it does much better
        allowed = np.where(sized, np.minimum(_WRONG, _BY_SIZE * by_size / pairs), _WRONG) * pairs
        sure = chance + _LOOKS + wrong * np.log(len(z)) <= luck
        told = (wrong <= allowed) & sure & ~(sized & (by_size == 0))
        for i in np.flatnonzero(told)[np.argsort(wrong[told], kind="stable")]:
            # averages rise with a scale (ability with years of school) by nature, but on no straight line
            form = "" if few else _straight(z, table[i])
            if form is not None:
                full = np.full(len(level), np.nan)
                full[good] = table[i]
                return made[i], full, form
        return None

    def _between(self, best: Codes) -> Array:
        """All limits around the best one, if it is a limit that is best."""
        count = len(self._limits)
        first = next((int(i) for i in best if i < 2 * count), None)
        if first is None or self._exact:
            return np.zeros(0)
        at, x = first % count, self._groups.x
        low = self._limits[at - 1] if at else -np.inf
        high = self._limits[at + 1] if at + 1 < count else np.inf
        inside = np.unique(x[(x >= low) & (x <= high)])
        return inside[:: len(inside) // _MOST_LIMITS + 1]


def _by_limit(limits: Array) -> list[Number]:
    return [Number(name=name, at=float(at)) for name in ("share above", "rows above") for at in limits]


def find_aggregates(
    values: Array,
    numbers: Mapping[str, Array],
    labels: Mapping[str, Keys],
    *,
    known: frozenset[str] = frozenset(),
    alone: bool = True,
) -> Iterator[Link]:
    """Columns that are made of the values of a group, each with the column that says which rows are one.

    A column with few values groups the rows by itself, too: equal shares of two groups are that share of both.

    Parameters
    ----------
    values : array
        The column, with a number in each row.
    numbers, labels : mapping of str to array
        Other columns as numbers, and as labels.
    known : frozenset of str
        Columns that tell the column in another way, which are not looked at again.
    alone : bool
        Whether a column may group the rows by its own values.
    """
    if len(values) < 2 * _LEAST_GROUPS or not np.ptp(values):
        return
    yield from _found([values], numbers, labels, known, shares_only=False, alone=alone)


def find_shares(
    values: Array, numbers: Mapping[str, Array], labels: Mapping[str, Keys], *, alone: bool = True
) -> Iterator[Link]:
    """The same for a hidden category: columns that say the share or the number of a label in each group."""
    codes, counts = np.unique(values, return_counts=True)
    frequent = codes[np.argsort(-counts, kind="stable")][:_LABELS]
    if len(codes) < 2:
        return
    flags = [(values == label).astype(np.float64) for label in frequent[: 1 if len(codes) == 2 else _LABELS]]
    yield from _found(flags, numbers, labels, frozenset(), shares_only=True, alone=alone)


def _found(
    hidden: list[Array],
    numbers: Mapping[str, Array],
    labels: Mapping[str, Keys],
    known: frozenset[str],
    *,
    shares_only: bool,
    alone: bool,
) -> Iterator[Link]:
    told: set[str] = set()
    tried = 0
    levels = {name: column for name, column in _levels(numbers, labels).items() if name not in known}
    for group, code in _groups(labels):
        here: list[GroupNumbers] | None = None
        rows, dense = _part(code)
        for name, column in levels.items():
            if name == group or name in told or tried >= _PAIRS:
                continue
            level = _constant(column[rows], dense)
            if level is None:
                continue
            if here is None:
                here = [GroupNumbers(one[rows], dense, shares_only=shares_only) for one in hidden]
            tried += 1
            if (link := _link((group, name), here, level)) is not None:
                told.add(name)
                yield link
    for name, column in levels.items() if alone else ():
        own = None if name in told or name not in numbers else _own_groups(column)
        if own is None or tried >= _PAIRS:
            continue
        tried += 1
        rows, dense = _part(own)
        level = _constant(column[rows], dense)
        if level is None:
            continue
        groups = (GroupNumbers(one[rows], dense, shares_only=shares_only) for one in hidden)
        if (link := _link((name,), groups, level)) is not None:
            told.add(name)
            yield link


def _link(columns: tuple[str, ...], hidden: Iterable[GroupNumbers], level: Array) -> Link | None:
    """Of the hidden columns, the first whose groups have the number that another column says."""
    found = next((one for one in (groups.tell(level) for groups in hidden) if one is not None), None)
    if found is None:
        return None
    number, made, form = found
    known = np.isfinite(made)
    return group_link(columns, number, level[known], made[known], straight=form)


def _levels(numbers: Mapping[str, Array], labels: Mapping[str, Keys]) -> dict[str, Array]:
    """Columns of numbers, and flags: a flag is 0 and 1, whichever of its labels is which."""
    levels = dict(numbers)
    for name, keys in labels.items():
        names, code, _ = distinct(keys)
        if len(names) == 2 and not (name in levels and np.isfinite(levels[name]).any()):
            levels[name] = code.astype(np.float64)
    return levels


def _groups(labels: Mapping[str, Keys]) -> Iterator[tuple[str, Codes]]:
    found = 0
    for name, keys in labels.items():
        names, code, counts = distinct(keys)
        if len(names) < _LEAST_GROUPS or counts[counts > 1].sum() < _SEVERAL * len(keys) or found >= _GROUPINGS:
            continue
        found += 1
        yield name, code.astype(np.int64)


def _own_groups(column: Array) -> Codes | None:
    known = np.isfinite(column)
    names, code, counts = distinct(column)
    if not known.all() or len(names) < _LEAST_GROUPS or counts[counts > 1].sum() < _SEVERAL * len(column):
        return None
    return code.astype(np.int64)


def _part(code: Codes) -> tuple[Codes, Codes]:
    """The rows of at most so many groups, whole ones, with their numbers anew."""
    groups = int(code.max()) + 1
    if groups <= _MOST_GROUPS:
        return np.arange(len(code)), code
    chosen = np.random.default_rng(0).permutation(groups) < _MOST_GROUPS
    rows = np.flatnonzero(chosen[code])
    return rows, np.unique(code[rows], return_inverse=True)[1].astype(np.int64)


def _constant(column: Array, code: Codes) -> Array | None:
    """The one value that a column has in each group, NaN where it has several; ``None`` if it often has."""
    groups = int(code.max()) + 1
    known = np.isfinite(column)
    if np.count_nonzero(known) < _CONSTANT * len(column):
        return None
    first = np.full(groups, np.nan)
    first[code[::-1]] = column[::-1]
    off = known & (column != first[code])
    mixed = np.zeros(groups, dtype=np.bool_)
    mixed[code[off]] = True
    if np.count_nonzero(mixed) > (1 - _CONSTANT) * groups:
        return None
    first[mixed] = np.nan
    return first


def _log_chance(level: Array) -> float:
    """That groups in a random order stand as one of their numbers does, up or down; equals in any order."""
    from scipy.special import gammaln

    _, counts = np.unique(level, return_counts=True)
    return float(np.log(2) + gammaln(counts + 1.0).sum() - gammaln(len(level) + 1.0))


def _ranks(table: Array) -> Array:
    """Middle ranks of each row of a table, less their average."""
    ranks = np.empty(table.shape)
    for i, row in enumerate(table):
        _, code, counts = np.unique(row, return_inverse=True, return_counts=True)
        ranks[i] = (np.cumsum(counts) - 0.5 * (counts - 1))[code]
    return np.asarray(ranks - ranks.mean(axis=1, keepdims=True))


def _by_rank(level: Array, ranks: Array) -> Array:
    one = _ranks(level[None, :])[0]
    sizes = np.sqrt((ranks**2).sum(axis=1) * (one**2).sum())
    return np.asarray(np.abs(ranks @ one) / np.maximum(sizes, 1e-300))


def _straight(level: Array, number: Array) -> str | None:
    """Whether a number of the groups is the other one up to rounding and units: ``""``, or ``"log"`` of both."""
    forms = {"": (level, number)}
    if np.all(level > 0) and np.all(number > 0):
        forms["log"] = np.log(level), np.log(number)
    fits = {form: float(np.corrcoef(x, y)[0, 1]) ** 2 for form, (x, y) in forms.items() if np.ptp(y) > 0}
    best = max(fits, key=fits.__getitem__, default="")
    return best if fits.get(best, 0.0) >= _STRAIGHT else None


def _tied(level: Array) -> float:
    """The largest correlation of ranks that a column with so many equal values has with one that has none."""
    _, counts = np.unique(level, return_counts=True)
    rows = len(level)
    return float(np.sqrt(max(1 - np.sum(counts**3.0 - counts) / (rows**3.0 - rows), 0.0)))


def _pairs(level: Array) -> float:
    """Pairs of groups of which the one stands above the other."""
    _, counts = np.unique(level, return_counts=True)
    return max(0.5 * (len(level) ** 2 - float((counts**2.0).sum())), 1.0)


def _wrong(level: Array, table: Array) -> Array:
    """How many pairs of groups stand in another order by each number, or are equal by it; up or down, the fewer."""
    order = np.argsort(level, kind="stable")
    z = level[order]
    one, two = np.triu_indices(len(z), 1)
    different = z[one] != z[two]
    one, two = order[one[different]], order[two[different]]
    wrong = np.empty(len(table))
    for i, row in enumerate(table):
        change = row[two] - row[one]
        slack = 1e-9 * float(np.abs(row).max(initial=0.0))
        wrong[i] = min(np.count_nonzero(change <= slack), np.count_nonzero(change >= -slack))
    return wrong
