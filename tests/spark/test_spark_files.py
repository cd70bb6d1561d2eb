"""``--engine spark``: files in, a folder with its card out; nothing under the final name where something fails."""

from __future__ import annotations

import json
import shutil
import sys

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.spark import session, spark_file, spark_parquet
from statveil.tables.spark.failures import quiet
from tests.plans import BY_MODE, column_for

SEED = 7


@pytest.fixture
def place(tmp_path):
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"x": column_for("unit", rng, 3_000), "w": rng.random(3_000)})
    table.write_parquet(tmp_path / "in.parquet")
    table.write_csv(tmp_path / "in.csv")
    folder = tmp_path / "folder"
    folder.mkdir()
    table[:100].write_parquet(folder / "a.parquet")  # Spark itself would read the larger file first
    table[100:].write_parquet(folder / "b.parquet")
    sv.save_plan(BY_MODE["unit"], tmp_path / "plan.json")
    return tmp_path


def release(cli, place, source, target, *options):
    files = (place / "plan.json", place / source, place / target)
    return cli("release", *files, "--column", "x", "--seed", SEED, "--engine", "spark", *options)


@pytest.mark.parametrize(
    ("source", "target"), [("in.parquet", "out.parquet"), ("in.parquet", "out"), ("folder", "out")]
)
def test_the_folder_holds_what_one_machine_writes(spark, cli, place, source, target):
    code, _, err = release(cli, place, source, target, "--record", place / "record.json")
    assert (code, err) == (0, "")
    sv.release(BY_MODE["unit"], place / "in.parquet", output=place / "one.parquet", column="x", seed=SEED)
    written = pl.concat([pl.read_parquet(file) for file in sorted((place / target).iterdir())])
    assert written.equals(pl.read_parquet(place / "one.parquet"))
    assert all(file.suffix == ".parquet" for file in (place / target).iterdir()), "no marks of Spark's own"
    assert cli("verify", place / target)[0] == 0
    cards = [json.loads((place / f"{name}.card.json").read_text()) for name in (target, "one.parquet")]
    assert {**cards[0], "sha256": ""} == {**cards[1], "sha256": ""}
    assert (place / "record.json").stat().st_mode & 0o777 == 0o600
    before = {"in.parquet", "in.csv", "folder", "plan.json", "record.json", "one.parquet", "one.parquet.card.json"}
    assert {path.name for path in place.iterdir()} == before | {target, f"{target}.card.json"}


def test_csv_files_give_the_same_values(spark, cli, place):
    assert release(cli, place, "in.csv", "out")[0] == 0
    written = pl.concat([pl.read_csv(file) for file in sorted((place / "out").iterdir())])
    wanted = sv.release(BY_MODE["unit"], pl.read_parquet(place / "in.parquet"), column="x", seed=SEED)
    assert written.equals(wanted)


def test_inspect_and_audit(spark, cli, place):
    code, out, _ = cli("inspect", place / "in.parquet", "--engine", "spark", "--json")
    assert (code, json.loads(out)) == (0, sv.inspect(place / "in.parquet").to_json())
    assert release(cli, place, "in.parquet", "out")[0] == 0
    arguments = ("--column", "x", "--attackers", "plug-in", "--trials", "200", "--seed", "1", "--json")
    with_spark = cli("audit", place / "plan.json", place / "in.parquet", place / "out", *arguments, "--engine", "spark")
    alone = cli("audit", place / "plan.json", place / "in.parquet", place / "out", *arguments)
    assert with_spark[0] == alone[0]
    names = {"original": None, "released": None}  # a DataFrame has none
    assert json.loads(with_spark[1]) == json.loads(alone[1]) | names


def test_what_is_there_is_kept(spark, cli, place):
    (place / "out").mkdir()
    (place / "out" / "mine.txt").write_text("mine")
    code, _, err = release(cli, place, "in.parquet", "out")
    assert code == 2
    assert "exists" in err
    assert (place / "out" / "mine.txt").read_text() == "mine"
    assert not (place / "out.card.json").exists()


@pytest.mark.parametrize("lost", ["a refusal", "an executor"])
@pytest.mark.parametrize("source", ["in.csv", "in.parquet"])
def test_a_failure_while_it_is_written_leaves_nothing(spark, cli, place, monkeypatch, source, lost):
    real = spark_file.SparkFrame.released
    why = {"a refusal": "spoiled", "an executor": "ExecutorLostFailure"}[lost]

    def failing(self, changes, *, shuffle=None):
        def fail(values):
            yield from ()
            raise RuntimeError(why)

        with quiet():
            return real(self, changes, shuffle=shuffle).mapInArrow(fail, "x bigint, w double")

    def fail_there(work, task):
        raise RuntimeError(why)

    monkeypatch.setattr(spark_file.SparkFrame, "released", failing)
    monkeypatch.setattr(spark_parquet, "write_span", fail_there)
    code, _, err = release(cli, place, source, "out")
    assert code == 2
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert ("executor" if lost == "an executor" else "spoiled") in err
    assert {path.name for path in place.iterdir()} == {"in.parquet", "in.csv", "folder", "plan.json"}


# --- what is not installed ----------------------------------------------------------------------
def test_without_java_the_command_says_how_to_install_it(cli, place, monkeypatch):
    monkeypatch.setattr(session.shutil, "which", lambda *_, **__: None)
    code, _, err = release(cli, place, "in.parquet", "out")
    assert code == 2
    assert "apt-get install openjdk-17-jre-headless" in err
    assert not (place / "out").exists()


def test_without_the_extra_the_command_says_how_to_install_it(cli, place, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setattr(session.importlib.util, "find_spec", lambda name: None)
    code, _, err = release(cli, place, "in.parquet", "out")
    assert code == 2
    assert "pip install 'statveil[spark]'" in err


def test_other_files_are_refused(cli, place):
    shutil.copy(place / "in.csv", place / "in.xlsx")
    code, _, err = release(cli, place, "in.xlsx", "out.xlsx")
    assert code == 2
    assert "Parquet" in err
