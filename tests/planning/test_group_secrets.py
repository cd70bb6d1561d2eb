"""Secrets of two groups: what a plan states, against groups that are moved by hand and guesses that are counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import statveil as sv
from statveil.auditing.game import release_column
from statveil.problem.secret import secret_from_json
from statveil.spelling import parse_secret

pytestmark = pytest.mark.usefixtures("no_optimum")

RATIO = sv.GroupRatio(by="region", group="north", base="south")
DIFFERENCE = sv.GroupDifference(by="sex", group="f", base="m")


def ratio(prior=(0.5, 2.0), share=0.05, **options):
    known = sv.Structure(minimum=0)
    return sv.Problem(secret=RATIO, prior=prior, tolerance=sv.Relative(share), known=known, **options)


def difference(prior=(-10, 10), tolerance=0.5, **options):
    return sv.Problem(secret=DIFFERENCE, prior=prior, tolerance=tolerance, **options)


# --- how they are written ---------------------------------------------------------------------------------------------
@given(by=st.text(min_size=1), group=st.text(min_size=1), base=st.text(min_size=1), kind=st.sampled_from([0, 1]))
def test_every_name_and_label_can_be_written_and_read_again(by, group, base, kind):
    if group == base:
        return
    secret = (sv.GroupRatio, sv.GroupDifference)[kind](by=by, group=group, base=base)
    assert parse_secret(secret.label) == secret
    assert secret_from_json(secret.to_json()) == secret


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ratio:year=2024/2023", sv.GroupRatio("year", 2024, 2023)),
        ("difference:sex=f-m", sv.GroupDifference("sex", "f", "m")),
        ('ratio:{"base": "a/b", "group": "c", "by": "x=y"}', sv.GroupRatio("x=y", "c", "a/b")),
        ("difference:flag=true-false", sv.GroupDifference("flag", True, False)),
    ],
)
def test_the_forms_that_people_write(text, found):
    assert parse_secret(text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ratio:year=2024/2024", "must have different labels"),
        ("ratio:year=2024", "written COLUMN=LABEL/LABEL"),
        ("ratio:year=/2024", "written COLUMN=LABEL/LABEL"),
        ("ratio:=a/b", "written COLUMN=LABEL/LABEL"),
        ("difference:when=2024-01-2023-01", "as JSON"),
        ("ratio", "needs an argument"),
        ("growth:year=2024/2023", "write ratio:COLUMN=LATER/EARLIER"),
        ('ratio:{"by": "x", "group": "a"}', "the keys by, group, base"),
        ('ratio:{"by": "x", "group": "a", "base": 1.5}', "must be a text"),
        ("ratio:{", "the keys by, group, base"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(text, said):
    with pytest.raises(sv.ProblemError, match=said) as caught:
        parse_secret(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        (lambda: sv.Problem(secret=RATIO, prior=(0.5, 2), tolerance=0.1, known=sv.Structure(minimum=0)), "in per cent"),
        (lambda: sv.Problem(secret=RATIO, prior=(0.5, 2), tolerance=sv.Relative(0.1)), "--known min=0"),
        (lambda: _known(RATIO, minimum=1), "a minimum of 0"),
        (lambda: _known(RATIO, minimum=0, step=1), "no other bound, step, heap or frequent value"),
        (lambda: _known(RATIO, minimum=0, maximum=100), "no other bound"),
        (lambda: _known(RATIO, minimum=0, atoms=(5,)), "frequent value"),
        (lambda: sv.Problem(secret=DIFFERENCE, prior=(1, 10), tolerance=sv.Relative(0.1)), "in the column's unit"),
        (lambda: difference(known=sv.Structure(minimum=0)), "keeps no bound, step, heap or frequent value"),
        (lambda: difference(known=sv.Structure(step=1)), "keeps no bound, step"),
        (lambda: difference(shape="catalogue"), "leave out the shape"),
        (lambda: difference(also=[sv.Also(sv.Std(), prior=(1, 5), tolerance=0.1)]), "one that moves with it"),
        (lambda: ratio(prior=(-1, 2)), "must lie inside its domain"),
        (lambda: ratio(prior=(1.2, 1.2)), "publicly known"),
        (
            lambda: sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=(0, 1), sigma=(1, 2)), secret=RATIO, tolerance=1),
            "hidden without a family",
        ),
    ],
)
def test_a_problem_that_no_map_serves_is_refused_when_it_is_stated(stated, said):
    with pytest.raises(sv.StatveilError, match=said):
        stated()


def _known(secret, **known):
    return sv.Problem(secret=secret, prior=(0.5, 2), tolerance=sv.Relative(0.05), known=sv.Structure(**known))


# --- distortion and limit ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("risk", [0.15, 0.2, 0.37, 0.5])
def test_the_distortion_of_a_ratio_is_what_the_worst_group_moves_by(risk):
    plan = sv.plan(ratio(), max_risk=risk)
    ratios = np.exp(np.linspace(math.log(0.5), math.log(2.0), 4001))
    released = plan.apply(value=ratios).secret
    factor = np.sqrt(released / ratios)  # for one group; the other one has its inverse
    # one common number makes the largest move of either group as small as it can be: by brute force
    numbers = np.linspace(0.5, 1.0, 20_001)
    worst = np.maximum(
        np.abs(np.outer(numbers, [factor.max(), 1 / factor.min()]) - 1).max(axis=1),
        np.abs(np.outer(numbers, [factor.min(), 1 / factor.max()]) - 1).max(axis=1),
    )
    assert plan.distortion == pytest.approx(float(worst.min()), rel=2e-3)
    assert plan.distortion == pytest.approx(math.tanh(plan.bin / 4), rel=1e-9)


def test_limits_are_those_of_pairs_of_tables_and_combs_attain_them():
    # theory: with k = 1/T rounded up, two tables more than k - 1 windows apart share a release
    for risk, k in ((0.5, 2), (0.2, 5), (0.11, 10)):
        of_ratio = sv.limits(ratio(prior=sv.LogUniform(0.01, 100)), max_risk=risk).lower_bound
        assert of_ratio == pytest.approx(math.tanh((k - 1) * math.atanh(0.05) / 2), rel=1e-9)
        assert sv.limits(difference(), max_risk=risk).lower_bound == pytest.approx((k - 1) * 0.5 / 2, rel=1e-9)
    wide = ratio(prior=sv.LogUniform(math.exp(-50 * math.atanh(0.05)), math.exp(50 * math.atanh(0.05))))
    comb = sv.plan(wide, max_risk=0.5, method="comb")
    assert comb.distortion == pytest.approx(comb.lower_bound, rel=1e-4)
    comb = sv.plan(difference(prior=(0, 100)), max_risk=0.5, method="comb")
    assert comb.distortion == pytest.approx(comb.lower_bound, rel=1e-4)


@pytest.mark.parametrize("share", [0.5, 0.2, 0.9])
def test_the_distortion_of_a_difference_bounds_how_far_rows_move(share):
    plan = sv.plan(difference(), max_risk=0.2)
    gaps = np.linspace(-10, 10, 4001)[:-1]
    moves = plan.apply(value=gaps).secret - gaps
    moved = np.abs(moves) * 2 * share * (1 - share)  # of all rows, on average: both groups move towards each other
    assert moved.max() <= plan.distortion * (1 + 1e-9)
    if share == 0.5:
        assert moved.max() == pytest.approx(plan.distortion, rel=1e-3)


# --- risk -------------------------------------------------------------------------------------------------------------
CASES = {
    "ratio": (ratio(), {"max_risk": 0.2}, (0.5, 2.0)),
    "ratio, in factors": (ratio(prior=sv.LogUniform(0.5, 2.0)), {"max_risk": 0.34}, (0.5, 2.0)),
    "difference": (difference(), {"max_risk": 0.25}, (-10.0, 10.0)),
}


@pytest.mark.parametrize("name", ["ratio", pytest.param("ratio, in factors", marks=pytest.mark.slow), "difference"])
def test_the_risk_is_what_the_best_attacker_on_whole_tables_reaches(name):
    """Tables with a drawn secret, released row by row; the attacker knows the shapes, and which secrets lead where."""
    problem, target, (low, high) = CASES[name]
    plan = sv.plan(problem, **target)
    rng, rows, trials = np.random.default_rng(11), 40, 300
    group = rng.permutation(np.repeat([0, 1, 2], [12, 20, 8]))
    shape = rng.gamma(3.0, 2.0, rows)
    shape[group == 0] /= shape[group == 0].mean()
    shape[group == 1] /= shape[group == 1].mean()
    parts = (group == 0, group == 1)
    relative = isinstance(problem.closeness, sv.Relative)
    # everything that leads to a release, by trying: the attacker's only knowledge of the mechanism
    fine = np.linspace(low, high, 40_001) + 1e-7 * (high - low)
    fine = fine[fine < high]
    density = 1 / fine if isinstance(problem.beliefs[0], sv.LogUniform) else np.ones(len(fine))
    leads, off = plan.apply(value=fine).secret, 2 * plan.release_mode.wander(problem)
    hits = 0
    for _ in range(trials):
        drawn = rng.uniform(low, high)
        if isinstance(problem.beliefs[0], sv.LogUniform):
            drawn = low * (high / low) ** rng.random()
        column = shape.copy()
        if relative:
            column[parts[0]] *= 7 * math.sqrt(drawn)
            column[parts[1]] *= 7 / math.sqrt(drawn)
        else:
            column[parts[0]] += 3 + drawn
            column[parts[1]] += 3
        released, _ = release_column(plan, column, bits=53, seed=int(rng.integers(2**60)), parts=parts)
        assert np.array_equal(released[group == 2], column[group == 2])
        means = [released[part].mean() for part in parts]
        seen = means[0] / means[1] if relative else means[0] - means[1]
        near = np.abs(leads - seen) <= 1e-5 * max(1.0, abs(seen)) + off
        assert near.any()
        guess = _best_guess(fine[near], density[near], 0.05 if relative else None)
        within = abs(guess / drawn - 1) <= 0.05 if relative else abs(guess - drawn) <= 0.5
        hits += bool(within)
    reached = binomtest(hits, trials).proportion_ci(0.999)
    assert reached.low <= plan.risk <= reached.high


def _best_guess(candidates, weights, share):
    """The guess that catches the most, by trying every candidate as the lower end of what it catches."""
    total = np.concatenate([[0.0], np.cumsum(weights)])
    ends = candidates * (1 + share) / (1 - share) if share is not None else candidates + 1.0
    stop = np.searchsorted(candidates, ends, side="right")
    best = int(np.argmax(total[stop] - total[:-1]))
    return candidates[best] * (1 + share) if share is not None else candidates[best] + 0.5


def test_releases_of_one_secret_compose_and_those_of_others_tell_everything():
    problem = ratio()
    one, two = sv.plan(problem, max_risk=0.2), sv.plan(problem, max_risk=0.3)
    assert sv.compose([one, one]).risk == one.risk
    # the classes of both together, by brute force: the best window of 2 artanh(share) in each
    ratios = np.linspace(0.5, 2.0, 200_001)[:-1]
    both = np.stack([one.apply(value=ratios).secret, two.apply(value=ratios).secret])
    cuts = np.flatnonzero(np.any(np.diff(both, axis=1) != 0, axis=0)) + 1
    classes = np.split(ratios, cuts)
    caught = sum(min(piece[-1], piece[-1]) - max(piece[0], piece[-1] * 0.95 / 1.05) for piece in classes)
    assert sv.compose([one, two]).risk == pytest.approx(caught / 1.5, abs=1e-4)
    assert sv.compose([one, two]).risk >= caught / 1.5 - 1e-4
    known = sv.Structure(minimum=0)
    mean = sv.plan(sv.Problem(secret=sv.Mean(), prior=(1, 9), tolerance=sv.Relative(0.05), known=known), max_risk=0.3)
    turned = sv.GroupRatio("region", "south", "north")
    other = sv.plan(sv.Problem(secret=turned, prior=(0.5, 2), tolerance=sv.Relative(0.05), known=known), max_risk=0.3)
    gap = sv.plan(difference(), max_risk=0.2)
    for beside in (mean, other, gap):
        assert sv.compose([one, beside]).risk == 1.0


def test_no_other_statistic_is_said_to_be_hidden():
    plan = sv.plan(ratio(), max_risk=0.2)
    found = plan.protects(["mean", "median", "std", "max", RATIO, sv.GroupRatio("region", "west", "south")])
    assert [one.risk for one in found] == [None, None, None, None, plan.risk, None]
    # nor one of two groups by a plan for all rows: a scaling tells their ratio
    known = sv.Structure(minimum=0)
    mean = sv.plan(sv.Problem(secret=sv.Mean(), prior=(1, 9), tolerance=sv.Relative(0.05), known=known), max_risk=0.3)
    assert [one.risk for one in mean.protects([RATIO, DIFFERENCE])] == [None, None]
