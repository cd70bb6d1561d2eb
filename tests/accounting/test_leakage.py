"""Leakage without a prior: against linear programmes over all priors, which know nothing of separated sets."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import statveil as sv
from statveil.accounting.leakage import known_line, prior_free
from statveil.accounting.telling import left_open
from statveil.mechanisms.cells import Cells
from statveil.mechanisms.partition import Partition
from statveil.theory.covering import guesses_for_union
from statveil.theory.prior_distance import prior_distance
from statveil.theory.separated import in_order, in_two_chains, served

pytestmark = pytest.mark.usefixtures("no_optimum")


def location(tolerance=1.0, prior=(0.0, 100.0), known=None):
    return sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=prior),
        secret=sv.Mean(),
        tolerance=tolerance,
        known=sv.Structure() if known is None else known,
    )


def worst_prior(secrets, chances, window):
    """max over priors of sum_y max_w sum_{g in w} pi P(y|.), every window of prior mass at most 1: by programmes.

    For each choice of one window per release the objective is linear in the prior; the largest of all choices is the
    supremum of risk / risk without a release. Windows are closed.
    """
    secrets = np.asarray(secrets, dtype=float)
    windows = {tuple(np.flatnonzero((secrets >= s) & (secrets <= s + window))) for s in secrets}
    rows = np.array([[float(i in w) for i in range(len(secrets))] for w in windows])
    best = 0.0
    for choice in itertools.product(windows, repeat=chances.shape[1]):
        value = np.zeros(len(secrets))
        for release, held in enumerate(choice):
            value[list(held)] += chances[list(held), release]
        found = linprog(-value, A_ub=rows, b_ub=np.ones(len(rows)), bounds=(0, None))
        best = max(best, -found.fun)
    return best


def separated_sets(secrets, chances, window):
    best = 0.0
    for count in range(1, len(secrets) + 1):
        for chosen in itertools.combinations(range(len(secrets)), count):
            at = np.sort(np.asarray(secrets)[list(chosen)])
            if np.all(np.diff(at) > window):
                best = max(best, float(chances[list(chosen)].max(axis=0).sum()))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_the_theorem_against_programmes_over_all_priors(seed):
    rng = np.random.default_rng(seed)
    points, releases = int(rng.integers(3, 6)), int(rng.integers(2, 4))
    secrets = np.sort(rng.uniform(0, 5, points))
    if seed % 2:
        chances = np.eye(releases)[rng.integers(0, releases, points)]
    else:
        chances = rng.dirichlet(np.ones(releases), points)
    window = float(rng.uniform(0.2, 3))
    assert worst_prior(secrets, chances, window) == pytest.approx(separated_sets(secrets, chances, window), abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(
    cuts=st.lists(st.integers(1, 59), min_size=1, max_size=7, unique=True),
    window=st.integers(1, 15),
)
def test_bins_are_counted_as_the_best_separated_points_of_a_fine_grid(cuts, window):
    edges = np.array([0, *sorted(cuts), 60], dtype=float)
    problem = location(tolerance=(window - 0.5) / 2, prior=(0.0, 60.0))
    bins = Partition(parameter="mean", edges=tuple(edges), released=tuple(0.5 * (edges[1:] + edges[:-1])))
    found = prior_free(problem, left_open(problem, [bins]))
    # points that are pushed to the left lie at multiples of one half; a hair more than a window apart is as good
    at = np.arange(0, 60, 0.5)
    owner = np.searchsorted(edges, at, side="right") - 1
    length = np.ones(len(at))  # longest chain that ends here; bins are in order
    for i in range(len(at)):
        before = (at <= at[i] - (window - 0.5)) & (owner < owner[i])
        length[i] = 1 + max(length[before], default=0.0)
    assert found.kind == "exact"
    assert 2**found.value == pytest.approx(length.max())


def test_ten_bins_of_ten_tolerances_and_a_comb():
    """The theory's numbers: 3.32 of 5.64 bits, and all of them for a comb."""
    (bins,) = sv.leakage(sv.plan(location(), bin=10.0)).secrets
    assert (bins.prior_free.value, bins.prior_free.kind) == (pytest.approx(math.log2(10)), "exact")
    assert bins.published == pytest.approx(math.log2(50))
    assert bins.known_line is None
    (comb,) = sv.leakage(sv.plan(location(), max_risk=0.2, method="comb")).secrets
    assert comb.prior_free.value == pytest.approx(math.log2(50))
    assert comb.known_line.value == pytest.approx(math.log2(10))
    assert math.isinf(comb.maximal.value)
    assert math.isinf(comb.mutual_information.value)
    step = sv.plan(location(known=sv.Structure(step=0.5)), bin=10.0)
    (steps,) = sv.leakage(step).secrets
    assert steps.prior_free.value == pytest.approx(math.log2(50))


