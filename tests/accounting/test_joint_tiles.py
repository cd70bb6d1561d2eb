"""Bins in two coordinates with other releases of the column: against joint posteriors that are spelled out."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv

BOX = sv.Box(mu=(0, 60), sigma=(5, 25))
SIDE = 500


def gaussian(**also):
    return sv.Problem(
        family=sv.Gaussian(), prior=BOX, secret=sv.Mean(), tolerance=1, also=[sv.Also(sv.Std(), tolerance=0.5, **also)]
    )


def line(secret, **target):
    return sv.plan(sv.Problem(family=sv.Gaussian(), prior=BOX, secret=secret, tolerance=1), **target)


def spelled_out(plans, weights, eps, count=SIDE):
    """The joint risk of one linear secret, from a fine grid of parameters grouped by all of their releases.

    A release that tells a line is grouped by it to about a node: classes are then too coarse by that, so that the
    truth is not below this by more than a few nodes in a window.
    """
    mean = 60 * (np.arange(count) + 0.5) / count
    std = 5 + 20 * (np.arange(count) + 0.5) / count
    at = {"mean": np.repeat(mean, count), "std": np.tile(std, count)}
    labels = np.zeros(count * count, dtype=np.int64)
    for plan in plans:
        named = at if plan.problem.also else {"mu": at["mean"], "sigma": at["std"]}
        released = plan.mechanism.release(named)
        for values in released.values():
            _, code = np.unique(np.round(values, 3), return_inverse=True)
            _, labels = np.unique(labels * (code.max() + 1) + code, return_inverse=True)
    secret = weights[0] * at["mean"] + weights[1] * at["std"]
    order = np.lexsort((secret, labels))
    labels, secret = labels[order], secret[order]
    # windows inside each class, all classes at once: values of other classes lie far away
    apart = secret + labels * (10 * np.ptp(secret) + 10)
    held = np.searchsorted(apart, apart + 2 * eps * (1 - 1e-9), side="right") - np.arange(len(apart))
    starts = np.flatnonzero(np.diff(labels, prepend=-1))
    return float(np.maximum.reduceat(held, starts).sum()) / len(labels)


@pytest.fixture(scope="module")
def pair():
    return sv.plan(gaussian(), max_risk=0.3), sv.plan(gaussian(), max_risk=(0.15, 0.3))


def by_secret(found):
    return {each.secret: each for each in found.secrets}


def test_two_of_them_are_cut_axis_by_axis(pair):
    found = by_secret(sv.compose(pair))
    for secret, weights, eps in (("mean", (1, 0), 1.0), ("std", (0, 1), 0.5)):
        truth = spelled_out(pair, weights, eps)
        assert found[secret].risk_kind == "exact"
        assert found[secret].risk == pytest.approx(truth, abs=0.03)
        alone = [plan.for_secret(secret).risk for plan in pair]
        assert max(alone) <= found[secret].risk * (1 + 1e-12)
        assert found[secret].risk <= sum(alone) * (1 + 1e-12)
    either = 1 - (1 - found["mean"].risk) * (1 - found["std"].risk)
    assert found["mean or std"].risk == pytest.approx(either)


def test_the_same_one_again_adds_nothing(pair):
    found = by_secret(sv.compose([pair[0], pair[0]]))
    assert found["mean or std"].risk == pair[0].risk
    assert {name: found[name].risk for name in ("mean", "std")} == {
        name: pair[0].for_secret(name).risk for name in ("mean", "std")
    }


def test_beside_a_line_the_parts_add_up_and_are_never_below_the_truth(pair):
    oblique = line(sv.Quantile(0.95), max_risk=0.25)
    assert oblique.mode == "affine"
    found = by_secret(sv.compose([pair[0], oblique]))
    quantile = (1.0, 1.6448536269514722)
    for secret, weights, eps in (("mean", (1, 0), 1.0), ("std", (0, 1), 0.5), ("quantile:0.95", quantile, 1.0)):
        # on each line of the oblique plan, cut by all three kinds of edges
        truth = on_lines(pair[0], oblique, weights, eps)
        assert truth <= found[secret].risk + 0.003
        alone = [oblique.risk] if secret.startswith("quantile") else []
        assert all(found[secret].risk >= one for one in alone)
    assert found["quantile:0.95"].risk < 1  # which says more than nothing


def on_lines(tiles, oblique, weights, eps, count=600, steps=3000):
    """The joint risk with the line told exactly: lines drawn at random through the box, each cut by every edge."""
    rng = np.random.default_rng(5)
    move = oblique.mechanism.direction
    mean, std = 60 * rng.random(count), 5 + 20 * rng.random(count)
    t = np.linspace(-80, 80, steps)
    hits = np.zeros(count)
    for i in range(count):
        at = {"mean": mean[i] + move["mu"] * t, "std": std[i] + move["sigma"] * t}
        inside = (at["mean"] >= 0) & (at["mean"] <= 60) & (at["std"] >= 5) & (at["std"] <= 25)
        at = {name: values[inside] for name, values in at.items()}
        one = tiles.mechanism.release(at)
        edges = oblique.mechanism.bins.edges()
        binned = np.searchsorted(edges, at["std"], side="right")
        key = one["mean"] * 1e6 + one["std"] * 1e3 + binned
        secret = weights[0] * at["mean"] + weights[1] * at["std"]
        total = 0
        for label in np.unique(key):
            held = np.sort(secret[key == label])
            total += int((np.searchsorted(held, held + 2 * eps, side="right") - np.arange(len(held))).max())
        hits[i] = total / max(len(key), 1)
    return float(hits.mean()) - 4 * float(hits.std()) / count**0.5


def test_a_line_along_one_coordinate_is_cut_exactly_and_tells_the_other(pair):
    spread = line(sv.Std(), max_risk=0.25)
    assert {name for name, change in spread.mechanism.direction.items() if change} == {"sigma"}
    found = sv.compose([pair[0], spread])
    by = {(each.secret, each.tolerance): each for each in found.secrets}
    assert by["mean", 1.0].risk == 1.0
    cuts = [pair[0].mechanism.axes["std"].edges(), spread.mechanism.bins.edges()]
    pieces = np.diff(np.unique(np.concatenate(cuts)))
    for eps in (0.5, 1.0):
        assert by["std", eps].risk == pytest.approx(np.minimum(2 * eps, pieces).sum() / 20)
        assert by["std", eps].risk_kind == "exact"


def test_a_shift_beside_them_gives_the_rows_away(pair):
    found = sv.compose([pair[0], line(sv.Mean(), max_risk=0.25)])
    assert all(each.risk == 1.0 for each in found.secrets)


def test_other_ranges_are_not_taken_for_the_same(pair):
    other = sv.plan(
        sv.Problem(
            family=sv.Gaussian(),
            prior=(0, 61),
            secret=sv.Mean(),
            tolerance=1,
            also=[sv.Also(sv.Std(), (5, 25), tolerance=0.5)],
        ),
        max_risk=0.3,
    )
    assert all(each.risk == 1.0 for each in sv.compose([pair[0], other]).secrets)


def test_every_statistic_is_held_against_every_release():
    """Section 15.4 of the theory: a plan for q.95 at .188 has .736 for the mean and .409 for the std."""
    problem = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(0, 75), sigma=(5, 30)), secret=sv.Quantile(0.95), tolerance=1
    )
    plan = sv.plan(problem, bin=5)
    also = [sv.Also(sv.Mean(), tolerance=1), sv.Also(sv.Std(), tolerance=1)]
    found = {each.secret: each.risk for each in sv.compose([plan], also=also).secrets}
    slope = plan.slope
    # bins of width 5 along sigma, mu moves by the slope: 1 - (1 - p)(1 - y), p = c / 5, y = slope c / 75
    for secret, rate in (("quantile:0.95", slope + 1.6448536269514722), ("mean", slope), ("std", 1.0)):
        window = 2 / rate
        assert found[secret] == pytest.approx(1 - (1 - window / 5) * (1 - slope * window / 75), abs=1e-9)
    assert [round(found[name], 3) for name in ("quantile:0.95", "std")] == [0.188, 0.409]
    assert found["mean"] == pytest.approx(0.736, abs=0.001)


def test_other_statistics_of_tiles(pair):
    also = [sv.Also(sv.Quantile(0.95), tolerance=1)]
    found = by_secret(sv.compose(pair, also=also))
    truth = spelled_out(pair, (1.0, 1.6448536269514722), 1.0)
    assert found["quantile:0.95"].risk_kind == "exact"
    assert found["quantile:0.95"].risk == pytest.approx(truth, abs=0.03)


def test_other_statistics_are_asked_for_without_a_prior(pair):
    with pytest.raises(sv.ProblemError, match="without a prior"):
        sv.compose([pair[0]], also=[sv.Also(sv.Mean(), (0, 9), tolerance=1)])
    with pytest.raises(sv.ProblemError, match="list of one plan"):
        sv.compose([])


def test_leakage_and_candidates_of_rectangles_are_those_of_each_side():
    """Beliefs are independent, so a side is a line with its own bins; all rectangles count for any belief."""
    also = sv.Also(sv.Std(), tolerance=1)
    box = sv.Box(mu=(0, 100), sigma=(10, 60))
    problem = sv.Problem(family=sv.Gaussian(), prior=box, secret=sv.Mean(), tolerance=1, also=[also])
    plan = sv.plan(problem, max_risk=0.4)
    sides = [np.diff(bins.edges()) for bins in plan.mechanism.axes.values()]
    found = sv.leakage([plan]).secrets
    for side, told, composed in zip(sides, found, (sv.compose([plan]).secrets[i] for i in (1, 2)), strict=True):
        share = side / side.sum()
        guesses = np.ceil(side / 2 - 1e-9)  # windows of 2 that cover a bin
        assert told.mutual_information.value == pytest.approx(-np.sum(share * np.log2(share)), rel=1e-9)
        assert told.candidates.mean == pytest.approx(np.sum(share * guesses), rel=1e-6)
        assert composed.candidates.mean == pytest.approx(told.candidates.mean, rel=1e-9)
        assert told.maximal.value == pytest.approx(np.log2(len(sides[0]) * len(sides[1])), rel=1e-9)
        assert told.prior_free.value <= min(told.maximal.value, told.published) + 1e-12
        assert told.prior_free.kind == "upper bound"
