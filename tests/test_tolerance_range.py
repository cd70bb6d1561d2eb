"""The least extent for several tolerances, against what the theory says of the common ranges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv


@pytest.mark.parametrize("k", [2, 3, 5, 10])
def test_one_tolerance_is_a_comb(k):
    """k - 1 windows of 2: Theorem 1's bound, reached up to the width of a cell for each tooth."""
    found = sv.least_extent({1.0: 1 / k})
    assert 2 * (k - 1) <= found.extent <= 2 * (k - 1) * (1 + 2.5 * k / 480)


def test_only_the_highest_of_equal_caps_matters():
    one, many = sv.least_extent({2.0: 0.2}), sv.least_extent({0.5: 0.2, 1.0: 0.2, 2.0: 0.2})
    assert many.extent == pytest.approx(one.extent, rel=2e-3)


@pytest.mark.parametrize(("small", "parts"), [(0.5, 2), (0.25, 4), (1 / 3, 3)])
def test_a_smaller_cap_at_a_smaller_tolerance_splits_each_tooth(small, parts):
    """risk(1) <= .2 and risk(small) <= .2 / parts: each of five teeth has so many parts, 2 small apart."""
    found = sv.least_extent({1.0: 0.2, small: 0.2 / parts})
    least = 8 + (parts - 1) * 2 * small
    assert least * (1 - 1e-9) <= found.extent <= least * (1 + 2.5 * 5 * parts / 480)


def test_in_proportion_at_every_tolerance_up_to_twice_is_the_plain_interval():
    """T max(1, e / eps) on [eps, 2 eps] and in between: no pattern is shorter than bins of 2 eps / T."""
    caps = {float(eps): 0.2 * float(eps) for eps in np.linspace(1, 2, 11)}
    found = sv.least_extent(caps)
    assert found.extent == pytest.approx(10.0, rel=0.02)


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.floats(0.3, 3), st.floats(0.05, 0.6), min_size=1, max_size=3))
def test_every_cap_is_kept_and_no_bound_is_beaten(caps):
    found = sv.least_extent(caps, cells=160)
    assert found.density.sum() == pytest.approx(1)
    assert found.density.min() >= 0
    edges = np.linspace(0, found.extent, 161)
    rng = np.random.default_rng(0)
    draws = rng.choice(160, size=20_000, p=found.density)
    points = np.sort(edges[draws] + rng.random(20_000) * found.extent / 160)
    for eps, cap in caps.items():
        assert found.caught(eps) <= cap * (1 + 1e-6)
        held = np.searchsorted(points, points + 2 * eps, side="right") - np.arange(len(points))
        assert held.max() / len(points) <= cap + 0.03
        assert found.extent >= (np.ceil(1 / cap - 1e-9) - 1) * 2 * eps * (1 - 1e-9)


@pytest.mark.parametrize("caps", [{}, {1.0: 0.0}, {1.0: 1.5}, {-1.0: 0.2}, {1.0: float("nan")}])
def test_bad_caps_are_refused(caps):
    with pytest.raises(sv.ProblemError):
        sv.least_extent(caps)


def test_nothing_asked_and_bad_cells():
    with pytest.raises(sv.TargetError, match="asks for nothing"):
        sv.least_extent({1.0: 1.0})
    with pytest.raises(sv.ProblemError, match="cells"):
        sv.least_extent({1.0: 0.2}, cells=3)
