"""Whether the rate of a label jumps at one value of the column: a limit with errors, or one that not all rows follow.

A flag that is set from 100 on tells where 100 went, even if one row in ten is wrong or only some of the rows above it
are flagged: the edge stays sharp. A label that is merely more likely among large values has no edge. So four
neighbouring windows of the sorted rows are compared: at an edge the rate changes between the two in the middle by far
more than between the outer ones and their neighbours; on a slope it changes as much there. What stands out like that
must also be there in the rows next to the edge, and with errors that count the rows of a cluster once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.clusters import cluster_error, clusters_of
from statveil.tables.structure.reading.distinct import distinct

__all__ = ["Edge", "Ranked", "label_sides"]

_LEAST_ROWS = 40
_PARTS = (5, 8, 12, 20, 40, 80)  # windows of one fifth, eighth, ... of the rows
_LEAST_WINDOW = 12
_MANY, _DIFFERENT = 60, 8  # values of a fine scale, and those that a window of it must have
_AROUND = 4  # values to either side that say what the rate is there
_LEAST_VALUES = 8  # different values that show whether rows come in clusters
_SHARP = 0.6  # of the change lies at the edge itself; softer ones are slopes
_BENT = 3.0  # standard errors by which the rates are off the line through all windows
_SOME = 0.08  # rows that are marked on one side, where none at all is on the other
_MOSTLY, _NONE = 0.25, 0.02  # rows that may be off where both sides follow a limit, and where one side does
_LEVEL = 1e-3  # how often labels without an edge are taken to have one, for all labels of a table together
_LABELS = 20
_PLACES = 512  # cuts that are compared at first
_NEXT, _LEAST_NEXT = 4, 10  # the quarter of a window next to the edge, and the few rows that are nearest
_THERE, _UNSURE = 0.9, 1.65  # of the jump is there, up to so many standard errors
_LASTS = 0.5  # of the rate at the edge that a label keeps beyond it: others are met in a range of their own
_CANDIDATES = 4  # places per window size that are looked at closely


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Between ``low`` and ``high`` the rate of a label jumps from ``below`` to ``above``."""

    low: float
    high: float
    below: float
    above: float


