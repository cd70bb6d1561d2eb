"""A column that is drawn by groups, as a table of one row for each group: measured, mapped and checked in its place.

The rows of that table are the first of each group, in their order. What its map makes of them all rows of their groups
get. It is made in memory, unless the rows lie where they can be put together (:meth:`Source.units_there`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from statveil.made_plan import Plan
from statveil.tables.blocks import BLOCK, Array, blocks_of
from statveil.tables.changes import Labels
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.panels import Panel, check_secrets, read_panel
from statveil.tables.preparing import Elsewhere, Prepared, prepare
from statveil.tables.series import ColumnType
from statveil.tables.source import Progress, Rows, Source
from statveil.tables.structure.rows.group_search import Beside

__all__ = ["Units", "prepare_panel", "units_of"]


class Units(ABC):
    """A table of one row for each group."""

    table: Source
    """The column, and what is kept beside the first row of each group, where that was asked for."""
    rows: int
    """Rows with a value, of all groups."""
    groups: int

    @abstractmethod
    def spread(self, inner: ColumnMap) -> ColumnMap:
        """The map of all rows, from one of the groups; the same are whole."""

    def clear(self) -> None:
        """Nobody asks for the table any more."""
        return


@contextmanager
def units_of(
    table: Source, name: Any, labels: Labels, group: Any, *, type: ColumnType, gone: Collection[str] | None
) -> Iterator[Units]:
    """The groups of a column, for a while; refuses those that cannot be drawn as one.

    Beside it lie all other columns but the ``gone``, or none where that is ``None``. That they are groups is no news to
    anyone.
    """
    hidden = {str(name), str(group), *(gone or ())}
    others = None if gone is None else [one for one in table.names if str(one) not in hidden]
    units = table.units_there(name, labels, group, others)
    if units is None:
        panel = read_panel(table, name, labels, group)
        units = _InMemory(panel, _FirstRows(table, name, panel, type, gone=hidden if others is not None else None))
    try:
        yield units
    finally:
        units.clear()


class _InMemory(Units):
    """The groups of rows that are in memory."""

    def __init__(self, panel: Panel, table: Source) -> None:
        self._panel, self.table = panel, table
        self.rows, self.groups = panel.rows, len(panel.first)

    def spread(self, inner: ColumnMap) -> ColumnMap:
        return (WholePanelMap if inner.whole else PanelMap)(self._panel, inner)


class PanelMap(ColumnMap):
    """Every row becomes what its group became."""

    def __init__(self, groups: Panel, inner: ColumnMap) -> None:
        self._groups, self._inner = groups, inner
        parts = [inner.block(block, index) for index, block in enumerate(blocks_of(groups.values)())]
        self._released = np.concatenate(parts) if parts else np.zeros(0)

    def block(self, values: Array, index: int) -> Array:
        codes = self._groups.codes[index * BLOCK : index * BLOCK + len(values)]
        return np.where(codes >= 0, self._released[codes], values) if len(self._released) else values

    def coefficients(self) -> dict[str, Any]:
        return {**self._inner.coefficients(), "groups": len(self._groups.first)}


class WholePanelMap(PanelMap):
    """The same for a map that keeps whole numbers whole."""

    whole: ClassVar[bool] = True


class _FirstRows(Source):
    """The value of each group, and what stands beside it in the first of its rows."""

    def __init__(
        self, table: Source, name: Any, panel: Panel, type: ColumnType, *, gone: Collection[str] | None
    ) -> None:
        self._whole, self._name, self._panel, self._type, self._gone = table, name, panel, type, gone
        self.names, self.rows, self.notes = [name], len(panel.first), []

    def __str__(self) -> str:
        return "the table"

    def type_of(self, column: Any) -> ColumnType:
        return self._type

    def column(self, name: Any) -> pl.Series:
        return pl.Series(str(name), self._panel.values)

    def numeric_columns(self) -> list[Any]:
        return self.names if self._type.numeric else []

    def together(self, columns: Mapping[Any, Labels], *, progress: Progress | None = None) -> Iterator[Rows]:
        (name,) = columns
        return ({name: block} for block in blocks_of(self._panel.values)())

    def beside(
        self, columns: Mapping[Any, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        if self._gone is None:
            yield from ((rows, {}) for rows in self.together(columns, progress=progress))
            return
        start, first = 0, self._panel.first
        for rows, others in self._whole.beside(columns):
            size = len(rows[self._name])
            low, high = np.searchsorted(first, [start, start + size])
            chosen = first[low:high] - start
            start += size
            if len(chosen):
                # without their own names: the engine takes one such as ``^a.*$`` for a pattern
                plain = {key: one.alias("") for key, one in others.items() if key not in self._gone}
                left = {key: one.gather(chosen) for key, one in plain.items()}
                yield {self._name: rows[self._name][chosen]}, left


def prepare_panel(
    plan: Plan,
    table: Source,
    name: Any,
    *,
    column: str,
    group: Any,
    labels: Labels,
    type: ColumnType,
    gone: Collection[str],
    accept: Collection[str],
    round_digits: int | None,
    seed: int | None,
    secret_seed: int,
    shuffled: bool,
) -> Prepared:
    """Measure, verify and map a table of one row for each group, and give every row what its group gets."""
    check_secrets(plan, column, str(group))
    with units_of(table, name, labels, group, type=type, gone=gone) as units:

        def beside(labels: Labels) -> Beside:
            return ((rows[name], others) for rows, others in units.table.beside({name: labels}))

        prepared = prepare(
            plan,
            lambda labels: units.table.blocks(name, labels=labels),
            column=column,
            type=type,
            accept=accept,
            round_digits=round_digits,
            seed=seed,
            secret_seed=secret_seed,
            beside=beside,
            shuffled=shuffled,
            elsewhere=Elsewhere(table=units.table, column=name),
        )
        facts = {**prepared.facts, "groups": {"column": str(group), "number": units.groups}}
        column_map = units.spread(prepared.column_map)
        return replace(prepared, column_map=column_map, rows=units.rows, facts=facts)
