"""Combs, layers and the programme against an attacker of our own: only priors and ``apply`` are used to attack them."""

import copy
import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil import accounting
from statveil.cli.main import run
from statveil.contradictions import contradictions
from statveil.design.methods import choose
from statveil.design.target import MaxDistortion
from statveil.made_plan import Plan
from statveil.mechanisms.comb import Comb

NORMAL = sv.Density("norm", (50, 12), low=0, high=100)


def location(belief, tolerance=1.0):
    return sv.Problem(family=sv.Location(), prior=sv.Box(mean=belief), secret=sv.Mean(), tolerance=tolerance)


GAUSSIAN = sv.Problem(
    family=sv.Gaussian(), prior=sv.Box(mu=(0, 90), sigma=(2, 33)), secret=sv.Quantile(0.9), tolerance=1
)
PLANS = {
    "layered": lambda: sv.plan(location(NORMAL), max_risk=0.3, method="layered", grid=100),
    "layered comb": lambda: sv.plan(location(NORMAL), max_risk=0.3, method="layered-comb", grid=100),
    "optimal": lambda: sv.plan(location(NORMAL), max_risk=0.3, method="optimal", grid=30, release="grid"),
    "optimal counts": lambda: sv.plan(
        sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(1, 20)), secret=sv.Std(), tolerance=0.2),
        max_risk=0.35,
        method="optimal",
        grid=30,
    ),
    "comb of cells": lambda: sv.plan(
        sv.Problem(family=sv.Geometric(), prior=sv.Box(p=(0.2, 0.8)), secret=sv.Mean(), tolerance=0.25),
        max_risk=0.5,
        method="comb",
        grid=60,
    ),
}
COMBS = {
    "range": lambda: sv.plan(location((0, 97)), max_risk=0.23, method="comb"),
    "ragged range": lambda: sv.plan(location((0, 9.7)), max_risk=0.4, method="comb"),
    "far from zero": lambda: sv.plan(location((1e9, 1e9 + 100)), max_risk=0.2, method="comb"),
    "tiny unit": lambda: sv.plan(location((1e-6, 3e-5), 1e-6 / 3), max_risk=0.23, method="comb"),
    "normal": lambda: sv.plan(location(NORMAL), max_risk=0.5, method="comb"),
    # no grid so coarse is as good as a comb, which needs none
    "optimal without a grid": lambda: sv.plan(location(NORMAL), max_risk=0.3, method="optimal", grid=30),
}


@pytest.fixture(scope="module")
def made():
    kept: dict[str, Plan] = {}

    def get(name):
        if name not in kept:
            kept[name] = (PLANS | COMBS)[name]()
        return kept[name]

    return get


def best_window(values, length):
    """Most values in a closed window, and its middle."""
    held = np.searchsorted(values, values + length, side="right") - np.arange(len(values))
    i = int(held.argmax())
    return int(held[i]), 0.5 * (values[i] + values[i + held[i] - 1])


def groups(keys):
    order = np.argsort(keys, kind="stable")
    return order, np.flatnonzero(np.diff(keys[order], prepend=np.nan) != 0)


# --- the stated risk against an attacker that learns from draws and is scored on others -----------------
@pytest.mark.parametrize("name", PLANS)
@pytest.mark.heavy(1)
def test_an_attacker_that_learns_from_draws_meets_the_stated_risk_and_never_more(made, name):
    plan, trials = made(name), 100_000
    (parameter,) = plan.problem.box.free
    rng = np.random.default_rng(7)

    def draw(seed):
        theta = plan.problem.box.axes[parameter].ppf(rng.random(trials))
        released = plan.apply(secret_seed=seed, **{parameter: theta}).released[parameter]
        return released, plan.problem.secret_of({parameter: theta})

    (seen, known), (shown, hidden) = draw(11), draw(12)
    order, first = groups(seen)
    for factor in (0.5, 1.0, 1.3):
        eps = factor * plan.problem.tolerance
        pairs = zip(first, [*first[1:], trials], strict=True)
        guess = np.array([best_window(np.sort(known[order[a:b]]), 2 * eps)[1] for a, b in pairs])
        at = np.minimum(np.searchsorted(seen[order][first], shown), len(first) - 1)
        rate = np.mean((seen[order][first][at] == shown) & (np.abs(guess[at] - hidden) <= eps * (1 + 1e-12)))
        stated = plan.risk_profile([eps])[0][1]
        assert rate <= stated + 4.5 * math.sqrt(stated * (1 - stated) / trials)
        assert rate >= 0.95 * stated - 0.005  # and the statement is not far above the truth


