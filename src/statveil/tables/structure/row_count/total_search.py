"""Whether a column was made from the number of rows: weights, shares, standardised values, ranks through a function.

A part of the rows keeps these numbers, and they say how many there were: weights add up to a population, shares to 100,
standardised values have mean 0 and variance 1 over all rows, normal scores are those of whole ranks among n. What adds
up, adds up to a round number; how round, beside what chance gives, is what is looked at here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaincc, ndtr

from statveil.tables.blocks import Array

__all__ = ["Totals", "made_of_ranks", "odd_constant", "round_by_chance", "stratum_weights"]

_LEVEL = 1e-3
"""How often a column without such a relation is taken for one that has it, about."""
_FEWEST = 20
_OFF = 2.5  # standard deviations of what rounding row by row adds up to
_SHORT = 2.0**-24  # of a value: how far a 32-bit float is off
_MEANS = (0.0, 1.0, 10.0, 50.0, 100.0, 500.0, 1000.0)  # of scores that were standardised
_WHOLES = (1.0, 100.0, 1000.0, 1e6)  # shares, per cent, per thousand, parts per million
_DECADES = 12  # over which totals of other columns spread
_OFFSETS = (0.0, 0.375, 0.5, 1 / 3, 1.0)  # Van der Waerden, Blom, Hazen, Tukey, and ranks from 0 to 1
_NEAR, _MOST = 0.05, 0.95
_GLANCE = 2000
_FREE = 4  # digits of a value that is not round by itself
_DIGITS = 5  # of a number that is the same in every row, from which on it is no round one


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over all rows of a column, and the step of which all values are multiples (0 where there is none)."""

    rows: int
    sum: float
    squares: float
    sizes: float
    """Sum of the absolute values."""
    step: float
    low: float
    high: float

    def told(self) -> bool:
        """Whether they add up to what rows of other tables add up to by chance only."""
        if self.rows < _FEWEST or not math.isfinite(self.squares) or not self.low < self.high:
            return False
        return min(self._chances()) <= _LEVEL

    def _chances(self) -> Iterator[float]:
        rows, total = self.rows, self.sum
        size = math.sqrt(self.squares)
        float_error = 1e-12 * self.sizes + _OFF * _SHORT * size
        rounding = _OFF * self.step * math.sqrt(rows / 12)
        spread = math.sqrt(max(self.squares - total * total / rows, 0.0))  # of the sum, by chance
        yield 1.0
        for off in {float_error if not self.step else 0.0, float_error + rounding}:
            yield 4 * round_by_chance(total, off, self.step)
            yield 4 * round_by_chance(total / rows, off / rows, self.step / rows)
            if self.low >= 0:
                near = any(abs(total - whole) <= off for whole in _WHOLES)
                yield len(_WHOLES) * (2 * off + self.step) / total / (_DECADES * math.log(10)) if near else 1.0
            at_mean = [mean for mean in _MEANS if abs(total - rows * mean) <= off]
            if not at_mean or not spread:
                continue
            centred = (2 * off + self.step) / (_OFF * spread)
            yield len(_MEANS) * centred
            variance = self.squares - total * total / rows
            off_square = (
                2 * size * (1e-12 * size + _OFF * (_SHORT * size / math.sqrt(rows) + self.step / math.sqrt(12)))
            )
            off_square += rows * self.step**2 / 12
            for scale in (1.0, 10.0, 15.0, 100.0):
                if min(abs(variance / scale**2 - count) for count in (rows, rows - 1)) * scale**2 <= 3 * off_square:
                    yield len(_MEANS) * 8 * centred * 6 * off_square / variance


def round_by_chance(number: float, off: float, step: float) -> float:
    """How often a number of this size is as near to one of few digits as this one is.

    Parameters
    ----------
    number
        The number, at most ``off`` from what it was before rounding.
    step
        Numbers of this kind are multiples of it.

    >>> round_by_chance(33_000_000.0, 0.5, 0.01) < 1e-5, round_by_chance(32_951_377.31, 0.5, 0.01) > 0.1
    (True, True)
    """
    size = abs(number)
    if not math.isfinite(size) or size <= off or size < 1e-300:
        return 1.0
    best = 1.0
    for place in range(math.floor(math.log10(size)), math.floor(math.log10(size)) - 12, -1):
        unit = 10.0**place
        if abs(number - round(number / unit) * unit) <= off + 1e-15 * size:
            best = min(best, (2 * off + step) / unit)
            break
    # a float has 16 digits, and a number of 12 that are free is none that chance makes round
    return max(best, 1e-12)


