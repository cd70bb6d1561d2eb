"""Long tables are looked at while they are written: the same refusals and the same bytes as when that comes before."""

from __future__ import annotations

import json
from concurrent.futures import Future

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.errors import FileError, StructureError, TableError
from statveil.tables import looking_later, preparing, release_file
from statveil.tables.files.columnar import ColumnarParts
from statveil.tables.verification import Verifier
from statveil.work_folder import work_folder_of

ROWS = 70_000  # more than a block
PLAN = sv.plan(sv.Problem(secret=sv.Mean(), prior=(50, 300), tolerance=1.0), max_risk=0.2)
SCALE = sv.plan(
    sv.Problem(secret=sv.Mean(), prior=(50, 300), tolerance=sv.Relative(0.05), known=sv.Structure(minimum=0)),
    max_risk=0.2,
)
# columns that tell x, each of another search: a copy, a flag, a sum of two, a cell, the neighbours, what is not read
TELLING = {
    "copy": lambda x, rng: {"b": np.log(x)},
    "flag": lambda x, rng: {"b": x > 120},
    "sum": lambda x, rng: {"b": (part := rng.random(len(x)) * x), "c": x - part},
    "cell": lambda x, rng: {"b": pl.Series([None] * (len(x) - 1) + [float(x.mean())], dtype=pl.Float64)},
    "before": lambda x, rng: {"b": np.roll(x, 1)},
    "lists": lambda x, rng: {"b": pl.Series(np.arange(2 * len(x)).reshape(-1, 2))},
    "^b.*$": lambda x, rng: {"^b.*$": np.sqrt(x)},
    "nothing": lambda x, rng: {"b": rng.random(len(x))},
    "little": lambda x, rng: {"b": rng.choice(["north", "south"], len(x)), "c": np.arange(len(x))},
}


def table(told, *, gaps=False):
    rng = np.random.default_rng([7, len(told)])
    x = rng.gamma(9.0, 12.0, ROWS)
    others = TELLING[told](x, rng)
    hidden = pl.Series(np.where(rng.random(ROWS) < 0.2, np.nan, x)).fill_nan(None) if gaps else pl.Series(x)
    return pl.DataFrame({"a": rng.normal(size=ROWS), "x": hidden, **others})


def outcome(plan, folder, source, name, monkeypatch, *, later, accept=()):
    """The bytes and the record, or the refusal."""
    monkeypatch.setattr(looking_later, "SHORT", 0 if later else 2**22)
    out, record = folder / f"{name}{source.suffix}", folder / f"{name}.json"
    try:
        done = sv.release_file(plan, source, out, column="x", accept=["bounds", *accept], seed=5, record=record)
    except StructureError as error:
        assert not out.exists()
        assert not record.exists()
        assert not work_folder_of(out).exists()
        return str(error)
    assert json.loads(record.read_text()) == done.record
    files = [out] if out.is_file() else sorted(out.rglob("*.parquet"))
    return [done.record, *(path.read_bytes() for path in files)]


@pytest.mark.parametrize("told", TELLING)
def test_the_same_is_refused_and_written(told, tmp_path, monkeypatch):
    source, plan = tmp_path / "in.parquet", SCALE if len(told) % 2 else PLAN
    table(told, gaps=told in ("copy", "before", "little")).write_parquet(source, row_group_size=30_000)
    before, late = (outcome(plan, tmp_path, source, str(later), monkeypatch, later=later) for later in (False, True))
    assert before == late
    assert isinstance(late, str) == (told not in ("nothing", "little"))


def test_a_folder_is_read_once_with_all_its_columns(tmp_path, monkeypatch):
    """Only the hidden column is read before, and files that stand for ranges of values are refused all the same."""
    source = tmp_path / "in"
    source.mkdir()
    for number, rows in enumerate((30_000, 50_000, 20_000)):
        rng = np.random.default_rng(number)
        frame = pl.DataFrame({"x": 100.0 + 60 * number + rng.random(rows), "y": rng.random(rows)})
        frame.write_parquet(source / f"{number}.parquet")
    before = outcome(PLAN, tmp_path, source, "before", monkeypatch, later=False)
    assert "the files of the folder" in before
    monkeypatch.setattr(ColumnarParts, "beside", never)
    assert outcome(PLAN, tmp_path, source, "later", monkeypatch, later=True) == before


def never(*_, **__):
    """What is not to be called."""
    raise AssertionError


