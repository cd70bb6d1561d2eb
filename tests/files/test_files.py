"""Table files: one column is rewritten, everything else comes back as it was, in every format."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import gzip
import io
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.errors import ColumnError, FileError, StatveilError
from statveil.tables.blocks import BLOCK
from statveil.tables.changes import Changes
from statveil.tables.files import TableFile, open_table
from statveil.tables.files import csv_records as scanning
from statveil.tables.files.csv_numbers import contents, numbers
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.rounding_digits import rounded

ROWS = 2 * BLOCK + 1_000


class _Map(ColumnMap):
    def coefficients(self) -> dict[str, Any]:
        return {}


class Affine(_Map):
    def block(self, values, index):
        with np.errstate(over="ignore"):
            return values * 1.5 + 3


class PlusTwo(_Map):
    whole = True

    def block(self, values, index):
        return values + 2


class Far(_Map):
    whole = True

    def block(self, values, index):
        return values * 1e17


class BlockNumber(_Map):
    """Shows which block and which row of it every row was in; a block of the wrong size fails."""

    whole = True

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def block(self, values, index):
        assert index == len(self.sizes)
        self.sizes.append(len(values))
        return np.where(np.isfinite(values), index * 1_000_000 + np.arange(len(values)), values)


class Rotate(_Map):
    """Every category becomes the next of three."""

    def block(self, values, index):
        return np.where(np.isfinite(values), (values + 1) % 3, values)


class Swap(_Map):
    """Each of two categories becomes the other."""

    def block(self, values, index):
        return 1 - values


class Broken(_Map):
    def block(self, values, index):
        raise ColumnError("the map's own sentence.")


def block_numbers(rows: int) -> np.ndarray:
    return np.arange(rows) // BLOCK * 1_000_000 + np.arange(rows) % BLOCK


def sentence(error: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(error.value)
    assert text.endswith(".")
    assert "\n" not in text
    assert "Traceback" not in text
    return text


def rich_table(rows: int = 5) -> pa.Table:
    """A column of every common type beside the column ``x``."""

    def of(values, kind):
        return pa.array([values[i % len(values)] for i in range(rows)], kind)

    d = decimal.Decimal
    columns = {
        "x": of([1.25, None, -0.0, float("nan"), float("inf")], pa.float64()),
        **{
            f"{s}{w}": of([1, None, 2 ** (w - 1) - 1], getattr(pa, f"{s}{w}")())
            for s in ("int", "uint")
            for w in (8, 16, 32, 64)
        },
        "f32": of([0.1, None, 3.5], pa.float32()),
        "dec": of([d("1.10"), None, d("-2.00")], pa.decimal128(12, 2)),
        "date": of([dt.date(1066, 10, 14), None, dt.date(2024, 2, 29)], pa.date32()),
        "ms": of([1, None, -2], pa.timestamp("ms", "Europe/Berlin")),
        "us": of([1, None, -2], pa.timestamp("us", "UTC")),
        "ns": of([1, None, 2**62], pa.timestamp("ns")),
        "dur": of([1, None, -2], pa.duration("us")),
        "text": of(["a", None, "", "ä\n\"',"], pa.large_string()),
        "bin": of([b"\xff\x00", None, b""], pa.large_binary()),
        "list": of([[1, None], None, []], pa.large_list(pa.int32())),
        "struct": of([{"a": 1, "b": True}, None], pa.struct([("a", pa.int64()), ("b", pa.bool_())])),
        "bool": of([True, None, False], pa.bool_()),
        "null": pa.nulls(rows),
        "void": pa.nulls(rows, pa.int32()),
        "^i.*$": of([7], pa.int64()),
        "": of([8], pa.int64()),
        "*": of(["star"], pa.large_string()),
    }
    return pa.table(columns)


def write_columnar(table: pa.Table, path: Path, **options: Any) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path, **options)
    else:
        feather.write_feather(table, str(path), chunksize=options.get("row_group_size"))


def read_columnar(path: Path, like: Path) -> pa.Table:
    return pq.read_table(path) if like.suffix == ".parquet" else feather.read_table(path)


COLUMNAR = ["t.parquet", "t.arrow"]


# --- Parquet and Arrow ------------------------------------------------------------------------
@pytest.mark.parametrize("name", COLUMNAR)
@pytest.mark.parametrize("rows", [0, 1, 5, 70_000])
def test_columnar_rewrites_one_column_and_keeps_the_others(tmp_path, name, rows):
    table = rich_table(rows)
    source, target = tmp_path / name, tmp_path / "out.partial"
    write_columnar(table, source)
    opened = open_table(source)
    opened.write(target, Changes.one("x", Affine()))
    found = read_columnar(target, source)
    assert opened.rows == found.num_rows == rows
    assert found.schema.types == table.schema.types
    assert found.drop_columns(["x"]).equals(table.drop_columns(["x"]))
    x = table["x"].to_numpy(zero_copy_only=False)
    assert found["x"].is_null().equals(table["x"].is_null())
    expected = np.where(np.isfinite(x), x * 1.5 + 3, x)
    assert found["x"].to_numpy(zero_copy_only=False).tobytes() == expected.tobytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.partial", name]


@pytest.mark.parametrize("name", COLUMNAR)
@pytest.mark.parametrize(
    ("kind", "map", "expected"),
    [
        (pa.int16(), PlusTwo(), pa.int32()),
        (pa.int16(), Affine(), pa.float64()),
        (pa.uint64(), PlusTwo(), pa.uint64()),
        (pa.decimal128(9, 2), Affine(), pa.float64()),
        (pa.decimal128(9, 2), PlusTwo(), pa.decimal128(38, 2)),
        (pa.float32(), Affine(), pa.float32()),
    ],
)
def test_released_type(tmp_path, name, kind, map, expected):
    source, target = tmp_path / name, tmp_path / "out"
    values = [1, None, 30, 4]
    write_columnar(pa.table({"x": pa.array(values, kind), "y": values}), source)
    open_table(source).write(target, Changes.one("x", map))
    found = read_columnar(target, source)
    assert found["x"].type == expected
    released = map.block(np.array([1.0, np.nan, 30.0, 4.0]), 0)
    assert [None if v is None else float(v) for v in found["x"].to_pylist()] == [released[0], None, *released[2:]]


@pytest.mark.parametrize("name", COLUMNAR)
@pytest.mark.parametrize("group", [ROWS, 1_237, BLOCK + 1])
def test_blocks_are_exact_whatever_the_chunks(tmp_path, name, group):
    source, target = tmp_path / name, tmp_path / "out"
    x = np.random.default_rng(0).integers(0, 100, ROWS)
    write_columnar(pa.table({"x": x, "i": np.arange(ROWS)}), source, row_group_size=group)
    opened, map, told = open_table(source), BlockNumber(), []
    opened.write(target, Changes.one("x", map), progress=told.append)
    found = read_columnar(target, source)
    assert map.sizes == told == [BLOCK, BLOCK, 1_000]
    np.testing.assert_array_equal(found["x"].to_numpy(), block_numbers(ROWS))
    np.testing.assert_array_equal(found["i"].to_numpy(), np.arange(ROWS))
    blocks = list(opened.blocks("x"))
    assert [len(block) for block in blocks] == map.sizes
    np.testing.assert_array_equal(np.concatenate(blocks), x)


@pytest.mark.parametrize("name", COLUMNAR)
def test_metadata_is_not_carried_over(tmp_path, name):
    source, target = tmp_path / name, tmp_path / "out"
    field = pa.field("x", pa.float64(), metadata={"unit": "SECRET-FIELD"})
    write_columnar(
        pa.table([pa.array([1.0, 2.0])], schema=pa.schema([field], metadata={"mean": "SECRET-MEAN"})), source
    )
    assert b"SECRET-MEAN" in source.read_bytes()
    open_table(source).write(target, Changes.one("x", Affine()))
    assert b"SECRET" not in target.read_bytes()
    schema = read_columnar(target, source).schema
    assert not schema.metadata
    assert not schema.field("x").metadata
    if name.endswith("parquet"):
        file = pq.ParquetFile(target)
        assert set(file.metadata.metadata or {}) <= {b"ARROW:schema"}
        statistics = file.metadata.row_group(0).column(0).statistics
        assert statistics is None or (statistics.min, statistics.max) == (4.5, 6.0)


@pytest.mark.parametrize("name", COLUMNAR)
def test_categories(tmp_path, name):
    source, target = tmp_path / name, tmp_path / "out"
    values = ["a", "b", None, "c", "a"] * 3
    # Polars keeps categories of a whole process together; none but the column's own may reach the file
    pl.Series(["OTHER-TABLE"], dtype=pl.Categorical)
    table = pa.table({"x": values, "d": pa.array(values).dictionary_encode(), "n": [1, 2, None, 3, 1] * 3})
    write_columnar(table, source)
    opened = open_table(source)
    assert [opened.type_of(column).kind for column in ("x", "d", "n")] == ["text", "text", "integer"]
    expected = ["b", "c", None, "a", "b"] * 3
    for column in ("x", "d"):
        np.testing.assert_array_equal(
            next(iter(opened.blocks(column, labels=["a", "b", "c"])))[:5], [0, 1, np.nan, 2, 0]
        )
        opened.write(target, Changes.one(column, Rotate(), labels=["a", "b", "c"]))
        found = read_columnar(target, source)
        assert found[column].to_pylist() == expected
        assert pa.types.is_dictionary(found["d"].type)
        assert "OTHER-TABLE" not in str(found["d"])
        assert found["n"].to_pylist() == table["n"].to_pylist()
    opened.write(target, Changes.one("n", Rotate(), labels=["1", "2", "3"]))
    assert read_columnar(target, source)["n"].to_pylist() == [2, 3, None, 1, 2] * 3


def test_relabelled_category_leaves_the_dictionary(tmp_path):
    source, target = tmp_path / "t.parquet", tmp_path / "out"
    pq.write_table(pa.table({"x": pa.array(["hidden", "hidden"]).dictionary_encode()}), source, compression="none")
    open_table(source).write(target, Changes.one("x", Rotate(), labels=["hidden", "shown", "third"]))
    found = pq.read_table(target)["x"].combine_chunks()
    assert found.dictionary.to_pylist() == ["shown"]


def test_rounding_of_released_numbers(tmp_path):
    source, target = tmp_path / "t.parquet", tmp_path / "out"
    pq.write_table(pa.table({"x": [1.111, 2.5, None]}), source)
    open_table(source).write(target, Changes.one("x", Affine(), round_digits=2))
    assert pq.read_table(target)["x"].to_pylist() == [4.67, 6.75, None]
    np.testing.assert_array_equal(rounded(np.array([0.125, -0.125, np.inf, 1e308]), 2), [0.13, -0.12, np.inf, 1e308])


# --- folders ----------------------------------------------------------------------------------
def folder_of(tmp_path: Path, sizes: dict[str, int], kinds: dict[str, pa.DataType] | None = None) -> Path:
    start = 0
    for name, size in sorted(sizes.items()):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        x = pa.array(np.arange(start, start + size) % 100, (kinds or {}).get(name, pa.int64()))
        pq.write_table(pa.table({"x": x, "i": np.arange(start, start + size)}), path, row_group_size=10_007)
        start += size
    return tmp_path / "in"


def test_folder_is_one_table(tmp_path):
    sizes = {
        "a.parquet": 50_000,
        "b/k=1/p.PARQUET": 0,
        "b/k=1/q.pq": 60_000,
        "c.parquet": 3,
        "d.parquet": 30_000,
        "e.parquet": 0,
    }
    folder = folder_of(tmp_path, sizes)
    for name in ("_metadata", "_SUCCESS", ".hidden.parquet", "b/notes.txt", "_old/z.parquet"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("SECRET")
    opened, map, target = open_table(folder), BlockNumber(), tmp_path / "out.partial"
    assert opened.rows == sum(sizes.values())
    assert opened.notes
    opened.write(target, Changes.one("x", map))
    written = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    assert written == sorted(sizes)
    parts = [pq.read_table(target / name, partitioning=None) for name in sorted(sizes)]
    assert [part.num_rows for part in parts] == [sizes[name] for name in sorted(sizes)]
    assert {tuple(part.schema.names) for part in parts} == {("x", "i")}
    rows = sum(sizes.values())
    np.testing.assert_array_equal(pa.concat_tables(parts)["x"].to_numpy(), block_numbers(rows))
    np.testing.assert_array_equal(pa.concat_tables(parts)["i"].to_numpy(), np.arange(rows))
    blocks = list(opened.blocks("x"))
    assert [len(block) for block in blocks] == map.sizes == [BLOCK, BLOCK, rows - 2 * BLOCK]


def test_folder_types_must_agree(tmp_path):
    folder = folder_of(tmp_path, {"a.parquet": 3, "b.parquet": 3}, {"b.parquet": pa.int32()})
    open_table(folder).write(tmp_path / "out", Changes.one("x", PlusTwo()))
    assert [pq.read_table(tmp_path / "out" / f)["x"].type for f in ("a.parquet", "b.parquet")] == [
        pa.int64(),
        pa.int32(),
    ]
    pq.write_table(pa.table({"x": ["text"]}), folder / "c.parquet")
    with pytest.raises(ColumnError) as error:
        open_table(folder).blocks("x")
    assert "c.parquet" in sentence(error)
    pq.write_table(pa.table({"y": [1]}), folder / "c.parquet")
    with pytest.raises(ColumnError) as error:
        open_table(folder).write(tmp_path / "out2", Changes.one("x", PlusTwo()))
    assert "c.parquet" in sentence(error)


def test_folder_without_parquet_files(tmp_path):
    (tmp_path / "_metadata").write_text("x")
    with pytest.raises(FileError) as error:
        open_table(tmp_path)
    assert "no Parquet files" in sentence(error)


# --- CSV --------------------------------------------------------------------------------------
def csv_bytes(rows: list[list[str]], **options: Any) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, **options).writerows(rows)
    return out.getvalue().encode()


def csv_rows(raw: bytes, separator: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""), delimiter=separator))


def release_csv(
    tmp_path: Path, raw: bytes, map: ColumnMap, column: str = "x", name: str = "t.csv", **options: Any
) -> bytes:
    source, target = tmp_path / name, tmp_path / "out.partial"
    packed = name.endswith(".gz")
    source.write_bytes(gzip.compress(raw) if packed else raw)
    progress = options.pop("progress", None)
    open_table(source).write(target, Changes.one(column, map, **options), progress=progress)
    return gzip.decompress(target.read_bytes()) if packed else target.read_bytes()


FIELD = st.text(
    st.one_of(st.sampled_from(list('",;\t|\n\r ab0é€\u2028😀=#\x00')), st.characters(codec="utf-8")), max_size=6
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_csv_content_is_preserved(tmp_path, data):
    width = data.draw(st.integers(1, 4))
    position = data.draw(st.integers(0, width - 1))
    separator = data.draw(st.sampled_from([",", "\t"]))
    quoting = data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    header = [f"c{i}" for i in range(width)]
    number = st.floats(allow_nan=False, allow_infinity=False).map(repr)
    rows = data.draw(st.lists(st.tuples(*(number if i == position else FIELD for i in range(width))), max_size=8))
    raw = csv_bytes([header, *map(list, rows)], delimiter=separator, quoting=quoting, lineterminator=end)
    # Python's own writer leaves a lone carriage return bare in a file of other line ends: no reader gets it back
    assume(csv_rows(raw, separator)[1:] == [list(row) for row in rows])
    raw = raw.removesuffix(end.encode()) if rows and data.draw(st.booleans()) else raw
    with pytest.MonkeyPatch.context() as patch:  # so that records are cut at every place of the file
        patch.setattr(scanning, "CHUNK", data.draw(st.sampled_from([7, 64, 1 << 22])))
        out = release_csv(tmp_path, raw, Affine(), header[position], "t.tsv" if separator == "\t" else "t.csv")
    expected = [[*row[:position], float(row[position]) * 1.5 + 3, *row[position + 1 :]] for row in rows]
    found = csv_rows(out, separator)
    assert found[0] == header
    assert [[*row[:position], float(row[position]), *row[position + 1 :]] for row in found[1:]] == expected
    # all bytes outside the column are the same: releasing with a map that changes nothing gives the same file
    assert release_csv(tmp_path, raw, _Same(), header[position], "t.tsv" if separator == "\t" else "t.csv") == raw


class _Same(_Map):
    def block(self, values, index):
        return values


@settings(max_examples=300)
@given(st.text(st.sampled_from('ab",\n'), max_size=14), st.sampled_from([1, 3, 1 << 22]))
def test_csv_records_agree_with_the_csv_module_on_odd_quotes(body, chunk):
    """Whatever the quotes: the same fields as Python's reader, or a refusal."""
    expected = list(csv.reader(io.StringIO(body, newline=""), delimiter=","))
    if any(len(row) not in (0, 2) for row in expected):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "CHUNK", chunk)
        try:
            source = io.BytesIO(body.encode())
            pieces = list(scanning.read_records(source, name="t", line=2, separator=b",", columns=2, positions=(1,)))
        except FileError as error:
            refusal = str(error)
        else:
            refusal = ""
    if refusal:  # an open quote at the end, which Python's reader closes silently
        assert "opening quote" in refusal
        return
    assert b"".join(piece.raw for piece in pieces).decode() == body
    found = [text for piece in pieces for text in contents(piece.fields()).to_list()]
    assert found == [row[1] for row in expected if row]


