"""Whether a table is what a plan makes of another one: an audit of any other pair says nothing."""

from __future__ import annotations

import numpy as np

from statveil.auditing.inversion import released_statistic
from statveil.auditing.tables import AuditTable
from statveil.auditing.view import View
from statveil.errors import StatveilError, TableError
from statveil.planning import Plan
from statveil.problem.families.categorical import Categorical
from statveil.tables.blocks import blocks_of
from statveil.tables.estimate import estimate, shares_of
from statveil.tables.measure import measure

__all__ = ["check_is_release"]


def check_is_release(plan: Plan, original: AuditTable, released: AuditTable) -> None:
    """Refuse a table whose statistic is not the one that the plan releases for the original."""
    before, after = (released_statistic(View(plan=plan, column=table.column)) for table in (original, released))
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


def _parameters(plan: Plan, table: AuditTable, statistic: float) -> dict[str, float]:
    family = plan.problem.family
    if isinstance(family, Categorical):
        codes = table.column[np.isfinite(table.column)].astype(np.int64)
        return shares_of(family.labels, np.bincount(codes, minlength=len(family.labels)))
    return estimate(plan.problem, measure(blocks_of(table.column)), statistic)
