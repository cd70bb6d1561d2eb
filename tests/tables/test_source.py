"""One interface for tables in memory and in files: the same answers whatever a table lies in, one file per engine."""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import statveil as sv
from statveil.errors import ColumnError, FileError, TableError
from statveil.tables.blocks import BLOCK
from statveil.tables.files import open_table
from statveil.tables.frames.frame import FRAMES
from statveil.tables.source import open_source

SHIFT = sv.plan(
    sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 200)), secret=sv.Mean(), tolerance=1), max_risk=0.2
)
# rows are drawn by the seed, block by block
UNIT = sv.plan(
    sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(2, 30)), secret=sv.Mean(), tolerance=0.3),
    max_risk=0.2,
    method="dynamic",
)
RNG = np.random.default_rng(14)
COUNTS = pl.DataFrame({"x": RNG.poisson(9.0, BLOCK + 5_000), "place": RNG.choice(["north", "south"], BLOCK + 5_000)})
ROWS = 400
SMALL = pl.DataFrame(
    {
        "x": RNG.normal(90.0, 20.0, ROWS),
        "age": RNG.integers(18, 80, ROWS),
        "place": RNG.choice(["north", "south", "east"], ROWS),
        "seen": [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=int(one)) for one in RNG.integers(0, 9**6, ROWS)],
    }
)
WRITE: dict[str, Any] = {
    "csv": lambda table, path: table.write_csv(path),
    "parquet": lambda table, path: table.write_parquet(path, row_group_size=9_999),
    "arrow": lambda table, path: table.write_ipc(path),
}
ONE: dict[str, Any] = {"attackers": ["plug-in"], "trials": 200, "seed": 1}
READ: dict[str, Any] = {"csv": pl.read_csv, "parquet": pl.read_parquet, "arrow": pl.read_ipc}


def written(table, folder, format):
    path = folder / f"in.{format}"
    WRITE[format](table, path)
    return path


def frames_of(table):
    """The table in every library, and how to get a column back as a list."""
    return {
        "lazy": (table.lazy(), lambda out, name: out.collect()[name].to_list()),
        "pandas": (pd.DataFrame(table.to_dict(as_series=False)), lambda out, name: out[name].tolist()),
        "arrow": (table.to_arrow(), lambda out, name: out[name].to_pylist()),
        "duckdb": (duckdb.from_arrow(table.to_arrow()), lambda out, name: out.pl()[name].to_list()),
    }


# --- one seed, one release ----------------------------------------------------------------------
@pytest.fixture(scope="module")
def expected():
    return sv.release(UNIT, COUNTS, column="x", seed=5)["x"].to_list()


@pytest.mark.parametrize("engine", ["lazy", "pandas", "arrow", "duckdb"])
def test_every_engine_releases_the_same_rows(expected, engine):
    table, column = frames_of(COUNTS)[engine]
    out = sv.release(UNIT, table, column="x", seed=5)
    assert column(out, "x") == expected
    assert column(out, "place") == COUNTS["place"].to_list()
    assert expected != COUNTS["x"].to_list()


@pytest.mark.parametrize("format", WRITE)
def test_a_path_is_released_as_the_table_in_it(tmp_path, expected, format):
    source, target = written(COUNTS, tmp_path, format), tmp_path / f"out.{format}"
    assert sv.release(UNIT, source, output=target, column="x", seed=5) == target
    found = READ[format](target)
    assert found["x"].to_list() == expected
    assert found["place"].to_list() == COUNTS["place"].to_list()
    assert sv.verify(target).ok


