"""The joint risk of several columns against attackers that are played, searched for, or helped by a bad coupling."""

import itertools
import math

import numpy as np
import pytest

import statveil as sv
from statveil.specification.together import ColumnRisk, joint


def column(plan):
    return ColumnRisk(plan=plan, union=plan.risk, intersection=plan.risk, kind=plan.risk_kind)


def flat(low, high, tolerance, **target):
    return sv.plan(sv.Problem(secret=sv.Mean(), prior=(low, high), tolerance=tolerance), **target)


def test_independent_columns_against_attackers_that_are_played():
    plans = [flat(0, 100, 1, bin=10), flat(50, 90, 0.3, max_risk=0.15), flat(0, 1, 0.02, max_risk=0.4)]
    rng = np.random.default_rng(1)
    size = 200_000
    hits = []
    for plan in plans:
        (axis,) = plan.problem.box.axes.values()
        truth = rng.uniform(axis.low, axis.high, size)
        # whatever lies in the middle of a bin is as good a guess as any
        guess = plan.apply({next(iter(plan.problem.box.axes)): truth}).secret
        hits.append(np.abs(guess - truth) <= plan.problem.tolerance)
    found = joint([column(plan) for plan in plans], "independent")
    for stated, seen in ((found.union, np.any(hits, axis=0)), (found.intersection, np.all(hits, axis=0))):
        assert abs(seen.mean() - stated) < 4.5 * math.sqrt(stated * (1 - stated) / size)
    assert found.kind == "exact"


def best_pair(size, first, second):
    """The most places of so many in a row that two windows of these lengths cover, by looking at all."""
    covered = 0
    for a, b in itertools.product(range(size), repeat=2):
        places = {*range(a, min(a + first, size)), *range(b, min(b + second, size))}
        covered = max(covered, len(places))
    return covered


def test_a_copy_of_a_column_is_seen_through_the_edges_of_both():
    """Column and 1.1 times column, bins of 10 each: .375 for each of them, where either alone has .2 (theory 17.2)."""
    one, two = flat(0, 100, 1, bin=10), flat(0, 110, 1.1, bin=10)
    found = joint([column(one), column(two)], "comonotone")
    cells = 2200  # fine enough that edges and windows fall on cells: 100 / 10 and 110 / 10 of them, a window is 44
    middle = (np.arange(cells) + 0.5) / cells
    names = [next(iter(plan.problem.box.axes)) for plan in (one, two)]
    seen = [
        np.round(plan.apply({name: scale * middle}).secret, 6)
        for plan, name, scale in ((one, names[0], 100), (two, names[1], 110))
    ]
    _, sizes = np.unique(np.stack(seen), axis=1, return_counts=True)
    alone = sum(min(44, size) for size in sizes) / cells
    union = sum(best_pair(int(size), 44, 44) if size < 60 else min(88, size) for size in sizes) / cells
    assert found.alone == pytest.approx([alone, alone], abs=1e-3)
    assert alone == pytest.approx(0.375, abs=1e-3)
    assert found.union == pytest.approx(union, abs=1e-3)
    assert found.intersection == pytest.approx(alone, abs=1e-3)


def test_copies_that_are_cut_alike_tell_no_more_than_one():
    plan, scaled = flat(0, 100, 1, bin=10), flat(0, 1000, 10, bin=100)
    found = joint([column(plan), column(scaled)], "comonotone")
    assert found.alone == pytest.approx([0.2, 0.2])
    assert found.union == pytest.approx(0.4)
    assert found.intersection == pytest.approx(0.2)


