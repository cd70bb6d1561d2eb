"""Cells that are sent to releases at random: what is released, and the risk for the belief behind the cells."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import statveil as sv
from statveil import accounting
from statveil.errors import ProblemError
from statveil.mechanisms.cells import Cells
from statveil.mechanisms.mechanism import mechanism_from_json

pytestmark = pytest.mark.usefixtures("no_optimum")


def cells(edges, released, choices):
    return Cells(parameter="rate", edges=tuple(edges), released=tuple(released), choices=tuple(map(tuple, choices)))


THREE = cells([1.0, 2.0, 4.0, 5.0], [1.5, 3.0], [[(0, 1.0)], [(0, 0.25), (1, 0.75)], [(1, 1.0)]])


# --- the mechanism ------------------------------------------------------------------------------------
def test_releases_are_drawn_with_their_probabilities():
    rng = np.random.default_rng(4)
    theta = np.full(40_000, 3.3)
    got = THREE.release({"rate": theta}, rng.random(len(theta)))["rate"]
    assert set(got) == {1.5, 3.0}
    assert stats.binomtest(int((got == 1.5).sum()), len(got), 0.25).pvalue > 1e-4
    certain = THREE.release({"rate": [1.0, 1.999, 4.0, 5.0]}, [0.0, 0.999999, 0.0, 0.999999])["rate"]
    assert certain.tolist() == [1.5, 1.5, 3.0, 3.0]


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 30), chances=st.lists(st.floats(0, 0.9999999999), min_size=1))
def test_a_chance_never_picks_a_release_of_another_cell(seed, count, chances):
    rng = np.random.default_rng(seed)
    choices = []
    for _ in range(count):
        picked = rng.choice(5, size=rng.integers(1, 5), replace=False)
        share = rng.dirichlet(np.full(len(picked), 0.2))
        choices.append([(int(r), float(p)) for r, p in zip(picked, share, strict=True)])
    made = cells(range(count + 1), range(5), choices)
    theta = rng.random(len(chances)) * count
    for x, got in zip(theta, made.release({"rate": theta}, chances)["rate"], strict=True):
        assert int(got) in {r for r, _ in choices[int(x)]}


def test_a_randomised_release_needs_chance_and_is_repeated_by_its_seed():
    problem = sv.Problem(family=sv.Geometric(), prior=sv.Box(p=(0.2, 0.8)), secret=sv.Mean(), tolerance=0.25)
    plan = sv.plan(problem, max_distortion=0.5, method="layered", grid=60)
    assert plan.randomised
    with pytest.raises(ProblemError, match="secret randomness"):
        plan.apply(p=0.5)
    values = np.full(500, 0.5)
    one, two = (plan.apply(secret_seed=7, p=values).released["p"] for _ in range(2))
    assert np.array_equal(one, two)
    assert len(np.unique(one)) > 1
    assert not np.array_equal(one, plan.apply(secret_seed=8, p=values).released["p"])
    with pytest.raises(ProblemError, match="whole number"):
        plan.apply(secret_seed=-1, p=0.5)
    with pytest.warns(DeprecationWarning, match="secret_seed"):
        former = plan.apply(seed=7, p=values)
    assert np.array_equal(former.released["p"], one)


def test_possible_releases_and_the_nearest_one():
    assert THREE.possible({"rate": 3.0})["rate"].tolist() == [1.5, 3.0]
    assert THREE.possible({"rate": 1.2})["rate"].tolist() == [1.5]
    assert THREE.snap({"rate": [0.0, 2.2, 2.3, 9.0]})["rate"].tolist() == [1.5, 1.5, 3.0, 3.0]
    assert THREE.levels.tolist() == [1.5, 3.0]
    assert THREE.bin_of({"rate": 2.0}) == {"along": "rate", "index": 1, "low": 2.0, "high": 4.0}


def test_a_fibre_weighs_cells_by_their_probability_and_width():
    fibre = THREE.fibre({"rate": np.array([3.0])}, None, 100)
    points, weight = fibre.points["rate"][0], fibre.weight[0]
    inner = (points > 2) & (points < 4)
    assert weight[inner].sum() / weight.sum() == pytest.approx(0.75 * 2 / (0.75 * 2 + 1))
    assert points[weight > 0].min() > 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"choices": [[[0, 1.0]], [[0, 1.0]]]}, "one list of choices"),
        ({"choices": [[[0, 0.5]], [[0, 1.0]], [[1, 1.0]]]}, "add up to 1"),
        ({"choices": [[[0, 1.5], [1, -0.5]], [[0, 1.0]], [[1, 1.0]]]}, "not be negative"),
        ({"choices": [[[2, 1.0]], [[0, 1.0]], [[1, 1.0]]]}, "number of a release"),
        ({"choices": [[[0.0, 1.0]], [[0, 1.0]], [[1, 1.0]]]}, "number of a release"),
        ({"choices": [[], [[0, 1.0]], [[1, 1.0]]]}, "add up to 1"),
        ({"edges": [1.0, 1.0, 4.0, 5.0]}, "increasing edges"),
        ({"released": [1.5, 1.5]}, "the same"),
        ({"released": [1.5, math.inf]}, "finite"),
    ],
)
def test_damaged_cells_are_refused(change, words):
    with pytest.raises(ProblemError, match=words):
        mechanism_from_json({**THREE.to_json(), **change})


def test_cells_survive_their_file():
    assert mechanism_from_json(json.loads(json.dumps(THREE.to_json()))) == THREE


# --- the risk, against windows tried one by one -------------------------------------------------------
def brute(problem, mechanism, eps, theta_points=20_001):
    """The best of very many guesses for each release, by summing prior mass over a fine grid of the parameter."""
    (name,) = problem.box.free
    axis = problem.box.axes[name]
    edges = np.unique(np.concatenate([np.linspace(axis.low, axis.high, theta_points), mechanism.edges]))
    middle = 0.5 * (edges[1:] + edges[:-1])
    mass = np.diff(axis.cdf(edges))
    secret = problem.secret_of({name: middle})
    owner = np.searchsorted(mechanism.edges, middle, side="right") - 1
    total = 0.0
    for release in range(len(mechanism.released)):
        share = np.array([sum(p for r, p in choice if r == release) for choice in mechanism.choices])
        weight = mass * share[owner]
        held = weight > 0
        if not held.any():
            continue
        order = np.argsort(secret[held])
        at, below = secret[held][order], np.concatenate([[0.0], np.cumsum(weight[held][order])])
        stop = np.searchsorted(at, at + 2 * eps, side="right")
        total += float((below[stop] - below[:-1]).max())
    return total


def drawn_cells(problem, rng, count=12, releases=4):
    (name,) = problem.box.free
    axis = problem.box.axes[name]
    edges = np.sort(np.concatenate([[axis.low, axis.high], axis.low + axis.width * rng.random(count - 1)]))
    choices = []
    for _ in range(count):
        picked = rng.choice(releases, size=rng.integers(1, releases), replace=False)
        share = rng.dirichlet(np.ones(len(picked)))
        choices.append(tuple((int(r), float(p)) for r, p in zip(picked, share, strict=True)))
    levels = axis.low + axis.width * np.arange(1, releases + 1) / (releases + 1)
    return Cells(parameter=name, edges=tuple(edges), released=tuple(levels), choices=tuple(choices))


CASES = {
    "flat": sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(2, 30)), secret=sv.Mean(), tolerance=1),
    "bent": sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(0.5, 30)), secret=sv.Std(), tolerance=0.2),
    "normal": sv.Problem(
        family=sv.Poisson(),
        prior=sv.Box(rate=sv.Density("norm", (15, 3), low=2, high=30)),
        secret=sv.Mean(),
        tolerance=1,
    ),
    "turning": sv.Problem(
        family=sv.Binomial(trials=20), prior=sv.Box(p=(0.05, 0.95)), secret=sv.Fraction(10), tolerance=0.01
    ),
    "turning, beta": sv.Problem(
        family=sv.Binomial(trials=20),
        prior=sv.Box(p=sv.Density("beta", (2, 5), low=0.05, high=0.95)),
        secret=sv.Std(),
        tolerance=0.1,
    ),
    "spike": sv.Problem(
        family=sv.Poisson(),
        prior=sv.Box(rate=sv.Density("norm", (9, 0.05), low=2, high=30)),
        secret=sv.Mean(),
        tolerance=1,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(4))
def test_the_risk_is_never_below_the_best_guess_and_close_to_it(case, seed):
    problem = CASES[case]
    mechanism = drawn_cells(problem, np.random.default_rng(seed))
    for eps in (0.4 * problem.tolerance, problem.tolerance, 2.5 * problem.tolerance):
        said = accounting.risk(problem, mechanism, tolerance=eps).value
        best = brute(problem, mechanism, eps)
        assert said >= best - 1e-3 * best  # the brute force counts whole steps of its own grid
        assert said <= best + 0.03


def test_even_cells_are_exact_and_say_so():
    problem = CASES["flat"]
    found = accounting.risk(problem, drawn_cells(problem, np.random.default_rng(9)))
    assert found.kind == "exact"
    bent = CASES["bent"]
    assert accounting.risk(bent, drawn_cells(bent, np.random.default_rng(9))).kind == "upper bound"


def test_teeth_that_no_window_holds_together_cost_their_own_mass():
    """Four cells of 2 in a range of 28, two releases of teeth 14 apart: each release costs its larger tooth."""
    problem = CASES["flat"]
    mechanism = Cells(
        parameter="rate", edges=(2.0, 4.0, 16.0, 18.0, 30.0), released=(10.0, 16.0),
        choices=(((0, 1.0),), ((1, 1.0),), ((0, 1.0),), ((1, 1.0),)),
    )  # fmt: skip
    # release 0: two cells of width 2 = 2 eps; release 1: two intervals of 12, a window of 2 in each
    assert accounting.risk(problem, mechanism).value == pytest.approx((2 + 2) / 28)


@pytest.mark.parametrize("case", ["bent", "normal", "turning"])
def test_the_attacker_who_plays_hits_as_often_as_accounted(case):
    from statveil.simulation import play

    problem = CASES[case]
    mechanism = drawn_cells(problem, np.random.default_rng(2), count=20)
    rate = play(problem, mechanism, trials=200_000, rng=np.random.default_rng(0))
    said = accounting.risk(problem, mechanism).value
    assert rate.low - 0.004 <= said  # a learnt guess is a little worse than the best one
    assert rate.rate <= said + 0.004


def test_distortion_is_the_farthest_end_of_a_cell():
    problem = CASES["flat"]
    mechanism = cells([2.0, 10.0, 30.0], [9.0, 20.0], [[(0, 0.5), (1, 0.5)], [(1, 1.0)]])
    assert accounting.distortion(problem, mechanism) == pytest.approx(18.0)  # from 2 to 20


@pytest.mark.parametrize("width", [1e-3, 1e-7, 1e-9, 1e-12, 1e-14])
def test_a_very_narrow_cell_is_counted_in_full(width):
    """Masses .3, .4, .3 on [0, .3], a sliver, and the rest up to 1; the best window starts at 0."""
    from statveil.theory.risk.cells import _best_window

    low, high = np.array([0.0, 0.3, 0.3 + width]), np.array([0.3, 0.3 + width, 1.0])
    mass = np.array([0.3, 0.4, 0.3])
    # from x to x + .5 with x <= .3: (.3 - x) / .3 * .3 + .4 + .3 * (x + .2 - width) / (.7 - width), best at x = 0
    best = 0.3 + 0.4 + 0.3 * (0.2 - width) / (0.7 - width)
    found = _best_window(low, high, mass, 0.5)
    assert best - 1e-12 <= found <= best + 1e-6
