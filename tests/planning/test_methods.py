"""Which mechanism a plan gets, how far it is from the best, and that everything that works on bins works on it."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.contradictions import contradictions
from statveil.design.methods import METHODS

ALONE = [name for name, method in METHODS.items() if method.secrets == 1]
NORMAL = sv.Density("norm", (40, 80 / 6), low=0, high=80)


def question(family, secret, tolerance, **axes):
    return sv.Problem(family=family, prior=sv.Box(**axes), secret=secret, tolerance=tolerance)


GEOMETRIC = question(sv.Geometric(), sv.Mean(), 0.25, p=(0.2, 0.8))
BELL = question(sv.Location(), sv.Mean(), 1, mean=NORMAL)
RANGE = question(sv.Location(), sv.Mean(), 1, mean=(0, 100))
BOX = question(sv.Gaussian(), sv.Quantile(0.9), 1, mu=(0, 90), sigma=(2, 33))
POISSON = question(sv.Poisson(), sv.Mean(), 1, rate=(2, 26))


# --- auto -----------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("no_optimum")
@pytest.mark.parametrize(
    ("problem", "risk", "among"),
    [
        (RANGE, 0.2, {"interval"}),
        (BOX, 0.3, {"interval"}),
        (BELL, 0.2, {"interval", "dynamic", "layered"}),
        (GEOMETRIC, 0.5, {"dynamic", "layered"}),
        (POISSON, 0.3, {"dynamic", "layered"}),
    ],
)
def test_auto_has_the_least_distortion_of_its_kind_and_is_no_comb(problem, risk, among):
    best = sv.plan(problem, max_risk=risk, grid=200)
    assert best.method in among
    assert best.risk <= risk
    others = [sv.plan(problem, max_risk=risk, method=name, grid=200) for name in among]
    assert best.distortion == pytest.approx(min(other.distortion for other in others), rel=1e-9)


@pytest.mark.usefixtures("no_optimum")
def test_auto_is_the_default_and_takes_a_bin_or_a_slope_as_interval():
    assert sv.plan(BELL, max_risk=0.2, grid=200).method != "interval"
    assert sv.plan(BELL, bin=8.0).method == "interval"
    assert sv.plan(BOX, max_risk=0.3, slope=1.0).method == "interval"


@pytest.mark.usefixtures("no_optimum")
def test_auto_for_a_distortion_has_the_least_risk():
    best = sv.plan(BELL, max_distortion=5.0, grid=200)
    others = [sv.plan(BELL, max_distortion=5.0, method=name, grid=200) for name in ("interval", "dynamic", "layered")]
    assert best.risk == pytest.approx(min(other.risk for other in others), rel=1e-9)
    assert best.distortion <= 5.0 * (1 + 1e-12)


def test_what_cannot_be_reached_is_said_with_the_least_risk():
    with pytest.raises(sv.TargetError, match="smallest reachable risk"):
        sv.plan(GEOMETRIC, max_risk=0.1, grid=100)


@pytest.mark.usefixtures("no_optimum")
@pytest.mark.parametrize("problem", [BELL, GEOMETRIC, RANGE], ids=["bell", "geometric", "range"])
def test_what_auto_picks_stays_in_proportion_to_the_tolerance(problem):
    """Half the tolerance must give about half the risk; a comb would keep all of it."""
    plan = sv.plan(problem, max_distortion=4 * problem.tolerance, grid=200)
    half, whole = (risk for _, risk in plan.risk_profile([0.5 * problem.tolerance, problem.tolerance]))
    assert half <= 0.62 * whole


def test_a_comb_keeps_all_of_its_risk_at_half_the_tolerance():
    comb = sv.plan(RANGE, max_distortion=4.2, method="comb")
    half, whole = (risk for _, risk in comb.risk_profile([0.5, 1.0]))
    assert half == pytest.approx(whole)


# --- layered mechanisms cost a prior's shape nothing ------------------------------------------------------
@pytest.mark.usefixtures("no_optimum")
def test_layers_remove_what_a_bell_shaped_belief_costs():
    """docs/theory.md, layered mechanisms: least extents 18.4, 10.0 and 9.0 windows at T = .102; a window is 2 here."""
    plans = {name: sv.plan(BELL, max_risk=0.102, method=name) for name in ("dynamic", "layered", "layered-comb")}
    assert plans["dynamic"].distortion == pytest.approx(18.4, rel=0.03)
    assert plans["layered"].distortion == pytest.approx(10.0, rel=0.03)
    assert plans["layered-comb"].distortion == pytest.approx(9.0, rel=0.03)
    for plan in plans.values():
        assert plan.risk <= 0.102
        rate = sv.simulate(plan, trials=100_000, seed=2)
        assert rate.low <= plan.risk + 1e-3
        assert rate.rate >= 0.9 * plan.risk
    assert plans["layered"].randomised
    assert not plans["dynamic"].randomised


# --- a range of tolerances --------------------------------------------------------------------------------
WIDE = question(sv.Location(), sv.Mean(), 1, mean=(0, 100_000))


@pytest.mark.parametrize(("risk", "times"), [(0.5, 1.0), (0.2, 1.6), (0.1, 1.8)])
def test_robust_to_twice_the_tolerance_costs_what_the_theory_says(risk, times):
    """A comb spaced 4 eps: 1.0, 1.6 and 1.8 times the plain interval's distortion, where an interval needs twice."""
    plain = sv.plan(WIDE, max_risk=risk, method="interval")
    robust = sv.plan(WIDE, max_risk=risk, robust_to=(0.5, 2))
    assert robust.distortion / plain.distortion == pytest.approx(times, rel=2e-3)
    assert robust.method == "comb"
    assert robust.robust_to == (0.5, 2.0)
    assert robust.robust_risk <= risk
    for _, found in robust.risk_profile(np.linspace(0.5, 2, 16).tolist()):
        assert found <= risk * (1 + 1e-6)
    ((_, beyond),) = robust.risk_profile([2.01])
    assert beyond > 1.9 * risk
    bins = sv.plan(WIDE, max_risk=risk, robust_to=(0.5, 2), method="interval")
    assert bins.distortion / plain.distortion == pytest.approx(2.0, rel=1e-3)


