"""Atoms: single values that occur far more often than those around them, such as 0 or a clipping bound."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["continuous_atoms", "lattice_atoms"]

Whole = NDArray[np.int64]

MOST = 10
"""At most so many atoms are named."""
SURE = 6.0
"""Standard errors by which a repeated value of a continuous column exceeds what its neighbours predict."""
LUCK = 0.005
"""Probability that a smooth column on a lattice has an atom by chance, over all its places."""
RATIO = 1.5
EDGE_RATIO = 2.0
"""At an end of the column only one side predicts, so more is asked."""
LUCK_FAR = 0.01
"""The same of a few rows at one end, far from the others."""
_FEWEST_FAR, _MOST_FAR = 3, 0.1  # rows at the end, and their share at most
_NEXT, _GAP = 6, 1 / 3  # rows that say what is usual there, and how much of their way has none
_LOOKS = 400  # sites that are looked at closely, the most frequent first


def continuous_atoms(values: Array, counts: Whole, fineness: Array, *, least: int) -> Whole:
    """Positions of distinct values, in rising order, that repeat although the column is continuous.

    A repeated value counts from ``max(least, rows / 10,000)`` rows up. Where everything repeats (rows were doubled by
    a join), it must stand out from its neighbours too; and where hardly more numbers can be stored than there are rows
    (``fineness`` is their distance), continuous values repeat by accident.
    """
    rows = int(np.sum(counts))
    often = np.flatnonzero(counts >= max(least, rows / 10_000))
    if len(often) == 0:
        return often
    total = np.concatenate(([0], np.cumsum(counts)))

    if float(np.median(counts)) > 1:
        near = np.clip(often[:, None] + np.array([-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]), 0, len(counts) - 1)
        around = np.median(counts[near], axis=1)
        often = often[counts[often] >= RATIO * around + SURE * np.sqrt(around)]

    accident = np.zeros(len(often))
    for sites in (4, 64, 1024):
        reach = sites * fineness[often]
        ends = np.searchsorted(values, np.stack((values[often] - reach, values[often] + reach * 1.0001)))
        accident = np.maximum(accident, (total[ends[1]] - total[ends[0]] - counts[often]) / (2 * sites))
    often = often[counts[often] >= least + RATIO * accident + SURE * np.sqrt(accident)]

    middle = np.searchsorted(total[1:], (rows // 4, 3 * rows // 4))
    grid = float(np.max(fineness[middle]))
    if len(often) and 0 < values[middle[1]] - values[middle[0]] <= 10 * grid * rows:
        # The bulk lies on a coarse grid of stored numbers, perhaps as a narrow peak of it: the lattice's rule decides.
        index = np.floor(np.clip(values / grid, -(2.0**62), 2.0**62)).astype(np.int64)
        places, where = np.unique(index, return_inverse=True)
        merged = np.bincount(where, weights=counts).astype(np.int64)
        peaks = places[_stand_out(places, merged, least=1)]
        often = often[np.isin(index[often], peaks)]
    return often


def lattice_atoms(index: Whole, counts: Whole, pattern: int = 1) -> Whole:
    """Positions of lattice values whose count is far above what their neighbours predict.

    Parameters
    ----------
    index, counts : array of int
        Numbers of the distinct values on the lattice, rising, and how many rows have them.
    pattern : int
        Common period of the heaps, in steps: a favourite multiple must beat the other favourites as well.
    """
    found = np.union1d(_stand_out(index, counts), _far_out(index, counts, pattern))
    if pattern == 1 or len(found) == 0:
        return found
    kept: list[int] = []
    for residue in np.unique(index[found] % pattern):
        same = np.flatnonzero(index % pattern == residue)
        places = index[same] // pattern
        kept.extend(same[_stand_out(places, counts[same])].tolist())
        kept.extend(np.intersect1d(found, same[_far_out(places, counts[same], 1)]).tolist())
    return np.intersect1d(found, np.asarray(kept, dtype=np.int64))


def _stand_out(index: Whole, counts: Whole, least: int = 5) -> Whole:
    from scipy.special import gammainc

    total = np.concatenate(([0], np.cumsum(counts)))
    low, high = int(index[0]), int(index[-1])

    often = np.flatnonzero(counts >= least)
    at, count = index[often], counts[often]
    ends = np.searchsorted(index, np.stack((at - 3, at + 4)))
    sites = np.minimum(at + 3, high) - np.maximum(at - 3, low)
    level = (total[ends[1]] - total[ends[0]] - count) / np.maximum(sites, 1)
    # Half of a Poisson tail per place that has rows at all: an attacker has to find one value among them.
    luck = LUCK / max(len(index), 20)
    often = often[(count >= RATIO * level) & (gammainc(count, np.maximum(level, 1e-3)) < luck)]
    often = often[np.argsort(-counts[often], kind="stable")][:_LOOKS]

    def rows(first: int, last: int) -> float:
        """Rows from site ``first`` to site ``last``, in either order."""
        ends = np.searchsorted(index, (min(first, last), max(first, last) + 1))
        return float(total[ends[1]] - total[ends[0]])

    kept = []
    for one in often:
        place, size = int(index[one]), float(counts[one])
        ratio = EDGE_RATIO if place in (low, high) else RATIO
        guesses = [_guess(rows, place, -1, place - low), _guess(rows, place, 1, high - place)]
        sides = [guess for guess in guesses if guess is not None]
        # One side alone may be the start of a steep shape: more is asked.
        if sides and _beats(size, ratio, luck if len(sides) == 2 else 1e-4 * luck, sides):
            kept.append(one)
    return np.sort(np.asarray(kept, dtype=np.int64))


def _far_out(index: Whole, counts: Whole, pattern: int) -> Whole:
    """Positions of the first and last value, where a few rows share it far from all others.

    Tails fall, so that a place at the end has no more rows than the places from there to the next few rows have on
    average: of rows that chance puts there, hardly two come to the first one, and everyone knows values such as 999.
    """
    found = []
    for end, inward in ((0, 1), (len(index) - 1, -1)):
        more = int(counts[end]) - 1
        if not _FEWEST_FAR - 1 <= more <= _MOST_FAR * (int(np.sum(counts)) - 1):
            continue
        others = np.cumsum(counts[::inward][1:])
        if not len(others) or others[-1] < 2 * _NEXT:
            continue
        last = int(np.searchsorted(others, _NEXT)) + 1
        gap, reach = (abs(int(index[::inward][at] - index[end])) / pattern for at in (1, last))
        if gap < max(_GAP * reach, _NEXT):
            continue  # a second hump, or the steep start of a column
        if counts[end] < 1.5 * np.median(counts[::inward][1 : 1 + _NEXT]):
            continue  # all values repeat, as where each id has several rows
        if more * math.log(_NEXT / reach) - math.lgamma(more + 1) < math.log(LUCK_FAR / 2):
            found.append(end)
    return np.asarray(found, dtype=np.int64)


def _beats(size: float, ratio: float, luck: float, sides: list[tuple[float, float]]) -> bool:
    """Whether a count is above what each side predicts, and above both together with their errors.

    Errors are those of the logarithm: the prediction of few rows is skew.
    """
    from scipy.special import gammainc, ndtri

    for guess, _ in sides:
        if size < ratio * guess or float(gammainc(size, guess)) >= luck:
            return False
    weights = [1 / max(error, 1e-9) ** 2 for _, error in sides]
    middle = math.exp(sum(w * math.log(guess) for w, (guess, _) in zip(weights, sides, strict=True)) / sum(weights))
    error = 1 / math.sqrt(sum(weights))
    sure = -float(ndtri(luck))
    far = size - middle >= sure * math.hypot(math.sqrt(middle), middle * error)
    return far and math.log(size / middle) >= sure * error


def _guess(rows: Callable[[int, int], float], place: int, side: int, room: int) -> tuple[float, float] | None:
    """Count at ``place`` as one side predicts it, with the error of its logarithm; ``None`` without room.

    The logarithm is continued in a straight line from two blocks of neighbours. That is exact for a geometric
    shape and too high for every log-concave one (Gaussian, Poisson, binomial), so that those never fire.
    """
    if room < 2:
        return None
    width = 1
    while rows(place + side, place + side * width) < 50 and 4 * width <= room and width < 4096:
        width *= 2
    blocks = [rows(place + side * (b * width + 1), place + side * (b + 1) * width) + 0.5 for b in range(3)]
    if blocks[0] + blocks[1] < 10 and width >= 8:
        guess = (blocks[0] + blocks[1] + 3) / width  # hardly any rows around: nothing to continue
        return guess, 1 / math.sqrt(blocks[0] + blocks[1])
    part = (width + 1) / (2 * width)
    logs = [math.log(block / width) for block in blocks]
    guess = math.exp(logs[0] + part * (logs[0] - logs[1]))
    log_error = math.sqrt((1 + part) ** 2 / blocks[0] + part**2 / blocks[1])
    if width == 1 and min(blocks) >= 30:
        # Shapes that start steeper than a geometric one, such as power laws, want a curved continuation.
        guess = max(guess, math.exp(3 * logs[0] - 3 * logs[1] + logs[2]))
    return guess, log_error
