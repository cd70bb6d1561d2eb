"""Whatever is changed in a ledger is noticed by whoever knows its head; what is not a ledger is refused."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
import sqlite3

import pytest

import statveil as sv
from statveil.ledger import store as module

PROBLEM = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100)), secret=sv.Mean(), tolerance=1)
TEN, SEVEN = (sv.plan(PROBLEM, bin=width) for width in (10, 7))
HERE = {"dataset": "staff", "column": "wage"}
TABLES = ("entries", "plans", "standing", "outputs", "budgets", "unfinished")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A ledger with entries of every kind, and its head."""
    ledger = sv.Ledger.create(tmp_path_factory.mktemp("chain") / "books.db")
    ledger.set_budget(0.5, **HERE, secret="mean")
    for plan, mark in ((TEN, "a"), (SEVEN, "b"), (TEN, "c")):
        ledger.finish(ledger.enter(plan, **HERE, sha256=mark * 64), "done")
    ledger.finish(ledger.enter(TEN, **HERE, audience="partner"), "abandoned")
    ledger.enter(TEN, dataset="staff", column="bonus", budget=0.3)
    return ledger.path, ledger.head


@pytest.fixture
def copied(written, tmp_path):
    def copy():
        path = tmp_path / "books.db"
        shutil.copy(written[0], path)
        return path

    return copy


def changed(path, *statements):
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)
    db.close()
    return sv.Ledger(path)


def test_the_chain_is_what_it_says(written):
    """Worked out from the definition: SHA-256 over the head before and the canonical text."""
    db = sqlite3.connect(written[0])
    head = bytes(32)
    for number, stated, content in db.execute("SELECT * FROM entries ORDER BY number"):
        head = hashlib.sha256(head + content.encode("ascii")).digest()
        assert stated == head.hex()
        said = json.loads(content)
        assert content == json.dumps(said, sort_keys=True, separators=(",", ":"))
        assert said["number"] == number
    db.close()
    path, last = written
    assert head.hex() == last
    found = sv.Ledger(path).verify(last)
    assert found.ok
    assert found.since == found.entries == number


def test_every_field_of_every_row_is_held(written, copied):
    path, head = written
    db = sqlite3.connect(path)
    edits = []
    for table in TABLES:
        cursor = db.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        for row, name in itertools.product(cursor.fetchall(), names):
            where = " AND ".join(f"{one} = ?" for one in names)
            old = row[names.index(name)]
            new = (
                old + 50 if not isinstance(old, str) else old.replace("staff", "staf") if "staff" in old else f"{old}0"
            )
            edits.append((f"UPDATE {table} SET {name} = ? WHERE {where}", (new, *row)))
    db.close()
    assert len(edits) > 60
    for edit in edits:
        ledger = changed(copied(), edit)
        assert not ledger.verify(head).ok, edit


def test_rows_that_go_come_or_change_places_are_noticed(written, copied):
    path, head = written
    db = sqlite3.connect(path)
    (entries,) = db.execute("SELECT MAX(number) FROM entries").fetchone()
    sizes = {table: db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in TABLES}
    db.close()
    for number in range(1, entries + 1):
        assert not changed(copied(), f"DELETE FROM entries WHERE number = {number}").verify(head).ok
        assert not changed(copied(), f"DELETE FROM entries WHERE number >= {number}").verify(head).ok
    for table, size in sizes.items():
        assert size, table
        assert not changed(copied(), f"DELETE FROM {table}").verify(head).ok
    for one, other in itertools.combinations(range(1, entries + 1), 2):
        swap = [f"UPDATE entries SET number = {a} WHERE number = {b}" for a, b in ((0, one), (one, other), (other, 0))]
        assert not changed(copied(), *swap).verify(head).ok
    again = "INSERT INTO entries SELECT number + 100, head, content FROM entries WHERE number = 3"
    assert not changed(copied(), again).verify(head).ok
    stray = ("INSERT INTO plans VALUES (?, ?)", (hashlib.sha256(b"{}").hexdigest(), "{}"))
    assert not changed(copied(), stray).verify(head).ok