@pytest.mark.usefixtures("no_optimum")
def test_a_robust_plan_is_confirmed_by_attackers_of_every_tolerance():
    plan = sv.plan(BELL, max_risk=0.3, robust_to=(0.5, 1.5), grid=200)
    for eps in (0.5, 1.0, 1.5):
        rate = sv.simulate(replace(plan, problem=replace(plan.problem, tolerance=eps)), trials=50_000, seed=1)
        assert rate.low <= 0.3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((2, 3), "hold the problem's own"),
        ((0.1, 0.5), "hold the problem's own"),
        ((1, 2, 3), "pair"),
        ((0, 2), "above 0"),
    ],
)
def test_bad_ranges_are_refused(given, words):
    with pytest.raises(sv.ProblemError, match=words):
        sv.plan(RANGE, max_risk=0.2, robust_to=given)


# --- efficiency -------------------------------------------------------------------------------------------
def test_efficiency_is_distortion_over_the_limit_and_over_the_optimum():
    interval, comb = (sv.plan(RANGE, max_risk=0.22, method=name) for name in ("interval", "comb"))
    for plan in (interval, comb):
        assert plan.efficiency == pytest.approx(plan.distortion / plan.lower_bound)
        assert plan.to_json()["efficiency"] == plan.efficiency
        assert plan.optimum >= plan.lower_bound * (1 - 1e-9)
        assert plan.efficiency_optimum >= 1 - 1e-9
    assert comb.efficiency_optimum == pytest.approx(1, abs=1e-5)
    # 100 = 50 windows; 5 teeth fit 10 times: a plain interval needs 100 * .78 / 11 + 2 = 9.09 of width
    assert interval.distortion == pytest.approx(0.5 * (2 + 78 / 11))


# --- the programme ------------------------------------------------------------------------------------------
BETA = sv.Density("beta", (2, 5), low=0.05, high=0.95)
COUNTS = {
    "geometric": (GEOMETRIC, 0.3),
    "geometric, beta": (
        question(sv.Geometric(), sv.Mean(), 0.25, p=sv.Density("beta", (2, 2), low=0.2, high=0.8)),
        0.3,
    ),
    "poisson": (question(sv.Poisson(), sv.Std(), 0.15, rate=(2, 26)), 1.0),
    "poisson, normal": (question(sv.Poisson(), sv.Mean(), 1, rate=sv.Density("norm", (14, 4), low=2, high=26)), 2.2),
    "binomial": (question(sv.Binomial(trials=20), sv.Std(), 0.1, p=(0.05, 0.95)), 1.0),
    "binomial, beta": (question(sv.Binomial(trials=20), sv.Std(), 0.1, p=BETA), 1.0),
}


