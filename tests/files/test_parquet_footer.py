"""Parquet files that were cut: said in one sentence, before the engine stumbles over what is missing."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.plan_file import save_plan
from statveil.tables.files.parquet_footer import lacks_data

ROWS = 60_000
TABLE = pl.DataFrame(
    {
        "x": np.random.default_rng(1).normal(100, 10, ROWS).round(2),
        "name": [f"n{row % 977}" for row in range(ROWS)],
        "deep": [[{"a": row, "b": [True, None]}] for row in range(ROWS)],
    }
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "t.parquet"
    TABLE.write_parquet(path, row_group_size=7_000)
    return path.read_bytes()


@pytest.fixture
def place(whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = sv.Problem(secret=sv.Mean(), prior=sv.Flat(60, 200), tolerance=2, known=sv.Structure(step=0.01))
    save_plan(sv.plan(problem, max_risk=0.2), "plan.json")
    (tmp_path / "t.parquet").write_bytes(whole)
    (tmp_path / "tail.parquet").write_bytes(whole[-len(whole) // 2 :])
    (tmp_path / "middle.parquet").write_bytes(whole[:50_000] + whole[150_000:])
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1.parquet").write_bytes(whole)
    (tmp_path / "parts" / "2.parquet").write_bytes(whole[:-200_000] + whole[-100_000:])
    return tmp_path


@pytest.mark.parametrize("missing", [1, 100, 50_000])
def test_every_missing_byte_counts(whole, tmp_path, missing):
    path = tmp_path / "t.parquet"
    path.write_bytes(whole)
    assert not lacks_data(path)
    path.write_bytes(whole[missing:])
    assert lacks_data(path)
    path.write_bytes(whole[:1_000] + whole[1_000 + missing :])
    assert lacks_data(path)


def test_indexes_between_data_and_footer_are_data(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE.to_arrow(), path, write_page_index=True, row_group_size=7_000, compression="gzip")
    content = path.read_bytes()
    assert not lacks_data(path)
    path.write_bytes(content[:5_000] + content[5_001:])
    assert lacks_data(path)


@given(st.data())
def test_a_footer_that_makes_no_sense_is_left_to_the_engine(whole, tmp_path_factory, data):
    length = int.from_bytes(whole[-8:-4], "little")
    footer = bytearray(whole[-8 - length : -8])
    for at in data.draw(st.lists(st.integers(0, length - 1), min_size=1, max_size=20)):
        footer[at] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("footer") / "t.parquet"
    path.write_bytes(whole[: -8 - length] + footer + whole[-8:])
    assert lacks_data(path) in (True, False)  # and no other error


@pytest.mark.parametrize("name", ["tail.parquet", "middle.parquet", "parts"])
@pytest.mark.parametrize(
    "command",
    [
        ["inspect", "IN"],
        ["inspect", "IN", "--column", "name"],
        ["inspect", "IN", "--spec"],
        ["release", "plan.json", "IN", "out.parquet", "--column", "x"],
        ["audit", "plan.json", "t.parquet", "IN", "--column", "x", "--trials", "200"],
        ["audit", "plan.json", "IN", "t.parquet", "--column", "x", "--trials", "200"],
        ["compare", "IN", "--column", "x", "--secret", "mean"],
        ["plan", "--family", "shape:IN:x", "--prior", "median=0:1", "--secret", "mean", "--tolerance", "1"],
    ],
)
def test_a_cut_file_is_one_sentence(cli, place, name, command):
    if name == "parts":
        command = [word.replace("out.parquet", "out") for word in command]
    before = sorted(place.iterdir())
    code, out, err = cli(*[word.replace("IN", name) for word in command])
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "it is damaged, parts of its data are missing" in err
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("middle.parquet", ["inspect", "middle.parquet"]),
        ("tail.parquet", ["release", "plan.json", "tail.parquet", "out.parquet", "--column", "x"]),
    ],
)
def test_the_engine_says_nothing_of_its_own(place, name, command):
    """On the file descriptor itself, past Python's streams."""
    words = [sys.executable, "-m", "statveil", *command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"statveil: cannot read {name}: it is damaged, parts of its data are missing. Copy it again, or write it "
        "again with the program that made it.\n"
    )


def test_verify_says_that_a_cut_release_was_changed(cli, place):
    code, _, err = cli("release", "plan.json", "t.parquet", "out.parquet", "--column", "x", "--accept", "copies")
    assert code == 0, err
    content = (place / "out.parquet").read_bytes()
    (place / "out.parquet").write_bytes(content[:9_000] + content[10_000:])
    code, out, err = cli("verify", "out.parquet")
    assert (code, err) == (1, "")
    assert "The file was changed after its card was made" in out
