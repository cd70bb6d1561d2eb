"""What is planned can be written, read again and released: the checks that families, secrets and modes share."""

from __future__ import annotations

import json
import math

import numpy as np

from statveil.auditing.game import release_column
from statveil.contradictions import contradictions
from statveil.made_plan import Plan
from statveil.modes.mode import SEVEN_DIGITS
from statveil.problem.column_numbers import InMemory, TwoGroups
from statveil.tables.blocks import Array
from statveil.tables.estimate import own_statistic, shares_of
from statveil.tables.groups import Masks
from statveil.tables.maps.rank import model_values
from statveil.tables.preparing import Prepared
from statveil.tables.resolution import grain_of, slack_of
from statveil.testing.comparison import close, same

__all__ = ["check_plan_file", "check_release"]


def check_plan_file(plan: Plan) -> None:
    """The plan, written to JSON and read again, is the same and still follows from its problem and mechanism."""
    if not (plan.problem.family.portable and plan.problem.secret.portable):
        return
    again = Plan.from_json(json.loads(json.dumps(plan.to_json())))
    same(again == plan, "the plan changes when it is written to JSON and read again")
    wrong = contradictions(again)
    same(not wrong, f"the plan that was read again contradicts itself: {'; '.join(wrong)}")


def check_release(plan: Plan, column: Array, groups: Masks | None = None) -> Array:
    """The column released with a fixed seed: repeatable, row by row, and with the statistic that the plan states.

    ``groups`` are the rows of the two groups that the secret compares.
    """
    mode = plan.release_mode
    gaps = np.concatenate([[np.nan], column, [np.nan]])
    parts = None if groups is None else (np.pad(groups[0], 1), np.pad(groups[1], 1))
    (one, _), (two, _), (other, made) = (
        release_column(plan, gaps, bits=53, seed=seed, parts=parts) for seed in (1, 1, 2)
    )
    same(np.array_equal(one, two, equal_nan=True), "the same seed does not give the same rows")
    digits = 4 * SEVEN_DIGITS * float(np.nanmax(np.abs(gaps)) + np.nanmax(np.abs(other))) if mode.blurs else 0.0
    # two seeds blur a value apart, each by five widths at most
    digits += 10 * mode.blur_width(plan.problem)
    repeated = np.allclose(one, other, rtol=0, atol=digits, equal_nan=True)
    same(mode.random or plan.randomised or repeated, "the rows depend on the seed, but the mode is not random")
    same(len(other) == len(gaps), f"the release has {len(other)} rows and the column {len(gaps)}")
    same(bool(np.isnan(other[[0, -1]]).all()), "rows without a value do not stay without one")
    after = other[1:-1]
    same(bool(np.isfinite(after).all()), "rows with a value become rows without one")
    if groups is not None:
        rest = ~(groups[0] | groups[1])
        same(np.array_equal(after[rest], column[rest]), "rows of neither group do not stay as they are")
    _check_statistic(plan, column, after, made, groups)
    return after


def _check_statistic(plan: Plan, before: Array, after: Array, made: Prepared, groups: Masks | None) -> None:
    """The released column has the statistic that the mechanism released, up to what its mode says."""
    problem, mode = plan.problem, plan.release_mode
    released = made.facts["released"]
    wanted, rows = float(released["secret"]), len(after)
    params = {param.name: float(released["parameters"][param.name]) for param in problem.family.params}
    close(problem.secret_of(params), wanted, 1e-9, "the secret of the released parameters and the released secret")
    if mode.categories:
        counts = np.bincount(after.astype(np.int64), minlength=len(problem.family.params))
        own = float(problem.secret_of(shares_of(tuple(params), counts)))
        close(own, wanted, 1 / rows + 1e-12, "the released share and that of the plan", absolute=True)
        return
    if mode.of_model and not mode.calibrated:
        # the rows are the model's quantiles, whose statistic is only near the model's own
        levels = (np.arange(rows) + 0.5) / rows
        size = 1e-6 * max(float(np.abs(after).max()), problem.tolerance)
        model = model_values(plan, params)(levels)
        close(np.sort(after), model, size, "the rows and the quantiles of the released model", absolute=True)
        return
    numbers = InMemory(after, groups=None if groups is None else TwoGroups.of(after, groups))
    off = abs(own_statistic(problem, numbers) - wanted)
    largest = float(np.abs(after).max())
    slack = slack_of(plan, params, numbers, largest) + grain_of(plan) + 1e-9 * (float(np.abs(before).max()) + largest)
    same(math.isfinite(off) and off <= slack, f"the released statistic is off by {off:.3g}, more than {slack:.3g}")
