"""The hash of a file that is read while it is written is that of the file, whoever wrote what meanwhile."""

import hashlib
import threading
import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.tables import hashing
from statveil.tables.files import parquet_file
from statveil.tables.files.packing import CLOSE
from statveil.tables.files.parquet_file import ParquetFile
from statveil.tables.hashing import hash_file, hashed_as_written


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def whole_files(monkeypatch):
    """The files that were hashed from their beginning once they were written."""
    seen = []

    def watched(path):
        seen.append(path)
        return hash_file(path)

    monkeypatch.setattr(hashing, "hash_file", watched)
    return seen


@given(pieces=st.lists(st.tuples(st.binary(max_size=3_000), st.booleans()), max_size=6))
def test_a_file_that_grows_piece_by_piece(pieces, tmp_path_factory):
    path = tmp_path_factory.mktemp("grown") / "table"
    with hashed_as_written(path) as digest, path.open("wb") as file:
        for piece, wait in pieces:
            file.write(piece)
            if wait:
                file.flush()
                time.sleep(0.002)
    assert digest() == sha256(b"".join(piece for piece, _ in pieces))


def test_only_what_was_read_on_the_way_is_not_read_again(tmp_path, whole_files):
    path = tmp_path / "table"
    data = np.random.default_rng(0).bytes(5_000_000)
    with hashed_as_written(path) as digest:
        path.write_bytes(data)
    assert digest() == digest() == sha256(data)
    assert whole_files == []


@pytest.mark.parametrize("change", ["longer", "shorter", "another file", "a link"])
def test_what_was_changed_afterwards_is_hashed_as_it_is(change, tmp_path, whole_files):
    path, other = tmp_path / "table", tmp_path / "other"
    with hashed_as_written(path) as digest:
        path.write_bytes(b"one" * 1000)
    other.write_bytes(b"two" * 1000)
    digest_before = digest()
    if change == "longer":
        path.write_bytes(b"one" * 1000 + b"more")
    elif change == "shorter":
        path.write_bytes(b"one")
    elif change == "another file":
        other.replace(path)
    else:
        path.unlink()
        path.symlink_to(other)
    assert digest() == sha256(path.read_bytes()) != digest_before
    assert whole_files == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError])
@pytest.mark.parametrize("begun", [False, True])
def test_what_stops_the_writing_ends_the_reading(error, begun, tmp_path):
    before = set(threading.enumerate())
    path = tmp_path / "table"

    def stopped():
        with hashed_as_written(path):
            if begun:
                path.write_bytes(b"one" * 1000)
            raise error

    with pytest.raises(error):
        stopped()
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    assert not {one for one in threading.enumerate() if one.is_alive()} - before


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_long_parquet_file_is_hashed_on_the_way(shuffle, tmp_path, monkeypatch, whole_files):
    """To the same card, record and bytes as a short one; what was hashed is what ``verify`` finds."""
    source = tmp_path / "in.parquet"
    pl.DataFrame({"x": np.random.default_rng(1).normal(100, 10, 150_000)}).write_parquet(source)
    problem = sv.Problem(secret=sv.Mean(), prior=(50, 200), tolerance=1)
    plan = sv.plan(problem, max_risk=0.2)

    def released(name):
        return sv.release_file(plan, source, tmp_path / name, column="x", seed=3, shuffle=shuffle)

    short = released("short.parquet")
    monkeypatch.setattr(parquet_file, "LONG", 100_000)
    monkeypatch.setattr(parquet_file, "packing_for", lambda first: CLOSE)  # as short files are packed
    whole_files.clear()
    long = released("long.parquet")
    assert whole_files == []
    assert (short.card, short.record) == (long.card, long.record)
    assert long.card["sha256"] == sha256((tmp_path / "long.parquet").read_bytes())
    assert ParquetFile(source).hash_of(source) == sha256(source.read_bytes())
