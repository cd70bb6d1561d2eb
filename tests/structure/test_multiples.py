"""Round numbers behind a factor that nobody says: of some rows, of values of one size, by a group, by a column."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.structure.findings import find_structure
from statveil.tables.structure.telling import find_copies

RATES = [0.45359237, 0.9144, 1 / 1.0837, 3.785411784, 0.8473219]


def told(values, **others):
    """The names of the columns that tell the values, as the finding lists them."""
    found = find_copies(iter([(values, {name: pl.Series(other) for name, other in others.items()})]))
    return found[0].says if found else ""


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("share", [0.3, 0.6])
@pytest.mark.parametrize("rows", [100, 400, 5000])
def test_some_rows_in_another_unit_are_found(rows, share, rate):
    rng = np.random.default_rng(rows)
    free = rng.lognormal(6, 0.8, rows)
    converted = np.where(rng.random(rows) < share, rate * np.rint(free / rate), free)
    names = [one.name for one in find_structure(converted)]
    assert set(names) & {"digits", "heaps", "atoms"}, "where they recur they are atoms, where they are decimal heaps"
    assert find_structure(free) == [], "the control"


@pytest.mark.parametrize("rows", [60, 300, 2000, 20_000])
def test_columns_without_a_unit_are_clean(rows):
    rng = np.random.default_rng(rows)
    for _ in range(20):
        columns = (rng.gamma(2, 30, rows), rng.normal(50, 10, rows), rng.lognormal(0, 3, rows), rng.random(rows) ** 5)
        assert all(find_structure(column) == [] for column in columns)


@pytest.mark.parametrize("rows", [100, 300, 2000])
@pytest.mark.parametrize("unit", [0.01, 1.0, 50.0])
def test_amounts_by_an_index_of_their_month_are_told_by_it(rows, unit):
    """Cents in constant dollars: a published index by month, of which the table holds the month alone."""
    rng = np.random.default_rng(rows)
    index = 185 * np.exp(np.cumsum(rng.normal(0.002, 0.003, 120)))
    month = rng.integers(0, 120, rows)
    names = np.array([f"{2004 + m // 12}-{m % 12 + 1:02}" for m in month])
    free = 40 * unit * rng.gamma(2, 10, rows)
    amounts = np.maximum(np.rint(free / unit), 1) * unit
    assert "'month'" in told(amounts * 304.702 / index[month], month=names)
    assert told(free * 304.702 / index[month], month=names) == "", "the control"
    assert told(amounts * 304.702 / rng.permutation(index)[rng.integers(0, 120, rows)], month=names) == ""


@pytest.mark.parametrize("how", [np.multiply, np.divide])
def test_amounts_by_a_number_of_their_row_are_told_by_it(how):
    rng = np.random.default_rng(5)
    index = rng.uniform(180, 300, 400)
    amounts, free = np.rint(rng.gamma(2, 3000, 400)) + 1, rng.gamma(2, 3000, 400)
    assert "'index'" in told(how(amounts, index), index=index)
    assert told(how(free, index), index=index) == "", "the control"


def test_a_mode_that_keeps_ranks_alone_does_not_mind():
    rng = np.random.default_rng(6)
    month = rng.integers(0, 60, 900)
    x = np.rint(rng.gamma(2, 2500, 900) + 1) / 100 * np.exp(0.05 * np.sin(month))
    table = pl.DataFrame({"x": x, "month": month.astype(str)})
    prior = (10.0, 150.0)
    known = sv.Structure(minimum=0)
    scaled = sv.plan(sv.Problem(secret=sv.Mean(), prior=prior, tolerance=1, known=known), max_risk=0.2)
    with pytest.raises(sv.StructureError, match="an index that makes them of round amounts"):
        sv.release(scaled, table, column="x", accept=["ratios", "heaps", "atoms", "digits"])
    drawn = sv.Problem(secret=sv.Mean(), prior=prior, tolerance=1, known=known, shape="gamma(2)")
    with pytest.warns(UserWarning, match="the model's ends are not the column's"):
        kept = sv.release(sv.plan(drawn, max_risk=0.2), table, column="x", accept=["groups", "order"])
    assert kept["x"].n_unique() == len(np.unique(x))