def made_of_ranks(values: Array, rows: int, high: float, step: float) -> bool:
    """Whether values are a usual function of ranks among so many rows: scores, logarithms, shares.

    ``high`` is the largest value of the whole column, ``step`` what all values are multiples of.
    """
    known = values[np.isfinite(values)][:_GLANCE]
    if len(np.unique(known)) < _FEWEST or rows < _FEWEST:
        return False
    with np.errstate(all="ignore"):
        for shares, slope in ((ndtr, _bell), (expit, _steep), (_same, _level), (_percent, _hundredth)):
            share, per_step = shares(known), slope(known) * step
            if np.any((share < 0) | (share > 1)):
                continue
            for offset in _OFFSETS:
                parts = rows + 1 - 2 * offset
                if _whole(share * parts + offset, per_step * parts, rows):
                    return True
        for base in (math.e, 10.0, 2.0):
            rising = base**known
            largest = float(np.power(base, high))
            ranked = any(
                abs(largest - count - more) <= 0.1 for count in (rows - 1, rows, rows + 1) for more in (0, -0.5)
            )
            if ranked and _whole(rising, rising * math.log(base) * step, rows):
                return True
            falling = base**-known
            for parts in (rows - 1, rows, rows + 1):
                for more in (0.0, 0.5):
                    if _whole(falling * parts + more, falling * parts * math.log(base) * step, rows):
                        return True
    return False


def odd_constant(value: float) -> bool:
    """Whether the one number of a column has more digits than a rate or a year: a weight N/n, a share 1/n."""
    return value != math.floor(value) and _long(value, _DIGITS)


def _long(value: float, digits: int) -> bool:
    """Whether a number has so many significant digits, or more."""
    return float(f"{value:.{digits - 1}g}") != value


def stratum_weights(values: Array, counts: Array, step: float) -> bool:
    """Whether values, times the rows that have each, are rounder together than by chance: people over rows, by stratum.

    Values that are round themselves, as prices are, are left out: what they add up to is round as well.
    """
    free = [place for place, value in enumerate(values) if value > 0 and _long(float(value), _FREE)]
    if len(free) < 2 or len(free) < 0.5 * len(values):
        return False
    totals = [
        round_by_chance(float(values[at] * counts[at]), float(0.5 * step * counts[at] + 1e-9 * values[at]), 0.0)
        for at in free
    ]
    return bool(gammaincc(len(totals), -np.log(totals).sum()) <= 0.1 * _LEVEL)  # Fisher's sum of logarithms


def _whole(ranks: Array, off: Array, rows: int) -> bool:
    """Whether ranks, or the middle of two that are equal, are whole or half, beyond chance, and not all one number."""
    sure = (off <= 0.02) & np.isfinite(ranks) & (np.abs(ranks) < 1e12)
    different = len(np.unique(ranks[np.isfinite(ranks)]))
    ranks, off = ranks[sure], off[sure]
    if len(np.unique(np.round(2 * ranks))) < max(_FEWEST, 0.5 * different):  # not most of them at one end
        return False
    if np.min(ranks) < 0.4 or np.max(ranks) > rows + 0.6:
        return False
    return bool(np.mean(np.abs(2 * ranks - np.round(2 * ranks)) <= 2 * (_NEAR + off)) >= _MOST)


def _bell(values: Array) -> Array:
    return np.asarray(np.exp(-0.5 * values * values) / math.sqrt(2 * math.pi))


def _steep(values: Array) -> Array:
    share = expit(values)
    return np.asarray(share * (1 - share))


def _same(values: Array) -> Array:
    return values


def _level(values: Array) -> Array:
    return np.ones(len(values))


def _percent(values: Array) -> Array:
    return values / 100


def _hundredth(values: Array) -> Array:
    return np.full(len(values), 0.01)
