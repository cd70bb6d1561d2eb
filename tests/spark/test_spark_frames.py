"""DataFrames by way of files that workers read and write: what one machine releases, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.errors import FileError, StatveilError
from statveil.tables.maps import spread_ranks
from statveil.tables.spark import frame_files, looking, passes, private_folder, spark_parquet, workers
from statveil.tables.spark.frame_files import FOLDER
from tests.plans import BY_MODE
from tests.spark.test_looking import CUTS, RELEASED, TELLING, gaps
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
    folders = (folder for root in place.iterdir() for folder in root.iterdir() if folder.is_dir())
    return [sorted(one.name for one in folder.iterdir()) for folder in folders]


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
@pytest.mark.heavy(1)
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


MEDIAN = sv.plan(sv.Problem(secret=sv.Quantile(0.5), prior=(50, 200), tolerance=1), max_risk=0.2)


@pytest.mark.parametrize(
    ("what", "mode", "plan", "change"),
    [
        ("a quantile", "shift", MEDIAN, lambda frame: frame),
        ("a map that needs passes", "odds", BY_MODE["odds"], lambda frame: frame),
        ("many partitions", "shift", BY_MODE["shift"], lambda frame: frame),
        ("partitions that may change", "lattice", BY_MODE["lattice"], lambda frame: frame.repartition(3).sort("id")),
    ],
)
@pytest.mark.heavy(1)
def test_columns_that_cannot_be_looked_at_where_they_lie(
    place,
    asked,  # noqa: F811
    in_parts,
    monkeypatch,
    what,
    mode,
    plan,
    change,
):
    table = RELEASED[mode].with_columns(gaps(0.1))
    wanted = answer(plan, table, column="x", accept=["copies"] if what == "a quantile" else [])
    if what == "many partitions":
        monkeypatch.setattr(looking, "_MOST_PARTS", len(CUTS) - 3)  # one has no rows
    else:
        nothing_passes_the_driver(monkeypatch)
    frame = change(in_parts(table))
    check_same(answer(plan, frame, column="x", accept=["copies"] if what == "a quantile" else []), wanted)
    assert "look_at_span" in [do for do, _ in asked]
    assert left(place) == [["released"]]


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.heavy(1)
def test_two_groups(spark, place, asked, in_parts, monkeypatch, kind):  # noqa: F811
    nothing_passes_the_driver(monkeypatch)
    nothing_is_kept_on_the_driver(monkeypatch, spark)
    table = grouped_table(kind).with_columns(pl.col("x").fill_nan(None))
    check_same(answer(GROUPS[kind], in_parts(table), column="x"), answer(GROUPS[kind], table, column="x"))
    assert "labels_in_span" in [do for do, _ in asked]
    assert left(place) == [["released"]]


@pytest.mark.parametrize("kind", two_columns.PLANS)
@pytest.mark.heavy(1)
def test_two_columns(spark, place, asked, in_parts, monkeypatch, kind):  # noqa: F811
    nothing_passes_the_driver(monkeypatch)
    nothing_is_kept_on_the_driver(monkeypatch, spark)
    table = pair_table(kind)
    check_same(answer(two_columns.PLANS[kind], in_parts(table)), answer(two_columns.PLANS[kind], table))
    assert left(place) == [["released"]]


@pytest.mark.slow
def test_a_specification_of_many_columns(spark, place, asked, in_parts, monkeypatch):  # noqa: F811
    nothing_passes_the_driver(monkeypatch)
    nothing_is_kept_on_the_driver(monkeypatch, spark)
    plan, table = table_release.planned(MANY), many_columns(np.random.default_rng(3))
    frame = in_parts(table)
    check_same(answer(plan, frame), answer(plan, table))
    assert [do for do, _ in asked].count("look_beside_span") == 1, "all columns in one pass"
    assert left(place) == [["released"]]


@pytest.mark.parametrize("mode", ["shift", "unit"])
@pytest.mark.heavy(1)
def test_shuffled_rows_are_in_the_order_of_one_machine(place, asked, in_parts, monkeypatch, mode):  # noqa: F811
    table = RELEASED["shift"] if mode == "shift" else drawn_table(mode)
    wanted = answer(BY_MODE[mode], table, column="x", shuffle=True)
    if mode == "unit":
        nothing_passes_the_driver(monkeypatch)
    check_same(answer(BY_MODE[mode], in_parts(table), column="x", shuffle=True), wanted)
    assert left(place) == ([["released"]] if mode == "unit" else []), "columns that move alike stay where they lie"


# --- refusals -------------------------------------------------------------------------------------
@pytest.mark.parametrize("what", TELLING)
@pytest.mark.heavy(1)
def test_a_column_that_tells_is_refused_in_the_same_words(place, asked, in_parts, what):  # noqa: F811
    table = RELEASED["shift"].with_columns(TELLING[what])
    if what == "averages of groups":
        table = table.with_columns((pl.col("id") // 30).alias("group"))
    wanted = answer(BY_MODE["shift"], table, column="x")
    assert "'told'" in wanted
    assert answer(BY_MODE["shift"], in_parts(table).coalesce(5), column="x") == wanted
    assert "look_at_span" in [do for do, _ in asked]
    assert left(place) == []


@pytest.mark.parametrize(
    ("mode", "change", "said"),
    [
        ("jitter", {"x": pl.col("x").sort()}, "the order of the rows tells"),
        ("category", {"told": pl.col("x").str.slice(0, 1)}, "'told'"),
        ("unit", {"told": 3 * pl.col("x") + 1}, "'told'"),
        ("unit", {"x": pl.lit("none")}, "needs numbers"),
        ("unit", {"x": 10 * pl.col("x")}, "outside"),
    ],
)
@pytest.mark.heavy(1)
def test_what_one_machine_refuses_is_refused_in_the_same_words(place, asked, in_parts, mode, change, said):  # noqa: F811
    table = drawn_table(mode).with_columns(**change)
    wanted = answer(BY_MODE[mode], table, column="x")
    assert said in wanted
    assert answer(BY_MODE[mode], in_parts(table), column="x") == wanted
    assert left(place) == []


def test_partitions_that_tell_are_no_part_of_what_is_released(place, asked, in_parts):  # noqa: F811
    """Rows of a partition lie about one value: nobody sees where it ends, but their order tells as on one machine."""
    table = drawn_table("unit").select(pl.col("x").fill_nan(None), "w")
    x = np.sort(table["x"].fill_null(3).to_numpy())
    rng = np.random.default_rng(8)
    for start, stop in pairwise(CUTS):
        rng.shuffle(x[start:stop])
    table = table.with_columns(x=pl.Series(x))
    wanted = answer(BY_MODE["unit"], table, column="x")
    assert "the order of the rows tells" in wanted
    assert answer(BY_MODE["unit"], in_parts(table), column="x") == wanted
    shuffled = answer(BY_MODE["unit"], table, column="x", shuffle=True)
    check_same(answer(BY_MODE["unit"], in_parts(table), column="x", shuffle=True), shuffled)


# --- what is handed back --------------------------------------------------------------------------
@pytest.mark.slow
def test_types_names_and_missing_values(spark, place, asked, monkeypatch):  # noqa: F811
    """They are those of the original, and of the other way; rows that are drawn anew in each run are drawn once."""
    nothing_passes_the_driver(monkeypatch)
    frame = spark.range(0, 60_000, 1, 3).selectExpr(
        "cast(floor(4 * rand(3)) + floor(4 * rand(4)) as int) x",
        "id `a.b`",
        "cast(id as decimal(9,2)) `de c,i;{}(m)=`",
        "timestamp_seconds(id * 7919 % 100003) `when`",
        "timestamp_ntz'2020-01-01 00:00:00' ntz",
        "date_add(date'1000-01-01', cast(id as int)) `^day.*$`",
        "array(id, null) l",
        "named_struct('one', id, 'two', array(string(id))) s",
        "cast(id % 7 as tinyint) `öß`",
        "cast(string(id) as binary) bytes",
        "if(id % 3 = 0, null, string(id)) text",
        "float(rand(5)) f",
        "rand() r",
    )
    described = frame.withMetadata("text", {"comment": "the true mean is 3"})
    done = sv.release(BY_MODE["unit"], described, column="x", seed=SEED, accept=["copies", "groups", "order", "misfit"])
    first, second = done.collect(), done.collect()
    assert first == second
    assert [row["a.b"] for row in first] == [*range(60_000)]
    assert done.drop("r", "x").collect() == frame.drop("r", "x").collect()
    assert done.columns == frame.columns
    assert done.dtypes == frame.dtypes, "but for cells that cannot be empty: of columns of files all can"
    assert all(not one.metadata for one in done.schema)
    done.write.parquet(str(place / "written"))
    assert spark.read.parquet(str(place / "written")).count() == 60_000
    assert done.where("`a.b` >= 59990").select("x").collect() == done.select("x").collect()[59_990:]


@pytest.mark.parametrize("what", ["a map", "an interval", "one name twice", "names that differ in case"])
@pytest.mark.heavy(1)
def test_columns_that_files_cannot_have_go_past_the_driver(spark, place, asked, what):  # noqa: F811
    column = {
        "a map": "map('a', id) m",
        "an interval": "make_dt_interval(cast(id as int)) m",
        "one name twice": "id w",
        "names that differ in case": "id W",
    }[what]
    table = drawn_table("unit").head(60_000).select(pl.col("x").fill_nan(None), "w")
    frame = spark.createDataFrame(table.with_columns(id=pl.int_range(pl.len())).to_arrow())
    frame = frame.selectExpr("x", "w", column)
    done = sv.release(BY_MODE["unit"], frame, column="x", seed=SEED, accept=["copies"])
    wanted = sv.release(BY_MODE["unit"], table, column="x", seed=SEED, accept=["copies"])
    assert [row[0] for row in done.collect()] == wanted["x"].to_list()
    assert asked == []
    assert left(place) == []


@pytest.mark.slow
def test_columns_that_move_alike_stay_where_they_lie(place, asked, in_parts):  # noqa: F811
    table = RELEASED["shift"]
    check_same(answer(BY_MODE["shift"], in_parts(table), column="x"), answer(BY_MODE["shift"], table, column="x"))
    assert asked == []
    assert left(place) == []


@pytest.mark.slow
def test_short_tables_are_not_written(spark, place, asked, monkeypatch):  # noqa: F811
    table = drawn_table("unit").head(40_000)
    check_same(
        answer(BY_MODE["unit"], spark.createDataFrame(table.to_arrow()), column="x"),
        answer(BY_MODE["unit"], table, column="x"),
    )
    assert asked == []
    assert left(place) == []


# --- where the files lie --------------------------------------------------------------------------
class _Cluster:
    """A session of which only the place of its files is asked."""

    def __init__(self, spark):
        self.conf, self.sparkContext = spark.conf, self
        self.master = "spark://elsewhere:7077"


@pytest.mark.slow
def test_a_cluster_needs_a_folder_that_all_its_machines_see(spark, place, asked, in_parts, monkeypatch):  # noqa: F811
    table = drawn_table("unit")
    wanted = answer(BY_MODE["unit"], table, column="x")
    monkeypatch.setattr(frame_files, "_place", lambda session, real=frame_files._place: real(_Cluster(spark)))
    check_same(answer(BY_MODE["unit"], in_parts(table), column="x"), wanted)
    assert (asked, left(place)) == ([], [])
    shared = place.parent / "shared"
    try:
        spark.conf.set(FOLDER, str(shared))
        with pytest.raises(FileError, match="all machines of the cluster see"):
            sv.release(BY_MODE["unit"], in_parts(table), column="x")
        shared.mkdir()
        check_same(answer(BY_MODE["unit"], in_parts(table), column="x"), wanted)
        assert asked
        assert (left(shared), left(place)) == ([["released"]], [])
    finally:
        spark.conf.unset(FOLDER)
        private_folder._MADE.pop(shared).cleanup()


def test_files_are_for_the_owner_alone(place, asked, in_parts, monkeypatch):  # noqa: F811
    seen = []
    real = frame_files.write_copy

    def spied(native, target):
        real(native, target)
        seen.extend(folder.stat().st_mode & 0o777 for folder in (target.parent, target.parent.parent))

    monkeypatch.setattr(frame_files, "write_copy", spied)
    sv.release(BY_MODE["unit"], in_parts(drawn_table("unit")), column="x")
    assert seen == [0o700, 0o700]


_MADE = """
import os, signal, sys
from statveil.tables.spark.private_folder import private_folder
one = private_folder() / "one"
one.mkdir()
(one / "file").touch()
print(one.parent.name, oct(one.parent.stat().st_mode & 0o777), *sorted(os.listdir(sys.argv[1])), flush=True)
if len(sys.argv) > 2:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_released_goes_with_the_process_and_what_a_killed_one_left_with_the_next(tmp_path):
    (tmp_path / "statveil-spark-of-others").mkdir()  # without our mark

    def run(*given):
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-c", _MADE, str(tmp_path), *given]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=not given)
        own, mode, *there = done.stdout.split()
        assert mode == "0o700"
        return own, set(there) - {own, "statveil-spark-of-others"}

    run()
    assert {one.name for one in tmp_path.iterdir()} == {"statveil-spark-of-others"}
    killed, _ = run("kill")
    assert (tmp_path / killed / "one" / "file").exists()
    other = subprocess.Popen(
        [sys.executable, "-c", f"{_MADE}\nsys.stdin.read()", str(tmp_path)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with other:
        living, _, *there = other.stdout.readline().split()
        assert killed not in there
        _, there = run()
        assert there == {living}, "who lives keeps what it has"
    assert {one.name for one in tmp_path.iterdir()} == {"statveil-spark-of-others"}


# --- what goes wrong ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("look_at_span", "a failure"),
        ("look_beside_span", "a lost worker"),
        ("do_in_span", "a stop"),
        ("write_span", "a failure"),
        ("write_span", "a lost worker"),
        ("write_span", "a stop"),
    ],
)
@pytest.mark.heavy(1)
def test_a_failure_leaves_nothing(place, asked, in_parts, monkeypatch, where, what):  # noqa: F811
    real, there = getattr(workers, where), []

    def spoil(work, task):
        real(work, task)  # all of it is there when it fails
        if what == "a lost worker":
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("spoiled")

    asks = spark_parquet.on_workers

    def stopped(session, do, work, tasks, *, what):
        if do is real:
            there.extend(left(place))
            raise KeyboardInterrupt
        return asks(session, do, work, tasks, what=what)

    if what == "a stop":
        monkeypatch.setattr(spark_parquet, "on_workers", stopped)
    else:
        monkeypatch.setattr(spark_parquet, where, spoil)
    with pytest.raises(KeyboardInterrupt if what == "a stop" else StatveilError) as error:
        sv.release(BY_MODE["rank"], in_parts(drawn_table("rank")), column="x")
    assert "\n" not in str(error.value)
    assert what != "a stop" or any("original" in names for names in there)
    assert left(place) == []


