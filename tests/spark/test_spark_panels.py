"""Columns that are drawn by groups, which workers find: what one machine releases, to the last bit, in every mode."""

from __future__ import annotations

import os
import pickle
import signal
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.errors import ColumnError, FileError, StatveilError
from statveil.tables import panel_units, pieces
from statveil.tables.blocks import BLOCK
from statveil.tables.changes import Changes
from statveil.tables.files import open_table
from statveil.tables.maps import spread_ranks
from statveil.tables.maps.affine import Affine, Quiet
from statveil.tables.panels import drawn_by_group
from statveil.tables.release_table import release_table
from statveil.tables.spark import spark_parquet, workers
from statveil.tables.spark.spark_file import SparkFile, open_spark
from statveil.tables.verify_table import table_checks
from tests.plans import BY_MODE
from tests.spark.test_looking import CUTS, ROWS
from tests.spark.test_spark_frames import answer, in_parts, nothing_passes_the_driver, place  # noqa: F401  (fixtures)
from tests.spark.test_spark_frames import check_same as check_same_frames
from tests.spark.test_spark_frames import left as left_in
from tests.spark.test_spark_parquet import (  # noqa: F401  (a fixture)
    asked,
    both_specifications,
    check_same,
    left,
    nothing_is_kept_on_the_driver,
    nothing_is_read_on_the_driver,
    stored,
)
from tests.tables.test_group_draws import SAID

SAYS = {
    **SAID,
    "model": 'hide = "mean"\nprior = "50:200"\ntolerance = 2\nknown = "min=0,step=1,heaps=5"\nshape = "catalogue"',
}
VALUES = {
    "category": lambda rng, size: rng.choice(["red", "green", "blue"], size, p=[0.2, 0.5, 0.3]),
    "jitter": lambda rng, size: np.round(rng.gamma(6, 15, size)).astype(int),
    "smooth": lambda rng, size: (10 * np.round(rng.gamma(6, 1.5, size))).astype(int),
    "unit": lambda rng, size: rng.poisson(7, size),
    "rank": lambda rng, size: rng.binomial(10, 0.4, size),
    "model": lambda rng, size: np.round(rng.gamma(6, 15, size)).astype(int),
}


def planned(mode, extra="", head='others = "keep"'):
    text = f'{head}\n[columns.x]\n{SAYS[mode]}\nmax_risk = 0.3\naccept = ["few-rows"]\ngroup = "person"\n{extra}'
    return sv.plan_specification(sv.Specification.from_toml(text))


def panel(mode, each, *, rows=ROWS, ordered=False):
    """Persons with so many rows; some have no value, and a few rows without one are nobody's."""
    rng = np.random.default_rng(3)
    size = rows // each
    person, x = rng.permutation(10**7)[:size], pl.Series(VALUES[mode](rng, size))
    known = pl.Series(np.arange(size) % 11 > 0)
    table = pl.DataFrame({"person": person, "x": x.zip_with(known, pl.Series([None], dtype=x.dtype))})
    order = np.repeat(np.arange(size), each) if ordered else rng.permutation(np.repeat(np.arange(size), each))
    nobody = pl.col("x").is_null() & (pl.int_range(pl.len()) % 3 == 0)
    return table[order].with_columns(
        person=pl.when(~nobody).then("person"), w=pl.Series(rng.random(len(order))), month=pl.int_range(pl.len()) % 12
    )


@pytest.fixture(autouse=True)
def short_runs(monkeypatch):
    """Groups are found in several runs and stretches."""
    monkeypatch.setattr(spread_ranks, "_RUN", BLOCK)
    monkeypatch.setattr(spread_ranks, "_PIECE", 1)


def no_panel_is_made_on_the_driver(monkeypatch):
    def never(*given, **options):
        raise AssertionError("rows are put together on the driver")

    monkeypatch.setattr(panel_units, "read_panel", never)


