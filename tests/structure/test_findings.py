"""Structure that was built into a column is found; smooth columns stay silent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import geom, nbinom, poisson

from statveil.tables.structure.column.atom_search import _far_out
from statveil.tables.structure.column.findings import Sampler, find_misfit, find_structure
from statveil.tables.structure.column.multiple_search import of_multiples
from statveil.tables.structure.reading.sampler import SampledUntil
from statveil.tables.verification import holds_long, precision


def found(sample, **options):
    return {one.name: one.values for one in find_structure(np.asarray(sample, dtype=float), **options)}


def flags(sample, **options):
    return [one.flag for one in find_structure(np.asarray(sample, dtype=float), **options)]


def heaped(rng, values, period, share):
    """A share of the rows is moved to the nearest multiple of the period."""
    return np.where(rng.random(len(values)) < share, np.floor(values / period + 0.5) * period, values)


def as_float32(values):
    return np.asarray(values, dtype=np.float32).astype(float)


# --- the step -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [30, 1_000, 60_000])
@pytest.mark.parametrize(
    "step", [1, 0.1, 0.01, 0.001, 0.25, 0.125, 0.5, 5, 25, 1000, 1 / 550, 1 / 3, 1 / 7, 2**-20, 0.3]
)
@pytest.mark.heavy(4)
def test_step_is_found(rows, step):
    rng = np.random.default_rng(rows)
    for spread in (40, 3_000):
        for offset in (0, 7):
            numbers = np.rint(rng.normal(10 * spread, spread, rows)) + offset
            assert found(numbers * step)["step"] == pytest.approx((step,), rel=1e-12)


@pytest.mark.parametrize("step", [1, 0.1, 0.01, 0.25, 5, 1 / 550])
def test_step_of_32_bit_floats_is_found(step):
    rng = np.random.default_rng(3)
    values = as_float32(rng.integers(0, 5_000, 2_000) * step)
    assert found(values, bits=24)["step"] == pytest.approx((step,), rel=1e-6)
    assert found(values)["step"] == pytest.approx((step,), rel=1e-6)  # stored as 64-bit floats


def test_step_with_an_offset_and_the_mean_of_page_views():
    rng = np.random.default_rng(4)
    assert found(rng.integers(0, 400, 500) * 25 + 7)["step"] == (25,)
    assert found(np.rint(rng.integers(0, 400, 500) * 25 + 7) / 100)["step"] == (0.25,)
    views = np.rint(rng.lognormal(9, 2, 4_000))
    assert found(views / 550)["step"] == (1 / 550,)
    assert found(np.round(rng.lognormal(3, 1, 4_000), 2))["step"] == (0.01,)


def test_a_fine_step_in_few_rows():
    """Neighbours lie hundreds of steps apart, so that no gap is one step."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        views = rng.integers(0, 10**6, int(rng.integers(12, 60)))
        assert flags(views / 550) == ["step=0.0018181818181818182"]


def test_whole_numbers_that_32_bits_hold_by_accident():
    rng = np.random.default_rng(6)
    values = np.append(rng.integers(0, 10**5, 5_000) * 5.0, 5.0 * 2**24)
    assert flags(values) == ["step=5"]


def test_decimals_with_rounding_errors_are_still_decimals():
    rng = np.random.default_rng(5)
    assert found(np.cumsum(rng.integers(0, 9, 3_000) * 0.1))["step"] == pytest.approx((0.1,), rel=1e-9)
    assert found(rng.integers(0, 900, 3_000) * 0.1)["step"] == (0.1,)


def test_few_rows():
    assert flags([]) == []
    assert flags([np.nan, np.inf]) == []
    assert flags([7.0]) == ["step=1"]
    assert flags([1 / 3]) == []
    assert flags([np.pi, np.e, 1 / 7]) == []
    assert flags([3.0, 10.0]) == ["step=1"]  # two rows always have a common factor
    assert flags([2.5] * 40) == ["step=0.1", "atoms=2.5"]
    assert flags([1 / 7] * 40) == ["atoms=0.14285714285714285"]
    assert flags([0.12345678] * 40) == ["atoms=0.12345678"]
    assert flags([-0.0, 0.0, 0.0]) == ["step=1", "atoms=0"]


