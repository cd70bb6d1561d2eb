"""Exact relations between the audited column and the others, so that a redrawn table keeps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["followers"]

_EXACT = 1e-9
_MOST_PAIRS = 200


def followers(column: Array, others: Mapping[str, Array]) -> Callable[[Array, Mapping[str, Array]], dict[str, Array]]:
    """How the other columns move when the audited one does: a multiple stays a multiple, a sum stays a sum.

    Returns a function of the redrawn column and the other columns' rows that gives the other columns' redrawn rows.
    """
    multiples = {name: ratio for name, values in others.items() if (ratio := _ratio(column, values)) is not None}
    free = [name for name in others if name not in multiples]
    sums: dict[str, tuple[str, float]] = {}
    for one, two in list(combinations(free, 2))[:_MOST_PAIRS]:
        for total, part in ((one, two), (two, one)):
            sign = _sum(column, others[total], others[part])
            if sign is not None:
                sums[total] = (part, sign)

    def follow(redrawn: Array, rows: Mapping[str, Array]) -> dict[str, Array]:
        moved = dict(rows)
        moved |= {name: ratio * redrawn for name, ratio in multiples.items()}
        moved |= {total: moved[part] + sign * redrawn for total, (part, sign) in sums.items()}
        return moved

    return follow


def _size(*columns: Array) -> float:
    return max(float(np.nanmax(np.abs(column), initial=0.0)) for column in columns)


def _ratio(column: Array, other: Array) -> float | None:
    """c where other = c column in every row."""
    both = np.isfinite(column) & np.isfinite(other)
    if np.count_nonzero(both) < 3 or np.ptp(column[both]) == 0:
        return None
    x, y = column[both], other[both]
    ratio = float(np.dot(x, y) / np.dot(x, x))
    return ratio if ratio and np.all(np.abs(y - ratio * x) <= _EXACT * _size(y)) else None


def _sum(column: Array, total: Array, part: Array) -> float | None:
    """1 or -1 where total = part + sign column in every row."""
    both = np.isfinite(column) & np.isfinite(total) & np.isfinite(part)
    if np.count_nonzero(both) < 3 or np.ptp(part[both]) == 0:
        return None
    for sign in (1.0, -1.0):
        rest = total[both] - part[both] - sign * column[both]
        if np.all(np.abs(rest) <= _EXACT * _size(total[both], part[both], column[both])):
            return sign
    return None
