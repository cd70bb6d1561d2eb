"""A first look at a few hundred rows: most pairs of columns are no copies of each other, and need no longer one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["glance", "stretches_alike"]

_GLANCE = 256  # rows of a first look


def glance(rows: int) -> slice:
    """About so many of the rows, evenly spread."""
    return slice(None, None, max(1, rows // _GLANCE))


def stretches_alike(values: Array, column: Array, edges: NDArray[np.int64], least: float) -> list[int]:
    """The stretches of the rows in which a glance has a rank correlation of about ``least``, up or down, or ties.

    All are looked at at once; ``edges`` are where they begin and end, and no row is empty.
    """
    rows = [np.arange(low, high)[glance(high - low)] for low, high in pairwise(edges)]
    found: list[int] = []
    for size in {len(one) for one in rows}:
        which = np.array([i for i, one in enumerate(rows) if len(one) == size])
        at = np.stack([rows[i] for i in which])
        (first, tied), (second, ties) = (_ranked(one[at]) for one in (values, column))
        # Spearman's formula, which holds without ties
        near = 1 - 6 * np.sum((first - second) ** 2.0, axis=1) / (size * (size**2 - 1.0))
        found += which[(np.abs(near) >= least - 1e-6) | tied | ties].tolist()
    return sorted(found)


def _ranked(table: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The ranks within each row of a table, and whether it has ties."""
    order = np.argsort(table, axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(table.shape[1]), table.shape), axis=1)
    return ranks, (np.diff(np.take_along_axis(table, order, axis=1), axis=1) == 0).any(axis=1)
