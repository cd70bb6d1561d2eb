"""Whether the rate of a label jumps at one value of the column: a limit with errors, or one that not all rows follow.

A flag that is set from 100 on tells where 100 went, even if one row in ten is wrong or only some of the rows above it
are flagged: the edge stays sharp. A label that is merely more likely among large values has no edge. So four
neighbouring windows of the sorted rows are compared: at an edge the rate changes between the two in the middle by far
more than between the outer ones and their neighbours; on a slope it changes as much there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["Edge", "Ranked", "label_sides"]

_LEAST_ROWS = 40
_PARTS = (5, 8, 12, 20, 40, 80)  # windows of one fifth, eighth, ... of the rows
_LEAST_WINDOW = 12
_MANY, _DIFFERENT = 60, 4  # values of a fine scale, and those that a window of it must have
_AROUND = 4  # values to either side that say what the rate is there
_LEAST_VALUES = 8  # different values that show whether rows come in clusters
_SHARP = 0.6  # of the change lies at the edge itself; softer ones are slopes
_BENT = 3.0  # standard errors by which the rates are off the line through all windows
_SOME = 0.08  # rows that are marked on one side, where none at all is on the other
_MOSTLY, _NONE = 0.25, 0.02  # rows that may be off where both sides follow a limit, and where one side does
_LEVEL = 1e-3  # how often labels without an edge are taken to have one, for all labels of a table together
_LABELS = 20
_PLACES = 512  # cuts that are compared at first


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Between ``low`` and ``high`` the rate of a label jumps from ``below`` to ``above``."""

    low: float
    high: float
    below: float
    above: float


def label_sides(keys: NDArray[np.generic]) -> list[tuple[np.generic, NDArray[np.bool_]]]:
    """The labels to look at: each of a few, or the one usual value of many others (a tax of 0), with where they are."""
    names, codes, counts = np.unique(keys, return_inverse=True, return_counts=True)
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


class Ranked:
    """A column sorted once, for all labels beside it."""

    def __init__(self, values: Array) -> None:
        self.rows = len(values)
        self.order = np.argsort(values, kind="stable")
        self.ranked = values[self.order]
        # windows begin and end between different values
        self.cuts = np.concatenate(([0], np.flatnonzero(np.diff(self.ranked)) + 1, [self.rows])).astype(np.int64)

    def edge(self, flag: NDArray[np.bool_], *, labels: int = 1) -> Edge | None:
        """The sharpest edge of a label, if there is one.

        Parameters
        ----------
        flag : array of bool
            Whether a row has the label, in the order of the table.
        labels : int
            How many labels of the table are looked at in all.
        """
        if self.rows < _LEAST_ROWS or len(self.cuts) < 5:
            return None
        if min(np.count_nonzero(flag), np.count_nonzero(~flag)) < _LEAST_WINDOW:
            return None
        held = np.concatenate(([0], np.cumsum(flag[self.order])))
        wider = float(np.sqrt(self._counted(held)))
        best: tuple[float, Edge] | None = None
        for part in _PARTS:
            size = self.rows // part
            if size < _LEAST_WINDOW:
                break
            found = self._at_window(held, size, wider, _limit(labels * 4 * part))
            if found is not None and (best is None or found[0] > best[0]):
                sure, at, below, above = found
                low, high = float(self.ranked[at - 1]), float(self.ranked[at])
                best = sure, Edge(low=low, high=high, below=below, above=above)
        return None if best is None else best[1]

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

    def _at_window(
        self, held: NDArray[np.int64], size: int, wider: float, limit: float
    ) -> tuple[float, int, float, float] | None:
        """How sure, and where, for windows of about so many rows; then the place once more, row by row."""
        inner = self.cuts[(self.cuts >= 1.5 * size) & (self.cuts <= self.rows - 1.5 * size)]
        if not len(inner):
            return None
        few = inner if len(inner) <= _PLACES else inner[np.linspace(0, len(inner) - 1, _PLACES).astype(np.int64)]
        found = self._sharpest(few, held, size, wider)
        if found[0] < limit:
            return None
        if len(few) < len(inner):
            near = inner[np.abs(inner - found[1]) <= 2 * self.rows / _PLACES + 1]
            found = max(found, self._sharpest(near, held, size, wider))
        return found

    def _sharpest(
        self, inner: NDArray[np.int64], held: NDArray[np.int64], size: int, wider: float
    ) -> tuple[float, int, float, float]:
        cuts = self.cuts
        lower = cuts[np.searchsorted(cuts, inner - size, side="right") - 1]
        upper = cuts[np.searchsorted(cuts, inner + size, side="left")]
        least = cuts[np.maximum(np.searchsorted(cuts, lower - size, side="right") - 1, 0)]
        most = cuts[np.minimum(np.searchsorted(cuts, upper + size, side="left"), len(cuts) - 1)]
        ends = ((least, lower), (lower, inner), (inner, upper), (upper, most))
        counts = [two - one for one, two in ends]
        sums = [held[two] - held[one] for one, two in ends]
        rates = [hits / np.maximum(rows, 1) for hits, rows in zip(sums, counts, strict=True)]
        # without outer windows nothing tells an edge from a slope
        whole = (counts[0] >= 0.5 * size) & (counts[3] >= 0.5 * size)
        if len(cuts) > _MANY:  # the rows at a bound or a cap are no neighbourhood: many different values are in one
            first, middle, last = (np.searchsorted(cuts, one) for one in (lower, inner, upper))
            whole &= (middle - first >= _DIFFERENT) & (last - middle >= _DIFFERENT)
        pooled = (sums[1] + sums[2]) / (counts[1] + counts[2])
        error = wider * np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12) * (1 / counts[1] + 1 / counts[2]))
        best = (-np.inf, 0, 0.0, 0.0)
        for sign in (1, -1):
            jump = sign * (rates[2] - rates[1])
            outer = np.maximum(sign * (rates[1] - rates[0]), 0.0) + np.maximum(sign * (rates[3] - rates[2]), 0.0)
            sharp = jump - outer
            # against the line through all four windows, whose own error is larger
            bent = sign * (2 * rates[2] - 2 * rates[1] + rates[0] - rates[3])
            low, high = (rates[1], rates[2]) if sign > 0 else (rates[2], rates[1])
            # a limit is followed by most rows of both sides, or by all of one
            limit = ((low <= _MOSTLY) & (high >= 1 - _MOSTLY)) | ((low <= _NONE) & (high >= _MOSTLY))
            limit |= (high >= 1 - _NONE) & (low <= 1 - _MOSTLY)
            side, beyond = (sums[0] + sums[1], rates[2]) if sign > 0 else (sums[2] + sums[3], rates[1])
            limit |= (side == 0) & (beyond >= _SOME)
            real = whole & limit & (sharp >= _SHARP * jump) & (bent >= _BENT * np.sqrt(5) * error)
            z = np.where(real, sharp / error, -np.inf)
            at = int(np.argmax(z))
            best = max(best, (float(z[at]), int(inner[at]), float(rates[1][at]), float(rates[2][at])))
        return best


def _limit(tests: int) -> float:
    from scipy.special import ndtri

    return float(-ndtri(_LEVEL / (2 * tests * len(_PARTS))))
