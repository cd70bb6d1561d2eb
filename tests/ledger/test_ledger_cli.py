"""The ledger's commands: what they print, what scripts get, and one sentence for everything that is refused."""

from __future__ import annotations

import json
import random
import re

import pytest

import statveil as sv

PROBLEM = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100)), secret=sv.Mean(), tolerance=1)
HEAD = re.compile(r"^ *head +([0-9a-f]{64})$", re.MULTILINE)


@pytest.fixture
def books(cli, tmp_path):
    """Where everything lies: two plans, a table, an empty ledger."""
    for width in (10, 7):
        sv.save_plan(sv.plan(PROBLEM, bin=width), tmp_path / f"{width}.json")
    rows = random.Random(2)
    (tmp_path / "t.csv").write_text("x\n" + "".join(f"{rows.gauss(50, 9)!r}\n" for _ in range(80)))
    code, out, _ = cli("ledger", "init", tmp_path / "books.db")
    assert code == 0
    assert HEAD.search(out)[1] == sv.Ledger(tmp_path / "books.db").head
    return tmp_path


def release(books, width, name, *more):
    return (
        *("release", books / f"{width}.json", books / "t.csv", books / name, "--column", "x"),
        *("--ledger", books / "books.db", "--dataset", "staff", *more),
    )


def test_a_budget_holds_over_releases_and_every_command_prints_the_head(cli, books):
    ledger = sv.Ledger(books / "books.db")
    code, out, _ = cli(*release(books, 10, "one.csv", "--budget", "0.3"))
    assert code == 0
    first = HEAD.search(out)[1]
    assert first == ledger.head
    assert "entry 3: joint risk of the mean of 'x' 0.2 (exact), budget 0.3" in out
    code, out, err = cli(*release(books, 7, "two.csv"))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for part in ("0.2 before", "0.430001 after", "budget is 0.3", "least distortion known that still fits is 4.5"):
        assert part in err
    assert not list(books.glob("two*"))
    assert ledger.head == first
    # the plan that is named does fit
    plan = ("plan", "--after", books / "10.json", "--max-risk", "0.3", "-o", books / "next.json")
    assert cli(*plan)[0] == 0
    code, out, _ = cli(*release(books, "next", "two.csv"))
    assert code == 0
    assert "joint risk of the mean of 'x' 0.3 (" in out.replace("0.300001", "0.3")
    for command in ("show", "verify"):
        code, out, _ = cli("ledger", command, books / "books.db")
        assert code == 0
        assert HEAD.search(out)[1] == ledger.head
    code, out, _ = cli("ledger", "verify", books / "books.db", "--head", first)
    assert code == 0
    assert "unchanged up to entry 4, whose head was given; 2 came after" in out
    budget = ("ledger", "budget", books / "books.db", "--dataset", "staff", "--column", "x", "--secret", "mean")
    code, out, _ = cli(*budget, "--max-risk", "0.5")
    assert code == 0
    assert HEAD.search(out)[1] == ledger.head
    assert cli(*release(books, 7, "three.csv"))[0] == 0
    out = cli("ledger", "show", books / "books.db")[1]
    assert "budgets    as they were set: mean 0.3 (entry 2), mean 0.5 (entry 7)" in out
    assert cli("ledger", "resolve", books / "books.db")[1].startswith("Nothing is unfinished.")


def test_json(cli, books):
    ledger = sv.Ledger(books / "books.db")
    said = json.loads(cli(*release(books, 10, "one.csv", "--audience", "partner", "--json"))[1])["ledger"]
    (account,) = said.pop("accounts")
    assert said == {
        "file": str(books / "books.db"),
        "dataset": "staff",
        "audience": "partner",
        "entries": [2],
        "head": ledger.head,
    }
    assert (account["secret"], account["before"], account["after"], account["budget"]) == ("mean", 0.02, 0.2, None)
    found = json.loads(cli("ledger", "show", books / "books.db", "--json")[1])
    (column,) = found["columns"]
    assert (found["entries"], found["head"]) == (3, ledger.head)
    assert (column["done"], column["pending"], column["abandoned"], column["different_plans"]) == (1, 0, 0, 1)
    assert column["secrets"][0]["risk"] == 0.2
    assert json.loads(cli("ledger", "show", books / "books.db", "--dataset", "other", "--json")[1])["columns"] == []
    code, out, _ = cli("ledger", "verify", books / "books.db", "--head", "0" * 64, "--json")
    checked = json.loads(out)
    assert (code, checked["ok"], checked["head_known_at"], len(checked["wrong"])) == (1, False, None, 1)
    budget = ("ledger", "budget", books / "books.db", "--dataset", "staff", "--column", "x", "--secret", "mean")
    said = json.loads(cli(*budget, "--max-risk", "0.4", "--json")[1])
    assert (said["entry"], said["max_risk"], said["head"]) == (4, 0.4, ledger.head)
    entered = ledger.enter(sv.load_plan(books / "10.json"), dataset="staff", column="x")
    resolved = json.loads(cli("ledger", "resolve", books / "books.db", "--json")[1])["resolved"]
    assert resolved == [{"entry": entered, "state": "pending"}]
    by_hand = ("ledger", "resolve", books / "books.db", "--entry", entered, "--as", "abandoned", "--json")
    assert json.loads(cli(*by_hand)[1])["resolved"] == [{"entry": entered, "state": "abandoned"}]
    assert "ledger" not in json.loads(
        cli("release", books / "10.json", books / "t.csv", books / "o.csv", "--column", "x", "--json")[1]
    )


