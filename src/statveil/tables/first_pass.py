"""The first pass over a column takes all others along for whoever looks at them; all later ones read it alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import numpy as np
import polars as pl

from statveil.tables.blocks import Array, Blocks, in_blocks
from statveil.tables.structure.rows.group_search import Beside

__all__ = ["FirstBeside", "Watcher", "Watchers"]


class Watcher(Protocol):
    """Who looks at rows with all other columns, and says whether more of them are wanted."""

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> bool: ...


class Watchers:
    """Several of them, each of which sees rows until it wants no more."""

    def __init__(self, *watchers: Watcher) -> None:
        self._left = list(watchers)

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> bool:
        """Show all of them the next rows; whether one wants more."""
        self._left = [one for one in self._left if one.add(values, others)]
        return bool(self._left)


class FirstBeside:
    """The passes over a column, the first of which a watcher of the other columns sees as well.

    So a table is read once to measure the column and to look at the others, however it is stored. A watcher that does
    not want the first rows (too many columns) sees no more, and the column is read alone.
    """

    def __init__(self, alone: Blocks, beside: Callable[[], Beside], watcher: Watcher | None) -> None:
        self._alone, self._beside, self._watcher = alone, beside, watcher

    def __call__(self) -> Iterator[Array]:
        """Blocks of ``BLOCK`` rows, the same in every pass."""
        watcher, self._watcher = self._watcher, None
        return self._alone() if watcher is None else self._watched(watcher)

    def unwatched(self) -> None:
        """The others were looked at elsewhere: every pass is over the column alone."""
        self._watcher = None

    def _watched(self, watcher: Watcher) -> Iterator[Array]:
        rows = self._beside()
        first = next(rows, None)
        if first is None or not watcher.add(*first):
            yield from self._alone()
            return

        def pieces() -> Iterator[tuple[None, Array]]:
            yield None, first[0]
            for values, others in rows:
                watcher.add(values, others)
                yield None, values

        for block in in_blocks(pieces()):
            parts = [values for _, values in block]
            yield parts[0] if len(parts) == 1 else np.concatenate(parts)
