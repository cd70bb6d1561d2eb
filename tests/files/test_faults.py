"""Every step of a release that makes, syncs, renames or removes something is interrupted once: nothing is lost.

After a kill, an interrupt or an error of the disk the final names hold the whole old pair or the whole new one, or a
state that ``verify`` names and that the next run mends. ``make test-faults`` does it for every format and fault.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.blocks import BLOCK
from statveil.tables.files import columnar
from statveil.tables.maps.affine import Affine
from statveil.work_folder import work_folder_of

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks and asks /proc")

FORMATS = ("t.parquet", "t.csv", "t.csv.gz", "t.arrow", "t.xlsx", "t")
PLAN = sv.plan(
    sv.Problem(family=sv.Location(), prior=sv.Box(mean=(20, 220)), secret=sv.Mean(), tolerance=1), max_risk=0.2
)


def written(path, seed=1, rows=200):
    rng = np.random.default_rng(seed)
    table = pl.DataFrame({"id": np.arange(rows), "x": rng.normal(103, 9, rows)})
    if not path.suffix:
        path.mkdir()
        table[: rows // 2].write_parquet(path / "a.parquet")
        table[rows // 2 :].write_parquet(path / "b.parquet")
    elif path.suffix == ".parquet":
        table.write_parquet(path)
    elif path.suffix == ".arrow":
        table.write_ipc(path)
    elif path.suffix == ".xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        for row in (table.columns, *table.rows()):
            book.active.append(row)
        book.save(path)
    else:
        text = table.write_csv().encode()
        if path.suffix == ".gz":
            import gzip

            text = gzip.compress(text)
        path.write_bytes(text)
    return path


def content(path):
    """What a path holds: bytes, or bytes by name, or None."""
    if path.is_dir():
        return {str(one.relative_to(path)): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}
    return path.read_bytes() if path.exists() else None


def table_of(path):
    """The same for a table, but the rows of a workbook: its archive holds the time."""
    if path.suffix != ".xlsx" or not path.exists():
        return content(path)
    import openpyxl

    return list(openpyxl.load_workbook(path).active.values)


@pytest.fixture(scope="module")
def shim():
    """Sends a command line to a forked process with a fault at a step; gives what came of it."""
    script = Path(__file__).with_name("fault_shim.py")
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def call(where, *arguments, at=0, fault="KILL", exchange=True):
            task = {
                "arguments": [str(one) for one in arguments],
                "at": at,
                "fault": fault,
                "where": str(where),
                "exchange": exchange,
            }
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield call
        process.stdin.close()


def pair(target):
    return table_of(target), content(target.with_name(target.name + ".card.json"))


def interrupted_everywhere(shim, folder, format, fault, *, old, exchange=True, first=1, apart=1):
    """One release for each of its steps, or for some of them, each stopped there; the number of steps."""
    plan, base = folder / "plan.json", folder / "base"
    base.mkdir()
    sv.save_plan(PLAN, plan)
    older, newer = written(base / f"1{format}"), written(base / f"2{format}", seed=2)
    target, record = base / f"out-{format}", base / "r.json"
    release = ["release", plan, newer, target, "--column", "x", "--record", record, "--seed", "5"]  # the same rows
    if old:
        sv.release_file(PLAN, older, target, column="x")
        release.append("--overwrite")
    before, inputs = pair(target), (content(older), content(newer))
    own = base / f"out-{format}.partial"
    own.write_text("the user's own")
    clean = folder / "clean"
    shutil.copytree(base, clean)
    whole = shim(base, *release, exchange=exchange)
    assert whole["code"] == 0, whole
    after, names = pair(target), sorted(path.name for path in base.iterdir())
    assert after != before
    for at in range(first, len(whole["steps"]) + 1, apart):
        shutil.rmtree(base)
        shutil.copytree(clean, base)
        what = (format, fault, old, exchange, at, whole["steps"][at - 1])
        found = shim(base, *release, at=at, fault=fault, exchange=exchange)
        assert "Traceback" not in found["err"], (what, found)
        state = pair(target)
        if fault == "KILL":
            assert found["code"] == -signal.SIGKILL, (what, found)
        elif fault in ("EIO", "ENOSPC"):
            assert found["code"] in (0, 2), (what, found)
            if "cannot write" not in found["err"]:
                assert found["code"] == 0, (what, found)
            # the code says which pair it is
            assert state[0] == (after if found["code"] == 0 else before)[0], (what, found)
        else:
            assert found["code"] == {"INT": 2, "TERM": 143}[fault], (what, found)
        if fault == "KILL" and state[0] not in (before[0], after[0]):
            assert not exchange, what  # a folder may be away for a moment where names cannot be exchanged
            assert target.is_dir() or state[0] is None, what
        settled = state == before or (state[0] == after[0] and sv.verify_file(target).ok)
        if not settled:
            assert fault == "KILL", (what, found)
            if old:
                named = shim(base, "verify", target)
                assert named["code"] in (1, 2), (what, named)
            else:
                assert state[0] is None, what  # a card waits for its table
        assert own.read_text() == "the user's own", what
        assert (content(older), content(newer)) == inputs, what
        # a plain run mends, and never replaces the old table
        plain = [part for part in release if part != "--overwrite"]
        again = shim(base, *plain, exchange=exchange)
        if old:
            assert again["code"] == 2, (what, again)
            assert "exists and is kept" in again["err"], (what, again)
            assert pair(target)[0] in (before[0], after[0]), what
            assert sv.verify_file(target).ok, what
        last = shim(base, *release, "--overwrite", exchange=exchange)
        assert last["code"] == 0, (what, last)
        assert sv.verify_file(target).ok, what
        assert sorted(path.name for path in base.iterdir()) == names, what
    return len(whole["steps"])


@pytest.mark.parametrize(("fault", "first"), [("KILL", 1), ("EIO", 2)])
@pytest.mark.heavy(1)
def test_each_step_interrupted_once(shim, tmp_path, fault, first):
    """One half of the steps by either fault; the slow tests interrupt each step by each."""
    assert interrupted_everywhere(shim, tmp_path, "t.csv", fault, old=True, first=first, apart=2) > 20


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "no exchange"])
@pytest.mark.parametrize("old", [False, True], ids=["new", "overwrite"])
@pytest.mark.parametrize("fault", ["KILL", "INT", "TERM", "EIO", "ENOSPC"])
@pytest.mark.parametrize("format", FORMATS)
def test_each_step_of_each_format_interrupted_once(shim, tmp_path, format, fault, old, exchange):
    assert interrupted_everywhere(shim, tmp_path, format, fault, old=old, exchange=exchange) > 20


# --- a power cut -----------------------------------------------------------------------------------
@pytest.mark.parametrize("format", ["t.parquet", "t"])
@pytest.mark.parametrize("old", [False, True], ids=["new", "overwrite"])
def test_what_is_published_is_on_the_disk_before_the_end(shim, tmp_path, format, old):
    """A file is synced before it gets its name, and its folder after; nothing old is removed before that."""
    source, target, record = written(tmp_path / format), tmp_path / f"out-{format}", tmp_path / "r.json"
    sv.save_plan(PLAN, tmp_path / "plan.json")
    if old:
        sv.release_file(PLAN, source, target, column="x")
    release = ["release", tmp_path / "plan.json", source, target, "--column", "x", "--record", record]
    found = shim(tmp_path, *release, "--overwrite")
    assert found["code"] == 0
    steps = [(step[0], *(os.path.relpath(path, tmp_path) for path in step[1:])) for step in found["steps"]]
    work, keep = work_folder_of(target).name, work_folder_of(record).name
    table = f"{work}/table{target.suffix}"

    def when(*wanted):
        return next(number for number, step in enumerate(steps) if step == wanted)

    def put(path, name):
        verb = "exchange" if old and path != f"{keep}/file" else "rename"
        return when("replace" if path == f"{keep}/file" else verb, path, name)

    parts = [f"{table}/a.parquet", f"{table}/b.parquet", table] if format == "t" else [table]
    for path in (*parts, work):
        assert when("synced", path) < put(f"{work}/card", f"{target.name}.card.json"), path
    for path, name in ((f"{work}/card", f"{target.name}.card.json"), (f"{keep}/file", "r.json")):
        assert when("fsync", path) < put(path, name)
    in_place = put(table, target.name)
    assert put(f"{keep}/file", "r.json") < in_place
    assert put(f"{work}/card", f"{target.name}.card.json") < in_place
    synced = next(number for number, step in enumerate(steps) if number > in_place and step == ("synced", "."))
    removed = [n for n, step in enumerate(steps) if step[0] in ("unlink", "remove", "rmdir") and "old." in step[1]]
    assert bool(removed) == old
    assert all(number > synced for number in removed)


# --- two runs at once --------------------------------------------------------------------------------
HELD = """
import os, sys, time
from pathlib import Path
from statveil.cli.main import main
from statveil.tables.maps.affine import Affine
here, there = Path(sys.argv.pop(1)), Path(sys.argv.pop(1))
block = Affine.block
def wait(self, values, index):
    here.touch()
    end = time.time() + 20
    while not there.exists() and time.time() < end:
        time.sleep(0.01)
    return block(self, values, index)