def with_one_machine_first(monkeypatch, plan, source):
    """What one machine makes of it, and then Spark, whose driver must not put rows together."""
    found = []
    for name, opened in (("one", {}), ("spark", {"opened": open_spark})):
        if opened:
            no_panel_is_made_on_the_driver(monkeypatch)
        target = source.parent / (name if opened or source.is_dir() else f"{name}.parquet")
        try:
            done = release_table(plan, source, target, seed=7, **opened)
        except StatveilError as error:
            found.append(str(error))
            continue
        parts = [target] if target.is_file() else sorted(target.iterdir())
        card = {key: value for key, value in done.card.items() if key != "sha256"}
        found.append((done.record, card, pl.concat([pl.read_parquet(part) for part in parts])))
    assert left(source.parent) <= {
        source.name,
        *(f"{name}{end}" for name in ("one", "one.parquet", "spark") for end in ("", ".card.json")),
    }
    return found


# --- the same release -----------------------------------------------------------------------------
GROUPS = [
    # persons of two rows are more than a short table has, of eight fewer
    ("category", 2, "folder"),
    ("jitter", 2, "many groups"),
    ("smooth", 2, "folder"),
    ("unit", 2, "many groups"),
    ("rank", 2, "folder"),
    ("model", 2, "many groups"),
    ("category", 8, "many groups"),
    ("smooth", 8, "folder"),
    ("rank", 8, "many groups"),
]


def test_each_mode_that_draws_rows_is_tried():
    assert {mode for mode, each, _ in GROUPS if each == 2} == {*VALUES}
    assert {*VALUES} == {mode for mode, plan in BY_MODE.items() if drawn_by_group(plan, "person")}


@pytest.mark.parametrize(("mode", "each", "layout"), GROUPS)
@pytest.mark.heavy(1)
def test_the_release_is_that_of_one_machine(spark, tmp_path, asked, monkeypatch, mode, each, layout):  # noqa: F811
    nothing_is_kept_on_the_driver(monkeypatch, spark)
    if each == 2:  # fewer persons than rows of a short table are measured on the driver, like these
        nothing_is_read_on_the_driver(monkeypatch)
    source = stored(tmp_path, panel(mode, each), layout)
    check_same(with_one_machine_first(monkeypatch, planned(mode), source))
    did = [do for do, _ in asked]
    wrote = did.index("write_span")
    assert ("look_beside_span" in did[:wrote]) is (each == 2), "the others are looked at where the rows lie"
    assert {*did[wrote + 1 :]} <= {"hashes_of", "do_item", "look_at_span", "do_in_span"}
    assert did[wrote + 1 :].count("do_item") == 3, "groups are found again in what was written"


@pytest.mark.parametrize("change", ["in order", "texts", "one person", "one row each", "values beside"])
@pytest.mark.heavy(1)
def test_groups_of_any_kind(tmp_path, asked, monkeypatch, change):  # noqa: F811
    table = panel("unit", 1 if change == "one row each" else 4, ordered=change == "in order")
    if change == "texts":
        table = table.with_columns(person=pl.format("Ms {}", "person"))
    if change == "one person":
        table = table.with_columns(person=pl.lit(1), x=pl.lit(7))
    if change == "values beside":
        day = pl.date(2024, 1, 1) + pl.duration(days=(1_000 * pl.col("w")).cast(pl.Int64))
        table = table.with_columns(day=day, at=pl.col("w").cast(pl.Decimal(20, 9)), flag=pl.col("w") < 0.3)
        table = table.with_columns(pl.lit(None, dtype=pl.String).alias("none"), pl.col("w").alias("^a.*$"))
    check_same(with_one_machine_first(monkeypatch, planned("unit"), stored(tmp_path, table, "folder")))


MANY = """
[columns.y]
hide = "fraction:red"
family = "categorical"
labels = ["red", "green", "blue"]
tolerance = 0.02
max_risk = 0.3
accept = ["few-rows"]
group = "person"
[columns.dull]
drop = true
[columns.double]
derive = "2 * x"
"""
WAGE = """
[columns.wage]
hide = "mean"
prior = "50:200"
tolerance = 1
max_risk = 0.2
known = "min=0"
"""


