"""Whether the column of a released table is one that its plan releases. Everything it looks at is public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from statveil.errors import StatveilError, shortened
from statveil.made_plan import Plan
from statveil.tables.blocks import Array, Blocks, Part, by_parts
from statveil.tables.estimate import estimate, levels_of, measured_for, own_statistic, shares_of
from statveil.tables.groups import GroupRows, read_groups
from statveil.tables.looking import CategoryLook, NumberLook
from statveil.tables.maps.rank import model_values
from statveil.tables.preparing import column_labels, count_categories, rows_said, valid_digits
from statveil.tables.resolution import grain_of, slack_of
from statveil.tables.rounding_digits import rounded
from statveil.tables.source import Source
from statveil.tables.stacked import Stacked, stacked
from statveil.tables.structure.reading.sampler import SampledUntil
from statveil.tables.verification import Verifier, holds_long, precision

__all__ = ["Check", "content_checks"]

_MOST_SORTED = 2**22


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    says: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "says", shortened(self.says))  # it may quote a card that someone wrote


def content_checks(table: Source, plan: Plan, card: dict[str, Any], groups: GroupRows | None = None) -> Iterator[Check]:
    """The released column against its card and plan, from passes over that column alone.

    ``groups`` are the rows of the two groups that the secret compares, where they are known; else they are read too.
    """
    if plan.release_mode.of_table:
        yield from _number_of_rows(table, plan, card)
        return
    table = stacked(table, plan.problem)
    # a card has names as text, whatever an engine allows
    name = None if table.names == [None] else table.called(str(card.get("column")))
    column, found = table.label(name), table.type_of(name)
    labels = column_labels(plan, column, found)

    def blocks() -> Iterator[Array]:
        return table.blocks(name, labels=labels)

    if labels is not None:
        counting = CategoryLook(labels)
        counts = counting.counts if table.look(name, counting, None) else count_categories(blocks, len(labels))
        yield Check(name="structure", ok=True, says="Every category is one that the plan lists.")
        yield from _rows(card, int(counts.sum()))
        params = shares_of(tuple(param.name for param in plan.problem.family.params), counts)
        again = plan.nearest(params)
        gap = abs(float(again.secret) - float(plan.problem.secret_of(params)))
        yield _released(gap <= 1 / max(int(counts.sum()), 1))
        return
    verifier = Verifier(plan, bits=found.bits, sampler=SampledUntil(holds_long))
    if isinstance(table, Stacked):
        groups = table.halves
    groups = read_groups(table, plan.problem, name) if groups is None else groups
    counted = plan.problem.secret.counted(plan.problem.family)
    look = NumberLook(verifier, counted, levels_of(plan.problem), groups=groups)
    column_blocks: Blocks = blocks
    if (groups is None or table.makes_maps) and table.look(name, look, None):
        column_blocks = look.spread(blocks)
        measured = look.measured(column_blocks)
    else:
        measured = measured_for(plan.problem, blocks, verifier.watch, groups)
    try:
        verifier.check_declared(column)
        yield Check(name="structure", ok=True, says="The column has the declared structure.")
        yield from _rows(card, rows_said(plan, measured))
    except StatveilError as error:
        yield Check(name="structure", ok=False, says=str(error))
        return
    statistic = own_statistic(plan.problem, measured)
    digits = card.get("rounded_to_digits")
    if valid_digits(digits) and not all(by_parts(column_blocks, partial(_is_rounded, digits))):
        yield Check(name="rounding", ok=False, says=f"The column is not rounded to {digits} digits, as the card says.")
    mode = plan.release_mode
    if mode.of_model and not mode.calibrated:
        # before anything that asks for the column's own statistic, which is only near the model's
        yield _released(_is_model(plan, column_blocks, measured.rows, statistic))
        return
    try:
        params = estimate(plan.problem, measured, statistic)
        again = plan.nearest(params)
    except StatveilError:
        yield _released(False)
        return
    coarse = precision(verifier.sampler.values, found.bits, ()) == 24
    largest = max(abs(measured.minimum), abs(measured.maximum))
    near = True
    for one in plan.problem.each:
        alone = plan if one is plan.problem else replace(plan, problem=one)
        own, there = own_statistic(one, measured), float(alone.released_secret(again.released))
        size = max(abs(own), abs(there), one.within(own))
        slack = 1e-5 * size if coarse else 1e-9 * size
        slack += grain_of(alone)
        slack += slack_of(alone, params, measured, largest)
        if valid_digits(card.get("rounded_to_digits")):
            slack += one.secret.off_by(10.0 ** -card["rounded_to_digits"], measured)
        near &= abs(there - own) <= slack
    yield _released(near)


def _number_of_rows(table: Source, plan: Plan, card: dict[str, Any]) -> Iterator[Check]:
    """Whether the table has a number of rows that the plan releases."""
    rows = sum(max((len(one) for one in piece.values()), default=0) for piece in table.whole())
    if card.get("rows") not in (None, rows):
        yield Check(name="rows", ok=False, says=f"The table has {rows} rows, not as many as its card says.")
    levels, (name,) = plan.mechanism.levels, plan.problem.box.free
    sizes = np.zeros(0) if levels is None else plan.released_secret({name: levels})
    ok = bool(np.any(sizes == rows))
    yield Check(
        name="statistic",
        ok=ok,
        says="The table has a number of rows that the plan releases."
        if ok
        else "The table has a number of rows that the plan does not release: rows were added or taken away, or it has "
        "another plan.",
    )


def _rows(card: dict[str, Any], rows: int) -> Iterator[Check]:
    """A card says what its checks cannot see in so many rows, so it must be that many."""
    if card.get("rows") not in (None, rows):
        yield Check(
            name="rows", ok=False, says=f"The column has {rows} rows with a value, not as many as its card says."
        )


def _is_model(plan: Plan, blocks: Blocks, rows: int, statistic: float) -> bool:
    """Whether the column consists of the quantiles of a model that the plan releases."""
    choices = _releases(plan)
    if choices is None or rows > _MOST_SORTED:
        return True  # a continuum of releases, or too many rows to sort: not looked at
    values = np.sort(np.concatenate(by_parts(blocks, _finite)))
    levels = (np.arange(rows) + 0.5) / rows
    nearest = sorted(choices, key=lambda params: abs(float(plan.problem.secret_of(params)) - statistic))
    slack = 1e-6 * max(float(np.abs(values).max()), plan.problem.tolerance)
    return any(bool(np.all(np.abs(values - model_values(plan, params)(levels)) <= slack)) for params in nearest[:200])


def _is_rounded(digits: Any, part: Part) -> bool:
    return all(np.array_equal(block, rounded(block, digits), equal_nan=True) for _, block in part)


def _finite(part: Part) -> Array:
    return np.concatenate([np.zeros(0), *(block[np.isfinite(block)] for _, block in part)])


def _releases(plan: Plan) -> list[dict[str, float]] | None:
    """Every parameter that the plan can release; ``None`` where there is a continuum."""
    levels, box = plan.mechanism.levels, plan.problem.box
    if levels is None or len(box.free) != 1:
        return None
    known = {other: axis.low for other, axis in box.axes.items() if axis.known}
    return [{**known, box.free[0]: float(level)} for level in levels]


def _released(ok: bool) -> Check:
    return Check(
        name="statistic",
        ok=ok,
        says="The column's statistic is one that the plan releases."
        if ok
        else "The column's statistic is none that the plan releases: the column was changed, or it has another plan.",
    )
