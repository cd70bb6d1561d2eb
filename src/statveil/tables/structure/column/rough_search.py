"""Roughness of a column on a lattice: waves of any period, and places that do not fit in with their neighbours.

A rounded conversion (2.54 cm per inch, rounded to 0.1 cm) leaves the lattice of the printed digits, but uses its
places in a pattern whose period is no whole number of steps. When the column moves, the pattern moves with it. No list
of units can be complete, so every period is looked at, and then every place beside its neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.column.heap_search import BETWEEN
from statveil.tables.structure.column.lattice_search import Lattice

__all__ = ["KERNEL", "UNITS", "Wave", "find_roughness", "find_wave", "level_out", "real_parts"]

Whole = NDArray[np.int64]

LUCK = 0.005
"""Probability with which a smooth shape is called rough by either test: an attacker picks one of about ten places."""
PERIODS = 6
"""Fewer periods than this in the bulk are part of the shape."""
UNITS = (2.54, 0.3048, 30.48, 0.9144, 1.609344, 0.45359237, 28.349523125, 3.785411784, 5 / 9, 4.184, 6.35029318, 1 / 3)
"""Inches, feet, yards, miles, pounds, ounces, gallons, degrees Fahrenheit, calories, stones, thirds: metric."""
_SURE_UNIT = 3.5  # standard errors, for a dozen units and powers of ten of them
_MOST_PLACES = 2**21  # beyond, only transforms with known units are looked for
_ABOVE_SHAPE = 6.0  # times the power of the shape itself
_BLOCK = 64  # frequencies that share one noise level
KERNEL = np.array([-1.0, 6.0, -15.0, 20.0, -15.0, 6.0, -1.0]) / 20.0
"""A place minus what the six around it predict: exact for shapes that are polynomials of degree 5."""
_LOWEST = 0.85  # share of the places, the quietest, that are compared with chance: a jump or a peak is not roughness
_FEWEST = 24  # places that tell rough from smooth
_FEWEST_ROWS = 16  # that tell a wave from chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """A wave in the numbers of rows along a lattice.

    Parameters
    ----------
    period : float
        In steps of the lattice.
    whole : bool
        Whether that is a whole number of steps, so that moves by the period keep the wave in place.
    """

    period: float
    whole: bool


def find_wave(lattice: Lattice, counts: Array) -> Wave | None:
    """Find the strongest wave in the numbers of rows, if chance and the smooth shape do not explain it."""
    index, rows = _bulk(lattice.index, counts)
    span = int(index[-1] - index[0]) + 1
    if span < 4 * PERIODS or len(index) < 8 or float(np.sum(rows)) < _FEWEST_ROWS:
        return None
    weights, noise = _faded(index, _without_peaks(index, rows))
    if noise <= 0:
        return None
    if _in_known_unit(index, weights, noise, lattice, span):
        return Wave(period=math.nan, whole=False)
    if span > _MOST_PLACES:
        return None
    power, excess = _power(index, weights, noise, span)
    frequency = np.arange(len(power)) / (2 * (len(power) - 1))
    excess[frequency < PERIODS / span] = 0.0
    excess[power < _ABOVE_SHAPE * _shape(power)] = 0.0
    best = int(np.argmax(excess))
    if excess[best] < math.log(span / LUCK) + 1.0:
        return None
    return _wave(float(frequency[best]), span)


def real_parts(lattice: Lattice, counts: Array, *, farthest: int) -> tuple[Array, int] | None:
    """Waves that are highest at place 0: how high by frequency, in standard errors, and the number of places.

    From 0 to half a turn per place. ``None`` for places farther than ``farthest`` from 0.
    """
    index, rows = _bulk(lattice.index, counts)
    far = max(abs(int(index[0])), abs(int(index[-1]))) + 1
    weights, noise = _faded(index, _without_peaks(index, rows))
    if far > farthest or noise <= 0:
        return None
    size = 2 ** math.ceil(math.log2(4 * far))
    dense = np.zeros(size)
    dense[index % size] = weights
    waves = np.fft.rfft(dense) / math.sqrt(noise / 2)
    around = np.maximum(1.0, _level(np.abs(waves) ** 2 / 2) / math.log(2))
    return waves.real / np.sqrt(around), int(index[-1] - index[0]) + 1


def _power(index: Whole, weights: Array, noise: float, span: int) -> tuple[Array, Array]:
    """Power by frequency, and the same over what the frequencies around have, where that is more than chance has."""
    dense = np.zeros(span)
    dense[index - index[0]] = weights
    power = np.abs(np.fft.rfft(dense, 2 ** math.ceil(math.log2(2 * span)))) ** 2 / noise
    return power, power / np.maximum(1.0, _level(power) / math.log(2))


def _faded(index: Whole, rows: Array) -> tuple[Array, float]:
    """Rows that fade out at both ends, since a jump there has waves of all lengths, and their squared error."""
    ramp = (index[-1] - index[0] + 1) / 6 + 1
    rise = np.minimum(1.0, np.minimum(index - index[0] + 1, index[-1] - index + 1) / ramp)
    fade = rise * rise * (3 - 2 * rise)
    return rows * fade, float(np.sum(rows * fade * fade))


def _in_known_unit(index: Whole, weights: Array, noise: float, lattice: Lattice, span: int) -> bool:
    """Whether values lie near multiples of a common unit. Unlike any wave's, its place is known, so less is asked."""
    if not lattice.anchored:
        return False
    step = lattice.step
    for unit in UNITS:
        turns = step / unit  # per step; whole turns are invisible on the lattice
        seen = abs(turns - round(turns))
        if seen * span < PERIODS or seen < 1e-3:
            continue
        angle = 2 * math.pi * np.remainder(index * turns, 1.0)
        along = float(weights @ np.cos(angle)) / math.sqrt(noise / 2)
        if abs(along) < _SURE_UNIT:
            continue
        # The shape itself may swing so fast, if it is narrow: then it does at nearby frequencies too.
        beside = [2 * math.pi * np.remainder(index * (turns + side * 2.5 / span), 1.0) for side in (-2, -1, 1, 2)]
        swing = max(math.hypot(float(weights @ np.cos(b)), float(weights @ np.sin(b))) for b in beside)
        if abs(along) * math.sqrt(noise / 2) > 1.5 * swing:
            return True
    return False


