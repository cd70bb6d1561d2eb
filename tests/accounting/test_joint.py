"""Several releases together: against posteriors that are spelled out, which share nothing with the accounting."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.mechanisms.cells import Cells

pytestmark = pytest.mark.usefixtures("no_optimum")

NODES = 40_000


def location(tolerance=1.0, prior=(0.0, 100.0), known=None):
    return sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=prior),
        secret=sv.Mean(),
        tolerance=tolerance,
        known=sv.Structure() if known is None else known,
    )


def exponential(secret, tolerance):
    return sv.Problem(family=sv.Exponential(), prior=sv.Box(scale=(10, 100)), secret=secret, tolerance=tolerance)


def poisson(prior=(2.0, 30.0)):
    return sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=prior), secret=sv.Std(), tolerance=0.1)


NORMAL = sv.Density("norm", (40.0, 20.0), low=0.0, high=100.0)


def nodes_of(problem):
    """Points in the middles of equal parts of the range, their mass, and their secrets."""
    ((name, axis),) = problem.box.axes.items()
    at = axis.low + axis.width * (np.arange(NODES) + 0.5) / NODES
    edges = axis.low + axis.width * np.arange(NODES + 1) / NODES
    return name, at, np.diff(axis.cdf(edges)), np.asarray(problem.position_of({name: at}))


def chances(plan, name, at):
    """P(release | point), one column for each release, from the plan file's own numbers."""
    told = plan.mechanism.to_json()
    if told["kind"] == "cells":
        cell = np.clip(np.searchsorted(told["edges"], at, side="right") - 1, 0, len(told["choices"]) - 1)
        found = np.zeros((len(at), len(told["released"])))
        for i, choice in enumerate(told["choices"]):
            for release, share in choice:
                found[cell == i, release] = share
        return found
    released = np.round(np.asarray(plan.mechanism.release({name: at})[name]), 9)
    return (released[:, None] == np.unique(released)).astype(float)


def best_window(secrets, mass, window, *, closed=False):
    order = np.argsort(secrets)
    secrets, total = secrets[order], np.concatenate([[0.0], np.cumsum(mass[order])])
    # nodes stand for the parts around them: a window as long as n parts holds n of them, teeth at both ends count
    last = np.searchsorted(secrets, secrets + window * (1 + 1e-9 if closed else 1 - 1e-9), side="right")
    return float((total[last] - total[:-1]).max())


def one_number(labels):
    """One number for each combination of labels (NumPy 2.0 alone gives `inverse` a second axis)."""
    return np.unique(np.stack(labels), axis=1, return_inverse=True)[1].ravel()


def spelled_out(problem, plans):
    """The joint risk by the posterior of every joint release, on a fine grid."""
    name, at, mass, secrets = nodes_of(problem)
    tables = [chances(plan, name, at) for plan in plans]
    risk = 0.0
    for columns in product(*(range(table.shape[1]) for table in tables)):
        weight = mass * math.prod(table[:, i] for table, i in zip(tables, columns, strict=True))
        held = weight > 0
        if held.any():
            risk += best_window(secrets[held], weight[held], 2 * problem.tolerance)
    return risk


