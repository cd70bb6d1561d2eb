"""Values that are rounded the more coarsely the larger they are: significant digits or bits, steps that change."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.column.lattice_search import Lattice

__all__ = ["changing_step", "significant_bits", "significant_digits"]

CONFORM = 0.99
"""Share of the values that must have no more digits than the others."""
_DECIMALS = frozenset(10.0**power for power in range(16))
_LUCK = 3.0  # powers of ten of luck that a column of one step everywhere would need
_FULL = 3  # values of one length that use all digits, at least: else they are exceptions
_SOME = 16  # every so-many-th value is looked at first
_MOST_BITS = 17  # of 16-bit floats and the like; longer ones are the floats' own
_MULTIPLES = (2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 1000)  # of the finer step


def significant_digits(values: Array, lattice: Lattice) -> int | None:
    """The number of significant digits of distinct decimal values, if it makes their step depend on their size.

    >>> from statveil.tables.structure.column.lattice_search import find_lattice
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


def significant_bits(values: Array) -> bool:
    """Whether distinct values have few significant bits, so that their step doubles with their size: 16-bit floats.

    >>> significant_bits(np.geomspace(3.0, 90.0, 60).astype(np.float16).astype(np.float64))
    True
    >>> significant_bits(np.arange(3.0, 90.0))
    False
    """
    kept = np.abs(values[values != 0])
    if len(kept) < 12:
        return False
    fewest = CONFORM * (len(kept) - 1) - 1
    # too many use more bits, as nearly always: a part of the values has as many that do as all may have
    for some in (kept[::_SOME], kept):
        mantissa, exponent = np.frexp(some)
        whole = (mantissa * 2.0**53).astype(np.int64)
        if len(kept) - int(np.count_nonzero(whole & (2 ** (53 - _MOST_BITS) - 1))) < fewest:
            return False
    width = 53 - np.log2((whole & -whole).astype(np.float64)).astype(np.int64)
    bits = int(np.quantile(width, CONFORM, method="higher"))
    sizes, often = np.unique(exponent[width == bits], return_counts=True)
    sizes = sizes[often >= _FULL]
    if bits > _MOST_BITS or len(sizes) < 2:
        return False
    extra = np.maximum(exponent - sizes[0], 0)
    conform = width <= bits
    if float(np.mean(conform[extra > 0])) < CONFORM:
        return False
    return float(np.sum(extra[conform])) * math.log10(2) >= _LUCK


def changing_step(index: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
    """Whether from some size on all values are multiples of a coarser step, beyond what their habit explains.

    Heaps that are the same all along the lattice stay hidden when the column moves by whole periods. Where the coarse
    part begins does not: that place is known in absolute terms.

    >>> below, above = np.arange(40, 100), np.arange(100, 300, 5)
    >>> changing_step(np.concatenate((below, above)), np.ones(100, dtype=np.int64))
    True
    """
    size = np.argsort(-np.abs(index), kind="stable")
    place, rows = index[size], counts[size]
    for multiple in _MULTIPLES:
        off = np.flatnonzero(place % multiple != 0)
        if len(off) < _FULL or place[0] == place[-1]:
            continue
        for strays in range(min(3, len(off) - 1)):  # a typing error does not hide the rule
            first = int(off[strays])
            run = first - strays
            if strays > 0.01 * run:
                break
            rest = place[first:] % multiple == 0
            # sparse tails show rows, dense regions places: whichever has more of the coarse ones
            usual = max(float(np.mean(rest)), float(np.average(rest, weights=rows[first:])), 1.5 / multiple)
            if usual < 1 and run * np.log10(1 / usual) >= _LUCK + 1 + 2 * strays:
                return True
    return False