def test_csv_keeps_every_other_byte(tmp_path):
    raw = (
        '\ufeffid,x,"note, ""a""",id,\r\n'
        "00123,1.10, padded ,1.10,\r\n"
        "\r\n"
        '"00124","2","",,5" pipe\r\n'
        'é,NA,"line\r\nbreak",x,"quoted"\r\n'
        "-, -inf ,?,1e3,"
    ).encode()
    out = release_csv(tmp_path, raw, Affine())
    # a number that stood in quotes by itself loses them: they would tell which one it was; and so do other cells that
    # stand in quotes by themselves, or without them
    wanted = raw.replace(b",1.10, padded", b",4.65, padded").replace(b'"2"', b"6.0").replace(b'"00124"', b"00124")
    wanted = wanted.replace(b'5" pipe', b'"5"" pipe"').replace(b'"quoted"', b"quoted")
    # as do blank lines, and a line that ends in another way than the others
    assert out == wanted.replace(b"\r\n\r\n", b"\r\n") + b"\r\n"


def test_csv_numbers_are_read_as_python_reads_them():
    texts = [
        "1",
        " 1.50\t",
        "+.5",
        "5.",
        "-0",
        "1e3",
        "1E-400",
        "0.1",
        "123456789.123456789e-30",
        "9007199254740993.0",
    ]
    values, wrong = numbers(pl.Series(texts))
    assert wrong is None
    assert values.tobytes() == np.array([float(text) for text in texts]).tobytes()
    # beyond the largest float: an infinite value stays as it is, so such digits would be published raw
    assert numbers(pl.Series(["1", "1e400"]))[1] == 1
    for text in ("1_000", "0x10", "1,5", "1 2", "\u0661", "e5", ".", "--1", "infinit", "5%", "\u00a01"):
        assert numbers(pl.Series(["1", text]))[1] == 1, text


