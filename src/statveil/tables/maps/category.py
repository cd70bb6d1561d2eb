"""Categories: relabel the fewest rows that give each category exactly its released number of rows.

A category with too many rows gives away exactly the surplus, chosen uniformly at random, and the rows that move get the
missing labels in random order. How many rows leave each block, and for which labels, is drawn when the map is prepared;
which rows they are, when the block is. So one pass prepares, and a block needs no other block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.blocks import Array, Blocks
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap, stream
from statveil.tables.maps.sampling import thinned

__all__ = ["Category", "largest_remainder", "prepare", "prepare_category"]

Counts = NDArray[np.int64]

_AMONG_BLOCKS, _AMONG_ROWS = 0x30, 0x31  # purposes of the random streams
_SUM_TOLERANCE = 1e-8
_ROUNDING = 2e-14  # of the rows: rounding errors of shares worked out in float64 stay below


def largest_remainder(shares: Array, rows: int) -> Counts:
    """Whole counts that sum to ``rows``, each the floor or the ceiling of its share of them.

    Parameters
    ----------
    shares
        From 0, with the sum 1 (up to 1e-8; they are divided by their sum).
    rows
        How many rows are shared out.

    Returns
    -------
    Counts
        What is left after the floors goes to the largest remainders, the lower index first among equal ones.

    Raises
    ------
    ColumnError
        Shares that are negative or not finite, or do not sum to 1.

    Examples
    --------
    >>> largest_remainder(np.array([0.5, 0.25, 0.25]), 5).tolist()
    [3, 1, 1]
    """
    if not np.isfinite(shares).all() or (shares < 0).any() or abs(math.fsum(shares) - 1) > _SUM_TOLERANCE:
        raise ColumnError(
            "the released shares of the categories are not shares: each must be at least 0, and they must sum to 1. "
            "Check the categories of the plan."
        )
    exact = shares / math.fsum(shares) * rows
    counts = np.floor(exact)
    remainders = np.where(shares > 0, exact - counts, -1.0)  # no rows without a share, however the rest is rounded
    # A share meant to give a whole number needs no care: just below it, its remainder comes first; just above, last.
    # But equal remainders may differ by rounding errors: those closer than that are one group, in order of the index.
    ranked = np.argsort(-remainders, kind="stable")
    group = np.cumsum(-np.diff(remainders[ranked], prepend=np.inf) > rows * _ROUNDING)
    ranked = ranked[np.lexsort((ranked, group))]
    result = counts.astype(np.int64)
    result[ranked[: rows - int(result.sum())]] += 1
    return result


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Some:
    """How many rows of some of the categories; the others have none."""

    category: Counts
    rows: Counts


def _some(counts: Counts) -> _Some:
    present = np.flatnonzero(counts)
    return _Some(category=present, rows=counts[present])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Category(ColumnMap):
    """Relabels the fewest rows; the counts of the released column are exact."""

    whole: ClassVar[bool] = True

    before: Counts
    after: Counts
    leaving: tuple[_Some, ...]
    """Of each block: rows that lose their label, by that label."""
    arriving: tuple[_Some, ...]
    """Of each block: the labels that those rows get."""
    seed: int

    def block(self, values: Array, index: int) -> Array:
        released = values.copy()
        leaving, arriving = self.leaving[index], self.arriving[index]
        if not len(leaving.category):
            return released
        categories = len(self.before)
        leave = np.zeros(categories, dtype=np.int64)
        leave[leaving.category] = leaving.rows
        known = np.flatnonzero(np.isfinite(values))
        label = _labels(values[known], categories)
        candidate = leave[label] > 0
        known, label = known[candidate], label[candidate]
        draws = stream(self.seed, _AMONG_ROWS, index)
        # In random order and then, stably, by label: the first rows of each label are a uniform choice among them.
        order = draws.permutation(len(known))
        narrow = label.astype(np.min_scalar_type(categories))  # a stable sort of short integers takes linear time
        order = order[np.argsort(narrow[order], kind="stable")]
        held = np.bincount(label, minlength=categories)
        place = np.arange(len(order)) - np.repeat(np.cumsum(held) - held, held)
        moved = known[order[place < leave[label[order]]]]
        if len(moved) != int(leaving.rows.sum()):
            raise _changed()
        released[moved] = draws.permutation(np.repeat(arriving.category, arriving.rows))
        return released

    def coefficients(self) -> dict[str, Any]:
        return {
            "before": self.before.tolist(),
            "after": self.after.tolist(),
            "moved": int(np.maximum(self.before - self.after, 0).sum()),
        }


def _changed() -> ColumnError:
    return ColumnError(
        "the column changed since its categories were counted: the counts are not the same. "
        "The rows must be the same in every pass; prepare the map again on the present table."
    )


def _labels(values: Array, categories: int) -> Counts:
    """Finite rows as category numbers."""
    # The range comes first: a float outside the integers has no defined cast.
    inside = not len(values) or (values.min() >= 0 and values.max() < categories)
    label = values.astype(np.int64) if inside else None
    if label is None or (label != values).any():
        raise ColumnError(
            "the column has a row that is none of the plan's categories. "
            "Only the categories that the plan names can be released; add the missing one to the plan, or mark such "
            "rows as missing."
        )
    return label


def prepare_category(blocks: Blocks, *, shares: Array, seed: int, counts: Counts | None = None) -> Category:
    """The map that brings the categories of a column to given shares, to the nearest whole counts.

    Parameters
    ----------
    blocks
        The column as category numbers 0, 1, ...; rows that are not finite are missing.
    shares
        Released share of each category.
    seed
        128 secret bits.
    counts
        Rows of each category as counted in an earlier pass, where there was one: the column must still have them.

    Raises
    ------
    ColumnError
        A row that is no category, shares that are not shares, or a column that is no longer as it was counted.
    """
    categories = len(shares)
    before = np.zeros(categories, dtype=np.int64)
    held: list[_Some] = []
    for values in blocks():
        counted = np.bincount(_labels(values[np.isfinite(values)], categories), minlength=categories)
        before += counted
        held.append(_some(counted))
    if counts is not None and not np.array_equal(before, counts):
        raise _changed()
    after = largest_remainder(shares, int(before.sum()))
    draws = stream(seed, _AMONG_BLOCKS, 0)
    leaving = _shared_out(held, np.maximum(before - after, 0), draws)
    missing = np.maximum(after - before, 0)
    arriving: list[_Some] = []
    for block in leaving:
        taken = thinned(missing, int(block.rows.sum()), draws)
        missing = missing - taken
        arriving.append(_some(taken))
    return Category(before=before, after=after, leaving=leaving, arriving=tuple(arriving), seed=seed)


def _shared_out(held: list[_Some], surplus: Counts, draws: np.random.Generator) -> tuple[_Some, ...]:
    """The surplus of each category, divided among the blocks as a uniform choice among its rows divides it."""
    if not held:
        return ()
    category = np.concatenate([block.category for block in held])
    rows = np.concatenate([block.rows for block in held])
    leave = np.zeros_like(rows)
    order = np.argsort(category, kind="stable")
    stops = np.cumsum(np.bincount(category, minlength=len(surplus)))
    for number in np.flatnonzero(surplus):
        entries = order[stops[number - 1] if number else 0 : stops[number]]
        leave[entries] = thinned(rows[entries], int(surplus[number]), draws)
    parts = np.split(np.arange(len(rows)), np.cumsum([len(block.category) for block in held])[:-1])
    return tuple(_Some(category=category[part][leave[part] > 0], rows=leave[part][leave[part] > 0]) for part in parts)


def prepare(job: Job) -> Category:
    """Categories with the released shares."""
    shares = np.array([job.released[param.name] for param in job.plan.problem.family.params])
    return prepare_category(job.blocks, shares=shares, seed=job.seed, counts=job.counts)