Affine.block = wait
main()
"""


def held(folder, *arguments):
    """A release that stops in the middle until it is told to go on."""
    here, there = folder / "here", folder / "there"
    process = subprocess.Popen(
        [sys.executable, "-c", HELD, *map(str, (here, there, *arguments))], stderr=subprocess.PIPE, text=True
    )
    end = time.time() + 30
    while not here.exists() and time.time() < end:
        time.sleep(0.01)
    return process, there


@pytest.mark.parametrize("common", ["output", "record"])
@pytest.mark.heavy(1)
def test_a_second_run_is_told_and_the_first_is_not_disturbed(cli, tmp_path, common):
    source, record = written(tmp_path / "t.csv"), tmp_path / "r.json"
    sv.save_plan(PLAN, tmp_path / "plan.json")
    base = ["release", tmp_path / "plan.json", source]
    first = [*base, tmp_path / "out.csv", "--column", "x"]
    other = [*base, tmp_path / ("out.csv" if common == "output" else "two.csv"), "--column", "x"]
    if common == "record":
        first, other = [*first, "--record", record], [*other, "--record", record]
    process, there = held(tmp_path, *first)
    code, _, err = cli(*other)
    there.touch()
    assert process.wait(30) == 0, process.stderr.read()
    process.stderr.close()
    assert code == 2
    assert "another process is writing" in err
    assert sv.verify_file(tmp_path / "out.csv").ok
    # the lock ended with its run
    assert cli(*first, "--overwrite")[0] == 0
    assert not list(tmp_path.glob(".*"))


def test_a_lock_does_not_outlive_a_kill(cli, tmp_path):
    source = written(tmp_path / "t.csv")
    sv.save_plan(PLAN, tmp_path / "plan.json")
    release = ["release", tmp_path / "plan.json", source, tmp_path / "out.csv", "--column", "x", "--record"]
    process, _ = held(tmp_path, *release, tmp_path / "r.json")
    process.kill()
    process.wait()
    process.stderr.close()
    assert work_folder_of(tmp_path / "out.csv").is_dir()
    assert cli(*release, tmp_path / "r.json")[0] == 0
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("trial", range(20))
def test_two_runs_to_one_target_race(tmp_path, trial):
    """Of two tables under one plan, or under two."""
    format = FORMATS[trial % len(FORMATS)]
    plans = [PLAN, sv.plan(PLAN.problem, max_risk=0.4) if trial % 3 else PLAN]
    sources = [written(tmp_path / f"{seed}{format}", seed=seed) for seed in (1, 2)]
    target, alone, runs = tmp_path / f"out-{format}", [], []
    for number, (plan, source) in enumerate(zip(plans, sources, strict=True)):
        sv.save_plan(plan, tmp_path / f"plan{number}.json")
        sv.release_file(plan, source, tmp_path / f"alone{number}-{format}", column="x")
        alone.append(json.loads((tmp_path / f"alone{number}-{format}.card.json").read_text())["sha256"])
    for number, source in enumerate(sources):
        command = [sys.executable, "-c", "from statveil.cli.main import main; main()", "release"]
        command += [tmp_path / f"plan{number}.json", source, target, "--column", "x", "--overwrite"]
        if trial % 2 and not number:
            command += ["--record", tmp_path / "r.json"]
        runs.append(
            subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        )
        time.sleep(0.02 * (trial % 5))
    said = [run.communicate(timeout=60)[1] for run in runs]
    codes = [run.returncode for run in runs]
    assert 0 in codes, said
    for code, text in zip(codes, said, strict=True):
        assert code == 0 or (code == 2 and "another process is writing" in text), text
    assert sv.verify_file(target).ok
    if format != "t.xlsx":  # whose archive holds the time
        found = json.loads(target.with_name(target.name + ".card.json").read_text())["sha256"]
        assert found in [one for one, code in zip(alone, codes, strict=True) if code == 0]
    assert not list(tmp_path.glob(".*"))


# --- the input changes ---------------------------------------------------------------------------------
def changed(kind, path):
    """Do to a table what others may do while it is read."""
    part = path / "b.parquet" if path.is_dir() else path
    match kind:
        case "replaced":
            fresh = written(part.with_name("fresh" + part.suffix), seed=7, rows=100 if path.is_dir() else 200)
            fresh.replace(part)
        case "removed":
            part.unlink()
        case "cut":
            os.truncate(part, part.stat().st_size // 2)
        case "touched in place":
            with part.open("r+b") as file:
                file.seek(part.stat().st_size // 2)
                file.write(b"9")
        case "a file more":
            (path / "c.parquet").write_bytes(part.read_bytes())


@pytest.mark.parametrize("when", ["measured", "writing"])
@pytest.mark.parametrize(
    ("format", "kind"),
    [
        *((format, kind) for format in FORMATS for kind in ("replaced", "removed", "cut")),
        ("t.csv", "touched in place"),
        ("t", "a file more"),
    ],
)
def test_an_input_that_changes_is_never_published(cli, tmp_path, monkeypatch, format, kind, when):
    source, target = written(tmp_path / format), tmp_path / f"out-{format}"
    sv.save_plan(PLAN, tmp_path / "plan.json")
    import statveil.tables.task as module

    block, make_record = Affine.block, module.make_record

    def change_while_writing(self, values, index):
        changed(kind, source)
        return block(self, values, index)

    def change_after_measuring(*arguments, **named):
        changed(kind, source)
        return make_record(*arguments, **named)

    if when == "writing":
        monkeypatch.setattr(Affine, "block", change_while_writing)
    else:
        monkeypatch.setattr(module, "make_record", change_after_measuring)
    code, out, err = cli("release", tmp_path / "plan.json", source, target, "--column", "x")
    assert (code, out) == (2, "")
    assert "while it was read, so nothing was published" in err
    assert err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"plan.json", source.name}


def test_a_statistic_that_the_plan_does_not_release_is_not_published(cli, tmp_path, monkeypatch):
    """Even where size, times and identity of the input tell nothing."""
    source, target = written(tmp_path / "t.parquet"), tmp_path / "out.parquet"
    sv.save_plan(PLAN, tmp_path / "plan.json")
    block = Affine.block
    monkeypatch.setattr(Affine, "block", lambda self, values, index: block(self, values, index) + 0.37)
    code, _, err = cli("release", tmp_path / "plan.json", source, target, "--column", "x")
    assert code == 2
    assert "does not pass its own check, so nothing was published" in err
    assert not target.exists()


CUT = """
import os, sys
from statveil.cli.main import main
from statveil.tables.maps.affine import Affine
block = Affine.block
def cut(self, values, index):
    if index == 0:
        os.truncate(sys.argv[3], 100_000)
    return block(self, values, index)
