"""Halving, many ranges at once and zooming, against roots and maxima that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.numeric import bisected, halved, zoomed


@given(st.floats(1e-6, 1e6), st.booleans())
def test_halving_ends_at_neighbouring_numbers_around_the_root(root, geometric):
    low, high = halved(lambda x: x >= root, root / 7, 5 * root, geometric=geometric)
    assert low < root <= high
    assert high - low <= 4 * math.ulp(high)


def test_halving_stops_when_it_is_told_to():
    asked = []
    low, high = halved(lambda x: not asked.append(x), 0.0, 1.0, steps=5)
    assert (low, high) == (0.0, 2.0**-5)
    assert asked == [2.0**-i for i in range(1, 6)]
    assert halved(lambda x: x > 0.3, 0.0, 1.0, steps=0) == (0.0, 1.0)
    low, high = halved(lambda x: x > 0.3, 0.0, 1.0, close=0.25)
    assert 0.125 * high < high - low <= 0.25 * high
    assert halved(lambda x: True, 2.0, 1.0) == (2.0, 1.0)  # nothing lies between


@given(st.lists(st.floats(4.0, 1e3), min_size=1, max_size=9))
def test_many_ranges_are_halved_as_one_is(roots):
    goal = np.array(roots)
    low, high = bisected(lambda x: x >= goal, goal - 3.0, goal + 5.0)
    for one, start, stop in zip(roots, low, high, strict=True):
        assert (start, stop) == halved(lambda x, one=one: x >= one, one - 3.0, one + 5.0, steps=128)


def test_where_the_condition_holds_nowhere_the_end_stays():
    low, high = bisected(lambda x: np.array([False, True]), np.zeros(2), np.ones(2))
    assert high[0] == 1.0
    assert high[1] == 2.0**-128
    assert low[0] == math.nextafter(1.0, 0.0)


@pytest.mark.parametrize("peak", [0.0, 0.123, 0.5, 1.0])
def test_zooming_finds_the_peak_also_at_an_end(peak):
    low, high, top = zoomed(lambda x: -np.abs(x - peak), 0.0, 1.0, rounds=12)
    assert low <= peak <= high
    assert high - low < 1e-9
    assert top == pytest.approx(0.0, abs=1e-9)
