"""The same seed and plan give the same rows, values and coefficients in every mode, whatever the table lies in."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest

import statveil as sv
from tests.plans import BY_MODE, column_for

ROWS, SEED = 2_000, 7
SOURCES = ("lazy", "pandas", "arrow", "duckdb", "spark", "parquet", "csv", "duckdb file")


def table_for(mode):
    rng = np.random.default_rng(3)
    return pl.DataFrame({"x": column_for(mode, rng, ROWS), "w": rng.integers(0, 1_000, ROWS)})


def in_memory(source, table, spark):
    match source:
        case "lazy":
            return table.lazy()
        case "pandas":
            return table.to_pandas()
        case "arrow":
            return table.to_arrow()
        case "duckdb":
            return duckdb.connect().from_arrow(table.to_arrow())
    return spark.createDataFrame(table.to_arrow())


def rows_of(native):
    """The released column as a list."""
    if isinstance(native, pl.LazyFrame):
        return native.collect()["x"].to_list()
    if hasattr(native, "toArrow"):
        return native.toArrow()["x"].to_pylist()
    if hasattr(native, "to_arrow_table"):
        return native.to_arrow_table()["x"].to_pylist()
    found = native["x"]
    return found.to_pylist() if hasattr(found, "to_pylist") else found.tolist()


def from_file(source, plan, table, folder):
    """The released column and the record of a file or a database."""
    if source == "duckdb file":
        place = f"duckdb:///{folder / 'data.duckdb'}"
        with duckdb.connect(str(folder / "data.duckdb")) as data:
            data.register("given", table.to_arrow())
            data.execute("CREATE TABLE before AS SELECT * FROM given")
        done = sv.release(
            plan, f"{place}?table=before", output=f"{place}?table=after", column="x", seed=SEED, details=True
        )
        with duckdb.connect(str(folder / "data.duckdb")) as data:
            return [row[0] for row in data.execute("SELECT x FROM after").fetchall()], done.record
    before, after = folder / f"before.{source}", folder / f"after.{source}"
    if source == "parquet":
        table.write_parquet(before)
    else:
        table.write_csv(before)
    done = sv.release(plan, before, output=after, column="x", seed=SEED, details=True)
    read = pl.read_parquet(after) if source == "parquet" else pl.read_csv(after, infer_schema_length=None)
    return read["x"].to_list(), done.record


@pytest.fixture(scope="module")
def wanted():
    """What a Polars frame becomes, by mode."""
    known = {}

    def released(mode):
        if mode not in known:
            known[mode] = sv.release(BY_MODE[mode], table_for(mode), column="x", seed=SEED, details=True)
        return known[mode]

    return released


@pytest.mark.heavy(33)
@pytest.mark.parametrize("mode", BY_MODE)
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_releases_the_same_in_every_mode(wanted, request, tmp_path, mode, source):
    table, expected = table_for(mode), wanted(mode)
    if source in ("parquet", "csv", "duckdb file"):
        rows, record = from_file(source, BY_MODE[mode], table, tmp_path)
    else:
        spark = request.getfixturevalue("spark") if source == "spark" else None
        done = sv.release(BY_MODE[mode], in_memory(source, table, spark), column="x", seed=SEED, details=True)
        rows, record = rows_of(done.table), done.record
    assert rows == expected.table["x"].to_list()
    assert record["coefficients"] == expected.record["coefficients"]
    assert rows != table["x"].to_list()