def label_sides(keys: NDArray[np.generic]) -> list[tuple[np.generic, NDArray[np.bool_]]]:
    """The labels to look at: each of a few, or the one usual value of many others (a tax of 0), with where they are."""
    names, codes, counts = distinct(keys)
    if len(names) < 2:
        return []
    if len(names) == 2:
        chosen = [int(np.argmin(counts))]
    elif len(names) <= _LABELS:
        if np.ptp(counts) <= 1:  # as many rows each: quarters or tenths, which know ranks alone
            return []
        chosen = list(range(len(names)))
    else:
        most = int(np.argmax(counts))
        chosen = [most] if counts[most] >= 0.05 * len(keys) else []
    return [(names[code], codes == code) for code in chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A cut, the ends of the windows beside it, what stands out there and by how many standard errors."""

    sure: float
    sharp: float
    at: int
    lower: int
    upper: int
    below: float
    above: float


class _Windows(NamedTuple):
    """Two windows on either side of some cuts: where they begin and end, how many rows they have, which are whole."""

    inner: NDArray[np.int64]
    ends: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]
    counts: list[NDArray[np.int64]]
    whole: NDArray[np.bool_]


class Ranked:
    """A column sorted once, for all labels beside it.

    Parameters
    ----------
    values : array
        The column, in the order of the table.
    labels : mapping of str to array
        The other columns, some of which may be ids whose rows belong together.
    """

    def __init__(self, values: Array, labels: Mapping[str, NDArray[np.generic]] | None = None) -> None:
        self.rows = len(values)
        self.order = np.argsort(values, kind="stable")
        self.ranked = values[self.order]
        # windows begin and end between different values
        self.cuts = np.concatenate(([0], np.flatnonzero(np.diff(self.ranked)) + 1, [self.rows])).astype(np.int64)
        self._clusters = clusters_of(values, labels or {})
        self._known: dict[int, tuple[NDArray[np.int64], _Windows]] = {}

    def edge(self, flag: NDArray[np.bool_], *, labels: int = 1, name: str = "", several: bool = False) -> Edge | None:
        """The sharpest edge of a label, if there is one.

        Parameters
        ----------
        flag : array of bool
            Whether a row has the label, in the order of the table.
        labels : int
            How many labels of the table are looked at in all.
        name : str
            The column that has the label.
        several : bool
            Whether it has more than two.
        """
        if self.rows < _LEAST_ROWS or len(self.cuts) < 5:
            return None
        if min(np.count_nonzero(flag), np.count_nonzero(~flag)) < _LEAST_WINDOW:
            return None
        held = np.concatenate(([0], np.cumsum(flag[self.order])))
        wider = float(np.sqrt(self._counted(held)))
        best: _Place | None = None
        for part in _PARTS:
            size = self.rows // part
            if size < _LEAST_WINDOW:
                break
            limit = _limit(labels * 4 * part)
            for place in self._at_window(held, size, wider, limit):
                if best is not None and place.sure <= best.sure:
                    break
                if self._there(held, place) and (not several or self._lasts(held, place)):
                    wide = cluster_error(flag, *self._sides(place), self._clusters, without=name)
                    if place.sharp >= limit * wide:
                        best = place
                        break
        if best is None:
            return None
        low, high = float(self.ranked[best.at - 1]), float(self.ranked[best.at])
        return Edge(low=low, high=high, below=best.below, above=best.above)

    def _sides(self, place: _Place) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of the windows beside a place."""
        return self.order[place.lower : place.at], self.order[place.at : place.upper]

    def _there(self, held: NDArray[np.int64], place: _Place) -> bool:
        """Whether the jump is there in the rows next to the edge: where groups overlap, it comes little by little."""
        jump = place.above - place.below
        for size in {max((place.upper - place.lower) // (2 * _NEXT), _LEAST_NEXT), _LEAST_NEXT}:
            low = self.cuts[np.searchsorted(self.cuts, max(place.at - size, 0), side="right") - 1]
            high = self.cuts[np.searchsorted(self.cuts, min(place.at + size, self.rows), side="left")]
            rows = place.at - low, high - place.at
            below, above = (held[place.at] - held[low]) / rows[0], (held[high] - held[place.at]) / rows[1]
            error = np.sqrt(sum(p * (1 - p) / n for p, n in zip((place.below, place.above), rows, strict=True)))
            if np.sign(jump) * (above - below) < _THERE * abs(jump) - _UNSURE * error:
                return False
        return True

    def _lasts(self, held: NDArray[np.int64], place: _Place) -> bool:
        """Whether a label that few rows follow is about as frequent further on; one of several has its own range."""
        low, high = min(place.below, place.above), max(place.below, place.above)
        if low <= _MOSTLY and high >= 1 - _MOSTLY:
            return True
        hits, rows = held[place.at], place.at
        if place.above > place.below:
            hits, rows = held[-1] - hits, self.rows - rows
        return bool(hits >= _LASTS * high * rows)

    def _counted(self, held: NDArray[np.int64]) -> float:
        """How many rows count as one: rows of one person have one value and one label, and are no separate evidence.

        The rate at a value differs from that at its neighbours by more than chance if so; the few values beside an
        edge are left out.
        """
        sizes = np.diff(self.cuts).astype(np.float64)
        if len(sizes) < _LEAST_VALUES or np.mean(sizes) < 1.5:
            return 1.0
        rates = np.diff(held[self.cuts]) / sizes
        places = np.arange(1, len(sizes) - 1)
        low, high = self.cuts[np.maximum(places - _AROUND, 0)], self.cuts[np.minimum(places + _AROUND + 1, len(sizes))]
        share = (held[high] - held[low]) / (high - low)
        expected = sizes[1:-1] * share * (1 - share) * (1 / sizes[1:-1] + 0.25 / sizes[:-2] + 0.25 / sizes[2:])
        off = sizes[1:-1] * (rates[1:-1] - 0.5 * (rates[:-2] + rates[2:])) ** 2
        kept = np.argsort(off)[: -max(2, len(off) // 50)]
        return max(1.0, float(off[kept].sum()) / max(float(expected[kept].sum()), 1e-9))

    def _at_window(self, held: NDArray[np.int64], size: int, wider: float, limit: float) -> list[_Place]:
        """The surest places for windows of about so many rows; then each of them once more, row by row."""
        if size not in self._known:  # the same for all labels
            inner = self.cuts[(self.cuts >= 1.5 * size) & (self.cuts <= self.rows - 1.5 * size)]
            few = inner if len(inner) <= _PLACES else inner[np.linspace(0, len(inner) - 1, _PLACES).astype(np.int64)]
            self._known[size] = inner, self._windows(few, size)
        inner, windows = self._known[size]
        few = windows.inner
        if not len(inner):
            return []
        found: list[_Place] = []
        for place in self._sharpest(windows, held, wider, limit):
            if len(found) == _CANDIDATES:
                break
            if any(abs(place.at - other.at) < size // _NEXT for other in found):
                continue
            if len(few) < len(inner):
                near = inner[np.abs(inner - place.at) <= 2 * self.rows / _PLACES + 1]
                place = next(self._sharpest(self._windows(near, size), held, wider, place.sure), place)
            found.append(place)
        return sorted(found, key=lambda place: -place.sure)

    def _windows(self, inner: NDArray[np.int64], size: int) -> _Windows:
        """The windows of about so many rows beside some cuts."""
        cuts = self.cuts
        lower = cuts[np.searchsorted(cuts, inner - size, side="right") - 1]
        upper = cuts[np.searchsorted(cuts, inner + size, side="left")]
        least = cuts[np.maximum(np.searchsorted(cuts, lower - size, side="right") - 1, 0)]
        most = cuts[np.minimum(np.searchsorted(cuts, upper + size, side="left"), len(cuts) - 1)]
        ends = ((least, lower), (lower, inner), (inner, upper), (upper, most))
        counts = [two - one for one, two in ends]
        # without outer windows nothing tells an edge from a slope
        whole = (counts[0] >= 0.5 * size) & (counts[3] >= 0.5 * size)
        if len(cuts) > _MANY:  # the rows at a bound or a cap are no neighbourhood: many different values are in one
            first, middle, last = (np.searchsorted(cuts, one) for one in (lower, inner, upper))
            whole &= (middle - first >= _DIFFERENT) & (last - middle >= _DIFFERENT)
        return _Windows(inner=inner, ends=ends, counts=counts, whole=whole)

    def _sharpest(self, windows: _Windows, held: NDArray[np.int64], wider: float, limit: float) -> Iterator[_Place]:
        """Places that stand out by more than the limit, the surest first."""
        inner, ends, counts, whole = windows
        lower, upper = ends[1][0], ends[2][1]
        sums = [held[two] - held[one] for one, two in ends]
        rates = [hits / np.maximum(rows, 1) for hits, rows in zip(sums, counts, strict=True)]
        pooled = (sums[1] + sums[2]) / (counts[1] + counts[2])
        error = wider * np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12) * (1 / counts[1] + 1 / counts[2]))
        surest, sharpest = np.full(len(inner), -np.inf), np.zeros(len(inner))
        for sign in (1, -1):
            jump = sign * (rates[2] - rates[1])
            outer = np.maximum(sign * (rates[1] - rates[0]), 0.0) + np.maximum(sign * (rates[3] - rates[2]), 0.0)
            sharp = jump - outer
            # against the line through all four windows, whose own error is larger
            bent = sign * (2 * rates[2] - 2 * rates[1] + rates[0] - rates[3])
            low, high = (rates[1], rates[2]) if sign > 0 else (rates[2], rates[1])
            # a limit is followed by most rows of both sides, or by all of one
            follow = ((low <= _MOSTLY) & (high >= 1 - _MOSTLY)) | ((low <= _NONE) & (high >= _MOSTLY))
            follow |= (high >= 1 - _NONE) & (low <= 1 - _MOSTLY)
            side, beyond = (sums[0] + sums[1], rates[2]) if sign > 0 else (sums[2] + sums[3], rates[1])
            follow |= (side == 0) & (beyond >= _SOME)
            real = whole & follow & (sharp >= _SHARP * jump) & (bent >= _BENT * np.sqrt(5) * error)
            z = np.where(real, sharp / error, -np.inf)
            surest, sharpest = np.maximum(surest, z), np.where(z > surest, sharp, sharpest)
        if np.all(surest < limit):  # as a rule
            return
        for i in np.argsort(-surest, kind="stable"):
            if surest[i] < limit:
                return
            yield _Place(
                sure=float(surest[i]),
                sharp=float(sharpest[i]),
                at=int(inner[i]),
                lower=int(lower[i]),
                upper=int(upper[i]),
                below=float(rates[1][i]),
                above=float(rates[2][i]),
            )


def _limit(tests: int) -> float:
    from scipy.special import ndtri

    return float(-ndtri(_LEVEL / (2 * tests * len(_PARTS))))