@settings(max_examples=200)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_csv_numbers_read_back_bitwise(values):
    column = np.array(values)
    assert numbers(pl.Series([repr(value) for value in values]))[0].tobytes() == column.tobytes()
    texts = pl.Series(column).cast(pl.String).to_list()
    assert np.array([float(text) for text in texts]).tobytes() == column.tobytes()


MISSING = ["", "N/A", "null", "NULL", "None", "-", "?", "NaN", " "]


@pytest.mark.parametrize(
    ("column", "map", "released", "kind"),
    [
        (["1", "007", "-5", ""], PlusTwo(), ["3", "9", "-3", ""], "integer"),
        (["1", "2"], Affine(), ["4.5", "6.0"], "integer"),
        (["1.10", "2.00", "NA"], PlusTwo(), ["3.10", "4.00", "NA"], "float"),
        (["1.5", "2.25", "3"], PlusTwo(), ["3.5", "4.25", "5.0"], "float"),
        (["1.5", "inf", "-Infinity", "nan"], PlusTwo(), ["3.5", "inf", "-Infinity", "nan"], "float"),
        (MISSING, Affine(), MISSING, "float"),
    ],
)
def test_csv_released_text(tmp_path, column, map, released, kind):
    raw = csv_bytes([["x", "y"], *[[value, "k"] for value in column]])
    out = release_csv(tmp_path, raw, map)
    assert [row[0] for row in csv_rows(out)[1:]] == released
    opened = open_table(tmp_path / "t.csv")
    assert opened.type_of("x").kind == kind
    assert opened.type_of("y").kind == "text"


