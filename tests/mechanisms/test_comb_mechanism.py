"""Combs as mechanisms: what they release, what a release leaves open, and the risk of it for any belief."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil import accounting
from statveil.errors import ProblemError
from statveil.mechanisms.comb import Comb
from statveil.mechanisms.mechanism import mechanism_from_json
from statveil.problem.support import Support
from statveil.theory.comb_layout import most_teeth


def on_range(low, length, window, extent):
    keep = Support(limits=(({"m": 1.0}, low), ({"m": -1.0}, -(low + length))))
    return Comb(
        along="m",
        coordinate={"m": 1.0},
        direction={"m": 1.0},
        window=window,
        teeth=most_teeth(extent, window),
        extent=extent,
        keep=keep,
    )


ranges = st.tuples(
    st.floats(-1e3, 1e3),
    st.floats(0.1, 500),
    st.floats(0.5, 5),
    st.floats(1.0, 12.0),
)


@settings(max_examples=150)
@given(drawn=ranges, seed=st.integers(0, 2**32))
def test_a_release_stays_in_the_range_and_within_half_the_extent(drawn, seed):
    low, length, window, times = drawn
    comb = on_range(low, length, window, times * window)
    x = low + length * np.concatenate([[0.0, 1.0], np.random.default_rng(seed).random(300)])
    released = comb.release({"m": x})["m"]
    assert np.all(np.abs(released - x) <= 0.5 * times * window * (1 + 1e-9) + 1e-9)
    assert np.all((released >= low - 1e-9) & (released <= low + length + 1e-9))
    assert comb.snap({"m": released})["m"] == pytest.approx(released, abs=1e-8 * window)


@settings(max_examples=80)
@given(drawn=ranges, seed=st.integers(0, 2**32))
def test_a_release_leaves_its_teeth_open_a_window_apart_or_one_whole_interval(drawn, seed):
    low, length, window, times = drawn
    comb = on_range(low, length, window, times * window)
    x = low + length * np.random.default_rng(seed).random(20)
    released = comb.release({"m": x})
    fibre = comb.fibre(released, comb.keep, 9)
    for i in range(len(x)):
        points = fibre.points["m"][i][fibre.weight[i] > 0]
        if not fibre.comb[i]:
            assert points.min() - 1e-7 <= x[i] <= points.max() + 1e-7
            inside = np.linspace(points.min(), points.max(), 7)[1:-1]
            assert comb.release({"m": inside})["m"] == pytest.approx(released["m"][i], abs=1e-7)
            continue
        assert np.min(np.abs(points - x[i])) < 1e-7  # the original is one of them
        assert np.all(np.diff(points) >= window * (1 - 1e-9))  # no shorter window holds two
        assert points.max() - points.min() <= times * window * (1 + 1e-9)
        again = comb.release({"m": np.clip(points, low, low + length)})["m"]
        edge = np.minimum(points - low, low + length - points) < 1e-7  # where rounding decides
        assert again[~edge] == pytest.approx(released["m"][i], abs=1e-7)


def test_different_classes_have_different_releases():
    """A block of 3.4 spacings has classes of three and of four teeth; none may coincide."""
    comb = on_range(0.0, 6.8, 2.0, 6.5)
    x = np.linspace(0, 6.8, 6801)[:-1] + 5e-4
    released = comb.release({"m": x})["m"]
    residue = np.mod(x, 2.0)
    order = np.argsort(residue)
    for value in np.unique(np.round(released, 6)):
        together = residue[np.abs(released - value) < 1e-6]
        assert np.ptp(together) < 1e-6 or np.ptp(np.mod(together + 1, 2.0)) < 1e-6
    assert len(np.unique(np.round(released, 6))) == pytest.approx(len(np.unique(np.round(residue[order], 6))), abs=3)


# --- risk and distortion against simulation ---------------------------------------------------------
NORMAL = sv.Density("norm", (50, 12), low=0, high=100)
PROBLEMS = {
    "range": sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 97)), secret=sv.Mean(), tolerance=1),
    "normal belief": sv.Problem(family=sv.Location(), prior=sv.Box(mean=NORMAL), secret=sv.Mean(), tolerance=1),
    "exponential": sv.Problem(
        family=sv.Exponential(), prior=sv.Box(scale=(1, 40)), secret=sv.Quantile(0.95), tolerance=1
    ),
    "box": sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(0, 90), sigma=(2, 33)), secret=sv.Quantile(0.9), tolerance=1
    ),
    "std": sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=(0, 90), sigma=(2, 63)), secret=sv.Std(), tolerance=1),
    "triangle": sv.Problem(
        family=sv.Uniform(), prior=sv.Box(low=(0, 80), high=(0, 80)), secret=sv.Std(), tolerance=0.5
    ),
    "cut box": sv.Problem(
        family=sv.Uniform(), prior=sv.Box(low=(0, 60), high=(30, 90)), secret=sv.Quantile(0.3), tolerance=0.5
    ),
    "normal box": sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=NORMAL, sigma=(2, 33)), secret=sv.Quantile(0.9), tolerance=1
    ),
    "three categories": sv.Problem(family=sv.Categorical(categories=3), secret=sv.Fraction(1), tolerance=0.01),
    "two categories": sv.Problem(family=sv.Categorical(categories=2), secret=sv.Fraction(0), tolerance=0.01),
    "ten categories": sv.Problem(family=sv.Categorical(categories=10), secret=sv.Fraction(4), tolerance=0.002),
}


@pytest.fixture(scope="module", params=PROBLEMS)
def plan(request):
    return sv.plan(PROBLEMS[request.param], max_risk=0.23, method="comb")


def test_the_best_attacker_hits_as_often_as_the_plan_says(plan):
    rate = sv.simulate(plan, trials=25_000, seed=3)
    assert rate.low <= plan.risk <= rate.high + 2e-4  # a quadrature is rounded up
    assert plan.risk <= 0.23
    assert plan.method == "comb"
    flat = all(axis.flat for axis in getattr(plan.problem.prior, "axes", {}).values())
    closed = "exact" if flat else "numerical"
    assert plan.risk_kind == (closed if isinstance(plan.mechanism, Comb) else "upper bound")


@pytest.mark.parametrize("share", [0.6, 1.7])
def test_the_profile_is_what_attackers_of_other_tolerances_reach(plan, share):
    from dataclasses import replace

    eps = share * plan.problem.tolerance
    ((_, risk),) = plan.risk_profile([eps])
    other = replace(plan, problem=replace(plan.problem, tolerance=eps))
    rate = sv.simulate(other, trials=15_000, seed=5)
    assert rate.low <= risk <= rate.high + 5e-4


def test_no_draw_is_distorted_more_than_stated_and_some_nearly_as_much(plan):
    from statveil.theory.distances import distance

    drawn = plan.problem.sample(20_000, np.random.default_rng(8))
    released = plan.apply(**drawn).released
    far = distance(plan.problem.family, drawn, released, plan.problem.distance)
    assert far.max() <= plan.distortion * (1 + 1e-9)
    assert far.max() >= 0.95 * plan.distortion


def test_a_comb_plan_survives_its_file(plan):
    text = json.dumps(plan.to_json())
    again = sv.Plan.from_json(json.loads(text))
    assert again.to_json() == plan.to_json()
    drawn = plan.problem.sample(100, np.random.default_rng(1))
    for name, value in plan.apply(**drawn).released.items():
        assert np.array_equal(again.apply(**drawn).released[name], value)
    assert mechanism_from_json(plan.mechanism.to_json()) == plan.mechanism


@pytest.mark.usefixtures("no_optimum")
def test_the_comb_never_distorts_more_than_equal_bins(plan):
    interval = sv.plan(plan.problem, max_risk=0.23, method="interval")
    assert plan.distortion <= interval.distortion * (1 + 1e-6)


# --- what the issue promises ------------------------------------------------------------------------
@pytest.mark.parametrize("k", [2, 3, 5, 10, 23, 50])
def test_on_a_wide_range_the_comb_attains_the_limit(k):
    problem = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100_000)), secret=sv.Mean(), tolerance=1)
    comb = sv.plan(problem, max_risk=1 / k, method="comb")
    assert comb.risk == pytest.approx(1 / k, rel=1e-9)
    assert comb.risk <= 1 / k
    assert 1 <= comb.distortion / (k - 1) <= 1.002  # Theorem 1: (k - 1) 2 gamma eps with gamma 1/2
    assert comb.efficiency == pytest.approx(comb.distortion / (k - 1))
    interval = sv.plan(problem, max_risk=1 / k, method="interval")
    assert interval.efficiency == pytest.approx(k / (k - 1), rel=1e-3)
    assert comb.optimum <= comb.distortion


def test_the_risk_of_a_comb_does_not_fall_with_the_tolerance_and_jumps_at_the_second_tooth():
    problem = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100_000)), secret=sv.Mean(), tolerance=1)
    comb = sv.plan(problem, max_risk=0.2, method="comb")
    risks = dict(comb.risk_profile([0.01, 0.5, 1.0, 1.01, 2.0]))
    assert risks[0.01] == pytest.approx(0.2)
    assert risks[0.5] == pytest.approx(0.2)
    assert risks[1.01] == pytest.approx(0.4)
    assert 2.0 <= comb.spacing <= 2.001


# --- refusals ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"teeth": 1}, "2 or more teeth"),
        ({"teeth": True}, "2 or more teeth"),
        ({"teeth": 50}, "fit into its extent"),
        ({"direction": {"m": 2.0}}, "one unit"),
        ({"window": -1.0}, "above 0"),
        ({"extent": math.nan}, "finite"),
    ],
)
def test_a_comb_that_makes_no_sense_is_refused(change, words):
    data = {**on_range(0.0, 50.0, 2.0, 9.0).to_json(), **change}
    with pytest.raises(ProblemError, match=words):
        mechanism_from_json(data)


def test_combs_refuse_what_they_cannot_account_for():
    lipschitz = sv.Problem(
        family=sv.Location(), prior=sv.Box(mean=sv.Lipschitz(low=0, high=100, floor=0.005, slope=1e-4)),
        secret=sv.Mean(), tolerance=1,
    )  # fmt: skip
    with pytest.raises(sv.StatveilError, match="density"):
        sv.plan(lipschitz, max_risk=0.3, method="comb")
    stepped = sv.Problem(
        family=sv.Location(), prior=sv.Box(mean=(0, 100)), secret=sv.Mean(), tolerance=1, known=sv.Structure(step=1)
    )
    with pytest.raises(sv.StatveilError, match="step"):
        sv.plan(stepped, max_risk=0.3, method="comb")
    for target in ({"bin": 3.0}, {"max_risk": 0.3, "slope": 1.0}):
        with pytest.raises(sv.StatveilError, match="'interval'"):
            sv.plan(PROBLEMS["box"], method="comb", **target)
    with pytest.raises(sv.TargetError, match="smallest reachable"):
        sv.plan(PROBLEMS["range"], max_risk=0.001, method="comb")
    with pytest.raises(sv.TargetError, match="hides nothing"):
        sv.plan(PROBLEMS["range"], max_distortion=0.5, method="comb")


def test_a_distortion_target_is_kept_and_the_risk_is_one_over_the_teeth():
    problem = PROBLEMS["range"]
    plan = sv.plan(problem, max_distortion=4.5, method="comb")
    assert plan.distortion <= 4.5 * (1 + 1e-12)
    # E = 9 = 4.5 windows: five teeth; 97 / (5 x 2) = 9 blocks, so w = 97/45 fits into 9/4
    assert plan.risk == pytest.approx(0.2)
    assert accounting.risk(problem, plan.mechanism).value == pytest.approx(plan.risk)
