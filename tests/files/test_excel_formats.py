"""The formats of cells that stay tell nothing of a hidden column."""

from __future__ import annotations

from datetime import date

import numpy as np
import openpyxl

import statveil as sv
from tests.plans import located

PLAN = located(50, 250)


def test_cells_of_a_kind_are_shown_alike(tmp_path):
    x = np.random.default_rng(3).normal(150, 20, 300)
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["x", "k", "day"])
    for row, value in enumerate(x.tolist(), 2):
        sheet.append([value, row % 9, date(2024, 1, 1 + row % 28)])
        sheet.cell(row, 2).number_format = "0.00" if value > 150 else "0"
        sheet.cell(row, 3).number_format = "yyyy" if value > 150 else "dd.mm.yyyy"
    book.save(tmp_path / "in.xlsx")
    sv.release(PLAN, tmp_path / "in.xlsx", output=tmp_path / "out.xlsx", column="x")
    fresh = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    rows = list(fresh.iter_rows(min_row=2))
    assert len({row[1].number_format for row in rows}) == 1
    assert len({row[2].number_format for row in rows}) == 1
    assert [row[1].value for row in rows] == [number % 9 for number in range(2, 302)]
    assert rows[0][2].value.date() == date(2024, 1, 3)
