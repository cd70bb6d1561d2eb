"""Releases of files on the command line: what is written, what is refused, what is left behind, what is told."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import openpyxl
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil import disk
from statveil.modes import MODES
from statveil.tables.blocks import BLOCK
from statveil.tables.maps.affine import Affine
from statveil.work_folder import work_folder_of
from tests.plans import BY_MODE, LABELS, WIDE, column_for, counted, located, planned

SEED = 4_242_424_242
ROWS = 300
FORMATS = ("t.parquet", "t.csv", "t.csv.gz", "t.tsv", "t.arrow", "t.xlsx", "t")


# --- plans: one of every mode, and more --------------------------------------------------------
FAR = sv.Box(mu=(50, 200), sigma=(1, 15))
BOUND = sv.Structure(minimum=0, step=1)
PLANS = {
    **BY_MODE,
    "spread": planned(family=sv.Gaussian(), prior=WIDE, secret=sv.Std(), tolerance=0.5, method="interval"),
    "cents": located(0, 200, step=0.01),
    "urn": counted(sv.Geometric(), 0.05, 0.5, max_risk=0.3),
    "redrawn": planned(family=sv.Gaussian(), prior=FAR, secret=sv.Mean(), tolerance=1, known=BOUND, method="interval"),
}
CONTINUOUS = ("shift", "affine", "spread", "scale")
RANDOM = tuple(name for name, plan in PLANS.items() if MODES[plan.mode].random)


def column(name, rng, rows=ROWS):
    """A column that the plan of this name fits."""
    match name:
        case "redrawn":
            return column_for("lattice", rng, rows)
        case "cents":
            return np.rint(rng.normal(10_300, 900, rows)) / 100
        case "urn":
            return rng.geometric(0.2, rows) - 1
        case _:
            return column_for(name, rng, rows)


def frame(name="shift", seed=1, rows=ROWS):
    """A table with one column that the plan of this name fits and two that are nobody's business."""
    rng = np.random.default_rng(seed)
    x = column(name, rng, rows)
    return pl.DataFrame({"id": np.arange(rows), "x": x, "note": [f"row {i}, ok" for i in range(rows)]})


def written(table, path):
    """The table as a file of the format that the name says, or a folder of two Parquet files."""
    suffixes = "".join(path.suffixes[-2:])
    if not path.suffix:
        path.mkdir()
        cut = len(table) // 3
        table[:cut].write_parquet(path / "a.parquet")
        table[cut:].write_parquet(path / "b.parquet")
    elif suffixes.endswith(".gz"):
        path.write_bytes(gzip.compress(table.write_csv().encode()))
    elif path.suffix in (".csv", ".tsv"):
        table.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".arrow":
        table.write_ipc(path)
    elif path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.active.append(table.columns)
        for row in table.iter_rows():
            book.active.append(row)
        book.save(path)
    else:
        table.write_parquet(path)
    return path


def read(path):
    """The column of a released file."""
    if path.is_dir():
        return pl.concat([pl.read_parquet(part) for part in sorted(path.glob("*.parquet"))])["x"].to_list()
    if path.suffix == ".xlsx":
        rows = list(openpyxl.load_workbook(path).active.iter_rows(values_only=True))
        return [row[rows[0].index("x")] for row in rows[1:]]
    if path.suffix == ".arrow":
        return pl.read_ipc(path)["x"].to_list()
    if path.suffix == ".parquet":
        return pl.read_parquet(path)["x"].to_list()
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = list(csv.reader(raw.decode().splitlines(), delimiter="\t" if path.suffix == ".tsv" else ","))
    values = [row[rows[0].index("x")] for row in rows[1:]]
    return values if values and values[0] in LABELS else [float(value) for value in values]


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    """The plans as files: a function from a name to a path."""
    folder = tmp_path_factory.mktemp("plans")
    for name, made in PLANS.items():
        sv.save_plan(made, folder / f"{name}.json")
    return lambda name: folder / f"{name}.json"


