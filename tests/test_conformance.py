"""The public conformance suite passes every registered family and catches broken ones."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.problem.families.gaussian import Gaussian
from statveil.problem.families.poisson import Poisson
from statveil.problem.family import FAMILIES
from statveil.testing import ConformanceError, check_family, family_checks, registered_families, typical_secrets

CHECKS = [(family, name, check) for family in registered_families() for name, check in family_checks(family)]


@pytest.mark.parametrize(("family", "name", "check"), CHECKS, ids=[f"{f.name}-{n}" for f, n, _ in CHECKS])
def test_every_registered_family_passes(family, name, check):
    assert family.name in FAMILIES
    check()  # raises ConformanceError where two ways to the same number differ


def test_every_pair_of_the_papers_table_is_registered():
    pairs = {(family.name, kind) for family in registered_families() for kind in family.secrets}
    continuous = {"gaussian", "uniform", "exponential", "shifted-exponential"}
    ordinal = {"geometric", "binomial", "poisson"}
    assert {(f, s) for f in continuous for s in ("mean", "std", "quantile")} <= pairs
    assert {(f, s) for f in ordinal for s in ("mean", "std", "fraction")} <= pairs
    assert {("location", "mean"), ("categorical", "fraction")} <= pairs
    assert not {(f, "quantile") for f in ordinal | {"categorical"}} & pairs
    assert all(typical_secrets(family) for family in registered_families())


@pytest.fixture
def scratch_registry():
    before = dict(FAMILIES)
    yield
    FAMILIES.clear()
    FAMILIES.update(before)


def _broken(base, **changes):
    return type("Broken", (base,), {"name": "broken", **changes})()


@pytest.mark.usefixtures("scratch_registry")
@pytest.mark.parametrize(
    ("base", "changes", "complaint"),
    [
        (Gaussian, {"z_std": property(lambda self: 1.1)}, "standard deviation"),
        (Gaussian, {"z_mean": property(lambda self: 0.2)}, "mean"),
        (Gaussian, {"z_sample": lambda self, n, rng: rng.standard_normal(n) * 1.1}, "sample"),
        (Gaussian, {"z_distance": lambda self, a, b: np.hypot(a, b)}, "w1"),
        (Gaussian, {"z_quantile": lambda self, a: np.asarray(a) * 1.0}, "cdf"),
        (Gaussian, {"closed_gamma": lambda self, secret: 0.6}, "gamma"),
        (Gaussian, {"closed_gamma": lambda self, secret: 0.1}, "gamma"),
        (Gaussian, {"slope_of": lambda self, d: -1.0}, "slope"),
        (Gaussian, {"settings": lambda self: {"secret_option": 1}}, "settings"),
        (Poisson, {"std_at": lambda self, t: t}, "standard deviation"),
        (Poisson, {"cdf_at": lambda self, k, t: np.clip(k / 100, 0, 1)}, "w1|cdf"),
        (Poisson, {"mean_slope": lambda self, t: 2 * np.ones_like(np.asarray(t, dtype=float))}, "slope"),
        (Poisson, {"w1": lambda self, a, b: np.abs(self.theta(a) - self.theta(b)) * 1.01}, "w1"),
    ],
)
def test_a_deliberately_broken_family_fails(base, changes, complaint):
    family = _broken(base, **changes)
    with pytest.raises(ConformanceError, match=complaint):
        check_family(family)


@pytest.mark.usefixtures("scratch_registry")
def test_a_faithful_third_party_family_passes():
    class Shifted(Gaussian):
        name = "my-gaussian"

    check_family(Shifted())
    assert FAMILIES["my-gaussian"] is Shifted