@pytest.mark.parametrize("name", COMBS)
def test_an_attacker_who_sorts_a_continuum_of_releases_into_fine_bins_meets_the_stated_risk(made, name):
    plan, points = made(name), 120_000
    axis = plan.problem.box.axes["mean"]
    theta = axis.ppf((np.arange(points) + 0.5) / points)
    released = plan.apply(mean=theta).released["mean"]
    width = max(plan.spacing / 64, np.ptp(released) / 700)
    order, first = groups(np.floor((released - axis.low) / width))
    for factor in (0.5, 0.95, 1.5, 2.5):  # away from the jumps, where the width of a bin does not matter
        eps = factor * plan.problem.tolerance
        pairs = zip(first, [*first[1:], points], strict=True)
        rate = sum(best_window(np.sort(theta[order[a:b]]), 2 * eps)[0] for a, b in pairs) / points
        assert rate == pytest.approx(plan.risk_profile([eps])[0][1], rel=0.025, abs=0.003)


def test_the_risk_of_a_comb_jumps_exactly_where_a_closed_window_holds_one_tooth_more(made):
    plan = made("range")
    middle, (teeth,) = 0.5 * plan.spacing, {plan.mechanism.teeth}
    base = plan.risk_profile([plan.problem.tolerance])[0][1]
    for held in (1, 2, 3):
        below, above = (plan.risk_profile([held * middle * factor])[0][1] for factor in (1 - 1e-6, 1 + 1e-6))
        assert below == pytest.approx(min(1.0, held * base), rel=1e-6)
        assert above == pytest.approx(min(1.0, (held + 1) * base), rel=1e-6)
    assert teeth * base >= 1 - 1e-6  # no mechanism with so many teeth is better


@pytest.mark.parametrize("name", [*PLANS, *COMBS])
def test_a_larger_tolerance_never_has_a_smaller_risk(made, name):
    plan = made(name)
    profile = [risk for _, risk in plan.risk_profile(plan.problem.tolerance * np.geomspace(0.2, 20, 25))]
    assert all(b >= a * (1 - 2e-3) for a, b in pairwise(profile))
    assert max(profile) <= 1


@pytest.mark.parametrize("high", [1.0, 1.7, 2.0, 3.1])
def test_a_robust_plan_meets_its_target_at_every_tolerance_of_the_range(high):
    plan = sv.plan(location((0, 100)), max_risk=0.21, robust_to=(0.5, high))
    profile = [risk for _, risk in plan.risk_profile([0.5, 0.7, 1.0, 0.999 * high, high])]
    assert max(profile) <= 0.21 * (1 + 1e-7)  # the hair by which teeth stand farther apart than a guess is long
    assert plan.robust_risk == pytest.approx(max(profile), rel=1e-7)


@settings(max_examples=40, deadline=None)
@given(length=st.floats(3, 300), extent=st.floats(1.01, 40))
def test_the_comb_of_a_range_has_the_printed_optimum_for_every_length_and_distortion(length, extent):
    """F = min((n+1) c, max(L/K, L - n E)) from the theory, not from the code; spacings are infima."""
    window = 2.0
    teeth = math.ceil(extent * 2 / window)
    whole = math.floor(length / (teeth * window))
    least = min((whole + 1) * window, max(length / teeth, length - whole * extent * 2)) / length
    edge = min(abs(extent * 2 / window - round(extent * 2 / window)), abs(length / (teeth * window) - whole), 1)
    if edge < 1e-3 or abs(length / (teeth * window) - whole - 1) < 1e-3 or least > 0.999:
        return  # where the hair between the teeth decides
    plan = sv.plan(location((0, length)), max_distortion=extent, method="comb")
    assert plan.distortion <= extent * (1 + 1e-9)
    assert plan.risk == pytest.approx(min(1.0, least), rel=1e-4)


