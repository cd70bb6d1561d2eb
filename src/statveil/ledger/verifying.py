"""Whether a ledger is whole: its pages, its chain, its plans, and all that follows from its entries."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from statveil.errors import FileError, ProblemError
from statveil.ledger.entry import NOTHING, STATES, canonical, head_after
from statveil.ledger.store import DERIVED, Store, follow, replica, rows
from statveil.spoken import Spoken

__all__ = ["LedgerCheck", "verified"]

_SHOWN = 20  # of the things that are wrong: one change can break all that follows


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerCheck(Spoken):
    """What a ledger was found to be."""

    words = "report.ledger:describe_check"

    ledger: str
    entries: int
    head: str
    wrong: tuple[str, ...]
    """What is not as it should be, the first of it."""
    since: int | None
    """With a head that was noted: the entry that it belongs to. What came after is as the file has it."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong

    def to_json(self) -> dict[str, Any]:
        """The same for scripts."""
        return {
            "ok": self.ok,
            "ledger": self.ledger,
            "entries": self.entries,
            "head": self.head,
            "head_known_at": self.since,
            "wrong": list(self.wrong),
        }


def verified(store: Store, head: str | None) -> LedgerCheck:
    """Check a ledger; ``head`` is one that was noted after an earlier entry, or the last."""
    if head is not None and not re.fullmatch(r"[0-9a-f]{64}", head := head.strip().lower()):
        raise ProblemError("the head is what ledger commands print: 64 hexadecimal digits; give all of them.")
    wrong: list[str] = []
    entries, last, opened = 0, NOTHING, False
    since: int | None = None
    plans: set[str] = set()
    try:
        with store.reading() as db, closing(replica()) as anew:
            opened = True
            anew.execute("BEGIN")
            wrong += [
                f"the file is damaged: {said}"
                for (said,) in db.execute(f"PRAGMA integrity_check({_SHOWN})")
                if said != "ok"
            ]
            for number, stated, content in db.execute("SELECT number, head, content FROM entries ORDER BY number"):
                entries, last = entries + 1, head_after(last, content)
                wrong += _broken(anew, entries, (number, stated, content), last, plans)
                since = entries if last == head else since
                if len(wrong) >= _SHOWN:
                    break
            else:
                wrong += [*_plans(db, plans), *_consequences(db, anew)]
    except FileError as error:
        if not opened:
            raise
        wrong.append(str(error))
    if head is not None and since is None:
        wrong.append(
            "the head that was noted is that of no entry: entries were changed or removed since, or it is another "
            "ledger's"
        )
    if not entries:
        wrong.append("there is no entry, and a ledger has one from the start")
    return LedgerCheck(ledger=str(store.path), entries=entries, head=last, wrong=tuple(wrong[:_SHOWN]), since=since)


def _broken(
    anew: sqlite3.Connection, place: int, row: tuple[int, str, str], head: str, plans: set[str]
) -> Iterator[str]:
    """What is wrong with an entry; where nothing is, it is entered anew."""
    number, stated, content = row
    if number != place:
        yield f"entry {place} is missing or out of its place"
        return
    if stated != head:
        yield f"the chain is broken at entry {number}: it, or one before it, was changed"
        return
    try:
        said = json.loads(content)
        if canonical(said) != content or said["number"] != number:
            yield f"entry {number} is not written as a ledger writes it"
            return
        if said["kind"] not in ("ledger", "budget", "release", "state") or (said["kind"] == "ledger") != (number == 1):
            yield f"entry {number} is of no kind that a ledger has there"
            return
        if said["kind"] == "release":
            plans.add(said["plan"])
        elif said["kind"] == "state" and (
            said["state"] not in STATES[1:]
            or anew.execute("SELECT 1 FROM unfinished WHERE entry = ?", (said["entry"],)).fetchone() is None
        ):
            yield f"entry {number} finishes what is not unfinished"
            return
        anew.execute("INSERT INTO entries VALUES (?, ?, ?)", row)
        follow(anew, said)
    except (ValueError, LookupError, TypeError, sqlite3.Error):
        yield f"entry {number} does not say what an entry says"


def _plans(db: sqlite3.Connection, named: set[str]) -> Iterator[str]:
    there = set()
    for sha256, content in db.execute("SELECT sha256, content FROM plans"):
        there.add(sha256)
        if hashlib.sha256(content.encode()).hexdigest() != sha256:
            yield f"the plan {sha256} is not the one that was entered"
        elif sha256 not in named:
            yield f"the plan {sha256} belongs to no entry"
    yield from (f"the plan {sha256} is missing" for sha256 in sorted(named - there))


def _consequences(db: sqlite3.Connection, anew: sqlite3.Connection) -> Iterator[str]:
    for table in DERIVED:
        if list(rows(db, table)) != list(rows(anew, table)):
            yield f"the table {table!r} does not say what follows from the entries"