def test_a_gaussian_quantile_in_both_readings():
    """The theory's numbers: (a) 5.81 and (b) 2.32 bits; (b) again by looking at many lines."""
    problem = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(0, 70), sigma=(5, 30)), secret=sv.Quantile(0.95), tolerance=1
    )
    plan = sv.plan(problem, max_risk=0.2)
    (found,) = sv.leakage(plan).secrets
    assert found.prior_free.value == pytest.approx(math.log2(56))
    assert found.known_line.kind == "exact"
    assert found.known_line.value == pytest.approx(2.32, abs=0.01)
    told = plan.mechanism.to_json()
    edges = plan.mechanism.bins.edges()
    rng = np.random.default_rng(1)
    most = 0
    names = ("mu", "sigma")
    direction = np.array([told["direction"].get(n, 0.0) for n in names])
    coordinate = np.array([told["coordinate"].get(n, 0.0) for n in names])
    slope = abs(direction @ [1.0, 1.6448536269514722])
    for point in rng.uniform((0, 5), (70, 30), (3_000, 2)):
        with np.errstate(divide="ignore"):
            reach = np.sort(np.stack([((0, 5) - point) / direction, ((70, 30) - point) / direction]), axis=0)
        low, high = coordinate @ point + reach[0].max(), coordinate @ point + reach[1].min()
        starts, stops = np.clip(edges[:-1], low, high), np.clip(edges[1:], low, high)
        kept = stops > starts
        most = max(most, int(served(starts[kept], stops[kept], 2 / slope).sum()))
    assert most == round(2**found.known_line.value)


def as_jobs(jobs, window):
    """The largest number of intervals with points of their own more than a window apart, by all orders."""
    for count in range(len(jobs), 0, -1):
        for order in itertools.permutations(jobs, count):
            free = -math.inf
            for low, high in order:
                at = max(low, free)
                if at >= high - 1e-9:
                    break
                free = at + window
            else:
                return count
    return 0


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_two_chains_against_all_orders(data):
    def chain():
        ends = sorted(data.draw(st.lists(st.integers(0, 12), min_size=2, max_size=4, unique=True)))
        return [(float(a), float(b)) for a, b in itertools.pairwise(ends)]

    one, two, window = chain(), chain(), data.draw(st.sampled_from([0.5, 1.0, 1.7, 2.5, 4.0]))
    assert in_two_chains(one, two, window) == as_jobs([*one, *two], window)
    low, high = np.array(one).T
    assert in_order(low[None], high[None], window)[0] == as_jobs(one, window)


def test_a_secret_that_turns():
    """The standard deviation of a binomial rises and falls: jobs on both sides of one half."""
    problem = sv.Problem(family=sv.Binomial(trials=30), prior=sv.Box(p=(0.1, 0.9)), secret=sv.Std(), tolerance=0.05)
    edges = (0.1, 0.2, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9)
    bins = Partition(parameter="p", edges=edges, released=tuple(np.add(edges[1:], edges[:-1]) / 2))
    std = lambda p: math.sqrt(30 * p * (1 - p))  # noqa: E731
    jobs = [
        (min(std(a), std(b)), std(0.5) if a < 0.5 < b else max(std(a), std(b))) for a, b in itertools.pairwise(edges)
    ]
    found = prior_free(problem, left_open(problem, [bins]))
    assert found.kind == "exact"
    assert 2**found.value == pytest.approx(as_jobs(jobs, 0.1))
    wide = sv.Problem(family=sv.Binomial(trials=30), prior=sv.Box(p=(0.1, 0.9)), secret=sv.Std(), tolerance=0.2)
    assert 2 ** prior_free(wide, left_open(wide, [bins])).value == pytest.approx(as_jobs(jobs, 0.4))


@pytest.mark.parametrize("tolerance", [0.4, 1.6, 4.0])
def test_cells_that_draw_are_exact_or_bounded(tolerance):
    rng = np.random.default_rng(3)
    problem = location(tolerance, prior=(0.0, 12.0))
    edges = (0.0, 2.0, 3.0, 7.0, 9.0, 12.0)
    chances = rng.dirichlet(np.ones(3), len(edges) - 1)
    chances = chances / chances.sum(axis=1, keepdims=True)
    cells = Cells(
        parameter="mean",
        edges=edges,
        released=(1.0, 5.0, 9.0),
        choices=tuple(tuple(enumerate(row.tolist())) for row in chances),
    )
    found = prior_free(problem, left_open(problem, [cells]))
    if tolerance == 0.4:  # every cell has a point of its own
        assert 2**found.value == pytest.approx(chances.max(axis=0).sum())
        assert found.kind == "exact"
        return
    at = np.unique([start + m * (2 * tolerance + 1e-6) for start in edges[:-1] for m in range(5)])
    at = at[at < 12]
    owner = np.searchsorted(edges, at, side="right") - 1
    # all separated sets of points that are pushed to the left
    best = 0.0

    def extend(last, top):
        nonlocal best
        best = max(best, float(top.sum()))
        for i in np.flatnonzero(at > last + 2 * tolerance):
            extend(at[i], np.maximum(top, chances[owner[i]]))

    extend(-math.inf, np.zeros(3))
    assert 2**found.value >= best - 1e-9
    if found.kind == "exact":
        assert 2**found.value == pytest.approx(best, abs=1e-9)


