"""Heaps: periods at which a column on a lattice prefers some multiples, such as 5 or 10."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.column.lattice_search import Lattice

__all__ = ["BETWEEN", "find_heaps", "natural"]

Whole = NDArray[np.int64]

LEAST_RATIO = 1.05
"""How much more often than expected the favourite multiples occur, at least."""
PERIODS = 6
"""The bulk of the column must span so many periods: within fewer, a smooth hump looks like a heap."""
_LONG = 2**12  # periods above this are so rarely met by accident that fewer rows decide
_PART, _ENOUGH = 2**16, 2**18  # rows that decide on long and on short periods, for speed
# Asked of the multiples themselves, which are what people prefer: an attacker has to pick one of about ten places.
_SURE, _FEW = 0.02, 20  # below so many rows nothing is weak evidence;
# the first is divided by the number of periods that are tried
_SURE_ANYWHERE = 1e-8  # over the period: asked of any other residue, since there are as many as the period is long
BETWEEN = (0.8541, 0.7236, 0.6180)
"""Frequencies, as shares of a period's own, at which only the smooth shape speaks: no natural period has them."""
_SMALL = (3, 4, 6, 7, 8, 12, 15, 24, 30, 60, 90, 120, 360)


def natural(low: float, high: float) -> list[float]:
    """Numbers from ``low`` to ``high`` whose multiples people prefer, rising: 1, 2, 2.5, 5 in any decade, and hours.

    >>> natural(1, 12)
    [1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0]
    """
    if not 0 < low <= high:
        return []
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    found = {float(f"{lead}e{decade}") for decade in decades for lead in (1, 2, 2.5, 5)} | {float(x) for x in _SMALL}
    return sorted(x for x in found if low <= x <= high)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bulk:
    """Rows between the outermost 1/2000 of each side: a far outlier shall not stretch the range."""

    index: Whole
    counts: Array
    low: int
    high: int
    anchored: bool

    def thinned(self, rows: int) -> _Bulk:
        """About so many of the rows, drawn with a fixed seed, if there are more places than that."""
        if len(self.index) <= rows:
            return self
        # Rows are drawn, not places: rows of one place would not be independent.
        share = rows / float(np.sum(self.counts))
        drawn = np.random.default_rng(0).binomial(self.counts.astype(np.int64), share).astype(np.float64)
        return replace(self, index=self.index[drawn > 0], counts=drawn[drawn > 0])

    def tapered(self, period: int) -> Array:
        """Counts that fade out smoothly at both ends.

        Residues of a smooth shape are all equally frequent, up to terms that vanish quickly (Poisson summation).
        A jump, such as the start of an exponential column at 0, is not smooth; fading makes it so.
        """
        ramp = min(4.0 * period, (self.high - self.low) / 4) + 1
        rise = np.minimum(1.0, np.minimum(self.index - self.low + 1, self.high - self.index + 1) / ramp)
        return np.asarray(self.counts * (rise * rise * (3 - 2 * rise)))


def find_heaps(lattice: Lattice, counts: Whole) -> tuple[int, ...]:
    """Periods, in steps, that keep every heap in place when the column moves by their common multiples.

    Periods are tried from short to long. Each is compared with what the ones found before already explain: if
    multiples of 5 are frequent, multiples of 10 count only if they beat the other multiples of 5. A period that
    divides another is left out.
    """
    total = np.cumsum(counts)
    first, last = np.searchsorted(total, (total[-1] * 0.0005, total[-1] * 0.9995))
    index, weights = lattice.index[first : last + 1], counts[first : last + 1].astype(np.float64)
    if index[-1] - index[0] > 100 * total[-1]:
        weights = np.minimum(weights, 3.0)  # on so fine a lattice a value that repeats is an atom, whatever its residue
    bulk = _Bulk(index=index, counts=weights, low=int(index[0]), high=int(index[-1]), anchored=lattice.anchored)
    bulk = bulk.thinned(_ENOUGH)
    part = bulk.thinned(_PART)
    found: list[int] = []
    pattern = 1
    periods = _periods(lattice, (bulk.high - bulk.low) / PERIODS)
    sure = (_SURE if total[-1] >= _FEW else 1e-5) / max(len(periods), 1)
    for period in periods:
        known = math.gcd(period, pattern)
        if known < period and _prefers(bulk if period <= _LONG else part, period, known, sure):
            pattern = math.lcm(pattern, period)
            found.append(period)
    return _merged(found, lattice)


def _merged(found: list[int], lattice: Lattice) -> tuple[int, ...]:
    """As few periods as possible: two whose common multiple is natural become that, 2 and 5 become 10."""
    kept: list[int] = []
    for period in found:
        for other in list(kept):
            common = math.lcm(period, other)
            if common in _periods(lattice, common):
                kept.remove(other)
                period = common
        if not any(other % period == 0 for other in kept):
            kept.append(period)
    return tuple(sorted(kept))


