"""How a release is entered: before its output gets its name or is handed over, finished after, settled after a kill.

An entry is finished by what can be seen, and stays pending where nothing proves it: pending releases count.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from statveil.errors import FileError, StatveilError
from statveil.ledger.account import Account, refuse
from statveil.ledger.entry import checked_column, checked_name
from statveil.ledger.ledger import Ledger, Pending
from statveil.made_plan import Plan
from statveil.spoken import Spoken
from statveil.tables.bookkeeping import Written
from statveil.tables.hashing import hash_file
from statveil.tables.publishing import recover, table_in
from statveil.whole_file import write_synced
from statveil.work_folder import JOURNAL, work_folder, work_folder_of

__all__ = ["Keeper", "settled"]

_RUN = "ledger-run"
"""In the work folder: which run made the table that lies there."""


class Keeper(Spoken):
    """Keeps account of the releases of one dataset: for ``sv.release(..., ledger=...)``; one for each release."""

    words = "report.ledger:describe_keeper"

    def __init__(self, ledger: Ledger, *, dataset: str, budget: float | None, audience: str) -> None:
        self.ledger = ledger
        self.dataset, self.audience = checked_name(dataset, "the dataset"), checked_name(audience, "the audience")
        self.budget = budget
        self.entries: tuple[int, ...] = ()
        """Numbers of the entries of the release, one for each column."""
        self.accounts: dict[str, tuple[Account, ...]] = {}
        """The secrets of each column, as they stand after it."""
        self.head: str | None = None
        """The head right after the last of them was finished."""
        self._notes: list[str] = []

    @property
    def files(self) -> Sequence[Path]:
        """The ledger, and what SQLite keeps beside it."""
        path = Path(os.path.realpath(self.ledger.path))  # beside what a link leads to
        return [path, *(path.with_name(path.name + end) for end in ("-journal", "-wal", "-shm"))]

    @property
    def notes(self) -> Sequence[str]:
        """What the holder should know of the entry."""
        return self._notes

    def to_json(self) -> dict[str, Any]:
        """The entries for scripts, with the head that all entries lead to."""
        return {
            "file": str(self.ledger.path),
            "dataset": self.dataset,
            "audience": self.audience,
            "entries": list(self.entries),
            "accounts": [
                {"column": column, **account.to_json()}
                for column, accounts in self.accounts.items()
                for account in accounts
            ],
            "head": self.head,
        }

    def admit(self, plan: Plan, *, column: str, recorded: bool) -> None:
        """Refuse what would pass a budget."""
        checked_column(column)
        self._notes.clear()
        found = self.ledger.check(plan, dataset=self.dataset, column=column, budget=self.budget, recorded=recorded)
        refuse(found, dataset=self.dataset, column=column)
        self.accounts[column] = found.accounts

    @contextmanager
    def mending(self, target: Path, folder: Path) -> Iterator[None]:
        """Settle what killed runs entered of this output, by what they left."""
        waiting = self.ledger.pending(target)
        left = _left(folder, target) if waiting else None
        yield
        for each in waiting:
            _settle(self.ledger, each, target, left)

    @contextmanager
    def entered(self, *written: Written) -> Iterator[None]:
        """An entry for each column before, and its end after."""
        run = os.urandom(16).hex()
        for each in written:
            self._compare(each)
        still_here = _marked(written[0].table, run)
        try:
            self.entries = tuple(self._enter(each, run) for each in written)
            yield
        except BaseException:
            if still_here():
                with suppress(StatveilError):  # a ledger that cannot be written keeps it pending
                    for pending in self.ledger.pending(written[0].target):
                        if pending.run == run:
                            self.ledger.finish(pending.number, "abandoned", how="not published")
            raise
        for entry in self.entries:
            self._finish(entry)

    def _enter(self, written: Written, run: str) -> int:
        return self.ledger.enter(
            written.plan,
            dataset=self.dataset,
            column=written.column,
            audience=self.audience,
            budget=self.budget,
            sha256=written.sha256,
            source=written.source,
            target=written.target,
            run=run,
            accepted=written.accepted,
            shuffled=written.shuffled,
        )

    def _compare(self, written: Written) -> None:
        """Note where nothing but the names says which rows these are."""
        column = written.column
        proven = self.ledger.seen(dataset=self.dataset, column=column, source=written.source, sha256=written.sha256)
        if proven is None:
            self._notes.append(f"the first entry of {column!r} of {self.dataset!r} in {self.ledger.path}")
        elif not proven:
            self._notes.append(
                f"{column!r} counts as a release of the same rows as before: only the name {self.dataset!r} says that "
                "they did not change"
            )

    def _finish(self, entry: int) -> None:
        """The output has its place, and that stands whether or not its entry can be finished now."""
        try:
            self.head = self.ledger.finish(entry, "done", how="released")
        except StatveilError as error:
            self._notes.append(
                f"entry {entry} of the ledger stays pending, and counts: {error} 'statveil ledger resolve' settles it"
            )


def _marked(table: Path | None, run: str) -> Callable[[], bool]:
    """Note which run made a table, before it has an entry; gives a look whether nobody else has got it since.

    What is in memory is handed over only when its entry is finished.
    """
    if table is None:
        return lambda: True
    folder = table.parent
    # whoever finds this and the entry knows that this run left the table
    write_synced(folder / _RUN, run.encode(), private=True)
    fresh = table.stat()
    # it has its place only if it is nowhere here
    return lambda: any(os.path.samestat(fresh, path.stat()) for path in folder.iterdir())


def settled(ledger: Ledger, pending: Pending) -> str:
    """Look at what is left of a pending release; its state then."""
    target = pending.target
    try:
        if target is None or not target.parent.is_dir():
            return "pending"
        if not work_folder_of(target).exists() and not target.exists():
            return "pending"  # gone, or given away
        with work_folder(target) as folder:  # no run is at work on it
            left = _left(folder, target)
            recover(folder, target)
            return _settle(ledger, pending, target, left)
    except OSError:  # another run, or a folder that cannot be used now
        return "pending"


def _settle(ledger: Ledger, pending: Pending, target: Path, left: tuple[str, str] | None) -> str:
    """Finish an entry by what is in place, or by what its own run left; ``target`` has been mended."""
    if target.exists() and hash_file(target) == pending.sha256:
        ledger.finish(pending.number, "done", how="found in place")
        return "done"
    if left is not None and left == (pending.run, pending.sha256):
        ledger.finish(pending.number, "abandoned", how="found unpublished")
        return "abandoned"
    return "pending"


def _left(folder: Path, target: Path) -> tuple[str, str] | None:
    """Which run left a table that never got its place, and the table's hash; None where nothing proves that.

    After names were exchanged the old table has the new one's name for a moment, while the journal names the new one.
    """
    table, journal = table_in(folder, target), folder / JOURNAL
    try:
        run = (folder / _RUN).read_text()
        found = hash_file(table) if table.exists() else None
        if found is None or (journal.exists() and json.loads(journal.read_bytes())["table"] != found):
            return None
    except (OSError, ValueError, LookupError, TypeError, FileError):
        return None
    return run, found
