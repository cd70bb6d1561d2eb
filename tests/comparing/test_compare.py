"""The comparison with the alternatives: lines that releases lie on, exact risks, attackers, and one answer a seed."""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import statveil as sv
from statveil.alternatives.common_shift import CommonShift
from statveil.alternatives.debiasing import debiased_counts
from statveil.alternatives.gaussian import GaussianNoise
from statveil.alternatives.histogram import PrivateHistogram
from statveil.alternatives.histogram_statistics import histogram_mean
from statveil.alternatives.laplace import LaplaceNoise
from statveil.cli.main import run
from statveil.comparing import reading, sweep
from statveil.comparing.attackers import corrected, noise_cdf
from statveil.comparing.deconvolution import quantile_behind
from statveil.comparing.noisy import shift_risk
from statveil.comparing.quantization import Quantization, laid
from statveil.comparing.reading import Column
from statveil.comparing.stated import default_range, state, statistic
from statveil.comparing.surrogate import stream
from statveil.comparing.sweep import METHODS, Sweep, contenders
from statveil.report.comparison import comparison_chart, comparison_csv, describe_comparison, save_comparison

MEAN = {"secret": sv.Mean(), "prior": sv.Box(mean=(0, 1_000)), "tolerance": 10.0}
KEYS = {
    "method", "form", "parameter", "error", "error_low", "error_high", "debiased_error", "distortion", "distortion_low",
    "distortion_high", "ratio", "debiased_ratio", "hit_rate", "hit_low", "hit_high", "trials", "attacker", "risk",
    "guarantee", "seeds",
}  # fmt: skip


def views(rows, seed=1):
    """Page views: heavy-tailed, mean about 170."""
    return np.random.default_rng(seed).lognormal(3.5, 1.8, rows)


def of(found, method, form=None):
    return [p for p in found.points if p["method"] == method and form in (None, p["form"])]


@pytest.fixture(scope="module")
def mean():
    """Every method on 20,000 rows, secret = mean."""
    return sv.compare(views(20_000), **MEAN, seeds=10, points=6, trials=20, seed=5)


# The line of the mean


def test_no_release_has_an_error_of_the_mean_above_its_distance(mean):
    assert mean.line.always
    assert mean.line.slope == pytest.approx(1.0)
    for point in mean.points:
        assert point["error"] <= point["distortion"] * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(
    ("method", "form"), [("ours", "paper"), ("comb", "fair"), ("directional", "fair"), ("ap", "fair")]
)
def test_whatever_moves_all_rows_alike_lies_on_the_line(mean, method, form):
    points = of(mean, method, form)
    assert len(points) >= 4
    for point in points:
        assert point["ratio"] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("method", ["ap", "distp"])
def test_independent_noise_averages_out_over_20_000_rows_at_any_noise(mean, method):
    noises = [point["parameter"]["beta"] for point in of(mean, method, "paper")]
    assert max(noises) / min(noises) >= 1_000
    assert all(point["ratio"] < 0.05 for point in of(mean, method, "paper"))
    # in the mean over the noise: |N(0, beta^2 / n)| has the mean beta sqrt(2 / (pi n))
    loudest = of(mean, method, "paper")[-1]
    expected = loudest["parameter"]["beta"] * math.sqrt(2 / (math.pi * 20_000))
    assert 0.3 * expected < loudest["error"] < 2.2 * expected


def test_the_histogram_is_flattered_by_the_attacker_who_takes_its_mean(mean):
    wide = [p for p in of(mean, "dp") if p["parameter"]["bins"] == 2_000]
    assert all(p["ratio"] > 0.99 for p in wide)
    assert all(p["debiased_ratio"] < 0.15 for p in wide)


def test_knowing_more_never_costs_the_attacker_where_noise_is_without_bias(mean):
    for method in ("ap", "distp", "directional"):
        for point in of(mean, method):
            assert point["debiased_error"] <= point["error"] * (1 + 1e-12)


def test_scaling_an_exponential_family_has_the_ratio_of_quantile_and_mean():
    column = np.random.default_rng(3).gamma(0.6, 30.0, 5_000)
    found = sv.compare(
        column,
        secret=sv.Quantile(0.9),
        prior=sv.Box(scale=(5, 60)),
        methods=["ours", "comb"],
        points=4,
        trials=5,
        seed=1,
    )
    assert not found.line.always
    assert found.line.slope == pytest.approx(-math.log(0.1))
    for point in found.points:
        assert point["ratio"] == pytest.approx(np.quantile(column, 0.9) / column.mean(), rel=1e-6)


