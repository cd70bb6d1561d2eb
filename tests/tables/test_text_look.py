"""What inspect says of columns of text."""

import polars as pl
import pytest

import statveil as sv
from statveil.tables.text_look import text_says

CATEGORIES = "Categories: plan with --family categorical"


@pytest.mark.parametrize(
    ("cells", "example", "row"),
    [
        (["68,3", "71,5", "69,0"], "68,3", 1),
        (["1,234.50", "2,000.00", "900.25"], "1,234.50", 1),
        (["900.25", "NA", "2,000.00"], "2,000.00", 3),
        (["1.234,50", "2.000,00"], "1.234,50", 1),
        (["1 234", "2 000"], "1 234", 1),
        (["1'234.5", "2'000"], "1'234.5", 1),
        (["$34", "$1,250.10"], "$34", 1),
        (["34 €", "35 €"], "34 €", 1),
        (["USD 34", "USD 35"], "USD 34", 1),
        (["12%", "15.5%"], "12%", 1),
        (["(34)", "35"], "(34)", 1),
        (["\N{MINUS SIGN}3.5", "4.5"], "\N{MINUS SIGN}3.5", 1),
        (["", None, "3,5", "4,5"], "3,5", 3),
    ],
)
def test_numbers_in_another_notation_are_told_with_the_first(cells, example, row):
    said = text_says(pl.Series(cells, dtype=pl.String))
    assert said.startswith(f"Numbers in another notation, such as {example!r} in row {row}: a release needs them")
    assert "decimal point and without marks between thousands" in said


@pytest.mark.parametrize(
    "cells",
    [
        ["yes", "no", "no"],
        ["A12", "B34", "A12"],
        ["12:30", "12:45", "12:30"],
        ["2024-01-05", "2024-01-05"],
        ["05.01.2024", "06.01.2024"],
        ["10.0.0.1", "10.0.0.2"],
        ["under 1,000", "over 1,000"],
        ["a", "b", "c"],  # too few to say that they always differ
        [],
    ],
)
def test_other_text_is_no_number(cells):
    assert text_says(pl.Series(cells, dtype=pl.String)).startswith(CATEGORIES)


@pytest.mark.parametrize(
    "make",
    [lambda row: f"id-{row}", lambda row: f"2024-{1 + row // 28:02}-{1 + row % 28:02}", lambda row: f"It said {row}!"],
)
def test_text_that_differs_in_nearly_every_row_is_no_category(make):
    said = text_says(pl.Series([make(row) for row in range(200)]))
    assert said.startswith("Text that differs in nearly every row")
    assert "categorical" not in said


def test_numbers_held_as_text_are_numbers():
    said = text_says(pl.Series([str(row) for row in range(20)]))
    assert said.startswith("Numbers that are held as text.")
    said = text_says(pl.Series([*(str(row) for row in range(20)), "see below"]))
    assert "but for row 21: mend that cell" in said


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_every_kind_of_file_and_frame(tmp_path, suffix):
    frame = pl.DataFrame({"x": ["68,3", "71,5"] * 10, "note": [f"n{row}" for row in range(20)], "g": ["a", "b"] * 10})
    path = tmp_path / f"t.{suffix}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}[suffix](path)
    for table in (path, frame):
        said = {one.column: one.leaks[0] for one in sv.inspect(table).columns}
        assert said["x"].startswith("Numbers in another notation, such as '68,3' in row 1:")
        assert said["note"].startswith("Text that differs in nearly every row")
        assert said["g"].startswith(CATEGORIES)
    (alone,) = sv.inspect(frame["x"]).columns
    assert alone.leaks[0].startswith("Numbers in another notation")
