"""Whether other columns tell the values themselves: a copy in another form, a flag, a sum, a product, a running total.

Maps that move all rows alike keep ranks, so whatever follows the column's values follows the released ones too, and
says where they were: ``log(wage)`` beside ``wage``, ``passed`` beside ``score``, two clock times beside the delay
between them, a balance beside the amounts. Everything here is asked of the first rows: a rule that holds for all rows
holds for those. A column that knows ranks alone (1, 2, 3, ... in the column's order; quarters of equal size) tells
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.findings import Finding
from statveil.tables.structure.group_search import Beside, keys_of, order_of

__all__ = ["find_copies"]

Keys = NDArray[np.uint64]

_ROWS = 2**14  # rows that are looked at
_LEAST_ROWS = 10
_GLANCE = 256  # rows of a first look
_CLOSE = 0.995  # correlation, in one of the usual forms, from which a column is a copy up to its errors
_EXACT = 0.9999  # rank correlation from which it is a copy in whatever form
_PART = 0.2  # share of the rows with one common ratio or difference: a copy for a part of the rows
_LABELS = 20  # different values of a label or flag
_SIDE = 5  # rows on either side of a place where a label changes, for it to be no accident
_STRAY = 0.02  # share of rows that may be off: typing errors
_PAIRED = 16  # columns whose pairs are looked at
_TOGETHER = 60  # columns whose sum or product is looked at

_FORMS: tuple[Callable[[Array], Array], ...] = (
    lambda x: x,
    np.log,
    np.log1p,
    np.exp,
    np.sqrt,
    np.square,
    lambda x: 1 / x,
)


def find_copies(rows: Beside) -> list[Finding]:
    """A finding that names the columns, alone or together, that tell the column's values."""
    values, orders, labels = _first(rows)
    if len(values) < _LEAST_ROWS or np.ptp(values) == 0:
        return []
    told = [repr(name) for name, order in orders.items() if _tells(values, order)]
    told += [repr(name) for name, keys in labels.items() if repr(name) not in told and _split(values, keys)]
    free = {name: order for name, order in orders.items() if repr(name) not in told}
    told += [f"{one!r} with {two!r}" for one, two in _pairs(values, free)]
    if not told and (together := _sum(values, free)):
        told = [" with ".join(map(repr, together))]
    if not told:
        return []
    names = ", ".join(told[:5]) + (f" and {len(told) - 5} more" if len(told) > 5 else "")
    says = (
        f"other columns tell its values ({names}): a copy in another form, a flag or label for a range of values, a "
        "running total, or several that make a sum or product. They stay as they are, and show how far the column "
        "moves; drop them, or work them out anew from the released column."
    )
    return [Finding(name="copies", values=(), flag="", says=says)]


def _first(rows: Beside) -> tuple[Array, dict[str, Array], dict[str, Keys]]:
    """The first finite rows of the column; of the others their numbers, where they have any, labels, and gaps."""
    values: list[Array] = []
    orders: dict[str, list[Array]] = {}
    labels: dict[str, list[Keys]] = {}
    for block, others in rows:
        finite = np.flatnonzero(np.isfinite(block))[: _ROWS - sum(map(len, values))]
        values.append(block[finite])
        for name, column in others.items():
            part = column.gather(finite) if len(finite) < len(block) else column
            number = order_of(part)
            orders.setdefault(name, []).append(number)
            labels.setdefault(name, []).append(keys_of(part))
            gap = part.is_null().to_numpy() | (part.dtype.is_float() & np.isnan(number))
            labels.setdefault(f"{name} (empty or not)", []).append(gap.astype(np.uint64))
        if sum(map(len, values)) >= _ROWS:
            break
    return (
        np.concatenate(values) if values else np.zeros(0),
        {name: np.concatenate(parts) for name, parts in orders.items()},
        {name: np.concatenate(parts) for name, parts in labels.items()},
    )


# --- one column ---------------------------------------------------------------------------------
def _tells(values: Array, order: Array) -> bool:
    """Whether a column, or what it grows by from row to row, is a copy."""
    if _copied(values, order):
        return True
    steps = np.diff(order)
    return len(steps) >= _LEAST_ROWS and (_copied(values[1:], steps) or _copied(values[:-1], steps))


def _copied(values: Array, order: Array) -> bool:
    """Whether a column is the other one in a usual form, or rises or falls with it exactly, up to rounding."""
    known = np.isfinite(order)
    x, y = values[known], order[known]
    if len(x) < _LEAST_ROWS or len(np.unique(y[:_GLANCE])) < 3 or len(np.unique(x[:_GLANCE])) < 3 or _counts(y):
        return False  # flags and labels are looked at by themselves
    if _in_part(x[:_GLANCE], y[:_GLANCE]) and _in_part(x, y):
        return True
    # a glance first: most columns are no copies, and sorting them all takes time
    if _by_rank(x[:_GLANCE], y[:_GLANCE]) < 0.9:
        return False
    return _in_form(x, y) >= _CLOSE or _by_rank(x, y) >= _EXACT


