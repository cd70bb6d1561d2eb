"""Public shapes on the command line, in plan files and in released columns; what is refused, in one sentence each."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.auditing.redraw import redrawn
from statveil.plan_file import load_plan, save_plan

ASKED = ["--prior", "mean=20:60", "--prior", "std=5:40", "--secret", "std", "--tolerance", "1", "--max-risk", "0.25"]


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "public.csv"
    rows = np.random.default_rng(1).gamma(2.0, 3.0, 3_000)
    pl.DataFrame(
        {"income": rows, "same": np.full(3_000, 4.0), "word": ["a"] * 3_000, "none": [None] * 3_000}
    ).write_csv(path)
    return path


# --- what is refused ----------------------------------------------------------------------------------------------
BAD = {
    "shape": "needs a public shape",
    "shape:": "needs a public shape",
    "shape:lognorn(1)": "did you mean 'lognorm'",
    "shape:levy_stable(1.5,0)": "unknown shape",
    "shape:rv_continuous": "unknown shape",
    "shape:poisson(3)": "unknown shape",
    "shape:lognorm": "is written lognorm(s): 1 number",
    "shape:lognorm(1,2)": "is written lognorm(s): 1 number",
    "shape:norm(0)": "is written norm: 0 numbers",
    "shape:lognorm(nan)": "must be a finite number. Got 'nan'",
    "shape:lognorm(1e999)": "must be a finite number. Got '1e999'",
    "shape:lognorm(-1)": "does not exist for the arguments -1",
    "shape:lognorm(1e-300)": "do not fit together",
    "shape:lognorm(25)": "tails are too heavy",
    "shape:lognorm(40)": "no finite mean",
    "shape:lognorm(1": "a name with numbers in brackets",
    "shape:__import__('os').system('true')": "a name with numbers in brackets",
    "shape:__import__(1)": "unknown shape '__import__'",
    "shape:__class__": "unknown shape '__class__'",
    "shape:" + "x" * 5_000: "a name with numbers in brackets",
    "shape:lognorm(" + "1," * 2_500 + "1)": "1 number",
    "shape:quantiles(0=1,1=1)": "all the same",
    "shape:quantiles(0=1,0.5=0,1=3)": "must not fall",
    "shape:quantiles(0.1=1,1=3)": "from 0 (smallest value) to 1",
    "shape:quantiles(0=1,0=2,1=3)": "stands twice",
    "shape:quantiles(1,2)": "LEVEL=VALUE",
    "shape:pareto(1.8)": "no finite standard deviation",
    "shape:cauchy": "What is left is to move it",
    "shape:nowhere.csv:income": "No such file",
    "shape::income": "shape:FILE:COLUMN",
    "lognormal": "If everyone knows the shape, write shape:lognorm(1)",
}


@pytest.mark.parametrize("family", BAD, ids=lambda text: text[:40])
def test_a_shape_that_is_none_is_refused_in_one_sentence(cli, family):
    code, out, err = cli("plan", "--family", family, *ASKED)
    assert (code, out) == (2, "")
    assert BAD[family] in err
    assert len(err.splitlines()) == 1
    assert len(err) < 1_500


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ("same", "all values of the public sample are the same"),
        ("none", "without any finite value"),
        ("word", "holds text values"),
        ("incme", "did you mean 'income'"),
    ],
)
def test_a_reference_column_that_has_no_shape_is_refused_in_one_sentence(cli, reference, column, says):
    code, out, err = cli("plan", "--family", f"shape:{reference}:{column}", *ASKED)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1


def test_what_a_shape_without_variance_or_mean_still_hides():
    heavy = {"family": sv.Shape("pareto(1.8)"), "tolerance": 0.5}
    with pytest.raises(sv.ProblemError, match=r"hide its mean or a quantile, such as the median"):
        sv.Problem(**heavy, prior=sv.Box(median=(20, 60), iqr=(5, 40)), secret=sv.Std())
    for secret in (sv.Mean(), sv.Quantile(0.5), sv.Quantile(0.95)):
        problem = sv.Problem(**heavy, prior=sv.Box(median=(20, 60), iqr=(5, 40)), secret=secret)
        assert problem.family.parameters == ("median", "iqr")
        assert sv.plan(problem, max_risk=0.3).distortion < np.inf
    none = {"family": sv.Shape("cauchy"), "tolerance": 0.5}
    for prior, secret in (
        (sv.Box(median=(20, 60), iqr=(5, 40)), sv.Quantile(0.5)),
        (sv.Box(median=(20, 60), iqr=5), sv.Mean()),
    ):
        with pytest.raises(sv.ProblemError, match=r"no finite mean.*What is left is to move it"):
            sv.Problem(**none, prior=prior, secret=secret)
    plan = sv.plan(sv.Problem(**none, prior=sv.Box(median=(20, 60), iqr=5), secret=sv.Quantile(0.9)), max_risk=0.25)
    assert (plan.mode, plan.gamma) == ("shift", 0.5)


def test_the_names_in_the_prior_decide_what_it_is_about():
    asked = {"family": sv.Shape("lognorm(1)"), "secret": sv.Quantile(0.9), "tolerance": 0.5}
    for names in (("mean", "std"), ("median", "iqr"), ("loc", "scale"), ("min", "std"), ("median", "std")):
        prior = sv.Box(dict(zip(names, ((20, 60), (5, 40)), strict=True)))
        family = sv.Problem(**asked, prior=prior).family
        assert family.parameters == names
        # each parameter is the statistic that it is called after, whatever the pair
        params = {names[0]: 30.0, names[1]: 7.0}
        z = {"mean": family.mean(params), "median": family.quantile(0.5, params), "std": family.std(params)}
        z |= {"iqr": family.quantile(0.75, params) - family.quantile(0.25, params), "min": family.quantile(0, params)}
        for name in set(names) & set(z):
            assert float(z[name]) == pytest.approx(params[name], rel=1e-12)
    with pytest.raises(sv.ProblemError, match="says nothing about 'iqr'"):
        sv.Problem(**asked, prior=sv.Box(median=(20, 60)))
    with pytest.raises(sv.ProblemError, match="unknown parameter of 'shape' in the prior 'sigma'"):
        sv.Problem(**asked, prior=sv.Box(mean=(20, 60), sigma=(5, 40)))
    with pytest.raises(sv.ProblemError, match="unknown parameter"):  # two locations
        sv.Problem(**asked, prior=sv.Box(mean=(20, 60), loc=(5, 40)))
    fixed = sv.Shape("lognorm(1)", parameters=("mean", "std"))
    with pytest.raises(sv.ProblemError, match="unknown parameter of 'shape' in the prior 'median'"):
        sv.Problem(**(asked | {"family": fixed}), prior=sv.Box(median=(20, 60), iqr=(5, 40)))
    with pytest.raises(sv.ProblemError, match="one of mean, median"):
        sv.Shape("lognorm(1)", parameters=("mu", "sigma"))
    with pytest.raises(sv.ProblemError, match=r"t\(3\) has no smallest value"):
        sv.Problem(**(asked | {"family": sv.Shape("t(3)")}), prior=sv.Box(min=0, std=(5, 40)))


# --- plan files ---------------------------------------------------------------------------------------------------
def test_a_plan_holds_its_public_shape_and_not_the_path(cli, reference, tmp_path):
    path = tmp_path / "plan.json"
    assert cli("plan", "--family", f"shape:{reference}:income", *ASKED, "-o", path)[0] == 0
    text = path.read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert len(text) < 60_000
    rows = pl.read_csv(reference)["income"].to_numpy()
    reference.unlink()
    family = load_plan(path).problem.family
    assert family.label == "shape:public.csv:income"
    levels = np.linspace(0, 1, 301)
    # within the distance of neighbouring rows of the sorted sample
    assert family.standard.quantile(levels) == pytest.approx(np.quantile(rows, levels), abs=0.05 * rows.std())
    assert family.standard.quantile([0, 1]) == pytest.approx([rows.min(), rows.max()], abs=0)
    table = tmp_path / "t.csv"
    column = 30 + 5 * np.random.default_rng(2).gamma(2.0, 1.0, 2_000)
    pl.DataFrame({"x": column}).write_csv(table)
    code, _, err = cli("release", path, table, tmp_path / "out.csv", "--column", "x")
    assert (code, err) == (0, "")
    after = pl.read_csv(tmp_path / "out.csv")["x"].to_numpy()
    factor, offset = np.polyfit(column, after, 1)
    # one line for all rows, up to the blur: of a stretched column less than five times 2^-23 of a value
    assert np.all(np.abs(after - factor * column - offset) <= 6 * 2.0**-23 * factor * np.abs(column) + 1e-6)
    assert abs(factor - 1) > 1e-4


@pytest.mark.parametrize(
    "change",
    [
        {"of": "lognorm(-1)"},
        {"of": "__import__('os')"},
        {"of": 7},
        {"of": None},
        {"of": {"levels": [0, 1], "values": [0]}},
        {"of": {"levels": [0, 1], "values": ["a", "b"]}},
        {"of": {"levels": "01", "values": "01"}},
        {"of": {"levels": 3, "values": 4}},
        {"of": {"levels": [0] * 9_000, "values": [1] * 9_000}},
        {"parameters": ["mean", "mean"]},
        {"parameters": 5},
        {"more": 1},
    ],
    ids=lambda change: str(change)[:40],
)
def test_a_plan_file_with_a_damaged_shape_is_refused(tmp_path, change):
    problem = sv.Problem(
        family=sv.Shape("lognorm(1)"), prior=sv.Box(mean=(20, 60), std=(5, 40)), secret=sv.Std(), tolerance=1
    )
    path = tmp_path / "plan.json"
    save_plan(sv.plan(problem, max_risk=0.25), path)
    data = json.loads(path.read_text(encoding="utf-8"))
    data["problem"]["family"] |= change
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(sv.PlanFileError):
        load_plan(path)


# --- releases -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("secret", [sv.Mean(), sv.Std(), sv.Quantile(0.95)], ids=lambda secret: secret.label)
@pytest.mark.parametrize("names", [("mean", "std"), ("median", "iqr")], ids=" ".join)
def test_a_released_column_has_the_stated_statistic_and_moved_no_farther_than_stated(secret, names):
    column = 25 + 10 * np.random.default_rng(4).gumbel(size=20_000)
    prior = sv.Box(dict(zip(names, ((20, 60), (5, 40)), strict=True)))
    problem = sv.Problem(family=sv.Shape("gumbel_r"), prior=prior, secret=secret, tolerance=0.7)
    plan = sv.plan(problem, max_risk=0.2)
    after = np.asarray(sv.release(plan, column, accept=["bounds"]))
    own = {"mean": np.mean, "std": np.std}.get(secret.kind, lambda rows: np.quantile(rows, 0.95))
    off = plan.release_mode.wander(plan.problem)
    assert abs(own(after) - own(column)) <= plan.largest_move * (1 + 1e-6) + off
    # the column has nearly the stated shape, so that its rows move as the model does
    assert np.mean(np.abs(after - column)) <= 1.02 * plan.distortion
    factor, offset = np.polyfit(column, after, 1)
    # one line for all rows, up to the blur of a stretched column: less than five times 2^-23 of a value
    assert np.all(np.abs(after - factor * column - offset) <= 6 * 2.0**-23 * factor * np.abs(column) + 1e-6 + 2 * off)


@pytest.mark.parametrize("names", [("min", "std"), ("loc", "scale"), ("min", "iqr")], ids=" ".join)
def test_above_a_known_minimum_the_column_is_scaled(names):
    column = 8 * np.random.default_rng(5).lognormal(size=6_000)
    problem = sv.Problem(
        family=sv.Shape("lognorm(1)"),
        prior=sv.Box({names[0]: 0, names[1]: (2, 40)}),
        secret=sv.Quantile(0.9),
        tolerance=0.5,
        known=sv.Structure(minimum=0),
    )
    plan = sv.plan(problem, max_risk=0.2)
    assert plan.mode == "scale"
    assert sv.simulate(plan, trials=20_000, seed=1).low <= plan.risk <= sv.simulate(plan, trials=20_000, seed=1).high
    after = np.asarray(sv.release(plan, column))
    ratios = after / column
    assert np.ptp(ratios) < 1e-6 * ratios.mean()


def test_who_knows_where_a_shape_ends_states_it_as_known():
    # mean, standard deviation and the end of a lognormal are three numbers of which two tell the third
    asked = {"family": sv.Shape("lognorm(1)"), "secret": sv.Mean(), "tolerance": 0.5, "known": sv.Structure(minimum=0)}
    with pytest.raises(sv.ProblemError, match="state the prior as min=0, a known value, beside a range of 'std'"):
        sv.Problem(**asked, prior=sv.Box(mean=(20, 60), std=(5, 40)))
    with pytest.raises(sv.ProblemError, match="'min' is the minimum of 'shape'"):
        sv.Problem(**asked, prior=sv.Box(min=(0, 3), std=(5, 40)))
    # a shape without an end below, kept above 0: both scale, as for a Gaussian column
    free = sv.Problem(**(asked | {"family": sv.Shape("gumbel_r")}), prior=sv.Box(mean=(20, 60), std=(5, 10)))
    assert sv.plan(free, bin=9).mode == "scale"


def test_steps_move_a_shape_by_whole_steps_and_two_bounds_redraw_it():
    whole = sv.Problem(
        family=sv.Shape("t(3)"),
        prior=sv.Box(median=(20, 60), iqr=(5, 40)),
        secret=sv.Quantile(0.9),
        tolerance=1,
        known=sv.Structure(step=1),
    )
    plan = sv.plan(whole, max_risk=0.2)
    assert plan.mode == "lattice"
    column = np.rint(35 + 6 * np.random.default_rng(6).standard_t(3, 3_000))
    after = np.asarray(sv.release(plan, column))
    assert set(after - column) == {after[0] - column[0]}
    assert (after[0] - column[0]).is_integer()
    between = sv.Problem(
        family=sv.Shape("logistic"),
        prior=sv.Box(mean=(40, 60), std=(5, 9)),
        secret=sv.Mean(),
        tolerance=1,
        known=sv.Structure(minimum=0, maximum=100),
    )
    drawn = sv.plan(between, max_risk=0.3)
    assert drawn.mode == "rank"
    rows = np.clip(np.random.default_rng(7).logistic(50, 3.5, 3_000), 0, 100)
    after = np.asarray(sv.release(drawn, rows))
    assert np.array_equal(np.argsort(after), np.argsort(rows))
    with pytest.raises(sv.ProblemError, match="cannot have 'std' above"):
        sv.Problem(
            family=sv.Shape("logistic"),
            prior=sv.Box(mean=(40, 60), std=(5, 60)),
            secret=sv.Mean(),
            tolerance=1,
            known=sv.Structure(minimum=0, maximum=100),
        )


def test_the_example_of_the_page_on_shapes_runs():
    text = (Path(__file__).parents[2] / "docs" / "shapes.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "shapes.md", "exec"), names)
    assert names["plan"].mode == "scale"
    assert len(names["released"]) == 2_000


@pytest.mark.parametrize(
    "text", ["negative-binomial", "negative-binomial()", "negative-binomial(x)", "negative-binomial(-1)"]
)
def test_a_negative_binomial_needs_its_size(cli, text):
    code, out, err = cli("plan", "--family", text, "--prior", "mean=2:30", *ASKED[4:])
    assert (code, out) == (2, "")
    assert "size" in err
    assert len(err.splitlines()) == 1


def test_a_column_of_negative_binomial_counts_is_released(cli, tmp_path):
    rows = np.random.default_rng(8).negative_binomial(2.5, 2.5 / (2.5 + 12), 3_000)
    pl.DataFrame({"n": rows}).write_csv(tmp_path / "t.csv")
    asked = ["--prior", "mean=2:30", "--secret", "mean", "--tolerance", "0.3", "--max-risk", "0.2"]
    plan = tmp_path / "plan.json"
    assert cli("plan", "--family", "negative-binomial(2.5)", *asked, "-o", plan)[0] == 0
    found = load_plan(plan)
    assert (found.problem.family, found.mode) == (sv.NegativeBinomial(size=2.5), "rank")
    rate = sv.simulate(found, trials=20_000, seed=3)
    assert rate.low <= found.risk <= 0.2
    code, _, err = cli("release", plan, tmp_path / "t.csv", tmp_path / "out.csv", "--column", "n")
    assert (code, err) == (0, "")
    after = pl.read_csv(tmp_path / "out.csv")["n"].to_numpy()
    assert after.dtype.kind == "i"
    assert abs(after.mean() - rows.mean()) <= found.distortion + 0.1
    assert np.all(np.diff(after[np.argsort(rows, kind="stable")][np.diff(np.sort(rows), prepend=-1) > 0]) >= 0)


def test_an_audit_places_tables_without_a_variance_by_their_quartiles():
    prior = sv.Box(median=(20, 60), iqr=(5, 40))
    problem = sv.Problem(family=sv.Shape("pareto(1.8)"), prior=prior, secret=sv.Quantile(0.9), tolerance=0.5)
    rng = np.random.default_rng(9)
    column = 30 + 15 * rng.pareto(1.8, 2_001)
    c = problem.family.coefficients(problem.secret)
    for _ in range(20):
        fresh = redrawn(problem, column, sv.Structure(), rng)
        iqr = np.quantile(fresh, 0.75) - np.quantile(fresh, 0.25)
        place = np.quantile(fresh, 0.9) - c["iqr"] * iqr
        assert 5 * (1 - 1e-9) <= iqr <= 40 * (1 + 1e-9)
        assert 20 - 1e-6 <= place <= 60 + 1e-6
        assert np.ptp(np.diff(np.sort(fresh)) / np.diff(np.sort(column))) < 1e-3  # one stretch for all rows
