"""Bins in two coordinates: against posteriors that are spelled out on a grid, and numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

import statveil as sv
from statveil import accounting
from statveil.mechanisms.tiles import Tiles
from statveil.simulation import play
from statveil.theory.bins import Bins

NODES = 6000


def asked(one=(0.0, 60.0), two=(5.0, 25.0), eps=(1.0, 0.5), family=None, place=None):
    also = sv.Also(sv.Std(), two, tolerance=eps[1])
    return sv.Problem(family=family, secret=place or sv.Mean(), prior=one, tolerance=eps[0], also=[also])


def tiles(problem, first, second):
    """Bins of these widths, from a little below the range on."""
    widths = dict(zip(problem.box.axes, (first, second), strict=True))
    return Tiles(
        axes={
            name: Bins(low=axis.low, high=axis.high, origin=axis.low - 0.3 * widths[name], width=widths[name])
            for name, axis in problem.box.axes.items()
        }
    )


def nodes(axis):
    """Middles of equal parts of a range and their mass."""
    edges = np.linspace(axis.low, axis.high, NODES + 1)
    return 0.5 * (edges[1:] + edges[:-1]), np.diff(np.asarray(axis.cdf(edges)))


def best_windows(values, mass, release, window):
    """For each release the largest mass of a window, and the mass of the release."""
    found = {}
    for one in np.unique(release):
        held = np.where(release == one, mass, 0.0)
        total = np.concatenate([[0.0], np.cumsum(held)])
        last = np.searchsorted(values, values + window * (1 - 1e-9), side="right")
        found[float(one)] = (float((total[last] - total[:-1]).max()), float(held.sum()))
    return found


BELIEFS = {
    "ranges": ((0.0, 60.0), (5.0, 25.0)),
    "bell": (sv.Density("norm", (25, 9), low=0, high=60), (5.0, 25.0)),
    "both": (sv.Density("norm", (25, 9), low=0, high=60), sv.LogUniform(5, 25)),
}


@pytest.mark.parametrize("name", BELIEFS)
@pytest.mark.parametrize("widths", [(10.0, 5.0), (17.0, 6.5), (3.0, 30.0)])
def test_each_either_and_both_are_those_of_the_posterior_spelled_out(name, widths):
    problem = asked(*BELIEFS[name])
    mechanism = tiles(problem, *widths)
    found = accounting.both(problem, mechanism)
    sides = []
    for one in problem.each:
        label = one.secret.label
        values, mass = nodes(problem.box.axes[label])
        release = mechanism.release(dict.fromkeys(problem.box.axes, values))[label]
        sides.append(best_windows(values, mass, release, 2 * one.tolerance))
    single = [sum(best for best, _ in side.values()) for side in sides]
    # given a joint release the two are independent: either is hit unless both guesses miss, sum over all rectangles
    either = both = 0.0
    for best, mass in sides[0].values():
        for other, there in sides[1].values():
            either += mass * there - (mass - best) * (there - other)
            both += best * other
    slack = 60 * max(np.max(nodes(axis)[1]) for axis in problem.box.axes.values())
    for stated, truth in (*zip(found.each, single, strict=True), (found.union, either), (found.intersection, both)):
        assert truth - slack <= stated.value <= truth + slack
    assert found.union.value == pytest.approx(1 - (1 - found.each[0].value) * (1 - found.each[1].value), abs=1e-12)
    assert accounting.risk(problem, mechanism) == found.union


@settings(max_examples=8)
@given(st.floats(2.5, 70), st.floats(1.2, 25), st.floats(0.3, 3), st.floats(0.1, 2))
def test_a_played_attacker_reaches_either_and_never_more(first, second, one, two):
    problem = asked(eps=(one, two))
    mechanism = tiles(problem, first, second)
    stated = accounting.risk(problem, mechanism).value
    rate = play(problem, mechanism, trials=3000, rng=np.random.default_rng(3), confidence=0.99999)
    assert rate.low <= stated
    assert stated <= rate.high + 0.01


def test_a_secret_that_moves_with_both_coordinates_has_a_trapezoid_in_every_rectangle():
    problem = asked(family=sv.Gaussian())
    mechanism = tiles(problem, 11.0, 4.0)
    for tolerance in (0.4, 2.0, 5.0, 9.0):
        other = replace(problem.each[0], secret=sv.Quantile(0.9), tolerance=tolerance)
        stated = accounting.risk(other, mechanism)
        rng = np.random.default_rng(1)
        drawn = {name: axis.ppf((rng.permutation(200_000) + 0.5) / 200_000) for name, axis in problem.box.axes.items()}
        secret = drawn["mean"] + 1.2815515655446004 * drawn["std"]
        released = mechanism.release(drawn)
        key = released["mean"] * 1000 + released["std"]
        hits = 0
        for one in np.unique(key):
            held = np.sort(secret[key == one])
            last = np.searchsorted(held, held + 2 * tolerance, side="right")
            hits += int((last - np.arange(len(held))).max())
        assert stated.kind == "exact"
        assert stated.value == pytest.approx(hits / 200_000, abs=0.009)


def test_a_secret_of_both_coordinates_is_bounded_where_a_belief_is_not_flat():
    problem = asked(sv.Density("norm", (25, 9), low=0, high=60), family=sv.Gaussian())
    other = replace(problem.each[0], secret=sv.Quantile(0.9), tolerance=1.0)
    mechanism = tiles(problem, 11.0, 4.0)
    stated = accounting.risk(other, mechanism)
    assert stated.kind == "upper bound"
    drawn = problem.sample(200_000, np.random.default_rng(2))
    key = mechanism.release(drawn)
    key = key["mean"] * 1000 + key["std"]
    secret = drawn["mean"] + 1.2815515655446004 * drawn["std"]
    hits = 0
    for one in np.unique(key):
        held = np.sort(secret[key == one])
        hits += int((np.searchsorted(held, held + 2.0, side="right") - np.arange(len(held))).max())
    assert hits / 200_000 <= stated.value


@pytest.mark.parametrize(
    ("family", "quantiles"),
    [
        (sv.Gaussian(), ndtri),
        (sv.Shape("lognorm(1)"), lambda u: np.exp(ndtri(u))),
    ],
)
def test_the_distortion_is_the_distance_of_the_farthest_corner(family, quantiles):
    problem = asked(family=family)
    mechanism = Tiles(
        axes={
            "mean": Bins(low=0.0, high=60.0, origin=0.0, width=12.0),
            "std": Bins(low=5.0, high=25.0, origin=5.0, width=4.0),
        }
    )
    u = (np.arange(200_000) + 0.5) / 200_000
    z = quantiles(u)
    z = (z - z.mean()) / z.std()
    corners = [np.abs(6.0 + sign * 2.0 * z).mean() for sign in (1, -1)]
    assert accounting.distortion(problem, mechanism) == pytest.approx(max(corners), rel=2e-3)


SHAPES = st.lists(
    st.tuples(st.floats(-50, 50), st.floats(0.01, 1)), min_size=2, max_size=6, unique_by=lambda pair: round(pair[0], 2)
)


@given(SHAPES, st.floats(-5, 5), st.floats(-4, 8), st.sampled_from(["mean", "median", "quantile:0.9", "quantile:0.3"]))
def test_without_a_shape_no_column_moves_farther_than_is_stated(points, shift, stretch, label):
    values = np.repeat([value for value, _ in points], [math.ceil(40 * weight) for _, weight in points])
    place = {"mean": sv.Mean(), "median": sv.Median()}.get(label) or sv.Quantile(float(label[9:]))
    here = float(np.quantile(values, 0.5)) if label == "median" else float(values.mean())
    if label.startswith("quantile"):
        here = float(np.quantile(values, float(label[9:])))
    spread = float(values.std())
    if spread + stretch <= 0.01 or spread < 0.05:
        return
    moved = here + shift + (1 + stretch / spread) * (values - here)
    problem = asked(one=(-100.0, 100.0), two=(0.001, 200.0), place=place)
    stated = float(problem.family.length({label: shift, "std": stretch}))
    assert np.abs(moved - values).mean() <= stated * (1 + 1e-9) + 1e-9


def test_without_a_shape_the_distance_of_a_mean_and_a_std_is_attained():
    problem = asked()
    shift, stretch = 3.0, 4.0
    # two values between which a + b z only changes its sign
    far = math.hypot(shift, stretch)
    low, high = (-far - shift) / stretch, (far - shift) / stretch
    share = high / (high - low)
    z = np.where(np.arange(1_000_000) < share * 1_000_000, low, high)
    assert (z.mean(), z.std()) == pytest.approx((0, 1), abs=1e-5)
    assert np.abs(shift + stretch * z).mean() == pytest.approx(float(problem.family.length({"mean": 3.0, "std": 4.0})))
