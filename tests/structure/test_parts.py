"""Searches that look at a table in parts: what each keeps, put together, is what one that sees all rows keeps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from statveil.tables.structure.reading.row_sample import RowSample
from statveil.tables.structure.rows import order_search
from statveil.tables.structure.rows.group_search import Others
from statveil.tables.structure.rows.order_search import Order
from statveil.tables.structure.rows.together_search import Together

ROWS = 230_001
CUTS = [0, 65_536, 65_536, 131_072, 196_608, ROWS]
PIECES = 40_000


def pieces(start, stop):
    """Rows from one number to another as they may come."""
    return [(at, min(at + PIECES, stop)) for at in range(start, stop, PIECES)]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    values = rng.integers(0, 3, ROWS).astype(np.float64)
    values[rng.random(ROWS) < 0.2] = np.nan
    others = {
        "id": pl.Series(rng.permutation(ROWS)),
        "few": pl.Series(rng.integers(0, 5, ROWS)),
        "one": pl.Series(np.ones(ROWS)),
        "word": pl.Series(["anna x", "bert y", None])[rng.integers(0, 3, ROWS)].alias(""),
        "number": pl.Series(rng.integers(10_000, 99_999, ROWS).astype(str)),
    }
    return values, others


def watched(make, table):
    """The same search over all rows, and in parts that join in twos and threes."""
    values, others = table

    def see(one, start, stop):
        for first, last in pieces(start, stop):
            one.add(values[first:last], {name: column[first:last] for name, column in others.items()})
        return one

    whole = see(make(), 0, ROWS)
    parts = [see(make().part(start), start, stop) for start, stop in pairwise(CUTS)]
    first, second = parts[0], parts[2]
    first.join(parts[1])
    second.join(parts[3])
    second.join(parts[4])
    first.join(second)
    joined = make()
    joined.join(first)
    return whole, joined


@pytest.mark.parametrize("categories", [False, True])
def test_other_columns(table, categories):
    whole, joined = watched(lambda: Others(categories=categories), table)
    assert [*joined._columns] == [*whole._columns]
    for name, kept in whole._columns.items():
        for one, other in zip(kept, joined._columns[name], strict=True):
            assert other.whole is one.whole
            for before, after in zip(one.rows(), other.rows(), strict=True):
                assert np.array_equal(after, before)
            assert other.column().equals(one.column())
    assert any(not one.whole for kept in whole._columns.values() for one in kept)
    assert any("digit" in name for name in whole._columns) is categories


def test_rows_that_are_held_together(table):
    whole, joined = watched(Together, table)
    assert not whole.rows.whole
    assert not joined.rows.whole
    before, after = whole.sample(), joined.sample()
    assert np.array_equal(after[0], before[0], equal_nan=True)
    assert [*after[1]] == [*before[1]]
    assert all(after[1][name].equals(one) for name, one in before[1].items())


def test_all_of_few_rows_are_held():
    column = pl.Series(np.arange(10.0))
    whole, first, second = RowSample(), RowSample().part(0), RowSample().part(4)
    whole.add({"x": column})
    first.add({"x": column[:4]})
    second.add({"x": column[4:]})
    first.join(second)
    assert first.whole
    assert first.columns["x"].equals(whole.columns["x"])


@pytest.mark.parametrize("rows", [1_000, 4_096, 70_001])
def test_rows_in_their_order(monkeypatch, rows):
    monkeypatch.setattr(order_search, "_PIECE", 64)
    monkeypatch.setattr(order_search, "_PIECES", 16)
    rng = np.random.default_rng(4)
    values = np.sin(np.arange(rows) / 50) + rng.normal(0, 1, rows)
    values[rng.random(rows) < 0.1] = np.nan
    whole, joined = Order(), Order()
    whole.add(values)
    joined.add(values[:10])  # which is forgotten
    joined.begin(rows)
    for start in range(0, rows, 1_024):
        part = joined.part(start)
        part.add(values[start : start + 1_024])
        joined.join(part)
    assert joined.rows == whole.rows
    assert np.array_equal(joined.values, whole.values)
    assert joined.share() == whole.share()
