"""A million trials for every continuous pair: the reported risk lies in the attacker's 99.9 % interval."""

from __future__ import annotations

import pytest

import statveil as sv

FAMILIES = {
    "gaussian": (sv.Gaussian(), sv.Box(mu=(0, 70), sigma=(1, 26)), 1.0),
    "shifted-exponential": (sv.ShiftedExponential(), sv.Box(scale=(1, 26), shift=(0, 70)), 1.0),
    "uniform": (sv.Uniform(), sv.Box(low=(0, 60), high=(0, 60)), 1.0),
    "exponential": (sv.Exponential(), sv.Box(scale=(1, 41)), 1.0),
}
SECRETS = [sv.Mean(), sv.Std(), sv.Quantile(0.3), sv.Quantile(0.9)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", [{"bin": 5.0}, {"bin": 7.3}, {"max_risk": 0.4}], ids=["divides", "does not", "planned"]
)
@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret.label)
@pytest.mark.parametrize("name", FAMILIES)
def test_risk_lies_in_the_interval_of_a_million_trials(name, secret, target):
    family, prior, tolerance = FAMILIES[name]
    plan = sv.plan(sv.Problem(family=family, prior=prior, secret=secret, tolerance=tolerance), **target)
    rate = sv.simulate(plan, trials=1_000_000, seed=20)
    assert rate.low <= plan.risk <= rate.high
