"""What stands in a ledger: each column with its releases, joint risks and budgets."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from statveil.ledger.account import Joint, joint
from statveil.ledger.entry import STATES
from statveil.ledger.store import Store, last
from statveil.spoken import Spoken

__all__ = ["ColumnView", "LedgerView", "Released", "releases", "view"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnView:
    """One column of a dataset."""

    dataset: str
    column: str
    states: dict[str, int]
    """How many releases are pending, done and abandoned; the first two count."""
    plans: int
    """Different plans among those that count."""
    audiences: tuple[str, ...]
    accepted: tuple[str, ...]
    """Leaks that were accepted in some release: the joint risk does not cover those."""
    risks: dict[str, Joint]
    """Joint risk of each secret."""
    budgets: tuple[dict[str, Any], ...]
    """Every budget that was set, in order; of each secret the last one holds."""
    pending: tuple[dict[str, Any], ...]

    def budget(self, secret: str) -> float | None:
        """The budget that holds."""
        return next((each["max_risk"] for each in reversed(self.budgets) if each["secret"] == secret), None)

    def to_json(self) -> dict[str, Any]:
        """The same for scripts."""
        names = sorted({*self.risks, *(each["secret"] for each in self.budgets)})
        secrets = []
        for name in names:
            found = self.risks.get(name)
            secrets.append(
                {
                    "secret": name,
                    "risk": None if found is None else found.risk,
                    "risk_kind": None if found is None else found.risk_kind,
                    "why": None if found is None else found.why,
                    "certain_share": None if found is None else found.certain,
                    "budget": self.budget(name),
                }
            )
        return {
            "dataset": self.dataset,
            "column": self.column,
            **self.states,
            "different_plans": self.plans,
            "audiences": list(self.audiences),
            "accepted_leaks": list(self.accepted),
            "secrets": secrets,
            "budgets": list(self.budgets),
            "unfinished": list(self.pending),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerView(Spoken):
    """A ledger as it stands."""

    words = "report.ledger:describe_ledger"

    ledger: str
    entries: int
    head: str
    columns: tuple[ColumnView, ...]

    def to_json(self) -> dict[str, Any]:
        """The same for scripts."""
        return {
            "ledger": self.ledger,
            "entries": self.entries,
            "head": self.head,
            "columns": [column.to_json() for column in self.columns],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """One release of a dataset: what was entered in one go."""

    at: str
    columns: tuple[str, ...]
    audience: str
    state: str
    """The worst state of its entries: one that is pending counts."""


def releases(store: Store, *, dataset: str) -> tuple[Released, ...]:
    """Every release of a dataset, the first one first; columns that were entered by one run belong together."""
    found: dict[Any, list[dict[str, Any]]] = {}
    states: dict[int, str] = {}
    with store.reading() as db:
        for said in _entries(db):
            if said["kind"] == "state":
                states[said["entry"]] = said["state"]
            elif said["kind"] == "release" and said["dataset"] == dataset:
                found.setdefault(said["run"] or said["number"], []).append(said)
    return tuple(
        Released(
            at=entries[0]["at"],
            columns=tuple(one["column"] for one in entries),
            audience=entries[0]["audience"],
            state=min((states.get(one["number"], "pending") for one in entries), key=STATES.index),
        )
        for entries in found.values()
    )


@dataclass(slots=True, kw_only=True)
class _Gathered:
    """What is gathered of a column along the entries."""

    states: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATES, 0))
    audiences: set[str] = field(default_factory=set)
    accepted: set[str] = field(default_factory=set)
    budgets: list[dict[str, Any]] = field(default_factory=list)
    pending: dict[int, dict[str, Any]] = field(default_factory=dict)


def view(store: Store, *, dataset: str | None, column: str | None) -> LedgerView:
    """Read all entries; of one dataset or column where that is given."""
    from statveil.ledger.ledger import standing

    with store.reading() as db:
        number, head = last(db)
        found = _gathered(db)
        wanted = [key for key in sorted(found) if dataset in (None, key[0]) and column in (None, key[1])]
        counted = {key: standing(db, *key) for key in wanted}
    columns = [
        ColumnView(
            dataset=key[0],
            column=key[1],
            states=found[key].states,
            plans=len(counted[key]),
            audiences=tuple(sorted(found[key].audiences)),
            accepted=tuple(sorted(found[key].accepted)),
            risks=joint(counted[key]),
            budgets=tuple(found[key].budgets),
            pending=tuple(found[key].pending.values()),
        )
        for key in wanted
    ]
    return LedgerView(ledger=str(store.path), entries=number, head=head, columns=tuple(columns))


def _entries(db: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    for (content,) in db.execute("SELECT content FROM entries ORDER BY number"):
        yield json.loads(content)


def _gathered(db: sqlite3.Connection) -> dict[tuple[str, str], _Gathered]:
    found: dict[tuple[str, str], _Gathered] = {}
    unfinished: dict[int, tuple[str, str]] = {}
    for said in _entries(db):
        if said["kind"] == "state":
            own = found[unfinished.pop(said["entry"])]
            own.states["pending"] -= 1
            own.states[said["state"]] += 1
            own.pending.pop(said["entry"])
            continue
        if said["kind"] not in ("budget", "release"):
            continue
        key = said["dataset"], said["column"]
        own = found.setdefault(key, _Gathered())
        if said["kind"] == "budget":
            own.budgets.append({name: said[name] for name in ("number", "at", "secret", "max_risk")})
            continue
        own.states["pending"] += 1
        own.audiences.add(said["audience"])
        own.accepted.update(said["accepted"])
        own.pending[said["number"]] = {name: said[name] for name in ("number", "at", "target", "audience")}
        unfinished[said["number"]] = key
    return found
