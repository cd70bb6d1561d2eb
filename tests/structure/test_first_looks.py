"""Quick looks that rule out most pairs of columns: they never rule out what the closer look finds."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.tables.structure.column.digit_search import significant_bits
from statveil.tables.structure.column.lattice_search import any_step, short_floats
from statveil.tables.structure.column.ratio_search import binary_step
from statveil.tables.structure.column.sum_search import _recurs, _subtotals
from statveil.tables.structure.others.apart import FINE, shifted, surely_apart
from statveil.tables.structure.others.copy_search import surely_less
from statveil.tables.structure.others.partner_search import _FACTOR, _left_alone, _left_by
from statveil.tables.structure.reading.distinct import frozen

SHIFTS = (0, 1, 2, 3, -1, -2, -3)


def nearest(x, y, *, ratio):
    """What the nearest three differences, or logarithms of quotients, reach over."""
    with np.errstate(all="ignore"):
        rest = np.sort(np.log(np.abs(y / x)) if ratio else (y - x) / np.std(x))
    rest = rest[np.isfinite(rest)]
    return float(np.min(rest[2:] - rest[:-2]))


@pytest.mark.parametrize("seed", range(12))
def test_rows_that_share_a_difference_or_quotient_are_never_ruled_out(seed):
    rng = np.random.default_rng([3, seed])
    x, y = rng.gamma(2.0, 50.0, 4_000), rng.normal(100 * (seed % 3 - 1), 12, 4_000)
    assert all(surely_apart(frozen(x.copy()), frozen(y.copy()), shift) for shift in SHIFTS)
    shift, rows = SHIFTS[seed % 7], rng.choice(np.arange(10, 3_900), 3, replace=False)
    y[rows + shift] = x[rows] * 1.7 if seed % 2 else x[rows] + 3
    y[rows + shift] *= 1 + rng.choice([0.0, 1e-13, 1e-12], 3)
    one, two = frozen(x), frozen(y)
    for here in SHIFTS:
        near = [nearest(*shifted(one, two, here), ratio=ratio) for ratio in (False, True)]
        # asked in one order, then known in the other
        assert not (min(near) <= FINE and surely_apart(one, two, here))
        near = [nearest(*shifted(two, one, -here), ratio=ratio) for ratio in (False, True)]
        assert not (min(near) <= FINE and surely_apart(two, one, -here))
    assert not surely_apart(one, two, shift)


def test_gaps_zeros_and_arrays_that_may_change_are_left_to_the_closer_look():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=500), rng.normal(size=500)
    assert not surely_apart(x, frozen(y.copy()), 0)
    for odd in (np.nan, np.inf, 0.0):
        assert not surely_apart(frozen(x.copy()), frozen(np.where(np.arange(500) == 7, odd, y)), 0)
    assert not surely_apart(frozen(np.ones(500)), frozen(np.full(500, 2.0)), 0)


@pytest.mark.parametrize("seed", range(6))
def test_products_with_a_rate_are_never_ruled_out(seed):
    rng = np.random.default_rng([4, seed])
    x, y = rng.gamma(4, 20, 600), rng.normal(0.2, 0.1, 600)
    far = 1e9 if seed % 3 == 2 else 0.0  # a rate that is nearly a constant beside its size
    exact = far + x * y
    columns = {
        **{f"off{k}": exact + 10.0**-k * np.std(exact) * rng.normal(size=600) for k in range(4)},
        "free": rng.normal(size=600),
        "rate": 3 * y + 1,
        "same": x + 1e-9 * rng.normal(size=600),
        "gap": np.where(rng.random(600) < 0.1, np.nan, exact),
        "constant": np.full(600, 5.0),
    }
    rate = y + far
    ruled_out = _left_alone(x, rate, columns)
    ones = np.ones(600)
    for name in ruled_out:
        alone, both = (_left_by(columns[name], np.column_stack(p)) for p in ((ones, rate), (ones, rate, x, x * rate)))
        assert both > _FACTOR * alone
    assert "free" in ruled_out
    assert not ruled_out & {"off2", "off3", "gap", "constant"}


@pytest.mark.parametrize("seed", range(8))
def test_sums_of_columns_are_never_ruled_out(seed):
    rng = np.random.default_rng([5, seed])
    table = rng.normal(size=(900, 6))
    if seed % 2:
        table[:, 5] = table[:, 0] + 10.0 ** -rng.integers(2, 12) * rng.normal(size=900)
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    assert surely_less(table[:, :5], rng.normal(size=900), 0.99)
    for noise in (1.0, 0.2, 0.1, 0.05, 0.0):
        wanted = table @ rng.normal(size=6) + noise * rng.normal(size=900)
        wanted -= wanted.mean()
        weights, *_ = np.linalg.lstsq(table, wanted, rcond=None)
        told = 1 - np.sum((wanted - table @ weights) ** 2) / np.sum(wanted**2)
        assert not (told >= 0.99 and surely_less(table, wanted, 0.99))


@pytest.mark.parametrize("rows", [40, 900, 20_000])
@pytest.mark.parametrize("gap", [0.0, *(10.0**-digits for digits in range(2, 16))])
def test_the_difference_of_two_columns_that_are_nearly_one_is_not_ruled_out(gap, rows):
    rng = np.random.default_rng([6, rows])
    year, wanted, free = rng.integers(2000, 2020, rows) * 1.0, rng.normal(size=rows), rng.normal(size=rows)
    table = np.column_stack((rng.normal(size=(rows, 4)), year, 3 * (year + gap * wanted) + 7))
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    wanted, free = wanted - wanted.mean(), free - free.mean()
    weights, *_ = np.linalg.lstsq(table, wanted, rcond=None)
    told = 1 - np.sum((wanted - table @ weights) ** 2) / np.sum(wanted**2)
    assert not (told >= 0.99 and surely_less(table, wanted, 0.99))
    if gap >= 1e-6:
        assert told >= 0.99
    if rows > 40 and (gap == 0.0 or gap >= 1e-6):  # a year that stands in the table twice
        assert surely_less(table, free, 0.99)


@pytest.mark.parametrize("seed", range(24))
def test_subtotals_are_never_ruled_out_by_how_large_rows_are(seed):
    rng = np.random.default_rng([9, seed])
    rows = [rng.normal(100, 12, 400), rng.normal(0, 50, 400).round(2), rng.lognormal(3, 1, 400)][seed % 3]
    if seed % 2:  # sums of the rows before, some off by a rounding error
        parts = int(rng.integers(2, 9))
        for at in range(parts, 400, parts + 3):
            rows[at] = rows[at - parts : at].sum() * (1 + rng.choice([0.0, 2.0**-52]))
    for step, fine in ((0.0, 1e-14), (0.01, 1e-14), (0.0, 2.0**-22)):
        found = []
        for parts in range(2, 51):
            before = np.array([sum(rows[at - parts : at][::-1]) for at in range(parts, 400)])
            found.append(_recurs(rows, parts, np.abs(rows[parts:] - before), step, fine))
        assert _subtotals(rows, step, fine) == any(found)
        assert any(found) or not seed % 2 or (seed % 3 != 1 and step)


@pytest.mark.parametrize("seed", range(8))
def test_a_single_value_anywhere_decides_what_a_few_of_them_leave_open(seed):
    rng = np.random.default_rng([11, seed])
    short = np.unique(rng.normal(100, 12, 3_000).astype(np.float32).astype(np.float64))
    quarters = np.unique(np.rint(rng.normal(0, 4_000, 3_000)) / 4)
    assert short_floats(short)
    assert binary_step(quarters) == 0.25
    assert any_step(quarters, 53).step == 0.25
    at = int(rng.integers(0, len(quarters)))
    quarters[at] += 1 / 3 / 2**seed
    short[at % len(short)] += 1e-9
    assert not short_floats(short)
    assert binary_step(quarters) is None
    step = any_step(quarters, 53)
    assert step is None or step.step < 0.2


@pytest.mark.parametrize("long", [0, 5, 12, 13, 40, 400])
def test_few_bits_are_seen_up_to_one_exception_in_a_hundred_wherever_they_stand(long):
    rng = np.random.default_rng(long)
    values = np.unique(rng.lognormal(3.0, 1.0, 4_000).astype(np.float16).astype(np.float64))[:1_000]
    places = rng.choice(len(values), long, replace=False)
    values[places] *= 1 + rng.uniform(1e-9, 1e-8, long)
    # of a thousand, 0.99 (1000 - 1) - 1 have to be short, and at the edge other conditions decide
    assert significant_bits(values) == (long < 11)
