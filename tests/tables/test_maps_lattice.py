"""Whole steps from a bound: exact totals, kept atoms, laws that do not tell the factor."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK, blocks_of
from statveil.tables.maps.jitter import Floors, exact_total, prepare_jitter
from statveil.tables.maps.smooth import prepare_smooth

SEED = 0x5EED_0123_4567_89AB_CDEF_0011_2233_4455
UNLIKELY = 1e-4  # seeds are fixed, so a right law passes always or never; none was tried twice
PREPARE = {"jitter": prepare_jitter, "smooth": prepare_smooth}


def shapes(rows=20_000, mean=80.0):
    """Named columns of whole numbers from 0 with about this mean."""
    rng = np.random.default_rng(7)
    raw = {
        "gamma": rng.gamma(4, mean / 4, rows),
        "exponential": rng.exponential(mean, rows),
        "lognormal": mean * np.exp(rng.normal(-0.5, 1.0, rows)),
        "two humps": np.where(rng.random(rows) < 0.4, rng.normal(0.5, 0.06, rows), rng.normal(1.3, 0.15, rows)) * mean,
        "uniform": rng.uniform(0, 2 * mean, rows),
        "narrow": rng.normal(mean, mean / 20, rows),
    }
    return {name: np.floor(np.maximum(values, 0.0)) for name, values in raw.items()}


def released(prepared, column, backwards=False):
    parts = list(enumerate(blocks_of(column)()))
    done = {index: prepared.block(values, index) for index, values in (reversed(parts) if backwards else parts)}
    return np.concatenate([done[index] for index, _ in parts])


def mapped(name, column, **options):
    column = np.asarray(column, dtype=np.float64)
    options = {"about": 0.0, "step": 1.0, "atoms": (), "seed": SEED, **options}
    return released(PREPARE[name](blocks_of(column), **options), column)


def w1(one, two):
    return float(np.abs(np.sort(one) - np.sort(two)).mean())


both = pytest.mark.parametrize("name", ["jitter", "smooth"])


# Totals ------------------------------------------------------------------------------------------------------------
@both
@pytest.mark.parametrize("factor", [0.5, 0.79, 1.0, 1.26, 2.0])
@pytest.mark.parametrize("shape", ["gamma", "lognormal", "narrow"])
def test_the_total_is_the_nearest_whole_number_of_steps(name, shape, factor):
    column = shapes(3_000)[shape]
    mean = column.mean() * factor + 1e-5
    after = mapped(name, column, mean=mean)
    assert after.sum() == math.floor(len(column) * mean + 0.5)
    assert (after >= 0).all()
    assert (after == np.floor(after)).all()


@both
@given(
    counts=st.lists(st.integers(0, 60), min_size=1, max_size=60).filter(any),
    mean=st.floats(0, 90),
    seed=st.integers(0, 2**128 - 1),
)
@settings(max_examples=120, deadline=None)
def test_any_column_of_counts_reaches_any_total(name, counts, mean, seed):
    after = mapped(name, counts, mean=mean, seed=seed)
    assert after.sum() == math.floor(len(counts) * mean + 0.5)
    assert (after >= 0).all()


@both
@pytest.mark.parametrize(("about", "sign"), [(-2.0, 1), (7.5, -1)])
def test_a_lattice_of_any_step_on_either_side_of_its_bound(name, about, sign):
    places = shapes(5_000)["gamma"]
    column = about + sign * places * 0.25
    mean = about + sign * 0.25 * 70
    after = mapped(name, column, about=about, step=0.25, mean=mean)
    assert (sign * (after - about) >= 0).all()
    assert (np.floor(after * 4) == after * 4).all()
    assert abs(after.mean() - mean) <= 0.125 / len(column) + 1e-12


@both
def test_decimal_steps_are_written_as_the_nearest_floats(name):
    column = np.round(shapes(2_000)["gamma"] * 0.1, 1)
    after = mapped(name, column, step=0.1, mean=9.0)
    assert (after == np.round(after, 1)).all()


def test_few_passes_over_the_column_are_enough():
    for shape, column in shapes(200_000).items():
        passes = 0

        def counted(column=column):
            nonlocal passes
            passes += 1
            return blocks_of(column)()

        prepare_jitter(counted, about=0.0, step=1.0, mean=0.8 * column.mean(), atoms=(), seed=SEED)
        assert passes <= 3, shape


def test_rows_that_are_rounded_reach_an_exact_total_too():
    rows = np.random.default_rng(1).gamma(2.0, 10.0, 1_000)
    floors = Floors(lift=0.5)
    factor = exact_total(lambda: iter([rows[:300], rows[300:]]), floors, wanted=12_345, rows=1_000, weight=rows.sum())
    assert np.floor(rows * factor + 0.5).sum() == 12_345


# Atoms, missing rows, refusals -----------------------------------------------------------------------------------
@both
def test_atoms_at_the_bound_stay_and_others_stay_beyond_them(name):
    column = 1 + shapes(5_000)["gamma"]
    column[::3] = 0
    after = mapped(name, column, mean=0.8 * column.mean(), atoms=(0.0,))
    assert ((after == 0) == (column == 0)).all()
    assert after.sum() == math.floor(len(column) * 0.8 * column.mean() + 0.5)


def test_smooth_keeps_atoms_anywhere():
    column = shapes(5_000)["gamma"]
    column[::5] = 99
    after = mapped("smooth", column, mean=0.8 * column.mean(), atoms=(99.0,))
    assert (after[column == 99] == 99).all()
    assert after.sum() == math.floor(len(column) * 0.8 * column.mean() + 0.5)


def test_an_atom_leaves_no_gap_in_the_smooth_shape():
    plain = np.floor(np.random.default_rng(2).normal(80, 4, 50_000) + 0.5)
    column = plain.copy()
    column[::4] = 80
    levels = np.linspace(0.1, 0.9, 9)
    options = {"about": 0.0, "step": 1.0, "seed": SEED}
    wanted = prepare_smooth(blocks_of(plain), mean=70.0, atoms=(), **options).shape(levels)
    filled = prepare_smooth(blocks_of(column), mean=72.5, atoms=(80.0,), **options).shape(levels)
    assert np.abs(filled - wanted).max() < 0.12
    gap = prepare_smooth(blocks_of(plain[plain != 80]), mean=70.0, atoms=(), **options).shape(levels)
    assert np.abs(gap - wanted).max() > 0.2


def test_jitter_refuses_an_atom_that_would_leave_a_gap():
    with pytest.raises(ColumnError, match="smooth"):
        mapped("jitter", [3, 50, 50, 60], mean=40.0, atoms=(50.0,))


@both
def test_rows_that_are_not_finite_stay_and_do_not_count(name):
    column = shapes(3_000)["gamma"]
    holes = column.copy()
    holes[::7], holes[1], holes[2] = np.nan, np.inf, -np.inf
    after = mapped(name, holes, mean=70.0)
    finite = np.isfinite(holes)
    assert np.array_equal(after[~finite], holes[~finite], equal_nan=True)
    assert after[finite].sum() == finite.sum() * 70


@both
@pytest.mark.parametrize(
    ("column", "mean", "atoms"),
    [
        ([], 3.0, ()),
        ([np.nan, np.nan], 3.0, ()),
        ([0, 0, 0], 3.0, (0.0,)),
        ([0, 5, 9], 0.1, (0.0,)),  # two rows of at least 1 make a mean of 2/3
        ([-1, 5, 9], 3.0, ()),
        ([1, 5, 9], 1e300, ()),
    ],
)
def test_what_cannot_be_released_is_refused(name, column, mean, atoms):
    with pytest.raises(ColumnError):
        mapped(name, column, mean=mean, atoms=atoms)


@both
def test_one_row_becomes_the_mean(name):
    assert mapped(name, [7], mean=9.3).tolist() == [9]
    assert mapped(name, [7, np.nan], mean=9.3).tolist()[0] == 9


@both
def test_a_mean_at_the_bound_puts_every_row_there(name):
    assert mapped(name, [3, 4, 5], mean=0.0).tolist() == [0, 0, 0]


def test_a_column_at_its_bound_has_no_shape_to_scale():
    with pytest.raises(ColumnError):
        mapped("smooth", [0, 0, 0], mean=2.0)
    assert mapped("jitter", [0, 0, 0], mean=2.0).sum() == 6


# Seeds and blocks ------------------------------------------------------------------------------------------------
@both
def test_rows_depend_on_the_seed_and_not_on_the_order_of_blocks(name):
    column = shapes(2 * BLOCK + 5_000)["gamma"]
    options = {"about": 0.0, "step": 1.0, "mean": 70.0, "atoms": ()}
    whole = PREPARE[name](blocks_of(column), seed=SEED, **options)
    first = released(whole, column)
    assert first.sum() == 70 * len(column)
    assert np.array_equal(first, released(whole, column, backwards=True))
    assert not np.array_equal(first, released(PREPARE[name](blocks_of(column), seed=SEED + 1, **options), column))


@both
def test_the_record_is_json(name):
    column = shapes(2_000)["gamma"]
    prepared = PREPARE[name](blocks_of(column), about=0.0, step=1.0, mean=70.0, atoms=(), seed=SEED)
    assert "a" in json.loads(json.dumps(prepared.coefficients()))
    assert prepared.whole


# Laws ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("factor", [0.77, 1.31])
def test_jitter_gives_the_scaled_law_of_a_column_that_is_level_within_its_cells(factor):
    rows, top = 400_000, 40
    density = np.array([1 + (place % 3) for place in range(top)], dtype=np.float64)
    density /= density.sum()
    column = np.random.default_rng(3).choice(np.arange(top, dtype=np.float64), rows, p=density)
    mean = factor * (column.mean() + 0.5) - 0.5
    after = mapped("jitter", column, mean=mean)
    edges = np.arange(math.ceil(top * factor) + 1) / factor
    shares = np.diff(np.interp(edges, np.arange(top + 1), np.concatenate([[0], np.cumsum(density)])))
    observed = np.bincount(after.astype(int), minlength=len(shares))
    keep = shares * rows > 5
    assert observed[~keep].sum() < 50
    expected = shares[keep] * (observed[keep].sum() / shares[keep].sum())
    assert stats.chisquare(observed[keep], expected).pvalue > UNLIKELY
    plain = np.bincount(np.floor(factor * column + 0.5).astype(int), minlength=len(shares))[: len(shares)]
    assert stats.chisquare(plain[keep] + 1, expected * ((plain[keep] + 1).sum() / expected.sum())).pvalue < 1e-10


def test_smooth_keeps_the_order():
    for shape, column in shapes(5_000).items():
        after = mapped("smooth", column, mean=0.8 * column.mean())
        order = np.lexsort((after, column))
        assert (np.diff(after[order]) >= 0).all(), shape


@pytest.mark.parametrize("about", [0.0, -4.0])
def test_smoothing_and_scaling_can_be_swapped(about):
    column = np.random.default_rng(11).lognormal(3, 0.7, 30_000)
    one = mapped("smooth", about + column, about=about, step=None, mean=20.0)
    two = mapped("smooth", about + column * 1.37, about=about, step=None, mean=20.0)
    assert np.allclose(one, two, rtol=1e-9, atol=1e-9)
    assert math.isclose(one.mean(), 20.0, rel_tol=1e-12)


def test_smooth_wipes_out_heaps_and_jitter_does_not():
    rng = np.random.default_rng(5)
    column = np.floor(rng.gamma(4, 25, 40_000))
    heaped = rng.random(len(column)) < 0.2
    column[heaped] = 10 * np.floor(column[heaped] / 10 + 0.5)
    mean = 1.2 * column.mean()

    def power(values, period):
        return abs(np.exp(2j * np.pi * values / period).mean()) ** 2 * len(values)  # about 1 without heaps

    assert power(column, 10) > 500
    factor = (mean + 0.5) / (column.mean() + 0.5)
    assert power(mapped("jitter", column, mean=mean), 10 * factor) > 200
    smooth = mapped("smooth", column, mean=mean)
    assert max(power(smooth, 10 * factor * stretch) for stretch in np.linspace(0.97, 1.03, 61)) < 12


# What it costs -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "most"), [("jitter", 1.05), ("smooth", 1.3)])
@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_the_distance_is_near_the_least_possible(name, most, factor):
    for shape, column in shapes().items():
        mean = factor * column.mean()
        after = mapped(name, column, mean=mean)
        assert w1(column, after) <= most * abs(mean - column.mean()), shape
