"""Columns whose logarithm has a public shape: the theory of shapes on ln X, relative closeness, redrawn by rank."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

import statveil as sv
from statveil.cli.parsing import parse_family

pytestmark = pytest.mark.usefixtures("no_optimum")

BOX = {"log_median": (2.5, 4.5), "log_iqr": (0.5, 1.5)}
PAIRS = [("norm", 0.95), ("logistic", 0.5), ("gumbel_l", 0.99), ("gumbel_r", 0.1), ("expon", 0.9), ("t(3)", 0.05)]


def problem(of="norm", level=0.95, share=0.05, **box):
    return sv.Problem(
        family=sv.LogShape(of),
        prior=sv.Box({**BOX, **box}),
        secret=sv.Quantile(level),
        tolerance=sv.Relative(share),
    )


@pytest.mark.parametrize(("of", "level"), PAIRS)
@pytest.mark.parametrize("method", ["interval", "comb"])
def test_a_plan_is_the_one_for_the_logarithms(of, level, method):
    ours = sv.plan(problem(of, level), max_risk=0.25, method=method)
    logs = sv.Problem(
        family=sv.Shape(of),
        prior=sv.Box(median=(2.5, 4.5), iqr=(0.5, 1.5)),
        secret=sv.Quantile(level),
        tolerance=math.atanh(0.05),  # a guess within rho of g is a window of 2 artanh(rho) in ln g
    )
    there = sv.plan(logs, max_risk=0.25, method=method)
    assert ours.risk == pytest.approx(there.risk, abs=1e-9)
    assert ours.distortion == pytest.approx(there.distortion, rel=1e-9)
    assert ours.gamma == pytest.approx(there.gamma, rel=1e-12)
    assert ours.lower_bound == pytest.approx(there.lower_bound, rel=1e-9)
    assert ours.mode == "rank"


@pytest.mark.parametrize(
    ("of", "level", "gamma"),
    [("logistic", 0.9, 0.253941), ("logistic", 0.95, 0.205775), ("gumbel_r", 0.99, 0.110289), ("t(3)", 0.95, 0.208235)],
)
def test_gamma_is_that_of_the_table_of_shapes(of, level, gamma):
    assert sv.plan(problem(of, level), max_risk=0.5).gamma == pytest.approx(gamma, abs=1e-6)


@pytest.mark.parametrize(
    ("of", "dist"),
    [
        ("norm", lambda loc, scale: stats.lognorm(scale, scale=math.exp(loc))),
        ("logistic", lambda loc, scale: stats.fisk(1 / scale, scale=math.exp(loc))),
        ("gumbel_l", lambda loc, scale: stats.weibull_min(1 / scale, scale=math.exp(loc))),
        ("gumbel_r", lambda loc, scale: stats.invweibull(1 / scale, scale=math.exp(loc))),
        ("expon", lambda loc, scale: stats.pareto(1 / scale, scale=math.exp(loc))),
    ],
)
def test_members_are_the_known_distributions(of, dist):
    family = sv.LogShape(of, parameters=("log_loc", "log_scale"))
    at, truth = {"log_loc": 1.2, "log_scale": 0.7}, dist(1.2, 0.7)
    levels = np.linspace(0.01, 0.99, 21)
    np.testing.assert_allclose(family.quantile(levels, at), truth.ppf(levels), rtol=1e-9)
    x = np.concatenate([[-1.0, 0.0], truth.ppf(levels)])
    np.testing.assert_allclose(family.cdf(x, at), truth.cdf(x), rtol=1e-9, atol=1e-15)


def test_the_best_attacker_who_is_judged_by_shares_reaches_the_stated_risk():
    plan = sv.plan(problem(log_iqr=1.0), max_risk=0.3, method="interval")
    where = np.random.default_rng(1).uniform(2.5, 4.5, 200_000)
    true = np.exp(where + stats.norm.ppf(0.95) / (2 * stats.norm.ppf(0.75)))  # iqr 1 is a std of 1 / 1.349
    told = np.asarray(plan.apply({"log_median": where, "log_iqr": 1.0}).released["log_median"])
    hits = 0
    for value in np.unique(told):
        secrets = true[told == value]
        guesses = np.geomspace(secrets.min(), secrets.max(), 2_000)[:, None]
        hits += max(int((np.abs(part / secrets - 1) <= 0.05).sum(axis=1).max()) for part in np.split(guesses, 20))
    assert plan.risk - 0.005 < hits / len(true) < plan.risk + 0.005


def test_the_simulated_attacker_of_two_parameters_reaches_the_stated_risk():
    plan = sv.plan(problem(), max_risk=0.2)
    found = sv.simulate(plan, trials=100_000, seed=3)
    assert found.low <= plan.risk <= found.high


@pytest.mark.parametrize(
    ("of", "draw"),
    [
        ("norm", lambda rng: rng.lognormal(3.4, 0.8, 4_000)),
        ("expon", lambda rng: 20 * (rng.pareto(1.5, 4_000) + 1)),
        ("expon", lambda rng: 9 * (rng.pareto(0.8, 4_000) + 1)),  # without a mean
        ("gumbel_l", lambda rng: 40 * rng.weibull(1.2, 4_000)),
    ],
)
@pytest.mark.filterwarnings("ignore:The smallest or the largest value changed by much")
def test_a_released_column_is_the_released_model_by_rank(of, draw):
    plan = sv.plan(problem(of), max_risk=0.2)
    column = draw(np.random.default_rng(1))
    released = np.asarray(sv.release(plan, column, seed=1))
    np.testing.assert_array_equal(np.argsort(released), np.argsort(column))
    own = {
        "log_median": math.log(np.median(column)),
        "log_iqr": float(np.diff(np.log(np.quantile(column, [0.25, 0.75])))[0]),
    }
    # the secret is exact and the spread the column's own, so the location follows from both
    z = sv.LogShape(of, parameters=("log_median", "log_iqr")).z_quantile(0.95)
    own["log_median"] = math.log(np.quantile(column, 0.95)) - own["log_iqr"] * float(z)
    wanted = plan.apply(own)
    assert np.quantile(released, 0.95) == pytest.approx(float(wanted.secret), rel=5e-3)  # between two rows of the model
    apart = float(
        np.mean(
            np.abs(
                np.log(np.sort(released)) - np.log(plan.problem.family.quantile((np.arange(4_000) + 0.5) / 4_000, own))
            )
        )
    )
    assert apart <= plan.distortion * (1 + 1e-6), "W1 of the logarithms between the models"


def test_two_columns_of_one_class_and_order_are_released_alike():
    plan = sv.plan(problem(log_iqr=1.0), max_risk=0.2)
    ranks = np.random.default_rng(2).permutation(3_000)
    levels = (np.arange(3_000) + 0.5) / 3_000
    middle = float(plan.apply({"log_median": 3.4, "log_iqr": 1.0}).released["log_median"])
    one, two = (
        np.asarray(plan.problem.family.quantile(levels, {"log_median": middle + off, "log_iqr": 1.0}))[ranks]
        for off in (-0.1, 0.1)
    )
    np.testing.assert_array_equal(sv.release(plan, one, seed=4), sv.release(plan, two, seed=4))


def test_the_command_line_goes_all_the_way(cli, tmp_path):
    source, target, file = tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / "plan.json"
    column = np.random.default_rng(3).lognormal(3.4, 0.8, 3_000)
    source.write_text("latency\n" + "\n".join(map(repr, column.tolist())) + "\n")
    code, out, err = cli(
        "plan", "--family", "log-shape:norm", "--prior", "log_median=2.5:4.5", "--prior", "log_iqr=0.5:1.5",
        "--secret", "quantile:0.95", "--tolerance", "5%", "--max-risk", "0.2", "-o", file,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "within 5 %" in out
    assert "logarithms" in out
    told = json.loads(file.read_text())
    assert (told["problem"]["tolerance"], told["problem"]["tolerance_kind"]) == (0.05, "relative")
    assert cli("release", file, source, target, "--column", "latency")[0] == 0
    assert cli("verify", target)[0] == 0
    assert "W1 distance of the logarithms" in (tmp_path / "out.csv.card.json").read_text()
    assert sv.load_plan(file) == sv.plan(problem(), max_risk=0.2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tolerance": 5.0}, "closeness is relative"),
        ({"secret": sv.Mean()}, "a quantile can be hidden.*leave out the family"),
        ({"secret": sv.Std()}, "a quantile can be hidden"),
        ({"secret": sv.Quantile(1.0)}, "infinite"),
        ({"prior": sv.Box(median=(2, 4), iqr=(1, 2))}, "log_m"),
        ({"prior": sv.Box(log_median=(2, 4), log_iqr=(-1, 2))}, "domain"),
    ],
)
def test_what_makes_no_sense_is_refused(change, says):
    stated = {
        "family": sv.LogShape("norm"),
        "prior": sv.Box(BOX),
        "secret": sv.Quantile(0.95),
        "tolerance": sv.Relative(0.05),
    }
    with pytest.raises(sv.ProblemError, match=says):
        sv.Problem(**{**stated, **change})


def test_parameters_of_another_name_are_refused():
    with pytest.raises(sv.ProblemError, match="log_median"):
        sv.LogShape("norm", parameters=("median", "iqr"))
    with pytest.raises(sv.ProblemError, match="needs a public shape: write log-shape:norm"):
        parse_family("log-shape")


def test_a_column_below_zero_is_refused():
    plan = sv.plan(problem(), max_risk=0.2)
    column = np.random.default_rng(1).lognormal(3.4, 0.8, 2_000)
    with pytest.raises(sv.StatveilError, match="below the minimum"):
        sv.release(plan, np.append(column, -1.0))
    with pytest.raises(sv.StatveilError, match="below the prior's range"):
        sv.release(plan, np.where(np.arange(2_000) < 1_950, 0.0, column))


def test_the_audit_finds_what_the_plan_claims_and_no_more():
    plan = sv.plan(problem(), max_risk=0.2)
    column = np.random.default_rng(1).lognormal(3.4, 0.8, 1_000)
    found = sv.audit(plan, column, sv.release(plan, column, seed=5), trials=200)
    rates = {finding.attacker: finding.rate for finding in found.findings}
    assert rates["bayes"] >= rates["prior"], "an attacker with the release is no worse than one without"
    assert not found.leaks


def test_a_prior_that_was_meant_for_the_values_themselves_is_refused():
    with pytest.raises(sv.ProblemError, match=r"natural logarithms: 4\.6 stands for 100"):
        problem(log_median=(900.0, 1000.0))


def test_the_median_is_hidden_here_and_still_elsewhere():
    for family, box in (
        (sv.LogShape("norm"), BOX),
        (sv.Gaussian(), {"mu": (0, 10), "sigma": (1, 2)}),
        (sv.Shape("t(3)"), {"median": (0, 10), "iqr": (1, 2)}),
        (sv.Uniform(), {"low": (0, 1), "high": (2, 3)}),
    ):
        tolerance = sv.Relative(0.05) if isinstance(family, sv.LogShape) else 0.1
        stated = sv.Problem(family=family, prior=sv.Box(box), secret=sv.Median(), tolerance=tolerance)
        assert sv.plan(stated, max_risk=0.5).risk <= 0.5
