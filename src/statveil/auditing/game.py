"""The attack repeated on tables like the original: how often each attacker really hits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import released_statistic
from statveil.auditing.moving import can_move, moved_onto
from statveil.auditing.patterns import PATTERNS, fineness, members
from statveil.auditing.redraw import arranged, redrawn
from statveil.auditing.relations import followers
from statveil.auditing.sampling import FEW, MANY, Places, grouping, rows_of_trial, whole_groups
from statveil.auditing.tables import AuditTable
from statveil.auditing.view import Companion, Earlier, Knowledge, View
from statveil.errors import StatveilError, TableError
from statveil.made_plan import Plan
from statveil.problem.column_numbers import InMemory
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.tables.blocks import Array, blocks_of
from statveil.tables.groups import GroupRows, Masks
from statveil.tables.preparing import Prepared, is_an_atom, prepare
from statveil.tables.series import ColumnType
from statveil.tables.verification import LEAKS

if TYPE_CHECKING:
    from statveil.auditing.scene import Scene

__all__ = ["ROWS", "Game", "Score", "release_column"]

ROWS = 5_000
"""Rows of a trial's table, at most: attackers need no more, and a trial stays quick."""

_REDRAWS = 50
_RARE = 0.02  # share of rows below which the rows of a pattern are taken into every trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What an attacker did in all trials."""

    attacker: str
    hits: int
    trials: int


def release_column(
    plan: Plan, column: Array, *, bits: int, seed: int, parts: Masks | None = None
) -> tuple[Array, Prepared]:
    """One column released as a holder would who accepts every leak; the seed is the trial's own.

    ``parts`` are the rows of the two groups that the secret compares.
    """
    family = plan.problem.family
    kind = "text" if plan.release_mode.categories else "float"
    prepared = prepare(
        plan,
        lambda labels: blocks_of(column)(),
        column="column",
        type=ColumnType(kind=kind, name=family.name, bits=bits),
        accept=tuple(LEAKS),
        secret_seed=seed,
        trial=True,
        groups=None if parts is None else GroupRows.of(iter([parts])),
    )
    blocks = [prepared.column_map.block(block, index) for index, block in enumerate(blocks_of(column)())]
    return np.concatenate(blocks), prepared