@pytest.mark.parametrize("what", ["a full disk", "a failure of Spark"])
def test_a_copy_that_cannot_be_written_leaves_nothing(spark, place, asked, in_parts, monkeypatch, what):  # noqa: F811
    real = frame_files.write_copy

    def spoiled(native, target):
        if what == "a full disk":
            real(native, target)
            raise OSError(28, "No space left on device")
        real(native.selectExpr("*", "raise_error('spoiled') spoiled"), target)

    monkeypatch.setattr(frame_files, "write_copy", spoiled)
    with pytest.raises(StatveilError) as error:
        sv.release(BY_MODE["unit"], in_parts(drawn_table("unit")), column="x")
    assert FOLDER in str(error.value)
    assert ("No space left" if what == "a full disk" else "spoiled") in str(error.value)
    assert "\n" not in str(error.value)
    assert left(place) == []


@pytest.mark.slow
def test_files_that_change_are_refused(place, asked, in_parts, monkeypatch):  # noqa: F811
    asks = spark_parquet.on_workers

    def spoiled(session, do, work, tasks, *, what):
        if do.__name__ == "write_span":
            for file in place.rglob("original/*.parquet"):
                pl.read_parquet(file).with_columns(pl.col("x").reverse()).write_parquet(file)
        return asks(session, do, work, tasks, what=what)

    monkeypatch.setattr(spark_parquet, "on_workers", spoiled)
    with pytest.raises(FileError, match="changed while it was read"):
        sv.release(BY_MODE["unit"], in_parts(drawn_table("unit")), column="x")
    assert left(place) == []
