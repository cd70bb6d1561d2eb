"""Whether a released table is one that its plans release: every hidden column, and every derived one worked out again.

Everything it looks at is public. That linked columns moved together cannot be seen without the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any

import numpy as np
import polars as pl

from statveil.errors import StatveilError
from statveil.made_plan import Plan
from statveil.specification.planned import TablePlan
from statveil.tables.card import as_worded
from statveil.tables.changes import Derived, Labels
from statveil.tables.deriving import derived_columns, plain_kind
from statveil.tables.files.csv_numbers import typed_fields
from statveil.tables.groups import read_groups
from statveil.tables.looking import Look
from statveil.tables.panel_units import units_of
from statveil.tables.panels import drawn_by_group
from statveil.tables.preparing import column_labels
from statveil.tables.series import ColumnType
from statveil.tables.sharing import Along, Reader, Shared
from statveil.tables.source import Progress, Rows, Source
from statveil.tables.structure.others.telling import Copies
from statveil.tables.table_card import make_table_card
from statveil.tables.verify_content import Check, content_checks

__all__ = ["derived_again", "table_card_check", "table_checks", "table_columns", "typed_column"]


def table_checks(table: Source, plan: TablePlan, card: Mapping[str, Any]) -> Iterator[Check]:
    """The released table against its card and plans; all hidden columns from the same passes."""
    said = {name: one["done"] for name, one in card["columns"].items()}
    wanted = {name for name, done in said.items() if done != "dropped"}
    here = [str(name) for name in table.names]
    wrong = sorted({*here} ^ wanted)
    yield Check(
        name="columns",
        ok=not wrong,
        says=f"The table has other columns than its card says ({', '.join(map(repr, wrong[:5]))})."
        if wrong
        else "The table has the columns that its card says.",
    )
    if wrong:
        return
    known = {str(name): name for name in table.names}
    types = {str(name): one for name, one in table.types_of(table_columns(plan, known)).items()}

    def work(name: str) -> Callable[[Reader], list[Check]]:
        def checks(reader: Reader) -> list[Check]:
            own = {**card["columns"][name], "column": name}
            try:
                return list(content_checks(_View(table, reader, types), plan.plans[name], own, groups[name]))
            except StatveilError as error:
                return [Check(name="column", ok=False, says=str(error))]

        return checks

    hidden = {name: known[name] for name in plan.plans}
    try:  # before the passes that all columns share
        groups = {name: read_groups(table, plan.plans[name].problem, own) for name, own in hidden.items()}
    except StatveilError as error:
        yield Check(name="groups", ok=False, says=str(error))
        return
    marked = {name: one.group for name, one in plan.specification.hidden.items()}
    labels: dict[Any, Labels] = {
        own: column_labels(plan.plans[name], name, types[name]) for name, own in hidden.items()
    }
    drawn = [name for name in hidden if drawn_by_group(plan.plans[name], marked[name])]
    for name in drawn:
        group, own = known.get(str(marked[name])), {**card["columns"][name], "column": name}
        yield from _by_group(table, plan.plans[name], hidden[name], labels[hidden[name]], group, types[name], own)
    alone = {own: work(text) for text, own in hidden.items() if text not in drawn}
    read = {own: labels[own] for own in alone}
    again = _DerivedAgain(plan, types, known, read)
    shared: Shared[list[Check]] = Shared(table, read, along=again.along if again.numbers else None)
    for name, checks in shared.run(alone).items():
        yield from (Check(name=one.name, ok=one.ok, says=f"Column {str(name)!r}: {one.says}") for one in checks)
    if again.along.done:
        yield from again.found()
    elif plan.specification.derived:
        yield from derived_again(table, plan, types, known, next(iter(labels.items())))


def _by_group(
    table: Source, plan: Plan, name: Any, labels: Labels, group: Any, type: ColumnType, card: dict[str, Any]
) -> Iterator[Check]:
    """A column that was drawn by groups, as a table of one row for each."""
    try:
        with units_of(table, name, labels, group, type=type, gone=None) as units:
            if card.get("rows") == units.rows:
                card = {**card, "rows": units.groups}
            found = list(content_checks(units.table, plan, card))
    except StatveilError as error:
        found = [Check(name="groups", ok=False, says=str(error))]
    yield from (Check(name=one.name, ok=one.ok, says=f"Column {str(name)!r}: {one.says}") for one in found)


def table_columns(plan: TablePlan, known: Mapping[str, Any]) -> list[Any]:
    """The columns whose types matter."""
    derived = plan.specification.derived
    used = {name for one in derived.values() for name in one.expression.columns}
    return [known[name] for name in dict.fromkeys([*plan.plans, *derived, *sorted(used)])]


def derived_again(
    table: Source, plan: TablePlan, types: Mapping[str, ColumnType], known: Mapping[str, Any], first: tuple[Any, Labels]
) -> Iterator[Check]:
    """Every derived column against what its expression makes of the others, in a pass of its own."""
    again = _DerivedAgain(plan, types, known, dict([first]))
    if not table.show_rows(again.read, again.along.others, again):
        for rows, others in table.beside_some(again.read, again.along.others):
            again.add(rows, others)
    yield from again.found()


class _DerivedAgain:
    """Watches all rows of a table on their way past: whether derived columns are what their expressions make of others.

    ``read`` are the columns that come as numbers, or as numbers of their labels.
    """

    def __init__(
        self, plan: TablePlan, types: Mapping[str, ColumnType], known: Mapping[str, Any], read: Mapping[Any, Labels]
    ) -> None:
        self.read, self._known = read, known
        self._types = types
        kinds = {name: plain_kind(one) for name, one in types.items()}
        self._made = derived_columns(plan.specification, kinds, types)
        self._different = dict.fromkeys(self._made, False)
        self._needed = {*self._made, *(name for one in self._made.values() for name in one.needs)}
        self._error: StatveilError | None = None
        others = [known[name] for name in types if name in self._needed and known[name] not in read]
        self.along = Along(others=others, add=self.add)

    @property
    def numbers(self) -> bool:
        """Whether there is something to look at, and it is made of numbers: labels are read in their own type."""
        needed = [labels for own, labels in self.read.items() if str(own) in self._needed]
        return bool(self._made) and all(labels is None for labels in needed)

    def add(self, rows: Rows, others: Mapping[str, pl.Series]) -> None:
        """Take in the next rows."""
        if self._error is not None or all(self._different.values()):
            return
        columns = {name: typed_column(one, self._types[name]) for name, one in others.items() if name in self._needed}
        for own, labels in self.read.items():
            if str(own) in self._needed:
                columns[str(own)] = _anchored(rows[own], labels, self._types[str(own)])
        try:
            for name, one in self._made.items():
                self._different[name] |= not _same(one, columns, columns[name])
        except StatveilError as error:  # said when it is asked for: what is wrong with a hidden column comes first
            self._error = error

    def part(self, start: int) -> _DerivedAgain:
        """One for other rows; it will :meth:`join` this one."""
        fresh = copy(self)
        fresh._different = dict.fromkeys(self._made, False)
        return fresh

    def join(self, other: _DerivedAgain) -> None:
        """Take in what was found in the rows that follow."""
        self._error = self._error or other._error
        for name, found in other._different.items():
            self._different[name] |= found

    def found(self) -> Iterator[Check]:
        """What was found in all rows."""
        if self._error is not None:
            raise self._error
        for name, found in self._different.items():
            said = f"Column {name!r} is {'not' if found else ''} what its expression makes of the others."
            yield Check(name="derived", ok=not found, says=said.replace("  ", " "))


def typed_column(column: pl.Series, found: ColumnType) -> pl.Series:
    """A column that came in its own type, or as text where the table has no types."""
    text = column.dtype == pl.String and (found.kind != "text" or found.marks)
    return typed_fields(column, plain_kind(found)) if text else column


def _anchored(values: Any, labels: Labels, found: ColumnType) -> pl.Series:
    if labels is None:
        return pl.Series(values)  # an expression takes NaN for missing
    texts = [None if np.isnan(code) else labels[int(code)] for code in values]
    return typed_column(pl.Series(texts, dtype=pl.String), found)


def _same(one: Derived, columns: Mapping[str, pl.Series], found: pl.Series) -> bool:
    """Whether the rows are what they would be if they were worked out now, up to the last digits of a float."""
    wanted = one.rows({name: columns[name] for name in one.needs})
    if wanted.dtype == pl.String or found.dtype == pl.String:
        return bool(wanted.cast(pl.String).eq_missing(found.cast(pl.String)).all())
    if wanted.equals(found, check_dtypes=True):
        return True  # to the last bit, as a rule
    two = (_numbers(wanted), _numbers(found))
    return bool(np.allclose(*two, rtol=1e-9, atol=0.0, equal_nan=True))


def _numbers(column: pl.Series) -> Any:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy(allow_copy=True)


class _View(Source):
    """A table of which one column is read, in passes that others share."""

    def __init__(self, table: Source, reader: Reader, types: Mapping[str, ColumnType]) -> None:
        self._table, self._reader, self._types = table, reader, types
        self.names, self.rows, self.notes, self.makes_maps = table.names, table.rows, [], table.makes_maps

    def __str__(self) -> str:
        return str(self._table)

    def type_of(self, column: Any) -> ColumnType:
        return self._types[str(column)]

    def column(self, name: Any) -> pl.Series:
        return self._table.column(name)

    def numeric_columns(self) -> list[Any]:
        return self._table.numeric_columns()

    def look(self, column: Any, look: Look, copies: Copies | None, *, progress: Progress | None = None) -> bool:
        # in the passes that all columns share, unless each can be looked at where it lies
        return self._table.makes_maps and self._table.look(column, look, copies, progress=progress)

    def together(self, columns: Mapping[Any, Labels], *, progress: Progress | None = None) -> Iterator[Rows]:
        ((name, labels),) = columns.items()
        return ({name: block} for block in self._reader.blocks(labels))

    def beside(
        self, columns: Mapping[Any, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        return self._table.beside(columns, progress=progress)


def table_card_check(card: dict[str, Any], plan: TablePlan) -> Check:
    """Whether the card says what its own plans imply."""
    try:
        done: dict[str, list[str]] = {"hidden": [], "linked": [], "derived": [], "kept": [], "dropped": []}
        for name, one in card["columns"].items():
            done[one["done"]].append(name)
        again = make_table_card(
            plan,
            accepted={
                name: tuple(leak["name"] for leak in card["columns"][name]["accepted_leaks"]) for name in plan.plans
            },
            rows={name: card["columns"][name]["rows"] for name in plan.plans},
            kept=done["kept"],
            dropped=done["dropped"],
            test_seed=card["test_seed"],
            planned_again=card.get("planned_again", False),
            sha256=card["sha256"],
        )
        again = as_worded(again, card)
        again["columns"] = {
            name: as_worded(one, card["columns"][name]) if one["done"] == "hidden" else one
            for name, one in again["columns"].items()
        }
        same = {**card, "versions": None} == {**again, "versions": None} and {*card["versions"]} <= {*again["versions"]}
    except (KeyError, TypeError, AttributeError, ValueError):
        same = False
    says = "The card says what its plans imply."
    return Check(
        name="card",
        ok=same,
        says=says if same else "The card was changed: what it says of the release is not what its plans imply.",
    )
