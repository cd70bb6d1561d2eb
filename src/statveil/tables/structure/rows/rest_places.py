"""Whether the rest of the values by some number goes with the place of the row: even before odd, a digit, a band.

A row that is drawn keeps about where it lies, so the rests of the true values, if their order is known, say by how much
the column has moved, as the phase of a wave does. That takes no equal rows, other than an order by size, and a part of
the rests is enough. So neighbours, a few rows apart and a whole turn apart, are held against rows in no order: how
often they have one rest.

Values that lie near to one another have rests that do, and so has a series in time. So only rests by numbers well below
the spread of neighbours are looked at, and only neighbours at least half a turn apart: from there on a smooth change
makes equal rests rarer, not more frequent. By the larger ones of these numbers equal rests are held against those next
to them alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from statveil.tables.blocks import Array

__all__ = ["told_by_rests"]

Places = NDArray[np.int64]

_ROWS, _PIECE = 2**12, 2**10  # that are looked at, in pieces from the whole column
_RESTS = (*range(2, 21), 24, 25, 30, 32, 50, 60, 64, 97, 100, 128, 1000)
_COARSE = ((10, 10), (100, 10))  # digits further left: so many places count as one
_LAGS = (1, 2, 3, 4, 5)
_SPREADS = 36  # lags of which the rows that are most alike say how far a series is known
_WIDE, _WIDER = 1.25, 4.0  # that spread, in turns
_BESIDE = 2  # rests next to an equal one
_FEWEST_PAIRS, _FEWEST = 20, 60
_ON_LATTICE = 1e-6  # of a step
_LARGEST = 2.0**50
_BY_CHANCE = 16  # reorderings that say what rows in no order show
_REORDERED = 99  # that must show less
_ABOVE = 5.0  # of their standard deviations


def told_by_rests(values: Array, *, level: float) -> float:
    """How much more often than by chance neighbours have one rest, as a share of the first one found; 0 if by chance.

    ``level`` is how often rows in no order may be taken for such.

    >>> rng = np.random.default_rng(0)
    >>> prices = rng.integers(0, 5_000, 300).astype(float)
    >>> told_by_rests(prices, level=1e-3)
    0.0
    >>> bool(told_by_rests(prices[np.argsort(prices % 2, kind="stable")], level=1e-3) > 0.9)
    True
    """
    places = _places(values[np.isfinite(values)])
    if places is None:
        return 0.0
    spread = _spread(places)
    looks = [_Rest(places, 1, rest, spread) for rest in _RESTS if rest * _WIDE <= spread]
    looks += [_Rest(places, coarse, rest, spread) for coarse, rest in _COARSE if coarse * rest * _WIDE <= spread]
    tried = sum(len(one.lags) for one in looks)
    return next((share for one in looks for lag in one.lags if (share := one.told(lag, level / tried))), 0.0)


def _places(values: Array) -> Places | None:
    """Where values lie on their lattice, in steps from the least one; ``None`` where they lie on none."""
    if len(values) > _ROWS:  # whole pieces: neighbours stay neighbours
        starts = np.linspace(0, len(values) - _PIECE, _ROWS // _PIECE).astype(np.int64)
        values = values[(starts[:, None] + np.arange(_PIECE)).ravel()]
    different = np.unique(values)
    if len(values) < _FEWEST or len(different) < 3:
        return None
    # digits are those of the number itself, where it has any
    least = 0.0 if np.array_equal(different, np.rint(different)) else float(different[0])
    step = 1.0 if least == 0.0 and np.diff(different).min() < 2 else float(np.diff(different).min())
    exact = (values - least) / step
    places = np.rint(exact)
    largest = float(np.abs(places).max())
    if largest >= _LARGEST or np.abs(exact - places).max() > min(_ON_LATTICE * max(1.0, largest), 0.1):
        return None
    return places.astype(np.int64)


def _spread(places: Places) -> float:
    """How far neighbours lie apart: the middle half of their differences, where rows are most alike."""
    lags = range(1, min(_SPREADS, len(places) // 4) + 1)
    quartiles = [np.percentile(places[lag:] - places[:-lag], (25, 75)) for lag in lags]
    return float(min(high - low for low, high in quartiles))


class _Rest:
    """The rests by one number, of whole places or of so many together, and neighbours that are compared by them."""

    def __init__(self, places: Places, coarse: int, by: int, spread: float) -> None:
        self._turn, self._by, self._coarse = coarse * by, by, coarse
        self._places = places
        self._rest = (places // coarse % by).astype(np.int32)
        self._every = spread >= _WIDER * self._turn
        # rests that take turns are the same again a whole turn later
        self.lags = tuple(dict.fromkeys(lag for lag in (*_LAGS, by) if lag <= len(places) // 4))
        drawn = np.random.default_rng(0).permutation(len(places))
        found = [self._of(drawn, np.roll(drawn, shift)) for shift in range(1, _BY_CHANCE + 1)]
        self._chance = (sum(one[1] for one in found) + 1) / (sum(one[0] for one in found) + 1)

    def _of(self, one: NDArray[np.int64] | slice, two: NDArray[np.int64] | slice) -> tuple[int, int]:
        """Pairs of rows half a turn apart and more whose rests are compared, and those of one rest."""
        apart = 2 * np.abs(self._places[one] - self._places[two]) >= self._turn
        differs = np.abs(self._rest[one] - self._rest[two])
        if not self._every:
            apart &= np.minimum(differs, self._by - differs) <= _BESIDE
        return int(np.count_nonzero(apart)), int(np.count_nonzero((differs == 0) & apart))

    def told(self, lag: int, level: float) -> float:
        """How much more often neighbours have one rest than by chance, as a share; 0 where chance may be as much."""
        pairs, equal = self._of(slice(lag, None), slice(None, -lag))
        if pairs < _FEWEST_PAIRS or self._chance >= 1 or bdtrc(equal - 1, pairs, self._chance) > level:
            return 0.0
        share = equal / pairs
        rng, rows, drawn = np.random.default_rng(1), len(self._places), []
        for _ in range(_REORDERED):
            order = rng.permutation(rows)
            there, same = self._of(order[lag:], order[:-lag])
            drawn.append(same / max(there, 1))
            if drawn[-1] >= share:
                return 0.0
        if share < float(np.mean(drawn)) + _ABOVE * float(np.std(drawn)):
            return 0.0
        return (share - self._chance) / (1 - self._chance)
