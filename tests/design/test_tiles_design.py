"""The best bins in two coordinates: the theory's numbers, and a search that shares nothing with the design."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

import statveil as sv

pytestmark = pytest.mark.usefixtures("no_optimum")


def asked(one, two, eps=(1.0, 1.0), family=None):
    also = sv.Also(sv.Std(), two, tolerance=eps[1])
    return sv.Problem(family=family, secret=sv.Mean(), prior=one, tolerance=eps[0], also=[also])


def folded(a, b):
    """E|a + b Z| of a normal Z."""
    t = abs(a) / abs(b)
    return 2 * abs(b) * norm.pdf(t) + abs(a) * (2 * norm.cdf(t) - 1)


@pytest.mark.parametrize(("target", "tiles", "diagonal"), [(0.2, 11.01, 11.62), (0.4, 5.16, 5.81)])
def test_the_numbers_of_the_theory(target, tiles, diagonal):
    """Section 17.4: bins in both coordinates against the best oblique line, eps = 1, ranges without an end."""
    plan = sv.plan(asked((-1e5, 1e5), (10, 2e5), family=sv.Gaussian()), max_risk=target)
    assert plan.distortion == pytest.approx(tiles, abs=0.006)
    # an oblique line (t, 1) costs E|t + Z| (1 / t + 1) / T
    t = np.linspace(0.05, 8, 4000)
    line = min(folded(one, 1.0) * (1 / one + 1) / target for one in t)
    assert line == pytest.approx(diagonal, abs=0.006)
    # s1 and s2 by brute force: p = 2 / s each, 1 - (1 - p1)(1 - p2) = T
    p = np.linspace(1e-3, target - 1e-3, 4000)
    other = 1 - (1 - target) / (1 - p)
    best = min(folded(1 / a, 1 / b) for a, b in zip(p, other, strict=True))
    assert plan.distortion == pytest.approx(best, rel=2e-4)
    assert plan.risk <= target


def risk_of(length, width, window):
    count = math.floor(length / width * (1 + 1e-12))
    rest = max(length - count * width, 0.0)
    return (count * min(window, width) + min(window, rest)) / length


@pytest.mark.parametrize("target", [0.25, 0.4, 0.6])
def test_no_pair_of_widths_is_better_on_ranges(target):
    one, two, eps = (0.0, 37.0), (5.0, 24.0), (0.8, 0.5)
    plan = sv.plan(asked(one, two, eps), max_risk=target)
    first = np.linspace(1.6, 37, 700)
    second = np.linspace(1.0, 19, 700)
    first, second = np.append(first, 37 / np.arange(1, 24)), np.append(second, 19 / np.arange(1, 20))
    p = np.array([risk_of(37, width, 1.6) for width in first])
    q = np.array([risk_of(19, width, 1.0) for width in second])
    union = 1 - (1 - p[:, None]) * (1 - q[None, :])
    distortion = np.hypot(first[:, None], second[None, :]) / 2
    assert plan.distortion <= distortion[union <= target].min() * (1 + 1e-9)
    assert plan.risk <= target


@pytest.mark.parametrize("most", [3.0, 6.0, 12.0])
def test_least_risk_within_a_distortion(most):
    one, two, eps = (0.0, 37.0), (5.0, 24.0), (0.8, 0.5)
    plan = sv.plan(asked(one, two, eps), max_distortion=most)
    assert plan.distortion <= most
    first = np.append(np.linspace(1.6, 37, 700), 37 / np.arange(1, 24))
    second = np.append(np.linspace(1.0, 19, 700), 19 / np.arange(1, 20))
    p = np.array([risk_of(37, width, 1.6) for width in first])
    q = np.array([risk_of(19, width, 1.0) for width in second])
    union = 1 - (1 - p[:, None]) * (1 - q[None, :])
    fits = np.hypot(first[:, None], second[None, :]) / 2 <= most
    assert plan.risk <= union[fits].min() * (1 + 1e-9)


def test_a_risk_of_each():
    plan = sv.plan(asked((0, 60), (5, 25), (1.0, 0.5)), max_risk=(0.2, 0.1))
    assert [round(one.value, 12) for one in plan.of_each.each] == [0.2, 0.1]
    assert plan.risk == pytest.approx(1 - 0.8 * 0.9)
    widths = [bins.width for bins in plan.mechanism.axes.values()]
    assert widths == pytest.approx([10.0, 10.0])
    assert plan.distortion == pytest.approx(math.hypot(5, 5))


def test_beliefs_that_are_not_flat_meet_their_target_and_gain_from_a_looser_one():
    problem = asked(sv.LogUniform(10, 60), sv.LogUniform(5, 25), (0.5, 0.5), sv.Gaussian())
    found = [sv.plan(problem, max_risk=risk) for risk in (0.3, 0.5)]
    assert found[0].risk <= 0.3
    assert found[1].risk <= 0.5
    assert found[1].distortion < found[0].distortion
    back = sv.plan(problem, max_distortion=found[0].distortion)
    assert back.distortion <= found[0].distortion
    assert back.risk == pytest.approx(0.3, rel=0.03)


def test_targets_out_of_reach_say_what_is():
    problem = asked((0, 20), (5, 15), (1.0, 1.0))
    # one bin for everything: .1 and .2, so .28 of either
    with pytest.raises(sv.TargetError, match=r"smallest reachable risk is 0\.28"):
        sv.plan(problem, max_risk=0.2)
    with pytest.raises(sv.TargetError, match="hides nothing"):
        sv.plan(problem, max_distortion=1.4)
    with pytest.raises(sv.TargetError, match="smallest reachable"):
        sv.plan(problem, max_risk=(0.5, 0.1))
    assert sv.plan(problem, max_distortion=50).risk == pytest.approx(0.28)


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({"bin": 3}, "'interval'|for one secret"),
        ({"max_risk": 0.4, "slope": 1.0}, "slope"),
        ({"max_risk": 0.4, "method": "interval"}, "Allowed: tiles"),
        ({"max_risk": (0.4, 0.2, 0.3)}, "one risk for each"),
        ({"max_risk": 0.4, "robust_to": (0.5, 2)}, "for one secret"),
        ({"max_risk": 0.4, "grid": 50}, "no grid"),
        ({"max_risk": (0.4, 1.5)}, "between 0 and 1"),
    ],
)
def test_what_two_secrets_do_not_take(how, word):
    with pytest.raises(sv.ProblemError, match=word):
        sv.plan(asked((0, 60), (5, 25)), **how)


def test_one_secret_takes_neither_their_method_nor_two_risks():
    alone = sv.Problem(secret=sv.Mean(), prior=(0, 60), tolerance=1)
    with pytest.raises(sv.ProblemError, match="hides 2 secrets"):
        sv.plan(alone, max_risk=0.2, method="tiles")
    with pytest.raises(sv.ProblemError, match="several secrets"):
        sv.plan(alone, max_risk=(0.2, 0.3))


def test_the_trade_off_falls_and_stays_above_its_limit():
    found = sv.frontier(asked((0, 60), (5, 25), (1.0, 0.5)), points=8)
    risks = [point["risk"] for point in found.points]
    assert risks == sorted(risks, reverse=True)
    assert len(risks) >= 3
    for point in found.points:
        assert point["method"] == "tiles"
        limit = max(bound["risk"] for bound in found.lower_bound if bound["distortion"] == point["distortion"])
        assert limit <= point["risk"] * (1 + 1e-9)
