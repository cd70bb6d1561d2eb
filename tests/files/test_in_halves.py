"""A long Parquet file is measured by two threads: the same as by one, to the last bit, and the same errors."""

from __future__ import annotations

import threading
import time

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.errors import ColumnError, FileError
from statveil.tables.blocks import BLOCK
from statveil.tables.files import in_halves
from statveil.tables.files.parquet_file import ParquetFile
from statveil.tables.looking import NumberLook
from statveil.tables.measure import measure
from statveil.tables.structure.reading import sampler
from statveil.tables.verification import Verifier

ROWS = 5 * BLOCK + 12_345
PLAN = sv.plan(sv.Problem(secret=sv.Mean(), prior=(50, 300), tolerance=1.0), max_risk=0.2)
STEPS = sv.plan(
    sv.Problem(secret=sv.Mean(), prior=(50, 300), tolerance=1.0, known=sv.Structure(step=0.5)), max_risk=0.2
)


def column(kind):
    rng = np.random.default_rng(11)
    x = rng.gamma(9.0, 12.0, ROWS)
    return {
        "plain": lambda: pl.Series(x),
        "nulls": lambda: pl.Series(np.where(rng.random(ROWS) < 0.3, np.nan, x)).fill_nan(None),
        "NaN and infinite": lambda: pl.Series(
            np.where(rng.random(ROWS) < 0.1, rng.choice([np.nan, np.inf, -np.inf], ROWS), x)
        ),
        "hardly any": lambda: pl.Series(np.where(rng.random(ROWS) < 0.999, np.nan, x)),
        "empty at first": lambda: pl.Series(np.where(np.arange(ROWS) < 4 * BLOCK, np.nan, x)),
        "steps": lambda: pl.Series(np.round(2 * x) / 2),
        "off the step in the second half": lambda: pl.Series(
            np.where(np.arange(ROWS) < ROWS - 10, np.round(2 * x) / 2, x)
        ),
        "whole": lambda: pl.Series(np.round(x).astype(np.int32)),
        "of 32 bits": lambda: pl.Series(x.astype(np.float32)),
    }[kind]()


KINDS = [
    *("plain", "nulls", "NaN and infinite", "hardly any", "empty at first"),
    *("steps", "off the step in the second half", "whole", "of 32 bits"),
]


def written(folder, kind, row_group_size=70_001):
    path = folder / "in.parquet"
    pl.DataFrame({"a": np.arange(ROWS), "x": column(kind)}).write_parquet(path, row_group_size=row_group_size)
    return path


def told(verifier):
    """All that a verifier says of the rows it has watched."""
    try:
        verifier.check_declared("x")
    except sv.StatveilError as error:
        return str(error)
    return verifier.sampler.values.tobytes(), verifier.offset


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row_group_size", [9_999, 70_001, 10**6])
def test_halves_put_together_are_the_whole(kind, row_group_size, tmp_path, monkeypatch):
    """Uneven row groups, missing rows, and more rows than are kept of a column."""
    monkeypatch.setattr(in_halves, "LONG", 0)
    monkeypatch.setattr(sampler, "KEEP", 2**15)
    table = ParquetFile(written(tmp_path, kind, row_group_size))
    bits = table.type_of("x").bits
    for plan in (PLAN, STEPS):
        one, two = (Verifier(plan, bits=bits, sampler=sampler.Sampler(2**15)) for _ in range(2))
        whole = measure(lambda: table.blocks("x"), watch=one.watch)
        rows = []
        look = NumberLook(two, None)
        if not table.look("x", look, None, progress=rows.append):
            assert kind in ("hardly any", "empty at first"), "nothing says that one thread must do"
            continue
        halves = look.measured(lambda: table.blocks("x"))
        for name in ("rows", "mean", "std", "minimum", "maximum"):
            assert getattr(whole, name) == getattr(halves, name), name
        assert told(one) == told(two)
        assert sum(rows) % ROWS == 0
        assert rows


def test_short_tables_quantiles_and_others_beside_are_left_to_one_thread(tmp_path, monkeypatch):
    table = ParquetFile(written(tmp_path, "plain"))
    assert not table.look("x", NumberLook(Verifier(PLAN, bits=53), None), None)
    monkeypatch.setattr(in_halves, "LONG", 0)
    assert not table.look("x", NumberLook(Verifier(PLAN, bits=53), None, (0.5,)), None)
    assert not table.look("x", NumberLook(Verifier(PLAN, bits=53), None), object())
    assert table.look("x", NumberLook(Verifier(PLAN, bits=53), None), None)


def outcome(source, out):
    """The card, the record and the bytes, or what is said."""
    try:
        done = sv.release_file(PLAN, source, out, column="x", accept=["bounds", "copies", "step"], seed=5)
    except sv.StatveilError as error:
        assert not out.exists()
        return type(error), str(error)
    return done.card, done.record, out.read_bytes()


@pytest.mark.parametrize("kind", ["plain", "nulls", "steps", "of 32 bits"])
def test_releases_are_the_same(kind, tmp_path, monkeypatch):
    source = written(tmp_path, kind)
    one = outcome(source, tmp_path / "one.parquet")
    monkeypatch.setattr(in_halves, "LONG", 0)
    assert outcome(source, tmp_path / "two.parquet") == one
    assert len(one) == 3


def test_a_value_in_the_second_half_that_cannot_be_read_is_said_as_one_thread_says_it(tmp_path, monkeypatch):
    source = tmp_path / "in.parquet"
    values = np.arange(ROWS)
    values[-5] = 2**60
    pl.DataFrame({"x": values}).write_parquet(source)
    one = outcome(source, tmp_path / "one.parquet")
    monkeypatch.setattr(in_halves, "LONG", 0)
    assert outcome(source, tmp_path / "two.parquet") == one
    assert one[0] is ColumnError
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_damage_in_the_second_half_is_said_as_one_thread_says_it(tmp_path, monkeypatch):
    source = written(tmp_path, "plain")
    data = bytearray(source.read_bytes())
    data[-400_000:-300_000] = bytes(100_000)
    source.write_bytes(data)
    one = outcome(source, tmp_path / "one.parquet")
    monkeypatch.setattr(in_halves, "LONG", 0)
    assert outcome(source, tmp_path / "two.parquet") == one
    assert one[0] is FileError
    assert "\n" not in one[1]
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("where", ["first", "second"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_stops_one_half_ends_the_other(where, error, tmp_path, monkeypatch):
    """Ctrl-C, or whatever else, comes out as it was raised, and no thread goes on."""
    monkeypatch.setattr(in_halves, "LONG", 0)
    table = ParquetFile(written(tmp_path, "plain"))
    main, before = threading.get_ident(), threading.active_count()

    def progress(rows):
        if (threading.get_ident() == main) == (where == "first"):
            raise error

    with pytest.raises(error):
        table.look("x", NumberLook(Verifier(PLAN, bits=53), None), None, progress=progress)
    for _ in range(200):
        if threading.active_count() <= before:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before
