"""Parquet files that Spark's workers read and write by themselves: what one machine releases, to the last bit."""

from __future__ import annotations

import os
import signal
import tempfile
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from statveil.errors import ColumnError, FileError, StatveilError
from statveil.tables import looking_later
from statveil.tables.blocks import BLOCK
from statveil.tables.changes import Changes
from statveil.tables.looking import NumberLook
from statveil.tables.maps import spread_ranks
from statveil.tables.maps.affine import Affine, Quiet
from statveil.tables.release_file import release_file
from statveil.tables.release_table import release_table
from statveil.tables.spark import shipping, spans, spark_parquet, workers
from statveil.tables.spark.spark_file import SparkFile, open_spark
from statveil.tables.spark.spark_parquet import SparkParquet
from statveil.tables.verification import Verifier
from tests.plans import BY_MODE, column_for
from tests.spark.test_looking import CUTS, LAST, RELEASED, ROWS, TELLING, gaps
from tests.spark.test_spans import PLAIN
from tests.tables import test_table_release as table_release

SEED = 7
TABLES = {**RELEASED, "affine": RELEASED["shift"]}
"""Of the modes that need no row on the driver."""


@pytest.fixture
def asked(spark, monkeypatch):
    """Tables of these tests are long, and in several spans; what was asked of workers is kept."""
    monkeypatch.setattr(looking_later, "SHORT", 50_000)
    monkeypatch.setattr(spans, "_LEAST_BYTES", 1)
    came = []
    real = spark_parquet.on_workers

    def spied(session, do, work, tasks, *, what):
        came.append((do.__name__, len(tasks)))
        return real(session, do, work, tasks, what=what)

    monkeypatch.setattr(spark_parquet, "on_workers", spied)
    return came


def stored(folder, table, layout):
    """The table on the disk, in one of several layouts."""
    if layout == "folder":
        (folder / "in").mkdir()
        for number, (start, stop) in enumerate(pairwise(CUTS)):
            table[start:stop].write_parquet(folder / "in" / f"{number}.parquet", row_group_size=20_000)
        return folder / "in"
    size = {"one group": ROWS, "many groups": 7_777}[layout]
    table.write_parquet(folder / "in.parquet", row_group_size=size)
    return folder / "in.parquet"


def answers(plan, source, **options):
    """What one machine and Spark make of it: release and rows, or words."""
    found = []
    for name, opened in (("one", {}), ("spark", {"opened": open_spark})):
        folder = source.parent / name
        folder.mkdir()
        target = folder / ("out" if opened or source.is_dir() else "out.parquet")
        try:
            done = release_file(plan, source, target, seed=SEED, **options, **opened)
        except StatveilError as error:
            assert not any(folder.iterdir())
            found.append(str(error))
            continue
        parts = [target] if target.is_file() else sorted(target.iterdir())
        assert {path.name for path in folder.iterdir()} == {target.name, f"{target.name}.card.json"}
        assert all(path.suffix == ".parquet" for path in parts)
        card = {key: value for key, value in done.card.items() if key != "sha256"}
        found.append((done.record, card, pl.concat([pl.read_parquet(part) for part in parts])))
    return found


def check_same(found):
    (record, card, table), (record_there, card_there, table_there) = found
    assert record_there == record
    assert card_there == card
    assert table_there.schema == table.schema
    assert table_there.equals(table)


def nothing_is_read_on_the_driver(monkeypatch):
    for name in ("together", "beside", "beside_some", "pieces", "column"):
        monkeypatch.delattr(SparkParquet, name)
    monkeypatch.setattr(SparkParquet, "__abstractmethods__", frozenset())