def snapshot(folder):
    """Everything below a folder: names, kinds, contents."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def sentence(code, out, err):
    """What a refusal says: one line on stderr, exit code 2."""
    assert code == 2, (code, out, err)
    assert out == ""
    err = err.removeprefix("\n") if "stopped" in err else err  # a new line after the terminal's own ^C
    assert err.startswith("statveil: ")
    assert err.count("\n") == 1
    assert err.endswith(".\n")
    assert "Traceback" not in err
    return err


def refused(cli, folder, *arguments):
    """The sentence of a command that fails and leaves everything in the folder as it was."""
    before = snapshot(folder)
    text = sentence(*cli(*arguments))
    after = snapshot(folder)
    assert sorted(after) == sorted(before)
    assert after == before
    return text


def done(code, out, err):
    """What a command that succeeds prints."""
    assert (code, err) == (0, ""), (out, err)
    return out


def card_of(path):
    return json.loads(path.with_name(path.name + ".card.json").read_text())


def python(script, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


# --- every mode, every format -------------------------------------------------------------------
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.heavy(2)
def test_a_fresh_release_agrees_with_its_card_and_with_the_release_of_an_array(cli, tmp_path, plans, format):
    # every plan as CSV and as Parquet, each of the other formats with every third plan
    number = FORMATS.index(format)
    names = list(PLANS) if format in ("t.parquet", "t.csv") else list(PLANS)[number % 3 :: 3]
    for name in names:
        plan, folder = PLANS[name], tmp_path / name
        folder.mkdir()
        table = frame(name)
        source, target = written(table, folder / format), folder / f"out-{format}"
        before = snapshot(folder)
        done(*cli("release", plans(name), source, target, "--column", "x", "--seed", SEED))
        assert {path.name for path in folder.iterdir()} == {source.name, target.name, target.name + ".card.json"}
        assert before.items() <= snapshot(folder).items()
        found = json.loads(done(*cli("verify", target, "--json")))
        assert found["ok"] is True
        assert all(check["ok"] for check in found["checks"])
        assert {"hash", "structure"} <= {check["check"] for check in found["checks"]}
        assert read(target) == sv.release(plan, np.array(read(source)), seed=SEED).tolist(), name


def test_the_summary_says_what_was_done_and_where_it_is(cli, tmp_path, plans):
    source, target = written(frame(), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    text = done(*cli("release", plans("shift"), source, target, "--column", "x", "--record", tmp_path / "r.json"))
    assert str(target) + ".card.json" in text
    assert str(tmp_path / "r.json") in text
    assert "shift" in text
    said = done(*cli("verify", target))
    assert said.count("ok ") == 4
    assert "NOT" not in said


# --- paths: nothing is written over the input or over what is there ------------------------------
def collide(plans, folder, kind):
    """Arguments of a release whose paths collide, with the input and all else in place."""
    source = written(frame(), folder / "t.parquet")
    target, extra = folder / "out.parquet", []
    match kind:
        case "same path":
            target = source
        case "relative":
            target = Path(os.path.relpath(source))
        case "roundabout":
            (folder / "sub").mkdir()
            target = folder / "sub" / ".." / "t.parquet"
        case "symlink":
            target.symlink_to(source)
        case "input is a symlink":
            source = folder / "link.parquet"
            source.symlink_to(folder / "t.parquet")
            target = folder / "t.parquet"
        case "hard link":
            os.link(source, target)
        case "inside the input folder":
            source = written(frame(), folder / "in")
            target = source / "out"
        case "the folder that holds the input":
            (folder / "in").mkdir()
            source = written(frame(), folder / "in" / "t")
            target = folder / "in"
        case "the card is the input":
            source = folder / "out.parquet.card.json"
            source.mkdir()
            frame().write_parquet(source / "a.parquet")
            target = folder / "out.parquet"
        case "the record is the input":
            extra = ["--record", source]
        case "the record is a link to the input":
            (folder / "r.json").symlink_to(source)
            extra = ["--record", folder / "r.json"]
        case "the record is the output":
            extra = ["--record", target]
        case "the record is the card":
            extra = ["--record", folder / "out.parquet.card.json"]
        case "the record is the temporary name":
            extra = ["--record", work_folder_of(target)]
        case "the record is inside the input folder":
            source = written(frame(), folder / "in")
            target, extra = folder / "out", ["--record", source / "r.json"]
        case "the record is inside the output folder":
            source = written(frame(), folder / "in")
            target, extra = written(frame(), folder / "out"), ["--record", folder / "out" / "r.json"]
        case "the record is the plan":
            shutil.copy(plans("shift"), folder / "plan.json")
            return ["release", folder / "plan.json", source, target, "--column", "x", "--record", folder / "plan.json"]
        case "the card is the plan":
            plan = shutil.copy(plans("shift"), folder / "out.parquet.card.json")
            return ["release", plan, source, target, "--column", "x", "--overwrite"]
        case "the input folder is the temporary name":
            source = written(frame(), folder / "in")
            source = source.rename(work_folder_of(folder / "out"))
            target = folder / "out"
        case "the input is inside the temporary name":
            inner = work_folder_of(target)
            inner.mkdir()
            source = written(frame(), inner / "t.parquet")
    return ["release", plans("shift"), source, target, "--column", "x", "--overwrite", *extra]


@pytest.mark.parametrize(
    "kind",
    [
        "same path",
        "relative",
        "roundabout",
        "symlink",
        "input is a symlink",
        "hard link",
        "inside the input folder",
        "the folder that holds the input",
        "the card is the input",
        "the record is the input",
        "the record is a link to the input",
        "the record is the output",
        "the record is the card",
        "the record is the temporary name",
        "the record is inside the input folder",
        "the record is inside the output folder",
        "the record is the plan",
        "the card is the plan",
        "the input folder is the temporary name",
        "the input is inside the temporary name",
    ],
)
def test_paths_that_collide_are_refused(cli, tmp_path, plans, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    refused(cli, tmp_path, *collide(plans, tmp_path, kind))


@pytest.mark.parametrize("format", ["t.parquet", "t"])
def test_an_existing_output_is_kept_unless_told_otherwise(cli, tmp_path, plans, format):
    source, other = written(frame(), tmp_path / format), written(frame(seed=2), tmp_path / f"other-{format}")
    target = tmp_path / f"out-{format}"
    done(*cli("release", plans("shift"), source, target, "--column", "x"))
    assert "--overwrite" in refused(cli, tmp_path, "release", plans("shift"), other, target, "--column", "x")
    done(*cli("release", plans("shift"), other, target, "--column", "x", "--overwrite", "--seed", "5"))
    assert read(target) == sv.release(PLANS["shift"], frame(seed=2)["x"].to_numpy(), seed=5).tolist()
    done(*cli("verify", target))
    assert not list(tmp_path.glob(".*"))


def test_a_dangling_link_is_something_that_is_there(cli, tmp_path, plans):
    source, target = written(frame(), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    target.symlink_to(tmp_path / "nowhere.parquet")
    assert "is a link" in refused(cli, tmp_path, "release", plans("shift"), source, target, "--column", "x")


def test_a_folder_is_never_replaced_by_a_file_nor_a_file_by_a_folder(cli, tmp_path, plans):
    file, folder = written(frame(), tmp_path / "t.parquet"), written(frame(), tmp_path / "in")
    (tmp_path / "held.parquet").mkdir()
    (tmp_path / "held").write_text("mine")
    rest = ["--column", "x", "--overwrite"]
    assert "a folder" in refused(cli, tmp_path, "release", plans("shift"), file, tmp_path / "held.parquet", *rest)
    assert "a file" in refused(cli, tmp_path, "release", plans("shift"), folder, tmp_path / "held", *rest)


# --- what fails leaves everything as it was -------------------------------------------------------
FAILING = {
    "missing plan": lambda d: {"plan": d / "none.json"},
    "plan is a folder": lambda d: {"plan": d},
    "plan is a table": lambda d: {"plan": d / "t.parquet"},
    "plan is cut off": lambda d: {"plan": _text(d / "cut.json", (d / "plan.json").read_text()[:200])},
    "plan lacks a part": lambda d: {"plan": _text(d / "less.json", '{"format": "statveil-plan", "version": 1}')},
    "plan of a later version": lambda d: {"plan": _text(d / "late.json", '{"format": "statveil-plan", "version": 9}')},
    "missing input": lambda d: {"source": d / "none.parquet"},
    "input is no table": lambda d: {"source": _text(d / "table.txt", "x\n1\n")},
    "input is empty": lambda d: {"source": _text(d / "empty.parquet", "")},
    "a CSV called Parquet": lambda d: {"source": _text(d / "csv.parquet", "x\n1.5\n2.5\n")},
    "a Parquet called CSV": lambda d: {"source": shutil.copy(d / "t.parquet", d / "p.csv"), "target": d / "out.csv"},
    "a Parquet called gzip": lambda d: {
        "source": shutil.copy(d / "t.parquet", d / "p.csv.gz"),
        "target": d / "out.csv.gz",
    },
    "a Parquet called Arrow": lambda d: {
        "source": shutil.copy(d / "t.parquet", d / "p.arrow"),
        "target": d / "out.arrow",
    },
    "a Parquet called Excel": lambda d: {
        "source": shutil.copy(d / "t.parquet", d / "p.xlsx"),
        "target": d / "out.xlsx",
    },
    "missing column": lambda d: {"column": "y"},
    "empty column name": lambda d: {"column": ""},
    "text column": lambda d: {"column": "note"},
    "text column under a name with a line end": lambda d: {"column": "no\nte"},
    "another suffix": lambda d: {"target": d / "out.csv"},
    "no suffix": lambda d: {"target": d / "out"},
    "no name": lambda d: {"target": d / ".."},
    "missing folder": lambda d: {"target": d / "none" / "out.parquet"},
    "a file as the folder": lambda d: {"target": d / "t.parquet" / "out.parquet"},
    "a folder that cannot be written to": lambda d: {"target": Path("/proc/out.parquet")},
    "a name too long": lambda d: {"target": d / ("o" * 300 + ".parquet")},
    "a name too long for the card": lambda d: {"target": d / ("o" * 238 + ".parquet")},
    "a path too long": lambda d: {"target": d / Path(*["long" * 50] * 30) / "out.parquet"},
    "unknown leak": lambda d: {"more": ["--accept", "all"]},
    "seed of too many bits": lambda d: {"more": ["--seed", 2**128]},
    "seed below zero": lambda d: {"more": ["--seed", -1]},
    "seed in words": lambda d: {"more": ["--seed", "one"]},
    "record in a missing folder": lambda d: {"more": ["--record", d / "none" / "r.json"]},
    "record is a folder": lambda d: {"more": ["--record", d]},
    "record without a name": lambda d: {"more": ["--record", ""]},
    "record is another file": lambda d: {"more": ["--record", _text(d / "r.json", "notes")]},
    "record is other JSON": lambda d: {"more": ["--record", _text(d / "r.json", "[1]")]},
    "record is not text": lambda d: {"more": ["--record", d / "t.parquet"]},
    "card is a folder": lambda d: {"target": d / "taken.parquet"},
    "categories on numbers": lambda d: {"plan": d / "category.json"},
    "numbers on categories": lambda d: {"column": "colour"},
    "counts on fractions": lambda d: {"plan": d / "unit.json"},
    "a step on fractions": lambda d: {"plan": d / "lattice.json"},
    "outside the prior": lambda d: {"column": "far"},
    "undeclared step": lambda d: {"column": "id"},
    "no number at all": lambda d: {"column": "nothing"},
    "dates": lambda d: {"column": "day"},
}


def _text(path, content):
    path.write_text(content)
    return path


@pytest.mark.parametrize("old", [False, True], ids=["new", "overwrite"])
@pytest.mark.parametrize("kind", FAILING)
def test_a_run_that_fails_leaves_everything_as_it_was(cli, tmp_path, plans, kind, old):
    for name in ("category", "unit", "lattice"):
        shutil.copy(plans(name), tmp_path / f"{name}.json")
    shutil.copy(plans("shift"), tmp_path / "plan.json")
    rng = np.random.default_rng(3)
    table = frame().with_columns(
        colour=pl.Series(rng.choice(LABELS, ROWS)),
        far=pl.Series(rng.normal(7_000, 3, ROWS)),
        nothing=pl.lit(None, pl.Float64),
        day=pl.lit(dt.date(2024, 2, 29)),
    )
    written(table.with_columns(pl.col("note").alias("no\nte")), tmp_path / "t.parquet")
    target = tmp_path / "out.parquet"
    (tmp_path / "taken.parquet.card.json").mkdir()
    asked = {"plan": tmp_path / "plan.json", "source": tmp_path / "t.parquet", "target": target, "column": "x"}
    asked |= FAILING[kind](tmp_path)
    more = asked.pop("more", [])
    if old:
        done(*cli("release", plans("shift"), tmp_path / "t.parquet", target, "--column", "x"))
        more = [*more, "--overwrite"]
    refused(
        cli,
        tmp_path,
        *("release", asked["plan"], asked["source"], asked["target"], "--column", asked["column"]),
        *(*more, "--json"),
    )
    if old:
        done(*cli("verify", target))


@pytest.mark.parametrize("old", [False, True], ids=["new", "overwrite"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, sv.ColumnError("no.")])
@pytest.mark.parametrize("format", ["t.parquet", "t.csv", "t.csv.gz", "t.arrow", "t.xlsx", "t"])
def test_an_interruption_while_writing_leaves_nothing_behind(cli, tmp_path, plans, monkeypatch, format, error, old):
    source, target = written(frame(), tmp_path / format), tmp_path / f"out-{format}"
    if old:
        done(*cli("release", plans("shift"), source, target, "--column", "x"))

    def fail(self, values, index):
        raise error

    monkeypatch.setattr(Affine, "block", fail)
    more = ["--overwrite"] if old else []
    refused(cli, tmp_path, "release", plans("shift"), source, target, "--column", "x", *more)


@pytest.mark.parametrize("old", [False, True], ids=["new", "overwrite"])
def test_an_output_that_cannot_be_renamed_leaves_the_old_one_and_its_card(cli, tmp_path, plans, monkeypatch, old):
    source, target = written(frame(), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    if old:
        done(*cli("release", plans("shift"), source, target, "--column", "x"))
    other = written(frame(seed=2), tmp_path / "u.parquet")
    rename = disk._renameat2

    def fail(path, to, flags):
        if to == target and path.name.startswith("table"):
            raise PermissionError(1, "Operation not permitted")
        return rename(path, to, flags)

    monkeypatch.setattr(disk, "_renameat2", fail)
    text = refused(cli, tmp_path, "release", plans("shift"), other, target, "--column", "x", "--overwrite")
    assert "Operation not permitted" in text


def test_a_link_to_a_folder_as_the_output_is_replaced_or_left_with_its_card(cli, tmp_path, plans):
    source, target = written(frame(), tmp_path / "in"), tmp_path / "out"
    done(*cli("release", plans("shift"), source, tmp_path / "real", "--column", "x"))
    target.symlink_to(tmp_path / "real")
    shutil.copy(tmp_path / "real.card.json", tmp_path / "out.card.json")
    other = written(frame(seed=2), tmp_path / "other")
    code, *_ = cli("release", plans("shift"), other, target, "--column", "x", "--overwrite")
    assert code in (0, 2)
    done(*cli("verify", target))
    assert not list(tmp_path.glob(".*"))


def test_an_interruption_while_the_old_folder_is_removed_loses_neither(cli, tmp_path, plans, monkeypatch):
    source, target = written(frame(), tmp_path / "in"), tmp_path / "out"
    done(*cli("release", plans("shift"), source, target, "--column", "x"))
    other = written(frame(seed=2), tmp_path / "other")
    rmtree = shutil.rmtree

    def stop(path, *rest, **named):
        if Path(path).suffix == ".partial":
            return rmtree(path, *rest, **named)
        (Path(path) / "a.parquet").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", stop)
    cli("release", plans("shift"), other, target, "--column", "x", "--overwrite")
    monkeypatch.undo()
    assert sv.verify_file(target).ok, "the old table with its card, or the new one with its own"


STOPPED = """
    import atexit, os, signal, sys, time
    from statveil.cli.main import main
    from statveil.tables.maps.affine import Affine
    number = getattr(signal, sys.argv.pop(1))
    atexit.register(os.abort)  # as where the interpreter ends under the threads of an earlier Polars
    if number == signal.SIGHUP:
        signal.signal(number, signal.SIG_DFL)  # tests that run under nohup hand on that it is ignored
    block = Affine.block
    def stop(self, values, index):
        if index == 1:
            os.kill(os.getpid(), number)
        if index:
            time.sleep(0.3)
        return block(self, values, index)
    Affine.block = stop
    main()
