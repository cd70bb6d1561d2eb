"""Whether the order of the rows tells their values: sorted or grouped rows, or a series in time."""

from __future__ import annotations

import math

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.findings import Finding

__all__ = ["Order"]

_CLEAR = 6.0
"""Standard errors of a correlation of neighbours that is no accident."""


class Order:
    """Compares each row with the next one, block by block.

    Maps that change single rows at random (units kept or added, rows relabelled) hide a row among others like it. In
    a sorted column a changed row sticks out of its neighbours, and the original can be read off again.
    """

    def __init__(self, *, categories: bool = False) -> None:
        self._categories = categories
        self._pairs = 0
        self._sums = np.zeros(5)
        self._last: float | None = None
        self._matches = 0
        self._counts: dict[float, int] = {}

    def add(self, values: Array) -> None:
        """Take in the next rows."""
        rows = values[np.isfinite(values)]
        if not len(rows):
            return
        joined = rows if self._last is None else np.concatenate([[self._last], rows])
        one, two = joined[:-1], joined[1:]
        self._pairs += len(one)
        self._last = float(rows[-1])
        if self._categories:
            self._matches += int(np.count_nonzero(one == two))
            for value, count in zip(*np.unique(rows, return_counts=True), strict=True):
                self._counts[float(value)] = self._counts.get(float(value), 0) + int(count)
            return
        with np.errstate(over="ignore"):
            self._sums += [one.sum(), two.sum(), (one * one).sum(), (two * two).sum(), (one * two).sum()]

    def findings(self) -> list[Finding]:
        """One finding where neighbours are more alike than chance makes them."""
        if self._pairs < 10 or self._score() < _CLEAR:
            return []
        says = (
            "neighbouring rows are alike (the table is sorted or grouped, or a series in time), so a row that was "
            "changed at random sticks out; shuffle the rows before the release."
        )
        return [Finding(name="order", values=(), flag="", says=says)]

    def _score(self) -> float:
        if self._categories:
            total = sum(self._counts.values())
            alike = sum((count / total) ** 2 for count in self._counts.values())
            spread = math.sqrt(max(alike * (1 - alike) * self._pairs, 1e-12))
            return (self._matches - alike * self._pairs) / spread if alike < 1 else 0.0
        one, two, squares, more, products = self._sums / self._pairs
        spread = math.sqrt(max((squares - one * one) * (more - two * two), 0.0))
        if not spread or not math.isfinite(spread):
            return 0.0
        return float(products - one * two) / spread * math.sqrt(self._pairs)
