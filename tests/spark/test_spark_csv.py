"""CSV under Spark: parsed once into Parquet files that workers read, released there, and written as Spark writes it."""

from __future__ import annotations

import os
import signal
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from statveil.errors import StatveilError
from statveil.tables.blocks import BLOCK
from statveil.tables.release_file import release_file
from statveil.tables.spark import spark_parquet
from statveil.tables.spark.spark_csv import SparkCsv
from statveil.tables.spark.spark_file import SparkFile, open_spark
from tests.plans import BY_MODE
from tests.spark.test_looking import CUTS, ROWS
from tests.spark.test_spark_groups import DIFFERENCE
from tests.spark.test_spark_groups import table as grouped_table
from tests.spark.test_spark_parquet import asked, drawn_table, left  # noqa: F401  (a fixture)

SEED = 7


@pytest.fixture
def in_parts(spark):
    """Files are read in partitions of a megabyte."""
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1m")
    yield
    spark.conf.unset("spark.sql.files.maxPartitionBytes")


def stored(folder, table, layout="file"):
    if layout == "file":
        table.write_csv(folder / "in.csv")
        return folder / "in.csv"
    (folder / "in").mkdir()
    for number, (start, stop) in enumerate(pairwise(dict.fromkeys(CUTS))):  # one without rows has no types
        table[start:stop].write_csv(folder / "in" / f"{number}.csv")
    return folder / "in"


def lines(folder):
    """All lines below the first one of each file, which must be that of all."""
    texts = [path.read_text().splitlines() for path in sorted(folder.iterdir())]
    assert len({text[0] for text in texts if text}) == 1
    return [line for text in texts for line in text[1:]]


def both_ways(plan, source, **options):
    """What is made of it by way of Parquet files, and by Spark alone as for DataFrames."""
    found = []
    for name, opened in (("there", open_spark), ("spark", SparkFile)):
        target = source.parent / name
        done = release_file(plan, source, target, seed=SEED, opened=opened, **options)
        card = {key: value for key, value in done.card.items() if key != "sha256"}
        found.append((done.record, card, lines(target)))
        assert all(path.suffix == ".csv" for path in target.iterdir())
    return found


@pytest.mark.parametrize(
    ("plan", "table", "layout"),
    [
        (BY_MODE["unit"], drawn_table("unit"), "file"),
        (BY_MODE["jitter"], drawn_table("jitter"), "folder"),
        (DIFFERENCE, grouped_table("difference"), "file"),
    ],
)
@pytest.mark.slow
def test_what_is_written_is_what_spark_alone_writes(tmp_path, asked, in_parts, monkeypatch, plan, table, layout):  # noqa: F811
    for name in ("together", "beside", "beside_some", "pieces", "column"):
        monkeypatch.setattr(SparkCsv, name, None)
    table = table.with_columns(pl.col("x").fill_nan(None))
    there, spark_alone = both_ways(plan, stored(tmp_path, table, layout), column="x")
    assert there == spark_alone
    assert len(there[2]) == ROWS
    assert {"look_at_span", "look_beside_span", "write_span"} <= {do for do, _ in asked}
    assert left(tmp_path) >= {"there", "there.card.json", "spark", "spark.card.json"}
    assert len(left(tmp_path)) == 5, "nothing else"


def test_values_of_all_types_are_spelled_as_spark_spells_them(tmp_path, spark):
    rng = np.random.default_rng(2)
    rows = 300
    table = pl.DataFrame(
        {
            "x": rng.normal(103.0, 9.0, rows),
            "whole": rng.integers(-5, 5, rows),
            "long": rng.integers(0, 2**60, rows),
            "huge": [f"{n}{'7' * 24}" for n in range(rows)],
            "number": rng.normal(0.0, 1e12, rows),
            "flag": rng.random(rows) < 0.5,
            "day": ["2023-01-31", "1969-12-31", "1582-10-04"] * (rows // 3),
            "time": ["2023-01-31 01:02:03.456789", "1965-12-31T23:59:59", ""] * (rows // 3),
            "text": ['a "quoted" one', "with, comma", " spaces "] * (rows // 3),
            "gaps": ["", None, "x"] * (rows // 3),
            "none": [None] * rows,
            "a.b c*": ["ü", "漢", "\\"] * (rows // 3),
        }
    )
    source = stored(tmp_path, table)
    there, spark_alone = both_ways(BY_MODE["shift"], source, column="x", accept=["copies", "order"])
    assert there == spark_alone
    assert spark.conf.get("spark.sql.parquet.outputTimestampType", None) in (None, "INT96")


def test_a_refusal_is_that_of_spark_alone(tmp_path, asked, in_parts):  # noqa: F811
    source = stored(tmp_path, drawn_table("unit").with_columns(told=3 * pl.col("x") + 1))
    said = []
    for opened in (SparkFile, open_spark):
        with pytest.raises(StatveilError) as error:
            release_file(BY_MODE["unit"], source, tmp_path / "out", column="x", opened=opened)
        said.append(str(error.value))
    assert "'told'" in said[0]
    assert said[1] == said[0]
    assert left(tmp_path) == {"in.csv"}


@pytest.mark.parametrize("what", ["a failure", "a lost worker"])
@pytest.mark.heavy(1)
def test_a_failure_in_the_middle_leaves_nothing(tmp_path, asked, in_parts, monkeypatch, what):  # noqa: F811
    source = stored(tmp_path, drawn_table("unit", BLOCK + 700))
    real = spark_parquet.write_span

    def spoil(work, task):
        real(work, task)
        if what == "a lost worker":
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("spoiled")

    monkeypatch.setattr(spark_parquet, "write_span", spoil)
    with pytest.raises(StatveilError) as error:
        release_file(BY_MODE["unit"], source, tmp_path / "out", column="x", opened=open_spark)
    assert "\n" not in str(error.value)
    assert left(tmp_path) == {"in.csv"}


def test_parsed_rows_are_for_the_owner_alone(tmp_path, asked, monkeypatch):  # noqa: F811
    source = stored(tmp_path, drawn_table("unit").head(600))
    seen = []
    real = SparkFile.write_parquet

    def spied(self, target):
        real(self, target)
        seen.append((target.parent.stat().st_mode & 0o777, target.parent.parent))

    monkeypatch.setattr(SparkFile, "write_parquet", spied)
    release_file(BY_MODE["unit"], source, tmp_path / "out", column="x", opened=open_spark, accept=["few-rows"])
    assert seen == [(0o700, tmp_path)] * 2, "of what is read, and of what was written"
