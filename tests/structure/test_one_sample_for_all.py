"""One sample of a table for all its columns: the same rows, readings and findings as for each column by itself."""

from __future__ import annotations

import gc
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from scipy.stats import rankdata, spearmanr

from statveil.tables.structure.others.alongside import Gathering, TableRows
from statveil.tables.structure.others.glance import glance, stretches_alike
from statveil.tables.structure.others.row_search import _share
from statveil.tables.structure.others.telling import Copies
from statveil.tables.structure.reading.distinct import (
    at_least,
    counted,
    distinct,
    distinct_memo,
    frozen,
    in_order,
    mid_ranks,
)


def drawn(seed, rows):
    """Columns that are hidden, with gaps from the first row, from a late one or nowhere, and others as they come."""
    rng = np.random.default_rng([5, seed])
    hidden = {f"x{i}": rng.normal(100, 10 + i, rows) for i in range(4)}
    hidden["x1"][rng.random(rows) < 0.1] = np.nan
    hidden["x2"][rng.integers(rows // 2, rows, 3)] = np.nan
    others = {
        "id": pl.Series(np.arange(rows)),
        "region": pl.Series(rng.choice(["north", "south", "east"], rows)),
        "text": pl.Series([f"{one:.2f} kg" for one in rng.normal(50, 9, rows)]),
        "gaps": pl.Series(np.where(rng.random(rows) < 0.3, np.nan, rng.normal(size=rows))).fill_nan(None),
        "flag": pl.Series(rng.random(rows) < 0.4),
    }
    if seed % 2:
        others["log"] = pl.Series(np.log(hidden["x0"]))
        others["band"] = pl.Series(np.where(hidden["x3"] > 105, "high", "low"))
        hidden["x2"] = hidden["x2"] - hidden["x3"]
    return rng, hidden, others


def blocks(rng, rows):
    ends = np.unique([0, rows, *rng.integers(0, rows, 4)])
    return [slice(int(low), int(high)) for low, high in pairwise(ends)]


def passes(rng, hidden, others):
    """Of each column, what it is handed by itself and together with the others."""
    rows = len(hidden["x0"])
    table, alone, together = TableRows(), {name: [] for name in hidden}, {name: [] for name in hidden}
    for part in blocks(rng, rows):
        own = {name: pl.Series(column[part]).fill_nan(None) for name, column in hidden.items()}
        rest = {name: column[part] for name, column in others.items()}
        seen = table.seen({**rest, **own})
        for name, column in hidden.items():
            beside = [*rest, *(other for other in own if other != name)]
            together[name].append((column[part], seen(name, beside)))
            alone[name].append((column[part], {**rest, **{other: own[other] for other in own if other != name}}))
    return alone, together


@pytest.mark.parametrize(("seed", "rows"), [(0, 300), (1, 3_000), (2, 40_000), (3, 150_000)])
def test_columns_have_the_sample_that_each_has_by_itself(seed, rows):
    alone, together = passes(*drawn(seed, rows))
    gatherings = {name: Gathering() for name in alone}
    for step in zip(*together.values(), strict=True):  # the columns take turns
        for name, piece in zip(together, step, strict=True):
            gatherings[name].add(*piece)
    for name, pieces in alone.items():
        wanted = Gathering()
        for piece in pieces:
            wanted.add(*piece)
        one, two = wanted.done(), gatherings[name].done()
        for first, second in ((one, two), (one.around, two.around)):
            assert np.array_equal(first.values, second.values, equal_nan=True)
            assert np.array_equal(first.breaks, second.breaks)
            for kind in ("numbers", "labels"):
                here, there = getattr(first, kind), getattr(second, kind)
                assert list(here) == list(there)
                assert all(np.array_equal(here[key], there[key], equal_nan=kind == "numbers") for key in here)
        assert one.texts.keys() == two.texts.keys()
        assert all(one.texts[key].equals(two.texts[key]) for key in one.texts)
        assert (one.unreadable, one.whole) == (two.unreadable, two.whole)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.heavy(2)
def test_columns_are_told_by_what_tells_each_by_itself(seed):
    rng, hidden, others = drawn(seed, 600)
    others["mean"] = pl.Series([float(np.mean(hidden["x3"]))] + [None] * 599, dtype=pl.Float64)
    alone, together = passes(rng, hidden, others)
    told = []
    for name in hidden:
        found = []
        for pieces in (alone[name], together[name]):
            copies = Copies()
            assert all(copies.add(*piece) for piece in pieces)
            found.append(copies.found((float(np.nanmean(hidden[name])),)))
        assert found[0] == found[1]
        told += [one.says for one in found[0]]
    assert any("'mean'" in says for says in told)
    assert ("'log'" in " ".join(told)) == bool(seed % 2)


def test_different_values_are_those_of_numpy_and_kept_as_long_as_their_column():
    rng = np.random.default_rng(1)
    for column in (rng.normal(size=500), rng.integers(0, 9, 500).astype(float), rng.integers(0, 9, 500)):
        before = [one.copy() for one in distinct(column)]
        assert all(np.array_equal(one, two) for one, two in zip(before, distinct(frozen(column)), strict=True))
        assert distinct(column) is distinct(column)
        places, code, counts = before
        assert np.array_equal(places[code], column)
        assert counts.sum() == 500
        assert all(np.array_equal(one, two) for one, two in zip(counted(column), (places, counts), strict=True))
        assert np.array_equal(in_order(column), np.sort(column))
        assert np.array_equal(mid_ranks(column), rankdata(column))
        different = len(set(column.tolist()))
        assert at_least(column, different)
        assert not at_least(column, different + 1)
    kept = len(distinct_memo.kept)
    del column
    gc.collect()
    assert len(distinct_memo.kept) == kept - 1
    columns = [frozen(rng.normal(size=3)) for _ in range(200)]
    assert all(len(distinct(one).places) == 3 for one in columns)
    assert len(distinct_memo.kept) <= 128
    open_ = np.array([1.0, 2.0])
    assert len(distinct(open_).places) == 2
    open_[1] = 1.0
    assert len(distinct(open_).places) == 1


@pytest.mark.parametrize("offset", [0.0, 5.0, 1e9])
@pytest.mark.parametrize("ratio", [False, True])
def test_shared_differences_are_those_that_are_counted(offset, ratio):
    rng = np.random.default_rng(2)
    for case in range(40):
        x = rng.normal(100, 10, 200)
        y = rng.normal(300, 10, 200) + offset
        rows = rng.choice(200, rng.integers(0, 4), replace=False)
        y[rows] = x[rows] * 3.25 if ratio else x[rows] + 7 + offset
        if case % 4 == 0:
            y[rows] *= 1 + rng.choice([1e-13, 1e-12, 1e-11, 1e-10], len(rows))
        rest = np.log(np.abs(y / x)) if ratio else (y - x) / float(np.std(x))
        held = max(int(np.count_nonzero((rest >= one) & (rest <= one + 1e-10))) for one in rest)
        assert [_share(x, y, number, ratio=ratio) for number in (2, 3)] == [held >= 2, held >= 3]


def test_no_stretch_is_passed_over_whose_glance_is_alike():
    rng = np.random.default_rng(3)
    for rows in (4_096, 5_003, 31_111):
        edges = np.linspace(0, rows, 17).astype(np.int64)
        x, y = rng.normal(size=rows), rng.normal(size=rows)
        for i, noise in ((2, 0.1), (7, 0.45), (11, 0.5), (12, 0.6)):
            part = slice(edges[i], edges[i + 1])
            y[part] = (-1) ** i * (x[part] + noise * y[part])
        y[edges[14] : edges[15]] = np.round(x[edges[14] : edges[15]])
        found = stretches_alike(x, y, edges, 0.9)
        for i in range(16):
            look = np.arange(edges[i], edges[i + 1])[glance(int(edges[i + 1] - edges[i]))]
            if abs(spearmanr(x[look], y[look])[0]) >= 0.9:
                assert i in found
        assert 2 in found
        assert len(found) < 8