Affine.block = cut
main()
"""


@pytest.mark.parametrize("format", ["t.arrow", "t.parquet"])
@pytest.mark.heavy(1)
def test_a_long_input_that_is_cut_while_it_is_written_is_a_sentence(tmp_path, format):
    """A mapped file would end the process by SIGBUS."""
    source, target = written(tmp_path / format, rows=1_500_000), tmp_path / f"out-{format}"
    sv.save_plan(PLAN, tmp_path / "plan.json")
    ended = subprocess.run(
        [sys.executable, "-c", CUT, "release", tmp_path / "plan.json", source, target, "--column", "x"],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2, ended
    assert "changed while it was read" in ended.stderr
    assert not target.exists()


# --- rows --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("format", ["t.parquet", "t.arrow", "t"])
@pytest.mark.parametrize("from_pass", [0, 1, 2])  # one file: while it is measured, while it is written, read back
def test_rows_that_the_engine_drops_are_noticed(cli, tmp_path, monkeypatch, format, from_pass):
    """The engine's batches just end where one of its threads fails on damaged data."""
    source, target = written(tmp_path / format, rows=150_000), tmp_path / f"out-{format}"
    sv.save_plan(PLAN, tmp_path / "plan.json")
    scan, passes = pl.LazyFrame.collect_batches, []

    def short(self, **named):
        passes.append(None)
        batches = iter(scan(self, **named))
        yield next(batches)
        yield from () if len(passes) > from_pass else batches

    monkeypatch.setattr(pl.LazyFrame, "collect_batches", short)
    monkeypatch.setattr(columnar, "_READ", BLOCK)  # more than one batch of each file
    code, _, err = cli("release", tmp_path / "plan.json", source, target, "--column", "x")
    assert len(passes) > from_pass
    assert code == 2
    assert "rows could be read" in err
    assert not target.exists()