def test_a_normal_columns_std_is_scaled_about_its_mean():
    column = np.random.default_rng(4).normal(50, 8, 4_000)
    found = sv.compare(
        column, secret=sv.Std(), prior=sv.Box(mu=(0, 100), sigma=(1, 30)), methods=["ours"], points=3, trials=5, seed=1
    )
    spread = np.mean(np.abs(column - column.mean()))
    assert all(p["ratio"] == pytest.approx(column.std() / spread, rel=1e-6) for p in found.points)


# The metrics, computed anew from the alternatives themselves


def histogram(scale, bins):
    return PrivateHistogram(scale=scale, bins=int(bins), low=0, high=1e5)


def recomputed(make, point, method, form, setting, column, seed):
    errors, debiased, moved = [], [], []
    for k in range(point["seeds"]):
        mechanism = make(**point["parameter"])
        released = mechanism.release(np.sort(column), stream(seed, method, form, setting, k))
        errors.append(abs(released.mean() - column.mean()))
        moved.append(stats.wasserstein_distance(released, column))
        guess = released.mean()
        if isinstance(mechanism, PrivateHistogram):
            guess = histogram_mean(debiased_counts(mechanism, released), mechanism.edges)
        debiased.append(abs(np.clip(guess, 0, 1_000) - column.mean()))
    return np.array(errors), np.array(debiased), np.array(moved)


@pytest.mark.parametrize(
    ("method", "form", "make"),
    [
        ("ap", "paper", lambda beta: GaussianNoise(scale=beta)),
        ("distp", "paper", lambda beta: LaplaceNoise(scale=beta / math.sqrt(2))),
        ("dp", "paper", lambda beta, bins: histogram(scale=beta / math.sqrt(2), bins=bins)),
        ("dp", "fair", lambda epsilon, bins: histogram(scale=2 / epsilon, bins=bins)),  # replace-one
        ("directional", "fair", lambda epsilon: CommonShift.calibrated(gap=1_000, epsilon=epsilon)),
        ("distp", "fair", lambda epsilon: LaplaceNoise.calibrated(gap=1_000, rows=1_500, epsilon=epsilon)),
        ("ap", "fair", lambda **of: GaussianNoise.calibrated(gap=1_000, tight=True, **of)),
    ],
)
def test_errors_and_distances_are_those_of_the_alternatives_own_releases(method, form, make):
    column = views(1_500)
    found = sv.compare(column, **MEAN, methods=[method], seeds=7, points=3, bins=(10, 300), trials=5, seed=11)
    for setting, point in enumerate(of(found, method, form)):
        errors, debiased, moved = recomputed(make, point, method, form, setting, column, 11)
        assert point["error"] == pytest.approx(errors.mean(), rel=1e-9)
        assert point["error_low"] == pytest.approx(np.quantile(errors, 0.1), rel=1e-9)
        assert point["error_high"] == pytest.approx(np.quantile(errors, 0.9), rel=1e-9)
        assert point["debiased_error"] == pytest.approx(debiased.mean(), rel=1e-9)
        assert point["distortion"] == pytest.approx(moved.mean(), rel=1e-9)
        assert point["ratio"] == pytest.approx(errors.mean() / moved.mean(), rel=1e-9)


def test_one_seed_has_one_answer_whatever_else_is_compared():
    column = views(800)
    options = {**MEAN, "seeds": 4, "points": 3, "trials": 10}
    both = sv.compare(column, **options, methods=["ours", "dp"], seed=2)
    alone = sv.compare(column, **options, methods=["dp"], seed=2)
    other = sv.compare(column, **options, methods=["dp"], seed=3)
    assert alone.points == of(both, "dp")
    assert [p["error"] for p in other.points] != [p["error"] for p in alone.points]
    again = sv.compare(column, **options, methods=["dp"], seed=sv.compare(column, **options, methods=["dp"]).seed)
    assert again.points != alone.points  # without a seed a fresh one is drawn, and kept


def test_runs_of_a_setting_are_independent_of_each_other():
    draws = np.array([stream(1, "ap", "paper", 0, k).random(2_000) for k in range(8)])
    correlations = np.corrcoef(draws)[np.triu_indices(8, 1)]
    assert np.abs(correlations).max() < 4.5 / math.sqrt(2_000)


