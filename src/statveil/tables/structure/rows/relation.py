"""How much an order or a grouping of the rows tells of a column: the share of its variation, if it is no accident.

Everything goes by ranks (or by category), so that neither a heavy tail nor a unit matters. A relation counts only where
a formula for independent rows and a handful of random reorderings of the same rows both say that it is no accident: the
formula reaches far into the tail, the reorderings hold where its approximation does not (few rows, rare values).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import betainc

from statveil.tables.blocks import Array

__all__ = [
    "MOST_LAGS",
    "Keys",
    "alike_in_groups",
    "beats_chance",
    "equal_in_groups",
    "evenly_spread",
    "mirrored",
    "scores_of",
    "told_by_order",
]

Keys = NDArray[np.uint64]

MOST_LAGS = 512
"""How far apart neighbours are compared one by one; slower changes are found by their waves.

Rows farther apart are compared as well, by themselves, since two waves of a survey may stand one below the other.
"""

_CATEGORIES = 8  # the most frequent ones, each by itself; the others together
_REORDERED = ((2**14, 199), (2**17, 39), (2**62, 19))  # up to so many rows, so many reorderings: they take time
_FAR_ABOVE, _EVEN_ABOVE = 1.5, 1.25
_EVEN = 1.0  # excess kurtosis of the products of two rows, up to which their sums are as good as normal
_MANY = 2**14
_FEWEST_PAIRS = 10  # rows that are compared at a distance, or about a middle
_FIXED_SEED = 0x5EED  # a check must say the same each time
_NEARLY = 20  # a group of so many rows counts as equal with one odd row, and so on in proportion


def scores_of(values: Array, *, categories: bool) -> Array:
    """Rows as centred scores, one row of the result per score: mid-ranks, or one indicator per category.

    They are scaled so that the sum of the products of two independent rows has variance 1.
    """
    if not len(values):
        return np.zeros((1, 0))
    _, code, counts = np.unique(values, return_inverse=True, return_counts=True)
    if not categories:
        ranks = np.cumsum(counts) - 0.5 * (counts - 1)
        scores = ranks[code][None, :] - np.average(ranks, weights=counts)
    else:
        frequent = np.argsort(-counts, kind="stable")[: _CATEGORIES - 1]
        label = np.full(len(counts), len(frequent), dtype=np.int64)
        label[frequent] = np.arange(len(frequent))
        present = np.unique(label[code])
        scores = (label[code][None, :] == present[:, None]).astype(np.float64)
        scores -= scores.mean(axis=1, keepdims=True)
    size = math.sqrt(float(np.sqrt(((scores @ scores.T / len(values)) ** 2).sum())))
    return np.asarray(scores / size if size else scores)


# --- orders ---------------------------------------------------------------------------------------
def told_by_order(scores: Array, *, level: float, gaps: tuple[int, ...] = ()) -> float:
    """The largest share that the rows' own order tells: a trend, a lag, a wave or a mirror; 0 if by accident.

    Parameters
    ----------
    scores
        As of :func:`scores_of`, in the order to look at.
    level
        How often independent rows may be taken for related.
    gaps
        Where rows were left out: rows before and after such a place are not compared.
    """
    rows = scores.shape[1]
    if rows < 10:
        return 0.0
    variances = (scores * scores).mean(axis=1)
    if not variances.sum():
        return 0.0
    scores, variances = scores[variances > 0], variances[variances > 0]
    found = _Sequence(scores, variances, gaps)
    shares = found.shares()
    likely = found.chances() <= level / len(shares)
    if not likely.any():
        return 0.0
    rng = np.random.default_rng(_FIXED_SEED)
    # of so many distances and middles one is met by a few rare values: parts that are the same stand out far more
    mirror = _EVEN_ABOVE if evenly_spread(scores) else _FAR_ABOVE
    largest = found.largest * (1.0, 1.0, 1.0, 1 / _FAR_ABOVE, 1 / mirror)
    for _ in range(_reorderings(rows)):
        likely &= _Sequence(scores[:, rng.permutation(rows)], variances, gaps).largest < largest
        if not likely.any():
            return 0.0
    return float(shares[likely].max())


def evenly_spread(scores: Array) -> bool:
    """Whether no few rows outweigh the others, so that the products of some pairs add up to a normal variable."""
    if scores.shape[1] > _MANY:
        scores = scores[:, :: scores.shape[1] // _MANY]
    rng = np.random.default_rng(_FIXED_SEED)
    products = (scores * scores[:, rng.permutation(scores.shape[1])]).sum(axis=0)
    squares = products * products
    size = float(squares.mean())
    return float((squares * squares).mean()) <= (3 + _EVEN) * size * size


class _Sequence:
    """Five statistics of scores in a row: trend, neighbours, waves, rows far apart, and rows about a common middle."""

    def __init__(self, scores: Array, variances: Array, gaps: tuple[int, ...]) -> None:
        kinds, rows = scores.shape
        self.kinds, self.rows = kinds, rows
        place = (np.arange(rows) - 0.5 * (rows - 1)) / math.sqrt((rows * rows - 1) / 12)
        trends = (scores @ place) ** 2 / (rows * variances)
        pieces = np.split(scores, list(gaps), axis=1)
        self._near = min(rows // 4, MOST_LAGS)
        # stacked parts lie up to half the table apart, or, three of them, less; parts of it lie farther apart
        lags = max(self._near, rows - _FEWEST_PAIRS) if len(pieces) == 1 else self._near
        self._lags = lags
        length = rows + (lags * len(pieces) if len(pieces) > 1 else rows)
        spread = np.zeros((kinds, next_fast_len(length, real=True)))
        start = 0
        for piece in pieces:  # an empty stretch of all lags between two pieces: nothing is compared across it
            spread[:, start : start + piece.shape[1]] = piece
            start += piece.shape[1] + lags
        waves = np.zeros(kinds)
        powers, squares = 0.0, 0.0
        for kind, one in enumerate(spread):
            wave = rfft(one)
            power = wave.real**2 + wave.imag**2
            waves[kind] = power[1:].max() / (rows * variances[kind])
            powers = powers + power
            squares = squares + wave * wave if len(pieces) == 1 else 0.0
        products = irfft(powers, spread.shape[1])[1 : lags + 1]
        pairs = np.maximum(rows - np.arange(1, lags + 1) * len(pieces), 1)
        z = np.abs(products) / np.sqrt(pairs)
        near, far = z[: self._near], z[self._near :]
        # of the whole column: the first rows against the last ones of a weak trend are alike in a few rows alone
        alike = np.abs(products) / np.maximum(pairs, rows / 2) / variances.sum()
        self._likeness = float(alike[int(np.argmax(near))])
        self._far = float(alike[self._near + int(np.argmax(far))]) if len(far) else 0.0
        mirror, self._mirror, self._middles = 0.0, 0.0, 1
        if len(pieces) == 1 and rows >= 2 * _FEWEST_PAIRS:
            summed = irfft(squares, spread.shape[1])[: 2 * rows - 1]
            about, number = mirrored(summed, (scores * scores).sum(axis=0))
            heights = np.abs(about) / np.sqrt(number)
            at = int(np.argmax(heights))
            mirror, self._middles = float(heights[at]), len(heights)
            self._mirror = float(np.abs(about[at]) / (rows / 2) / variances.sum())
        self.largest = np.array([trends.max(), near.max(), waves.max(), far.max(initial=0.0), mirror])
        self._frequencies = spread.shape[1] // 2

    def shares(self) -> Array:
        """Of the variation that each statistic speaks of."""
        trend, _, wave, _, _ = self.largest
        told = [trend / self.rows, self._likeness, 2 * wave / self.rows, self._far, self._mirror]
        return np.minimum(told, 1.0)

    def chances(self) -> Array:
        """How often independent rows give as much, at most."""
        trend, lag, wave, far, mirror = self.largest
        return np.array(
            [
                self.kinds * math.erfc(math.sqrt(trend / 2)),
                self._near * math.erfc(lag / math.sqrt(2)),
                self.kinds * self._frequencies * math.exp(-min(wave, 700.0)),
                (self._lags - self._near) * math.erfc(far / math.sqrt(2)) if far else 1.0,
                self._middles * math.erfc(mirror / math.sqrt(2)) if mirror else 1.0,
            ]
        )


def mirrored(summed: Array, own: Array, fewest: int = _FEWEST_PAIRS) -> tuple[Array, NDArray[np.int64]]:
    """What rows as far before as behind a middle have in common, summed over the pairs, and how many pairs there are.

    Parameters
    ----------
    summed
        Of the scores with themselves, by the sum of the two rows' numbers (along the last axis).
    own
        Each row's product with itself.
    fewest
        Middles with fewer pairs are left out.
    """
    rows = own.shape[-1]
    place = np.arange(2 * rows - 1)
    pairs = (np.minimum(place, 2 * rows - 2 - place) + 1) // 2
    sums = summed.copy()
    sums[..., ::2] -= own
    kept = pairs >= fewest
    return 0.5 * sums[..., kept], pairs[kept]


# --- groups ---------------------------------------------------------------------------------------
def alike_in_groups(scores: Array, groups: NDArray[np.int64], *, level: float, least: float = 0.0) -> float:
    """The share of the variation that lies between the groups, less what chance puts there; 0 if by accident.

    Parameters
    ----------
    scores
        As of :func:`scores_of`.
    groups
        The number of each row's group, from 0 on; every group has at least two rows.
    level
        How often independent rows may be taken for alike.
    least
        Smaller shares are of no interest.
    """
    rows, number = scores.shape[1], int(groups.max(initial=-1)) + 1
    if rows < 10 or not 1 < number < rows:
        return 0.0
    sizes = np.bincount(groups, minlength=number)
    middle = scores.mean(axis=1, keepdims=True)
    scores = scores - middle
    total = float((scores * scores).sum())
    if not total:
        return 0.0

    def between(order: NDArray[np.int64] | slice) -> float:
        sums = (np.bincount(groups, one[order], minlength=number) for one in scores)
        return sum(float((part * part / sizes).sum()) for part in sums) / total

    seen = between(slice(None))
    share = 1 - (1 - seen) / (rows - number) * (rows - 1)
    if share < max(least, 0.0) or 1 - float(betainc((number - 1) / 2, (rows - number) / 2, min(seen, 1.0))) > level:
        return 0.0
    return share if beats_chance(seen, between, rows) else 0.0


def equal_in_groups(values: Array, groups: NDArray[np.int64], *, least: float, level: float | None = None) -> float:
    """The share of rows in groups of (nearly) one value, less what chance makes of it; 0 if by accident.

    With ``level`` independent rows have so many such groups no more often than that.
    """
    rows, number = len(values), int(groups.max(initial=-1)) + 1
    if rows < 10 or number < 2:
        return 0.0
    _, code = np.unique(values, return_inverse=True)
    sizes = np.bincount(groups, minlength=number)
    width = int(code.max()) + 1

    def of_one_value(order: NDArray[np.int64] | slice) -> NDArray[np.int64]:
        pairs, counts = np.unique(groups * width + code[order], return_counts=True)
        most = np.zeros(number, dtype=np.int64)
        np.maximum.at(most, pairs // width, counts)
        return np.asarray(sizes[sizes - most <= sizes // _NEARLY])

    def equal(order: NDArray[np.int64] | slice) -> float:
        return float(of_one_value(order).sum()) / rows

    seen = equal(slice(None))
    if seen < least:
        return 0.0
    rng = np.random.default_rng(_FIXED_SEED)
    drawn = [of_one_value(rng.permutation(rows)) for _ in range(5)]
    excess = seen - float(np.mean([one.sum() for one in drawn])) / rows
    if level is not None:
        mean, there = max(float(np.mean([len(one) for one in drawn])), 1.0), len(of_one_value(slice(None)))
        # as many, of groups that are of one value independently of one another: by Chernoff's bound
        if there <= mean or there * math.log(there / mean) - there + mean < -math.log(level):
            return 0.0
    return excess if excess >= least and beats_chance(seen, equal, rows) else 0.0


def _reorderings(rows: int) -> int:
    return next(number for most, number in _REORDERED if rows <= most)


def beats_chance(seen: float, statistic: Callable[[NDArray[np.int64]], float], rows: int) -> bool:
    """Whether no reordering gives as much, and what was seen is 5 of their standard deviations above their mean."""
    rng = np.random.default_rng(_FIXED_SEED)
    drawn = []
    for _ in range(_reorderings(rows)):
        drawn.append(statistic(rng.permutation(rows)))
        if drawn[-1] >= seen:
            return False
    return seen >= float(np.mean(drawn)) + 5 * float(np.std(drawn))