def test_csv_number_in_an_untouched_row_keeps_its_text(tmp_path):
    class FromTwo(_Map):
        def block(self, values, index):
            return 2 + (values - 2) * 1.5

    assert release_csv(tmp_path, b"x,y\n2.000,a\n4,b\n", FromTwo()) == b"x,y\n2.000,a\n5.0,b\n"


def test_csv_quotes_do_not_tell_which_rows_changed(tmp_path):
    raw = b'x,y\n"a","1"\n"b","2"\n"NA","3"\n'
    out = release_csv(tmp_path, raw, Rotate(), labels=["a", "b", 'say "c", so'])
    assert out == b'x,y\n"b","1"\n"say ""c"", so","2"\n"NA","3"\n'


def test_csv_labels_are_compared_exactly(tmp_path):
    out = release_csv(tmp_path, b"x,y\na,1\n b,2\n,3\nNA,4\n", Rotate(), labels=["a", " b", "NA"])
    assert out == b"x,y\n b,1\nNA,2\n,3\na,4\n"
    with pytest.raises(ColumnError):
        release_csv(tmp_path, b"x,y\na,1\na ,2\n", Rotate(), labels=["a", "b", "c"])


@pytest.mark.parametrize(
    ("separator", "name"),
    [
        (",", "t.csv"),
        (";", "T.CSV"),
        ("\t", "t.csv"),
        ("|", "t.csv"),
        ("\t", "t.tsv"),
        (";", "t.csv.gz"),
        ("\t", "t.tsv.gz"),
    ],
)
def test_csv_separators_and_gzip(tmp_path, separator, name):
    raw = csv_bytes([["a", "x", "b"], ["1", "2", "y"], [separator + "z", "4", '"']], delimiter=separator)
    out = csv_rows(release_csv(tmp_path, raw, PlusTwo(), name=name), separator)
    assert out == [["a", "x", "b"], ["1", "4", "y"], [separator + "z", "6", '"']]
    assert open_table(tmp_path / name).numeric_columns() == ["x"]


