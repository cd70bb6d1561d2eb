"""A table and its release under a specification, read as an audit of all hidden columns needs them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.auditing.audit import check_same_rows
from statveil.auditing.game import release_column
from statveil.auditing.relations import find_thresholds
from statveil.auditing.same_release import check_is_release, check_moved_along
from statveil.auditing.scene import Partner, Scene, array_of
from statveil.auditing.tables import AuditTable, joined_blocks, read_table
from statveil.auditing.view import Knowledge
from statveil.errors import TableError
from statveil.made_plan import Plan
from statveil.specification.planned import TablePlan
from statveil.tables.blocks import Array
from statveil.tables.changes import Derived, Labels
from statveil.tables.deriving import derived_columns, plain_kind
from statveil.tables.groups import Masks, read_groups
from statveil.tables.panels import Panel, drawn_by_group, panel_of
from statveil.tables.preparing import column_labels
from statveil.tables.rounding_digits import rounded
from statveil.tables.series import ColumnType
from statveil.tables.shuffling import shuffled_order
from statveil.tables.source import Source, open_source
from statveil.tables.structure.others.copy_search import find_ties
from statveil.tables.structure.others.ties import Tie
from statveil.tables.table_task import Layout, column_seed
from statveil.tables.verification import Verifier
from statveil.tables.verify_table import derived_again, table_columns, typed_column

__all__ = ["TablePair", "read_pair"]

_TEXTS = 50
"""Different texts of a column whose places are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Moved:
    """A hidden or linked column before and after."""

    before: Array
    after: Array
    bits: int
    labels: Labels
    parts: Masks | None = None
    """The rows of the two groups that its secret compares."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TablePair:
    """Both tables, rows in the order of the release."""

    plan: TablePlan
    original: Any
    released: Any
    layout: Layout
    order: NDArray[np.int64] | None
    moved: Mapping[str, _Moved]
    derived: Mapping[str, Derived]
    last: Mapping[str, Array]
    """The derived columns as they were released."""
    first: Mapping[str, Array]
    """The columns of the same names in the original."""
    texts: Mapping[str, list[str]]
    needed: Mapping[str, pl.Series]
    """Kept columns that derived ones need."""
    panels: Mapping[str, Panel]
    """Of each column that was drawn by groups, in the order of the release."""
    chosen: NDArray[np.int64] | None = None
    """The rows that are looked at, where it is not all of them."""

    def for_column(self, name: str) -> TablePair:
        """What an attacker of this column has: where groups were drawn, one row of each, as the others say the same."""
        if name not in self.panels:
            return self
        rows = self.panels[name].first
        return replace(
            self,
            chosen=rows,
            moved={
                other: replace(
                    one,
                    before=one.before[rows],
                    after=one.after[rows],
                    parts=None if one.parts is None else (one.parts[0][rows], one.parts[1][rows]),
                )
                for other, one in self.moved.items()
            },
            last={other: one[rows] for other, one in self.last.items()},
            first={other: one[rows] for other, one in self.first.items()},
            needed={other: one.gather(rows) for other, one in self.needed.items()},
        )

    def beside_kept(self, name: str) -> tuple[AuditTable, AuditTable]:
        """A hidden column with the kept ones, before and after, known to be a table and its release."""
        plan, own, kept = self.plan.plans[name], self.layout.hidden[name], self.layout.kept
        before = read_table(self.original, column=own, plan=plan, beside=kept, original=True)
        after = read_table(self.released, column=own, plan=plan, beside=kept)
        before = before if self.order is None else before.in_order(self.order)
        check_same_rows(before, after)
        if self.chosen is not None:
            before, after = before.in_order(self.chosen), after.in_order(self.chosen)
        check_is_release(plan, before, after)
        return before, after

    def scene(self, name: str, before: AuditTable) -> Scene:
        """What stands beside the hidden column ``name`` but for the kept ones; ``before`` is it with those."""
        links, plans = self.plan.specification.linked, self.plan.plans
        others = {other: one for other, one in self.moved.items() if other != name and one.labels is None}
        originals = {**{other: one.before for other, one in others.items()}, **self.first}
        categories = plans[name].release_mode.categories
        along = {other for other, link in links.items() if link.to == name}
        ties = () if categories else _ties(before, originals, apart={*others} - along)
        rules = () if categories else find_thresholds(before.column, originals)

        def partner(other: str, one: _Moved) -> Partner:
            factor = links[other].factor if other in along else None
            return Partner(
                original=one.before,
                released=one.after,
                plan=plans.get(other),
                labels=one.labels,
                factor=factor,
                offset=0.0 if factor is None else _offset(plans[name], other, one, factor),
                bits=one.bits,
                parts=one.parts,
                ties=tuple(find_ties(one.before, before.others))
                if other in along
                else tuple(tie for tie in ties if {*tie.columns} & {*originals} == {other}),
            )

        return Scene(
            column=name,
            labels=self.moved[name].labels,
            partners={other: partner(other, one) for other, one in self.moved.items() if other != name},
            derived=self.derived,
            last=self.last,
            texts=self.texts,
            kept=self.needed,
            seeming=Knowledge(ties=ties, thresholds=rules),
        )


def _ties(before: AuditTable, originals: Mapping[str, Array], *, apart: Collection[str]) -> tuple[Tie, ...]:
    """What the originals of moved and derived columns tell, alone or with kept ones; each by itself first.

    Two columns that are hidden ``apart`` and tell the attacked one together are left out: all three would have to be
    drawn at once.
    """
    found = [tie for name, one in originals.items() for tie in find_ties(before.column, {name: one})]
    told = {name for tie in found for name in tie.columns}
    rest = {name: one for name, one in originals.items() if name not in told}
    if rest:
        joint = find_ties(before.column, {**before.others, **rest})
        found += [tie for tie in joint if {*tie.columns} & {*rest} and len({*tie.columns} & {*apart}) <= 1]
    return tuple(found)


def _offset(plan: Plan, column: str, one: _Moved, factor: float) -> float:
    verifier = Verifier(plan, bits=one.bits, factor=factor)
    verifier.watch(one.before, 0)
    verifier.check_declared(column)
    return verifier.offset or 0.0


def read_pair(plan: TablePlan, original: Any, released: Any, *, seed: int | None) -> TablePair:
    """Read both tables, and refuse those that are no table and its release; ``seed`` is that of the release."""
    source, result = open_source(original), open_source(released)
    layout = Layout.of(plan, source)
    _check_columns(layout, result)
    if plan.specification.shuffle and seed is None:
        raise TableError("the specification shuffles the rows: give the private record of the release (--record).")
    known = {str(name): name for name in result.names}
    types = {str(name): one for name, one in result.types_of(table_columns(plan, known)).items()}
    types |= {text: result.type_of(name) for text, name in layout.linked.items()}
    moved = {text: _read(plan, text, name, source, result) for text, name in _moved_names(layout).items()}
    rows = len(next(iter(moved.values())).before)
    if any(len(one.after) != rows for one in moved.values()):
        raise TableError(f"the tables must have the same rows. Got {rows:,} in the original, and another number after.")
    panels = {
        name: panel_of(moved[name].before, source.column(known[str(one.group)]), column=name, group=str(one.group))
        for name, one in plan.specification.hidden.items()
        if drawn_by_group(plan.plans[name], one.group)
    }
    if seed is not None:
        _check_drawn(plan, moved, seed, panels)
    order = shuffled_order(seed, rows) if plan.specification.shuffle and seed is not None else None
    if order is not None:
        moved = {
            name: replace(
                one,
                before=one.before[order],
                parts=None if one.parts is None else (one.parts[0][order], one.parts[1][order]),
            )
            for name, one in moved.items()
        }
        panels = {name: one.in_order(order) for name, one in panels.items()}
    for name, one in panels.items():
        after = moved[name].after
        if not np.array_equal(one.spread(after[one.first]), np.where(one.codes >= 0, after, np.nan), equal_nan=True):
            raise TableError(
                f"rows of one group have different values in column {name!r}, which is drawn by groups: give the table "
                "as it was released under this specification."
            )
    for text, link in plan.specification.linked.items():
        pairs = [(moved[name].before, moved[name].after) for name in (link.to, text)]
        check_moved_along(plan.plans[link.to], pairs[0], pairs[1], factor=link.factor, column=text)
    kinds = {name: plain_kind(one) for name, one in types.items()}
    derived = derived_columns(plan.specification, kinds, types)
    if derived:
        first = next(iter(layout.hidden.items()))
        labels = column_labels(plan.plans[first[0]], first[0], types[first[0]])
        for check in derived_again(result, plan, types, known, (first[1], labels)):
            if not check.ok:
                raise TableError(f"{check.says} Give the table as it was released under this specification.")
    first_rows, texts = _originals(source, layout, order)
    made = {name: array_of(_typed(result, known[name], types[name]), texts.get(name)) for name in derived}
    needs = {name for one in derived.values() for name in one.needs}
    kept = {str(name): name for name in layout.kept if str(name) in needs}
    return TablePair(
        plan=plan,
        original=original,
        released=released,
        layout=layout,
        order=order,
        moved=moved,
        derived=derived,
        last={name: one for name, one in made.items() if one is not None},
        first=first_rows,
        texts=texts,
        needed={text: _typed(result, name, types[text]) for text, name in kept.items()},
        panels=panels,
    )


def _moved_names(layout: Layout) -> dict[str, Any]:
    return {**layout.hidden, **layout.linked}


def _check_columns(layout: Layout, result: Source) -> None:
    wanted = {str(name) for name in (*_moved_names(layout), *layout.derived, *layout.kept)}
    wrong = sorted(wanted ^ {str(name) for name in result.names})
    if wrong:
        raise TableError(
            f"the released table has other columns than the specification makes of the original "
            f"({', '.join(map(repr, wrong[:5]))}): give the specification, the original and the table that was "
            "released under it, in this order."
        )


def _read(plan: TablePlan, text: str, name: Any, source: Source, result: Source) -> _Moved:
    """A hidden or linked column of both tables."""
    found = source.type_of(name)
    labels = column_labels(plan.plans[text], text, found) if text in plan.plans else None
    before, after = (joined_blocks(table.blocks(name, labels=labels)) for table in (source, result))
    inside = read_groups(source, plan.plans[text].problem, name) if text in plan.plans else None
    parts = None if inside is None else inside.rows(0, len(before))
    return _Moved(before=before, after=after, bits=found.bits, labels=labels, parts=parts)


def _check_drawn(plan: TablePlan, moved: Mapping[str, _Moved], seed: int, panels: Mapping[str, Panel]) -> None:
    """With the seed of the release every hidden column can be made again, row by row."""
    for name, own in plan.plans.items():
        one = moved[name]
        drawn = panels.get(name)
        made, _ = release_column(
            own,
            one.before if drawn is None else drawn.values,
            bits=one.bits,
            seed=column_seed(seed, name),
            parts=one.parts if drawn is None else None,
        )
        made = made if drawn is None else drawn.spread(made)
        made = rounded(made, plan.specification.hidden[name].round_digits)
        made = made if not plan.specification.shuffle else made[shuffled_order(seed, len(made))]
        if not np.allclose(made, one.after, rtol=1e-5, atol=1e-9, equal_nan=True):
            raise TableError(
                f"column {name!r} is not what the seed of this record makes of the original: give the record, the "
                "original and the table of one release."
            )


def _originals(
    source: Source, layout: Layout, order: NDArray[np.int64] | None
) -> tuple[dict[str, Array], dict[str, list[str]]]:
    """The derived columns as the original has them, and the texts of those that hold texts."""
    found: dict[str, Array] = {}
    texts: dict[str, list[str]] = {}
    for text, name in layout.derived.items():
        if name not in source.names:
            continue
        column = _typed(source, name, source.type_of(name))
        column = column if order is None else column.gather(order)
        if column.dtype in (pl.String, pl.Categorical, pl.Enum):
            known = column.cast(pl.String).drop_nulls().unique().sort().to_list()
            if len(known) > _TEXTS:
                continue
            texts[text] = known
        values = array_of(column, texts.get(text))
        if values is not None:
            found[text] = values
    return found, texts


def _typed(table: Source, name: Any, found: ColumnType) -> pl.Series:
    # without its own name: the engine takes one such as ``^a.*$`` for a pattern
    return typed_column(table.column(name).alias(""), found)
