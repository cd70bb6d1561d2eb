"""The file of a ledger: SQLite, one transaction per entry, on the disk before anything rests on it.

The table ``entries`` is the ledger. ``plans`` has the text of each plan once, named by its hash. All else follows from
the entries by :func:`follow`, so that a check need not read them again: how often each plan stands, which outputs there
are, budgets, and what is unfinished.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from statveil import disk
from statveil.errors import FileError, cannot
from statveil.ledger.entry import COUNTS, NOTHING, head_after, new_entry
from statveil.work_folder import empty, work_folder

__all__ = ["BUSY_SECONDS", "DERIVED", "Store", "append", "entry", "follow", "last", "replica", "rows"]

_APPLICATION = 0x53564C47  # "SVLG", in the header of the file
_VERSION = 1
BUSY_SECONDS = 30.0
"""How long to wait for another process that writes: each needs milliseconds."""

_SCHEMA = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, head TEXT NOT NULL, content TEXT NOT NULL) STRICT",
    "CREATE TABLE plans (sha256 TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE standing (dataset TEXT, column_name TEXT, plan TEXT, releases INTEGER NOT NULL, "
    "PRIMARY KEY (dataset, column_name, plan)) STRICT, WITHOUT ROWID",
    "CREATE TABLE outputs (dataset TEXT, column_name TEXT, plan TEXT, output TEXT, source TEXT, "
    "releases INTEGER NOT NULL, PRIMARY KEY (dataset, column_name, plan, output, source)) STRICT, WITHOUT ROWID",
    "CREATE INDEX by_source ON outputs (dataset, column_name, source)",
    "CREATE TABLE budgets (dataset TEXT, column_name TEXT, secret TEXT, max_risk REAL NOT NULL, "
    "entry INTEGER NOT NULL, PRIMARY KEY (dataset, column_name, secret)) STRICT, WITHOUT ROWID",
    "CREATE TABLE unfinished (entry INTEGER PRIMARY KEY) STRICT",
)
DERIVED = {
    "standing": "dataset, column_name, plan, releases",
    "outputs": "dataset, column_name, plan, output, source, releases",
    "budgets": "dataset, column_name, secret, max_risk, entry",
    "unfinished": "entry",
}


class Store:
    """A ledger's file. Every use opens it anew: nothing is held between uses, so processes and threads can share it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def create(self) -> None:
        """Make the file, readable by its owner only: whole, or not at all."""
        place = Path(os.path.realpath(self.path))
        try:
            if os.path.lexists(self.path):
                raise FileError(f"{self.path} exists, and a ledger is never replaced; give another name.")
            with work_folder(place) as folder:
                empty(folder)
                fresh = folder / "ledger"
                os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
                    db.execute(f"PRAGMA application_id = {_APPLICATION}")
                    db.execute(f"PRAGMA user_version = {_VERSION}")
                    db.execute("BEGIN")
                    for statement in _SCHEMA:
                        db.execute(statement)
                    _append(db, "ledger", {"id": os.urandom(16).hex()})
                    db.execute("COMMIT")
                disk.sync(fresh)
                disk.rename_new(fresh, place)
                disk.sync(place.parent)
        except sqlite3.Error as error:
            raise self._said("write", error) from None
        except OSError as error:
            raise cannot(f"write {self.path}", error) from None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One view of the file, which no writer changes meanwhile."""
        with self._open("read") as db:
            db.execute("BEGIN")
            self._check(db)
            yield db
            db.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The only writer; what it wrote is on the disk when the block ends, and nothing of it where it fails."""
        with self._open("write") as db:
            db.execute("BEGIN IMMEDIATE")
            self._check(db)
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # undone already, or when the file is opened next
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def _open(self, doing: str) -> Iterator[sqlite3.Connection]:
        try:
            if not self.path.exists():
                raise FileError(f"there is no ledger {self.path}; make one with 'statveil ledger init {self.path}'.")
            if not self.path.is_file():
                raise FileError(f"{self.path} is no file, and so no ledger; name another one.")
            address = Path(os.path.realpath(self.path)).as_uri() + "?mode=rw"
        except (OSError, ValueError) as error:
            raise cannot(f"read {self.path}", error) from None
        try:
            with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as db:
                # entries must survive a power cut: EXTRA also syncs the folder when a transaction's journal goes
                db.execute("PRAGMA synchronous = EXTRA")
                db.execute("PRAGMA trusted_schema = OFF")
                db.execute("PRAGMA cell_size_check = ON")
                yield db
        except sqlite3.Error as error:
            raise self._said(doing, error) from None

    def _check(self, db: sqlite3.Connection) -> None:
        """Whether this is a ledger, and of a version that we read."""
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if int(db.execute("PRAGMA application_id").fetchone()[0]) != _APPLICATION or version < 1:
            raise FileError(
                f"{self.path} is no ledger of statveil; name another file, or make one with 'statveil ledger init'."
            )
        if version > _VERSION:
            raise FileError(
                f"{self.path} has ledger version {version}; this statveil reads up to {_VERSION}. Upgrade statveil."
            )
        if _schema_of(db) != sorted(_SCHEMA):
            raise FileError(f"{self.path} is damaged: its tables are not those of a ledger. Restore it from a copy.")

    def _said(self, doing: str, error: sqlite3.Error) -> FileError:
        """What SQLite says, in a sentence."""
        primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
        what = f"cannot {doing} the ledger {self.path}: "
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return FileError(f"{what}another process has held it for {BUSY_SECONDS:g} s. Try again when it has ended.")
        if primary == sqlite3.SQLITE_NOTADB:
            return FileError(f"{self.path} is no ledger; name another file, or make one with 'statveil ledger init'.")
        if primary == sqlite3.SQLITE_CORRUPT:
            return FileError(f"{what}it is damaged ({error}). Keep it as it is, and restore it from a copy.")
        if primary == sqlite3.SQLITE_FULL:
            return FileError(f"{what}the disk is full. Nothing was entered; free some space.")
        if primary == sqlite3.SQLITE_READONLY:
            return FileError(f"{what}the file or its folder is read-only. Nothing was entered.")
        return FileError(f"{what}{error}. All that was entered before is kept.")