def test_csv_gzip_tells_neither_name_nor_time(tmp_path):
    release_csv(tmp_path, b"x\n1\n", PlusTwo(), name="secret.csv.gz")
    packed = (tmp_path / "out.partial").read_bytes()
    assert packed[3:8] == bytes(5)
    assert b"secret" not in packed


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_csv_blocks_are_exact(tmp_path, name):
    raw = b"i,x\n" + b"".join(b"%d,%d\n" % (i, i % 7) for i in range(ROWS))
    map, told = BlockNumber(), []
    out = release_csv(tmp_path, raw, map, name=name, progress=told.append)
    assert map.sizes == told == [BLOCK, BLOCK, 1_000]
    found = np.loadtxt(io.BytesIO(out), delimiter=",", skiprows=1, dtype=np.int64)
    np.testing.assert_array_equal(found[:, 0], np.arange(ROWS))
    np.testing.assert_array_equal(found[:, 1], block_numbers(ROWS))
    opened = open_table(tmp_path / name)
    blocks = list(opened.blocks("x"))
    assert [len(block) for block in blocks] == map.sizes
    np.testing.assert_array_equal(np.concatenate(blocks), np.arange(ROWS) % 7)
    assert opened.rows == ROWS


def test_csv_one_column_and_duplicated_names(tmp_path):
    assert release_csv(tmp_path, b"x\n1\n\n3\n", PlusTwo()) == b"x\n3\n\n5\n"
    assert release_csv(tmp_path, b"a,x,a,\n1,2,3,4\n", PlusTwo()) == b"a,x,a,\n1,4,3,4\n"
    with pytest.raises(ColumnError) as error:
        release_csv(tmp_path, b"x,x\n1,2\n", PlusTwo())
    assert "called 'x'" in sentence(error)


def test_csv_text_in_the_column(tmp_path):
    body = "x,y\n" + "1,a\n" * 70_000 + "SECRET,b\n"
    (tmp_path / "t.csv").write_text(body)
    opened = open_table(tmp_path / "t.csv")
    for act in (lambda: list(opened.blocks("x")), lambda: opened.write(tmp_path / "o", Changes.one("x", Affine()))):
        with pytest.raises(ColumnError) as error:
            act()
        assert "row 70001 of column 'x'" in sentence(error)
        assert "SECRET" not in str(error.value)
    assert opened.type_of("x").kind == "text"


@pytest.mark.parametrize("big", ["9007199254740993", "-123456789012345678901234567890"])
def test_whole_numbers_beyond_exact_are_refused(tmp_path, big):
    with pytest.raises(ColumnError) as error:
        release_csv(tmp_path, f"x,y\n1,2\n{big},3\n".encode(), Affine())
    assert "2^53" in sentence(error)
    assert big not in str(error.value)


@pytest.mark.parametrize(
    ("lines", "line"), [(["1,2", "3"], 3), (["1,2", "", "3,4,5"], 4), (['1,"a\nb"', "1,2,3"], 4), (["1,2,3"] * 2, 2)]
)
def test_csv_ragged_lines(tmp_path, lines, line):
    with pytest.raises(FileError) as error:
        release_csv(tmp_path, "\n".join(["x,y", *lines]).encode(), Affine())
    assert f"line {line} of" in sentence(error)
    with pytest.raises(FileError) as error:
        release_csv(tmp_path, "\n".join(['x,"y\nz"', *lines]).encode(), Affine())
    assert f"line {line + 1} of" in sentence(error)


def test_csv_open_quote(tmp_path):
    with pytest.raises(FileError) as error:
        release_csv(tmp_path, b'x,y\n1,a\n2,"b\n3,c\n', Affine())
    assert "opening quote" in sentence(error)
    with pytest.raises(FileError) as error:
        release_csv(tmp_path, b'x,"y\n1,a\n', Affine())
    assert "header" in sentence(error)


def test_integers_beyond_exact_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    for value in (2**53 + 1, -(2**53) - 1):
        pq.write_table(pa.table({"x": [1, value]}), path)
        with pytest.raises(ColumnError) as error:
            list(open_table(path).blocks("x"))
        assert "2^53" in sentence(error)
    pq.write_table(pa.table({"x": [2**53, -(2**53)]}), path)
    np.testing.assert_array_equal(next(open_table(path).blocks("x")), [2.0**53, -(2.0**53)])


