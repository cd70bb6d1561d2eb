"""Geometric, binomial, negative binomial and Poisson against scipy.stats, mpmath and finite differences."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from statveil.errors import ProblemError
from statveil.problem.families.binomial import Binomial
from statveil.problem.families.geometric import Geometric
from statveil.problem.families.negative_binomial import NegativeBinomial
from statveil.problem.families.poisson import Poisson
from statveil.problem.family import family_from_json
from statveil.problem.ordinal import Ordinal
from statveil.problem.secret import Secret
from statveil.problem.secrets.fraction import Fraction
from statveil.problem.secrets.mean import Mean
from statveil.problem.secrets.quantile import Quantile
from statveil.problem.secrets.std import Std
from tests.scipy_counts import reference

FAMILIES: list[Ordinal] = [
    Geometric(),
    Binomial(trials=1),
    Binomial(trials=12),
    Poisson(),
    NegativeBinomial(size=0.3),
    NegativeBinomial(size=4.5),
]
COUNTED_BY_MEAN = (Poisson, NegativeBinomial)
SECRETS: list[Secret] = [Mean(), Std(), Fraction(0), Fraction(1)]


def typical(family: Ordinal) -> list[float]:
    low, high = family.parameter.typical
    return [float(t) for t in np.linspace(low, high, 7)]


by_family = pytest.mark.parametrize("family", FAMILIES, ids=repr)


@by_family
def test_distribution_agrees_with_scipy(family: Ordinal) -> None:
    k = np.arange(-2.0, 40.0)
    for theta in typical(family):
        same = reference(family, theta)
        at = family.at(theta)
        np.testing.assert_allclose(family.pmf(k, at), same.pmf(k), rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(family.cdf(k, at), same.cdf(k), rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(family.cdf(k + 0.7, at), same.cdf(k + 0.7), rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(family.mean(at), same.mean(), rtol=1e-13)
        np.testing.assert_allclose(family.std(at), same.std(), rtol=1e-12)
        alpha = np.array([1e-9, 0.01, 0.3, 0.5, 0.77, 0.999, 1 - 1e-9])
        np.testing.assert_array_equal(family.quantile(alpha, at), same.ppf(alpha))


@by_family
def test_values_between_counts_have_no_share(family: Ordinal) -> None:
    at = family.at(typical(family)[2])
    np.testing.assert_array_equal(family.pmf([-1.0, 0.5, np.inf, family.last_count + 1], at), 0.0)
    np.testing.assert_array_equal(family.cdf([-np.inf, -1e-9, np.inf], at), [0.0, 0.0, 1.0])
    assert np.isnan(family.cdf(np.nan, at))


@by_family
def test_quantile_at_the_ends_and_outside(family: Ordinal) -> None:
    at = family.at(typical(family)[3])
    np.testing.assert_array_equal(family.quantile([0.0, 1.0], at), [0.0, family.last_count])
    assert np.isnan(family.quantile([-0.1, 1.1], at)).all()


@by_family
@settings(max_examples=60, deadline=None)
@given(share=st.floats(0.001, 0.999), k=st.integers(0, 60))
def test_quantile_inverts_the_cdf(family: Ordinal, share: float, k: int) -> None:
    theta = 30 * share if isinstance(family, COUNTED_BY_MEAN) else share
    level = float(family.cdf(k, family.at(theta)))
    if level == 1:  # far out the cdf is 1 in floating point, and the 1-quantile is the last count
        assert float(family.quantile(level, family.at(theta))) == family.last_count
        return
    found = float(family.quantile(level, family.at(theta)))
    assert found <= min(k, family.last_count)
    assert float(family.cdf(found, family.at(theta))) >= level
    assert found == 0 or float(family.cdf(found - 1, family.at(theta))) < level


@by_family
def test_everything_is_vectorised_over_parameters(family: Ordinal) -> None:
    thetas = np.array(typical(family))
    k = np.array([[0.0], [1.0], [4.0]])
    for name in ("pmf", "cdf"):
        call = getattr(family, name)
        each = [[float(call(kk, family.at(t))) for t in thetas] for kk in k[:, 0]]
        np.testing.assert_allclose(call(k, family.at(thetas)), each, rtol=1e-14)
    each = [[float(family.cdf_slope(kk, t)) for t in thetas] for kk in k[:, 0]]
    np.testing.assert_allclose(family.cdf_slope(k, thetas), each, rtol=1e-14)
    alone = [float(family.quantile(0.9, family.at(t))) for t in thetas]
    np.testing.assert_array_equal(family.quantile(0.9, family.at(thetas)), alone)


@by_family
def test_sample_follows_the_shares(family: Ordinal) -> None:
    theta = typical(family)[1]
    draws = family.sample({family.parameter.name: theta}, 50_000, np.random.default_rng(7))
    assert draws.dtype == np.float64
    top = int(family.quantile(0.995, family.at(theta)))
    seen = np.array([np.sum(draws == k) for k in range(top + 1)] + [np.sum(draws > top)])
    shares = family.pmf(np.arange(top + 1.0), family.at(theta))
    expected = 50_000 * np.append(shares, 1 - shares.sum())
    used = expected > 1
    assert seen[~used].sum() <= 5
    assert stats.chisquare(seen[used], expected[used] * seen[used].sum() / expected[used].sum()).pvalue > 1e-4


@by_family
def test_support_top_leaves_out_almost_nothing(family: Ordinal) -> None:
    low, high = (1e-3, 1e5) if isinstance(family, COUNTED_BY_MEAN) else (1e-4, 1 - 1e-4)
    for theta in np.geomspace(low, high, 9):
        assert reference(family, theta).sf(family.support_top(family.at(theta))) < 1e-15
    both = family.support_top(family.at([low, high]))
    assert both == max(family.support_top(family.at(low)), family.support_top(family.at(high)))


@pytest.mark.parametrize(("rate", "k"), [(1e6, 1_000_100), (1e6, 998_000), (3.3, 15), (3.3, 16), (1e-3, 2)])
def test_poisson_share_keeps_precision(rate: float, k: int) -> None:
    # exp(k log(rate) - rate - log k!) loses nine digits at a rate of a million
    with mpmath.workdps(40):
        exact = mpmath.exp(k * mpmath.log(mpmath.mpf(rate)) - rate - mpmath.loggamma(k + 1))
        assert abs(mpmath.mpf(float(Poisson().pmf(k, {"rate": rate}))) / exact - 1) < 1e-12


@pytest.mark.parametrize(
    ("size", "mean", "k"),
    [(1e6, 0.5, 0), (1e6, 1e4, 10_100), (0.01, 3.0, 0), (0.01, 3.0, 700), (2.5, 1e4, 50_000), (1.0, 1e-3, 2)],
)
def test_negative_binomial_share_keeps_precision(size: float, mean: float, k: int) -> None:
    with mpmath.workdps(40):
        r, m = mpmath.mpf(size), mpmath.mpf(mean)
        exact = mpmath.binomial(r + k - 1, k) * (r / (r + m)) ** r * (m / (r + m)) ** k
        found = float(NegativeBinomial(size=size).pmf(k, {"mean": mean}))
        assert abs(mpmath.mpf(found) / exact - 1) < 1e-11


def test_negative_binomials_of_size_1_are_geometric_and_of_large_size_poisson() -> None:
    k, mean = np.arange(60.0), 4.0
    one, many = NegativeBinomial(size=1), NegativeBinomial(size=1e6)
    np.testing.assert_allclose(one.pmf(k, {"mean": mean}), Geometric().pmf(k, {"p": 1 / (1 + mean)}), rtol=1e-12)
    np.testing.assert_allclose(many.pmf(k[:20], {"mean": mean}), Poisson().pmf(k[:20], {"rate": mean}), rtol=2e-4)


@pytest.mark.parametrize("size", [0, -1, 1e-9, 1e9, float("nan"), float("inf"), "2", None, True])
def test_a_size_that_is_none_is_refused(size: Any) -> None:
    with pytest.raises(ProblemError, match="the 'size' of a negative binomial must"):
        NegativeBinomial(size=size)


@pytest.mark.parametrize(("n", "p", "k"), [(100_000, 0.3, 30_100), (20, 1e-4, 3), (100, 0.999, 97), (1, 0.3, 1)])
def test_binomial_share_keeps_precision(n: int, p: float, k: int) -> None:
    with mpmath.workdps(40):
        exact = mpmath.binomial(n, k) * mpmath.mpf(p) ** k * (1 - mpmath.mpf(p)) ** (n - k)
        assert abs(mpmath.mpf(float(Binomial(trials=n).pmf(k, {"p": p}))) / exact - 1) < 1e-12


def exact_cdf(family: Ordinal, k: int, theta: Any) -> Any:
    if k < 0:
        return mpmath.mpf(0)
    if isinstance(family, Geometric):
        return 1 - (1 - theta) ** (k + 1)
    if isinstance(family, Binomial):
        n = family.trials
        return mpmath.fsum(mpmath.binomial(n, i) * theta**i * (1 - theta) ** (n - i) for i in range(min(k, n) + 1))
    if isinstance(family, NegativeBinomial):
        r = mpmath.mpf(family.size)
        return mpmath.betainc(r, k + 1, 0, r / (r + theta), regularized=True)
    return mpmath.exp(-theta) * mpmath.fsum(theta**i / mpmath.factorial(i) for i in range(k + 1))


def exact_secret(family: Ordinal, secret: Secret, theta: Any) -> Any:
    if isinstance(secret, Fraction):
        j = int(secret.category)
        return exact_cdf(family, j, theta) - exact_cdf(family, j - 1, theta)
    if isinstance(family, Geometric):
        return (1 - theta) / theta if secret.kind == "mean" else mpmath.sqrt(1 - theta) / theta
    if isinstance(family, Binomial):
        n = family.trials
        return n * theta if secret.kind == "mean" else mpmath.sqrt(n * theta * (1 - theta))
    if isinstance(family, NegativeBinomial):
        return theta if secret.kind == "mean" else mpmath.sqrt(theta + theta**2 / mpmath.mpf(family.size))
    return theta if secret.kind == "mean" else mpmath.sqrt(theta)


@by_family
def test_slopes_are_the_derivatives(family: Ordinal) -> None:
    with mpmath.workdps(40):
        for theta in typical(family)[::2]:
            at = mpmath.mpf(theta)
            slope = mpmath.diff(lambda t: exact_secret(family, Mean(), t), at)
            assert float(family.mean_slope(theta)) == pytest.approx(float(slope), rel=1e-12)
            for k in (0, 1, 5, 11, 12):
                slope = mpmath.diff(lambda t, k=k: exact_cdf(family, k, t), at)
                assert float(family.cdf_slope(k, theta)) == pytest.approx(float(slope), rel=1e-12, abs=1e-25)
            for secret in SECRETS:
                slope = mpmath.diff(lambda t, secret=secret: exact_secret(family, secret, t), at)
                assert float(family.secret_slope(secret, theta)) == pytest.approx(float(slope), rel=1e-10, abs=1e-14)


@by_family
@settings(max_examples=80, deadline=None)
@given(parts=st.tuples(st.floats(0.001, 0.999), st.floats(0.001, 0.999)))
def test_tv_is_the_largest_gap_of_the_cdfs_and_half_the_gap_of_the_shares(
    family: Ordinal, parts: tuple[float, float]
) -> None:
    a, b = (30 * np.array(parts)).tolist() if isinstance(family, COUNTED_BY_MEAN) else parts
    k = np.arange(0.0, 20_000.0 if isinstance(family, Geometric | NegativeBinomial) else 120.0)
    one, two = reference(family, a), reference(family, b)
    closed = float(family.tv(family.at(a), family.at(b)))
    assert closed == pytest.approx(0.5 * np.abs(one.pmf(k) - two.pmf(k)).sum(), abs=1e-7)
    assert closed == pytest.approx(np.abs(one.cdf(k) - two.cdf(k)).max(), abs=1e-13)
    assert closed == pytest.approx(float(family.tv(family.at(b), family.at(a))), rel=1e-13, abs=1e-18)


@by_family
def test_equal_parameters_are_at_distance_zero(family: Ordinal) -> None:
    thetas = np.array(typical(family))
    np.testing.assert_array_equal(family.tv(family.at(thetas), family.at(thetas)), 0.0)
    np.testing.assert_array_equal(family.w1(family.at(thetas), family.at(thetas)), 0.0)


def test_crossing_exactly_on_a_count() -> None:
    # p and 1 - p cross in the middle of an even number of trials: the floor may land on either side
    family = Binomial(trials=4)
    for p in (0.1, 0.2, 0.3, 0.4999):
        both = [abs(float(family.cdf(k, {"p": p}) - family.cdf(k, {"p": 1 - p}))) for k in (1, 2)]
        assert both[0] == pytest.approx(both[1], rel=1e-12)
        assert float(family.crossing(p, 1 - p)) == pytest.approx(2, rel=1e-12)
        assert float(family.tv({"p": p}, {"p": 1 - p})) == pytest.approx(both[0], rel=1e-12)


@pytest.mark.parametrize("gap", [1e-12, 1e-9, 1e-6, 1e-4])
@pytest.mark.parametrize(
    ("family", "theta"),
    [(Poisson(), 1e4), (Geometric(), 0.02), (Binomial(trials=30), 0.37), (NegativeBinomial(size=2.5), 9.0)],
)
def test_close_members_do_not_cancel(family: Ordinal, theta: float, gap: float) -> None:
    other = theta * (1 + gap)
    k = int(family.crossing_count(theta, other))
    with mpmath.workdps(60):
        a, b = mpmath.mpf(theta), mpmath.mpf(other)
        if isinstance(family, Poisson):
            exact = mpmath.gammainc(k + 1, a, b, regularized=True)
        else:
            exact = abs(exact_cdf(family, k, a) - exact_cdf(family, k, b))
        assert float(family.tv(family.at(theta), family.at(other))) == pytest.approx(float(exact), rel=1e-10)
        for secret in (Mean(), Std(), Fraction(3)):
            if isinstance(family, Poisson) and secret.kind == "fraction":
                continue  # the share of 3 at a rate of 10,000 is 0 in floating point
            change = exact_secret(family, secret, b) - exact_secret(family, secret, a)
            assert float(family.secret_gap(secret, theta, other)) == pytest.approx(float(change), rel=1e-9)


@by_family
@settings(max_examples=40, deadline=None)
@given(share=st.floats(1e-3, 0.999))
def test_the_inverse_mean_inverts_the_mean(family: Ordinal, share: float) -> None:
    mean = share * min(family.last_count, 50.0)
    assert float(family.mean(family.at(family.inverse_mean(np.array(mean))))) == pytest.approx(mean, rel=1e-12)


def test_harmonic_mean_is_the_balanced_release_of_two_geometrics() -> None:
    # theory, section 6: under W1 the release has the midpoint of the means
    family = Geometric()
    middle = family.inverse_mean(0.5 * (family.mean({"p": 0.2}) + family.mean({"p": 0.6})))
    assert float(middle) == pytest.approx(2 / (1 / 0.2 + 1 / 0.6), rel=1e-14)


@pytest.mark.parametrize("category", [-1, "x", "1.5", "", True, 1.5])
def test_categories_are_counts(category: Any) -> None:
    with pytest.raises(ProblemError, match="whole numbers from 0"):
        Poisson().category_index(category)


def test_category_index_reads_numbers_and_stops_at_the_trials() -> None:
    assert Poisson().category_index("12") == 12
    assert Binomial(trials=3).category_index(3) == 3
    with pytest.raises(ProblemError, match="from 0 to 3"):
        Binomial(trials=3).category_index(4)


@pytest.mark.parametrize("trials", [0, -3, 2.5, 3.0, True, "3", None, 100_001])
def test_trials_must_be_a_whole_number(trials: Any) -> None:
    with pytest.raises(ProblemError, match=r"whole number from 1 to 100,000. Got"):
        Binomial(trials=trials)


@by_family
def test_json_round_trip(family: Ordinal) -> None:
    assert family_from_json(family.to_json()) == family


def test_a_quantile_is_refused() -> None:
    with pytest.raises(ProblemError, match="'quantile' makes no sense for the family 'poisson'"):
        Poisson().secret_slope(Quantile(0.5), 1.0)


def test_importing_the_families_does_not_import_scipy() -> None:
    code = (
        "import sys; import statveil.problem.families.binomial, statveil.problem.families.poisson, "
        "statveil.theory.gamma_ordinal, statveil.theory.distances; "
        "print([name for name in sys.modules if name.split('.')[0] == 'scipy'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
