"""Two columns of Parquet files that move apart, which nobody but the workers reads: what one machine releases."""

from __future__ import annotations

import os
import signal

import numpy as np
import polars as pl
import pytest

from statveil.errors import StatveilError
from statveil.tables.between_columns import PairVerifier
from statveil.tables.blocks import BLOCK
from statveil.tables.release_file import release_file
from statveil.tables.spark import asides, spark_parquet
from statveil.tables.spark.spark_file import open_spark
from statveil.tables.stacked import Halves
from statveil.tables.structure.reading import sampler
from tests.spark.test_looking import ROWS
from tests.spark.test_spark_parquet import (  # noqa: F401  (a fixture)
    answers,
    asked,
    check_same,
    left,
    nothing_is_kept_on_the_driver,
    nothing_is_read_on_the_driver,
    stored,
)
from tests.tables.test_two_columns import PLANS, RATIO


def table(kind="ratio", rows=ROWS, share=0.0):
    """Two columns with rows without a value, in one of them or in both, and others."""
    rng = np.random.default_rng(1)
    if kind == "ratio":
        cost, revenue = rng.gamma(3.1, 7.3, rows), rng.gamma(4.2, 6.1, rows)
    else:
        cost, revenue = rng.normal(103.3, 9.1, rows), rng.normal(101.9, 12.7, rows)
    cost[rng.random(rows) < share] = np.nan
    gaps = pl.Series(rng.random(rows) < share / 2)
    return pl.DataFrame(
        {
            "site": rng.choice(["a", "b"], rows),
            "cost": cost,
            "id": rng.permutation(rows),
            "revenue": revenue,
            "w": rng.normal(size=rows),
        }
    ).with_columns(revenue=pl.when(gaps).then(None).otherwise("revenue"))


@pytest.mark.parametrize(
    ("kind", "layout", "share"),
    [("ratio", "folder", 0.0), ("ratio", "many groups", 0.4), ("difference", "one group", 0.3)],
)
@pytest.mark.heavy(1)
def test_the_release_is_that_of_one_machine_and_no_row_passes_the_driver(
    spark,
    tmp_path,
    asked,  # noqa: F811
    monkeypatch,
    kind,
    layout,
    share,
):
    nothing_is_read_on_the_driver(monkeypatch)
    nothing_is_kept_on_the_driver(monkeypatch, spark)
    check_same(answers(PLANS[kind], stored(tmp_path, table(kind, share=share), layout)))
    did = [do for do, _ in asked]
    assert did[:3] == ["look_at_span", "shapes_in_span", "look_beside_span"]
    assert {*did[did.index("write_span") + 1 :]} == {"look_at_span", "hashes_of"}


@pytest.mark.slow
def test_columns_beside_which_all_rows_must_be_seen_are_released_as_on_one_machine(tmp_path, asked):  # noqa: F811
    # rows without a value are a group by themselves, and nearly all of them lie in one file
    check_same(answers(PLANS["difference"], stored(tmp_path, table("difference", share=0.3), "folder")))
    assert "look_beside_span" not in [do for do, _ in asked]


@pytest.mark.slow
def test_rounded_columns_are_read_back_by_workers(tmp_path, asked, monkeypatch):  # noqa: F811
    nothing_is_read_on_the_driver(monkeypatch)
    source = stored(tmp_path, table("difference", share=0.2), "many groups")
    check_same(answers(PLANS["difference"], source, round_digits=2))
    did = [do for do, _ in asked]
    assert "do_in_span" in did[did.index("write_span") :]


@pytest.mark.slow
def test_what_one_machine_says_must_be_checked_is_said(tmp_path, asked):  # noqa: F811
    source = stored(tmp_path, table(), "many groups")
    one, there = (
        release_file(RATIO, source, tmp_path / name, seed=7, **options)
        for name, options in (("one.parquet", {}), ("out", {"opened": open_spark}))
    )
    assert "'id'" in one.to_check[0]
    assert there.to_check == one.to_check