# --- the stated distortion ---------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*PLANS, *COMBS])
def test_no_release_is_farther_than_the_stated_distortion(made, name):
    """W1 is the difference of the means for all of these families."""
    plan = made(name)
    (parameter,) = plan.problem.box.free
    axis = plan.problem.box.axes[parameter]
    edges = np.array([e for e in getattr(plan.mechanism, "edges", ()) if axis.low <= e <= axis.high])
    theta = np.concatenate([np.linspace(axis.low, axis.high, 5001), edges, np.nextafter(edges, axis.low)])
    mean = {"p": lambda p: (1 - p) / p}.get(parameter, lambda value: value)
    worst = max(
        np.max(np.abs(mean(plan.apply(secret_seed=seed, **{parameter: theta}).released[parameter]) - mean(theta)))
        for seed in range(4)
    )
    coarse = 4 * np.spacing(max(abs(axis.low), abs(axis.high))) * 16
    assert 0.9 * plan.distortion <= worst <= plan.distortion * (1 + 1e-9) + coarse


def test_no_release_of_a_box_is_farther_than_stated_not_even_in_its_corners():
    plan = sv.plan(GAUSSIAN, max_risk=0.22, method="comb")
    side = np.linspace(0, 1, 301)
    mu, sigma = (axis.ravel() for axis in np.meshgrid(90 * side, 2 + 31 * side))
    done = plan.apply(mu=mu, sigma=sigma).released
    shift, spread = done["mu"] - mu, np.abs(done["sigma"] - sigma)
    with np.errstate(divide="ignore", invalid="ignore"):  # E|a + b Z|
        ratio = np.where(spread > 0, shift / spread, 0.0)
    erf = np.vectorize(math.erf)
    w1 = spread * math.sqrt(2 / math.pi) * np.exp(-(ratio**2) / 2) + shift * erf(ratio / math.sqrt(2))
    assert 0.9 * plan.distortion <= w1.max() <= plan.distortion * (1 + 1e-9)
    assert np.all(GAUSSIAN.support.contains(done, slack=1e-9))


# --- the last bits -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("low", "high", "eps"), [(0, 100, 1), (0, 1e5, 1), (1e9, 1e9 + 100, 0.01), (1e6, 1e6 + 1e-3, 1e-5), (-50, 50, 0.7)]
)
def test_the_last_bits_of_a_release_do_not_tell_its_tooth(low, high, eps):
    """Originals in steps of a rounding error around every tooth: which tooth led to each single released number?"""
    plan = sv.plan(location((low, high), eps), max_risk=0.2, method="comb")
    rng = np.random.default_rng(3)
    caught = total = 0
    for start in low + (high - low) * rng.random(12):
        block = plan.mechanism.bin_of({"mean": start})
        teeth = start + block["spacing"] * np.arange(-6, 7)
        grain = max(plan.spacing * 2.0**-40, max(abs(low), abs(high)) * 2.0**-49)
        inside = (teeth > max(low, block["low"]) + 99 * grain) & (teeth < min(high, block["high"]) - 99 * grain)
        near = (teeth[inside][:, None] + grain * np.linspace(-6, 6, 1201)).ravel()
        released = plan.apply(mean=near).released["mean"]
        middle = np.abs(released - np.median(released)) <= 3 * grain
        for value in np.unique(released[middle]):
            same = np.sort(near[released == value])
            caught, total = caught + best_window(same, 2 * eps)[0], total + len(same)
    assert caught / total == pytest.approx(plan.risk, rel=0.02)