# --- Excel ------------------------------------------------------------------------------------
def workbook(path: Path, rows: list[list[Any]], more_sheets: bool = False) -> None:
    book = openpyxl.Workbook()
    book.active.title = "data"
    for row in rows:
        book.active.append(row)
    if more_sheets:
        book.create_sheet("totals").append(["SECRET"])
        book.properties.title = "SECRET"
    book.save(path)


def sheet_rows(path: Path) -> list[list[Any]]:
    with path.open("rb") as file:
        book = openpyxl.load_workbook(file)
    assert book.sheetnames == ["data"]
    return [[cell.value for cell in row] for row in book["data"].iter_rows()]


def test_excel_rewrites_one_column(tmp_path):
    source, target = tmp_path / "t.xlsx", tmp_path / "out.partial"
    day, moment = dt.datetime(2024, 2, 29), dt.datetime(2020, 1, 1, 12, 30)
    rows: list[list[Any]] = [
        ["x", "n", "text", "day", "flag", "f"],
        [0.1 + 0.2, 1, "007", day, True, 0.1 + 0.2],
        [None, 2, "a\nb", moment, False, 1 / 3],
        ["NA", 3, " padded ", None, None, 1e300],
        [5, None, "#N/A", day, True, None],
    ]
    workbook(source, rows, more_sheets=True)
    with source.open("rb") as file:
        book = openpyxl.load_workbook(file)
    book["data"]["D2"].number_format = "yyyy-mm-dd"
    for place, number in (("A2", 0.1 + 0.2), ("F2", 0.1 + 0.2), ("F3", 1 / 3)):
        # all 17 digits, as Excel itself writes them
        book["data"][place].value = repr(number)
        book["data"][place].data_type = "n"
    book["data"]["C5"].data_type = "s"
    book["data"]["C3"].value = "=SUM(1,2)"
    book["data"]["C3"].data_type = "s"  # text that looks like a formula
    book.save(source)
    opened = open_table(source)
    assert opened.notes
    assert [opened.type_of(name).kind for name in opened.names] == [
        "float",
        "integer",
        "text",
        "other",
        "boolean",
        "float",
    ]
    assert opened.numeric_columns() == ["x", "n", "f"]
    opened.write(target, Changes.one("x", Affine()))
    found = sheet_rows(target)
    assert [row[1:] for row in found] == [
        row[1:] for row in [*rows[:2], [None, 2, "=SUM(1,2)", moment, False, 1 / 3], *rows[3:]]
    ]
    assert [row[0] for row in found] == ["x", (0.1 + 0.2) * 1.5 + 3, None, "NA", 10.5]
    with target.open("rb") as file:
        read = openpyxl.load_workbook(file)["data"]
    assert read["D2"].number_format == read["D5"].number_format == "yyyy-mm-dd h:mm:ss"  # as most days are shown
    assert read["C3"].data_type == read["C5"].data_type == "s"
    assert read["A2"].data_type == "n"
    with zipfile.ZipFile(target) as archive:
        assert not any(b"SECRET" in archive.read(name) for name in archive.namelist())