def test_release_and_release_file_write_the_same(tmp_path):
    source = written(SMALL, tmp_path, "csv")
    record = tmp_path / "private.json"
    one = sv.release(SHIFT, str(source), output=tmp_path / "1.csv", column="x", record=record, details=True)
    two = sv.release_file(SHIFT, source, tmp_path / "2.csv", column="x", record=record)
    assert one.card == two.card
    assert one.record["seed"] == two.record["seed"] == json.loads(record.read_text())["seed"]
    with pytest.raises(FileError, match="exists and is kept"):
        sv.release(SHIFT, source, output=tmp_path / "1.csv", column="x")
    sv.release(SHIFT, source, output=tmp_path / "1.csv", column="x", record=record, overwrite=True)
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()


def test_where_to_write_is_asked_of_files_alone(tmp_path):
    with pytest.raises(FileError, match="say where to write"):
        sv.release(SHIFT, written(SMALL, tmp_path, "csv"), column="x")
    with pytest.raises(TableError, match="leave out output"):
        sv.release(SHIFT, SMALL, output=tmp_path / "out.csv", column="x")  # type: ignore[call-overload]
    assert not (tmp_path / "out.csv").exists()


def test_the_name_of_a_lazy_column_is_no_pattern():
    table = pl.DataFrame({"x1": np.zeros(ROWS), "^x.*$": SMALL["x"]})
    lazy = sv.release(SHIFT, table.lazy(), column="^x.*$", seed=5).collect()
    assert lazy.equals(sv.release(SHIFT, table, column="^x.*$", seed=5))
    assert lazy["x1"].to_list() == [0.0] * ROWS


@pytest.mark.parametrize("cells", ["text", "counts", "times"])
def test_the_name_of_another_column_is_no_pattern(tmp_path, cells):
    """The engine would find no column of such a name."""
    others = {
        "text": [f"row {row % 83} ok" for row in range(ROWS)],
        "counts": SMALL["age"],
        "times": SMALL["seen"],
    }
    table = SMALL.select("x").with_columns(pl.Series("^y.*$", others[cells]))
    released = sv.release(SHIFT, table, column="x", seed=5)
    assert released["^y.*$"].to_list() == table["^y.*$"].to_list()
    path = written(table, tmp_path, "parquet")
    sv.release(SHIFT, path, output=tmp_path / "out.parquet", column="x", seed=5)
    assert pl.read_parquet(tmp_path / "out.parquet").equals(released)
    with pytest.raises(sv.StructureError, match=r"\^y"):  # and what it tells is seen, by its name
        sv.release(SHIFT, table.with_columns(pl.Series("^y.*$", [f"{cell} ms" for cell in table["x"]])), column="x")


# --- verify -------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ["lazy", "pandas", "arrow", "duckdb"])
def test_a_released_frame_is_verified_by_its_card(engine):
    table, _ = frames_of(SMALL)[engine]
    done = sv.release(SHIFT, table, column="x", details=True)
    found = sv.verify(done.table, done.card)
    assert [(check.name, check.ok) for check in found.checks] == [
        ("card", True), ("structure", True), ("statistic", True)
    ]  # fmt: skip
    original = {check.name for check in sv.verify(table, done.card).checks if not check.ok}
    assert original == {"statistic"}, "the mean of the original is none that the plan releases"


def test_a_card_must_be_one_and_be_given_for_a_frame(tmp_path):
    done = sv.release(SHIFT, SMALL, column="x", details=True)
    with pytest.raises(TableError, match="no card beside it"):
        sv.verify(done.table)
    with pytest.raises(FileError, match="not a statveil card"):
        sv.verify(done.table, {"format": "other"})
    changed = {check.name for check in sv.verify(done.table, {**done.card, "mode": "unit"}).checks if not check.ok}
    assert changed == {"card"}
    gone = sv.verify(done.table.drop("x"), done.card)
    assert [check.name for check in gone.checks if not check.ok] == ["column"]
    # the card of a frame has no hash, so no file can be its file
    path = written(done.table, tmp_path, "parquet")
    assert [check.name for check in sv.verify(path, done.card).checks if not check.ok] == ["hash"]


