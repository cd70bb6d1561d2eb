"""Families of your own on wide supports: moments, quantiles and distances where the mass is, or a refusal by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

import statveil as sv

# name: cdf(x, t) by special functions, and the same member in scipy.stats
SHAPES = {
    "lognormal": (lambda x, t: special.ndtr(np.log(np.maximum(x, 1e-300) / t)), lambda t: stats.lognorm(1.0, scale=t)),
    "gamma": (lambda x, t: special.gammainc(2.5, np.maximum(x, 0) / t), lambda t: stats.gamma(2.5, scale=t)),
    "weibull": (
        lambda x, t: -np.expm1(-((np.maximum(x, 0) / t) ** 0.7)),
        lambda t: stats.weibull_min(0.7, scale=t),
    ),
    "pareto": (
        lambda x, t: np.where(x > t, 1 - (np.maximum(x, t) / t) ** -3.5, 0.0),
        lambda t: stats.pareto(3.5, scale=t),
    ),
    "student": (lambda x, t: special.stdtr(6.0, x / t), lambda t: stats.t(6.0, scale=t)),
    "normal": (lambda x, t: special.ndtr((x - t) / 0.01), lambda t: stats.norm(t, 0.01)),
}
NEGATIVE = ("student", "normal")


def made(name, t, width):
    cdf, frozen = SHAPES[name]
    low = -width if name in NEGATIVE else 0.0
    return sv.Custom(parameter="t", domain=(0, 1e9), cdf=cdf, support=(low, width), label=name), frozen(t)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SHAPES)), st.floats(-2, 2), st.floats(1.0, 12.0))
def test_moments_and_quantiles_on_supports_of_all_widths(name, size, wider):
    t = 10.0**size
    width = max(float(stats_top(name, t)), t * 10**wider)
    family, truth = made(name, t, width)
    assert float(family.mean({"t": t})) == pytest.approx(truth.mean(), rel=1e-6, abs=1e-6 * truth.std())
    assert float(family.std({"t": t})) == pytest.approx(truth.std(), rel=2e-4)
    levels = np.concatenate([[1e-6, 1e-3], np.linspace(0.01, 0.99, 37), [1 - 1e-3, 1 - 1e-6]])
    found = family.quantile(levels, {"t": t})
    np.testing.assert_allclose(found, truth.ppf(levels), rtol=1e-7, atol=1e-9 * t)
    assert len(np.unique(family.quantile((np.arange(500) + 0.5) / 500, {"t": t}))) == 500


def stats_top(name, t):
    """Where the shape ends for the purpose of a second moment."""
    return SHAPES[name][1](t).isf(1e-14) if name != "pareto" else 1e7 * t


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["lognormal", "gamma", "weibull", "student"]), st.floats(-1, 1), st.floats(1.02, 3), st.floats(2, 9)
)
def test_the_distance_is_the_area_between_the_distribution_functions(name, size, ratio, wider):
    t = 10.0**size
    family, _ = made(name, t, max(float(stats_top(name, ratio * t)), t * 10**wider))
    found = float(family.w1({"t": t}, {"t": ratio * t}))
    one, two = SHAPES[name][1](t), SHAPES[name][1](ratio * t)
    # independent: E|Q1(U) - Q2(U)| in a variable that spreads both tails; scale families: (ratio - 1) E|X|
    true = (ratio - 1) * (
        t * 2 * integrate.quad(lambda x: x * stats.t(6.0).pdf(x), 0, np.inf)[0] if name == "student" else one.mean()
    )
    assert found == pytest.approx(true, rel=1e-6)
    assert found >= true * (1 - 1e-7), (one.mean(), two.mean())


def test_the_pareto_and_the_lognormal_of_the_wide_supports():
    pareto = sv.Custom(
        parameter="t",
        domain=(0, 9),
        cdf=lambda x, t: np.where(x > t, 1 - (np.maximum(x, t) / t) ** -1.5, 0.0),
        support=(0.0, 1e6),
    )
    # what lies beyond the support counts as its end: E min(X, 1e6) = 3 - 2 / 1000
    assert float(pareto.mean({"t": 1.0})) == pytest.approx(2.998, rel=1e-9)
    with pytest.raises(
        sv.ProblemError, match=r"standard deviation of 'custom' cannot be resolved.*infinite.*hide the mean"
    ):
        pareto.std({"t": 1.0})
    lognormal, truth = made("lognormal", 1.0, 1e5)
    question = sv.Problem(family=lognormal, prior=sv.Box(t=(0.5, 2.0)), secret=sv.Mean(), tolerance=0.1)
    plan = sv.plan(question, max_risk=0.3, method="dynamic", grid=30)
    values = truth.rvs(400, random_state=3)
    released = np.asarray(sv.release(plan, values, seed=1, details=True).table)
    assert len(np.unique(released)) == 400  # 14 with nodes that step over the mass
    assert released.mean() == pytest.approx(values.mean(), abs=plan.distortion + 0.2)


@pytest.mark.parametrize("top", [1e6, 1e9, 1e12, 1e15, 1e17])
@pytest.mark.parametrize("tail", [0.5, 0.9, 1.0])
def test_an_infinite_mean_is_refused_on_every_support(tail, top):
    family = sv.Custom(
        parameter="t",
        domain=(0, 9),
        cdf=lambda x, t: np.where(x > t, 1 - (np.maximum(x, t) / t) ** -tail, 0.0),
        support=(0.0, top),
    )
    with pytest.raises(sv.ProblemError, match=r"mean of 'custom' cannot be resolved.*(Widen support|divide by)"):
        family.mean({"t": 1.0})


def test_an_infinite_mean_of_counts_is_refused():
    zipf = sv.Custom(parameter="s", domain=(1.1, 5), top=1_000_000, pmf=lambda k, s: (k + 1.0) ** -s / special.zeta(s))
    with pytest.raises(sv.ProblemError, match=r"mean of 'custom' cannot be resolved.*Widen top"):
        zipf.mean({"s": 2.0})
    assert float(zipf.mean({"s": 4.0})) == pytest.approx(special.zeta(3.0) / special.zeta(4.0) - 1, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 0.95), st.floats(0.0, 6.0), st.floats(-3, 0))
def test_two_bumps_far_apart(share, far, narrow):
    """Between two levels lies a range as wide as you like on which the distribution function rests."""
    gap, width = 10.0**far, 10.0**narrow

    def cdf(x, t):
        return share * special.ndtr((x - t) / width) + (1 - share) * special.ndtr((x - t - gap) / width)

    family = sv.Custom(parameter="t", domain=(0, 9), cdf=cdf, support=(-1e3, 1e8))
    assert float(family.mean({"t": 1.0})) == pytest.approx(1 + (1 - share) * gap, rel=1e-8)
    assert float(family.std({"t": 1.0})) == pytest.approx(np.sqrt(width**2 + share * (1 - share) * gap**2), rel=1e-6)
    assert float(family.w1({"t": 1.0}, {"t": 2.0})) == pytest.approx(1.0, rel=1e-6)


def test_atoms_and_kinks_are_met():
    """A quarter at 0, a half spread evenly over 1 to 2, a quarter at 3."""

    def cdf(x, t):
        return 0.25 * (x >= 0) + 0.5 * np.clip(x / t - 1, 0, 1) + 0.25 * (x >= 3 * t)

    family = sv.Custom(parameter="t", domain=(0, 9), cdf=cdf, support=(-5.0, 1e4))
    assert float(family.mean({"t": 1.0})) == pytest.approx(1.5, rel=1e-6)
    second = 0.5 * 7 / 3 + 0.25 * 9
    assert float(family.std({"t": 1.0})) == pytest.approx(np.sqrt(second - 1.5**2), rel=1e-6)
    assert family.quantile([0.1, 0.5, 0.6, 0.9], {"t": 1.0}) == pytest.approx([0.0, 1.5, 1.7, 3.0])


def test_a_cdf_that_is_none_is_refused():
    for cdf in (lambda x, t: x / t, lambda x, t: np.sin(x * t), lambda x, t: np.full(np.broadcast(x, t).shape, np.nan)):
        with pytest.raises(sv.ProblemError, match="no distribution"):
            sv.Custom(parameter="t", domain=(0, 9), cdf=cdf, support=(0.0, 100.0)).mean({"t": 1.0})
