"""A stretched column keeps seven digits: 32-bit floats times a constant leave no lattice that tells the factor."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import statveil as sv
from statveil.tables.maps import affine, odds
from statveil.tables.maps.blur import blurred
from statveil.tables.maps.keyed import normal_of
from statveil.tables.maps.odds import moved_odds
from statveil.tables.source import open_source
from statveil.tables.verify_content import content_checks

POUND = 0.45359237
FREE = sv.Structure()
ABOVE_ZERO = sv.Structure(minimum=0)
WITHIN = sv.Structure(minimum=0, maximum=100)


def planned(family, prior, secret, known=FREE, tolerance=2.0):
    problem = sv.Problem(family=family, prior=prior, secret=secret, tolerance=tolerance, known=known)
    return sv.plan(problem, max_risk=0.1)


SCALE = planned(sv.Location(), sv.Box(mean=(400, 1500)), sv.Mean(), ABOVE_ZERO)
AFFINE = planned(sv.Gaussian(), sv.Box(mu=(300, 1500), sigma=(40, 300)), sv.Quantile(0.9))
ODDS = sv.plan(sv.Problem(secret=sv.Mean(), prior=(45, 95), tolerance=0.5, known=WITHIN), max_risk=0.1)


def wave(values, cell):
    """How much the values lie on multiples of a cell: 1 if all do, about 1 / sqrt(rows) if it is by chance."""
    return abs(np.exp(2j * np.pi * values / cell).mean())


def short_floats(mean, rows, rng):
    """32-bit floats of about this mean, as 64-bit ones, over so many octaves that no common step is found."""
    made = mean * np.abs(rng.normal(1, 0.25, rows))
    made[: rows // 20] *= rng.uniform(1e-4, 0.1, rows // 20)
    return made.astype(np.float32).astype(np.float64)


# --- the lattice is gone ----------------------------------------------------------------------
@pytest.mark.parametrize("constant", [1.0, POUND, 1.0936133, np.pi / 2])
@pytest.mark.parametrize("plan", [SCALE, AFFINE], ids=["scale", "affine"])
def test_no_lattice_is_left_at_the_true_factor(plan, constant):
    assert plan.mode == ("scale" if plan is SCALE else "affine")
    short = short_floats(700 / constant, 6000, np.random.default_rng(1))
    x = short * constant
    done = sv.release(plan, x, details=True, accept=["bounds"])
    octave = 2.0 ** math.floor(math.log2(700 / constant))
    inside = (short >= octave) & (short < 2 * octave)  # cells of one width
    cell = octave * 2.0**-23 * constant
    assert np.count_nonzero(inside) > 1500
    assert wave(x[inside], cell) > 0.99, "the lattice is there"
    left = wave(done.table[inside], cell * done.record["coefficients"]["a"])
    assert left < 4 / math.sqrt(np.count_nonzero(inside)), "exceeded by chance once in 9 million columns"


def test_the_wave_that_is_left_is_below_a_millionth():
    """By the transform of the blur itself, not of a sample: the law of the mean of eight bytes and a fraction."""
    frequency = 2 * np.pi / 209.0156  # radians per unit of the sum, at one cell per standard deviation
    byte = abs(np.exp(1j * frequency * np.arange(256)).mean())
    fraction = abs(np.sinc(1 / 209.0156))
    assert byte**8 * fraction < 1e-6
    x = short_floats(700, 400_000, np.random.default_rng(5)) * POUND
    octave = 512 * POUND
    x = x[(x >= octave) & (x < 1.01 * octave)]  # the widest cells beside their values
    assert wave(blurred(x, 7), octave * 2.0**-23) < 4 / math.sqrt(len(x))


def gap_scan(released, back, candidates, cell, low, high):
    """The candidate under which close neighbours are a whole number of cells apart, by the Fourier sum of the gaps.

    Neighbours alone need the map to one part in so many cells as lie between them, so some thousand candidates
    cover a bin; two values from the ends of the column would need millions.
    """
    scores = []
    for candidate in candidates:
        original = back(released, candidate)
        gaps = np.diff(original[(original >= low) & (original < high)]) / cell
        gaps = gaps[gaps < 1000]
        scores.append(np.cos(2 * np.pi * gaps).sum() / math.sqrt(max(1, len(gaps))))
    return candidates[int(np.argmax(scores))]


def scale_attack(seed):
    """Whether a Fourier scan over the factors that the bin allows finds the mean of pounds worked out as kilograms."""
    rng = np.random.default_rng(seed)
    mean = rng.uniform(400, 1500)
    shape = short_floats(1, 1500, rng)
    x = (mean / POUND / shape.mean() * shape).astype(np.float32).astype(np.float64) * POUND
    released = np.sort(sv.release(SCALE, x, accept=["bounds"], seed=seed))
    near = released.mean()
    octave = 2.0 ** math.floor(math.log2(near / POUND)) * POUND
    guesses = np.arange(near - 0.5 * SCALE.bin, near + 0.5 * SCALE.bin, 0.2 * octave / 1000)
    found = gap_scan(
        released, lambda table, guess: table * guess / near, guesses, octave * 2.0**-23, 1.02 * octave, 1.98 * octave
    )
    return abs(found - x.mean()) <= SCALE.problem.tolerance


def odds_attack(seed):
    """The same for shares of a hundred that were worked out in 64 bits: the attacker inverts the odds map."""
    rng = np.random.default_rng(seed)
    humps = np.where(rng.random(1500) < 0.2, rng.uniform(10, 40, 1500), rng.uniform(60, 97, 1500))
    humps[:75] = rng.uniform(1e-3, 1, 75)  # over so many octaves that no common step is found
    humps = 100 * moved_odds(humps / 100, math.exp(rng.uniform(-0.5, 0.5)))
    x = (humps / POUND).astype(np.float32).astype(np.float64) * POUND
    released = np.sort(sv.release(ODDS, x, seed=seed))
    near, share = released.mean(), released / 100
    slope = 100 * (share * (1 - share)).mean()
    logs = np.arange(-0.75 * ODDS.bin / slope, 0.75 * ODDS.bin / slope, 1 / 4000)
    found = gap_scan(
        released,
        lambda table, log: 100 * moved_odds(table / 100, math.exp(log)),
        logs,
        128 * 2.0**-23 * POUND,
        128.5 * POUND,
        100.0,
    )
    assert near > 0
    return abs(100 * moved_odds(share, math.exp(found)).mean() - x.mean()) <= ODDS.problem.tolerance


@pytest.mark.parametrize(("attack", "module", "plan"), [(scale_attack, affine, SCALE), (odds_attack, odds, ODDS)])
@pytest.mark.heavy(1)
def test_the_scan_that_finds_the_factor_without_the_blur_falls_to_the_stated_risk(attack, module, plan, monkeypatch):
    trials = 16  # at most 0.35 of them where 0.9 are hits without the blur
    hits = sum(attack(seed) for seed in range(trials))
    assert hits / trials <= plan.risk + 3.3 * math.sqrt(plan.risk * (1 - plan.risk) / trials)
    # the positive control: the map as it was, which smeared 32-bit floats alone
    monkeypatch.setattr(module, "blurred", lambda values, seed, held=(): affine.smeared(values, seed, fixed=None))
    assert sum(attack(seed) for seed in range(7)) >= 6


# --- what stays -------------------------------------------------------------------------------
def test_copies_stay_copies_the_fixed_point_and_gaps_stay():
    x = np.random.default_rng(2).lognormal(6.4, 0.5, 500)
    x = np.concatenate((x, x, [0.0, np.nan]))
    out = sv.release(SCALE, x, accept=("repeats", "atoms", "codes", "bounds"))
    assert np.array_equal(out[:500], out[500:1000])
    assert len(np.unique(out[:500])) == 500
    assert out[1000] == 0
    assert np.isnan(out[1001])


def test_nothing_crosses_a_value_that_is_held():
    far = 1000 * 2.0**-23
    x = 1000 + far * np.linspace(-6, 6, 4001)
    out = blurred(x, 3, held=(1000.0,))
    assert np.array_equal(np.sign(out - 1000), np.sign(x - 1000))
    assert out[2000] == 1000
    assert np.any(np.sign(blurred(x, 3) - 1000) != np.sign(x - 1000)), "the control: without it many do"
    both = blurred(np.clip(x, 1000 - far, 1000 + far), 3, held=(1000 - far, 1000 + far))
    assert both.min() == 1000 - far
    assert both.max() == 1000 + far
    missing = blurred(np.array([np.nan, 5.0]), 3, held=(5.0,))
    assert np.isnan(missing[0])
    assert missing[1] == 5


@pytest.mark.parametrize("exponent", [-320, -308, -100, 0, 100, 300])
def test_small_and_large_values_keep_their_sign_and_seven_digits(exponent):
    x = np.random.default_rng(exponent + 400).uniform(-9, 9, 2000) * 10.0**exponent
    out = blurred(x, 11)
    assert np.array_equal(np.sign(out), np.sign(x))
    assert np.all(np.isfinite(out))
    assert np.all(np.abs(out - x) <= 5 * 2.0**-23 * np.abs(x) + 5e-324)


@pytest.mark.parametrize("side", ["minimum", "maximum", "both"])
def test_a_declared_bound_is_never_crossed(side):
    """A third of the rows lie within a blur of the bound."""
    rng = np.random.default_rng(6)
    close = 100 * (1 + rng.uniform(0, 6 * 2.0**-23, 500))
    x = rng.permutation(np.concatenate((close, rng.gamma(3, 30, 1000) + 100)))
    if side == "maximum":
        x = 300 - x[x < 295]
    known = {
        "minimum": sv.Structure(minimum=100),
        "maximum": sv.Structure(maximum=200),
        "both": sv.Structure(minimum=100, maximum=700),
    }[side]
    prior = {"minimum": (110, 400), "maximum": (50, 190), "both": (120, 500)}[side]
    plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=prior, tolerance=2, known=known), max_risk=0.1)
    assert plan.mode == ("odds" if side == "both" else "scale")
    for _ in range(5):
        out = sv.release(plan, x, accept=["bounds", "shape", "atoms", "heaps", "repeats"])
        assert np.all(out >= (known.minimum if known.minimum is not None else -np.inf))
        assert np.all(out <= (known.maximum if known.maximum is not None else np.inf))


def test_whole_numbers_and_decimals_stay_what_their_type_holds():
    """Accepted as they are, whole numbers are not blurred: nothing finer than their step could be written."""
    rng = np.random.default_rng(7)
    whole = np.rint(rng.gamma(6, 120, 800)).astype(np.int64)
    done = sv.release(SCALE, whole, accept=["step", "bounds", "repeats", "codes", "heaps"], details=True)
    assert not done.record["coefficients"]["blurred"]
    assert np.all(np.asarray(done.table) >= 0)
    cents = pa.table({"x": pa.array([Decimal(int(v)) / 100 for v in 100 * whole + rng.integers(0, 99, 800)])})
    out = sv.release(SCALE, cents, column="x", accept=["step", "bounds", "repeats", "codes", "heaps"])
    before, after = (np.array([float(v) for v in table["x"].to_pylist()]) for table in (cents, out))
    assert np.ptp(after / before) < 1e-9, "one factor for all of them"


def test_the_numbers_are_nearly_normal_and_belong_to_the_value():
    x = np.random.default_rng(3).normal(size=2**16)
    grid = 1 + np.arange(2**16) * 2.0**-23  # neighbours, which differ in few bits
    for values in (x, grid, grid.astype(np.float32).astype(np.float64) * POUND):
        one = normal_of(values, 1)
        assert abs(one.mean()) < 0.02
        assert one.std() == pytest.approx(1, abs=0.02)
        assert np.abs(one).max() < 5
        assert np.mean(np.abs(one) < 1) == pytest.approx(0.683, abs=0.01)
        assert np.array_equal(normal_of(values[::-1], 1), one[::-1])
        assert abs(np.corrcoef(one, normal_of(values, 2))[0, 1]) < 0.02
        assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 0.02
    assert normal_of(np.array([-0.0]), 1)[0] == normal_of(np.array([0.0]), 1)[0]


# --- released, checked and refused ------------------------------------------------------------
@pytest.mark.parametrize("plan", [SCALE, AFFINE, ODDS], ids=["scale", "affine", "odds"])
def test_a_blurred_release_verifies_and_comes_back_from_its_record(plan, tmp_path):
    rng = np.random.default_rng(8)
    if plan is ODDS:
        x = np.where(rng.random(900) < 0.2, rng.uniform(10, 40, 900), rng.uniform(60, 97, 900))
    else:
        x = np.abs(rng.normal(800, 150, 900))
    pd.DataFrame({"x": x}).to_parquet(tmp_path / "in.parquet")
    for name in ("one", "two"):
        sv.release_file(
            plan,
            tmp_path / "in.parquet",
            tmp_path / f"{name}.parquet",
            column="x",
            accept=["bounds"],
            record=tmp_path / "record.json",
        )
        assert sv.verify_file(tmp_path / f"{name}.parquet").ok
    one, two = (pd.read_parquet(tmp_path / f"{name}.parquet")["x"].to_numpy() for name in ("one", "two"))
    assert np.array_equal(one, two)
    other = np.asarray(sv.release(plan, x, accept=["bounds"]))
    assert not np.array_equal(one, other), "another secret seed, another blur"
    assert np.allclose(one, other, rtol=1.3e-6, atol=2e-6 * np.abs(other).max())


def test_a_steep_function_of_the_parameter_is_verified_by_what_the_blur_does_to_it():
    """The fourth power of a mean near 100 is off by 4e6 times what the mean is off."""
    x = np.random.default_rng(12).exponential(100, 300)
    problem = sv.Problem(
        family=sv.Exponential(),
        prior=sv.Box(scale=(50, 200)),
        secret=sv.Function(lambda t: t**4, label="fourth"),
        tolerance=1e6,
    )
    plan = sv.plan(problem, max_risk=0.3, method="dynamic", grid=60)
    assert plan.mode == "scale"
    done = sv.release(plan, x, seed=1, details=True)
    for factor, ok in ((1.0, True), (1 + 1e-3, False)):
        table = open_source(np.asarray(done.table) * factor)
        found = {check.name: check.ok for check in content_checks(table, plan, done.card)}
        assert found["statistic"] == ok, "another column is still told from it"


def test_a_tolerance_beyond_the_seventh_digit_is_refused_by_name():
    """Values about 1e9 are blurred by some 100: a tolerance of 50 would be hit by the blur alone."""
    rng = np.random.default_rng(9)
    x = 1e9 * np.abs(rng.normal(1, 0.2, 500))
    prior = sv.Box(mean=(5e8, 2e9))
    with pytest.raises(sv.ColumnError, match="keeps seven digits"):
        sv.release(planned(sv.Location(), prior, sv.Mean(), ABOVE_ZERO, tolerance=50), x, accept=["bounds"])
    plan = planned(sv.Location(), prior, sv.Mean(), ABOVE_ZERO, tolerance=5e3)
    assert len(sv.release(plan, x, accept=["bounds"])) == 500
    moved = planned(sv.Location(), prior, sv.Mean(), tolerance=50)  # only moved: all digits stay
    assert moved.mode == "shift"
    assert len(sv.release(moved, x, accept=["bounds"])) == 500
    years = 1.7e9 + rng.normal(0, 100, 500)  # a spread far from 0
    spread = sv.Problem(secret=sv.Std(), prior=(20, 400), tolerance=1)
    with pytest.raises(sv.ColumnError, match="keeps seven digits"):
        sv.release(sv.plan(spread, max_risk=0.2), years)
    assert len(sv.release(sv.plan(spread, max_risk=0.2), rng.normal(0, 100, 500), accept=["bounds"])) == 500