@pytest.mark.parametrize("format", ["t.csv", "t.xlsx"])
def test_rows_that_are_lost_on_the_way_to_the_disk_are_noticed(cli, tmp_path, monkeypatch, format):
    from statveil.tables.files.csv_file import CsvFile
    from statveil.tables.files.excel_file import ExcelFile

    source, target = written(tmp_path / format), tmp_path / f"out-{format}"
    sv.save_plan(PLAN, tmp_path / "plan.json")
    kind = CsvFile if format == "t.csv" else ExcelFile
    write = kind.write

    def lossy(self, path, *arguments, **named):
        short = written(tmp_path / f"short-{format}", rows=150)
        write(kind(short), path, *arguments, **named)
        short.unlink()

    monkeypatch.setattr(kind, "write", lossy)
    code, _, err = cli("release", tmp_path / "plan.json", source, target, "--column", "x")
    assert code == 2
    assert "nothing was published" in err
    assert not target.exists()


# --- what may be overwritten, and what is nobody's business ---------------------------------------------------
@pytest.mark.parametrize("format", ["t.parquet", "t"])
def test_only_a_release_is_overwritten(cli, tmp_path, format):
    source, target = written(tmp_path / format), written(tmp_path / f"mine-{format}", seed=3)
    sv.save_plan(PLAN, tmp_path / "plan.json")
    before = content(target)
    release = ["release", tmp_path / "plan.json", source, target, "--column", "x", "--overwrite"]
    code, _, err = cli(*release)
    assert code == 2
    assert "is no release" in err
    assert content(target) == before