def test_seeds_give_independent_chances_to_every_parameter_and_every_seed(made):
    """With one chance for all, releases of equal parameters would all agree."""
    plan = made("layered")
    cell = max(plan.mechanism.choices, key=len)
    index = plan.mechanism.choices.index(cell)
    theta = 0.5 * (plan.mechanism.edges[index] + plan.mechanism.edges[index + 1])
    repeated = np.full(4000, theta)
    one, two = (plan.apply(secret_seed=seed, mean=repeated).released["mean"] for seed in (5, 6))
    assert np.array_equal(one, plan.apply(secret_seed=5, mean=repeated).released["mean"])
    for release, share in cell:
        value = plan.mechanism.released[release]
        sd = math.sqrt(share * (1 - share) / len(repeated))
        assert abs(np.mean(one == value) - share) < 5 * sd + 1e-12
    agree = sum(share**2 for _, share in cell)
    assert abs(np.mean(one == two) - agree) < 5 * math.sqrt(agree / len(repeated))
    with pytest.raises(sv.ProblemError, match="seed"):
        plan.apply(mean=theta)


# --- certificates ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("belief", [(0, 16), sv.Density("norm", (8, 3), low=0, high=16)], ids=["range", "normal"])
def test_nothing_on_the_same_cells_beats_the_certificate(belief):
    problem = location(belief)
    best = choose(problem, MaxDistortion(2.6), method="optimal", cells=16, compared=False)
    proof = best.certificate
    assert proof.least_risk <= accounting.risk(problem, best.mechanism).value * (1 + 1e-9)
    for method in ("layered", "layered-comb", "dynamic", "greedy"):
        other = choose(problem, MaxDistortion(proof.distortion), method=method, cells=16).mechanism
        assert accounting.distortion(problem, other) <= proof.distortion * (1 + 1e-9)
        assert accounting.risk(problem, other).value >= proof.least_risk * (1 - 1e-6)
    # a comb needs no cells: where it goes below what is proven of them, a plan does not show the proof
    plan = sv.plan(problem, max_distortion=2.6, method="optimal", grid=16)
    assert plan.risk <= accounting.risk(problem, best.mechanism).value * (1 + 1e-9)
    assert (plan.certificate == proof) == (plan.risk >= proof.least_risk * (1 - 1e-9))
    assert plan.certificate in (proof, None)


# --- plan files ------------------------------------------------------------------------------------------
NEW_KEYS = ("efficiency", "optimum", "efficiency_optimum", "certificate", "robust_to", "robust_risk", "randomised")


@pytest.mark.parametrize("name", [*PLANS, "range", "normal", "optimal without a grid"])
def test_a_plan_survives_its_file_and_an_older_one_without_the_new_keys(made, name):
    plan = made(name)
    data = json.loads(json.dumps(plan.to_json()))
    assert Plan.from_json(data) == plan
    assert not contradictions(plan)
    old = Plan.from_json({key: value for key, value in data.items() if key not in NEW_KEYS})
    assert (old.risk, old.distortion, old.mechanism) == (plan.risk, plan.distortion, plan.mechanism)
    assert (old.optimum, old.certificate, old.robust_to) == (None, None, None)
    assert not contradictions(old)


def damaged(plan, change):
    data = copy.deepcopy(json.loads(json.dumps(plan.to_json())))
    change(data)
    return Plan.from_json(data)


def _swap_releases(data):
    released = data["mechanism"]["released"]
    released[0], released[-1] = released[-1], released[0]


