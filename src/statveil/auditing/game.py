"""The attack repeated on redrawn tables: how often each attacker really hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from statveil.auditing.attacker import Attacker
from statveil.auditing.redraw import redrawn
from statveil.auditing.relations import followers
from statveil.auditing.tables import AuditTable
from statveil.auditing.view import Earlier, Knowledge, View
from statveil.errors import StatveilError, TableError
from statveil.planning import Plan
from statveil.tables.blocks import Array, blocks_of
from statveil.tables.preparing import Prepared, prepare
from statveil.tables.series import ColumnType
from statveil.tables.verification import LEAKS

__all__ = ["ROWS", "Score", "play_tables", "release_column"]

ROWS = 5_000
"""Rows of a redrawn table, at most: attackers need no more, and a trial stays quick."""

_REDRAWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What an attacker did in all trials."""

    attacker: str
    hits: int
    trials: int


def release_column(plan: Plan, column: Array, *, bits: int, seed: int) -> tuple[Array, Prepared]:
    """One column released as a holder would who accepts every leak; the seed is the trial's own."""
    family = plan.problem.family
    kind = "text" if plan.mode == "category" else "float"
    prepared = prepare(
        plan,
        lambda labels: blocks_of(column)(),
        column="column",
        type=ColumnType(kind=kind, name=family.name, bits=bits),
        accept=tuple(LEAKS),
        secret_seed=seed,
    )
    parts = [prepared.column_map.block(block, index) for index, block in enumerate(blocks_of(column)())]
    return np.concatenate(parts), prepared


def play_tables(
    plan: Plan,
    table: AuditTable,
    attackers: Sequence[Attacker],
    knowledge: Knowledge,
    *,
    trials: int,
    rng: Generator,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Score]:
    """Every attacker against the same redrawn tables. An attacker that finds nothing to use scores a miss."""
    follow = followers(table.column, table.others)
    hits = dict.fromkeys((attacker.name for attacker in attackers), 0)
    size = min(ROWS, max(1, round(0.8 * len(table.column))))
    for _ in range(trials):
        view, truth = _trial(plan, table, knowledge, size, follow, rng)
        for attacker in attackers:
            found = attacker.attack(view) if attacker.applies(view) else None
            if found is not None:
                guess, _share = found.best(plan.problem.tolerance)
                hits[attacker.name] += abs(guess - truth) <= plan.problem.tolerance * (1 + 1e-9)
        progress(1)
    return [Score(attacker=attacker.name, hits=hits[attacker.name], trials=trials) for attacker in attackers]


def _trial(
    plan: Plan,
    table: AuditTable,
    knowledge: Knowledge,
    size: int,
    follow: Callable[[Array, dict[str, Array]], dict[str, Array]],
    rng: Generator,
) -> tuple[View, float]:
    """A redrawn table, released, and its true statistic."""
    last: StatveilError | None = None
    for _ in range(_REDRAWS):
        rows = rng.choice(len(table.column), size=size, replace=False)
        try:
            fresh = redrawn(plan.problem, table.column[rows], knowledge.structure, rng)
            seed = int.from_bytes(rng.bytes(16), "little")
            released, prepared = release_column(plan, fresh, bits=table.bits, seed=seed)
            earlier = tuple(
                Earlier(plan=other.plan, column=release_column(other.plan, fresh, bits=table.bits, seed=seed + 1)[0])
                for other in knowledge.releases
            )
        except StatveilError as error:  # the redrawn table fell outside the prior: a holder would not release it
            last = error
            continue
        finite = np.flatnonzero(np.isfinite(fresh))
        chosen = rng.choice(finite, size=min(len(knowledge.records), len(finite)), replace=False)
        view = View(
            plan=plan,
            column=released,
            others=follow(fresh, {name: values[rows] for name, values in table.others.items()}),
            knowledge=Knowledge(
                structure=knowledge.structure,
                records=tuple((int(row), float(fresh[row])) for row in chosen),
                releases=earlier,
            ),
        )
        return view, float(prepared.facts["estimates"]["secret"])
    raise TableError(
        f"tables like this one, with parameters drawn from the prior, cannot be released under this plan: {last} "
        "The plan does not fit the table."
    )