# --- heaps --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("step", [1, 0.01, 0.5, 3, 1 / 550])
@pytest.mark.parametrize("period", [2, 5, 10, 12, 100])
@pytest.mark.parametrize("offset", [0, 3])
@pytest.mark.heavy(8)
def test_heaps_are_found(step, period, offset):
    rng = np.random.default_rng(period)
    for shape in (rng.normal(3_000, 600, 30_000), rng.exponential(800, 30_000), rng.uniform(0, 4_000, 30_000)):
        numbers = np.rint(heaped(rng, np.rint(shape), period, 0.2)) + offset
        assert found(numbers * step)["heaps"] == pytest.approx((period * step,), rel=1e-9)


def test_heaps_of_three_percentage_points():
    """23.1 percent multiples of 5 instead of 20: expected z is 5.5 at 5,000 rows and 11 at 20,000."""
    hits = {5_000: 0, 20_000: 0}
    for rows in hits:
        for seed in range(40):
            rng = np.random.default_rng(seed)
            ages = np.rint(rng.normal(500, 80, rows))
            hits[rows] += found(heaped(rng, ages, 5, 0.031 / 0.8)).get("heaps") == (5,)
    assert hits[20_000] == 40
    assert hits[5_000] >= 20


def test_several_heaps_give_the_period_that_keeps_them_all():
    rng = np.random.default_rng(8)
    wages = heaped(rng, heaped(rng, np.rint(rng.normal(40_000, 9_000, 50_000)), 10, 0.2), 1000, 0.1)
    assert found(wages)["heaps"] == (1000,)
    minutes = heaped(rng, heaped(rng, np.rint(rng.gamma(4, 60, 50_000)), 5, 0.2), 60, 0.1)
    assert found(minutes)["heaps"] == (60,)
    two = heaped(rng, heaped(rng, np.rint(rng.normal(4_000, 900, 50_000)), 7, 0.2), 10, 0.2)
    assert sorted(found(two)["heaps"]) == [7, 10]


def test_all_salaries_but_one():
    rng = np.random.default_rng(9)
    salaries = np.append(np.rint(rng.uniform(6, 50, 372)) * 5000, 350)
    assert flags(salaries)[:2] == ["step=50", "heaps=5000"]


@pytest.mark.parametrize("period", [0.01, 0.5, 1, 5, 100])
@pytest.mark.parametrize("bits", [53, 24])
def test_round_values_among_continuous_ones(period, bits):
    rng = np.random.default_rng(10)
    for rows, share in ((300, 0.1), (30_000, 0.02), (30_000, 0.5)):
        values = heaped(rng, rng.normal(40 * period, 12 * period, rows), period, share)
        values = values if bits == 53 else as_float32(values)
        assert found(values, bits=bits)["heaps"] == (period,)
        assert "step" not in found(values, bits=bits)


# --- atoms --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [200, 5_000, 100_000])
def test_atoms_of_continuous_columns(rows):
    rng = np.random.default_rng(rows)
    values = rng.exponential(3, rows)
    assert found(np.where(rng.random(rows) < 0.1, 0, values)) == {"atoms": (0,)}
    assert found(np.minimum(values, np.pi)) == {"atoms": (np.pi,)}
    two = np.where(rng.random(rows) < 0.3, 30, np.where(rng.random(rows) < 0.1, -1, values))
    assert found(two) == {"atoms": (30, -1)}
    assert found(as_float32(np.minimum(values, np.pi)), bits=24) == {"atoms": (float(np.float32(np.pi)),)}
    assert found(np.repeat(values, 4)) == {}  # rows that a join has doubled are no atoms


@pytest.mark.parametrize("rows", [1_000, 50_000])
@pytest.mark.parametrize("step", [1, 0.01])
def test_atoms_on_a_lattice(rows, step):
    rng = np.random.default_rng(rows)
    counts = rng.poisson(12, rows)
    assert found(np.where(rng.random(rows) < 0.1, 0, counts) * step)["atoms"] == (0,)
    ages = np.rint(rng.normal(50, 12, rows))
    assert found(np.minimum(ages, 60) * step)["atoms"] == pytest.approx((60 * step,))
    assert found(np.where(rng.random(rows) < 0.15, 42, ages) * step)["atoms"] == pytest.approx((42 * step,))
    assert found(np.where(rng.random(rows) < 0.06, 999, ages) * step)["atoms"] == pytest.approx((999 * step,))
    prices = np.round(rng.lognormal(5, 1, rows), 2)
    assert found(np.where(rng.random(rows) < 0.1, 0, prices))["atoms"] == (0,)


