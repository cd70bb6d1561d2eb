"""No risk below the truth where the belief has several narrow peaks, or one that is narrow beside its range."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil import accounting, planning
from statveil.baseline import risk_without_release

pytestmark = pytest.mark.usefixtures("no_optimum")

SAFE = 1 - 1e-8


def peaks(centres, half, low, high):
    values, weights = [low], [0.0]
    for centre in centres:
        values += [centre - half, centre, centre + half]
        weights += [0.0, 1.0, 0.0]
    return sv.Tabulated([*values, high], [*weights, 0.0])


def mean_of(axis, tolerance, **known):
    return sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=axis),
        secret=sv.Mean(),
        tolerance=tolerance,
        known=sv.Structure(**known),
    )


def inside_peak(half, tolerance):
    """Share of a triangle of this half width that a window around its top holds."""
    reach = min(1.0, tolerance / half)
    return reach * (2 - reach)


def test_two_far_peaks_are_found():
    """Was 2e-12: all cells of the search lay between the peaks."""
    asked = mean_of(peaks([25, 75], 1e-4, 0, 100), 1e-4)
    plan = sv.plan(asked, max_distortion=50)
    assert plan.risk == pytest.approx(0.5, rel=1e-8)
    assert plan.risk >= 0.5
    assert plan.risk_without_release == pytest.approx(0.5, rel=1e-8)


def test_a_hundred_peaks_are_found():
    """Was 0.0101."""
    asked = mean_of(peaks(range(1, 100), 0.02, 0, 100), 0.02)
    plan = sv.plan(asked, max_distortion=10)
    assert plan.risk >= 5 / 99 * (1 - 1e-9)
    assert sv.simulate(plan, trials=40_000, seed=1, confidence=SAFE).low <= plan.risk


@pytest.mark.parametrize("seed", range(12))
def test_peaks_anywhere_against_their_triangles(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 12))
    half = 10 ** rng.uniform(-5, -1)
    centres = np.sort(rng.uniform(1, 99, count))
    centres = centres[np.concatenate([[True], np.diff(centres) > 4 * half])]
    tolerance = half * rng.uniform(0.1, 1.0)
    asked = mean_of(peaks(centres.tolist(), half, 0, 100), tolerance)
    width = float(rng.uniform(5, 100))
    plan = sv.plan(asked, bin=width)
    edges = plan.mechanism.bins.edges()
    clear = np.abs(centres[:, None] - edges).min() > half
    if clear:  # one whole peak of each bin that holds any
        held = len(np.unique(np.searchsorted(edges, centres)))
        truth = held / len(centres) * inside_peak(half, tolerance)
        assert truth * (1 - 1e-9) <= plan.risk <= truth * (1 + 1e-6)
    rate = sv.simulate(plan, trials=4_000, seed=seed, confidence=SAFE)
    assert rate.low <= plan.risk
    assert plan.risk_without_release >= inside_peak(half, tolerance) / len(centres) * (1 - 1e-9)


def test_a_known_step_with_three_peaks():
    """Was 2/3: the three peaks have different residues, so each is a class of its own."""
    asked = mean_of(peaks([0.5339, 1.1755, 1.8779], 0.0177, 0, 2.4), 0.24, step=0.8)
    assert sv.plan(asked, max_distortion=2.4, method="interval").risk == pytest.approx(1.0, abs=1e-9)


def test_a_narrow_heavy_tailed_belief_is_no_match_for_combs():
    """Was 0.000629, with 0.9937 for a guess that never saw a release."""
    asked = mean_of(sv.Density("cauchy", (566, 0.01), low=-50, high=685.6), 1.0)
    with pytest.raises(sv.TargetError, match=r"cannot be met.*0\.993"):
        sv.plan(asked, max_risk=0.5, method="comb")
    plan = sv.plan(asked, max_distortion=100, method="comb")
    assert plan.risk >= plan.risk_without_release > 0.993
    assert sv.simulate(plan, trials=20_000, seed=1, confidence=SAFE).low <= plan.risk


def test_peaks_of_one_of_two_parameters():
    """Lines that move both parameters pass the peaks too."""
    axis = peaks((np.arange(5, 100, 5) + np.sin(np.arange(19))).tolist(), 0.3, 0, 100)
    asked = sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=axis, sigma=(1, 3)), secret=sv.Mean(), tolerance=0.25)
    for goal in ({"max_distortion": 10}, {"bin": 20.0, "slope": 30.0}):
        plan = sv.plan(asked, **goal)
        assert sv.simulate(plan, trials=40_000, seed=1, confidence=SAFE).low <= plan.risk
        assert plan.risk >= plan.risk_without_release


def test_no_plan_states_less_than_a_blind_guess(monkeypatch):
    asked = mean_of(sv.Density("normal", (50, 10), low=0, high=100), 2.0)
    monkeypatch.setattr(accounting, "risk", lambda *_, **__: accounting.Risk(value=1e-6, kind="numerical"))
    blind = risk_without_release(asked)
    assert sv.plan(asked, bin=40.0).risk == blind
    with pytest.raises(sv.ProblemError, match="contradicts itself"):  # not even a blind guess's risk can be had so
        sv.plan(asked, bin=20.0)
    with pytest.raises(sv.TargetError, match="never saw a release"):
        planning._at_least(accounting.Risk(value=0.01, kind="numerical"), 0.3, planning.MaxRisk(0.1))


@pytest.mark.parametrize(
    ("mu", "sigma"),
    [
        (sv.Density("normal", (50, 5), low=0, high=100), sv.Density("normal", (4, 1), low=1, high=8)),
        (sv.Density("cauchy", (40, 0.5), low=0, high=100), sv.Tabulated([1, 2, 2.1, 5], [0, 1, 7, 0])),
        (peaks([20, 50, 80], 0.5, 0, 100), sv.Density("normal", (4, 1), low=1, high=8)),
    ],
)
def test_a_blind_guess_of_two_densities_is_not_below_the_truth(mu, sigma):
    asked = sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=mu, sigma=sigma), secret=sv.Quantile(0.9), tolerance=0.5)
    stated = risk_without_release(asked)
    slope = asked.family.coefficients(asked.secret)["sigma"]
    # strata of the spread, and windows on a fine grid: a lower bound up to the error of 20000 strata
    at = slope * sigma.ppf((np.arange(20_000) + 0.5) / 20_000)
    starts = np.linspace(*np.quantile(mu.ppf(np.linspace(0.01, 0.99, 99)), [0, 1]), 801) + np.median(at) - 0.5
    caught = [float(np.mean(mu.cdf(s + 1.0 - at) - mu.cdf(s - at))) for s in starts]
    assert max(caught) * (1 - 1e-6) <= stated <= max(caught) * 1.01
