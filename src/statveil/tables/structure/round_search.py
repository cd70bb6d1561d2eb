"""Round values, such as multiples of 0.5, inside a column that is otherwise continuous."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.heap_search import natural

__all__ = ["find_round"]

Whole = NDArray[np.int64]

FINEST = 1e-6
"""Multiples of finer steps are not looked for."""
SHARE = 1 / 10_000
"""Share of the rows, and at least five of them, that must be round."""


def find_round(values: Array, counts: Whole, fineness: Array, atoms: Whole) -> tuple[float, Whole] | None:
    """Find the largest natural step that (nearly) all round values share, and the positions of those values.

    Parameters
    ----------
    values, counts : array
        Distinct values, rising, and how many rows have each.
    fineness : array
        Distance from each value to the next number that could be stored. A continuous value is a multiple of a
        step by accident with probability fineness / step.
    atoms : array of int
        Positions of values that are frequent by themselves: a few atoms that happen to be round are not heaps.
    """
    from scipy.special import gammainc

    rows = int(np.sum(counts))
    least = max(5.0, rows * SHARE)
    frequent = np.zeros(len(values), dtype=bool)
    frequent[atoms] = True
    chance = 3 * float(np.sum(fineness * counts))  # three neighbours pass for a multiple
    most = 0.0
    chosen: tuple[float, Whole] | None = None
    left = np.flatnonzero(_multiple(values, FINEST / 2, fineness))
    for step in natural(FINEST, max(FINEST, float(np.max(np.abs(values))))):
        if step <= 1 and f"{step:e}".startswith("1.000000"):
            # All later steps are multiples of half a power of ten, so that fewer and fewer values are left to test.
            left = left[_multiple(values[left], step / 2, fineness[left])]
        on = left[_multiple(values[left], step, fineness[left]) & (8 * fineness[left] < step)]
        if len(on) < 3 or (len(on) <= 10 and bool(np.all(frequent[on] | (values[on] == 0)))):
            continue
        # Two multiples near which all rows crowd may be met by accident; the others tell.
        _, where = np.unique(np.rint(values[on] / step), return_inverse=True)
        each = np.sort(np.bincount(where, weights=counts[on]))
        number, others, luck = float(np.sum(each)), float(np.sum(each[:-2])), chance / step
        if number < least or others < 3:
            continue
        sure = luck == 0.0 or (luck < 0.3 * number and float(gammainc(others, luck)) < 1e-9)
        if sure and number - luck >= 0.9 * most:
            most = max(most, number - luck)
            chosen = step, on
    return chosen


def _multiple(values: Array, step: float, fineness: Array) -> NDArray[np.bool_]:
    """Which values are the nearest stored numbers to multiples of the step, up to one rounding."""
    return np.asarray(np.abs(np.rint(values / step) * step - values) <= 1.25 * fineness)
