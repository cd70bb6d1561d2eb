"""What stands around the values of columns that stay tells nothing: the ways in which a CSV file is written."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import statveil as sv
from statveil.tables.files.csv_ways import in_one_way
from tests.plans import located

PLAN = located(80, 140, step=0.01)


def column(seed=0, rows=400):
    return np.round(np.random.default_rng(seed).normal(110, 9, rows), 2)


def released(tmp_path, text, **options):
    (tmp_path / "in.csv").write_bytes(text.encode())
    out = sv.release(PLAN, tmp_path / "in.csv", output=tmp_path / "out.csv", column="x", overwrite=True, **options)
    return out.read_bytes().decode()


def shown(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def aligned(x, others):
    """Lines of one length: more blanks before the second number where the first one is short."""
    return "x,k\n" + "".join(f"{a:.2f},{str(b).rjust(16 - len(f'{a:.2f}'))}\n" for a, b in zip(x, others, strict=True))


WAYS = {
    "blanks": lambda x, k: aligned(x, k),
    "quotes": lambda x, k: "x,k\n" + "".join(
        f'{a:.2f},"{b}"\n' if a >= 100 else f"{a:.2f},{b}\n" for a, b in zip(x, k, strict=True)
    ),
    "line ends": lambda x, k: "x,k\n" + "".join(
        f"{a:.2f},{b}" + ("\r\n" if a >= 100 else "\n") for a, b in zip(x, k, strict=True)
    ),
    "blank lines": lambda x, k: "x,k\n" + "".join(
        f"{a:.2f},{b}" + ("\n\r\n\n" if a >= 100 else "\n") for a, b in zip(x, k, strict=True)
    ),
}  # fmt: skip


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_cells_that_are_written_by_the_hidden_value_are_written_alike(tmp_path, way, shuffle):
    """The same values written in one way and in one that tells x >= 100 (a sure guess before): the same file."""
    x, k = column(), np.random.default_rng(1).integers(0, 50, 400)
    plain = "x,k\n" + "".join(f"{a:.2f},{b}\n" for a, b in zip(x, k, strict=True))
    told = WAYS[way](x, k)
    assert told != plain
    assert released(tmp_path, told, seed=5, shuffle=shuffle) == released(tmp_path, plain, seed=5, shuffle=shuffle)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(("mark", "other"), [('""', ""), ('" "', " "), ('"\t"', "\t")])
@pytest.mark.parametrize("separator", [",", ";"])
def test_cells_that_say_nothing_are_written_alike(tmp_path, mark, other, separator, shuffle):
    """Marks of x >= 100 in a column of which no cell, or every second one, says anything."""
    x, k = column(), np.random.default_rng(1).integers(0, 2, 400)
    for says in ([""] * 400, np.where(k == 1, "yes", "").tolist()):
        told, plain = (
            "x,k,l\n"
            + "".join(f"{a:.2f},{b or (one if a >= 100 else other)},ok\n" for a, b in zip(x, says, strict=True))
            for one in (mark, other)
        )
        told, plain = (text.replace(",", separator) for text in (told, plain))
        assert told != plain
        assert released(tmp_path, told, seed=5, shuffle=shuffle) == released(tmp_path, plain, seed=5, shuffle=shuffle)


def test_blank_lines_of_a_table_of_one_column_are_its_rows(tmp_path):
    text = "x\n" + "".join(f"{a:.2f}\n" if a > 100 else "\n" for a in column())
    out = released(tmp_path, text)
    assert [not line for line in out.split("\n")] == [not line for line in text.split("\n")]


def test_a_column_that_is_derived_from_one_written_in_several_ways(tmp_path):
    x, k = column(), np.random.default_rng(1).integers(0, 3, 400)
    cells = np.array(["", '""', "yes"])[k]
    text = "x,k\n" + "".join(f"{a:.2f},{b}\n" for a, b in zip(x, cells, strict=True))
    (tmp_path / "in.csv").write_text(text)
    plan = sv.plan_specification(
        sv.Specification.from_toml(
            'others = "keep"\n[columns.x]\nhide = "mean"\nprior = "80:140"\ntolerance = 1\nknown = "step=0.01"\n'
            'max_risk = 0.2\n[columns.d]\nderive = "k == \'yes\'"\n[columns.m]\nderive = "missing(k)"\n'
        )
    )
    sv.release_table(plan, tmp_path / "in.csv", tmp_path / "out.csv")
    assert sv.verify(tmp_path / "out.csv").ok
    rows = shown((tmp_path / "out.csv").read_text())[1:]
    assert {tuple(row[1:]) for row in rows} == {("yes", "true", "false"), ("", "", "true")}


@pytest.mark.parametrize("accept", [(), ("copies",)])
def test_also_where_other_columns_are_not_searched(tmp_path, accept):
    x, k = column(), np.random.default_rng(1).integers(0, 50, 400)
    lines = released(tmp_path, WAYS["quotes"](x, k), accept=accept).splitlines()
    assert not any('"' in line for line in lines)


@pytest.mark.parametrize(
    "write",
    [
        lambda x, k: f"{x:.2f}, {k}\n",  # one blank before every number
        lambda x, k: f"{x:.2f},{k:>9}\n",  # numbers to the right
        lambda x, k: f'{x:.2f},"{k}"\n',  # all in quotes
        lambda x, k: f"{x:.2f},{k}\r\n",
        lambda x, k: f'{x:.2f},"a {k}, b"\n' if k % 2 else f"{x:.2f},{k}\n",  # quotes where they are needed
        lambda x, k: f"{x:.2f},{k:05d}\n",
        lambda x, k: f"{x:.2f},\n" if k % 3 else f'{x:.2f},"{k}"\n',  # empty cells have no quotes
    ],
)
def test_one_way_stays_byte_for_byte(tmp_path, write):
    x, k = column(), np.random.default_rng(1).integers(0, 50, 400)
    end = "\r\n" if "\r\n" in write(1.0, 1) else "\n"
    text = f"x,k{end}" + "".join(write(a, b) for a, b in zip(x, k, strict=True))
    out = released(tmp_path, text)
    before, after = (text.split(end), out.split(end))
    assert [line.partition(",")[2] for line in before] == [line.partition(",")[2] for line in after]


def test_values_stay():
    fields = [b" 7", b'"red"', b'"a,b"', b"", b'""', b'" x "', b"x ", b'"say ""no"""', b'"5 "', "é".encode()]
    fresh = in_one_way(fields, ",")
    assert fresh == [b"7", b"red", b'"a,b"', b"", b"", b" x ", b"x ", b'"say ""no"""', b"5", "é".encode()]


def test_two_columns_of_one_name(tmp_path):
    x, k = column(), np.random.default_rng(1).integers(0, 50, 400)
    text = "x,k,k\n" + "".join(
        f'{a:.2f},{b},"{b}"\n' if a > 100 else f"{a:.2f},{b},{b}\n" for a, b in zip(x, k, strict=True)
    )
    rows = shown(released(tmp_path, text))
    assert [row[1:] for row in rows[1:]] == [[str(b), str(b)] for b in k]
