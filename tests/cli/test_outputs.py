"""What ``-o`` may replace: an earlier output of its own kind, and nothing else."""

import contextlib
import json
import random
import shutil
import sys
from pathlib import Path
from unittest import mock

import pytest

import statveil as sv
from statveil.cli.main import run

ASK = ["--secret", "mean", "--prior", "60:200", "--tolerance", "2", "--known", "step=0.01", "--max-risk"]
TRIED = ["--trials", "200", "--seed", "1"]


def run_all(*commands):
    for command in commands:
        with mock.patch.object(sys, "argv", ["statveil", *command]), pytest.raises(SystemExit) as ended:
            run()
        assert ended.value.code == 0, command


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table, its plan, a release with its card and record, a specification and two reports."""
    folder = tmp_path_factory.mktemp("made")
    drawn = random.Random(5)
    with contextlib.chdir(folder):
        Path("in.csv").write_text("v\n" + "".join(f"{drawn.gauss(130, 10):.2f}\n" for _ in range(400)))
        Path("notes.txt").write_text("notes\n")
        Path("spec.toml").write_text("[columns.v]\nkeep = true\n")
        Path("plan.json").write_text("")  # an empty file has nothing to lose
        run_all(
            ["plan", *ASK, "0.2", "-o", "plan.json"],
            ["release", "plan.json", "in.csv", "out.csv", "--column", "v", "--record", "private.json"],
            ["report", "--plan", "plan.json", "-o", "report.html"],
            ["report", "--plan", "plan.json", "--public", "-o", "public.html"],
        )
    return folder


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """The same files, to work with."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(cli, *command):
    """The one sentence of a command that must change nothing."""
    before = contents(Path())
    code, out, err = cli(*command)
    assert (code, out, err.count("\n")) == (2, "", 1), (command, out, err)
    assert contents(Path()) == before
    return err


AUDIT = ["audit", "plan.json", "in.csv", "out.csv", "--column", "v", *TRIED, "-o"]
FRONTIER = ["frontier", *ASK[:-1], "--points", "3", "--overwrite", "-o"]
COMPARE = ["compare", "in.csv", "--column", "v", "--secret", "mean", "-o"]
REPORT = ["report", "--plan", "plan.json", "-o"]
OTHERS = (
    "in.csv",
    "out.csv",
    "out.csv.card.json",
    "private.json",
    "plan.json",
    "spec.toml",
    "notes.txt",
    "public.html",
)


KEPT = [
    (command, other)
    for command in (AUDIT, REPORT, ["plan", *ASK, "0.3", "-o"], [*AUDIT[:-1], "--overwrite", "-o"])
    for other in OTHERS
    if (command[0], other) != ("plan", "plan.json")
]


@pytest.mark.parametrize(("command", "other"), KEPT)
def test_no_file_of_another_kind_is_replaced(cli, place, command, other):
    said = refused(cli, *command, other)
    assert "would be written over" in said or "exists and is not" in said
    assert other in said


@pytest.mark.parametrize(
    ("command", "output", "read"),
    [
        (AUDIT, "in.csv", "the original table"),
        (AUDIT, "out.csv.card.json", "the card of the released table"),
        ([*AUDIT[:-1], "--record", "notes.txt", "-o"], "notes.txt", "the record"),
        ([*AUDIT[:-1], "--known", "release=plan.json:notes.txt", "-o"], "notes.txt", "the other table"),
        ([*REPORT[:-1], "--card", "out.csv.card.json", "-o"], "out.csv.card.json", "the card"),
        (["plan", "--after", "plan.json", "--max-risk", "0.4", "--overwrite", "-o"], "plan.json", "the plan"),
        (["plan", "--spec", "spec.toml", "-o"], "spec.toml", "the specification"),
        ([*COMPARE[:-1], "--overwrite", "-o"], "in.csv", "the original table"),
        (
            ["frontier", "--family", "shape:in.csv:v", *ASK[:-1], "--overwrite", "-o"],
            "in.csv",
            "the public table",
        ),
        (["inspect", "in.csv", "--spec", "-o"], "in.csv", "the original table"),
    ],
)
def test_nothing_that_a_command_reads_is_written_over(cli, place, command, output, read):
    said = refused(cli, *command, output)
    assert f"the output {output} would be written over {read} {output}; give it another name." in said


def test_a_link_to_what_is_read_is_no_way_around(cli, place):
    Path("link.csv").symlink_to("in.csv")
    assert "would be written over the public table in.csv" in refused(
        cli, "frontier", "--shape", "in.csv:v", *ASK[:-1], "--overwrite", "-o", "link.csv"
    )


@pytest.mark.parametrize("name", ["table.csv", "picture.svg", "picture.png", "page.html"])
@pytest.mark.parametrize("command", [[*FRONTIER[:-2], "-o"], COMPARE])
def test_what_tells_nothing_of_its_kind_is_kept(cli, place, command, name):
    Path(name).write_text("somebody's\n")
    assert f"{name} exists and is kept; give another name, or --overwrite." in refused(cli, *command, name)


