"""Tables in memory: nothing lies in the bytes under the empty cells of columns that stay."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import statveil as sv
from tests.plans import located

PLAN = located(50, 250)
RNG = np.random.default_rng(3)
X = RNG.normal(150, 20, 500)
GONE = RNG.random(500) < 0.5
LEFT = np.where(GONE, X, RNG.normal(size=500))  # where the cell is empty, the hidden value is still there


def arrow():
    return pa.table({"x": X, "bonus": pa.array(LEFT, mask=GONE)})


def below(column) -> np.ndarray:
    """The bytes of a column as numbers, under its empty cells."""
    pieces = [
        np.frombuffer(part.buffers()[1], dtype=float)[part.offset : part.offset + len(part)][np.asarray(part.is_null())]
        for part in column.chunks
    ]
    return np.concatenate(pieces)


FRAMES = {
    "arrow": (arrow, lambda table: table["bonus"]),
    "polars": (lambda: pl.from_arrow(arrow()), lambda table: table.to_arrow()["bonus"]),
    "lazy": (lambda: pl.from_arrow(arrow()).lazy(), lambda table: table.collect().to_arrow()["bonus"]),
    "pandas of arrow": (
        lambda: arrow().to_pandas(types_mapper=pd.ArrowDtype),
        lambda table: pa.chunked_array(table["bonus"].array.__arrow_array__()),
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_arrow_buffers(kind):
    make, column = FRAMES[kind]
    table = make()
    assert (below(column(table)) == X[GONE]).all()  # the control: they are there
    released = sv.release(PLAN, table, column="x")
    fresh = column(released)
    assert not below(fresh).any()
    np.testing.assert_array_equal(fresh.to_pandas().to_numpy(), np.where(GONE, np.nan, LEFT))
    assert (below(column(table)) == X[GONE]).all()  # and stay in the holder's own table


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "boolean"])
def test_masks_of_pandas(dtype):
    own = pd.array(np.ones(500), dtype="Float64").astype(dtype)
    array = type(own)(np.where(GONE, X > 150 if dtype == "boolean" else X, 1).astype(own._data.dtype), GONE.copy())
    table = pd.DataFrame({"x": X, "bonus": array})
    assert table["bonus"].array._data[GONE].any()
    released = sv.release(PLAN, table, column="x")
    assert not released["bonus"].array._data[GONE].any()
    pd.testing.assert_series_equal(released["bonus"], table["bonus"])
    assert table["bonus"].array._data[GONE].any()


def test_lists_and_records():
    inner = [None if gone else {"a": float(x), "b": [1.0, None]} for x, gone in zip(X, GONE, strict=True)]
    table = pa.table({"x": X, "inner": pa.array(inner)})
    released = sv.release(PLAN, table, column="x", accept="copies")
    assert released["inner"].to_pylist() == inner
    assert released.schema.field("inner").type == table.schema.field("inner").type