def test_a_single_column_and_one_with_a_number_for_a_name_are_verified():
    done = sv.release(SHIFT, SMALL["x"].to_numpy(), details=True)
    assert sv.verify(done.table, done.card).ok
    frame = sv.release(SHIFT, pd.DataFrame({7: SMALL["x"].to_numpy()}), column=7, details=True)
    assert sv.verify(frame.table, frame.card).ok


# --- a frame and its file are looked at alike ----------------------------------------------------
def without(key, columns):
    return [{name: value for name, value in column.items() if name != key} for column in columns]


def test_inspect_says_the_same_of_a_frame_and_of_its_file(tmp_path):
    frame = sv.inspect(SMALL).to_json()
    assert sv.inspect(written(SMALL, tmp_path, "parquet")).to_json() == frame
    assert sv.inspect(SMALL.lazy()).to_json() == frame
    assert [column["rows"] for column in frame["columns"]] == [ROWS] * 4
    table = SMALL.drop("seen")  # CSV files have neither times nor the engine's names of types
    csv = sv.inspect(written(table, tmp_path, "csv")).to_json()["columns"]
    assert without("type", csv) == without("type", frame["columns"][:3])


@pytest.mark.parametrize("engine", ["pandas", "arrow", "duckdb"])
def test_inspect_says_the_same_of_every_engine(engine):
    table, _ = frames_of(SMALL.drop("seen"))[engine]
    found = sv.inspect(table).to_json()["columns"]
    assert without("type", found) == without("type", sv.inspect(SMALL.drop("seen")).to_json()["columns"])


def _said(audit):
    """What an audit says, but for the names of files, which tables in memory do not have."""
    return {key: value for key, value in audit.to_json().items() if key not in ("original", "released")}


def test_audit_says_the_same_of_frames_and_of_files(tmp_path):
    done = sv.release(SHIFT, SMALL, column="x")
    before, after = tmp_path / "a.parquet", tmp_path / "b.parquet"
    SMALL.write_parquet(before)
    done.write_parquet(after)
    frames = _said(sv.audit(SHIFT, SMALL, done, column="x", **ONE))
    assert _said(sv.audit(SHIFT, before, after, column="x", **ONE)) == frames
    pandas = [pd.DataFrame(table.to_dict(as_series=False)) for table in (SMALL, done)]
    assert _said(sv.audit(SHIFT, *pandas, column="x", **ONE)) == frames
    assert {one["column"] for one in frames["distances"]["correlations"]} >= {"age", "seen"}
    assert [one["attacker"] for one in frames["findings"]].count("plug-in") == 1


def test_audit_leaves_out_whole_numbers_that_floats_cannot_hold(tmp_path):
    table = SMALL.with_columns(id=pl.Series(range(2**60, 2**60 + ROWS)))
    path = written(table, tmp_path, "parquet")
    done = sv.release(SHIFT, table, column="x")
    frames = _said(sv.audit(SHIFT, table, done, column="x", **ONE))
    assert _said(sv.audit(SHIFT, path, done, column="x", **ONE)) == frames


def test_compare_says_the_same_of_a_frame_and_of_its_file(tmp_path):
    how: dict[str, Any] = {"secret": sv.Mean(), "column": "x", "methods": ["ours"], "points": 2, "seeds": 2}
    frame = sv.compare(SMALL, **how, trials=10, seed=1).to_json()
    for format in WRITE:
        assert sv.compare(written(SMALL, tmp_path, format), **how, trials=10, seed=1).to_json() == frame


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (None, "say which column: column=... Columns: x, age, place, seen."),
        ("agee", "unknown column 'agee'; did you mean 'age'? Allowed: x, age, place, seen."),
        ("place", "holds String values, but noise and bins need numbers; name a column of numbers (x, age)."),
    ],
)
def test_a_frame_and_its_file_refuse_in_the_same_words(tmp_path, column, sentence):
    path = written(SMALL, tmp_path, "parquet")
    said = []
    for table in (SMALL, SMALL.lazy(), SMALL.to_arrow(), path):
        with pytest.raises(ColumnError) as error:
            sv.compare(table, secret=sv.Mean(), column=column)
        said.append(str(error.value))
    assert len(set(said)) == 1
    assert sentence in said[0]


