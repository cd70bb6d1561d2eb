"""Significant digits: values that are rounded the more coarsely the larger they are."""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.lattice_search import Lattice

__all__ = ["significant_digits"]

CONFORM = 0.99
"""Share of the values that must have no more digits than the others."""
_LUCK = 3.0  # powers of ten of luck that a column of one step everywhere would need
_FINE = 3  # values that use the last decimal, at least: else they are exceptions from a coarser step


def significant_digits(values: Array, lattice: Lattice) -> int | None:
    """The number of significant digits of distinct decimal values, if it makes their step depend on their size.

    >>> from statveil.tables.structure.lattice_search import find_lattice
    >>> values = np.array([0.83, 0.91, 0.94, 1.1, 1.3, 2.7, 3.2, 4.4, 5.5])
    >>> significant_digits(values, find_lattice(values, len(values), 53))
    2
    """
    if lattice.up != 1.0 or not lattice.anchored or float(np.max(np.abs(lattice.index))) >= 1e15:
        return None
    whole = np.abs(lattice.index[lattice.index != 0])
    if len(whole) < 6:
        return None
    length = np.floor(np.log10(whole.astype(np.float64)) + 1e-12).astype(np.int64) + 1
    zeros = np.zeros(len(whole), dtype=np.int64)
    for power in range(1, 16):
        zeros += whole % 10**power == 0
    digits = int(np.quantile(length - zeros, CONFORM, method="higher"))
    coarse = length > digits
    luck = float(np.sum((length - digits)[coarse & (length - zeros <= digits)]))
    fine = int(np.sum(~coarse & (zeros == 0)))
    return digits if luck >= _LUCK and fine >= _FINE else None
