"""A function of the parameter, as a secret of a column: recorded, moved and released as g(parameter), not as a mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import statveil as sv
from statveil.tables.blocks import blocks_of
from statveil.tables.estimate import anchor_of, own_statistic
from statveil.tables.measure import measure

Q95 = -math.log(0.05)


def _problem(family, axis, function, eps):
    (param,) = family.params
    return sv.Problem(family=family, prior=sv.Box(**{param.name: axis}), secret=sv.Function(function), tolerance=eps)


def weibull(shape=1.5):
    return sv.Custom(
        parameter="scale",
        domain=(0, 1000),
        cdf=lambda x, scale: -np.expm1(-((np.maximum(x, 0) / scale) ** shape)),
        support=(0.0, 2000.0),
    )


# name: problem, a column under it, g written out, and the parameter as a function of the mean, also written out
CASES = {
    "square of an exponential's scale": (
        _problem(sv.Exponential(), (2.0, 10.0), lambda t: t * t, 1.0),
        lambda rng: rng.exponential(5.0, 3000),
        lambda mean: mean**2,
    ),
    "an exponential's 0.95-quantile": (
        _problem(sv.Exponential(), (20.0, 110.0), lambda t: Q95 * t, 2.0),
        lambda rng: rng.exponential(68.0, 3000),
        lambda mean: Q95 * mean,
    ),
    "falling with the location": (
        _problem(sv.Location(), (2.0, 10.0), lambda t: 100.0 / t, 0.5),
        lambda rng: rng.normal(5.0, 1.0, 3000),
        lambda mean: 100.0 / mean,
    ),
    "square of a rate": (
        _problem(sv.Poisson(), (1.0, 10.0), lambda t: t * t, 1.0),
        lambda rng: rng.poisson(5.0, 3000).astype(float),
        lambda mean: mean**2,
    ),
    "a Weibull's 0.95-quantile": (
        _problem(weibull(), (20.0, 200.0), lambda t: t * Q95 ** (1 / 1.5), 5.0),
        lambda rng: 80.0 * rng.weibull(1.5, 3000),
        lambda mean: mean / math.gamma(1 + 1 / 1.5) * Q95 ** (1 / 1.5),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_columns_own_value_is_g_at_the_parameter_of_its_mean(name):
    problem, column, g = CASES[name]
    values = column(np.random.default_rng(7))
    measured = measure(blocks_of(values))
    assert own_statistic(problem, measured) == pytest.approx(g(float(values.mean())), rel=1e-6)
    parameter = {problem.box.free[0]: 0.5 * sum(problem.box.axes[problem.box.free[0]].core)}
    assert anchor_of(problem, parameter) == float(problem.family.mean(parameter))


@pytest.mark.parametrize(
    ("name", "method"),
    # every function, and every method for two of them: a release knows the mechanism, not what it was designed for
    [(name, "dynamic") for name in CASES]
    + [(name, method) for name in list(CASES)[:2] for method in ("greedy", "comb", "layered")],
)
@pytest.mark.heavy(2)
def test_the_record_says_g_and_the_released_column_has_the_released_g(name, method):
    problem, column, g = CASES[name]
    plan = sv.plan(problem, max_risk=0.2, method=method, grid=60)
    values = column(np.random.default_rng(7))
    found = sv.release(plan, values, details=True, seed=3)
    estimates, released = found.record["estimates"], found.record["released"]
    assert estimates["secret"] == pytest.approx(g(float(values.mean())), rel=1e-6)
    (theta,) = released["parameters"].values()
    assert released["secret"] == float(problem.secret.function(np.float64(theta)))
    # quantiles of a model at the middles of n equal shares have its mean up to about 1/n of a spread
    # a scaled column keeps seven digits, and one that is moved those above 2^-20 of the prior's range
    slack = {"shift": 1e-4, "scale": 1e-6}.get(plan.mode, 5e-3)
    assert g(float(np.mean(found.table))) == pytest.approx(released["secret"], rel=slack)
    # and it moved: nobody releases the original under another name
    assert abs(float(np.mean(found.table)) - float(values.mean())) > 1e-6


def test_a_column_outside_the_prior_is_refused_without_its_value():
    problem, _, _ = CASES["square of an exponential's scale"]
    plan = sv.plan(problem, max_risk=0.2, method="dynamic", grid=120)
    for scale, side in ((0.5, "below"), (40.0, "above")):
        values = stats.expon(scale=scale).rvs(500, random_state=1)
        with pytest.raises(sv.ColumnError, match=f"mean lies {side} what the stated prior allows") as refusal:
            sv.release(plan, values)
        assert f"{values.mean():.3g}" not in str(refusal.value)


def test_equal_bins_of_a_secret_that_is_not_linear_are_refused_by_name():
    problem, _, _ = CASES["square of an exponential's scale"]
    with pytest.raises(sv.ProblemError, match=r"not a linear form of the parameters of 'exponential'.*'dynamic'"):
        sv.plan(problem, max_risk=0.2, method="interval")
