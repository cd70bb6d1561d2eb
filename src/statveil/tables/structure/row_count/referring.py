"""Columns as a search sees them that asks whether rows speak of other rows, and what it takes for more than chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["MOST_BY_CHANCE", "Referring", "beyond_chance", "more_than_chance"]

Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]

MOST_BY_CHANCE = 0.5
"""Share of rows that meet another row by chance, above which nothing is said."""
_LEAST = 0.01
_SURE = math.log(1e7)  # of so many tables in which chance alone is at work, one is named
_DECIMALS = 6
_SHORT = 2.0**-22


@dataclass(frozen=True, eq=False)
class Referring:
    """Some rows of a column.

    Parameters
    ----------
    name : str
        Of the column.
    column : polars.Series
        What stands in each row; empty texts are missing.
    numbers : array or None
        The rows as numbers, NaN where there is none, if the column is one of numbers, dates or times.
    temporal : bool
        Whether the numbers are dates or times.
    """

    name: str
    column: pl.Series
    numbers: Array | None
    temporal: bool = False

    @cached_property
    def texts(self) -> Keys:
        """A hash of what stands in each row, as text."""
        return self.column.cast(pl.String).hash(seed=7).to_numpy()

    @cached_property
    def filled(self) -> Mask:
        """Where anything stands."""
        return self.column.is_not_null().to_numpy()

    @cached_property
    def known(self) -> Mask:
        """Where the column has a number, or anything if it has none."""
        return self.filled if self.numbers is None else np.isfinite(self.numbers)

    @cached_property
    def code(self) -> NDArray[np.int64]:
        """Which of its different values each row has, -1 where it is empty."""
        code = np.full(len(self.column), -1, dtype=np.int64)
        values = self.texts if self.numbers is None else self.numbers
        code[self.known] = np.unique(values[self.known], return_inverse=True)[1].ravel()
        return code

    @cached_property
    def different(self) -> int:
        """How many different values it has."""
        return int(self.code.max(initial=-1)) + 1

    @cached_property
    def different_numbers(self) -> Array:
        """The different numbers, rising."""
        return np.zeros(0) if self.numbers is None else np.unique(self.numbers[self.known])

    @cached_property
    def different_texts(self) -> Keys:
        """The different texts' hashes, rising."""
        return np.unique(self.texts[self.filled])

    @cached_property
    def repeated(self) -> float:
        """Share of its rows whose value another row has too."""
        counts = np.bincount(self.code[self.known])
        return float(counts[counts > 1].sum() / max(counts.sum(), 1))

    @cached_property
    def whole(self) -> bool:
        """Whether it holds whole numbers."""
        return self.numbers is not None and self.step >= 1

    @cached_property
    def step(self) -> float:
        """What all numbers are multiples of: 1, a decimal, or 0 where they have more than six decimals."""
        if self.numbers is None or not self.known.any():
            return 0.0
        known = self.numbers[self.known]
        scale = np.abs(known)
        short = _SHORT if np.array_equal(known.astype(np.float32), known) else 1e-12
        for decimals in range(_DECIMALS + 1):
            with np.errstate(over="ignore", invalid="ignore"):
                off = np.abs(np.round(known, decimals) - known)
            if np.all(off <= (short * scale if decimals else 0.0)) and float(scale.max()) * 10**decimals < 2.0**53:
                return float(10.0**-decimals)
        return 0.0

    @cached_property
    def fine(self) -> float:
        """How far two numbers may differ that would be the same without errors of floats."""
        if self.numbers is None or not self.known.any():
            return 0.0
        known = self.numbers[self.known]
        short = np.array_equal(known.astype(np.float32), known) and not self.whole
        return (_SHORT if short else 1e-9) * float(np.abs(known).max())


def more_than_chance(share: float, chance: float, times: float = 4.0) -> bool:
    """Whether far more rows meet another row than so many that do by chance."""
    return chance <= MOST_BY_CHANCE and share >= min(times * chance, 0.5 * (1 + chance)) + _LEAST


def beyond_chance(agree: int, of: int, chance: float) -> bool:
    """Whether so many groups would agree by chance in hardly any table, by Chernoff's bound.

    >>> beyond_chance(40, 40, 0.37), beyond_chance(10, 10, 0.6)
    (True, False)
    """
    share, chance = agree / max(of, 1), max(chance, 1e-6)
    if share <= chance or chance >= 1:
        return False
    told = share * math.log(share / chance)
    if share < 1:
        told += (1 - share) * math.log((1 - share) / (1 - chance))
    return of * told >= _SURE