class Game:
    """Trials of one release, played in batches until enough is known.

    Where the plan can be written in other units the table stays as it is and the plan moves; otherwise the column is
    redrawn with other parameters, in the same order, and the columns that depend on it follow.
    """

    def __init__(
        self,
        plan: Plan,
        table: AuditTable,
        attackers: Sequence[Attacker],
        knowledge: Knowledge,
        rng: Generator,
        *,
        apart: bool = True,
        scene: Scene | None = None,
    ) -> None:
        self.plan, self.table, self.attackers, self.knowledge, self.rng = plan, table, attackers, knowledge, rng
        self.apart = apart
        """Whether other releases of the column were drawn by another stream than this one."""
        self.scene = scene
        """The columns of a whole table that are not as they were, made anew in every trial."""
        beside = {} if scene is None else scene.originals
        self.trials = 0
        self.hits = dict.fromkeys((attacker.name for attacker in attackers), 0)
        self.size = min(ROWS, max(1, round(0.8 * len(table.column))))
        # traces of a jittered histogram are soft evidence, which the accidents of one fixed table would bias
        soft = plan.release_mode.random and plan.release_mode.near_line
        # of two hidden columns that hold the same, one plan cannot move without the other
        joint = scene is not None and scene.joint
        self.moves = can_move(plan) and not knowledge.releases and not soft and not joint
        others = {**table.groups, **table.others}
        self._groups = grouping(table.column, {**others, **table.together})
        """Of one value each."""
        told = whole_groups(knowledge.links, others)
        self._whole = self._groups if told is None else told
        """That a trial takes with all their rows."""
        self._is_an_atom = is_an_atom(plan, self._statistic()) if plan.problem.known.atoms else False
        """Whether the table that is audited was released though its secret is one: then others may be, too."""
        self._stretches = FEW if any(link.in_order for link in knowledge.links) else MANY
        self._rare = _rare_rows(table.column, knowledge)
        self._follow = followers(
            table.column,
            {**table.others, **table.groups, **beside},
            (*knowledge.ties, *(() if scene is None else scene.ties)),
            knowledge.thresholds,
            knowledge.links,
        )

    def play(self, trials: int, progress: Callable[[int], None] = lambda done: None) -> list[Score]:
        """So many trials more, every attacker against the same tables; the scores of all trials so far.

        An attacker that finds nothing to use scores a miss.
        """
        for _ in range(trials):
            view, truth = self._trial()
            problem = view.plan.problem
            tolerance, there = problem.tolerance, float(problem.position(truth))
            for attacker in self.attackers:
                found = attacker.attack(view) if attacker.applies(view) else None
                if found is not None:
                    guess, _share = found.on(problem).best(tolerance)
                    self.hits[attacker.name] += abs(guess - there) <= tolerance * (1 + 1e-9)
            progress(1)
        self.trials += trials
        return [Score(attacker=name, hits=hits, trials=self.trials) for name, hits in self.hits.items()]

    def _trial(self) -> tuple[View, float]:
        """A table, released, and its true statistic."""
        last: StatveilError | None = None
        for _ in range(_REDRAWS):
            rows = self._rows()
            try:
                return self._on_moved_plan(rows) if self.moves else self._on_redrawn_column(rows)
            except StatveilError as error:  # the table fell outside the prior: a holder would not release it
                last = error
        if self.moves:  # no place of the plan keeps what is declared: move the table after all
            self.moves = False
            return self._trial()
        raise TableError(
            f"tables like this one, with parameters drawn from the prior, cannot be released under this plan: {last} "
            "The plan does not fit the table."
        )

    def _statistic(self) -> float:
        """The secret of the whole table."""
        return released_statistic(View(plan=self.plan, column=self.table.column, parts=self.table.parts))

    def _rows(self) -> Places:
        """Places of a trial's rows; of two columns the same rows of both."""
        table, whole, rare, size = self.table, self._whole, self._rare, self.size
        if table.paired:
            whole = None if whole is None else whole[: table.size]
            rare = None if rare is None else np.unique(rare % table.size)
            size = max(1, size // 2)
        rows = rows_of_trial(table.size, size, self.rng, groups=whole, rare=rare, stretches=self._stretches)
        return table.places(rows)

    def _on_moved_plan(self, rows: Places) -> tuple[View, float]:
        column, parts = self.table.column[rows], self._parts(rows)
        finite = column[np.isfinite(column)]
        truth = released_statistic(View(plan=self.plan, column=column, parts=parts))
        family = self.plan.problem.family
        assert isinstance(family, LocationScale)
        place, spread = 0.0, 0.0
        if len(finite):
            place = family.measured_place().of_column(InMemory(finite), family)
            spread = family.measured_spread().of_column(InMemory(finite), family)
        for _ in range(_REDRAWS):
            plan = moved_onto(self.plan, statistic=truth, place=place, spread=spread, rng=self.rng)
            if plan is not None:
                break
        else:
            raise TableError("no place of the plan fits.")
        released, prepared = release_column(plan, column, bits=self.table.bits, seed=self._seed(), parts=parts)
        others = {name: values[rows] for name, values in self.table.others.items()}
        groups = {name: values[rows] for name, values in self.table.groups.items()}
        beside = self._companions(rows, released, prepared, {**others, **groups})
        view = self._view(plan, column, released, others, groups, (), beside)
        return replace(view, parts=parts, together=self._together(rows)), float(prepared.facts["estimates"]["secret"])

    def _on_redrawn_column(self, rows: Places) -> tuple[View, float]:
        before, parts = self.table.column[rows], self._parts(rows)
        groups = None if self._groups is None else self._groups[rows]
        fresh = redrawn(self.plan.problem, before, self.knowledge.structure, self.rng, parts)
        if parts is None:  # rows of two groups that moved apart are in their order as they are
            categories = isinstance(self.plan.problem.family, Categorical)
            fresh = arranged(before, fresh, groups, self.rng, categories=categories)
        seed = self._seed()
        second = seed + 1 if self.apart else seed
        released, prepared = release_column(self.plan, fresh, bits=self.table.bits, seed=seed, parts=parts)
        earlier = tuple(
            Earlier(plan=other.plan, column=release_column(other.plan, fresh, bits=self.table.bits, seed=second)[0])
            for other in self.knowledge.releases
        )
        table = self.table
        beside = {} if self.scene is None else self.scene.originals
        rest = {name: values[rows] for name, values in {**table.others, **table.groups, **beside}.items()}
        moved = self._follow(before, fresh, rest)
        companions = self._companions(rows, released, prepared, moved)
        others = {name: moved[name] for name in table.others}
        texts = {name: moved[name] for name in table.groups}
        truth = float(prepared.facts["estimates"]["secret"])
        if is_an_atom(self.plan, truth) and not self._is_an_atom:
            raise TableError("the statistic is a frequent value that everyone knows: a holder would not release it.")
        view = self._view(self.plan, fresh, released, others, texts, earlier, companions)
        return replace(view, parts=parts, together=self._together(rows)), truth

    def _together(self, rows: Places) -> dict[str, Array]:
        return {name: number[rows] for name, number in self.table.together.items()}

    def _parts(self, rows: Places) -> Masks | None:
        """Which of these rows belong to the two groups that the secret compares."""
        inside = self.table.parts
        return None if inside is None else (inside[0][rows], inside[1][rows])

    def _companions(
        self, rows: Places, released: Array, prepared: Prepared, moved: Mapping[str, Array]
    ) -> dict[str, Companion]:
        if self.scene is None:
            return {}
        return self.scene.companions(rows, released, prepared, moved, seed=self._seed())

    def _seed(self) -> int:
        return int.from_bytes(self.rng.bytes(16), "little")

    def _view(
        self,
        plan: Plan,
        column: Array,
        released: Array,
        others: dict[str, Array],
        groups: dict[str, Array],
        earlier: tuple[Earlier, ...],
        companions: dict[str, Companion],
    ) -> View:
        finite = np.flatnonzero(np.isfinite(column))
        known = self.rng.choice(finite, size=min(len(self.knowledge.records), len(finite)), replace=False)
        return View(
            plan=plan,
            column=released,
            others=others,
            groups=groups,
            companions=companions,
            knowledge=replace(
                self.knowledge,
                records=tuple((int(row), float(column[row])) for row in known),
                releases=earlier,
            ),
        )


def _rare_rows(column: Array, knowledge: Knowledge) -> Places | None:
    """Rows of a pattern that few rows have: a part of the table might have none of them."""
    finite = np.isfinite(column)
    if not knowledge.patterns or not finite.any():
        return None
    values = np.where(finite, column, np.nan)
    known, slack = values[finite], fineness(values[finite])
    taken = np.zeros(len(column), dtype=np.bool_)
    for name in knowledge.patterns:
        places = PATTERNS[name].places(float(known.min()), float(known.max()))
        rows = members(np.where(finite, column, np.inf), places, slack) if len(places) else taken
        if 0 < np.mean(rows) < _RARE:
            taken |= rows
    return np.flatnonzero(taken) if taken.any() else None
