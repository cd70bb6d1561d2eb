"""DataFrames by way of files that workers read and write: what one machine releases, and nothing is left behind."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.errors import ColumnError, FileError, StatveilError
from statveil.tables.blocks import BLOCK
from statveil.tables.frames import spark_frame
from statveil.tables.frames.spark_frame import SparkFrame
from statveil.tables.maps import spread_ranks
from statveil.tables.spark import looking, passes, private_folder, spark_parquet, workers
from statveil.tables.spark.frame_files import FOLDER, FrameFiles
from tests.plans import BY_MODE
from tests.spark.test_looking import CUTS, RELEASED, ROWS, TELLING, gaps
from tests.spark.test_spark_groups import PLANS as GROUPS
from tests.spark.test_spark_groups import table as grouped_table
from tests.spark.test_spark_pairs import table as pair_table
from tests.spark.test_spark_parquet import (  # noqa: F401  (a fixture)
    DRAWN,
    MANY,
    asked,
    drawn_table,
    many_columns,
    nothing_is_kept_on_the_driver,
    nothing_is_read_on_the_driver,
)
from tests.tables import test_table_release as table_release
from tests.tables import test_two_columns as two_columns

SEED = 7


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder for temporary files, in which the files go."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    for one in [root for where, root in private_folder._MADE.items() if where == folder]:
        one.cleanup()


@pytest.fixture
def in_parts(spark, tmp_path):
    """The table in partitions of many lengths, one of them without rows."""

    def make(table):
        frames = []
        for number, (start, stop) in enumerate(pairwise(CUTS)):
            table[start:stop].write_parquet(tmp_path / f"{number}.parquet")
            frames.append(spark.read.parquet(str(tmp_path / f"{number}.parquet")))
        whole = frames[0]
        for one in frames[1:]:
            whole = whole.unionAll(one)
        return whole

    return make


def nothing_passes_the_driver(monkeypatch):
    """Neither past Spark's driver nor read from the files by it."""

    def never(*given, **options):
        raise AssertionError("rows pass the driver")

    nothing_is_read_on_the_driver(monkeypatch)
    monkeypatch.setattr(passes, "rows_of", never)


def left(place):
    """What lies in the folder of this process, by the names that each release gave."""
    return [sorted(one.name for one in folder.iterdir()) for root in place.iterdir() for folder in root.iterdir()]


def answer(plan, table, **options):
    try:
        done = sv.release(plan, table, seed=SEED, details=True, **options)
    except StatveilError as error:
        return str(error)
    released = done.table
    if not isinstance(released, pl.DataFrame):
        first, released = (pl.from_arrow(released.toArrow()) for _ in range(2))
        assert first.equals(released)
    return done.record, done.card, done.to_check, done.notes, released


def check_same(found, wanted):
    assert not isinstance(wanted, str), wanted
    assert found[:-1] == wanted[:-1]
    assert found[-1].schema == wanted[-1].schema
    assert found[-1].equals(wanted[-1])


@pytest.mark.parametrize("mode", DRAWN)
def test_modes_that_draw_rows_are_those_of_one_machine(spark, place, asked, in_parts, monkeypatch, mode):  # noqa: F811
    nothing_passes_the_driver(monkeypatch)
    nothing_is_kept_on_the_driver(monkeypatch, spark)
    monkeypatch.setattr(spread_ranks, "_RUN", 50_000)
    table = drawn_table(mode).with_columns(gaps(0.3 if mode == "smooth" else 0.0))
    check_same(answer(BY_MODE[mode], in_parts(table), column="x"), answer(BY_MODE[mode], table, column="x"))
    did = [do for do, _ in asked]
    assert did[:2] == ["hash_of_column", "look_at_span"]
    assert did[-1] == "write_span"
    assert left(place) == [["released"]]
