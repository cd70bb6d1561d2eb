"""The alternatives of the paper: noise, guarantees against exact likelihood ratios, and the debiasing attacker."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate, stats

import statveil.alternatives  # noqa: F401  (fills the registry)
from statveil.alternatives.alternative import ALTERNATIVES
from statveil.alternatives.common_shift import CommonShift
from statveil.alternatives.debiasing import debiased_counts
from statveil.alternatives.gaussian import GaussianNoise
from statveil.alternatives.gaussian_curve import exact_delta, exact_epsilon, largest_shift, published_shift
from statveil.alternatives.histogram import PrivateHistogram
from statveil.alternatives.histogram_statistics import histogram_mean, histogram_quantile, histogram_std
from statveil.alternatives.laplace import LaplaceNoise
from statveil.alternatives.opendp_histogram import OpenDPHistogram
from statveil.errors import ColumnError, ProblemError, TargetError
from statveil.rounding import shown_up

EXAMPLES = {
    "attribute-privacy": GaussianNoise.paper(beta=3.0),
    "common-shift": CommonShift.calibrated(gap=2.0, epsilon=0.5),
    "distribution-privacy": LaplaceNoise.paper(beta=3.0),
    "dp-histogram": PrivateHistogram.paper(beta=3.0, bins=7, low=0, high=50),
    "opendp-histogram": OpenDPHistogram.paper(beta=3.0, bins=7, low=0, high=50),
}
epsilons = st.floats(1e-3, 20)
scales = st.floats(0.01, 100)
columns = st.lists(st.floats(-50, 150), min_size=1, max_size=30)


def example(name):
    if name == "opendp-histogram":
        pytest.importorskip("opendp")
    return EXAMPLES[name]


def lognormal(rows, seed):
    return np.random.default_rng(seed).lognormal(4.5, 2.0, rows)


# What every alternative keeps


@pytest.mark.parametrize("name", sorted(ALTERNATIVES))
def test_a_release_has_as_many_rows_and_leaves_the_column_alone(name):
    alternative = example(name)
    column = np.linspace(1, 60, 33)
    before = column.copy()
    column.flags.writeable = False
    released = alternative.release(column, np.random.default_rng(1))
    assert released.shape == column.shape
    assert released.dtype == np.float64
    assert np.isfinite(released).all()
    assert not np.shares_memory(released, column)
    np.testing.assert_array_equal(column, before)


@pytest.mark.parametrize("name", sorted(ALTERNATIVES))
def test_the_generator_decides_the_release(name):
    alternative = example(name)
    column = np.linspace(1, 60, 33)
    one, again, other = (alternative.release(column, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert not np.array_equal(one, other)
    if alternative.reproducible:
        np.testing.assert_array_equal(one, again)


@pytest.mark.parametrize("name", sorted(ALTERNATIVES))
def test_the_parameter_is_the_papers_beta_and_can_be_swept(name):
    alternative = EXAMPLES[name]
    assert type(alternative) is ALTERNATIVES[name]
    assert alternative.at(11.0).parameter == pytest.approx(11.0)
    assert alternative.at(alternative.parameter).scale == pytest.approx(alternative.scale)


@pytest.mark.parametrize("name", sorted(ALTERNATIVES))
@pytest.mark.parametrize("bad", [[1.0, math.nan], [1.0, math.inf], [], [[1.0, 2.0]]])
def test_columns_without_numbers_are_refused(name, bad):
    with pytest.raises(ColumnError, match="column"):
        EXAMPLES[name].release(np.array(bad, dtype=np.float64), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PrivateHistogram.paper(beta=0, bins=3, low=0, high=1), "beta must be a number above 0"),
        (lambda: PrivateHistogram.paper(beta=1, bins=0, low=0, high=1), "whole number of at least 1"),
        (lambda: PrivateHistogram.paper(beta=1, bins=2.5, low=0, high=1), "whole number of at least 1"),
        (lambda: PrivateHistogram.paper(beta=1, bins=3, low=1, high=1), "below the upper end"),
        (lambda: PrivateHistogram.paper(beta=1, bins=9, low=1, high=1 + 1e-15), "too many"),
        (
            lambda: PrivateHistogram.calibrated(epsilon=1, bins=3, low=0, high=1, neighbours="replaced"),
            "did you mean 'replace'",
        ),
        (lambda: GaussianNoise(scale=-1.0), "0 or more"),
        (lambda: GaussianNoise(scale=1.0, gap=1.0), "delta must be a number between 0 and 1"),
        (lambda: GaussianNoise.calibrated(gap=1, epsilon=0.5, delta=1e-5, own_variance=-1), "0 or more"),
        (lambda: LaplaceNoise.calibrated(gap=1, rows=0, epsilon=1), "whole number of at least 1"),
        (lambda: CommonShift.calibrated(gap=0, epsilon=1), "gap between two candidates must be a number above 0"),
    ],
)
def test_wrong_settings_are_refused_in_a_sentence(make, words):
    with pytest.raises(ProblemError, match=words):
        make()


@given(value=st.floats(1e-6, 1e6))
def test_a_shown_epsilon_is_never_too_small_and_close(value):
    assert value <= float(shown_up(value, 4)) <= value * 1.0011


# Differential privacy


def test_the_papers_beta_squared_is_the_variance_of_the_noise():
    beta, bins = 7.0, 200_000
    mechanism = PrivateHistogram.paper(beta=beta, bins=bins, low=0, high=1)
    column = np.array([0.5])
    noise = mechanism.noisy_counts(column, np.random.default_rng(3)) - mechanism.counts(column)
    assert noise.var() == pytest.approx(beta**2, rel=0.05)  # numpy's scale beta would give 2 beta^2
    # of 200,000 draws the distribution function of Laplace(beta / sqrt 2) is known to about 0.003
    assert stats.kstest(noise, stats.laplace(scale=beta / math.sqrt(2)).cdf).statistic < 0.005


@pytest.mark.parametrize(("neighbours", "change"), [("add-or-remove", 1), ("replace", 2)])
def test_the_noise_of_the_calibrated_histogram_has_the_scale_that_epsilon_needs(neighbours, change):
    mechanism = PrivateHistogram.calibrated(epsilon=0.25, bins=100_000, low=0, high=1, neighbours=neighbours)
    column = np.array([0.5])
    noise = mechanism.noisy_counts(column, np.random.default_rng(4)) - mechanism.counts(column)
    assert np.abs(noise).mean() == pytest.approx(change / 0.25, rel=0.03)  # E|Z| is the scale of a Laplace


@given(
    column=columns,
    row=st.floats(-50, 150),
    noisy=st.lists(st.floats(-100, 100), min_size=5, max_size=5),
    epsilon=epsilons,
    neighbours=st.sampled_from(["add-or-remove", "replace"]),
)
def test_the_likelihood_ratio_of_noisy_counts_is_at_most_epsilon(column, row, noisy, epsilon, neighbours):
    mechanism = PrivateHistogram.calibrated(epsilon=epsilon, bins=5, low=0, high=100, neighbours=neighbours)
    other = [*column[:-1], row] if neighbours == "replace" else [*column, row]
    one, two = mechanism.counts(np.array(column)), mechanism.counts(np.array(other))
    ratio = math.fsum((np.abs(noisy - two) - np.abs(noisy - one)) / mechanism.scale)
    assert abs(ratio) <= epsilon * (1 + 1e-9) + 1e-9
    assert mechanism.epsilon <= epsilon * (1 + 1e-14)
    if not np.array_equal(one, two):  # and attained: far below both count vectors in one bin, far above in the other
        worst = np.where(one > two, 1e3, -1e3)
        reached = math.fsum((np.abs(worst - two) - np.abs(worst - one)) / mechanism.scale)
        assert reached == pytest.approx(epsilon, rel=1e-9)


@given(column=columns)
def test_rows_outside_the_range_count_in_the_outer_bins(column):
    mechanism = PrivateHistogram.paper(beta=1, bins=4, low=0, high=100)
    expected = [0, 0, 0, 0]
    for value in column:
        expected[min(max(math.floor(value / 25), 0), 3)] += 1
    assert mechanism.counts(np.array(column)).tolist() == expected


def test_one_row_in_two_bins_is_released_in_its_own_with_the_probability_of_the_definition():
    mechanism = PrivateHistogram.calibrated(epsilon=1.0, bins=2, low=0, high=2)
    b = mechanism.scale
    # noisy count of the row's bin: max(0, 1 + Z); of the other: 0 with probability 1/2, else exponential
    density = lambda own: math.exp(-abs(own - 1) / b) / (2 * b)  # noqa: E731
    none = stats.laplace(loc=1, scale=b).cdf(0)

    def share(own):
        return integrate.quad(lambda other: own / (own + other) * math.exp(-other / b) / b, 0, np.inf)[0]

    inner = sum(integrate.quad(lambda own: density(own) * share(own), *ends)[0] for ends in ((0, 1), (1, np.inf)))
    expected = 0.5 * (1 - none) + 0.5 * inner + 0.5 * none * 0.5  # both 0: uniform over the range
    rng, column = np.random.default_rng(5), np.array([0.5])
    found = np.mean([mechanism.release(column, rng)[0] < 1 for _ in range(20_000)])
    assert found == pytest.approx(expected, abs=0.018)  # five standard errors
    assert expected / (1 - expected) <= math.e


def test_rows_are_drawn_from_the_histogram_and_uniformly_inside_its_bins():
    mechanism = PrivateHistogram(scale=1e-6, bins=4, low=0, high=8)
    column = np.repeat([0.1, 0.2, 3.0, 7.9], 5_000)
    released = mechanism.release(column, np.random.default_rng(6))
    expected = lambda x: np.interp(x, [0, 2, 4, 6, 8], [0, 0.5, 0.75, 0.75, 1])  # noqa: E731
    assert stats.kstest(released, expected).pvalue > 1e-3
    assert abs(np.corrcoef(released[:-1], released[1:])[0, 1]) < 0.03, "the order of the rows is lost"


def test_a_histogram_without_any_count_left_is_uniform():
    class Nothing(PrivateHistogram):
        def noisy_counts(self, column, rng):
            return np.full(self.bins, -1.0)

    released = Nothing(scale=1, bins=5, low=-1, high=1).release(np.full(20_000, 0.9), np.random.default_rng(7))
    assert stats.kstest(released, stats.uniform(-1, 2).cdf).pvalue > 1e-3


# OpenDP


def test_without_opendp_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ProblemError, match=r"statveil\[opendp\]"):
        EXAMPLES["opendp-histogram"].release(np.array([1.0]), np.random.default_rng(0))


@pytest.mark.parametrize(("neighbours", "change"), [("add-or-remove", 1), ("replace", 2)])
def test_opendp_states_the_epsilon_that_was_asked_for(neighbours, change):
    opendp = pytest.importorskip("opendp.prelude")
    before = set(opendp.GLOBAL_FEATURES)
    mechanism = OpenDPHistogram.calibrated(epsilon=0.3, bins=5, low=0, high=1, neighbours=neighbours)
    assert change / mechanism.scale <= mechanism.epsilon <= 0.3 * (1 + 1e-9)
    assert before == opendp.GLOBAL_FEATURES


def test_opendp_counts_as_we_do_and_its_noise_is_whole_and_of_the_stated_scale():
    pytest.importorskip("opendp")
    rng = np.random.default_rng(8)
    column = np.concatenate([rng.normal(50, 60, 500), np.arange(0, 101, 10)])  # outside the range, and on the edges
    exact = OpenDPHistogram(scale=1e-3, bins=10, low=0, high=100)
    np.testing.assert_array_equal(exact.noisy_counts(column, rng), exact.counts(column))
    bins, scale = 20_000, 3.0
    noise = OpenDPHistogram(scale=scale, bins=bins, low=0, high=1).noisy_counts(np.array([0.0]), rng)[1:]
    assert np.array_equal(noise, np.round(noise))
    q = math.exp(-1 / scale)
    for k in range(4):  # P(|Z| = k) of the discrete Laplace; OpenDP's generator has no seed: six standard errors
        expected = (1 - q) / (1 + q) * q**k * (1 if k == 0 else 2)
        assert np.mean(np.abs(noise) == k) == pytest.approx(expected, abs=6 * math.sqrt(expected / bins))


def test_debiasing_works_on_opendps_whole_noise_too():
    pytest.importorskip("opendp")
    column = lognormal(5_000, 9)
    mechanism = OpenDPHistogram.calibrated(epsilon=0.5, bins=500, low=0, high=2e5)
    rng, errors = np.random.default_rng(10), []
    for _ in range(5):
        released = mechanism.release(column, rng)
        guess = histogram_mean(debiased_counts(mechanism, released), mechanism.edges)
        errors.append([abs(released.mean() - column.mean()), abs(guess - column.mean())])
    plug_in, debiased = np.mean(errors, axis=0)
    assert debiased < plug_in / 4


# The attacker who knows the histogram


@pytest.mark.parametrize("rate", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("scale", [0.3, 2.0, 9.0])
def test_what_is_known_of_an_empty_bin_agrees_with_simulation(scale, rate):
    rng, draws = np.random.default_rng(11), 200_000
    flip = np.where(rng.random(draws) < 0.5, -1, 1)
    continuous = flip * rng.exponential(scale, draws)
    q = math.exp(-1 / scale)
    whole = rng.geometric(1 - q, draws) - rng.geometric(1 - q, draws)  # the discrete Laplace
    for mechanism, noise in (
        (PrivateHistogram(scale=scale, bins=1, low=0, high=1), continuous),
        (OpenDPHistogram(scale=scale, bins=1, low=0, high=1), whole),
    ):
        mean, silent = mechanism.empty_bin(rate)
        clipped = np.maximum(noise, 0)
        assert clipped.mean() == pytest.approx(mean, abs=6 * clipped.std() / math.sqrt(draws))
        assert np.mean(rng.poisson(rate * clipped) == 0) == pytest.approx(silent, abs=0.007)


@given(column=columns, scale=scales, bins=st.integers(1, 40), seed=st.integers(0, 99))
def test_debiased_counts_are_counts(column, scale, bins, seed):
    mechanism = PrivateHistogram(scale=scale, bins=bins, low=0, high=100)
    released = mechanism.release(np.array(column), np.random.default_rng(seed))
    counts = debiased_counts(mechanism, released)
    assert counts.shape == (bins,)
    assert counts.min() >= -1e-9
    assert counts.sum() == pytest.approx(len(column))


def test_where_no_bin_is_silent_there_is_nothing_to_remove():
    mechanism = PrivateHistogram(scale=5, bins=10, low=0, high=100)
    released = mechanism.release(np.linspace(0, 100, 10_000), np.random.default_rng(12))
    np.testing.assert_allclose(debiased_counts(mechanism, released), mechanism.counts(released))


@pytest.mark.parametrize(("rows", "bins", "beta"), [(20_000, 1_000, 14.0), (20_000, 1_000, 1.4), (5_000, 300, 5.0)])
def test_debiasing_beats_the_plug_in_attacker_on_a_heavy_tail(rows, bins, beta):
    column = lognormal(rows, 13)
    mechanism = PrivateHistogram.paper(beta=beta, bins=bins, low=0, high=2e5)
    rng, naive, debiased = np.random.default_rng(14), [], []
    for _ in range(8):
        released = mechanism.release(column, rng)
        counts, edges = debiased_counts(mechanism, released), mechanism.edges
        naive.append([released.mean(), released.std(), np.quantile(released, 0.95)])
        debiased.append([histogram_mean(counts, edges), histogram_std(counts, edges)])
        debiased[-1].append(histogram_quantile(counts, edges, 0.95))
    truth = [column.mean(), column.std(), np.quantile(column, 0.95)]
    before, after = (np.abs(np.array(guesses) - truth).mean(axis=0) for guesses in (naive, debiased))
    assert np.all(after < 0.5 * before)
    assert after[0] < 0.15 * before[0]


@pytest.mark.parametrize("side", ["left", "right"])
def test_debiasing_removes_the_pull_to_the_middle_of_the_range(side):
    """Rows in one quarter only. What is left of the bias comes from cutting counts below 0."""
    near = np.random.default_rng(20).uniform(10, 25, 20_000)
    column = near if side == "left" else 100 - near
    mechanism = PrivateHistogram(scale=10, bins=200, low=0, high=100)
    rng, naive, debiased = np.random.default_rng(21), [], []
    for _ in range(60):
        released = mechanism.release(column, rng)
        counts = debiased_counts(mechanism, released)
        naive.append(released.mean() - column.mean())
        debiased.append(histogram_mean(counts, mechanism.edges) - column.mean())
    # 170 empty bins get 10 / 2 rows each, on average at (20 * 5 + 150 * 62.5) / 170
    pull = np.mean(naive) * (1 if side == "left" else -1)
    assert pull == pytest.approx(850 / 20_850 * (9_475 / 170 - 17.5), rel=0.1)
    assert abs(np.mean(debiased)) < 0.15 * pull


@given(
    counts=st.lists(st.integers(0, 9), min_size=1, max_size=8),
    low=st.floats(-100, 100),
    width=st.floats(0.1, 100),
    alpha=st.floats(0.01, 0.99),
)
def test_statistics_of_a_histogram_are_those_of_rows_spread_evenly_inside_the_bins(counts, low, width, alpha):
    assume(sum(counts))
    edges = low + width * np.arange(len(counts) + 1)
    inside = (np.arange(2_000) + 0.5) / 2_000
    rows = np.concatenate([np.tile(low + width * (i + inside), count) for i, count in enumerate(counts)])
    span = width * len(counts)
    numbers = np.array(counts, dtype=np.float64)
    assert histogram_mean(numbers, edges) == pytest.approx(rows.mean(), abs=1e-6 * span)
    assert histogram_std(numbers, edges) == pytest.approx(rows.std(), abs=1e-6 * span)
    quantile = histogram_quantile(numbers, edges, alpha)
    assert np.mean(rows < quantile) == pytest.approx(alpha, abs=1e-3)
    assert histogram_quantile(numbers, edges, alpha) <= edges[np.flatnonzero(counts)[-1] + 1]


@pytest.mark.parametrize("counts", [[0.0, 0.0], [1.0, -0.5]])
def test_statistics_refuse_what_is_no_histogram(counts):
    with pytest.raises(ProblemError, match="0 or more"):
        histogram_mean(np.array(counts), np.array([0.0, 1.0, 2.0]))


# Attribute privacy

shifts = st.floats(0.05, 6)
deltas = st.floats(-10, -0.3).map(lambda power: 10**power)


@given(shift=shifts, epsilon=st.floats(0, 8))
def test_delta_of_two_normal_distributions_is_the_mass_that_sticks_out(shift, epsilon):
    """By quadrature of max(0, p - e^epsilon q), q = N(0, 1), p = N(shift, 1): positive where x exceeds a threshold."""
    start = shift / 2 + epsilon / shift

    def excess(x):
        return (math.exp(-((x - shift) ** 2) / 2) - math.exp(epsilon - x * x / 2)) / math.sqrt(2 * math.pi)

    mass = sum(integrate.quad(excess, start + a, start + b, epsabs=1e-14)[0] for a, b in ((0, 12), (12, 40)))
    assert exact_delta(shift, epsilon) == pytest.approx(mass, rel=1e-6, abs=1e-12)


@given(epsilon=st.floats(1e-3, 0.999), delta=deltas)
def test_the_published_constant_holds_below_epsilon_1(epsilon, delta):
    assert exact_delta(published_shift(epsilon, delta), epsilon) <= delta


@given(epsilon=epsilons, delta=deltas)
def test_the_tight_constant_is_tight_and_on_the_safe_side(epsilon, delta):
    shift = largest_shift(epsilon, delta)
    assert exact_delta(shift, epsilon) <= delta
    assert exact_delta(shift * (1 + 1e-6), epsilon) > delta
    assert exact_epsilon(shift, delta) <= epsilon
    assert exact_epsilon(shift, delta) == pytest.approx(epsilon, rel=1e-5, abs=1e-6)


@given(shift=shifts, delta=deltas)
def test_epsilon_is_never_too_small(shift, delta):
    epsilon = exact_epsilon(shift, delta)
    assert exact_delta(shift, epsilon) <= delta
    assert epsilon == 0 or exact_delta(shift, epsilon * (1 - 1e-6)) > delta * (1 - 1e-8)


def test_the_published_constant_is_refused_where_it_is_false():
    assert exact_delta(published_shift(20.0, 0.01), 20.0) > 0.01
    with pytest.raises(TargetError, match="tight=True"):
        GaussianNoise.calibrated(gap=1, epsilon=20, delta=0.01)
    assert GaussianNoise.calibrated(gap=1, epsilon=20, delta=0.01, tight=True).epsilon <= 20


@given(
    gap=st.floats(0.01, 100),
    epsilon=st.floats(0.01, 0.99),
    delta=deltas,
    own=st.floats(0, 100),
    rows=st.one_of(st.none(), st.integers(1, 10**6)),
    tight=st.booleans(),
)
def test_the_stated_epsilon_is_that_of_noise_and_own_spread_together(gap, epsilon, delta, own, rows, tight):
    made = GaussianNoise.calibrated(gap=gap, epsilon=epsilon, delta=delta, own_variance=own, rows=rows, tight=tight)
    total = math.sqrt(own + made.scale**2 / (rows or 1))  # standard deviation of the released mean given the secret
    assert exact_delta(gap / total, epsilon) <= delta
    assert made.epsilon <= epsilon
    assert made.epsilon == 0 or exact_delta(gap / total, made.epsilon) == pytest.approx(delta, rel=1e-6)
    assert exact_delta(gap / total, made.epsilon) <= delta
    if made.scale and not tight:
        constant = 2 * math.log(1.25 / delta)
        assert made.scale**2 == pytest.approx((rows or 1) * (constant * (gap / epsilon) ** 2 - own), rel=1e-6)
    assert f"e^{shown_up(made.epsilon, 4)}," in made.guarantee


@pytest.mark.parametrize("rows", [None, 50])
def test_the_released_mean_spreads_as_the_gaussian_mechanism_needs(rows):
    """Rows drawn anew each time: the variance of the released mean is (c gap / epsilon)^2, own spread included."""
    gap, epsilon, delta, sd, n, trials = 2.0, 0.9, 1e-3, 20.0, 50, 4_000
    made = GaussianNoise.calibrated(gap=gap, epsilon=epsilon, delta=delta, own_variance=sd**2 / n, rows=rows)
    assert made.scale > 0
    rng = np.random.default_rng(15)
    means = [made.release(rng.normal(7.0, sd, n), rng).mean() for _ in range(trials)]
    needed = math.sqrt(2 * math.log(1.25 / delta)) * gap / epsilon
    assert np.std(means) == pytest.approx(needed, rel=0.06)  # five standard errors
    assert stats.kstest(means, stats.norm(7.0, needed).cdf).pvalue > 1e-3


def test_a_variance_that_depends_on_the_secret_breaks_the_guarantee():
    """Why the derivation asks for one variance: a gap of 0.25 is (1, 0.001)-private with variance 1 under both
    candidates, and still not private if one of them has variance 4, which is more noise."""
    x = np.linspace(-30, 30, 600_001)
    p, q = stats.norm(0.25, 2.0).pdf(x), stats.norm(0.0, 1.0).pdf(x)
    mass = np.trapezoid(np.maximum(0.0, p - math.e * q), x)
    assert exact_delta(0.25, 1.0) < 1e-3
    assert mass > 0.1


def test_independent_noise_is_refused_on_more_rows_than_it_was_set_for():
    column, rng = np.zeros(11), np.random.default_rng(0)
    for made in (
        GaussianNoise.calibrated(gap=1, epsilon=0.5, delta=1e-3, rows=10),
        LaplaceNoise.calibrated(gap=1, epsilon=0.5, rows=10),
    ):
        with pytest.raises(ColumnError, match="set for 10 rows"):
            made.release(column, rng)
        assert made.release(column[:10], rng).shape == (10,)


@pytest.mark.parametrize("made", [GaussianNoise.paper(beta=5), LaplaceNoise.paper(beta=5), CommonShift(scale=5)])
def test_noise_that_was_not_set_from_candidates_guarantees_nothing(made):
    assert made.epsilon is None
    assert made.guarantee.startswith("none: ")


# Distribution privacy


@pytest.mark.parametrize("kind", [GaussianNoise, LaplaceNoise])
def test_the_papers_noise_has_variance_beta_squared_on_each_row_and_averages_out(kind):
    beta, rows = 7.0, 200_000
    column = np.random.default_rng(16).exponential(30, rows)
    noise = kind.paper(beta=beta).release(column, np.random.default_rng(17)) - column
    assert noise.var() == pytest.approx(beta**2, rel=0.03)
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 0.02
    assert abs(noise.mean()) < 5 * beta / math.sqrt(rows)


def test_the_noise_of_the_fair_forms_has_the_scale_that_epsilon_needs():
    rows, gap, epsilon, rng = 50_000, 3.0, 0.5, np.random.default_rng(18)
    column = np.zeros(rows)
    each = LaplaceNoise.calibrated(gap=gap, rows=rows, epsilon=epsilon).release(column, rng)
    assert np.abs(each).mean() == pytest.approx(rows * gap / epsilon, rel=0.03)
    common = CommonShift.calibrated(gap=gap, epsilon=epsilon)
    released = [common.release(column[:4], rng) for _ in range(20_000)]
    assert np.ptp(released, axis=1).max() == 0, "one shift for all rows"
    assert stats.kstest(np.array(released)[:, 0], stats.laplace(scale=gap / epsilon).cdf).pvalue > 1e-3


@given(
    data=st.lists(st.tuples(st.floats(-50, 50), st.floats(-1, 1), st.floats(-50, 50)), min_size=1, max_size=20),
    gap=st.floats(0.01, 10),
    epsilon=epsilons,
)
def test_rows_coupled_within_the_gap_have_a_ratio_of_at_most_epsilon(data, gap, epsilon):
    made = LaplaceNoise.calibrated(gap=gap, rows=len(data), epsilon=epsilon)
    one = np.array([row for row, _, _ in data])
    two = one + gap * np.array([move for _, move, _ in data])
    released = np.array([value for _, _, value in data])
    ratio = math.fsum((np.abs(released - two) - np.abs(released - one)) / made.scale)
    assert abs(ratio) <= epsilon * (1 + 1e-9) + 1e-12
    assert made.epsilon <= epsilon * (1 + 1e-14)


def test_the_mean_alone_needs_as_much_laplace_noise_as_the_table():
    """Two rows: the sum of two Laplace draws has density (1 + |x|/b) e^(-|x|/b) / (4b); it moves by twice the gap."""
    made = LaplaceNoise.calibrated(gap=1.5, rows=2, epsilon=0.7)
    b, move = made.scale, 3.0

    def log_density(x):
        return np.log1p(np.abs(x) / b) - np.abs(x) / b

    x = np.linspace(-4_000 * b, 4_000 * b, 400_001)
    worst = np.max(log_density(x) - log_density(x - move))
    assert 0.99 * 0.7 < worst <= 0.7


shapes = {
    "normal": stats.norm(0, 2).logpdf,
    "logistic": stats.logistic(0, 1).logpdf,
    "two humps": lambda x: np.logaddexp(stats.norm(-3, 0.5).logpdf(x), stats.norm(1, 1).logpdf(x)),
}


@pytest.mark.parametrize("shape", sorted(shapes))
@given(
    released=st.lists(st.floats(-6, 6), min_size=1, max_size=4),
    first=st.floats(-3, 3),
    gap=st.floats(0.1, 5),
    epsilon=st.floats(0.1, 3),
    share=st.floats(-1, 1),
)
def test_a_common_shift_hides_which_member_of_a_location_family_a_table_came_from(
    shape, released, first, gap, epsilon, share
):
    """The density of the whole released table, by summing over the shift on a fine grid."""
    made = CommonShift.calibrated(gap=gap, epsilon=epsilon)
    location = np.linspace(-40, 40, 8_001)  # of the released rows: candidate plus shift
    rows = np.sum([shapes[shape](value - location) for value in released], axis=0)

    def log_density(candidate):
        return np.logaddexp.reduce(rows - np.abs(location - candidate) / made.scale)

    ratio = log_density(first) - log_density(first + share * gap)
    assert abs(ratio) <= epsilon * (1 + 1e-9) + 1e-9
    assert made.epsilon <= epsilon * (1 + 1e-14)


def test_independent_noise_of_the_same_scale_hides_nothing_in_a_long_table():
    """The control of the test above: an attacker who compares means tells two candidates apart after row-wise noise."""
    gap, rows, rng = 1.0, 10_000, np.random.default_rng(19)
    common = CommonShift.calibrated(gap=gap, epsilon=0.5)
    each = LaplaceNoise(scale=common.scale)
    hits = dict.fromkeys((common, each), 0)
    for trial in range(200):
        truth = trial % 2
        column = rng.normal(truth * gap, 2.0, rows)
        for made in hits:
            hits[made] += (made.release(column, rng).mean() > gap / 2) == bool(truth)
    assert hits[each] == 200
    assert hits[common] / 200 < math.exp(0.5) / (1 + math.exp(0.5)) + 0.12  # e^eps / (1 + e^eps), four standard errors


def test_the_example_of_the_documentation_runs():
    page = (Path(__file__).parents[2] / "docs" / "alternatives.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, np.ndarray] = {}
    exec(compile(code, "alternatives.md", "exec"), names)  # it asserts its own guarantee
    assert np.ptp(names["shifted"] - names["column"]) < 1e-9
