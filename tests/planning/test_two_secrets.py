"""Plans that hide two secrets, from the command line to released tables."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.plan_file import dump_plan, parse_plan
from statveil.spoken import describe

pytestmark = pytest.mark.usefixtures("no_optimum")

MEAN = ["--secret", "mean", "--prior", "10:50", "--tolerance", "1"]
STD = ["--also", "std; prior=5:20; tolerance=0.5"]


def problem(place=None, spread=None, family=None, eps=(1.0, 0.5)):
    return sv.Problem(
        family=family,
        secret=place or sv.Mean(),
        prior=(10, 50),
        tolerance=eps[0],
        also=[sv.Also(spread or sv.Std(), (5, 20), tolerance=eps[1])],
    )


@pytest.fixture(scope="module")
def plan():
    return sv.plan(problem(), max_risk=0.4)


def test_a_plan_file_says_the_same_again_and_what_was_changed_in_it_is_refused(plan):
    text = dump_plan(plan)
    assert dump_plan(parse_plan(text)) == text
    data = json.loads(text)
    assert data["risk_union"] == data["risk"] == plan.risk
    assert [one["secret"] for one in data["secrets"]] == ["mean", "std"]
    assert data["risk_intersection"] == pytest.approx(data["secrets"][0]["risk"] * data["secrets"][1]["risk"])
    for change in (
        {"risk": 0.3},
        {"risk_union": 0.3},
        {"risk_intersection": 0.001},
        {"secrets": [data["secrets"][0]]},
        {"secrets": [data["secrets"][0], {**data["secrets"][1], "risk": 0.01}]},
        {"secrets": None},
        {"secrets": 0},
        {"secrets": [1, 0.5]},
        {"distortion": 1.0},
        {"mode": "shift"},
        {"method": "interval"},
        {"mechanism": {"kind": "tiles", "axes": {"mean": data["mechanism"]["axes"]["mean"]}}},
        {"mechanism": {"kind": "tiles", "axes": {**data["mechanism"]["axes"], "iqr": {}}}},
        {"problem": {**data["problem"], "also": []}},
        {"problem": {**data["problem"], "also": [{"secret": {"kind": "std"}, "tolerance": 0.5}]}},
        {"problem": {**data["problem"], "tolerance": 3.0}},
    ):
        with pytest.raises(sv.PlanFileError):
            parse_plan(json.dumps({**data, **change}))


@pytest.mark.parametrize("family", [None, sv.Gaussian()])
def test_played_attackers_hit_either_and_each_as_often_as_is_said(family):
    made = sv.plan(problem(family=family), max_risk=0.4)
    plans = [made, *(made.for_secret(name) for name in ("mean", "std"))]
    rates = [(sv.simulate(each, trials=8_000, seed=seed), each.risk) for seed, each in enumerate(plans)]
    for rate, stated in rates:
        assert rate.low <= stated <= rate.high + 0.01


COLUMNS = {
    "skewed": lambda rng: rng.gumbel(22.0, 14.0, 3000),
    "two humps": lambda rng: np.append(rng.normal(15, 3, 1500), rng.normal(45, 4, 900)),
    "normal": lambda rng: rng.normal(30, 12, 2000),
}
MEASURED = {
    "mean": np.mean,
    "std": np.std,
    "median": np.median,
    "quantile:0.8": lambda x: np.quantile(x, 0.8),
    "iqr": lambda x: np.subtract(*np.quantile(x, [0.75, 0.25])),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(
    ("place", "spread", "family"),
    [
        (sv.Mean(), sv.Std(), None),
        (sv.Std(), sv.Mean(), None),
        (sv.Quantile(0.8), sv.Std(), None),
        (sv.Median(), sv.Iqr(), sv.Gaussian()),
    ],
)
def test_a_released_column_has_both_statistics_of_its_rectangle_and_moves_no_farther(name, place, spread, family):
    values = COLUMNS[name](np.random.default_rng(4))
    asked = sv.Problem(
        family=family,
        secret=place,
        prior=(5, 60),
        tolerance=1,
        also=[sv.Also(spread, (4, 62), tolerance=0.5)],
    )
    made = sv.plan(asked, max_risk=0.5)
    released = sv.release(made, values)
    own = {one.secret.label: float(MEASURED[one.secret.label](values)) for one in asked.each}
    wanted = made.apply(own).released
    for label in own:
        assert MEASURED[label](np.asarray(released)) == pytest.approx(float(wanted[label]), rel=2e-6)
    if family is None:  # in words: whatever the shape
        moved = np.abs(np.sort(np.asarray(released)) - np.sort(values)).mean()
        assert moved <= made.distortion


def test_two_tables_of_one_rectangle_give_the_same_release(plan):
    values = np.random.default_rng(1).normal(0, 1, 1000)
    values = (values - values.mean()) / values.std()
    low = {name: bins.edges()[1] for name, bins in plan.mechanism.axes.items()}
    tables = [low["mean"] + at + (low["std"] + wide) * values for at, wide in ((0.3, 0.4), (6.1, 3.7))]
    one, two = (np.asarray(sv.release(plan, table, seed=3)) for table in tables)
    assert np.abs(one - two).max() <= 1e-5 * np.abs(one).max()


def test_from_the_command_line_to_a_table_that_is_verified(cli, tmp_path):
    plan_file, source, out = tmp_path / "p.json", tmp_path / "in.csv", tmp_path / "out.csv"
    code, said, err = cli("plan", *MEAN, *STD, "--max-risk", "0.4", "-o", plan_file)
    assert (code, err) == (0, "")
    assert "Hides the mean and the std of a column of any shape." in said
    assert "the mean within 1, or the std within 0.5" in said
    values = COLUMNS["skewed"](np.random.default_rng(2))
    pl.DataFrame({"x": values}).write_csv(source)
    assert cli("release", plan_file, source, out, "--column", "x", "--record", tmp_path / "r.json")[0] == 0
    assert cli("verify", out)[0] == 0
    card = json.loads((tmp_path / "out.csv.card.json").read_text())
    assert [one["secret"] for one in card["guarantee"]["secrets"]] == ["mean", "std"]
    assert "Alone: the mean at most" in card["guarantee"]["says"]
    assert any("does not depend on its std" in line for line in card["assumptions"])
    code, said, _ = cli("apply", plan_file, "--at", "mean=27,std=12", "--json")
    assert (code, json.loads(said)["released"]) == (0, {"mean": 30.0, "std": 12.5})
    code, said, _ = cli("simulate", plan_file, "--trials", "2000", "--seed", "1", "--json")
    assert [one["secret"] for one in json.loads(said)["secrets"]] == ["mean", "std"]
    # a column of another spread is none that the plan releases
    changed = pl.read_csv(out)["x"].to_numpy()
    pl.DataFrame({"x": changed.mean() + 1.02 * (changed - changed.mean())}).write_csv(out)
    assert cli("verify", out)[0] != 0


def test_an_audit_attacks_one_secret_at_a_time(plan):
    values = COLUMNS["skewed"](np.random.default_rng(2))
    released = sv.release(plan, values)
    with pytest.raises(sv.ProblemError, match="mean and std"):
        sv.audit(plan, values, released, column=None, trials=200)
    with pytest.raises(sv.ProblemError, match="secret of this plan"):
        sv.audit(plan, values, released, column=None, trials=200, secret="iqr")
    found = sv.audit(plan, values, released, column=None, trials=200, secret="std", attackers=["bayes"], seed=1)
    assert found.secret == "std"
    assert not found.leaks
    claimed = plan.for_secret("std").risk
    best = next(one for one in found.findings if one.attacker == "bayes")
    assert best.low <= claimed <= best.high + 0.02


def test_words_of_other_pairs():
    made = sv.plan(problem(sv.Quantile(0.9), sv.Iqr(), sv.Gaussian()), max_risk=(0.3, 0.2))
    said = describe(made)
    assert "the quantile:0.9 within 1, or the iqr within 0.5" in said
    assert "0.44" in said
    assert "The shape" not in said


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([*MEAN, *STD, "--secret", "std", "--max-risk", "0.4"], "given twice"),
        ([*MEAN, *STD, *STD, "--max-risk", "0.4"], "Got 2"),
        ([*MEAN, "--also", "std", "--max-risk", "0.4"], "needs a tolerance"),
        ([*MEAN, "--also", "std; tolerance=1", "--max-risk", "0.4"], "prior of the std is missing"),
        ([*MEAN, "--also", "std; prior=5:20; tolerance=5%", "--max-risk", "0.4"], "own unit"),
        ([*MEAN, "--also", "std; prior=sigma=5:20; tolerance=1", "--max-risk", "0.4"], "without a name"),
        ([*MEAN, "--also", "std; width=5; tolerance=1", "--max-risk", "0.4"], "each part once"),
        ([*MEAN, "--also", "nonsense; prior=5:20; tolerance=1", "--max-risk", "0.4"], "unknown secret"),
        ([*MEAN, *STD, "--max-risk", "0.4,x"], "must be a number"),
        ([*MEAN, *STD, "--max-risk", "0.4", "--known", "min=0"], "Got min=0"),
        ([*MEAN, *STD, "--max-risk", "0.01"], "smallest reachable"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(cli, arguments, word):
    code, out, err = cli("plan", *arguments)
    assert (code, out) == (2, "")
    assert word in err
    assert "Traceback" not in err


def test_other_questions_of_two_secrets(cli, tmp_path):
    code, out, _ = cli("limits", *MEAN, *STD, "--max-risk", "0.2", "--json")
    # four windows of the mean, 2 gamma eps = 1 each, and four of the std, 0.5 each: the larger counts
    assert (code, json.loads(out)["lower_bound"]) == (0, 4.0)
    for i, risk in enumerate(("0.3", "0.5")):
        assert cli("plan", *MEAN, *STD, "--max-risk", risk, "-o", tmp_path / f"{i}.json")[0] == 0
    code, out, _ = cli("compose", tmp_path / "0.json", tmp_path / "1.json")
    assert code == 0
    assert "mean or std, each within its own tolerance" in out
