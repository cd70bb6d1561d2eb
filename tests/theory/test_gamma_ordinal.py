"""gamma of the count families, against brute force that shares no code with it."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, special, stats

from statveil.errors import ProblemError
from statveil.problem.families.binomial import Binomial
from statveil.problem.families.geometric import Geometric
from statveil.problem.families.negative_binomial import NegativeBinomial
from statveil.problem.families.poisson import Poisson
from statveil.problem.ordinal import Ordinal
from statveil.problem.secret import Secret
from statveil.problem.secrets.fraction import Fraction
from statveil.problem.secrets.mean import Mean
from statveil.problem.secrets.quantile import Quantile
from statveil.problem.secrets.std import Std
from statveil.theory import gamma_ordinal
from statveil.theory.gamma_ordinal import ordinal_gamma
from tests.scipy_counts import reference

Array = NDArray[np.float64]


def value(family: Ordinal, secret: Secret, theta: Any) -> Any:
    same = reference(family, theta)
    if isinstance(secret, Fraction):
        return same.pmf(int(secret.category))
    return same.mean() if secret.kind == "mean" else same.std()


def brute_ratio(family: Ordinal, secret: Secret, a: Any, b: Any, top: int) -> Any:
    """TV by summing shares, over twice the change of the secret: no crossing, no closed form."""
    k = np.arange(top + 1.0)[:, None]
    gap = 0.5 * np.abs(reference(family, np.atleast_1d(a)).pmf(k) - reference(family, np.atleast_1d(b)).pmf(k)).sum(0)
    with np.errstate(divide="ignore"):
        return gap / (2 * np.abs(value(family, secret, np.atleast_1d(a)) - value(family, secret, np.atleast_1d(b))))


def brute_gamma(family: Ordinal, secret: Secret, low: float, high: float, top: int) -> float:
    """Least ratio of a fine grid of pairs, its best places refined, pairs not so close that they cancel."""
    apart = 1e-5 * (high - low)

    def cost(x: Array) -> float:
        a, b = min(x.min(), high - apart), x.max()  # no pair leaves the range
        return float(brute_ratio(family, secret, a, max(b, a + apart), top)[0])

    grid = np.linspace(low, high, 181)
    a, b = (x[np.triu_indices(181)] for x in np.meshgrid(grid, grid, indexing="ij"))
    a = np.minimum(a, high - apart)
    ratio = brute_ratio(family, secret, a, np.maximum(b, a + apart), top)
    starts = np.argsort(ratio)[:40:16]
    best, step = float(ratio.min()), 0.5 * (grid[1] - grid[0])
    for i in starts:
        simplex = [[a[i], b[i]], [a[i] + step, b[i]], [a[i], b[i] - step]]
        found = optimize.minimize(
            cost,
            simplex[0],
            method="Nelder-Mead",
            bounds=[(low, high)] * 2,
            options={"xatol": 1e-11, "fatol": 1e-14, "initial_simplex": simplex},
        )
        best = min(best, float(found.fun))
    return best


# --- total variation ------------------------------------------------------------------------------


def test_diagonal_case_is_the_limit_of_close_pairs() -> None:
    # theory, section 6: 1/2 k (1-t)^(k-1) t^2 at t = .1 with k = floor(1/t) = 10
    exact = mpmath.mpf("0.5") * 10 * mpmath.mpf("0.9") ** 9 * mpmath.mpf("0.1") ** 2
    found = ordinal_gamma(Geometric(), Mean(), 0.1, 0.9, "tv")
    assert found == pytest.approx(0.0193710245, abs=1e-10)
    assert found < float(exact)
    assert found == pytest.approx(float(exact), rel=2e-9)


def test_corner_case_is_the_pair_of_both_ends() -> None:
    found = ordinal_gamma(Poisson(), Mean(), 1, 10, "tv")
    assert found == pytest.approx(0.0539264, abs=1e-7)
    assert found == pytest.approx(float(brute_ratio(Poisson(), Mean(), 1.0, 10.0, 80)[0]), rel=2e-9)


def test_case_that_is_neither_diagonal_nor_corner() -> None:
    found = ordinal_gamma(Poisson(), Std(), 4, 6, "tv")
    assert found == pytest.approx(0.3816498, abs=1e-7)
    corner = float(brute_ratio(Poisson(), Std(), 4.0, 6.0, 80)[0])
    diagonal = min(stats.poisson.pmf(np.floor(t), t) * math.sqrt(t) for t in np.linspace(4, 6, 2001))
    assert found < min(corner, diagonal) * (1 - 1e-4)


def test_a_grid_overstates() -> None:
    # the reason for the proof: 9 points of the parameter miss the diagonal by more than a third
    grid = np.linspace(0.1, 0.9, 9)
    a, b = (x[np.triu_indices(9, 1)] for x in np.meshgrid(grid, grid, indexing="ij"))
    coarse = float(brute_ratio(Geometric(), Mean(), a, b, 400).min())
    assert coarse / ordinal_gamma(Geometric(), Mean(), 0.1, 0.9, "tv") == pytest.approx(1.39, abs=0.01)


@pytest.mark.parametrize(
    ("family", "secret", "low", "high", "top"),
    [
        (Geometric(), Std(), 0.3, 0.8, 120),
        pytest.param(Geometric(), Fraction(2), 0.15, 0.7, 250, marks=pytest.mark.slow),
        (Binomial(trials=3), Mean(), 0.2, 0.34, 3),
        (Binomial(trials=5), Std(), 0.1, 0.7, 5),
        (Binomial(trials=6), Fraction(3), 0.1, 0.9, 6),
        (Poisson(), Std(), 0.5, 3.0, 40),
        pytest.param(Poisson(), Fraction(2), 0.5, 6.0, 50, marks=pytest.mark.slow),
        (NegativeBinomial(size=2.5), Mean(), 0.5, 4.0, 150),
        (NegativeBinomial(size=2.5), Std(), 0.5, 3.0, 120),
        (NegativeBinomial(size=0.4), Fraction(2), 0.5, 9.0, 700),
    ],
    ids=str,
)
@pytest.mark.heavy(2)
def test_gamma_is_what_a_global_search_finds(
    family: Ordinal, secret: Secret, low: float, high: float, top: int
) -> None:
    found = ordinal_gamma(family, secret, low, high, "tv")
    brute = brute_gamma(family, secret, low, high, top)
    assert found <= brute
    assert found == pytest.approx(brute, rel=2e-4)  # the search keeps pairs apart, the infimum does not


def test_two_trials_have_a_whole_line_of_minima() -> None:
    # F_0(a) - F_0(b) = (b - a)(2 - a - b), so every pair with a + b = 1 has the ratio 1/4, the diagonal too
    assert ordinal_gamma(Binomial(trials=2), Mean(), 0.1, 0.9, "tv") == pytest.approx(0.25, rel=2e-9)


@pytest.mark.parametrize("family", [Geometric(), Binomial(trials=7), Poisson()], ids=repr)
def test_share_of_zeros_is_a_distance_itself(family: Ordinal) -> None:
    # where the shares cross below 1, TV is the change of the share of zeros: gamma = 1/2
    low, high = (0.7, 0.9) if isinstance(family, Geometric) else (0.01, 0.12)
    assert ordinal_gamma(family, Fraction(0), low, high, "tv") == pytest.approx(0.5, rel=2e-9)


def some_family(draw: Any) -> tuple[Ordinal, float, float]:
    kind = draw(st.sampled_from(["geometric", "binomial", "poisson", "negative binomial"]))
    if kind in ("poisson", "negative binomial"):
        low = draw(st.floats(0.05, 12))
        family = Poisson() if kind == "poisson" else NegativeBinomial(size=draw(st.floats(0.3, 30)))
        return family, low, low + draw(st.floats(0.05, 12))
    low = draw(st.floats(0.05, 0.85))
    high = low + draw(st.floats(0.02, 0.95 - 0.85)) + draw(st.floats(0, 1)) * (0.85 - low)
    return (Geometric() if kind == "geometric" else Binomial(trials=draw(st.integers(1, 25)))), low, high


@st.composite
def problems(draw: Any) -> tuple[Ordinal, Secret, float, float]:
    family, low, high = some_family(draw)
    secrets = [Mean(), Std(), Fraction(draw(st.integers(0, int(min(6, family.last_count)))))]
    return family, draw(st.sampled_from(secrets)), low, high


@settings(max_examples=12, deadline=None)
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_no_pair_of_members_lies_below_gamma(problem: tuple[Ordinal, Secret, float, float], seed: int) -> None:
    family, secret, low, high = problem
    rng = np.random.default_rng(seed)
    ends = rng.choice([0.0, 1.0, np.nan], size=(2, 400), p=[0.15, 0.15, 0.7])
    part = np.where(np.isnan(ends), rng.random((2, 400)), ends)
    part[1] = np.where(rng.random(400) < 0.3, part[0] + 0.02 * rng.standard_normal(400), part[1])
    a, b = low + (high - low) * np.clip(part, 0, 1)
    a, b = a[np.abs(a - b) > 1e-3 * (high - low)], b[np.abs(a - b) > 1e-3 * (high - low)]
    top = {"geometric": 800, "poisson": 120, "negative-binomial": 3_000}.get(
        family.name, int(min(family.last_count, 99))
    )
    found = ordinal_gamma(family, secret, low, high, "tv")
    change = np.abs(value(family, secret, a) - value(family, secret, b))
    moved = change > 1e-9 * change.max()  # the rest is rounding error of the secret
    ratio = brute_ratio(family, secret, a[moved], b[moved], top)
    assert ratio.min() >= found * (1 - 1e-10)
    means = 0.5 * np.abs(family.mean(family.at(a)) - family.mean(family.at(b)))[moved] / change[moved]
    assert means.min() >= ordinal_gamma(family, secret, low, high, "w1") * (1 - 1e-9)


@settings(max_examples=8, deadline=None)
@given(problem=problems())
def test_the_proof_refuses_a_value_that_is_too_large(problem: tuple[Ordinal, Secret, float, float]) -> None:
    # positive control: an unsound bound would prove more than is true
    family, secret, low, high = problem
    pairs = gamma_ordinal._Pairs(family, secret, low, high)
    true = ordinal_gamma(family, secret, low, high, "tv")
    proven, _ = gamma_ordinal._prove(pairs, true * (1 + 1e-5))
    assert not proven


@settings(max_examples=60, deadline=None)
@given(problem=problems(), k=st.integers(0, 30))
def test_ranges_over_intervals_are_exact(problem: tuple[Ordinal, Secret, float, float], k: int) -> None:
    family, secret, low, high = problem
    pairs = gamma_ordinal._Pairs(family, secret, low, high)
    grid = np.linspace(low, high, 4001)
    count = np.array([float(min(k, family.last_count - 1))])
    ends = np.array([low]), np.array([high])
    for (least, most), dense in (
        (pairs.value_range(*ends), pairs.value(grid)),
        (pairs.slope_range(*ends), pairs.slope(grid)),
        (pairs.steepness_range(count, *ends), pairs.steepness(count, grid)),
    ):
        width = float(dense.max() - dense.min())
        slack = 1e-11 * float(np.abs(dense).max())
        assert least[0] <= dense.min() + slack
        assert most[0] >= dense.max() - slack
        assert least[0] == pytest.approx(dense.min(), abs=1e-3 * width + slack)
        assert most[0] == pytest.approx(dense.max(), abs=1e-3 * width + slack)
    with np.errstate(divide="ignore"):
        dense = pairs.steepness(count, grid) / np.abs(pairs.slope(grid))
    least = pairs.least_quotient(count, *ends)[0]
    assert least <= dense.min() * (1 + 1e-9)
    assert least == pytest.approx(dense.min(), rel=1e-3)


def test_a_proof_that_is_too_long_gives_a_smaller_value(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = ordinal_gamma(Poisson(), Std(), 4, 6, "tv")
    monkeypatch.setattr(gamma_ordinal, "_BUDGET", 30)
    short = ordinal_gamma(Poisson(), Std(), 4, 6, "tv")
    assert 0.5 * exact <= short <= exact * (1 - 1e-5)
    monkeypatch.setattr(gamma_ordinal, "_BUDGET", 0)
    with pytest.raises(ProblemError, match="no lower bound of gamma could be proven"):
        ordinal_gamma(Poisson(), Std(), 4, 6, "tv")


def test_a_search_that_starts_too_high_is_corrected_by_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = ordinal_gamma(Poisson(), Std(), 4, 6, "tv")
    monkeypatch.setattr(gamma_ordinal, "_search", lambda pairs: 1.4 * exact)
    assert ordinal_gamma(Poisson(), Std(), 4, 6, "tv") == pytest.approx(exact, rel=2e-6)


# --- Wasserstein-1 --------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Geometric(), Binomial(trials=8), Poisson()], ids=repr)
def test_w1_of_the_mean_is_one_half(family: Ordinal) -> None:
    assert ordinal_gamma(family, Mean(), 0.1, 0.6, "w1") == 0.5


def test_w1_of_the_std_in_closed_form() -> None:
    assert ordinal_gamma(Geometric(), Std(), 0.1, 0.8, "w1") == pytest.approx(math.sqrt(0.2) / 1.2, rel=1e-13)
    assert ordinal_gamma(Poisson(), Std(), 4, 9, "w1") == pytest.approx(2.0, rel=1e-13)
    for low, high, far in ((0.1, 0.7, 0.1), (0.4, 0.95, 0.95), (0.1, 0.9, 0.1)):
        exact = math.sqrt(20 * far * (1 - far)) / abs(1 - 2 * far)
        assert ordinal_gamma(Binomial(trials=20), Std(), low, high, "w1") == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("j", [0, 1, 2, 5, 9])
@pytest.mark.parametrize(("low", "high"), [(0.2, 15.0), (2.5, 3.5), (6.0, 14.0)])
def test_w1_of_a_poisson_fraction(j: int, low: float, high: float) -> None:
    rates = np.linspace(low, high, 200_001)
    before = stats.poisson.pmf(j - 1, rates)  # 0 for j = 0
    exact = 1 / (2 * np.abs(before - stats.poisson.pmf(j, rates)).max())
    assert ordinal_gamma(Poisson(), Fraction(j), low, high, "w1") == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("family", [Geometric(), Binomial(trials=1), Binomial(trials=11)], ids=repr)
@pytest.mark.parametrize("j", [0, 1, 4])
def test_w1_of_a_fraction_is_the_least_ratio_of_close_members(family: Ordinal, j: int) -> None:
    if j > family.last_count:
        return
    grid = np.linspace(0.03, 0.97, 100_001)
    change = np.abs(np.diff(value(family, Fraction(j), grid)))
    ratio = 0.5 * np.abs(np.diff(reference(family, grid).mean()))[change > 0] / change[change > 0]
    found = ordinal_gamma(family, Fraction(j), 0.03, 0.97, "w1")
    assert found <= ratio.min() * (1 + 1e-9)
    assert found == pytest.approx(ratio.min(), rel=1e-3)  # neighbours on the grid, not the limit


# --- the paper's printed ratios -------------------------------------------------------------------


def printed(family: Ordinal, secret: Secret, t1: float, t2: float) -> float:
    """The ratio of the corollaries as printed, theta1 < theta2 (fraction: j = 0)."""
    if isinstance(family, Geometric):
        h = math.floor((math.log(t2) - math.log(t1)) / (math.log(1 - t1) - math.log(1 - t2))) + 1
        top = (1 - t2) ** h - (1 - t1) ** h
        bottom = {
            "mean": 1 / t2 - 1 / t1,
            "std": math.sqrt(1 - t2) / t2 - math.sqrt(1 - t1) / t1,
            "fraction": abs(t2 - t1),
        }
    elif isinstance(family, Binomial):
        n = family.trials
        h = math.floor(n * math.log((1 - t2) / (1 - t1)) / math.log(t1 * (1 - t2) / (t2 * (1 - t1))))
        top = special.betainc(n - h, 1 + h, 1 - t2) - special.betainc(n - h, 1 + h, 1 - t1)
        bottom = {
            "mean": n * (t1 - t2),
            "std": abs(math.sqrt(n * t2 * (1 - t2)) - math.sqrt(n * t1 * (1 - t1))),
            "fraction": abs((1 - t2) ** n - (1 - t1) ** n),
        }
    else:
        h = math.floor((t1 - t2) / (math.log(t1) - math.log(t2))) + 1
        top = special.gammaincc(h, t2) - special.gammaincc(h, t1)
        bottom = {
            "mean": t1 - t2,
            "std": math.sqrt(t1) - math.sqrt(t2),
            "fraction": abs(math.exp(-t1) - math.exp(-t2)),
        }
    return float(top / (2 * bottom[secret.kind]))


@pytest.mark.parametrize(
    ("family", "secret", "sign"),
    [
        (Geometric(), Mean(), 1),
        (Geometric(), Std(), 1),
        (Geometric(), Fraction(0), -1),
        (Binomial(trials=10), Mean(), 1),
        (Binomial(trials=10), Std(), -1),
        (Binomial(trials=10), Fraction(0), -1),
        (Poisson(), Mean(), 1),
        (Poisson(), Std(), 1),
        (Poisson(), Fraction(0), -1),
    ],
    ids=str,
)
def test_printed_ratio_needs_an_absolute_value(family: Ordinal, secret: Secret, sign: int) -> None:
    # theory, section 6: where the denominator carries |.|, the printed ratio is negative and its
    # infimum is no lower bound at all; its size is right.
    scale = 10.0 if isinstance(family, Poisson) else 1.0
    for t1, t2 in ((0.12, 0.31), (0.2, 0.7), (0.33, 0.4)):
        ratio = printed(family, secret, scale * t1, scale * t2)
        exact = float(brute_ratio(family, secret, scale * t1, scale * t2, 300)[0])
        assert ratio == pytest.approx(sign * exact, rel=1e-9)


# --- what cannot be asked -------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["w1", "tv"])
def test_a_constant_secret_has_nothing_to_hide(distance: str) -> None:
    with pytest.raises(ProblemError, match="nothing to hide"):
        ordinal_gamma(Poisson(), Mean(), 3, 3, distance)
    with pytest.raises(ProblemError, match="nothing to hide"):  # the share of 400 is 0 in floating point
        ordinal_gamma(Poisson(), Fraction(400), 0.01, 0.02, distance)
    with pytest.raises(ProblemError, match="nothing to hide"):  # about 1e-305 at one end, less elsewhere
        ordinal_gamma(Binomial(trials=329), Fraction(8), 0.9, 0.999, distance)


def test_bad_questions_are_refused() -> None:
    with pytest.raises(ProblemError, match="unknown distance 'l2'"):
        ordinal_gamma(Poisson(), Mean(), 1, 2, "l2")
    with pytest.raises(ProblemError, match="'quantile' makes no sense"):
        ordinal_gamma(Poisson(), Quantile(0.5), 1, 2, "w1")
    with pytest.raises(ProblemError, match="from 0 to 3"):
        ordinal_gamma(Binomial(trials=3), Fraction(4), 0.1, 0.2, "tv")
    with pytest.raises(ProblemError, match="reversed"):
        ordinal_gamma(Poisson(), Mean(), 2, 1, "tv")
    with pytest.raises(ProblemError, match="inside its domain"):
        ordinal_gamma(Geometric(), Mean(), 0.0, 0.5, "tv")
