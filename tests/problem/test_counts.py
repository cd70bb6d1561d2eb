"""Discrete distributions of SciPy with one unknown argument: SciPy's moments, our risk, one sentence for the rest."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import special, stats

import statveil as sv

pytestmark = pytest.mark.usefixtures("no_optimum")

MEMBERS = {
    "bernoulli": ("p", stats.bernoulli, {}, (0.1, 0.6)),
    "betabinom(n=20,b=3)": ("a", stats.betabinom, {"n": 20, "b": 3}, (1, 5)),
    "binom(n=12)": ("p", stats.binom, {"n": 12}, (0.2, 0.7)),
    "boltzmann(N=30)": ("lambda_", stats.boltzmann, {"N": 30}, (0.1, 2)),
    "geom": ("p", stats.geom, {}, (0.05, 0.6)),
    "logser": ("p", stats.logser, {}, (0.2, 0.95)),
    "nbinom(n=2.5)": ("p", stats.nbinom, {"n": 2.5}, (0.1, 0.8)),
    "nchypergeom_fisher(M=140,n=80,N=60)": ("odds", stats.nchypergeom_fisher, {"M": 140, "n": 80, "N": 60}, (0.2, 4)),
    "planck": ("lambda_", stats.planck, {}, (0.05, 2)),
    "poisson": ("mu", stats.poisson, {}, (3, 700)),
    "zipfian(n=50)": ("a", stats.zipfian, {"n": 50}, (0.5, 3)),
}


@pytest.mark.parametrize("of", MEMBERS)
def test_a_member_has_the_moments_shares_and_quantiles_of_scipy(of):
    name, dist, known, (low, high) = MEMBERS[of]
    family = sv.Counts(of)
    (param,) = family.params
    assert param.name == name
    param.check_range(low, high)
    levels = np.array([0.01, 0.3, 0.5, 0.9, 0.999])
    for theta in np.linspace(low, high, 5):
        truth = dist(**{name: theta}, **known)
        at = {name: theta}
        assert float(family.mean(at)) == pytest.approx(truth.mean(), rel=1e-9)
        assert float(family.std(at)) == pytest.approx(truth.std(), rel=1e-9)
        k = truth.ppf(levels)
        np.testing.assert_array_equal(family.quantile(levels, {name: np.full(5, theta)}), k)
        np.testing.assert_allclose(family.cdf(k, at), truth.cdf(k), rtol=1e-9)
        np.testing.assert_allclose(family.pmf(k, at), truth.pmf(k), rtol=1e-7)


def test_a_heavy_tail_has_the_moments_of_its_zeta_functions():
    a = np.array([3.6, 4.5, 6.0])
    found = sv.Counts("zipf")
    mean = special.zeta(a - 1) / special.zeta(a)
    np.testing.assert_allclose(found.mean({"a": a}), mean, rtol=1e-6)  # counts above 10,000 are left out
    second = special.zeta(a - 2) / special.zeta(a)
    with pytest.raises(sv.ProblemError, match=r"standard deviation .* cannot be resolved.*Widen top"):
        found.std({"a": a})
    np.testing.assert_allclose(found.std({"a": a[1:]}), np.sqrt(second - mean**2)[1:], rtol=1e-5)


@pytest.mark.parametrize("of", ["logser", "poisson", "zipfian(n=50)"])
def test_the_distance_is_the_area_between_the_shares(of):
    name, dist, known, (low, high) = MEMBERS[of]
    one, two = np.linspace(low, high, 4), np.linspace(high, low, 4) ** 0.5 + low / 2
    k = np.arange(1_200)  # SciPy adds up the shares of each anew
    shares = [dist(**{name: theta[:, None]}, **known).cdf(k) for theta in (one, two)]
    np.testing.assert_allclose(
        sv.Counts(of).w1({name: one}, {name: two}), np.abs(shares[0] - shares[1]).sum(axis=1), rtol=1e-8
    )


@pytest.mark.parametrize("method", ["greedy", "dynamic"])
def test_the_poisson_distribution_of_scipy_plans_as_our_own(method):
    ours, of_scipy = (
        sv.plan(
            sv.Problem(family=family, prior=sv.Box({name: (5, 60)}), secret=sv.Mean(), tolerance=0.5),
            max_risk=0.25,
            method=method,
            grid=200,
        )
        for family, name in ((sv.Poisson(), "rate"), (sv.Counts("poisson"), "mu"))
    )
    assert of_scipy.risk == pytest.approx(ours.risk, abs=1e-9)
    assert of_scipy.distortion == pytest.approx(ours.distortion, rel=1e-6)


@pytest.fixture(scope="module")
def plan():
    family = sv.Counts("betabinom(n=20,b=3)")
    problem = sv.Problem(family=family, prior=sv.Box(a=(1, 6)), secret=sv.Mean(), tolerance=0.3)
    return sv.plan(problem, max_risk=0.25, method="dynamic", grid=200)


def test_the_best_attacker_reaches_the_stated_risk_and_no_more(plan):
    a = np.random.default_rng(5).uniform(1, 6, 200_000)
    truth, told = 20 * a / (a + 3), np.asarray(plan.apply({"a": a}).released["a"])
    order = np.lexsort((truth, told))
    truth, told = truth[order], told[order]
    hits = 0
    for part in np.split(truth, np.flatnonzero(np.diff(told)) + 1):  # the window that holds most of each class
        hits += int(np.max(np.searchsorted(part, part + 0.6, side="right") - np.arange(len(part))))
    assert plan.risk - 0.005 < hits / len(truth) < plan.risk + 0.01  # the best of many windows gains a little by chance


def test_a_plan_and_a_release_of_counts_survive_their_files(plan, cli, tmp_path):
    column = stats.betabinom(20, 2.5, 3).rvs(size=4_000, random_state=2)
    source, target, file = tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / "plan.json"
    source.write_text("n\n" + "\n".join(map(str, column)) + "\n")
    sv.save_plan(plan, file)
    assert sv.load_plan(file).problem.family == sv.Counts("betabinom(n=20, b=3.0)")
    assert cli("release", file, source, target, "--column", "n")[0] == 0
    assert cli("verify", target)[0] == 0
    released = np.loadtxt(target, skiprows=1)
    assert set(np.unique(released)) <= set(range(21)), "whole numbers of the support"
    own = 3 * column.mean() / (20 - column.mean())  # mean = 20 a / (a + 3)
    to = float(np.asarray(plan.apply({"a": own}).released["a"]))
    assert released.mean() == pytest.approx(20 * to / (to + 3), abs=1e-3)


def test_the_command_plans_what_the_library_plans(cli):
    code, out, _ = cli(
        "plan", "--family", "counts:logser", "--prior", "p=0.3:0.9", "--secret", "mean", "--tolerance", "0.05",
        "--max-risk", "0.3", "--method", "greedy", "--grid", "100", "--json",
    )  # fmt: skip
    assert code == 0
    family = sv.Counts("logser")
    problem = sv.Problem(family=family, prior=sv.Box(p=(0.3, 0.9)), secret=sv.Mean(), tolerance=0.05)
    assert json.loads(out)["risk"] == sv.plan(problem, max_risk=0.3, method="greedy", grid=100).risk


BAD = {
    "": "counts need a discrete distribution",
    "zipff": "unknown discrete distribution 'zipff'; did you mean 'zipf",
    "norm": "unknown discrete distribution 'norm'",
    "betabinom": "has the arguments n, a, b, of which n, a, b are left open",
    "betabinom(n=20,a=1,b=3)": "of which none is left open",
    "betabinom(20,3)": "given by name",
    "betabinom(n=20,c=3)": "unknown argument of 'betabinom' 'c'",
    "betabinom(n=20,n=3)": "stands twice",
    "betabinom(n=x,b=3)": "must be a number",
    "betabinom(n=nan,b=3)": "must be a number",
    "betabinom(n=2.5,b=3)": "must be possible",
    "binom(p=0.5)": "must be a real number",
    "poisson_binom": "must be a real number",
    "skellam(mu1=3)": "values below 0",
    "dlaplace": "values below 0",
    "zipf(top=0)": "a largest count from 1",
    "zipf(top=2.5)": "a largest count from 1",
    "zipf(" + "9" * 1000 + ")": "counts need a discrete distribution",
}


@pytest.mark.parametrize("of", BAD)
def test_what_is_no_such_family_is_refused_in_one_sentence(of, cli):
    if of == "poisson_binom" and not hasattr(stats, of):
        pytest.skip("SciPy before 1.15 has none")
    with pytest.raises(sv.ProblemError, match=r"(?s)" + BAD[of].replace("(", r"\(")):
        sv.Counts(of)
    code, out, err = cli("plan", "--family", f"counts:{of}", "--prior", "a=1:2", "--tolerance", "1", "--max-risk", "1")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_a_mean_that_lies_beyond_the_largest_count_is_refused():
    with pytest.raises(sv.ProblemError, match="Widen top"):
        sv.Counts("poisson").mean({"mu": 20_000.0})
    assert float(sv.Counts("poisson(top=30000)").mean({"mu": 20_000.0})) == pytest.approx(20_000.0, rel=1e-9)
    with pytest.raises(sv.ProblemError, match="cannot be resolved"):
        sv.Counts("zipf").mean({"a": 2.01})
