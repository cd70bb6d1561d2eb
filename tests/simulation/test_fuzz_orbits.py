"""The independent checker of plans without a family, of public shapes and of more secrets: right by other means."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

import statveil as sv
from fuzz.beliefs import belief, members, of_logarithm
from fuzz.checker import check, true_risk
from fuzz.laws import distance, secret
from fuzz.making import make
from fuzz.orbits import as_one_parameter, moved
from fuzz.problems import random_spec
from fuzz.shapes import SHAPES, TABLES, standard

pytestmark = pytest.mark.usefixtures("no_optimum")

LEVELS = (np.arange(200_000) + 0.5) / 200_000


def bins(name, low, high, width, step=None):
    same = {"kind": "interval", "along": name, "coordinate": {name: 1.0}, "direction": {name: 1.0}}
    return {**same, "low": low, "high": high, "origin": low, "width": width, "step": step}


def stated(prior, mechanism, share, kind="mean", **known):
    nothing = {"minimum": None, "maximum": None, "step": None, "atoms": []}
    problem = {"family": None, "prior": prior, "secret": {"kind": kind}, "tolerance": share}
    problem |= {"tolerance_kind": "relative", "known": nothing | known}
    return as_one_parameter({"problem": problem, "mechanism": mechanism, "robust_to": None})


# --- risks in closed form -------------------------------------------------------------------------------
@pytest.mark.parametrize("sign", [1, -1])
def test_every_factor_equally_likely(sign):
    # ranges of logarithms: three bins and a rest that is shorter than a hit
    name = "ln" if sign > 0 else "-ln"
    ends = sorted((sign * math.log(2.0), sign * math.log(2.0 * math.exp(3.04))))
    plan = stated({"kind": "log", "low": 2.0, "high": 2.0 * math.exp(3.04)}, bins(name, *ends, 1.0), 0.05)
    hit = math.log(1.05 / 0.95)
    assert true_risk(plan).risk == pytest.approx((3 * hit + 0.04) / 3.04, abs=1e-9)


def test_a_plain_range_is_dense_at_the_top_of_each_class():
    # one class, 20 to 80: the best guess catches the largest values, from 80 (1 - r) / (1 + r) on
    plan = stated({"kind": "flat", "low": 20.0, "high": 80.0}, bins("ln", math.log(20), math.log(80), 10.0), 0.1)
    assert true_risk(plan).risk == pytest.approx((80 - 80 * 0.9 / 1.1) / 60, abs=1e-9)


def test_whole_steps_and_a_share_against_plain_counting():
    # 20 to 80 in steps of 1 and bins of 20: the guess of a residue catches the teeth of the top of a bin
    plan = stated({"kind": "flat", "low": 20.0, "high": 80.0}, bins("value", 20.0, 80.0, 20.0, 1.0), 0.05, step=1.0)
    hits = 0.0
    for low in (20, 40, 60):
        residues = (np.arange(2000) + 0.5) / 2000
        for residue in residues:
            teeth = low + residue + np.arange(20)
            hits += max(np.count_nonzero((teeth >= t) & (teeth <= t * 1.05 / 0.95)) for t in teeth) / 2000 / 60
    found = true_risk(plan)
    assert found.risk == pytest.approx(hits, abs=2e-3)
    assert found.error < 2e-3


# --- beliefs --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "axis",
    [
        {"kind": "log", "low": 1.0, "high": 40.0},
        {"kind": "flat", "low": 1.0, "high": 40.0},
        {"kind": "density", "name": "norm", "args": [10.0, 5.0], "low": 1.0, "high": 40.0},
    ],
    ids=lambda axis: axis["kind"],
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_beliefs_of_logarithms_agree_with_draws(axis, sign):
    plain = belief(axis)
    made = of_logarithm(axis, plain, sign)
    drawn = np.sort(sign * np.log(plain.ppf(LEVELS)))
    assert made.ppf(LEVELS[::1000]) == pytest.approx(drawn[::1000], abs=1e-4)
    assert made.cdf(drawn[::1000]) == pytest.approx(LEVELS[::1000], abs=1e-5)
    x = np.linspace(made.low, made.high, 200_001)
    assert np.trapezoid(made.pdf(x), x) == pytest.approx(1, abs=1e-4)


def test_members_of_a_class_of_slopes_keep_the_slope_and_the_mass():
    data = {"kind": "log-slope", "low": 2.0, "high": 30.0, "slope": 1.7}
    y = np.linspace(math.log(2), math.log(30), 40_001)
    found = members(data, periods=(0.4,))
    assert len(found) > 8
    for member in found:
        height = member.pdf(np.exp(y)) * np.exp(y)
        assert np.trapezoid(height, y) == pytest.approx(1, abs=1e-4)
        assert np.abs(np.diff(np.log(height)) / np.diff(y)).max() <= 1.7 * (1 + 1e-6)
        u = np.linspace(0.01, 0.99, 33)
        assert member.cdf(member.ppf(u)) == pytest.approx(u, abs=1e-9)


# --- shapes ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("of", [*SHAPES, *range(len(TABLES))], ids=str)
def test_standard_columns_against_sampled_quantiles(of):
    if isinstance(of, int):
        of = {"levels": list(TABLES[of]), "values": list(TABLES[of].values())}
    z = standard(of)
    values = z.ppf(LEVELS)
    heavy = 2e-3 * z.std  # tails beyond the outermost of so many levels
    assert z.mean == pytest.approx(values.mean(), abs=heavy)
    assert z.trimmed(0.2) == pytest.approx(stats.trim_mean(values, 0.2), abs=1e-5 * z.std)
    a, b = np.array([0.3, -1.0, 0.0, 2.0]), np.array([1.0, 0.7, -2.0, 0.0])
    right = np.abs(a[:, None] + b[:, None] * values).mean(axis=1)
    assert z.length(a, b) == pytest.approx(right, abs=4 * heavy)


@pytest.mark.parametrize("kind", ["median", "iqr", "total", "trimmed-mean"])
def test_more_secrets_of_a_location_and_scale(kind):
    wanted = {"kind": kind, "rows": 40, "share": 0.15}
    params = {"mu": np.array([3.0, -1.0]), "sigma": np.array([2.0, 0.5])}
    columns = params["mu"] + params["sigma"] * stats.norm.ppf(LEVELS)[:, None]
    low, middle, high = np.quantile(columns, [0.25, 0.5, 0.75], axis=0)
    right = {
        "median": middle,
        "iqr": high - low,
        "total": 40 * columns.mean(axis=0),
        "trimmed-mean": stats.trim_mean(columns, 0.15),
    }[kind]
    assert secret({"name": "gaussian"}, wanted, params) == pytest.approx(right, abs=1e-4)


def test_distances_of_shapes_and_of_negative_binomials():
    family = {"name": "shape", "of": "gamma(2)", "parameters": ["median", "iqr"]}
    law = stats.gamma(2)
    one = {"median": np.array([4.0]), "iqr": np.array([2.0])}
    two = {"median": np.array([5.0]), "iqr": np.array([1.2])}
    unit = law.ppf(0.75) - law.ppf(0.25)

    def quantile(params, u):
        return params["median"][0] + (law.ppf(u) - law.ppf(0.5)) * params["iqr"][0] / unit

    right, _ = integrate.quad(lambda u: abs(quantile(one, u) - quantile(two, u)), 0, 1, limit=400)
    assert distance(family, "w1", one, two)[0] == pytest.approx(right, rel=1e-6)
    counts = {"name": "negative-binomial", "size": 2.5}
    a, b = {"mean": np.array([3.0])}, {"mean": np.array([4.5])}
    k = np.arange(2000)
    p, q = (stats.nbinom.pmf(k, 2.5, 2.5 / (2.5 + m)) for m in (3.0, 4.5))
    assert distance(counts, "tv", a, b)[0] == pytest.approx(0.5 * np.abs(p - q).sum(), abs=1e-10)
    assert distance(counts, "w1", a, b)[0] == pytest.approx(np.abs(np.cumsum(p - q)).sum(), abs=1e-9)


# --- distortions by rows --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("median", {}),
        ("mean", {"minimum": 2.0}),
        ("quantile", {"minimum": 2.0}),
        ("std", {}),
        ("mean", {"atoms": [9.0]}),
    ],
)
def test_distortions_without_a_family_are_those_of_rows(kind, known):
    """Columns moved by hand: all rows by one shift, one scaling about the point that stays, one stretch."""
    rng = np.random.default_rng(4)
    rows = np.sort(2 + rng.gamma(2.0, 6.0, 4000))
    if kind == "std":
        rows = np.where(np.arange(4000) < 2000, 3.0, 11.0)  # the two halves that move farthest
    of = {"median": np.median, "mean": np.mean, "std": np.std, "quantile": lambda x: np.quantile(x, 0.9)}[kind]
    own, wanted = float(of(rows)), float(of(rows)) * 1.1
    nothing = {"minimum": None, "maximum": None, "atoms": []}
    problem = {"secret": {"kind": kind}, "known": nothing | known}
    found = moved(problem, np.array([own]), np.array([wanted]))
    fixed = known.get("minimum", known.get("atoms", [rows.mean()])[0]) if kind != "median" else None
    if fixed is None:
        after = rows + wanted - own
    else:
        away = own if kind == "std" else own - fixed
        after = fixed + (rows - fixed) * (1 + (wanted - own) / away)
    assert of(after) == pytest.approx(wanted, rel=1e-9)
    w1 = np.abs(after - rows).mean()
    if "absolute" in found:
        assert found["absolute"] == pytest.approx(w1, rel=1e-9)
    if kind in ("quantile",) or "atoms" in known:
        assert found["relative"] == pytest.approx(w1 / np.abs(rows - fixed).mean(), rel=1e-9)
        assert "absolute" not in found
    else:
        assert found["relative"] == pytest.approx(0.1, rel=1e-9)


# --- positive controls ----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["any", "shape", "negative-binomial"])
def test_two_millionths_too_little_are_found(name):
    for number in range(12):
        spec = random_spec(np.random.default_rng([11, number]), name)
        if spec["plan"]["method"] not in ("auto", "interval", "comb", "dynamic", "greedy"):
            continue
        try:
            problem, target = make(spec)
            plan = sv.plan(problem, **target)
        except (sv.ProblemError, sv.TargetError):
            continue
        if plan.risk_kind == "upper bound" or plan.risk >= 1:
            continue
        found = check(plan)
        assert not found.violations
        assert plan.risk - found.risk.risk < (1e-9 if plan.risk_kind == "exact" else 1e-3)
        assert "risk" in check(replace(plan, risk=found.risk.risk - 2e-6)).violations[0]
        less = check(replace(plan, distortion=plan.distortion * (1 - 1e-3))).violations
        assert any("distortion" in one for one in less)
        return
    raise AssertionError("no plan was made")
