"""The checker of two secrets: right against closed forms, and it finds plans that state too little."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import statveil as sv
from fuzz.beliefs import belief
from fuzz.checker import Misread, check
from fuzz.plans import examine
from fuzz.problems import random_spec
from fuzz.truth_pairs import _of_any_shape, _windows, draws_agree, edges_of, pair_truth

pytestmark = pytest.mark.usefixtures("no_optimum")


def two(family=None, mean=(10, 50)):
    return sv.Problem(
        family=family, secret=sv.Mean(), prior=mean, tolerance=1, also=[sv.Also(sv.Std(), (5, 20), tolerance=0.5)]
    )


def tiles(mean, std):
    return {"kind": "tiles", "axes": {"mean": mean, "std": std}}


def stated(mechanism):
    also = [{"secret": {"kind": "std"}, "prior": {"kind": "flat", "low": 5, "high": 20}, "tolerance": 0.5}]
    problem = {"secret": {"kind": "mean"}, "prior": {"kind": "flat", "low": 10, "high": 50}, "tolerance": 1.0}
    return {"problem": {**problem, "also": also, "family": None}, "mechanism": mechanism}


def test_bins_of_both_in_closed_form():
    one = {"low": 10, "high": 50, "origin": 10, "width": 10}
    two_bins = {"low": 5, "high": 20, "origin": 5, "width": 5}
    found = pair_truth([stated(tiles(one, two_bins))])
    assert found.each == pytest.approx((0.2, 0.2))
    assert (found.union, found.both) == pytest.approx((1 - 0.8 * 0.8, 0.04))
    # a second release with edges between: pieces of 3 and 7, one window in each
    cut = {"edges": [10, 13, 20, 23, 30, 33, 40, 43, 50]}
    found = pair_truth([stated(tiles(one, two_bins)), stated(tiles(cut, two_bins))])
    assert found.each == pytest.approx((0.4, 0.2))
    # a shorter last bin and an origin outside the range
    assert edges_of({"low": 0.0, "high": 10.0, "origin": -1.0, "width": 4.0}).tolist() == [0.0, 3.0, 7.0, 10.0]


def test_the_best_window_of_a_bin_under_a_density():
    data = {"kind": "density", "name": "norm", "args": [5.0, 1.0], "low": 0.0, "high": 10.0}
    mass, start, caught = _windows(belief(data), np.array([0.0, 4.2, 10.0]), 1.0)
    whole = stats.norm.cdf(5) - stats.norm.cdf(-5)
    assert mass.sum() == pytest.approx(1)
    assert start == pytest.approx([3.2, 4.5], abs=1e-4)
    wanted = [stats.norm.cdf(-0.8) - stats.norm.cdf(-1.8), stats.norm.cdf(0.5) - stats.norm.cdf(-0.5)]
    assert caught == pytest.approx(np.array(wanted) / whole, abs=1e-9)


def test_columns_that_move_farthest():
    """Mean and std: half the diagonal, whatever the shape; of a median at least the distance that it moves itself."""
    assert _of_any_shape({"kind": "mean"}, np.array([3.0]), np.array([4.0])) == pytest.approx(5.0)
    assert _of_any_shape({"kind": "median"}, np.array([3.0]), np.array([0.0])) == pytest.approx(3.0)


@pytest.mark.parametrize("change", ["risk", "each", "distortion", "reading"])
def test_plans_that_state_too_little_are_found(change, monkeypatch):
    plan = sv.plan(two(sv.Gaussian()), max_risk=0.4)
    assert not check(plan, max_risk=0.4).violations
    data = plan.to_json()
    if change == "risk":
        lower = replace(plan, risk=plan.risk - 2e-6)
        assert any("risk" in one for one in check(lower).violations)
        return
    if change == "each":
        data["secrets"][1]["risk"] -= 2e-6
    elif change == "distortion":
        data["distortion"] *= 1 - 2e-6
    else:  # bins that the plan does not have
        data["mechanism"]["axes"]["mean"]["width"] *= 0.7
    monkeypatch.setattr(type(plan), "to_json", lambda self: data)
    if change == "reading":
        with pytest.raises(Misread):
            check(plan)
    else:
        assert any(("second" if change == "each" else "distortion") in one for one in check(plan).violations)


def test_drawn_pairs_are_looked_up_by_their_releases():
    first = sv.plan(two(), max_risk=0.3)
    after = sv.plan(two(), max_risk=0.5, after=[first])
    data = [plan.to_json() for plan in (first, after)]
    truth = pair_truth(data)
    assert truth.union == pytest.approx(after.risk, abs=1e-6)
    assert draws_agree([first, after], data, truth) == ""
    assert "drawn pairs" in draws_agree([first, after], data, replace(truth, union=truth.union + 0.03))


def test_random_plans_of_two_secrets_hold():
    specs = [random_spec(np.random.default_rng([5, number]), "pair") for number in range(60)]
    # plain ranges, which are planned for at once; docs/fuzz.md has a run of all kinds
    quick = [spec for spec in specs if all(part["prior"]["kind"] == "flat" for part in spec["parts"])][:8]
    states = [examine(spec)[0] for spec in quick]
    assert set(states) <= {"checked", "refused"}, states
    assert states.count("checked") >= 5
    assert any("before" in spec for spec in quick)
