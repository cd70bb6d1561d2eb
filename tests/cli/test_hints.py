"""What an error advises: it names what was wrong in the words that were typed, and what is advised works."""

import json
import sys
from pathlib import Path

import pytest

CATEGORICAL = ["plan", "--family", "categorical", "--labels", "open,closed"]
MEAN = ["plan", "--secret", "mean", "--prior", "30:70"]
REST = ["--tolerance", "1", "--max-risk", "0.2"]


@pytest.fixture
def refused(cli):
    def call(*command):
        code, out, err = cli(*command)
        assert (code, out, err.count("\n")) == (2, "", 1), (command, out, err)
        return err

    return call


# --- shares of categories -------------------------------------------------------------------------
@pytest.mark.parametrize(
    "more", [[], ["--tolerance", "0.01"], ["--labels", "open,closed", "--tolerance", "5%", "--max-risk", "0.2"]]
)
def test_a_category_takes_no_prior_and_that_is_said_first(refused, more):
    command = ["plan", "--family", "categorical", "--secret", "fraction:closed", "--prior", "closed=0.2:0.7", *more]
    said = refused(*command)
    assert "the family 'categorical' takes no prior ranges: every share is as likely as any other" in said
    assert "leave out the prior (--prior)" in said


def test_every_command_of_a_problem_says_so(refused):
    for command in (["limits"], ["frontier"], ["tiers", "--max-risk", "0.1,0.2"]):
        said = refused(*command, *CATEGORICAL[1:], "--prior", "closed=0.2:0.7", "--secret", "fraction:closed")
        assert "leave out the prior (--prior)" in said


def test_no_advice_about_a_share_leads_into_another_refusal(cli, refused):
    ask = [*CATEGORICAL, "--secret", "fraction:closed"]
    said = refused(*ask, "--tolerance", "5%", "--max-risk", "0.2")
    assert "leave out the family" not in said
    assert "write 0.05 for 5 percentage points" in said
    said = refused(*ask, "--tolerance", "0.05", "--max-risk", "0.01")
    assert "the smallest reachable risk is 0.1" in said
    assert "prior" not in said
    assert cli(*ask, "--tolerance", "0.05", "--max-risk", "0.1")[0] == 0


def test_where_there_are_beliefs_a_wider_one_is_advised(refused):
    assert "wider prior" in refused(*MEAN[:-1], "49:51", "--tolerance", "1", "--max-risk", "0.1")


@pytest.mark.parametrize("word", ["share", "proportion"])
def test_a_share_is_a_fraction(cli, word):
    rest = ["--tolerance", "0.01", "--max-risk", "0.2", "--json"]
    found = cli(*CATEGORICAL, "--secret", f"{word}:closed", *rest)
    assert found == cli(*CATEGORICAL, "--secret", "fraction:closed", *rest)
    assert json.loads(found[1])["problem"]["secret"]["category"] == "closed"


# --- per cent ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("abc", "must be a number in the unit of the statistic, or a share such as 5%. Got 'abc'."),
        ("5%%", "or a share such as 5%. Got '5%%'; write 5%."),
        ("5 % %", "Got '5 % %'; write 5%."),
        ("2,5%", "Got '2,5%'; write 2.5%."),
        ("%", "or a share such as 5%. Got '%'."),
        ("1.000,5", "write 1000.5"),
    ],
)
def test_a_tolerance_may_be_a_share_and_the_error_knows(refused, text, words):
    assert words in refused(*MEAN, "--tolerance", text, "--max-risk", "0.2")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ([*MEAN, "--tolerance", "1", "--max-risk", "20%"], "Got '20%'; write 0.2."),
        ([*MEAN, "--tolerance", "1", "--max-risk", "20%%"], "Got '20%%'; write 0.2."),
        (["limits", *MEAN[1:], "--tolerance", "1", "--max-risk", "20 %"], "Got '20 %'; write 0.2."),
        (["tiers", *MEAN[1:], "--tolerance", "1", "--max-risk", "10%,20%"], "Got '10%'; write 0.1."),
        (["plan", "--secret", "quantile:95%", "--prior", "30:70", *REST], "Got '95%'; write 0.95."),
        (["plan", "--secret", "trimmed-mean:5%", "--prior", "30:70", *REST], "Got '5%'; write 0.05."),
        (["simulate", "plan.json", "--confidence", "99%"], "Got '99%'; write 0.99."),
        (["series", "plan.json", "--drift", "normal(0,1)", "--max-risk", "30%"], "Got '30%'; write 0.3."),
        (["ledger", "budget", "b.db", "--dataset", "d", "--column", "c", "--secret", "mean", "--max-risk", "40%"],
         "Got '40%'; write 0.4."),
        (["release", "plan.json", "t.csv", "o.csv", "--column", "c", "--ledger", "b.db", "--dataset", "d", "--budget",
          "50%"], "Got '50%'; write 0.5."),
    ],
)  # fmt: skip
def test_a_part_of_one_is_not_in_the_unit_of_the_statistic(cli, refused, tmp_path, monkeypatch, command, words):
    monkeypatch.chdir(tmp_path)
    assert cli("ledger", "init", "b.db")[0] == 0
    assert cli(*MEAN, *REST, "-o", "plan.json")[0] == 0
    Path("t.csv").write_text("c\n1\n2\n")
    said = refused(*command)
    assert words in said
    assert "unit of the statistic" not in said


