"""The public conformance check of engines and file formats passes ours, and names what a broken one does."""

from __future__ import annotations

from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

from statveil.tables.blocks import BLOCK
from statveil.tables.frames.frame import FRAMES, Frame
from statveil.tables.released import read_rows
from statveil.testing import ConformanceError, check_source

ENGINES: dict[str, Any] = {
    "lazy": pl.DataFrame.lazy,
    "pandas": lambda table: pd.DataFrame(table.to_dict(as_series=False)),
    "arrow": pl.DataFrame.to_arrow,
    "duckdb": lambda table: duckdb.from_arrow(table.to_arrow()),
}
READ: dict[str, Any] = {
    "lazy": pl.LazyFrame.collect,
    "pandas": pl.from_pandas,
    "arrow": pl.from_arrow,
    "duckdb": lambda relation: relation.pl(),
}
WRITE: dict[str, Any] = {
    "csv": pl.DataFrame.write_csv,
    "parquet": lambda table, path: table.write_parquet(path, row_group_size=9_999),
    "feather": pl.DataFrame.write_ipc,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_our_engines_pass(engine):
    check_source(ENGINES[engine], read=READ[engine])


@pytest.mark.parametrize("format", WRITE)
def test_our_formats_pass(tmp_path, format):
    def make(table):
        WRITE[format](table, tmp_path / f"in.{format}")
        return tmp_path / f"in.{format}"

    check_source(make)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"in.{format}"], "what it wrote is gone again"


# --- broken ones --------------------------------------------------------------------------------
class Lists(Frame):
    """A dictionary of lists; not registered, as it does not say what it is."""

    @classmethod
    def takes(cls, native):
        return isinstance(native, dict)

    def columns(self):
        return list(self.native)

    def read(self, column):
        return pl.Series(column, self.native[column])

    def with_columns(self, fresh, dropped):
        kept = {name: cells for name, cells in self.native.items() if name not in dropped}
        return {**kept, **{name: column.to_list() for name, column in fresh.items()}}

    def taken(self, native, order):
        return {name: [cells[row] for row in order] for name, cells in native.items()}


@pytest.fixture
def engine():
    """Registers a broken engine for dictionaries, and takes a frame into one."""
    known = list(FRAMES)

    def make(**methods):
        type("Broken", (Lists,), {"what": "a dictionary of lists", **methods})
        return lambda table: table.to_dict(as_series=False)

    yield make
    FRAMES[:] = known


def series(column, change):
    """The column as it is, or changed where it is the one with this name."""

    def read(self, name):
        plain = pl.Series(name, self.native[name])
        return change(plain) if name == column else plain

    return read


def unblocked(self, columns):
    values = {name: read_rows(self.column(name), labels) for name, labels in columns.items()}
    yield {name: rows[: BLOCK - 1] for name, rows in values.items()}
    yield {name: rows[BLOCK - 1 :] for name, rows in values.items()}


