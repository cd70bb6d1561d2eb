"""Labels that say whether the column is the smallest or largest beside others: the shop with the lowest price.

The own price is hidden and moves; those of two rivals stay, and so does the name of the cheapest. In the rows of one
label no other column lies below, and in all other rows one of them does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.alongside import LEFT, SIZES
from statveil.tables.structure.others.limit_search import errors_of
from statveil.tables.structure.reading.distinct import distinct, finite_part

__all__ = ["find_extremes"]

Keys = NDArray[np.generic]
Sides = NDArray[np.bool_]

_ROWS = 2048  # that are compared
_LEAST_ROWS, _FEWEST = 30, 10
_LABELS = 9  # one for the column, and eight for others
_NUMBERS, _TOGETHER = 200, 8
_STRAY = 0.05  # of the rows that are wrong otherwise: typing errors
_TYPED, _SAYS = 0.02, 0.01  # of the rows of a label in which a column may lie below, and of all others where it must
_LUCK, _USUAL = 1e-6, 0.5  # that a label which merely goes with the columns makes so few exceptions


def find_extremes(
    values: Array,
    numbers: Mapping[str, Array],
    labels: Mapping[str, Keys],
    *,
    known: frozenset[str] = frozenset(),
) -> Iterator[tuple[str, ...]]:
    """Columns with the label that says whether this one is the smallest, or the largest, beside them.

    Parameters
    ----------
    values : array
        The column, with a number in each row.
    numbers, labels : mapping of str to array
        Other columns as numbers, and as labels.
    known : frozenset of str
        Columns that tell the column in another way, which are not looked at again.

    Examples
    --------
    >>> prices = np.random.default_rng(0).lognormal(3, 0.3, (300, 3))
    >>> shop = np.array(["own", "one", "two"])[prices.argmin(axis=1)]
    >>> others = {"one": prices[:, 1], "two": prices[:, 2]}
    >>> sorted(next(find_extremes(prices[:, 0], others, {"cheapest": shop})))
    ['cheapest', 'one', 'two']
    """
    look = np.linspace(0, len(values) - 1, min(len(values), _ROWS)).astype(np.int64)
    x = values[look]
    if len(x) < _LEAST_ROWS or not np.ptp(x):
        return
    free = list(islice((n for n, column in numbers.items() if n not in known and _usable(n, column[look])), _NUMBERS))
    if not free:
        return
    table = np.column_stack([numbers[name][look] for name in free])
    flags = []
    for name, keys in labels.items():
        places, code, counts = distinct(keys[look])
        if name not in known and 2 <= len(places) <= _LABELS:
            flags += [(name, code == i) for i in range(len(places)) if _FEWEST <= counts[i] <= len(x) - _FEWEST]
    found: set[str] = set()
    for sign in (1.0, -1.0):
        with np.errstate(invalid="ignore"):
            beyond = sign * (table - x[:, None])  # missing values say nothing: neither is so
            below, level = beyond < 0, beyond <= 0
        others = np.where(np.isfinite(beyond), sign * table, np.inf)
        for name, flag in flags:
            if name in found:
                continue
            if columns := _extreme(x, others, below, level, flag, luck=np.log(_LUCK) - np.log(len(flags))):
                found.add(name)
                yield (*(free[i] for i in columns), name)


def _usable(name: str, column: Array) -> bool:
    known = finite_part(column)
    return not name.endswith((SIZES, LEFT)) and len(known) >= 0.5 * len(column) and len(np.unique(known)) > 2


def _extreme(x: Array, others: Array, below: Sides, level: Sides, flag: Sides, *, luck: float) -> list[int]:
    """The columns of which none lies below in flagged rows, but for typing errors, and one does in nearly all others.

    Which label rows have where two are equal says nothing: ``level`` are the columns that lie below or are equal.
    """
    rest = ~flag
    # those that are never below say nothing
    useful = np.count_nonzero(below[rest], axis=0) >= _SAYS * np.count_nonzero(rest)
    kept = np.flatnonzero(useful & (np.count_nonzero(below[flag], axis=0) <= _TYPED * np.count_nonzero(flag)))
    chosen: list[int] = []
    open_ = rest
    while len(chosen) < _TOGETHER and len(kept) and open_.any():
        gains = np.count_nonzero(level[open_][:, kept], axis=0)
        if not gains.any():
            break
        chosen.append(int(kept[np.argmax(gains)]))
        open_ = open_ & ~level[:, chosen[-1]]
    if not chosen:
        return []
    wrong = int(np.count_nonzero(below[flag][:, chosen].any(axis=1)) + np.count_nonzero(open_))
    # by one of the columns alone, or by the smallest of the others
    alone = [x, *others[:, chosen].T, others[:, chosen].min(axis=1)]
    without = min(errors_of(np.where(np.isfinite(one), one, np.finfo(np.float64).max), flag) for one in alone)
    if wrong > _STRAY * without or (without - wrong) * np.log(_USUAL) + np.log(len(flag)) * wrong > luck:
        return []
    return chosen
