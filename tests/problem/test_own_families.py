"""Two-parameter families without closed forms, and secrets that nobody has heard of: plans, or a refusal by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import statveil as sv
from statveil.problem.domain import Param
from statveil.problem.family import FAMILIES
from statveil.problem.location_scale import LocationScale
from statveil.problem.secret import SECRETS, Secret
from statveil.testing import ConformanceError, check_family, check_secret

pytestmark = pytest.mark.usefixtures("no_optimum")


@pytest.fixture(autouse=True)
def _scratch_registries():
    before = dict(FAMILIES), dict(SECRETS)
    yield
    for registry, old in zip((FAMILIES, SECRETS), before, strict=True):
        registry.clear()
        registry.update(old)


def two_parameters(kind: str, shape, mean: float, spread: float):
    """loc + scale Z for a standard Z of scipy.stats, with nothing but what the base class asks for."""

    class Made(LocationScale):
        name = kind
        doc = kind
        secrets = ("mean", "std", "quantile")
        coordinates: ClassVar = {"scale": {"scale": 1.0}, "loc": {"loc": 1.0}}
        location = "loc"
        shift: ClassVar = {"loc": 1.0}
        loc_form: ClassVar = {"loc": 1.0}
        scale_form: ClassVar = {"scale": 1.0}
        z_mean = mean
        z_std = spread

        @property
        def params(self):
            return (
                Param(name="loc", typical=(-10.0, 10.0), doc="where it is"),
                Param(name="scale", low=0.0, typical=(0.5, 10.0), doc="how wide it is"),
            )

        def z_quantile(self, alpha):
            return np.asarray(shape.ppf(alpha))

        def z_cdf(self, z):
            return np.asarray(shape.cdf(z))

        def z_sample(self, size, rng):
            return shape.ppf(rng.random(size))

        def z_distance(self, a, b):
            """E|a + bZ| = |b| (m - x + 2 (x F(x) - H(x))), x = -a/b; H by the integral of F, F by scipy."""
            a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
            with np.errstate(all="ignore"):
                x = np.clip(-a / b, -1e12, 1e12)
                far = np.abs(a) > 1e6 * np.abs(b)
                folded = np.abs(b) * (excess(x) - (mean - x) + excess(x))
            return np.where(far | (b == 0), np.abs(a + b * mean), folded)

    def excess(x):  # E(Z - x)+, written out for the shapes used here
        return EXCESS[kind](x)

    return Made


EXCESS = {
    "my-logistic": lambda x: np.logaddexp(0.0, -x),
    "my-laplace": lambda x: np.where(x < 0, -x + 0.5 * np.exp(np.minimum(x, 0)), 0.5 * np.exp(-np.maximum(x, 0))),
}
LOGISTIC = lambda: two_parameters("my-logistic", stats.logistic, 0.0, math.pi / math.sqrt(3))()  # noqa: E731
LAPLACE = lambda: two_parameters("my-laplace", stats.laplace, 0.0, math.sqrt(2))()  # noqa: E731


@dataclass(frozen=True, slots=True)
class Mad(Secret):
    """Mean absolute deviation about the median, with a linear form."""

    kind: ClassVar[str] = "mad"
    doc: ClassVar[str] = "mean absolute deviation"

    def _on_z(self, family) -> float:
        middle = float(family.z_quantile(0.5))
        return float(family.z_distance(-middle, 1.0))

    def of(self, family, params: Mapping[str, object]):
        return family.scale(params) * self._on_z(family)

    def linear(self, family) -> tuple[float, float]:
        return 0.0, self._on_z(family)


@dataclass(frozen=True, slots=True)
class Middle(Secret):
    """Midpoint of the 0.2- and the 0.9-quantile: moves and stretches with the column."""

    kind: ClassVar[str] = "middle"
    doc: ClassVar[str] = "midpoint of two quantiles"

    def of(self, family, params: Mapping[str, object]):
        return 0.5 * (family.quantile(0.2, params) + family.quantile(0.9, params))

    def linear(self, family) -> tuple[float, float]:
        return 1.0, 0.5 * float(family.z_quantile(0.2) + family.z_quantile(0.9))


@dataclass(frozen=True, slots=True)
class Silent(Secret):
    """A secret that does not say how it depends on loc and scale."""

    kind: ClassVar[str] = "silent"
    doc: ClassVar[str] = "a range of quantiles"

    def of(self, family, params: Mapping[str, object]):
        return family.quantile(0.75, params) - family.quantile(0.25, params)


def question(family, secret, eps=0.2, **prior):
    prior = prior or {"loc": (0.0, 20.0), "scale": (1.0, 6.0)}
    return sv.Problem(family=family, prior=sv.Box(**prior), secret=secret, tolerance=eps)


# --- gamma without a closed form, against the root equation of the Lorenz curve ------------------------------------
def lorenz_gamma(shape, c: float, mean: float) -> float:
    """|u0 - 1/2| with L(u0) - m/2 = c (u0 - 1/2), L(u) = int_0^u Q, by quadrature and bisection alone."""

    def excess(u: float) -> float:
        lorenz = integrate.quad(shape.ppf, 0, u, limit=200)[0]
        return lorenz - mean / 2 - c * (u - 0.5)

    low, high = (1e-9, 0.5) if c > mean else (0.5, 1 - 1e-9)
    falling = excess(low) > 0
    for _ in range(32):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (excess(middle) > 0) == falling else (low, middle)
    return abs(0.5 * (low + high) - 0.5)


@pytest.mark.parametrize(
    ("make", "secret", "gamma"),
    [
        (LAPLACE, sv.Std(), 0.353553),
        (LAPLACE, sv.Quantile(0.1), 0.259017),
        (LAPLACE, sv.Quantile(0.95), 0.197412),
        (LAPLACE, sv.Quantile(0.99), 0.123542),
        (LOGISTIC, sv.Std(), 0.382152),
        (LOGISTIC, sv.Quantile(0.9), 0.253941),
        (LOGISTIC, sv.Quantile(0.99), 0.141952),
        (LOGISTIC, sv.Quantile(0.5), 0.5),
        (LOGISTIC, sv.Mean(), 0.5),
    ],
    ids=lambda x: getattr(x, "label", None),
)
def test_gamma_of_families_that_state_none(make, secret, gamma):
    asked = question(make(), secret)
    found = sv.limits(asked, max_risk=0.2).gamma
    assert found == pytest.approx(gamma, abs=6e-7)
    assert math.isfinite(sv.plan(asked, max_risk=0.3).gamma)


@settings(max_examples=6, deadline=None)
@given(st.floats(0.02, 0.98).filter(lambda a: abs(a - 0.5) > 0.02))
def test_gamma_by_search_is_that_of_the_lorenz_curve_and_never_above(alpha):
    found = sv.limits(question(LOGISTIC(), sv.Quantile(alpha)), max_risk=0.2).gamma
    true = lorenz_gamma(stats.logistic, float(stats.logistic.ppf(alpha)), 0.0)
    assert found <= true * (1 + 1e-7)
    assert found >= true * (1 - 1e-5)


@pytest.mark.parametrize("make", [LOGISTIC, LAPLACE], ids=["logistic", "laplace"])
@pytest.mark.parametrize("secret", [sv.Std(), sv.Quantile(0.9), Mad(), Middle()], ids=lambda s: s.label)
@pytest.mark.heavy(2)
def test_a_family_without_closed_forms_plans_and_its_risk_is_what_an_attacker_reaches(make, secret):
    asked = question(make(), secret)
    for target in ({"max_risk": 0.3}, {"max_distortion": 1.5}, {"bin": 2.0}):
        plan = sv.plan(asked, **target)
        assert all(math.isfinite(x) for x in (plan.risk, plan.distortion, plan.gamma, plan.lower_bound))
        assert plan.distortion >= plan.lower_bound * (1 - 1e-9)
        found = sv.simulate(plan, trials=20_000, seed=1)
        assert found.low <= plan.risk
        assert plan.risk <= found.high + 0.02
    check_secret(make(), secret)


def test_the_conformance_suite_passes_a_family_without_closed_forms():
    check_family(LAPLACE())


# --- secrets that the built-in families have not heard of -----------------------------------------------------------
@pytest.mark.parametrize(
    ("family", "prior"),
    [
        (sv.Gaussian(), {"mu": (0.0, 20.0), "sigma": (1.0, 6.0)}),
        (sv.Uniform(), {"low": (0.0, 20.0), "high": (0.0, 20.0)}),
        (sv.ShiftedExponential(), {"scale": (1.0, 6.0), "shift": (0.0, 20.0)}),
        (sv.Exponential(), {"scale": (1.0, 20.0)}),
        (sv.Gaussian(), {"mu": (0.0, 20.0), "sigma": 2.0}),
    ],
    ids=lambda x: getattr(x, "name", None),
)
@pytest.mark.parametrize("secret", [Mad(), Middle()], ids=lambda s: s.label)
def test_a_new_linear_secret_works_with_every_built_in_family(family, prior, secret):
    if secret.kind == "mad" and not isinstance(prior.get("sigma", (1,)), tuple):
        with pytest.raises(sv.ProblemError, match=r"'mad' is the same for every parameter.*sigma"):
            question(family, secret, **prior)
        return
    plan = sv.plan(question(family, secret, **prior), bin=5)  # gave gamma = lower_bound = nan
    assert math.isfinite(plan.gamma)
    assert math.isfinite(plan.lower_bound)
    plan = sv.plan(question(family, secret, **prior), max_risk=0.4)
    found = sv.simulate(plan, trials=20_000, seed=1)
    assert found.low <= plan.risk <= found.high + 0.02
    with pytest.raises(sv.ColumnError, match=f"not measured for the secret '{secret.label}'.*mean.*quantile.*std"):
        sv.release(plan, np.random.default_rng(1).exponential(5.0, 300) + 8.0)


def test_a_standard_deviation_under_another_name_has_its_gamma():
    """For a Gaussian the mean absolute deviation is sqrt(2/pi) sigma, so gamma is sqrt(pi/2) times that of the std."""
    prior = {"mu": (0.0, 20.0), "sigma": (1.0, 6.0)}
    gammas = [sv.limits(question(sv.Gaussian(), s, **prior), max_risk=0.3).gamma for s in (Mad(), sv.Std())]
    assert gammas[0] == pytest.approx(gammas[1] * math.sqrt(math.pi / 2), rel=1e-6)
    assert gammas[0] == pytest.approx(0.5, rel=1e-6)


def test_a_secret_that_is_not_linear_is_refused_by_name_and_by_the_suite():
    prior = {"mu": (0.0, 20.0), "sigma": (1.0, 6.0)}
    with pytest.raises(sv.ProblemError, match="'silent'"):
        question(sv.Gaussian(), Silent(), **prior)

    class Open(type(sv.Gaussian())):
        name = "open-gaussian"
        secrets = ("mean", "std", "quantile", "silent")

    with pytest.raises(sv.ProblemError, match="'silent' is not a linear form"):
        question(Open(), Silent(), **prior)
    with pytest.raises(ConformanceError, match="'silent' is not a linear form"):
        check_secret(Open(), Silent())


def test_the_suite_catches_a_wrong_linear_form():
    @dataclass(frozen=True, slots=True)
    class Wrong(Mad):
        kind: ClassVar[str] = "wrong-mad"

        def linear(self, family) -> tuple[float, float]:
            return 0.0, 1.0

    with pytest.raises(ConformanceError, match="linear form and values of wrong-mad"):
        check_secret(sv.Gaussian(), Wrong())


def test_the_suite_makes_a_plan():
    class Endless(type(LAPLACE())):
        """A distance that is not finite where loc and scale move against each other."""

        name = "endless"

        def z_distance(self, a, b):
            found = super().z_distance(a, b)
            return np.where(np.asarray(a) * np.asarray(b) < 0, np.inf, found)

    with pytest.raises(ConformanceError, match="no plan can be made for"):
        check_secret(Endless(), sv.Quantile(0.9))
