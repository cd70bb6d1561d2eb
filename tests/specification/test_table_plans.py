"""Plans of a table: several secrets of a column, links, files, and the command."""

import json

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.errors import PlanFileError, ProblemError, TargetError
from statveil.specification.plans_file import dump_table_plan, parse_table_plan

TEXT = """\
[budget]
max_risk = 0.3
[columns.wage]
hide = "mean"
prior = "10:500"
tolerance = 1
[columns.hours]
hide = "median"
prior = "0:1000"
tolerance = 2
max_risk = 0.2
[columns.pay]
derive = "wage * hours"
[columns.tax]
link = "wage"
factor = 0.19
"""


@pytest.fixture(scope="module")
def table():
    return sv.plan_specification(sv.Specification.from_toml(TEXT))


def column(text):
    return sv.Specification.from_toml(f"[columns.x]\n{text}")


def test_a_table_plan_speaks_and_survives_its_file(table, tmp_path):
    assert list(table.plans) == ["wage", "hours"]
    sv.save_table_plan(table, tmp_path / "plans.json")
    again = sv.load_table_plan(tmp_path / "plans.json")
    assert again == table
    assert (tmp_path / "plans.json").read_text() == dump_table_plan(again)
    said = str(table)
    assert all(
        word in said for word in ("wage", "hours", "mean", "median", "any", "all", "say nothing about each other")
    )


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("risk", lambda data: data.update(risk=data["risk"] / 2)),
        ("risk_kind", lambda data: data.update(risk_kind="simulated")),
        ("intersection", lambda data: data.update(intersection=0.0)),
        ("column_risks", lambda data: data["column_risks"].update(wage=0.01)),
        ("secrets", lambda data: data["secrets"][0].update(risk=0.01)),
        ("not those", lambda data: data["plans"].pop("wage")),
        ("its risk is not that", lambda data: data["plans"]["wage"].update(risk=0.01)),
        ("another problem", lambda data: data["specification"]["columns"]["wage"].update(tolerance="2")),
        ("not those", lambda data: data["specification"]["columns"].pop("wage")),
        ("above the budget", lambda data: data["specification"]["budget"].update(max_risk=0.25)),
        ("above its 0.1", lambda data: data["specification"]["columns"]["hours"].update(max_risk=0.1)),
        ("dependence", lambda data: data.update(dependence="none")),
        ("missing", lambda data: data.pop("plans")),
        ("version", lambda data: data.update(version=2)),
        ("format", lambda data: data.update(format="statveil-plan")),
        ("wrong kind", lambda data: data.update(secrets=None, risk=None, column_risks=3, plans=[])),
    ],
)
def test_a_changed_file_is_refused(table, key, change):
    data = table.to_json()
    change(data := json.loads(json.dumps(data)))
    with pytest.raises(PlanFileError) as refused:
        parse_table_plan(json.dumps(data))
    assert "\n" not in str(refused.value)
    assert key in str(refused.value) or key in ("wrong kind", "not those")


def test_swapped_plans_are_refused(table):
    data = table.to_json()
    data["plans"] = {"wage": data["plans"]["hours"], "hours": data["plans"]["wage"]}
    with pytest.raises(PlanFileError, match="another problem"):
        parse_table_plan(json.dumps(data))


def test_secrets_that_one_shift_moves_are_served_by_the_widest_tolerance():
    found = sv.plan_specification(
        column(
            'hide = [{secret = "mean", tolerance = 1}, {secret = "median", tolerance = 3}]\n'
            'prior = "0:1000"\nmax_risk = 0.2\n'
        )
    )
    mean, median = found.secrets
    # the bins serve the median's 3: 30 wide, so the mean's window of 2 is a third of that risk, but for the last bin
    assert found.distortions["x"] == pytest.approx(15, rel=0.01)
    assert median["risk"] == pytest.approx(0.2, rel=0.01)
    assert mean["risk"] == pytest.approx(median["risk"] / 3, rel=0.03)
    # both windows side by side in each bin catch their sum (theory 17.4)
    assert found.risk == pytest.approx(mean["risk"] + median["risk"])
    assert found.intersection == pytest.approx(mean["risk"])
    assert found.risk_kind == "upper bound"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('hide = ["mean", "std"]\nprior = "10:50"\ntolerance = 1\nmax_risk = 0.3\n', "tells the std"),
        (
            'hide = [{secret = "mean", prior = "0:9"}, {secret = "median", prior = "0:8"}]\ntolerance = 0.1\n'
            "max_risk = 0.3\n",
            "share a prior",
        ),
        (
            'hide = ["mean", "median"]\nprior = ["mu=0:9", "sigma=1:2"]\ntolerance = 0.1\nmax_risk = 0.3\n'
            'family = "gaussian"\n',
            "without a family",
        ),
    ],
)
def test_secrets_that_no_one_plan_serves_are_refused(text, words):
    with pytest.raises((ProblemError, TargetError), match=r"line 1: .*" + words):
        sv.plan_specification(column(text))


