"""Long Parquet files are packed quickly, unless Zstandard makes them much smaller; short ones always by it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import statveil as sv
from statveil.tables.files import parquet_file

PLAN = sv.plan(sv.Problem(secret=sv.Mean(), prior=(50, 300), tolerance=1.0), max_risk=0.2)
ROWS = 100_000


def tables():
    rng = np.random.default_rng(4)
    numbers = pl.DataFrame({"x": rng.normal(150, 20, ROWS), "y": rng.normal(size=ROWS)})
    words = [
        f"12:{visit % 60:02}:{visit % 59:02} INFO worker-{visit % 7} request {visit:08x} done in {visit % 977} ms, "
        f"{visit % 13} retries, cache {'hit' if visit % 3 else 'miss'}"
        for visit in rng.permutation(ROWS).tolist()
    ]
    return {"numbers": numbers, "log": numbers.with_columns(line=pl.Series(words))}


@pytest.mark.parametrize(
    ("what", "long", "codec"),
    [("numbers", True, "SNAPPY"), ("log", True, "ZSTD"), ("numbers", False, "ZSTD"), ("log", False, "ZSTD")],
)
@pytest.mark.heavy(2)
def test_what_is_packed_how(tmp_path, monkeypatch, what, long, codec):
    table = tables()[what]
    table.write_parquet(tmp_path / "in.parquet")
    if long:
        monkeypatch.setattr(parquet_file, "LONG", ROWS)
    sv.release_file(PLAN, tmp_path / "in.parquet", tmp_path / "out.parquet", column="x", accept=["bounds"], seed=3)
    group = pq.ParquetFile(tmp_path / "out.parquet").metadata.row_group(0)
    assert {group.column(place).compression for place in range(table.width)} == {codec}
    released = pl.read_parquet(tmp_path / "out.parquet")
    assert released.drop("x").equals(table.drop("x"))
    in_memory = sv.release(PLAN, table, column="x", accept=["bounds"], seed=3)
    assert released.equals(in_memory)
