"""Rows of a smaller table like the whole one: blocks of neighbours from everywhere, whole groups, rare rows kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.links import Link

__all__ = ["FEW", "MANY", "Places", "grouping", "in_groups", "in_order", "rows_of_trial", "runs", "whole_groups"]

Places = NDArray[np.int64]

MANY, FEW = 50, 8
"""Stretches of the table that each give a block of neighbouring rows: many, or few where their order matters."""
_ALIKE = 0.95  # share of groups with one value from which on a column groups the rows


def rows_of_trial(
    rows: int,
    size: int,
    rng: Generator,
    *,
    groups: Places | None = None,
    rare: Places | None = None,
    stretches: int = MANY,
) -> Places:
    """Row numbers, in the table's order.

    Blocks from all parts of the table keep both its order at large (a sorted column keeps its distribution) and
    neighbours together. Where ``groups`` are given, whole groups are taken; ``rare`` rows always come along.

    >>> rows_of_trial(10, 8, np.random.default_rng(0)).size
    8
    """
    if groups is not None:
        count = int(groups.max()) + 1
        order = rng.permutation(count)
        held = np.cumsum(np.bincount(groups, minlength=count)[order])
        chosen = np.zeros(count, dtype=np.bool_)
        chosen[order[: max(1, int(np.searchsorted(held, size, side="right")))]] = True
        taken = chosen[groups]
    else:
        taken = np.zeros(rows, dtype=np.bool_)
        parts = max(1, min(stretches, size))
        edges = np.linspace(0, rows, parts + 1).astype(np.int64)
        lengths = np.diff(np.linspace(0, size, parts + 1).astype(np.int64))
        for start, stop, length in zip(edges[:-1], edges[1:], lengths, strict=True):
            first = start + int(rng.integers(0, max(stop - start - length, 0) + 1))
            taken[first : min(first + length, stop)] = True
    if rare is not None:
        taken[rare] = True
    return np.flatnonzero(taken)


def whole_groups(links: Iterable[Link], columns: Mapping[str, Array]) -> Places | None:
    """Numbers of the groups that must be whole for the first link that speaks of groups; ``None`` where none does."""
    name = next((name for link in links for name in link.groups if name in columns), None)
    if name is None:
        return None
    return np.unique(np.nan_to_num(columns[name], nan=-1e300), return_inverse=True)[1].astype(np.int64)


def grouping(column: Array, columns: Mapping[str, Array]) -> Places | None:
    """Numbers of the groups of the other column whose groups have one value each; the finest of such columns."""
    finite, best = np.isfinite(column), None
    if np.count_nonzero(finite) < 10:
        return None
    filled = np.where(finite, column, -1e300)
    for labels in columns.values():
        names, codes = np.unique(np.nan_to_num(labels, nan=-1e300), return_inverse=True)
        if len(names) < 5 or not in_groups(codes) or (best is not None and len(names) <= int(best.max()) + 1):
            continue
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(names)))
        low, high = np.minimum.reduceat(filled[order], starts), np.maximum.reduceat(filled[order], starts)
        several = np.bincount(codes) >= 2
        if several.sum() >= 5 and float(np.mean((low == high)[several])) >= _ALIKE:
            best = codes.astype(np.int64)
    return best


def in_groups(codes: Places) -> bool:
    """Whether at least half of the rows share their group with another one."""
    rows = np.bincount(codes)
    return bool(rows[rows > 1].sum() >= 0.5 * len(codes))


def in_order(column: Array) -> bool:
    """Whether the rows stand in an order that tells their values: sorted, or slowly changing."""
    values = column[np.isfinite(column)]
    if len(values) < 20 or np.ptp(values) == 0:
        return False
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)
    ranks = values if len(np.unique(values)) < 5 else ranks
    limit = 6 / np.sqrt(len(values))
    return bool(
        abs(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]) > limit
        or abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) > limit
    )


def runs(column: Array) -> Places:
    """Numbers of the runs of equal neighbours."""
    filled = np.nan_to_num(column, nan=-1e300)
    return np.concatenate([[0], np.cumsum(filled[1:] != filled[:-1])]).astype(np.int64)
