"""A released file is the same to the byte whichever width its column had, and however its dictionary was ordered."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import statveil as sv
from statveil.tables.blocks import BLOCK
from statveil.tables.verification import LEAKS
from tests.plans import BY_MODE, LABELS, located

SEED = 20_270_304
ROWS = 300
RNG = np.random.default_rng(12)
PLANS = {**BY_MODE, "cents": located(0, 200, step=0.01)}
FORMATS = ("t.parquet", "t.feather", "folder")
WHOLE = np.clip(np.rint(RNG.normal(80, 9, ROWS)), 0, 120)
COLUMNS = {
    "lattice": WHOLE,
    "model": WHOLE,
    "smooth": WHOLE,
    "unit": RNG.poisson(8, ROWS).astype(float),
    "rank": RNG.binomial(20, 0.4, ROWS).astype(float),
}
COINS = np.rint(RNG.normal(70, 5, ROWS) * 100) / 100
SIGNED, UNSIGNED = (pa.int8(), pa.int16(), pa.int32()), (pa.uint8(), pa.uint16(), pa.uint32())
DECIMALS = (pa.decimal128(4, 2), pa.decimal128(9, 2), pa.decimal128(38, 2))
CASES = [
    *[pytest.param(mode, rows, SIGNED, id=f"{mode}-signed") for mode, rows in COLUMNS.items()],
    pytest.param("unit", COLUMNS["unit"], UNSIGNED, id="unit-unsigned"),
    pytest.param("cents", COINS, DECIMALS, id="cents-decimals"),
]


def typed(values, kind):
    return pl.Series(values).cast(pl.Decimal(38, 2)).to_arrow().cast(kind)


def written(place, format, column):
    """A file, or a folder of two, with another column beside that has 8 bits."""
    table = pa.table({"x": column, "other": pa.array([7] * len(column), pa.int8())})
    place.mkdir()
    path = place / format
    if format == "t.parquet":
        pq.write_table(table, path)
    elif format == "folder":
        path.mkdir()
        pq.write_table(table.slice(0, 100), path / "a.parquet")
        pq.write_table(table.slice(100), path / "b.parquet")
    else:
        feather.write_feather(table, path)
    return path


def read(path):
    return feather.read_table(path) if path.suffix in (".arrow", ".feather") else pq.read_table(path)


def released(mode, source, **options):
    target = source.with_name(f"out{source.suffix}")
    done = sv.release(
        PLANS[mode],
        source,
        output=target,
        column="x",
        seed=SEED,
        accept=tuple(LEAKS),
        details=True,
        **options,
    )
    assert sv.verify(target).ok
    return target, done.card


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("mode", "rows", "kinds"), CASES)
def test_the_width_of_a_type_leaves_no_trace(tmp_path, format, mode, rows, kinds):
    cards, tables = [], []
    for kind in kinds:
        source = written(tmp_path / str(kind), format, typed(rows, kind))
        target, card = released(mode, source, shuffle=mode == "unit")
        cards.append(card)
        tables.append(read(target))
    assert cards[0] == cards[1] == cards[2]  # with the hash of the file
    assert tables[0].schema.types == [kinds[2], pa.int8()]  # other columns stay
    assert tables[0]["x"].to_pylist() != typed(rows, kinds[2]).to_pylist()


@pytest.mark.parametrize("format", FORMATS)
def test_a_width_that_is_kept_shows_so_the_test_above_looks(tmp_path, format, monkeypatch):
    monkeypatch.setattr("statveil.tables.released_type.wide_dtype", lambda dtype: dtype)
    for mode, rows, kinds in (("unit", COLUMNS["unit"], SIGNED), ("cents", COINS, DECIMALS)):
        sources = [written(tmp_path / str(kind), format, typed(rows, kind)) for kind in kinds]
        found = [released(mode, source) for source in sources]
        assert [read(target)["x"].type for target, _ in found] == list(kinds)
        assert len({card["sha256"] for _, card in found}) == 3


def test_the_parts_of_a_folder_get_one_width(tmp_path):
    """Each file has the type that its own largest value needs."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name, rows, kind in (("a", WHOLE[:150], pa.int8()), ("b", np.r_[WHOLE[150:], 130], pa.int16())):
        pq.write_table(pa.table({"x": typed(rows, kind)}), folder / f"{name}.parquet")
    target, _ = released("lattice", folder)
    for name in ("a", "b"):
        column = pq.ParquetFile(target / f"{name}.parquet").schema.column(0)
        assert (column.physical_type, str(column.logical_type)) == ("INT32", "None")


# --- categories ---------------------------------------------------------------------------------
DICTIONARIES = [
    (["red", "green", "blue"], pa.int8()),
    (["blue", "green", "red"], pa.int16()),
    (["lost", "blue", "gone", "green", "red"], pa.int8()),
]
"""As the plan has the labels, by the alphabet, and with others."""


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(
    ("format", "rows"), [*[(format, ROWS) for format in FORMATS], ("t.parquet", 2 * BLOCK), ("t.arrow", 2 * BLOCK)]
)
def test_the_dictionary_of_the_original_leaves_no_trace(tmp_path, format, rows, shuffle):
    words = np.random.default_rng(3).choice(LABELS, rows, p=[0.5, 0.3, 0.2]).tolist()
    cards = []
    for place, (names, index) in enumerate(DICTIONARIES):
        codes = pa.array([names.index(word) for word in words], index)
        source = written(tmp_path / str(place), format, pa.DictionaryArray.from_arrays(codes, pa.array(names)))
        target, card = released("category", source, shuffle=shuffle)
        cards.append(card)
        assert pa.types.is_dictionary(read(target)["x"].type)
    assert cards[0] == cards[1] == cards[2]