@pytest.mark.parametrize("more", ["", WAGE], ids=["alone", "with another"])
@pytest.mark.slow
def test_several_such_columns_of_a_specification(spark, tmp_path, asked, monkeypatch, more):  # noqa: F811
    nothing_is_kept_on_the_driver(monkeypatch, spark)
    if not more:  # beside a column that is not drawn by groups, those that hold one value for each are read here
        nothing_is_read_on_the_driver(monkeypatch)
    rng = np.random.default_rng(9)
    table = panel("jitter", 2)
    persons = table.select("person").unique(maintain_order=True).drop_nulls()
    persons = persons.with_columns(y=pl.Series(VALUES["category"](rng, len(persons))))
    table = table.join(persons, on="person", how="left", maintain_order="left").with_columns(
        y=pl.when(pl.col("x").is_not_null()).then("y"),
        wage=pl.Series(rng.gamma(6.0, 18.0, ROWS)),
        dull=2 * pl.col("x"),
        double=2 * pl.col("x"),
    )
    found = with_one_machine_first(monkeypatch, planned("jitter", MANY + more), stored(tmp_path, table, "many groups"))
    check_same(found)


@pytest.mark.slow
def test_shuffled_rows_are_in_the_order_of_one_machine(tmp_path, asked, monkeypatch):  # noqa: F811
    plan = planned("unit", head='others = "keep"\nshuffle = true')
    check_same(with_one_machine_first(monkeypatch, plan, stored(tmp_path, panel("unit", 4), "many groups")))


@pytest.mark.slow
def test_a_dataframe_by_way_of_files(spark, place, asked, in_parts, monkeypatch):  # noqa: F811
    table, plan = panel("unit", 2), planned("unit")
    wanted = answer(plan, table)
    nothing_passes_the_driver(monkeypatch)
    nothing_is_kept_on_the_driver(monkeypatch, spark)
    no_panel_is_made_on_the_driver(monkeypatch)
    check_same_frames(answer(plan, in_parts(table)), wanted)
    assert left_in(place) == [["released"]]


@pytest.mark.slow
def test_csv_by_way_of_files(tmp_path, asked, monkeypatch):  # noqa: F811
    panel("unit", 4).write_csv(tmp_path / "in.csv")
    found = []
    for name, opened in (("spark", SparkFile), ("there", open_spark)):
        if name == "there":
            no_panel_is_made_on_the_driver(monkeypatch)
        done = release_table(planned("unit"), tmp_path / "in.csv", tmp_path / name, seed=7, opened=opened)
        lines = [one.read_text() for one in sorted((tmp_path / name).glob("*.csv"))]
        found.append((done.record, [row for text in lines for row in text.splitlines()[1:]]))
    assert found[0] == found[1]


# --- what is refused ------------------------------------------------------------------------------
LAST = pl.int_range(pl.len()) == pl.int_range(pl.len()).filter(pl.col("x").is_not_null()).max()
"""The last row that has a value."""
REFUSED = {
    "empty": (pl.when(~LAST).then("person").alias("person"), "empty cells"),
    "values": (pl.when(LAST).then(pl.col("x") + 1).otherwise("x").alias("x"), "different values"),
    "sizes": (pl.when(~LAST).then("x").alias("x"), "different numbers of rows"),
    "told": ((3 * pl.col("x") + 1).alias("told"), "'told'"),
    "none": (pl.lit(None, dtype=pl.Int64).alias("x"), ""),
    "text": (pl.lit("none").alias("x"), "needs numbers"),
}


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.heavy(3)
def test_what_one_machine_refuses_is_refused_in_the_same_words(tmp_path, asked, monkeypatch, what, ordered):  # noqa: F811
    change, said = REFUSED[what]
    table = panel("unit", 2, ordered=ordered).with_columns(change)
    wanted, found = with_one_machine_first(monkeypatch, planned("unit"), stored(tmp_path, table, "many groups"))
    assert said in wanted
    assert found == wanted