@pytest.mark.parametrize(
    ("mode", "share", "layout"),
    [
        ("shift", 0.0, "one group"),
        ("shift", 0.3, "many groups"),
        ("shift", 0.95, "folder"),
        ("scale", 0.0, "folder"),
        ("lattice", 0.0, "many groups"),
        ("odds", 0.0, "many groups"),
        ("affine", 0.1, "many groups"),
        ("affine", 0.0, "folder"),
    ],
)
@pytest.mark.heavy(1)
def test_the_release_is_that_of_one_machine_and_no_row_passes_the_driver(
    tmp_path, asked, monkeypatch, mode, share, layout
):
    nothing_is_read_on_the_driver(monkeypatch)
    source = stored(tmp_path, TABLES[mode].with_columns(gaps(share)), layout)
    check_same(answers(BY_MODE[mode], source, column="x"))
    did = [do for do, _ in asked]
    assert did[0] == "look_at_span"
    wrote = did.index("write_span")
    assert {*did[wrote + 1 :]} - {"do_in_span"} == {"hashes_of", "look_at_span"}, "what was written is looked at too"
    assert ("do_in_span" in did[:wrote]) is (mode in ("odds", "affine"))
    assert asked[wrote][1] > 1


DRAWN = [mode for mode in BY_MODE if mode not in TABLES]


def drawn_table(mode, rows=ROWS):
    rng = np.random.default_rng(3)
    x = pl.Series(column_for(mode, rng, rows))
    if mode in ("unit", "rank"):  # as floats, some of which are no numbers
        x = x.cast(pl.Float64).scatter([5, BLOCK + 1], [float("nan"), float("nan")])
    return pl.DataFrame(
        {
            "x": x,
            "id": np.arange(rows),
            "w": rng.random(rows),
            "region": pl.Series(["east", "west", None])[rng.integers(0, 3, rows)],
            "note": pl.Series(["a one", "b two", "c"])[rng.integers(0, 3, rows)],
        }
    )


def nothing_is_kept_on_the_driver(monkeypatch, spark):
    """Neither in files of its own, nor in those that every machine fetches."""

    def never(*given, **options):
        raise AssertionError("something as long as the column lies on the driver")

    monkeypatch.setattr(shipping, "_LONG", 2**20)  # bytes: fewer than the rows of these tests have
    monkeypatch.setattr(type(spark.sparkContext), "addFile", never)
    monkeypatch.setattr(tempfile, "TemporaryFile", never)


def test_each_mode_that_draws_rows_is_tried():
    assert {mode for mode, _, _ in SPREAD} == {*DRAWN}


SPREAD = [
    ("rank", 0.3, "folder"),
    ("model", 0.0, "many groups"),
    ("smooth", 0.3, "folder"),
    ("unit", 0.0, "folder"),
    ("jitter", 0.3, "many groups"),
    ("category", 0.3, "folder"),
]


@pytest.mark.parametrize(("mode", "share", "layout"), SPREAD)
@pytest.mark.heavy(1)
def test_modes_that_draw_rows_read_and_keep_none_on_the_driver_either(
    spark, tmp_path, asked, monkeypatch, mode, share, layout
):
    nothing_is_read_on_the_driver(monkeypatch)
    nothing_is_kept_on_the_driver(monkeypatch, spark)
    monkeypatch.setattr(spread_ranks, "_RUN", 50_000)
    monkeypatch.setattr(spread_ranks, "_PIECE", 1)
    source = stored(tmp_path, drawn_table(mode).with_columns(gaps(share)), layout)
    check_same(answers(BY_MODE[mode], source, column="x"))
    did = [do for do, _ in asked]
    assert did[0] == "look_at_span"
    assert did[1] == "look_beside_span"
    assert did[2] == "join_watchers"
    assert "do_in_span" in did[3 : did.index("write_span")], "the map was made by workers, too"