def test_a_source_tells_its_rows_once_it_was_read(tmp_path):
    for table in (SMALL, SMALL.lazy(), written(SMALL, tmp_path, "csv")):
        source, told = open_source(table), []
        assert sum(len(block) for block in source.blocks("x", progress=told.append)) == ROWS
        assert (source.rows, sum(told)) == (ROWS, ROWS)


# --- an engine and a format of one's own ----------------------------------------------------------
ENGINE = '''
"""Tables that are a dictionary of lists."""

import numpy as np
import polars as pl

from statveil.tables.frames.frame import Frame


class Lists(Frame):
    what = "a dictionary of lists"

    @classmethod
    def takes(cls, native):
        return isinstance(native, dict)

    def columns(self):
        return list(self.native)

    def read(self, column):
        return pl.Series(column, self.native[column])

    def with_columns(self, fresh, dropped):
        kept = {name: cells for name, cells in self.native.items() if name not in dropped}
        return {**kept, **{name: column.to_list() for name, column in fresh.items()}}

    def taken(self, native, order):
        return {name: [cells[row] for row in order] for name, cells in native.items()}
'''


@pytest.fixture
def lists(tmp_path):
    """An engine in one file outside the package."""
    path = tmp_path / "lists.py"
    path.write_text(ENGINE)
    spec = importlib.util.spec_from_file_location("lists_of_a_test", path)
    assert spec is not None
    assert spec.loader is not None
    known = list(FRAMES)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    yield SMALL.to_dict(as_series=False)
    FRAMES[:] = known


def test_an_engine_in_one_file_has_the_whole_life(lists):
    done = sv.release(SHIFT, lists, column="x", details=True)
    polars = sv.release(SHIFT, SMALL, column="x", details=True, record=done.record)
    assert done.table == polars.table.to_dict(as_series=False)
    assert done.card == polars.card
    assert sv.verify(done.table, done.card).ok
    assert sv.inspect(lists).to_json() == sv.inspect(SMALL).to_json()
    ours = sv.audit(SHIFT, lists, done.table, column="x", **ONE)
    assert ours.to_json() == sv.audit(SHIFT, SMALL, polars.table, column="x", **ONE).to_json()
    counts = COUNTS.to_dict(as_series=False)
    for shuffle in (False, True):
        drawn = sv.release(UNIT, counts, column="x", seed=5, shuffle=shuffle)
        assert drawn == sv.release(UNIT, COUNTS, column="x", seed=5, shuffle=shuffle).to_dict(as_series=False)


def test_the_other_columns_of_a_new_engine_are_looked_at_too(lists):
    ordered = {**lists, "x": sorted(lists["x"]), "copy": sorted(lists["x"])}
    with pytest.raises(sv.StructureError, match="copies"):
        sv.release(SHIFT, ordered, column="x")


def test_an_unknown_object_is_refused_with_all_that_is_known(lists):
    with pytest.raises(ColumnError, match=r"cannot read an object of type builtins\.set.*a dictionary of lists"):
        sv.inspect({1.0, 2.0})


def test_a_format_is_known_by_its_suffix(tmp_path):
    path = written(SMALL, tmp_path, "arrow")
    assert sv.release(SHIFT, path, output=tmp_path / "out.feather", column="x") == tmp_path / "out.feather"
    with pytest.raises(FileError, match="must have the input's format"):
        sv.release(SHIFT, path, output=tmp_path / "out.parquet", column="x")
    with pytest.raises(FileError, match=r"known are .*\.parquet.*\.csv\.gz.*\.xlsx.*\.feather"):
        open_table(path.rename(tmp_path / "in.dat"))
