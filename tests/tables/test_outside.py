"""A column outside the prior: the refusal names the statistic that was measured, its side, and never a value."""

import re

import numpy as np
import pytest

import statveil as sv
from statveil.tables.outside import implied_by


def problem_of(family, secret, tolerance, **axes):
    return sv.Problem(family=family, prior=sv.Box(axes), secret=secret, tolerance=tolerance)


RNG = np.random.default_rng(3)
LEFT = 100 - RNG.exponential(20, 5000)  # mean 80, 0.95-quantile 99, std 20: a normal column with both has mu 66
RIGHT = 1 + RNG.exponential(20, 5000)
COUNTS = RNG.geometric(0.5, 5000) - 1
CASES = {
    "a mean": (problem_of(sv.Location(), sv.Mean(), 1, mean=(100, 200)), LEFT, "its mean lies below", "'mean'"),
    "a mean of two": (
        problem_of(sv.Gaussian(), sv.Mean(), 1, mu=(0, 50), sigma=(1, 51)),
        LEFT,
        "its mean lies above",
        "",
    ),
    "a spread": (
        problem_of(sv.Gaussian(), sv.Quantile(0.95), 1, mu=(0, 200), sigma=(30, 51)),
        LEFT,
        "its std implies a 'sigma' below",
        "",
    ),
    "a quantile, the mean inside": (
        problem_of(sv.Gaussian(), sv.Quantile(0.95), 1, mu=(75, 200), sigma=(1, 51)),
        LEFT,
        "its quantile:0.95 and its std together imply a 'mu' below the prior's range",
        "What the plan hides is the quantile:0.95",
    ),
    "one parameter": (
        problem_of(sv.Exponential(), sv.Quantile(0.95), 1, scale=(50, 90)),
        RIGHT,
        "its quantile:0.95 implies a 'scale' below",
        "",
    ),
    "a falling parameter": (
        problem_of(sv.Geometric(), sv.Mean(), 0.05, p=(0.6, 0.9)),
        COUNTS,
        "its mean implies a 'p' below",
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_statistic_is_named_and_no_value(name):
    asked, column, words, more = CASES[name]
    plan = sv.plan(asked, max_risk=0.3)
    with pytest.raises(sv.ColumnError, match=re.escape(words)) as error:
        sv.release(plan, column, seed=1)
    text = str(error.value)
    assert more in text
    assert "state a prior from public knowledge alone" in text
    assert set(re.findall(r"\d[\d.]*", text)) <= {"0.95"}  # the alpha that the user stated


def test_the_column_whose_mean_is_inside_really_is():
    assert 75 < LEFT.mean() < 200  # so "'mu' lies below the prior's range" said the wrong thing


@pytest.mark.parametrize("secret", [sv.Mean(), sv.Std(), sv.Quantile(0.2), sv.Quantile(0.5)])
@pytest.mark.parametrize("family", [sv.Gaussian(), sv.Uniform(), sv.ShiftedExponential()])
def test_the_named_statistics_are_those_that_move_the_parameter(family, secret):
    """Against the estimate itself: a statistic is named exactly where changing it changes the parameter."""
    from statveil.tables.estimate import estimate
    from statveil.tables.measure import Measured

    ranges = {"mu": (0, 100), "sigma": (1, 50), "low": (0, 50), "high": (60, 100), "scale": (1, 50), "shift": (0, 100)}
    asked = sv.Problem(
        family=family, prior=sv.Box({p.name: ranges[p.name] for p in family.params}), secret=secret, tolerance=1
    )
    other = "mean" if secret.kind == "std" else "std"

    def at(statistic, mean, std):
        fields = dict.fromkeys(Measured.__dataclass_fields__, 0) | {"rows": 100, "mean": mean, "std": std}
        return estimate(asked, Measured(**fields), statistic)

    start, by_secret = at(40.0, 30.0, 10.0), at(41.0, 30.0, 10.0)
    by_other = at(40.0, 31.0, 11.0)
    for param in family.params:
        moves = {secret.label: by_secret, other: by_other}
        expected = {label for label, moved in moves.items() if abs(moved[param.name] - start[param.name]) > 1e-9}
        assert set(implied_by(asked, param.name)) == expected