def _one_release(data):
    """Every cell sent to one release alone: less is left open."""
    data["mechanism"]["choices"] = [[[choice[0][0], 1.0]] for choice in data["mechanism"]["choices"]]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("range", lambda data: data["mechanism"].update(window=data["mechanism"]["window"] * 0.9)),
        ("range", lambda data: data["mechanism"].update(teeth=2)),
        ("range", lambda data: data["mechanism"]["keep"][0].update(at_least=-50.0)),
        ("range", lambda data: data.update(risk=data["risk"] * 0.9)),
        ("range", lambda data: data.update(distortion=data["distortion"] * 0.9)),
        ("range", lambda data: data["problem"].update(tolerance=1.1)),
        ("layered", lambda data: data.update(risk=data["risk"] * 0.99)),
        ("layered", lambda data: data["mechanism"]["edges"].__setitem__(0, -1.0)),
        ("layered", _swap_releases),
        ("layered", _one_release),
        ("layered comb", _one_release),
    ],
)
def test_a_plan_file_that_was_changed_is_contradicted(made, name, change):
    assert contradictions(damaged(made(name), change))


@pytest.mark.parametrize(
    "choices", [[[0, -0.5], [1, 1.5]], [[0, 0.5]], [[0, 0.5], [9_999, 0.5]], [[0.5, 1.0]], [[True, 1.0]], []]
)
def test_a_cell_with_impossible_choices_is_refused(made, choices):
    with pytest.raises(sv.ProblemError):
        damaged(made("layered"), lambda data: data["mechanism"]["choices"].__setitem__(3, choices))


# --- releases --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["range", "layered", "layered comb", "optimal"])
def test_a_release_repeats_with_its_record_and_its_card_tells_neither_seed_nor_statistic(made, name):
    plan = made(name)
    column = np.random.default_rng(1).normal(51.2345, 7, 2000)
    done = sv.release(plan, column, details=True)
    assert np.array_equal(sv.release(plan, column, record=done.record), done.table)
    text = json.dumps(done.card)
    assert done.record["seed"] not in text
    assert repr(done.record["estimates"]["secret"])[:12] not in text
    off = plan.release_mode.wander(plan.problem)
    assert done.table.mean() == pytest.approx(done.record["released"]["secret"], abs=1e-9 + off)
    assert np.ptp(done.table - column) < 1e-6 + 2 * off  # a shift, by at most the distortion
    assert abs(done.table.mean() - column.mean()) <= plan.distortion * (1 + 1e-9) + off
    possible = plan.mechanism.possible({"mean": float(column.mean())})["mean"]
    assert np.min(np.abs(possible - done.table.mean())) < 1e-9 + off
    assert ("drawn at random" in " ".join(done.card["assumptions"])) == plan.randomised


# --- the command line ------------------------------------------------------------------------------------
LINE = ["plan", "--family", "location", "--prior", "mean=0:100", "--secret", "mean", "--tolerance", "1"]


@pytest.mark.parametrize(
    "options",
    [
        *(["--max-risk", "0.2", "--robust-to", text] for text in ("1", "2:1", ":", "0:2", "1:nan", "0.5:0.9", "1:2:3")),
        *(["--max-risk", "0.2", "--method", "layered", "--grid", text] for text in ("-1", "1", "1.5", "100000000")),
        ["--max-risk", "0.2", "--method", "combs"],
        ["--bin", "3", "--method", "comb"],
        ["--max-risk", "0.2", "--method", "comb", "--slope", "1"],
        ["--max-risk", "0.2", "--method", "layered", "--known", "step=1"],
        ["--max-distortion", "0.5", "--method", "comb"],
        ["--max-risk", "0.001", "--method", "comb"],
    ],
    ids=" ".join,
)
def test_bad_options_end_with_one_sentence_and_exit_code_2(options, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["statveil", *LINE, *options])
    with pytest.raises(SystemExit) as ended:
        run()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1
    assert said.err.startswith("statveil: ")