def test_a_released_folder_with_a_file_of_the_user_is_kept(cli, tmp_path):
    source, target = written(tmp_path / "t"), tmp_path / "out"
    sv.save_plan(PLAN, tmp_path / "plan.json")
    release = ["release", tmp_path / "plan.json", source, target, "--column", "x", "--overwrite"]
    assert cli(*release)[0] == 0
    (target / "notes.txt").write_text("mine")
    code, _, err = cli(*release)
    assert code == 2
    assert "would delete" in err
    assert (target / "notes.txt").read_text() == "mine"


def test_something_of_the_users_under_our_temporary_name_is_kept(cli, tmp_path):
    source, target = written(tmp_path / "t.csv"), tmp_path / "out.csv"
    sv.save_plan(PLAN, tmp_path / "plan.json")
    mine = work_folder_of(target)
    mine.mkdir()
    (mine / "thesis.txt").write_text("mine")
    code, _, err = cli("release", tmp_path / "plan.json", source, target, "--column", "x")
    assert code == 2
    assert "holds something else" in err
    assert (mine / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["out.csv.partial", "r.json.partial"])
def test_files_called_partial_are_the_users(cli, tmp_path, name):
    source = written(tmp_path / "t.csv")
    sv.save_plan(PLAN, tmp_path / "plan.json")
    (tmp_path / name).write_text("mine")
    release = ["release", tmp_path / "plan.json", source, tmp_path / "out.csv", "--column", "x"]
    assert cli(*release, "--record", tmp_path / "r.json")[0] == 0
    assert (tmp_path / name).read_text() == "mine"


