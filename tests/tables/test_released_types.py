"""The type of a released column: those that programs choose by the largest value are widened, so that it tells none."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import statveil as sv
from statveil.tables.verification import LEAKS
from tests.plans import BY_MODE, LABELS, located, planned

SEED = 20_270_303
RNG = np.random.default_rng(11)
ROWS = 240
WHOLE = np.clip(np.rint(RNG.normal(80, 9, ROWS)), 0, 126).astype(np.int64)
PLANS = {**BY_MODE, "cents": located(0, 200, step=0.01)}
MODES = {
    "lattice": WHOLE,
    "jitter": WHOLE,
    "smooth": WHOLE,
    "model": WHOLE,
    "unit": RNG.poisson(8, ROWS),
    "rank": RNG.binomial(20, 0.4, ROWS),
}
"""A column of whole numbers for every mode that keeps them whole; all fit into 8 bits."""


def release(mode, table, **options):
    return sv.release(PLANS[mode], table, accept=tuple(LEAKS), seed=SEED, **options)


def duck(values, kind):
    rows = duckdb.connect()
    rows.register("given", pa.table({"x": pa.array(values)}))
    rows.execute(f"CREATE TABLE kept AS SELECT x::{kind} AS x FROM given")
    return rows.table("kept")


@dataclass(frozen=True)
class Engine:
    """Tables of one column x, made of values and the name of a type, and what they tell."""

    make: Callable[[Any, str], Any]
    dtype: Callable[[Any], str]
    values: Callable[[Any], list[Any]]
    widths: tuple[tuple[str, str, str], ...]
    """Types of 8, 16 and 32 bits."""
    single: bool = False

    def release(self, mode, table):
        return release(mode, table, **({} if self.single else {"column": "x"}))


def of_polars(values, kind):
    return pl.DataFrame({"x": pl.Series(values, dtype=getattr(pl, kind))})


def of_arrow(values, kind):
    return pa.table({"x": pa.array(values, getattr(pa, kind)())})


def of_pandas(values, kind):
    return pd.DataFrame({"x": pd.Series(list(values), dtype=kind)})


PANDAS = {"dtype": lambda t: str(t["x"].dtype), "values": lambda t: t["x"].tolist()}
PLAIN = (("int8", "int16", "int32"), ("uint8", "uint16", "uint32"))
TITLED = (("Int8", "Int16", "Int32"), ("UInt8", "UInt16", "UInt32"))
ENGINES = {
    "numpy": Engine(np.array, lambda a: str(a.dtype), lambda a: a.tolist(), PLAIN, single=True),
    "numpy-big-endian": Engine(
        np.array, lambda a: a.dtype.str, lambda a: a.tolist(), ((">i2", ">i2", ">i4"), (">u2", ">u2", ">u4")), True
    ),
    "polars": Engine(of_polars, lambda t: str(t["x"].dtype), lambda t: t["x"].to_list(), TITLED),
    "polars-series": Engine(
        lambda v, kind: of_polars(v, kind)["x"], lambda s: str(s.dtype), lambda s: s.to_list(), TITLED, single=True
    ),
    "polars-lazy": Engine(
        lambda v, kind: of_polars(v, kind).lazy(),
        lambda t: f"{t.collect_schema()['x']}",
        lambda t: t.collect()["x"].to_list(),
        TITLED,
    ),
    "pandas": Engine(of_pandas, **PANDAS, widths=PLAIN),
    "pandas-nullable": Engine(of_pandas, **PANDAS, widths=TITLED),
    "pandas-arrow": Engine(
        of_pandas, **PANDAS, widths=tuple(tuple(f"{kind}[pyarrow]" for kind in kinds) for kinds in PLAIN)
    ),
    "arrow": Engine(of_arrow, lambda t: str(t["x"].type), lambda t: t["x"].to_pylist(), PLAIN),
    "duckdb": Engine(
        duck,
        lambda r: str(r.types[0]),
        lambda r: [value for (value,) in r.fetchall()],
        (("TINYINT", "SMALLINT", "INTEGER"), ("UTINYINT", "USMALLINT", "UINTEGER")),
    ),
}


# --- whole numbers ------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ENGINES)
def test_8_and_16_bits_are_released_as_32(name, mode):
    engine = ENGINES[name]
    for kinds in engine.widths:
        released = [engine.release(mode, engine.make(MODES[mode], kind)) for kind in kinds]
        assert [engine.dtype(table) for table in released] == [engine.dtype(engine.make([1], kinds[2]))] * 3
        values = [engine.values(table) for table in released]
        assert values[0] == values[1] == values[2] != MODES[mode].tolist()


@pytest.mark.parametrize("name", ENGINES)
def test_a_type_that_is_kept_shows_so_the_test_above_looks(name, monkeypatch):
    monkeypatch.setattr("statveil.tables.released_type.wide_dtype", lambda dtype: dtype)
    engine = ENGINES[name]
    for kinds in engine.widths:
        given = [engine.make(MODES["unit"], kind) for kind in kinds]
        released = [engine.dtype(engine.release("unit", table)) for table in given]
        assert released == [engine.dtype(table) for table in given]
        assert len(set(released)) == len(set(kinds)) > 1


@pytest.mark.parametrize("name", ENGINES)
def test_whole_numbers_beyond_a_narrow_type_are_released(name):
    """A refusal would tell the holder of a type that a program chose, and a narrow column could not move."""
    engine = ENGINES[name]
    kind = engine.widths[0][0]
    values = [124, 126, 127, 123, 125, 127] * 20
    plan = located(80, 140, step=1)  # moves a mean near the limit of 8 bits up by some steps
    released = sv.release(plan, engine.make(values, kind), **({} if engine.single else {"column": "x"}))
    moved = {new - old for old, new in zip(values, engine.values(released), strict=True)}
    assert len(moved) == 1
    assert max(engine.values(released)) > 127


def test_programs_choose_such_types_by_the_largest_value():
    """What is hidden here: without the widening, the type would tell which of the two columns it was."""
    low, high = WHOLE, np.where(WHOLE.max() == WHOLE, 128, WHOLE)
    shrunk = [pd.to_numeric(pd.Series(rows), downcast="integer") for rows in (low, high)]
    assert [str(rows.dtype) for rows in shrunk] == ["int8", "int16"]
    assert {str(release("lattice", rows).dtype) for rows in shrunk} == {"int32"}
    smaller = [pl.Series(rows).shrink_dtype() for rows in (low, high)]
    assert [rows.dtype for rows in smaller] == [pl.Int8, pl.Int16]
    assert {str(release("lattice", rows).dtype) for rows in smaller} == {"Int32"}


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64])
def test_types_of_32_and_64_bits_are_kept(dtype):
    for mode in ("lattice", "unit"):
        assert release(mode, MODES[mode].astype(dtype)).dtype == dtype


def test_numbers_of_categories_are_widened_too():
    stars = planned(
        family=sv.Categorical(labels=("1", "2", "300")), secret=sv.Fraction("1"), tolerance=0.03, max_risk=0.2
    )
    rows = RNG.choice([1, 2], ROWS, p=[0.6, 0.4])  # no row says 300, so the column fits into 8 bits
    released = [sv.release(stars, rows.astype(kind), seed=SEED, accept=tuple(LEAKS)) for kind in ("i1", "i2", "i4")]
    assert {str(one.dtype) for one in released} == {"int32"}
    assert released[0].tolist() == released[1].tolist() == released[2].tolist() != rows.tolist()


# --- decimals -----------------------------------------------------------------------------------
def money(values):
    return [Decimal(int(cents)).scaleb(-2) for cents in values]


CENTS = RNG.integers(5_000, 6_000, ROWS)
LOW, HIGH = money(CENTS), money([*CENTS[:-1], 10_001])
DECIMALS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "arrow": (lambda a: pa.table({"x": a}), lambda t: t["x"]),
    "pandas-arrow": (
        lambda a: pd.DataFrame({"x": pd.array(a, dtype=pd.ArrowDtype(a.type))}),
        lambda t: t["x"].array.__arrow_array__(),
    ),
    "polars": (lambda a: pl.DataFrame({"x": a}), lambda t: t["x"].to_arrow()),
    "polars-lazy": (lambda a: pl.LazyFrame({"x": a}), lambda t: t.collect()["x"].to_arrow()),
    "duckdb": (
        lambda a: duck(a, f"DECIMAL({a.type.precision}, {a.type.scale})"),
        lambda r: r.to_arrow_table()["x"],
    ),
}
"""How to make a table of an Arrow column, and how to read it back."""


@pytest.mark.parametrize("name", DECIMALS)
def test_decimals_are_released_with_all_digits(name):
    assert [str(pa.array(rows).type) for rows in (LOW, HIGH)] == ["decimal128(4, 2)", "decimal128(5, 2)"]
    make, read = DECIMALS[name]
    released = [read(release("cents", make(pa.array(rows)), column="x")) for rows in (LOW, HIGH)]
    assert {str(column.type) for column in released} == {"decimal128(38, 2)"}
    for rows, column in zip((LOW, HIGH), released, strict=True):
        given = pl.Series("x", rows, dtype=pl.Decimal(38, 2))
        assert column.to_pylist() == release("cents", given).to_list() != rows


@pytest.mark.parametrize("name", DECIMALS)
def test_decimals_that_are_kept_tell_their_digits(name, monkeypatch):
    monkeypatch.setattr("statveil.tables.released_type.wide_dtype", lambda dtype: dtype)
    make, read = DECIMALS[name]
    released = [read(release("cents", make(pa.array(rows)), column="x")) for rows in (LOW, HIGH)]
    assert [str(column.type) for column in released] == ["decimal128(4, 2)", "decimal128(5, 2)"]


def test_a_query_says_the_wide_type_before_it_runs():
    query = pl.LazyFrame({"x": pl.Series(LOW, dtype=pl.Decimal(4, 2))})
    released = release("cents", query, column="x")
    assert released.collect_schema()["x"] == pl.Decimal(38, 2) == released.collect()["x"].dtype


def test_a_widened_table_passes_verify_and_the_other_columns_stay():
    other = pl.Series("other", [7] * ROWS, dtype=pl.Int8)
    for mode, column in (("cents", pl.Series("x", LOW, dtype=pl.Decimal(4, 2))), ("unit", MODES["unit"])):
        table = pl.DataFrame([pl.Series("x", column, dtype=pl.Int8 if mode == "unit" else None), other])
        done = release(mode, table, column="x", details=True)
        assert sv.verify(done.table, done.card).ok
        assert done.table["other"].equals(other)
        assert done.table["other"].dtype == pl.Int8
        assert done.table["x"].dtype != table["x"].dtype


# --- categories ---------------------------------------------------------------------------------
WORDS: list[str | None] = RNG.choice(LABELS, ROWS, p=[0.55, 0.3, 0.15]).tolist()
WORDS[7] = None
DICTIONARIES = {
    "by frequency": ["red", "green", "blue"],
    "by the alphabet": ["blue", "green", "red"],
    "with others": ["blue", "gone", "green", "lost", "red"],
}


def coded(rows, names, *, index=None, ordered=False):
    codes = pa.array([None if row is None else names.index(row) for row in rows], index or pa.int8())
    return pa.DictionaryArray.from_arrays(codes, pa.array(names), ordered=ordered)


def dictionary(column):
    found = {tuple(chunk.dictionary.to_pylist()) for chunk in column.chunks}
    assert len(found) == 1
    return list(found.pop())


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("index", [pa.int8(), pa.int16(), pa.int32()], ids=str)
def test_an_arrow_dictionary_is_the_plans(index, shuffle):
    expected = release("category", pa.table({"x": pa.array(WORDS)}), column="x", shuffle=shuffle)["x"].to_pylist()
    for names in DICTIONARIES.values():
        array = coded(WORDS, names, index=index)
        framed = pd.DataFrame({"x": pd.array(array, dtype=pd.ArrowDtype(array.type))})
        for column in (
            release("category", pa.table({"x": array}), column="x", shuffle=shuffle)["x"],
            release("category", framed, column="x", shuffle=shuffle)["x"].array.__arrow_array__(),
        ):
            assert column.type == pa.dictionary(pa.int32(), pa.string())
            assert dictionary(column) == list(LABELS)
            assert column.to_pylist() == expected


def test_an_ordered_arrow_dictionary_keeps_its_order_and_must_have_every_label():
    names = DICTIONARIES["with others"]
    table = pa.table({"x": coded(WORDS, names, ordered=True)})
    released = release("category", table, column="x")
    assert released["x"].type == pa.dictionary(pa.int32(), pa.string(), ordered=True)
    assert dictionary(released["x"]) == names
    assert released["x"].to_pylist() == release("category", WORDS)
    few = pa.table({"x": coded(["red", "green"] * 60, ["green", "red"], ordered=True)})
    with pytest.raises(sv.ColumnError, match="lacks some of the plan's categories"):
        release("category", few, column="x")
    parts = [coded(WORDS[:100], names, ordered=True), coded(WORDS[100:], names[::-1], ordered=True)]
    with pytest.raises(sv.ColumnError, match="have different orders"):
        release("category", pa.table({"x": pa.chunked_array(parts)}), column="x")


def test_pandas_categories_are_the_plans_whatever_the_type_lists():
    expected = release("category", WORDS)
    for names in DICTIONARIES.values():
        released = release("category", pd.Series(pd.Categorical(WORDS, categories=names)))
        assert released.cat.categories.tolist() == list(LABELS)
        assert [None if value != value else value for value in released] == expected


@pytest.mark.parametrize("shuffle", [False, True])
def test_polars_categories_leave_as_the_released_rows_have_them(shuffle):
    """Polars numbers the categories of a process once; what leaves it lists those of the rows as they come."""
    pl.Series(["hidden", "blue", "green", "red"], dtype=pl.Categorical)
    table = pl.DataFrame({"x": pl.Series(WORDS, dtype=pl.Categorical)})
    released = release("category", table, column="x", shuffle=shuffle)["x"]
    met = list(dict.fromkeys(word for word in released.to_list() if word is not None))
    assert released.to_arrow().dictionary.to_pylist() == met
    assert b"hidden" not in pickle.dumps(released)


def test_an_enum_lacks_no_label_even_where_no_row_changes(monkeypatch):
    """Which labels it has may be those that the rows had."""
    plan = planned(family=sv.Categorical(labels=LABELS), secret=sv.Fraction("red"), tolerance=0.03)
    monkeypatch.setattr("statveil.tables.maps.category.Category.block", lambda self, values, index: values)
    rows = ["red", "green"] * 60
    options = {"seed": SEED, "accept": tuple(LEAKS)}
    assert sv.release(plan, pl.Series(rows, dtype=pl.Enum(LABELS)), **options).to_list() == rows
    with pytest.raises(sv.ColumnError, match="an Enum without all of the plan's categories"):
        sv.release(plan, pl.Series(rows, dtype=pl.Enum(["red", "green"])), **options)
    few = duckdb.sql(
        "SELECT (CASE WHEN range % 2 = 0 THEN 'red' ELSE 'green' END)::ENUM('red', 'green') x FROM range(9)"
    )
    with pytest.raises(sv.ColumnError, match="an ENUM without all of the plan's categories"):
        sv.release(plan, few, column="x", **options)


def test_an_array_of_text_is_as_wide_as_the_longest_label():
    some = np.array(["red", "blue"] * 60)
    assert some.dtype == np.dtype("U4")  # no row says "green"
    for rows in (some, some.astype("U5"), some.astype("U30")):
        assert release("category", rows).dtype == np.dtype("U5")