def test_an_atom_among_heaps():
    rng = np.random.default_rng(11)
    ages = heaped(rng, np.rint(rng.normal(500, 80, 40_000)), 10, 0.3)
    assert "atoms" not in found(ages)
    assert found(np.where(rng.random(40_000) < 0.05, 480, ages)) == {"step": (1,), "heaps": (10,), "atoms": (480,)}


# --- silence ------------------------------------------------------------------------------------------
CONTINUOUS = {
    "gaussian": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(0, 2, n),
    "pareto": lambda rng, n: 1 + rng.pareto(1.5, n),
    "uniform": lambda rng, n: rng.random(n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "sum": lambda rng, n: rng.random(n) + rng.normal(size=n),
    "product": lambda rng, n: rng.random(n) * rng.normal(size=n),
}


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.heavy(2)
def test_continuous_columns_are_silent(name):
    for seed in range(0, 22, 2):
        rng = np.random.default_rng(seed)
        rows = int(10 ** rng.uniform(1, 4.7 if seed else 5.3))
        values = CONTINUOUS[name](rng, rows) * 10.0 ** (seed - 9)
        assert flags(values) == []
        assert flags(as_float32(values), bits=24) == []
        assert flags(as_float32(values)) == []
        assert flags(values + 100 * np.median(values)) == []


LATTICES = {
    "gaussian": lambda rng, n: np.rint(rng.normal(rng.uniform(-9, 9), rng.choice([0.4, 1, 2, 3, 5, 10, 100]), n)),
    "poisson": lambda rng, n: rng.poisson(rng.choice([0.1, 0.5, 1, 3, 10, 30, 100, 1000]), n),
    "geometric": lambda rng, n: rng.geometric(rng.choice([0.95, 0.9, 0.7, 0.5, 0.3, 0.1, 0.01, 0.001]), n) - 1,
    "binomial": lambda rng, n: rng.binomial(rng.choice([1, 2, 5, 10, 20, 100, 1000]), rng.uniform(0.02, 0.98), n),
    "exponential": lambda rng, n: np.rint(rng.exponential(rng.choice([0.5, 1, 3, 10, 50, 1000]), n)),
    "uniform": lambda rng, n: rng.integers(0, rng.choice([2, 3, 5, 10, 30, 100, 1000, 10**6]), n),
    "laplace": lambda rng, n: np.rint(rng.laplace(0, rng.choice([0.5, 1, 3, 10, 100]), n)),
    "lognormal": lambda rng, n: np.rint(rng.lognormal(rng.choice([2, 5, 8]), rng.choice([0.3, 1, 1.5]), n)),
    "negative binomial": lambda rng, n: rng.negative_binomial(rng.choice([0.5, 1, 3]), rng.choice([0.5, 0.1, 0.02]), n),
    "two humps": lambda rng, n: np.rint(rng.normal(rng.choice([30, 60], n), rng.uniform(1, 12))),
}


@pytest.mark.parametrize("name", LATTICES)
@pytest.mark.heavy(2)
def test_smooth_lattices_show_their_step_only(name):
    """Chance shows something else once in a hundred columns or so: attackers need no more than that."""
    more = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        rows = int(10 ** rng.uniform(1, 4.5 if seed % 10 else 5.3))
        numbers = LATTICES[name](rng, rows)
        if len(np.unique(numbers)) == 1:
            continue
        step = rng.choice([1, 0.01, 0.25, 5])
        one, *others = find_structure(numbers * step)
        assert one.name == "step"
        more += bool(others)
    assert more <= 2


# --- what must not matter -----------------------------------------------------------------------------
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), power=st.integers(-6, 6), kind=st.sampled_from(["whole", "cents", "views", "none"])
)
def test_row_order_and_scale(seed, power, kind):
    rng = np.random.default_rng(seed)
    numbers = heaped(rng, np.rint(rng.normal(3_000, 500, 400)), 10, 0.5)
    values = {"whole": numbers, "cents": numbers / 100, "views": numbers / 550, "none": rng.normal(size=400)}[kind]
    before = find_structure(values)
    assert find_structure(rng.permutation(values)) == before
    step = {one.name: one.values for one in before}.get("step")
    assert (step is None) == (kind == "none")
    assert found(values * 2.0**power).get("step") == (None if step is None else (step[0] * 2.0**power,))


