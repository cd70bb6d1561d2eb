"""What a guess hits that never saw a release: against closed forms, against draws, and never above a plan's risk."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.baseline import risk_without_release
from statveil.contradictions import contradictions
from statveil.plan_file import dump_plan, parse_plan
from statveil.simulation import proportion_interval

pytestmark = pytest.mark.usefixtures("no_optimum")


def problem(family, secret, tolerance, **axes):
    return sv.Problem(family=family, prior=sv.Box(axes), secret=secret, tolerance=tolerance)


@given(low=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6), share=st.floats(1e-6, 3))
def test_a_plain_range_of_one_parameter(low, width, share):
    asked = problem(sv.Location(), sv.Mean(), share * width, mean=(low, low + width))
    assert risk_without_release(asked) == pytest.approx(min(1, 2 * share), rel=1e-6)


@given(st.integers(2, 30), st.floats(0.001, 0.4))
def test_shares_pile_up_at_nothing(categories, eps):
    """One of C uniform shares is Beta(1, C - 1): P(share <= 2 eps) = 1 - (1 - 2 eps)^(C-1)."""
    asked = sv.Problem(family=sv.Categorical(categories=categories), secret=sv.Fraction(0), tolerance=eps)
    assert risk_without_release(asked) == pytest.approx(1 - (1 - 2 * eps) ** (categories - 1))


@given(a=st.floats(0.1, 100), b=st.floats(0.1, 100), share=st.floats(0.001, 1.2))
def test_two_plain_ranges(a, b, share):
    """The sum of two uniform numbers has a trapezoid as density: length a + b, plateau |a - b|, height 1 / max."""
    asked = problem(sv.Uniform(), sv.Mean(), 0.5 * share * (a + b) / 2, low=(0, a), high=(200, 200 + b))
    # the mean is (low + high) / 2: in units of the sum the window is twice as long
    window, plateau, height = share * (a + b), abs(a - b), 1 / max(a, b)
    over = max(0.0, window - plateau) / 2  # beyond the plateau on either side, until min(a, b)
    over = min(over, min(a, b))
    slope = height / min(a, b)
    expected = min(window, plateau) * height + 2 * (over * height - 0.5 * slope * over**2)
    assert min(1.0, expected) * (1 - 1e-12) <= risk_without_release(asked) <= expected * (1 + 1e-5)


CASES = {
    "gaussian": problem(sv.Gaussian(), sv.Quantile(0.95), 2, mu=(0, 200), sigma=(1, 51)),
    "elicited": problem(sv.Gaussian(), sv.Std(), 1, mu=(0, 200), sigma=sv.Elicited(5, 20, 0.9)),
    "two densities": problem(
        sv.Gaussian(),
        sv.Quantile(0.9),
        1,
        mu=sv.Density("normal", (50, 1), low=0, high=100),
        sigma=sv.Density("t", (2, 10, 3), low=1, high=50),
    ),
    "a narrow density": problem(
        sv.Gaussian(), sv.Quantile(0.9), 1, mu=sv.Density("normal", (50, 0.01), low=0, high=100), sigma=(1, 50)
    ),
    "two peaks": problem(
        sv.Gaussian(),
        sv.Quantile(0.9),
        1,
        mu=sv.Tabulated([0, 10, 11, 20, 80, 81, 90, 100], [1, 1, 20, 1, 1, 21, 1, 1]),
        sigma=sv.Tabulated([1, 1.5, 2, 10], [1, 9, 1, 0]),
    ),
    "triangle": problem(sv.Uniform(), sv.Quantile(0.9), 1, low=(0, 100), high=(0, 100)),
    "cut": problem(sv.Uniform(), sv.Std(), 1, low=(0, 60), high=(40, 100)),
    "cut density": problem(
        sv.Uniform(), sv.Std(), 0.5, low=(0, 60), high=sv.Density("normal", (50, 20), low=40, high=100)
    ),
    "a known end": problem(sv.Uniform(), sv.Mean(), 2, low=20, high=(10, 100)),
    "geometric": problem(sv.Geometric(), sv.Mean(), 0.1, p=(0.1, 0.9)),
    "turning": problem(sv.Binomial(trials=20), sv.Std(), 0.1, p=(0.05, 0.95)),
    "beta": problem(sv.Poisson(), sv.Mean(), 0.5, rate=sv.Density("gamma", (3, 0, 2), low=0.5, high=40)),
}


@pytest.mark.parametrize("name", CASES)
def test_draws_agree(name):
    asked, rng, size = CASES[name], np.random.default_rng(8), 400_000
    one, two = (np.sort(asked.secret_of(asked.sample(size, rng))) for _ in range(2))
    window = 2 * asked.tolerance
    held = np.searchsorted(one, one + window, side="right") - np.arange(size)
    start = one[held.argmax()]
    # scored on other draws than those that chose the window
    hits = int(np.searchsorted(two, start + window, side="right") - np.searchsorted(two, start))
    low, high = proportion_interval(hits, size, 0.9999)
    found = risk_without_release(asked)
    assert low <= found
    assert found <= high * 1.01  # the chosen window is nearly the best


@pytest.mark.parametrize("axis", [sv.Lipschitz(0, 100, 0.005, 0.0001), sv.Lipschitz(0, 100, 0, 0.0004)])
def test_a_class_is_bounded_for_its_members(axis):
    class_risk = risk_without_release(problem(sv.Location(), sv.Mean(), 5, mean=axis))
    member = risk_without_release(problem(sv.Location(), sv.Mean(), 5, mean=axis.steepest))
    assert member * (1 - 1e-9) <= class_risk
    both = risk_without_release(problem(sv.Gaussian(), sv.Quantile(0.9), 5, mu=axis, sigma=(1, 20)))
    drawn = risk_without_release(problem(sv.Gaussian(), sv.Quantile(0.9), 5, mu=axis.steepest, sigma=(1, 20)))
    assert drawn * (1 - 1e-6) <= both <= class_risk * (1 + 1e-9)


@settings(max_examples=40)
@given(
    a=st.floats(0.5, 50),
    b=st.floats(0.5, 50),
    eps=st.floats(0.02, 2),
    alpha=st.sampled_from([0.05, 0.5, 0.95]),
    room=st.floats(0.05, 0.9),
    method=st.sampled_from(["interval", "comb"]),
)
def test_no_plan_has_a_lower_risk(a, b, eps, alpha, room, method):
    asked = problem(sv.Gaussian(), sv.Quantile(alpha), eps, mu=(0, a), sigma=(1, 1 + b))
    blind = risk_without_release(asked)
    try:
        plan = sv.plan(asked, max_risk=min(0.99, blind + room * (1 - blind)), method=method)
    except sv.TargetError:
        return
    assert plan.risk_without_release == blind
    assert blind <= plan.risk * (1 + 1e-6)


def test_it_is_in_the_file_and_old_files_load():
    plan = sv.plan(problem(sv.Location(), sv.Mean(), 1, mean=(0, 100)), max_risk=0.2)
    assert plan.to_json()["risk_without_release"] == 0.02
    assert parse_plan(dump_plan(plan)) == plan
    old = json.loads(dump_plan(plan))
    del old["risk_without_release"]
    loaded = parse_plan(json.dumps(old))
    assert loaded.risk_without_release is None
    assert json.loads(dump_plan(loaded)) == old
    assert contradictions(loaded) == []


def test_another_number_is_a_contradiction():
    plan = sv.plan(problem(sv.Location(), sv.Mean(), 1, mean=(0, 100)), max_risk=0.2)
    assert contradictions(plan) == []
    assert contradictions(replace(plan, risk_without_release=0.19)) == [
        "its risk without a release is not that of its problem"
    ]
