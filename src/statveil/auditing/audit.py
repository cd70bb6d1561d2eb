"""audit(): attack a released table before someone else does."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from statveil.auditing import attackers as _attackers  # noqa: F401  (fills the registry)
from statveil.auditing.attacker import ATTACKERS, Attacker
from statveil.auditing.distances import distances
from statveil.auditing.game import Game, Score
from statveil.auditing.inversion import released_statistic
from statveil.auditing.knowing import assumed, in_words, links_of
from statveil.auditing.patterns import find_patterns
from statveil.auditing.recapture import drawn_apart
from statveil.auditing.relations import find_thresholds
from statveil.auditing.result import PRIVATE, VERDICTS, Audit, Finding
from statveil.auditing.same_release import check_is_release
from statveil.auditing.scene import Scene
from statveil.auditing.tables import AuditTable, read_table
from statveil.auditing.verdict import LEAST_TRIALS, decided, interval, looks
from statveil.auditing.view import Earlier, Knowledge, View
from statveil.errors import ProblemError, TableError, unknown_name
from statveil.made_plan import Plan
from statveil.numbers import number
from statveil.problem.structure import Structure
from statveil.problem.tolerance import Relative
from statveil.rounding import rate_up, shown_up
from statveil.specification.planned import TablePlan
from statveil.spoken import Progress
from statveil.tables.between_columns import between
from statveil.tables.record import read_record, shuffled_by
from statveil.tables.shuffling import shuffled_order
from statveil.tables.structure.others.copy_search import find_ties

if TYPE_CHECKING:
    from statveil.auditing.table_audit import TableAudit

__all__ = ["MOST_TRIALS", "PRIVATE", "Audit", "Finding", "attack_column", "audit", "check_same_rows"]

_NEVER = 1_000_000
"""More trials would not end within days."""
MOST_TRIALS = 2_000
"""By default an audit that stays undecided ends after so many trials."""


@overload
def audit(
    plan: Plan,
    original: Any,
    released: Any,
    *,
    column: Any = ...,
    known: Structure | None = ...,
    records: Sequence[tuple[int, float]] = ...,
    releases: Sequence[tuple[Plan, Any]] = ...,
    record: dict[str, Any] | str | os.PathLike[str] | None = ...,
    secret: str | None = ...,
    attackers: str | Collection[str] = ...,
    trials: int = ...,
    seed: int | None = ...,
    progress: Progress = ...,
) -> Audit: ...
@overload
def audit(
    plan: TablePlan,
    original: Any,
    released: Any,
    *,
    column: Any = ...,
    known: Structure | None = ...,
    records: Sequence[tuple[int, float]] = ...,
    releases: Sequence[tuple[Plan, Any]] = ...,
    record: dict[str, Any] | str | os.PathLike[str] | None = ...,
    secret: str | None = ...,
    attackers: str | Collection[str] = ...,
    trials: int = ...,
    seed: int | None = ...,
    progress: Progress = ...,
) -> TableAudit: ...
def audit(
    plan: Plan | TablePlan,
    original: Any,
    released: Any,
    *,
    column: Any = None,
    known: Structure | None = None,
    records: Sequence[tuple[int, float]] = (),
    releases: Sequence[tuple[Plan, Any]] = (),
    record: dict[str, Any] | str | os.PathLike[str] | None = None,
    secret: str | None = None,
    attackers: str | Collection[str] = "all",
    trials: int = MOST_TRIALS,
    seed: int | None = None,
    progress: Progress = lambda stage, rows, total: None,
) -> Audit | TableAudit:
    """Attack a released table: on the table itself, and repeatedly on tables like it to get rates.

    Parameters
    ----------
    plan : Plan or TablePlan
        The plan of the release. Under the plans of a specification (:func:`plan_specification`) every hidden column is
        attacked in turn, beside all that is published; the result is a :class:`TableAudit`.
    original, released : object or path
        The two tables; anything that :func:`release` takes, or files. Neither is modified.
    column : str
        The released column; of a whole table the one to attack, or all of them. Left out where the plan names two
        columns itself.
    known : Structure, optional
        What attackers know besides what was declared. Steps, heaps, atoms, natural bounds and kinds of numbers that
        the original really has are taken to be known anyway, and so are copies of it, flags and labels.
    records : sequence of (int, float)
        True records that an attacker knows: row number from 0, true value.
    releases : sequence of (Plan, table)
        Other releases of the same column.
    record : dict or path, optional
        The private record of the release, needed where its rows were shuffled; known records then count rows of the
        released table.
    secret : str, optional
        Which of its secrets is attacked, needed where the plan hides two: one audit for each.
    attackers : str or collection of str
        Names of attackers, or ``"all"``.
    trials : int
        Tables to attack at most, at least 200. An audit starts with 200 and goes on until every rate is decided.
    seed : int, optional
        To repeat an audit exactly.
    progress : callable, optional
        Called with what is done, rows just done, and rows in all where that is known.
    """
    _check_trials(trials)
    if isinstance(plan, Plan) and plan.release_mode.of_table:
        from statveil.auditing.row_audit import audit_rows  # not loaded for columns

        _check_no_column(column=column, known=known, records=records, releases=releases, secret=secret)
        found = audit_rows(plan, original, released, attackers=attackers, trials=trials, seed=seed, progress=progress)
        return found.of_tables(original, released)
    chosen = _chosen(attackers)
    if isinstance(plan, TablePlan):
        from statveil.auditing.table_audit import audit_table  # which needs what is here

        if releases or records:
            raise ProblemError(
                "records and other releases are known of one column, and are not played against a whole table; leave "
                "them out, or audit the plan of the column alone."
            )
        return audit_table(
            plan,
            original,
            released,
            column=column,
            known=known,
            record=record,
            secret=secret,
            chosen=chosen,
            trials=trials,
            seed=seed,
            progress=progress,
        )
    if releases and any(one.problem.secret.apart is not None for one in (plan, *(other for other, _ in releases))):
        raise ProblemError(
            "other releases are not played against a plan of two groups or columns; leave them out, and see what they "
            "tell together with 'statveil compose'."
        )
    if plan.release_mode.of_columns and (column is not None or records):
        given = "a column" if column is not None else "known records, which are of one column"
        raise ProblemError(
            f"the plan compares two columns, which it names itself ({plan.problem.secret.label}). Got {given}; leave "
            "that out."
        )
    before = _in_released_order(read_table(original, column=column, plan=plan, original=True), plan, record)
    plan = _for_secret(plan, secret)
    after = read_table(released, column=column, plan=plan)
    check_same_rows(before, after)
    check_is_release(plan, before, after)
    for row, value in records:
        if 0 <= row < len(before.column) and before.column[row] != value:
            raise TableError(f"row {row} of the original does not hold the value that the known record states.")
    found = attack_column(
        plan,
        before,
        after,
        column=column,
        known=known,
        records=records,
        releases=tuple(
            Earlier(plan=other, column=read_table(table, column=column, plan=other).column) for other, table in releases
        ),
        chosen=chosen,
        trials=trials,
        seed=seed,
        progress=progress,
    )
    return found.of_tables(original, released)


def attack_column(
    plan: Plan,
    before: AuditTable,
    after: AuditTable,
    *,
    column: Any,
    known: Structure | None,
    chosen: Sequence[Attacker],
    trials: int,
    seed: int | None,
    progress: Progress,
    records: Sequence[tuple[int, float]] = (),
    releases: tuple[Earlier, ...] = (),
    scene: Scene | None = None,
    claimed: float | None = None,
    together: int = 1,
) -> Audit:
    """Attack one column of a table that is known to be the release of another.

    ``scene`` has the columns beside it that are not as they were, ``claimed`` the risk beside them where it is more
    than the plan's own. The intervals hold for so many audits ``together``.
    """
    claimed = plan.risk if claimed is None else claimed
    knowledge = replace(
        _known_of(plan, before, known),
        records=tuple(_record(row, value, len(before.column)) for row, value in records),
        releases=releases,
        seeming=None if scene is None else scene.seeming,
        within=tuple(_known_of(plan, part, known) for part in _parts_of(plan, before)),
    )
    view = View(
        plan=plan,
        column=after.column,
        others=after.others,
        groups=after.groups,
        together=before.together,
        companions={} if scene is None else scene.as_released(),
        knowledge=knowledge,
        parts=after.parts,
    )
    fitting = [attacker for attacker in chosen if attacker.of_groups or not view.mode.apart]
    useful = [attacker for attacker in fitting if attacker.applies(view)]
    idle = tuple(attacker.name for attacker in chosen if attacker not in useful)
    if not useful:
        raise ProblemError(
            f"none of the named attackers applies here: {', '.join(idle)}. They need another mode, another column or "
            "side knowledge; name others, or all."
        )
    baseline = ATTACKERS["prior"]()
    if not any(attacker.name == baseline.name for attacker in useful):
        useful = [baseline, *useful]
    game = Game(plan, before, useful, knowledge, np.random.default_rng(seed), apart=drawn_apart(view), scene=scene)
    schedule = looks(trials)
    for look in schedule:
        scores = game.play(look - game.trials, progress=lambda done: progress("attacking", done, trials))
        ends = [interval(one.hits, one.trials, attackers=together * len(useful), looks=len(schedule)) for one in scores]
        verdicts = {decided(low, high, claimed) for low, high in ends}
        if "leaks" in verdicts or ("undecided" not in verdicts and game.trials >= LEAST_TRIALS):
            break
    guessing = next(score for score in scores if score.attacker == baseline.name)
    found = [
        _finding(plan, attacker, score, ends_of, guessing, view, claimed)
        for attacker, score, ends_of in zip(useful, scores, ends, strict=True)
    ]
    closeness = plan.problem.closeness
    return Audit(
        findings=tuple(sorted(found, key=lambda finding: (VERDICTS.index(finding.verdict), -finding.rate))),
        distances={"released_statistic": released_statistic(view), **distances(plan, before, after)},
        assumed=in_words(knowledge),
        not_applicable=idle,
        trials=game.trials,
        rows=game.size,
        column=None if column is None else str(column),
        secret=plan.problem.secret.label,
        tolerance=closeness.share if isinstance(closeness, Relative) else closeness,
        tolerance_kind="relative" if isinstance(closeness, Relative) else "absolute",
    )


def _parts_of(plan: Plan, table: AuditTable) -> Iterator[AuditTable]:
    """Each of two groups or columns alone, and what lies between two columns."""
    for inside in table.parts or ():
        yield replace(table, column=np.where(inside, table.column, np.nan))
    if table.paired:
        apart = between(*np.split(table.column, 2), stretched=plan.release_mode.stretches)
        yield replace(table.first_half, column=apart, paired=False)


def _known_of(plan: Plan, table: AuditTable, known: Structure | None) -> Knowledge:
    """What attackers are taken to know of the column, or of the rows of it that are there."""
    categories = plan.release_mode.categories
    ties = () if categories else tuple(find_ties(table.column, table.others))
    rules = () if categories else find_thresholds(table.column, {**table.others, **table.groups})
    return Knowledge(
        structure=assumed(plan, table, known),
        patterns=() if categories else find_patterns(table.column),
        ties=ties,
        thresholds=rules,
        links=() if categories else links_of(table, ties, rules),
    )


def _check_no_column(**given: Any) -> None:
    """An audit of the number of rows is about no column: what is known of one is refused."""
    for name, value in given.items():
        if value not in (None, (), [], Structure()):
            raise ProblemError(f"the plan hides the number of rows of the whole table. Got {name!r}; leave it out.")


def _check_trials(trials: int) -> None:
    if isinstance(trials, bool) or not isinstance(trials, int) or not LEAST_TRIALS <= trials <= _NEVER:
        raise ProblemError(
            f"an audit needs at least {LEAST_TRIALS} trials for its rates to mean something, as a whole number, and at "
            f"most {_NEVER:,}. Got {trials!r}."
        )


def _for_secret(plan: Plan, secret: str | None) -> Plan:
    """The plan as one for the secret that is attacked."""
    labels = [one.secret.label for one in plan.problem.each]
    if secret is None and len(labels) > 1:
        raise ProblemError(
            f"this plan hides two secrets, {' and '.join(labels)}, which are attacked one at a time; name one of them "
            f"(--secret {labels[0]}), and audit the other one too."
        )
    return plan if secret is None else plan.for_secret(secret)


def _chosen(names: str | Collection[str]) -> list[Attacker]:
    wanted = sorted(ATTACKERS) if names == "all" else [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in ATTACKERS:
            raise ProblemError(unknown_name("attacker", str(name), sorted(ATTACKERS)))
    return [ATTACKERS[name]() for name in wanted]


def _in_released_order(
    table: AuditTable, plan: Plan, record: dict[str, Any] | str | os.PathLike[str] | None
) -> AuditTable:
    """The original with its rows in the order of the release."""
    if record is None:
        return table
    seed = shuffled_by(record if isinstance(record, dict) else read_record(Path(record)), plan)
    return table if seed is None else table.in_order(shuffled_order(seed, table.size))


def check_same_rows(before: AuditTable, after: AuditTable) -> None:
    """An audit compares rows: both tables must have the same ones in the same order."""
    if len(before.column) != len(after.column):
        raise TableError(
            f"the tables must have the same rows. Got {len(before.column):,} and {len(after.column):,}; "
            "audit the table as it was released."
        )
    for name, values in before.others.items():
        if name in after.others and not np.array_equal(values, after.others[name], equal_nan=True):
            raise TableError(
                f"column {name!r} differs between the tables, so their rows are not the same or not in the same order. "
                "Audit the table as it was released; if it was shuffled, give the release's record (--record)."
            )
    for name, codes in before.groups.items():
        if name in after.groups and not np.array_equal(codes, after.groups[name], equal_nan=True):
            raise TableError(
                f"column {name!r} differs between the tables: the rows are not in the same order. If the release was "
                "shuffled, give its record (--record)."
            )
    if not np.array_equal(np.isfinite(before.column), np.isfinite(after.column)):
        raise TableError("other rows are missing in the released table than in the original: the rows were changed.")


def _record(row: int, value: float, rows: int) -> tuple[int, float]:
    if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < rows:
        raise ProblemError(f"a known record must name a row from 0 to {rows - 1}. Got {row!r}.")
    return row, number(value, "the value of a known record")


def _finding(
    plan: Plan,
    attacker: Attacker,
    score: Score,
    ends: tuple[float, float],
    guessing: Score,
    view: View,
    claimed: float,
) -> Finding:
    rate, baseline = score.hits / score.trials, guessing.hits / guessing.trials
    low, high = ends
    verdict = decided(low, high, claimed)
    hits = f"Using {attacker.doc}, it hits {rate_up(rate, 1, times=100)}% of the time"
    if verdict == "leaks":
        says = f"{hits}; the plan claims {shown_up(claimed, 3)}. {attacker.remedy}"
    elif verdict == "undecided":
        says = (
            f"{hits}, at most {rate_up(high, 1, times=100)}%; the plan claims {shown_up(claimed, 3)}. "
            f"{score.trials} trials cannot tell; allow more of them."
        )
    else:
        against = " and no more than guessing without the release" if rate <= baseline <= claimed else ""
        says = f"{hits}{against}, at most {rate_up(high, 1, times=100)}%; the plan claims {shown_up(claimed, 3)}."
    here = attacker.attack(view)
    return Finding(
        attacker=attacker.name,
        rate=rate,
        low=low,
        high=high,
        baseline=baseline,
        claimed=claimed,
        verdict=verdict,
        says=says,
        share=None if here is None else here.on(plan.problem).best(plan.problem.tolerance)[1],
        interval=None if here is None else here.interval,
    )
