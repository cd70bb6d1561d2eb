"""Secrets of two columns: how they are written, what a plan states, and guesses that are counted on whole tables."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import statveil as sv
from statveil.problem.secret import secret_from_json
from statveil.spelling import parse_secret
from statveil.tables.verification import LEAKS

pytestmark = pytest.mark.usefixtures("no_optimum")

RATIO, DIFFERENCE = sv.ColumnRatio("cost", "revenue"), sv.ColumnDifference("cost", "revenue")


def ratio(prior=(0.5, 2.0), share=0.05):
    return sv.Problem(secret=RATIO, prior=prior, tolerance=sv.Relative(share), known=sv.Structure(minimum=0))


def difference(prior=(-10, 10), tolerance=0.5, **options):
    return sv.Problem(secret=DIFFERENCE, prior=prior, tolerance=tolerance, **options)


@given(column=st.text(min_size=1), base=st.text(min_size=1), kind=st.sampled_from([0, 1]))
def test_every_name_can_be_written_and_read_again(column, base, kind):
    if column == base:
        return
    secret = (sv.ColumnRatio, sv.ColumnDifference)[kind](column=column, base=base)
    assert parse_secret(secret.label) == secret
    assert secret_from_json(secret.to_json()) == secret


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("column-ratio:cost/revenue", RATIO),
        ("column-difference:cost-revenue", DIFFERENCE),
        ('column-ratio:{"column": "a/b", "base": "x=y"}', sv.ColumnRatio("a/b", "x=y")),
    ],
)
def test_the_forms_that_people_write(text, found):
    assert parse_secret(text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("column-ratio:cost/cost", "must be different ones"),
        ("column-ratio:cost", "written COLUMN/COLUMN"),
        ("column-ratio:/cost", "written COLUMN/COLUMN"),
        ("column-difference:pay-2024-pay-2023", "as JSON"),
        ('column-ratio:{"column": "x"}', "the keys column, base"),
        ('column-ratio:{"column": "x", "base": 5}', "must be a text"),
        # one form is never taken for the other, and each points to the other
        ("column-ratio:year=2024/2023", "For two groups of rows write ratio:year=2024/2023"),
        ("ratio:cost/revenue", "For two columns write column-ratio:cost/revenue"),
        ("difference:revenue-cost", "For two columns write column-difference:revenue-cost"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(text, said):
    with pytest.raises(sv.ProblemError, match=said) as caught:
        parse_secret(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        (lambda: sv.Problem(secret=RATIO, prior=(0.5, 2), tolerance=sv.Relative(0.1)), "ratio of two columns .*min=0"),
        (lambda: difference(known=sv.Structure(step=1)), "difference of two columns .* keeps no bound"),
        (lambda: difference(shape="catalogue"), "two columns is hidden by a map"),
        (
            lambda: sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=(0, 1), sigma=(1, 2)), secret=RATIO, tolerance=1),
            "two columns is hidden without a family",
        ),
    ],
)
def test_a_problem_that_no_map_serves_is_refused_when_it_is_stated(stated, said):
    with pytest.raises(sv.StatveilError, match=said):
        stated()


@pytest.mark.parametrize("risk", [0.15, 0.2, 0.5])
def test_the_distortion_is_what_the_further_column_moves_by_and_none_moves_it_less(risk):
    """Both statistics by brute force over the range: the factors, and the moves, of the two columns."""
    plan = sv.plan(ratio(), max_risk=risk)
    ratios = np.exp(np.linspace(math.log(0.5), math.log(2.0), 4001))
    root = np.sqrt(plan.apply(value=ratios).secret / ratios)
    common = np.linspace(0.5, 1.0, 20_001)  # the number of both columns that makes the larger move least
    factors = np.concatenate([root, 1 / root])
    worst = np.maximum(np.abs(common * factors.max() - 1), np.abs(common * factors.min() - 1))
    assert plan.distortion == pytest.approx(float(worst.min()), rel=2e-3)
    gap = sv.plan(difference(), max_risk=risk)
    gaps = np.linspace(-10, 10, 4001)[:-1]
    assert gap.distortion == pytest.approx(np.abs(gap.apply(value=gaps).secret - gaps).max() / 2, rel=2e-3)
    k = math.ceil(1 / risk)
    assert gap.lower_bound == pytest.approx((k - 1) * 0.5 / 2, rel=1e-9)
    assert plan.lower_bound == pytest.approx(math.tanh((k - 1) * math.atanh(0.05) / 2), rel=1e-9)


def test_the_words_speak_of_columns_and_not_of_groups():
    for problem in (ratio(), difference()):
        text = str(sv.plan(problem, max_risk=0.2))
        assert "two columns" in text
        assert "group" not in text
    assert "either column" in str(sv.plan(ratio(), max_risk=0.2))


CASES = {"ratio": (ratio(), 0.2, (0.5, 2.0)), "difference": (difference(), 0.25, (-10.0, 10.0))}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.heavy(1)
def test_the_risk_is_what_the_best_attacker_on_the_whole_released_table_reaches(name):
    """Tables with a drawn secret are released; the attacker has the table, and all secrets that lead to what it shows.

    The shapes of both columns, and what they have in common, are the same in every table, and known.
    """
    problem, risk, (low, high) = CASES[name]
    plan = sv.plan(problem, max_risk=risk)
    relative, rows, trials = name == "ratio", 30, 150
    rng = np.random.default_rng(11)
    one, two = rng.gamma(3.0, 2.0, rows), rng.gamma(5.0, 2.0, rows)
    kept = rng.normal(size=rows)
    fine = np.linspace(low, high, 40_001)[:-1] + 1e-7 * (high - low)
    leads, off = plan.apply(value=fine).secret, 2 * plan.release_mode.wander(problem)
    hits = 0
    for _ in range(trials):
        drawn = rng.uniform(low, high)
        if relative:
            cost, revenue = one / one.mean() * 7 * math.sqrt(drawn), two / two.mean() * 7 / math.sqrt(drawn)
        else:
            cost, revenue = one - one.mean() + 50 + drawn / 2, two - two.mean() + 50 - drawn / 2
        table = pl.DataFrame({"cost": cost, "kept": kept, "revenue": revenue})
        seen = sv.release(plan, table, accept=tuple(LEAKS))
        assert seen["kept"].equals(table["kept"])
        shown = seen["cost"].to_numpy(), seen["revenue"].to_numpy()
        # what else the table shows is the same whatever was drawn, so it says nothing
        left = shown[0] * shown[1] if relative else shown[0] + shown[1]
        was = cost * revenue if relative else cost + revenue
        assert np.ptp(left / was) <= 1e-5 + 2 * off / was.min()
        level = shown[0].mean() / shown[1].mean() if relative else shown[0].mean() - shown[1].mean()
        candidates = fine[np.abs(leads - level) <= 1e-5 * max(1.0, abs(level)) + off]
        ends = candidates * 1.05 / 0.95 if relative else candidates + 1.0
        best = int(np.argmax(np.searchsorted(candidates, ends, side="right") - np.arange(len(candidates))))
        guess = candidates[best] * 1.05 if relative else candidates[best] + 0.5
        hits += bool(abs(guess / drawn - 1) <= 0.05 if relative else abs(guess - drawn) <= 0.5)
    reached = binomtest(hits, trials).proportion_ci(0.999)
    assert reached.low <= plan.risk <= reached.high


def test_releases_of_one_pair_compose_and_with_other_secrets_they_tell_everything():
    one, two = sv.plan(ratio(), max_risk=0.2), sv.plan(ratio(), max_risk=0.3)
    assert sv.compose([one, one]).risk == one.risk
    assert sv.compose([one, two]).risk > max(one.risk, two.risk)
    grouped = sv.Problem(
        secret=sv.GroupRatio("year", "2024", "2023"),
        prior=(0.5, 2),
        tolerance=sv.Relative(0.05),
        known=sv.Structure(minimum=0),
    )
    for beside in (sv.plan(grouped, max_risk=0.2), sv.plan(difference(), max_risk=0.2)):
        assert sv.compose([one, beside]).risk == 1.0
    assert [found.risk for found in one.protects(["mean", "std", DIFFERENCE, RATIO])] == [None, None, None, one.risk]
