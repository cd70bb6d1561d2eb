"""Spans of Parquet files, without Spark: whole blocks of the table, wherever its files and row groups end."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from statveil.errors import FileError
from statveil.tables.blocks import BLOCK
from statveil.tables.changes import Changes
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.spark import spans
from statveil.tables.spark.footers import odd_columns, read_footer
from statveil.tables.spark.spans import ParquetSpan, cut_spans, first_rows

SIZES = [[0], [5], [BLOCK], [BLOCK + 1], [3, 0, 4], [0, BLOCK - 1, 2, 0, 3 * BLOCK], [BLOCK, BLOCK], [4 * BLOCK + 17]]


def files(folder, sizes, *, group=10_000):
    """Files in which each row's value is its number in the table."""
    start = 0
    for number, size in enumerate(sizes):
        frame = pl.DataFrame({"x": np.arange(start, start + size, dtype=np.float64)})
        frame.write_parquet(folder / f"{number}.parquet", row_group_size=group)
        start += size
    return [read_footer(folder / f"{number}.parquet") for number in range(len(sizes))]


@pytest.mark.parametrize("group", [7_777, BLOCK, 10**6])
@pytest.mark.parametrize("sizes", SIZES)
def test_all_rows_are_there_once_in_whole_blocks(tmp_path, monkeypatch, sizes, group):
    monkeypatch.setattr(spans, "_LEAST_BYTES", 1)
    footers = files(tmp_path, sizes, group=group)
    found = cut_spans(footers, 2)
    rows, total = [], sum(sizes)
    for span in found:
        table = ParquetSpan(span)
        assert span.first % BLOCK == 0
        assert table.first_block * BLOCK == span.first
        assert span.rows % BLOCK == 0 or span is found[-1]
        rows += [value for block in table.blocks("x") for value in block.tolist()]
    assert rows == list(range(total))
    assert (len(found) > 1) is (total > BLOCK), "the smallest spans are blocks"
    assert next(ParquetSpan(first_rows(footers, BLOCK)).blocks("x"), np.zeros(0)).tolist() == rows[:BLOCK]


