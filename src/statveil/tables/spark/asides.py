"""What workers are to tell of the other columns: which rows of them a search looks at, and which columns in all rows.

A search keeps the rows that one machine would keep, and which these are depends on where the column has a value. So
workers say that first, of whatever the search sees: all rows, those of a group, what lies between two columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import BLOCK, Array
from statveil.tables.changes import Labels
from statveil.tables.looking import BesideColumn, ShownBeside
from statveil.tables.released import read_rows
from statveil.tables.spark.hidden import Hidden
from statveil.tables.spark.layout import unsteady
from statveil.tables.spark.spans import ParquetSpan, Span
from statveil.tables.spark.watching import spread_in_pieces
from statveil.tables.spark.workers import (
    Aside,
    AsidesOf,
    FirstRows,
    LookingBeside,
    Shape,
    Shaping,
    ToldBeside,
    look_beside_span,
    shapes_in_span,
    with_files,
)
from statveil.tables.structure.others.alongside import MOST_ROWS, Gathering
from statveil.tables.structure.others.cell_search import Cells
from statveil.tables.structure.others.facets import Facet, Sampled, Sampling

__all__ = ["LooksBeside", "each_search", "take_told"]

_FIRST = MOST_ROWS + 1
"""Rows that say whether columns may hold numbers of the groups of another one."""


def each_search(searches: Sequence[Sampling], asides: Sequence[AsidesOf]) -> list[tuple[Sampled, Aside]]:
    """Each of several searches with what was told for it."""
    leaves = [leaf for search in searches for leaf in search.searches or ()]
    told = [aside for own in asides for aside in own.asides]
    return [(leaf, aside) for leaf, aside in zip(leaves, told, strict=True) if aside is not None]


def take_told(search: Sampled, aside: Aside, told: Sequence[ToldBeside]) -> None:
    """Hand over to a search what the workers told of all spans."""
    cells = Cells()
    for one in told:
        for name, few in one.few:
            cells.take(name, few)
    for name in aside.few:
        cells.fill(name, sum(one.filled[name] for one in told))
    number, values, others = _together(aside.others, told)
    if len(number) != aside.chosen.rows:
        raise unsteady()
    search.take(Gathering.of(number, values, others, aside.chosen), others.keys(), cells)


def _together(
    names: Sequence[str], told: Sequence[ToldBeside]
) -> tuple[NDArray[np.int64], Array, dict[str, pl.Series]]:
    """The rows that were told."""
    number = np.concatenate([part for one in told for part in one.numbers])
    values: Array = np.concatenate([part for one in told for part in one.values])
    frame = pl.concat([part for one in told for part in one.others])
    return number, values, {name: frame[:, place].alias("") for place, name in enumerate(names)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LooksBeside:
    """Decides what is told in a pass over all columns.

    Parameters
    ----------
    ask : callable
        Has workers do something with spans.
    first : Span
        The rows of the first block.
    spans, long_spans : sequence of Span
        All rows, as they are cut for all columns and for few.
    columns : mapping
        Those that are read as maps see them.
    shown : callable
        Which others are looked at beside each of them.
    ends : array
        Where the rows of each file end, where there are several.
    plain : callable
        The shapes of all blocks of a column, as far as it was looked at.
    """

    ask: Callable[[Callable[[Any, Any], Any], Any, Sequence[Span]], list[Any]]
    first: Span
    spans: Sequence[Span]
    long_spans: Sequence[Span]
    columns: Mapping[str, Labels]
    shown: ShownBeside
    ends: NDArray[np.int64]
    plain: Callable[[Any], list[Shape]]

    def asides(self, asked: Sequence[BesideColumn]) -> dict[Any, list[AsidesOf]]:
        """What is told, for each column of which parts can tell all that is asked."""
        asked = [one for one in asked if all(search.searches is not None for search in one.searches)]
        shapes = self._shapes(asked)
        frame = pl.concat([pl.DataFrame([*one.values()]) for one in ParquetSpan(self.first).whole()])
        rows = {name: read_rows(frame.get_column(name), labels) for name, labels in self.columns.items()}
        others = {name: frame.get_column(name).alias("") for name in frame.columns if name not in self.columns}
        beside = self.shown()(rows, with_files(others, 0, len(frame), self.ends))
        found: dict[Any, list[AsidesOf]] = {}
        for one, own in zip(asked, shapes, strict=True):
            head = Facet(Hidden.of(one.column).values(rows), beside(one.column), 0)
            made = [self._of(one.column, *given, head) for given in zip(one.searches, own, strict=True)]
            told = [aside for aside in made if aside is not None]
            if len(told) == len(made):
                found[one.column] = told
        return found

    def _of(self, column: Any, search: Sampling, shapes: Sequence[Sequence[Shape]], head: Facet) -> AsidesOf | None:
        """What is told for one who searches; ``None`` where it must see all rows of all columns."""
        rows = [sum(size for size, _ in own) for own in shapes]
        facets = self._first_rows(column, search, shapes, rows, head)
        told: list[Aside] = []
        for leaf, own, there, facet in zip(search.searches or (), shapes, rows, facets, strict=True):
            wanted = leaf.must_see(facet.values, facet.others, whole=len(facet.values) == there)
            if wanted is None:
                return None
            chosen, row = Gathering(), 0
            for size, finite in own:
                chosen.add(spread_in_pieces(size, finite, row), {})
                row += size
            chosen = chosen.without_rows()
            told.append(Aside(column=column, chosen=chosen, few=wanted, others=[*facet.others], ends=self.ends))
        return AsidesOf(facets=search.facets, asides=told)

    def _first_rows(
        self, column: Any, search: Sampling, shapes: Sequence[Sequence[Shape]], rows: Sequence[int], head: Facet
    ) -> list[Facet]:
        """What searches see of the first block, or of the first rows of all where they see too few of it."""
        asides = AsidesOf(facets=search.facets, asides=())
        found = [*asides.seen(*head)]
        asked: list[Aside | None] = [None for _ in found]
        block, chosen = 0, FirstRows(_FIRST)
        for place, facet in enumerate(found):
            if len(facet.values) < min(rows[place], _FIRST):
                others = [*facet.others]
                asked[place] = Aside(column=column, chosen=chosen, few=(), others=others, ends=self.ends)
                block = max(block, int(np.searchsorted(np.cumsum([size for size, _ in shapes[place]]), _FIRST)))
        if not any(asked):
            return found
        work = LookingBeside(
            columns=self.columns,
            others=self.shown,
            asides=[[replace(asides, asides=asked)]],
            watchers=[()],
            names=[column],
            folder=None,
            ends=self.ends,
        )
        told = self.ask(look_beside_span, work, [span for span in self.spans if span.first <= block * BLOCK])
        for place, aside in enumerate(asked):
            if aside is not None:
                _, values, others_there = _together(aside.others, [span.told[0][place] for span in told])
                found[place] = Facet(values, others_there, 0)
        return found

    def _shapes(self, asked: Sequence[BesideColumn]) -> list[list[list[list[Shape]]]]:
        """The shapes of all blocks, for each column, all who search beside it, and each of their searches."""
        facets = [
            (Hidden.of(one.column), search.facets)
            for one in asked
            for search in one.searches
            if search.facets is not None
        ]
        found: list[list[list[Shape]]] = []
        if facets:
            columns = {name: self.columns[name] for hidden, _ in facets for name in hidden.names}
            work = Shaping(columns=columns, facets=facets)
            blocks = [block for span in self.ask(shapes_in_span, work, self.long_spans) for block in span]
            for place in range(len(facets)):
                found.append([list(own) for own in zip(*(block[place] for block in blocks), strict=True)])
        by_search = iter(found)
        return [
            [[self.plain(one.column)] if search.facets is None else next(by_search) for search in one.searches]
            for one in asked
        ]
