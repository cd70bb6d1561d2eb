"""The next release of two secrets cuts the bins of both axes: against grids of values and all pairs of lengths."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.plan_file import dump_plan, parse_plan
from statveil.theory.unequal_bins import UnequalBins

pytestmark = pytest.mark.usefixtures("no_optimum")

RANGES = {"mean": (10.0, 50.0), "std": (5.0, 20.0)}


def problem(family=None, eps=(1.0, 0.5), mean=(10, 50)):
    return sv.Problem(
        family=family,
        secret=sv.Mean(),
        prior=mean,
        tolerance=eps[0],
        also=[sv.Also(sv.Std(), (5, 20), tolerance=eps[1])],
    )


def posterior(plans, eps, count=600, density=lambda mean: np.ones_like(mean)):
    """Risks of each and of either, from a grid of values grouped by all releases: nothing is accounted for."""
    at = {name: low + (high - low) * (np.arange(count) + 0.5) / count for name, (low, high) in RANGES.items()}
    place = dict(zip(at, (one.ravel() for one in np.indices((count, count))), strict=True))
    values = {name: at[name][place[name]] for name in at}
    cell = np.zeros(count * count, dtype=np.int64)
    for released in (value for plan in plans for value in plan.mechanism.release(values).values()):
        _, code = np.unique(np.round(released, 9), return_inverse=True)
        _, cell = np.unique(cell * (code.max() + 1) + code, return_inverse=True)
    weight = density(values["mean"])
    weight = weight / weight.sum()
    cells = cell.max() + 1
    mass = np.bincount(cell, weights=weight, minlength=cells)
    caught = {}
    for name in at:  # what is believed of one statistic in each class, and its best window
        belief = np.bincount(cell * count + place[name], weights=weight, minlength=cells * count).reshape(cells, count)
        width = round(2 * eps[name] / (at[name][1] - at[name][0]))
        sums = np.pad(np.cumsum(belief, axis=1), ((0, 0), (1, 0)))
        caught[name] = (sums[:, width:] - sums[:, :-width]).max(axis=1) / mass
    missed = (1 - caught["mean"]) * (1 - caught["std"])  # a product belief stays one in a rectangle
    return {name: float(mass @ one) for name, one in caught.items()}, float(mass @ (1 - missed))


@pytest.mark.parametrize("family", [None, sv.Gaussian()])
@pytest.mark.parametrize("goal", [0.35, 0.5, (0.3, 0.5)])
def test_the_joint_risk_is_that_of_a_grid_of_values(family, goal):
    first = sv.plan(problem(family), max_risk=0.3)
    after = sv.plan(problem(family), max_risk=goal, after=[first])
    each, union = posterior([first, after], {"mean": 1.0, "std": 0.5})
    assert after.risk_kind == "exact"
    for name, truth in each.items():
        assert after.for_secret(name).risk == pytest.approx(truth, abs=0.012)
    assert after.risk == pytest.approx(union, abs=0.012)
    most = goal if isinstance(goal, float) else 1 - (1 - goal[0]) * (1 - goal[1])
    assert after.risk <= most * (1 + 1e-9)
    # all that the first one says is said by the second, so they tell nothing more together
    assert sv.compose([first, after]).risk == pytest.approx(after.risk, abs=1e-9)
    for name, bins in first.mechanism.axes.items():
        assert set(bins.edges().tolist()) <= set(after.mechanism.axes[name].edges().tolist())
    assert after.distortion < first.distortion


def told(edges, length, window):
    """Each earlier bin cut from its lower end, of a flat belief: one window in each part."""
    caught = 0.0
    for low, high in pairwise(edges):
        while high - low > length * (1 + 1e-12):
            caught, low = caught + min(window, length), low + length
        caught += min(window, high - low)
    return min(1.0, caught / (edges[-1] - edges[0]))


@settings(max_examples=12)
@given(first=st.floats(0.15, 0.4), more=st.floats(0.02, 0.4))
def test_no_other_pair_of_lengths_has_less_distortion(first, more):
    """Without a family the distortion is half the diagonal of the largest rectangle."""
    asked, goal = problem(), first + more
    plan = sv.plan(asked, max_risk=first)
    after = sv.plan(asked, max_risk=goal, after=[plan])
    edges = {name: bins.edges() for name, bins in plan.mechanism.axes.items()}
    longest = {name: float(np.diff(at).max()) for name, at in edges.items()}
    least = math.inf
    tables = {}
    for name, window in (("mean", 2.0), ("std", 1.0)):
        lengths = np.linspace(window, longest[name], 120)
        tables[name] = [(length, told(edges[name], length, window)) for length in lengths]
    for one, p in tables["mean"]:
        for two, q in tables["std"]:
            if 1 - (1 - p) * (1 - q) <= goal:
                least = min(least, math.hypot(one, two) / 2)
    assert after.distortion <= least * (1 + 1e-9)
    p, q = (told(edges[name], after.mechanism.widest(name), w) for name, w in (("mean", 2.0), ("std", 1.0)))
    assert 1 - (1 - p) * (1 - q) <= goal * (1 + 1e-9)


def test_a_belief_that_is_not_flat():
    asked = problem(mean=sv.Density("normal", (30, 8), low=10, high=50))
    first = sv.plan(asked, max_risk=0.35)
    after = sv.plan(asked, max_risk=0.5, after=[first])
    _, union = posterior(
        [first, after], {"mean": 1.0, "std": 0.5}, density=lambda mean: np.exp(-0.5 * ((mean - 30) / 8) ** 2)
    )
    assert union - 0.012 <= after.risk <= min(0.5 * (1 + 1e-9), union + 0.012)
    assert after.risk > 0.45


def test_a_distortion_and_a_chain_of_three():
    asked = problem()
    first = sv.plan(asked, max_risk=0.25)
    second = sv.plan(asked, max_distortion=4.0, after=[first])
    assert second.distortion <= 4 * (1 + 1e-9)
    third = sv.plan(asked, max_risk=min(0.9, second.risk + 0.15), after=[first, second])
    assert sv.compose([first, second, third]).risk == pytest.approx(third.risk, abs=1e-9)
    with pytest.raises(sv.TargetError, match=r"already have a risk of .* no further one can keep it at 0\.3"):
        sv.plan(asked, max_risk=0.3, after=[second])
    with pytest.raises(sv.TargetError, match="less than a window"):
        sv.plan(asked, max_distortion=0.1, after=[first])
    with pytest.raises(sv.ProblemError, match="about another problem"):
        sv.plan(problem(eps=(1.0, 0.4)), max_risk=0.6, after=[first])


def test_tiers_are_nested():
    found = sv.tiers(problem(), max_risks=[0.2, 0.4, 0.6]).plans
    for upto in (2, 3):
        joint = sv.compose(found[:upto])
        assert joint.risk == pytest.approx(found[upto - 1].risk, abs=1e-9)
        _, union = posterior(found[:upto], {"mean": 1.0, "std": 0.5})
        assert found[upto - 1].risk == pytest.approx(union, abs=0.012)
    assert [plan.risk <= most * (1 + 1e-9) for plan, most in zip(found, (0.2, 0.4, 0.6), strict=True)] == [True] * 3
    fresh = [sv.plan(problem(), max_risk=risk) for risk in (0.2, 0.4, 0.6)]
    assert sv.compose(fresh).risk > found[-1].risk + 0.01


def test_from_the_command_line_to_a_released_table(cli, tmp_path):
    asked = ["--secret", "mean", "--prior", "10:50", "--tolerance", "1", "--also", "std; prior=5:20; tolerance=0.5"]
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    assert cli("plan", *asked, "--max-risk", "0.3", "-o", one)[0] == 0
    code, out, err = cli("plan", "--after", one, "--max-risk", "0.5", "-o", two)
    assert (code, err) == (0, "")
    assert "of different widths along mean" in out
    text = two.read_text()
    assert dump_plan(parse_plan(text)) == text
    values = np.random.default_rng(2).gumbel(24, 8, 2000)
    pl.DataFrame({"x": values}).write_csv(tmp_path / "in.csv")
    for plan in (one, two):
        place = tmp_path / f"{plan.stem}.csv"
        record = tmp_path / "record.json"
        assert cli("release", plan, tmp_path / "in.csv", place, "--column", "x", "--record", record)[0] == 0
        assert cli("verify", place)[0] == 0
    released = pl.read_csv(tmp_path / "two.csv")["x"].to_numpy()
    wanted = sv.load_plan(two).apply({"mean": float(values.mean()), "std": float(values.std())}).released
    assert released.mean() == pytest.approx(float(wanted["mean"]), rel=1e-6)
    assert released.std() == pytest.approx(float(wanted["std"]), rel=1e-6)
    code, out, _ = cli("tiers", *asked, "--max-risk", "0.2,0.4", "--json")
    assert code == 0
    assert [tier["risk"] <= most * (1 + 1e-9) for tier, most in zip(json.loads(out)["tiers"], (0.2, 0.4), strict=True)]
    data = json.loads(text)
    for edges in ([10.0], [10.0, 9.0, 50.0], [10.0, "x"], 3, None):
        data["mechanism"]["axes"]["mean"] = {"edges": edges}
        with pytest.raises(sv.PlanFileError):
            parse_plan(json.dumps(data))


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ("min=0", "cannot keep a bound or an atom where it is. Got min=0."),
        ("step=1,heaps=5", "cannot keep a step or a heap where it is. Got step=1, heaps=5."),
        ("atoms=0", "Got atoms=0."),
    ],
)
def test_known_structure_is_refused_by_name(cli, known, says):
    asked = ["--secret", "mean", "--prior", "10:50", "--tolerance", "1", "--also", "std; prior=5:20; tolerance=0.5"]
    code, out, err = cli("plan", *asked, "--known", known, "--max-risk", "0.4")
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_bins_of_any_widths_say_what_equal_ones_say():
    from statveil.theory.bins import Bins

    equal = Bins(low=0.0, high=10.0, origin=0.0, width=3.0)
    same = UnequalBins(ends=(0.0, 3.0, 6.0, 9.0, 10.0))
    at = np.array([-1.0, 0.0, 2.9, 3.0, 8.5, 9.0, 9.9, 10.0, 11.0])
    assert same.locate(at).tolist() == equal.locate(at).tolist()
    for one, other in zip(same.span(same.locate(at)), equal.span(equal.locate(at)), strict=True):
        assert one.tolist() == other.tolist()
    assert sorted(same.pieces()) == sorted(equal.pieces())
    assert same.rescaled(2.0, 1.0).edges().tolist() == equal.rescaled(2.0, 1.0).edges().tolist()
    assert (same.count, same.low, same.high) == (equal.count, equal.low, equal.high)