@settings(max_examples=30, deadline=None)
@given(data=st.data(), rows=st.integers(0, 3_000), keep=st.integers(16, 600))
def test_the_sample_does_not_depend_on_the_blocks(data, rows, keep):
    values = np.arange(rows, dtype=float)
    values[::7] = np.nan
    whole, parts = Sampler(keep), Sampler(keep)
    whole.add(values, 0)
    cuts = sorted(data.draw(st.lists(st.integers(0, rows), max_size=8)))
    blocks = list(zip([0, *cuts], [*cuts, rows], strict=True))
    for start, stop in data.draw(st.permutations(blocks)):
        parts.add(values[start:stop], start)
    np.testing.assert_array_equal(whole.values, parts.values)
    finite = int(np.sum(np.isfinite(values)))
    if finite <= keep:
        np.testing.assert_array_equal(whole.values, values[np.isfinite(values)])
    else:
        assert len(whole.values) <= keep + 10  # the hash halves a range to within a few rows


@pytest.mark.parametrize("period", [2, 3, 10, 64, 144, 1000])
def test_periodic_data_does_not_fool_the_sample(period):
    sampler = Sampler(10_000)
    rows = 400_000
    sampler.add(np.arange(rows) % period * 1.0, 0)
    kept = sampler.values
    shares = np.bincount(kept.astype(int), minlength=period) / len(kept)
    assert 4_000 < len(kept) <= 10_000
    assert np.max(np.abs(shares * period - 1)) < 5 * np.sqrt(period / len(kept))


# --- counts against their family ----------------------------------------------------------------------
def test_counts_of_the_stated_family_are_silent():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        rows = int(10 ** rng.uniform(1, 5))
        rate, p = float(rng.choice([0.1, 0.5, 1, 3, 10, 100])), float(rng.choice([0.9, 0.5, 0.2, 0.05, 0.01]))
        assert find_misfit(rng.poisson(rate, rows) * 1.0, lambda k, rate=rate: poisson.pmf(k, rate)) == []
        sample = rng.geometric(p, rows) - 1.0
        fitted = 1 / (1 + max(sample.mean(), 1e-9))
        assert find_misfit(sample, lambda k, p=p: geom.pmf(k + 1, p)) == []
        assert find_misfit(sample, lambda k, p=fitted: geom.pmf(k + 1, p)) == []


def test_counts_of_another_family_are_reported():
    rng = np.random.default_rng(12)

    def model(k):
        return poisson.pmf(k, 5)

    assert find_misfit(np.zeros(0), model) == []
    names = [one.name for one in find_misfit(rng.negative_binomial(5, 0.5, 20_000) * 1.0, model)]
    assert "misfit" in names
    under = find_misfit(rng.binomial(10, 0.5, 20_000) * 1.0, model)
    assert "under-dispersed" in under[-1].says
    assert find_misfit(nbinom.rvs(1, 1 / 6, size=20_000, random_state=1) * 1.0, lambda k: geom.pmf(k + 1, 1 / 6)) == []
    peak = np.where(rng.random(20_000) < 0.04, 5, rng.poisson(5, 20_000))
    assert [(one.name, one.values) for one in find_misfit(peak * 1.0, model)] == [("atoms", (5.0,))]
    assert find_misfit(rng.poisson(5, 500) - 1.0, model)[0].name == "misfit"
    assert find_misfit(rng.poisson(5, 500) + 0.5, model)[0].name == "misfit"


