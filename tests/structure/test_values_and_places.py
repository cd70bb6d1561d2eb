"""Rows in the order of any function of their value, numbers of the rows of groups, and columns that begin at 1."""

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.structure.column.bound_search import natural_bounds
from statveil.tables.structure.others.within_search import numbers_rows
from statveil.tables.structure.rows.value_places import told_by_places

COUNTS = sv.Structure(minimum=0, step=1)


def planned(**options):
    problem = sv.Problem(secret=sv.Mean(), prior=(20, 160), tolerance=sv.Relative(0.02), known=COUNTS, **options)
    return sv.plan(problem, max_risk=0.2)


FUNCTIONS = {
    "the last digit": lambda x: x % 10,
    "the rest by 5": lambda x: x % 5,
    "the rest by 7": lambda x: x % 7,
    "even or odd": lambda x: x % 2,
    "a hash": lambda x: (x * 2654435761) % 2**32 % 8,
    "whether it is a prime": lambda x: np.isin(x, [n for n in range(2, 200) if all(n % d for d in range(2, n))]),
}


@pytest.mark.parametrize("rows", [300, 2_000])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_in_the_order_of_any_function_of_their_value_are_refused(name, rows):
    rng = np.random.default_rng(rows)
    for plan in (planned(), planned(shape="catalogue")):
        x = rng.poisson(60, rows)
        x = x[np.argsort(FUNCTIONS[name](x), kind="stable")]
        with pytest.raises(sv.StructureError, match=r"the order of the rows.*--shuffle"):
            sv.release(plan, x, accept=["heaps", "rough"])
        sv.release(plan, x, accept=["heaps", "rough"], shuffle=True)


def test_a_running_number_brings_such_an_order_back_and_is_refused_by_name():
    x = np.random.default_rng(1).poisson(60, 1_000)
    x = x[np.argsort(x % 5, kind="stable")]
    with pytest.raises(sv.StructureError, match="'id'"):
        sv.release(planned(), pl.DataFrame({"x": x, "id": np.arange(1_000)}), column="x", shuffle=True)


def test_the_last_digit_tells_where_the_column_lies():
    """The attacker that the search is for: the rows' places say the last digits, and those the move of `jitter`."""
    plan, hits, trials = planned(), {True: 0, False: 0}, 12
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        x = rng.poisson(rng.uniform(40, 120), 1_000)
        for ordered in (True, False):
            rows = x[np.argsort(x % 5, kind="stable")] if ordered else rng.permutation(x)
            y = np.asarray(sv.release(plan, rows, accept=["order", "sums"], seed=seed), dtype=float)
            rest = np.sort(x % 5) if ordered else rng.permutation(np.sort(x % 5))  # nearly equal parts: known to all
            guesses = np.linspace(20, 160, 2_801)
            waves = [np.cos(2 * np.pi * (y * guess / y.mean() - rest) / 5).sum() for guess in guesses]
            hits[ordered] += abs(guesses[int(np.argmax(waves))] - x.mean()) <= 0.02 * x.mean()
    assert hits[True] >= 8
    assert hits[False] <= 6


def test_rows_in_no_order_are_taken_as_they_are():
    rng = np.random.default_rng(3)
    found = 0
    for rows in (60, 300, 1_000) * 12:
        for x in (
            rng.poisson(30, rows),
            rng.binomial(20, 0.4, rows),
            np.where(rng.random(rows) < 0.9, 0, rng.poisson(40, rows)),
            np.rint(rng.pareto(1.1, rows) * 10),
            rng.lognormal(3, 1, rows).round(1),
        ):
            found += told_by_places(x.astype(float), level=1e-3) > 0
    assert found <= 1  # of 180


# --- numbers of the rows of groups --------------------------------------------------------------------------
@pytest.mark.parametrize("left", [False, True])
def test_a_column_that_numbers_the_rows_of_groups_is_refused(left):
    """Its mean is that of s (s + 1) / 2 over the sizes of the groups, which everyone sees."""
    rng = np.random.default_rng(4)
    sizes = 1 + rng.poisson(5, 80)
    patient = np.repeat(rng.permutation(5_000)[:80], sizes)
    visit = np.concatenate([np.arange(size) + 1 for size in sizes])
    visit = (np.repeat(sizes, sizes) - visit + 1) if left else visit
    mixed = rng.permutation(len(visit))
    table = pl.DataFrame({"visit": visit[mixed], "patient": patient[mixed]})
    problem = sv.Problem(secret=sv.Mean(), prior=(1, 9), tolerance=0.3, known=COUNTS, shape="catalogue")
    plan = sv.plan(problem, max_risk=0.2)
    with pytest.raises(sv.StructureError, match=r"'patient'.*--accept copies"):
        sv.release(plan, table, column="visit")
    sv.release(
        plan, table.with_columns(patient=pl.Series(rng.permutation(table["patient"].to_numpy()))), column="visit"
    )


def test_values_that_number_nothing_are_no_numbers():
    rng = np.random.default_rng(5)
    code = np.sort(rng.integers(0, 60, 300))
    code = np.unique(code, return_inverse=True)[1]
    assert not numbers_rows(rng.poisson(3, 300).astype(float), code)
    pairs = np.repeat(np.arange(100), 2)
    assert not numbers_rows(rng.integers(0, 2, 200).astype(float), pairs)
    assert numbers_rows(np.tile([1.0, 3.0, 2.0], 60), np.repeat(np.arange(60), 3))


# --- columns that begin at 1 --------------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [300, 500, 5_000])
def test_a_column_that_begins_at_1_is_refused_until_that_is_declared(rows):
    rng = np.random.default_rng(rows)
    x = 1 + rng.exponential(6, rows)
    assert natural_bounds(x) == (1.0, None)
    free = sv.plan(sv.Problem(secret=sv.Mean(), prior=(2, 18), tolerance=sv.Relative(0.05)), max_risk=0.2)
    with pytest.raises(sv.StructureError, match="min=1"):
        sv.release(free, x)
    known = sv.Structure(minimum=1)
    above = sv.plan(sv.Problem(secret=sv.Mean(), prior=(2, 18), tolerance=sv.Relative(0.05), known=known), max_risk=0.2)
    assert np.asarray(sv.release(above, x)).min() >= 1


def test_columns_that_begin_elsewhere_are_not_said_to_begin_at_1():
    rng = np.random.default_rng(6)
    assert natural_bounds(rng.exponential(6, 500)) == (0.0, None)
    assert natural_bounds(np.round(rng.exponential(600, 500)) + 3)[0] == 0.0  # so wide that 0 and 1 are one
    assert natural_bounds(rng.normal(100, 10, 500)) == (None, None)
    near = sum(natural_bounds(rng.normal(5, 1, 300))[0] == 1.0 for _ in range(200))
    assert near <= 6


# --- shares that thin out towards their end -----------------------------------------------------------------
def test_inspect_asks_whether_values_are_shares(cli, tmp_path):
    rng = np.random.default_rng(7)
    share = rng.beta(2, 3, 3_000)
    columns = {"share": share, "percent": 100 * rng.beta(2, 3, 3_000), "pay": rng.lognormal(7, 0.5, 3_000)}
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    code, out, _ = cli("inspect", tmp_path / "t.csv")
    of = dict(zip(columns, out.split("\n\n")[1:], strict=True))
    assert code == 0
    assert "If these are shares of a whole, everyone knows that they end at 1" in of["share"]
    assert "If these are percentages of a whole, everyone knows that they end at 100" in of["percent"]
    assert "of a whole" not in of["pay"]