@pytest.mark.parametrize(
    "text",
    [
        'hide = ["mean", "std"]\nfamily = "gaussian"\nprior = ["mu=0:90", "sigma=10:70"]\ntolerance = 1\n',
        'hide = [{secret = "mean", prior = "0:90"}, {secret = "std", prior = "10:70"}]\ntolerance = 1\n',
    ],
)
def test_two_secrets_with_beliefs_of_their_own_have_bins_in_both(text):
    found = sv.plan_specification(column(text + "max_risk = 0.3\n"))
    mean, std = (one["risk"] for one in found.secrets)
    assert found.risk <= 0.3
    # independent beliefs, and each is released by its own bins (theory 17.4)
    assert found.risk == pytest.approx(1 - (1 - mean) * (1 - std), rel=1e-9)
    assert found.intersection == pytest.approx(mean * std, rel=1e-9)
    assert sv.TablePlan.from_json(found.to_json()) == found
    x = np.random.default_rng(1).normal(33, 21, 400)
    one, two = (sv.release(found, pl.DataFrame({"x": y}))["x"].to_numpy() for y in (x, 33 + 1.001 * (x - 33.001)))
    # nearly equal statistics are in one cell, and nothing but the cell is told of them
    assert np.mean(one) == pytest.approx(np.mean(two), abs=1e-4)
    assert np.std(one) == pytest.approx(np.std(two), abs=1e-4)
    assert abs(np.mean(one) - np.mean(x)) > 1e-3


def test_a_column_whose_rows_are_drawn_anew_moves_no_other():
    text = TEXT.replace("tolerance = 1\n", 'tolerance = 1\nshape = "lognorm(1)"\n')
    with pytest.raises(ProblemError, match=r"line 16: the column 'tax' cannot move with 'wage'"):
        sv.plan_specification(sv.Specification.from_toml(text))


def test_the_command_plans_a_table(cli, tmp_path, table):
    (tmp_path / "spec.toml").write_text(TEXT)
    code, out, err = cli("plan", "--spec", tmp_path / "spec.toml", "-o", tmp_path / "plans.json")
    assert (code, err) == (0, "")
    assert out.startswith(str(table))
    assert sv.load_table_plan(tmp_path / "plans.json") == table
    code, out, _ = cli("plan", "--spec", tmp_path / "spec.toml", "--json")
    assert (code, json.loads(out)) == (0, json.loads(dump_table_plan(table)))


@pytest.mark.parametrize(
    "given",
    [["--secret", "mean"], ["--prior", "0:9"], ["--max-risk", "0.1"], ["--method", "auto"], ["--grid", "9"],
     ["--known", "min=0"], ["--after", "plan.json"], ["--robust-to", "1:2"]],
)  # fmt: skip
def test_a_specification_and_options_are_not_mixed(cli, tmp_path, given):
    (tmp_path / "spec.toml").write_text(TEXT)
    code, out, err = cli("plan", "--spec", tmp_path / "spec.toml", *given)
    assert (code, out) == (2, "")
    assert given[0] in err
    assert err.count("\n") == 1


def test_a_plan_of_a_table_replaces_no_other_file(cli, tmp_path):
    place = tmp_path / "spec.toml"
    place.write_text(TEXT)
    code, _, err = cli("plan", "--spec", place, "-o", place)
    assert (code, place.read_text()) == (2, TEXT)
    assert "would be written over the specification" in err
    code, _, err = cli("plan", "--spec", tmp_path / "none.toml")
    assert code == 2
    assert "cannot read" in err
    place.write_text(TEXT.replace("tolerance = 1\n", "tolerance = -1\n"))
    code, _, err = cli("plan", "--spec", place)
    assert code == 2
    assert "line 6: " in err