def hasty(self, columns):
    """Half of the rows on the third pass: the first one is that with all other columns."""
    (column,) = columns
    self.passes = {**getattr(self, "passes", {})}
    self.passes[column] = self.passes.get(column, 0) + 1
    for block in Frame.values(self, columns):
        rows = block[column]
        yield {column: rows[: len(rows) // 2]} if self.passes[column] == 3 else block


def spoiled(self, fresh, dropped):
    for column, released in fresh.items():
        self.native[column][0] = released[0]
    return Lists.with_columns(self, fresh, dropped)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "drops a row": ({"read": series("size", lambda rows: rows[:-1])}, "'size': 66235"),
    "drops a row of every column": ({"read": lambda self, name: pl.Series(name, self.native[name][1:])}, "66235"),
    "another order": (
        {"read": series("count", lambda rows: rows.reverse())},
        "column 'count' has its rows in another order, first in row",
    ),
    "floats for whole numbers": (
        {"read": series("count", lambda rows: rows.cast(pl.Float64))},
        "type_of says that column 'count' is of kind 'float'; it is 'integer'",
    ),
    "32 bits": ({"read": series("size", lambda rows: rows.cast(pl.Float32))}, "column 'size' has other values"),
    "a missing value is 0": (
        {"read": series("size", lambda rows: rows.fill_null(0.0))},
        r"column 'size' has other values, first in row 6 \(683 rows differ\)",
    ),
    "a column less": ({"columns": lambda self: list(self.native)[:-1]}, r"the columns are \['size', 'count'\]"),
    "other blocks": ({"values": unblocked}, r"in blocks of \[65535, 701\] rows instead of \[65536, 700\]"),
    "one pass only": ({"values": hasty}, "in a second pass: column 'size' has 33118 rows"),
    "hides other columns": ({"others": lambda self, columns: {}}, "column 'count' is missing beside 'size'"),
    "others are off by one": (
        {"others": lambda self, columns: {n: pl.Series(n, [*c[1:], c[0]]) for n, c in self.native.items()}},
        "beside 'size': column 'count' has its rows in another order",
    ),
    "writes the original": (
        {"with_columns": lambda self, fresh, dropped: dict(self.native)},
        "released column 'size'",
    ),
    "loses a row when it writes": (
        {"with_columns": lambda self, fresh, dropped: {n: c[:-1] for n, c in self.native.items()}},
        r"the columns have .*66235.* rows instead of 66236",
    ),
    "writes text": (
        {
            "with_columns": lambda self, fresh, dropped: {
                **self.native,
                **{name: released.cast(pl.String).to_list() for name, released in fresh.items()},
            }
        },
        "released column 'size': type_of says that column 'size' is of kind 'text'; it is 'float'",
    ),
    "columns in another order": (
        {"with_columns": lambda self, fresh, dropped: dict([*Lists.with_columns(self, fresh, dropped).items()][::-1])},
        r"the columns are \['place', 'count', 'size'\]",
    ),
    "shuffles nothing": ({"taken": lambda self, native, order: native}, "'count', shuffled: .* in another order"),
    "shuffles one column": (
        {"taken": lambda self, native, order: {**native, "count": [native["count"][row] for row in order]}},
        "'count', shuffled: column 'size' has its rows in another order",
    ),
    "keeps what is to be left out": (
        {"with_columns": lambda self, fresh, dropped: Lists.with_columns(self, fresh, ())},
        r"several columns changed: the columns are .*'place'",
    ),
    "adds no column": (
        {
            "with_columns": lambda self, fresh, dropped: Lists.with_columns(
                self, {name: one for name, one in fresh.items() if name in self.native}, dropped
            )
        },
        r"several columns changed: the columns are \['size', 'count'\]",
    ),
    "changes the original": ({"with_columns": spoiled}, "after a release the original column 'size' has other values"),
}


def test_a_sound_engine_passes(engine):
    check_source(engine(), read=pl.DataFrame)


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_broken_engine_does_is_named(engine, name):
    methods, complaint = BROKEN[name]
    with pytest.raises(ConformanceError, match=complaint):
        check_source(engine(**methods))


def test_a_loss_that_reading_hides_is_found_by_another_reader(engine):
    class Written(dict[str, Any]):
        """Released rows stand from the last to the first, and are read from the last to the first."""

    def read(self, name):
        cells = pl.Series(name, self.native[name])
        return cells.reverse() if isinstance(self.native, Written) else cells

    def with_columns(self, fresh, dropped):
        whole = Lists.with_columns(self, fresh, dropped)
        return Written({name: cells[::-1] for name, cells in whole.items()})

    def taken(self, native, order):
        columns = {name: cells[::-1] for name, cells in native.items()}
        return Written({name: [cells[row] for row in order][::-1] for name, cells in columns.items()})

    make = engine(read=read, with_columns=with_columns, taken=taken)
    check_source(make)
    with pytest.raises(ConformanceError, match="released column 'size': column 'size' has its rows in another order"):
        check_source(make, read=pl.DataFrame)
