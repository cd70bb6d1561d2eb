"""Tables in memory: one column is released, everything else comes back as it was, the same rows from every library."""

from __future__ import annotations

import collections
import datetime as dt
import gc
import itertools
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.tables.blocks import BLOCK
from tests.plans import BY_MODE, LABELS, counted, located, planned

SEED = 20_261_115
NAN, INF = math.nan, math.inf


# --- plans: one of every mode, and more ---------------------------------------------------------
def shared(*labels, max_risk=0.2):
    """A plan for the share of the first category."""
    family, secret = sv.Categorical(labels=labels), sv.Fraction(labels[0])
    return planned(family=family, secret=secret, tolerance=0.03, max_risk=max_risk)


FAR = sv.Box(mu=(50, 200), sigma=(1, 15))
PLANS = {
    **BY_MODE,
    "exponential": planned(family=sv.Exponential(), prior=sv.Box(scale=(20, 200)), secret=sv.Mean(), tolerance=1),
    "cents": located(0, 200, step=0.01),
    "urn": counted(sv.Geometric(), 0.05, 0.5, max_risk=0.3),
    "redrawn": planned(
        family=sv.Gaussian(), prior=FAR, secret=sv.Mean(), tolerance=1, known=sv.Structure(minimum=0, step=1)
    ),
    "switch": shared("true", "false"),
    "stars": shared("1", "2", "3"),
}


# --- columns ------------------------------------------------------------------------------------
RNG = np.random.default_rng(5)
ROWS = 240
LOOSE = RNG.normal(100, 10, ROWS)
QUARTER = np.random.default_rng(4).random(ROWS) < 0.25  # in no order, and beside numbers of the rows
COUNTS = RNG.poisson(8, ROWS)
WHOLE = np.rint(RNG.normal(80, 9, ROWS)).astype(np.int64)
WORDS = RNG.choice(LABELS, ROWS, p=[0.55, 0.3, 0.15]).tolist()


def holed(values, *, special=()):
    """The values with a missing row, and a row of each special value."""
    listed = list(values)
    for place, value in zip(range(1, 60, 9), (None, *special, None), strict=False):
        listed[place] = value
    return listed


def series(values, dtype=None):
    return pl.Series("x", values, dtype=dtype)


SPECIAL = (NAN, INF, -INF)
MONEY = [Decimal(int(v)).scaleb(-2) for v in np.rint(RNG.normal(10_000, 900, ROWS))]


@dataclass(frozen=True)
class Column:
    plan: str
    series: pl.Series
    accept: tuple[str, ...] = ()
    becomes_float: bool = False


COLUMNS = {
    "shift": Column("shift", series(LOOSE)),
    "shift-holes": Column("shift", series(holed(LOOSE, special=SPECIAL))),
    "shift-float32": Column("shift", series(holed(LOOSE, special=SPECIAL), pl.Float32)),
    "shift-integers": Column("shift", series(WHOLE), ("step",), becomes_float=True),
    "shift-integers-holes": Column("shift", series(holed(WHOLE), pl.Int32), ("step",), becomes_float=True),
    "shift-decimals": Column("shift", series(holed(MONEY), pl.Decimal(9, 2)), ("step",), becomes_float=True),
    "affine": Column("affine", series(holed(LOOSE, special=SPECIAL))),
    "scale": Column("scale", series(holed(np.abs(LOOSE), special=(NAN, INF)))),
    "scale-exponential": Column("exponential", series(holed(RNG.exponential(70, ROWS), special=(NAN, INF)))),
    **{f"lattice-{d}": Column("lattice", series(WHOLE, d)) for d in (pl.Int8, pl.Int16, pl.Int32, pl.Int64)},
    **{f"lattice-{d}": Column("lattice", series(WHOLE, d)) for d in (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)},
    "lattice-holes": Column("lattice", series(holed(WHOLE), pl.Int16)),
    "lattice-floats": Column("lattice", series(holed(WHOLE.astype(float), special=SPECIAL), pl.Float64)),
    "lattice-cents": Column("cents", series(holed(np.rint(LOOSE * 100) / 100, special=SPECIAL))),
    "lattice-cents-float32": Column("cents", series(np.rint(LOOSE * 100) / 100, pl.Float32)),
    "lattice-decimals": Column("cents", series(holed(MONEY), pl.Decimal(9, 2))),
    "unit": Column("unit", series(COUNTS, pl.UInt16)),
    "unit-holes": Column("unit", series(holed(COUNTS), pl.Int32)),
    "unit-floats": Column("unit", series(holed(COUNTS.astype(float), special=SPECIAL), pl.Float64)),
    "unit-urn": Column("urn", series(RNG.geometric(0.2, ROWS) - 1)),
    "rank": Column("rank", series(holed(RNG.binomial(20, 0.4, ROWS)), pl.Int8)),
    "rank-redrawn": Column("redrawn", series(holed(WHOLE.astype(float), special=(NAN, INF)), pl.Float64)),
    "jitter": Column("jitter", series(holed(WHOLE), pl.Int32)),
    "jitter-floats": Column("jitter", series(holed(WHOLE.astype(float), special=(NAN, INF)), pl.Float64)),
    "smooth": Column("smooth", series(holed(WHOLE), pl.Int16)),
    "category": Column("category", series(WORDS)),
    "category-holes": Column("category", series(holed(WORDS))),
    "category-dictionary": Column("category", series(holed(WORDS), pl.Categorical)),
    "category-enum": Column("category", series(holed(WORDS), pl.Enum(["blue", "unused", "red", "green"]))),
    "category-booleans": Column("switch", series((LOOSE > 103).tolist())),
    "category-booleans-holes": Column("switch", series(holed((LOOSE > 103).tolist()))),
    "category-integers": Column("stars", series(RNG.choice([1, 2, 3], ROWS, p=[0.5, 0.3, 0.2]), pl.Int16)),
}


def shifted(table, **options):
    """A release under one seed: two releases under two seeds are blurred by other numbers."""
    return sv.release(PLANS["shift"], table, seed=SEED, **options)


# --- kinds of tables ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Kind:
    """How to make a table of a library, and how to read it without statveil."""

    make: Callable[[pl.Series], Any]
    values: Callable[[Any], list[Any]]
    dtype: Callable[[Any], Any]
    rest: Callable[[Any], Any] = lambda table: None
    holds: Callable[[pl.Series], bool] = lambda column: True
    single: bool = False
    missing: bool = True
    """Whether missing and NaN are two things."""

    @property
    def options(self):
        return {} if self.single else {"column": "x"}


def beside(column):
    """A frame with other columns on both sides."""
    rows = len(column)
    return pl.DataFrame(
        {"row": range(rows), "x": column, 'no "te"': [None if i % 5 == 0 else f"é{i}" for i in range(rows)]}
    )