def test_more_seeds_keep_the_first_ones():
    column, errors = views(500), []
    for seeds in (1, 2, 3):
        found = sv.compare(column, **MEAN, methods=["ap"], seeds=seeds, points=2, trials=1, seed=4)
        errors.append(seeds * of(found, "ap", "paper")[0]["error"])
    beta = of(found, "ap", "paper")[0]["parameter"]["beta"]
    alone = [
        abs(GaussianNoise(scale=beta).release(np.sort(column), stream(4, "ap", "paper", 0, k)).mean() - column.mean())
        for k in range(3)
    ]
    assert np.diff(errors, prepend=0.0) == pytest.approx(alone, rel=1e-6)


# Our mechanisms: where the bins lie, and the exact risk


def plans(secret, family, prior, tolerance):
    problem = sv.Problem(family=family, prior=prior, secret=secret, tolerance=tolerance)
    return problem, sv.plan(problem, bin=7.0), sv.plan(problem, max_distortion=3.5, method="comb")


LOCATION = plans(sv.Mean(), sv.Location(), sv.Box(mean=(0, 100)), 0.5)
SCALE = plans(sv.Quantile(0.9), sv.Exponential(), sv.Box(scale=(1, 101)), 1.0)


@given(place=st.floats(0, 1), at=st.floats(0.5, 99.5), which=st.sampled_from([0, 1]))
def test_bins_are_laid_so_that_the_column_lies_at_the_asked_place(place, at, which):
    problem, *pair = LOCATION
    mechanism = laid(pair[which].mechanism, problem.family, {"mean": at}, place)
    back, ahead = (
        (mechanism.bins.low - at, mechanism.bins.high - at)
        if which == 0
        else mechanism.keep.extent({"mean": at}, mechanism.direction)
    )
    assert float(-back) == pytest.approx(100 * place, abs=1e-9)
    assert float(ahead - back) == pytest.approx(100.0)
    moved = abs(float(mechanism.release({"mean": at})["mean"]) - at)
    assert moved <= pair[which].distortion * (1 + 1e-9) + 1e-9


@given(place=st.floats(0, 1), at=st.floats(1.5, 100), which=st.sampled_from([0, 1]))
def test_no_release_of_a_scale_is_negative(place, at, which):
    problem, *pair = SCALE
    mechanism = laid(pair[which].mechanism, problem.family, {"scale": at}, place)
    assert float(mechanism.release({"scale": at})["scale"]) > 0


@pytest.mark.parametrize("which", [0, 1])
def test_over_all_places_the_middle_of_the_bin_hits_as_often_as_the_plan_says(which):
    problem, *pair = LOCATION
    plan, places = pair[which], (np.arange(20_000) + 0.5) / 20_000
    released = np.array(
        [laid(plan.mechanism, problem.family, {"mean": 40.0}, p).release({"mean": 40.0})["mean"] for p in places[::8]]
    )
    hits = np.mean(np.abs(released - 40.0) <= 0.5)
    if which == 0:  # an interval's middle is the best guess; a comb's lies between two teeth where they are even
        assert hits == pytest.approx(plan.risk, abs=0.003)
    assert hits <= plan.risk + 0.003


def test_a_column_that_stays_where_it_is_has_no_ratio():
    # the middle tooth of three is released as it is; some seed lays it there
    column = views(300)
    options = {**MEAN, "methods": ["comb"], "seeds": 1, "points": 12, "trials": 1}
    points = [p for seed in range(12) for p in sv.compare(column, **options, seed=seed).points]
    still = [p for p in points if p["distortion"] < 1e-6]
    assert still
    assert all(p["ratio"] is None and p["error"] < 1e-6 for p in still)
    assert all(p["ratio"] == pytest.approx(1.0) for p in points if p not in still)


def test_ten_seeds_give_the_error_of_a_column_that_lies_anywhere():
    errors = []
    for seed in range(6):
        found = sv.compare(views(200), **MEAN, methods=["ours"], seeds=10, points=2, trials=1, seed=seed)
        errors.append(found.points[1]["error"])  # one bin of 1,000: even on 0 to 500
    assert np.mean(errors) == pytest.approx(250, rel=0.04)
    assert errors == pytest.approx([250] * 6, rel=0.2)


def test_the_exact_risk_agrees_with_attacks_on_redrawn_columns():
    found = sv.compare(views(2_000), **MEAN, methods=["ours", "comb"], seeds=1, points=4, trials=200, seed=8)
    for point in found.points:
        hits = round(point["hit_rate"] * point["trials"])
        risk = min(point["risk"], 1.0)
        assert stats.binomtest(hits, point["trials"], risk).pvalue > 1e-4
        assert point["hit_low"] <= point["hit_rate"] <= point["hit_high"]
        assert f"{risk:.4g}" in point["guarantee"]