def test_excel_types_and_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("statveil.tables.files.excel_file.BLOCK", 1_000)  # a workbook of 65,537 rows takes its time
    source, target = tmp_path / "t.xlsx", tmp_path / "out"
    rows = 2_400
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("data")
    sheet.append(["x"])
    for i in range(rows):
        sheet.append([i % 5])
    book.save(source)
    opened, map = open_table(source), BlockNumber()
    assert opened.type_of("x").kind == "integer"
    opened.write(target, Changes.one("x", map))
    assert map.sizes == [1_000, 1_000, 400]
    with target.open("rb") as file:
        book = openpyxl.load_workbook(file, read_only=True)
        found = [row[0] for row in book.worksheets[0].iter_rows(min_row=2, values_only=True)]
    assert found == (np.arange(rows) // 1_000 * 1_000_000 + np.arange(rows) % 1_000).tolist()
    assert {type(value) for value in found} == {int}


def test_excel_categories(tmp_path):
    source, target = tmp_path / "t.xlsx", tmp_path / "out"
    workbook(source, [["x"], ["a"], ["b"], [None], ["n/a"]])
    open_table(source).write(target, Changes.one("x", Rotate(), labels=["a", "b", "c"]))
    assert sheet_rows(target) == [["x"], ["b"], ["c"], [None], ["n/a"]]


def test_excel_categories_keep_their_type(tmp_path):
    source, target = tmp_path / "t.xlsx", tmp_path / "out"
    workbook(source, [["n", "flag"], [1, True], [2, False], [3, None]])
    opened = open_table(source)
    opened.write(target, Changes.one("n", Rotate(), labels=["1", "2", "3"]))
    assert sheet_rows(target) == [["n", "flag"], [2, True], [3, False], [1, None]]
    assert [type(row[0]) for row in sheet_rows(target)[1:]] == [int] * 3
    opened.write(target, Changes.one("flag", Swap(), labels=["true", "false"]))
    assert sheet_rows(target) == [["n", "flag"], [1, False], [2, True], [3, None]]


def test_excel_refusals(tmp_path):
    source = tmp_path / "t.xlsx"
    workbook(source, [["x", "y"], [1, 2], ["=A2*2", 3]])
    with pytest.raises(ColumnError) as error:
        open_table(source).blocks("x")
    assert "row 3" in sentence(error)
    workbook(source, [["x", "y"], [1, 2], ["SECRET", 3]])
    with pytest.raises(ColumnError) as error:
        open_table(source).write(tmp_path / "o", Changes.one("x", Affine()))
    assert "row 3" in sentence(error)
    assert "SECRET" not in str(error.value)
    workbook(source, [["x", "y"], [1, 2, 3]])
    with pytest.raises(FileError) as error:
        list(open_table(source).blocks("x"))
    assert "row 2" in sentence(error)
    workbook(source, [])
    with pytest.raises(FileError) as error:
        open_table(source)
    assert "blank" in sentence(error)


def test_excel_without_openpyxl(tmp_path, monkeypatch):
    workbook(tmp_path / "t.xlsx", [["x"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(FileError) as error:
        open_table(tmp_path / "t.xlsx")
    assert "pip install 'statveil[excel]'" in sentence(error)


# --- refusals of every format -----------------------------------------------------------------
NAMES = ["t.parquet", "t.arrow", "t.csv", "t.csv.gz", "t.tsv", "t.xlsx"]


def small(path: Path, rows: int = 3, text: bool = False) -> TableFile:
    """A table with x, y and t in the format of the path."""
    x = [float(i) for i in range(rows)]
    columns = {"x": x, "y": ["SECRET"] * rows if text else x, "t": ["a"] * rows}
    if path.suffix in (".parquet", ".arrow"):
        write_columnar(pa.table(columns), path)
    elif path.suffix == ".xlsx":
        workbook(path, [list(columns), *map(list, zip(*columns.values(), strict=True))])
    else:
        raw = csv_bytes(
            [list(columns), *zip(*columns.values(), strict=True)], delimiter="\t" if ".tsv" in path.name else ","
        )
        path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return open_table(path)


@pytest.mark.parametrize("name", NAMES)
def test_missing_column(tmp_path, name):
    table = small(tmp_path / name)
    for act in (
        lambda: table.blocks("yy"),
        lambda: table.type_of("yy"),
        lambda: table.write(tmp_path / "o", Changes.one("yy", Affine())),
    ):
        with pytest.raises(ColumnError) as error:
            act()
        assert "did you mean 'y'" in sentence(error)


@pytest.mark.parametrize("name", NAMES)
def test_text_column_is_refused(tmp_path, name):
    table = small(tmp_path / name, text=True)
    for act in (lambda: list(table.blocks("y")), lambda: table.write(tmp_path / "o", Changes.one("y", Affine()))):
        with pytest.raises(ColumnError) as error:
            act()
        assert "SECRET" not in sentence(error)


@pytest.mark.parametrize("name", NAMES)
def test_an_error_of_the_map_surfaces_as_itself(tmp_path, name):
    table = small(tmp_path / name)
    before = set(tmp_path.iterdir())
    with pytest.raises(ColumnError, match=r"^the map's own sentence\.$"):
        table.write(tmp_path / "out.partial", Changes.one("x", Broken()))
    assert set(tmp_path.iterdir()) - before <= {tmp_path / "out.partial"}


@pytest.mark.parametrize("name", NAMES)
def test_header_only_tables(tmp_path, name):
    table = small(tmp_path / name, rows=0)
    if name.endswith(("parquet", "arrow")):
        write_columnar(pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.int8())}), tmp_path / name)
        table = open_table(tmp_path / name)
    assert list(table.blocks("x")) == []
    table.write(tmp_path / "out", Changes.one("x", Affine()))
    copied = tmp_path / f"again{''.join(Path(name).suffixes)}"
    (tmp_path / "out").rename(copied)
    assert open_table(copied).names == table.names


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", ["empty", "text", "garbage", "parquet", "truncated", "half"])
def test_broken_files(tmp_path, name, content):
    path, parquet = tmp_path / name, tmp_path / "good.parquet"
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({"x": rng.normal(size=30_000), "y": rng.normal(size=30_000)}), parquet)
    small(path, rows=3_000)
    whole = path.read_bytes()
    raw = {
        "empty": b"",
        "text": b"x y\n\xff\xfe\n",
        "garbage": rng.bytes(5_000),
        "parquet": parquet.read_bytes(),
        "truncated": whole[:-20],
        "half": whole[: len(whole) // 2],
    }[content]
    if (content == "parquet" and name == "t.parquet") or (
        content in ("truncated", "half") and name in ("t.csv", "t.tsv")
    ):
        return  # not broken, or not to be told from a shorter table
    path.write_bytes(raw)
    with pytest.raises(StatveilError) as error:
        open_table(path).write(tmp_path / "out", Changes.one("x", Affine()))
    assert name in sentence(error)
    assert isinstance(error.value, FileError)


def test_damage_inside_a_parquet_file(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": np.random.default_rng(0).normal(size=50_000)}), path, compression="zstd")
    raw = bytearray(path.read_bytes())
    raw[1_000:200_000] = bytes(199_000)
    path.write_bytes(raw)
    with pytest.raises(FileError) as error:
        open_table(path).write(tmp_path / "out", Changes.one("x", Affine()))
    assert "damaged" in sentence(error)


@pytest.mark.parametrize("name", ["t.txt", "t", "t.json", "t.gz", "t.xls", "t.parquet.gz"])
def test_unknown_suffix(tmp_path, name):
    (tmp_path / name).write_text("x\n1\n")
    with pytest.raises(FileError) as error:
        open_table(tmp_path / name)
    assert ".parquet, .pq, .csv" in sentence(error)


@pytest.mark.parametrize("path", ["none.parquet", "none", "no/where.csv", "", "a\0b.csv"])
def test_missing_file(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError) as error:
        open_table(path)
    sentence(error)


@pytest.mark.parametrize("name", NAMES)
def test_target_in_a_missing_folder(tmp_path, name):
    with pytest.raises(FileError) as error:
        small(tmp_path / name).write(tmp_path / "no" / "out", Changes.one("x", Affine()))
    assert "No such file or directory" in sentence(error)


def test_duplicated_and_odd_columns_of_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]), path)
    with pytest.raises(StatveilError) as error:
        open_table(path)
    assert "same name" in sentence(error)
    pq.write_table(pa.table({"x": [1], "wide": pa.array([decimal.Decimal(1)], pa.decimal256(50, 2))}), path)
    with pytest.raises(FileError) as error:
        open_table(path)
    assert "'wide'" in sentence(error)
    pq.write_table(pa.table({"x": [True], "d": [dt.date(2024, 1, 1)]}), path)
    for column in ("x", "d"):
        with pytest.raises(ColumnError) as error:
            open_table(path).blocks(column)
        assert "where numbers are needed" in sentence(error)


