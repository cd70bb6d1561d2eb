"""Attackers that use a lattice: each breaks what is broken by construction, and gains nothing from what is not."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.stats import binomtest

import statveil as sv
import statveil.auditing.attackers
from statveil.auditing.attacker import ATTACKERS
from statveil.auditing.view import Knowledge, View
from statveil.tables.verification import LEAKS

pytestmark = pytest.mark.usefixtures("no_optimum")

ACCEPT = tuple(LEAKS)
NAMES = ("lattice-shift", "lattice-scale", "periodic")


def planned(prior, tolerance, known=None, *, family=None, secret=None, risk=0.1):
    problem = sv.Problem(
        family=family or sv.Location(),
        prior=sv.Box(**prior),
        secret=secret or sv.Mean(),
        tolerance=tolerance,
        known=known or sv.Structure(),
    )
    return sv.plan(problem, max_risk=risk)


def significant(digits):
    return lambda values: np.array([float(f"{value:.{digits}g}") for value in values])


WRITTEN = {
    "as released": lambda values: values,
    "6 digits": significant(6),
    "5 digits": significant(5),
    "4 digits": significant(4),
    "2 decimals": lambda values: np.round(values, 2),
    "3 decimals": lambda values: np.round(values, 3),
    "32 bits": lambda values: values.astype(np.float32).astype(np.float64),
}


def hit(name, plan, column, truth, structure):
    view = View(plan=plan, column=column, knowledge=Knowledge(structure=structure))
    attacker = ATTACKERS[name]()
    assert attacker.applies(view)
    posterior = attacker.attack(view)
    assert posterior is not None
    return abs(posterior.best(plan.problem.tolerance)[0] - truth) <= plan.problem.tolerance * (1 + 1e-9)


def hits(name, plan, make, structure, *, written="as released", trials=50, seed=0):
    """Tables whose true mean is drawn from the prior, released and attacked."""
    (axis,) = (plan.problem.box.axes[free] for free in plan.problem.box.free[:1])
    count = 0
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial])
        span = axis.high - axis.low
        values = make(rng, rng.uniform(axis.low + 0.02 * span, axis.high - 0.02 * span))
        out = sv.release(plan, values, accept=ACCEPT, details=True)
        column = WRITTEN[written](np.asarray(out.table, dtype=np.float64))
        count += hit(name, plan, column, out.record["estimates"]["secret"], structure)
    return count


def moved(step, rows=2000):
    """A lattice column around a mean of its own, far from 0."""

    def make(rng, mean):
        values = rng.gamma(3.0, 40.0, rows)
        return np.round((values - values.mean() + mean) / step) * step

    return make


def scaled(step, rows=2000, shape=2.0):
    """A lattice column from 0 on."""

    def make(rng, mean):
        values = rng.gamma(shape, 1.0, rows)
        return np.round(values / values.mean() * mean / step) * step

    return make


# --- positive controls: lattices ----------------------------------------------------------------
@pytest.mark.parametrize("written", WRITTEN)
def test_shifted_whole_numbers_are_always_given_away(written):
    plan = planned({"mean": (80, 2000)}, 0.05)
    assert plan.mode == "shift"
    assert plan.bin <= 1
    assert hits("lattice-shift", plan, moved(1.0), sv.Structure(step=1), written=written) == 50


def ways(*quick, slow):
    return [*quick, *(pytest.param(one, marks=pytest.mark.slow) for one in slow)]


@pytest.mark.parametrize("written", ways("2 decimals", "32 bits", slow=("as released", "6 digits", "3 decimals")))
def test_shifted_prices_are_always_given_away(written):
    plan = planned({"mean": (80, 900)}, 0.0005)
    assert hits("lattice-shift", plan, moved(0.01), sv.Structure(step=0.01), written=written) == 50


@pytest.mark.parametrize("name", ["lattice-shift", "lattice-scale"])
def test_a_step_that_nobody_stated_is_found_where_the_column_shows_it(name):
    if name == "lattice-shift":
        plan = planned({"mean": (80, 2000)}, 0.05)
        assert hits(name, plan, moved(1.0), sv.Structure()) == 50
    else:
        plan = planned({"mean": (20, 200)}, 2.0, sv.Structure(minimum=0))
        assert hits(name, plan, scaled(0.01), sv.Structure(minimum=0)) == 50


@pytest.mark.parametrize(
    ("prior", "written"),
    [
        pytest.param(
            prior, written, marks=pytest.mark.slow if prior[0] == 200 and written not in ("4 digits", "32 bits") else ()
        )
        for prior in ((20, 60, 1.0), (200, 2000, 10.0))
        for written in WRITTEN
    ],
)
@pytest.mark.heavy(1)
def test_scaled_whole_numbers_are_always_given_away(prior, written):
    plan = planned({"mean": prior[:2]}, prior[2], sv.Structure(minimum=0))
    assert plan.mode == "scale"
    structure = sv.Structure(minimum=0, step=1)
    assert hits("lattice-scale", plan, scaled(1.0), structure, written=written) == 50


@pytest.mark.parametrize("written", ways("5 digits", "32 bits", slow=("as released", "6 digits", "3 decimals")))
def test_scaled_prices_are_always_given_away(written):
    plan = planned({"mean": (20, 200)}, 2.0, sv.Structure(minimum=0))
    structure = sv.Structure(minimum=0, step=0.01)
    assert hits("lattice-scale", plan, scaled(0.01), structure, written=written) == 50


def test_a_narrow_column_far_from_its_bound_is_given_away_too():
    plan = planned({"mean": (200, 2000)}, 10.0, sv.Structure(minimum=0))
    make = scaled(1.0, rows=500, shape=400.0)
    assert hits("lattice-scale", plan, make, sv.Structure(minimum=0, step=1), written="5 digits") == 50


def test_whole_numbers_after_an_affine_map_are_given_away():
    plan = planned({"mu": (200, 400), "sigma": (10, 60)}, 2.0, family=sv.Gaussian(), secret=sv.Quantile(0.9))
    assert plan.mode == "affine"
    count = 0
    for trial in range(50):
        rng = np.random.default_rng([5, trial])
        values = np.round(rng.normal(rng.uniform(230, 370), rng.uniform(20, 50), 2000))
        out = sv.release(plan, values, accept=ACCEPT, details=True)
        column = np.asarray(out.table)
        count += hit("lattice-scale", plan, column, out.record["estimates"]["secret"], sv.Structure(step=1))
    assert count == 50


# --- positive controls: what is left after a jitter or a second rounding -------------------------
def rerounded(plan, counts, rng, *, jitter):
    factor = float(plan.apply(mean=counts.mean()).secret) / counts.mean()
    return np.floor(factor * (counts + rng.random(len(counts)))) if jitter else np.round(factor * counts)


def heaped(rng, mean, rows):
    """Counts of which 23.1 % are multiples of 5 instead of 20 %."""
    counts = rng.negative_binomial(6, 6 / (6 + mean), rows)
    return np.where(rng.random(rows) < 0.039, np.round(counts / 5) * 5, counts).astype(np.float64)


def periodic_hits(make, plan, structure, *, rows, jitter=True, trials=50):
    axis, count = plan.problem.box.axes["mean"], 0
    for trial in range(trials):
        rng = np.random.default_rng([9, trial])
        counts = make(rng, rng.uniform(1.03 * axis.low, 0.97 * axis.high), rows)
        count += hit("periodic", plan, rerounded(plan, counts, rng, jitter=jitter), counts.mean(), structure)
    return count


@pytest.mark.parametrize("heaps", [(), (5,)], ids=["supposed", "known"])
def test_a_few_favourite_numbers_survive_a_jitter_and_give_the_factor_away(heaps):
    plan = planned({"mean": (30, 90)}, 1.0, sv.Structure(minimum=0))
    structure = sv.Structure(minimum=0, step=1, heaps=heaps)
    assert periodic_hits(heaped, plan, structure, rows=50_000) == 50


def test_favourite_numbers_of_a_continuous_column_give_the_factor_away():
    def make(rng, mean):
        values = rng.gamma(4.0, mean / 4, 5000)
        return np.where(rng.random(5000) < 0.1, np.round(values / 5) * 5, values)

    plan = planned({"mean": (30, 90)}, 1.0, sv.Structure(minimum=0))
    assert hits("periodic", plan, make, sv.Structure(minimum=0, heaps=(5,))) == 50


def test_counts_rounded_again_after_scaling_give_the_factor_away_more_often_than_the_plan_says():
    # never always: factors near 1 change no count, and leave beats as long as the shape itself
    far = planned({"mean": (30, 90)}, 1.0, sv.Structure(minimum=0))
    near = planned({"mean": (4, 20)}, 0.4, sv.Structure(minimum=0))
    structure = sv.Structure(minimum=0, step=1)

    def plain(rng, mean, rows):
        return rng.negative_binomial(6, 6 / (6 + mean), rows).astype(np.float64)

    def geometric(rng, mean, rows):
        return rng.geometric(1 / (1 + mean), rows) - 1.0

    assert periodic_hits(plain, far, structure, rows=5_000, jitter=False) >= 20
    assert periodic_hits(geometric, near, structure, rows=5_000, jitter=False, trials=30) >= 12


# --- negative controls --------------------------------------------------------------------------
def within(count, trials, risk):
    return binomtest(count, trials, alternative="two-sided").proportion_ci(0.999, "exact").low <= risk


NOTHING, FALSE = sv.Structure(), sv.Structure(step=1, heaps=(5,))


@pytest.mark.parametrize(
    ("name", "structure"),
    [
        pytest.param("lattice-shift", NOTHING, id="lattice-shift-none", marks=pytest.mark.slow),
        pytest.param("lattice-scale", NOTHING, id="lattice-scale-none"),
        pytest.param("periodic", NOTHING, id="periodic-none", marks=pytest.mark.slow),
        pytest.param("lattice-shift", FALSE, id="lattice-shift-false"),
        pytest.param("lattice-scale", FALSE, id="lattice-scale-false", marks=pytest.mark.slow),
        pytest.param("periodic", FALSE, id="periodic-false"),
    ],
)
@pytest.mark.heavy(1)
def test_continuous_columns_give_no_more_than_the_plan_says(name, structure):
    if name == "lattice-shift":
        plan = planned({"mean": (80, 2000)}, 0.3)
    else:
        plan = planned({"mean": (20, 200)}, 2.0, sv.Structure(minimum=0))
    if name == "periodic" and not structure.heaps:
        structure = sv.Structure(heaps=(10,))

    def make(rng, mean):
        values = rng.gamma(2.0, 1.0, 300)
        return values - values.mean() + mean if name == "lattice-shift" else values / values.mean() * mean

    count = hits(name, plan, make, structure, trials=150)
    assert within(count, 150, plan.risk)
    assert count >= 6  # and it still guesses as well as the prior lets it


@pytest.mark.parametrize("tolerance", [0.49, 2.0])
@pytest.mark.heavy(1)
def test_whole_steps_give_no_more_than_the_plan_says(tolerance):
    plan = planned({"mean": (80, 2000)}, tolerance, sv.Structure(step=1))
    assert plan.mode == "lattice"
    make = moved(1.0, rows=300)
    count = hits("lattice-shift", plan, make, sv.Structure(step=1), trials=300)
    assert within(count, 300, plan.risk)
    assert count >= 12


def test_a_coarser_step_than_the_declared_one_thins_the_comb():
    plan = planned({"mean": (80, 2000)}, 0.49, sv.Structure(step=1))
    make = moved(5.0, rows=300)
    assert plan.bin <= 11
    assert hits("lattice-shift", plan, make, sv.Structure(step=5), trials=100) > 35


def test_poisson_counts_after_a_jitter_of_one_cell_tell_nothing_to_who_does_not_know_their_shape():
    plan = planned({"mean": (4, 6.5)}, 0.06, sv.Structure(minimum=0))
    for make in (
        lambda rng, mean, rows: rng.poisson(mean, rows),
        lambda rng, mean, rows: rng.binomial(12, mean / 12, rows),
    ):
        count = periodic_hits(make, plan, sv.Structure(minimum=0, step=1), rows=5_000, trials=100)
        assert within(count, 100, 2 * plan.risk)


# --- odd tables ---------------------------------------------------------------------------------
ODD = {
    "one row": [130.3],
    "two rows": [100.2, 160.4],
    "all equal": [130.0] * 50,
    "missing": [np.nan, 120.0, np.nan, 140.5, 131.25],
    "only missing": [np.nan, np.nan],
    "empty": [],
    "huge": [1e300, -1e300, 130.0, 1e18, 2.5e17],
    "outside the prior": [5e5, 6e5],
    "zeros": [0.0] * 30,
    "tiny": [130 + 1e-13 * k for k in range(40)],
    "whole": [float(k) for k in range(80, 180)],
    "negative": [-5.0, 0.5, 300.0],
}
KNOWN = {
    "none": sv.Structure(),
    "step": sv.Structure(step=1),
    "coarse": sv.Structure(step=1e6, heaps=(1e7,)),
    "fine": sv.Structure(step=1e-9, heaps=(1e-8,)),
    "elsewhere": sv.Structure(minimum=50.5, step=0.3, heaps=(5,)),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("odd", ODD)
def test_odd_tables_and_false_knowledge_raise_nothing(name, known, odd):
    plans = [
        planned({"mean": (20, 220)}, 0.5),
        planned({"mean": (20, 220)}, 0.5, sv.Structure(minimum=0)),
        planned({"mean": (20, 220)}, 0.5, sv.Structure(step=1)),
        planned({"mu": (0, 200), "sigma": (1, 51)}, 0.5, family=sv.Gaussian(), secret=sv.Quantile(0.9)),
    ]
    for plan in plans:
        view = View(plan=plan, column=np.array(ODD[odd]), knowledge=Knowledge(structure=KNOWN[known]))
        attacker = ATTACKERS[name]()
        if attacker.applies(view):
            posterior = attacker.attack(view)
            assert posterior is None or np.isfinite(posterior.best(0.5)[0])


def test_attacks_are_quick():
    rng = np.random.default_rng(0)
    plan = planned({"mean": (20, 200)}, 2.0, sv.Structure(minimum=0))
    column = np.asarray(sv.release(plan, scaled(0.01, 5000)(rng, 90.0), accept=ACCEPT))
    view = View(plan=plan, column=column, knowledge=Knowledge(structure=sv.Structure(minimum=0, step=0.01)))
    times = []
    for _ in range(7):
        start = time.perf_counter()
        ATTACKERS["lattice-scale"]().attack(view)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.2  # some 15 ms on a quiet machine
