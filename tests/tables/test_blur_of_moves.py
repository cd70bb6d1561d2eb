"""A column that is only moved is blurred by a share of the tolerance: functions of round numbers tell no move."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import statveil as sv
from statveil.tables.maps import affine, lattice
from statveil.tables.maps.blur import blurred_evenly

FINE = sv.plan(sv.Problem(secret=sv.Mean(), prior=(1.0, 1.02), tolerance=1e-3), max_risk=0.15)
"""So narrow that an attacker can try all moves of a bin, as finely as 32-bit floats tell them."""

FUNCTIONS = {
    "logarithm": (lambda v: 1 + np.log(v), lambda y: np.exp(y - 1)),
    "root": (np.sqrt, np.square),
    "reciprocal": (np.reciprocal, np.reciprocal),
    "cube": (lambda v: v**3, np.cbrt),
    "one less": (lambda v: 2 - v**1.5, lambda y: np.maximum(2 - y, 0) ** (2 / 3)),
}
FEW = ("logarithm", "root")


# --- what the blur is for -----------------------------------------------------------------------
def attack(function, back, seed):
    """Whether somebody who knows the function finds the mean: the move that puts the rows on 32-bit floats."""
    rng = np.random.default_rng(seed)
    values = np.exp(rng.normal(0, 0.25, 400))
    wanted = rng.uniform(1.0, 1.02)
    for _ in range(8):  # the mean of the function moves with the numbers
        low, high = (function(values * unit).mean() for unit in (1.0, 1.0001))
        values *= 1 + 1e-4 * (wanted - low) / (high - low)
    short = values.astype(np.float32).astype(np.float64)
    x = function(short)
    released = sv.release(FINE, x, accept=["bounds", "digits"], seed=seed)
    rows = released[:24]
    moves = np.arange(-0.5, 0.5, 2.5e-6) * FINE.bin  # as fine as half a cell
    scores = np.zeros(len(moves))
    for at in range(0, len(moves), 10_000):
        original = back(rows[None, :] - moves[at : at + 10_000, None])
        cells = 2.0 ** (np.floor(np.log2(np.maximum(original, 1e-9))) - 23)
        scores[at : at + 10_000] = np.abs(np.exp(2j * np.pi * (original / cells)).mean(axis=1))
    found = released.mean() - moves[int(np.argmax(scores))]
    return abs(found - x.mean()) <= FINE.problem.tolerance


@pytest.mark.parametrize(
    "name", [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in FUNCTIONS if name not in FEW)]
)
@pytest.mark.heavy(1)
def test_functions_of_32_bit_floats_fall_to_the_stated_risk(name, monkeypatch):
    assert FINE.mode == "shift"
    trials = 6
    hits = sum(attack(*FUNCTIONS[name], seed) for seed in range(trials))
    assert stats.binom.sf(hits - 1, trials, FINE.risk) > 1e-4, f"{hits} of {trials}"
    # the positive control: the map as it was, which keeps every digit
    monkeypatch.setattr(affine, "blurred_evenly", lambda values, seed, width: values)
    assert sum(attack(*FUNCTIONS[name], seed) for seed in range(3)) == 3


@pytest.mark.parametrize("cell", [1e-3, 0.3, 1.0])
def test_nothing_is_left_of_a_lattice_as_fine_as_the_blur(cell):
    """The transform of the blur at one wave of the cell, by its law: a normal one leaves exp(-2 pi^2 / cell^2)."""
    rows = 200_000
    x = cell * np.random.default_rng(1).choice(2**40, rows, replace=False).astype(float)
    wave = abs(np.exp(2j * np.pi * ((blurred_evenly(x, 7, width=1.0) - x) / cell)).mean())
    assert wave < 4 / math.sqrt(rows), "exceeded by chance once in 9 million"


# --- what stays ---------------------------------------------------------------------------------
@given(seed=st.integers(0, 2**128 - 1), width=st.floats(1e-6, 1e3))
def test_no_value_moves_further_than_five_widths_and_copies_stay_copies(seed, width):
    x = np.concatenate([np.linspace(-50, 50, 101)] * 2 + [[np.nan, np.inf, -np.inf]])
    moved = blurred_evenly(x, seed, width=width)
    assert np.nanmax(np.abs(moved[:202] - x[:202])) <= 5 * width * (1 + 1e-9)
    assert np.array_equal(moved[:101], moved[101:202])
    assert np.array_equal(moved[202:], x[202:], equal_nan=True)


def test_two_widths_and_two_seeds_have_numbers_of_their_own():
    """Else the difference of two releases would be a multiple of the blur of either."""
    x = np.random.default_rng(2).normal(0, 1e3, 20_000)
    one, two, three = (
        (blurred_evenly(x, seed, width=width) - x) / width for seed, width in ((5, 1.0), (5, 2.0), (6, 1.0))
    )
    assert abs(np.std(one) - 1) < 0.02
    for other in (two, three):
        assert abs(np.corrcoef(one, other)[0, 1]) < 4.5 / math.sqrt(len(x))


STATISTIC = {"mean": np.mean, "quantile": lambda x: np.sort(x)[359], "max": np.max, "total": np.sum}


@pytest.mark.parametrize(
    "problem",
    [
        sv.Problem(secret=sv.Mean(), prior=(50, 300), tolerance=2),
        sv.Problem(secret=sv.Quantile(0.9), prior=(50, 300), tolerance=2),
        sv.Problem(secret=sv.Maximum(), prior=(-300, -50), tolerance=2),
        sv.Problem(secret=sv.Total(rows=400), prior=(50 * 400, 300 * 400), tolerance=2 * 400),
        sv.Problem(family=sv.Gaussian(), secret=sv.Mean(), prior=sv.Box(mu=(50, 300), sigma=9), tolerance=2),
    ],
    ids=lambda problem: problem.secret.label,
)
def test_the_released_statistic_is_off_by_a_two_hundredth_of_the_tolerance_at_most(problem):
    plan = sv.plan(problem, max_risk=0.2)
    assert plan.mode == "shift"
    rng = np.random.default_rng(5)
    centre = -150 if problem.secret.kind == "max" else 120
    x = rng.normal(centre, 9, 400)
    done = sv.release(plan, x, details=True, seed=4)
    off = abs(STATISTIC[problem.secret.kind](done.table) - done.record["released"]["secret"])
    assert 0 < off <= problem.tolerance / 200 + 1e-9
    gaps = np.diff(done.table) - np.diff(x)
    assert 0 < np.abs(gaps).max() <= 2 / 100
    assert sv.verify(done.table, done.card).ok


def test_values_beside_heaps_are_blurred_and_heaps_stay(monkeypatch):
    problem = sv.Problem(secret=sv.Mean(), prior=(0, 300), tolerance=2, known=sv.Structure(heaps=(10,)))
    plan = sv.plan(problem, max_risk=0.3)
    assert plan.mode == "lattice"
    rng = np.random.default_rng(6)
    x = rng.normal(100, 20, 2_000)
    heaped = rng.random(len(x)) < 0.3
    x[heaped] = 10 * np.rint(x[heaped] / 10)
    out = sv.release(plan, x, seed=1)
    assert np.array_equal(out[heaped], 10 * np.rint(out[heaped] / 10))
    moved = out - x
    assert 0 < np.ptp(moved[~heaped]) <= 10 * 2.0**-10 * 2
    monkeypatch.setattr(lattice, "blurred_evenly", lambda values, seed, width: values)
    assert np.ptp((sv.release(plan, x, seed=1) - x)[~heaped]) < 1e-9, "the control"
