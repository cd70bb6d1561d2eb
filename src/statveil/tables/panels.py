"""Groups of rows that hold one value: a mode that draws at random draws once for each of them.

Where all groups have as many rows, mean, total and shares of the rows are those of the groups, so that a table of one
row for each group can be released in place of the table: the same map and the same guarantee, with groups that are
exchangeable in place of rows. All rows of a group then show what its one row shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.made_plan import Plan
from statveil.tables.blocks import Array
from statveil.tables.changes import Labels
from statveil.tables.source import Source

__all__ = [
    "Panel",
    "check_secrets",
    "different_sizes",
    "different_values",
    "drawn_by_group",
    "empty_cells",
    "marks_of",
    "panel_of",
    "read_panel",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """Which rows belong together, in the order in which groups begin; rows without a hidden value are in none."""

    codes: NDArray[np.int64]
    """The group of each row, -1 where it is in none."""
    first: NDArray[np.int64]
    """The row at which each group begins."""
    values: Array
    """The value that the rows of each group hold."""

    @property
    def rows(self) -> int:
        """Rows with a value."""
        return int(np.count_nonzero(self.codes >= 0))

    def in_order(self, order: NDArray[np.int64]) -> Panel:
        """The same with the rows in another order."""
        codes = self.codes[order]
        rows = np.flatnonzero(codes >= 0)
        first = np.zeros(len(self.first), dtype=np.int64)
        first[codes[rows[::-1]]] = rows[::-1]  # the last one that is written is the first
        return Panel(codes=codes, first=first, values=self.values)

    def spread(self, values: Array) -> Array:
        """One value for each group, given to all of its rows."""
        return np.where(self.codes >= 0, values[self.codes], np.nan)


def drawn_by_group(plan: Plan, group: str | None) -> bool:
    """Whether groups are drawn, and not rows: not where all rows move alike."""
    return group is not None and plan.release_mode.random


def check_secrets(plan: Plan, column: str, group: str) -> None:
    """Refuse a statistic of rows that is not that of the groups."""
    for one in plan.problem.each:
        if one.secret.times_mean is None and not one.secret.is_share:
            raise ColumnError(
                f"column {column!r} is drawn by groups of {group!r}, and the {one.secret.label} of its rows is not "
                "quite that of its groups; means, totals and shares are. Hide one of these, or release one row of each "
                "group."
            )


def marks_of(keys: pl.Series) -> NDArray[np.uint64]:
    """A number for each row, which two rows share where they are in one group."""
    return keys.hash(seed=11).to_numpy()


def empty_cells(column: str, group: str) -> ColumnError:
    """A refusal of rows of which nobody says in which group they are."""
    return ColumnError(
        f"column {column!r} is drawn by groups of {group!r}, which has empty cells; fill them in, or leave such rows "
        "out."
    )


def different_values(column: str, group: str) -> ColumnError:
    """A refusal of groups that hold more than one value."""
    return ColumnError(
        f"column {column!r} is drawn by groups of {group!r}, but rows of one group hold different values: what was "
        "drawn for one would tell of the others. Name a column whose groups hold one value, or a mode that moves "
        "all rows alike."
    )


def different_sizes(column: str, group: str) -> ColumnError:
    """A refusal of groups that have not as many rows."""
    return ColumnError(
        f"column {column!r} is drawn by groups of {group!r}, which have different numbers of rows: drawn once for "
        f"each, the rows would not have the statistic that the plan releases. Release a table of one row for each "
        f"{group!r}, or plan a mode that moves all rows alike."
    )


def panel_of(values: Array, keys: pl.Series, *, column: str, group: str) -> Panel:
    """The groups of a column that is in memory; refuses those that cannot be drawn as one."""
    known = np.flatnonzero(np.isfinite(values))
    keys = keys.alias("")  # the engine takes a name such as ``^a.*$`` for a pattern
    if keys.gather(known).null_count():
        raise empty_cells(column, group)
    marks = marks_of(keys)[known]
    _, begins, inverse, sizes = np.unique(marks, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(begins, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[known] = place[inverse]
    first = known[begins[order]]
    held = values[first] if len(first) else np.zeros(0)
    if not np.array_equal(held[codes[known]], values[known]):
        raise different_values(column, group)
    if len(sizes) and sizes.min() != sizes.max():
        raise different_sizes(column, group)
    return Panel(codes=codes, first=first, values=held)


def read_panel(table: Source, name: Any, labels: Labels, group: Any) -> Panel:
    """The groups of a table's column, from one pass over both."""
    values: list[Array] = []
    keys: list[pl.Series] = []
    for rows, others in table.beside_some({name: labels}, [group]):
        values.append(rows[name])
        keys.append(others[str(group)].alias(""))
    if not values:
        return Panel(codes=np.zeros(0, dtype=np.int64), first=np.zeros(0, dtype=np.int64), values=np.zeros(0))
    return panel_of(np.concatenate(values), pl.concat(keys), column=str(name), group=str(group))