@pytest.mark.parametrize(
    ("mode", "change", "said"),
    [
        ("jitter", {"x": pl.col("x").sort()}, "the order of the rows tells"),
        ("category", {"told": pl.col("x").str.slice(0, 1)}, "'told'"),
        ("unit", {"told": 3 * pl.col("x") + 1}, "'told'"),
    ],
)
@pytest.mark.heavy(1)
def test_rows_that_are_drawn_and_told_are_refused_in_the_same_words(tmp_path, asked, mode, change, said):
    table = drawn_table(mode, 2 * BLOCK + 700).with_columns(**change)
    wanted, found = answers(BY_MODE[mode], stored(tmp_path, table, "many groups"), column="x")
    assert said in wanted
    assert found == wanted
    assert "look_beside_span" in [do for do, _ in asked]


@pytest.mark.parametrize("what", TELLING)
@pytest.mark.heavy(1)
def test_a_column_that_tells_is_refused_in_the_same_words(tmp_path, asked, what):
    table = RELEASED["shift"].with_columns(TELLING[what])
    if what == "averages of groups":
        table = table.with_columns((pl.col("id") // 30).alias("group"))
    wanted, found = answers(BY_MODE["shift"], stored(tmp_path, table, "many groups"), column="x")
    assert "'told'" in wanted
    assert found == wanted


def test_files_that_tell_are_refused_in_the_same_words(tmp_path, asked):
    x = np.sort(RELEASED["shift"]["x"].to_numpy())
    rng = np.random.default_rng(8)
    for start, stop in pairwise(CUTS):
        rng.shuffle(x[start:stop])
    source = stored(tmp_path, pl.DataFrame({"x": x}), "folder")
    wanted, found = answers(BY_MODE["shift"], source, column="x", accept=["order"])
    assert "the files of the folder" in wanted
    assert found == wanted


def test_values_off_the_step_in_the_last_rows_are_refused(tmp_path, asked):
    table = RELEASED["lattice"].with_columns(x=pl.when(LAST).then(pl.col("x") + 0.5).otherwise(pl.col("x")))
    wanted, found = answers(BY_MODE["lattice"], stored(tmp_path, table, "one group"), column="x")
    assert "off the declared step" in wanted
    assert found == wanted
    assert [do for do, _ in asked] == ["look_at_span"]


@pytest.mark.slow
def test_a_sample_that_was_thinned_too_much_is_taken_again(tmp_path, asked, monkeypatch):
    from statveil.tables.structure.reading import sampler

    few = 2**14
    monkeypatch.setattr(sampler, "KEEP", few)
    monkeypatch.setattr(sampler.Sampler.__init__, "__defaults__", (few,))
    source = stored(tmp_path, RELEASED["shift"].with_columns(gaps(0.6)), "one group")
    check_same(answers(BY_MODE["shift"], source, column="x"))
    assert [do for do, _ in asked][:3] == ["look_at_span", "look_at_span", "write_span"]


@pytest.mark.parametrize("mode", ["shift", "rank"])
@pytest.mark.heavy(1)
def test_shuffled_rows_are_in_the_order_of_one_machine(tmp_path, asked, mode):
    table = RELEASED["shift"] if mode == "shift" else drawn_table(mode)
    source = stored(tmp_path, table.head(60_000), "many groups")
    check_same(answers(BY_MODE[mode], source, column="x", shuffle=True))


MANY = """
others = "keep"
[columns.wage]
hide = "mean"
prior = "50:200"
tolerance = 1
max_risk = 0.2
known = "min=0"
[columns.calls]
hide = "mean"
family = "poisson"
prior = "rate=2:30"
tolerance = 0.3
max_risk = 0.2
[columns.colour]
hide = "fraction:red"
family = "categorical"
labels = ["red", "green", "blue"]
tolerance = 0.03
max_risk = 0.2
[columns.dull]
drop = true
[columns.double]
derive = "2 * wage"
[columns.gross]
link = "wage"
factor = 2.0
"""


def both_specifications(plan, source):
    """What one machine and Spark make of a table: release and rows, or words."""
    found = []
    for name, opened in (("one", {}), ("spark", {"opened": open_spark})):
        target = source.parent / (name if opened or source.is_dir() else f"{name}.parquet")
        try:
            done = release_table(plan, source, target, seed=SEED, **opened)
        except StatveilError as error:
            found.append(str(error))
            continue
        parts = [target] if target.is_file() else sorted(target.iterdir())
        card = {key: value for key, value in done.card.items() if key != "sha256"}
        found.append((done.record, card, pl.concat([pl.read_parquet(part) for part in parts])))
    return found


def many_columns(rng):
    return pl.DataFrame(
        {
            "wage": column_for("scale", rng, ROWS),
            "calls": pl.Series(column_for("unit", rng, ROWS)).scatter(rng.integers(0, ROWS, 9_000), None),
            "colour": column_for("category", rng, ROWS),
            "dull": rng.random(ROWS),
            "kept": rng.random(ROWS),
        }
    ).with_columns(double=2 * pl.col("wage"), gross=2 * pl.col("wage"))


@pytest.mark.slow
def test_no_row_of_a_specification_is_read_on_the_driver(tmp_path, asked, monkeypatch):
    nothing_is_read_on_the_driver(monkeypatch)
    plan = table_release.planned(MANY)
    table = many_columns(np.random.default_rng(3))
    check_same(both_specifications(plan, stored(tmp_path, table, "many groups")))
    did = [do for do, _ in asked]
    assert did[0] == "show_span", "whether what moves along is a multiple"
    assert did[: did.index("look_beside_span")].count("look_at_span") == 4, "each hidden column, and what moves along"
    assert did.count("look_beside_span") == 1, "all of them in one pass"
    assert did[did.index("write_span") :].count("show_span") == 1, "what is derived is worked out again by workers"


@pytest.mark.slow
def test_a_column_of_a_specification_that_tells_is_refused_in_the_same_words(tmp_path, asked):
    table = many_columns(np.random.default_rng(3)).with_columns(told=3 * pl.col("wage") + 7)
    wanted, found = both_specifications(table_release.planned(MANY), stored(tmp_path, table, "many groups"))
    assert "'told'" in wanted
    assert found == wanted


@pytest.mark.slow
def test_columns_of_a_specification_that_move_along_are_not_read_on_the_driver_either(tmp_path, asked, monkeypatch):
    nothing_is_read_on_the_driver(monkeypatch)
    table = table_release.table(BLOCK + 900)
    table.write_parquet(tmp_path / "in.parquet", row_group_size=10_000)
    check_same(both_specifications(table_release.PLAN, tmp_path / "in.parquet"))
    assert ("write_span", 2) in asked


# --- types ----------------------------------------------------------------------------------------
def test_all_other_columns_are_for_spark_what_they_were(spark, tmp_path, asked):
    rows = 3_000
    rng = np.random.default_rng(5)
    x = rng.normal(103, 9, rows)
    kinds = {name: pl.Series(pl.DataFrame({name: one})[name])[rng.integers(0, 2, rows)] for name, one in PLAIN.items()}
    table = pl.DataFrame({"x": pl.Series([None, *x[1:].tolist()]), **kinds})
    source = stored(tmp_path, table, "many groups")
    check_same(answers(BY_MODE["shift"], source, column="x", accept=["copies"]))
    before, after = (spark.read.parquet(str(path)) for path in (source, tmp_path / "spark" / "out"))
    assert after.schema == before.schema
    assert after.drop("x").collect() == before.drop("x").collect()


def test_a_table_that_spark_wrote(spark, tmp_path, asked):
    frame = spark.range(3_000).selectExpr(
        "id", "103 + 9 * randn(3) x", "cast(id as decimal(9,2)) d", "timestamp_seconds(id) t", "array(id) l"
    )
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    try:
        frame.coalesce(1).write.parquet(str(tmp_path / "in"))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    assert isinstance(open_spark(tmp_path / "in"), SparkParquet)
    check_same(answers(BY_MODE["shift"], tmp_path / "in", column="x", accept=["copies", "order"]))
    before, after = (spark.read.parquet(str(path)) for path in (tmp_path / "in", tmp_path / "spark" / "out"))
    assert after.schema == before.schema
    assert after.drop("x").collect() == before.drop("x").collect()


def test_types_of_spark_alone_go_through_spark_and_the_holder_is_told(spark, tmp_path):
    frame = spark.range(3_000).selectExpr("103 + 9 * randn(3) x", "map('a', id) m", "timestamp_seconds(id) t")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    try:
        frame.coalesce(1).write.parquet(str(tmp_path / "in"))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    assert isinstance(open_spark(tmp_path / "in"), SparkFile)
    done = release_file(
        BY_MODE["shift"], tmp_path / "in", tmp_path / "out", column="x", seed=SEED, accept=["copies"], opened=open_spark
    )
    assert any("'m', 't'" in note and "takes longer" in note for note in done.notes)
    assert spark.read.parquet(str(tmp_path / "out")).schema == spark.read.parquet(str(tmp_path / "in")).schema


def test_files_of_other_columns_are_refused(spark, tmp_path):
    (tmp_path / "in").mkdir()
    pl.DataFrame({"x": [1.0]}).write_parquet(tmp_path / "in" / "a.parquet")
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "in" / "b.parquet")
    with pytest.raises(FileError, match="same columns and types"):
        open_spark(tmp_path / "in")


def test_a_table_without_rows_keeps_its_columns(spark, tmp_path):
    table = pl.DataFrame(PLAIN).clear()
    table.write_parquet(tmp_path / "in.parquet")
    open_spark(tmp_path / "in.parquet").write(tmp_path / "out", Changes())
    (part,) = (tmp_path / "out").iterdir()
    assert pl.read_parquet(part).schema == table.schema


# --- what goes wrong ------------------------------------------------------------------------------
def spoiled(monkeypatch, spoil):
    """Have the workers do something else than to write a span."""
    real = workers.write_span

    def write(work, task):
        return spoil(real, work, task)

    monkeypatch.setattr(spark_parquet, "write_span", write)


def left(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("what", ["a failure", "a refusal", "a lost worker", "a wrong number of rows"])
@pytest.mark.heavy(1)
def test_a_failure_in_the_middle_leaves_nothing(tmp_path, asked, monkeypatch, what):
    source = stored(tmp_path, RELEASED["shift"], "many groups")

    def spoil(real, work, task):
        done = real(work, task)  # all of it is there when it fails
        if task.span.first:
            if what == "a failure":
                raise RuntimeError("spoiled")
            if what == "a refusal":
                raise ColumnError("spoiled")
            if what == "a lost worker":
                os.kill(os.getpid(), signal.SIGKILL)
            done.rows -= 1
        return done

    spoiled(monkeypatch, spoil)
    before = left(tmp_path)
    with pytest.raises(StatveilError) as error:
        release_file(BY_MODE["shift"], source, tmp_path / "out", column="x", opened=open_spark)
    assert isinstance(error.value, ColumnError) is (what == "a refusal")
    assert "\n" not in str(error.value)
    assert left(tmp_path) == before


@pytest.mark.parametrize(
    ("where", "what"), [("do_item", "a failure"), ("do_item", "a lost worker"), ("look_beside_span", "a refusal")]
)
@pytest.mark.heavy(1)
def test_a_failure_in_the_middle_of_the_ranks_leaves_nothing(tmp_path, asked, monkeypatch, where, what):
    source = stored(tmp_path, drawn_table("rank"), "many groups")
    real = getattr(workers, where)

    def spoil(work, task):
        real(work, task)  # all of it is there when it fails
        if what == "a lost worker":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ColumnError("spoiled") if what == "a refusal" else RuntimeError("spoiled")

    monkeypatch.setattr(spark_parquet, where, spoil)
    before = left(tmp_path)
    with pytest.raises(StatveilError) as error:
        release_file(BY_MODE["rank"], source, tmp_path / "out", column="x", opened=open_spark)
    assert isinstance(error.value, ColumnError) is (what == "a refusal")
    assert "\n" not in str(error.value)
    assert left(tmp_path) == before


@pytest.mark.slow
def test_ranks_that_are_worked_out_twice_are_the_same(tmp_path, asked, monkeypatch):
    source = stored(tmp_path, drawn_table("rank", BLOCK + 700), "many groups")
    monkeypatch.setattr(spread_ranks, "_RUN", 50_000)
    real = workers.do_item

    def twice(work, task):
        real(work, task)  # as a worker does that was slow, and whose task another one did meanwhile
        return real(work, task)

    monkeypatch.setattr(spark_parquet, "do_item", twice)
    check_same(answers(BY_MODE["rank"], source, column="x"))


def test_attempts_that_were_given_up_are_no_part_of_the_table(tmp_path, asked, monkeypatch):
    source = stored(tmp_path, RELEASED["shift"], "many groups")

    def spoil(real, work, task):
        real(work, task)  # as a worker does that was slow, and whose task another one did meanwhile
        return real(work, task)

    spoiled(monkeypatch, spoil)
    check_same(answers(BY_MODE["shift"], source, column="x"))


def test_temporary_files_are_for_the_owner_alone(tmp_path, asked, monkeypatch):
    source = stored(tmp_path, RELEASED["shift"], "many groups")

    def spoil(real, work, task):
        from pathlib import Path

        modes = [folder.stat().st_mode & 0o777 for folder in (Path(work.folder), Path(work.folder).parent)]
        if modes != [0o700, 0o700]:
            raise RuntimeError(f"{modes}")
        return real(work, task)

    spoiled(monkeypatch, spoil)
    release_file(BY_MODE["shift"], source, tmp_path / "out", column="x", opened=open_spark)
    assert [*(tmp_path / "out").glob("part-*.parquet")], "the workers wrote, after they had looked"


@pytest.mark.parametrize("when", ["look_at_span", "write_span"])
def test_a_file_that_is_replaced_is_refused(tmp_path, asked, monkeypatch, when):
    source = stored(tmp_path, RELEASED["shift"], "many groups")
    real = spark_parquet.on_workers

    def replaced(session, do, work, tasks, *, what):
        if do.__name__ == when:
            RELEASED["shift"].with_columns(x=pl.col("x").reverse()).write_parquet(source)
        return real(session, do, work, tasks, what=what)

    monkeypatch.setattr(spark_parquet, "on_workers", replaced)
    with pytest.raises(FileError, match="changed while it was read"):
        release_file(BY_MODE["shift"], source, tmp_path / "out", column="x", opened=open_spark)
    assert left(tmp_path) == {"in.parquet"}


def test_other_values_under_the_same_footer_are_refused(tmp_path, asked):
    """As where a machine sees another copy: sizes, times and footers are those of the file that was measured."""
    source = tmp_path / "in.parquet"
    RELEASED["shift"].select("x").write_parquet(source, compression="uncompressed", statistics=False)
    table = open_spark(source)
    assert table.look("x", NumberLook(Verifier(BY_MODE["shift"], bits=53), None), None)
    changes = Changes.one("x", Affine(pivot=0.0, factor=1.0, target=1.5, quiet=Quiet(bits=49, grain=2.0**-30)))
    table.write(tmp_path / "fine", changes)
    value = RELEASED["shift"]["x"][2 * BLOCK].hex()
    content = bytearray(source.read_bytes())
    place = content.index(np.float64(float.fromhex(value)).tobytes())
    content[place : place + 8] = np.float64(100.0).tobytes()
    source.write_bytes(content)
    with pytest.raises(ColumnError, match="gives other rows"):
        table.write(tmp_path / "out", changes)
    assert left(tmp_path) == {"in.parquet", "fine"}
