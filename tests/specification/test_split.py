"""A budget split over columns: against the closed forms on wide ranges, and against a search over a grid of splits."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq

import statveil as sv
from statveil.errors import ProblemError, TargetError
from statveil.specification.split import closed_form

EPS = (1, 8, 27)


def spec(columns, budget, minimise="total", dependence="independent", extra=""):
    text = f'[budget]\nmax_risk = {budget}\nminimise = "{minimise}"\ndependence = "{dependence}"\n'
    for i, (prior, tolerance) in enumerate(columns):
        text += f'[columns.c{i}]\nhide = "mean"\nprior = "{prior}"\ntolerance = "{tolerance}"\n'
    return sv.Specification.from_toml(text + extra)


def planned(*args, **kwargs):
    return sv.plan_specification(spec(*args, **kwargs))


def worth(distortions, minimise):
    return {"total": sum, "euclidean": lambda d: math.hypot(*d), "worst": max}[minimise](distortions)


def least(minimise, budget):
    """Least distortion of columns eps / p whose risks p have this union, by solving for the multiplier."""
    whole = -math.log1p(-budget)

    def risks(scale):
        # q = 1: p^2 / (1 - p) = a / lambda, and for q the same with a^q / p^(q - 1)
        power = {"total": 1, "euclidean": 2}[minimise]
        return [brentq(lambda p, a=a: p ** (power + 1) / (1 - p) - scale * a**power, 0, 1 - 1e-12) for a in EPS]

    top = brentq(lambda log: sum(-math.log1p(-p) for p in risks(math.exp(log))) - whole, -40, 5)
    return worth([a / p for a, p in zip(EPS, risks(math.exp(top)), strict=True)], minimise)


def test_the_closed_forms_have_the_numbers_of_the_theory():
    def total(risks):
        return sum(a / p for a, p in zip(EPS, risks, strict=True))

    assert total(closed_form(EPS, 0.1, "total")) == pytest.approx(814.4, abs=0.05)
    assert total(closed_form(EPS, 0.1, "total")) == pytest.approx(sum(map(math.sqrt, EPS)) ** 2 / 0.1)
    assert total(closed_form(EPS, 0.1, "euclidean")) == pytest.approx(840.0, abs=0.5)  # bins by the cube root
    assert least("total", 0.1) == pytest.approx(791.2, abs=0.05)
    for minimise in ("total", "euclidean", "worst"):
        assert sum(closed_form(EPS, 0.1, minimise)) == pytest.approx(0.1)


def test_wide_ranges_reach_the_exact_split_of_independent_columns():
    table = planned([("0:1e7", eps) for eps in EPS], 0.1)
    total = sum(table.distortions.values())
    assert 791.2 * (1 - 1e-4) <= total <= 791.2 * (1 + 1e-3) < 814.4
    assert table.risk <= 0.1


def test_wide_ranges_reach_the_least_euclidean_distortion():
    table = planned([("0:1e7", eps) for eps in EPS], 0.1, "euclidean")
    assert math.hypot(*table.distortions.values()) == pytest.approx(least("euclidean", 0.1), rel=2e-3)


def test_the_worst_column_is_as_good_as_the_others():
    table = planned([("0:1e7", eps) for eps in EPS], 0.1, "worst")
    # equal distortions d: product of (1 - eps / d) is 1 - T
    d = brentq(lambda d: math.prod(1 - eps / d for eps in EPS) - 0.9, 30, 1e5)
    assert max(table.distortions.values()) == pytest.approx(d, rel=5e-3)


@pytest.mark.parametrize(
    ("columns", "budget", "minimise"),
    [
        ([("0:100", 1), ("0:300", 2)], 0.3, "total"),
        ([("0:100", 1), ("50:90", 0.2)], 0.25, "euclidean"),
        ([("0:40", 1), ("0:300", 2)], 0.4, "worst"),
        ([("10:50", "1%"), ("100:200", "2%")], 0.35, "total"),
    ],
)
def test_finite_ranges_against_a_search_over_splits(columns, budget, minimise):
    table = planned(columns, budget, minimise)
    first, second = (hide.problems[0] for hide in table.specification.hidden.values())
    best = math.inf
    for p in np.geomspace(0.02, budget * 0.98, 80):
        q = 1 - (1 - budget) / (1 - p)
        try:
            found = [sv.plan(first, max_risk=p).distortion, sv.plan(second, max_risk=q).distortion]
        except TargetError:
            continue
        best = min(best, worth(found, minimise))
    assert table.risk <= budget
    assert worth(table.distortions.values(), minimise) <= best * 1.005


def test_three_columns_against_every_number_of_bins():
    """On plain ranges k bins have k times the risk of one, and half a bin as distortion: all splits can be tried."""
    columns, budget = [(60, 1), (100, 1), (90, 2)], 0.4
    best = math.inf
    for bins in itertools.product(range(1, 16), repeat=3):
        risks = [2 * eps * k / width for k, (width, eps) in zip(bins, columns, strict=True)]
        if max(risks) < 1 and 1 - math.prod(1 - risk for risk in risks) <= budget:
            best = min(best, sum(width / (2 * k) for k, (width, _) in zip(bins, columns, strict=True)))
    table = planned([(f"0:{width}", eps) for width, eps in columns], budget)
    assert sum(table.distortions.values()) <= best * (1 + 1e-9)
    assert table.risk <= budget


def test_copies_are_cut_at_the_same_places():
    """Two copies with n bins each have union n (w1 + w2): 75 bins for a budget of .3, and no split has more."""
    table = planned([("0:1000", 1), ("0:2000", 2)], 0.3, dependence="comonotone")
    assert table.risk == pytest.approx(0.3)
    assert list(table.distortions.values()) == pytest.approx([1000 / 150, 2000 / 150])
    assert table.column_risks == pytest.approx({"c0": 0.15, "c1": 0.15})


def test_any_dependence_costs_more_and_is_held():
    alone, worst = (planned([("0:1000", 1), ("0:2000", 2)], 0.3, dependence=how) for how in ("independent", "worst"))
    assert sum(worst.distortions.values()) > sum(alone.distortions.values())
    assert worst.risk <= 0.3
    # k1 k2 (w1 + w2) is at most .3 for bins k1, k2: all pairs can be tried
    pairs = [(k, m) for k in range(1, 76) for m in range(1, 76) if k * m * 0.004 <= 0.3]
    assert sum(worst.distortions.values()) <= 1.1 * min(500 / k + 1000 / m for k, m in pairs)


def test_columns_with_their_own_target_come_first():
    extra = '[columns.own]\nhide = "median"\nprior = "0:1000"\ntolerance = 1\nmax_risk = 0.1\n'
    table = planned([("0:1000", 1), ("0:1000", 1)], 0.2, extra=extra)
    assert table.plans["own"].risk == pytest.approx(0.1)
    others = [table.plans[name].risk for name in ("c0", "c1")]
    assert 1 - 0.9 * math.prod(1 - risk for risk in others) == pytest.approx(table.risk)
    assert table.risk <= 0.2
    assert others[0] == pytest.approx(others[1], rel=0.1)
    too_much = extra.replace("0.1\n", "0.3\n")
    with pytest.raises(TargetError, match=r"line 1: .*nothing is left"):
        planned([("0:1000", 1)], 0.2, extra=too_much)
    with pytest.raises(TargetError, match=r"line 1: .*above the budget of 0.2"):
        planned([], 0.2, extra=too_much)


def test_the_same_specification_has_the_same_split():
    asked = [("0:130", 1), ("5:70", 0.7), ("1:9", 0.05)]
    assert planned(asked, 0.3).plans == planned(asked, 0.3).plans


def test_what_cannot_be_met_says_so_with_the_line():
    with pytest.raises(TargetError, match=r"line 9: the column 'c1': a risk of 0.1 cannot be met"):
        planned([("0:1000", 1), ("0:10", 1)], 0.1)
    with pytest.raises(TargetError, match=r"line 1: a joint risk of 0.22 was not reached"):
        planned([("0:10", 1), ("0:10", 1)], 0.22)
    with pytest.raises(ProblemError, match=r"line 1: .*is a share and that of 'c1' is in its unit"):
        planned([("10:50", "1%"), ("0:100", 1)], 0.3)
