"""The number of rows as a secret, decided without data: risks against whole numbers counted one by one."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import statveil as sv
from statveil.plan_file import dump_plan, parse_plan

PRIORS = {"flat": sv.Flat(60, 900), "log": sv.LogUniform(60, 900)}
TOLERANCES = {"share": sv.Relative(0.08), "rows": 7}
PAIRS = list(itertools.product(PRIORS, TOLERANCES))


def asked(prior="log", tolerance="share", low=60, high=900):
    belief = type(PRIORS[prior])(low, high)
    return sv.Problem(secret=sv.Rows(), prior=belief, tolerance=TOLERANCES[tolerance])


def masses(problem):
    """Every number of rows, with the mass of what rounds to it."""
    belief = problem.beliefs[0]
    numbers = np.arange(math.ceil(belief.low), math.floor(belief.high) + 1)
    edges = np.clip(np.append(numbers - 0.5, numbers[-1] + 0.5), belief.low, belief.high)
    return numbers, np.diff(belief.cdf(edges))


def counted_risk(problem, *releases):
    """The best guess for each release, over all whole numbers: no line, no bins, no closed form."""
    numbers, mass = masses(problem)
    classes = {}
    for number, weight, *shown in zip(numbers, mass, *releases, strict=True):
        classes.setdefault(tuple(shown), []).append((int(number), weight))
    total = 0.0
    for members in classes.values():
        best = 0.0
        for first, (low, _) in enumerate(members):
            if isinstance(problem.closeness, sv.Relative):
                high = low * (1 + problem.closeness.share) / (1 - problem.closeness.share)
            else:
                high = low + 2 * problem.closeness
            best = max(best, sum(weight for number, weight in members[first:] if number <= high + 1e-9))
        total += best
    return total


def sizes(plan):
    numbers, _ = masses(plan.problem)
    return np.asarray(plan.apply(value=numbers).secret)


@pytest.mark.parametrize(("prior", "tolerance"), PAIRS)
@pytest.mark.parametrize("risk", [0.25, 0.35, 0.6])
def test_the_risk_is_never_below_that_of_whole_numbers_counted_one_by_one(prior, tolerance, risk):
    problem = asked(prior, tolerance)
    plan = sv.plan(problem, max_risk=risk)
    released, (numbers, _) = sizes(plan), masses(problem)
    counted = counted_risk(problem, released)
    # three rows are added to a window of 10 or more, one by one
    assert counted <= plan.risk <= min(risk, counted * 1.5)
    assert plan.risk_kind == "upper bound"
    left_out = numbers - released
    assert left_out.min() >= 0
    stated = left_out.max() if tolerance == "rows" else float((left_out / numbers).max())
    assert stated <= plan.distortion
    assert stated >= 0.9 * plan.distortion
    assert plan.lower_bound < stated


@pytest.mark.parametrize(("prior", "tolerance"), PAIRS)
def test_two_releases_together_are_never_riskier_than_composed(prior, tolerance):
    problem = asked(prior, tolerance)
    first, second = (sv.plan(problem, max_risk=risk) for risk in (0.25, 0.33))
    third = sv.plan(problem, max_risk=0.45, after=[first])
    for plans in ([first, second], [first, third], [first, second, third]):
        counted = counted_risk(problem, *(sizes(plan) for plan in plans))
        joint = sv.compose(plans).risk
        assert counted <= joint <= min(1.0, counted * 1.5)
    assert sv.compose([first, first]).risk == first.risk


def test_no_choice_of_classes_leaves_out_less_than_the_limit():
    problem = asked("flat", "share", 60, 140)
    numbers, _ = masses(problem)
    rng = np.random.default_rng(3)
    tried = 0
    for teeth, blocks in itertools.product((2, 3, 4), (1, 2, 3)):
        for _ in range(4):
            # combs in blocks, and random classes: each released at its smallest number
            spread = 17 + int(rng.integers(0, 8))
            label = (np.arange(len(numbers)) % spread) + 1000 * (np.arange(len(numbers)) * blocks // len(numbers))
            label = label if rng.random() < 0.7 else rng.integers(0, len(numbers) // teeth, size=len(numbers))
            smallest = {one: numbers[label == one].min() for one in np.unique(label)}
            released = np.array([smallest[one] for one in label])
            risk = counted_risk(problem, label)
            limit = sv.limits(problem, max_risk=risk).lower_bound
            assert float((1 - released / numbers).max()) >= limit
            tried += limit > 0
    assert tried > 10


def test_a_plan_survives_its_file_and_states_what_is_left_out():
    for prior, tolerance in PAIRS:
        plan = sv.plan(asked(prior, tolerance), max_risk=0.3)
        text = dump_plan(plan)
        assert dump_plan(parse_plan(text)) == text
        held = json.loads(text)
        assert held["mode"] == "subset"
        assert held["problem"]["distance"] == "left-out"
        assert held["problem"]["tolerance"] == (0.08 if tolerance == "share" else 7)
        assert held["distortion_kind"] == ("relative" if tolerance == "share" else "absolute")
        # of a table of low + width - 1 rows, and of one at the upper end
        assert 0 < held["distortion_relative"] < 1
        assert "left out" in str(plan)
        assert "told by the release" in str(plan)


def test_a_distortion_can_be_asked_for_as_a_share_and_in_rows():
    share = sv.plan(asked(), max_distortion=sv.Relative(0.4))
    assert 0.39 < share.distortion <= 0.4
    rows = sv.plan(asked(tolerance="rows"), max_distortion=70)
    assert rows.distortion <= 70
    assert sv.plan(asked(tolerance="rows"), max_distortion=sv.Relative(0.5)).distortion == pytest.approx(60, rel=1e-6)
    with pytest.raises(sv.ProblemError, match="no table has so many rows"):
        sv.plan(asked(), max_distortion=900)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prior": sv.Tabulated([60, 100, 900], [1, 2, 1])}, "plain range"),
        ({"prior": (5, 900)}, "between 10 and"),
        ({"known": sv.Structure(minimum=0)}, "no values of a column"),
        ({"shape": "lognorm(1)"}, "no values of a column"),
        ({"family": sv.Gaussian(), "prior": sv.Box(mu=(0, 9), sigma=1.0)}, "makes no sense for the family"),
        ({"also": [sv.Also(sv.Std(), prior=(1, 2), tolerance=0.1)]}, "rows"),
    ],
)
def test_what_makes_no_sense_for_a_number_of_rows_is_refused(change, said):
    stated = {"secret": sv.Rows(), "prior": (60, 900), "tolerance": 7} | change
    with pytest.raises(sv.ProblemError, match=said):
        sv.plan(sv.Problem(**stated), max_risk=0.3)


def test_methods_that_release_anything_but_neighbouring_bins_are_refused():
    for method in ("comb", "layered", "optimal"):
        with pytest.raises(sv.ProblemError, match="neighbouring bins"):
            sv.plan(asked(), max_risk=0.3, method=method)
    with pytest.raises(sv.ProblemError, match="unknown method"):
        sv.frontier(asked(), methods=["comb"])
    assert {point["method"] for point in sv.frontier(asked(), points=4).points} <= {"interval", "dynamic", "greedy"}
    with pytest.raises(sv.ProblemError, match="grows"):
        sv.series(sv.plan(asked(tolerance="rows"), max_risk=0.3), drift="normal(0,5)", months=3)


def test_a_partition_of_other_widths_counts_whole_numbers_too():
    for prior in PRIORS:
        plan = sv.plan(asked(prior), max_risk=0.35, method="dynamic")
        assert counted_risk(plan.problem, sizes(plan)) <= plan.risk


def test_leakage_counts_the_bins():
    plan = sv.plan(asked(), max_risk=0.3)
    bins = len(np.unique(sizes(plan)))
    (found,) = sv.leakage([plan]).secrets
    assert 0 < found.prior_free.value <= math.log2(bins) + 1e-9