LAST = pl.int_range(pl.len()) >= 3 * BLOCK
TELLING = {
    "a copy": lambda t: t.with_columns(told=3 * pl.col("revenue")),
    "a margin": lambda t: t.with_columns(told=pl.col("cost") / pl.col("revenue")),
    "the rank of a sum": lambda t: t.with_columns(told=(pl.col("cost") + pl.col("revenue")).rank("ordinal")),
    "an order": lambda t: t.sort(pl.col("cost") + pl.col("revenue")),
    "a bound": lambda t: t.with_columns(revenue=pl.max_horizontal("cost", "revenue") * 1.0),
    "equal at the end": lambda t: t.with_columns(revenue=pl.when(LAST).then("cost").otherwise("revenue")),
    "averages of groups": lambda t: t.with_columns(group=pl.col("id") // 30).with_columns(
        told=pl.col("cost").mean().over("group")
    ),
    "a cell": lambda t: t.with_columns(told=pl.when(pl.int_range(pl.len()) == ROWS - 5).then(pl.col("cost").mean())),
}


@pytest.mark.parametrize("what", TELLING)
@pytest.mark.heavy(1)
def test_what_tells_is_refused_in_the_same_words(tmp_path, asked, what):  # noqa: F811
    wanted, found = answers(RATIO, stored(tmp_path, TELLING[what](table()), "many groups"))
    assert isinstance(wanted, str)
    assert found == wanted


def test_a_column_without_values_is_refused_in_the_same_words(tmp_path, asked):  # noqa: F811
    before = table().with_columns(cost=pl.lit(None, pl.Float64))
    wanted, found = answers(RATIO, stored(tmp_path, before, "many groups"))
    assert "no row with a finite number" in wanted
    assert found == wanted


@pytest.mark.slow
def test_samples_that_were_thinned_too_much_are_taken_again(tmp_path, asked, monkeypatch):  # noqa: F811
    few = 2**13
    monkeypatch.setattr(sampler, "KEEP", few)
    monkeypatch.setattr(sampler.Sampler.__init__, "__defaults__", (few,))
    # as they are, few of these rows end near 100, which looks like a bound
    wider = table(share=0.6).with_columns(pl.col("cost", "revenue") * 1.7)
    check_same(answers(RATIO, stored(tmp_path, wider, "one group")))
    assert [do for do, _ in asked][:3] == ["look_at_span", "look_at_span", "shapes_in_span"]


@pytest.mark.slow
def test_shuffled_rows_are_in_the_order_of_one_machine(tmp_path, asked):  # noqa: F811
    check_same(answers(RATIO, stored(tmp_path, table(rows=60_000), "many groups"), shuffle=True))


@pytest.mark.parametrize(("where", "what"), [("shapes_in_span", "a failure"), ("write_span", "a lost worker")])
@pytest.mark.heavy(1)
def test_a_failure_in_the_middle_leaves_nothing(tmp_path, asked, monkeypatch, where, what):  # noqa: F811
    source = stored(tmp_path, table(), "many groups")
    place = spark_parquet if hasattr(spark_parquet, where) else asides
    real = getattr(place, where)

    def spoil(work, task):
        real(work, task)  # all of it is there when it fails
        if what == "a lost worker":
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("spoiled")

    monkeypatch.setattr(place, where, spoil)
    before = left(tmp_path)
    with pytest.raises(StatveilError) as error:
        release_file(RATIO, source, tmp_path / "out", opened=open_spark)
    assert "\n" not in str(error.value)
    assert left(tmp_path) == before


def test_columns_that_are_watched_in_parts_are_found_to_be_what_they_are(monkeypatch):
    few = 2**12
    monkeypatch.setattr(sampler, "KEEP", few)
    monkeypatch.setattr(sampler.Sampler.__init__, "__defaults__", (few,))
    rng = np.random.default_rng(6)
    rows = 2 * BLOCK + 900
    cost, revenue = (np.where(rng.random(rows) < 0.3, np.nan, rng.gamma(2.0, 3.0, rows)) for _ in range(2))
    whole, parted = (PairVerifier(RATIO, Halves(("cost", "revenue")), bits=53) for _ in range(2))
    spans = []
    for start in range(0, rows, BLOCK):
        one, two = (values[start : start + BLOCK] for values in (cost, revenue))
        spans.append([(2 * start, one), (2 * start + len(one), two)])
    for span in spans:
        for start, block in span:
            whole.watch(block, start)
    finite = 2 * rows
    for _ in range(2):
        assert parted.begin(spans[0][0][1], finite)
        for span in spans[::-1]:
            part = parted.part()
            for start, block in span:
                part.watch(block, start)
            parted.join(part.seen())
        if settled := parted.settle():
            break
        finite = int(np.isfinite(cost).sum() + np.isfinite(revenue).sum())
    assert settled
    for one, two in zip(parted._samplers(), whole._samplers(), strict=True):
        assert np.array_equal(one.values, two.values)
    assert parted.numbers() == whole.numbers()
