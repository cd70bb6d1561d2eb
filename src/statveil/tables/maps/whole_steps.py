"""Rows cut to whole steps so that their total is exact, and what cannot be done with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.blocks import Array, Blocks, Part, by_parts

__all__ = [
    "LARGEST",
    "Floors",
    "among",
    "beyond_bound",
    "cannot_reach",
    "exact_total",
    "first_free",
    "nothing_moves",
]

LARGEST = 2**53  # above it a float64 cannot tell neighbouring whole numbers apart


_PASSES = 60


_DEVIATIONS = 4.0  # so far around the expected coefficient single rows are listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """Rows t that are released as floor(a t + lift): more units as the coefficient a grows.

    No row goes below ``least``.
    """

    lift: float = 0.0
    least: float = -math.inf

    def numbers(self, rows: Array, coefficient: float) -> Array:
        """What is cut to whole units."""
        return np.maximum(rows * coefficient + self.lift, self.least)

    def when(self, rows: Array, units: Array) -> Array:
        """The coefficient from which on a row has so many units."""
        return (units - self.lift) / rows

    def steps(self, rows: Array, low: float, high: float) -> tuple[int, Array]:
        """Units of all rows at ``low``, and every coefficient up to ``high`` at which a row gets one more."""
        start = np.floor(self.numbers(rows, low))
        rise = (np.floor(self.numbers(rows, high)) - start).astype(np.int64)
        moving = np.flatnonzero(rise)
        times = rise[moving]
        nth = np.arange(1, int(times.sum()) + 1) - np.repeat(np.cumsum(times) - times, times)
        listed = self.when(np.repeat(rows[moving], times), np.repeat(start[moving], times) + nth)
        return int(start.sum()), np.clip(listed, low, high)


def exact_total(blocks: Blocks, floors: Floors, *, wanted: int, rows: int, weight: float) -> float:
    """The coefficient at which the units of all rows add up to exactly ``wanted``.

    A pass counts at the lower end of a short stretch of coefficients and lists the rows that step up within it. Many
    steps above the bound the cut-off parts add up to half the rows, give or take the square root of their number, so
    the first stretch holds the answer, and the list is short.

    Parameters
    ----------
    blocks
        The rows, each at least 0.
    wanted, rows, weight
        Total of the released units; number and sum of the rows.
    """
    expected = (wanted + rows * (0.5 - floors.lift)) / weight
    margin = _DEVIATIONS * (math.sqrt(rows) + 1.0) / weight
    below, above = 0.0, math.inf  # known to be too low, too high (or just right)
    for attempt in range(_PASSES):
        low, high = max(expected - margin, below), min(expected + margin, above)
        counted = by_parts(blocks, partial(_steps, floors, low, high))
        missing = wanted - sum(total for total, _ in counted)
        listed = np.sort(np.concatenate([steps for _, steps in counted]))
        if 0 <= missing <= len(listed):
            ends = np.concatenate([[low], listed, [high]])
            # Two draws of 53 bits step up at the very same coefficient about once in a million columns: the total is
            # then one unit off, which is still the nearest that one factor reaches.
            return float(0.5 * (ends[missing] + ends[missing + 1]))
        if missing < 0:
            above, expected = low, low + missing / weight
        else:
            below, expected = high, high + (missing - len(listed)) / weight
        if not below < expected < above or (attempt >= 4 and math.isfinite(above - below)):
            expected = 0.5 * (below + above)  # near the bound the rows step up unevenly
    raise cannot_reach()


def _steps(floors: Floors, low: float, high: float, part: Part) -> tuple[int, Array]:
    """What :meth:`Floors.steps` says of all blocks of a part."""
    found = [floors.steps(block, low, high) for _, block in part]
    return sum(total for total, _ in found), np.concatenate([np.zeros(0), *(steps for _, steps in found)])


def cannot_reach() -> ColumnError:
    """A refusal that names no value of the column."""
    return ColumnError(
        "no column with the declared bound and atoms can have the released mean: the rows that may move cannot make up "
        "the rest. Check the declared bound and atoms against the prior of the plan."
    )


def beyond_bound() -> ColumnError:
    """A refusal of a column that was not verified."""
    return ColumnError(
        "a row lies beyond the declared bound, so it cannot be scaled from there. Declare the bound of the column."
    )


def nothing_moves() -> ColumnError:
    """A refusal of a column of atoms alone."""
    return ColumnError(
        "every row of the column is missing or a declared atom, so none can move and the mean cannot be hidden. "
        "Declare as atoms only values that are not the whole column."
    )


def among(values: Array, atoms: tuple[float, ...], step: float | None) -> NDArray[np.bool_]:
    """Which rows have the value of a declared atom."""
    slack = 0.0 if step is None else 1e-6 * step
    kept = np.zeros(len(values), dtype=np.bool_)
    for atom in atoms:
        kept |= np.abs(values - atom) <= slack
    return kept


def first_free(atoms: tuple[float, ...], *, about: float, step: float, sign: int) -> int:
    """The first place from the bound that is no atom: other rows stay on its side, as 1, 2, ... if 0 is an atom."""
    places = {math.floor(sign * (atom - about) / step + 0.5) for atom in atoms}
    return next(place for place in range(len(places) + 1) if place not in places)