PAIRS = {
    "bins and bins": (location(), [{"bin": 10.0}, {"bin": 7.0}]),
    "three bins": (location(), [{"bin": 10.0}, {"bin": 7.0}, {"bin": 13.0}]),
    "bins, density": (location(prior=NORMAL), [{"bin": 10.0}, {"bin": 7.0}]),
    "bins and partition": (location(prior=NORMAL), [{"bin": 12.0}, {"max_risk": 0.2, "method": "dynamic", "grid": 60}]),
    "bins and chance": (location(), [{"bin": 10.0}, {"max_risk": 0.2, "method": "layered", "grid": 50}]),
    "scale": (exponential(sv.Quantile(0.9), 2.0), [{"max_risk": 0.2}, {"max_risk": 0.15}]),
    "counts": (poisson(), [{"max_risk": m, "method": "dynamic", "grid": 60} for m in (0.3, 0.25)]),
    "counts, greedy": (poisson(), [{"max_risk": 0.4, "method": m, "grid": 80} for m in ("greedy", "dynamic")]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_joint_risk_is_that_of_the_posteriors(name):
    problem, targets = PAIRS[name]
    plans = [sv.plan(problem, **target) for target in targets]
    found = sv.compose(plans)
    truth = spelled_out(problem, plans)
    assert truth - 5e-4 <= found.risk <= truth + 1e-3
    assert found.risk >= max(plan.risk for plan in plans) - 1e-9


@settings(max_examples=40, deadline=None)
@given(widths=st.lists(st.floats(2.5, 60.0), min_size=2, max_size=4), tolerance=st.floats(0.2, 3.0))
def test_bins_of_neighbours_lie_between_the_largest_and_the_sum(widths, tolerance):
    problem = location(tolerance)
    plans = [sv.plan(problem, bin=width) for width in widths]
    found = sv.compose(plans)
    cuts = np.unique(np.concatenate([[0.0, 100.0], *(np.arange(0, 100, width) for width in widths)]))
    exact = float(np.minimum(np.diff(cuts), 2 * tolerance).sum()) / 100
    assert found.risk == pytest.approx(min(1.0, exact), abs=1e-9)
    assert max(plan.risk for plan in plans) - 1e-9 <= found.risk <= sum(plan.risk for plan in plans) + 1e-9
    # a hit is closed: cells as long as a window are certain, up to the rounding of their ends
    certain = float(np.diff(cuts)[np.diff(cuts) <= 2 * tolerance + 1e-9].sum()) / 100
    assert found.secrets[0].certain == pytest.approx(certain, abs=1e-9)


@pytest.mark.parametrize("method", ["interval", "comb", "layered", "dynamic", "greedy", "optimal"])
def test_the_same_plan_again_adds_exactly_nothing(method):
    plan = sv.plan(
        location(),
        max_risk=0.25,
        method=method,
        **({"grid": 40} if method in ("layered", "dynamic", "greedy", "optimal") else {}),
    )
    again = sv.compose([plan, plan, plan])
    assert again.risk == plan.risk
    assert again.different == 1


def test_a_finer_plan_says_all_that_a_coarser_one_does():
    fine, coarse = (sv.plan(location(), bin=width) for width in (10.0, 20.0))
    assert sv.compose([fine, coarse]).risk == pytest.approx(fine.risk, abs=1e-9)


def test_bins_of_ten_and_seven():
    """The theory's numbers: 0.43, and 9 % of the values are certain."""
    found = sv.compose([sv.plan(location(), bin=width) for width in (10.0, 7.0)])
    assert found.risk == pytest.approx(0.43, abs=1e-9)
    assert found.secrets[0].certain == pytest.approx(0.09, abs=0.011)


# --- combs ----------------------------------------------------------------------------------------
def by_candidates(problem, plans, spacing, draws=3_000):
    """The best window among all points that share every release with a drawn one, averaged over draws."""
    ((name, axis),) = problem.box.axes.items()
    rng = np.random.default_rng(7)
    hits = []
    for here in problem.sample(draws, rng)[name]:
        steps = np.arange(-math.floor((here - axis.low) / spacing), math.floor((axis.high - here) / spacing) + 1)
        points = here + steps * spacing
        points = points[(points >= axis.low) & (points <= axis.high)]
        shared, itself = np.ones(len(points), dtype=bool), int(np.abs(points - here).argmin())
        for plan in plans:
            released = np.asarray(plan.mechanism.release({name: points})[name])
            shared &= np.abs(released - released[itself]) <= 1e-7
        mass = np.asarray(axis.pdf(points[shared]))
        hits.append(best_window(points[shared], mass, 2 * problem.tolerance, closed=True) / mass.sum())
    return float(np.mean(hits)), 4 * float(np.std(hits)) / math.sqrt(draws)


@pytest.mark.parametrize("prior", [(0.0, 100.0), NORMAL], ids=["flat", "normal"])
@pytest.mark.parametrize("width", [10.0, 17.0, 40.0])
@pytest.mark.heavy(2)
def test_a_comb_and_bins(prior, width):
    problem = location(prior=prior)
    comb = sv.plan(problem, max_risk=1 / 3, method="comb")
    plans = [comb, sv.plan(problem, bin=width)]
    spacing = comb.mechanism.bin_of({"mean": 50.0})["spacing"]
    truth, error = by_candidates(problem, plans, spacing)
    found = sv.compose(plans)
    assert truth - error <= found.risk <= truth + error + 1e-3


@pytest.mark.parametrize(("step", "width"), [(0.5, 10.0), (1.0, 7.0)])
def test_whole_steps_and_bins(step, width):
    known = sv.Structure(step=step)
    problem = location(prior=(0.0, 100.0), known=known)
    plans = [sv.plan(problem, bin=size) for size in (width, 2.3 * width)]
    assert all(plan.mode == "lattice" for plan in plans)
    truth, error = by_candidates(problem, plans, step)
    found = sv.compose(plans)
    assert truth - error <= found.risk <= truth + error + 1e-3


def test_two_combs_of_other_spacings_tell_everything():
    plans = [sv.plan(location(), max_risk=risk, method="comb") for risk in (1 / 3, 0.2)]
    assert plans[0].risk < 0.34
    spacings = [plan.mechanism.bin_of({"mean": 50.0})["spacing"] for plan in plans]
    assert abs(spacings[0] / spacings[1] - 1) > 1e-6
    truth, _ = by_candidates(location(), plans, spacings[0], draws=200)
    assert truth == 1
    assert sv.compose(plans).risk == 1


def drawing(problem, prior=(0.0, 100.0)):
    """Two plans whose releases overlap: a value is released at one of the two levels around it."""
    plans = []
    for count, lean in ((8, 0.5), (6, 0.3)):
        edges = np.linspace(*prior, 2 * count + 1)
        levels = np.linspace(*prior, count + 1)
        choices = tuple(
            ((i // 2, 1 - part), (i // 2 + 1, part)) for i in range(2 * count) for part in [lean if i % 2 else 1 - lean]
        )
        cells = Cells(parameter="mean", edges=tuple(edges), released=tuple(levels), choices=choices)
        plans.append(replace(sv.plan(problem, bin=10.0), mechanism=cells))
    return plans


def test_bins_and_chance():
    plans = [sv.plan(location(prior=NORMAL), bin=30.0), drawing(location(prior=NORMAL))[0]]
    truth = spelled_out(location(prior=NORMAL), plans)
    assert truth - 3e-4 <= sv.compose(plans).risk <= truth + 1e-3


# --- chance ---------------------------------------------------------------------------------------
def test_two_plans_that_draw_count_by_their_own_seeds_or_by_one():
    problem = location()
    plans = drawing(problem)
    assert all(plan.randomised for plan in plans)
    name, at, mass, secrets = nodes_of(problem)
    at, mass, secrets = at[::20], mass[::20] * 20, secrets[::20]
    chance = (np.arange(1_000) + 0.5) / 1_000
    joint: dict[tuple[float, float], np.ndarray] = {}
    for u in chance:
        told = [np.asarray(plan.mechanism.release({name: at}, np.full(len(at), u))[name]) for plan in plans]
        for pair in set(zip(*(values.tolist() for values in told), strict=True)):
            held = (told[0] == pair[0]) & (told[1] == pair[1])
            joint[pair] = joint.get(pair, np.zeros(len(at))) + held / len(chance)
    one_seed = sum(best_window(secrets, mass * share, 2.0) for share in joint.values())
    own_seeds = spelled_out(problem, plans)
    found = sv.compose(plans).risk
    assert max(one_seed, own_seeds) - 5e-3 <= found <= max(one_seed, own_seeds) + 8e-3


# --- two parameters -------------------------------------------------------------------------------
def gaussian(secret=None, tolerance=1.0):
    prior = sv.Box(mu=(0, 70), sigma=(1, 26))
    return sv.Problem(family=sv.Gaussian(), prior=prior, secret=secret or sv.Quantile(0.95), tolerance=tolerance)


def test_default_plans_of_two_targets_tell_everything():
    plans = [sv.plan(gaussian(), max_risk=risk) for risk in (0.2, 0.4)]
    found = sv.compose(plans)
    assert (found.risk, found.risk_kind) == (1.0, "exact")


@pytest.mark.parametrize("share", [0.5, 0.37])
def test_bins_on_the_same_lines(share):
    first = sv.plan(gaussian(), max_risk=0.2)
    slope = first.mechanism.direction["mu"] / first.mechanism.direction["sigma"]
    plans = [first, sv.plan(gaussian(), bin=share * first.bin, slope=slope)]
    found = sv.compose(plans)
    assert found.risk_kind == "exact"
    rng = np.random.default_rng(3)
    mu, sigma = rng.uniform(0, 70, 100_000), rng.uniform(1, 26, 100_000)
    low, high = np.full(len(mu), -np.inf), np.full(len(mu), np.inf)  # along the line, in sigma
    for start, rate in ((1 - sigma, 1.0), (26 - sigma, 1.0), (-mu, slope), (70 - mu, slope)):
        edge = start / rate
        low, high = np.where(edge <= 0, np.maximum(low, edge), low), np.where(edge >= 0, np.minimum(high, edge), high)
    for plan in plans:
        edges = plan.mechanism.bins.edges()
        index = np.clip(np.searchsorted(edges, sigma, side="right") - 1, 0, len(edges) - 2)
        low, high = np.maximum(low, edges[index] - sigma), np.minimum(high, edges[index + 1] - sigma)
    window = 2.0 / abs(slope + 1.6448536269514722)
    hits = np.minimum(1.0, window / (high - low))
    error = 4 * float(hits.std()) / math.sqrt(len(hits))
    assert found.risk == pytest.approx(float(hits.mean()), abs=error)


def test_shift_and_scale_of_one_column_tell_everything():
    shift = sv.plan(sv.Problem(prior=(50, 150), secret=sv.Mean(), tolerance=2.0), max_risk=0.2)
    scale = sv.plan(
        sv.Problem(prior=(50, 150), secret=sv.Mean(), tolerance=2.0, known=sv.Structure(minimum=0)), max_risk=0.2
    )
    assert (shift.mode, scale.mode) == ("shift", "scale")
    found = sv.compose([shift, scale])
    assert found.risk == 1
    assert "keep different things" in found.secrets[0].why
    # the claim itself: from two such tables the column comes back
    column = np.random.default_rng(1).gamma(3.0, 30.0, 500) + 1
    one, two = (np.asarray(sv.release(plan, column, accept=["bounds"])) for plan in (shift, scale))
    factor = two.std() / one.std()  # of the scaling
    assert two.mean() / factor == pytest.approx(column.mean(), rel=1e-5)


@pytest.mark.parametrize(("mode", "low"), [("jitter", 40.0), ("smooth", 10.0)])
def test_rows_that_are_redrawn_for_two_plans_count_as_told(mode, low):
    problem = location(prior=(low, 160.0), known=sv.Structure(minimum=0, step=1))
    plans = [sv.plan(problem, max_risk=risk) for risk in (0.2, 0.3)]
    assert {plan.mode for plan in plans} == {mode}
    found = sv.compose(plans)
    assert (found.risk, found.risk_kind) == (1, "upper bound")
    assert "not proven" in found.secrets[0].why
    assert sv.compose(plans[:1] * 2).risk == plans[0].risk


@pytest.mark.parametrize("family", [sv.Poisson(), sv.Geometric()])
def test_units_of_one_order_tell_what_their_means_tell(family):
    prior = sv.Box(rate=(2, 20)) if family.name == "poisson" else sv.Box(p=(0.05, 0.3))
    problem = sv.Problem(family=family, prior=prior, secret=sv.Mean(), tolerance=0.2)
    plans = [sv.plan(problem, max_risk=risk, method="greedy", grid=60) for risk in (0.2, 0.3)]
    assert {plan.mode for plan in plans} == {"unit"}
    found = sv.compose(plans)
    truth = spelled_out(problem, plans)  # on a grid, whose ends count half
    assert truth - 2e-3 <= found.risk <= truth + 2e-3
    assert max(plan.risk for plan in plans) <= found.risk <= sum(plan.risk for plan in plans)
    assert sv.compose(plans[:1] * 2).risk == plans[0].risk


def test_shares_of_one_category():
    problem = sv.Problem(family=sv.Categorical(categories=4), secret=sv.Fraction(1), tolerance=0.02)
    plans = [sv.plan(problem, bin=width) for width in (0.2, 0.15)]
    found = sv.compose(plans)
    shares = np.random.default_rng(5).dirichlet(np.ones(4), 200_000)[:, 1]
    edges = np.unique(np.concatenate([plan.mechanism.bins.edges() for plan in plans]))
    # the best window of each piece starts at its lower end, as on every line
    start = edges[np.clip(np.searchsorted(edges, shares, side="right") - 1, 0, len(edges) - 2)]
    rate = float(np.mean(shares <= start + 0.04))
    assert found.risk == pytest.approx(rate, abs=4 * math.sqrt(rate / 200_000))
    assert found.risk_kind == "exact"
    other = sv.plan(replace(problem, secret=sv.Fraction(2)), bin=0.2)
    assert sv.compose([plans[0], other]).risk == 1  # along other lines


# --- without a family -----------------------------------------------------------------------------
def test_a_share_and_a_number_of_one_statistic():
    """A plan in logarithms and one in the unit of the column: the same pieces, seen on one scale."""
    known = sv.Structure(minimum=0)
    relative = sv.Problem(prior=(100, 250), secret=sv.Mean(), tolerance=sv.Relative(0.02), known=known)
    absolute = sv.Problem(prior=(100, 250), secret=sv.Mean(), tolerance=3.0, known=known)
    plans = [sv.plan(relative, max_risk=0.25, method="interval"), sv.plan(absolute, max_risk=0.2, method="interval")]
    found = sv.compose(plans)
    values = 100 + 150 * (np.arange(NODES) + 0.5) / NODES
    labels = [np.round(np.asarray(plan.apply(value=values).secret), 6) for plan in plans]
    keys = one_number(labels)
    truth = {"absolute": 0.0, "relative": 0.0}
    for key in np.unique(keys):
        held = values[keys == key]
        mass = np.full(len(held), 1 / NODES)
        truth["absolute"] += best_window(held, mass, 6.0)
        truth["relative"] += best_window(np.log(held), mass, 2 * math.atanh(0.02))
    assert len(found.secrets) == 2
    for each in found.secrets:
        assert truth[each.tolerance_kind] - 3e-4 <= each.risk <= truth[each.tolerance_kind] + 1e-3


def test_another_statistic_of_the_column_is_not_accounted_for():
    mean, median = (
        sv.plan(sv.Problem(prior=(50, 150), secret=s, tolerance=2.0), max_risk=0.2) for s in (sv.Mean(), sv.Median())
    )
    found = sv.compose([mean, median])
    assert (found.risk, found.risk_kind) == (1.0, "upper bound")


def test_a_class_of_beliefs_has_the_sum():
    problem = location(prior=sv.Lipschitz(0.0, 100.0, floor=0.005, slope=1e-4))
    plans = [sv.plan(problem, bin=width) for width in (10.0, 7.0)]
    found = sv.compose(plans)
    assert found.risk_kind == "upper bound"
    assert found.risk == pytest.approx(min(1.0, sum(plan.risk for plan in plans)))


# --- the command ----------------------------------------------------------------------------------
def test_the_command_says_what_the_library_says(cli, tmp_path):
    plans = [sv.plan(location(), bin=width) for width in (10.0, 7.0)]
    files = [tmp_path / f"{i}.json" for i in range(2)]
    for plan, file in zip(plans, files, strict=True):
        sv.save_plan(plan, file)
    code, out, err = cli("compose", *files, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads(json.dumps(sv.compose(plans).to_json()))
    code, out, err = cli("compose", *files)
    assert (code, err) == (0, "")
    assert "0.43" in out


def test_bad_input_is_one_sentence(cli, tmp_path):
    file, other = tmp_path / "a.json", tmp_path / "b.json"
    sv.save_plan(sv.plan(location(), bin=10.0), file)
    sv.save_plan(sv.plan(exponential(sv.Mean(), 2.0), max_risk=0.2), other)
    for arguments, says in (
        (("compose",), "Missing argument"),
        (("compose", file, other), "different models of a column"),
        (("compose", file, tmp_path / "none.json"), "none.json"),
    ):
        code, out, err = cli(*arguments)
        assert (code, out) == (2, "")
        assert says in err
        assert err.count("\n") == 1
    with pytest.raises(sv.ProblemError, match="list of one plan or more"):
        sv.compose([])


def test_so_many_random_pieces_that_chance_counts_as_told(monkeypatch):
    monkeypatch.setattr("statveil.accounting.pieces._MOST_ENTRIES", 10)
    plans = drawing(location())
    found = sv.compose(plans)
    assert found.risk_kind == "upper bound"
    assert found.risk >= spelled_out(location(), plans)


# --- the next release, and tiers --------------------------------------------------------------------
@pytest.mark.parametrize(
    ("joint", "distortion"), [(0.2, 5.0), (0.25, 4.75), (0.3, 4.5), (0.4, 2.5), (0.5, 2.25), (0.6, 5 / 3)]
)
def test_the_next_release_has_the_distortions_of_the_theory(joint, distortion):
    """Bins of ten tolerances come first; the table of docs/theory.md says what a second release costs."""
    first = sv.plan(location(), bin=10.0)
    second = sv.plan(location(), max_risk=joint, after=[first])
    assert second.distortion == pytest.approx(distortion, rel=1e-6)
    assert sv.compose([first, second]).risk == pytest.approx(joint, abs=1e-8)
    assert second.risk <= joint
    assert set(first.mechanism.bins.edges()) <= set(second.mechanism.edges)


NEXT = {
    "density": (location(prior=NORMAL), 0.3, 0.45),
    "scale": (exponential(sv.Quantile(0.9), 2.0), 0.15, 0.3),
    "no family": (
        sv.Problem(prior=(100, 250), secret=sv.Mean(), tolerance=sv.Relative(0.02), known=sv.Structure(minimum=0)),
        0.2,
        0.4,
    ),
}


@pytest.mark.parametrize("name", NEXT)
def test_the_next_release_keeps_the_joint_budget_and_costs_less_than_the_first(name):
    problem, risk, joint = NEXT[name]
    first = sv.plan(problem, max_risk=risk, method="interval")
    second = sv.plan(problem, max_risk=joint, after=[first])
    assert second.distortion < first.distortion
    found = sv.compose([first, second])
    assert found.risk <= joint * (1 + 1e-6)
    if name == "density":
        assert found.risk >= spelled_out(problem, [first, second]) - 5e-4
    third = sv.plan(problem, max_risk=min(0.95, 1.5 * joint), after=[first, second])
    assert sv.compose([first, second, third]).risk <= min(0.95, 1.5 * joint) * (1 + 1e-6)
    less = sv.plan(problem, max_distortion=_stated(second, 0.5), after=[first])
    assert less.distortion <= 0.5 * second.distortion * (1 + 1e-9)


def _stated(plan, factor):
    share = factor * plan.distortion
    return sv.Relative(share) if plan.problem.measure.kind == "relative" else share


def test_the_next_release_of_counts():
    problem = poisson()
    first = sv.plan(problem, max_risk=0.25, method="dynamic", grid=60)
    second = sv.plan(problem, max_risk=0.5, after=[first])
    assert second.distortion < first.distortion
    truth = spelled_out(problem, [first, second])
    assert truth - 5e-4 <= sv.compose([first, second]).risk <= 0.5 * (1 + 1e-6)


def test_a_plan_after_another_is_released_and_verified(cli, tmp_path):
    one, two, source, target = (tmp_path / name for name in ("1.json", "2.json", "in.csv", "out.csv"))
    words = ["--secret", "mean", "--prior", "50:150", "--tolerance", 1, "--max-risk", 0.1, "--method", "interval"]
    assert cli("plan", *words, "-o", one)[0] == 0
    assert cli("plan", "--after", one, "--max-risk", 0.25, "-o", two)[0] == 0
    column = np.random.default_rng(1).normal(100, 15, 2_000)
    source.write_text("x\n" + "\n".join(map(repr, column.tolist())) + "\n")
    assert cli("release", two, source, target, "--column", "x")[0] == 0
    assert cli("verify", target)[0] == 0


def test_what_cannot_be_refined_is_said_in_one_sentence(cli, tmp_path):
    comb, bins, lines = (tmp_path / f"{name}.json" for name in ("comb", "bins", "lines"))
    sv.save_plan(sv.plan(location(), max_risk=1 / 3, method="comb"), comb)
    sv.save_plan(sv.plan(location(), bin=10.0), bins)
    sv.save_plan(sv.plan(gaussian(), max_risk=0.2), lines)
    for arguments, says in (
        (("--after", comb, "--max-risk", 0.5), "has none"),
        (("--after", lines, "--max-risk", 0.5), "one uncertain parameter"),
        (("--after", bins, "--max-risk", 0.1), "already have a risk of 0.2"),
        (("--after", bins, "--bin", 2), "ask for a joint risk"),
        (("--after", bins, "--max-risk", 0.3, "--secret", "mean"), "takes the problem of the earlier plan"),
        (("--after", bins, "--max-risk", 0.3, "--method", "dynamic"), "leave out method"),
        (("--after", bins, "--after", lines, "--max-risk", 0.3), "another problem"),
    ):
        code, out, err = cli("plan", *arguments)
        assert (code, out) == (2, "")
        assert says in err
        assert err.count("\n") == 1


def test_tiers_tell_together_what_the_finest_tells(cli, tmp_path):
    found = sv.tiers(location(), max_risks=[0.1, 0.14, 0.3])
    assert [plan.risk for plan in found.plans] == pytest.approx([0.1, 0.14, 0.3], abs=1e-9)
    assert sv.compose(found.plans).risk == pytest.approx(0.3, abs=1e-9)
    unnested = [sv.plan(location(), bin=100 / count) for count in (5, 7, 15)]
    assert sv.compose(unnested).risk == pytest.approx(0.397, abs=1e-3)  # the theory's numbers
    folder = tmp_path / "tiers"
    words = ["tiers", "--family", "location", "--prior", "mean=0:100", "--secret", "mean", "--tolerance", 1]
    code, out, err = cli(*words, "--max-risk", "0.1,0.14,0.3", "-o", folder, "--json")
    assert (code, err) == (0, "")
    assert [tier["risk"] for tier in json.loads(out)["tiers"]] == [plan.risk for plan in found.plans]
    assert sv.load_plan(folder / "tier-3.json") == found.plans[2]
    for risks, says in (("0.3,0.1", "rise"), ("0.1,x", "number"), ("", "number")):
        code, out, err = cli(*words, "--max-risk", risks)
        assert (code, out) == (2, "")
        assert says in err
    assert cli(*words, "--max-risk", "0.1", "-o", folder)[0] == 2


# --- priors of other ranges -------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["interval", "comb"])
def test_a_release_tells_that_its_prior_holds(method):
    """Given both releases the value lies where both priors allow it: a narrow one tells much by itself."""
    wide = sv.plan(location(), max_risk=0.2, method=method)
    narrow = sv.plan(location(prior=(40.0, 52.0)), max_risk=0.5)
    found = sv.compose([wide, narrow])
    values = 40 + 12 * (np.arange(NODES) + 0.5) / NODES
    if method == "interval":
        labels = [np.round(np.asarray(plan.mechanism.release({"mean": values})["mean"]), 9) for plan in (wide, narrow)]
        keys = one_number(labels)
        truth = sum(best_window(values[keys == k], np.full((keys == k).sum(), 1 / NODES), 2.0) for k in np.unique(keys))
        for each in found.secrets:
            assert truth - 5e-4 <= each.risk <= truth + 1e-3
    else:
        assert all(each.risk >= narrow.risk - 1e-9 for each in found.secrets)
    apart = sv.plan(location(prior=(60.0, 90.0)), max_risk=0.5)
    assert sv.compose([narrow, apart]).risk == 1


def test_two_parameters_of_other_ranges_count_as_told():
    first = sv.plan(gaussian(), max_risk=0.2)
    other = replace(gaussian(), prior=sv.Box(mu=(0, 60), sigma=(1, 26)))
    second = sv.plan(other, bin=first.bin, slope=first.mechanism.direction["mu"] / first.mechanism.direction["sigma"])
    assert sv.compose([first, second]).risk == 1


# --- what an independent checker found --------------------------------------------------------------
@pytest.mark.parametrize(
    ("family", "box"),
    [
        (sv.Uniform(), {"low": 0.0, "high": (10, 60)}),
        (sv.Gaussian(), {"mu": (0, 100), "sigma": 5.0}),
        (sv.Gaussian(), {"mu": 3.0, "sigma": (5, 60)}),
        (sv.ShiftedExponential(), {"shift": 2.0, "scale": (5, 60)}),
        (sv.Shape("lognorm(1)"), {"min": 0.0, "std": (5, 60)}),
    ],
    ids=["uniform", "sigma known", "mu known", "shifted", "shape"],
)
def test_combs_beside_a_known_parameter(family, box):
    secret = sv.Std() if box.get("mu") == 3.0 or "std" in box else sv.Mean()
    problem = sv.Problem(family=family, prior=sv.Box(box), secret=secret, tolerance=0.5)
    plans = [sv.plan(problem, max_risk=0.3, method="comb"), sv.plan(problem, max_risk=0.25, method="interval")]
    found = sv.compose(plans)
    assert max(plan.risk for plan in plans) - 1e-7 <= found.risk < 1


@pytest.mark.parametrize(("step", "tolerance"), [(None, 1.0), (None, 2.5), (None, 4.0), (1.0, 0.4), (1.0, 1.8)])
def test_certain_values_of_combs(step, tolerance):
    """Classes whose points all lie in one window, counted by drawn values."""
    if step is None:
        first = sv.plan(location(), max_risk=0.25, method="comb")
        spacing = first.mechanism.bin_of({"mean": 50.0})["spacing"]
        problem = location(tolerance)
    else:
        first = sv.plan(location(known=sv.Structure(step=step)), bin=7.0)
        spacing, problem = step, location(tolerance, known=sv.Structure(step=step))
    second = sv.plan(problem, bin=9.0)
    found = next(e for e in sv.compose([first, second]).secrets if e.tolerance == tolerance)
    hits = []
    for here in np.random.default_rng(2).uniform(0, 100, 2_000):
        points = here + spacing * np.arange(-math.floor(here / spacing), math.floor((100 - here) / spacing) + 1)
        shared = np.ones(len(points), dtype=bool)
        for plan in (first, second):
            released = np.asarray(plan.mechanism.release({"mean": points})["mean"])
            own = float(plan.mechanism.release({"mean": np.array([here])})["mean"][0])
            shared &= np.abs(released - own) <= 1e-7
        hits.append(np.ptp(points[shared]) <= 2 * tolerance * (1 + 1e-9))
    rate = float(np.mean(hits))
    assert found.certain == pytest.approx(rate, abs=0.01 + 4 * math.sqrt(max(rate * (1 - rate), 1e-4) / 2_000))


@pytest.mark.parametrize("mode", ["smooth", "jitter"])
def test_no_further_release_is_planned_where_rows_are_redrawn(mode):
    known = sv.Structure(minimum=0, step=1)
    problem = sv.Problem(secret=sv.Mean(), prior=(40.0 if mode == "jitter" else 10.0, 100), tolerance=1, known=known)
    first = sv.plan(problem, max_risk=0.2, method="interval")
    assert first.mode == mode
    with pytest.raises(sv.ProblemError, match="draws rows at random"):
        sv.plan(problem, max_risk=0.5, after=[first])
    with pytest.raises(sv.ProblemError, match="draws rows at random"):
        sv.tiers(problem, max_risks=[0.2, 0.5])


def test_the_next_release_of_units_keeps_the_joint_budget():
    problem = sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(2, 60)), secret=sv.Mean(), tolerance=0.5)
    first = sv.plan(problem, max_risk=0.1, method="greedy", grid=60)
    second = sv.plan(problem, max_risk=0.3, after=[first])
    assert (first.mode, second.mode) == ("unit", "unit")
    assert second.distortion < first.distortion
    assert sv.compose([first, second]).risk == pytest.approx(second.risk, abs=1e-9)
    assert spelled_out(problem, [first, second]) <= 0.3 + 2e-3
    plans = sv.tiers(problem, max_risks=[0.2, 0.5]).plans
    assert sv.compose(plans).risk <= 0.5 * (1 + 1e-6)


def test_priors_that_hardly_meet_have_candidates_too():
    """What both priors allow has less mass than 64-bit numbers resolve: everything counts as told."""
    normal = sv.Problem(secret=sv.Mean(), prior=sv.Density("normal", (10, 3), low=0, high=40), tolerance=0.5)
    apart = sv.Problem(secret=sv.Mean(), prior=(35, 60), tolerance=0.5)
    found = sv.compose([sv.plan(problem, bin=3) for problem in (normal, apart)])
    assert found.risk == 1
    assert all(each.candidates is None or each.candidates.least == 1 for each in found.secrets)


@pytest.mark.parametrize("bin", [0.71, 1.3, 2.9])
def test_at_least_one_guess_is_needed(bin):
    problem = sv.Problem(secret=sv.Mean(), prior=(0, 30), tolerance=0.3)
    comb = sv.plan(problem, max_risk=0.3, method="comb")
    (found,) = sv.compose([comb, sv.plan(problem, bin=bin)]).secrets
    assert found.candidates is None or 1 <= found.candidates.least <= found.candidates.mean


def test_min_entropy_is_not_below_the_truth_where_the_guess_without_a_release_is_rounded_up():
    """Ten bins of a flat side: log2 of the ratio of 0.2 to 0.02."""
    also = sv.Also(sv.Std(), prior=(10, 60), tolerance=1)
    problem = sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1, also=[also])
    plan = sv.plan(problem, max_risk=0.4)
    for told, side in zip(sv.leakage([plan]).secrets, plan.mechanism.axes.values(), strict=True):
        pieces = np.diff(side.edges())
        truth = np.log2(np.minimum(pieces, 2).sum() / 2)
        assert truth <= told.min_entropy.value <= truth + 1e-6
