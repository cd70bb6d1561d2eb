"""Bins of any widths on a line, to be used wherever equal ones are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numbers import number

__all__ = ["UnequalBins"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnequalBins:
    """Bins ``[ends[i], ends[i+1])``, as when the bins of one release are cut further for the next one.

    >>> list(UnequalBins(ends=(0.0, 4.0, 5.0, 9.0)).pieces())
    [(4.0, 2), (1.0, 1)]
    """

    ends: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ends", tuple(number(end, "an edge of a bin") for end in self.ends))
        if len(self.ends) < 2 or not all(low < high for low, high in pairwise(self.ends)):
            raise ProblemError("bins need increasing edges, two or more.")

    @property
    def low(self) -> float:
        """Where the first bin begins."""
        return self.ends[0]

    @property
    def high(self) -> float:
        """Where the last bin ends."""
        return self.ends[-1]

    @property
    def count(self) -> int:
        """Number of bins."""
        return len(self.ends) - 1

    def rescaled(self, factor: float, start: float) -> UnequalBins:
        """The bins of ``factor x + start``."""
        return UnequalBins(ends=tuple(factor * end + start for end in self.ends))

    def span(self, index: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper end of bins."""
        at, i = np.array(self.ends), np.asarray(index).astype(np.int64)
        return at[i], at[i + 1]

    def locate(self, x: ArrayLike) -> NDArray[np.float64]:
        """Index of the bin of each value; a value at an edge belongs to the bin above."""
        found = np.searchsorted(np.array(self.ends), np.asarray(x, dtype=np.float64), side="right") - 1
        return np.asarray(np.clip(found, 0, self.count - 1), dtype=np.float64)

    def pieces(self) -> Iterator[tuple[float, int]]:
        """Lengths of the bins with how many bins have each."""
        yield from Counter(high - low for low, high in pairwise(self.ends)).items()

    def edges(self) -> NDArray[np.float64]:
        """All edges, from ``low`` to ``high``."""
        return np.array(self.ends)