def test_a_share_of_what_may_be_0_names_the_cause(refused, cli):
    ask = ["plan", "--secret", "mean", "--prior=-5:5", "--max-risk", "0.2", "--tolerance"]
    said = refused(*ask, "0.5%")
    assert "a number above 0), as a tolerance in per cent is a share of it. Got -5:5;" in said
    assert "or state the tolerance in the unit of the statistic" in said
    assert cli(*ask, "0.5")[0] == 0
    # a spread is above 0 whatever the tolerance is
    assert "per cent" not in refused(
        "plan", "--secret", "std", "--prior=-5:5", "--max-risk", "0.2", "--tolerance", "5%"
    )


# --- a prior without a name -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ("30-70", "the prior must be a number or a range LO:HI. Got '30-70'; write 30:70 for a range."),
        ("abc", "the prior must be a number or a range LO:HI. Got 'abc'."),
        ("70:30", "the range of the prior is reversed. Got 70:30; write the smaller end first."),
        ("30:30", "the range of the prior is empty. Got 30:30;"),
        ("30:x", "the upper end of the prior must be a number. Got 'x'."),
        ("30:70~norm", "the part after '~' in the prior must look like normal(M,S)."),
        ("between(30,70)", "the prior must look like between(A,B,0.9), without a range"),
        ("30:70~log(2)", "the prior must look like LO:HI~log, without arguments. Got '30:70~log(2)'."),
        ("30:70~slope(1,2)", "the prior must look like LO:HI~slope(L). Got '30:70~slope(1,2)'."),
        ("~normal(1,2)", "the prior needs a range to which normal(...) is cut. Got '~normal(1,2)'."),
    ],
)
def test_who_gave_no_name_reads_of_none(refused, prior, words):
    said = refused("plan", "--secret", "mean", f"--prior={prior}", *REST)
    assert words in said
    assert "value" not in said


def test_two_priors_without_a_name(refused):
    said = refused(*MEAN, "--prior", "40:50", *REST)
    assert "the prior is given twice; keep one of them." in said


def test_who_gave_a_name_reads_it(refused):
    said = refused("plan", "--family", "location", "--secret", "mean", "--prior", "mean=30-70", *REST)
    assert "the prior of 'mean' must be a number or a range LO:HI. Got '30-70'; write mean=30:70 for a range." in said


# --- files ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("content", ["hello", "{}", '{"format": "statveil-plan"}'])
@pytest.mark.parametrize("more", [[], ["--overwrite"]])
def test_a_file_in_the_place_of_the_card_stands_in_the_way(cli, refused, tmp_path, monkeypatch, content, more):
    monkeypatch.chdir(tmp_path)
    assert cli(*MEAN, *REST, "-o", "plan.json")[0] == 0
    Path("t.csv").write_text("c\n1\n2\n")
    Path("o.csv.card.json").write_text(content)
    said = refused("release", "plan.json", "t.csv", "o.csv", "--column", "c", *more)
    assert "o.csv.card.json is not a" in said
    assert "It stands in the way of the card; move it away, or give another name." in said
    assert not Path("o.csv").exists()


@pytest.mark.parametrize("installed", [True, False])
def test_an_unknown_kind_of_database_is_told_from_a_missing_library(refused, monkeypatch, installed):
    if installed:
        pytest.importorskip("sqlalchemy")
    else:
        monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    said = refused("inspect", "foo://h/db?table=w")
    assert "no database is known as 'foo'. Known are duckdb, postgresql, sqlite and" in said
    assert "a file is given by its path, without '://'" in said
    if not installed:
        assert "needs SQLAlchemy" in refused("inspect", "mysql://h/db?table=w").replace("need ", "needs ")
