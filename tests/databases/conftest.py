"""The databases of the tests, each with ways to fill and to read it that share nothing with ours."""

from __future__ import annotations

import importlib.util
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import duckdb
import polars as pl
import pytest

from tests.databases import postgres
from tests.missing import missing

SQL = {pl.Int64: "bigint", pl.Float64: "double precision", pl.String: "text"}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@dataclass
class Place:
    """A database; ``connect`` gives a DB-API connection of its driver."""

    kind: str
    where: str
    mark: str = "?"

    way: str = ""
    """What stands before the address: ``adbc+`` where that is how it is reached."""

    def address(self, table, **more):
        return self.way + self._address(table, **more)

    def _address(self, table, **more):
        if self.kind == "postgresql":
            return postgres.address(self.where, table, **more)
        rest = "".join(f"&{key}={quote(value, safe='')}" for key, value in more.items())
        return f"{self.kind}:///{self.where}?table={quote(table, safe='')}{rest}"

    def connect(self):
        if self.kind == "duckdb":
            return duckdb.connect(self.where)
        if self.kind == "sqlite":
            return sqlite3.connect(self.where)
        import psycopg

        return psycopg.connect(host=self.where, user="holder", password=postgres.PASSWORD, dbname="postgres")

    def run(self, *statements):
        held = self.connect()
        try:
            for statement in statements:
                found = held.execute(statement)
            rows = found.fetchall() if found is not None and getattr(found, "description", None) else []
            held.commit()
        except duckdb.TransactionException:  # which commits each statement by itself
            pass
        finally:
            held.close()
        return rows

    def rows(self, table, columns="*"):
        return self.run(f"select {columns} from {quoted(table)}")

    def put(self, table, frame, key=None):
        """A table with these rows, in their order."""
        held = self.connect()
        cells = ", ".join(
            f"{quoted(name)} {SQL[type(dtype)]}{' primary key' if name == key else ''}"
            for name, dtype in frame.schema.items()
        )
        held.execute(f"create table {quoted(table)} ({cells})")
        if self.kind == "duckdb":
            held.register("statveil_rows", frame.to_arrow())
            held.execute(f"insert into {quoted(table)} select * from statveil_rows")
        elif self.kind == "sqlite":
            held.executemany(f"insert into {quoted(table)} values ({', '.join('?' * frame.width)})", frame.rows())
            held.commit()
        else:
            with held.cursor().copy(f"copy {quoted(table)} from stdin") as copy:
                for row in frame.iter_rows():
                    copy.write_row(row)
            held.commit()
        held.close()
        return self.address(table)

    def tables(self):
        asked = {
            "duckdb": "select table_name from duckdb_tables()",
            "sqlite": "select name from sqlite_master where type = 'table'",
            "postgresql": "select tablename from pg_tables where schemaname = 'public'",
        }
        return {row[0] for row in self.run(asked[self.kind])}


@pytest.fixture(scope="session")
def server():
    with postgres.cluster() as folder:
        yield folder


@pytest.fixture
def pg(server):
    place = Place("postgresql", server)
    place.run("drop schema public cascade", "create schema public")
    return place


@pytest.fixture
def duck(tmp_path):
    return Place("duckdb", str(tmp_path / "data.duckdb"))


ADBC = ("adbc+sqlite", "adbc+postgresql")


@pytest.fixture(params=["duckdb", "sqlite", "postgresql", *ADBC])
def place(request, tmp_path):
    """Each database in turn, by each way in."""
    return reached(request, tmp_path)


def reached(request, tmp_path):
    """The database that a fixture is asked for."""
    way, kind = ("adbc+" if "+" in request.param else ""), request.param.removeprefix("adbc+")
    if way and importlib.util.find_spec(f"adbc_driver_{kind}") is None:
        missing("needs the drivers of ADBC (pip install 'statveil[adbc]')")
    if kind == "postgresql":
        return replace(request.getfixturevalue("pg"), way=way)
    return Place(kind, str(Path(tmp_path, f"data.{kind}")), way=way)
