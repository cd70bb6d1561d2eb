"""Categories: relabel the fewest rows that give each category exactly its released number of rows.

A category with too many rows gives away exactly the surplus, chosen uniformly at random, and the rows that move get the
missing labels. The rows of a category have one secret order, which belongs to the column and not to the plan: how the
blocks take turns in it is drawn when the map is prepared, the order of a block's own rows when the block is. So one
pass prepares, and a block needs no other block.

**Two plans** for the share of one category c move along the same line: all other categories give or take equally.
Where several labels are missing, each has its own part of the order, equally long, and takes the first rows of it;
where one is, it takes the first rows of all. So rows that move under both plans move alike, and the tables differ by
the fewest rows that their counts allow. If all orders of the true labels are as likely (exchangeable rows), the first
table is a random order of its own labels, and the second changes a uniform choice of its rows: the law of both depends
on the released counts alone, and tells no more of the true ones (docs/theory.md, composition).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.blocks import Array, Blocks, Part, by_parts
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap, stream
from statveil.tables.maps.nested import AMONG_FEW, first_units, nodes_of
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
    leaving: Counts
    """Categories that lose rows, in order."""
    becomes: tuple[_Some, ...]
    """Of each block: what the rows of these categories are released as, one category after another, in their order."""
    seed: int

    def block(self, values: Array, index: int) -> Array:
        released = values.copy()
        categories, becomes = len(self.before), self.becomes[index]
        known = np.flatnonzero(np.isfinite(values))
        label = _labels(values[known], categories)
        moves = np.zeros(categories, dtype=np.bool_)
        moves[self.leaving] = True
        candidate = moves[label]
        known, label = known[candidate], label[candidate]
        if len(known) != int(becomes.rows.sum()):
            raise _changed()
        if not len(known):
            return released
        # In random order and then, stably, by label: every row has a key of its own, whatever the labels are.
        order = np.argsort(stream(self.seed, _AMONG_ROWS, index).random(len(values))[known], kind="stable")
        narrow = label.astype(np.min_scalar_type(categories))  # a stable sort of short integers takes linear time
        order = order[np.argsort(narrow[order], kind="stable")]
        released[known[order]] = np.repeat(becomes.category, becomes.rows)
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
    held = [block for part in by_parts(blocks, partial(_counted, categories)) for block in part]
    before = np.zeros(categories, dtype=np.int64)
    for one in held:
        before[one.category] += one.rows
    if counts is not None and not np.array_equal(before, counts):
        raise _changed()
    after = largest_remainder(shares, int(before.sum()))
    leaving = np.flatnonzero(before > after)
    becomes = _becomes(held, leaving, before, after, seed)
    return Category(before=before, after=after, leaving=leaving, becomes=becomes, seed=seed)


def _counted(categories: int, part: Part) -> list[_Some]:
    """The categories of the blocks of a part."""
    known = (values[np.isfinite(values)] for _, values in part)
    return [_some(np.bincount(_labels(values, categories), minlength=categories)) for values in known]


def _becomes(held: list[_Some], leaving: Counts, before: Counts, after: Counts, seed: int) -> tuple[_Some, ...]:
    """What the rows of each block become, for each category that loses some, in the order of that category's rows."""
    none = np.zeros(0, dtype=np.int64)
    block = np.repeat(np.arange(len(held)), [len(one.category) for one in held])
    category = np.concatenate([none, *(one.category for one in held)])
    rows = np.concatenate([none, *(one.rows for one in held)])
    order = np.argsort(category, kind="stable")
    stops = np.cumsum(np.bincount(category, minlength=len(before)))
    missing, draws = np.maximum(after - before, 0), stream(seed, _AMONG_BLOCKS, 0)
    found: list[tuple[Counts, Counts, Counts]] = []
    for own in leaving:
        given = missing if len(leaving) == 1 else thinned(missing, int(before[own] - after[own]), draws)
        missing = missing - given
        ends, names = _stretches(int(own), int(before[own]), given)
        entries = order[stops[own - 1] if own else 0 : stops[own]]
        nodes = nodes_of(seed, _AMONG_BLOCKS, 1 + int(own))
        up_to = np.array([first_units(rows[entries], end, nodes, listed=AMONG_FEW) for end in ends])
        counts = np.diff(up_to, axis=0, prepend=0).T  # of each block that has such rows, in each stretch
        entry, stretch = np.nonzero(counts)
        found.append((block[entries][entry], np.array(names)[stretch], counts[entry, stretch]))
    blocks, labels, numbers = (np.concatenate([none, *(one[part] for one in found)]) for part in range(3))
    order = np.argsort(blocks, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(blocks, minlength=len(held)))[:-1]) if held else []
    return tuple(_Some(category=labels[part], rows=numbers[part]) for part in parts)


def _stretches(own: int, rows: int, given: Counts) -> tuple[list[int], list[int]]:
    """Where the order of a category's rows is cut, and what the rows up to each cut become.

    >>> _stretches(0, 10, np.array([0, 2, 1]))  # five rows are meant for either label, and the first of them move
    ([2, 5, 6, 10], [1, 0, 2, 0])
    """
    missing = np.flatnonzero(given)
    if len(missing) == 1:
        moved = int(given[missing[0]])
        return ([moved, rows] if moved < rows else [rows]), [int(missing[0]), own][: 1 + (moved < rows)]
    others = len(given) - 1
    place = np.arange(len(given)) - (np.arange(len(given)) > own)  # among the other categories
    meant = np.where(np.arange(len(given)) == own, 0, rows // others + (place < rows % others))
    head = np.minimum(given, meant)
    left, spare = given - head, meant - head
    cuts: list[tuple[int, int]] = []
    for label in range(len(given)):
        cuts.append((label, int(head[label])))
        # on a plan's line no label needs more than is meant for it; elsewhere it takes of what others leave
        tail: list[tuple[int, int]] = []
        for over in np.flatnonzero(left):
            taken = int(min(left[over], spare[label]))
            left[over] -= taken
            spare[label] -= taken
            tail.append((int(over), taken))
        cuts += [(own, int(spare[label])), *reversed(tail)]
    ends, names, end = [], [], 0
    for label, count in cuts:
        end += count
        if count:
            ends.append(end)
            names.append(label)
    return ends, names


def prepare(job: Job) -> Category:
    """Categories with the released shares."""
    shares = np.array([job.released[param.name] for param in job.plan.problem.family.params])
    return prepare_category(job.blocks, shares=shares, seed=job.seed, counts=job.counts)
