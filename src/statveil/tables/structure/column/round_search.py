"""Round values, such as multiples of 0.5, inside a column that is otherwise continuous."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.column.heap_search import natural

__all__ = ["find_round"]

Whole = NDArray[np.int64]

FINEST = 1e-6
"""Multiples of finer steps are not looked for."""
FEWEST = 3
"""Different round values that are no accident among continuous ones: two of them and their distance tell a shift."""
LUCK = 1e-7
"""That chance puts so many values on multiples of one of the about forty steps."""


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
        if len(on) < FEWEST or (len(on) <= 10 and bool(np.all(frequent[on] | (values[on] == 0)))):
            continue
        # A multiple near which all rows crowd may be met by accident, so each counts once.
        different, luck = len(np.unique(np.rint(values[on] / step))), chance / step
        number = float(np.sum(counts[on]))
        if different < FEWEST:
            continue
        sure = luck == 0.0 or (luck < 0.3 * number and float(gammainc(different, luck)) < LUCK)
        if sure and number - luck >= 0.9 * most:
            most = max(most, number - luck)
            chosen = step, on
    return chosen


def _multiple(values: Array, step: float, fineness: Array) -> NDArray[np.bool_]:
    """Which values are the nearest stored numbers to multiples of the step, up to one rounding."""
    return np.asarray(np.abs(np.rint(values / step) * step - values) <= 1.25 * fineness)