# --- functions of counts and shares, and a few rows far out -----------------------------------------
FUNCTIONS = {
    "Freeman-Tukey roots": lambda n: np.sqrt(n) + np.sqrt(n + 1),
    "half of them": lambda n: 0.5 * (np.sqrt(n) + np.sqrt(n + 1)),
    "Anscombe's roots": lambda n: 2 * np.sqrt(n + 0.375),
    "tangents": lambda n: np.tan(np.radians(0.1 * n)),
    "angles of shares": lambda n: np.arcsin(np.sqrt(n / 613)),
    "angles of shares, twice": lambda n: 2 * np.arcsin(np.sqrt(n / 613)),
    "log-odds of shares": lambda n: np.log(n / (613 - n)),
    "probits of shares": lambda n: ndtri(n / 613),
}


@pytest.mark.parametrize("rows", [60, 300])
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions_of_counts_are_found_whatever_the_counts_are_shares_of(kind, rows):
    rng = np.random.default_rng(rows)
    counts = rng.choice(np.arange(100.0, 400.0), min(rows, 300), replace=False)
    assert "transform" in {finding.name for finding in find_structure(FUNCTIONS[kind](counts))}
    # the same numbers between the counts are no such function
    assert "transform" not in {
        finding.name for finding in find_structure(FUNCTIONS[kind](counts + rng.random(len(counts))))
    }


@pytest.mark.parametrize(("rows", "few", "value"), [(100, 3, 999), (300, 3, 999), (300, 3, 0), (1000, 4, 250)])
def test_a_few_rows_at_one_value_far_from_all_others_are_an_atom(rows, few, value):
    for seed in range(4):
        column = np.round(np.random.default_rng(seed).normal(120, 10, rows))
        column[:few] = value
        atoms = {finding.name: finding.values for finding in find_structure(column)}.get("atoms", ())
        assert value in atoms
        column[:few] += np.arange(few) * 7  # as many rows there, and none equal
        assert "atoms" not in {finding.name for finding in find_structure(column)}


@pytest.mark.parametrize("draw", [
    lambda rng, n: rng.normal(100, 15, n),
    lambda rng, n: rng.lognormal(4, 1.5, n),
    lambda rng, n: 10 * rng.pareto(1.0, n),
    lambda rng, n: 20 * rng.standard_cauchy(n),
    lambda rng, n: rng.exponential(30, n),
    lambda rng, n: np.where(rng.random(n) < 0.03, rng.normal(900, 5, n), rng.normal(100, 15, n)),
], ids=["normal", "lognormal", "Pareto", "Cauchy", "exponential", "a second hump"])  # fmt: skip
def test_tails_and_second_humps_are_no_atoms(draw):
    """Of 200 columns one at most."""
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(200):
        places, counts = np.unique(np.round(draw(rng, 300)), return_counts=True)
        found += len(_far_out(places.astype(np.int64), counts, 1)) > 0
    assert found <= 1
    ids = np.sort(rng.choice(10_000, 40, replace=False))  # three rows each
    assert not len(_far_out(ids, np.full(40, 3), 1))


def test_no_values_are_multiples_of_nothing():
    """As where all that a column has was named before: a real column of logarithms ended in a traceback."""
    assert of_multiples(np.zeros(0)) is None


@pytest.mark.parametrize("rows", [1, 3_000, 200_000, 2_500_000])
@pytest.mark.parametrize("kind", ["long", "short", "one long", "first empty", "empty", "late"])
def test_a_sample_that_ends_early_says_of_32_bit_floats_what_the_whole_one_says(kind, rows):
    rng = np.random.default_rng(rows)
    values = rng.normal(100, 12, rows)
    short = values.astype(np.float32).astype(np.float64)
    if kind == "first empty":
        values[: rows // 2] = np.nan
    elif kind == "empty":
        values[:] = np.nan
    elif kind == "late":
        values = np.where(np.arange(rows) < rows // 2, short, values)
    elif kind != "long":
        long = rng.integers(rows) if kind == "one long" else rows
        values = np.where(np.arange(rows) == long, values, short)
    early, whole = SampledUntil(holds_long), Sampler()
    for start in range(0, rows, 65_536):
        for one in (early, whole):
            one.add(values[start : start + 65_536], start)
    assert precision(early.values, 53, ()) == precision(whole.values, 53, ())
    if kind == "long":  # and most columns are told by their first rows
        assert precision(early.values, 53, ()) == 53
        assert len(early.values) < 10
    elif kind == "short":
        assert precision(early.values, 53, ()) == 24
        assert np.array_equal(early.values, whole.values)