def test_at_the_same_largest_distortion_a_comb_has_no_more_risk_than_intervals():
    found = sv.compare(views(500), **MEAN, methods=["ours", "comb"], seeds=1, points=8, trials=1, seed=8)
    largest = [sv.plan(found.problem, bin=p["parameter"]["bin"]).distortion for p in of(found, "ours")]
    for comb in of(found, "comb"):
        under = [
            p["risk"]
            for p, d in zip(of(found, "ours"), largest, strict=True)
            if d <= comb["parameter"]["max_distortion"]
        ]
        assert comb["risk"] <= min(under, default=1.0) + 1e-9


# One common shift: its exact risk


def stated(low=0.0, high=100.0, tolerance=3.0):
    column = Column(name="x", values=np.linspace(10, 90, 50), untouched=0, sampled_from=None)
    return state(
        column, secret=sv.Mean(), family=sv.Location(), prior=sv.Box(mean=(low, high)), tolerance=tolerance, range=None
    )


@pytest.mark.parametrize("make", [CommonShift, partial(GaussianNoise, common=True)])
@pytest.mark.parametrize("scale", [1.0, 8.0, 60.0])
def test_no_attacker_beats_the_exact_risk_of_a_common_shift_and_one_reaches_it(make, scale):
    question, mechanism = stated(), make(scale=scale)
    secrets = (np.arange(500) + 0.5) / 5  # the prior, by its middles
    reach = np.linspace(-12 * scale - 5, 100 + 12 * scale + 5, 4_001)
    cells = np.concatenate([[-np.inf], 0.5 * (reach[1:] + reach[:-1]), [np.inf]])
    joint = np.diff(noise_cdf(mechanism, cells[:, None] - secrets), axis=0) / 500  # of a released mean and a secret
    total = np.concatenate([np.zeros((len(reach), 1)), np.cumsum(joint, axis=1)], axis=1)
    best = (total[:, 30:] - total[:, :-30]).max(axis=1).sum()  # a window of 2 eps = 6 holds 30 middles
    assert shift_risk(question, mechanism) == pytest.approx(best, abs=4e-3)


@settings(max_examples=25)
@given(scale=st.floats(0.05, 500), tolerance=st.floats(0.1, 30))
def test_the_risk_of_a_common_shift_lies_between_guessing_blindly_and_certainty(scale, tolerance):
    question = stated(tolerance=tolerance)
    blind = 2 * tolerance / 100
    assert blind <= shift_risk(question, CommonShift(scale=scale)) <= 1.0
    assert shift_risk(question, LaplaceNoise(scale=scale)) is None


def test_hits_on_a_common_shift_agree_with_its_exact_risk():
    found = sv.compare(views(300), **MEAN, methods=["directional"], seeds=1, points=5, trials=400, seed=8)
    for point in found.points:
        assert stats.binomtest(round(point["hit_rate"] * 400), 400, point["risk"]).pvalue > 1e-4


# The attacker who knows the noise


def gaussian(secret):
    return sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=(-9, 9), sigma=(1, 9)), secret=secret, tolerance=0.1)


@pytest.mark.parametrize("make", [GaussianNoise.paper, LaplaceNoise.paper])
@pytest.mark.parametrize(
    ("alpha", "beta", "better"), [(0.5, 1.0, 4), (0.95, 1.0, 4), (0.95, 10.0, 12), (0.95, 30.0, 8)]
)
def test_a_quantile_is_found_behind_known_noise(make, alpha, beta, better):
    plain, informed = [], []
    for seed in range(10):
        column = np.random.default_rng(seed).exponential(1.0, 10_000)
        mechanism, truth = make(beta=beta), np.quantile(column, alpha)
        released = mechanism.release(column, np.random.default_rng(100 + seed))
        plain.append(abs(np.quantile(released, alpha) - truth))
        informed.append(abs(corrected(gaussian(sv.Quantile(alpha)), mechanism, released, 0.0) - truth))
    assert np.mean(informed) < np.mean(plain) / better


def test_next_to_no_noise_is_next_to_no_correction():
    column = np.random.default_rng(1).gamma(2.0, 3.0, 5_000)
    mechanism = GaussianNoise.paper(beta=1e-7)
    found = quantile_behind(column, 0.8, partial(noise_cdf, mechanism), noise=1e-7)
    assert found == pytest.approx(np.quantile(column, 0.8), abs=1e-5)


