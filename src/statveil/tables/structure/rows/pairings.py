"""Whether rows belong together by where they stand in a part of the table: shifted, mirrored, or block by block.

All over the table the order search compares rows at every distance and about every middle. Here are the orders that it
sees too weakly: a stretch of the table that was appended to itself or to its own reverse, and blocks of one length, in
each of which the rows belong together in the same way (two by two, mirrored, half against half, or in lines that run
to and fro). A k-way riffle, a transposed matrix, a perfect shuffle repeated any number of times and every step through
the rows modulo their number put neighbours at one distance, and are seen by that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft

from statveil.tables.blocks import Array
from statveil.tables.structure.rows.relation import evenly_spread, mirrored
from statveil.tables.structure.rows.usual_shuffles import Places, origins

__all__ = ["MOST_IN_STRETCHES", "Pairing", "far_above", "in_places", "told_by_pairs"]

MOST_IN_STRETCHES = 2**17
"""Rows up to which all stretches are looked at; of longer tables as many, half of them first and half of them last."""

_LEAST_ROWS = 20
_SHORTEST, _FEWEST_PAIRS = 64, 16
_LONGEST_BLOCK, _BLOCK_WORK = 512, 2**24
_REORDERED = ((2**12, 39), (2**62, 19))
_EVEN, _UNEVEN = 3.0, 6.0  # standard deviations
_FIXED_SEED = 0x5EED
_UNDONE_LOOKS = 5
_BATCH = 2**17  # numbers that are put in order at once
_REST = 12  # orders that tell as well, perhaps: those of some parts of a table are nearly the same
_FEW = 20
_TAIL, _SLOWER = 0.05, 1.6


@dataclass(frozen=True, slots=True)
class Pairing:
    """How alike the rows of the likeliest pairs are."""

    height: float
    """Their likeness in standard deviations of rows in no order."""
    share: float
    """Of the variation that one row of a pair tells of the other."""
    looks: int
    """Kinds of pairs that were looked at."""

    @property
    def chance(self) -> float:
        """How often rows in no order give as much, at most."""
        return self.looks * math.erfc(self.height / math.sqrt(2))


Whole = NDArray[np.int64]
_Search = Callable[[Array], Pairing]
_NONE = Pairing(0.0, 0.0, 1)


def told_by_pairs(scores: Array, known: NDArray[np.bool_], *, level: float, least: float = 0.0) -> float:
    """The largest share that rows tell of those they may belong with; 0 if rows in no order could look the same.

    Parameters
    ----------
    scores
        Of the rows that have a value, as of :func:`~statveil.tables.structure.rows.relation.scores_of`.
    known
        Of all rows of the table in their order, whether each has a value.
    level
        How often rows in no order may be taken for pairs.
    least
        Smaller shares are of no interest.
    """
    if scores.shape[1] < _LEAST_ROWS or not scores.any():
        return 0.0
    placed = in_places(scores, known)
    shares = [_alone(search, placed, level / 4, least) for search in (_plainly, _in_stretches, _in_blocks)]
    return max(*shares, _undone(placed, level / 4, least))


def in_places(scores: Array, known: NDArray[np.bool_]) -> Array:
    """Scores of the rows that have a value, at their places among all rows, where the others have 0.

    Those are larger by what the others lack: on average the product of two rows keeps its variance.
    """
    if known.all():
        return scores
    placed = np.zeros((len(scores), len(known)))
    placed[:, known] = scores * math.sqrt(len(known) / scores.shape[1])
    return placed


def _alone(search: _Search, scores: Array, level: float, least: float) -> float:
    """The share that a search finds, if neither its formula nor reordered rows make an accident of it."""
    found = search(scores)
    if found.chance > level or found.share < least:
        return 0.0
    rng = np.random.default_rng(_FIXED_SEED)
    drawn = []
    for _ in range(next(number for most, number in _REORDERED if scores.shape[1] <= most)):
        drawn.append(search(scores[:, rng.permutation(scores.shape[1])]).height)
        if drawn[-1] >= found.height:
            return 0.0
    return min(found.share, 1.0) if found.height >= far_above(drawn, even=evenly_spread(scores)) else 0.0


def far_above(drawn: list[float], *, even: bool) -> float:
    """What the largest height of rows in no order hardly reaches, by those that reordered rows reach.

    It is spread as a Gumbel variable. Where the formula holds, as it does for rows of which none outweighs the others,
    the reordered rows are a mere check; where it does not, they have the last word (3e-4).
    """
    return float(np.mean(drawn)) + (_EVEN if even else _UNEVEN) * float(np.std(drawn))


# --- all of the table, by what comes to mind first -----------------------------------------------------
def _plainly(scores: Array) -> Pairing:
    """The table against its reverse, and halves, thirds and quarters of it against each other.

    The order search looks at these among all others; of so few a short table shows more.
    """
    rows = scores.shape[1]
    own = float((scores * scores).mean(axis=1).sum())
    compared = [(scores[:, : rows // 2], scores[:, : rows - rows // 2 - 1 : -1])]
    compared += [(scores[:, : -(rows // part)], scores[:, rows // part :]) for part in (2, 3, 4)]
    best = (0.0, 0.0)
    for first, second in compared:
        product, pairs = abs(float((first * second).sum())), first.shape[1]
        best = max(best, (product / math.sqrt(pairs), product / pairs / own))
    return Pairing(*best, looks=len(compared))


# --- stretches of the table ---------------------------------------------------------------------------
def _in_stretches(scores: Array) -> Pairing:
    """Every stretch of 64, 128, ... rows up to half the table against itself, shifted or mirrored."""
    own = float((scores * scores).mean(axis=1).sum())
    best, looks = _NONE, 0
    half = MOST_IN_STRETCHES // 2
    parts = [scores] if scores.shape[1] <= 2 * half else [scores[:, :half], scores[:, -half:]]
    for part in parts:
        width = _SHORTEST
        while 2 * width <= part.shape[1]:
            found = _stretch(part.astype(np.float32), width, own)
            best, looks = max(best, found, key=lambda one: one.height), looks + found.looks
            width *= 2
    return Pairing(best.height, best.share, max(looks, 1))


def _stretch(scores: Array, width: int, own: float) -> Pairing:
    rows = scores.shape[1]
    starts = np.unique(np.append(np.arange(0, rows - width + 1, width // 2), rows - width))
    windows = np.lib.stride_tricks.sliding_window_view(scores, width, axis=1)[:, starts]
    waves = [rfft(one, 2 * width, axis=-1) for one in windows]
    powers = sum((wave.real**2 + wave.imag**2 for wave in waves[1:]), waves[0].real ** 2 + waves[0].imag ** 2)
    squares = sum((wave * wave for wave in waves[1:]), waves[0] * waves[0])
    lags = width - _FEWEST_PAIRS
    shifted = irfft(powers, 2 * width, axis=-1)[:, 1 : lags + 1]
    summed = irfft(squares, 2 * width, axis=-1)[:, : 2 * width - 1]
    about, number = mirrored(summed, (windows * windows).sum(axis=0), _FEWEST_PAIRS)
    found = [_highest(shifted, width - np.arange(1, lags + 1), own), _highest(about, number, own)]
    return Pairing(*max(found), looks=shifted.size + about.size)


def _highest(products: Array, pairs: Whole, own: float) -> tuple[float, float]:
    heights = np.abs(products) / np.sqrt(pairs)
    at = int(np.argmax(heights))
    number = float(pairs[at % len(pairs)])
    height = float(heights.flat[at])
    return height, height / math.sqrt(number) / own


# --- blocks of one length -----------------------------------------------------------------------------
def _in_blocks(scores: Array) -> Pairing:
    """Blocks of every length up to 512 rows, from the first row on or up to the last."""
    kinds, rows = scores.shape
    own = float((scores * scores).mean(axis=1).sum())
    light = scores.astype(np.float32)
    best, looks = (0.0, 0.0), 0
    for length in range(2, 1 + min(_LONGEST_BLOCK, rows // 3, _BLOCK_WORK // (kinds * rows))):
        number, half = rows // length, length // 2
        cuts = [light[:, : number * length], light[:, rows - number * length :]]
        for cut in cuts if rows % length else cuts[:1]:
            block = cut.reshape(kinds, number, length)
            turned = block[:, :, ::-1]
            for first, second in (
                (block[:, :, :half], turned[:, :, :half]),
                (block[:, :, :half], block[:, :, half : 2 * half]),
                (block[:, :-1], turned[:, 1:]),
            ):
                pairs = first.shape[1] * first.shape[2]
                product = abs(float(np.einsum("kbi,kbi->", first, second)))
                best = max(best, (product / math.sqrt(pairs), product / pairs / own))
                looks += 1
    return Pairing(*best, looks=max(looks, 1))


# --- shuffles that anybody can undo -------------------------------------------------------------------
def _undone(scores: Array, level: float, least: float) -> float:
    """The share that the order tells which the rows had before a shuffle by a usual seed.

    Every shuffle of a wrong seed is one at random, so all of them say together what chance gives.
    """
    kinds, rows = scores.shape
    sizes = (scores * scores).sum(axis=0)
    if float(sizes.sum()) ** 2 < _FEW * float((sizes * sizes).sum()):
        return 0.0  # a few rows outweigh all others, and stand side by side in one of a thousand orders
    light = scores.astype(np.float32)
    heights, shares = [], []
    for several in _batches(origins(rows), max(_BATCH // (kinds * rows), 1)):
        before = np.empty((kinds, len(several), rows), dtype=np.float32)
        for number, origin in enumerate(several):
            before[:, number, origin] = light
        height, share = _in_order(before)
        heights.append(height)
        shares.append(share)
    if not heights:
        return 0.0
    height, share = np.concatenate(heights), np.concatenate(shares)
    best = int(np.argmax(height))
    if _UNDONE_LOOKS * len(height) * math.erfc(height[best] / math.sqrt(2)) > level or share[best] < least:
        return 0.0
    if evenly_spread(scores) or height[best] >= _reached(np.sort(height)[::-1][_REST:], level / len(height)):
        return min(float(share[best]), 1.0)
    return 0.0


def _reached(heights: Array, chance: float) -> float:
    """What rows in no order reach this seldom: as their largest heights, falling off exponentially or slower."""
    if len(heights) < 2 / _TAIL:
        return math.inf
    beyond = heights[: int(_TAIL * len(heights))]
    start = float(beyond[-1])
    return _SLOWER * (start + float((beyond - start).mean()) * math.log(_TAIL / chance))


def _batches(found: Iterator[Places], size: int) -> Iterator[list[Places]]:
    while several := list(itertools.islice(found, size)):
        yield several


def _in_order(scores: NDArray[np.float32]) -> tuple[Array, Array]:
    """The most of a trend, neighbours, two by two, mirrored, and one half against the other: height and share."""
    rows = scores.shape[2]
    half = rows // 2
    own = (scores[:, 0] ** 2).mean(axis=1, dtype=np.float64)
    place = (np.arange(rows) - 0.5 * (rows - 1)).astype(np.float32)
    place /= math.sqrt(float(place.astype(np.float64) @ place))
    along = np.abs((scores * place).sum(axis=2)) / np.sqrt(np.maximum(own, 1e-30))[:, None]
    trend = along.max(axis=0).astype(np.float64)
    heights, shares = [trend], [trend**2 / rows]
    for first, second in (
        (scores[:, :, :-1], scores[:, :, 1:]),
        (scores[:, :, : 2 * half : 2], scores[:, :, 1 : 2 * half : 2]),
        (scores[:, :, :half], scores[:, :, : rows - half - 1 : -1]),
        (scores[:, :, :half], scores[:, :, rows - half :]),
    ):
        pairs = first.shape[2]
        product = np.abs((first * second).sum(axis=2).sum(axis=0)).astype(np.float64)
        heights.append(product / math.sqrt(pairs))
        shares.append(product / pairs / float(own.sum()))
    at = np.argmax(heights, axis=0)[None, :]
    return np.take_along_axis(np.array(heights), at, axis=0)[0], np.take_along_axis(np.array(shares), at, axis=0)[0]
