"""The audit of a release whose number of rows is hidden."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from statveil.auditing.result import Audit, Finding
from statveil.auditing.row_attackers import ROW_ATTACKERS, Blind, RowAttacker
from statveil.auditing.row_table import SEEN, RowTable, RowView, read_row_table, view_of
from statveil.auditing.verdict import LEAST_TRIALS, decided, interval, looks
from statveil.errors import ProblemError, TableError, unknown_name
from statveil.made_plan import Plan
from statveil.problem.parameters import OutsidePriorError
from statveil.problem.tolerance import Relative
from statveil.rounding import rate_up, shown_up
from statveil.spoken import Progress

__all__ = ["audit_rows"]


def audit_rows(
    plan: Plan,
    original: Any,
    released: Any,
    *,
    attackers: str | Collection[str],
    trials: int,
    seed: int | None,
    progress: Progress,
) -> Audit:
    """Attack a release of some rows: on itself, and on releases of tables like it with other numbers of rows.

    How columns count rows is taken to be known: attackers know where ids start and how far they are apart, and how
    large complete groups are.
    """
    chosen = _chosen(attackers)
    before, after = read_row_table(original), read_row_table(released)
    _check(plan, before, after)
    view = view_of(before, plan, after)
    useful = [attacker for attacker in chosen if attacker.applies(view)]
    idle = tuple(attacker.name for attacker in chosen if attacker not in useful)
    if not any(isinstance(attacker, Blind) for attacker in useful):
        useful = [Blind(), *useful]
    rng, hits, played = np.random.default_rng(seed), dict.fromkeys((one.name for one in useful), 0), 0
    schedule = looks(trials)
    for look in schedule:
        for _ in range(look - played):
            _play(plan, before, useful, hits, rng)
            progress("attacking", 1, trials)
        played = look
        ends = {
            name: interval(count, played, attackers=len(useful), looks=len(schedule)) for name, count in hits.items()
        }
        verdicts = {decided(low, high, plan.risk) for low, high in ends.values()}
        if "leaks" in verdicts or ("undecided" not in verdicts and played >= LEAST_TRIALS):
            break
    found = [
        _finding(plan, one, hits[one.name] / played, ends[one.name], hits[Blind.name] / played, view) for one in useful
    ]
    rank = {"leaks": 0, "undecided": 1, "holds": 2}
    closeness = plan.problem.closeness
    relative = isinstance(closeness, Relative)
    return Audit(
        findings=tuple(sorted(found, key=lambda finding: (rank[finding.verdict], -finding.rate))),
        distances={"released_statistic": float(after.rows), "rows_left_out": 1 - after.rows / before.rows},
        assumed=_assumed(view),
        not_applicable=idle,
        trials=played,
        rows=min(SEEN, after.rows),
        column=None,
        secret=plan.problem.secret.label,
        tolerance=closeness.share if isinstance(closeness, Relative) else closeness,
        tolerance_kind="relative" if relative else "absolute",
    )


def _chosen(names: str | Collection[str]) -> list[RowAttacker]:
    wanted: Sequence[str] = (
        sorted(ROW_ATTACKERS) if names == "all" else [names] if isinstance(names, str) else list(names)
    )
    for name in wanted:
        if name not in ROW_ATTACKERS:
            raise ProblemError(unknown_name("attacker on the number of rows", str(name), sorted(ROW_ATTACKERS)))
    return [ROW_ATTACKERS[name]() for name in wanted]


def _check(plan: Plan, before: RowTable, after: RowTable) -> None:
    """Refuse a table that is not what the plan makes of the original."""
    try:
        size = int(plan.apply(value=before.rows).secret)
    except OutsidePriorError:
        raise TableError("the original has a number of rows outside the plan's prior; it is not its release.") from None
    if size != after.rows:
        raise TableError(
            "the released table does not have as many rows as the plan makes of the original; audit the table as it "
            "was released, with its plan."
        )


def _play(
    plan: Plan, table: RowTable, useful: Sequence[RowAttacker], hits: dict[str, int], rng: np.random.Generator
) -> None:
    """One table like the original, with a number of rows from the prior, and all attackers against its release."""
    problem = plan.problem
    rows = round(float(problem.secret_of(problem.sample(1, rng))[0]))
    rows = min(max(rows, math.ceil(problem.beliefs[0].low)), math.floor(problem.beliefs[0].high))
    view = table.trial(plan, rows, rng)
    tolerance = problem.family.narrow(problem.tolerance)
    for attacker in useful:
        found = attacker.attack(view) if attacker.applies(view) else None
        if found is not None:
            guess, _ = found.on(problem).best(tolerance)
            hits[attacker.name] += abs(guess - float(problem.position(rows))) <= tolerance * (1 + 1e-9)


def _finding(
    plan: Plan, attacker: RowAttacker, rate: float, ends: tuple[float, float], baseline: float, view: RowView
) -> Finding:
    low, high = ends
    verdict = decided(low, high, plan.risk)
    says = f"Using {attacker.doc}, it hits {rate_up(rate, 1, times=100)}% of the time"
    if verdict == "leaks":
        says += f"; the plan claims {shown_up(plan.risk, 3)}. {attacker.remedy}"
    else:
        says += f", at most {rate_up(high, 1, times=100)}%; the plan claims {shown_up(plan.risk, 3)}."
        says += " Allow more trials, which tell." if verdict == "undecided" else ""
    here = attacker.attack(view)
    tolerance = plan.problem.family.narrow(plan.problem.tolerance)
    return Finding(
        attacker=attacker.name,
        rate=rate,
        low=low,
        high=high,
        baseline=baseline,
        claimed=plan.risk,
        verdict=verdict,
        says=says,
        share=None if here is None else here.on(plan.problem).best(tolerance)[1],
        interval=None if here is None else here.interval,
    )


def _assumed(view: RowView) -> str:
    known = [f"how {name!r} counts" for name in view.counters]
    known += [f"how large the groups of {name!r} are" for name in view.whole]
    return ", ".join(["the plan", "the released rows", *known])