def test_decimals_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": pa.array([decimal.Decimal("98.00"), None], pa.decimal128(22, 20))}), path)
    open_table(path).write(tmp_path / "out", Changes.one("x", PlusTwo()))  # 22 digits are written as 38
    assert pq.read_table(tmp_path / "out")["x"].to_pylist() == [decimal.Decimal(100), None]
    with pytest.raises(ColumnError) as error:
        open_table(path).write(tmp_path / "more", Changes.one("x", Far()))
    assert "do not fit" in sentence(error)


@pytest.mark.parametrize("name", COLUMNAR)
def test_patterns_in_column_names_are_names(tmp_path, name):
    write_columnar(pa.table({"^a.*$": [1], "*": [2], "": [3], "ab": [4]}), tmp_path / name)
    opened = open_table(tmp_path / name)
    assert [next(opened.blocks(column)).tolist() for column in opened.names] == [[1.0], [2.0], [3.0], [4.0]]


def test_patterns_in_file_names_are_names(tmp_path):
    path = tmp_path / "a[1]*k=2.parquet"
    pq.write_table(pa.table({"x": [1.0]}), path)
    open_table(path).write(tmp_path / "out", Changes.one("x", Affine()))
    assert pq.read_table(tmp_path / "out")["x"].to_pylist() == [4.5]


FULL_DISK = """
    import resource, signal, sys, tempfile
    from pathlib import Path
    from statveil.errors import FileError
    from statveil.tables.changes import Changes
    from statveil.tables.files import open_table
    from statveil.tables.maps.column_map import ColumnMap
    class Same(ColumnMap):
        def block(self, values, index):
            return values * 1.5
        def coefficients(self):
            return {}
    folder = Path(sys.argv[1])
    tempfile.tempdir = str(folder / "temporary")
    Path(tempfile.tempdir).mkdir()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    tables = [open_table(path) for path in sorted(folder.glob("t.*"))]
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    for table in tables:
        try:
            table.write(folder / "out", Changes.one("x", Same()))
            print(table.path.name, "written")
        except FileError as error:
            print(table.path.name, error)
        (folder / "out").unlink(missing_ok=True)
        assert not list(Path(tempfile.tempdir).iterdir()), list(Path(tempfile.tempdir).iterdir())
"""


def test_full_disk(tmp_path):
    x = np.random.default_rng(0).normal(size=9_000)
    for name in ("t.parquet", "t.arrow"):
        write_columnar(pa.table({"x": x}), tmp_path / name)
    raw = csv_bytes([["x"], *([repr(v)] for v in x.tolist())])
    (tmp_path / "t.csv").write_bytes(raw)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(raw))
    workbook(tmp_path / "t.xlsx", [["x"], *([v] for v in x.tolist())])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL_DISK), str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["t.arrow", "t.csv", "t.csv.gz", "t.parquet", "t.xlsx"]
    assert all("cannot write" in line and "File too large" in line for line in lines), lines


def times(unit, *years):
    return pa.array([dt.datetime(year, 1, 1) for year in years], pa.timestamp(unit))


@pytest.mark.parametrize("inside", ["column", "list", "record"])
def test_times_that_the_engine_would_cut_off_are_refused(tmp_path, inside):
    """A valid_to of 9999 in a file of Spark's: it became 2262, and so did 1500, without a word."""
    dates = times("us", 2020, 9999, 1500, *range(1_901, 1_998))
    if inside == "list":
        dates = pa.ListArray.from_arrays(list(range(101)), dates)
    elif inside == "record":
        dates = pa.StructArray.from_arrays([dates], names=["until"])
    values = np.random.default_rng(1).normal(100, 15, 100)
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = pa.table({"x": values, "dates": dates})
    pq.write_table(table, source, use_deprecated_int96_timestamps=True, store_schema=False)
    plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(50, 150), tolerance=2), max_risk=0.2)
    with pytest.raises(FileError, match=r"'dates' holds times .* microseconds"):
        sv.release_file(plan, source, target, column="x")
    assert {path.name for path in tmp_path.iterdir()} == {"in.parquet"}


@pytest.mark.parametrize("stored", ["INT96", "nanoseconds", "microseconds"])
def test_other_times_are_kept(tmp_path, stored):
    dates = times("us" if stored == "microseconds" else "ns", *range(1_901, 2_001))
    values = np.random.default_rng(1).normal(100, 15, 100)
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(
        pa.table({"x": values, "dates": dates}),
        source,
        use_deprecated_int96_timestamps=stored == "INT96",
        store_schema=False,
    )
    plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(50, 150), tolerance=2), max_risk=0.2)
    sv.release_file(plan, source, target, column="x")
    assert pl.read_parquet(target)["dates"].dt.year().to_list() == [*range(1_901, 2_001)]
