"""The simulated attacker: it agrees with the reported risk without ever using the accounting."""

from __future__ import annotations

import inspect
import math
import pkgutil
from importlib import import_module

import numpy as np
import pytest
from scipy.stats import binom

import statveil as sv
from statveil import accounting
from statveil.plan_file import dump_plan, parse_plan
from statveil.simulation import proportion_interval

pytestmark = pytest.mark.usefixtures("no_optimum")

TRIALS = 200_000


def problem(family, secret, eps, known=None, **axes):
    return sv.Problem(family=family, prior=sv.Box(**axes), secret=secret, tolerance=eps, known=known or sv.Structure())


GAUSSIAN = {"mu": (0.0, 200.0), "sigma": (1.0, 51.0)}
SHIFTED = {"scale": (1.0, 31.0), "shift": (-20.0, 100.0)}
TRIANGLE = {"low": (0.0, 10.0), "high": (0.0, 10.0)}
CUT = {"low": (0.0, 10.0), "high": (5.0, 20.0)}
NORMAL = sv.Density("normal", (100, 30), low=0, high=200)
PLANS = {
    "gaussian mean": lambda: sv.plan(problem(sv.Gaussian(), sv.Mean(), 2.0, **GAUSSIAN), max_risk=0.2),
    "gaussian std": lambda: sv.plan(problem(sv.Gaussian(), sv.Std(), 1.0, **GAUSSIAN), max_risk=0.3),
    "gaussian q95": lambda: sv.plan(problem(sv.Gaussian(), sv.Quantile(0.95), 1.0, **GAUSSIAN), max_risk=0.2),
    "gaussian q50": lambda: sv.plan(problem(sv.Gaussian(), sv.Quantile(0.5), 1.0, **GAUSSIAN), bin=7.0),
    "gaussian q20 slope": lambda: sv.plan(
        problem(sv.Gaussian(), sv.Quantile(0.2), 1.0, **GAUSSIAN), bin=7.0, slope=-3.0
    ),
    "gaussian known sigma": lambda: sv.plan(
        problem(sv.Gaussian(), sv.Quantile(0.2), 1.0, mu=(0, 200), sigma=4.0), bin=7.0
    ),
    "gaussian normal prior": lambda: sv.plan(
        problem(sv.Gaussian(), sv.Quantile(0.95), 1.0, mu=NORMAL, sigma=(1, 51)), bin=8.0
    ),
    "gaussian elicited": lambda: sv.plan(
        problem(sv.Gaussian(), sv.Std(), 0.5, mu=sv.Elicited(10, 90, 0.9), sigma=sv.Elicited(5, 20, 0.9)), max_risk=0.3
    ),
    "gaussian table": lambda: sv.plan(
        problem(sv.Gaussian(), sv.Mean(), 1.0, mu=sv.Tabulated([0, 20, 80, 200], [1, 3, 0, 2]), sigma=(1, 5)), bin=9.0
    ),
    "shifted mean": lambda: sv.plan(problem(sv.ShiftedExponential(), sv.Mean(), 1.0, **SHIFTED), max_risk=0.2),
    "shifted std": lambda: sv.plan(problem(sv.ShiftedExponential(), sv.Std(), 1.0, **SHIFTED), max_risk=0.3),
    "shifted q00": lambda: sv.plan(problem(sv.ShiftedExponential(), sv.Quantile(0.0), 1.0, **SHIFTED), bin=6.0),
    "shifted q90": lambda: sv.plan(problem(sv.ShiftedExponential(), sv.Quantile(0.9), 1.0, **SHIFTED), max_risk=0.2),
    "exponential mean": lambda: sv.plan(problem(sv.Exponential(), sv.Mean(), 0.5, scale=(1, 31)), bin=4.0),
    "exponential std": lambda: sv.plan(problem(sv.Exponential(), sv.Std(), 0.5, scale=(1, 31)), max_risk=0.2),
    "exponential q90": lambda: sv.plan(problem(sv.Exponential(), sv.Quantile(0.9), 0.5, scale=(1, 31)), max_risk=0.1),
    "exponential elicited": lambda: sv.plan(
        problem(sv.Exponential(), sv.Mean(), 0.5, scale=sv.Elicited(2, 20, 0.8)), max_risk=0.3
    ),
    "location": lambda: sv.plan(problem(sv.Location(), sv.Mean(), 1.0, mean=(0, 100)), max_risk=0.22),
    "uniform mean": lambda: sv.plan(problem(sv.Uniform(), sv.Mean(), 0.1, **TRIANGLE), max_risk=0.3),
    "uniform std": lambda: sv.plan(problem(sv.Uniform(), sv.Std(), 0.1, **TRIANGLE), max_risk=0.3),
    "uniform q30": lambda: sv.plan(problem(sv.Uniform(), sv.Quantile(0.3), 0.1, **TRIANGLE), max_risk=0.3),
    "uniform q100": lambda: sv.plan(problem(sv.Uniform(), sv.Quantile(1.0), 0.1, **TRIANGLE), bin=1.5),
    "uniform cut std": lambda: sv.plan(problem(sv.Uniform(), sv.Std(), 0.1, **CUT), max_risk=0.3),
    "uniform cut mean": lambda: sv.plan(problem(sv.Uniform(), sv.Mean(), 0.1, **CUT), max_risk=0.3),
    "lattice": lambda: sv.plan(problem(sv.Gaussian(), sv.Mean(), 1.0, sv.Structure(step=1), **GAUSSIAN), max_risk=0.25),
    "lattice bin": lambda: sv.plan(problem(sv.Location(), sv.Mean(), 1.5, sv.Structure(step=1), mean=(0, 90)), bin=7.4),
    "scale": lambda: sv.plan(
        problem(sv.Gaussian(), sv.Quantile(0.8), 2.0, sv.Structure(minimum=0), mu=(50, 200), sigma=(5, 40)),
        max_risk=0.3,
    ),
    "share": lambda: sv.plan(
        sv.Problem(family=sv.Categorical(categories=10), secret=sv.Fraction(3), tolerance=0.025), bin=0.1
    ),
    "share of two": lambda: sv.plan(
        sv.Problem(family=sv.Categorical(labels=["yes", "no"]), secret=sv.Fraction("yes"), tolerance=0.02),
        max_risk=0.3,
    ),
}