@pytest.mark.usefixtures("no_optimum")
@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.heavy(2)
def test_the_programme_beats_the_dynamic_programme_which_beats_the_greedy_rule(name):
    problem, budget = COUNTS[name]
    plans = {method: sv.plan(problem, max_distortion=budget, method=method, grid=80) for method in ALONE[2:]}
    assert plans["optimal"].risk <= plans["dynamic"].risk * (1 + 1e-9)
    assert plans["dynamic"].risk <= plans["greedy"].risk * (1 + 1e-9)
    assert all(plan.distortion <= budget * (1 + 1e-9) for plan in plans.values())
    best = plans["optimal"]
    # rounding to one release a cell may cost a hundredth; the rest covers cells that are not even
    assert best.certificate.least_risk <= best.risk * (1 + 1e-9)
    assert best.risk <= best.certificate.least_risk * 1.03
    rate = sv.simulate(best, trials=60_000, seed=4)
    assert rate.low <= best.risk
    assert rate.rate >= 0.95 * best.risk


@pytest.mark.usefixtures("no_optimum")
def test_the_geometric_mean_of_the_theory():
    """p in [.2, .8], tolerance .25, budget .3: optimum about .60, dynamic .872, greedy .886."""
    risks = {
        method: sv.plan(GEOMETRIC, max_distortion=0.3, method=method, grid=grid).risk
        for method, grid in (("optimal", 240), ("dynamic", 2000), ("greedy", 2000))
    }
    assert risks["optimal"] == pytest.approx(0.60, abs=0.015)
    assert risks["dynamic"] == pytest.approx(0.872, abs=0.002)
    assert risks["greedy"] == pytest.approx(0.886, abs=0.003)


@pytest.mark.parametrize(("budget", "teeth"), [(1.1, 2), (2.1, 3), (5.1, 6)])
def test_a_linear_secret_reaches_one_over_the_teeth(budget, teeth):
    """24 units of Poisson rate are 12 windows: 2, 3 and 6 teeth divide them."""
    plan = sv.plan(POISSON, max_distortion=budget, method="optimal", grid=120)
    assert plan.risk == pytest.approx(1 / teeth, rel=1e-6)
    assert plan.certificate.least_risk == pytest.approx(1 / teeth, rel=1e-6)
    assert not plan.randomised


# --- everything that works on bins ------------------------------------------------------------------------
PLANS = {
    "comb": (RANGE, "comb"),
    "comb of two": (BOX, "comb"),
    "comb under a bell": (BELL, "comb"),
    "layered": (BELL, "layered"),
    "layered comb": (BELL, "layered-comb"),
    "optimal": (BELL, "optimal"),
}


@pytest.fixture(scope="module", params=PLANS)
def plan(request):
    problem, method = PLANS[request.param]
    return sv.plan(problem, max_distortion=4.3, method=method, grid=80)


@pytest.fixture(scope="module")
def column():
    return np.random.default_rng(5).normal(47.3, 6.1, 3000)


def test_files_and_contradictions(plan, tmp_path):
    sv.save_plan(plan, tmp_path / "p.json")
    again = sv.load_plan(tmp_path / "p.json")
    assert again.to_json() == plan.to_json()
    assert contradictions(again) == []
    assert "its risk is not that of its mechanism" in contradictions(replace(plan, risk=0.9 * plan.risk))
    assert contradictions(replace(plan, distortion=0.5 * plan.distortion))


def test_a_released_column_has_the_released_statistic_and_verifies(plan, column, tmp_path):
    table = pl.DataFrame({"x": column, "y": np.arange(len(column))})
    table.write_parquet(tmp_path / "in.parquet")
    done = sv.release_file(plan, tmp_path / "in.parquet", tmp_path / "out.parquet", column="x", seed=11)
    out = pl.read_parquet(tmp_path / "out.parquet")
    wanted = done.record["released"]["secret"]
    secret = plan.problem.secret
    found = np.quantile(out["x"], secret.alpha) if secret.kind == "quantile" else out["x"].mean()
    # a stretched column keeps seven digits, a moved one is blurred by a share of the tolerance
    off = plan.release_mode.wander(plan.problem)
    near = 1e-6 + off if plan.mode == "shift" else 2e-6 * float(out["x"].abs().max())
    assert found == pytest.approx(wanted, abs=near)
    assert out["y"].equals(table["y"])
    assert done.card["guarantee"]["risk"] == plan.risk
    checks = sv.verify_file(tmp_path / "out.parquet").checks
    assert all(check.ok for check in checks), [check.says for check in checks if not check.ok]


QUICK = ("comb", "layered", "optimal")