"""


@pytest.mark.parametrize("format", ["t.parquet", "t.csv", "t"])
@pytest.mark.heavy(1)
def test_a_killed_run_leaves_one_partial_that_the_next_run_removes(cli, tmp_path, plans, format):
    source, target = written(frame(rows=BLOCK + 99), tmp_path / format), tmp_path / f"out-{format}"
    before = snapshot(tmp_path)
    ended = python(STOPPED, "SIGKILL", "release", plans("shift"), source, target, "--column", "x")
    assert ended.returncode == -signal.SIGKILL
    assert before.items() <= snapshot(tmp_path).items()
    assert {path.name for path in tmp_path.iterdir()} - {source.name} <= {work_folder_of(target).name}
    done(*cli("release", plans("shift"), source, target, "--column", "x"))
    assert {path.name for path in tmp_path.iterdir()} == {source.name, target.name, target.name + ".card.json"}
    done(*cli("verify", target))


KILLED_LATE = """
    import os, signal, sys
    from pathlib import Path
    from statveil import disk
    from statveil.cli.main import main
    suffix = sys.argv.pop(1)
    def stopped(rename):
        def stop(path, target, *flags):
            if str(target).endswith(suffix):
                os.kill(os.getpid(), signal.SIGKILL)
            return rename(path, target, *flags)
        return stop
    Path.replace, disk._renameat2 = stopped(Path.replace), stopped(disk._renameat2)
    main()
"""


@pytest.mark.parametrize("suffix", ["r.json", ".card.json", "out.parquet"])
@pytest.mark.heavy(1)
def test_a_run_killed_before_a_renaming_leaves_nothing_that_the_next_run_does_not_remove(cli, tmp_path, plans, suffix):
    source, target, record = written(frame(), tmp_path / "t.parquet"), tmp_path / "out.parquet", tmp_path / "r.json"
    arguments = ["release", plans("shift"), source, target, "--column", "x", "--record", record]
    assert python(KILLED_LATE, suffix, *arguments).returncode == -signal.SIGKILL
    assert not target.exists()
    assert {path.name for path in tmp_path.glob(".*")} <= {work_folder_of(path).name for path in (target, record)}
    done(*cli(*arguments))
    assert {path.name for path in tmp_path.iterdir()} == {"t.parquet", "out.parquet", "out.parquet.card.json", "r.json"}


@pytest.mark.parametrize("format", ["t.parquet", "t.csv", "t"])
@pytest.mark.heavy(1)
def test_a_run_stopped_from_the_keyboard_says_so_and_leaves_nothing(tmp_path, plans, format):
    source, target = written(frame(rows=BLOCK + 99), tmp_path / format), tmp_path / f"out-{format}"
    before = snapshot(tmp_path)
    ended = python(STOPPED, "SIGINT", "release", plans("shift"), source, target, "--column", "x")
    assert sentence(ended.returncode, ended.stdout, ended.stderr) == "statveil: stopped.\n"
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("format", ["t.parquet", "t.csv"])
@pytest.mark.heavy(2)
def test_a_run_that_is_told_to_end_cleans_up(tmp_path, plans, format, name, code):
    source, target = written(frame(rows=BLOCK + 99), tmp_path / format), tmp_path / f"out-{format}"
    before = snapshot(tmp_path)
    ended = python(STOPPED, name, "release", plans("shift"), source, target, "--column", "x")
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", "statveil: stopped.\n")
    assert snapshot(tmp_path) == before


FULL_DISK = """
    import json, resource, sys
    from pathlib import Path
    from statveil.cli.main import run
    import contextlib, io
    plan, folder, limits, formats = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]), json.loads(sys.argv[4])
    def call(*arguments):
        sys.argv = ["statveil", *map(str, arguments)]
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                run()
            except SystemExit as ended:
                return ended.code, out.getvalue(), err.getvalue()
    def everything():
        return {str(p.relative_to(folder)): p.read_bytes().hex() for p in sorted(folder.rglob("*")) if p.is_file()}
    found = []
    for format in formats:
        release = ["release", plan, folder / format, folder / ("out-" + format), "--column", "x"]
        for old in (False, True):
            if old:
                assert call(*release)[0] == 0
            before = everything()
            for limit in limits:
                for record in (False, True):
                    more = ["--record", folder / "r.json"] if record else []
                    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
                    result = call(*release, "--overwrite", *more)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                    (folder / "r.json").unlink(missing_ok=True)
                    found.append([format, old, limit, record, *result, everything() == before])
    print(json.dumps(found))
"""


def test_a_full_disk_is_a_sentence_and_leaves_everything_as_it_was(tmp_path, plans):
    formats = ["t.parquet", "t.csv", "t.csv.gz", "t.arrow", "t.xlsx", "t"]
    for format in formats:
        written(frame(rows=250), tmp_path / format)
    ended = python(FULL_DISK, plans("shift"), tmp_path, json.dumps([0, 2_000]), json.dumps(formats))
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert len(found) == len(formats) * 8
    for *case, code, out, err, same in found:
        # earlier versions of SciPy say by themselves that there is no room for temporary files
        own = err[err.index("statveil: ") :] if "scipy._lib.messagestream" in err else err
        assert "cannot write" in sentence(code, out, own), case
        assert same, case


# --- the card: public -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PLANS)
def test_cards_of_two_tables_differ_only_in_the_hash_and_the_rows(cli, tmp_path, plans, name):
    cards = []
    for seed, rows in ((1, 300), (2, 517)):
        source, target = written(frame(name, seed, rows), tmp_path / f"{seed}.parquet"), tmp_path / f"o{seed}.parquet"
        done(*cli("release", plans(name), source, target, "--column", "x", "--record", tmp_path / f"{seed}.json"))
        cards.append(card_of(target))
        assert cards[-1]["sha256"] == hashlib.sha256(target.read_bytes()).hexdigest()
    assert cards[0].pop("sha256") != cards[1].pop("sha256")
    assert (cards[0].pop("rows"), cards[1].pop("rows")) == (300, 517)
    assert cards[0] == cards[1]


def test_the_card_says_all_that_a_receiver_needs(cli, tmp_path, plans):
    source, target = written(frame("cents"), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    done(*cli("release", plans("shift"), source, target, "--column", "x", "--accept", "step", "--round", 1))
    card, plan = card_of(target), json.loads(plans("shift").read_text())
    assert {"column", "mode", "guarantee", "declared", "assumptions", "accepted_leaks", "plan", "versions"} <= set(card)
    assert card["column"] == "x"
    assert card["mode"] == "shift"
    assert card["plan"].items() <= plan.items()
    assert card["guarantee"]["risk"] == plan["risk"]
    assert card["declared"] == plan["problem"]["known"]
    assert [leak["name"] for leak in card["accepted_leaks"]] == ["step"]
    assert card["rounded_to_digits"] == 1
    assert card["versions"]["statveil"] == sv.__version__
    assert card["test_seed"] is False


def numbers_in(value):
    """All numbers of a JSON value."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [number for part in inner for number in numbers_in(part)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def private_texts(record):
    """How the private numbers of a record would look in a text, where they are long enough not to be an accident."""
    told = numbers_in(record["estimates"]) + numbers_in(record["coefficients"])
    texts = {f"{abs(number):.6g}"[:6] for number in told} | {record["seed"], str(int(record["seed"], 16))}
    return {text for text in texts if len(text.replace(".", "").strip("0")) >= 5}