# half a minute for the plan; and pairs whose likes stay, of which test_simulate_large plays a million trials
_LONG = (
    "gaussian elicited",
    "gaussian std",
    "gaussian q50",
    "shifted std",
    "shifted q00",
    "shifted q90",
    "uniform q30",
)


@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.slow) if one in _LONG else one for one in PLANS])
@pytest.mark.parametrize(("trials", "width"), [(25_000, 0.023), pytest.param(200_000, 0.008, marks=pytest.mark.slow)])
def test_risk_lies_in_the_interval(name, trials, width):
    plan = PLANS[name]()
    found = sv.simulate(plan, trials=trials, seed=17)
    assert found.low <= plan.risk <= found.high
    assert found.low <= found.rate <= found.high
    assert found.high - found.low < width
    assert found.trials == trials


def test_a_wrong_risk_is_outside_the_interval():
    plan = PLANS["gaussian q95"]()
    found = sv.simulate(plan, trials=TRIALS, seed=17)
    assert not found.low <= 1.04 * plan.risk <= found.high
    assert not found.low <= 0.96 * plan.risk <= found.high


@pytest.mark.parametrize("sd", [1.0, 0.3])
def test_a_narrow_peak_is_found(sd):
    """Slope 3 and one bin: the posterior is a bell of sd / 3, which the best attacker covers from its middle."""
    prior = {"mu": sv.Density("normal", (101.7, sd), low=0, high=200), "sigma": (1.0, 51.0)}
    plan = sv.plan(problem(sv.Gaussian(), sv.Quantile(0.95), 0.5, **prior), bin=50.0, slope=3.0)
    found = sv.simulate(plan, trials=50_000, seed=1)
    half = 0.5 / (3.0 + 1.6448536269514722)
    assert found.high >= math.erf(half / (sd / 3) / math.sqrt(2)) * 0.95


def test_lipschitz_simulation_stays_below_the_bound():
    prior = {"mean": sv.Lipschitz(0, 10, 0.05, 0.02)}
    plan = sv.plan(problem(sv.Location(), sv.Mean(), 0.3, **prior), bin=2.0)
    found = sv.simulate(plan, trials=TRIALS, seed=3)
    assert found.low <= plan.risk
    assert found.rate > 0.9 * 0.3  # and no lower than the flat member


