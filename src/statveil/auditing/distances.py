"""How far a released table lies from the original: W1, total variation, correlations, differences of group means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from statveil.auditing.tables import AuditTable
from statveil.made_plan import Plan
from statveil.tables.blocks import Array

__all__ = ["distances", "w1"]

Mask = NDArray[np.bool_]

_MOST_GROUPS = 20  # a column of more different texts is a list of names


def w1(before: Array, after: Array) -> float:
    """Wasserstein-1 distance of two columns of the same number of rows.

    Where the rows keep their order (after = a before + b, a >= 0, say) the best coupling is row by row: one mean, no
    sort. Otherwise both are sorted.

    >>> w1(np.array([3.0, 1.0, 2.0]), np.array([4.0, 2.0, 3.0]))
    1.0
    """
    if len(before) != len(after):
        raise ValueError("the columns must have the same number of rows.")
    if not len(before):
        return 0.0
    if _ordered_alike(before, after):
        return float(np.mean(np.abs(after - before)))
    return float(np.mean(np.abs(np.sort(after) - np.sort(before))))


def _ordered_alike(before: Array, after: Array) -> bool:
    """Whether the rows are an increasing line of the others; tried on a few rows first."""
    low, high = int(np.argmin(before)), int(np.argmax(before))
    span = before[high] - before[low]
    if span == 0:
        return bool(np.ptp(after) == 0)
    factor = (after[high] - after[low]) / span
    if factor < 0:
        return False
    offset = after[low] - factor * before[low]
    slack = 1e-6 * max(abs(after[high] - after[low]), 1e-300)
    few = np.linspace(0, len(before) - 1, min(len(before), 1000)).astype(np.int64)
    if np.any(np.abs(offset + factor * before[few] - after[few]) > slack):
        return False
    # a line up to rounding: rows that rounding swaps lie so close that the coupling by rows is still the best up to it
    return bool(np.all(np.abs(offset + factor * before - after) <= slack))


def distances(plan: Plan, original: AuditTable, released: AuditTable) -> dict[str, Any]:
    """The numbers a holder wants to see beside the risk. Private: after a shift, W1 is the move itself."""
    both = np.isfinite(original.column) & np.isfinite(released.column)
    before, after = original.column[both], released.column[both]
    if plan.release_mode.categories:
        size = int(max(before.max(initial=0), after.max(initial=0))) + 1
        one, two = (np.bincount(rows.astype(np.int64), minlength=size) / max(len(rows), 1) for rows in (before, after))
        return {"tv": float(0.5 * np.abs(one - two).sum()), "rows_changed": int(np.count_nonzero(before != after))}
    return {
        "w1": w1(before, after),
        "correlations": _correlations(original, released, both),
        "group_means": _group_means(original, released, both),
    }


def _correlations(original: AuditTable, released: AuditTable, both: Mask) -> list[dict[str, Any]]:
    found = []
    for name, values in original.others.items():
        if name.rpartition(" (")[0] in original.groups:  # a text that was read as a number: for attackers only
            continue
        rows = both & np.isfinite(values)
        pair = [_correlation(table.column[rows], values[rows]) for table in (original, released)]
        if None not in pair:
            found.append({"column": name, "before": pair[0], "after": pair[1]})
    return found


def _correlation(one: Array, two: Array) -> float | None:
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return None
    return float(np.corrcoef(one, two)[0, 1])


def _group_means(original: AuditTable, released: AuditTable, both: Mask) -> list[dict[str, Any]]:
    """Difference between the highest and the lowest group mean, before and after."""
    found = []
    for name, codes in original.groups.items():
        rows = both & np.isfinite(codes)
        if len(np.unique(codes[rows])) > _MOST_GROUPS:
            continue
        groups = codes[rows].astype(np.int64)
        counts = np.bincount(groups)
        kept = counts > 0
        if np.count_nonzero(kept) < 2:
            continue
        sums = (np.bincount(groups, weights=table.column[rows])[kept] for table in (original, released))
        before, after = (float(np.ptp(total / counts[kept])) for total in sums)
        found.append({"column": name, "before": before, "after": after})
    return found
