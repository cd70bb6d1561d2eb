"""Whole tables under a specification: every format and library gives the values that NumPy gives by hand."""

from __future__ import annotations

import csv
import gzip
import json
import math

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pytest

import statveil as sv
from statveil.specification.planned import plan_specification
from statveil.specification.specification import Specification
from statveil.tables.blocks import BLOCK
from statveil.tables.release_table import release_table
from statveil.tables.verify_file import verify
from statveil.work_folder import work_folder_of
from tests.best_possible import none_known
from tests.blurring import most_off

SEED = 77
FORMATS = ("t.parquet", "t.csv", "t.csv.gz", "t.tsv", "t.arrow", "t.xlsx", "t")
ENGINES = {
    "polars": lambda table: table,
    "lazy": pl.DataFrame.lazy,
    "pandas": lambda table: pd.DataFrame(table.to_dict(as_series=False)),
    "arrow": pl.DataFrame.to_arrow,
    "duckdb": lambda table: duckdb.from_arrow(table.to_arrow()),
}
READ = {
    "polars": lambda table: table,
    "lazy": pl.LazyFrame.collect,
    "pandas": pl.from_pandas,
    "arrow": pl.from_arrow,
    "duckdb": lambda relation: relation.pl(),
}

WAGES = """
others = "keep"
[columns.wage]
hide = "mean"
prior = "100:1000"
tolerance = 5
max_risk = 0.2
known = "min=0"
[columns.lwage]
derive = "log(wage)"
[columns.dep]
hide = "mean"
prior = "0:2000"
tolerance = 10
max_risk = 0.2
known = "step=1"
[columns.arr]
link = "dep"
[columns.cents]
link = "dep"
factor = 100.0
[columns.score]
hide = "mean"
prior = "20:100"
tolerance = 1
max_risk = 0.2
[columns.points]
link = "score"
factor = -2.5
[columns.passed]
derive = "score >= 60 and not missing(wage)"
[columns.gone]
drop = true
[columns.delay]
derive = "minutes(arr) - minutes(dep)"
[columns.word]
derive = "where(score >= 60, 'yes, passed', region)"
"""


def planned(text):
    with none_known():
        return plan_specification(Specification.from_toml(text))


PLAN = planned(WAGES)


def table(rows=400, seed=1):
    rng = np.random.default_rng(seed)
    wage = rng.lognormal(5.8, 0.4, rows)
    dep, score = rng.integers(300, 1400, rows), rng.normal(60, 10, rows)
    holed = [None if row % 41 == 3 else value for row, value in enumerate(wage.tolist())]
    return pl.DataFrame(
        {
            "gone": wage * 2,
            "id": rng.permutation(rows),
            "wage": holed,
            "lwage": [None if value is None else math.log(value) for value in holed],
            "dep": dep,
            "arr": dep + rng.integers(30, 90, rows),
            "cents": 100 * (dep + rng.integers(40, 200, rows)),
            "score": score,
            "points": -2.5 * score + rng.normal(0, 30, rows),
            "passed": (score >= 60).astype(np.int64),
            "region": rng.choice(["a", "b", "c"], rows),
        }
    )


def by_hand(before, record):
    """What the specification says, in NumPy, from the coefficients of the hidden columns alone."""
    columns = {
        name: before[name].to_numpy().astype(np.float64) for name in ("wage", "dep", "arr", "cents", "score", "points")
    }
    a, b = {}, {}
    for name in ("wage", "dep", "score"):
        found = record["columns"][name]["coefficients"]
        a[name], b[name] = found["a"], found["b"]
    assert a["wage"] != 1.0
    assert 0 not in (b["dep"], b["score"])
    made = {
        "wage": a["wage"] * columns["wage"],  # about the bound 0
        "dep": columns["dep"] + b["dep"],
        "arr": columns["arr"] + b["dep"],
        "cents": columns["cents"] + 100 * b["dep"],
        "score": columns["score"] + b["score"],
        "points": columns["points"] - 2.5 * b["score"],
    }
    made["lwage"] = np.log(made["wage"])
    made["passed"] = (made["score"] >= 60) & ~np.isnan(made["wage"])
    clock = lambda value: np.floor(value / 100) * 60 + value % 100  # noqa: E731
    made["delay"] = clock(made["arr"]) - clock(made["dep"])
    made["word"] = np.where(made["score"] >= 60, "yes, passed", before["region"].to_numpy())
    return made