@pytest.mark.slow
def test_labels_that_tell_in_the_rows_of_groups_are_refused_in_the_same_words(tmp_path, asked, monkeypatch):  # noqa: F811
    table = panel("category", 2).with_columns(told=pl.col("x").str.slice(0, 1))
    source = stored(tmp_path, table, "folder")
    wanted, found = with_one_machine_first(monkeypatch, planned("category"), source)
    assert "'told'" in wanted
    assert found == wanted


def test_files_that_tell_are_refused_in_the_same_words(tmp_path, asked, monkeypatch):  # noqa: F811
    """Where the first row of a group lies, though all of these are in other files by then."""
    table = panel("unit", 2, ordered=True).select("person", x=pl.lit(0))
    x, rng = np.random.default_rng(8).poisson(7, ROWS // 2 + 1), np.random.default_rng(8)
    x.sort()
    for start, stop in pairwise(CUTS):
        rng.shuffle(x[start // 2 : stop // 2])
    table = table.with_columns(x=pl.Series(np.repeat(x, 2)[:ROWS]), person=pl.int_range(pl.len()) // 2)
    accept = 'accept = ["few-rows", "order"]'
    text = f'others = "keep"\n[columns.x]\n{SAYS["unit"]}\nmax_risk = 0.3\n{accept}\ngroup = "person"\n'
    plan = sv.plan_specification(sv.Specification.from_toml(text))
    wanted, found = with_one_machine_first(monkeypatch, plan, stored(tmp_path, table, "folder"))
    assert "the files of the folder" in wanted
    assert found == wanted


@pytest.mark.slow
def test_a_row_that_left_its_group_does_not_pass_the_check(tmp_path, asked, monkeypatch):  # noqa: F811
    plan, source = planned("jitter"), stored(tmp_path, panel("jitter", 4), "many groups")
    done = release_table(plan, source, tmp_path / "out.parquet", seed=7)
    for change in (pl.col("x") + 1, pl.lit(None, dtype=pl.Int64)):
        table = pl.read_parquet(tmp_path / "out.parquet")
        row = int(table["x"].is_not_null().arg_max())
        table = table.with_columns(x=pl.when(pl.int_range(pl.len()) == row).then(change).otherwise("x"))
        table.write_parquet(tmp_path / "changed.parquet", row_group_size=7_777)
        wanted = [*table_checks(open_table(tmp_path / "changed.parquet"), plan, done.card)]
        with monkeypatch.context() as patched:
            no_panel_is_made_on_the_driver(patched)
            there = open_spark(tmp_path / "changed.parquet")
            folder = tmp_path / f"work-{len(wanted)}"
            folder.mkdir(exist_ok=True)
            there.work_in(folder)
            assert [*table_checks(there, plan, done.card)] == wanted
        assert not all(one.ok for one in wanted)
        assert not any(folder.iterdir())


# --- what the driver holds ------------------------------------------------------------------------
def test_what_is_told_of_groups_does_not_grow_with_the_rows(tmp_path, spark, asked, monkeypatch):  # noqa: F811
    """But by some bytes for each block, stretch and run."""
    said = []
    real = spark_parquet.on_workers

    def spied(session, do, work, tasks, *, what):
        found = real(session, do, work, tasks, what=what)
        if do is workers.do_item:
            said.append(len(pickle.dumps((tasks, found))))
        return found

    monkeypatch.setattr(spark_parquet, "on_workers", spied)
    panel("category", 2).write_parquet(tmp_path / "in.parquet", row_group_size=7_777)
    release_table(planned("category"), tmp_path / "in.parquet", tmp_path / "out", seed=7, opened=open_spark)
    assert len(said) >= 9
    assert max(said) < ROWS // 50, "bytes"


def test_files_are_for_the_owner_alone_and_go_with_the_work(tmp_path, asked, monkeypatch):  # noqa: F811
    real = workers.write_span

    def write(work, task):
        for one in Path(work.folder).parent.glob("groups-*"):
            kept = sorted(file.name for file in one.iterdir())
            if (one.stat().st_mode & 0o777, kept) != (0o700, ["rows"]):
                raise RuntimeError(f"{kept}")
        return real(work, task)

    monkeypatch.setattr(spark_parquet, "write_span", write)
    source = stored(tmp_path, panel("unit", 4), "many groups")
    release_table(planned("unit"), source, tmp_path / "out", opened=open_spark)
    assert left(tmp_path) == {"in.parquet", "out", "out.card.json"}


def test_too_little_room_is_refused_before_the_work(tmp_path, asked, monkeypatch):  # noqa: F811
    class Usage:
        free = 1

    monkeypatch.setattr(pieces.shutil, "disk_usage", lambda path: Usage)
    source = stored(tmp_path, panel("unit", 4), "many groups")
    with pytest.raises(FileError, match="finding groups of rows needs"):
        release_table(planned("unit"), source, tmp_path / "out", opened=open_spark)
    assert left(tmp_path) == {"in.parquet"}


# --- what goes wrong ------------------------------------------------------------------------------
@pytest.mark.parametrize("what", ["a failure", "a lost worker", "a refusal"])
@pytest.mark.parametrize("step", ["cut_span", "begin_in_stretch", "put_in_rows"])
@pytest.mark.heavy(1)
def test_a_failure_in_the_middle_leaves_nothing(tmp_path, asked, monkeypatch, step, what):  # noqa: F811
    source = stored(tmp_path, panel("unit", 4), "many groups")
    real = workers.do_item

    def spoil(work, task):
        done = real(work, task)  # all of it is there when it fails
        if work.func.__name__ == step:
            if what == "a lost worker":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ColumnError("spoiled") if what == "a refusal" else RuntimeError("spoiled")
        return done

    monkeypatch.setattr(spark_parquet, "do_item", spoil)
    with pytest.raises(StatveilError) as error:
        release_table(planned("unit"), source, tmp_path / "out", opened=open_spark)
    assert isinstance(error.value, ColumnError) is (what == "a refusal")
    assert left(tmp_path) == {"in.parquet"}


@pytest.mark.slow
def test_work_that_is_done_twice_gives_the_same(tmp_path, asked, monkeypatch):  # noqa: F811
    real = workers.do_item

    def twice(work, task):
        real(work, task)  # as a worker does that was slow, and whose task another one did meanwhile
        return real(work, task)

    monkeypatch.setattr(spark_parquet, "do_item", twice)
    source = stored(tmp_path, panel("rank", 2), "many groups")
    check_same(with_one_machine_first(monkeypatch, planned("rank"), source))


def test_other_values_under_the_same_footer_are_refused(tmp_path, asked):  # noqa: F811
    """As where a machine sees another copy: sizes, times and footers are those of the file that was read."""
    source, rows = tmp_path / "in.parquet", 2 * BLOCK
    x = np.repeat(np.random.default_rng(2).normal(103, 9, rows // 2), 2)
    table = pl.DataFrame({"x": x, "person": np.arange(rows) // 2})
    table.write_parquet(source, compression="uncompressed", statistics=False)
    there = open_spark(source)
    (tmp_path / "work").mkdir()
    there.work_in(tmp_path / "work")
    units = there.units_there("x", None, "person", None)
    assert (units.rows, units.groups) == (rows, rows // 2)
    changes = Changes.one("x", Affine(pivot=0.0, factor=1.0, target=1.5, quiet=Quiet(bits=49, grain=2.0**-30)))
    there.write(tmp_path / "fine", changes)
    content = bytearray(source.read_bytes())
    at = content.index(x[BLOCK].tobytes())
    content[at : at + 8] = np.float64(100.0).tobytes()
    source.write_bytes(content)
    with pytest.raises(ColumnError, match="gives other rows"):
        there.write(tmp_path / "out", changes)
