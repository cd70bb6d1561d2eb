"""Equal bins on a line, the first and the last one shorter where the width does not divide the range."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numbers import number

__all__ = ["Bins", "Cuts"]

_MOST_EDGES = 5_000_000


def _slack(ratio: float) -> float:
    """Rounding errors of a ratio, not a bin."""
    return 1e-12 + 1e-15 * abs(ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """Bins ``[origin + i width, origin + (i+1) width)``, cut to ``[low, high]``.

    >>> list(Bins(low=0.0, high=10.0, origin=0.0, width=3.0).pieces())
    [(3.0, 3), (1.0, 1)]
    """

    low: float
    high: float
    origin: float
    width: float

    def __post_init__(self) -> None:
        for name in ("low", "high", "origin", "width"):
            object.__setattr__(self, name, number(getattr(self, name), f"the {name!r} of bins"))
        if not (self.low < self.high and self.width > 0):
            raise ProblemError("bins need a range with low < high and a width above 0.")

    def rescaled(self, factor: float, start: float) -> Bins:
        """The bins of ``factor x + start``."""
        return Bins(
            low=factor * self.low + start,
            high=factor * self.high + start,
            origin=factor * self.origin + start,
            width=factor * self.width,
        )

    @property
    def first(self) -> int:
        """Index of the bin that holds ``low``."""
        ratio = (self.low - self.origin) / self.width
        return math.floor(ratio + _slack(ratio))

    @property
    def last(self) -> int:
        """Index of the bin that holds ``high``."""
        ratio = (self.high - self.origin) / self.width
        return max(self.first, math.ceil(ratio - _slack(ratio)) - 1)

    @property
    def count(self) -> int:
        """Number of bins."""
        return self.last - self.first + 1

    def span(self, index: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper end of bins."""
        i = np.asarray(index, dtype=np.float64)
        start = np.where(i <= self.first, self.low, self.origin + i * self.width)
        stop = np.where(i >= self.last, self.high, self.origin + (i + 1) * self.width)
        return start, stop

    def locate(self, x: ArrayLike) -> NDArray[np.float64]:
        """Index of the bin of each value; a value at an edge belongs to the bin above."""
        raw = np.floor((np.asarray(x, dtype=np.float64) - self.origin) / self.width)
        return np.clip(raw, self.first, self.last)

    def pieces(self) -> Iterator[tuple[float, int]]:
        """Lengths of the bins with how many bins have each, without listing every bin."""
        if self.count == 1:
            yield self.high - self.low, 1
            return
        # relative to the origin: far from zero, differences of edges would carry their rounding errors
        head = (self.first + 1) * self.width - (self.low - self.origin)
        tail = (self.high - self.origin) - self.last * self.width
        inner = self.count - 2
        whole = self.width
        for length in (head, tail):
            if abs(length - whole) <= 1e-11 * whole:
                inner += 1
        if inner:
            yield whole, inner
        for length in (head, tail):
            if abs(length - whole) > 1e-11 * whole:
                yield length, 1

    def edges(self) -> NDArray[np.float64]:
        """All edges, from ``low`` to ``high``."""
        if self.count > _MOST_EDGES:
            raise ProblemError(
                f"this would need {self.count:,} bins, more than {_MOST_EDGES:,}. "
                "Use wider bins, a larger tolerance or a narrower prior."
            )
        inner = self.origin + self.width * np.arange(self.first + 1, self.last + 1)
        return np.concatenate([[self.low], inner, [self.high]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cuts:
    """Bins of any widths: their edges, rising."""

    at: NDArray[np.float64]

    def edges(self) -> NDArray[np.float64]:
        """All edges, from the lowest to the highest."""
        return self.at
