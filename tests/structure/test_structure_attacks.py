"""Columns whose structure told a released table's secret with near certainty: each is refused by name.

The attacks themselves come last, on releases that were forced with ``accept``: a check without an attack behind it, or
an attack that breaks nothing, proves nothing.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.modes import MODES
from statveil.tables.maps import affine
from statveil.tables.structure.column.bound_search import natural_bounds
from statveil.tables.structure.column.code_search import find_codes
from statveil.tables.structure.column.findings import find_structure
from statveil.tables.structure.column.rough_search import UNITS
from statveil.tables.verification import LEAKS, blind_spots, precision


def names(values):
    values = np.asarray(values, dtype=float)
    return {one.name for one in find_structure(values, bits=precision(values, 53, ()))}


def plan_for(values, *, known=None, tolerance=None, risk=0.2):
    """A plan whose prior is wide around the column."""
    centre, spread = float(np.mean(values)), float(np.std(values)) or 1.0
    problem = sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=(centre - 40 * spread, centre + 60 * spread)),
        secret=sv.Mean(),
        tolerance=tolerance or 0.5 * spread,
        known=known or sv.Structure(),
    )
    return sv.plan(problem, max_risk=risk)


def as_inspected(values):
    """What ``inspect`` proposes to declare of steps and heaps."""
    found = {one.name: one.values for one in sv.inspect(values).columns[0].structure}
    return sv.Structure(step=found.get("step", (None,))[0], heaps=found.get("heaps", ()))


def to_decimals(values, digits):
    return np.array([round(float(value), digits) for value in values])


# --- changes of units -----------------------------------------------------------------------------------
CONVERSIONS = {
    "pounds to kg": lambda rng, n: to_decimals(0.45359237 * np.rint(rng.normal(165, 30, n)), 1),
    "inches to cm": lambda rng, n: to_decimals(2.54 * np.rint(rng.normal(67, 4, n)), 1),
    "inches to whole cm": lambda rng, n: np.rint(2.54 * np.rint(rng.normal(67, 8, n))),
    "Fahrenheit to Celsius": lambda rng, n: to_decimals((np.rint(rng.normal(60, 15, n)) - 32) * 5 / 9, 1),
    "miles to km": lambda rng, n: to_decimals(1.609344 * np.rint(rng.gamma(4, 30, n)), 1),
    "ounces to g": lambda rng, n: np.rint(28.349523125 * np.rint(rng.normal(120, 18, n))),
    "a currency": lambda rng, n: to_decimals(0.8342 * np.rint(rng.normal(300, 80, n)), 2),
    "another currency": lambda rng, n: to_decimals(7.46038 * np.rint(rng.normal(300, 80, n)), 1),
}


@pytest.mark.parametrize("rows", [60, 300, 3_000])
@pytest.mark.parametrize("name", CONVERSIONS)
def test_rounded_changes_of_units_are_rough(name, rows):
    """Also after everything that inspect proposes was declared."""
    for seed in range(4):
        values = CONVERSIONS[name](np.random.default_rng(seed), rows)
        assert "rough" in names(values)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_declaring_what_inspect_says_does_not_release_them(name):
    values = CONVERSIONS[name](np.random.default_rng(7), 400)
    plan = plan_for(values, known=as_inspected(values))
    with pytest.raises(sv.StructureError, match="--accept rough"):
        sv.release(plan, values)


@pytest.mark.parametrize(("rows", "share"), [(300, 0.5), (1_000, 0.3), (10_000, 0.15)])
def test_heights_of_which_some_were_taken_in_inches(rows, share):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        height = rng.normal(172, 9, rows)
        inches = rng.random(rows) < share
        values = to_decimals(np.where(inches, 2.54 * np.rint(height / 2.54), height), 1)
        assert names(values) & {"rough", "atoms"}


def test_pounds_in_whole_kilograms():
    """Two or three pounds fall on each kilogram: 20 % more or less than the neighbours."""
    hits = 0
    for seed in range(10):
        values = np.rint(0.45359237 * np.rint(np.random.default_rng(seed).normal(165, 30, 3_000)))
        hits += bool(names(values) & {"rough", "heaps"})
    assert hits >= 9


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), unit=st.floats(0.21, 40.0), share=st.sampled_from([1.0, 0.5]))
def test_any_change_of_units_is_seen(seed, unit, share):
    """No list of units is complete: any factor, rounded to a step that is not far coarser, shows."""
    rng = np.random.default_rng(seed)
    whole = rng.normal(500, 90, 1_500)
    values = to_decimals(unit * np.where(rng.random(1_500) < share, np.rint(whole), whole), 1)
    short = math.isclose(unit * 10, round(unit * 10), abs_tol=0.02 / 90)  # then the unit is a step, or nearly
    assert short or len(names(values)) > 1


# --- significant digits ---------------------------------------------------------------------------------
@pytest.mark.parametrize(("digits", "spread"), [(2, 1.0), (3, 1.0), (3, 0.6), (4, 1.5), (6, 1.5)])
@pytest.mark.parametrize("rows", [100, 2_000])
def test_significant_digits(digits, spread, rows):
    for seed in range(3):
        drawn = np.random.default_rng(seed).lognormal(4.6, spread, rows)  # about 100, so that two steps are in use
        values = np.array([float(f"{value:.{digits}g}") for value in drawn])
        assert names(values) & {"digits", "rough"}
        plan = plan_for(values, known=as_inspected(values))
        with pytest.raises(sv.StructureError, match=r"--accept (digits|rough)"):
            sv.release(plan, values, accept=["bounds", "atoms", "repeats", "heaps"])


# --- transforms of round numbers ------------------------------------------------------------------------
WHOLE = {
    "whole": lambda rng, n: np.rint(rng.lognormal(5, 1, n)) + 1,
    "prices": lambda rng, n: to_decimals(rng.lognormal(3, 1, n) + 0.01, 2),
    "halves": lambda rng, n: np.rint(rng.lognormal(5, 1, n)) + 0.5,
    "offset": lambda rng, n: np.rint(rng.lognormal(5, 1, n)) + 0.3,
}
TRANSFORMS = {
    "log": np.log,
    "log10": np.log10,
    "log2": np.log2,
    "log1p": np.log1p,
    "reciprocal": lambda x: 1 / x,
    "root": np.sqrt,
    "cube root": np.cbrt,
    "asinh": np.arcsinh,
}


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transformed_round_numbers(name, kind):
    for rows in (25, 100, 2_000):
        values = TRANSFORMS[name](WHOLE[kind](np.random.default_rng(rows), rows))
        assert "transform" in names(values)
        assert "transform" in names(values.astype(np.float32)) or name in ("asinh", "reciprocal", "log1p") or rows < 100


@pytest.mark.parametrize("digits", [4, 5, 6, 7])
@pytest.mark.parametrize("name", ["log", "log10", "log2", "root"])
def test_transformed_whole_numbers_that_were_printed_with_few_digits(name, digits):
    for rows in (30, 300, 3_000):
        values = to_decimals(TRANSFORMS[name](WHOLE["whole"](np.random.default_rng(rows), rows)), digits)
        assert "transform" in names(values)


def test_powers_and_log_odds():
    rng = np.random.default_rng(3)
    whole = np.rint(rng.lognormal(5, 1, 300)) + 1
    shares = np.clip(np.round(rng.beta(2, 3, 300), 2), 0.01, 0.99)
    assert "transform" in names(whole**2)
    assert "transform" in names(whole**3)
    assert "transform" in names(np.exp(whole / 100))
    assert "transform" in names(np.log(shares / (1 - shares)))
    assert "transform" in names(np.arcsin(np.sqrt(shares)))


@pytest.mark.parametrize(
    ("made", "back"),
    [(np.log2, np.exp2), (np.log, np.exp), (np.sqrt, np.square), (np.cbrt, lambda x: x**3)],
    ids=["log2", "log", "root", "cube root"],
)
def test_a_tenth_of_transformed_whole_numbers_gives_a_shift_away_and_is_refused(made, back, monkeypatch):
    """As in real readings of genes: some are logarithms of counts, the others of means of counts and the like.

    The blur of what is only moved leaves little of so few, so the attack is shown without it.
    """
    rng = np.random.default_rng(3)
    behind = rng.gamma(4, 120, 160) + 20
    behind[rng.permutation(160)[:16]] = rng.permutation(np.arange(150.0, 600.0))[:16]
    x = made(behind)
    plan = plan_for(x, tolerance=0.05 * np.std(x))
    with pytest.raises(sv.StructureError, match="--accept transform"):
        sv.release(plan, x)
    monkeypatch.setattr(affine, "blurred_evenly", lambda values, seed, width: values)
    released = np.asarray(sv.release(plan, x, accept=LEAKS))
    best = (0, 0.0)
    for value in released[:60]:  # one of them is a whole number's, and one of these is that number
        shifts = value - made(np.arange(100.0, 700.0))
        numbers = back(released[None, :] - shifts[:, None])
        whole = np.sum(np.abs(numbers - np.rint(numbers)) < 1e-9, axis=1)
        best = max(best, (int(whole.max()), float(shifts[whole.argmax()])))
    assert best[0] >= 15
    assert abs(released.mean() - best[1] - x.mean()) < 1e-6


def test_a_few_whole_numbers_are_named_by_themselves():
    """Their squares and roots are round too, which would be no help: whole numbers can be declared."""
    rng = np.random.default_rng(3)
    assert names(np.concatenate([rng.gamma(4, 120, 144), [40.0, 90.0, 110.0, 170.0, 230.0]])) == {"heaps"}


def test_ratios_and_rates_of_whole_numbers():
    for rows in (25, 300, 5_000):
        rng = np.random.default_rng(rows)
        for unit in (1, 100, 1e3, 1e5):
            assert "ratios" in names(unit * rng.integers(1, 400, rows) / rng.integers(400, 9_000, rows))


def test_logarithms_are_refused_in_words_that_help():
    values = np.log(WHOLE["whole"](np.random.default_rng(0), 500))
    with pytest.raises(sv.StructureError, match=r"logarithms of round numbers.*--accept transform") as refused:
        sv.release(plan_for(values), values, accept=["atoms", "repeats"])
    assert "transform the released column" in str(refused.value)


# --- weak heaps, usual values, a few whole numbers, menus -----------------------------------------------
def test_weak_heaps_in_a_hundred_rows():
    """A fifth of the rows on multiples of 5: four standard errors, on average."""
    hits = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = np.rint(rng.normal(500, 80, 100))
        values = np.where(rng.random(100) < 0.2, 5 * np.rint(values / 5), values)
        hits += "heaps" in names(values)
    assert hits >= 24


@pytest.mark.parametrize(("rows", "share", "least"), [(25, 0.5, 16), (60, 0.4, 18), (100, 0.25, 17)])
def test_a_usual_value_in_few_rows(rows, share, least):
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = np.where(rng.random(rows) < share, 40, np.rint(rng.normal(38, 10, rows)))
        hits += "atoms" in names(values)
    assert hits >= least


@pytest.mark.parametrize(("rows", "few"), [(100, 3), (500, 4), (200_000, 19), (1_000_000, 3)])
def test_a_few_whole_numbers_among_continuous_ones(rows, few):
    values = np.random.default_rng(rows).normal(50, 10, rows)
    values[:few] = np.rint(np.linspace(35, 65, few))
    assert "heaps" in names(values)


@pytest.mark.parametrize("rows", [30, 807, 20_000])
@pytest.mark.parametrize("digits", [15, 6])
def test_a_menu_of_few_values(rows, digits):
    rng = np.random.default_rng(rows)
    values = rng.choice(np.round(rng.normal(50, 10, 11), digits), rows)
    assert "repeats" in names(values)
    with pytest.raises(sv.StructureError, match=r"--accept .*repeats"):
        sv.release(plan_for(values, known=as_inspected(values) if digits == 6 else None), values, accept=["atoms"])


def test_rows_that_a_join_has_doubled_are_no_menu():
    values = np.random.default_rng(0).normal(size=500)
    for times in (2, 4):
        assert names(np.repeat(values, times)) == set()


# --- rough shapes ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [0.05, 0.1])
def test_a_rough_shape_under_jitter(size):
    rng = np.random.default_rng(1)
    places = np.arange(200)
    share = np.exp(-0.5 * ((places - 100) / 25) ** 2 + size * rng.normal(size=200))
    values = rng.choice(places * 1.0, 200_000, p=share / share.sum())
    assert "rough" in names(values)
    plan = plan_for(values, known=sv.Structure(step=1, minimum=-3_000), tolerance=1.0)
    assert plan.mode == "jitter" or plan.mode == "smooth"
    if plan.mode == "jitter":
        with pytest.raises(sv.StructureError, match="--accept rough"):
            sv.release(plan, values, accept=["heaps"])


# --- natural bounds -------------------------------------------------------------------------------------
@pytest.mark.parametrize("top", [1, 100])
@pytest.mark.parametrize("rows", [200, 5_000])
def test_shares_have_a_maximum(top, rows):
    values = top * np.random.default_rng(rows).beta(1.2, 1, rows)
    assert natural_bounds(values) == (0.0, float(top))
    assert f"min=0,max={top}" in sv.inspect(values).columns[0].known
    with pytest.raises(sv.StructureError, match=f"max={top}.*--accept bounds"):
        sv.release(plan_for(values), values)
    scale = sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=(0.2 * top, 0.8 * top)),
        secret=sv.Mean(),
        tolerance=0.02 * top,
        known=sv.Structure(minimum=0),
    )
    with pytest.raises(sv.StructureError, match=f"above {top}"):
        sv.release(sv.plan(scale, max_risk=0.2), values)


def test_an_end_that_is_no_bound_is_not_called_one():
    """A tail that ends above 0 by accident is named only where it comes within a tenth of its mean, or nearly so."""
    named = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=int(rng.integers(30, 2_000)))
        values += rng.uniform(0, 1) - values.min()  # ends at random between 0 and one standard deviation
        named += natural_bounds(values)[0] is not None
    assert named <= 0.4 * 300  # a third lies that near
    assert natural_bounds(np.random.default_rng(0).normal(5, 1, 500)) == (None, None)
    assert natural_bounds(np.random.default_rng(0).normal(0, 1, 500)) == (None, None)
    assert natural_bounds(np.array([3.0])) == (None, None)
    assert natural_bounds(np.full(30, 2.0)) == (None, None)


def test_bounds_that_are_declared_or_parameters_of_the_family_are_not_refused():
    rng = np.random.default_rng(4)
    values = rng.uniform(0, 40, 800)
    uniform = sv.Problem(family=sv.Uniform(), prior=sv.Box(low=(-5, 5), high=(30, 50)), secret=sv.Mean(), tolerance=0.5)
    sv.release(sv.plan(uniform, max_risk=0.2), values)
    known = sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=(5, 100)),
        secret=sv.Mean(),
        tolerance=0.5,
        known=sv.Structure(minimum=0),
    )
    sv.release(sv.plan(known, max_risk=0.2), values)


# --- gaps filled with the statistic ---------------------------------------------------------------------
@pytest.mark.parametrize("secret", [sv.Mean(), sv.Quantile(0.5), sv.Quantile(0.95)])
@pytest.mark.parametrize("digits", [15, 2])
def test_a_refusal_never_prints_the_statistic(secret, digits):
    rng = np.random.default_rng(5)
    values = rng.normal(73.2, 11, 900)
    alpha = getattr(secret, "alpha", None)
    statistic = float(np.mean(values) if alpha is None else np.quantile(values, alpha))
    values[rng.random(900) < 0.15] = round(statistic, digits)
    problem = sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=(20, 200), sigma=(2, 40)), secret=secret, tolerance=0.5)
    plan = sv.plan(problem, max_risk=0.2)
    with pytest.raises(sv.StructureError, match="--accept filled") as refused:
        sv.release(plan, values)
    numbers = [float(text) for text in re.findall(r"\d+\.?\d*", str(refused.value))]
    own = float(np.mean(values) if alpha is None else np.quantile(values, alpha))
    assert all(abs(number - own) > 0.5 for number in numbers)
    sv.release(plan, values, accept=["filled", "heaps"])  # and nothing else was wrong


def test_filled_gaps_on_a_lattice_and_beside_another_atom():
    rng = np.random.default_rng(6)
    values = np.rint(rng.normal(73.2, 11, 4_000))
    values[rng.random(4_000) < 0.15] = round(float(np.mean(values)))
    values[rng.random(4_000) < 0.05] = 105.0
    plan = plan_for(values, known=sv.Structure(step=1), tolerance=5.0)
    with pytest.raises(sv.StructureError) as refused:
        sv.release(plan, values)
    assert "filled" in str(refused.value)
    assert "atoms=105" in str(refused.value)
    assert "73" not in str(refused.value)


def test_inspect_does_not_propose_the_mean_as_public():
    rng = np.random.default_rng(7)
    values = rng.normal(73.2, 11, 900)
    values[rng.random(900) < 0.15] = float(np.mean(values))
    report = sv.inspect(values).columns[0]
    assert "filled" in {one.name for one in report.structure}
    assert "atoms" not in report.known
    assert all("73." not in leak for leak in report.leaks)


def test_a_constant_column_is_not_named_by_its_value():
    plan = plan_for(np.full(50, 41.7) + np.random.default_rng(0).normal(0, 1, 50), tolerance=0.5)
    with pytest.raises(sv.StructureError) as refused:
        sv.release(plan, np.full(50, 41.7))
    assert "41" not in str(refused.value)


# --- silence --------------------------------------------------------------------------------------------
SMOOTH = {
    "normal": lambda rng, n: rng.normal(3, 2, n),
    "lognormal": lambda rng, n: rng.lognormal(1, 1, n),
    "exponential": lambda rng, n: rng.exponential(4, n),
    "gamma": lambda rng, n: rng.gamma(2, 50, n),
    "uniform": lambda rng, n: rng.uniform(-3, 9, n),
    "mixture": lambda rng, n: rng.normal(np.where(rng.random(n) < 0.4, 10, 30), 3, n),
    "student": lambda rng, n: rng.standard_t(2, n),
}


def test_at_most_two_percent_of_smooth_columns_are_refused():
    """Continuous ones in 64 and in 32 bits, and the same in whole steps, which show their step and nothing else."""
    alarms = {"continuous": 0, "steps": 0}
    tried = 0
    for make in SMOOTH.values():
        for seed in range(24):
            rng = np.random.default_rng([seed, 12])
            rows = int(10 ** rng.uniform(1.5, 4.0 if seed % 8 else 5.3))
            values = make(rng, rows)
            tried += 1
            exact = values if seed % 2 else values.astype(np.float32)
            alarms["continuous"] += bool(names(exact))
            fine = np.std(values) / rng.choice([3, 10, 40])
            alarms["steps"] += bool(names(np.rint(values / fine)) - {"step"})
    assert alarms["continuous"] <= 0.02 * tried
    assert alarms["steps"] <= 0.03 * tried


# --- what is said ---------------------------------------------------------------------------------------
def test_what_few_rows_hide_is_said():
    assert blind_spots(10**6, MODES["shift"]) == ()
    assert blind_spots(20, MODES["rank"]) == blind_spots(20, MODES["category"]) == ()
    for mode in ("shift", "scale", "affine", "lattice", "jitter"):
        sizes = [len(blind_spots(rows, MODES[mode])) for rows in (20, 50, 500, 5_000, 50_000)]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] > 0 == sizes[-1]
    for name in ("rough", "digits", "transform", "repeats", "bounds", "filled"):
        assert not re.search(r"\d", LEAKS[name])  # publishable: no number of the column


# --- the attacks, on releases that were forced ----------------------------------------------------------
def hit_rate(make, attack, *, known=None, rows, trials=30, accept=tuple(LEAKS)):
    """How often the attack names the mean within the tolerance, and what the plan states."""
    shape = make(np.random.default_rng(0), rows)
    plan = plan_for(shape, known=known)
    hits = 0
    for seed in range(trials):
        values = make(np.random.default_rng([seed, 1]), rows)
        released = np.asarray(sv.release(plan, values, accept=accept))
        hits += abs(attack(released) - np.mean(values)) <= plan.problem.tolerance
    return hits / trials, plan.risk


def test_the_pattern_of_a_unit_tells_the_shift():
    def attack(released):
        moves = np.arange(-400, 400) * 0.1
        places = (released[:, None] - moves) / 0.45359237
        score = np.cos(2 * np.pi * places).sum(axis=0)
        # pounds repeat every 0.45 kg: of the places that fit, the public average weight picks one
        good = moves[score > 0.9 * score.max()]
        return released.mean() - good[np.argmin(np.abs(released.mean() - good - 75.0))]

    rate, risk = hit_rate(CONVERSIONS["pounds to kg"], attack, known=sv.Structure(step=0.1), rows=300)
    assert risk <= 0.21
    assert rate > 0.5


def test_whole_numbers_behind_logarithms_tell_the_shift():
    def attack(released):
        ratio = np.exp(released - released[0])
        numbers = np.arange(1, 3_000)[:, None] * ratio
        # on the right scale all are whole, up to the blur, which leaves less of the wave where numbers are large
        left = np.exp(-2 * (np.pi * 2.0**-10 * 0.5 * released.std() * numbers) ** 2)
        score = np.sum(left * (2 * np.cos(2 * np.pi * numbers) - left), axis=1)
        return np.mean(np.log((1 + int(score.argmax())) * ratio))

    rate, risk = hit_rate(lambda rng, n: np.log(WHOLE["whole"](rng, n)), attack, rows=80)
    assert risk <= 0.21
    assert rate > 0.9


def test_a_natural_maximum_tells_the_shift():
    rate, risk = hit_rate(lambda rng, n: rng.beta(3, 1, n), lambda y: y.mean() - (y.max() - 1), rows=500)
    assert risk <= 0.21
    assert rate == 1.0


def test_units_are_what_they_are_called():
    assert {2.54, 0.45359237, 5 / 9, 1.609344} <= set(UNITS)


# --- codes, and transforms with a factor ----------------------------------------------------------
@pytest.mark.parametrize("code", [-999.0, 999.0, 0.0, -99.0, 9999.0])
@pytest.mark.parametrize("whole", [False, True])
def test_one_code_gives_a_shift_away_and_is_refused(code, whole):
    known = sv.Structure(step=0.1) if whole else sv.Structure()
    problem = sv.Problem(
        family=sv.Location(), prior=sv.Box(mean=(30, 90)), secret=sv.Mean(), tolerance=0.5, known=known
    )
    plan = sv.plan(problem, max_risk=0.1)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = 61.3 + rng.normal(0, 4, 2_000)
        x = np.round(x, 1) if whole else x
        x[3] = code
        with pytest.raises(sv.StructureError, match="codes"):
            sv.release(plan, x)
        released = np.asarray(sv.release(plan, x, accept=LEAKS))
        assert abs(released.mean() - (released[3] - code) - x.mean()) <= 0.5  # who knows the code knows it all


def test_columns_without_codes_show_none():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        for x in (rng.normal(60, 8, 500), rng.pareto(1.5, 500) * 100):
            assert find_codes(x) == ()
        for x in (np.round(rng.normal(80, 8, 5_000), 2), np.round(rng.pareto(1.2, 2_000) * 100), rng.poisson(3.0, 500)):
            assert find_codes(x.astype(float), continuous=False) == ()


@pytest.mark.parametrize("made", [lambda k: 10 * np.log10(k), lambda k: 20 * np.log10(k), lambda k: 100 * np.log(k)])
def test_logarithms_with_a_factor_are_found(made):
    found = [
        {finding.name for finding in find_structure(made(np.random.default_rng(seed).integers(50, 5_000, 120)))}
        for seed in range(10)
    ]
    assert sum("transform" in names for names in found) == 10


def test_amounts_that_thin_out_towards_0_have_a_natural_minimum():
    for seed in range(20):
        assert natural_bounds(np.random.default_rng(seed).gamma(3.0, 20.0, 3_000))[0] == 0.0
        assert natural_bounds(np.random.default_rng(seed).normal(60, 8, 3_000)) == (None, None)