# --- narrow beliefs beside a range ------------------------------------------------------------------------
def test_a_narrow_belief_is_not_missed_by_the_nodes():
    """One release a line that crosses the peak: a window of .5 catches most of a normal of sd .2 / .67 along it."""
    narrow = sv.Density("norm", (86.42, 0.2), low=0, high=200)
    problem = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=narrow, sigma=(2, 33)), secret=sv.Quantile(0.9), tolerance=0.5
    )
    direction = {"mu": 0.67, "sigma": 1.0}
    window = accounting.hit_window(problem, direction, 0.5) * (1 + 1e-6)
    comb = Comb(
        along="sigma", coordinate={"sigma": 1.0}, direction=direction, window=window, teeth=61, extent=31.0,
        keep=problem.support,
    )  # fmt: skip
    middle = math.erf(0.5 * window / (0.2 / 0.67) / math.sqrt(2))
    assert accounting.risk(problem, comb).value >= 0.9 * middle


def test_a_very_narrow_belief_has_a_plan():
    narrow = sv.Density("norm", (5e5, 3), low=0, high=1e6)
    problem = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=narrow, sigma=(2, 33)), secret=sv.Quantile(0.9), tolerance=0.2
    )
    plan = sv.plan(problem, max_risk=0.22, method="comb")
    assert sv.simulate(plan, trials=20_000, seed=1).low <= plan.risk <= 0.22


@pytest.mark.parametrize("method", ["comb", "interval"])
def test_a_peak_inside_a_wide_table_is_counted(method):
    """Half of the belief sits in a peak of width 1 in a range of 100,000, which nodes would step over."""
    s = 40_000.123
    table = sv.Tabulated([0, s, s + 0.5, s + 1, 1e5], [1, 1, 2e5, 1, 1])
    problem = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=table, sigma=(2, 33)), secret=sv.Quantile(0.9), tolerance=0.5
    )
    plan = sv.plan(problem, max_risk=0.3, method=method)
    rate = sv.simulate(plan, trials=20_000, seed=1)
    assert rate.low <= plan.risk <= 0.3
    assert rate.rate >= 0.28  # the attacker does see the peak


# --- what a changed file says of itself ---------------------------------------------------------------------
@pytest.mark.parametrize(
    "change",
    [
        {"gamma": 0.1},
        {"lower_bound": -1.0},
        {"lower_bound": 1e3},
        {"optimum": 1e3},
        {"optimum_kind": "perfect"},
        {"method": "interval"},
        {"certificate": {"cells": 10, "distortion": 1.0, "least_risk": 1.2}},
    ],
)
def test_changed_numbers_beside_the_risk_are_noticed(change):
    problem = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 40)), secret=sv.Mean(), tolerance=1)
    data = sv.plan(problem, max_risk=0.3, method="comb").to_json()
    assert contradictions(sv.Plan.from_json({**data})) == []
    assert contradictions(sv.Plan.from_json({**data, **change}))


def test_the_closed_optimum_beats_a_coarse_grid():
    problem = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 40)), secret=sv.Mean(), tolerance=1)
    plan = sv.plan(problem, max_risk=0.3, method="optimal", grid=40)
    assert plan.optimum_kind == "exact"
    assert plan.optimum == pytest.approx(3.0, abs=1e-6)  # four teeth, three windows of 2, halved
    for bad in (0, -5, 1):
        with pytest.raises(sv.ProblemError, match="grid"):
            sv.plan(problem, max_risk=0.3, grid=bad)


@pytest.mark.parametrize("below", [0.0, 1e-15, 1e-12, 7e-10, 1.1e-9, 1e-6])
def test_a_mean_a_hair_below_an_edge_moves_no_step_too_far(below):
    problem = sv.Problem(
        family=sv.Gaussian(),
        prior=sv.Box(mu=(10, 50), sigma=(1, 10)),
        secret=sv.Mean(),
        tolerance=0.5,
        known=sv.Structure(step=1),
    )
    plan = sv.plan(problem, max_risk=0.3)
    edges = plan.mechanism.bins.edges()[1:-1]
    near = edges * (1 - 1e-16) - below
    released = plan.apply(mu=near, sigma=np.full(len(near), 3.0)).released["mu"]
    assert len(near) > 3
    assert np.all(np.abs(released - near) <= plan.distortion + 1e-9)
