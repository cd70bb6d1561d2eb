"""Releases from and to databases: the same rows as of files, in one snapshot, in one transaction, or not at all."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.plan_file import save_plan
from statveil.tables.databases import database_table, sqlalchemy_database
from statveil.tables.databases.address import Address
from statveil.tables.databases.sqlalchemy_database import _Session
from statveil.tables.source import open_source
from statveil.tables.verification import LEAKS
from tests.databases import postgres
from tests.databases.conftest import Place
from tests.plans import BY_MODE, column_for

ROWS = 3000
ALL = tuple(LEAKS)


def table_for(mode, rows=ROWS):
    rng = np.random.default_rng(8)
    return pl.DataFrame(
        {"id": np.arange(rows), "value": column_for(mode, rng, rows), "note": rng.choice(["a", "b", ""], rows)}
    )


def released(mode, source, target, **more):
    more = {"seed": 5, "accept": ALL, **more}
    return sv.release(BY_MODE[mode], source, output=target, column="value", details=True, **more)


@pytest.fixture
def wages(place):
    return place.put("wages", table_for("shift"))


# --- the same as of a file ------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["shift", "scale", "lattice", "unit", "rank", "category", "smooth"])
@pytest.mark.heavy(3)
def test_the_rows_are_those_of_a_release_of_a_file(place, tmp_path, mode):
    frame = table_for(mode)
    frame.write_parquet(tmp_path / "in.parquet")
    shuffle = mode == "rank"
    wanted = released(mode, tmp_path / "in.parquet", tmp_path / "out.parquet", shuffle=shuffle)
    done = released(mode, place.put("wages", frame), place.address("out"), shuffle=shuffle)
    assert place.rows("out") == pl.read_parquet(wanted.table).rows()
    assert {**done.card, "sha256": None} == {**wanted.card, "sha256": None}
    assert sv.verify(place.address("out")).ok
    assert place.rows("wages") == frame.rows(), "the input is as it was"


def test_a_database_and_a_parquet_file_can_be_the_two_ends(place, tmp_path, wages):
    to_file = released("shift", wages, str(tmp_path / "out.parquet"))
    assert sv.verify(to_file.table).ok
    table_for("shift").write_parquet(tmp_path / "in.parquet")
    released("shift", str(tmp_path / "in.parquet"), place.address("out"))
    assert place.rows("out") == pl.read_parquet(tmp_path / "out.parquet").rows()


def test_a_specification_is_released_from_and_to_a_database(place, tmp_path, wages):
    spec = tmp_path / "spec.toml"
    spec.write_text(
        "[columns.id]\ndrop = true\n[columns.note]\nkeep = true\n"
        '[columns.value]\nhide = "mean"\nprior = "20:220"\ntolerance = 1\nmax_risk = 0.2\n'
    )
    plan = sv.plan_specification(sv.load_specification(spec))
    done = sv.release(plan, wages, output=place.address("out"), seed=5, details=True)
    assert sorted(done.card["columns"]) == ["id", "note", "value"]
    assert [len(row) for row in place.rows("out")] == [2] * ROWS
    assert sv.verify(place.address("out")).ok


@pytest.mark.heavy(2)
def test_inspect_audit_and_verify_read_databases(place, wages):
    released("shift", wages, place.address("out"))
    assert [one.column for one in sv.inspect(wages).columns] == ["id", "value", "note"]
    asked = {"column": "value", "trials": 200, "seed": 1, "attackers": ["plug-in"]}
    found = sv.audit(BY_MODE["shift"], wages, place.address("out"), **asked)
    assert found.rows > 0
    assert not found.leaks


def test_a_plan_that_hides_the_number_of_rows_releases_some_of_them(place, tmp_path):
    problem = sv.Problem(secret=sv.Rows(), prior=sv.LogUniform(1_000, 100_000), tolerance=sv.Relative(0.05))
    plan, frame = sv.plan(problem, max_risk=0.2), table_for("scale").drop("id")
    frame.write_parquet(tmp_path / "in.parquet")
    wanted = sv.release(plan, tmp_path / "in.parquet", output=tmp_path / "out.parquet", seed=5)
    sv.release(plan, place.put("wages", frame), output=place.address("out"), seed=5)
    assert place.rows("out") == pl.read_parquet(wanted).rows()
    assert 0 < len(place.rows("out")) < ROWS
    assert sv.verify(place.address("out")).ok


# --- the card -------------------------------------------------------------------------------------
def test_the_card_is_one_row_beside_the_table_and_changed_rows_are_found(place, wages):
    done = released("shift", wages, place.address("out"))
    ((text,),) = place.rows("out_card")
    assert json.loads(text) == json.loads(json.dumps(done.card))
    place.run("update out set note = 'changed' where id = 7")
    found = sv.verify(place.address("out"))
    assert [check.name for check in found.checks if not check.ok] == ["hash"]
    place.run("update out set note = 'x'", "drop table out_card")
    with pytest.raises(sv.FileError, match="has no card; expected the table out_card"):
        sv.verify(place.address("out"))


def test_rows_in_another_order_are_the_same_table(place, wages):
    released("shift", wages, place.address("out"))
    place.run(
        "create table again as select * from out order by id desc", "drop table out", "alter table again rename to out"
    )
    assert place.rows("out")[0][0] == ROWS - 1
    assert sv.verify(place.address("out")).ok


# --- what is there already ------------------------------------------------------------------------
@pytest.mark.heavy(2)
def test_what_is_there_is_kept_but_for_an_earlier_release(place, wages):
    before = place.rows("wages")
    with pytest.raises(sv.FileError, match="exists and is kept"):
        released("shift", place.put("other", table_for("shift")), wages)
    with pytest.raises(sv.FileError, match="is no release: there is no card wages_card"):
        released("shift", place.address("other"), wages, overwrite=True)
    with pytest.raises(sv.FileError, match="same table"):
        released("shift", wages, wages, overwrite=True)
    assert place.rows("wages") == before
    place.run("create table out_card (whose text)")
    with pytest.raises(sv.FileError, match="out_card is not the card of a release"):
        released("shift", wages, place.address("out"), overwrite=True)
    assert place.rows("out_card") == []
    place.run("drop table out_card")
    first = released("shift", wages, place.address("out"))
    second = released("shift", wages, place.address("out"), overwrite=True, round_digits=1)
    assert first.card["sha256"] != second.card["sha256"]
    assert sv.verify(place.address("out")).ok
    assert place.tables() == {"wages", "other", "out", "out_card"}


def test_a_refused_release_leaves_no_table_and_no_database(place, tmp_path):
    far = table_for("shift").with_columns(pl.col("value") + 1000)
    source = place.put("wages", far)
    new = f"duckdb:///{tmp_path / 'new.duckdb'}?table=out"
    for target in (place.address("out"), new, f"sqlite:///{tmp_path / 'new.db'}?table=out"):
        with pytest.raises(sv.StatveilError, match=r"outside|prior"):
            released("shift", source, target)
    assert place.tables() == {"wages"}
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("new")]


# --- one snapshot ---------------------------------------------------------------------------------
def test_what_others_write_while_the_table_is_read_is_not_seen(pg, monkeypatch):
    frame = table_for("shift", 40_000)
    source = pg.put("wages", frame)
    wrote = []
    plain = sqlalchemy_database._frame

    def slow(rows, schema):
        if not wrote:  # after the first rows have come, and long before the last
            pg.run("delete from wages where id % 2 = 0", "update wages set value = value + 50", "commit")
            wrote.append(len(rows))
        return plain(rows, schema)

    monkeypatch.setattr(sqlalchemy_database, "_frame", slow)
    table = open_source(source)
    assert 0 < wrote[0] < 20_000
    assert pl.DataFrame([table.column(name) for name in table.names]).rows() == frame.rows()
    assert pg.run("select count(*) from wages") == [(20_000,)], "which the writer had committed meanwhile"


def test_the_columns_and_the_rows_are_of_one_snapshot(place, wages, monkeypatch):
    if place.kind == "sqlite":
        place.run("pragma journal_mode = wal")  # otherwise the writer waits for the reader
    plain = database_table.Spool

    def later():
        if place.kind == "duckdb":  # within one process: another may not even open the file
            held = place.connect()
            held.execute("delete from wages")
        elif place.way and place.kind == "sqlite":
            # a driver with a SQLite of its own: two of them in one process do not see each other's locks
            other = (
                "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('delete from wages'); db.commit()"
            )
            subprocess.run([sys.executable, "-c", other, place.where], check=True)
        else:
            place.run("delete from wages")
        return plain()

    monkeypatch.setattr(database_table, "Spool", later)
    keep = place.connect() if place.kind == "duckdb" else None  # so that this process has it open to write
    assert open_source(wages).rows == ROWS
    assert place.rows("wages") == []
    if keep is not None:
        keep.close()


# --- one transaction ------------------------------------------------------------------------------
def test_a_connection_that_is_lost_in_the_middle_leaves_nothing(pg, tmp_path, monkeypatch, cli):
    pg.put("wages", table_for("shift", 60_000))
    save_plan(BY_MODE["shift"], tmp_path / "plan.json")
    # other connections are ended once rows of the new table are on their way
    plain = pl.DataFrame.iter_rows
    ended = []

    def cut(self, *args, **kwargs):
        for number, row in enumerate(plain(self, *args, **kwargs)):
            if number == 9000 and not ended:
                ended.append(pg.run("select pg_terminate_backend(pid) from pg_stat_activity where query like 'COPY%'"))
            yield row

    monkeypatch.setattr(pl.DataFrame, "iter_rows", cut)
    code, out, err = cli(
        "release",
        tmp_path / "plan.json",
        pg.address("wages"),
        pg.address("out"),
        "--column",
        "value",
        "--accept",
        "order",
    )
    assert ended == [[(True,)]]
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "cannot write postgresql://holder@/postgres?table=out: " in err
    assert "Traceback" not in err
    assert pg.tables() == {"wages"}


def test_a_connection_that_is_lost_before_the_end_leaves_nothing_and_the_ledger_counts(pg, tmp_path, monkeypatch):
    source = pg.put("wages", table_for("shift"))
    plain = _Session.commit

    def cut(self):
        pg.run("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
        plain(self)

    monkeypatch.setattr(_Session, "commit", cut)
    books = sv.Ledger.create(tmp_path / "books.db")
    with pytest.raises(sv.FileError, match="cannot write"):
        released("shift", source, pg.address("out"), ledger=books, dataset="wages")
    assert pg.tables() == {"wages"}
    assert len(books.pending()) == 1, "nobody can be sure that a lost commit was none"
    monkeypatch.setattr(_Session, "commit", plain)
    done = released("shift", source, pg.address("out"), ledger=books, dataset="wages")
    assert len(books.pending()) == 1
    assert [one.table for one in (done,)] == [str(Address.parse(pg.address("out")))]


KILLED = """
import os, signal, sys
from statveil.cli.main import run
from statveil.tables.databases.releasing import DatabaseOutlet
DatabaseOutlet.publish = lambda self, card: os.kill(os.getpid(), signal.SIGKILL)
run()
"""


@pytest.mark.heavy(2)
def test_a_killed_run_leaves_no_table_and_none_of_the_original_rows(place, tmp_path):
    frame, folder = table_for("shift"), tmp_path / "temporary"
    source = place.put("wages", frame)
    save_plan(BY_MODE["shift"], tmp_path / "plan.json")
    folder.mkdir()
    command = [sys.executable, "-c", KILLED, "release", tmp_path / "plan.json", source, place.address("out")]
    ended = subprocess.run([*command, "--column", "value"], env={**os.environ, "TMPDIR": str(folder)})
    assert ended.returncode == -9
    assert place.tables() == {"wages"}
    (left,) = (path for path in folder.rglob("*") if path.is_file())
    assert stat.S_IMODE(left.parent.stat().st_mode) == 0o700
    values = pl.read_parquet(left)["value"]
    assert len(values) == ROWS
    assert not values.is_in(frame["value"].to_list()).any(), "released rows, which were not published yet"
    released("shift", source, place.address("out"))
    assert sv.verify(place.address("out")).ok


def test_two_runs_to_one_name_make_one_table(pg):
    source = pg.put("wages", table_for("shift"))
    ended = []

    def run(seed):
        try:
            ended.append(released("shift", source, pg.address("out"), seed=seed).card["sha256"])
        except sv.FileError as error:
            ended.append(str(error))

    runs = [threading.Thread(target=run, args=(seed,)) for seed in (1, 2)]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    assert sv.verify(pg.address("out")).ok
    assert sum("another run" in text or "exists" in text for text in ended) == 1, ended


# --- names, types, passwords ----------------------------------------------------------------------
HOSTILE = ['"; drop table wages; --', "a'b", "sum(x) % :p", "Größe ☃", "back\\slash {x}", "select"]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.heavy(8)
def test_hostile_names_are_names(place, name):
    frame = table_for("shift").rename({"note": name, "value": name + " "})
    source = place.put(name, frame)
    place.put("wages", frame.head(1))
    sv.release(BY_MODE["shift"], source, output=place.address(name + "2"), column=name + " ", seed=5, accept=ALL)
    assert len(place.rows(name + "2")) == ROWS
    assert sv.verify(place.address(name + "2")).ok
    assert place.tables() == {name, "wages", name + "2", name + "2_card"}


def test_types_of_postgresql_go_there_and_back(pg):
    types = {
        "i2": "smallint", "i4": "integer", "i8": "bigint", "f4": "real", "f8": "double precision",
        "n": "numeric(12,3)", "n_any": "numeric", "t": "text", "v": "character varying(9)", "c": "character(4)",
        "b": "boolean", "d": "date", "ts": "timestamp without time zone", "tz": "timestamp with time zone",
        "tm": "time without time zone", "raw": "bytea", "u": "uuid", "js": "jsonb",
        "arr": "integer[]", "iv": "interval",
    }  # fmt: skip
    cells = ", ".join(f"{name} {kind}" for name, kind in types.items())
    pg.run(
        f"create table wages (value double precision, {cells})",
        "insert into wages select 100 + 9 * sin(g * 1.7) + g * 1e-7, 1, 2, 2^60, 0.1, 1e-300, 123456789.125, 1e-30, "
        "'tëxt', 'v', 'c', g % 2 = 0, date '1899-12-31', timestamp '2024-02-29 12:00:00.123456', "
        "timestamptz '2024-07-01 12:00:00+02', time '23:59:59.999999', '\\x00ff', "
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"a\": [1, null]}', '{1,null,3}', '1 mon 3 days 04:05:06.7' "
        "from generate_series(1, 500) g",
        "insert into wages (value) values (101.5)",
        "insert into wages (value, f8, f4) values (99.5, 'NaN', 'infinity')",
    )
    done = released("shift", pg.address("wages"), pg.address("out"))
    as_text = ", ".join(f"{name}::text" for name in types)
    assert pg.rows("out", as_text) == pg.rows("wages", as_text)
    asked = (
        "select attname, format_type(atttypid, atttypmod) from pg_attribute "
        "where attnum > 0 and attrelid = 'out'::regclass"
    )
    assert dict(pg.run(asked)) == {"value": "double precision", **types}
    assert done.notes == ()


def test_types_of_duckdb_go_there_and_back(duck):
    types = {
        "i1": "TINYINT", "u8": "UBIGINT", "h": "HUGEINT", "f4": "FLOAT", "n": "DECIMAL(12,3)", "t": "VARCHAR",
        "b": "BOOLEAN",
        "d": "DATE", "ts": "TIMESTAMP", "tz": "TIMESTAMP WITH TIME ZONE", "tm": "TIME", "raw": "BLOB", "u": "UUID",
        "l": "INTEGER[]", "e": "ENUM('x', 'y')", "iv": "INTERVAL", "ns": "TIMESTAMP_NS",
    }  # fmt: skip
    cells = ", ".join(f"{name} {kind}" for name, kind in types.items())
    duck.run(
        f"create table wages (value double, {cells})",
        "insert into wages select 100 + 9 * sin(g * 1.7) + g * 1e-7, 1, 18446744073709551615, "
        "170141183460469231731687303715884105727, 0.1, 123456789.125, 'tëxt', g % 2 = 0, '1899-12-31', "
        "'2024-02-29 12:00:00.123456', '2024-07-01 12:00:00+02', '23:59:59.999999', '\\x00\\xFF', "
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', [1, null, 3], 'y', interval '1 month 3 days', "
        "'2024-02-29 12:00:00.123456789' from range(500) r(g)",
        "insert into wages (value) values (101.5)",
    )
    released("shift", duck.address("wages"), duck.address("out"))
    names = ", ".join(f"{name}::varchar" for name in types)
    assert duck.rows("out", names) == duck.rows("wages", names)
    asked = "select column_name, data_type from duckdb_columns() where table_name = 'out'"
    assert dict(duck.run(asked)) == {"value": "DOUBLE", **types}


def test_what_a_database_cannot_hold_is_refused_or_noted_by_name(pg, tmp_path):
    frame = table_for("shift").with_columns(when=pl.lit("2024-01-01").str.to_datetime(time_zone="UTC"))
    frame.write_parquet(tmp_path / "in.parquet")
    source = str(tmp_path / "in.parquet")
    with pytest.raises(sv.ColumnError, match=r"column 'when' .* SQLite holds no time zones"):
        released("shift", source, f"sqlite:///{tmp_path / 'new.db'}?table=out")
    frame.with_columns(when=pl.duration(days=1)).write_parquet(tmp_path / "in.parquet")
    for target in (pg.address("out"), f"duckdb:///{tmp_path / 'new.duckdb'}?table=out"):
        with pytest.raises(sv.ColumnError, match="column 'when' is of type Duration"):
            released("shift", source, target)
    frame.with_columns(when=pl.when(pl.col("id") > 3).then(0.5).otherwise(float("nan"))).write_parquet(
        tmp_path / "in.parquet"
    )
    with pytest.raises(sv.ColumnError, match=r"does not give back what was written.*Columns: 'when'"):
        released("shift", source, f"sqlite:///{tmp_path / 'new.db'}?table=out")
    assert pg.tables() == set()
    assert not (tmp_path / "new.db").exists()
    pg.run(
        "create type mood as enum ('sad', 'ok')",
        "create table wages (id integer primary key, value double precision default 1, m mood, u uuid, p pg_lsn)",
        "insert into wages select g, 100 + 9 * sin(g * 1.7) + g * 1e-7, 'ok', "
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '0/16B3748' from generate_series(1, 500) g",
    )
    done = released("shift", pg.address("wages"), f"duckdb:///{tmp_path / 'new.duckdb'}?table=out")
    said = " ".join(done.notes)
    assert "primary key, default" in said
    assert "Column 'm'" in said
    assert "Column 'p'" in said
    assert "Column 'u' is UUID in the input, and text in the output" in said


def test_values_that_cannot_be_read_are_refused_by_the_name_of_their_column(pg, tmp_path):
    pg.run(
        "create table wages (value numeric, nan numeric(5, 2), d date)",
        "insert into wages select 100 + 9 * sin(g * 1.7), 1, '2024-01-01' from generate_series(1, 500) g",
    )
    with pytest.raises(sv.ColumnError, match=r"'value' holds values of type NUMERIC \(which passes as text"):
        released("shift", pg.address("wages"), pg.address("out"))
    pg.run("update wages set nan = 'NaN' where value < 92")
    with pytest.raises(sv.ColumnError, match="column 'nan' holds a value that is no Decimal"):
        open_source(pg.address("wages"))
    pg.run("update wages set nan = 1, d = 'infinity' where value < 92")
    with pytest.raises(sv.FileError, match=r"cannot read .*: a value does not fit its type"):
        open_source(pg.address("wages"))
    loose = Place("sqlite", str(tmp_path / "loose.db"))
    loose.run("create table t (n integer)", "insert into t values (1), ('secret text')")
    with pytest.raises(sv.ColumnError, match="column 'n' holds a value that is no Int64") as refused:
        open_source(loose.address("t"))
    assert "secret text" not in str(refused.value)
    assert pg.tables() == {"wages"}


def test_a_hidden_column_has_a_type_that_tells_nothing_of_its_values(pg):
    pg.run(
        "create table wages (value smallint not null check (value > 3))",
        "insert into wages select 103 + 9 * sin(g * 1.7) from generate_series(1, 3000) g",
    )
    released("lattice", pg.address("wages"), pg.address("out"))
    asked = "select data_type, is_nullable from information_schema.columns where table_name = 'out'"
    assert pg.run(asked) == [("integer", "YES")]


def test_rows_come_in_the_order_of_the_key_or_as_asked_for(place):
    frame = table_for("shift").with_columns(back=-pl.col("id"))
    shuffled = frame.sample(fraction=1, shuffle=True, seed=3)
    keyed = open_source(place.put("keyed", shuffled, key="id"))
    assert keyed.column("id").to_list() == list(range(ROWS))
    plain = place.put("plain", shuffled)
    assert open_source(plain).column("id").to_list() == shuffled["id"].to_list()
    asked = open_source(place.address("plain", order_by="back"))
    assert asked.column("id").to_list() == list(range(ROWS))[::-1]
    with pytest.raises(sv.ColumnError, match="no column 'x' to order its rows by"):
        open_source(place.address("plain", order_by="x"))


def test_the_record_is_of_these_rows_in_this_order(place, wages, tmp_path):
    record = tmp_path / "record.json"

    def again(table):
        return released("rank", place.address(table), place.address(f"{table}_out"), seed=None, record=str(record))

    frame = table_for("rank")
    place.put("counts", frame)
    place.put("same", frame)
    place.put("turned", frame.reverse())
    first, second = again("counts"), again("same")
    assert first.card["sha256"] == second.card["sha256"], "the same seed"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    with pytest.raises(sv.FileError, match="the table is not the one"):
        again("turned")
    assert "turned_out" not in place.tables()


def test_no_password_is_shown(pg, tmp_path, cli):
    save_plan(BY_MODE["shift"], tmp_path / "plan.json")
    pg.put("wages", table_for("shift"))
    record = tmp_path / "record.json"
    plan, source, target = tmp_path / "plan.json", pg.address("wages"), pg.address("out")
    said = []
    for arguments in (
        ("release", plan, source, target, "--column", "value", "--record", record, "--accept", "order"),
        ("verify", target),
        ("verify", target, "--json"),
        ("inspect", source, "--column", "id"),
        ("release", plan, source, target, "--column", "value", "--record", record),
        ("release", plan, source, target, "--column", "no", "--overwrite"),
        ("verify", pg.address("absent")),
        ("verify", target.replace("holder:", "nobody:")),
        ("verify", target.replace("host=", "host=/nowhere")),
        ("verify", f"postgresql://holder:{postgres.PASSWORD}@/postgres?table=wages"),
        ("verify", target.replace("table=", "nonsense=")),
    ):
        code, out, err = cli(*arguments)
        assert code in (0, 2), err
        said += [out, err]
        if code:
            assert err.count("\n") == 1
            assert "Traceback" not in err
    said += [record.read_text(), str(pg.rows("out_card")), repr(open_source(source)), str(open_source(source))]
    everything = "\n".join(said)
    for part in (postgres.PASSWORD, "pw:with", "pw%3Awith", "ev@ry", "ev%40ry", "#thing", "%23thing"):
        assert part not in everything
    assert "postgresql://holder@/postgres?table=out_card" in said[0]


def test_nothing_private_lies_about(place, wages, tmp_path, monkeypatch):
    """What was read is in a file without a name, or in a folder of its owner's; all of it goes."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    seen = []
    plain = Path.unlink

    def look(self, *args, **kwargs):
        if self.name == "table.parquet":
            seen.extend((path.name, stat.S_IMODE(path.parent.stat().st_mode)) for path in folder.rglob("*.parquet"))
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(Path, "unlink", look)
    released("shift", wages, place.address("out"))
    assert seen == [("table.parquet", 0o700)], "the released rows alone"
    assert list(folder.iterdir()) == []


def test_a_missing_library_is_named_with_what_installs_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sqlalchemy", None)
    with pytest.raises(
        sv.FileError, match=r"need SQLAlchemy, which is not installed; pip install 'statveil\[database\]'"
    ):
        open_source("sqlite:///x.db?table=t")
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(sv.FileError, match=r"need duckdb, which is not installed; pip install 'statveil\[database\]'"):
        open_source("duckdb:///x.db?table=t")