def _counts(y: Array) -> bool:
    """Whether a column only numbers the rows, in whatever order: all gaps are one."""
    gaps = np.diff(np.sort(y))
    return bool(gaps[0] > 0 and np.all(np.abs(gaps - gaps[0]) <= 1e-9 * np.abs(y).max()))


def _correlated(x: Array, y: Array) -> float:
    good = np.isfinite(x) & np.isfinite(y)
    if np.count_nonzero(good) < 0.9 * len(x) or not np.ptp(x[good]) or not np.ptp(y[good]):
        return 0.0
    return abs(float(np.corrcoef(x[good], y[good])[0, 1]))


def _by_rank(x: Array, y: Array) -> float:
    from scipy.stats import rankdata

    return _correlated(rankdata(x), rankdata(y))


def _in_form(x: Array, y: Array) -> float:
    with np.errstate(all="ignore"):
        return max(_correlated(form(x), y) for form in _FORMS)


def _in_part(x: Array, y: Array) -> bool:
    """Whether so many rows have one ratio or one difference that chance does not: rates by class, some rows copied."""
    with np.errstate(all="ignore"):
        for rest, fine in ((np.log(np.abs(y / x)), 1e-3), (y - x, 1e-3 * float(np.std(x)))):
            chance = np.log(np.abs(y / np.roll(x, 1))) if fine == 1e-3 else y - np.roll(x, 1)
            seen, luck = (_fullest(part, fine) for part in (rest, chance))
            if seen >= _PART and seen >= 4 * luck:
                return True
    return False


def _fullest(values: Array, width: float) -> float:
    """The largest share of the values that lies within a window."""
    known = np.sort(values[np.isfinite(values)])
    if len(known) < _LEAST_ROWS:
        return 0.0
    ends = np.searchsorted(known, known + 2 * width, side="right")
    return float(np.max(ends - np.arange(len(known)))) / len(values)


def _split(values: Array, keys: Keys) -> bool:
    """Whether few values of a label go with few ranges of the column's values, but for some typing errors."""
    names, codes, counts = np.unique(keys, return_inverse=True, return_counts=True)
    if not 2 <= len(names) <= _LABELS or len(values) - counts.max() < _SIDE:
        return False
    if len(names) > 2 and np.ptp(counts) <= 1:
        return False  # as many rows each: quarters or tenths, which know ranks alone
    # rows of one value belong to its most frequent label, or are errors
    places, code = np.unique(values, return_inverse=True)
    pairs, rows = np.unique(code * len(names) + codes, return_counts=True)
    order = np.lexsort((-rows, pairs // len(names)))
    first = order[np.searchsorted(pairs[order] // len(names), np.arange(len(places)))]
    if len(values) - int(rows[first].sum()) > _STRAY * len(values):
        return False
    runs = int(np.count_nonzero(np.diff(pairs[first] % len(names)))) + 1
    mixed = len(values) * (1 - float(np.sum((counts / len(values)) ** 2)))  # runs of labels that know nothing
    allowed = 2 * len(names) + 2 * min(_STRAY * len(values), 0.1 * mixed)
    return runs <= allowed and mixed >= 3 * (runs - 1) and mixed - runs >= _SIDE


# --- several columns ----------------------------------------------------------------------------
def _pairs(values: Array, orders: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
    """Pairs of columns whose difference, sum, quotient or product is a copy of the column."""
    names = [name for name, order in orders.items() if _usable(order)][:_PAIRED]
    with np.errstate(all="ignore"):
        for one, two in combinations(names, 2):
            y, z = orders[one], orders[two]
            if not (_counts(y) and _counts(z)) and any(_copied(values, both) for both in (y - z, y + z, y / z, y * z)):
                yield one, two


def _sum(values: Array, orders: Mapping[str, Array]) -> list[str]:
    """Columns that make the column, or its logarithm, as a weighted sum: a fit that leaves next to nothing."""
    names = [name for name, order in orders.items() if _usable(order) and not _counts(order)][:_TOGETHER]
    if len(names) < 2:
        return []
    with np.errstate(all="ignore"):
        for target, parts in (
            (values, [orders[name] for name in names]),
            (np.log(values), [np.log(orders[name]) for name in names]),
        ):
            kept = [i for i, part in enumerate(parts) if np.mean(np.isfinite(part)) >= 0.9]
            if len(kept) < 2 or not np.isfinite(target).all():
                continue
            table = np.column_stack([parts[i] for i in kept])
            rows = np.isfinite(table).all(axis=1)
            table, wanted = table[rows], target[rows]
            if len(wanted) < 4 * len(kept) + 20 or not np.ptp(wanted):
                continue
            table = (table - table.mean(axis=0)) / np.maximum(table.std(axis=0), 1e-300)
            centred = wanted - wanted.mean()
            weights, *_ = np.linalg.lstsq(table, centred, rcond=None)
            left = float(np.sum((centred - table @ weights) ** 2)) / float(np.sum(centred**2))
            if 1 - left >= _CLOSE**2:
                heavy = np.argsort(-np.abs(weights))[:3]
                return [names[kept[i]] for i in heavy]
    return []


def _usable(order: Array) -> bool:
    known = order[np.isfinite(order)]
    return len(known) >= max(_LEAST_ROWS, 0.5 * len(order)) and bool(np.ptp(known) > 0)
