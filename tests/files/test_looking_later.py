"""Long tables are looked at while they are written: the same refusals and the same bytes as when that comes before."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.errors import StructureError
from statveil.tables import looking_later
from statveil.tables.files.columnar import ColumnarParts
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


def outcome(plan, folder, source, name, monkeypatch, *, later):
    """The bytes, or the refusal."""
    monkeypatch.setattr(looking_later, "SHORT", 0 if later else 2**22)
    out, record = folder / f"{name}{source.suffix}", folder / f"{name}.json"
    try:
        sv.release_file(plan, source, out, column="x", accept=["bounds"], seed=5, record=record)
    except StructureError as error:
        assert not out.exists()
        assert not record.exists()
        assert not work_folder_of(out).exists()
        return str(error)
    assert record.exists()
    files = [out] if out.is_file() else sorted(out.rglob("*.parquet"))
    return [path.read_bytes() for path in files]


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
