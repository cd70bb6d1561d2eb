"""Whether counts follow the family that is stated for them.

Three rules, each with a significance (six standard errors) and a least effect, so that neither a small table nor an
irrelevant difference of a large one fires:

* a count deviates if its share differs from the family's by a factor of 1.3, or by 0.02;
* a count that is too frequent while its neighbours are not is an atom;
* the shape deviates if counts next to each other are too frequent together, if more than three counts deviate, or if
  variance / mean differs from the family's by 10 percent.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["find_excess"]

Whole = NDArray[np.int64]

SURE = 1e-9
"""Tail probability of six standard errors."""
FACTOR = 1.3
DIFFERENCE = 0.02
DISPERSION = 0.1
_LONGEST = 2**22  # counts at which the family is evaluated, at most


def find_excess(values: Array, counts: Whole, pmf: Callable[[Array], Array]) -> tuple[Array, str]:
    """Give the atoms (most frequent first) and how the whole shape deviates, in a word, or an empty text."""
    from scipy.special import bdtr, gammainc

    if values[0] < 0 or bool(np.any(values != np.floor(values))) or values[-1] >= _LONGEST:
        return np.zeros(0), "not all whole numbers from 0 up"
    rows = int(np.sum(counts))
    grid, share = _family(pmf, int(values[-1]))
    seen = np.zeros(len(grid))
    seen[values.astype(np.int64)] = counts
    expected = rows * share

    factor = np.where(share > 0, seen / np.maximum(expected, 1e-300), np.where(seen > 0, math.inf, 1.0))
    large = (factor >= FACTOR) | (factor <= 0.7) | (np.abs(seen / rows - share) >= DIFFERENCE)
    spread = np.sqrt(np.maximum(expected * (1 - share), 0.0))
    # Far from the mean the number of rows is small and skew, so the tail is exact; elsewhere six standard errors.
    rare = gammainc(np.maximum(seen, 1), np.maximum(expected, 1e-300)) < SURE
    above = large & (seen > expected) & np.where(expected < 100, rare, seen - expected >= 6 * spread) & (seen >= 3)
    few = np.where(expected < 100, bdtr(seen, rows, np.clip(share, 0, 1)) < SURE, expected - seen >= 6 * spread)
    below = large & (seen < expected) & few

    padded = np.concatenate(([False], above, [False]))
    beside = padded[:-2] | padded[2:]
    atoms = np.flatnonzero(above & ~beside)
    atoms = atoms[np.argsort(-seen[atoms], kind="stable")][:10]
    word = _dispersion(grid, share, values, counts)
    if not word and (bool(np.any(above & beside)) or int(np.sum(above | below)) > 3):
        word = "distributed differently"
    return grid[atoms], word


def _family(pmf: Callable[[Array], Array], last: int) -> tuple[Array, Array]:
    """Shares of 0, 1, ... up to the largest count and to where hardly anything is left."""
    size = max(64, last + 1)
    while True:
        grid = np.arange(size, dtype=np.float64)
        share = np.asarray(pmf(grid), dtype=np.float64)
        if float(np.sum(share)) >= 1 - 1e-12 or size >= _LONGEST or (size > 2 * last and share[-1] < 1e-18):
            return grid, share
        size = min(2 * size, _LONGEST)


def _dispersion(grid: Array, share: Array, values: Array, counts: Whole) -> str:
    """Compare variance / mean with the family's."""
    rows = int(np.sum(counts))
    mean = float(values @ counts) / rows
    centre = float(grid @ share)
    if mean <= 0 or centre <= 0 or rows < 2:
        return ""
    seen = float((values - mean) ** 2 @ counts) / (rows - 1) / mean
    second, third, fourth = (float((grid - centre) ** power @ share) for power in (2, 3, 4))
    model = second / centre
    if model <= 0:
        return ""
    # Error of a ratio of two correlated means, under the family.
    error = (fourth / second**2 - 1) + second / centre**2 - 2 * third / (second * centre)
    far = abs(seen / model - 1) >= max(DISPERSION, 6 * math.sqrt(max(error, 0.0) / rows))
    return ("over-dispersed" if seen > model else "under-dispersed") if far else ""