def check(after, before, record):
    assert after.columns == [*(name for name in before.columns if name != "gone"), "delay", "word"]
    assert after["id"].to_list() == before["id"].to_list()
    assert after["region"].to_list() == before["region"].to_list()
    wanted = by_hand(before, record)
    assert after["word"].to_list() == wanted.pop("word").tolist()
    off = most_off(PLAN.plans["score"])
    blurred = {"score": off, "points": 2.5 * off}
    for name, values in wanted.items():
        found = after[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        # 32-bit floats are smeared over their cells, and scaled values blurred in their last digits
        near = {"rtol": 0, "atol": blurred[name]} if name in blurred else {"rtol": 2e-6, "atol": 1e-5}
        np.testing.assert_allclose(found, values.astype(np.float64), **near, err_msg=name)
    for name in ("dep", "arr", "cents", "delay"):
        assert after[name].dtype.is_integer()
        assert after[name].to_list() == [int(value) for value in wanted[name]], name
    # what is derived is derived from what is published, to the last digit but one
    lwage, wage = (after[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("lwage", "wage"))
    np.testing.assert_allclose(lwage, np.log(wage), rtol=1e-15)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_library_gives_the_values_of_numpy(engine):
    before = table()
    done = sv.release(PLAN, ENGINES[engine](before), seed=SEED, details=True)
    after = READ[engine](done.table)
    check(after, before, done.record)
    checked = verify(done.table, done.card)
    assert checked.ok, checked.checks


def write(frame, path):
    match "".join(path.suffixes[-2:]):
        case ".csv" | ".csv.gz":
            text = frame.write_csv()
            path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
        case ".tsv":
            frame.write_csv(path, separator="\t")
        case ".parquet":
            frame.write_parquet(path, row_group_size=97)
        case ".arrow":
            frame.write_ipc(path)
        case ".xlsx":
            book = openpyxl.Workbook()
            for row in (frame.columns, *frame.rows()):
                book.active.append(row)
            book.save(path)
        case _:
            path.mkdir()
            frame[:150].write_parquet(path / "a.parquet")
            frame[150:].write_parquet(path / "b.parquet")
    return path


def read(path):
    match "".join(path.suffixes[-2:]):
        case ".csv" | ".csv.gz":
            return pl.read_csv(path)
        case ".tsv":
            return pl.read_csv(path, separator="\t")
        case ".parquet":
            return pl.read_parquet(path)
        case ".arrow":
            return pl.read_ipc(path)
        case ".xlsx":
            head, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
            return pl.DataFrame(rows, schema=list(head), orient="row", infer_schema_length=None)
        case _:
            return pl.concat([pl.read_parquet(one) for one in sorted(path.iterdir())])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.heavy(2)
def test_every_format_gives_the_values_of_numpy(tmp_path, format):
    before = table()
    source, target, record = write(before, tmp_path / format), tmp_path / f"out-{format}", tmp_path / "record.json"
    told = []
    done = release_table(
        PLAN, source, target, record=record, seed=SEED, progress=lambda stage, rows, total: told.append((stage, rows))
    )
    check(read(target), before, done.record)
    assert json.loads(record.read_text()) == done.record
    assert oct(record.stat().st_mode)[-3:] == "600"
    assert verify(target).ok
    assert not work_folder_of(target).exists()
    assert sum(rows for stage, rows in told if stage == "writing") == len(before)
    # one pass that measures all columns and looks at all of them beside each other, and one that writes
    assert sum(rows for stage, rows in told if stage == "reading") == len(before)


def test_blocks_are_those_of_one_column_alone():
    """Hidden columns of two blocks: each is released as it would be by itself with the same seed."""
    from statveil.tables.table_task import column_seed

    rng, rows = np.random.default_rng(3), BLOCK + 1_000
    frame = pl.DataFrame({f"x{i}": rng.normal(90 + i, 10, rows) for i in range(2)} | {"n": rng.poisson(9, rows)})
    text = "".join(
        f'[columns.x{i}]\nhide = "quantile:0.{i + 2}"\nprior = "0:200"\ntolerance = 1\nmax_risk = 0.2\n'
        for i in range(2)
    )
    text += '[columns.n]\nhide = "mean"\nfamily = "poisson"\nprior = "rate=2:30"\ntolerance = 0.3\nmax_risk = 0.2\n'
    plan = planned(text)
    done = sv.release(plan, frame, seed=SEED, details=True)
    for name, one in plan.plans.items():
        alone = sv.release(one, frame, column=name, seed=column_seed(SEED, name))
        assert done.table[name].equals(alone[name])


def test_seeds_of_columns_differ_and_a_record_lends_its_own(tmp_path):
    source = write(table(), tmp_path / "t.parquet")
    record = tmp_path / "record.json"
    one = release_table(PLAN, source, tmp_path / "one.parquet", record=record)
    two = release_table(PLAN, source, tmp_path / "two.parquet", record=record)
    assert one.record == two.record
    seeds = [one.record["seed"], *(found["seed"] for found in one.record["columns"].values() if "seed" in found)]
    assert len({*seeds}) == len(seeds) == 4
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    with pytest.raises(sv.FileError, match="holds the secret seed"):
        release_table(PLAN, source, tmp_path / "three.parquet", record=record, seed=1)
    other = write(table(seed=2), tmp_path / "u.parquet")
    with pytest.raises(sv.FileError, match="record of another release"):
        release_table(PLAN, other, tmp_path / "three.parquet", record=record)
    assert not any(seed in json.dumps(one.card) for seed in seeds)


def test_shuffled_rows_keep_together():
    before = table()
    plan = planned("shuffle = true\n" + WAGES)
    done = sv.release(plan, before, seed=SEED, details=True)
    assert done.table["id"].to_list() != before["id"].to_list()
    assert done.card["shuffled"]
    check(done.table.sort("id"), before.sort("id"), done.record)
    assert verify(done.table, done.card).ok


# --- what is not released -----------------------------------------------------------------------
ONE = """
others = "keep"
[columns.wage]
hide = "mean"
prior = "100:1000"
tolerance = 5
max_risk = 0.2
known = "min=0"
"""


def test_a_kept_logarithm_gives_the_mean_back_and_a_derived_one_does_not():
    rng = np.random.default_rng(4)
    wage = rng.lognormal(5.8, 0.4, 3_000)
    frame = pl.DataFrame({"id": rng.permutation(3_000), "wage": wage, "lwage": np.log(wage)})
    with pytest.raises(sv.StructureError, match=r"'lwage'.*drop them.*derive.*link"):
        sv.release(planned(ONE), frame)
    forced = sv.release(planned(ONE + 'accept = ["copies"]\n'), frame, seed=SEED)
    told = float(np.exp(forced["lwage"].to_numpy()).mean())
    assert abs(told - wage.mean()) < 1e-6  # the attacker of a release by force is right to the last digit
    safe = sv.release(planned(ONE + '[columns.lwage]\nderive = "log(wage)"\n'), frame, seed=SEED)
    told = float(np.exp(safe["lwage"].to_numpy()).mean())
    assert abs(told - safe["wage"].mean()) < 1e-3  # and of a derived one learns what the column says anyway
    assert abs(told - wage.mean()) > 0.1


def test_a_pass_flag_pins_the_score_unless_it_is_derived():
    rng = np.random.default_rng(5)
    score = rng.normal(60, 10, 3_000)
    frame = pl.DataFrame({"score": score, "passed": score >= 60})
    text = 'others = "keep"\n[columns.score]\nhide = "mean"\nprior = "20:100"\ntolerance = 1\nmax_risk = 0.2\n'
    with pytest.raises(sv.StructureError, match="'passed'"):
        sv.release(planned(text), frame)
    safe = sv.release(planned(text + '[columns.passed]\nderive = "score >= 60"\n'), frame, seed=SEED)
    assert safe["passed"].to_list() == (safe["score"] >= 60).to_list()
    assert safe["passed"].dtype == pl.Boolean
    assert safe["passed"].to_list() != frame["passed"].to_list()


def test_two_hidden_copies_give_each_other_away_unless_linked():
    rng = np.random.default_rng(6)
    price = rng.normal(100, 15, 3_000)
    frame = pl.DataFrame({"price": price, "tax": 0.19 * price})
    hide = '[columns.{}]\nhide = "mean"\nprior = "{}"\ntolerance = {}\nmax_risk = 0.2\n'
    both = planned(hide.format("price", "20:200", 1) + hide.format("tax", "4:40", 0.2))
    with pytest.raises(sv.StructureError, match=r"'price'.*'tax'.*link"):
        sv.release(both, frame)
    linked = planned(hide.format("price", "20:200", 1) + '[columns.tax]\nlink = "price"\nfactor = 0.19\n')
    done = sv.release(linked, frame, seed=SEED)
    off = 2 * 0.19 * most_off(linked.plans["price"])  # each column is blurred by itself
    np.testing.assert_allclose(done["tax"].to_numpy(), 0.19 * done["price"].to_numpy(), rtol=0, atol=off)


def test_a_kept_copy_of_a_linked_column_is_found_too():
    rng = np.random.default_rng(7)
    dep = rng.normal(900, 200, 2_000)
    arr = dep + rng.normal(90, 30, 2_000)
    frame = pl.DataFrame({"dep": dep, "arr": arr, "hours": arr / 60})
    text = 'others = "keep"\n[columns.dep]\nhide = "mean"\nprior = "0:2000"\ntolerance = 10\nmax_risk = 0.2\n'
    text += '[columns.arr]\nlink = "dep"\n'
    with pytest.raises(sv.StructureError, match=r"column '(dep|arr)'.*'hours'"):
        sv.release(planned(text), frame)
    plan = planned(text + '[columns.hours]\nderive = "arr / 60"\n')
    done = sv.release(plan, frame, seed=SEED)
    off = 2 * most_off(plan.plans["dep"])
    np.testing.assert_allclose((done["arr"] - done["dep"]).to_numpy(), arr - dep, rtol=0, atol=off)


def test_structure_of_a_linked_column_would_tell_the_move():
    rng = np.random.default_rng(8)
    dep = rng.normal(900, 200, 2_000)
    frame = pl.DataFrame({"dep": dep, "arr": np.rint(dep + rng.normal(90, 30, 2_000)).astype(int)})
    text = (
        '[columns.dep]\nhide = "mean"\nprior = "0:2000"\ntolerance = 10\nmax_risk = 0.2\n[columns.arr]\nlink = "dep"\n'
    )
    with pytest.raises(sv.StructureError, match=r"column 'arr'.*multiples"):
        sv.release(planned(text), frame)


@pytest.mark.parametrize(
    ("treatments", "complaint"),
    [
        ("[columns.nope]\nkeep = true\n", "nope"),
        ("[columns.nope]\ndrop = true\n", "nope"),
        ('[columns.nope]\nlink = "wage"\n', "nope"),
        ('[columns.note]\nlink = "wage"\n', "column 'note' holds"),
        ('[columns.new]\nderive = "wage + nope"\n', "nope"),
        ('[columns.new]\nderive = "wage + note"\n', "needs numbers, and gets text"),
        ('[columns.new]\nderive = "not wage"\n', "not takes truths"),
        ('[columns.new]\nderive = "wage == note"\n', "compares numbers"),
    ],
)
def test_what_does_not_fit_the_table_is_one_sentence(treatments, complaint):
    frame = pl.DataFrame({"wage": np.random.default_rng(1).lognormal(5.8, 0.4, 300), "note": ["x"] * 300})
    with pytest.raises(sv.StatveilError, match=complaint) as error:
        sv.release(planned(ONE + treatments), frame)
    assert "\n" not in str(error.value)


def test_columns_that_are_not_named_are_refused_kept_or_dropped():
    frame = table().select("wage", "id", "region")
    bare = ONE.replace('others = "keep"\n', "")
    with pytest.raises(sv.TableError, match="'id', 'region'"):
        sv.release(planned(bare), frame)
    assert sv.release(planned('others = "drop"\n' + bare), frame).columns == ["wage"]
    kept = sv.release(planned(ONE), frame, details=True)
    assert kept.table.columns == frame.columns
    assert {name for name, one in kept.card["columns"].items() if one["done"] == "kept"} == {"id", "region"}
    assert any("'id', 'region'" in line for line in kept.card["assumed_of_kept"])


def test_options_of_one_column_and_single_columns_are_refused():
    with pytest.raises(sv.TableError, match="leave out column"):
        sv.release(PLAN, table(), column="wage")
    with pytest.raises(sv.TableError, match="named columns"):
        sv.release(PLAN, [1.0, 2.0])


# --- afterwards -----------------------------------------------------------------------------------
def test_verify_finds_what_was_changed(tmp_path):
    source, target = write(table(), tmp_path / "t.csv"), tmp_path / "out.csv"
    done = release_table(PLAN, source, target, seed=SEED)
    frame = pl.read_csv(target)
    spoilt = {
        "derived": frame.with_columns(pl.col("lwage") + 1e-6),
        "columns": frame.drop("word"),
        "statistic": frame.with_columns(pl.col("score") + 0.01),
        "structure": frame.with_columns(pl.col("dep") + 0.3 * (pl.col("id") % 2)),
    }
    assert verify(frame, done.card).ok
    for name, one in spoilt.items():
        assert name in {found.name for found in verify(one, done.card).checks if not found.ok}, name
    card = json.loads(json.dumps(done.card))
    card["columns"]["score"]["guarantee"]["risk"] = 0.01
    assert [found.name for found in verify(frame, card).checks if not found.ok] == ["card"]
    card = json.loads(json.dumps(done.card))
    card["plan"]["risk"] = 0.01
    with pytest.raises(sv.FileError, match="damaged"):
        verify(frame, card)


def test_hostile_names_are_names(tmp_path):
    names = ["^w.*$", "*", 'a "quoted", one', "tab\tname", "new\nline", "'; drop"]
    rng, rows = np.random.default_rng(9), 300
    frame = pl.DataFrame({name: rng.normal(500, 80, rows) for name in names})
    quoted = [json.dumps(name) for name in names]
    hide = '\nhide = "mean"\nprior = "100:1000"\ntolerance = 5\nmax_risk = 0.2\n'
    text = f"[columns.{quoted[0]}]{hide}[columns.{quoted[1]}]\ndrop = true\n[columns.{quoted[2]}]{hide}"
    text += f"[columns.{quoted[3]}]\nlink = {quoted[0]}\n[columns.{quoted[4]}]\nderive = {json.dumps('`^w.*$` * 2')}\n"
    made = json.dumps("`tab\tname` + 1")
    text += f'[columns.{quoted[5]}]\nkeep = true\n[columns."made, up"]\nderive = {made}\n'
    plan = planned(text)
    for format in ("t.csv", "t.parquet", "t.xlsx"):
        done = release_table(plan, write(frame, tmp_path / format), tmp_path / f"out-{format}", seed=SEED)
        after = read(tmp_path / f"out-{format}")
        if format == "t.csv":  # Polars leaves doubled quotes of a header as they are
            with (tmp_path / "out-t.csv").open(newline="") as file:
                after.columns = next(csv.reader(file))
        assert after.columns == [*(name for name in names if name != "*"), "made, up"]
        np.testing.assert_allclose(after["new\nline"].to_numpy(), 2 * after["^w.*$"].to_numpy(), rtol=1e-12)
        b = done.record["columns"]["^w.*$"]["coefficients"]["b"]
        off = most_off(plan.plans["^w.*$"])
        moved = frame["tab\tname"].to_numpy() + b
        np.testing.assert_allclose(after["tab\tname"].to_numpy(), moved, rtol=0, atol=off)
        assert after["'; drop"].to_list() == pytest.approx(frame["'; drop"].to_list(), rel=1e-15)
    for engine in ENGINES:
        after = READ[engine](sv.release(plan, ENGINES[engine](frame), seed=SEED))
        assert after.columns == [*(name for name in names if name != "*"), "made, up"]


def test_a_run_that_fails_leaves_nothing(tmp_path, monkeypatch):
    source, target, record = write(table(), tmp_path / "t.parquet"), tmp_path / "out.parquet", tmp_path / "record.json"
    before = sorted(path.name for path in tmp_path.iterdir())

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("statveil.tables.release_file.publish", fail)
    with pytest.raises(sv.FileError, match="No space left"):
        release_table(PLAN, source, target, record=record)
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*before, "record.json"]
    )  # the record alone, for the next run
    seed = json.loads(record.read_text())["seed"]
    assert release_table(PLAN, source, target, record=record).record["seed"] == seed