def test_overwrite_replaces_it(cli, place):
    Path("table.csv").write_text("somebody's\n")
    assert cli(*FRONTIER, "table.csv")[0] == 0
    assert Path("table.csv").read_text().startswith("method,distortion,risk")


def test_a_plan_stays_unless_it_is_the_same_or_asked_for(cli, place):
    before = Path("plan.json").read_bytes()
    assert cli("plan", *ASK, "0.2", "-o", "plan.json")[0] == 0
    assert Path("plan.json").read_bytes() == before
    said = refused(cli, "plan", *ASK, "0.3", "-o", "plan.json")
    assert "plan.json holds another plan, and is kept; give another name, or --overwrite." in said
    assert cli("plan", *ASK, "0.3", "--overwrite", "-o", "plan.json")[0] == 0
    assert sv.load_plan("plan.json").risk > json.loads(before)["risk"]


def test_the_plans_of_a_table_stay_as_well(cli, place):
    spec = 'shuffle = false\nothers = "keep"\n[budget]\nmax_risk = {}\n[columns.v]\nhide = "mean"\nprior = "60:200"\n'
    spec += 'tolerance = 2\nknown = "step=0.01"\n'
    Path("spec.toml").write_text(spec.format(0.2))
    assert cli("plan", "--spec", "spec.toml", "-o", "plans.json")[0] == 0
    assert cli("plan", "--spec", "spec.toml", "-o", "plans.json")[0] == 0
    Path("spec.toml").write_text(spec.format(0.3))
    assert "plans.json holds another plan" in refused(cli, "plan", "--spec", "spec.toml", "-o", "plans.json")
    # the plan of a column and the plans of a table are two kinds
    assert "exists and is not a plan;" in refused(cli, "plan", *ASK, "0.2", "-o", "plans.json")
    assert "exists and is not a plan of a table" in refused(cli, "plan", "--spec", "spec.toml", "-o", "plan.json")
    assert cli("plan", "--spec", "spec.toml", "--overwrite", "-o", "plans.json")[0] == 0


def test_a_report_is_replaced_by_one_for_the_same_readers_alone(cli, place):
    assert "report.html exists and is not a public report" in refused(
        cli, "report", "--plan", "plan.json", "--public", "-o", "report.html"
    )
    assert "public.html exists and is not a private report" in refused(cli, *REPORT, "public.html")
    assert cli(*REPORT, "report.html", "--column", "speed")[0] == 0
    assert "speed" in Path("report.html").read_text()


@pytest.mark.parametrize("name", ["audit.json", "audit.html"])
@pytest.mark.heavy(1)
def test_an_audit_is_replaced_by_one_of_the_same_release(cli, place, name):
    assert cli(*AUDIT, name)[0] == 0
    first = Path(name).read_bytes()
    assert cli(*AUDIT[:-2], "2", "-o", name)[0] == 0
    assert Path(name).read_bytes() != first
    Path("other.csv").write_bytes(Path("out.csv").read_bytes())
    other = ["audit", "plan.json", "in.csv", "other.csv", "--column", "v", *TRIED, "-o", name]
    said = refused(cli, *other)
    assert f"{name} holds the audit of another release, and is kept; give another name, or --overwrite." in said
    assert cli(*other, "--overwrite")[0] == 0
    # an audit is no report: both are private pages
    if name == "audit.html":
        assert "exists and is not a private report" in refused(cli, *REPORT, name)
        assert "exists and is not an audit" in refused(cli, *AUDIT, "report.html")


@pytest.mark.parametrize(
    "command",
    [
        [*AUDIT, "no/such/audit.json"],
        [*FRONTIER, "no/such/frontier.csv"],
        [*COMPARE, "no/such/compare.csv"],
        [*REPORT, "no/such/report.html"],
        ["plan", *ASK, "0.2", "-o", "no/such/plan.json"],
        ["plan", "--spec", "spec.toml", "-o", "no/such/plans.json"],
        ["inspect", "in.csv", "--spec", "-o", "no/such/spec.toml"],
        ["tiers", *ASK, "0.1,0.2", "-o", "no/such/tiers"],
        ["release", "plan.json", "in.csv", "new.csv", "--column", "v", "--record", "no/such/private.json"],
        ["release", "plan.json", "in.csv", "no/such/out.csv", "--column", "v"],
        ["release", "plan.json", "in.csv", "sqlite:///o.db?table=t", "--column", "v", "--record", "no/such/r.json"],
    ],
)
def test_a_folder_that_is_not_there_is_named(cli, place, command):
    said = refused(cli, *command)
    output = next(word for word in reversed(command) if word.startswith("no/such"))
    assert said == f"statveil: cannot write {output}: there is no folder no/such.\n"


def test_the_record_is_not_written_over_the_plan_which_is_named_once(cli, place):
    said = refused(cli, "release", "plan.json", "in.csv", "new.csv", "--column", "v", "--record", "plan.json")
    assert said == "statveil: the record plan.json would be written over the file plan.json; give it another name.\n"