# --- what is left over -----------------------------------------------------------------------------------------
def released_over_an_old_one(tmp_path, monkeypatch, *, journal_stays):
    """A new pair in the place of an old one, and both pairs; the journal's removal may fail, as on a bad disk."""
    first, second = written(tmp_path / "1t.csv"), written(tmp_path / "2t.csv", seed=2)
    target = tmp_path / "out.csv"
    sv.release_file(PLAN, first, target, column="x")
    old = pair(target)
    unlink = Path.unlink

    def failing(self, **named):
        if self.name == "journal":
            raise OSError(5, "Input/output error")
        unlink(self, **named)

    with monkeypatch.context() as patch:
        if journal_stays:
            patch.setattr(Path, "unlink", failing)
        sv.release_file(PLAN, second, target, column="x", overwrite=True, seed=5)
    assert pair(target) != old
    assert (work_folder_of(target) / "journal").exists() == journal_stays
    return second, target, old, pair(target)


@pytest.mark.parametrize("gone", ["nothing", "card", "table", "both"])
def test_a_journal_that_stays_takes_no_release_back(tmp_path, monkeypatch, gone):
    """Whatever the owner does with the new pair later, the old one does not come back."""
    source, target, old, new = released_over_an_old_one(tmp_path, monkeypatch, journal_stays=True)
    card = target.with_name("out.csv.card.json")
    for place in {"nothing": [], "card": [card], "table": [target], "both": [target, card]}[gone]:
        place.unlink()
    before = pair(target)
    if before[0] is not None:
        with pytest.raises(sv.StatveilError, match="exists and is kept"):
            sv.release_file(PLAN, source, target, column="x")
        assert pair(target) == before
        assert before[0] == new[0]
    else:
        sv.release_file(PLAN, source, target, column="x", seed=5)
        assert pair(target)[0] == new[0]
        assert sv.verify_file(target).ok
    assert old[0] not in [content(path) for path in tmp_path.iterdir()]
    assert not list(tmp_path.glob(".*"))


def test_a_table_of_the_owners_in_the_place_of_the_new_one_is_kept(tmp_path, monkeypatch):
    source, target, _, _ = released_over_an_old_one(tmp_path, monkeypatch, journal_stays=True)
    target.write_text("mine")
    with pytest.raises(sv.StatveilError, match="exists and is kept"):
        sv.release_file(PLAN, source, target, column="x")
    assert target.read_text() == "mine"


def test_what_a_kill_left_beside_the_record_goes_even_if_the_next_run_is_refused(cli, tmp_path):
    source, target, record = written(tmp_path / "t.csv"), tmp_path / "out.csv", tmp_path / "rec.json"
    sv.save_plan(PLAN, tmp_path / "plan.json")
    release = ["release", tmp_path / "plan.json", source, target, "--column", "x", "--record", record]
    assert cli(*release)[0] == 0
    for left in ([], ["made-by-statveil"], ["made-by-statveil", "file"]):
        work = work_folder_of(record)
        work.mkdir()
        for name in left:
            (work / name).write_text("a seed")
        code, _, err = cli(*release)
        assert code == 2
        assert "exists and is kept" in err
        assert not work.exists(), left