def test_a_risk_of_one_lies_in_the_interval():
    """A window longer than every bin: the best attacker never misses, whatever was drawn before."""
    plan = sv.plan(problem(sv.Location(), sv.Mean(), 10.0, mean=(0, 10)), bin=5.0)
    assert plan.risk == 1.0
    found = sv.simulate(plan, trials=1000, seed=0)
    assert found.rate == found.high == 1.0
    assert found.low == pytest.approx(0.0005 ** (1 / 1000), rel=1e-9)


@pytest.mark.parametrize(("hits", "trials"), [(0, 1), (1, 1), (0, 50), (50, 50), (3, 50), (49, 50), (777, 100_000)])
@pytest.mark.parametrize("confidence", [0.95, 0.999])
def test_interval_function_by_its_definition(hits, trials, confidence):
    low, high = proportion_interval(hits, trials, confidence)
    tail = (1 - confidence) / 2
    if hits == 0:
        assert low == 0.0
    else:
        assert binom.sf(hits - 1, trials, low) == pytest.approx(tail, rel=1e-6)
    if hits == trials:
        assert high == 1.0
    else:
        assert binom.cdf(hits, trials, high) == pytest.approx(tail, rel=1e-6)


def test_seeds_reproduce():
    plan = PLANS["gaussian q95"]()
    once = sv.simulate(plan, trials=20_000, seed=5)
    assert once == sv.simulate(plan, trials=20_000, seed=5)
    assert once == sv.simulate(plan, trials=20_000, rng=np.random.default_rng(5))
    others = {sv.simulate(plan, trials=20_000, seed=seed).rate for seed in range(6)}
    assert len(others) > 1


@pytest.mark.parametrize("trials", [0, -3, 1.5, True])
def test_bad_numbers_of_trials(trials):
    with pytest.raises(sv.ProblemError, match="trials"):
        sv.simulate(PLANS["location"](), trials=trials, seed=0)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, float("nan")])
def test_bad_confidence(confidence):
    with pytest.raises(sv.ProblemError, match="confidence"):
        sv.simulate(PLANS["location"](), trials=10, seed=0, confidence=confidence)


@pytest.mark.parametrize("name", ["gaussian q95", "uniform cut std", "lattice", "scale", "share", "location"])
def test_simulation_never_uses_the_accounting(name, monkeypatch):
    plan = PLANS[name]()
    loaded_plan = parse_plan(dump_plan(plan))  # reading a plan accounts for it anew
    expected = sv.simulate(plan, trials=5_000, seed=2)

    def refuse(*args, **kwargs):
        raise AssertionError("the accounting was used")

    monkeypatch.setattr(accounting, "risk", refuse)
    monkeypatch.setattr(accounting, "distortion", refuse)
    package = import_module("statveil.theory.risk")
    broken = 0
    for module in pkgutil.iter_modules(package.__path__, "statveil.theory.risk."):
        loaded = import_module(module.name)
        for label, value in vars(loaded).items():
            if inspect.isfunction(value) and value.__module__ == module.name:
                monkeypatch.setattr(loaded, label, refuse)
                monkeypatch.setattr(value, "__code__", _raising().__code__) if not value.__closure__ else None
                broken += 1
    assert broken > 10
    with pytest.raises(AssertionError, match="accounting"):
        loaded_plan.risk_profile([1.0])
    assert sv.simulate(loaded_plan, trials=5_000, seed=2) == expected


def _raising():
    """A function without free variables, whose code can replace that of any other."""

    def stop(*args, **kwargs):
        raise AssertionError("the accounting was used")

    return stop


@pytest.mark.parametrize(
    "prior",
    [
        (40_000, 90_000),
        pytest.param(sv.Density("normal", (65_000, 9_000), low=40_000, high=90_000), marks=pytest.mark.slow),
    ],
)
def test_cents_of_a_salary_are_attacked_in_little_time_and_memory(prior):
    """1.2 million candidates per release: a table with one column each would take 10 GB for 1,000 trials."""
    asked = sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=prior),
        secret=sv.Mean(),
        tolerance=1_000,
        known=sv.Structure(step=0.01),
    )
    plan = sv.plan(asked, bin=12_000)
    found = sv.simulate(plan, trials=20_000, seed=5)
    assert found.low <= plan.risk <= found.high
