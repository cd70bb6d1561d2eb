"""A plan under another prior than its own: the attacker who knows that prior, and what none exceeds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.theory.prior_distance import PriorDistance, prior_distance

pytestmark = pytest.mark.usefixtures("no_optimum")

PROBLEM = sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1)
NORMAL = sv.Density("norm", (40.0, 20.0), low=0.0, high=100.0)
BELIEFS = {
    "flat": sv.Flat(0.0, 100.0),
    "part": sv.Flat(10.0, 60.0),
    "normal": NORMAL,
    "narrow": sv.Density("norm", (55.0, 9.0), low=0.0, high=100.0),
    "beta": sv.Density("beta", (2.0, 5.0, 0.0, 100.0), low=0.0, high=100.0),
    "table": sv.Tabulated([0.0, 30.0, 80.0, 100.0], [1.0, 3.0, 0.5, 2.0]),
}


@pytest.mark.parametrize("one", BELIEFS)
@pytest.mark.parametrize("two", BELIEFS)
def test_the_distance_of_two_priors_is_rounded_up(one, two):
    p, q = BELIEFS[one], BELIEFS[two]
    found = prior_distance(p, q)
    x = (np.arange(200_000) + 0.5) / 2_000
    a, b = p.pdf(x), q.pdf(x)
    apart = 0.5 * np.abs(a - b).sum() / 2_000
    assert apart - 1e-6 <= found.total_variation <= apart + 1e-5
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(a > 0, b / a, np.where(b > 0, np.inf, 1.0))
    assert found.most >= ratio.max() * (1 - 1e-9)
    assert found.least <= ratio.min() * (1 + 1e-9)
    if np.isfinite(found.most):
        assert found.most <= ratio.max() * 1.01


@given(data=st.data())
def test_no_attacker_exceeds_the_bounds(data):
    """Any two laws on a few points in bins, and the risk of both spelled out."""
    seed = data.draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(12, 0.7)), rng.dirichlet(np.full(12, 0.7))
    share = rng.random()
    q = share * p + (1 - share) * q

    def risk(mass):
        return sum(max(part[i : i + 2].sum() for i in range(3)) for part in mass.reshape(3, 4))

    far = PriorDistance(
        total_variation=0.5 * np.abs(p - q).sum(), most=float((q / p).max()), least=float((q / p).min())
    )
    for bound in far.risk_bounds(risk(p)).values():
        assert risk(q) <= bound + 1e-12


@pytest.mark.parametrize("name", ["part", "normal", "narrow"])
def test_the_best_attacker_under_another_prior(name):
    plan = sv.plan(PROBLEM, bin=10)
    found = sv.simulate(plan, prior=BELIEFS[name], trials=60_000, seed=2)
    x = (np.arange(100_000) + 0.5) / 1_000
    mass = BELIEFS[name].pdf(x) / 1_000
    total = np.concatenate([[0.0], np.cumsum(mass)])
    truth = sum(
        max(total[i + 2_000 : k + 10_001] - total[i : k + 8_001]) for k in range(0, 100_000, 10_000) for i in [k]
    )
    assert found.low - 2e-3 <= truth <= found.high + 2e-3
    assert truth <= found.wrong_prior.bound + 1e-6


def test_two_parameters_and_the_plans_own_prior():
    problem = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(0, 70), sigma=(5, 30)), secret=sv.Quantile(0.95), tolerance=1
    )
    plan = sv.plan(problem, max_risk=0.2)
    same = sv.simulate(plan, prior=sv.Box(mu=(0, 70)), trials=20_000, seed=1)
    assert same.wrong_prior.bound == pytest.approx(plan.risk, abs=1e-9)
    assert same.low <= plan.risk <= same.high
    other = sv.simulate(plan, prior={"mu": (0, 35), "sigma": (5, 30)}, trials=20_000, seed=1)
    assert other.wrong_prior.distance.most == pytest.approx(2.0)
    assert other.low <= other.wrong_prior.bound
    assert sv.simulate(plan, trials=1_000, seed=1).wrong_prior is None


def test_relative_closeness_keeps_its_scale():
    plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(10, 100), tolerance=sv.Relative(0.05)), max_risk=0.3)
    even = sv.LogUniform(10.0, 100.0)
    found = sv.simulate(plan, prior=even, trials=40_000, seed=3)
    x = np.exp(np.linspace(np.log(10), np.log(100), 400_001))
    x = np.sqrt(x[1:] * x[:-1])
    released = np.round(np.asarray(plan.apply(value=x).secret), 9)
    truth = 0.0
    for value in np.unique(released):
        held = np.log(x[released == value])
        last = np.searchsorted(held, held + 2 * plan.problem.tolerance, side="right")
        truth += (last - np.arange(len(held))).max() / len(x)
    assert found.low - 1e-3 <= truth <= found.high + 1e-3


@pytest.mark.parametrize(
    ("prior", "says"),
    [
        ((50, 150), "range that the plan is for"),
        (30, "every parameter is known"),
        (sv.Box(mu=(0, 1)), "other prior"),
        (sv.Lipschitz(0.0, 100.0, 0.001, 1e-4), "class"),
    ],
)
def test_other_priors_that_are_refused(prior, says):
    with pytest.raises(sv.ProblemError, match=says):
        sv.simulate(sv.plan(PROBLEM, bin=10), prior=prior, trials=100, seed=1)


def test_the_command(cli, tmp_path):
    file = tmp_path / "plan.json"
    sv.save_plan(sv.plan(PROBLEM, bin=10), file)
    code, out, _ = cli("simulate", file, "--prior", "20:60", "--trials", 2_000, "--seed", 1, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["wrong_prior"]["total_variation"] == pytest.approx(0.6)
    assert told["wrong_prior"]["bounds"]["density_ratio"] == pytest.approx(0.5)
    code, out, _ = cli("simulate", file, "--prior", "20:60", "--trials", 2_000, "--seed", 1)
    assert "no attacker hits more often than 0.5" in out
    code, _, _ = cli("simulate", file, "--trials", 2_000, "--seed", 1, "--json")
    assert code == 0
