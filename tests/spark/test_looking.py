"""A column that the executors look at: what one machine measures, finds and refuses, from what partitions tell."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.errors import ColumnError, StatveilError
from statveil.tables.blocks import BLOCK
from statveil.tables.spark import looking
from tests.plans import BY_MODE, column_for

ROWS = 3 * BLOCK + 5_000
CUTS = [0, 300, 300, BLOCK + 7, 2 * BLOCK, 3 * BLOCK + 4_000, ROWS]
"""Of partitions: one has no rows, blocks lie in up to three of them, and one begins where a block does."""
SEED = 7


def table_for(mode, **others):
    rng = np.random.default_rng(5)
    columns = {
        "x": column_for(mode, rng, ROWS),
        "id": np.arange(ROWS),
        "w": rng.random(ROWS),
        "region": pl.Series(["east", "west", None])[rng.integers(0, 3, ROWS)],
        "late": np.where(np.arange(ROWS) < 2 * BLOCK, 1, 2),
    }
    return pl.DataFrame(columns | others)


@pytest.fixture
def in_parts(spark, tmp_path, monkeypatch):
    """The table in partitions of many lengths; what came of each look is kept."""
    came = []
    real = looking.look_there

    def spied(*given):
        found = real(*given)
        came.append(found is not None)
        return found

    monkeypatch.setattr(looking, "look_there", spied)

    def make(table):
        frames = []
        for number, (start, stop) in enumerate(pairwise(CUTS)):
            table[start:stop].write_parquet(tmp_path / f"{number}.parquet")
            frames.append(spark.read.parquet(str(tmp_path / f"{number}.parquet")))
        whole = frames[0]
        for one in frames[1:]:
            whole = whole.unionAll(one)
        return whole

    make.came = came
    return make


def answer(mode, table):
    """The release, or what it is refused with."""
    try:
        return sv.release(BY_MODE[mode], table, column="x", seed=SEED, details=True)
    except StatveilError as error:
        return str(error)


def gaps(share):
    rng = np.random.default_rng(6)
    return pl.when(pl.Series(rng.random(ROWS) < share)).then(None).otherwise(pl.col("x")).alias("x")


RELEASED = {
    "shift": table_for("shift"),
    "scale": table_for("scale"),
    "lattice": table_for("lattice"),
    "odds": table_for("odds"),
}


@pytest.mark.parametrize(
    ("mode", "share"),
    [("shift", 0.0), ("scale", 0.0), ("lattice", 0.0), ("odds", 0.0), ("shift", 0.3), ("shift", 0.95)],
)
@pytest.mark.heavy(1)
def test_the_release_is_that_of_one_machine(in_parts, mode, share):
    table = RELEASED[mode].with_columns(gaps(share))
    wanted, found = answer(mode, table), answer(mode, in_parts(table))
    assert in_parts.came == [True]
    assert found.record == wanted.record
    assert found.card == wanted.card
    assert pl.from_arrow(found.table.toArrow()).equals(wanted.table)


MEAN = float(RELEASED["shift"]["x"].mean())
LAST = pl.col("id") == ROWS - 2_000
TELLING = {
    "a copy": (2 * pl.col("x")).alias("told"),
    "a copy of the last rows": pl.when(pl.col("id") >= BLOCK).then(pl.col("x")).otherwise(pl.col("w")).alias("told"),
    "a cell": pl.when(LAST).then(MEAN).alias("told"),
    "a cell of text": pl.when(LAST).then(pl.lit(str(MEAN))).otherwise(pl.lit("-")).alias("told"),
    "averages of groups": pl.col("x").mean().over(pl.col("id") // 30).alias("told"),
}


@pytest.mark.parametrize("what", TELLING)
@pytest.mark.heavy(1)
def test_a_column_that_tells_is_refused_in_the_same_words(in_parts, what):
    table = RELEASED["shift"].with_columns(TELLING[what])
    if what == "averages of groups":
        table = table.with_columns((pl.col("id") // 30).alias("group"))
    wanted = answer("shift", table)
    assert "'told'" in wanted
    assert answer("shift", in_parts(table)) == wanted
    assert in_parts.came == [what != "averages of groups"], "whole groups are seen by a pass past the driver"


def test_a_value_off_the_step_in_the_last_partition_is_refused(in_parts):
    table = RELEASED["lattice"].with_columns(x=pl.when(LAST).then(pl.col("x") + 0.5).otherwise(pl.col("x")))
    assert "off the declared step" in answer("lattice", table)
    assert answer("lattice", in_parts(table)) == answer("lattice", table)
    assert in_parts.came == [True]


def test_a_long_column_keeps_the_sample_of_one_machine(in_parts, monkeypatch):
    from statveil.tables.looking import NumberLook as Look
    from statveil.tables.structure.reading import sampler

    kept = []
    few = 2**14
    monkeypatch.setattr(sampler, "KEEP", few)
    monkeypatch.setattr(sampler.Sampler.__init__, "__defaults__", (few,))
    real = Look.settle

    def settle(self):
        done = real(self)
        kept.append((done, self._verifier.sampler.values))
        return done

    monkeypatch.setattr(Look, "settle", settle)
    table = RELEASED["shift"].with_columns(gaps(0.1))
    found = answer("shift", in_parts(table))
    one = sampler.Sampler()
    one.add(table["x"].to_numpy(), 0)
    ((done, values),) = kept
    assert done
    assert len(values) <= few < table["x"].count() // 4
    assert np.array_equal(values, one.values)
    assert found.record == answer("shift", table).record


@pytest.mark.slow
def test_many_partitions_are_read_past_the_driver(in_parts, monkeypatch):
    monkeypatch.setattr(looking, "_MOST_PARTS", len(CUTS) - 3)  # one has no rows
    found, wanted = answer("shift", in_parts(RELEASED["shift"])), answer("shift", RELEASED["shift"])
    assert in_parts.came == [False]
    assert found.record == wanted.record


def test_rows_that_change_after_they_were_counted_are_refused(spark, tmp_path, monkeypatch):
    RELEASED["shift"].write_parquet(tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    real = looking._watched

    def changed(table, look, wanted):
        RELEASED["shift"].with_columns(x=pl.col("x").reverse()).write_parquet(tmp_path / "t.parquet")
        spark.catalog.refreshByPath(str(tmp_path / "t.parquet"))
        return real(table, look, wanted)

    monkeypatch.setattr(looking, "_watched", changed)
    with pytest.raises(ColumnError, match="persist"):
        sv.release(BY_MODE["shift"], frame, column="x")


@pytest.mark.parametrize(("query", "stays"), [("where", True), ("orderBy", False), ("repartition", False)])
def test_partitions_that_depend_on_the_columns_are_read_as_a_whole(spark, tmp_path, query, stays):
    RELEASED["shift"].head(1_000).write_parquet(tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    asked = {"where": lambda: frame.where("w > 0.5"), "orderBy": lambda: frame.orderBy("w")}
    made = asked[query]() if query in asked else frame.repartition(3)
    assert looking.partitions_stay(made) is stays
    assert looking.partitions_stay(made.persist()), "what is kept in memory stays where it is"
    made.unpersist()
