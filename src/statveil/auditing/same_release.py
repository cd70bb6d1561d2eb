"""Whether a table is what a plan makes of another one: an audit of any other pair says nothing."""

from __future__ import annotations

import numpy as np

from statveil.auditing.inversion import released_statistic
from statveil.auditing.tables import AuditTable
from statveil.auditing.view import View
from statveil.auditing.written import precision
from statveil.errors import StatveilError, TableError
from statveil.made_plan import Plan
from statveil.problem.families.categorical import Categorical
from statveil.tables.blocks import Array, blocks_of
from statveil.tables.estimate import estimate, shares_of
from statveil.tables.measure import measure

__all__ = ["check_is_release", "check_moved_along"]


def check_is_release(plan: Plan, original: AuditTable, released: AuditTable) -> None:
    """Refuse a table whose statistic is not the one that the plan releases for the original."""
    before, after = (
        released_statistic(View(plan=plan, column=table.column, parts=table.parts)) for table in (original, released)
    )
    rows = max(int(np.count_nonzero(np.isfinite(original.column))), 1)
    try:
        params = _parameters(plan, original, before)
        plan.check(params)
        wanted = plan.released_secret(plan.mechanism.possible(params))
    except StatveilError as error:
        raise TableError(f"the original cannot be released under this plan: {error}") from None
    # what rounding to digits, whole rows or units, and a model's own discreteness may take away
    slack = 0.05 * plan.distortion / plan.gamma + 1.5 * (plan.problem.known.step or 1.0) / rows
    if plan.problem.family.shapeless:
        slack = 0.1 * plan.largest_move + 1.5 * (plan.problem.known.step or 0.0) * (plan.problem.secret.per_shift or 1)
    if plan.release_mode.of_model and not plan.release_mode.calibrated:
        order = np.argsort(original.column, kind="stable")
        sorted_alike = np.diff(released.column[order])[np.diff(original.column[order]) > 0]
        fits = bool(np.all(sorted_alike[np.isfinite(sorted_alike)] >= 0)) and not np.array_equal(
            original.column, released.column, equal_nan=True
        )
    else:
        fits = bool(np.min(np.abs(after - wanted)) <= slack)
    if not fits:
        raise TableError(
            "the released table is not what this plan makes of the original: give the plan, the original and the table "
            "that was released under it, in this order."
        )


def check_moved_along(
    plan: Plan, hidden: tuple[Array, Array], linked: tuple[Array, Array], *, factor: float, column: str
) -> None:
    """Refuse a linked column that did not move as the hidden one did under its plan; both before and after, row by row.

    Both may be blurred, each by numbers of its own.
    """
    known = np.isfinite(hidden[0]) & np.isfinite(hidden[1])
    before, after = hidden[0][known], hidden[1][known]
    if not len(before):
        return
    spread = before - before.mean()
    across = float(np.dot(spread, spread))
    slope = float(np.dot(spread, after)) / across if across and plan.release_mode.stretches else 1.0
    start = float(after.mean()) - slope * float(before.mean())
    wanted = slope * linked[0] + factor * start
    size = float(np.nanmax(np.abs(linked[1]), initial=0.0)) + float(np.nanmax(np.abs(wanted), initial=0.0))
    # both may be rounded, the line through the hidden column with them
    blurred = plan.release_mode.wander(plan.problem)
    slack = 1e-6 * size + precision(linked[1]) + abs(factor) * (precision(after) + 2 * blurred)
    if (
        not np.array_equal(np.isfinite(linked[0]), np.isfinite(linked[1]))
        or np.nanmax(np.abs(linked[1] - wanted), initial=0.0) > slack
    ):
        raise TableError(
            f"column {column!r} did not move along with the one that it is linked to: give the plans, the original and "
            "the table that was released under them, in this order."
        )


def _parameters(plan: Plan, table: AuditTable, statistic: float) -> dict[str, float]:
    family = plan.problem.family
    if isinstance(family, Categorical):
        codes = table.column[np.isfinite(table.column)].astype(np.int64)
        return shares_of(family.labels, np.bincount(codes, minlength=len(family.labels)))
    return estimate(plan.problem, measure(blocks_of(table.column)), statistic)