def _level(power: Array) -> Array:
    """The median power of the frequencies around each: a smooth shape or a jump raises all of them together."""
    blocks = max(1, len(power) // _BLOCK)
    size = len(power) // blocks
    medians = np.median(power[: blocks * size].reshape(blocks, size), axis=1)
    padded = np.concatenate((medians[:1], medians, medians[-1:]))
    near = np.maximum(np.maximum(padded[:-2], padded[2:]), medians)
    return np.asarray(near[np.minimum(np.arange(len(power)) // size, blocks - 1)])


def _shape(power: Array) -> Array:
    """What the smooth shape has at each frequency, at most: it falls, so a little below there is more of it."""
    bins = np.arange(len(power))
    below = np.stack([power[(bins * share).astype(np.int64)] for share in BETWEEN])
    return np.asarray(np.median(below, axis=0))


def _wave(frequency: float, span: int) -> Wave:
    """Name the wave by the shortest whole period it can be an overtone of, if there is one."""
    # Up to a quarter of the root: with longer periods one is met by accident.
    for period in range(2, max(3, math.isqrt(span) // 4 + 1)):
        turns = frequency * period
        if round(turns) >= 1 and abs(turns - round(turns)) <= 0.6 * period / span:
            return Wave(period=float(period), whole=True)
    return Wave(period=1 / frequency, whole=False)


def find_roughness(lattice: Lattice, counts: Array) -> bool:
    """Whether places differ from their neighbours by more than chance, all along the lattice."""
    from scipy.special import gammainc, gammaincinv

    index, rows = _bulk(lattice.index, counts)
    if len(index) < _FEWEST or index[-1] - index[0] > _MOST_PLACES or float(np.mean(rows)) < 1.5:
        return False
    joined = np.sort(_squares(index - index[0], rows))
    if len(joined) < _FEWEST:
        return False
    kept = joined[: int(_LOWEST * len(joined))]
    cut = 2 * float(gammaincinv(0.5, _LOWEST))
    expected = float(gammainc(1.5, cut / 2)) / _LOWEST
    # Neighbouring residues share most of their places: about a third of them is independent.
    error = math.sqrt(2 * 3.0 / len(kept)) * expected
    return float(np.mean(kept)) > expected + 4.0 * error


def level_out(index: Whole, counts: Array, period: int) -> Array:
    """Take the favourites of a period down to the level of the others, so that what is left tells of other causes."""
    residue = index % period
    label, where = np.unique(residue, return_inverse=True)
    seen = np.bincount(where, weights=counts)
    usual = float(np.median(seen)) if 2 * len(label) > period else 0.0
    usual = max(usual, (float(np.sum(seen)) - float(np.max(seen))) / max(period - 1, 1))
    high = seen > usual + 2.5 * np.sqrt(np.maximum(usual, 1.0))
    return np.asarray(counts * np.where(high, usual / np.maximum(seen, 1e-300), 1.0)[where])


def _squares(place: Whole, rows: Array) -> Array:
    """Squared distances of the places from what their neighbours predict, in standard errors."""
    dense = np.zeros(int(place[-1]) + 1)
    dense[place] = _without_peaks(place, rows)
    if len(dense) < len(KERNEL) + 2:
        return np.zeros(0)
    width = len(KERNEL)
    around = np.convolve(dense, np.ones(width) / width, mode="valid")
    off = np.convolve(dense, KERNEL, mode="valid")
    spread = np.convolve(dense, KERNEL**2, mode="valid")
    crowded = around >= 3.0
    return np.asarray(off[crowded] ** 2 / np.maximum(spread[crowded], 0.7 * around[crowded] * np.sum(KERNEL**2)))


def _without_peaks(index: Whole, rows: Array) -> Array:
    """Single values that stick out far are atoms, not roughness: they are cut down to the level around them."""
    cumulated = np.concatenate(([0.0], np.cumsum(rows)))
    span = int(index[-1] - index[0]) + 1
    reach = max(4, min(64, span // 20))
    ends = np.searchsorted(index, np.stack((index - reach, index + reach + 1)))
    first, last = np.maximum(index - reach, index[0]), np.minimum(index + reach, index[-1])
    level = (cumulated[ends[1]] - cumulated[ends[0]] - rows) / np.maximum(last - first, 1)
    # a wave that leaves every twelfth place only is kept
    return np.asarray(np.minimum(rows, 3.0 + 12.0 * level))


def _bulk(index: Whole, counts: Array) -> tuple[Whole, Array]:
    """Rows without the outermost 1/200 of each side, so that a far outlier does not stretch the range."""
    total = np.cumsum(counts)
    first, last = np.searchsorted(total, (total[-1] * 0.005, total[-1] * 0.995))
    return index[first : last + 1], np.asarray(counts[first : last + 1], dtype=np.float64)
