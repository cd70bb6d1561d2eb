"""The number of rows hidden: a random part of the rows is released, and nothing of them is changed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from statveil.contradictions import refuse_contradictions
from statveil.errors import StructureError, TableError
from statveil.made_plan import Plan
from statveil.problem.families.any_shape import VALUE
from statveil.problem.parameters import OutsidePriorError
from statveil.problem.secrets.rows import ROWS
from statveil.tables.card import make_card
from statveil.tables.changes import Changes
from statveil.tables.preparing import check_seed_for_tests, new_seed
from statveil.tables.record import Lent, lent_by, make_record
from statveil.tables.source import Progress, Source
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.row_count.count_search import RowTellers
from statveil.tables.task import Ready, Task
from statveil.tables.verification import check_accepted
from statveil.tables.verify_content import Check, content_checks

__all__ = ["SomeRows", "check_whole_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """What the record keeps. Private."""

    seed: int
    test_seed: bool
    facts: dict[str, Any]


def check_whole_table(table: Source) -> None:
    """Refuse a table of which no part can be released."""
    if table.only_whole:
        raise TableError(f"the number of rows of {table} cannot be hidden: {table.only_whole}")
    if table.names == [None]:
        raise TableError(
            "the number of rows is hidden in a table with columns. Got a single column; put it into a frame first."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeRows(Task):
    """As many rows as the lower end of the bin says, the first in the table's secret order."""

    plan: Plan
    accept: Collection[str] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        refuse_contradictions(self.plan)

    @property
    def plans(self) -> Mapping[str, Plan]:
        return {ROWS: self.plan}

    def check(self, table: Source) -> None:
        check_whole_table(table)

    def hashed(self, table: Source) -> str:
        digest = hashlib.sha256()
        for piece in table.whole():
            for name, column in piece.items():
                digest.update(repr(name).encode())
                digest.update(repr(column.to_list()).encode())
        return digest.hexdigest()

    def recorded(self, record: Any, table: Source, *, sha256: str) -> Lent | None:
        return lent_by(
            record, self.plan, column=ROWS, sha256=sha256, accepted=check_accepted(self.accept), shuffled=True
        )

    def ready(self, table: Source, *, sha256: str, lent: Lent | None, progress: Progress | None = None) -> Ready:
        plan, accepted = self.plan, check_accepted(self.accept)
        check_seed_for_tests(self.seed)
        seed = self.seed if self.seed is not None else new_seed() if lent is None else lent.seed
        tellers = RowTellers()
        for piece in table.whole(progress=progress):
            tellers.add(piece)
        rows = tellers.rows
        try:
            applied = plan.apply({VALUE: rows}, secret_seed=seed)
        except OutsidePriorError as error:
            raise TableError(
                f"the table lies outside the stated prior: it has {'fewer' if error.side == 'below' else 'more'} rows "
                f"than that allows. {error.why}"
            ) from None
        found = tellers.found()
        _refuse(found, accepted)
        keep = int(applied.secret)
        place = {plan.problem.family.params[0].name: float(plan.problem.family.coordinate(rows))}
        facts = {
            "estimates": {"secret": float(rows), "parameters": place, "rows": rows},
            "released": {
                "secret": float(keep),
                "parameters": {name: float(value) for name, value in applied.released.items()},
            },
            "bin": plan.mechanism.bin_of(place),
            "coefficients": {"rows": rows, "keep": keep},
            "structure_found": [{"name": finding.name, "values": []} for finding in found],
        }
        drawn = _Counted(seed=seed, test_seed=self.seed is not None, facts=facts)

        def card(sha256: str | None) -> dict[str, Any]:
            return make_card(
                plan,
                column=None,
                accepted=accepted,
                test_seed=drawn.test_seed,
                shuffled=True,
                rows=keep,
                sha256=sha256,
            )

        return Ready(
            changes=Changes(keep=keep),
            record=make_record(plan, drawn, column=ROWS, sha256=sha256, shuffled=True, lent=lent),
            card=card,
            seed=seed,
            accepted={ROWS: accepted},
            shuffle=seed,
            notes=() if lent is None else lent.notes,
        )

    def checks(self, table: Source, card: dict[str, Any]) -> Iterator[Check]:
        return content_checks(table, self.plan, card)


def _refuse(found: list[Finding], accepted: Collection[str]) -> None:
    """Refuse a table that tells the number of its rows, with the names to accept."""
    refused = [finding for finding in found if finding.name not in accepted]
    if refused:
        names = " ".join(f"--accept {name}" for name in sorted({finding.name for finding in refused}))
        raise StructureError(
            f"the number of rows would show in the release: {'; '.join(finding.says for finding in refused)}. The "
            f"stated risk would not hold. Mend it, or accept the leak: {names}."
        )
