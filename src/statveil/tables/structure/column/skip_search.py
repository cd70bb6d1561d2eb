"""Places of a lattice that are left out, or used twice, where all around them are used alike.

Amounts that were multiplied by a number near 1 and rounded again (horse powers as PS, a currency near parity, a tax of
a few per cent) leave out one place in so many, or use it twice, and all others as before. That is no wave and hardly a
roughness, but whoever knows the number knows the places, and so how far the column was moved. No list of such numbers
can be complete: all between 0.86 and 1.14 are tried, at places that they reach from 0, and then every place by itself,
for a column that lies on a lattice anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.column.lattice_search import Lattice

__all__ = ["find_gap", "find_skips", "skips_rather"]

Whole = NDArray[np.int64]

_LUCK = 0.005
"""Probability with which a smooth shape is taken for one with gaps, by either test."""
_REACH = 6
"""Places on either side that say how many rows a place should have."""
_FEWEST_PLACES, _MOST_PLACES = 40, 4_000
_FEWEST_ROWS = 150
_FARTHEST = 0.14
"""Factors this far from 1 leave no two gaps among the places that predict one."""
_FEWEST_GAPS = 3.0
_MOST_FACTORS = 20_000
_AT_ONCE = 50_000
"""Places of factors that are looked at together."""
_ROUNDING = 1e-9
"""Share by which sums in another order may differ, and far more."""
_SMOOTH = 2.0
"""Standard deviation of the bulk over the places that predict one: a narrower shape bends too much between them."""
_FLAT = 0.2
"""Share by which the nearer half of these places may differ from the farther one, beyond chance: so does a bend."""
_DENSE, _ENOUGH = 3.0, 20.0
"""Rows of a place on average, below which others are averaged until they have so many."""
_STEEP = 3.0
"""How many times as many rows one side may have as the other."""
_PLAIN = 0.25
"""Share of the rows by which gaps must fall short, or places used twice stand out: a shape bends by less."""


def _predictor() -> Array:
    """Weights of the places around one that predict it: exact for shapes that are polynomials of degree 3 there."""
    away = np.concatenate((np.arange(-_REACH, 0), np.arange(1, _REACH + 1))).astype(np.float64)
    weights = np.linalg.pinv(np.stack((np.ones_like(away), away**2), axis=1))[0]
    return np.insert(weights, _REACH, 0.0)


_PREDICTOR = _predictor()
_AWAY = np.abs(np.arange(-_REACH, _REACH + 1))
_SIDE = np.sign(np.arange(-_REACH, _REACH + 1))
_PARTS = [
    np.where(part, 1.0 / _REACH, 0.0)
    for part in ((_AWAY > 0) & (_AWAY <= _REACH // 2), _AWAY > _REACH // 2, _SIDE < 0, _SIDE > 0)
]
"""Averages over the places beside one: the nearer, the farther, those of either side."""
_ERROR = math.sqrt(1.0 + float(np.sum(_PREDICTOR**2)))
"""Standard error of a place less its prediction, in those of the place alone."""


def find_gap(lattice: Lattice, counts: Array) -> bool:
    """Whether a place is empty, or nearly, that should not be by those on both of its sides."""
    bulk = _bulk(lattice, counts)
    return bulk is not None and _empty_place(bulk[0])


def find_skips(lattice: Lattice, counts: Array, levelled: Array) -> bool:
    """Whether places are left out, or used twice, as a factor near 1 would.

    ``levelled`` are the numbers of rows after favourite multiples were taken down; places of these say nothing.
    """
    bulk = _bulk(lattice, levelled) if lattice.anchored else None
    if bulk is None:
        return False
    dense, low = bulk
    taken = lattice.index[levelled != counts] - low
    return _near_one(dense, low, taken[(taken >= 0) & (taken < len(dense))]) > 0


def skips_rather(lattice: Lattice, counts: Array, periods: tuple[int, ...]) -> bool:
    """Whether what looks like favourite multiples of some periods is explained better by a factor near 1."""
    bulk = _bulk(lattice, counts) if lattice.anchored and periods else None
    if bulk is None or not (surely := _near_one(*bulk)):
        return False
    dense, low = bulk
    predicted, usable, error = _predictions(dense)

    def favoured(period: int, residue: int) -> float:
        place = np.arange((residue - low) % period, len(dense), period)
        place = place[usable[place]]
        return _errors(float(np.sum(dense[place])), float(np.sum(predicted[place]))) / error

    return all(surely > favoured(period, residue) for period in periods for residue in range(period))


def _bulk(lattice: Lattice, counts: Array) -> tuple[Array, int] | None:
    """The rows of every place, and the first place; ``None`` where there are too few of either to tell a gap."""
    total = np.cumsum(counts)
    if total[-1] < _FEWEST_ROWS:
        return None
    # without the outermost 1/200 of each side, so that a far outlier does not stretch the range
    first, last = np.searchsorted(total, (total[-1] * 0.005, total[-1] * 0.995))
    index, rows = lattice.index[first : last + 1], np.asarray(counts[first : last + 1], dtype=np.float64)
    low, size = int(index[0]), int(index[-1] - index[0]) + 1
    if not _FEWEST_PLACES <= size <= _MOST_PLACES:
        return None
    centre = float(rows @ index) / float(np.sum(rows))
    if float(rows @ (index - centre) ** 2) / float(np.sum(rows)) < (_SMOOTH * _REACH) ** 2:
        return None
    dense = np.zeros(size)
    dense[index - low] = rows
    return dense, low


def _empty_place(dense: Array) -> bool:
    """Whether a place has far fewer rows than those on both of its sides, more than chance explains in one of all."""
    from scipy.special import pdtr

    sides = np.lib.stride_tricks.sliding_window_view(dense, _REACH)
    middle = np.sort(sides, axis=1)[:, _REACH // 2 - 1]  # the lower median, so that favourites nearby do not matter
    before, after = middle[: -_REACH - 1], middle[_REACH + 1 :]
    level = np.minimum(before, after)
    # what the level is at least: the middle of six places is off by about half the error of one of them
    level = np.maximum(level - 1.5 * np.sqrt(level), 0.0)
    own = dense[_REACH:-_REACH]
    chance = np.where(own <= 0.5 * level, pdtr(own, level), 1.0)
    return bool(np.min(chance) < _LUCK / len(chance))


def _predictions(dense: Array) -> tuple[Array, NDArray[np.bool_], float]:
    """How many rows every place should have by those around it, where that can be said, and how far that is off.

    The last in standard errors of the rows of a place. Where places have few rows, those of more places are averaged,
    and none is left out for what is seen around it: that would leave out the emptier ones.
    """
    level = float(np.mean(dense))
    if level < _DENSE:
        reach = min(max(_REACH, math.ceil(_ENOUGH / level)), len(dense) // 16)
        weights = np.full(2 * reach + 1, 0.5 / reach)
        weights[reach] = 0.0
        usable = np.zeros(len(dense), dtype=np.bool_)
        usable[reach : len(dense) - reach] = True
        return np.convolve(dense, weights, mode="same"), usable, math.sqrt(1.0 + 0.5 / reach)
    predicted = np.convolve(dense, _PREDICTOR, mode="same")
    near, far, left, right = (np.convolve(dense, weights, mode="same") for weights in _PARTS)
    bend = np.abs(near - far) - _FLAT * np.maximum(near, far)
    usable = (predicted > 0) & (bend <= 2.0 * np.sqrt(np.maximum(near, far) * 2 / _REACH))
    usable &= (np.maximum(left, right) <= _STEEP * np.minimum(left, right)) & (near + far >= _DENSE)
    usable[:_REACH] = usable[len(dense) - _REACH :] = False
    return predicted, usable, _ERROR


def _near_one(dense: Array, low: int, taken: Whole | None = None) -> float:
    """How surely the places that multiples of a number near 1 leave out, or use twice, have fewer rows, or more.

    In standard errors, of the number that fits best; 0 where chance explains it. ``taken`` places are left out.
    """
    from scipy.special import ndtri

    high = low + len(dense) - 1
    far = max(abs(low), abs(high))
    least = _FEWEST_GAPS / len(dense)
    # half a place at the far end: factors nearer to each other leave the same places out
    apart = max(0.5 / far, 2 * math.log(_FARTHEST / least) / _MOST_FACTORS)
    off_by = np.exp(np.arange(math.log(least), math.log(_FARTHEST), apart))
    predicted, usable, error = _predictions(dense)
    if taken is not None:
        usable[taken] = False
    surely = -float(ndtri(_LUCK / (2 * len(off_by))))
    best = 0.0
    rows = np.where(usable, dense, 0.0), np.where(usable, predicted, 0.0)
    for factor in _promising(off_by, low, *rows, surely * error):
        place = _uneven_places(factor, low, high) - low
        place = place[usable[place]]
        expected, seen = float(np.sum(predicted[place])), float(np.sum(dense[place]))
        if (seen < expected) == (factor > 1.0) and abs(seen - expected) >= _PLAIN * expected:
            best = max(best, _errors(seen, expected) / error)
    return best if best >= surely else 0.0


def _promising(off_by: Array, low: int, dense: Array, predicted: Array, surely: float) -> Iterator[float]:
    """The factors so far from 1 whose places may stand out ``surely`` enough: many at once, with room for rounding."""
    high = low + len(dense) - 1
    part = np.cumsum(len(dense) * off_by + 4.0) // _AT_ONCE
    for some in np.split(off_by, np.flatnonzero(np.diff(part)) + 1):
        for factors in (1.0 + some, 1.0 - some):
            seen, expected = _at_uneven_places(factors, low, high, dense, predicted)
            fewer = seen < expected * (1.0 + _ROUNDING) if factors[0] > 1.0 else seen > expected * (1.0 - _ROUNDING)
            plain = np.abs(seen - expected) >= _PLAIN * expected * (1.0 - _ROUNDING)
            worth = np.flatnonzero(fewer & plain & (expected > 0))
            seen, expected = seen[worth], expected[worth]
            deviance = 2 * (seen * np.log(np.maximum(seen, 1e-300) / expected) - (seen - expected))
            yield from factors[worth[deviance >= (surely * surely) * (1.0 - _ROUNDING)]].tolist()


def _at_uneven_places(factors: Array, low: int, high: int, *rows: Array) -> list[Array]:
    """Sums of some rows at the places of :func:`_uneven_places`, of factors on one side of 1."""
    off = np.abs(factors - 1.0)
    ends = np.sort(np.stack((low / factors, high / factors)), axis=0)
    first = np.floor(ends[0] * off - 0.5)
    size = (np.ceil(ends[1] * off + 0.5) + 1 - first).astype(np.int64)
    owner = np.repeat(np.arange(len(factors)), size)
    turn = first[owner] + (np.arange(len(owner)) - (np.cumsum(size) - size)[owner])
    factor = factors[owner]
    before = np.floor((turn + 0.5) / off[owner])
    place = np.floor(before * factor + 0.5) + 1.0 if factors[0] > 1.0 else np.floor((before + 1.0) * factor + 0.5)
    inside = (place >= low) & (place <= high)
    owner, place = owner[inside], place[inside].astype(np.int64) - low
    sums = (np.bincount(owner, weights=some[place], minlength=len(factors)) for some in rows)
    return [np.asarray(one, dtype=np.float64) for one in sums]


def _uneven_places(factor: float, low: int, high: int) -> Whole:
    """Places between two that whole numbers times the factor leave out, or that two of them reach."""
    off = abs(factor - 1.0)
    ends = sorted((low / factor, high / factor))
    turn = np.arange(math.floor(ends[0] * off - 0.5), math.ceil(ends[1] * off + 0.5) + 1)
    before = np.floor((turn + 0.5) / off)  # the last whole number before the distance to its place passes a half
    place = np.floor((before + 1.0) * factor + 0.5)
    place = (np.floor(before * factor + 0.5) + 1.0 if factor > 1.0 else place).astype(np.int64)
    return np.asarray(place[(place >= low) & (place <= high)])


def _errors(seen: float, expected: float) -> float:
    """How far a number of rows is from what was expected, in its standard errors (by the deviance: rows may be few)."""
    if expected <= 0:
        return 0.0
    deviance = 2 * ((seen * math.log(seen / expected) if seen > 0 else 0.0) - (seen - expected))
    return math.sqrt(max(deviance, 0.0))
