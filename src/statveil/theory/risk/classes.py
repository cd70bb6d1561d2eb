"""The best window of each residue class of blocks along one parameter, bounded from above.

Residues are cut where a tooth passes a turn of the density, so between two cuts the density at every tooth is monotone,
or linear for a table. A cell counts what its best choice of teeth holds, and at most what any other could gain on it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.rounding import REL_TOL

__all__ = ["best_in_classes"]

Whole = NDArray[np.int64]

_CLOSE = 2e-6
"""Error of the whole, relative to what is caught, at which residues are not cut finer."""
_QUICK = 1e-3
_SPLIT = 4
_CHUNK = 1_000_000
_MOST_VALUES = 60_000_000


def best_in_classes(
    axis: Axis, start: Array, size: Array, spacing: Array, attacker: float, *, quick: bool = False
) -> float:
    """What the best windows catch of all blocks, rounded up; the blocks lie in order and do not overlap.

    A block of ``size`` holds classes of floor(size / spacing) teeth and, for residues below the remainder, of one more.
    """
    if not len(start):
        return 0.0
    short = np.floor(size / spacing * (1 + REL_TOL))
    longer = np.clip(size - short * spacing, 0.0, spacing)
    held = np.floor(attacker / spacing + REL_TOL) + 1
    owner, low, high = _cells(axis, start, size, spacing, longer)
    caught: list[float] = []
    used = 0
    close, most = (_QUICK, _MOST_VALUES // 20) if quick else (_CLOSE, _MOST_VALUES)
    kept_least, kept_gap = 0.0, 0.0
    while True:
        count = np.where(0.5 * (low + high) < longer[owner], short[owner] + 1, short[owner])
        some = count > 0
        owner, low, high, count = owner[some], low[some], high[some], count[some]
        if not len(owner):
            break
        least, gap = np.zeros(len(owner)), np.zeros(len(owner))
        teeth = int(count.max())
        chunk = max(1, _CHUNK // teeth)
        for i in range(0, len(owner), chunk):
            at = slice(i, i + chunk)
            row = owner[at]
            least[at], gap[at] = _bounds(axis, start[row], low[at], high[at], spacing[row], count[at], held[row])
        used += len(owner) * teeth
        whole = kept_least + math.fsum(least)
        allowed = max(close * whole, 1e-14)
        order = np.argsort(gap)
        # the largest gaps are looked at more closely, until the others may stay
        stay = np.cumsum(gap[order]) + kept_gap <= 0.5 * allowed
        fine = kept_gap + math.fsum(gap) <= allowed
        if fine or used + _SPLIT * teeth * int(np.sum(~stay)) > most:
            stay[:] = True
        done, again = order[stay], order[~stay]
        kept_least += math.fsum(least[done])
        kept_gap += math.fsum(gap[done])
        caught.append(math.fsum(least[done]) + math.fsum(gap[done]))
        fan = low[again, None] + (high - low)[again, None] * np.linspace(0.0, 1.0, _SPLIT + 1)
        fan[:, -1] = high[again]
        low, high, owner = fan[:, :-1].ravel(), fan[:, 1:].ravel(), np.repeat(owner[again], _SPLIT)
    return math.fsum(caught)


def _cells(axis: Axis, start: Array, size: Array, spacing: Array, longer: Array) -> tuple[Whole, Array, Array]:
    """Cells of residues: block, and where each begins and ends."""
    cuts = np.unique(np.concatenate([axis.turns, axis.landmarks[::8]]))
    block = np.searchsorted(start, cuts, side="right") - 1
    inside = (block >= 0) & (cuts <= (start + size)[block])
    block, cuts = block[inside], cuts[inside]
    rows = np.arange(len(start))
    even = spacing[:, None] * np.linspace(0.0, 1.0, 5)
    owner = np.concatenate([block, np.repeat(rows, 5), rows])
    residue = np.concatenate([np.mod(cuts - start[block], spacing[block]), even.ravel(), longer])
    order = np.lexsort((residue, owner))
    owner, residue = owner[order], residue[order]
    kept = (owner[1:] == owner[:-1]) & (residue[1:] > residue[:-1])
    return owner[:-1][kept], residue[:-1][kept], residue[1:][kept]


def _bounds(
    axis: Axis, start: Array, low: Array, high: Array, spacing: Array, count: Array, held: Array
) -> tuple[Array, Array]:
    """What the best choice of teeth holds of each cell, and how much more the best choices at every residue may."""
    tooth = np.arange(int(count.max()))
    first = (start + low)[:, None] + spacing[:, None] * tooth
    last = (start + high)[:, None] + spacing[:, None] * tooth
    inside = tooth < count[:, None]
    mass = np.where(inside, np.maximum(axis.cdf(last) - axis.cdf(first), 0.0), 0.0)
    left, right = np.where(inside, axis.pdf(first), 0.0), np.where(inside, axis.pdf(last), 0.0)
    length = high - low
    masses = _windows(mass, held)
    chosen = masses.argmax(axis=1)
    rows = np.arange(len(chosen))
    least = masses[rows, chosen]
    top = _windows(np.maximum(left, right), held)
    top[rows, chosen] = 0.0
    bottom = _windows(np.minimum(left, right), held)[rows, chosen]
    gap = length * np.maximum(top.max(axis=1) - bottom, 0.0)
    gap = np.minimum(gap, np.maximum(mass.sum(axis=1) - least, 0.0))
    if axis.linear:  # the best of linear functions is convex
        even = 0.5 * length * (_windows(left, held).max(axis=1) + _windows(right, held).max(axis=1))
        gap = np.minimum(gap, np.maximum(even - least, 0.0) + 1e-15 * even)
    return least, gap


def _windows(values: Array, held: Array) -> Array:
    """Sums of as many neighbouring teeth as a window holds, from each tooth on."""
    if np.all(held == 1):
        return values.copy()
    count = values.shape[1]
    total = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)
    stop = np.minimum(np.arange(count) + held[:, None], count).astype(np.int64)
    return np.asarray(np.take_along_axis(total, stop, axis=1) - total[:, :-1])
