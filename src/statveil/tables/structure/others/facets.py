"""What searches see of a row: all of it, that of one group of rows, or what lies between two columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.alongside import Gathering, Made
from statveil.tables.structure.others.cell_search import Cells

__all__ = ["Facet", "Facets", "Parted", "Sampled", "Sampling", "some_rows"]


class Facet(NamedTuple):
    """Rows as one search sees them."""

    values: Array
    others: Mapping[str, pl.Series]
    start: int
    """The number of the first of them, among all rows that the search sees."""


Facets = Callable[[Array, Mapping[str, pl.Series], int], Sequence[Facet]]
"""From rows of the hidden column and of all others, and the number of the first row: what several searches see."""


class Parted(Protocol):
    """Who looks at rows with all other columns, also in parts that follow each other."""

    def part(self, start: int) -> Self:
        """One for the rows from ``start`` on."""

    def add(self, values: Any, others: Mapping[str, pl.Series]) -> object:
        """Take in the next rows of a column, or of several, and of all others."""

    def join(self, other: Self) -> None:
        """Take in what was seen of the rows that follow."""


class Sampled(Protocol):
    """A search in some of the rows that it sees."""

    def must_see(self, values: Array, others: Mapping[str, pl.Series], *, whole: bool = False) -> list[str] | None:
        """Which columns it must see in all rows, by the first ones, or by the ``whole``; ``None`` if all of all."""

    def take(self, rows: Gathering, others: Collection[str], cells: Cells) -> None:
        """Take in all at once: the rows that were kept, the names of all others, and their cells."""


class Sampling(Protocol):
    """One or more searches in some of the rows, and what must see all of them."""

    facets: Facets | None
    """What its searches see, in their order; ``None`` for one that sees the rows as they are."""

    @property
    def searches(self) -> Sequence[Sampled] | None:
        """The searches; ``None`` where all rows must be seen in one place."""

    @property
    def watchers(self) -> Sequence[Parted]:
        """Who sees all rows beside them."""


def some_rows(others: Mapping[str, pl.Series], inside: NDArray[np.bool_]) -> Mapping[str, pl.Series]:
    """Some rows of all columns, each made when it is asked for: of most rows of a long table nobody asks."""
    mask = pl.Series(inside)
    return Made({name: partial(_rows_of, others, name, mask) for name in others})


def _rows_of(others: Mapping[str, pl.Series], name: str, mask: pl.Series) -> pl.Series:
    return others[name].filter(mask)
