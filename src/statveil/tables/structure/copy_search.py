"""Whether another column tells the values themselves: a copy in another form, a flag, a label, a sum or a product.

Maps that move all rows alike keep ranks, so whatever follows the column's ranks follows the released ones too, and says
where they were: ``log(wage)`` beside ``wage``, ``passed`` beside ``score``, two clock times beside the delay between
them. Everything here is asked of a part of the rows from the start of the table: a rule that holds for all rows holds
for those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.findings import Finding
from statveil.tables.structure.group_search import Beside, keys_of, order_of

__all__ = ["find_copies"]

_ROWS = 2**14  # rows that are looked at
_LEAST_ROWS = 10
_CLOSE = 0.99  # rank correlation from which a column is a copy, up to its errors
_LABELS = 20  # different values of a label or flag
_SIDE = 5  # rows on either side of a place where a label changes, for it to be no accident
_STRAY = 5e-3  # share of rows that may be off: typing errors, each of which moves the border for others too
_GLANCE = 256  # rows of a first look
_PAIRED = 24  # columns whose pairs are looked at


def find_copies(rows: Beside) -> list[Finding]:
    """A finding that names the columns, or pairs of them, that tell the column's values."""
    values, orders, labels = _first(rows)
    if len(values) < _LEAST_ROWS or np.ptp(values) == 0:
        return []
    told = [repr(name) for name, order in orders.items() if _copied(values, order)]
    told += [repr(name) for name, keys in labels.items() if repr(name) not in told and _split(values, keys)]
    free = {name: order for name, order in orders.items() if repr(name) not in told}
    told += [f"{one!r} with {two!r}" for one, two in _pairs(values, free)]
    if not told:
        return []
    names = ", ".join(told[:5]) + (f" and {len(told) - 5} more" if len(told) > 5 else "")
    says = (
        f"other columns tell its values ({names}): a copy in another form, a flag or label for a range of values, or "
        "a sum or product of two. They stay as they are, and show how far the column moves; drop them, or work them "
        "out anew from the released column."
    )
    return [Finding(name="copies", values=(), flag="", says=says)]


def _first(rows: Beside) -> tuple[Array, dict[str, Array], dict[str, NDArray[np.uint64]]]:
    """The first finite rows of the column; of the others their order, where they have one, and their labels."""
    values: list[Array] = []
    orders: dict[str, list[Array]] = {}
    labels: dict[str, list[NDArray[np.uint64]]] = {}
    for block, others in rows:
        finite = np.flatnonzero(np.isfinite(block))[: _ROWS - sum(map(len, values))]
        values.append(block[finite])
        for name, column in others.items():
            part = column.gather(finite) if len(finite) < len(block) else column
            orders.setdefault(name, []).append(order_of(part))
            labels.setdefault(name, []).append(keys_of(part))
        if sum(map(len, values)) >= _ROWS:
            break
    return (
        np.concatenate(values) if values else np.zeros(0),
        {name: np.concatenate(parts) for name, parts in orders.items()},
        {name: np.concatenate(parts) for name, parts in labels.items()},
    )


def _copied(values: Array, order: Array) -> bool:
    """Whether a column rises or falls with the other one, up to rounding of either and a few errors."""
    known = np.isfinite(order)
    x, y = values[known], order[known]
    if len(x) < _LEAST_ROWS or len(np.unique(y[:_GLANCE])) < 3 or len(np.unique(x[:_GLANCE])) < 3:
        return False  # flags and labels are looked at by themselves
    # a glance first: most columns are no copies, and sorting them all takes time
    return _likeness(x[:_GLANCE], y[:_GLANCE]) >= _CLOSE - 0.05 and _likeness(x, y) >= _CLOSE


def _likeness(x: Array, y: Array) -> float:
    """Rank correlation, without its sign."""
    from scipy.stats import rankdata

    ranks = rankdata(x), rankdata(y)
    return abs(float(np.corrcoef(*ranks)[0, 1])) if all(np.ptp(one) for one in ranks) else 0.0


def _split(values: Array, keys: NDArray[np.uint64]) -> bool:
    """Whether each label has a range of values of its own, with enough rows on either side of a border."""
    names, codes = np.unique(keys, return_inverse=True)
    counts = np.bincount(codes)
    if not 2 <= len(names) <= min(_LABELS, len(values) // 2):
        return False
    # Labels in the order of their middles; then values in the order of (label, value) must hardly ever fall.
    middles = np.array([np.median(values[codes == code]) for code in range(len(names))])
    place = np.empty(len(names), dtype=np.int64)
    place[np.argsort(middles, kind="stable")] = np.arange(len(names))
    below = np.cumsum(counts[np.argsort(place)])[:-1]
    if not np.any(np.minimum(below, len(values) - below) >= _SIDE):
        return False
    label = place[codes]
    where = np.argsort(values, kind="stable")
    # rows whose label does not fit their rank, counted as if labels were given out by rank, ties in the best way
    wanted = np.repeat(np.arange(len(names)), counts[np.argsort(place)])
    best = np.empty(len(values), dtype=np.int64)
    best[where[np.lexsort((label[where], values[where]))]] = wanted
    return float(np.mean(best != label)) <= _STRAY


def _pairs(values: Array, orders: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
    """Pairs of columns whose difference, sum, quotient or product is a copy of the column."""
    names = [name for name, order in orders.items() if np.isfinite(order).all() and np.ptp(order) > 0][:_PAIRED]
    with np.errstate(all="ignore"):
        for one, two in combinations(names, 2):
            y, z = orders[one], orders[two]
            if any(_copied(values, both) for both in (y - z, y + z, y / z, y * z)):
                yield one, two