@pytest.mark.parametrize(
    "plan",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in PLANS],
    indirect=True,
)
@pytest.mark.heavy(1)
def test_an_audit_finds_the_plans_risk_and_no_more(plan, column):
    released = sv.release(plan, column, seed=3)
    report = sv.audit(plan, column, released, trials=200, seed=2)
    rates = {finding.attacker: finding for finding in report.findings}
    assert rates["bayes"].low <= plan.risk
    assert rates["bayes"].rate >= 0.4 * plan.risk
    assert not report.leaks


def test_the_words_of_a_plan_say_what_its_headline_does_not(plan):
    from statveil.report.plan import describe_plan

    text = describe_plan(plan)
    assert "efficiency" in text
    if plan.method == "comb":
        assert "up to multiples of" in text
        assert "jumps" in text
    if plan.randomised:
        assert "must stay secret" in text


# --- the command line -------------------------------------------------------------------------------------
BASE = ["--family", "location", "--prior", "mean=0:100", "--secret", "mean", "--tolerance", "1"]


@pytest.mark.usefixtures("no_optimum")
@pytest.mark.parametrize("method", ["auto", *ALONE])
def test_every_method_by_name(cli, method):
    words = ["--family", "poisson", "--prior", "rate=2:26", "--secret", "mean", "--tolerance", "1"]
    words = BASE if method in ("interval",) else words
    code, out, err = cli("plan", *words, "--max-distortion", "3", "--method", method, "--grid", "60", "--json")
    assert (code, err) == (0, "")
    made = json.loads(out)
    assert made["method"] in METHODS
    assert made["distortion"] <= 3 * (1 + 1e-9)
    assert {"efficiency", "optimum", "randomised", "robust_to"} <= set(made)


def test_robust_to_on_the_command_line(cli):
    code, out, _ = cli("plan", *BASE, "--max-risk", "0.3", "--robust-to", "0.5:2", "--json")
    made = json.loads(out)
    assert (code, made["robust_to"], made["method"]) == (0, [0.5, 2.0], "comb")
    for text, word in (("2", "LO:HI"), ("2:1", "reversed"), ("a:2", "number"), ("3:4", "hold the problem's own")):
        code, out, err = cli("plan", *BASE, "--max-risk", "0.3", "--robust-to", text)
        assert (code, out) == (2, "")
        assert word in err


def test_apply_of_a_randomised_plan_asks_for_a_seed(cli, tmp_path):
    target = str(tmp_path / "p.json")
    words = ["--family", "poisson", "--prior", "rate=2:26~normal(12,3)", "--secret", "mean", "--tolerance", "1"]
    assert cli("plan", *words, "--max-distortion", "3", "--method", "layered", "--grid", "60", "-o", target)[0] == 0
    code, out, err = cli("apply", target, "--at", "rate=9")
    assert (code, out) == (2, "")
    assert "--seed" in err
    one, two = (cli("apply", target, "--at", "rate=9", "--seed", "4", "--json") for _ in range(2))
    assert one == two
    assert abs(json.loads(one[1])["released"]["rate"] - 9) <= 3 + 1e-9


def test_a_frontier_of_every_method(cli):
    words = ["--family", "poisson", "--prior", "rate=2:26", "--secret", "mean", "--tolerance", "1"]
    methods = "interval,comb,dynamic,greedy,optimal"
    code, out, err = cli(
        "frontier", *words, "--methods", "comb,dynamic,greedy,optimal", "--grid", "48", "--points", "6", "--json"
    )
    assert (code, err) == (0, "")
    points = json.loads(out)["points"]
    assert {p["method"] for p in points} == set(methods.split(",")) - {"interval"}
    location = ["--family", "location", "--prior", "mean=0:24", "--secret", "mean", "--tolerance", "1"]
    code, out, err = cli("frontier", *location, "--methods", methods, "--grid", "48", "--points", "6", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert {p["method"] for p in found["points"]} == set(methods.split(","))
    for point in found["points"]:
        # Theorem 2: gamma is 1/2, so no mechanism has less than 1 / ceil(distortion)
        assert point["risk"] >= 1 / np.ceil(point["distortion"] - 1e-9) - 1e-6


def test_the_help_states_the_cells_that_each_method_takes(cli):
    cells = {name: method.cells for name, method in METHODS.items() if method.cells is not None}
    assert cells == {"dynamic": 800, "greedy": 800, "layered": 400, "comb": 400, "layered-comb": 400, "optimal": 240}
    for command in ("plan", "frontier"):
        said = " ".join(cli(command, "--help")[1].split())
        assert "default 800; layers and combs 400, optimal 240" in said
        assert all(name in said for name in METHODS)
