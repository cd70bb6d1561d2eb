"""Statistics of a column: exact, in one pass, the same whatever the chunks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.tables import quantile as quantile_module
from statveil.tables.blocks import BLOCK, blocks_of, in_blocks
from statveil.tables.measure import measure
from tests.places import spread_out

finite = st.floats(-1e12, 1e12, allow_subnormal=False)
columns = st.lists(st.one_of(finite, st.just(math.nan), st.just(math.inf)), min_size=1, max_size=80).map(np.array)


@pytest.mark.parametrize("limit", [1, 7, 2**21])
@given(values=columns, alpha=st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])))
def test_quantiles_are_numpys_to_the_last_bit(limit, values, alpha):
    kept = values[np.isfinite(values)]
    if not len(kept):
        return
    quantile_module._COLLECT, before = limit, quantile_module._COLLECT
    try:
        found = measure(blocks_of(values), levels=(alpha,)).quantile(alpha)
    finally:
        quantile_module._COLLECT = before
    assert found == np.quantile(kept, alpha)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("alpha", [0.02, 0.5, 0.9])
def test_rows_in_no_order_take_one_pass_however_many_they_are(sign, alpha, monkeypatch):
    """What is held is thinned out where it would be too much; rows in order are read again, and just as exact."""
    monkeypatch.setattr(quantile_module, "_COLLECT", 2_048)
    values = sign * np.random.default_rng(5).normal(100, 12, 80_000)
    for column, most in ((values, 1), (np.sort(values), 6)):
        passes = []

        def blocks(column=column, passes=passes):
            passes.append(1)
            return (column[start : start + 2_000] for start in range(0, len(column), 2_000))

        assert measure(blocks, levels=(alpha,)).quantile(alpha) == np.quantile(column, alpha)
        assert len(passes) <= most


@given(values=columns)
def test_moments_are_those_of_the_finite_values(values):
    kept = values[np.isfinite(values)]
    if not len(kept):
        with pytest.raises(sv.ColumnError, match="no finite number"):
            measure(blocks_of(values))
        return
    found = measure(blocks_of(values))
    exact = math.fsum(kept.tolist()) / len(kept)
    spread = math.sqrt(math.fsum((value - exact) ** 2 for value in kept.tolist()) / len(kept))
    size = float(np.abs(kept).max()) or 1.0
    assert found.rows == len(kept)
    assert abs(found.mean - exact) <= 1e-14 * size
    assert abs(found.std - spread) <= 1e-13 * size
    assert (found.minimum, found.maximum) == (kept.min(), kept.max())


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17])
def test_blocks_do_not_depend_on_chunks(size):
    values = np.random.default_rng(size).normal(1e6, 1.0, size)
    cuts = np.sort(np.random.default_rng(1).integers(0, size + 1, 9))
    chunks = np.split(values, cuts)
    whole = list(blocks_of(values)())

    def reblocked():
        for pieces in in_blocks((None, chunk) for chunk in chunks):
            yield np.concatenate([piece for _, piece in pieces])

    again = list(reblocked())
    assert [len(block) for block in whole] == [len(block) for block in again]
    assert all(np.array_equal(one, two) for one, two in zip(whole, again, strict=True))
    assert measure(blocks_of(values), levels=(0.3,)) == measure(reblocked, levels=(0.3,))


def test_a_million_ties_and_a_narrow_column_have_exact_quantiles():
    rng = np.random.default_rng(3)
    for values in (rng.integers(0, 3, 300_000).astype(float), 1e9 + rng.random(300_000), -rng.pareto(0.5, 300_000)):
        quantile_module._COLLECT, before = 1000, quantile_module._COLLECT
        try:
            levels = (0.0, 0.01, 0.5, 0.999, 1.0)
            found = [measure(blocks_of(values), levels=(alpha,)).quantile(alpha) for alpha in levels]
            assert list(measure(blocks_of(values), levels=levels).quantiles.values()) == found
            assert [measure(blocks_of(values)).quantile(alpha) for alpha in levels] == found  # by passes of their own
        finally:
            quantile_module._COLLECT = before
        assert found == np.quantile(values, [0.0, 0.01, 0.5, 0.999, 1.0]).tolist()


def test_a_spread_far_from_zero_does_not_cancel():
    values = np.random.default_rng(0).normal(0.0, 1.0, 200_000)
    assert measure(blocks_of(values + 1e9)).std == pytest.approx(values.std(), rel=1e-6)


def test_values_too_large_to_square_are_refused():
    with pytest.raises(sv.ColumnError, match="too large"):
        measure(blocks_of(np.array([1e200, -1e200, 3.0])))


@pytest.mark.parametrize("collect", [50, 2**21])
@pytest.mark.parametrize("kind", ["normal", "few values", "one value", "last of its prefix"])
def test_quantiles_of_a_column_that_lies_in_parts(tmp_path, monkeypatch, collect, kind):
    rng = np.random.default_rng(4)
    rows = 3 * BLOCK + 11
    values = {
        "normal": rng.normal(0, 3, rows),
        "few values": rng.integers(-2, 3, rows).astype(np.float64),
        "one value": np.full(rows, 2.5),
        "last of its prefix": np.where(np.arange(rows) < rows // 2, 1.0, 1e9),
    }[kind]
    values[5] = np.nan
    monkeypatch.setattr(quantile_module, "_COLLECT", collect)
    column = spread_out(tmp_path, blocks_of(values))
    tally = quantile_module.Tally()
    finite = values[np.isfinite(values)]
    tally.add(finite)

    for alpha in (0.0, 0.05, 0.5, 0.9, 1.0):
        found = quantile_module.linear_quantile(column, alpha, len(finite), tally)
        assert found == np.quantile(finite, alpha)
    assert column.places.asked