def test_short_tables_and_drawn_rows_are_looked_at_first(tmp_path, monkeypatch):
    """A refusal comes before anything is written where that costs little, and where rows are drawn."""
    source = tmp_path / "in.parquet"
    table("copy").write_parquet(source)
    monkeypatch.setattr(ColumnarParts, "write", never)
    with pytest.raises(StructureError, match="other columns tell"):
        sv.release_file(PLAN, source, tmp_path / "out.parquet", column="x")
    monkeypatch.setattr(looking_later, "SHORT", 0)
    problem = sv.Problem(
        secret=sv.Mean(), prior=(50, 300), tolerance=sv.Relative(0.05), known=sv.Structure(minimum=0), shape="catalogue"
    )
    with pytest.raises(StructureError, match="other columns tell"):
        sv.release_file(sv.plan(problem, max_risk=0.2), source, tmp_path / "out.parquet", column="x")


# what the column shows by itself: a lattice, on which the map depends, and a frequent value
SHOWING = {
    "step": lambda x: np.round(2 * x) / 2,
    "atoms": lambda x: np.where(np.arange(len(x)) % 50 == 0, 120.0, x),
}


@pytest.mark.parametrize("shown", SHOWING)
@pytest.mark.parametrize("told", ["copy", "nothing"])
@pytest.mark.parametrize("accepted", [False, True])
def test_what_the_column_shows_by_itself_is_refused_first(shown, told, accepted, tmp_path, monkeypatch):
    source, plan = tmp_path / "in.parquet", SCALE if told == "copy" else PLAN
    frame = table(told)
    frame.with_columns(x=pl.Series(SHOWING[shown](frame["x"].to_numpy()))).write_parquet(source)
    accept = ["step", "heaps", "atoms", "rough"] if accepted else []
    before, late = (
        outcome(plan, tmp_path, source, str(later), monkeypatch, later=later, accept=accept) for later in (False, True)
    )
    assert before == late
    if not accepted:
        assert "other columns tell" not in late
    elif told == "copy":
        assert "other columns tell" in late
    else:
        assert shown in {found["name"] for found in late[0]["structure_found"]}


def rounded(folder):
    source = folder / "in.parquet"
    table("nothing").with_columns(pl.col("x").round(0)).write_parquet(source)
    return source


def test_the_writing_ends_as_soon_as_the_column_is_refused(tmp_path, monkeypatch):
    def at_once(work):
        done = Future()
        try:
            done.set_result(work())
        except StructureError as error:
            done.set_exception(error)
        return done

    monkeypatch.setattr(looking_later, "SHORT", 0)
    monkeypatch.setattr(preparing, "started", at_once)
    seen = []
    with pytest.raises(StructureError, match="multiples of 1"):
        sv.release_file(
            PLAN, rounded(tmp_path), tmp_path / "out.parquet", column="x", progress=lambda stage, *_: seen.append(stage)
        )
    assert "reading" in seen
    assert "writing" not in seen
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_an_error_of_the_writing_does_not_stand_before_a_refusal(tmp_path, monkeypatch):
    def fails(*_, **__):
        raise FileError("the disk is full.")

    monkeypatch.setattr(looking_later, "SHORT", 0)
    monkeypatch.setattr(ColumnarParts, "write", fails)
    with pytest.raises(StructureError, match="multiples of 1"):
        sv.release_file(PLAN, rounded(tmp_path), tmp_path / "out.parquet", column="x")
    table("nothing").write_parquet(tmp_path / "in.parquet")
    with pytest.raises(FileError, match="disk is full"):
        sv.release_file(PLAN, tmp_path / "in.parquet", tmp_path / "out.parquet", column="x", accept=["bounds"])


@pytest.mark.parametrize("told", ["copy", "nothing"])
def test_what_was_written_badly_does_not_stand_before_a_refusal(told, tmp_path, monkeypatch):
    """And the record is kept where nothing is refused, as it is before a short table is written."""

    def wrong(*_, **__):
        raise TableError("the written table does not pass its own check.")

    source, record = tmp_path / "in.parquet", tmp_path / "record.json"
    table(told).write_parquet(source)
    monkeypatch.setattr(looking_later, "SHORT", 0)
    monkeypatch.setattr(release_file, "_check_written", wrong)
    expected = StructureError if told == "copy" else TableError
    with pytest.raises(expected, match="other columns tell" if told == "copy" else "its own check"):
        sv.release_file(PLAN, source, tmp_path / "out.parquet", column="x", accept=["bounds"], record=record)
    assert record.exists() == (told == "nothing")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("where", [Verifier, looking_later.Later])
def test_what_fails_in_a_thread_comes_out_as_it_was_raised(where, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise MemoryError("no room")

    source = tmp_path / "in.parquet"
    table("nothing").write_parquet(source)
    monkeypatch.setattr(looking_later, "SHORT", 0)
    monkeypatch.setattr(where, "check_undeclared" if where is Verifier else "refuse", fails)
    with pytest.raises(MemoryError, match="no room"):
        sv.release_file(PLAN, source, tmp_path / "out.parquet", column="x", accept=["bounds"])
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
