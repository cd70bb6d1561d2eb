"""Rows in the order of a rest of their values, in columns of so many places that hardly any value recurs."""

import numpy as np
import pytest

import statveil as sv
from statveil.tables.structure.rows.rest_places import told_by_rests

PLAN = sv.plan(
    sv.Problem(secret=sv.Mean(), prior=(100, 250), tolerance=sv.Relative(0.05), known=sv.Structure(minimum=0, step=1)),
    max_risk=0.2,
)

LUCK = ["rough", "heaps"]  # of which some smooth column is suspected now and then


def wide(rng, rows):
    return np.round(rng.gamma(3, rng.uniform(110, 240) / 3, rows)).astype(int)


def sorted_by(rng, x, keys):
    return x[np.lexsort((rng.random(len(x)), keys))]


RESTS = {
    "even or odd": lambda x: x % 2,
    "by 13": lambda x: x % 13,
    "by 64": lambda x: x % 64,
    "the last digit, in no order of its own": lambda x: x % 10 * 3 % 10,
    "squares by 13": lambda x: x * x % 13,
}


@pytest.mark.parametrize("rows", [300, 2_000])
@pytest.mark.parametrize("name", RESTS)
def test_rows_in_the_order_of_a_rest_are_refused_however_few_values_recur(name, rows):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        x = wide(rng, rows)
        x = sorted_by(rng, x, RESTS[name](x))
        with pytest.raises(sv.StructureError, match=r"the order of the rows.*--shuffle"):
            sv.release(PLAN, x, accept=LUCK)
        sv.release(PLAN, x, shuffle=True, accept=LUCK)


def test_rests_that_take_turns_are_refused():
    rng = np.random.default_rng(1)
    x = wide(rng, 900)
    even, odd = x[x % 2 == 0], x[x % 2 == 1]
    both = min(len(even), len(odd))
    with pytest.raises(sv.StructureError, match="the order of the rows"):
        sv.release(PLAN, np.stack((even[:both], odd[:both]), axis=1).ravel(), accept=LUCK)


def test_a_tenth_of_the_rows_may_stand_elsewhere():
    rng = np.random.default_rng(2)
    x = wide(rng, 1_000)
    x = sorted_by(rng, x, np.where(rng.random(1_000) < 0.1, rng.integers(0, 2, 1_000), x % 2))
    with pytest.raises(sv.StructureError, match="the order of the rows"):
        sv.release(PLAN, x, accept=LUCK)


def test_columns_of_large_steps_and_of_cents_are_looked_at_too():
    rng = np.random.default_rng(3)
    amounts = np.round(rng.lognormal(3, 0.8, 1_000), 2)
    assert not told_by_rests(amounts, level=1e-3)
    cents = np.rint(amounts * 100).astype(int)
    assert told_by_rests(amounts[np.argsort(cents % 100, kind="stable")], level=1e-3) > 0.5
    assert told_by_rests(5.0 * cents[np.argsort(cents % 2, kind="stable")], level=1e-3) > 0.5


def test_rows_are_not_taken_for_ordered_by_a_rest():
    """Series, panels, sorted tables and weeks go up and down smoothly, and so do rests by a number that is large."""
    found, tables = 0, 0
    rng = np.random.default_rng(4)
    for rows in (100, 300, 1_000, 2_000) * 6:
        place = np.arange(rows)
        noise = rng.normal(size=rows)
        for x in (
            rng.gamma(3, 60, rows).round(),
            rng.poisson(40, rows),
            rng.lognormal(3, 0.8, rows).round(2),
            np.where(rng.random(rows) < 0.6, np.round(rng.gamma(3, 6, rows)) * 10, np.round(rng.gamma(3, 60, rows))),
            np.round(150 * (1 + 0.4 * np.sin(place / 20) + 0.3 * noise)),
            rng.poisson(3 * np.array([50, 52, 55, 60, 80, 120, 90])[place % 7]),
            np.linspace(100, 900, rows).round() + np.round(30 * noise),
            np.round(np.repeat(rng.gamma(3, 70, rows // 5 + 1), 5)[:rows] * (1 + 0.02 * noise)),
            np.sort(rng.gamma(3, 60, rows).round()),
            np.cumsum(np.round(10 * noise)),
        ):
            tables += 1
            found += told_by_rests(x.astype(float), level=2e-4) > 0
    assert tables == 240
    assert found <= 1


@pytest.mark.parametrize("values", [np.ones(500), np.full(500, np.nan), np.arange(20.0), np.r_[1e300, np.arange(99.0)]])
def test_columns_of_which_nothing_can_be_said(values):
    assert told_by_rests(values, level=1e-3) == 0
