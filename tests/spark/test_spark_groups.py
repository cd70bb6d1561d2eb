"""Two groups of rows in Parquet files, whose labels nobody but the workers reads: what one machine releases."""

from __future__ import annotations

import os
import signal

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import statveil as sv
from statveil.errors import ColumnError, StatveilError
from statveil.tables.blocks import BLOCK
from statveil.tables.changes import Changes
from statveil.tables.groups import GroupRows, LabelColumn, read_groups
from statveil.tables.maps.affine import Affine, Quiet
from statveil.tables.maps.grouped import Grouped
from statveil.tables.release_file import release_file
from statveil.tables.spark import asides, labels, spark_parquet
from statveil.tables.spark.footers import read_footer
from statveil.tables.spark.labels import GroupsThere, labels_in_span
from statveil.tables.spark.spans import cut_spans, span_of, whole_files
from statveil.tables.spark.spark_file import open_spark
from statveil.tables.structure.reading import sampler
from statveil.tables.within_groups import GroupVerifier
from tests.best_possible import none_known
from tests.spark.test_looking import ROWS
from tests.spark.test_spark_parquet import (  # noqa: F401  (a fixture)
    answers,
    asked,
    both_specifications,
    check_same,
    left,
    nothing_is_kept_on_the_driver,
    nothing_is_read_on_the_driver,
    stored,
)


def planned(secret, **options):
    with none_known():
        return sv.plan(sv.Problem(secret=secret, **options), max_risk=0.2, method="interval")


def ratio(by="region", group="north", base="south"):
    known = sv.Structure(minimum=0)
    return planned(sv.GroupRatio(by, group, base), prior=(0.5, 2.0), tolerance=sv.Relative(0.05), known=known)


def difference(by="region", group="north", base="south"):
    return planned(sv.GroupDifference(by, group, base), prior=(-10, 10), tolerance=0.5)


RATIO, DIFFERENCE = ratio(), difference()
PLANS = {"ratio": RATIO, "difference": DIFFERENCE}


def table(kind="ratio", rows=ROWS, share=0.3, seed=1):
    """A column of two groups and others, with rows without a value and without a label."""
    rng = np.random.default_rng(seed)
    names = np.array(["north", "south", "west", None], dtype=object)
    region = rng.choice(names, rows, p=[share, 0.75 - share, 0.15, 0.1])
    north = region == "north"
    if kind == "ratio":
        x = rng.gamma(2.3, 1.7, rows) * np.where(north, 1.31, 1.0)
    else:
        x = rng.normal(103.3, 9.1, rows) + np.where(north, 1.7, 0.0)
    x[rng.integers(0, rows, 40)] = np.nan
    return pl.DataFrame(
        {
            "region": region.tolist(),
            "x": x,
            "id": rng.permutation(rows),
            "kind": pl.Series(["a", "b", None])[rng.integers(0, 3, rows)],
            "w": rng.normal(size=rows),
        },
        strict=False,
    )