@given(
    values=st.lists(st.floats(-5, 5), min_size=10, max_size=40), alpha=st.floats(0.05, 0.95), scale=st.floats(0.1, 20)
)
def test_a_quantile_behind_noise_is_a_number_not_below_the_floor(values, alpha, scale):
    mechanism = LaplaceNoise(scale=scale)
    cdf, noise = partial(noise_cdf, mechanism), mechanism.parameter
    found = quantile_behind(np.array(values), alpha, cdf, noise=noise, floor=-1.0)
    assert math.isfinite(found)
    assert found >= -1.0


def test_the_variance_of_the_noise_is_taken_off():
    column = np.random.default_rng(2).normal(0, 3, 200_000)
    for mechanism in (GaussianNoise.paper(beta=5.0), LaplaceNoise.paper(beta=5.0)):
        released = mechanism.release(column, np.random.default_rng(3))
        assert statistic(gaussian(sv.Std()), released) == pytest.approx(math.hypot(3, 5), rel=0.01)
        assert corrected(gaussian(sv.Std()), mechanism, released, None) == pytest.approx(3, rel=0.03)


@pytest.mark.parametrize("mechanism", [GaussianNoise(scale=2.0), LaplaceNoise(scale=2.0), CommonShift(scale=2.0)])
def test_the_noise_has_the_distribution_that_the_attacker_supposes(mechanism):
    rng = np.random.default_rng(6)
    noise = np.array([mechanism.release(np.zeros(1), rng)[0] for _ in range(4_000)])
    assert stats.kstest(noise, partial(noise_cdf, mechanism)).pvalue > 1e-3


# What was not stated


def test_the_range_comes_from_the_prior_and_never_from_the_column():
    short, long = views(200), np.concatenate([views(200), [77_777.0]])
    ranges = {sv.compare(x, **MEAN, methods=["dp"], seeds=1, points=2, trials=1).range for x in (short, long)}
    assert ranges == {(0.0, 100_000.0)}


@pytest.mark.parametrize(
    ("family", "prior", "secret"),
    [
        (sv.Gaussian(), sv.Box(mu=(-5, 20), sigma=(1, 3)), sv.Mean()),
        (sv.Exponential(), sv.Box(scale=(0.1, 7)), sv.Quantile(0.9)),
        (sv.Uniform(), sv.Box(low=(0, 40), high=(0, 40)), sv.Std()),
    ],
)
def test_a_default_range_holds_nearly_every_value_that_the_prior_allows(family, prior, secret):
    problem = sv.Problem(family=family, prior=prior, secret=secret, tolerance=0.1)
    low, high = default_range(problem)
    params = problem.sample(300, np.random.default_rng(1))
    drawn = np.concatenate(
        [
            family.sample({name: float(values[i]) for name, values in params.items()}, 200, np.random.default_rng(i))
            for i in range(300)
        ]
    )
    assert np.mean((drawn < low) | (drawn > high)) <= 1e-4


def test_what_stands_in_for_a_prior_is_said_and_holds_the_column():
    for column in (views(300), np.random.default_rng(1).normal(-3, 40, 300), -views(300)):
        for secret in (sv.Mean(), sv.Quantile(0.3), sv.Std()):
            found = sv.compare(column, secret=secret, methods=["ours"], seeds=1, points=2, trials=2, seed=1)
            assert any("No prior was stated" in note and "Never plan" in note for note in found.notes)
            assert found.problem.tolerance > 0
    stated_all = sv.compare(
        views(300), **MEAN, family=sv.Location(), range=(0, 10_000_000), methods=["ours"], seeds=1, points=2, trials=2
    )
    assert stated_all.notes == ()


def test_rows_outside_a_stated_range_are_counted():
    column = np.concatenate([views(490), np.full(10, 1e6)])
    found = sv.compare(
        column,
        secret=sv.Mean(),
        prior=sv.Box(mean=(0, 1e5)),
        range=(0, 1e5),
        methods=["dp"],
        seeds=1,
        points=2,
        trials=1,
    )
    assert any(note.startswith("10 of 500 rows lie outside") for note in found.notes)


def test_missing_rows_are_left_out_and_said():
    column = views(400)
    holes = np.concatenate([column[:200], [np.nan, np.inf], column[200:]])
    one, two = (
        sv.compare(x, **MEAN, seeds=2, points=2, trials=3, methods=["dp", "ours"], seed=1) for x in (column, holes)
    )
    assert one.points == two.points
    assert any("2 rows without a finite value" in note for note in two.notes)


