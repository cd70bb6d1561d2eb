"""Many processes, kills, a full or damaged disk: every release has its entry, and nothing that was entered is lost."""

from __future__ import annotations

import json
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import statveil as sv
from statveil.ledger import store as module
from statveil.tables import publishing
from statveil.tables import release_file as releasing
from statveil.work_folder import work_folder, work_folder_of
from tests.ledger.books import entries

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")

FORKED = Path(__file__).with_name("forked.py")
PROBLEM = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100)), secret=sv.Mean(), tolerance=1)
PLAN = sv.plan(PROBLEM, bin=10)
HERE = {"dataset": "staff", "column": "x"}


def table(path, seed=1):
    rows = random.Random(seed)
    path.write_text("x\n" + "".join(f"{rows.gauss(50, 9)!r}\n" for _ in range(60)))
    return path


# --- many at once ------------------------------------------------------------------------------------
def appended(ledger, processes, each):
    head = ledger.head
    subprocess.run([sys.executable, FORKED, "append", ledger.path, str(processes), str(each)], check=True)
    found = ledger.verify(head)
    assert found.ok, found.wrong
    assert found.since == 1
    made = entries(ledger)
    assert [one["number"] for one in made] == list(range(1, len(made) + 1))
    outputs = Counter(one["output"] for one in made if one["kind"] == "release")
    assert outputs == {f"{number:032x}{turn:032x}": 1 for number in range(processes) for turn in range(each)}
    states = Counter(one["state"] for one in made if one["kind"] == "state")
    assert states["abandoned"] == processes * (each // 10)
    assert states["done"] == processes * each - states["abandoned"]
    assert not ledger.pending()
    # the budget was set once for each column, by whoever came first
    assert Counter(one["column"] for one in made if one["kind"] == "budget") == {"c0": 1, "c1": 1}
    for column in ledger.show().columns:
        assert column.risks["mean"].risk == pytest.approx(0.4, abs=1e-9)  # 20 bins of 5, which cut all others


def test_processes_that_append_at_once_are_all_entered_once(ledger):
    appended(ledger, 8, 25)


@pytest.mark.slow
@pytest.mark.faults
def test_eight_thousand_releases_by_eight_processes(ledger):
    appended(ledger, 8, 1000)


# --- kills ---------------------------------------------------------------------------------------------
def killed(ledger, folder, times, seed):
    """Kill a run of releases again and again; what was found to be pending, how it was settled."""
    settled, head = Counter(), ledger.head
    with subprocess.Popen(
        [sys.executable, FORKED, "kill", folder, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        for _ in range(times):
            server.stdin.write("\n")
            server.stdin.flush()
            assert server.stdout.readline()
            found = ledger.verify(head)
            assert found.ok, found.wrong
            assert found.since is not None
            head = found.head
            made = {one["output"]: one for one in entries(ledger) if one["kind"] == "release"}
            for card in folder.glob("out*.csv.card.json"):
                output = card.with_name(card.name.removesuffix(".card.json"))
                if output.exists():
                    assert made[json.loads(card.read_text())["sha256"]]["target"] == str(output)
            for pending, state in ledger.resolve():
                assert state != "pending", "nobody took anything away, so all can be seen"
                assert pending.target.exists() == (state == "done")
                settled[state] += 1
            assert not ledger.pending()
            counted = ledger.show().columns
            assert sum(one.states["done"] for one in counted) == len(list(folder.glob("out*.csv")))
            for path in folder.glob("in*.csv"):
                path.unlink()
        server.stdin.close()
    assert ledger.verify(head).ok
    return settled


def test_kills_at_random_moments(ledger, tmp_path):
    killed(ledger, tmp_path, 8, seed=1)


@pytest.mark.slow
@pytest.mark.faults
def test_two_hundred_kills_at_random_moments(ledger, tmp_path):
    settled = killed(ledger, tmp_path, 200, seed=2)
    assert settled.total() > 5, "some fell between an entry and its end"


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("fault", ["KILL", "INT", "TERM", "EIO", "ENOSPC"])
@pytest.mark.parametrize("old", [False, True], ids=["new", "overwrite"])
def test_each_step_of_an_entered_release_interrupted_once(tmp_path, fault, old):
    """By the steps of Python's own; those of SQLite are met by the kills at random moments."""
    base, clean = tmp_path / "base", tmp_path / "clean"
    base.mkdir()
    ledger = sv.Ledger.create(base / "books.db")
    sv.save_plan(PLAN, base / "plan.json")
    table(base / "t.csv")
    release = ["release", "plan.json", "t.csv", "out.csv", "--column", "x", "--ledger", "books.db", "--dataset", "d"]
    release = [str(base / one) if (base / one).exists() or one == "out.csv" else one for one in release]
    if old:
        sv.release_file(PLAN, table(base / "o.csv", seed=9), base / "out.csv", column="x")
        release.append("--overwrite")
    before = publishing.hash_file(base / "out.csv") if old else None
    shutil.copytree(base, clean)
    shim = Path(__file__).parents[1] / "files" / "fault_shim.py"
    with subprocess.Popen([sys.executable, shim], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:

        def run(at):
            task = {"arguments": release, "at": at, "fault": fault, "where": str(base), "exchange": True}
            server.stdin.write(json.dumps(task) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        whole = run(0)
        assert whole["code"] == 0, whole
        after = publishing.hash_file(base / "out.csv")
        found = Counter()
        for at in range(1, len(whole["steps"]) + 1):
            shutil.rmtree(base)
            shutil.copytree(clean, base)
            said = run(at)
            what = (at, whole["steps"][at - 1], said)
            assert "Traceback" not in said["err"], what
            assert ledger.verify().ok, what
            made = [one for one in entries(ledger) if one["kind"] == "release"]
            stands = publishing.hash_file(base / "out.csv") if (base / "out.csv").exists() else None
            assert stands in (before, after), what
            assert stands != after or [one["output"] for one in made] == [after], what
            ledger.resolve()
            assert not ledger.pending(), what
            states = [one["state"] for one in entries(ledger) if one["kind"] == "state"]
            assert states == [] if not made else states == ["done" if stands == after else "abandoned"], what
            found[tuple(states)] += 1
        server.stdin.close()
    assert set(found) == {(), ("abandoned",), ("done",)}, "each of them happened"


class Killed(BaseException):
    """What nothing may catch and nothing clean up after, as if the process had ended there."""


def released(ledger, tmp_path, name="out.csv", **options):
    source = tmp_path / "t.csv"
    if not source.exists():
        table(source)
    return sv.release_file(PLAN, source, tmp_path / name, column="x", ledger=ledger.keeper(dataset="staff"), **options)


@pytest.mark.parametrize("by", ["resolve", "the next run"])
@pytest.mark.parametrize(
    ("where", "state"),
    [("before the card", "abandoned"), ("before the table", "abandoned"), ("after the table", "done")],
)
def test_what_a_kill_left_is_settled_by_what_can_be_seen(ledger, tmp_path, monkeypatch, where, state, by):
    put, steps = publishing._put, []

    def put_some(folder, name, place, *, replace):
        steps.append(name)
        if len(steps) == {"before the card": 1, "before the table": 2, "after the table": 3}[where]:
            raise Killed
        put(folder, name, place, replace=replace)
        if len(steps) == 2 and where == "after the table":
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_put", put_some)
        patched.setattr(publishing, "_roll_back", lambda *arguments: None)
        patched.setattr(publishing.Path, "unlink", lambda *arguments, **named: None)
        patched.setattr("statveil.work_folder._remove", lambda folder: None)
        patched.setattr(sv.Ledger, "finish", lambda *arguments, **named: None)
        with pytest.raises(Killed):
            released(ledger, tmp_path)
    (pending,) = ledger.pending()
    assert ledger.show().columns[0].states["pending"] == 1
    assert not ledger.check(sv.plan(PROBLEM, bin=7), **HERE, budget=0.4).allowed, "what is pending counts"
    if by == "resolve":
        ((found, said),) = ledger.resolve()
        assert (found, said) == (pending, state)
    else:
        released(ledger, tmp_path, overwrite=True)
    assert not ledger.pending()
    last = next(one for one in entries(ledger) if one["kind"] == "state")
    assert (last["entry"], last["state"]) == (pending.number, state)
    assert ledger.verify().ok


def test_what_nothing_proves_stays_pending(ledger, tmp_path):
    """An output that is not there may have been given away, and one with other bytes is another."""
    target = tmp_path / "out.csv"
    number = ledger.enter(PLAN, **HERE, sha256="a" * 64, target=target, run="r")
    gone = ledger.enter(PLAN, **HERE, sha256="b" * 64, target=tmp_path / "gone" / "out.csv")
    bare = ledger.enter(PLAN, **HERE)
    assert [said for _, said in ledger.resolve()] == ["pending"] * 3
    table(target)
    assert [said for _, said in ledger.resolve()] == ["pending"] * 3
    # the same bytes in a work folder prove nothing where another run left them
    target.unlink()
    work = work_folder_of(target)
    work.mkdir()
    (work / "made-by-statveil").touch()
    sha256 = publishing.hash_file(table(work / "table.csv"))
    (work / "ledger-run").write_text("another run")
    same = ledger.enter(PLAN, **HERE, sha256=sha256, target=target, run="this run")
    assert [said for _, said in ledger.resolve()] == ["pending"] * 4
    assert [one.number for one in ledger.pending()] == [number, gone, bare, same]
    ledger.finish(number, "abandoned")
    assert len(ledger.pending()) == 3


def test_a_run_that_is_at_work_is_left_alone(ledger, tmp_path):
    target = tmp_path / "out.csv"
    ledger.enter(PLAN, **HERE, sha256=publishing.hash_file(table(target)), target=target)
    with work_folder(target):
        assert [said for _, said in ledger.resolve()] == ["pending"]
    assert [said for _, said in ledger.resolve()] == ["done"]


# --- a release that fails ---------------------------------------------------------------------------------
def test_a_release_that_cannot_be_published_is_abandoned(ledger, tmp_path, monkeypatch):
    def full(*arguments, **named):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_put", full)
        with pytest.raises(sv.FileError, match="No space left"):
            released(ledger, tmp_path)
    assert not (tmp_path / "out.csv").exists()
    assert ledger.show().columns[0].states == {"pending": 0, "done": 0, "abandoned": 1}
    assert ledger.show().columns[0].risks == {}


def test_nothing_is_published_that_cannot_be_entered(ledger, tmp_path, monkeypatch):
    def locked(*arguments, **named):
        raise sv.FileError("cannot write the ledger")

    monkeypatch.setattr(sv.Ledger, "enter", locked)
    with pytest.raises(sv.FileError, match="cannot write the ledger"):
        released(ledger, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["books.db", "t.csv"]


def test_an_entry_that_cannot_be_finished_stays_pending_and_the_release_stands(ledger, tmp_path, monkeypatch):
    def locked(*arguments, **named):
        raise sv.FileError("cannot write the ledger: locked.")

    with monkeypatch.context() as patched:
        patched.setattr(sv.Ledger, "finish", locked)
        done = released(ledger, tmp_path)
    assert any("stays pending, and counts: cannot write the ledger: locked." in note for note in done.notes)
    assert sv.verify_file(tmp_path / "out.csv").ok
    assert [said for _, said in ledger.resolve()] == ["done"]


def test_a_refusal_comes_before_any_data_is_read(ledger, tmp_path, monkeypatch):
    ledger.set_budget(0.1, **HERE, secret="mean")

    def read(*arguments):
        raise AssertionError("data was read")

    monkeypatch.setattr(releasing, "open_table", read)
    monkeypatch.setattr(releasing, "fingerprint", read)
    with pytest.raises(sv.BudgetError):
        released(ledger, tmp_path)
    # not even the input need be there
    with pytest.raises(sv.BudgetError):
        sv.release_file(
            PLAN, tmp_path / "none.csv", tmp_path / "o.csv", column="x", ledger=ledger.keeper(dataset="staff")
        )


# --- the disk ------------------------------------------------------------------------------------------------
def test_a_locked_ledger_is_said_to_be(ledger, monkeypatch):
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.05)
    before = ledger.head
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sv.FileError, match=r"cannot write the ledger .* another process has held it for 0\.05 s"):
        ledger.add(PLAN, **HERE)
    assert ledger.head == before, "others may still read"
    other.execute("COMMIT")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sv.FileError, match=r"cannot read the ledger .* another process has held it"):
        ledger.show()
    other.close()
    ledger.add(PLAN, **HERE)


def test_a_read_only_ledger_can_be_read(ledger, monkeypatch):
    """Opened as SQLite opens a file that it may not write; permissions would not stop root."""
    plain = sqlite3.connect
    monkeypatch.setattr(
        module.sqlite3, "connect", lambda name, **named: plain(name.replace("mode=rw", "mode=ro"), **named)
    )
    assert ledger.head
    assert ledger.show().columns == ()
    with pytest.raises(sv.FileError, match=r"read-only\. Nothing was entered"):
        ledger.add(PLAN, **HERE)


LIMITED = """
import resource, sys
import statveil as sv
ledger, size = sv.Ledger(sys.argv[1]), int(sys.argv[2])
plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1), bin=10)
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
for number in range(400):
    try:
        ledger.add(plan, dataset="d", column="c" * 50, sha256=f"{number:064x}")
    except sv.FileError as error:
        sys.exit(f"{number} {error}")
"""


def test_a_full_disk_loses_nothing_that_was_entered(ledger):
    """A limit on the size of files: what does not fit is an error, and all before it stands."""
    size = ledger.path.stat().st_size + 20_000
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] in (-1, resource.RLIM_INFINITY)
    ended = subprocess.run([sys.executable, "-c", LIMITED, ledger.path, str(size)], capture_output=True, text=True)
    entered, said = ended.stderr.strip().split(" ", 1)
    assert "cannot write the ledger" in said
    assert "\n" not in said
    assert int(entered) > 5
    assert ledger.verify().ok
    made = [one["output"] for one in entries(ledger) if one["kind"] == "release"]
    # one more may stand where its end found no room: it counts
    assert made[: int(entered)] == [f"{number:064x}" for number in range(int(entered))]
    assert len(made) - int(entered) == len(ledger.pending()) <= 1
    ledger.add(PLAN, **HERE)


def whole_to_verify(ledger, head):
    """Whether verify finds nothing wrong; a file that cannot even be read is wrong."""
    try:
        return ledger.verify(head).ok
    except sv.FileError:
        return False


def test_damaged_pages_are_said_and_never_repaired_silently(ledger):
    for number in range(30):
        ledger.add(PLAN, **HERE, sha256=f"{number:064x}")
    head, whole = ledger.head, ledger.path.read_bytes()
    noticed = 0
    draws = random.Random(4)
    for page in range(1, len(whole) // 4096):
        damaged = bytearray(whole)
        at = page * 4096 + draws.randrange(4096 - 64)
        damaged[at : at + 64] = draws.randbytes(64)
        ledger.path.write_bytes(damaged)
        ok = whole_to_verify(ledger, head)
        noticed += not ok
        if ok:  # in the free part of a page: everything is still there
            assert [one["number"] for one in entries(ledger)] == list(range(1, 62))
        assert ledger.path.read_bytes() == bytes(damaged)
    assert noticed > 5
    ledger.path.write_bytes(whole[: len(whole) // 2])
    assert not whole_to_verify(ledger, head)
    ledger.path.write_bytes(whole)
    assert ledger.verify(head).ok


def test_an_interrupt_right_after_the_entry_leaves_nothing_pending(ledger, tmp_path, monkeypatch):
    """The work folder goes with the run, so nobody could settle it later."""
    plain = sv.Ledger.enter

    def interrupted(*arguments, **named):
        plain(*arguments, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(sv.Ledger, "enter", interrupted)
    with pytest.raises(KeyboardInterrupt):
        released(ledger, tmp_path)
    assert not (tmp_path / "out.csv").exists()
    assert ledger.show().columns[0].states == {"pending": 0, "done": 0, "abandoned": 1}


def test_a_table_of_several_columns_is_entered_as_one(ledger, tmp_path):
    """All of its columns, or none: where one is refused, the others are abandoned."""
    from statveil.tables.bookkeeping import Written

    def columns(folder, *plans):
        table(folder / "table.csv")
        facts = {
            "sha256": publishing.hash_file(folder / "table.csv"),
            "source": None,
            "accepted": (),
            "shuffled": False,
        }
        return [
            Written(plan=plan, column=f"c{number}", table=folder / "table.csv", target=tmp_path / "o.csv", **facts)
            for number, plan in enumerate(plans)
        ]

    fine = sv.plan(PROBLEM, bin=3)
    for name, plans, states in (("one", (PLAN, fine), "done"), ("two", (fine, PLAN, fine), "abandoned")):
        ledger.set_budget(0.3, dataset=name, column="c2", secret="mean")
        keeper, folder = ledger.keeper(dataset=name), tmp_path / name
        folder.mkdir()
        written = columns(folder, *plans)
        if states == "done":
            with keeper.entered(*written):
                (folder / "table.csv").rename(tmp_path / "o.csv")
            assert keeper.head == ledger.head
            assert len(keeper.entries) == 2
        else:
            with pytest.raises(sv.BudgetError, match="'c2' of 'two'"), keeper.entered(*written):
                raise AssertionError("published")
        found = [one.states for one in ledger.show(dataset=name).columns if one.column != "c2"]
        assert found == [{"pending": 0, "done": 0, "abandoned": 0, states: 1}] * 2
    assert ledger.verify().ok
