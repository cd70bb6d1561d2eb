"""Significant digits: values that are rounded the more coarsely the larger they are."""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.lattice_search import Lattice

__all__ = ["significant_digits"]

CONFORM = 0.99
"""Share of the values that must have no more digits than the others."""
_DECIMALS = frozenset(10.0**power for power in range(16))
_LUCK = 3.0  # powers of ten of luck that a column of one step everywhere would need
_FULL = 3  # values of one length that use all digits, at least: else they are exceptions


def significant_digits(values: Array, lattice: Lattice) -> int | None:
    """The number of significant digits of distinct decimal values, if it makes their step depend on their size.

    >>> from statveil.tables.structure.lattice_search import find_lattice
    >>> values = np.array([0.83, 0.91, 0.94, 1.1, 1.3, 2.7, 3.2, 4.4, 5.5])
    >>> significant_digits(values, find_lattice(values, len(values), 53))
    2
    """
    decimal = float(lattice.down) in _DECIMALS and lattice.up == int(lattice.up)
    if not decimal or not lattice.anchored or float(np.max(np.abs(lattice.index))) * lattice.up >= 1e15:
        return None
    whole = np.abs(lattice.index[lattice.index != 0]) * int(lattice.up)
    if len(whole) < 6:
        return None
    length = np.floor(np.log10(whole.astype(np.float64)) + 1e-12).astype(np.int64) + 1
    zeros = np.zeros(len(whole), dtype=np.int64)
    for power in range(1, 16):
        zeros += whole % 10**power == 0
    digits = int(np.quantile(length - zeros, CONFORM, method="higher"))
    # Two lengths of number that use all the digits: then one of them is rounded ten times or more as coarsely.
    lengths, often = np.unique(length[length - zeros == digits], return_counts=True)
    lengths = lengths[often >= _FULL]
    if len(lengths) < 2:
        return None
    extra = np.maximum(length - lengths[0], 0)
    conform = length - zeros <= digits
    if float(np.mean(conform[extra > 0])) < CONFORM:
        return None  # the longest numbers are few, but they use all their digits
    # Of the multiples of 5, every second one ends in 0 anyway.
    luck = np.sum(np.maximum(extra[conform] - np.log10(lattice.up), 0.0))
    return digits if float(luck) >= _LUCK else None
