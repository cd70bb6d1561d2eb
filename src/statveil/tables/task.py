"""What is released of a table, and how it is said: the steps of a release that depend on which columns it is about."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from statveil.contradictions import refuse_contradictions
from statveil.made_plan import Plan
from statveil.tables.blocks import Array
from statveil.tables.card import make_card
from statveil.tables.changes import Changes, Labels
from statveil.tables.estimate import levels_of
from statveil.tables.files.table_file import Watch
from statveil.tables.groups import compares_groups, label_columns, read_groups
from statveil.tables.looking_later import Watching, first_of_all, looks_later
from statveil.tables.preparing import Elsewhere, Prepared, prepare
from statveil.tables.record import Lent, hash_column, lent_by, make_record
from statveil.tables.source import Progress, Source
from statveil.tables.structure.rows.group_search import Beside
from statveil.tables.verification import check_accepted
from statveil.tables.verify_content import Check, content_checks

__all__ = ["OneColumn", "Ready", "Task"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ready:
    """Everything that is needed to write a table. Private, but for the card."""

    changes: Changes
    record: dict[str, Any]
    card: Callable[[str | None], dict[str, Any]]
    """The card, from the hash of the written file."""
    seed: int
    """The secret seed of all that is drawn."""
    accepted: Mapping[str, tuple[str, ...]]
    """What was accepted as a leak, by hidden column."""
    shuffle: int | None = None
    """The secret seed that puts the rows in another order."""
    notes: tuple[str, ...] = ()
    to_check: tuple[str, ...] = ()
    watch: Watch | None = None
    """Must see all rows while they are written, where :attr:`settle` is to be asked afterwards."""
    settle: Callable[[], dict[str, Any]] | None = None
    """Refuses what was found meanwhile, or gives the record, which says what of it was accepted."""
    refused_first: Callable[[], AbstractContextManager[None]] = nullcontext
    """Around what comes before that: an error of it, unless the column is refused anyway."""


class Task(ABC):
    """What is asked of a table: one column under a plan, or all columns under a specification."""

    seed: int | None
    """For tests only."""

    @property
    @abstractmethod
    def plans(self) -> Mapping[str, Plan]:
        """The plan of each hidden column."""

    @property
    def from_sums(self) -> bool:
        """Whether sums and samples of one column say all that its map depends on, so that no pass reads rows again."""
        return False

    @abstractmethod
    def check(self, table: Source) -> None:
        """Refuse a table that lacks what is asked for, from its columns alone."""

    @abstractmethod
    def hashed(self, table: Source) -> str:
        """Hash of what is released of a table in memory."""

    @abstractmethod
    def recorded(self, record: Any, table: Source, *, sha256: str) -> Lent | None:
        """What the record of earlier releases of the same lends; an error for that of something else.

        No value is read: what this release tells together with the earlier ones is decided from the plans alone.
        """

    @abstractmethod
    def ready(self, table: Source, *, sha256: str, lent: Lent | None, progress: Progress | None = None) -> Ready:
        """Read, verify and decide. ``lent`` is what the record of earlier releases of the same gives."""

    @abstractmethod
    def checks(self, table: Source, card: dict[str, Any]) -> Iterator[Check]:
        """The written table against its card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneColumn(Task):
    """One column under its plan, and all else as it is."""

    plan: Plan
    column: Any
    accept: Collection[str] = ()
    round_digits: int | None = None
    seed: int | None = None
    shuffle: bool = False

    def __post_init__(self) -> None:
        refuse_contradictions(self.plan)

    @property
    def plans(self) -> Mapping[str, Plan]:
        return {str(self.column): self.plan}

    @property
    def from_sums(self) -> bool:
        problem, mode = self.plan.problem, self.plan.release_mode
        return not (mode.random or mode.bends or levels_of(problem) or compares_groups(problem))

    def check(self, table: Source) -> None:
        label_columns(table, {table.find(self.column): self.plan})

    def hashed(self, table: Source) -> str:
        name = table.find(self.column)
        parts = [hash_column(table, one) for one in (name, *label_columns(table, {name: self.plan}))]
        return parts[0] if len(parts) == 1 else hashlib.sha256("".join(parts).encode()).hexdigest()

    def recorded(self, record: Any, table: Source, *, sha256: str) -> Lent | None:
        accepted = check_accepted(self.accept)
        return lent_by(record, self.plan, column=self.column, sha256=sha256, accepted=accepted, shuffled=self.shuffle)

    def ready(self, table: Source, *, sha256: str, lent: Lent | None, progress: Progress | None = None) -> Ready:
        plan, name = self.plan, table.find(self.column)
        label = table.label(name)

        def read(labels: Labels) -> Iterator[Array]:
            return table.blocks(name, labels=labels, progress=progress)

        def beside(labels: Labels) -> Beside:
            return ((rows[name], others) for rows, others in table.beside({name: labels}, progress=progress))

        groups = read_groups(table, plan.problem, name)
        prepared = prepare(
            plan,
            read,
            column=label,
            type=table.type_of(name),
            accept=self.accept,
            round_digits=self.round_digits,
            seed=self.seed,
            secret_seed=None if lent is None else lent.seed,
            beside=beside,
            shuffled=self.shuffle,
            later=groups is None and looks_later(table),
            groups=groups,
            elsewhere=Elsewhere(table=table, column=name, progress=progress),
        )
        prepared.check_rows(plan, label)
        later = prepared.later

        def card(sha256: str | None) -> dict[str, Any]:
            return make_card(
                plan,
                column=None if self.column is None else label,
                accepted=prepared.accepted,
                round_digits=self.round_digits,
                test_seed=prepared.test_seed,
                shuffled=self.shuffle,
                rows=prepared.rows,
                sha256=sha256,
            )

        def record(made: Prepared) -> dict[str, Any]:
            return make_record(plan, made, column=self.column, sha256=sha256, shuffled=self.shuffle, lent=lent)

        return Ready(
            changes=Changes.one(name, prepared.column_map, labels=prepared.labels, round_digits=self.round_digits),
            record=record(prepared),
            card=card,
            seed=prepared.seed,
            accepted={str(self.column): prepared.accepted},
            shuffle=prepared.seed if self.shuffle else None,
            notes=(*(() if lent is None else lent.notes), *prepared.warnings),
            to_check=prepared.to_check,
            watch=None if later is None else Watching(name=name, later=later, rows=table.rows),
            settle=None if later is None else lambda: record(prepared.settled()),
            refused_first=partial(first_of_all, later),
        )

    def checks(self, table: Source, card: dict[str, Any]) -> Iterator[Check]:
        return content_checks(table, self.plan, card)