def chunked(column):
    cuts = [0, *sorted({min(1, len(column)), len(column) // 3}), len(column)]
    return pl.concat([column.slice(a, b - a) for a, b in itertools.pairwise(cuts)], rechunk=False)


def plain(column):
    """A column of pandas with the types that NumPy knows."""
    if isinstance(column.dtype, pl.Enum | pl.Categorical):
        names = ["blue", "unused", "red", "green"]
        return pd.Categorical(column.to_list(), categories=names, ordered=isinstance(column.dtype, pl.Enum))
    if column.dtype.is_float():
        return column.fill_null(NAN).to_numpy()
    if column.dtype.is_decimal():
        return np.array(column.to_list(), dtype=object)
    return column.to_numpy() if column.dtype != pl.String else pd.array(column.to_list(), dtype="str")


def nullable(column):
    values = column.fill_null(False if column.dtype == pl.Boolean else 0).to_numpy().copy()
    gone = column.is_null().to_numpy().copy()
    kinds = {"f": pd.arrays.FloatingArray, "b": pd.arrays.BooleanArray}
    return kinds.get(values.dtype.kind, pd.arrays.IntegerArray)(values, gone)


def pandas_frame(values):
    index = pd.MultiIndex.from_arrays([[i % 3 // 2 for i in range(len(values))], range(len(values))], names=["a", "b"])
    return pd.DataFrame({7: np.arange(len(values)), "x": values, ("t", 1): ["é"] * len(values)}, index=index)


def objects(column):
    """A column of Python objects; missing rows are None, so NaN is something else."""
    frame = pandas_frame(range(len(column)))
    frame["x"] = pd.Series(column.to_list(), dtype=object, index=frame.index)
    return frame


def arrow_backed(column):
    held = column.to_arrow()
    return pd.array(held, dtype=pd.ArrowDtype(held.type))


def duckdb_table(column):
    frame = beside(column)
    connection = duckdb.connect()
    connection.register("given", frame.to_arrow())
    connection.execute("CREATE TABLE kept AS SELECT * FROM given")
    connection.unregister("given")
    return connection.table("kept")


def duckdb_query(column):
    frame = duckdb.from_arrow(beside(column).to_arrow())
    return frame.filter("row >= 0").order("row")


def pandas_values(column):
    if isinstance(column.dtype, pd.ArrowDtype):
        return column.array.__arrow_array__().to_pylist()
    if column.dtype.kind == "f" and isinstance(column.dtype, np.dtype):
        return column.tolist()
    if column.dtype == object:
        return column.tolist()
    text = column.dtype.kind == "O"
    return [None if value is pd.NA or (text and value is not None and value != value) else value for value in column]


def pandas_rest(table):
    other = table.drop(columns="x")
    return other.to_dict("list"), other.dtypes.tolist(), table.index.tolist(), table.index.names, list(table.columns)


def polars_rest(table):
    return table.drop("x").rows(), table.drop("x").schema, table.columns


def arrow_rest(table):
    return table.drop_columns("x").to_pylist(), table.drop_columns("x").schema, table.column_names


def duckdb_rest(table):
    return table.project("* EXCLUDE (x)").fetchall(), table.columns, [str(t) for t in table.types][::2]


def in_numpy(column):
    return column.dtype.is_float() or (column.null_count() == 0 and not column.dtype.is_decimal())


POLARS = {"values": lambda t: t["x"].to_list(), "dtype": lambda t: t.schema["x"], "rest": polars_rest}
LAZY = {
    "values": lambda t: t.collect()["x"].to_list(),
    "dtype": lambda t: t.collect_schema()["x"],
    "rest": lambda t: polars_rest(t.collect()),
}
PANDAS = {"values": lambda t: pandas_values(t["x"]), "dtype": lambda t: t["x"].dtype, "rest": pandas_rest}
ARROW = {"values": lambda t: t["x"].to_pylist(), "dtype": lambda t: t.schema.field("x"), "rest": arrow_rest}
DUCKDB = {
    "values": lambda t: [row[0] for row in t.project("x").fetchall()],
    "dtype": lambda t: str(t.types[t.columns.index("x")]),
    "rest": duckdb_rest,
}
SERIES = {"values": lambda s: s.to_list(), "dtype": lambda s: (s.dtype, s.name), "single": True}

KINDS = {
    "numpy": Kind(
        make=lambda s: s.fill_null(NAN).to_numpy() if s.dtype.is_float() else s.to_numpy(),
        values=lambda a: a.tolist(),
        dtype=lambda a: a.dtype,
        holds=lambda s: in_numpy(s) and s.dtype.is_numeric(),
        single=True,
        missing=False,
    ),
    "numpy-objects": Kind(
        make=lambda s: np.array(s.to_list(), dtype=object),
        values=lambda a: a.tolist(),
        dtype=lambda a: a.dtype,
        holds=lambda s: s.dtype != pl.Float32,
        single=True,
    ),
    "list": Kind(
        make=lambda s: s.to_list(),
        values=list,
        dtype=lambda a: {type(value) for value in a} - {type(None)},
        holds=lambda s: s.dtype != pl.Float32,
        single=True,
    ),
    "tuple": Kind(
        make=lambda s: tuple(s.to_list()),
        values=list,
        dtype=lambda a: {type(value) for value in a} - {type(None)},
        holds=lambda s: s.dtype != pl.Float32,
        single=True,
    ),
    "polars": Kind(make=beside, **POLARS),
    "polars-chunked": Kind(make=lambda s: beside(chunked(s)), **POLARS),
    "polars-lazy": Kind(make=lambda s: beside(s).lazy(), **LAZY),
    "polars-lazy-chunked": Kind(make=lambda s: beside(chunked(s)).lazy().filter(pl.col("row") >= 0), **LAZY),
    "polars-series": Kind(make=lambda s: chunked(s).alias("my x"), **SERIES),
    "pandas": Kind(make=lambda s: pandas_frame(plain(s)), **PANDAS, missing=False, holds=in_numpy),
    "pandas-objects": Kind(make=objects, **PANDAS, holds=lambda s: s.dtype != pl.Float32),
    "pandas-nullable": Kind(
        make=lambda s: pandas_frame(nullable(s)),
        **PANDAS,
        holds=lambda s: s.dtype.is_float() or s.dtype.is_integer() or s.dtype == pl.Boolean,
    ),
    "pandas-strings": Kind(
        make=lambda s: pandas_frame(pd.array(s.to_list(), dtype="string")),
        **PANDAS,
        holds=lambda s: s.dtype == pl.String,
    ),
    "pandas-arrow": Kind(make=lambda s: pandas_frame(arrow_backed(s)), **PANDAS),
    "pandas-series": Kind(
        make=lambda s: pd.Series(plain(s), name=("my", "x"), index=[3] * len(s)),
        values=pandas_values,
        dtype=lambda s: (s.dtype, s.name, s.index.tolist()),
        holds=in_numpy,
        single=True,
        missing=False,
    ),
    "arrow": Kind(make=lambda s: beside(s).to_arrow(compat_level=pl.CompatLevel.oldest()), **ARROW),
    "arrow-chunked": Kind(
        make=lambda s: pa.concat_tables([(t := beside(s).to_arrow()).slice(0, 1), t.slice(1, 0), t.slice(1)]), **ARROW
    ),
    "duckdb": Kind(make=duckdb_table, **DUCKDB),
    "duckdb-query": Kind(make=duckdb_query, **DUCKDB),
}
PAIRS = [
    pytest.param(kind, title, id=f"{name}-{title}")
    for title, column in COLUMNS.items()
    for name, kind in KINDS.items()
    if kind.holds(column.series)
]


def exact(values):
    """Text that differs where a bit does: NaN is NaN, -0.0 is not 0.0, 1 is not 1.0."""
    return [repr(value.item() if isinstance(value, np.generic) else value) for value in values]


@cache
def released_by_numpy(title):
    """The released rows as a NumPy array gives them, in the column's own Python type."""
    column, plan = COLUMNS[title], PLANS[COLUMNS[title].plan]
    original = column.series.to_list()
    if not column.series.dtype.is_numeric():
        present = np.array(original, dtype=object)
        return sv.release(plan, present, seed=SEED).tolist()
    held = column.series.cast(pl.Float64) if column.series.dtype.is_decimal() else column.series
    numbers = (
        held.fill_null(NAN).to_numpy() if held.dtype.is_float() else held.to_numpy()
    )  # integers with holes: float64
    fresh = sv.release(plan, numbers, accept=column.accept, seed=SEED).tolist()
    return [None if old is None else own_type(column, new) for old, new in zip(original, fresh, strict=True)]


def own_type(column, value):
    if column.becomes_float or column.series.dtype.is_float():
        return float(value)
    if column.series.dtype.is_decimal():
        return Decimal(repr(value)).quantize(Decimal(1).scaleb(-column.series.dtype.scale))
    return int(value)


WIDE = {pl.Int8: pl.Int32, pl.Int16: pl.Int32, pl.UInt8: pl.UInt32, pl.UInt16: pl.UInt32}


def wide(column):
    """The same rows in a type that no program chooses by the largest of them."""
    if column.dtype.is_decimal():
        return column.cast(pl.Decimal(38, column.dtype.scale))
    return column.cast(WIDE.get(column.dtype, column.dtype))


def as_released(dtype):
    """A type of categories with the plan's alone, unless they are ordered, and codes of 32 bits; others as they are."""
    if isinstance(dtype, tuple):
        return (as_released(dtype[0]), *dtype[1:])
    if isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered:
        return pd.CategoricalDtype(list(LABELS))
    if isinstance(dtype, pd.ArrowDtype):
        return pd.ArrowDtype(as_released(dtype.pyarrow_dtype))
    if isinstance(dtype, pa.Field):
        return dtype.with_type(as_released(dtype.type))
    if isinstance(dtype, pa.DictionaryType):
        return pa.dictionary(pa.uint32(), dtype.value_type, dtype.ordered)
    return dtype


def not_finite(value):
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def test_rows_that_are_missing_or_not_finite_are_among_the_columns():
    apart = {repr(value) for column in COLUMNS.values() for value in column.series if not_finite(value)}
    assert apart == {"None", "nan", "inf", "-inf"}


@pytest.mark.parametrize(("kind", "title"), PAIRS)
def test_every_kind_gives_the_rows_that_numpy_gives_and_leaves_the_rest(kind, title):
    column, plan = COLUMNS[title], PLANS[COLUMNS[title].plan]
    table = kind.make(column.series)
    before = exact(kind.values(table)), kind.dtype(table), kind.rest(table)
    released = sv.release(plan, table, accept=column.accept, seed=SEED, **kind.options)
    assert type(released) is type(table)
    assert (exact(kind.values(table)), kind.dtype(table), kind.rest(table)) == before  # the input is as it was
    expected = released_by_numpy(title)
    if not kind.missing and column.series.dtype.is_float():
        expected = [NAN if value is None else value for value in expected]
    values = kind.values(released)
    assert exact(values) == exact(expected)
    assert exact(values) != before[0]
    apart = [place for place, old in enumerate(kind.values(table)) if not_finite(old)]
    assert [exact(values)[place] for place in apart] == [before[0][place] for place in apart]  # these rows stay
    assert kind.rest(released) == before[2]
    if not column.becomes_float:
        assert kind.dtype(released) == as_released(kind.dtype(kind.make(wide(column.series))))


LONG = {
    "unit": series(RNG.poisson(8, BLOCK + 4_467).astype(np.int32)),
    "category": series(RNG.choice(LABELS, BLOCK + 4_467).tolist()),
}


@cache
def long_release_of_numpy(title):
    return sv.release(PLANS[title], LONG[title].to_numpy(), seed=SEED).tolist()


@pytest.mark.parametrize(
    ("kind", "title"),
    [pytest.param(kind, t, id=f"{name}-{t}") for t in LONG for name, kind in KINDS.items() if kind.holds(LONG[t])],
)
def test_a_seed_means_the_same_rows_in_several_blocks(kind, title):
    searched = ("order", "groups", "copies")  # NumPy's rows were
    released = sv.release(PLANS[title], kind.make(LONG[title]), accept=searched, seed=SEED, **kind.options)
    assert kind.values(released) == long_release_of_numpy(title)


# --- any numbers: every kind does the same, or refuses alike --------------------------------------
def outcome(plan, table, values, **options):
    """The released values, or why there are none; anything but an error of ours, and most warnings, fail the test."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The released column lies farther")  # two rows have no shape
            released = sv.release(plan, table, seed=SEED, **options)
    except sv.StatveilError as error:
        text = str(error)
        assert "\n" not in text
        assert text.endswith((".", "'"))
        return type(error)
    return exact(NAN if value is None else value for value in values(released))


NUMBERS = st.one_of(
    st.none(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-500, 500),
    st.integers(-300, 300).map(float),
    st.integers(-30_000, 30_000).map(lambda cents: cents / 100),
    st.sampled_from([0.0, -0.0, 100.0, 5e-324, 1.7e308, 3.4e38]),
)
ANYTHING = ("step", "heaps", "atoms", "misfit", "rough", "digits", "transform", "repeats", "bounds", "filled", "ratios")


@settings(max_examples=150)
@given(
    values=st.lists(NUMBERS, max_size=12), mode=st.sampled_from(sorted(PLANS)), accept=st.sampled_from([(), ANYTHING])
)
def test_any_floats_are_released_alike_or_refused_alike(values, mode, accept):
    column = series(values, pl.Float64)
    options = {"accept": accept}
    first = outcome(PLANS[mode], KINDS["numpy"].make(column), list, **options)
    for name in (
        "list",
        "polars",
        "polars-lazy",
        "polars-series",
        "pandas",
        "pandas-nullable",
        "pandas-arrow",
        "arrow",
    ):
        kind = KINDS[name]
        table = kind.make(column) if len(values) % 3 == 0 or "pandas" not in name else None
        if table is not None:
            assert outcome(PLANS[mode], table, kind.values, **options, **kind.options) == first, name


@settings(max_examples=150)
@given(
    values=st.lists(st.integers(-(2**63), 2**64 - 1) | st.integers(-200, 300), min_size=1, max_size=12),
    dtype=st.sampled_from([np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]),
    mode=st.sampled_from(["lattice", "shift", "unit", "rank", "redrawn", "scale", "stars"]),
)
def test_integers_stay_integers_and_never_wrap(values, dtype, mode):
    ends = np.iinfo(dtype)
    array = np.array([min(max(value, ends.min), ends.max) for value in values], dtype=dtype)
    try:
        released = sv.release(PLANS[mode], array, accept=ANYTHING, seed=SEED)
    except sv.StatveilError:
        return
    assert len(released) == len(array)
    if mode in ("shift", "scale"):
        assert released.dtype == np.float64
    else:
        assert released.dtype == np.promote_types(dtype, np.uint32 if ends.min == 0 else np.int32)
    if mode == "lattice":  # one move for all rows: a value that wrapped would have another
        assert len({int(new) - int(old) for old, new in zip(array, released, strict=True)}) == 1


@pytest.mark.parametrize("exponent", [51, 52, 52.5])
def test_large_whole_numbers_all_move_by_the_same(exponent):
    low = int(2**exponent)
    values = np.array([low + i for i in (1, 2, 7, 100, 1001, 5003)])
    released = sv.release(located(2.0**50, 2.0**53, tolerance=1e12, step=1), values)
    assert len(set((released - values).tolist())) == 1


def test_whole_numbers_that_floats_cannot_hold_are_refused():
    for values in ([2**53 + 1, 2**53 - 5, 2**53 - 300], [2**60, 1], [-(2**63), 5], [2**70, 2]):
        with pytest.raises(sv.ColumnError, match="2\\^53"):
            sv.release(located(2.0**52, 2.0**54, tolerance=1e12, step=1), values)


LIMITED = [
    pytest.param(kind, dtype, id=f"{name}-{dtype}")
    for name, kind in KINDS.items()
    for dtype in (pl.Int32, pl.UInt32)
    if name not in ("list", "tuple", "numpy-objects", "pandas-objects") and kind.holds(series([1, 2], dtype))
]


@pytest.mark.parametrize(("kind", "dtype"), LIMITED)
def test_overflow_is_an_error(kind, dtype):
    most = {"Int32": 2**31 - 1, "UInt32": 2**32 - 1}[str(dtype)]
    plan = located(most - 47, most + 13, step=1)  # moves a mean near the limit up by 7
    values = [most - 1, most - 2, most, most - 4] * 6
    assert max(sv.release(plan, values)) > most  # a list has no limit
    with pytest.raises(sv.ColumnError) as error:
        kind.values(sv.release(plan, kind.make(series(values, dtype)), seed=SEED, **kind.options))
    assert "fit its type" in str(error.value)


def test_unsigned_numbers_that_would_be_negative_are_an_error():
    plan = located(-30, 2, step=1)
    values = np.array([0, 1, 0, 2, 0, 1] * 6)
    assert min(sv.release(plan, values, accept=ANYTHING)) < 0
    for dtype in (np.uint8, np.uint16, np.uint32, np.uint64):
        with pytest.raises(sv.ColumnError, match=r"do not fit its type.* signed integer type"):
            sv.release(plan, values.astype(dtype), accept=ANYTHING)


DECIMALS = {
    "too many digits": (["1234567890123456.78", "1234567890123456.79", "2234567890123456.71"], pl.Decimal(20, 2)),
    "one digit too many": (["90071992547409.93", "90071992547409.95", "10000000000000.01"], pl.Decimal(16, 2)),
    "too few decimals": (["100.1", "101.3", "99.9"], pl.Decimal(5, 1)),
    "large": (["9007199254.91", "9007199254.95", "1000000000.01"], pl.Decimal(16, 2)),
    "usual": (["100.10", "101.30", "99.90"], pl.Decimal(6, 2)),
}


@pytest.mark.parametrize("name", DECIMALS)
def test_decimals_all_move_by_the_same_or_are_refused(name):
    values, dtype = DECIMALS[name]
    column = series([Decimal(value) for value in values], dtype)
    high = float(max(values, key=float))
    plan = located(0, 2 * high, tolerance=high / 100, step=0.01)
    if why := {
        "too many digits": "more digits than 64-bit floats",
        "one digit too many": "more digits than 64-bit floats",
        "too few decimals": "written with 1 decimals",
    }.get(name):
        with pytest.raises(sv.ColumnError, match=why):
            sv.release(plan, column, accept=ANYTHING)
        return
    released = sv.release(plan, column, accept=ANYTHING)
    steps = sv.release(plan, [float(value) for value in values], accept=ANYTHING, details=True).record["coefficients"][
        "b"
    ]
    moves = {new - old for old, new in zip(column.to_list(), released.to_list(), strict=True)}
    assert moves == {Decimal(repr(steps)).quantize(Decimal("0.01"))}


def test_cents_are_the_floats_nearest_to_the_decimals():
    cents = np.rint(LOOSE * 100)
    for dtype in (np.float64, np.float32):
        released = sv.release(PLANS["cents"], (cents / 100).astype(dtype))
        assert released.dtype == dtype
        clean = (np.rint(released.astype(np.float64) * 100) / 100).astype(dtype)
        assert np.array_equal(released, clean)


@pytest.mark.parametrize("values", [[], [None, None], [NAN, INF]])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_column_without_numbers_has_nothing_to_hide(name, values):
    column = series(values, pl.Float64)
    if name == "pandas-strings":
        column = series([None] * len(values), pl.String)
    with pytest.raises(sv.ColumnError):
        shifted(KINDS[name].make(column), **KINDS[name].options)


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"pandas-strings"}))
def test_one_row_lands_on_the_released_secret(name):
    kind = KINDS[name]
    (released,) = kind.values(shifted(kind.make(series([101.234567890123])), **kind.options))
    expected = float(PLANS["shift"].apply(mean=101.234567890123).secret)
    assert abs(released - expected) <= 5 * 2.0**-10 * PLANS["shift"].problem.tolerance, "it is blurred by no more"


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"pandas-strings"}))
def test_undeclared_structure_is_refused_until_it_is_accepted(name):
    kind = KINDS[name]
    for values, leak in ((WHOLE, "step"), (np.where(QUARTER, 159.123456789, LOOSE), "atoms")):
        table = kind.make(series(values))
        with pytest.raises(sv.StructureError, match=f"--accept {leak}"):
            shifted(table, **kind.options)
        released = kind.values(shifted(table, accept=ANYTHING, **kind.options))
        assert {type(value) for value in released} <= {float, np.float64}
    with pytest.raises(sv.StructureError, match="--accept filled"):  # its only value is the secret: it is not named
        shifted(kind.make(series([99.123456789] * 30)), **kind.options)


@pytest.mark.parametrize("accept", ["step", None, ["steps"], [1], [["step"]]])
def test_what_is_accepted_is_a_list_of_names(accept):
    if accept == "step":  # one name alone is as clear as a list of one
        assert shifted(WHOLE, accept=accept).dtype == np.float64
        return
    with pytest.raises(sv.StatveilError):
        shifted(WHOLE, accept=accept)


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"pandas-strings"}))
def test_rounded_releases_are_the_same_decimals_everywhere(name):
    kind = KINDS[name]
    for title in ("shift-holes", "shift-integers"):
        column = COLUMNS[title]
        if not kind.holds(column.series):
            continue
        options = {"accept": column.accept, "round_digits": 1}
        released = kind.values(shifted(kind.make(column.series), **options, **kind.options))
        expected = shifted(KINDS["list"].make(column.series), **options)
        assert exact(NAN if v is None else v for v in released) == exact(NAN if v is None else v for v in expected)
        assert all(v == round(v, 1) for v in expected if v is not None and math.isfinite(v))


ODD_WORDS = ("nan", "None", "null", "NA", "<NA>", "1", "true", "é", "e\u0301", "日本", "a\tb", "x" * 300, "'", '"')


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.holds(series(["a"]))])
def test_words_that_look_like_something_else_are_words(name):
    kind = KINDS[name]
    column = series(RNG.permutation([*ODD_WORDS * 9, *ODD_WORDS[:4] * 20]).tolist())
    plan = shared(*ODD_WORDS, max_risk=0.6)
    expected = sv.release(plan, column.to_list(), seed=SEED)
    assert expected != column.to_list()
    assert kind.values(sv.release(plan, kind.make(column), seed=SEED, **kind.options)) == expected


# --- NumPy and plain lists ------------------------------------------------------------------------
def test_arrays_of_any_layout_give_the_same_rows():
    expected = shifted(LOOSE.copy())
    locked = LOOSE.copy()
    locked.setflags(write=False)
    wide = np.zeros((ROWS, 3))
    wide[:, 1] = LOOSE
    backwards = LOOSE[::-1].copy()[::-1]
    for array in (
        locked,
        wide[:, 1],
        backwards,
        np.repeat(LOOSE, 2)[::2],
        LOOSE.astype(">f8"),
        LOOSE.view(np.recarray),
    ):
        copy = array.copy()
        released = shifted(array)
        assert np.array_equal(released, expected)
        assert released.dtype == array.dtype
        assert released.flags.writeable
        assert np.array_equal(array, copy)
    whole = sv.release(PLANS["lattice"], WHOLE.astype(">i2"))
    assert whole.dtype == np.dtype(">i4")
    assert np.array_equal(whole, sv.release(PLANS["lattice"], WHOLE))


def test_labels_of_an_array_are_never_cut_off():
    released = sv.release(PLANS["category"], np.array(["red"] * 400), seed=SEED)
    assert set(released.tolist()) <= set(LABELS)
    assert len(set(released.tolist())) > 1


def test_a_named_tuple_is_released():
    point = collections.namedtuple("Point", "a b c")(99, 101, 100)
    released = sv.release(PLANS["lattice"], point)
    assert type(released) is type(point)
    assert tuple(released) == tuple(sv.release(PLANS["lattice"], [99, 101, 100]))


# --- pandas -----------------------------------------------------------------------------------------
def test_pandas_objects_stay_objects_and_missing_marks_stay_what_they_are():
    marks = [None, NAN, pd.NA]
    for plan, values in (("category", WORDS), ("cents", MONEY), ("shift", LOOSE.tolist()), ("lattice", WHOLE.tolist())):
        column = pd.Series([*marks, *values], dtype=object)
        for released in (
            sv.release(PLANS[plan], column, seed=SEED),
            sv.release(PLANS[plan], pd.DataFrame({"x": column}), column="x", seed=SEED)["x"],
        ):
            assert released.dtype == object
            assert exact(released[:3]) == exact(marks)
            assert {type(value) for value in released[3:]} == {type(value) for value in values}


@pytest.mark.parametrize("ordered", [False, True])
def test_pandas_categories_are_the_plans_and_ordered_ones_stay(ordered):
    kept = ["blue", "never", "red", "green"]
    column = pd.Series(pd.Categorical(holed(WORDS), categories=kept, ordered=ordered))
    released = sv.release(PLANS["category"], column, seed=SEED)
    assert list(released.cat.categories) == (kept if ordered else list(LABELS))
    assert released.cat.ordered == ordered
    narrow = pd.Series(pd.Categorical(["red"] * 600, categories=["red"], ordered=ordered))
    if ordered:
        with pytest.raises(sv.ColumnError, match="lacks some of the plan's categories"):
            sv.release(PLANS["category"], narrow, seed=SEED)
        return
    wider = sv.release(PLANS["category"], narrow, seed=SEED)
    assert list(wider.cat.categories) == list(LABELS)  # which ones the original had cannot be told


def test_numbers_stored_as_pandas_categories_are_refused():
    # entries that no row uses would be originals
    with pytest.raises(sv.ColumnError, match="needs numbers"):
        sv.release(PLANS["lattice"], pd.Series(pd.Categorical([100, 101, 105, 103])))


def test_pandas_columns_of_any_name():
    numbers = np.stack([LOOSE, LOOSE + 1, LOOSE + 2], axis=1)
    expected = shifted(LOOSE)
    for names in (
        [1, "1", 2.5],
        ["a b", "", 'q"'],
        [("t", 1), "t", 1],
        [pd.Timestamp("2020"), 1, 2],
        ["é", "x\n", "y"],
    ):
        frame = pd.DataFrame(numbers)
        frame.columns = pd.Index(names, tupleize_cols=False)
        released = shifted(frame, column=names[0], accept=["copies"], details=True)
        assert list(released.table.columns) == names
        assert np.array_equal(released.table.to_numpy()[:, 0], expected)
        assert np.array_equal(released.table.to_numpy()[:, 1:], numbers[:, 1:])
        json.dumps([released.record, released.card])
    several = pd.DataFrame(numbers, columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")]))
    released = shifted(several, column=("a", "x"), accept=["copies"])
    assert np.array_equal(released[("a", "x")], expected)
    assert released.columns.equals(several.columns)


def test_a_pandas_release_shares_nothing_that_can_be_written_to():
    frame = pd.DataFrame({"x": LOOSE, "y": LOOSE})
    frame.attrs["true mean"] = float(LOOSE.mean())
    kept = frame.copy(deep=True)
    released = shifted(frame, column="x", accept=["copies"])
    assert released.attrs == {}
    released.loc[0, "x"] = released.loc[0, "y"] = -1.0
    pd.testing.assert_frame_equal(frame, kept)
    assert frame.attrs == {"true mean": float(LOOSE.mean())}


# --- Arrow --------------------------------------------------------------------------------------------
ARROW_TEXT = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
]


@pytest.mark.parametrize("kind", ARROW_TEXT, ids=str)
def test_arrow_text_keeps_its_flavour(kind):
    column = pa.chunked_array([pa.array(holed(WORDS)[:50]).cast(kind), pa.array(holed(WORDS)[50:]).cast(kind)])
    released = sv.release(PLANS["category"], pa.table({"x": column}), column="x", seed=SEED)
    released.validate(full=True)
    codes = pa.types.is_dictionary(kind)
    assert released.schema.field("x").type == (pa.dictionary(pa.int32(), kind.value_type) if codes else kind)
    assert released["x"].to_pylist() == sv.release(PLANS["category"], holed(WORDS), seed=SEED)


def test_an_arrow_schema_keeps_what_is_public_and_drops_its_notes():
    fields = [pa.field("x", pa.float64(), nullable=False, metadata={"true": "mean"}), pa.field("y", pa.int8())]
    table = pa.table([LOOSE, COUNTS], schema=pa.schema(fields, metadata={"true": "std"}))
    released = shifted(table, column="x")
    assert released.schema.metadata is None
    assert released.schema.field("x").metadata is None
    assert released.schema == pa.schema([fields[0].remove_metadata(), fields[1]])
    assert table.schema.metadata == {b"true": b"std"}
    piece = shifted(pa.table({"x": np.tile(LOOSE, 2)}).slice(ROWS), column="x")
    assert np.array_equal(piece["x"].to_numpy(), released["x"].to_numpy())


# --- lazy frames ----------------------------------------------------------------------------------------
TEXT = pl.col("note")
QUERIES: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "all": lambda q: q,
    "filter on the column": lambda q: q.filter(pl.col("x") > 105),
    "filter on another, select the column": lambda q: q.filter(pl.col("row") > 200).select("x"),
    "filter on one, select a third": lambda q: q.filter(pl.col("row") > 200).select("note"),
    "select others only": lambda q: q.select("note", "row"),
    "count": lambda q: q.select(pl.len()),
    "head": lambda q: q.head(5),
    "no rows": lambda q: q.head(0),
    "slice": lambda q: q.slice(7, 9),
    "tail": lambda q: q.tail(4),
    "filter, head": lambda q: q.filter(pl.col("x") > 105).head(3),
    "head, filter": lambda q: q.head(30).filter(pl.col("x") > 105),
    "row index, filter": lambda q: q.with_row_index().filter(pl.col("x") > 105),
    "join with itself": lambda q: q.join(q.select("row", y="x"), on="row", maintain_order="left"),
    "group": lambda q: q.group_by("note", maintain_order=True).agg(pl.col("x").max(), pl.len()),
    "twice": lambda q: pl.concat([q, q.head(2)]),
    "sort, head": lambda q: q.sort("x").head(2),
    "drop, filter": lambda q: q.drop("x").filter(pl.col("row") == 1),
    "reverse": lambda q: q.reverse().head(3),
}


def lazy_pair(mode):
    column = {"shift": LOOSE, "category": WORDS}[mode]
    given = pl.DataFrame({"row": range(ROWS), "x": column, "note": ["a", "b", "c"] * (ROWS // 3)})
    released = sv.release(PLANS[mode], given.lazy(), column="x", seed=SEED)
    return released, given.with_columns(sv.release(PLANS[mode], given["x"], seed=SEED))


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("name", QUERIES)
def test_queries_on_a_released_query(name, engine):
    released, expected = lazy_pair("shift")
    found = QUERIES[name](released).collect(engine=engine)
    assert found.equals(QUERIES[name](expected.lazy()).collect())


def test_a_released_query_runs_again_and_into_files(tmp_path):
    released, expected = lazy_pair("category")
    gc.collect()
    assert released.filter(pl.col("x") == "blue").collect().equals(expected.filter(pl.col("x") == "blue"))
    released.sink_parquet(tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").equals(expected)
    expected.write_parquet(tmp_path / "in.parquet")
    scanned = shifted(pl.scan_parquet(tmp_path / "in.parquet").head(99), column="row", accept=["step", "bounds"])
    assert scanned.collect_schema()["row"] == pl.Float64
    assert scanned.collect()["row"].to_list() == shifted(list(range(99)), accept=["step", "bounds"])


def unsteady(values, change):
    runs = itertools.count()
    return pl.LazyFrame({"x": values}).map_batches(lambda frame: change(frame, next(runs)))


@pytest.mark.parametrize("details", [False, True])
@pytest.mark.parametrize("mode", ["shift", "affine", "unit", "category"])
def test_a_query_in_another_order_each_time_is_refused(mode, details):
    values = {"unit": COUNTS, "category": WORDS}.get(mode, LOOSE)
    query = unsteady(values, lambda frame, run: frame.sample(fraction=1.0, shuffle=True, seed=run))

    def run():
        released = sv.release(PLANS[mode], query, column="x", details=details)
        return (released.table if details else released).collect()

    with pytest.raises(sv.ColumnError, match="another order"):
        run()


def test_a_query_that_loses_rows_between_its_runs_is_refused():
    long = RNG.normal(100, 10, BLOCK + 10)
    for rows in (BLOCK, BLOCK + 9, 0):
        query = unsteady(long, lambda frame, run, rows=rows: frame if run == 0 else frame.head(rows))
        with pytest.raises(sv.ColumnError):
            shifted(query, column="x").collect()


# --- DuckDB -----------------------------------------------------------------------------------------------
@pytest.fixture
def connection():
    given = pl.DataFrame({"row": range(ROWS), "x": LOOSE, "word": WORDS}).to_arrow()
    with duckdb.connect() as connection:
        connection.register("given", given)
        connection.execute("CREATE TABLE kept AS SELECT * FROM given")
        connection.unregister("given")
        yield connection


def column_of(relation, name="x"):
    return [row[0] for row in relation.project('"' + name.replace('"', '""') + '"').fetchall()]


EXPECTED = shifted(LOOSE).tolist()


def test_relations_of_any_origin(connection, tmp_path):
    connection.execute("CREATE VIEW seen AS SELECT * FROM kept")
    connection.execute(f"COPY kept TO '{tmp_path / 'kept.parquet'}'")
    parquet = str(tmp_path / "kept.parquet")
    for relation in (
        connection.table("kept"),
        connection.sql("SELECT * FROM kept"),
        connection.view("seen"),
        connection.read_parquet(parquet),
        connection.sql(f"FROM '{parquet}' ORDER BY row"),
        connection.cursor().table("kept"),
        connection.table("kept").filter("row >= 0").order("row"),
    ):
        released = shifted(relation, column="x")
        gc.collect()
        assert column_of(released) == EXPECTED
        assert column_of(released) == EXPECTED  # and once more
        assert column_of(relation) == LOOSE.tolist()
    part = shifted(connection.table("kept").filter("row < 100"), column="x")
    assert column_of(part) == shifted(LOOSE[:100]).tolist()


def test_a_released_relation_can_be_used_further(connection):
    def made():
        return shifted(connection.table("kept"), column="x")

    released = made()
    gc.collect()
    assert column_of(released.filter("row >= 230")) == EXPECTED[230:]
    assert sorted(column_of(released.filter("x > 105"))) == sorted(value for value in EXPECTED if value > 105)
    assert column_of(released.limit(5, 10)) == EXPECTED[10:15]
    assert released.aggregate("count(*) AS n, max(x) AS top").fetchall() == [(ROWS, max(EXPECTED))]
    assert released.project("word").fetchall() == [(word,) for word in WORDS]
    released.create("made")
    assert column_of(connection.table("made")) == EXPECTED
    assert connection.sql("SELECT max(x) FROM released WHERE row < 50").fetchall() == [(max(EXPECTED[:50]),)]
    again = sv.release(PLANS["category"], released, column="word", seed=SEED)
    assert column_of(again) == EXPECTED
    assert column_of(again, "word") == sv.release(PLANS["category"], WORDS, seed=SEED)
    assert column_of(released) == EXPECTED
    left = {row[0] for row in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()}
    assert left == {"kept", "made"}


def test_the_text_of_a_released_relation_shows_no_coefficient(connection):
    released = shifted(connection.table("kept"), column="x", details=True)
    private = released.record
    numbers = [*private["coefficients"].values(), private["estimates"]["secret"], private["estimates"]["mean"]]
    shown = released.table.sql_query() + released.table.explain() + str(released.card) + repr(released)
    for number in numbers:
        if abs(number) not in (0.0, 1.0) and number != int(number):
            assert f"{abs(number):.6g}" not in shown
    assert private["seed"] not in shown


@pytest.mark.parametrize(
    "name", ["r", "before", "after", "x y", 'q"uote', "it's", "é", "select", "r.before", "statveil_original"]
)
def test_duckdb_columns_of_any_name(name):
    others = {"r": [{"before": 1.0, "after": 2.0}] * ROWS, "after": [5] * ROWS, "statveil_released": [6] * ROWS}
    frame = pl.DataFrame({name: LOOSE, **{key: value for key, value in others.items() if key != name}})
    with duckdb.connect() as connection:
        released = shifted(connection.from_arrow(frame.to_arrow()), column=name)
        assert released.columns == frame.columns
        assert column_of(released, name) == EXPECTED
        assert column_of(released, "statveil_released") == [6] * ROWS


@pytest.mark.parametrize("name", ["statveil_released", "statveil_original", "r"])
def test_tables_that_are_called_like_our_own_are_not_mistaken_for_them(connection, name):
    connection.execute(f"CREATE TABLE {name} AS SELECT 1.0 AS before, 2.0 AS after, 3.0 AS x")
    released = shifted(connection.table("kept"), column="x")
    assert column_of(released) == EXPECTED
    assert connection.execute(f"SELECT * FROM {name}").fetchall() == [(1.0, 2.0, 3.0)]


@pytest.mark.parametrize(
    ("kind", "mode", "source"),
    [
        *[(kind, "lattice", "row % 40 + 60") for kind in ("TINYINT", "UTINYINT", "UBIGINT", "HUGEINT", "UHUGEINT")],
        *[(kind, "lattice", "row % 40 + 60") for kind in ("DECIMAL(5,1)", "DECIMAL(18,3)", "DECIMAL(38,2)", "FLOAT")],
        ("ENUM('blue', 'unused', 'red', 'green')", "category", "word"),
    ],
)
def test_duckdb_types_stay(connection, kind, mode, source):
    relation = connection.sql(f"SELECT CASE WHEN row % 9 = 0 THEN NULL ELSE {source} END::{kind} AS x FROM kept")
    released = sv.release(PLANS[mode], relation, column="x", accept=["step"], seed=SEED)
    wider = {"TINYINT": "INTEGER", "UTINYINT": "UINTEGER", "DECIMAL(5,1)": "DECIMAL(38,1)"}
    wider |= {"DECIMAL(18,3)": "DECIMAL(38,3)"}
    assert [str(one) for one in released.types] == [wider.get(str(one), str(one)) for one in relation.types]
    assert [value is None for value in column_of(released)] == [row % 9 == 0 for row in range(ROWS)]
    assert column_of(released) != column_of(relation)


def test_a_relation_in_another_order_each_time_is_an_error(connection):
    relation = connection.sql("SELECT x FROM kept ORDER BY random()")
    with pytest.raises((sv.StatveilError, duckdb.Error), match="another order"):
        shifted(relation, column="x").fetchall()


def test_a_long_relation_keeps_its_rows_apart():
    rows = 3 * BLOCK
    long = RNG.normal(100, 10, rows)
    frame = pl.DataFrame({"row": np.arange(rows), "x": long}).to_arrow()
    with duckdb.connect() as connection:
        connection.register("given", frame)
        connection.execute("CREATE TABLE kept AS SELECT * FROM given")
        released = shifted(connection.table("kept"), column="x")
        expected = shifted(long)
        assert np.array_equal(released.fetchnumpy()["x"], expected)
        assert np.array_equal(released.filter("row % 7 = 0").order("row").fetchnumpy()["x"], expected[::7])


# --- details and records --------------------------------------------------------------------------------
@pytest.mark.parametrize("title", ["shift", "affine", "scale", "lattice-holes", "unit", "rank", "category"])
@pytest.mark.parametrize("name", ["numpy", "polars", "polars-lazy", "pandas-arrow", "arrow", "duckdb"])
def test_a_record_gives_the_same_release_again(name, title):
    kind, column = KINDS[name], COLUMNS[title]
    if not kind.holds(column.series):
        kind = KINDS["list"]
    plan = PLANS[column.plan]
    first = sv.release(plan, kind.make(column.series), details=True, **kind.options)
    record = json.loads(json.dumps(first.record))
    again = sv.release(plan, kind.make(column.series), record=record, **kind.options)
    assert exact(kind.values(again)) == exact(kind.values(first.table))
    shown = repr(first) + str(first) + json.dumps(first.card)
    for secret in (record["seed"], str(record["estimates"]["secret"]), record["input_sha256"]):
        assert secret not in shown


def test_a_record_of_another_kind_of_table_serves_as_well():
    record = sv.release(PLANS["unit"], pl.DataFrame({"x": COUNTS}), column="x", details=True).record
    tables = [pd.DataFrame({"x": COUNTS}), pa.table({"x": COUNTS}), pl.LazyFrame({"x": COUNTS})]
    first, *others = (sv.release(PLANS["unit"], table, column="x", record=record) for table in tables)
    assert {tuple(others[0]["x"].to_pylist()), tuple(others[1].collect()["x"].to_list())} == {tuple(first["x"])}


def test_integer_categories_of_a_query_with_details():
    column = COLUMNS["category-integers"].series
    release = sv.release(PLANS["stars"], pl.LazyFrame({"x": column}), column="x", details=True)
    assert release.table.collect()["x"].dtype == release.table.collect_schema()["x"] == pl.Int32


def test_the_record_of_another_release_is_refused():
    other_counts = np.random.default_rng(77).poisson(9, len(COUNTS))
    frame = pl.DataFrame({"x": COUNTS, "y": other_counts})
    record = sv.release(PLANS["unit"], frame, column="x", details=True).record
    changed = frame.with_columns(x=pl.col("x").reverse())
    for plan, table, column, held in (
        (PLANS["unit"], changed, "x", record),
        (PLANS["unit"], frame, "y", record),
        (PLANS["unit"], frame, "x", {}),
        (PLANS["unit"], frame, "x", 5),
        (PLANS["unit"], frame, "x", {**record, "seed": "none"}),
    ):
        with pytest.raises(sv.StatveilError, match="record"):
            sv.release(plan, table, column=column, record=held)
    other = counted(sv.Poisson(), 2, 31)  # another plan of the same column has the same stream
    assert sv.release(other, frame, column="x", record=record, details=True).record["seed"] == record["seed"]


def test_a_test_seed_is_not_taken_from_a_record():
    record = sv.release(PLANS["unit"], COUNTS, seed=SEED, details=True).record
    fresh = sv.release(PLANS["unit"], COUNTS, record=record)
    assert not np.array_equal(fresh, sv.release(PLANS["unit"], COUNTS, seed=SEED))


# --- what cannot be released ------------------------------------------------------------------------------
class Cell:
    """A value of no library."""


REFUSED: dict[str, tuple[str, Callable[[], Any], dict[str, Any]]] = {
    "no dimension": ("shift", lambda: np.array(3.0), {}),
    "two dimensions": ("shift", lambda: np.zeros((2, 2)), {}),
    "masked": ("shift", lambda: np.ma.array(LOOSE), {}),
    "complex": ("shift", lambda: LOOSE + 0j, {}),
    "dates in numpy": ("shift", lambda: COUNTS.astype("M8[s]"), {}),
    "records": ("shift", lambda: np.zeros(3, dtype=[("a", "f8")]), {}),
    "long double": ("shift", lambda: LOOSE.astype(np.longdouble), {}),
    "bytes": ("category", lambda: np.array(WORDS).astype("S5"), {}),
    "mixed objects": ("shift", lambda: np.array([1.5, "a"], dtype=object), {}),
    "mixed list": ("shift", lambda: [1.5, "a"], {}),
    "booleans among numbers": ("lattice", lambda: [100, True], {}),
    "booleans among numbers in pandas": ("lattice", lambda: pd.Series([100, True, 104], dtype=object), {}),
    "nested list": ("shift", lambda: [[1.0], [2.0]], {}),
    "own objects": ("shift", lambda: [Cell()], {}),
    "immense numbers": ("shift", lambda: [2**2000, 1.5], {}),
    "dates": ("shift", lambda: [dt.date(2020, 1, 1)], {}),
    "a set": ("shift", lambda: {1.0}, {}),
    "text": ("shift", lambda: "words", {}),
    "nothing": ("shift", lambda: None, {}),
    "an arrow array": ("shift", lambda: pa.array(LOOSE), {}),
    "a column name for a list": ("shift", lambda: LOOSE.tolist(), {"column": "x"}),
    "booleans as numbers": ("shift", lambda: [True, False], {}),
    "numbers as words": ("category", lambda: COUNTS, {}),
    "no column": ("shift", lambda: pd.DataFrame({"x": LOOSE}), {}),
    "unknown column": ("shift", lambda: pl.DataFrame({"x": LOOSE}), {"column": "y"}),
    "unknown lazy column": ("shift", lambda: pl.LazyFrame({"x": LOOSE}), {"column": "y"}),
    "no such name": ("shift", lambda: pd.DataFrame({"x": LOOSE}), {"column": np.array(["x", "y"])}),
    "list of names": ("shift", lambda: pd.DataFrame({"x": LOOSE}), {"column": ["x"]}),
    "twice in pandas": ("shift", lambda: pd.DataFrame(np.zeros((2, 2)), columns=["x", "x"]), {"column": "x"}),
    "twice in arrow": ("shift", lambda: pa.Table.from_arrays([pa.array(LOOSE)] * 2, ["x", "x"]), {"column": "x"}),
    "twice in duckdb": ("shift", lambda: duckdb.sql("SELECT 1.5 AS x, 2.5 AS x"), {"column": "x"}),
    "sparse": ("shift", lambda: pd.DataFrame({"x": pd.arrays.SparseArray(LOOSE)}), {"column": "x"}),
    "pandas dates": ("shift", lambda: pd.Series(pd.date_range("2020", periods=3)), {}),
    "pandas zoned dates": ("shift", lambda: pd.Series(pd.date_range("2020", periods=3, tz="UTC")), {}),
    "pandas periods": ("shift", lambda: pd.Series(pd.period_range("2020", periods=3, freq="D")), {}),
    "pandas intervals": ("shift", lambda: pd.Series(pd.interval_range(0, 3)), {}),
    "pandas mixed": ("shift", lambda: pd.Series([1, "a"], dtype=object), {}),
    "pandas nothing": ("shift", lambda: pd.Series([None, None], dtype=object), {}),
    **{
        f"arrow {name}": ("shift", lambda make=make: pa.table({"x": make()}), {"column": "x"})
        for name, make in {
            "nulls": lambda: pa.nulls(3),
            "binary": lambda: pa.array([b"a"]),
            "structs": lambda: pa.array([{"a": 1}]),
            "lists": lambda: pa.array([[1.0]]),
            "list views": lambda: pa.array([[1.0]], pa.list_view(pa.float64())),
            "unions": lambda: pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
            "month intervals": lambda: pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
            "run ends": lambda: pc.run_end_encode(pa.array(["a", "a"])),
            "dates": lambda: pa.array([dt.date(2020, 1, 1)]),
        }.items()
    },
    **{
        f"duckdb {source}": ("shift", lambda source=source: duckdb.sql(f"SELECT {source} AS x"), {"column": "x"})
        for source in (
            "interval 1 day",
            "'101'::BIT",
            "union_value(a := 1)",
            "uuid()",
            "map {'a': 1}",
            "DATE '2020-01-01'",
        )
    },
    "polars objects": ("shift", lambda: pl.Series([Cell()]), {}),
    "unlisted word": ("category", lambda: [*WORDS, "violet"], {}),
    "no whole counts": ("unit", lambda: [1.5, 2.0, 8.0], {}),
    "negative counts": ("unit", lambda: [-1, 9, 8], {}),
    "far too large": ("shift", lambda: LOOSE * 1e306, {}),
    "outside the prior": ("shift", lambda: LOOSE + 4321.0, {}),
    "below the bound": ("scale", lambda: LOOSE - 95.0, {}),
    "enum without the label": ("category", lambda: pl.Series(["red"] * 60, dtype=pl.Enum(["red"])), {}),
    "seed below 0": ("shift", lambda: LOOSE, {"seed": -1}),
    "seed too large": ("shift", lambda: LOOSE, {"seed": 2**128}),
    "rounding a lattice": ("lattice", lambda: WHOLE, {"round_digits": 1}),
    "digits": ("shift", lambda: LOOSE, {"round_digits": 99}),
}


def check_message(error):
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_released_is_refused_in_a_sentence(name):
    mode, make, options = REFUSED[name]
    with pytest.raises(sv.StatveilError) as error:
        sv.release(PLANS[mode], make(), **options)
    check_message(error)


@pytest.mark.parametrize(
    "make", [list, tuple, np.array, pd.Series, lambda v: pl.Series(v), lambda v: pl.Series("", v)], ids=range(6)
)
def test_a_column_without_a_name_is_called_values(make):
    for mode, values in (("shift", [7, 9, 12, 30]), ("lattice", [2**60, 7]), ("stars", [1, 2, 17]), ("unit", [7, -9])):
        with pytest.raises(sv.StatveilError, match="column 'values'"):
            sv.release(PLANS[mode], make(values))


@pytest.mark.parametrize("kind", [pa.decimal256(50, 2), pa.decimal128(9, -2), pa.float16()], ids=str)
def test_rare_arrow_numbers_are_refused(kind):
    make = np.float16 if pa.types.is_floating(kind) else Decimal
    column = pa.array([make(value) for value in (100, 200, 300, 100)], kind)
    plan = located(0, 2000, tolerance=100, step=100)
    for table in (
        pa.table({"x": column}),
        pd.DataFrame({"x": pd.array(column, dtype=pd.ArrowDtype(kind))}),
        *([np.array([100, 200, 300, 100], dtype=np.float16)] if pa.types.is_floating(kind) else []),
    ):
        with pytest.raises(sv.ColumnError, match=r"cannot be released; cast it first|values of type Float16"):
            sv.release(plan, table, **({} if isinstance(table, np.ndarray) else {"column": "x"}))


@pytest.mark.parametrize("make", [lambda a: a, lambda a: pa.chunked_array([a[:2], a[2:]])], ids=["whole", "chunked"])
def test_arrow_dictionaries_of_numbers_are_refused(make):
    # entries that no row uses would be originals
    column = pa.array(WHOLE).dictionary_encode()
    with pytest.raises(sv.ColumnError, match=r"type dictionary.* cannot be released"):
        sv.release(PLANS["lattice"], pa.table({"x": make(column)}), column="x")


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (("1", "2", "3", "300"), pl.Int8),
        (("1", "2", "3", "-1"), pl.UInt8),
        (("1", "2", "3", "inf"), pl.Int64),
        (("1", "2", "3", "1e30"), pl.Int64),
        (("1", "2", "3", "3.0"), pl.Int64),
        (("1", "2", "3", "nan"), pl.Float64),
        (("true", "TRUE"), pl.Boolean),
        (("true", "false", "maybe"), pl.Boolean),
    ],
)
def test_labels_that_the_column_cannot_hold_are_refused(labels, dtype):
    values = [True, False] * 20 if dtype == pl.Boolean else [1, 2, 3, 1] * 10
    with pytest.raises(sv.StatveilError) as error:
        sv.release(shared(*labels), series(values, dtype))
    check_message(error)


@pytest.mark.parametrize("name", ["numpy", "list", "polars", "polars-lazy", "pandas", "arrow", "duckdb"])
def test_a_refusal_tells_no_number_of_the_column(name):
    kind = KINDS[name]
    odd = [7351.25, 8462.75, 9573.5]
    for mode, values in (
        ("shift", odd),
        ("scale", [-value for value in odd]),
        ("unit", [7351, 8462, 9573]),
        ("unit", odd),
        ("stars", [7351, 8462, 9573]),
        ("stars", odd),
        ("lattice", [7351.0, 8462.75, 9573.5]),
    ):
        with pytest.raises(sv.StatveilError) as error:
            sv.release(PLANS[mode], kind.make(series(values)), accept=ANYTHING, **kind.options)
        text = check_message(error)
        assert not any(f"{abs(value):g}"[:4] in text for value in values)
        assert not any(number in text for number in (f"{np.mean(np.abs(values)):g}"[:4], "9573", "7351"))
