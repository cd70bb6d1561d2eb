"""Whether another column depends on this one modulo a period: a weekday, a time of day, cents, a tide.

Such a column takes each of its values many times over the range, so it is no copy, no band and no function that turns
slowly; but whoever knows the period finds the place at which the two fit. The spectrum of the other column over the
values of this one shows it: one frequency stands far above what rows in no relation have. The relation that changes
slowly along the column is taken out first, and each frequency is compared with those around it, so that what merely
goes together, or comes in clusters, is no period.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len, rfft
from scipy.special import gammainccinv

from statveil.tables.blocks import Array
from statveil.tables.structure.column.lattice_search import find_lattice
from statveil.tables.structure.reading.distinct import distinct

__all__ = ["Periods"]

_CELLS = 2**16
_LEAST_ROWS = 30
_LEAST = 16  # periods in the range: fewer are found as bands and turns
_LEAST_PLACES = 128  # of a lattice: on fewer, favourite places are waves of their own
_LABELS, _LEAST_LABEL = 8, 3  # the most frequent ones; more are numbers as a rule, and are looked at as such
_SMOOTH = 64  # parts of the rows, in the column's order, within which the other one is compared with its mean
_AROUND = 128  # frequencies that a frequency is compared with
_BESIDE = 4  # but for those next to it, which a period that lies between two of them shares
_LEVEL = 1e-5
_REORDERED = 19
_KNOWN = (
    1e-3, 0.01, 0.1, 1.0, 7.0, 10.0, 12.0, 24.0, 60.0, 100.0, 365.25, 1000.0, 1440.0, 3600.0, 86_400.0, 604_800.0,
    6e4, 3.6e6, 8.64e7, 6.048e8, 6e7, 3.6e9, 8.64e10, 3.6e12, 8.64e13, 1 / 24, 1 / 1440, 6.283185307179586,
)  # usual periods, for ranges that hold more of them than the spectrum resolves  # fmt: skip


class Periods:
    """The cells of a column, once for all others that are compared with it."""

    def __init__(self, values: Array) -> None:
        self.usable = len(values) >= _LEAST_ROWS and float(np.ptp(values)) > 0
        if not self.usable:
            return
        low, width = float(values.min()), float(np.ptp(values))
        lattice = find_lattice(distinct(values).places, len(values), 53)
        places = 0 if lattice is None else int(lattice.index[-1] - lattice.index[0])
        if 0 < places < _LEAST_PLACES:
            self.usable = False
            return
        # on a lattice its own places are the cells: all frequencies beyond half of their number are seen below it
        self._cells = places if 0 < places < _CELLS else _CELLS
        self._place = np.rint((values - low) * (self._cells / width)).astype(np.int64)
        self._length = next_fast_len(2 * (self._cells + 1), real=True)
        self._order = np.argsort(values, kind="stable")
        finest = width / max(places, 1) if lattice is not None else 0.0
        known = [one for one in _KNOWN if width / one > _CELLS / 4 and one > 2.5 * finest]
        phases = (2 * np.pi * np.fmod(values / period, 1.0) for period in known)
        self._known = [(np.cos(phase), np.sin(phase)) for phase in phases]

    def number(self, column: Array) -> bool:
        """Whether numbers depend on the column modulo a period."""
        known = np.isfinite(column)
        if not self.usable or np.count_nonzero(known) < max(_LEAST_ROWS, 0.5 * len(column)):
            return False
        _, code, counts = distinct(column if known.all() else column[known])
        if len(counts) < 2:
            return False
        weights = np.zeros(len(column))
        weights[known] = (np.cumsum(counts) - 0.5 * counts)[code]
        return self._told([weights], known, 1)

    def label(self, keys: NDArray[np.generic]) -> bool:
        """Whether the shares of labels do."""
        if not self.usable:
            return False
        _, code, counts = distinct(keys)
        chosen = np.argsort(-counts, kind="stable")[:_LABELS]
        chosen = chosen[counts[chosen] >= _LEAST_LABEL]
        if len(counts) < 2 or counts[chosen].sum() < 0.5 * len(code):
            return False
        every = np.ones(len(code), dtype=np.bool_)
        free = len(chosen) - 1 if counts[chosen].sum() == len(code) else len(chosen)
        return self._told([(code == one).astype(np.float64) for one in chosen], every, free)

    def _told(self, weights: list[Array], known: NDArray[np.bool_], free: int) -> bool:
        seen = self._height([self._without_trend(one, known) for one in weights], free)
        if seen <= 1:
            return False
        # few places of a lattice, some of them favourites, have waves of their own: rows that are near one another
        # change places, and the wave must vanish
        order = self._order[known[self._order]]
        part = np.arange(len(order)) // max(len(order) // _SMOOTH, 10)
        rng = np.random.default_rng(0)
        for _ in range(_REORDERED):
            mixed = [one.copy() for one in weights]
            to = order[np.lexsort((rng.random(len(order)), part))]
            for one, other in zip(mixed, weights, strict=True):
                one[order] = other[to]
            if self._height([self._without_trend(one, known) for one in mixed], free) >= seen:
                return False
        return True

    def _without_trend(self, weights: Array, known: NDArray[np.bool_]) -> Array:
        """Weights less their mean among the rows around, in the column's order; 0 where there are none."""
        order = self._order if known.all() else self._order[known[self._order]]
        sums = np.concatenate(([0.0], np.cumsum(weights[order])))
        half = max(len(order) // (2 * _SMOOTH), 5)
        at = np.arange(len(order))
        low, high = np.maximum(at - half, 0), np.minimum(at + half + 1, len(order))
        rest = np.zeros(len(weights))
        rest[order] = weights[order] - (sums[high] - sums[low]) / (high - low)
        return rest

    def _height(self, weights: list[Array], free: int) -> float:
        """How far the highest frequency stands above the others, as a multiple of what chance allows."""
        power = np.zeros(self._length // 2 + 1, dtype=np.float32)
        known = np.zeros(len(self._known))
        for one in weights:
            cells = np.bincount(self._place, weights=one, minlength=self._cells + 1)
            size = float(cells @ cells)  # rows of one value, as those of one person, are one piece of evidence
            if not size:
                continue
            # of all labels together one is no news: each is taken by its share of the freedom
            spectrum = rfft(cells.astype(np.float32), self._length)
            power += (spectrum.real**2 + spectrum.imag**2) * (free / len(weights) / size)
            for i, (cosines, sines) in enumerate(self._known):
                known[i] += abs(complex(one @ cosines, one @ sines)) ** 2 * (free / len(weights) / size)
        # at every other cell a wave has no phase: its power is a square of one number and not of two, and as wide again
        power[-_BESIDE - 1 :] *= 0.5
        power = power[2 * _LEAST :]  # twice as many frequencies as cells, so that no period falls between two of them
        if len(power) < 2:
            return 0.0
        height = 0.0
        limit = float(gammainccinv(free, _LEVEL / len(power)))
        high = np.flatnonzero(power > limit)
        if len(high):
            sums = np.concatenate(([0.0], np.cumsum(power, dtype=np.float64)))
            (around, number), (near, close) = (_window(sums, high, reach) for reach in (_AROUND, _BESIDE))
            usual = np.maximum((around - near) / np.maximum(number - close, 1) / free, 1.0)
            height = float(np.max(power[high] / usual)) / limit
        if len(known):
            height = max(height, float(known.max()) / float(gammainccinv(free, _LEVEL / len(known) / 10)))
        return height


def _window(sums: Array, at: NDArray[np.int64], reach: int) -> tuple[Array, Array]:
    """The sum of what lies within so many places of some, and how many they are; ``sums`` is the running total."""
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(sums) - 1)
    return sums[high] - sums[low], (high - low).astype(np.float64)