def test_only_a_head_shows_that_a_consistent_ledger_was_cut_or_forged(written, tmp_path):
    """Someone who forges everything anew is noticed by the head, and by nothing else: verify says so."""
    _, head = written
    forged = sv.Ledger.create(tmp_path / "forged.db")
    forged.set_budget(0.5, **HERE, secret="mean")
    assert forged.verify().ok
    assert "noted elsewhere" in str(forged.verify())
    found = forged.verify(head)
    assert not found.ok
    assert "of no entry" in found.wrong[0]


def test_a_head_that_was_noted_earlier_stays_known(tmp_path):
    ledger = sv.Ledger.create(tmp_path / "books.db")
    heads = [ledger.head]
    for risk in (0.2, 0.3, 0.4):
        ledger.set_budget(risk, **HERE, secret="mean")
        heads.append(ledger.head)
    assert len(set(heads)) == 4
    assert [ledger.verify(head).since for head in heads] == [1, 2, 3, 4]
    assert "unchanged up to entry 2, whose head was given; 2 came after" in str(ledger.verify(heads[1].upper()))
    for bad in ("", "abc", heads[0][:-1], "g" * 64):
        with pytest.raises(sv.ProblemError, match="64 hexadecimal digits"):
            ledger.verify(bad)


def test_two_empty_ledgers_have_two_heads(tmp_path):
    assert sv.Ledger.create(tmp_path / "a.db").head != sv.Ledger.create(tmp_path / "b.db").head


def test_a_plan_that_was_changed_is_not_used(copied):
    ledger = changed(copied(), "UPDATE plans SET content = replace(content, '100', '900')")
    for use in (ledger.show, lambda: ledger.check(TEN, **HERE), lambda: ledger.add(TEN, **HERE)):
        with pytest.raises(sv.FileError, match="a plan in the ledger is damaged"):
            use()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("PRAGMA user_version = 2", "has ledger version 2; this statveil reads up to 1. Upgrade"),
        ("PRAGMA user_version = 0", "is no ledger of statveil"),
        ("PRAGMA application_id = 7", "is no ledger of statveil"),
        ("CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM standing; END", "its tables are not those"),
        ("CREATE TABLE more (x)", "its tables are not those"),
        ("DROP TABLE budgets", "its tables are not those"),
        ("DROP INDEX by_source", "its tables are not those"),
    ],
)
def test_what_is_no_ledger_of_this_version_is_refused(copied, statement, says):
    ledger = changed(copied(), statement)
    before = ledger.path.read_bytes()
    for use in (ledger.verify, ledger.show, lambda: ledger.add(TEN, **HERE), ledger.resolve):
        with pytest.raises(sv.FileError, match=says):
            use()
    assert ledger.path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"no ledger", b"x" * 5000, b"SQLite format 3\0" + bytes(4000)])
def test_other_files_are_no_ledgers(tmp_path, content):
    path = tmp_path / "f"
    path.write_bytes(content)
    with pytest.raises(sv.FileError, match=r"is no ledger|damaged"):
        sv.Ledger(path).show()
    assert path.read_bytes() == content
    with pytest.raises(sv.FileError, match="exists, and a ledger is never replaced"):
        sv.Ledger.create(path)


def test_no_file_no_ledger(tmp_path):
    with pytest.raises(sv.FileError, match=r"there is no ledger .*; make one with 'statveil ledger init"):
        sv.Ledger(tmp_path / "none.db").show()
    assert not list(tmp_path.iterdir()), "nothing was made"
    with pytest.raises(sv.FileError, match="is no file"):
        sv.Ledger(tmp_path).show()
    with pytest.raises(sv.FileError, match="cannot write"):
        sv.Ledger.create(tmp_path / "folder" / "books.db")


def test_only_its_owner_can_read_it(tmp_path):
    ledger = sv.Ledger.create(tmp_path / "books.db")
    ledger.add(TEN, **HERE)
    assert ledger.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["books.db"]


def test_a_transaction_is_on_the_disk_when_it_ends(tmp_path):
    """EXTRA: the folder is synced too when the journal goes, or a power cut could bring the journal back."""
    ledger = sv.Ledger.create(tmp_path / "books.db")
    with module.Store(ledger.path).writing() as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (3,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
