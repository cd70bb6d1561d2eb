"""Whether a released table is one that its plans release: every hidden column, and every derived one worked out again.

Everything it looks at is public. That linked columns moved together cannot be seen without the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from statveil.errors import StatveilError
from statveil.specification.planned import TablePlan
from statveil.tables.changes import Derived, Labels
from statveil.tables.deriving import derived_columns, plain_kind
from statveil.tables.files.csv_numbers import typed_fields
from statveil.tables.preparing import column_labels
from statveil.tables.series import ColumnType
from statveil.tables.sharing import Reader, Shared
from statveil.tables.source import Progress, Rows, Source
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
                return list(content_checks(_View(table, reader, types), plan.plans[name], own))
            except StatveilError as error:
                return [Check(name="column", ok=False, says=str(error))]

        return checks

    hidden = {name: known[name] for name in plan.plans}
    labels: dict[Any, Labels] = {
        own: column_labels(plan.plans[name], name, types[name]) for name, own in hidden.items()
    }
    shared: Shared[list[Check]] = Shared(table, labels)
    for name, checks in shared.run({own: work(text) for text, own in hidden.items()}).items():
        yield from (Check(name=one.name, ok=one.ok, says=f"Column {str(name)!r}: {one.says}") for one in checks)
    if plan.specification.derived:
        yield from derived_again(table, plan, types, known, next(iter(labels.items())))


def table_columns(plan: TablePlan, known: Mapping[str, Any]) -> list[Any]:
    """The columns whose types matter."""
    derived = plan.specification.derived
    used = {name for one in derived.values() for name in one.expression.columns}
    return [known[name] for name in dict.fromkeys([*plan.plans, *derived, *sorted(used)])]


def derived_again(
    table: Source, plan: TablePlan, types: Mapping[str, ColumnType], known: Mapping[str, Any], first: tuple[Any, Labels]
) -> Iterator[Check]:
    """Every derived column against what its expression makes of the others."""
    kinds = {name: plain_kind(one) for name, one in types.items()}
    made = derived_columns(plan.specification, kinds, types)
    different = dict.fromkeys(made, False)
    needed = {*made, *(name for one in made.values() for name in one.needs)}
    anchor, labels = first
    for rows, others in table.beside_some({anchor: labels}, [known[name] for name in types if name in needed]):
        columns = {name: typed_column(one, kinds[name]) for name, one in others.items() if known[name] != anchor}
        columns[str(anchor)] = _anchored(rows[anchor], labels, kinds[str(anchor)])
        for name, one in made.items():
            different[name] |= not _same(one, columns, columns[name])
    for name, found in different.items():
        said = f"Column {name!r} is {'not' if found else ''} what its expression makes of the others."
        yield Check(name="derived", ok=not found, says=said.replace("  ", " "))


def typed_column(column: pl.Series, kind: str) -> pl.Series:
    """A column that came in its own type, or as text where the table has no types."""
    return typed_fields(column, kind) if column.dtype == pl.String and kind != "text" else column


def _anchored(values: Any, labels: Labels, kind: str) -> pl.Series:
    if labels is None:
        return pl.Series(values).fill_nan(None)
    texts = [None if np.isnan(code) else labels[int(code)] for code in values]
    return typed_column(pl.Series(texts, dtype=pl.String), kind)


def _same(one: Derived, columns: Mapping[str, pl.Series], found: pl.Series) -> bool:
    """Whether the rows are what they would be if they were worked out now, up to the last digits of a float."""
    wanted = one.rows({name: columns[name] for name in one.needs})
    if wanted.dtype == pl.String or found.dtype == pl.String:
        return bool(wanted.cast(pl.String).eq_missing(found.cast(pl.String)).all())
    if wanted.dtype == found.dtype and bool(wanted.eq_missing(found).all()):
        return True  # to the last bit, as a rule
    two = (_numbers(wanted), _numbers(found))
    return bool(np.allclose(*two, rtol=1e-9, atol=0.0, equal_nan=True))


def _numbers(column: pl.Series) -> Any:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy(allow_copy=True)


class _View(Source):
    """A table of which one column is read, in passes that others share."""

    def __init__(self, table: Source, reader: Reader, types: Mapping[str, ColumnType]) -> None:
        self._table, self._reader, self._types = table, reader, types
        self.names, self.rows, self.notes = table.names, table.rows, []

    def __str__(self) -> str:
        return str(self._table)

    def type_of(self, column: Any) -> ColumnType:
        return self._types[str(column)]

    def column(self, name: Any) -> pl.Series:
        return self._table.column(name)

    def numeric_columns(self) -> list[Any]:
        return self._table.numeric_columns()

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
            sha256=card["sha256"],
        )
        same = {**card, "versions": None} == {**again, "versions": None} and {*card["versions"]} <= {*again["versions"]}
    except (KeyError, TypeError, AttributeError, ValueError):
        same = False
    says = "The card says what its plans imply."
    return Check(
        name="card",
        ok=same,
        says=says if same else "The card was changed: what it says of the release is not what its plans imply.",
    )
