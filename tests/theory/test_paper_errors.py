"""Every error found in the paper: the printed formula fails, ours holds (numbers derived independently)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import statveil as sv
from statveil.published import printed_categorical, printed_peak, printed_relaxed, printed_relaxed_box, printed_uniform
from statveil.rounding import tolerant_ceil
from statveil.theory.gamma import least_distortion, least_risk
from statveil.theory.risk.lipschitz import best_share


def _uniform(alpha, side=10.0, tolerance=0.25):
    return sv.Problem(
        family=sv.Uniform(), prior=sv.Box(low=(0, side), high=(0, side)), secret=sv.Quantile(alpha), tolerance=tolerance
    )


def _uniform_attack(alpha, slope, width, tolerance, trials=400_000):
    """P(hit) on the triangle by simulation from scratch: the guess is always the lower end of the line piece."""
    rng = np.random.default_rng(8)
    a, b = rng.uniform(0, 10, (2, 2 * trials))
    low, high = a[a < b][:trials], b[a < b][:trials]
    part = slope / (1 + slope)
    length = high - low
    start = np.floor(length / width) * width
    back = length - start  # going back to the lower edge of the bin always stays inside the triangle
    secret = (1 - alpha) * low + alpha * high
    at_start = (1 - alpha) * (low + part * back) + alpha * (high - (1 - part) * back)
    return np.mean(np.abs(secret - at_start) <= 2 * tolerance)


def test_1_uniform_quantile_bound_is_no_bound():
    plan = sv.plan(_uniform(0.51), bin=2.5)
    assert plan.published_bound == pytest.approx(0.43612, abs=1e-5)
    assert plan.risk == pytest.approx(0.45992, abs=1e-5)
    attack = _uniform_attack(0.51, plan.slope, 2.5, 0.25)
    assert attack == pytest.approx(plan.risk, abs=0.004)
    assert attack > plan.published_bound
    # the valid bound: c/s + s/W, with the border mass s/W for every t0
    window = 2 * 0.25 / abs(0.51 - plan.slope / (1 + plan.slope))
    assert plan.risk <= window / 2.5 + 2.5 / 10


@pytest.mark.parametrize(("alpha", "fails"), [(0.505, True), (0.53, True), (0.6, True), (0.64, True), (0.66, False)])
def test_1_the_printed_bound_fails_between_one_half_and_31_48(alpha, fails):
    # with s = 2 c the loss at the border is c/(2W), the printed allowance 2 l s/W + s^2/(2 W^2): fails where l < 1/8
    tolerance = 1e-4
    part = alpha - math.sqrt(alpha * alpha - alpha + 0.5)
    width = 2 * (2 * tolerance / abs(alpha - part))
    plan = sv.plan(_uniform(alpha, tolerance=tolerance), bin=width)
    assert (plan.risk > plan.published_bound) == fails
    assert part < 1 / 8 if alpha < 31 / 48 else part > 1 / 8


def test_2_lengths_below_one_bin_are_covered():
    plan = sv.plan(_uniform(0.3), bin=2.5)
    done = plan.apply(low=4.0, high=4.8)  # length 0.8: the printed index set starts at 2.5
    released_length = float(done.released["high"] - done.released["low"])
    assert released_length == pytest.approx(1.25)  # the middle of [0, 2.5)


def test_3_relaxed_bound_of_an_exponential_std_has_the_wrong_sign():
    width, floor, slope, eps = 2.0, 0.05, 0.2, 0.1
    window = 2 * eps
    wrong = printed_relaxed(window, width, floor, slope, sign=1.0)
    right = printed_relaxed(window, width, floor, slope, sign=-1.0)
    # the extremal density of the lemma: flat at the floor, then rising with the full slope to the upper end
    rises = np.linspace(window, width, 20_001)
    shares = window * (floor + slope * (rises - window / 2)) / (floor * width + slope / 2 * rises**2)
    assert right == pytest.approx(shares.max(), rel=1e-6)
    assert best_share(width, window, floor, slope) == pytest.approx(shares.max(), rel=1e-6)
    assert wrong != pytest.approx(shares.max(), rel=0.01)
    problem = sv.Problem(
        family=sv.Exponential(),
        prior=sv.Box(scale=sv.Lipschitz(1.0, 9.0, floor=floor, slope=slope)),
        secret=sv.Std(),
        tolerance=eps,
    )
    plan = sv.plan(problem, bin=width)
    assert plan.risk_kind == "upper bound"
    assert plan.risk == pytest.approx(shares.max(), rel=1e-6)
    assert plan.published_bound == pytest.approx(wrong)


def test_4_relaxed_bound_of_a_gaussian_std_divides_by_zero():
    mu, sigma = sv.Lipschitz(0, 100, floor=0.008, slope=1e-4), sv.Lipschitz(1, 51, floor=0.016, slope=4e-4)
    problem = sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=mu, sigma=sigma), secret=sv.Std(), tolerance=1.0)
    plan = sv.plan(problem, bin=10.0)
    assert plan.published_bound is None  # t0 = 0
    assert printed_relaxed_box(2.0, 10.0, sigma, mu, 0.0) is None
    assert 2 / 10 < plan.risk < 1
    for t in (1e-6, 0.1, 1.0, 7.0):  # the printed M with t0 is M without it
        stretched = printed_peak(100 / t, 0.008, t * 1e-4, 1 / t)
        assert stretched == pytest.approx(printed_peak(100, 0.008, 1e-4, 1.0), rel=1e-9)


def test_5_gaussian_std_is_exact_not_strictly_below():
    problem = sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=(0, 200), sigma=(1, 51)), secret=sv.Std(), tolerance=1.0)
    plan = sv.plan(problem, bin=10.0)
    assert plan.slope == 0.0
    assert plan.risk == pytest.approx(2 / 10, abs=1e-14)
    assert plan.published_bound == pytest.approx(plan.risk, abs=1e-14)  # printed as "<"


def test_6_exponential_risk_needs_a_minimum_with_one():
    problem = sv.Problem(family=sv.Exponential(), prior=sv.Box(scale=(1, 11)), secret=sv.Quantile(0.9), tolerance=1.0)
    plan = sv.plan(problem, bin=0.5)
    assert plan.published_bound == pytest.approx(2 / (math.log(10) * 0.5))
    assert plan.published_bound > 1
    assert plan.risk == 1.0
    assert plan.lower_bound == 0.0  # so "distortion < 2 x optimum" fails: releasing the original is optimal
    assert plan.distortion == pytest.approx(0.25)


def test_6_bins_that_do_not_divide_the_range():
    problem = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 10)), secret=sv.Mean(), tolerance=0.5)
    plan = sv.plan(problem, bin=3.0)
    assert plan.published_bound == pytest.approx(1 / 3)
    assert plan.risk == pytest.approx(0.4)


def test_7_laplace_noise_of_variance_beta_squared_has_scale_beta_over_root_two():
    beta, n = 3.0, 400_000
    rng = np.random.default_rng(2)
    as_scale = rng.laplace(0, beta**2, n).var()
    as_variance = rng.laplace(0, beta / math.sqrt(2), n).var()
    assert as_variance == pytest.approx(beta**2, rel=0.03)
    assert as_scale > 10 * beta**2


def test_8_discrete_limits_in_both_distances():
    def limit(distance):
        problem = sv.Problem(
            family=sv.Geometric(), prior=sv.Box(p=(0.1, 0.9)), secret=sv.Mean(), tolerance=0.1, distance=distance
        )
        return sv.limits(problem, max_risk=0.25)

    # W1 is the difference of the means, so gamma is 1/2; in TV the infimum sits on the diagonal at p = 0.1
    assert limit("w1").gamma == pytest.approx(0.5)
    k = 10
    assert limit("tv").gamma == pytest.approx(0.5 * k * 0.9 ** (k - 1) * 0.1**2, rel=1e-7)
    assert limit("w1").lower_bound == pytest.approx(3 * 2 * 0.5 * 0.1)


def test_categorical_bound_is_false_from_nine_categories_on():
    def plan(categories):
        problem = sv.Problem(family=sv.Categorical(categories=categories), secret=sv.Fraction(0), tolerance=0.025)
        return sv.plan(problem, bin=0.1)

    ten = plan(10)
    assert ten.risk == pytest.approx(0.6112, abs=5e-5)
    assert ten.published_bound == pytest.approx(0.5957, abs=5e-5)
    assert printed_categorical(0.025, 0.1, 10) == ten.published_bound
    rng = np.random.default_rng(5)
    share = rng.dirichlet(np.ones(10), 400_000)[:, 0]
    attack = np.mean(share - np.floor(share / 0.1) * 0.1 <= 0.05)  # guess the lower end of the bin plus eps
    assert attack > ten.published_bound
    assert attack == pytest.approx(ten.risk, abs=0.004)
    for categories in range(2, 9):
        assert plan(categories).risk <= plan(categories).published_bound + 1e-12
    for categories in (9, 12, 20):
        assert plan(categories).risk <= 2 * 0.025 / 0.1 + 1 - (1 - 0.1) ** (categories - 1) + 1e-12


def test_a_naive_ceil_is_wrong_for_about_7_percent_of_one_over_n():
    numbers = range(2, 2000)
    wrong = [n for n in numbers if math.ceil(1 / (1 / n)) != n]
    assert 49 in wrong
    assert 0.03 < len(wrong) / len(numbers) < 0.2
    assert all(tolerant_ceil(1 / (1 / n)) == n for n in numbers)
    assert all(least_distortion(0.5, 1.0, 1 / n) == n - 1 for n in numbers)
    assert all(least_risk(0.5, 0.1, 0.1 * n) == 1 / n for n in numbers)


def test_printed_uniform_formula_is_transcribed_from_the_paper():
    # 2 eps (t0+1) / (|(1-alpha) t0 - alpha| s) + 2 s t0 / ((t0+1) W) + s^2 / (2 W^2), by hand for t0 = 2
    alpha, t0, s, side, eps = 0.25, 2.0, 2.0, 10.0, 0.1
    by_hand = 2 * 0.1 * 3 / (abs(0.75 * 2 - 0.25) * 2) + 2 * 2 * 2 / (3 * 10) + 4 / 200
    rate = abs(alpha - t0 / (1 + t0))
    assert printed_uniform(eps, rate, s, t0, side) == pytest.approx(by_hand)
