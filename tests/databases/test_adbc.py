"""What is particular to databases by ADBC; all else is asked of them where it is asked of every database."""

from __future__ import annotations

import importlib

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.databases import adbc_database
from statveil.tables.databases.address import Address
from statveil.tables.source import open_source
from tests.databases.conftest import ADBC, reached
from tests.databases.test_database_release import released, table_for


@pytest.fixture(params=ADBC)
def adbc(request, tmp_path):
    return reached(request, tmp_path)


@pytest.fixture(params=ADBC[:1])
def sqlite(request, tmp_path):
    return reached(request, tmp_path)


def test_missing_values_keep_their_type_though_the_first_rows_have_none(adbc):
    """The driver of SQLite guesses types from about a thousand rows."""
    rows = 3_000
    late = np.arange(rows) >= 2_900
    frame = pl.DataFrame(
        {
            "id": np.arange(rows),
            "value": pl.Series([float(i) + 0.25 if there else None for i, there in enumerate(late)], dtype=pl.Float64),
            "note": pl.Series(["x" if there else None for there in late], dtype=pl.String),
            "whole": pl.Series([7 if there else None for there in late], dtype=pl.Int64),
        }
    )
    table = open_source(adbc.put("wages", frame))
    assert pl.DataFrame([table.column(name) for name in table.names]).rows() == frame.rows()


@pytest.mark.parametrize("fails", ["_append", "put_text", "commit"])
def test_a_failure_in_the_middle_leaves_nothing(adbc, tmp_path, monkeypatch, fails):
    source = adbc.put("wages", table_for("shift"))
    plain, done = getattr(adbc_database._Session, fails), []

    def failing(self, *args):
        if fails == "_append":
            plain(self, *args)  # the rows are on their way
        done.append(fails)
        manager = importlib.import_module("adbc_driver_manager")
        raise manager.OperationalError("the connection was lost", status_code=manager.AdbcStatusCode.IO)

    monkeypatch.setattr(adbc_database._Session, fails, failing)
    with pytest.raises(sv.FileError, match=r"cannot write adbc\+.*the connection was lost"):
        released("shift", source, adbc.address("out"))
    assert done
    assert adbc.tables() == {"wages"}
    if adbc.kind == "sqlite":  # nor is a database left that was not there
        with pytest.raises(sv.FileError):
            released("shift", source, f"adbc+sqlite:///{tmp_path / 'new.db'}?table=out")
        assert not (tmp_path / "new.db").exists()


def test_one_table_by_two_ways_is_one_table(adbc):
    source = adbc.put("wages", table_for("shift"))
    released("shift", source, adbc.address("out"))
    other = adbc.address("out").removeprefix("adbc+")
    assert sv.verify(other).ok, "whoever has SQLAlchemy reads what ADBC wrote"
    with pytest.raises(sv.FileError, match="same table"):
        released("shift", other, adbc.address("out"), overwrite=True)


def test_a_value_of_another_type_than_its_column_says_is_refused(sqlite):
    source = sqlite.put("wages", table_for("shift"))
    sqlite.run("update wages set value = 'secret' where id = 5")
    with pytest.raises(sv.ColumnError, match="'value' holds a value that is no Float64") as caught:
        open_source(source)
    assert "secret" not in str(caught.value)
    sqlite.run("create table days (d date)")
    with pytest.raises(sv.ColumnError, match="of type date, which is not read by ADBC"):
        open_source(sqlite.address("days"))


def test_other_databases_and_missing_drivers_are_named(monkeypatch):
    with pytest.raises(sv.FileError, match=r"no database is known as 'adbc\+mysql'.*adbc\+postgresql, adbc\+sqlite"):
        open_source("adbc+mysql://host/db?table=wages")

    def gone(name):
        raise ImportError(name=name.partition(".")[0])

    monkeypatch.setattr(importlib, "import_module", gone)
    with pytest.raises(sv.FileError, match=r"which is not installed; pip install 'statveil\[adbc\]'"):
        open_source("adbc+sqlite:///wages.db?table=wages")


def test_no_password_is_shown():
    place = Address.parse("adbc+postgres://ann:pa55@host/db?table=wages")
    assert str(place) == "adbc+postgresql://ann@host/db?table=wages"
    assert "pa55" not in repr(place)
    assert {*place.passwords} == {"pa55"}