def test_a_failing_column_ends_all_threads_and_names_the_first():
    import threading

    frame = table().with_columns(score=pl.lit(5_000.0) + pl.col("score"), wage=pl.col("wage") * 100)
    running = threading.active_count()
    for _ in range(3):
        with pytest.raises(sv.ColumnError, match="column 'wage' lies outside the stated prior"):
            sv.release(PLAN, frame)
    ours = [thread for thread in threading.enumerate() if not isinstance(thread, threading._DummyThread)]
    for thread in ours:  # those that an engine started outside Python are none of ours
        if thread is not threading.current_thread() and thread.daemon:
            thread.join(5)
    assert sum(thread.is_alive() for thread in ours) <= running


def test_the_card_has_a_version_that_earlier_readers_refuse():
    """Versions up to 3 are those of single columns; a reader that knows only these says to upgrade."""
    done = sv.release(PLAN, table(), seed=SEED, details=True)
    assert done.card["format"] == "statveil-card"
    assert done.card["version"] == 4
    assert done.card["guarantee"]["risk"] == PLAN.risk >= max(plan.risk for plan in PLAN.plans.values())


@pytest.mark.parametrize("end", [1.7e308, 5e-324])
@pytest.mark.parametrize("way", ["all", "marks"])
def test_numbers_at_the_ends_of_what_a_float_holds_are_looked_at_without_overflow(end, way):
    rng, rows = np.random.default_rng(4), 300
    hidden = rng.normal(500, 80, rows)
    far = (
        rng.uniform(-1, 1, rows) * end
        if way == "all"
        else np.where(rng.random(rows) < 0.2, end, rng.normal(0, 1, rows))
    )
    frame = pl.DataFrame({"wage": hidden, "far": far})
    hide = '[columns.wage]\nhide = "mean"\nprior = "100:1000"\ntolerance = 5\nmax_risk = 0.2\n'
    done = sv.release(planned(f"{hide}[columns.far]\nkeep = true\n"), frame)
    np.testing.assert_array_equal(done["far"].to_numpy(), far)
    # a copy is found in whatever unit it is
    with pytest.raises(sv.StructureError, match="far"):
        sv.release(planned(f"{hide}[columns.far]\nkeep = true\n"), frame.with_columns(far=pl.Series(hidden * 1e305)))
    if end > 1:
        with pytest.raises(sv.TableError, match="far"):
            sv.release(planned(f'{hide}[columns.far]\nlink = "wage"\n'), frame)
