"""All links of a column to others: edges of labels, functions that turn, sums of neighbours, shares within groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.edge_search import Ranked, label_sides
from statveil.tables.structure.others.filter_search import Neighbours
from statveil.tables.structure.others.links import EdgeLink, Link
from statveil.tables.structure.others.turn_search import find_turn
from statveil.tables.structure.others.within_search import find_same, find_within
from statveil.tables.structure.reading.distinct import distinct

__all__ = ["find_links"]

_LEAST_ROWS = 20
_MOST_LABELS = 400


def find_links(
    values: Array,
    numbers: Mapping[str, Array],
    labels: Mapping[str, NDArray[np.generic]],
    *,
    breaks: NDArray[np.bool_] | None = None,
    whole: bool = True,
    known: Collection[str] = (),
) -> list[Link]:
    """Links of other columns to a column.

    Parameters
    ----------
    values : array
        The column, NaN where a row has no number.
    numbers, labels : mapping of str to array
        Other columns as numbers, and as labels.
    breaks : array of bool, optional
        Rows that do not follow the one before them.
    whole : bool
        Whether no rows were left out.
    known : collection of str
        Columns that tell the column in another way, which are not looked at again.
    """
    finite = np.isfinite(values)
    if np.count_nonzero(finite) < _LEAST_ROWS or not np.ptp(values[finite]):
        return []
    free = {name: column for name, column in numbers.items() if name not in known and np.isfinite(column).any()}
    starts = np.arange(len(values)) == 0 if breaks is None else breaks
    around = Neighbours(values, starts, whole=whole)
    complete = bool(finite.all())
    x = values if complete else values[finite]
    found: list[Link] = []
    for name, column in free.items():
        here = column if complete else column[finite]
        link = find_turn(x, name, here) or around.find(name, column) or find_same(x, name, here)
        found += [] if link is None else [link]
    told = {link.columns[0] for link in found} | set(known)
    rest = {name: column if complete else column[finite] for name, column in free.items() if name not in told}
    keys = {name: codes if complete else codes[finite] for name, codes in labels.items()}
    found += find_within(x, rest, keys)
    return found + _edges(x, {name: codes for name, codes in keys.items() if name not in told})


def _edges(values: Array, labels: Mapping[str, NDArray[np.generic]]) -> list[Link]:
    ranked = Ranked(values, labels)
    sides = [(name, *side) for name, keys in labels.items() for side in label_sides(keys)][:_MOST_LABELS]
    several = {name: len(distinct(keys).places) > 2 for name, keys in labels.items()}
    found: dict[str, Link] = {}
    for name, label, flag in sides:
        edge = None if name in found else ranked.edge(flag, labels=len(sides), name=name, several=several[name])
        if edge is not None:
            found[name] = EdgeLink(
                columns=(name,),
                label=float(label),
                value=0.5 * (edge.low + edge.high),
                below=edge.below,
                above=edge.above,
            )
    return list(found.values())