@pytest.mark.parametrize("call", ["mkdir", "open", "rename", "sync"])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "ctrl-c"])
def test_a_run_that_fails_before_anything_is_in_place_leaves_nothing(tmp_path, monkeypatch, call, fault):
    """A full disk or Ctrl-C while the work folder is made, and once the journal has its name."""
    from statveil import disk

    source, target = written(tmp_path / "t.csv"), tmp_path / "out.csv"
    names = sorted(path.name for path in tmp_path.iterdir())
    mkdir, opened, rename, sync = Path.mkdir, os.open, Path.rename, disk.sync
    hit = []

    def stop(name):
        hit.append(name)
        raise fault

    def made(self, *given, **named):
        mkdir(self, *given, **named)
        if call == "mkdir" and isinstance(fault, KeyboardInterrupt):  # a signal is noticed after the call
            stop(call)

    def open_(path, flags, *rest, **named):
        if call == "open" and flags & os.O_CREAT and Path(os.fsdecode(path)).name == "made-by-statveil":
            stop(call)
        return opened(path, flags, *rest, **named)

    def renamed(self, to):
        done = rename(self, to)
        if call == "rename" and Path(to).name == "journal":
            stop(call)
        return done

    def synced(path):
        if call == "sync" and path == work_folder_of(target):
            stop(call)
        sync(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", made)
        patch.setattr(os, "open", open_)
        patch.setattr(Path, "rename", renamed)
        patch.setattr(disk, "sync", synced)
        if call == "mkdir" and isinstance(fault, OSError):
            patch.setattr(Path, "mkdir", lambda self, *given, **named: stop(call))
        with pytest.raises((sv.StatveilError, KeyboardInterrupt)):
            sv.release_file(PLAN, source, target, column="x")
    assert hit == [call]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    sv.release_file(PLAN, source, target, column="x")
    assert sv.verify_file(target).ok


def test_ctrl_c_while_the_old_pair_is_removed_leaves_no_folder(tmp_path, monkeypatch):
    source, target, _, _ = released_over_an_old_one(tmp_path, monkeypatch, journal_stays=False)
    unlink, hit = Path.unlink, []

    def stopped(self, **named):
        unlink(self, **named)
        if self.name.startswith("old.") and not hit:
            hit.append(self)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", stopped)
        with pytest.raises(KeyboardInterrupt):
            sv.release_file(PLAN, source, target, column="x", overwrite=True)
    assert hit
    assert not list(tmp_path.glob(".*"))
    assert sv.verify_file(target).ok


@pytest.mark.parametrize("key", ["seed", "column_mean", "shuffled"])
def test_a_record_that_was_changed_lends_no_seed(tmp_path, key):
    """Two releases with two seeds can be averaged; nothing public tells that a seed is another one."""
    source, record = written(tmp_path / "t.csv"), tmp_path / "r.json"
    sv.release_file(PLAN, source, tmp_path / "1.csv", column="x", record=record, shuffle=True)
    kept = json.loads(record.read_text())
    changed = {**kept, key: "0" * 31 + "1" if key == "seed" else not kept.get(key)}
    record.write_text(json.dumps(changed))
    with pytest.raises(sv.StatveilError, match=r"changed after it was made|another order"):
        sv.release_file(PLAN, source, tmp_path / "2.csv", column="x", record=record, shuffle=True)
    assert not (tmp_path / "2.csv").exists()
    # as it was, in another layout too, and as earlier versions wrote it
    earlier = {name: value for name, value in kept.items() if name != "record_sha256"}
    for number, content_ in enumerate((dict(reversed(kept.items())), earlier)):
        record.write_text(json.dumps(content_))
        sv.release_file(PLAN, source, tmp_path / f"again{number}.csv", column="x", record=record, shuffle=True)
        assert content(tmp_path / f"again{number}.csv") == content(tmp_path / "1.csv")