def test_copies_with_densities_are_never_below_a_search_on_a_grid():
    peaked = sv.Problem(secret=sv.Mean(), prior=sv.Density("norm", [50, 15], low=0, high=100), tolerance=2)
    plain = sv.Problem(secret=sv.Mean(), prior=(0, 60), tolerance=1)
    plans = [sv.plan(peaked, bin=25), sv.plan(plain, bin=15)]
    found = joint([column(plan) for plan in plans], "comonotone")
    u = (np.arange(40_000) + 0.5) / 40_000
    values, classes = [], []
    for plan in plans:
        ((name, axis),) = plan.problem.box.axes.items()
        values.append(axis.ppf(u))
        classes.append(np.round(plan.apply({name: values[-1]}).secret, 6))
    ids = np.unique(np.stack(classes), axis=1, return_inverse=True)[1].ravel()
    total = 0
    for each in np.unique(ids):
        inside = np.flatnonzero(ids == each)
        # both windows on a grid of starts
        starts = inside[:: max(1, len(inside) // 60)]
        hit = [
            np.array([np.abs(value[inside] - value[start] - eps) <= eps for start in starts])
            for value, eps in zip(values, [plan.problem.tolerance for plan in plans], strict=True)
        ]
        total += max(int((one | hit[1]).sum(axis=1).max()) for one in hit[0])
    assert total / len(u) - 1e-3 <= found.union <= total / len(u) * 1.05
    assert found.kind == "upper bound"


def test_a_secret_that_falls_with_its_parameter_is_read_from_the_other_end():
    """A relative tolerance may be planned in minus the logarithm: its copy must not be cut upside down."""
    share = sv.Relative(0.01)
    rising = sv.Problem(secret=sv.Mean(), prior=sv.LogUniform(10, 100), tolerance=share)
    falling = sv.Problem(secret=sv.Mean(), prior=(10, 100), tolerance=share)
    assert falling.family.parameter == "-ln"
    plans = [sv.plan(falling, max_risk=0.2), sv.plan(rising, max_risk=0.2)]
    found = joint([column(plan) for plan in plans], "comonotone")
    u = (np.arange(60_000) + 0.5) / 60_000
    values = [10 + 90 * u, 10 * 10**u]
    classes = []
    for plan, value in zip(plans, values, strict=True):
        ((name, _),) = plan.problem.box.axes.items()
        classes.append(np.round(plan.apply({name: plan.problem.family.coordinate(value)}).secret, 6))
    ids = np.unique(np.stack(classes), axis=1, return_inverse=True)[1].ravel()
    window = 2 * falling.tolerance  # of the logarithm
    for stated, value in zip(found.alone, values, strict=True):
        best = 0
        for each in np.unique(ids):
            logs = np.sort(np.log(value[ids == each]))
            best += int((np.searchsorted(logs, logs + window, side="right") - np.arange(len(logs))).max())
        assert best / len(u) - 2e-3 <= stated <= best / len(u) + 4e-3


def test_the_worst_dependence_is_reached_by_a_column_that_says_where_in_its_bin_another_is():
    """Bins of one column tell which of as many windows of the other's bin holds its value (theory 17.2)."""
    one, two = flat(0, 100, 1, bin=50), flat(0, 30, 0.5, bin=10)
    found = joint([column(one), column(two)], "worst")
    # of each bin of 50 three disjoint windows of length 2, one for each of the three bins of the other column
    assert found.alone[0] == pytest.approx(3 * one.risk)
    rng = np.random.default_rng(2)
    truth = rng.uniform(0, 100, 300_000)
    inside = truth % 50
    window = np.where(inside < 6, inside // 2, -1)
    # the others are spread so that the second column keeps its prior: each of its bins has a third of the mass
    second = np.where(window >= 0, window, rng.integers(0, 3, len(truth)))
    assert np.bincount(second.astype(int)) / len(truth) == pytest.approx([1 / 3] * 3, abs=0.004)
    guess = 50 * (truth // 50) + 2 * second + 1
    rate = float((np.abs(guess - truth) <= 1).mean())
    assert rate == pytest.approx(found.alone[0], abs=4.5 * math.sqrt(0.12 * 0.88 / 300_000))
    assert found.union >= found.alone[0]
    assert found.kind == "upper bound"


def test_ten_bins_say_all_of_ten_bins():
    plan = flat(0, 100, 1, bin=10)
    found = joint([column(plan), column(plan)], "worst")
    assert found.alone == (1.0, 1.0)
    two_parameters = sv.plan(
        sv.Problem(family=sv.Gaussian(), secret=sv.Mean(), prior=sv.Box(mu=(0, 100), sigma=(1, 9)), tolerance=0.5),
        max_risk=0.1,
    )
    assert joint([column(flat(0, 100, 1, bin=100)), column(two_parameters)], "worst").alone[0] == 1.0


def test_unequal_masses_bound_what_another_column_tells():
    """A release that hardly ever happens tells hardly anything: sum of min(P(j), r), below J times r."""
    peaked = sv.Problem(secret=sv.Mean(), prior=sv.Density("norm", [50, 5], low=0, high=100), tolerance=1)
    one, other = flat(0, 100, 1, bin=20), sv.plan(peaked, bin=30)
    ((name, axis),) = peaked.box.axes.items()
    draws = axis.ppf((np.arange(200_000) + 0.5) / 200_000)
    masses = np.unique(np.round(other.apply({name: draws}).secret, 6), return_counts=True)[1] / 200_000
    found = joint([column(one), column(other)], "worst").alone[0]
    assert found == pytest.approx(np.minimum(masses, one.risk).sum(), abs=1e-4)
    assert found < len(masses) * one.risk


@pytest.mark.parametrize("dependence", ["independent", "comonotone", "worst"])
def test_one_column_has_its_own_risk(dependence):
    plan = flat(0, 100, 1, bin=10)
    assert joint([column(plan)], dependence).union == plan.risk


def test_dependence_never_lowers_what_is_told():
    plans = [flat(0, 100, 1, max_risk=0.1), flat(0, 70, 1, max_risk=0.13), flat(0, 50, 2, max_risk=0.3)]
    columns = [column(plan) for plan in plans]
    alone, copies, worst = (joint(columns, how) for how in ("independent", "comonotone", "worst"))
    assert max(plan.risk for plan in plans) <= alone.union <= sum(plan.risk for plan in plans)
    for i, plan in enumerate(plans):
        assert plan.risk == alone.alone[i] <= copies.alone[i] <= worst.alone[i]
    assert copies.union <= worst.union