PLANS = {
    "bins": (location(), {"bin": 7.0}),
    "density": (location(prior=sv.Density("norm", (40.0, 20.0), low=0.0, high=100.0)), {"bin": 12.0}),
    "chance": (location(), {"max_risk": 0.2, "method": "layered", "grid": 40}),
    "counts": (
        sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(2, 30)), secret=sv.Std(), tolerance=0.1),
        {"max_risk": 0.3, "method": "dynamic", "grid": 60},
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_order_of_the_measures(name):
    problem, target = PLANS[name]
    (found,) = sv.leakage(sv.plan(problem, **target)).secrets
    bits = [found.min_entropy.value, found.prior_free.value, found.maximal.value]
    assert bits == sorted(bits)
    assert found.prior_free.value <= found.published + 1e-12


def test_several_plans_and_the_same_again():
    ten, seven = (sv.plan(location(), bin=width) for width in (10.0, 7.0))
    alone = [sv.leakage(plan).bits for plan in (ten, seven)]
    both = sv.leakage([ten, seven]).bits
    assert sv.leakage([ten, ten]).bits == alone[0]
    assert max(alone) <= both <= math.log2(2 ** alone[0] + 2 ** alone[1] - 1) + 1e-12
    cuts = np.unique(np.concatenate([np.arange(0, 101, 10.0), np.arange(0, 100, 7.0)]))
    assert 2**both == pytest.approx(served(cuts[:-1], cuts[1:], 2.0).sum())


# --- other measures -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["bins", "density", "chance"])
def test_mutual_information_and_candidates_from_draws(name):
    problem, target = PLANS[name]
    plan = sv.plan(problem, **target)
    (found,) = sv.leakage(plan).secrets
    rng = np.random.default_rng(5)
    at = problem.sample(200_000, rng)["mean"]
    released = np.asarray(plan.mechanism.release({"mean": at}, rng.random(len(at)))["mean"])
    values, which = np.unique(released, return_inverse=True)
    share = np.bincount(which) / len(at)
    entropy = -np.sum(share * np.log2(share))
    slots = np.floor(at / 0.5).astype(int)  # H(Y | parameter), from fine slots of the parameter
    given = sum(
        -np.sum(p[p > 0] * np.log2(p[p > 0])) * (slots == s).mean()
        for s in np.unique(slots)
        for p in [np.bincount(which[slots == s]) / (slots == s).sum()]
    )
    assert found.mutual_information.value == pytest.approx(entropy - given, abs=0.15 if name == "density" else 0.06)
    needed = []
    for i in range(len(values)):
        held = np.sort(at[which == i])
        gaps = np.flatnonzero(np.diff(held) > 0.5)
        low, high = held[np.r_[0, gaps + 1]], held[np.r_[gaps, len(held) - 1]]
        needed.append(guesses_for_union(low, high, 2 * problem.tolerance))
    assert found.candidates.mean == pytest.approx(float(np.sum(share * needed)), rel=0.03)
    assert found.candidates.least >= min(needed)


