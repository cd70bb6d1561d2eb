"""What stood in a cell before it was blanked is in no byte of a release."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import statveil as sv
from statveil.tables.empty_cells import emptied_frame

ROWS = 900
BLANK = np.arange(ROWS) % 3 == 0
PLAN = sv.plan(
    sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 200)), secret=sv.Mean(), tolerance=1), max_risk=0.2
)


def blanked(values):
    """The column with every third cell blanked as most programs do it: a bit is set, the number stays."""
    return pa.array(values, mask=BLANK)


def table():
    rng = np.random.default_rng(3)
    x, other = rng.normal(100, 10, ROWS), rng.normal(0, 1, ROWS)
    cells = blanked(x)
    words = pa.array([f"word {i} of many" for i in range(ROWS)])
    text = pa.Array.from_buffers(pa.string(), ROWS, [cells.buffers()[0], *words.buffers()[1:]])
    inner = pa.StructArray.from_arrays([blanked(other + 50)], names=["v"])
    lists = pa.ListArray.from_arrays(pa.array(np.arange(ROWS + 1, dtype=np.int32)), blanked(other + 70))
    made = {"x": cells, "other": blanked(other), "text": text, "inner": inner, "lists": lists}
    hidden = [float(x[0]), float(x[3]), float(other[3]), float(other[3] + 50), float(other[6] + 70)]
    return pa.table(made), [np.float64(value).tobytes() for value in hidden] + [b"word 3 of many"]


def every_byte(found):
    """All buffers of a table."""
    return b"".join(bytes(b) for column in found.columns for c in column.chunks for b in c.buffers() if b is not None)


def test_an_arrow_file_carries_nothing_under_its_empty_cells(tmp_path):
    made, hidden = table()
    feather.write_feather(made, tmp_path / "in.feather", compression="uncompressed")
    before = every_byte(feather.read_table(tmp_path / "in.feather", memory_map=False))
    assert all(value in before for value in hidden)  # positive control: they are there
    sv.release_file(PLAN, tmp_path / "in.feather", tmp_path / "out.feather", column="x", accept=["copies"])
    found = feather.read_table(tmp_path / "out.feather", memory_map=False)
    assert not [value for value in hidden if value in every_byte(found)]
    assert found.drop(["x"]).to_pylist() == made.drop(["x"]).to_pylist()
    assert [cell is None for cell in found["x"].to_pylist()] == BLANK.tolist()


@pytest.mark.parametrize("library", ["arrow", "polars"])
def test_a_column_in_memory_carries_nothing_under_its_empty_cells(library):
    made, hidden = table()
    given = made.select(["x"]) if library == "arrow" else pl.from_arrow(made.select(["x"]))
    released = sv.release(PLAN, given, column="x")
    found = released if library == "arrow" else released.to_arrow()
    assert all(value in every_byte(made.select(["x"])) for value in hidden[:2])
    assert not any(value in every_byte(found) for value in hidden[:2])


def test_what_is_in_the_cells_stays():
    frame = pl.DataFrame(
        {
            "": [[1, None], None, []],
            "whole": [1, None, 3], "text": [None, "b", "c"], "yes": [True, None, False], "none": [None, None, None],
            "lists": [[1, None], None, []], "inner": [{"a": 1}, None, {"a": None}], "day": [None, 1, 2],
        },
        schema_overrides={"day": pl.Date},
    )  # fmt: skip
    assert emptied_frame(frame).equals(frame, null_equal=True)
    assert emptied_frame(frame).schema == frame.schema
    assert emptied_frame(frame.clear()).schema == frame.schema
