"""Spark DataFrames: the rows, values and coefficients of one machine, in every mode, or a refusal."""

from __future__ import annotations

import datetime as dt
import decimal
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK
from tests.plans import BY_MODE, column_for
from tests.tables import test_table_release as table_release
from tests.tables import test_two_columns as two_columns

ROWS = BLOCK + 3_000  # two partitions, so that both blocks lie in two of them or begin inside one
SEED = 7


def table_for(mode, rows=ROWS):
    rng = np.random.default_rng(3)
    return pl.DataFrame({"x": column_for(mode, rng, rows), "w": rng.random(rows)})


def back(frame):
    return pl.from_arrow(frame.toArrow())


@pytest.mark.parametrize("mode", BY_MODE)
def test_every_mode_releases_what_one_machine_does(spark, mode):
    table = table_for(mode)
    wanted = sv.release(BY_MODE[mode], table, column="x", seed=SEED, details=True)
    found = sv.release(BY_MODE[mode], spark.createDataFrame(table.to_arrow()), column="x", seed=SEED, details=True)
    assert found.record == wanted.record  # coefficients, measured statistics and the hash of the column
    assert found.card == wanted.card
    released = back(found.table)
    assert released.schema == wanted.table.schema
    assert released.equals(wanted.table)
    assert not released["x"].equals(table["x"])


@pytest.fixture(scope="module")
def parts(spark, tmp_path_factory):
    """A table in partitions of many lengths, one of them without rows, and where its files lie."""
    folder = tmp_path_factory.mktemp("parts")
    table = table_for("unit", 2 * BLOCK + 700)
    cuts = [0, 40, 40, BLOCK, BLOCK + 20_000, BLOCK + 20_001, len(table)]
    frames = []
    for number, (start, stop) in enumerate(pairwise(cuts)):
        table[start:stop].write_parquet(folder / f"{number}.parquet")
        frames.append(spark.read.parquet(str(folder / f"{number}.parquet")))
    whole = frames[0]
    for one in frames[1:]:
        whole = whole.unionAll(one)
    return table, whole


def test_partitions_of_any_length_and_whatever_is_done_with_the_result(parts):
    table, frame = parts
    wanted = sv.release(BY_MODE["unit"], table, column="x", seed=SEED)
    released = sv.release(BY_MODE["unit"], frame, column="x", seed=SEED)
    assert back(released).equals(wanted)
    # Spark must not hand over a part of a block, nor number the rows anew
    assert back(released.limit(50)).equals(wanted.head(50))
    assert back(released.coalesce(1)).equals(wanted)
    few = released.where("w < 0.01")
    assert back(few).equals(wanted.filter(pl.col("w") < 0.01))
    twice = back(released.unionAll(released))
    assert twice.equals(pl.concat([wanted, wanted]))


def test_shuffled_rows_are_in_the_order_of_one_machine(parts):
    table, frame = parts
    wanted = sv.release(BY_MODE["unit"], table, column="x", seed=SEED, shuffle=True)
    assert back(sv.release(BY_MODE["unit"], frame, column="x", seed=SEED, shuffle=True)).equals(wanted)
    assert not wanted["w"].equals(table["w"])


def test_other_rows_when_it_runs_again_are_refused(spark, tmp_path):
    table = table_for("shift", 4_000)
    table.write_parquet(tmp_path / "t.parquet")
    released = sv.release(BY_MODE["shift"], spark.read.parquet(str(tmp_path / "t.parquet")), column="x")
    table.with_columns(x=pl.col("x").reverse()).write_parquet(tmp_path / "t.parquet")
    spark.catalog.refreshByPath(str(tmp_path))
    with pytest.raises(Exception, match=r"another order|could not|changed"):
        released.toArrow()


@pytest.mark.slow
def test_types_names_and_missing_values(spark):
    when = dt.datetime(2024, 5, 1, 12)
    rows = 400
    rng = np.random.default_rng(5)
    x = rng.normal(103, 9, rows).astype(np.float32).tolist()
    x[3], x[7] = None, float("nan")
    table = pl.DataFrame(
        {
            "a.b": pl.Series(x, dtype=pl.Float32),
            "`tick`": [None if row % 9 == 0 else decimal.Decimal(f"{row}.25") for row in range(rows)],
            "list": [[row, None] for row in range(rows)],
            "when": [when + dt.timedelta(minutes=int(one)) for one in rng.integers(0, 9**6, rows)],
        }
    )
    frame = spark.createDataFrame(table.to_arrow())
    described = frame.withMetadata("when", {"comment": "the true mean is 103"})
    done = sv.release(BY_MODE["shift"], described, column="a.b", seed=SEED, accept=["step", "ratios", "copies"])
    wanted = sv.release(BY_MODE["shift"], table, column="a.b", seed=SEED, accept=["step", "ratios", "copies"])
    assert done.columns == table.columns
    assert done.drop("when").schema == frame.drop("when").schema
    assert all(not field.metadata for field in done.schema.fields)
    assert back(done.select("`a.b`"))["a.b"].equals(wanted["a.b"], null_equal=True)
    assert done.drop("a.b").collect() == frame.drop("a.b").collect()
    assert "coefficient" not in str(done._jdf.queryExecution().toString())


def test_a_specification_of_many_columns(spark):
    table = table_release.table(500)
    wanted = sv.release(table_release.PLAN, table, seed=SEED)
    found = sv.release(table_release.PLAN, spark.createDataFrame(table.to_arrow()), seed=SEED)
    assert found.columns == wanted.columns
    assert back(found).equals(wanted)


@pytest.mark.parametrize("kind", two_columns.PLANS)
@pytest.mark.heavy(1)
def test_two_columns_that_move_apart(spark, kind):
    table, plan = two_columns.table(kind, ROWS), two_columns.PLANS[kind]
    wanted = sv.release(plan, table, seed=SEED, details=True)
    found = sv.release(plan, spark.createDataFrame(table.to_arrow()), seed=SEED, details=True)
    assert found.record == wanted.record
    assert back(found.table).equals(wanted.table)


def test_inspect_and_audit_say_what_they_say_of_one_machine(spark):
    table = table_for("shift", 2_000)
    frame = spark.createDataFrame(table.to_arrow())
    assert sv.inspect(frame).to_json() == sv.inspect(table).to_json()
    plan = BY_MODE["shift"]
    options = {"column": "x", "attackers": ["plug-in"], "trials": 200, "seed": 1}
    before, after = sv.release(plan, table, column="x", seed=SEED), sv.release(plan, frame, column="x", seed=SEED)
    found, wanted = sv.audit(plan, frame, after, **options), sv.audit(plan, table, before, **options)
    assert found.to_json() == wanted.to_json()


def test_a_column_that_tells_is_refused_there_too(spark):
    table = table_for("shift", 2_000).with_columns(copy=pl.col("x") * 2)
    with pytest.raises(sv.StatveilError, match="copy"):
        sv.release(BY_MODE["shift"], spark.createDataFrame(table.to_arrow()), column="x")


def test_a_stream_is_refused(spark):
    with pytest.raises(ColumnError, match="no end"):
        sv.inspect(spark.readStream.format("rate").load())