def test_two_parameters_in_bits_and_candidates_from_draws():
    problem = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(0, 70), sigma=(5, 30)), secret=sv.Quantile(0.95), tolerance=1
    )
    plan = sv.plan(problem, max_risk=0.2)
    (found,) = sv.leakage(plan).secrets
    draws = problem.sample(200_000, np.random.default_rng(7))
    x = np.array([draws["mu"], draws["sigma"]])
    told = plan.mechanism.to_json()
    direction = np.array([told["direction"].get(n, 0.0) for n in ("mu", "sigma")])
    coordinate = np.array([told["coordinate"].get(n, 0.0) for n in ("mu", "sigma")])
    rate = abs(direction @ [1.0, 1.6448536269514722])
    edges = plan.mechanism.bins.edges()
    at = coordinate @ x
    i = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(edges) - 2)
    with np.errstate(divide="ignore"):
        reach = np.sort(
            np.stack(
                [
                    (np.array([[0.0], [5.0]]) - x) / direction[:, None],
                    (np.array([[70.0], [30.0]]) - x) / direction[:, None],
                ]
            ),
            axis=0,
        )
    low, high = at + reach[0].max(axis=0), at + reach[1].min(axis=0)
    length = rate * (np.minimum(edges[i + 1], high) - np.maximum(edges[i], low))
    long, short = max(70, 25 * 1.6448536269514722), min(70, 25 * 1.6448536269514722)
    whole = math.log2(long) + short / (2 * long * math.log(2))
    assert found.mutual_information.value == pytest.approx(whole - np.log2(length).mean(), abs=0.01)
    needed = np.ceil(length / 2)
    assert found.candidates.mean == pytest.approx(needed.mean(), rel=0.01)
    assert found.candidates.certain == pytest.approx((needed == 1).mean(), abs=0.003)
    assert found.candidates.least == needed.min()


def test_a_comb_leaves_its_teeth():
    plan = sv.plan(location(), max_risk=0.2, method="comb")
    found = sv.compose([plan]).secrets[0].to_json()
    assert found["candidates_mean"] == pytest.approx(5, abs=0.01)
    bins = sv.compose([sv.plan(location(), bin=10.0)]).secrets[0].to_json()
    assert (bins["candidates_least"], bins["candidates_mean"]) == (5, 5.0)


def test_telling_two_priors_apart():
    plan = sv.plan(location(), bin=10.0)
    normal = sv.Density("norm", (40.0, 20.0), low=0.0, high=100.0)
    (found,) = sv.leakage(plan, against=[normal]).secrets
    rng = np.random.default_rng(2)
    counts = [
        np.histogram(axis.ppf(rng.random(400_000)), bins=np.arange(0, 101, 10))[0] / 400_000
        for axis in (sv.Flat(0.0, 100.0), normal)
    ]
    assert found.advantage.value == pytest.approx(0.5 * np.abs(counts[0] - counts[1]).sum(), abs=0.004)
    for values, told in (((33, 37), 0.0), ((33, 43), 1.0)):
        (known,) = sv.leakage(plan, against=values).secrets
        assert (known.advantage.value, known.advantage.right) == (told, 0.5 * (1 + told))
    comb = sv.plan(location(), max_risk=0.2, method="comb")
    (found,) = sv.leakage(comb, against=[normal]).secrets
    apart = prior_distance(sv.Flat(0.0, 100.0), normal)
    assert found.advantage.value == apart.total_variation
    assert found.advantage.kind == "upper bound"


def test_releases_that_tell_everything():
    problem = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(0, 70), sigma=(5, 30)), secret=sv.Quantile(0.95), tolerance=1
    )
    plans = [sv.plan(problem, max_risk=risk) for risk in (0.2, 0.5)]
    (found,) = sv.leakage(plans).secrets
    assert found.prior_free.value == pytest.approx(math.log2(56))
    assert found.candidates.certain == 1.0
    assert known_line(problem, left_open(problem, [plan.mechanism for plan in plans])) is None


def test_two_categories_have_one_line_and_more_have_many():
    two, four = (
        sv.leakage(
            sv.plan(sv.Problem(family=sv.Categorical(categories=c), secret=sv.Fraction(0), tolerance=0.02), bin=0.125)
        ).secrets[0]
        for c in (2, 4)
    )
    assert (two.prior_free.value, two.maximal.value, two.known_line) == (3.0, 3.0, None)
    assert four.known_line.value == 3.0
    assert four.prior_free.value == pytest.approx(math.log2(25))
    assert math.isinf(four.maximal.value)


# --- command line ---------------------------------------------------------------------------------
def test_the_command(cli, tmp_path):
    file = tmp_path / "plan.json"
    sv.save_plan(sv.plan(sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1), bin=10), file)
    code, out, _ = cli("leakage", file, "--json", "--against", "20:60")
    told = json.loads(out)
    assert code == 0
    assert told["bits"] == pytest.approx(math.log2(10))
    assert told["secrets"][0]["advantage"]["value"] == pytest.approx(0.6)
    code, out, _ = cli("leakage", file, file)
    assert code == 0
    assert "3.322" in out
    assert "exact" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--against", "50:150"], "range that the plan is for"),
        (["--against", "x"], "must be a number"),
        (["--against", "1", "--against", "2", "--against", "3"], "two priors"),
        (["--against", "mu=1:2"], "other prior"),
    ],
)
def test_the_command_refuses(cli, tmp_path, arguments, says):
    file = tmp_path / "plan.json"
    sv.save_plan(sv.plan(sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1), bin=10), file)
    code, out, err = cli("leakage", file, *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
