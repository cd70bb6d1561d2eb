"""Columns of any public shape: gamma, distances and risks against independent computations."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

import statveil as sv
from statveil.problem.shapes import scipy_shape
from statveil.testing import ConformanceError, check_family, family_checks
from statveil.theory.gamma import gamma, least_direction

pytestmark = pytest.mark.usefixtures("no_optimum")

ALPHAS = (0.1, 0.5, 0.9, 0.95, 0.99)
PRINTED = {  # std, then the quantiles above: six digits of a table that other code computed
    "laplace": (0.353553, 0.259017, 0.5, 0.259017, 0.197412, 0.123542),
    "logistic": (0.382152, 0.253941, 0.5, 0.253941, 0.205775, 0.141952),
    "t(3)": (0.318310, 0.271236, 0.5, 0.271236, 0.208235, 0.117253),
    "gumbel_r": (0.377391, 0.288031, 0.475767, 0.220947, 0.170360, 0.110289),
    "lognorm(0.5)": (0.359257, 0.306549, 0.468863, 0.212166, 0.158345, 0.096074),
    "lognorm(1)": (0.260403, 0.376927, 0.461855, 0.199630, 0.130033, 0.060432),
    "gamma(2)": (0.371836, 0.303426, 0.465611, 0.208543, 0.159093, 0.102753),
    "weibull_min(0.7)": (0.285347, 0.383346, 0.450443, 0.183053, 0.121901, 0.063327),
    "weibull_min(1.5)": (0.386369, 0.290770, 0.468813, 0.212925, 0.167339, 0.114509),
    "pareto(2.5)": (0.178610, 0.401714, 0.466276, 0.207248, 0.129494, 0.053073),
}
SECRETS = (sv.Std(), *map(sv.Quantile, ALPHAS))


def frozen(text):
    name, _, args = text.rstrip(")").partition("(")
    return getattr(stats, name)(*(float(part) for part in args.split(",") if part))


class Away:
    """E|Z - x| by Gauss rules on the density: no distribution function and no partial mean of ours."""

    def __init__(self, dist):
        shares = np.concatenate([np.linspace(0.5, 0.02, 25), np.geomspace(0.02, 1e-40, 121)[1:]])
        edges = np.concatenate([dist.support(), dist.ppf(shares), dist.isf(shares)])
        self.dist, self.edges = dist, np.unique(edges[np.isfinite(edges)])
        self.nodes, self.weights = np.polynomial.legendre.leggauss(24)
        self.mass, self.first = (self.panels(self.edges[:-1], self.edges[1:], power) for power in (0, 1))

    def panels(self, low, high, power):
        half = 0.5 * (high - low)[:, None]
        z = 0.5 * (high + low)[:, None] + half * self.nodes
        return (half * self.dist.pdf(z) * z**power) @ self.weights

    def __call__(self, x):
        if not self.edges[0] < x < self.edges[-1]:
            return abs(self.first.sum() - x * self.mass.sum())
        k = int(np.searchsorted(self.edges, x, side="right")) - 1
        sides = [
            self.panels(np.array([a]), np.array([b]), 1)[0] - x * self.panels(np.array([a]), np.array([b]), 0)[0]
            for a, b in ((self.edges[k], x), (x, self.edges[k + 1]))
        ]
        low, high = (self.first[part].sum() - x * self.mass[part].sum() for part in (slice(k), slice(k + 1, None)))
        return (high + sides[1]) - (low + sides[0])


def independent_gamma(dist, alpha):
    """min over b of E|1 + b (Z - c)| / 2; for the standard deviation min over a of E|Z - a| / (2 sd)."""
    mean_away = Away(dist)
    if alpha is None:
        around = dist.ppf([0.2, 0.8])
        found = optimize.minimize_scalar(lambda a: mean_away(a), bounds=around, options={"xatol": 1e-9})
        return found.fun / (2 * dist.std())
    c = dist.ppf(alpha)

    def size(b):
        return 1.0 if b == 0 else abs(b) * mean_away(c - 1 / b)

    most = 20 / (dist.ppf(0.75) - dist.ppf(0.25))
    sides = ((0.0, most), (-most, 0.0))
    return (
        min(
            optimize.minimize_scalar(size, bounds=side, method="bounded", options={"xatol": 1e-9}).fun for side in sides
        )
        / 2
    )


@pytest.mark.parametrize("text", PRINTED)
def test_gamma_is_the_least_ratio_of_all_directions(text):
    family, dist = sv.Shape(text), frozen(text)
    found = [family.closed_gamma(secret) for secret in SECRETS]
    assert found == pytest.approx(PRINTED[text], abs=5.1e-7)
    for value, alpha in zip(found, (None, *ALPHAS), strict=True):
        assert value == pytest.approx(independent_gamma(dist, alpha), abs=1e-9)


@pytest.mark.parametrize("text", PRINTED)
def test_the_general_rule_gives_what_the_closed_forms_give(text, monkeypatch):
    closed = [sv.Shape(text).closed_gamma(secret) for secret in SECRETS]
    monkeypatch.setattr(scipy_shape, "PARTIAL_MEANS", {})
    name, _, args = text.rstrip(")").partition("(")
    standard = scipy_shape.ScipyShape(name, tuple(float(part) for part in args.split(",") if part))
    general = [sv.Shape(standard).closed_gamma(secret) for secret in SECRETS]
    assert general == pytest.approx(closed, abs=1e-12)


@pytest.mark.parametrize("text", ["beta(2,5)", "skewnorm(4)", "invgauss(0.5)", "genextreme(-0.2)", "triang(0.3)"])
def test_shapes_without_a_closed_form_agree_with_the_search_and_with_quadrature(text):
    family, dist = sv.Shape(text), frozen(text)
    box = sv.Box(mean=(0, 9), std=(1, 5))
    for secret, alpha in ((sv.Std(), None), (sv.Quantile(0.1), 0.1), (sv.Quantile(0.95), 0.95)):
        found = family.closed_gamma(secret)
        problem = sv.Problem(family=family, prior=box, secret=secret, tolerance=0.1)
        assert found == pytest.approx(least_direction(problem)[0], rel=1e-7)
        assert found == pytest.approx(independent_gamma(dist, alpha), abs=1e-9)


OLD = {
    "norm": (sv.Gaussian(), ("mean", "std"), ("mu", "sigma")),
    "uniform": (sv.Uniform(), ("loc", "scale"), None),
    "expon": (sv.ShiftedExponential(), ("loc", "scale"), ("shift", "scale")),
}


@pytest.mark.parametrize("text", OLD)
def test_the_families_of_the_paper_are_special_cases(text):
    family, names, _ = OLD[text]
    shape = sv.Shape(text, parameters=names)
    for secret in (sv.Mean(), sv.Std(), *(sv.Quantile(alpha) for alpha in (0.01, 0.2, 0.499, 0.5, 0.63, 0.9, 0.999))):
        assert shape.closed_gamma(secret) == pytest.approx(family.closed_gamma(secret), abs=1e-13)
        rng = np.random.default_rng(1)
        for a, b in rng.normal(size=(20, 2)):
            assert float(shape.z_distance(a, b)) == pytest.approx(float(family.z_distance(a, b)), abs=1e-13)


@pytest.mark.parametrize("text", ["norm", "expon"])
@pytest.mark.parametrize("secret", [sv.Mean(), sv.Std(), sv.Quantile(0.9)], ids=lambda secret: secret.label)
@pytest.mark.parametrize("method", ["interval", "comb"])
def test_their_plans_are_those_of_the_families_of_the_paper(text, secret, method):
    family, names, theirs = OLD[text]
    ranges = ((0, 100), (2, 30))
    asked = {"secret": secret, "tolerance": 1.0}
    new = sv.Problem(family=sv.Shape(text), prior=sv.Box(dict(zip(names, ranges, strict=True))), **asked)
    old = sv.Problem(family=family, prior=sv.Box(dict(zip(theirs, ranges, strict=True))), **asked)
    found, before = (sv.plan(problem, max_risk=0.2, method=method) for problem in (new, old))
    assert found.risk == pytest.approx(before.risk, rel=1e-6)
    assert found.distortion == pytest.approx(before.distortion, rel=1e-6)
    assert found.lower_bound == pytest.approx(before.lower_bound, rel=1e-12)
    assert found.mode == before.mode


@pytest.mark.parametrize(
    "text", ["lognorm(1)", "t(3)", "gumbel_r", "pareto(2.5)", "beta(2,5)", "quantiles(0=1,0.5=3,1=20)"]
)
def test_w1_is_the_area_between_the_quantiles(text):
    family = sv.Shape(text)
    rng = np.random.default_rng(2)
    for _ in range(4):
        a, b = ({"mean": m, "std": s} for m, s in zip(rng.normal(0, 3, 2), rng.uniform(1, 4, 2), strict=True))

        def gap(t, a=a, b=b):  # level = 1 / (1 + e^-t): both tails come near
            level = 1 / (1 + np.exp(-t))
            return abs(float(family.quantile(level, a) - family.quantile(level, b))) * level * (1 - level)

        ends = np.linspace(-34, 34, 35)
        area = sum(integrate.quad(gap, *pair, limit=300)[0] for pair in itertools.pairwise(ends))
        assert float(family.w1(a, b)) == pytest.approx(area, rel=1e-6)


def test_w1_of_a_public_sample_is_that_of_its_rows():
    rows = np.random.default_rng(3).gamma(2.0, size=900)
    family = sv.Shape(rows, parameters=("loc", "scale"))
    levels = (np.arange(400_000) + 0.5) / 400_000
    rows_of = [family.quantile(levels, {"loc": loc, "scale": scale}) for loc, scale in ((0, 1), (-2.5, 2))]
    expected = stats.wasserstein_distance(*rows_of)
    assert float(family.w1({"loc": 0, "scale": 1}, {"loc": -2.5, "scale": 2})) == pytest.approx(expected, rel=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(-50, 50), min_size=3, max_size=12).filter(lambda found: len(set(found)) > 1),
    alpha=st.floats(0.02, 0.98),
    slopes=st.lists(st.floats(-30, 30), min_size=5, max_size=5),
)
def test_no_direction_of_a_table_beats_its_gamma_and_one_reaches_it(values, alpha, slopes):
    # ties are atoms, and the curve of partial means then has corners
    family = sv.Shape([float(value) for value in values], parameters=("loc", "scale"))
    secret = sv.Quantile(alpha)
    slope, least = family.best_slope(secret), family.closed_gamma(secret)
    c = family.coefficients(secret)
    directions = [{"loc": t, "scale": 1.0} for t in slopes] + [{"loc": 1.0, "scale": 0.0}]

    def ratio(d):
        rate = abs(c["loc"] * d["loc"] + c["scale"] * d["scale"])
        return float(family.length(d)) / (2 * rate) if rate > 1e-9 else np.inf

    assert all(ratio(direction) >= least * (1 - 1e-12) for direction in directions)
    best = {"loc": 1.0, "scale": 0.0} if slope is None else family.direction(slope)
    assert ratio(best) == pytest.approx(least, rel=1e-7)


def test_near_the_mean_the_pivot_runs_away_and_the_shift_takes_over():
    family = sv.Shape("lognorm(1)")
    level = float(family.standard.cdf(family.standard.mean))
    for alpha in (level, np.nextafter(level, 1), level - 1e-9, level + 1e-7, level - 1e-4):
        found, slope = family.closed_gamma(sv.Quantile(alpha)), family.best_slope(sv.Quantile(alpha))
        assert 0.499 < found <= 0.5
        assert slope is None or np.isfinite(slope)


def test_one_known_parameter_leaves_the_shift_or_the_scaling():
    for prior, expected in (
        (sv.Box(loc=0, scale=(1, 9)), np.exp(0.5) / (2 * np.exp(1.6448536269514722))),  # E|Z| / 2c
        (sv.Box(loc=(0, 9), scale=1), 0.5),
    ):
        problem = sv.Problem(family=sv.Shape("lognorm(1)"), prior=prior, secret=sv.Quantile(0.95), tolerance=0.1)
        assert gamma(problem) == pytest.approx(expected, rel=1e-12)


# --- the conformance suite --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ["lognorm(1)", "t(3)", "weibull_min(0.7)", "gumbel_r", "pareto(2.5)"])
def test_shapes_pass_the_conformance_suite(text):
    check_family(sv.Shape(text))  # raises where two ways to the same number differ


def test_heavy_tails_whose_standard_deviation_is_stated_wrong_do_not_pass():
    right = sv.Shape("pareto(2.5)")
    dict(family_checks(right))["moments"]()

    class Wrong(sv.Shape):
        portable = False
        z_std = property(lambda self: 1.002)

    with pytest.raises(ConformanceError, match="standard deviation"):
        dict(family_checks(Wrong("pareto(2.5)")))["moments"]()
    dict(family_checks(sv.Shape("pareto(1.8)")))["moments"]()  # infinite, and its integral is too


# --- risks ------------------------------------------------------------------------------------------------------------
BOXES = {
    "lognorm(1)": sv.Box(mean=(20, 60), std=(5, 40)),
    "t(3)": sv.Box(median=(20, 60), iqr=(5, 40)),
    "gumbel_r": sv.Box(mean=(20, 60), std=(5, 40)),
    "pareto(2.5)": sv.Box(loc=(20, 60), scale=(5, 40)),
    "quantiles(0=0,0.25=1,0.5=2,0.9=5,1=30)": sv.Box(median=(20, 60), std=(5, 40)),
}


@pytest.mark.parametrize("text", BOXES)
@pytest.mark.parametrize("secret", [sv.Mean(), sv.Std(), sv.Quantile(0.95)], ids=lambda secret: secret.label)
@pytest.mark.parametrize("method", ["interval", "comb"])
def test_the_simulated_attacker_hits_as_often_as_stated(text, secret, method):
    problem = sv.Problem(family=sv.Shape(text), prior=BOXES[text], secret=secret, tolerance=0.7)
    plan = sv.plan(problem, max_risk=0.25, method=method)
    assert plan.risk_kind == "exact"
    rate = sv.simulate(plan, trials=20_000, seed=5)
    assert rate.low <= plan.risk <= rate.high
    assert plan.lower_bound <= plan.distortion
    assert plan.published_bound is None  # the paper prints none for this shape
    assert sv.Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_layered_plans_and_limits_work_with_one_uncertain_parameter():
    belief = sv.Density("normal", (20, 8), low=5, high=40)
    problem = sv.Problem(
        family=sv.Shape("lognorm(1)"), prior=sv.Box(min=0, std=belief), secret=sv.Quantile(0.9), tolerance=0.5
    )
    plan = sv.plan(problem, max_risk=0.3, method="layered")
    assert sv.simulate(plan, trials=20_000, seed=6).low <= plan.risk <= 0.3
    # scaling about the minimum: gamma = E Z / (2 Q)
    assert sv.limits(problem, max_risk=0.3).gamma == pytest.approx(
        np.exp(0.5) / (2 * np.exp(1.2815515655446004)), rel=1e-9
    )


@pytest.mark.parametrize("share", [0.001, 0.05, 0.1, 0.2489, 0.49])
@pytest.mark.parametrize(
    "table",
    [{0: 1, 0.5: 3, 0.9: 8, 1: 20}, {0: 0, 0.2: 0, 0.21: 50, 0.6: 50, 1: 51}, {0: -3, 0.333: 7, 0.334: 7.5, 1: 8}],
    ids=["bends", "jumps and atoms", "late"],
)
def test_a_trimmed_mean_of_a_table_is_that_of_its_pieces(table, share):
    """Trapezoids between the levels of the table and the two cuts; a rule over all of them missed by 5e-6."""
    levels = np.array([share, *(level for level in table if share < level < 1 - share), 1 - share])
    values = np.interp(levels, list(table), list(table.values()))
    right = np.sum(np.diff(levels) * 0.5 * (values[1:] + values[:-1])) / (1 - 2 * share)
    family = sv.Shape(table, parameters=("loc", "scale"))
    moves, stretches = sv.TrimmedMean(share).linear(family)
    assert (moves, stretches) == (1.0, pytest.approx(right, rel=1e-13))
    at = {"loc": np.array([2.0, -5.0]), "scale": np.array([0.3, 4.0])}
    assert sv.TrimmedMean(share).of(family, at) == pytest.approx(at["loc"] + right * at["scale"], rel=1e-12)


@pytest.mark.parametrize("share", [1e-7, 1e-3, 0.2, 0.45])
def test_a_trimmed_mean_of_an_exponential_is_the_closed_form(share):
    """The integral of -ln t from a to 1 - a is [t - t ln t]."""

    def primitive(t):
        return t - t * math.log(t)

    right = (primitive(1 - share) - primitive(share)) / (1 - 2 * share)
    for family in (sv.Exponential(), sv.Shape("expon", parameters=("loc", "scale"))):
        assert sv.TrimmedMean(share).linear(family)[1] == pytest.approx(right, rel=1e-11)