@pytest.mark.parametrize("name", PLANS)
def test_neither_card_nor_terminal_tells_what_the_record_keeps(cli, tmp_path, plans, name):
    rows = 3_011
    source, record = written(frame(name, rows=rows), tmp_path / "t.parquet"), tmp_path / "r.json"
    told = ""
    for target, more in (("o.parquet", []), ("j.parquet", ["--json"])):
        arguments = ["--column", "x", "--record", record, *more]
        told += "".join(cli("release", plans(name), source, tmp_path / target, *arguments)[1:])
        told += (tmp_path / f"{target}.card.json").read_text()
    kept = json.loads(record.read_text())
    own = private_texts(kept)
    assert kept["seed"] in own
    assert kept["estimates"].get("rows", rows) == rows
    digests = told.replace(card_of(tmp_path / "o.parquet")["sha256"], "").replace(str(tmp_path), "")
    digests = digests.replace(card_of(tmp_path / "j.parquet")["sha256"], "")
    # how many rows there are, everyone can count
    assert [text for text in own - {str(rows)} if text in digests] == []


def test_a_test_seed_is_marked_but_not_told(cli, tmp_path, plans):
    source, target = written(frame("unit"), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    for more in ([], ["--json"]):
        code, out, err = cli(
            *("release", plans("unit"), source, target, "--column", "x", "--seed", SEED, "--overwrite"), *more
        )
        assert code == 0
        assert str(SEED) not in out + err
        assert f"{SEED:x}" not in out + err
        assert "test seed" in out
    text = (tmp_path / "out.parquet.card.json").read_text()
    assert json.loads(text)["test_seed"] is True
    assert str(SEED) not in text


# --- the record: private ------------------------------------------------------------------------------
def test_the_record_is_its_owners_alone_whatever_the_umask(cli, tmp_path, plans):
    source, record = written(frame(), tmp_path / "t.parquet"), tmp_path / "r.json"
    for mask in (0, 0o022):
        old = os.umask(mask)
        try:
            rest = ["--column", "x", "--record", record, "--overwrite"]
            done(*cli("release", plans("shift"), source, tmp_path / "out.parquet", *rest))
        finally:
            os.umask(old)
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
        record.chmod(0o666)  # what someone else made of it is mended by the next run


@pytest.mark.parametrize("name", PLANS)
def test_the_record_keeps_what_the_holder_needs(cli, tmp_path, plans, name):
    table = frame(name)
    source, record = written(table, tmp_path / "t.parquet"), tmp_path / "r.json"
    done(*cli("release", plans(name), source, tmp_path / "out.parquet", "--column", "x", "--record", record))
    kept = json.loads(record.read_text())
    assert kept["input_sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert {"estimates", "bin", "coefficients", "seed", "released", "plan_sha256", "column"} <= set(kept)
    assert 0 <= int(kept["seed"], 16) < 2**128
    if name not in ("category", "affine", "spread"):
        assert kept["estimates"]["secret"] == pytest.approx(table["x"].mean(), rel=1e-12)
    again = sv.release_file(PLANS[name], source, tmp_path / "again.parquet", column="x", seed=int(kept["seed"], 16))
    assert again.table.read_bytes() == (tmp_path / "out.parquet").read_bytes(), "the seed in the record is the one used"


# every name in one format, every format for a number and for a label
@pytest.mark.parametrize(
    ("name", "format"),
    [
        pytest.param(
            name, format, marks=() if format == "t.parquet" or name in ("rank", "category") else pytest.mark.slow
        )
        for name in ("shift", *RANDOM)
        for format in ("t.parquet", "t.csv", "t.csv.gz", "t.arrow", "t.xlsx", "t")
    ],
)
@pytest.mark.heavy(4)
def test_the_same_record_gives_the_same_file(cli, tmp_path, plans, name, format):
    source, record = written(frame(name), tmp_path / format), tmp_path / "r.json"
    one, two, three = (tmp_path / f"{number}-{format}" for number in "123")
    for target in (one, two):
        done(*cli("release", plans(name), source, target, "--column", "x", "--record", record))
    done(*cli("release", plans(name), source, three, "--column", "x"))
    assert read(one) == read(two)
    if format != "t.xlsx":  # a workbook tells when it was made
        assert card_of(one)["sha256"] == card_of(two)["sha256"]
    if name in RANDOM:
        assert read(three) != read(one), "without the record another seed is drawn"


def test_the_record_of_another_release_is_refused(cli, tmp_path, plans):
    source, record = written(frame("unit"), tmp_path / "t.parquet"), tmp_path / "r.json"
    both = frame("unit").with_columns(y=frame("unit", 2)["x"])
    other, changed = written(both, tmp_path / "both.parquet"), written(frame("unit", 2), tmp_path / "u.parquet")
    done(*cli("release", plans("unit"), source, tmp_path / "out.parquet", "--column", "x", "--record", record))
    target, rest = tmp_path / "new.parquet", ["--record", record]
    for plan, table, name in (("unit", changed, "x"), ("unit", other, "y"), ("unit", other, "x")):
        text = refused(cli, tmp_path, "release", plans(plan), table, target, "--column", name, *rest)
        assert "another release" in text


def test_a_damaged_record_is_refused(cli, tmp_path, plans):
    source, record = written(frame("unit"), tmp_path / "t.parquet"), tmp_path / "r.json"
    done(*cli("release", plans("unit"), source, tmp_path / "out.parquet", "--column", "x", "--record", record))
    kept = json.loads(record.read_text())
    for seed in (None, "", "no", "-5", "1" * 40, [], {}, True, 5.5):
        record.write_text(json.dumps({**kept, "seed": seed}))
        refused(
            cli,
            tmp_path,
            *("release", plans("unit"), source, tmp_path / "b.parquet", "--column", "x", "--record", record),
        )


def test_a_test_seed_never_replaces_the_secret_seed_of_a_record(cli, tmp_path, plans):
    source, record = written(frame("unit"), tmp_path / "t.parquet"), tmp_path / "r.json"
    arguments = ["--column", "x", "--record", record]
    done(*cli("release", plans("unit"), source, tmp_path / "one.parquet", *arguments))
    cli("release", plans("unit"), source, tmp_path / "try.parquet", *arguments, "--seed", 5)
    done(*cli("release", plans("unit"), source, tmp_path / "two.parquet", *arguments))
    assert read(tmp_path / "one.parquet") == read(tmp_path / "two.parquet")


def test_a_run_that_fails_keeps_the_seed_for_the_next_one(cli, tmp_path, plans, monkeypatch):
    def fail(*_, **__):
        raise sv.FileError("cannot write the card.")

    source, record = written(frame("unit"), tmp_path / "t.parquet"), tmp_path / "r.json"
    arguments = ["--column", "x", "--record", record]
    monkeypatch.setattr("statveil.tables.task.make_card", fail)
    sentence(*cli("release", plans("unit"), source, tmp_path / "out.parquet", *arguments))
    monkeypatch.undo()
    seed = json.loads(record.read_text())["seed"]
    done(*cli("release", plans("unit"), source, tmp_path / "two.parquet", *arguments))
    assert json.loads(record.read_text())["seed"] == seed


# --- verify ---------------------------------------------------------------------------------------------
def released(cli, folder, plans, name="shift", format="t.parquet"):
    source, target = written(frame(name), folder / format), folder / f"out-{format}"
    done(*cli("release", plans(name), source, target, "--column", "x", "--seed", SEED))
    return target


def rehashed(target):
    """A forger's card: the hash of the table as it is now."""
    path = target.with_name(target.name + ".card.json")
    card = json.loads(path.read_text())
    card["sha256"] = hashlib.sha256(target.read_bytes()).hexdigest()
    path.write_text(json.dumps(card))


def disagrees(cli, target):
    """The names of the checks that fail."""
    code, out, err = cli("verify", target, "--json")
    assert (code, err) == (1, ""), out
    found = json.loads(out)
    assert found["ok"] is False
    code, out, err = cli("verify", target)
    assert code == 1
    assert "NOT" in out
    return [check["check"] for check in found["checks"] if not check["ok"]]


@pytest.mark.parametrize("name", PLANS)
def test_a_changed_value_or_row_is_noticed(cli, tmp_path, plans, name):
    target = released(cli, tmp_path, plans, name)
    table = pl.read_parquet(target)
    other = LABELS[(LABELS.index(table["x"][0]) + 1) % 3] if name == "category" else table["x"][0] + 1
    changes = {
        "value": table.with_columns(x=pl.Series([other, *table["x"][1:]])),
        "row removed": table[:-1],
        "row doubled": pl.concat([table, table[-1:]]),
        "another column": table.with_columns(id=table["id"] + 1),
        "column gone": table.drop("x"),
        "rows in another order": table.reverse(),
    }
    for change in changes.values():
        change.write_parquet(target)
        assert "hash" in disagrees(cli, target)


FORGED = {
    "shift": lambda x: x + 0.3,
    "affine": lambda x: 100 + (x - 100) * 1.01,
    "spread": lambda x: 100 + (x - 100) * 1.01,
    "scale": lambda x: x * 1.003,
    "lattice": lambda x: x + 1,
    "cents": lambda x: x + 0.11,
    "unit": lambda x: x + 1,
    "urn": lambda x: x + 1,
    "category": lambda x: x.replace("red", "blue"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_moved_column_is_noticed_even_with_the_right_hash(cli, tmp_path, plans, name):
    target = released(cli, tmp_path, plans, name)
    table = pl.read_parquet(target)
    x = table["x"]
    moved = pl.Series("x", [*x[:-60], *FORGED[name](x[-60:])]) if name == "category" else FORGED[name](x)
    table.with_columns(x=moved).write_parquet(target)
    rehashed(target)
    assert disagrees(cli, target) == ["statistic"]


def test_the_original_is_not_taken_for_its_release(cli, tmp_path, plans):
    for name in FORGED:
        folder = tmp_path / name
        folder.mkdir()
        target = released(cli, folder, plans, name)
        shutil.copy(folder / "t.parquet", target)
        rehashed(target)
        assert disagrees(cli, target) == ["statistic"], name


def test_lost_structure_is_noticed_even_with_the_right_hash(cli, tmp_path, plans):
    half = np.arange(ROWS) % 2 * 0.5
    lost = {"lattice": half, "cents": half / 100, "scale": -90.0, "redrawn": half, "unit": half, "rank": 19}
    for name, move in lost.items():
        folder = tmp_path / name
        folder.mkdir()
        target = released(cli, folder, plans, name)
        table = pl.read_parquet(target)
        table.with_columns(x=pl.Series(table["x"].to_numpy() + move)).write_parquet(target)
        rehashed(target)
        assert disagrees(cli, target) == ["structure"], name


@contextmanager
def own_stderr(path):
    """What is written to the process's stderr by anyone, into a file."""
    saved = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)


@pytest.mark.parametrize("format", ["t.parquet", "t.csv", "t.csv.gz", "t.arrow", "t.xlsx"])
def test_one_flipped_bit_anywhere_is_noticed(cli, tmp_path, plans, format):
    target = released(cli, tmp_path, plans, "lattice", format)
    good = target.read_bytes()
    rng = np.random.default_rng(0)
    places = sorted({0, 4, len(good) - 1, len(good) - 6, *rng.integers(0, len(good), 60).tolist()})
    with own_stderr(tmp_path / "engine.txt"):
        for place in places:
            target.write_bytes(good[:place] + bytes([good[place] ^ 1 << int(rng.integers(8))]) + good[place + 1 :])
            code, out, err = cli("verify", target)
            assert code in (1, 2), place
            assert "Traceback" not in err
            if code == 2:
                sentence(code, out, err)
    assert (tmp_path / "engine.txt").read_text() == "", "the engine's own words are not for the reader"
    target.write_bytes(good)
    done(*cli("verify", target))


def test_a_folder_with_a_file_more_less_renamed_or_changed_is_noticed(cli, tmp_path, plans):
    target = released(cli, tmp_path, plans, "shift", "t")
    one, two = target / "a.parquet", target / "b.parquet"
    changes = [
        lambda: shutil.copy(one, target / "c.parquet"),
        lambda: (target / "notes.txt").write_text("also"),
        lambda: two.unlink(),
        lambda: two.rename(target / "c.parquet"),
        lambda: one.write_bytes(two.read_bytes()),
    ]
    shutil.copytree(target, tmp_path / "kept")
    for change in changes:
        change()
        assert "hash" in disagrees(cli, target)
        shutil.rmtree(target)
        shutil.copytree(tmp_path / "kept", target)
    done(*cli("verify", target))


CARDS = {
    "risk": lambda card: card["guarantee"].update(risk=0.001),
    "what the risk is of": lambda card: card["guarantee"].update(secret="std"),
    "sentence": lambda card: card["guarantee"].update(says="Nothing can be guessed."),
    "mode": lambda card: card.update(mode="rank"),
    "declared": lambda card: card["declared"].update(minimum=0.0),
    "assumptions": lambda card: card["assumptions"].pop(),
    "accepted leaks": lambda card: card["accepted_leaks"].append({"name": "step", "says": "?"}),
    "hash": lambda card: card.update(sha256="0" * 64),
    "no hash": lambda card: card.pop("sha256"),
    "column": lambda card: card.update(column="id"),
    "no column": lambda card: card.pop("column"),
    "column of the wrong kind": lambda card: card.update(column=["x"]),
    "rounding": lambda card: card.update(rounded_to_digits=-12),
    "risk of the plan": lambda card: card["plan"].update(risk=0.001),
    "distortion of the plan": lambda card: card["plan"].update(distortion=0.001),
    "mode of the plan": lambda card: card["plan"].update(mode="rank"),
    "tolerance of the plan": lambda card: card["plan"]["problem"].update(tolerance=2.0),
    "prior of the plan": lambda card: card["plan"]["problem"]["prior"]["parameters"]["mean"].update(high=2_000.0),
    "bins of the plan": lambda card: card["plan"]["mechanism"].update(width=7.0),
    "where the bins begin": lambda card: card["plan"]["mechanism"].update(origin=23.0),
}


@pytest.mark.parametrize("kind", CARDS)
def test_a_changed_card_is_noticed(cli, tmp_path, plans, kind):
    target = released(cli, tmp_path, plans)
    path, card = tmp_path / "out-t.parquet.card.json", card_of(target)
    CARDS[kind](card)
    path.write_text(json.dumps(card))
    code, out, err = cli("verify", target)
    assert code in (1, 2)
    if code == 2:
        sentence(code, out, err)


BROKEN = {
    "no card": None,
    "empty": "",
    "not JSON": "card",
    "cut off": '{"format": "statveil-card", "version": 1,',
    "deep": "[" * 100_000,
    "other JSON": "[1, 2]",
    "a plan": '{"format": "statveil-plan", "version": 1}',
    "no version": '{"format": "statveil-card"}',
    "a later version": '{"format": "statveil-card", "version": 99}',
    "version in words": '{"format": "statveil-card", "version": "1"}',
    "no plan": '{"format": "statveil-card", "version": 1, "column": "x"}',
    "plan of the wrong kind": '{"format": "statveil-card", "version": 1, "column": "x", "plan": [1]}',
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_card_is_refused(cli, tmp_path, plans, kind):
    target = released(cli, tmp_path, plans)
    path = tmp_path / "out-t.parquet.card.json"
    path.unlink()
    if BROKEN[kind] is not None:
        path.write_text(BROKEN[kind])
    text = refused(cli, tmp_path, "verify", target, "--json")
    assert path.name in text
    assert "object is not" not in text
    assert "indices must" not in text


@pytest.mark.parametrize("digits", ["two", [2], {}, 10**9, -(10**9), 1.5, True])
def test_a_rounding_on_the_card_that_is_none_is_noticed(cli, tmp_path, plans, digits):
    target = released(cli, tmp_path, plans)
    card = card_of(target) | {"rounded_to_digits": digits}
    (tmp_path / "out-t.parquet.card.json").write_text(json.dumps(card))
    code, *_, err = cli("verify", target)
    assert code in (1, 2)
    assert "Traceback" not in err


def paths_in(value, path=()):
    """The places of all parts of a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from paths_in(part, (*path, key))


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("name", ["shift", "category"])
def test_a_card_with_any_part_replaced_ends_in_a_verdict(tmp_path, plans, cli, name, data):
    target = tmp_path / "out-t.parquet"
    if not target.exists():
        released(cli, tmp_path, plans, name)
    path = tmp_path / "out-t.parquet.card.json"
    good = path.with_suffix(".good")
    if not good.exists():
        shutil.copy(path, good)
    card = json.loads(good.read_text())
    place = data.draw(st.sampled_from([place for place in paths_in(card) if place]))
    held = card
    for key in place[:-1]:
        held = held[key]
    junk = [None, True, -1, 0, 1e308, -1e308, 10**400, float("nan"), float("inf"), "", "x", [], [1], {}, {"x": 1}]
    held[place[-1]] = data.draw(st.sampled_from(junk))
    path.write_text(json.dumps(card))
    code, out, err = cli("verify", target)
    assert code in (0, 1, 2)
    assert (err == "") == (code < 2)
    if code == 2:
        sentence(code, out, err)


@pytest.mark.parametrize("path", ["none.parquet", "none", "no/where.csv", "o" * 300 + ".csv", "a/" * 3_000 + "b.csv"])
@pytest.mark.parametrize("command", ["verify", "inspect"])
def test_a_file_that_is_not_there(cli, tmp_path, monkeypatch, command, path):
    monkeypatch.chdir(tmp_path)
    refused(cli, tmp_path, command, path)


# --- seeds mean the same everywhere -----------------------------------------------------------------------
@pytest.mark.parametrize("name", ["shift", "unit", "rank", "redrawn", "category"])
@pytest.mark.heavy(1)
def test_a_seed_means_the_same_rows_however_the_input_is_stored(cli, tmp_path, plans, name):
    rows = BLOCK + 4_321
    table = frame(name, rows=rows).drop("note")
    expected = sv.release(PLANS[name], table["x"].to_numpy(), seed=SEED).tolist()
    table.write_parquet(tmp_path / "one.parquet", row_group_size=rows)
    table.write_parquet(tmp_path / "many.parquet", row_group_size=1_237)
    table.write_csv(tmp_path / "text.csv")
    table.write_ipc(tmp_path / "arrow.arrow", record_batch_size=9_999)
    for parts in (2, 7):
        (tmp_path / f"parts{parts}").mkdir()
        for number, rows_of in enumerate(np.array_split(np.arange(rows), parts)):
            part = table[int(rows_of[0]) : int(rows_of[-1]) + 1]
            part.write_parquet(tmp_path / f"parts{parts}" / f"{number}.parquet")
    sources = sorted(tmp_path.iterdir())
    # all ways to store it for one plan, half of them for each of the others
    for source in sources if name == "unit" else sources[len(name) % 2 :: 2]:
        target = tmp_path / f"out-{source.name}"
        done(*cli("release", plans(name), source, target, "--column", "x", "--seed", SEED))
        assert read(target) == expected, source.name


MANY = """
    import sys
    from pathlib import Path
    import statveil as sv
    plans, folder, out = map(Path, sys.argv[1:])
    for source in sorted(folder.iterdir()):
        plan = sv.load_plan(plans / (source.stem + ".json"))
        sv.release_file(plan, source, out / source.name, column="x", seed=7)
"""


def test_a_seed_means_the_same_rows_on_any_number_of_threads(tmp_path, plans):
    for folder in ("in", "1", "4"):
        (tmp_path / folder).mkdir()
    for name in PLANS:
        frame(name, rows=2_800).write_parquet(tmp_path / "in" / f"{name}.parquet", row_group_size=700)
    for threads in ("1", "4"):
        ended = python(MANY, plans("").parent, tmp_path / "in", tmp_path / threads, POLARS_MAX_THREADS=threads)
        assert ended.returncode == 0, ended.stderr
    for name in PLANS:
        one, four = (pl.read_parquet(tmp_path / threads / f"{name}.parquet") for threads in ("1", "4"))
        assert one.equals(four), name
        assert one["x"].to_list() != frame(name, rows=2_800)["x"].to_list()


def test_a_parquet_file_of_many_blocks_keeps_all_but_the_column(cli, tmp_path, plans):
    table = frame(rows=3 * BLOCK + 5)
    table = table.with_columns(x=pl.when(pl.col("id") % 10 != 3).then("x"))
    source, target = tmp_path / "t.parquet", tmp_path / "out.parquet"
    table.write_parquet(source, row_group_size=50_000)
    done(*cli("release", plans("shift"), source, target, "--column", "x"))
    out = pl.read_parquet(target)
    assert out.drop("x").equals(table.drop("x"))
    assert out.schema == table.schema
    assert out["x"].null_count() == table["x"].null_count()
    move = (out["x"] - table["x"]).drop_nulls()
    off = PLANS["shift"].release_mode.wander(PLANS["shift"].problem)
    assert move.max() - move.min() < 2 * off
    wanted = float(PLANS["shift"].apply(mean=table["x"].mean()).secret)
    assert out["x"].mean() == pytest.approx(wanted, abs=off / len(move) ** 0.5)
    done(*cli("verify", target))


def test_a_released_csv_keeps_all_other_bytes_and_reads_back_exactly(cli, tmp_path, plans):
    rng = np.random.default_rng(5)
    values = rng.normal(103, 9, 400)
    head = b'\xef\xbb\xbf"a ""b""" ,x,\xc3\xbc\r\n'
    before, after = b" 007 ,", b',"line\r\nend, and ""quotes"""\r\n'
    body = [repr(value).encode() for value in values.tolist()]
    body[3:3] = [b"", b"NA", b"inf", b" "]
    source, target = tmp_path / "t.csv", tmp_path / "out.csv"
    source.write_bytes(head + b"".join(before + text + after for text in body))
    done(*cli("release", plans("shift"), source, target, "--column", "x", "--seed", "5"))
    raw = target.read_bytes()
    assert raw.startswith(head)
    parts = raw[len(head) :].split(after)
    assert parts.pop() == b""
    assert all(part.startswith(before) for part in parts)
    texts = [part.removeprefix(before) for part in parts]
    assert texts[3:7] == [b"", b"NA", b"inf", b" "]
    expected = sv.release(PLANS["shift"], values, seed=5)
    assert [float(text) for text in texts[:3] + texts[7:]] == expected.tolist()
    done(*cli("verify", target))


@pytest.mark.parametrize("format", ["t.parquet", "t.csv", "t.xlsx"])
@pytest.mark.parametrize("values", ["whole", "tenths", "decimals"])
def test_a_step_finer_than_the_column_is_written_is_kept_or_refused(cli, tmp_path, plans, format, values):
    x = np.rint(np.random.default_rng(3).normal(1_030, 90, ROWS))
    x = pl.Series(x.astype(np.int64)) if values == "whole" else pl.Series(x / 10)
    table = pl.DataFrame({"x": x.cast(pl.Decimal(8, 1)) if values == "decimals" else x})
    source, target, record = written(table, tmp_path / format), tmp_path / f"out-{format}", tmp_path / "r.json"
    arguments = ["--column", "x", "--accept", "step", "--record", record]
    plan = plans("cents") if values != "whole" else tmp_path / "plan.json"
    if values == "whole":
        sv.save_plan(located(0, 2_000, step=0.01), plan)
    code, out, err = cli("release", plan, source, target, *arguments)
    if code:
        sentence(code, out, err)
        return
    wanted = json.loads(record.read_text())["released"]["secret"]
    assert np.mean([float(value) for value in read(target)]) == pytest.approx(wanted, rel=1e-9)
    done(*cli("verify", target))


@pytest.mark.parametrize("format", ["t.parquet", "t.csv", "t.arrow", "t.xlsx"])
@pytest.mark.parametrize("name", ["shift", "affine", "scale"])
@pytest.mark.parametrize("wide", [False, True])
def test_a_fresh_release_of_32_bit_floats_agrees_with_its_card(cli, tmp_path, plans, name, wide, format):
    for seed in range(3):
        x = pl.Series(column(name, np.random.default_rng(seed), 20)).cast(pl.Float32)
        table = pl.DataFrame({"x": x.cast(pl.Float64) if wide else x})
        source, target = written(table, tmp_path / f"{seed}-{format}"), tmp_path / f"out-{seed}-{format}"
        # the shortest text of a 32-bit float is a decimal number, and a column of those is one of decimals
        accepted = ("--accept", "step", "--accept", "heaps") if format == "t.csv" and not wide else ()
        done(*cli("release", plans(name), source, target, "--column", "x", "--seed", SEED, *accepted))
        done(*cli("verify", target))


# --- what is told ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("level", "side"), [(-873.19, "below"), (8_731.9, "above")])
@pytest.mark.parametrize("name", ["shift", "affine", "spread", "lattice", "unit", "urn"])
def test_a_column_outside_the_prior_names_the_side_and_no_digit_of_it(cli, tmp_path, plans, name, level, side):
    rng = np.random.default_rng(0)
    match name:
        case "lattice":
            x = np.rint(rng.normal(level, 9, ROWS))
        case "unit":
            x = rng.poisson(873 if side == "above" else 0.0731, ROWS)
        case "urn":
            x = rng.geometric(0.002 if side == "above" else 0.92, ROWS) - 1
        case "spread":
            x = rng.normal(100, 87.319 if side == "above" else 0.087319, ROWS)
        case _:
            x = rng.normal(level, 9, ROWS)
    x = x.astype(np.float64)
    source = written(pl.DataFrame({"x": x}), tmp_path / "t.parquet")
    for more in ([], ["--json"]):
        text = refused(
            cli, tmp_path, "release", plans(name), source, tmp_path / "o.parquet", "--column", "x", *more
        ).replace(str(tmp_path), "")
        where = "above" if side == "below" else "below"
        if name != "urn":  # a large mean is a small share p
            assert side in text
            assert f"lies {where}" not in text
        own = {f"{abs(value):.6g}"[:3].strip(".") for value in (x.mean(), x.std(), np.quantile(x, 0.9))}
        assert not [part for part in own if len(part.strip("0.")) >= 2 and part in text], text


@pytest.mark.parametrize("name", PLANS)
def test_json_is_one_object_and_nothing_else(cli, tmp_path, plans, name):
    source, target = written(frame(name), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    rest = ["--column", "x", "--json"]
    found = json.loads(done(*cli("release", plans(name), source, target, *rest)))
    assert found["output"] == str(target)
    assert found["card"] == f"{target}.card.json"
    assert found["mode"] == PLANS[name].mode
    assert found["risk"] == PLANS[name].risk
    assert found["record"] is None
    assert found["accepted"] == []
    assert bool(found["notes"]) == (name in RANDOM), "who draws anew should keep a record"


def test_no_progress_bar_where_nobody_looks(tmp_path, plans):
    source = written(frame(rows=9_000), tmp_path / "t.csv")
    for arguments in (
        ["release", plans("shift"), source, tmp_path / "out.csv", "--column", "x", "--json"],
        ["inspect", source, "--json"],
    ):
        ended = subprocess.run(
            [sys.executable, "-c", "from statveil.cli.main import main; main()", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert isinstance(json.loads(ended.stdout), dict)
        assert "\x1b" not in ended.stdout


def test_accepted_leaks_are_named_in_public(cli, tmp_path, plans):
    source, target = written(frame("cents"), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    arguments = ["release", plans("shift"), source, target, "--column", "x"]
    text = refused(cli, tmp_path, *arguments)
    assert "--accept step" in text
    assert '--known "step=0.01"' in text
    out = done(*cli(*arguments, "--accept", "step", "--accept", "heaps", "--accept", "step"))
    assert "accepted leak step" in out
    assert [leak["name"] for leak in card_of(target)["accepted_leaks"]] == ["heaps", "step"]
    done(*cli("verify", target))


# --- rounding ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("digits", [-1, 0, 2, 15])
@pytest.mark.parametrize("format", ["t.parquet", "t.csv", "t.xlsx"])
@pytest.mark.heavy(2)
def test_rounding_is_exact_and_verified(cli, tmp_path, plans, format, digits):
    # every plan meets every format, and every number of digits
    odd = (("t.parquet", "t.csv", "t.xlsx").index(format) + (-1, 0, 2, 15).index(digits)) % 2
    for name in CONTINUOUS[odd::2]:
        table = frame(name)
        source, target = written(table, tmp_path / f"{name}-{format}"), tmp_path / f"out-{name}-{format}"
        done(*cli("release", plans(name), source, target, "--column", "x", "--round", digits, "--seed", 5))
        expected = sv.release(PLANS[name], np.array(read(source)), round_digits=digits, seed=5).tolist()
        assert read(target) == expected
        if digits < 15:
            assert all(value == round(value, digits) for value in expected)
        assert card_of(target)["rounded_to_digits"] == digits
        done(*cli("verify", target))


@pytest.mark.parametrize("digits", [16, -13, 10**6, 10**30, "1.5", "two", "", "1e3"])
def test_weird_digits_are_refused(cli, tmp_path, plans, digits):
    source, target = written(frame(), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    refused(cli, tmp_path, "release", plans("shift"), source, target, "--column", "x", "--round", digits)


@pytest.mark.parametrize("name", ["lattice", "cents", "unit", "urn", "rank", "redrawn", "category"])
def test_rounding_is_refused_where_the_column_has_its_own_steps(cli, tmp_path, plans, name):
    source, target = written(frame(name), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    text = refused(cli, tmp_path, "release", plans(name), source, target, "--column", "x", "--round", 1)
    assert "rounding" in text


@pytest.mark.parametrize("digits", [-2, -3, -12])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_rounding_so_coarse_that_the_plan_is_lost_is_refused_or_still_verified(cli, tmp_path, plans, name, digits):
    source, target = written(frame(name), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    code, out, err = cli("release", plans(name), source, target, "--column", "x", "--round", digits)
    if code:
        sentence(code, out, err)
    else:
        done(*cli("verify", target))


@pytest.mark.parametrize("bounds", [{"minimum": 0.3}, {"maximum": 250.4}])
def test_rounding_does_not_cross_a_declared_bound(cli, tmp_path, bounds):
    plan = tmp_path / "plan.json"
    sv.save_plan(located(60, 200, **bounds), plan)
    x = np.random.default_rng(2).uniform(0, 200, ROWS)
    x = 0.3 + np.append(x, [0.0, 0.01]) if "minimum" in bounds else 250.4 - np.append(x, [0.0, 0.01, 0.2])
    source, target = written(pl.DataFrame({"x": x}), tmp_path / "t.parquet"), tmp_path / "out.parquet"
    code, out, err = cli("release", plan, source, target, "--column", "x", "--round", 0)
    if code:
        sentence(code, out, err)
    else:
        done(*cli("verify", target))


# --- inspect ---------------------------------------------------------------------------------------------------
def zoo(rows=400):
    """Columns of many kinds."""
    rng = np.random.default_rng(8)
    tens = np.rint(rng.normal(50, 6, rows))
    return pl.DataFrame(
        {
            "normal": rng.normal(103, 9, rows),
            "waiting": rng.exponential(30, rows),
            "counts": rng.poisson(4, rows),
            "whole": np.rint(rng.normal(500, 60, rows)).astype(np.int64),
            "price": np.rint(rng.normal(2_000, 300, rows)) / 100,
            "heaped": np.rint(np.where(rng.random(rows) < 0.5, tens * 10, rng.normal(500, 60, rows))).astype(np.int64),
            "capped": np.minimum(rng.normal(90, 10, rows), 100.0),
            "text": ["a", "b"] * (rows // 2),
            "yes": [True, False] * (rows // 2),
            "day": [dt.date(2024, 2, 29)] * rows,
            "nothing": pl.Series([None] * rows, dtype=pl.Float64),
            "holes": pl.Series([None, 1.5, 2.25, 7.125] * (rows // 4)),
            "same": [3.5] * rows,
        }
    )


@pytest.mark.parametrize("format", ["t.parquet", "t.csv", "t.csv.gz", "t.arrow", "t.xlsx", "t"])
@pytest.mark.parametrize("rows", [0, 1, 400])
@pytest.mark.heavy(2)
def test_inspect_looks_at_columns_of_any_kind_in_any_format(cli, tmp_path, format, rows):
    table = zoo()[:rows]
    path = written(table, tmp_path / format)
    before = snapshot(tmp_path)
    text = done(*cli("inspect", path))
    assert text.splitlines()[0].startswith("PRIVATE")
    found = json.loads(done(*cli("inspect", path, "--json")))
    assert set(found) == {"private", "columns"}
    assert found["private"].startswith("PRIVATE")
    assert [report["column"] for report in found["columns"]] == table.columns
    assert all(f"\n{name}  (" in text for name in table.columns)
    assert snapshot(tmp_path) == before
    by_name = {report["column"]: report for report in found["columns"]}
    if rows == 400:
        assert by_name["counts"]["mean"] == pytest.approx(table["counts"].mean())
        assert by_name["counts"]["known"] == "min=0,step=1"
        assert by_name["whole"]["known"] == "step=1"
        assert by_name["price"]["known"] == "step=0.01"
        assert "heaps=10" in by_name["heaped"]["known"]
        assert "atoms=100" in by_name["capped"]["known"]
        assert by_name["normal"]["known"] == ""
        assert "min=0" in by_name["waiting"]["known"]
        assert by_name["normal"]["families"][0]["family"] == "gaussian"
        assert by_name["waiting"]["families"][0]["family"] in ("exponential", "shifted-exponential")
        assert by_name["counts"]["families"][0]["family"] == "poisson"
        assert by_name["holes"]["untouched"] == 100
        assert by_name["holes"]["rows"] == 400
        assert '--known "step=0.01"' in text
        assert by_name["same"]["std"] == 0
    for name in ("text", "yes", "day", "nothing"):
        if rows:
            assert by_name[name]["mean"] is None
            assert by_name[name]["leaks"], "a word on what to do with it"


def test_inspect_counts_the_rows_of_every_column(cli, tmp_path):
    path = written(zoo(), tmp_path / "t.parquet")
    found = json.loads(done(*cli("inspect", path, "--json")))
    assert {report["column"]: report["rows"] for report in found["columns"]} == dict.fromkeys(zoo().columns, 400)
    untouched = {report["column"]: report["untouched"] for report in found["columns"]}
    assert (untouched["nothing"], untouched["holes"], untouched["normal"]) == (400, 100, 0)


def test_inspect_of_one_column_is_that_of_all(cli, tmp_path):
    path = written(zoo(), tmp_path / "t.csv")
    every = json.loads(done(*cli("inspect", path, "--json")))["columns"]
    one = json.loads(done(*cli("inspect", path, "--column", "price", "--json")))["columns"]
    assert one == [report for report in every if report["column"] == "price"]
    assert "did you mean 'price'" in refused(cli, tmp_path, "inspect", path, "--column", "prise")


def test_what_inspect_says_to_declare_can_be_planned_and_released(cli, tmp_path):
    table = pl.DataFrame({"x": column("cents", np.random.default_rng(1), 500)})
    path, plan = written(table, tmp_path / "t.parquet"), tmp_path / "plan.json"
    (report,) = json.loads(done(*cli("inspect", path, "--json")))["columns"]
    stated = ["--family", "location", "--prior", "mean=50:200", "--secret", "mean", "--tolerance", 1]
    done(*cli("plan", *stated, "--known", report["known"], "--max-risk", 0.2, "-o", plan))
    done(*cli("release", plan, path, tmp_path / "out.parquet", "--column", "x"))
    done(*cli("verify", tmp_path / "out.parquet"))


def test_inspect_takes_a_spread_too_small_to_square(cli, tmp_path):
    path = written(pl.DataFrame({"x": [0.0, 1.6e-227], "y": [1e200, 1e200 * (1 + 1e-15)]}), tmp_path / "t.parquet")
    assert len(json.loads(done(*cli("inspect", path, "--json")))["columns"]) == 2


def test_one_column_that_cannot_be_read_does_not_hide_the_others(cli, tmp_path):
    (tmp_path / "twice.csv").write_text("a,a,b\n1.5,2,3.25\n")
    folder = tmp_path / "mixed"
    folder.mkdir()
    pl.DataFrame({"b": [1.0, 2.0], "c": [1, 2]}).write_parquet(folder / "1.parquet")
    pl.DataFrame({"b": [1.0, 2.5], "c": ["a", "b"]}).write_parquet(folder / "2.parquet")
    book = openpyxl.Workbook()
    for row in (["b", "sum"], [1.5, "=A2"], [2.5, "=A3"]):
        book.active.append(row)
    book.save(tmp_path / "sums.xlsx")
    for path in (tmp_path / "twice.csv", folder, tmp_path / "sums.xlsx"):
        assert "\nb  (" in done(*cli("inspect", path)), path.name


# --- names that are no text -----------------------------------------------------------------------------------
ODD = """
    import os, sys
    from statveil.cli.main import main
    sys.argv = ["statveil", *(part.replace("ODD", os.fsdecode(b"\\xff")) for part in sys.argv[1:])]
    main()
"""


def test_file_names_that_are_not_utf8_are_used_or_refused_in_a_sentence(tmp_path, plans):
    odd = Path(os.fsdecode(bytes(tmp_path) + b"/in\xff.parquet"))
    try:
        frame()[:50].write_csv(tmp_path / "t.csv")
        written(frame(), tmp_path / "t.parquet")
        shutil.copy(tmp_path / "t.parquet", odd)
    except OSError:
        pytest.skip("this file system takes no such names")
    plan = str(plans("shift"))
    for arguments in (
        ["release", plan, f"{tmp_path}/inODD.parquet", f"{tmp_path}/o1.parquet", "--column", "x"],
        ["release", plan, f"{tmp_path}/t.parquet", f"{tmp_path}/oODD.parquet", "--column", "x"],
        ["inspect", f"{tmp_path}/inODD.parquet"],
    ):
        ended = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(ODD), *arguments], capture_output=True, timeout=60
        )
        assert ended.returncode in (0, 2), ended.stderr
        assert b"Traceback" not in ended.stderr
    assert not list(tmp_path.glob(".*"))


# --- random tables ----------------------------------------------------------------------------------------------
FLOATS = st.one_of(st.none(), st.floats(-300, 300), st.floats(width=32), st.sampled_from([0.0, -0.0, 1e-310, 1e300]))
SMALL = st.one_of(st.none(), st.integers(0, 25))
COLUMNS = {
    "Float64": (pl.Float64, FLOATS),
    "Float32": (pl.Float32, st.one_of(st.none(), st.floats(-300, 300, width=32))),
    "Int64": (pl.Int64, st.one_of(st.none(), st.integers(-300, 300), st.integers(-(2**60), 2**60))),
    "UInt8": (pl.UInt8, st.one_of(st.none(), st.integers(0, 255))),
    "counts": (pl.Int32, SMALL),
    "Decimal": (pl.Decimal(12, 2), st.one_of(st.none(), st.decimals(-200, 200, places=2))),
    "String": (pl.String, st.one_of(st.none(), st.sampled_from([*LABELS, "", "NA", "violet", "1", 'a"b,c']))),
    "Boolean": (pl.Boolean, st.one_of(st.none(), st.booleans())),
    "Categorical": (pl.Categorical, st.one_of(st.none(), st.sampled_from(LABELS))),
    "Date": (pl.Date, st.one_of(st.none(), st.dates())),
}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data(), accept=st.booleans())
@pytest.mark.parametrize("format", ["t.parquet", "t.csv", "t.arrow", "t.xlsx"])
@pytest.mark.heavy(2)
def test_any_small_table_ends_in_a_sentence_or_passes_verify(cli, tmp_path_factory, plans, format, data, accept):
    kind = data.draw(st.sampled_from(sorted(COLUMNS)))
    fitting = {
        "counts": ["unit", "urn", "rank", "lattice", "shift"],
        "String": ["category", "shift"],
        "Categorical": ["category", "rank"],
        "Boolean": ["category", "unit"],
        "Date": ["category", "shift"],
    }
    name = data.draw(st.sampled_from(fitting.get(kind, sorted(set(PLANS) - {"category"}))))
    dtype, values = COLUMNS[kind]
    rows = data.draw(st.lists(values, min_size=0, max_size=12))
    table = pl.DataFrame({"x": pl.Series(rows, dtype=dtype, strict=False), "other": list(range(len(rows)))})
    if format == "t.xlsx" and table["x"].dtype.is_float():
        table = table.with_columns(x=pl.when(pl.col("x").is_finite()).then("x"))
    folder = tmp_path_factory.mktemp("table")
    source, target = written(table, folder / format), folder / f"out-{format}"
    before = snapshot(folder)
    more = [part for leak in ("step", "heaps", "atoms", "misfit") for part in ("--accept", leak)] if accept else []
    code, out, err = cli("release", plans(name), source, target, "--column", "x", *more)
    if code:
        sentence(code, out, err)
        assert snapshot(folder) == before
    else:
        assert err == ""
        said = cli("verify", target)
        assert said[0] == 0, (name, rows, said)
    shutil.rmtree(folder)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.integers(0, 40), min_size=1, max_size=9), name=st.sampled_from(["unit", "urn", "rank"]))
def test_a_few_counts_pass_verify_when_released(cli, tmp_path_factory, plans, rows, name):
    folder = tmp_path_factory.mktemp("counts")
    source, target = written(pl.DataFrame({"x": rows}), folder / "t.parquet"), folder / "out.parquet"
    accepted = [part for leak in ("step", "heaps", "atoms", "misfit") for part in ("--accept", leak)]
    code, *said = cli("release", plans(name), source, target, "--column", "x", *accepted)
    if code:
        sentence(code, *said)
    else:
        done(*cli("verify", target))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.sampled_from([*LABELS, None]), min_size=1, max_size=9))
def test_a_few_categories_pass_verify_when_released(cli, tmp_path_factory, plans, rows):
    folder = tmp_path_factory.mktemp("labels")
    source, target = written(pl.DataFrame({"x": rows}, schema={"x": pl.String}), folder / "t.csv"), folder / "o.csv"
    code, *said = cli("release", plans("category"), source, target, "--column", "x")
    if code:
        sentence(code, *said)
    else:
        done(*cli("verify", target))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_inspect_never_fails_on_a_small_table(cli, tmp_path_factory, data):
    size = data.draw(st.integers(0, 8))
    columns = {
        kind: pl.Series(data.draw(st.lists(values, min_size=size, max_size=size)), dtype=dtype, strict=False)
        for kind, (dtype, values) in COLUMNS.items()
    }
    folder = tmp_path_factory.mktemp("zoo")
    path = written(pl.DataFrame(columns), folder / data.draw(st.sampled_from(["t.parquet", "t.csv", "t.arrow"])))
    found = json.loads(done(*cli("inspect", path, "--json")))
    assert [report["column"] for report in found["columns"]] == list(COLUMNS)
    shutil.rmtree(folder)