def _periods(lattice: Lattice, most: float) -> list[int]:
    """Whole numbers of steps that are natural themselves, or as a distance: four steps of 0.25, say."""
    steps = {int(x) for x in natural(2, most) if x == int(x)} if most >= 2 else set()
    for distance in natural(2 * lattice.step, most * lattice.step):
        number = distance * lattice.down / lattice.up
        if abs(number - round(number)) < 1e-9 * number and round(number) >= 2:
            steps.add(round(number))
    return sorted(steps)


def _prefers(bulk: _Bulk, period: int, known: int, anchored: float) -> bool:
    """Whether one residue of ``period`` occurs too often, given the shares of the residues of ``known``."""
    # Remainders of 32-bit numbers are three times faster.
    away: NDArray[Any] = bulk.index - bulk.low
    residue = (away.astype(np.int32) if bulk.high - bulk.low < 2**31 else away) % period
    origin = -bulk.low % period  # the residue of 0
    if not _suspects(residue, bulk.counts, period, known, 2.5):
        return False
    weights = bulk.tapered(period)
    heft = float(np.sum(weights * weights / bulk.counts) / np.sum(weights))  # what one row counts, on average
    for one, seen, parent in _suspects(residue, weights, period, known, 2.5):
        sure = anchored if bulk.anchored and one == origin else _SURE_ANYWHERE / period
        excess = seen * period / (parent * known) - 1
        if seen < 4 * heft or excess < LEAST_RATIO - 1 or _tail(seen / heft, parent / heft, known / period) > sure:
            continue
        inside = residue % known == one % known
        at, heavy, on = bulk.index[inside], weights[inside], residue[inside] == one
        # The swing of a smooth shape has fewer overtones where the period has fewer residues.
        overtones = 2 if period < 5 * known else 4
        if _spread_out(at, heavy, on, period, known, heft) and excess >= overtones * _smooth_part(
            at, heavy, period, heft
        ):
            return True
    return False


def _suspects(
    residue: NDArray[Any], weights: Array, period: int, known: int, least: float
) -> list[tuple[int, float, float]]:
    """Find the few residues that stand out most by ``least`` standard errors: residue, weight, weight of its parent."""
    if period <= _LONG:
        seen = np.asarray(np.bincount(residue, weights=weights, minlength=period), dtype=np.float64)
        parent = np.tile(np.sum(seen.reshape(-1, known), axis=0), period // known)
        label = np.arange(period)
    else:
        label, where = np.unique(residue, return_inverse=True)
        seen = np.asarray(np.bincount(where, weights=weights), dtype=np.float64)
        _, above = np.unique(label % known, return_inverse=True)
        parent = np.bincount(above, weights=seen)[above]
    share = known / period
    z = (seen - parent * share) / np.sqrt(np.maximum(parent * share * (1 - share), 1e-12))
    if float(np.max(z)) < least:
        return []
    top = np.argpartition(z, -6)[-6:] if len(z) > 6 else np.arange(len(z))
    return [(int(label[i]), float(seen[i]), float(parent[i])) for i in np.sort(top) if z[i] >= least]


def _tail(seen: float, rows: float, share: float) -> float:
    """Probability that a binomial number of rows is at least ``seen``."""
    from scipy.special import betainc

    return float(betainc(seen, max(rows - seen, 0.0) + 1, share)) if seen > 0 else 1.0


def _spread_out(index: Whole, weights: Array, on: NDArray[np.bool_], period: int, known: int, heft: float) -> bool:
    """Whether the excess is still there without its two largest places: one frequent value is an atom, not a heap."""
    places = np.flatnonzero(on)
    if len(places) < 3:
        return False
    top = places[np.argsort(weights[places], kind="stable")[-2:]]
    cumulated = np.concatenate(([0.0], np.cumsum(weights)))
    ends = np.searchsorted(index, np.stack((index[top] - period // 2, index[top] + period // 2 + 1)))
    around = (cumulated[ends[1]] - cumulated[ends[0]] - weights[top]) / max(period // known - 1, 1)
    drop = float(np.sum(np.maximum(weights[top] - around, 0.0)))
    seen, rows = float(np.sum(weights[places])) - drop, float(cumulated[-1]) - drop
    share = known / period
    return seen > 1.03 * rows * share and _tail(seen / heft, rows / heft, share) < 0.02


def _smooth_part(index: Whole, weights: Array, period: int, heft: float) -> float:
    """How strongly the shape itself, as opposed to heaps, swings at about this period.

    The Fourier transform of a smooth shape falls with the frequency, so that what is seen a little below the
    period's frequency bounds the shape's part at that frequency. Heaps have nothing there.
    """
    if len(index) > _PART:
        some = np.random.default_rng(0).integers(0, len(index), _PART)
        index, weights = index[some], weights[some]
    share = weights / np.sum(weights)
    noise = heft / float(np.sum(weights))  # what as many rows of any shape have there by chance
    away = (index - index[0]).astype(float)
    sizes = []
    for between in BETWEEN:
        turn = 2 * math.pi * between / period * away
        sizes.append(float(share @ np.cos(turn)) ** 2 + float(share @ np.sin(turn)) ** 2)
    return math.sqrt(max(sorted(sizes)[1] - noise, 0.0))