def test_of_a_very_long_column_a_random_part_is_taken(monkeypatch):
    monkeypatch.setattr(reading, "MOST", 2_000)
    column = np.arange(70_000, dtype=np.float64)
    found = reading.read_column(column, None, np.random.default_rng(1))
    assert 1_700 < len(found.values) < 2_300
    assert found.sampled_from == 70_000
    assert stats.kstest(found.values / 70_000, "uniform").pvalue > 1e-3


def test_opendp_is_named_when_it_is_left_out(monkeypatch):
    monkeypatch.setattr(sweep.importlib.util, "find_spec", lambda name: None)
    found = sv.compare(views(100), **MEAN, methods=["ap", "opendp"], seeds=1, points=2, trials=1)
    (reason,) = found.left_out.values()
    assert "statveil[opendp]" in reason
    with pytest.raises(sv.ProblemError, match=r"statveil\[opendp\]"):
        sv.compare(views(100), **MEAN, methods=["opendp"])


def test_opendp_is_compared_where_it_is_installed():
    pytest.importorskip("opendp")
    found = sv.compare(views(500), **MEAN, methods=["opendp"], seeds=2, points=2, bins=(20,), trials=3)
    assert all(p["distortion"] > 0 for p in found.points)
    assert any("no seed" in note for note in found.notes)


def test_forms_without_a_guarantee_for_the_family_are_left_out():
    column = np.random.default_rng(1).exponential(3.0, 400)
    options = {"seeds": 1, "points": 2, "trials": 2, "methods": ["ap", "distp", "directional"], "seed": 1}
    found = sv.compare(column, secret=sv.Quantile(0.9), prior=sv.Box(scale=(1, 9)), **options)
    assert set(found.left_out) == {"ap (fair)", "distp (fair)"}
    assert {p["form"] for p in of(found, "directional")} == {"swept"}
    assert all(p["guarantee"].startswith("none") and p["risk"] is None for p in found.points)
    spread = sv.compare(column, secret=sv.Std(), prior=sv.Box(mu=(0, 9), sigma=(1, 9)), **options)
    assert "leaves the std as it is" in spread.left_out["directional (fair)"]


def test_every_method_has_a_sweep():
    column = Column(name="x", values=np.sort(views(100)), untouched=0, sampled_from=None)
    question = state(column, family=None, range=None, **MEAN)
    found, left_out = contenders(question, list(METHODS), Sweep(points=3, bins=(5,), rows=100))
    assert {one.method for one in found} | {name.split()[0] for name in left_out} == set(METHODS)
    widths = [one.parameter["bin"] for one in found if isinstance(one, Quantization) and one.method == "ours"]
    assert widths == pytest.approx([20, math.sqrt(20 * 1_000), 1_000], rel=1e-3)


# The result


def test_the_table_has_the_least_distortion_that_reaches_an_error(mean):
    rows = mean.table([5.0, 50.0, 1e9])
    for row in rows:
        for key, error in (("distortion", "error"), ("debiased_distortion", "debiased_error")):
            reached = [p["distortion"] for p in of(mean, row["method"], row["form"]) if p[error] >= row["error"]]
            assert row[key] == (min(reached) if reached else None)
        assert row["error"] < 1e9 or row["distortion"] is None
    for level in (5.0, 50.0):
        ours, ap = (
            next(r["distortion"] for r in rows if (r["method"], r["form"], r["error"]) == (name, "paper", level))
            for name in ("ours", "ap")
        )
        assert ap > 10 * ours


def test_levels_are_round_and_within_what_ours_reaches(mean):
    levels = mean.levels()
    assert levels == sorted(set(levels))
    assert mean.problem.tolerance <= levels[0]
    assert levels[-1] <= max(p["error"] for p in of(mean, "ours"))
    assert all(f"{level:.0e}"[0] in "125" and float(f"{level:.0e}") == level for level in levels)


@pytest.mark.parametrize("errors", [[0], [-1.0], [float("nan")], ["x"]])
def test_errors_of_the_table_must_be_positive(mean, errors):
    with pytest.raises(sv.ProblemError):
        mean.table(errors)


def test_a_comparison_is_json_and_says_that_it_is_private(mean):
    data = json.loads(json.dumps(mean.to_json(), allow_nan=False))
    assert data["private"].startswith("PRIVATE")
    assert all(set(point) == KEYS for point in data["points"])
    assert data["seed"] == 5
    assert data["range"] == [0.0, 100_000.0]
    assert {"line", "table", "left_out", "notes", "problem", "column", "rows", "seeds"} <= set(data)
    assert "mean" not in {key for point in data["points"] for key in point["parameter"]}


