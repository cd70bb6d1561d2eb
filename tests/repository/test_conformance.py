"""The public conformance suite passes every registered family, mechanism and mode, and catches broken ones."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import statveil as sv
from statveil import accounting
from statveil.mechanisms.mechanism import MECHANISMS
from statveil.mechanisms.partition import Partition
from statveil.modes import MODES
from statveil.problem.families.gaussian import Gaussian
from statveil.problem.families.poisson import Poisson
from statveil.problem.family import FAMILIES
from statveil.tables.maps import affine, unit
from statveil.tables.maps.column_map import ColumnMap
from statveil.testing import (
    ConformanceError,
    check_family,
    check_mechanism,
    check_mode,
    family_checks,
    registered_families,
    typical_secrets,
)
from tests.plans import BY_MODE

CHECKS = [(family, name, check) for family in registered_families() for name, check in family_checks(family)]


@pytest.mark.parametrize(("family", "name", "check"), CHECKS, ids=[f"{f.name}-{n}" for f, n, _ in CHECKS])
@pytest.mark.heavy(2)
def test_every_registered_family_passes(family, name, check):
    assert family.name in FAMILIES
    check()  # raises ConformanceError where two ways to the same number differ


def test_every_pair_of_the_papers_table_is_registered():
    pairs = {(family.name, kind) for family in registered_families() for kind in family.secrets}
    continuous = {"gaussian", "uniform", "exponential", "shifted-exponential"}
    ordinal = {"geometric", "binomial", "poisson"}
    assert {(f, s) for f in continuous for s in ("mean", "std", "quantile")} <= pairs
    assert {(f, s) for f in ordinal for s in ("mean", "std", "fraction")} <= pairs
    assert {("location", "mean"), ("categorical", "fraction")} <= pairs
    assert not {(f, "quantile") for f in ordinal | {"categorical"}} & pairs
    assert all(typical_secrets(family) for family in registered_families())


@pytest.fixture
def scratch_registry():
    before = dict(FAMILIES)
    yield
    FAMILIES.clear()
    FAMILIES.update(before)


def _broken(base, **changes):
    return type("Broken", (base,), {"name": "broken", **changes})()


@pytest.mark.usefixtures("scratch_registry")
@pytest.mark.parametrize(
    ("base", "changes", "complaint"),
    [
        (Gaussian, {"z_std": property(lambda self: 1.1)}, "standard deviation"),
        (Gaussian, {"z_mean": property(lambda self: 0.2)}, "mean"),
        (Gaussian, {"z_sample": lambda self, n, rng: rng.standard_normal(n) * 1.1}, "sample"),
        (Gaussian, {"z_distance": lambda self, a, b: np.hypot(a, b)}, "w1"),
        (Gaussian, {"z_quantile": lambda self, a: np.asarray(a) * 1.0}, "cdf"),
        (Gaussian, {"closed_gamma": lambda self, secret: 0.6}, "gamma"),
        (Gaussian, {"closed_gamma": lambda self, secret: 0.1}, "gamma"),
        (Gaussian, {"slope_of": lambda self, d: -1.0}, "slope"),
        (Gaussian, {"settings": lambda self: {"secret_option": 1}}, "settings"),
        (Poisson, {"std_at": lambda self, t: t}, "standard deviation"),
        (Poisson, {"cdf_at": lambda self, k, t: np.clip(k / 100, 0, 1)}, "w1|cdf"),
        (Poisson, {"mean_slope": lambda self, t: 2 * np.ones_like(np.asarray(t, dtype=float))}, "slope"),
        (Poisson, {"w1": lambda self, a, b: np.abs(self.theta(a) - self.theta(b)) * 1.01}, "w1"),
    ],
)
def test_a_deliberately_broken_family_fails(base, changes, complaint):
    family = _broken(base, **changes)
    with pytest.raises(ConformanceError, match=complaint):
        check_family(family)


@pytest.mark.usefixtures("scratch_registry")
def test_a_faithful_third_party_family_passes():
    class Shifted(Gaussian):
        name = "my-gaussian"

    check_family(Shifted())
    assert FAMILIES["my-gaussian"] is Shifted


# --- mechanisms -------------------------------------------------------------------------------------------------------
BOTH = sv.Box(mu=(0, 100), sigma=(1, 20))
ASKED = {
    "line": ({"family": sv.Gaussian(), "prior": BOTH, "secret": sv.Quantile(0.9), "tolerance": 1.0}, {}),
    "triangle": (
        {
            "family": sv.Uniform(),
            "prior": sv.Box(low=(0, 20), high=(0, 20)),
            "secret": sv.Quantile(0.3),
            "tolerance": 0.2,
        },
        {},
    ),
    "steps": (
        {
            "family": sv.Location(),
            "prior": sv.Box(mean=(0, 100)),
            "secret": sv.Mean(),
            "tolerance": 1.0,
            "known": sv.Structure(step=0.25),
        },
        {},
    ),
    "shares": ({"family": sv.Categorical(categories=3), "secret": sv.Fraction(1), "tolerance": 0.02}, {}),
    "scaling": (
        {
            "family": sv.Gaussian(),
            "prior": sv.Box(mu=(100, 200), sigma=(1, 9)),
            "secret": sv.Mean(),
            "tolerance": 1.0,
            "known": sv.Structure(minimum=0.0),
        },
        {},
    ),
    "partition": (
        {"family": sv.Poisson(), "prior": sv.Box(rate=(1, 20)), "secret": sv.Std(), "tolerance": 0.05},
        {"method": "dynamic", "grid": 80},
    ),
    "layers": (
        {"family": sv.Poisson(), "prior": sv.Box(rate=(1, 20)), "secret": sv.Mean(), "tolerance": 0.2},
        {"method": "layered", "grid": 80},
    ),
    "comb": (
        {"family": sv.Gaussian(), "prior": BOTH, "secret": sv.Quantile(0.9), "tolerance": 1.0},
        {"method": "comb"},
    ),
    "tiles": (
        {
            "secret": sv.Mean(),
            "prior": sv.Density("norm", (20, 6), low=0, high=40),
            "tolerance": 1.0,
            "also": [sv.Also(sv.Std(), (5, 25), tolerance=1.0)],
        },
        {},
    ),
}


@cache
def planned(name):
    asked, how = ASKED[name]
    return sv.plan(sv.Problem(**asked), max_risk=0.35, **how)


@pytest.mark.parametrize("name", ASKED)
def test_every_mechanism_passes(name):
    plan = planned(name)
    check_mechanism(plan.mechanism, plan.problem, trials=10_000)


def test_every_kind_of_mechanism_is_asked():
    asked = {planned(name).mechanism.kind for name in ("line", "scaling", "partition", "layers", "comb", "tiles")}
    # other tests register mechanisms of their own
    assert asked == {kind for kind, cls in MECHANISMS.items() if cls.__module__.startswith("statveil.")}


def _changed(mechanism, **methods):
    """The same mechanism, lying about one thing; it stands in for the right one in the registry."""
    kind = type("Changed", (type(mechanism),), {"__slots__": (), "kind": mechanism.kind, **methods})
    values = {field.name: getattr(mechanism, field.name) for field in dataclasses.fields(mechanism)}
    return kind(**values)


def _twice_as_far(self, params, chance=None):
    right = super(type(self), self).release(params, chance)
    return {name: np.asarray(params[name]) + 2 * (value - np.asarray(params[name])) for name, value in right.items()}


@pytest.mark.parametrize(
    ("name", "methods", "complaint"),
    [
        ("partition", {"release": lambda self, params, chance=None: dict(params)}, "nearest|fibre|hits"),
        ("partition", {"release": _twice_as_far}, "nearest|fibre"),
        ("partition", {"to_json": lambda self: {**Partition.to_json(self), "released": list(self.edges[1:])}}, "JSON"),
        ("partition", {"covers": lambda self, problem: False}, "does not cover the prior"),
        ("partition", {"describe": lambda self, slope: ("", "")}, "describe"),
    ],
)
def test_a_mechanism_that_lies_about_itself_is_found_out(name, methods, complaint):
    before = dict(MECHANISMS)
    try:
        plan = planned(name)
        with pytest.raises(ConformanceError, match=complaint):
            check_mechanism(_changed(plan.mechanism, **methods), plan.problem)
    finally:
        MECHANISMS.clear()
        MECHANISMS.update(before)


@pytest.mark.parametrize(
    ("what", "change", "complaint"),
    [
        ("risk", lambda found: dataclasses.replace(found, value=0.8 * found.value), "more than the stated"),
        ("risk", lambda found: dataclasses.replace(found, value=1.2 * found.value), "said to be numerical"),
        ("distortion", lambda found: 0.95 * found, "more than the distortion"),
        ("distortion", lambda found: 1.5 * found, "no release lies further away"),
    ],
)
def test_an_accounting_that_is_off_is_found_out(monkeypatch, what, change, complaint):
    plan = planned("partition")
    right = getattr(accounting, what)
    monkeypatch.setattr(accounting, what, lambda problem, mechanism: change(right(problem, mechanism)))
    with pytest.raises(ConformanceError, match=complaint):
        check_mechanism(plan.mechanism, plan.problem)


# --- modes ------------------------------------------------------------------------------------------------------------
def _numbers(draw):
    return draw(np.random.default_rng(7))


MODE_CASES = {
    "shift": (
        {"family": sv.Gaussian(), "prior": sv.Box(mu=(0, 200), sigma=(1, 51)), "secret": sv.Mean(), "tolerance": 2.0},
        _numbers(lambda rng: rng.normal(90, 20, 500)),
    ),
    "affine": (
        {
            "family": sv.Gaussian(),
            "prior": sv.Box(mu=(0, 200), sigma=(1, 51)),
            "secret": sv.Quantile(0.9),
            "tolerance": 2.0,
        },
        _numbers(lambda rng: rng.normal(50, 10, 500)),
    ),
    "odds": (
        {
            "prior": (20, 80),
            "secret": sv.Mean(),
            "tolerance": 2.0,
            "known": sv.Structure(minimum=0, maximum=100),
        },
        _numbers(lambda rng: np.where(rng.random(500) < 0.5, rng.uniform(5, 30, 500), rng.uniform(55, 90, 500))),
    ),
    "model": (
        {
            "prior": (20, 80),
            "secret": sv.Quantile(0.9),
            "tolerance": 2.0,
            "known": sv.Structure(minimum=0, step=1.0),
            "shape": "gamma(2)",
        },
        _numbers(lambda rng: np.round(rng.gamma(3.0, 10.0, 500))),
    ),
    "scale": (
        {"family": sv.Exponential(), "prior": sv.Box(scale=(1, 20)), "secret": sv.Mean(), "tolerance": 0.3},
        _numbers(lambda rng: rng.exponential(7.0, 500)),
    ),
    "lattice": (
        {
            "family": sv.Location(),
            "prior": sv.Box(mean=(0, 200)),
            "secret": sv.Mean(),
            "tolerance": 2.0,
            "known": sv.Structure(step=1.0),
        },
        _numbers(lambda rng: np.round(rng.normal(90, 20, 500))),
    ),
    "unit": (
        {"family": sv.Poisson(), "prior": sv.Box(rate=(1, 20)), "secret": sv.Mean(), "tolerance": 0.3},
        _numbers(lambda rng: rng.poisson(7.0, 500).astype(float)),
    ),
    "rank": (
        {"family": sv.Binomial(trials=10), "prior": sv.Box(p=(0.1, 0.9)), "secret": sv.Mean(), "tolerance": 0.1},
        _numbers(lambda rng: rng.binomial(10, 0.4, 500).astype(float)),
    ),
    "category": (
        {"family": sv.Categorical(categories=3), "secret": sv.Fraction(1), "tolerance": 0.02},
        _numbers(lambda rng: rng.choice(3, 500, p=[0.2, 0.5, 0.3]).astype(float)),
    ),
    "jitter": (
        {
            "family": sv.Location(),
            "prior": sv.Box(mean=(50, 200)),
            "secret": sv.Mean(),
            "tolerance": 2.0,
            "known": sv.Structure(step=1.0, minimum=0.0),
        },
        _numbers(lambda rng: np.round(rng.gamma(6.0, 15.0, 500))),
    ),
    "smooth": (
        {
            "family": sv.Location(),
            "prior": sv.Box(mean=(50, 200)),
            "secret": sv.Mean(),
            "tolerance": 2.0,
            "known": sv.Structure(step=10.0, minimum=0.0),
        },
        _numbers(lambda rng: 10 * np.round(rng.gamma(6.0, 1.5, 500))),
    ),
}


GROUPED_CASES = {
    "group-scale": {
        "secret": sv.GroupRatio("region", "north", "south"),
        "prior": (0.5, 3),
        "tolerance": sv.Relative(0.05),
        "known": sv.Structure(minimum=0),
    },
    "group-shift": {"secret": sv.GroupDifference("region", "north", "south"), "prior": (-20, 20), "tolerance": 0.5},
}


COLUMN_CASES = {
    "column-scale": {
        "secret": sv.ColumnRatio("cost", "revenue"),
        "prior": (0.5, 3),
        "tolerance": sv.Relative(0.05),
        "known": sv.Structure(minimum=0),
    },
    "column-shift": {"secret": sv.ColumnDifference("cost", "revenue"), "prior": (-20, 20), "tolerance": 0.5},
}


def test_every_mode_is_asked_and_has_a_plan_that_tests_of_tables_share():
    assert {*MODE_CASES, *GROUPED_CASES, *COLUMN_CASES} == {name for name, mode in MODES.items() if not mode.of_table}
    # tables of one column alone have no groups
    assert {name: plan.mode for name, plan in BY_MODE.items()} == {name: name for name in MODE_CASES}


@pytest.mark.parametrize("name", GROUPED_CASES)
def test_every_mode_of_two_groups_passes(name):
    rng = np.random.default_rng(3)
    label = rng.choice(3, 600, p=[0.3, 0.5, 0.2])
    column = rng.gamma(4.0, 3.0, 600) * np.where(label == 0, 1.3, 1.0)
    check_mode(MODES[name], sv.Problem(**GROUPED_CASES[name]), column, groups=(label == 0, label == 1))


@pytest.mark.parametrize("name", COLUMN_CASES)
def test_every_mode_of_two_columns_passes(name):
    rng = np.random.default_rng(3)
    first = np.arange(600) < 300
    column = rng.gamma(4.0, 3.0, 600) * np.where(first, 1.3, 1.0)
    check_mode(MODES[name], sv.Problem(**COLUMN_CASES[name]), column, groups=(first, ~first))


@pytest.mark.parametrize("name", MODE_CASES)
def test_every_mode_passes(name):
    asked, column = MODE_CASES[name]
    check_mode(MODES[name], sv.Problem(**asked), column)


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("unit", {"random": False}, "the mode is not random"),
        ("unit", {"slack": lambda self, problem, rows, largest: -1.0}, "the released statistic is off by"),
        ("rank", {"line": True, "near_line": True}, "the rows and one line differ"),
        ("lattice", {"near_line": False}, "a line is also nearly one"),
        ("shift", {"says": ""}, "has no description"),
    ],
)
def test_a_mode_that_lies_about_itself_is_found_out(monkeypatch, name, change, complaint):
    asked, column = MODE_CASES[name]
    for attribute, value in change.items():
        monkeypatch.setattr(type(MODES[name]), attribute, value)
    with pytest.raises(ConformanceError, match=complaint):
        check_mode(MODES[name], sv.Problem(**asked), column)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda rows, index: rows + 0.5, "the released statistic is off by"),
        (lambda rows, index: np.where(np.arange(len(rows)) == 3, np.nan, rows), "become rows without one"),
        (lambda rows, index: np.nan_to_num(rows, nan=1.0), "do not stay without one"),
        (lambda rows, index: rows[:-1], "rows and the column"),
        (lambda rows, index: 1.1 * rows - 0.1 * np.nanmean(rows), "stretched by 1.1"),
        # a twentieth of the tolerance up and down, ten times what the mode blurs
        (lambda rows, index: rows + 0.1 * (-1.0) ** np.arange(len(rows)), "the rows and one line differ"),
    ],
)
def test_a_map_that_spoils_rows_is_found_out(monkeypatch, spoil, complaint):
    asked, column = MODE_CASES["shift"]
    prepare = affine.prepare

    class Spoilt(ColumnMap):
        def __init__(self, right):
            self.right = right

        def block(self, values, index):
            return spoil(self.right.block(values, index), index)

        def coefficients(self):
            return self.right.coefficients()

    monkeypatch.setattr(affine, "prepare", lambda job: Spoilt(prepare(job)))
    with pytest.raises(ConformanceError, match=complaint):
        check_mode(MODES["shift"], sv.Problem(**asked), column)


def test_a_map_whose_blocks_depend_on_their_order_is_found_out(monkeypatch):
    asked, column = MODE_CASES["unit"]
    prepare = unit.prepare

    class Counting(ColumnMap):
        """Draws from one stream for all blocks: right as long as they come in order."""

        def __init__(self, right):
            self.right, self.seen = right, []

        def block(self, values, index):
            late = bool(self.seen) and index < self.seen[-1]
            self.seen.append(index)
            rows = self.right.block(values, index)
            return np.roll(rows, 1) if late else rows

        def coefficients(self):
            return self.right.coefficients()

    monkeypatch.setattr(unit, "prepare", lambda job: Counting(prepare(job)))
    with pytest.raises(ConformanceError, match="order in which the blocks are asked for"):
        check_mode(MODES["unit"], sv.Problem(**asked), column)