def test_where_spans_end_tells_nothing_of_row_groups_or_of_what_is_in_them(tmp_path, monkeypatch):
    monkeypatch.setattr(spans, "_LEAST_BYTES", 1)
    rows = 12 * BLOCK
    one = pl.DataFrame({"x": np.random.default_rng(1).random(rows)})
    two = one.with_columns(x=pl.when(pl.int_range(rows) < rows // 2).then(0.0).otherwise(pl.col("x")))
    cuts = []
    for number, (frame, group) in enumerate([(one, 50_000), (two, 300_000)]):
        frame.write_parquet(tmp_path / f"{number}.parquet", row_group_size=group)
        cuts.append([span.first for span in cut_spans([read_footer(tmp_path / f"{number}.parquet")], 2)])
    assert cuts[0] == cuts[1]
    assert len({*np.diff(cuts[0])}) == 1


def test_a_column_read_alone_has_longer_spans(tmp_path, monkeypatch):
    monkeypatch.setattr(spans, "_LEAST_BYTES", 200_000)
    footers = files(tmp_path, [20 * BLOCK])
    assert len(cut_spans(footers, 8, columns=4)) < len(cut_spans(footers, 8))


class Numbered(ColumnMap):
    """Adds the number of the block, so that one of another number shows."""

    whole = False

    def block(self, values, index):
        return values + 0.25 + index * 1e6

    def coefficients(self):
        return {}


def test_a_span_is_released_by_the_numbers_of_its_blocks_in_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(spans, "_LEAST_BYTES", 1)
    rows, changes = 5 * BLOCK + 9, Changes.one("x", Numbered())
    written = []
    for number, span in enumerate(cut_spans(files(tmp_path, [100, rows - 100]), 1)):
        ParquetSpan(span).write(tmp_path / f"out{number}.parquet", changes)
        written.append(pl.read_parquet(tmp_path / f"out{number}.parquet")["x"])
    assert len(written) > 2
    place = np.arange(rows)
    assert pl.concat(written).to_list() == (place + 0.25 + place // BLOCK * 1e6).tolist()


def test_another_file_under_the_name_is_refused(tmp_path):
    footers = files(tmp_path, [1_000])
    (span,) = cut_spans(footers, 1)
    ParquetSpan(span)
    pl.DataFrame({"x": np.arange(1_000)[::-1].astype(np.float64)}).write_parquet(tmp_path / "0.parquet")
    with pytest.raises(FileError, match="changed"):
        ParquetSpan(span)
    (tmp_path / "0.parquet").write_bytes(b"PAR1 not any more")
    with pytest.raises(FileError):
        ParquetSpan(span)
    (tmp_path / "0.parquet").unlink()
    with pytest.raises(FileError, match="No such file"):
        ParquetSpan(span)


# --- types ----------------------------------------------------------------------------------------
WHEN = dt.datetime(2024, 5, 1, 12)
PLAIN = {
    **{name: pl.Series([1, None], dtype=getattr(pl, name)) for name in ("Int8", "Int16", "Int32", "Int64", "UInt8")},
    **{name: pl.Series([1, None], dtype=getattr(pl, name)) for name in ("UInt32", "Float32", "Float64")},
    "text": ["é", None],
    "flag": [True, None],
    "bytes": [b"\x00\xff", None],
    "day": [dt.date(2024, 5, 1), None],
    "when": [WHEN, None],
    "when ms": pl.Series([WHEN, None], dtype=pl.Datetime("ms")),
    "when UTC": pl.Series([WHEN, None], dtype=pl.Datetime("us", "UTC")),
    "amount": pl.Series([decimal.Decimal("1.25"), None], dtype=pl.Decimal(9, 2)),
    "list": [[1, None], None],
    "record": [{"a": 1, "b": [{"c": "x"}]}, None],
}
ODD = {
    "nanoseconds": pl.Series([WHEN, None], dtype=pl.Datetime("ns")),
    "time": [dt.time(1), None],
    "duration": [dt.timedelta(1), None],
    "categories": pl.Series(["a", None], dtype=pl.Categorical),
    "nothing": [None, None],
    "a list. of records": [[{"a": 1}], None],
    "nanoseconds inside": pl.Series([[WHEN], None], dtype=pl.List(pl.Datetime("ns"))),
}


def odd_in(path):
    return odd_columns([read_footer(path)], pl.scan_parquet(path).collect_schema())


def test_types_that_polars_writes_as_they_are(tmp_path):
    pl.DataFrame(PLAIN).write_parquet(tmp_path / "t.parquet")
    assert odd_in(tmp_path / "t.parquet") == []


@pytest.mark.parametrize("kind", ODD)
def test_types_that_are_left_to_spark(tmp_path, kind):
    pl.DataFrame({"x": [1.0, 2.0], kind: ODD[kind]}).write_parquet(tmp_path / "t.parquet")
    assert odd_in(tmp_path / "t.parquet") == [kind] or kind.startswith("a list")
    assert odd_in(tmp_path / "t.parquet")


def test_old_timestamps_and_maps_are_left_to_spark(tmp_path):
    table = pa.table(
        {"x": [1.0], "when": pa.array([WHEN]), "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))}
    )
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    assert odd_in(tmp_path / "t.parquet") == ["map", "when"]
    inside = pa.array([{"list": [("a", 1)]}], pa.struct([("list", pa.map_(pa.string(), pa.int64()))]))
    pq.write_table(pa.table({"x": [1.0], "record": inside}), tmp_path / "t.parquet")
    assert odd_in(tmp_path / "t.parquet") == ["record"]


@pytest.mark.parametrize(
    ("notes", "odd"),
    [
        ({"org.apache.spark.version": "4.1.0"}, []),
        ({"org.apache.spark.legacyDateTime": ""}, ["day"]),
        ({"org.apache.spark.version": "2.4.8"}, ["day"]),
        ({"org.apache.spark.sql.parquet.row.metadata": '{"fields": [{"name": "x", "type": "interval day"}]}'}, ["x"]),
        ({"org.apache.spark.sql.parquet.row.metadata": '{"fields": [{"name": "x", "type": {"type": "udt"}}]}'}, ["x"]),
        ({"org.apache.spark.sql.parquet.row.metadata": '{"fields": [{"name": "x", "type": "integer"}]}'}, []),
        ({"org.apache.spark.sql.parquet.row.metadata": "none"}, ["day", "x"]),
    ],
)
def test_what_spark_noted_of_its_types(tmp_path, notes, odd):
    table = pa.table({"x": pa.array([1], pa.int32()), "day": pa.array([dt.date(2024, 5, 1)])})
    pq.write_table(table.replace_schema_metadata(notes), tmp_path / "t.parquet")
    assert odd_in(tmp_path / "t.parquet") == odd