def test_the_text_is_private_and_names_every_method(mean):
    text = describe_comparison(mean)
    assert text.startswith("PRIVATE")
    assert all(f"\n{p['method']:<12}{p['form']:<7}" in text for p in mean.points)
    assert max(len(line) for line in text.splitlines() if "  " in line) <= 120


def test_the_csv_reads_back_as_the_points(mean):
    table = pl.read_csv(comparison_csv(mean).encode())
    assert table["error"].to_list() == [p["error"] for p in mean.points]
    assert table["risk"].to_list() == [p["risk"] for p in mean.points]
    assert table["private"].str.starts_with("PRIVATE").all()


def test_the_picture_draws_every_setting_once_a_panel(mean):
    chart = comparison_chart(mean).to_dict()
    assert chart["title"]["subtitle"][0].startswith("PRIVATE")
    assert any("better: up and left" in line for line in chart["title"]["subtitle"])
    panels = chart["hconcat"]
    assert len(panels) == 2
    beyond = sum(
        p["distortion"] > 100 * max(q["distortion"] for q in of(mean, "ours") + of(mean, "comb")) for p in mean.points
    )
    drawn = chart["datasets"][panels[0]["layer"][-1]["data"]["name"]]
    assert len(drawn) == len(mean.points) - beyond
    assert beyond > 0


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.html", b"<!DOCTYPE html>")])
def test_pictures_are_written_for_their_owner_alone(mean, tmp_path, name, start):
    save_comparison(mean, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert content.startswith(start)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    if name != "a.png":
        assert b"PRIVATE: computed from the original table" in content
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_nothing_to_draw_is_a_sentence():
    found = sv.compare(views(100), **MEAN, methods=["ours"], seeds=1, points=2, trials=1, seed=1)
    still = [{**p, "error": 0.0, "distortion": 0.0} for p in found.points]
    with pytest.raises(sv.ProblemError, match="nothing to draw"):
        comparison_chart(replace(found, points=still))


# Tables and the command


@pytest.fixture
def cli(monkeypatch, capsys):
    def call(command, *more):
        monkeypatch.setattr(sys, "argv", ["statveil", "compare", *shlex.split(command), *map(str, more)])
        with pytest.raises(SystemExit) as ended:
            run()
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return call


@pytest.fixture
def files(tmp_path):
    frame = pl.DataFrame(
        {"x": views(300), "text": ["a"] * 300, "same": [2.0] * 300, "few": [1.0, 2.0, 3.0] + [None] * 297}
    )
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    (tmp_path / "broken.parquet").write_bytes(b"no table")
    return tmp_path


QUICK = "--prior mean=0:1000 --tolerance 10 --seeds 2 --points 2 --trials 3 --seed 6"


def test_files_frames_and_arrays_give_the_same_points(files):
    options = {**MEAN, "methods": ["ours", "dp"], "seeds": 2, "points": 2, "trials": 3, "seed": 6}
    frame = pl.read_parquet(files / "t.parquet")
    found = [
        sv.compare(files / "t.parquet", column="x", **options),
        sv.compare(str(files / "t.csv"), column="x", **options),
        sv.compare(frame, column="x", **options),
        sv.compare(frame.to_pandas(), column="x", **options),
        sv.compare(frame["x"].to_numpy()[::-1], **options),
    ]
    assert all(one.points == found[0].points for one in found)


def test_the_command_is_the_library(cli, files):
    code, out, err = cli(f"--column x --secret mean {QUICK} --methods ours,ap --json", files / "t.parquet")
    assert (code, err) == (0, "")
    found = sv.compare(
        files / "t.parquet", column="x", **MEAN, methods=["ours", "ap"], seeds=2, points=2, trials=3, seed=6
    )
    assert json.loads(out) == json.loads(json.dumps(found.to_json()))


def test_the_command_writes_what_it_is_asked_for_and_keeps_what_is_there(cli, files):
    target = files / "out.csv"
    code, out, _ = cli(f"--column x --secret mean {QUICK} -o", target, files / "t.parquet")
    assert code == 0
    assert out.startswith("PRIVATE")
    assert len(pl.read_csv(target)) > 10
    before = target.read_bytes()
    code, out, err = cli(f"--column x --secret mean {QUICK} --methods ap -o", target, files / "t.parquet")
    assert (code, out) == (2, "")
    assert "--overwrite" in err
    assert target.read_bytes() == before
    code, _, _ = cli(f"--column x --secret mean {QUICK} --methods ap --overwrite -o", target, files / "t.parquet")
    assert code == 0
    assert set(pl.read_csv(target)["method"]) == {"ap"}
    table = (files / "t.csv").read_bytes()
    code, _, err = cli(f"--column x --secret mean {QUICK} --overwrite -o", files / "t.csv", files / "t.csv")
    assert code == 2
    assert "would be written over the original table" in err
    assert (files / "t.csv").read_bytes() == table


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ("t.parquet", "--column y --secret mean", ["unknown column 'y'", "x, text"]),
        ("t.parquet", "--column text --secret mean", ["'text'", "need numbers", "x, same"]),
        ("t.parquet", "--column same --secret mean", ["constant"]),
        ("t.parquet", "--column few --secret mean", ["3 finite values", "10 or more"]),
        ("broken.parquet", "--column x --secret mean", ["cannot read", "broken.parquet"]),
        ("none.csv", "--column x --secret mean", ["No such file"]),
        ("t.parquet", "--column x --secret fraction:0", ["fraction", "mean, quantile, std"]),
        ("t.parquet", "--column x --secret mean --methods ours,pd", ["'pd'", "directional"]),
        ("t.parquet", "--column x --secret mean --methods ,", ["at least one method"]),
        ("t.parquet", "--column x --secret mean --range 9:1", ["9", "1", "below"]),
        ("t.parquet", "--column x --secret mean --range 9", ["LO:HI", "'9'"]),
        ("t.parquet", "--column x --secret mean --range -9:-1", ["no value", "-9 to -1"]),
        ("t.parquet", "--column x --secret mean --bins 20,x", ["20,x", "whole numbers"]),
        ("t.parquet", "--column x --secret mean --bins 0", ["bins", "from 1"]),
        ("t.parquet", "--column x --secret mean --seeds 0", ["seeds", "from 1"]),
        ("t.parquet", "--column x --secret mean --points 1", ["points", "from 2"]),
        ("t.parquet", "--column x --secret mean --trials 0", ["trials", "from 1"]),
        ("t.parquet", "--column x --secret mean --prior mean=5000:6000", ["outside the stated prior"]),
        ("t.parquet", "--column x --secret mean --prior mean=0:1000 --tolerance 600", ["600", "smaller tolerance"]),
        ("t.parquet", "--column x --secret mean --tolerance -1", ["tolerance", "-1"]),
        ("t.parquet", "--column x --secret mean --family poisson", ["poisson", "location"]),
        ("t.parquet", "--column x --secret quantile:0.5 --family location", ["quantile", "location"]),
        ("t.parquet", "--column x --secret mean --family uniform", ["uniform", "low=LO:HI"]),
        ("t.parquet", "--secret mean", ["--column"]),
        ("t.parquet", "--column x", ["--secret"]),
        ("t.parquet", "--column x --secret mean -o a.pdf", [".pdf", ".png"]),
        ("t.parquet", "--column x --secret mean -o none/a.png", ["no folder"]),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing_behind(cli, files, monkeypatch, table, options, words):
    monkeypatch.chdir(files)
    before = sorted(path.name for path in files.iterdir())
    code, out, err = cli(options, table)
    assert (code, out) == (2, "")
    assert err.startswith("statveil: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err
    assert sorted(path.name for path in files.iterdir()) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"range": (1, 2, 3)},
        {"range": 5},
        {"bins": ()},
        {"bins": (2.5,)},
        {"seeds": True},
        {"seed": -1},
        {"methods": []},
    ],
)
def test_the_library_refuses_as_the_command_does(wrong):
    with pytest.raises(sv.ProblemError):
        sv.compare(views(50), **{**MEAN, **wrong})


def test_progress_ends_with_all_rows_released():
    told = []
    sv.compare(
        views(100),
        **MEAN,
        methods=["ap"],
        seeds=2,
        points=3,
        trials=1,
        progress=lambda stage, rows, total: told.append((rows, total)),
    )
    assert sum(rows for rows, _ in told) == told[-1][1] == 6 * 2 * 100


def test_the_example_of_the_documentation_runs_and_its_numbers_are_right():
    page = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(compile(code, "compare.md", "exec"), {})  # it asserts its own ratios
    problem = sv.Problem(family=sv.Location(), **MEAN)
    plan = sv.plan(problem, bin=118.4)
    assert f"the risk {plan.risk:.2f} and move the column by {plan.distortion:.0f} at most" in page
    scale = -10 / math.log((1 - plan.risk) / (1 - 2 * 10 / 1_000))
    assert f"moves it by {scale:.0f}\non average" in page
    assert shift_risk(stated(high=1_000, tolerance=10), CommonShift(scale=scale)) == pytest.approx(plan.risk)