def test_equal_bytes_and_one_record_prove_that_the_rows_are_the_same(cli, books):
    note = "only the name 'staff' says that they did not change"
    assert "the first entry of 'x' of 'staff'" in cli(*release(books, 10, "one.csv", "--seed", "3"))[1]
    assert note not in cli(*release(books, 10, "two.csv", "--seed", "3"))[1]
    assert (books / "one.csv").read_bytes() == (books / "two.csv").read_bytes()
    assert note in cli(*release(books, 10, "drawn.csv"))[1], "its blur is another one"
    assert note in cli(*release(books, 7, "three.csv", "--record", books / "r.json"))[1]
    assert note not in cli(*release(books, 7, "four.csv", "--record", books / "r.json", "--round", "3"))[1]


@pytest.mark.parametrize("what", ["one.csv", "t.csv", "10.json", "r.json", "one.csv.card.json"])
def test_a_ledger_has_a_place_of_its_own(cli, books, what):
    """It may be neither input, plan, record, output nor card."""
    release_it = list(release(books, 10, "one.csv", "--record", books / "r.json", "--overwrite"))
    taken = books / what
    if what in ("t.csv", "10.json"):
        release_it[release_it.index("--ledger") + 1] = taken
    else:
        (books / "books.db").rename(taken)
        release_it[release_it.index("--ledger") + 1] = taken
    before = {path.name: path.read_bytes() for path in books.iterdir()}
    code, out, err = cli(*release_it)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "would be written over" in err or "is no ledger" in err
    assert {path.name: path.read_bytes() for path in books.iterdir()} == before


def test_an_output_beside_the_ledger_may_not_take_its_journals_name(cli, books):
    (books / "out.csv").symlink_to(books / "books.db-journal")
    code, _, err = cli(*release(books, 10, "out.csv"))
    assert code == 2
    assert "books.db-journal would be written over the output" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("ledger", "init", "books.db"), "exists, and a ledger is never replaced"),
        (("ledger", "show", "none.db"), "there is no ledger none.db; make one with 'statveil ledger init none.db'"),
        (("ledger", "show", "t.csv"), "t.csv is no ledger"),
        (("ledger", "verify", "books.db", "--head", "abc"), "64 hexadecimal digits"),
        (("ledger", "resolve", "books.db", "--entry", "7"), "--entry and --as go together"),
        (("ledger", "resolve", "books.db", "--entry", "1", "--as", "done"), "entry 1 is no unfinished release"),
        (("ledger", "budget", "books.db"), "'statveil ledger budget --help' shows what it takes"),
        (("ledger", "nonsense"), "No such command 'nonsense'"),
        (
            ("ledger", "budget", "books.db", "--dataset", "d", "--column", "c", "--secret", "mode", "--max-risk", ".2"),
            "unknown secret 'mode'",
        ),
        (
            ("ledger", "budget", "books.db", "--dataset", "d", "--column", "c", "--secret", "mean", "--max-risk", "2"),
            "above 0 and at most 1. Got 2",
        ),
        (("release", "10.json", "t.csv", "o.csv", "--column", "x", "--budget", "0.2"), "name it with --ledger"),
        (("release", "10.json", "t.csv", "o.csv", "--column", "x", "--ledger", "books.db"), "name it with --dataset"),
        (
            ("release", "10.json", "t.csv", "o.csv", "--column", "x", "--ledger", "no.db", "--dataset", "d"),
            "there is no ledger no.db",
        ),
        (
            ("release", "10.json", "t.csv", "o.csv", "--column", "x", "--ledger", "books.db", "--dataset", " d"),
            "the dataset must be a name",
        ),
    ],
)
def test_what_is_refused_is_one_sentence(cli, books, monkeypatch, arguments, says):
    monkeypatch.chdir(books)
    before = {path.name: path.read_bytes() for path in books.iterdir()}
    code, out, err = cli(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert {path.name: path.read_bytes() for path in books.iterdir()} == before
