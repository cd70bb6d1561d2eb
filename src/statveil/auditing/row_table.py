"""How a table would look with another number of rows, for an audit of that number: which columns grow, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from statveil.made_plan import Plan
from statveil.tables.blocks import Array
from statveil.tables.source import open_source
from statveil.tables.structure.row_count.count_search import RowTellers, as_numbers

__all__ = ["Counter", "RowTable", "RowView", "read_row_table", "view_of"]

SEEN = 4_000
"""Rows, and groups, that an attacker looks at in a trial: more tell no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """How a column counts: from where on, and by how much from row to row on average. Attackers know it."""

    start: float
    step: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowView:
    """What a receiver has of a table whose number of rows is hidden.

    Parameters
    ----------
    plan : Plan
        The published plan.
    size : int
        Rows of the release.
    columns : mapping of str to array
        Some of its rows, column by column, as numbers.
    kept : mapping of str to array
        How many rows some groups have in the release, by the column that makes them; groups without one do not show.
    counters : mapping of str to Counter
        Columns that are known to count rows, and how.
    whole : mapping of str to array
        Columns whose groups have sizes that are known, and how large such groups are.
    """

    plan: Plan
    size: int
    columns: Mapping[str, Array] = field(default_factory=dict)
    kept: Mapping[str, Array] = field(default_factory=dict)
    counters: Mapping[str, Counter] = field(default_factory=dict)
    whole: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowTable:
    """The original, as far as it matters: its columns as numbers, and what each says of the number of rows."""

    rows: int
    columns: Mapping[str, Array]
    told: Mapping[str, Mapping[str, str]]
    groups: Mapping[str, Array]
    """Sizes of the groups of each column, some of them where there are many."""

    def _those(self, *names: str) -> list[str]:
        return [name for name, told in self.told.items() if name in self.columns and any(one in told for one in names)]

    def counters(self) -> dict[str, Counter]:
        """Columns that count the rows."""
        found = {}
        for name in self._those("row-numbers", "timestamps", "running"):
            values = self.columns[name][np.isfinite(self.columns[name])]
            if len(values) > 1 and np.ptp(values) > 0:
                start = float(values.min())
                found[name] = Counter(start=start, step=float(np.ptp(values)) / (len(values) - 1))
        return found

    def whole(self) -> dict[str, Array]:
        """Columns whose groups have sizes that someone knows."""
        return {name: self.groups[name] for name, told in self.told.items() if "panels" in told and name in self.groups}

    def trial(self, plan: Plan, rows: int, rng: Generator) -> RowView:
        """A release of a table like this one with so many rows: counters go on, all else is drawn anew."""
        size = int(plan.apply(value=rows).secret)
        seen = min(size, SEEN)
        at = _some_of(rows, seen, rng)
        counters, columns = self.counters(), {}
        sources = rng.integers(0, self.rows, size=seen)
        for name, values in self.columns.items():
            if name in counters:
                columns[name] = counters[name].start + counters[name].step * at
            elif "totals" in self.told[name]:
                # a constant is a number of rows or a total, which grow alike; what adds up to 1 shrinks
                constant = bool(np.nanmin(values) == np.nanmax(values))
                grown = rows / self.rows if constant else self.rows / rows
                columns[name] = values[sources] * grown
            elif "ranks" in self.told[name]:
                columns[name] = (at + 1) / rows * (1.0 if np.nanmax(values) <= 1 else 100.0)
            else:
                columns[name] = values[sources]
        whole = self.whole()
        kept = {
            name: _kept(rng.binomial(rng.choice(sizes, size=SEEN).astype(np.int64), size / rows))
            for name, sizes in whole.items()
        }
        return RowView(plan=plan, size=size, columns=columns, kept=kept, counters=counters, whole=whole)


def view_of(table: RowTable, plan: Plan, released: RowTable) -> RowView:
    """What the receiver of this very release has."""
    whole = table.whole()
    return RowView(
        plan=plan,
        size=released.rows,
        columns=released.columns,
        kept={name: released.groups[name] for name in whole if name in released.groups},
        counters=table.counters(),
        whole=whole,
    )


def read_row_table(table: Any) -> RowTable:
    """Read a file or a frame."""
    source, tellers = open_source(table), RowTellers()
    parts: dict[str, list[pl.Series]] = {}
    for piece in source.whole():
        tellers.add(piece)
        for name, column in piece.items():
            parts.setdefault(name, []).append(column)
    columns = {name: as_numbers(pl.concat(held)) for name, held in parts.items()}
    return RowTable(
        rows=tellers.rows,
        columns={name: one for name, one in columns.items() if one is not None and np.isfinite(one).any()},
        told=tellers.by_column(),
        groups=tellers.group_sizes(),
    )


def _kept(sizes: NDArray[np.int64]) -> Array:
    return sizes[sizes > 0].astype(np.float64)


def _some_of(rows: int, count: int, rng: Generator) -> Array:
    """So many different numbers below ``rows``, each set as likely as any other."""
    if rows <= 50 * count:
        return rng.choice(rows, size=count, replace=False).astype(np.float64)
    found = np.unique(rng.integers(0, rows, size=count + 100 + count // 10))
    return rng.permutation(found)[:count].astype(np.float64)
