"""gamma and t0 of the continuous families against high-precision quadrature and minimisation."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.theory.gamma import gamma

mp.mp.dps = 40

ALPHAS = [
    0.001,
    0.01,
    0.1,
    0.25,
    0.4,
    0.49,
    0.499,
    0.4999,
    0.5001,
    0.51,
    0.6,
    0.63,
    0.6321,
    0.64,
    0.75,
    0.9,
    0.99,
    0.999,
]


def _boxed(family, secret):
    ranges = {param.name: (1.0, 2.0) for param in family.params}
    return sv.Problem(family=family, prior=sv.Box(**ranges), secret=secret, tolerance=1.0)


def _least_ratio(mean_abs, rate, around):
    """Minimum over t of E|t + Z| / (2 |t + q|) near a start, by golden-section search in 40 digits."""

    def ratio(t):
        return mean_abs(t) / (2 * abs(rate(t)))

    start = mp.mpf(around)
    width = mp.mpf("0.05") * (1 + abs(start))
    low, high = start - width, start + width
    golden = (mp.sqrt(5) - 1) / 2
    for _ in range(220):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if ratio(left) < ratio(right):
            high = right
        else:
            low = left
    best = (low + high) / 2
    return float(ratio(best)), float(best)


def _gaussian_abs(t):
    # E|t + Z| by quadrature, not by the closed form under test
    def density(z):
        return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)

    return mp.quad(lambda z: abs(t + z) * density(z), [-12, -t, 12] if -12 < -t < 12 else [-12, 12])


@pytest.mark.parametrize("alpha", [0.001, 0.1, 0.4, 0.499, 0.51, 0.6, 0.75, 0.95, 0.999])
def test_gaussian_quantile_against_quadrature(alpha):
    family, secret = sv.Gaussian(), sv.Quantile(alpha)
    q = mp.sqrt(2) * mp.erfinv(2 * mp.mpf(alpha) - 1)
    slope = family.best_slope(secret)
    # the quadrature is checked against itself at the slope; the minimum over t by the closed form in 40 digits
    assert float(_gaussian_abs(mp.mpf(slope))) == pytest.approx(
        float(family.length({"mu": slope, "sigma": 1.0})), abs=1e-12
    )

    def folded(t):
        return mp.sqrt(2 / mp.pi) * mp.exp(-t * t / 2) + t * mp.erf(t / mp.sqrt(2))

    least, at = _least_ratio(folded, lambda t: t + q, slope)
    assert gamma(_boxed(family, secret)) == pytest.approx(least, abs=1e-9)
    assert slope == pytest.approx(at, abs=1e-9)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gaussian_root_equation(alpha):
    slope = sv.Gaussian().best_slope(sv.Quantile(alpha))
    q = mp.sqrt(2) * mp.erfinv(2 * mp.mpf(alpha) - 1)
    t = abs(mp.mpf(slope))
    gap = mp.npdf(t) - abs(q) * (mp.ncdf(t) - mp.mpf("0.5"))
    # the root moves by gap / derivative; both parts of the derivative are negative
    error = gap / (t * mp.npdf(t) + abs(q) * mp.npdf(t))
    assert abs(error) < 1e-9
    assert math.copysign(1, slope) == math.copysign(1, alpha - 0.5)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_shifted_exponential_quantile(alpha):
    family, secret = sv.ShiftedExponential(), sv.Quantile(alpha)
    q = -mp.log(1 - mp.mpf(alpha))
    slope = family.best_slope(secret)
    least, at = _least_ratio(lambda t: t - 1 + 2 * mp.exp(-t) if t > 0 else 1 - t, lambda t: q - t, slope)
    assert gamma(_boxed(family, secret)) == pytest.approx(least, abs=1e-9)
    assert slope == pytest.approx(at, abs=1e-8)  # golden section sees a minimum to the root of its precision


@pytest.mark.parametrize("alpha", [0.0, 0.001, 0.2, 0.499, 0.501, 0.51, 0.6458, 0.7, 0.999, 1.0])
def test_uniform_quantile(alpha):
    family, secret = sv.Uniform(), sv.Quantile(alpha)
    slope = family.best_slope(secret)
    part = slope / (1 + slope)

    def mean_abs(x):  # E|-l + U| over (dlow, dhigh) = (-l, 1 - l)
        return (x * x + (1 - x) ** 2) / 2 if 0 < x < 1 else abs(mp.mpf("0.5") - x)

    least, at = _least_ratio(mean_abs, lambda x: mp.mpf(alpha) - x, part)
    problem = sv.Problem(family=family, prior=sv.Box(low=(0, 1), high=(0, 1)), secret=secret, tolerance=0.1)
    assert gamma(problem) == pytest.approx(least, abs=1e-9)
    assert part == pytest.approx(at, abs=1e-8)


def test_degenerate_points_have_the_means_gamma_and_the_pure_shift():
    for family, alpha in ((sv.Gaussian(), 0.5), (sv.Uniform(), 0.5), (sv.ShiftedExponential(), 1 - math.exp(-1))):
        ranges = {param.name: (1.0, 5.0) for param in family.params}
        problem = sv.Problem(family=family, prior=sv.Box(**ranges), secret=sv.Quantile(alpha), tolerance=0.1)
        assert gamma(problem) == pytest.approx(0.5, abs=1e-9)
        plan = sv.plan(problem, bin=0.5)
        assert plan.slope is None
        assert plan.mode == "shift"
        assert plan.distortion == pytest.approx(0.25, rel=1e-9)


@pytest.mark.parametrize("gap", [1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("sign", [-1, 1])
def test_close_to_a_degenerate_point_gamma_is_continuous_and_the_shift_wins_on_a_finite_box(gap, sign):
    for family, alpha in ((sv.Gaussian(), 0.5), (sv.ShiftedExponential(), 1 - math.exp(-1))):
        ranges = {param.name: (1.0, 51.0) for param in family.params}
        problem = sv.Problem(
            family=family, prior=sv.Box(**ranges), secret=sv.Quantile(alpha + sign * gap), tolerance=1.0
        )
        assert 0.5 - 2 * gap**0.5 <= gamma(problem) <= 0.5 + 1e-12
        assert sv.plan(problem, max_risk=0.2).distortion <= 5.0 * (1 + 1e-9)  # the pure shift's


def test_known_closed_forms():
    box = {"gaussian": sv.Gaussian(), "uniform": sv.Uniform(), "shifted-exponential": sv.ShiftedExponential()}
    assert gamma(_boxed(box["gaussian"], sv.Std())) == pytest.approx(1 / math.sqrt(2 * math.pi), abs=1e-15)
    assert gamma(_boxed(box["uniform"], sv.Std())) == pytest.approx(math.sqrt(3) / 4, abs=1e-15)
    assert gamma(_boxed(box["shifted-exponential"], sv.Std())) == pytest.approx(math.log(2) / 2, abs=1e-15)
    assert gamma(_boxed(sv.Exponential(), sv.Std())) == 0.5
    assert gamma(_boxed(sv.Exponential(), sv.Quantile(0.95))) == pytest.approx(1 / (2 * math.log(20)), rel=1e-12)
    for family in box.values():
        assert gamma(_boxed(family, sv.Mean())) == 0.5


def test_a_known_parameter_closes_directions():
    free = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(0, 9), sigma=(1, 5)), secret=sv.Quantile(0.9), tolerance=1.0
    )
    tied = sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=3, sigma=(1, 5)), secret=sv.Quantile(0.9), tolerance=1.0)
    q = float(mp.sqrt(2) * mp.erfinv(mp.mpf("0.8")))
    assert gamma(tied) == pytest.approx(math.sqrt(2 / math.pi) / (2 * q), rel=1e-12)
    assert gamma(tied) > gamma(free)


@given(
    st.sampled_from(["gaussian", "uniform", "shifted-exponential"]),
    st.floats(0.001, 0.999),
    st.floats(-50, 50),
    st.floats(-50, 50),
)
def test_no_direction_beats_gamma(name, alpha, first, second):
    family = {"gaussian": sv.Gaussian(), "uniform": sv.Uniform(), "shifted-exponential": sv.ShiftedExponential()}[name]
    secret = sv.Quantile(alpha)
    change = {param.name: value for param, value in zip(family.params, (first, second), strict=True)}
    rate = abs(sum(family.coefficients(secret)[n] * c for n, c in change.items()))
    if rate > 1e-6:
        assert float(family.length(change)) / (2 * rate) >= family.closed_gamma(secret) * (1 - 1e-9)


def test_lengths_are_means_of_absolute_values():
    rng = np.random.default_rng(4)
    for family, draw in (
        (sv.Gaussian(), rng.standard_normal(400_000)),
        (sv.Uniform(), rng.random(400_000)),
        (sv.ShiftedExponential(), rng.standard_exponential(400_000)),
    ):
        for a, b in ((1.0, 0.5), (-1.0, 2.0), (0.3, -1.0), (0.0, 1.0), (1.0, 0.0)):
            values = np.abs(a + b * draw)
            error = 6 * values.std() / math.sqrt(len(draw)) + 1e-12
            assert abs(float(family.z_distance(a, b)) - values.mean()) <= error