def _schema_of(db: sqlite3.Connection) -> list[str]:
    """The statements that made all that is in the file."""
    return sorted(str(sql) for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"))


def append(db: sqlite3.Connection, kind: str, **facts: Any) -> int:
    """Add an entry in a transaction that the caller holds; its number."""
    return _append(db, kind, facts)


def _append(db: sqlite3.Connection, kind: str, facts: dict[str, Any]) -> int:
    number, head = last(db)
    content = new_entry(number + 1, kind, facts)
    db.execute("INSERT INTO entries VALUES (?, ?, ?)", (number + 1, head_after(head, content), content))
    follow(db, json.loads(content))
    return number + 1


def last(db: sqlite3.Connection) -> tuple[int, str]:
    """Number and head of the last entry."""
    row = db.execute("SELECT number, head FROM entries ORDER BY number DESC LIMIT 1").fetchone()
    return (0, NOTHING) if row is None else (int(row[0]), str(row[1]))


def entry(db: sqlite3.Connection, number: int) -> dict[str, Any] | None:
    """What an entry says."""
    row = db.execute("SELECT content FROM entries WHERE number = ?", (number,)).fetchone()
    found: dict[str, Any] | None = None if row is None else json.loads(row[0])
    return found


def follow(db: sqlite3.Connection, entry: dict[str, Any]) -> None:
    """What an entry changes in the tables that follow from the entries."""
    match entry["kind"]:
        case "budget":
            values = (entry["dataset"], entry["column"], entry["secret"], entry["max_risk"], entry["number"])
            db.execute("INSERT OR REPLACE INTO budgets VALUES (?, ?, ?, ?, ?)", values)
        case "release":
            _count(db, entry, 1)
            db.execute("INSERT INTO unfinished VALUES (?)", (entry["number"],))
        case "state":
            db.execute("DELETE FROM unfinished WHERE entry = ?", (entry["entry"],))
            if entry["state"] not in COUNTS:
                row = db.execute("SELECT content FROM entries WHERE number = ?", (entry["entry"],)).fetchone()
                _count(db, json.loads(row[0]), -1)


def _count(db: sqlite3.Connection, release: dict[str, Any], by: int) -> None:
    key = (release["dataset"], release["column"], release["plan"])
    more = "ON CONFLICT DO UPDATE SET releases = releases + excluded.releases"
    db.execute(f"INSERT INTO standing VALUES (?, ?, ?, ?) {more}", (*key, by))
    made_of = (release["output"] or "", release["source"] or "")
    db.execute(f"INSERT INTO outputs VALUES (?, ?, ?, ?, ?, ?) {more}", (*key, *made_of, by))


def rows(db: sqlite3.Connection, name: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a table that follows from the entries, in one order."""
    return db.execute(f"SELECT {DERIVED[name]} FROM {name} ORDER BY {DERIVED[name]}")


def replica() -> sqlite3.Connection:
    """An empty ledger in memory, to work out anew what follows from the entries."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    for statement in _SCHEMA:
        db.execute(statement)
    return db