@pytest.mark.parametrize(
    ("kind", "layout", "share"),
    [
        ("ratio", "folder", 0.3),
        ("ratio", "many groups", 0.3),
        ("difference", "folder", 0.06),  # too few in the first block to see whether columns say something of groups
        ("difference", "one group", 0.001),  # too few in the whole table to leave one out
    ],
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
    before = table(kind, share=share)
    check_same(answers(PLANS[kind], stored(tmp_path, before, layout), column="x"))
    did = [do for do, _ in asked]
    assert did[:3] == ["labels_in_span", "look_at_span", "shapes_in_span"]
    # neither group fills the first block, so the first rows of both are asked for
    assert did[3 : did.index("write_span")].count("look_beside_span") == 2
    assert {*did[did.index("write_span") + 1 :]} == {"labels_in_span", "look_at_span", "hashes_of"}


@pytest.mark.slow
def test_what_one_machine_says_must_be_checked_is_said(tmp_path, asked):  # noqa: F811
    source = stored(tmp_path, table(), "many groups")
    one, there = (
        release_file(RATIO, source, tmp_path / name, column="x", seed=7, **options)
        for name, options in (("one.parquet", {}), ("out", {"opened": open_spark}))
    )
    assert "'id'" in one.to_check[0]
    assert there.to_check == one.to_check


TELLING = {
    "a copy in one group": lambda t: t.with_columns(
        told=pl.when(pl.col("region") == "north").then(2 * pl.col("x") + 1)
    ),
    "an order": lambda t: t.sort("x"),
    "a pair's id": lambda t: (
        t.with_columns(rank=pl.col("x").rank("ordinal").over("region"))
        .with_columns(told=pl.when(pl.col("region").is_in(["north", "south"])).then("rank"))
        .drop("rank")
    ),
    "averages of groups": lambda t: t.with_columns(group=pl.col("id") // 30).with_columns(
        told=pl.col("x").fill_nan(None).mean().over("group")
    ),
    "values of both": lambda t: t.with_columns(x=pl.col("x").gather(pl.int_range(pl.len()) // 2)),
    "a cell": lambda t: t.with_columns(
        told=pl.when(pl.int_range(pl.len()) == ROWS - 5).then(
            pl.col("x").filter(pl.col("region") == "north").fill_nan(None).mean()
        )
    ),
}


@pytest.mark.parametrize("what", TELLING)
@pytest.mark.heavy(1)
def test_what_tells_is_refused_in_the_same_words(tmp_path, asked, what):  # noqa: F811
    before = TELLING[what](table())
    wanted, found = answers(RATIO, stored(tmp_path, before, "many groups"), column="x")
    assert isinstance(wanted, str)
    assert found == wanted
    assert "look_beside_span" in [do for do, _ in asked] or what == "values of both"


@pytest.mark.parametrize(
    ("column", "group", "base"),
    [
        (pl.Series([2023, 2024, 2025, None]), "2023", "2024.0"),
        (pl.Series([2023.5, 7.0, float("nan"), None]), "7", "2023.5"),
        (pl.Series([True, False, None, None]), "TRUE", "false"),
        (pl.Series([2023, 2024, 2025, None]), "2023", "west"),
        (pl.Series([f"label {n}" for n in range(200)]), "label 3", "label 7"),
    ],
)
@pytest.mark.heavy(1)
def test_labels_of_any_type_name_the_same_rows(tmp_path, asked, column, group, base):  # noqa: F811
    before = table("difference")
    named = column[np.random.default_rng(3).integers(0, len(column), ROWS)]
    before = before.with_columns(region=named)
    found = answers(difference("region", group, base), stored(tmp_path, before, "folder"), column="x")
    if base == "west":
        assert "no row with the label 'west'" in found[0]
        assert found[1] == found[0]
    else:
        check_same(found)


@pytest.mark.parametrize(("group", "said"), [("nowhere", "'north', 'south', 'west'"), ("north", "no row")])
def test_a_label_that_no_row_has_is_refused_in_the_same_words(tmp_path, asked, group, said):  # noqa: F811
    before = table() if group == "nowhere" else table().with_columns(region=pl.lit("south"))
    wanted, found = answers(ratio("region", group), stored(tmp_path, before, "folder"), column="x")
    assert said.replace("'north', ", "") in wanted.replace("'north', ", "")
    assert found == wanted


def test_a_column_that_names_nothing_is_refused_in_the_same_words(tmp_path, asked):  # noqa: F811
    before = table().with_columns(region=pl.lit([1.0, 2.0]))
    wanted, found = answers(RATIO, stored(tmp_path, before, "many groups"), column="x")
    assert "which is no label" in wanted
    assert found == wanted


@pytest.mark.slow
def test_samples_that_were_thinned_too_much_are_taken_again(tmp_path, asked, monkeypatch):  # noqa: F811
    few = 2**13
    monkeypatch.setattr(sampler, "KEEP", few)
    monkeypatch.setattr(sampler.Sampler.__init__, "__defaults__", (few,))
    gap = pl.when(pl.Series(np.random.default_rng(2).random(ROWS) < 0.6)).then(None).otherwise(pl.col("x"))
    source = stored(tmp_path, table().with_columns(x=gap.fill_nan(None)), "one group")
    check_same(answers(RATIO, source, column="x"))
    assert [do for do, _ in asked][:4] == ["labels_in_span", "look_at_span", "look_at_span", "shapes_in_span"]


@pytest.mark.slow
def test_shuffled_rows_are_in_the_order_of_one_machine(tmp_path, asked):  # noqa: F811
    check_same(answers(RATIO, stored(tmp_path, table(rows=60_000), "many groups"), column="x", shuffle=True))


SPECIFIED = """
others = "keep"
[columns.x]
hide = "ratio:region=north/south"
prior = "0.5:2"
tolerance = "5%"
max_risk = 0.2
known = "min=0"
[columns.y]
hide = "mean"
prior = "50:200"
tolerance = 1
max_risk = 0.2
"""


@pytest.mark.slow
def test_groups_of_a_specification_are_read_by_workers_too(tmp_path, asked, monkeypatch):  # noqa: F811
    from tests.tables.test_table_release import planned as specified

    nothing_is_read_on_the_driver(monkeypatch)
    before = table().with_columns(y=100 + 9 * pl.Series(np.random.default_rng(4).normal(size=ROWS)))
    check_same(both_specifications(specified(SPECIFIED), stored(tmp_path, before, "many groups")))
    did = [do for do, _ in asked]
    assert did[0] == "labels_in_span"
    assert "shapes_in_span" in did


# --- what goes wrong ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("where", "what"),
    [("labels_in_span", "a failure"), ("shapes_in_span", "a lost worker"), ("write_span", "a lost worker")],
)
def test_a_failure_in_the_middle_leaves_nothing(tmp_path, asked, monkeypatch, where, what):  # noqa: F811
    source = stored(tmp_path, table(), "many groups")
    real = getattr(spark_parquet if hasattr(spark_parquet, where) else asides, where)

    def spoil(work, task):
        real(work, task)  # all of it is there when it fails
        if what == "a lost worker":
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("spoiled")

    monkeypatch.setattr(spark_parquet if hasattr(spark_parquet, where) else asides, where, spoil)
    before = left(tmp_path)
    with pytest.raises(StatveilError) as error:
        release_file(RATIO, source, tmp_path / "out", column="x", opened=open_spark)
    assert "\n" not in str(error.value)
    assert left(tmp_path) == before


def test_other_labels_under_the_same_footer_are_refused(tmp_path, asked):  # noqa: F811
    """As where a machine sees another copy: sizes, times and footers are those of the file that was measured."""
    source = tmp_path / "in.parquet"
    names = {"north": 1, "south": 2, "west": 3, None: 4}
    before = table("difference").select(pl.col("region").replace_strict(names, return_dtype=pl.Int64), "x")
    pq.write_table(before.to_arrow(), source, use_dictionary=False, write_statistics=False, compression="NONE")
    there = open_spark(source)
    groups = read_groups(there, difference("region", "1", "2").problem, "x")
    one, two = (Affine(pivot=0.0, factor=1.0, target=by, quiet=Quiet(bits=49, grain=2.0**-30)) for by in (1.5, -1.5))
    changes = Changes.one("x", Grouped(groups=groups, maps=(one, two)))
    there.write(tmp_path / "fine", changes)
    moved = pl.read_parquet(tmp_path / "fine")["x"] - before["x"]
    assert moved.fill_nan(None).drop_nulls().round(6).unique().sort().to_list() == [-1.5, 0.0, 1.5]
    rows = before["region"][2 * BLOCK : 2 * BLOCK + 40].to_numpy()
    content = source.read_bytes()
    assert content.count(rows.tobytes()) == 1
    source.write_bytes(content.replace(rows.tobytes(), rows[::-1].tobytes()))
    with pytest.raises(ColumnError, match="gives other rows"):
        there.write(tmp_path / "out", changes)
    assert left(tmp_path) == {"in.parquet", "fine"}


# --- the parts of it ------------------------------------------------------------------------------
def labelled(folder, sizes=(0, BLOCK - 1, 2, 0, 3 * BLOCK)):
    """Files with labels, and the rows of both groups."""
    rng = np.random.default_rng(1)
    (folder / "in").mkdir()
    names = []
    for number, size in enumerate(sizes):
        names.append(rng.choice(["a", "b", "c"], size))
        pl.DataFrame({"region": pl.Series(names[-1], dtype=pl.String)}).write_parquet(
            folder / "in" / f"{number}.parquet", row_group_size=10_000
        )
    footers = [read_footer(folder / "in" / f"{number}.parquet") for number in range(len(sizes))]
    both = np.concatenate(names)
    return footers, GroupRows.of(iter([(both == "a", both == "b")]))


def test_groups_are_those_of_bits_in_whichever_order_they_are_asked_for(tmp_path):
    footers, held = labelled(tmp_path)
    column = LabelColumn(name="region", labels=("a", "b"))
    there = GroupsThere(whole_files(footers), column, [labels_in_span(column, one) for one in cut_spans(footers, 2)])
    rng = np.random.default_rng(5)
    starts = [*range(0, held.size, BLOCK), *rng.integers(0, held.size, 20).tolist(), held.size]
    for start in starts:
        size = int(rng.integers(0, min(held.size - start, 2 * BLOCK) + 1))
        for one, two in zip(there.rows(start, size), held.rows(start, size), strict=True):
            assert np.array_equal(one, two)
        assert there.before(start) == held.before(start)
    assert there.known == held.known == (True, True)
    assert there.most(held.size) == held.most(held.size)
    assert sum(there.most(held.size)) == held.size
    with pytest.raises(ColumnError, match="more rows now"):
        there.rows(held.size - 1, 2)


def test_what_a_worker_tells_does_not_hold_the_labels_again(tmp_path):
    import pickle

    footers, _ = labelled(tmp_path)
    column = LabelColumn(name="region", labels=("a", "b"))
    seen = [labels_in_span(column, one) for one in cut_spans(footers, 2)]
    there = GroupsThere(whole_files(footers), column, 1_000 * seen)
    sent = pickle.dumps(there)
    assert len(sent) > 40_000
    assert len(pickle.dumps(pickle.loads(sent))) < 1_500


def test_labels_are_read_in_longer_and_longer_stretches(tmp_path, monkeypatch):
    footers, held = labelled(tmp_path)
    column = LabelColumn(name="region", labels=("a", "b"))
    there = GroupsThere(whole_files(footers), column, [labels_in_span(column, one) for one in cut_spans(footers, 2)])
    read = []

    def spied(files, start, stop):
        read.append((start // BLOCK, -(-stop // BLOCK)))
        return span_of(files, start, stop)

    monkeypatch.setattr(labels, "span_of", spied)
    for start in range(0, held.size, BLOCK):
        there.rows(start, min(BLOCK, held.size - start))
    assert read == [(0, 1), (1, 3), (3, 5)]


@pytest.mark.parametrize("share", [0.4, 0.02])
def test_a_column_that_is_watched_in_parts_is_found_to_be_what_it_is(monkeypatch, share):
    few = 2**12
    monkeypatch.setattr(sampler, "KEEP", few)
    monkeypatch.setattr(sampler.Sampler.__init__, "__defaults__", (few,))
    rng = np.random.default_rng(6)
    rows = 2 * BLOCK + 900
    values = np.where(rng.random(rows) < 0.3, np.nan, rng.gamma(2.0, 3.0, rows))
    draw = rng.random(rows)
    groups = GroupRows.of(iter([(draw < share, draw > 0.5)]))
    whole, parted = (GroupVerifier(RATIO, groups, bits=53) for _ in range(2))
    blocks = [(start, values[start : start + BLOCK]) for start in range(0, rows, BLOCK)]
    for start, block in blocks:
        whole.watch(block, start)
    finite = rows
    for _ in range(2):
        assert parted.begin(blocks[0][1], finite)
        for start, block in blocks[::-1]:
            part = parted.part()
            part.watch(block, start)
            parted.join(part.seen())
        if settled := parted.settle():
            break
        finite = int(np.isfinite(values).sum())
    assert settled
    for one, two in zip(parted._samplers(), whole._samplers(), strict=True):
        assert np.array_equal(one.values, two.values)
    assert parted.numbers() == whole.numbers()
