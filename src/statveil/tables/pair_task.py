"""Two columns under one plan, which compares them: both are released, and all else stays as it is."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from statveil.contradictions import refuse_contradictions
from statveil.made_plan import Plan
from statveil.problem.of_columns import OfColumns
from statveil.tables.blocks import Array
from statveil.tables.card import make_card
from statveil.tables.changes import Changes, Labels, Replacement
from statveil.tables.maps.grouped import Grouped
from statveil.tables.preparing import Elsewhere, prepare
from statveil.tables.record import Lent, hash_column, lent_by, make_record
from statveil.tables.source import Progress, Source
from statveil.tables.stacked import Stacked, both_columns
from statveil.tables.structure.rows.group_search import Beside
from statveil.tables.task import Ready, Task
from statveil.tables.verification import check_accepted
from statveil.tables.verify_content import Check, content_checks

__all__ = ["TwoColumns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoColumns(Task):
    """The two columns that the secret of the plan names."""

    plan: Plan
    accept: Collection[str] = ()
    round_digits: int | None = None
    seed: int | None = None
    shuffle: bool = False

    def __post_init__(self) -> None:
        refuse_contradictions(self.plan)

    @property
    def secret(self) -> OfColumns:
        """What compares them."""
        assert isinstance(self.plan.problem.secret, OfColumns)
        return self.plan.problem.secret

    @property
    def plans(self) -> Mapping[str, Plan]:
        # a release of either column under another plan tells something of both
        return dict.fromkeys(self.secret.names, self.plan)

    @property
    def _recorded_as(self) -> str:
        """What the record calls both, in whichever order a plan names them."""
        return " and ".join(repr(name) for name in sorted(self.secret.names))

    def check(self, table: Source) -> None:
        both_columns(table, self.secret)

    def hashed(self, table: Source) -> str:
        both = sorted(both_columns(table, self.secret), key=str)
        return hashlib.sha256("".join(hash_column(table, name) for name in both).encode()).hexdigest()

    def recorded(self, record: Any, table: Source, *, sha256: str) -> Lent | None:
        accepted = check_accepted(self.accept)
        return lent_by(
            record, self.plan, column=self._recorded_as, sha256=sha256, accepted=accepted, shuffled=self.shuffle
        )

    def ready(self, table: Source, *, sha256: str, lent: Lent | None, progress: Progress | None = None) -> Ready:
        plan, both = self.plan, both_columns(table, self.secret)
        one = Stacked(table, both)

        def read(labels: Labels) -> Iterator[Array]:
            return one.pairs(progress=progress)

        def beside(labels: Labels) -> Beside:
            return ((rows[None], others) for rows, others in one.beside({None: None}, progress=progress))

        prepared = prepare(
            plan,
            read,
            column=one.label(None),
            type=one.type_of(None),
            accept=self.accept,
            round_digits=self.round_digits,
            seed=self.seed,
            secret_seed=None if lent is None else lent.seed,
            beside=beside,
            shuffled=self.shuffle,
            groups=one.halves,
            elsewhere=Elsewhere(table=one, column=None, progress=progress),
        )
        assert isinstance(prepared.column_map, Grouped)

        def card(sha256: str | None) -> dict[str, Any]:
            return make_card(
                plan,
                column=None,
                accepted=prepared.accepted,
                round_digits=self.round_digits,
                test_seed=prepared.test_seed,
                shuffled=self.shuffle,
                rows=prepared.rows,
                sha256=sha256,
            )

        return Ready(
            changes=Changes(
                replaced={
                    name: Replacement(column_map=own, round_digits=self.round_digits)
                    for name, own in zip(both, prepared.column_map.maps, strict=True)
                }
            ),
            record=make_record(
                plan, prepared, column=self._recorded_as, sha256=sha256, shuffled=self.shuffle, lent=lent
            ),
            card=card,
            seed=prepared.seed,
            accepted=dict.fromkeys(self.secret.names, prepared.accepted),
            shuffle=prepared.seed if self.shuffle else None,
            notes=(*(() if lent is None else lent.notes), *prepared.warnings),
            to_check=prepared.to_check,
        )

    def checks(self, table: Source, card: dict[str, Any]) -> Iterator[Check]:
        return content_checks(table, self.plan, card)
