"""Round numbers behind a factor that nobody says: of some rows, of values of one size, by a group, by a column."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.structure.column.findings import find_structure
from statveil.tables.structure.others.telling import find_copies

RATES = [0.45359237, 0.9144, 1 / 1.0837, 3.785411784, 0.8473219]


def told(values, **others):
    """The names of the columns that tell the values, as the finding lists them."""
    found = find_copies(iter([(values, {name: pl.Series(other) for name, other in others.items()})]))
    return found[0].says if found else ""


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("share", [0.3, 0.6])
@pytest.mark.parametrize("rows", [100, 400, 5000])
def test_some_rows_in_another_unit_are_found(rows, share, rate):
    rng = np.random.default_rng(rows)
    free = rng.lognormal(6, 0.8, rows)
    converted = np.where(rng.random(rows) < share, rate * np.rint(free / rate), free)
    names = [one.name for one in find_structure(converted)]
    assert set(names) & {"digits", "heaps", "atoms"}, "where they recur they are atoms, where they are decimal heaps"
    assert find_structure(free) == [], "the control"


@pytest.mark.parametrize("rows", [60, 300, 2000, 20_000])
@pytest.mark.heavy(2)
def test_columns_without_a_unit_are_clean(rows):
    rng = np.random.default_rng(rows)
    for _ in range(20):
        columns = (rng.gamma(2, 30, rows), rng.normal(50, 10, rows), rng.lognormal(0, 3, rows), rng.random(rows) ** 5)
        assert all(find_structure(column) == [] for column in columns)


@pytest.mark.parametrize("rows", [100, 300, 2000])
@pytest.mark.parametrize("unit", [0.01, 1.0, 50.0])
def test_amounts_by_an_index_of_their_month_are_told_by_it(rows, unit):
    """Cents in constant dollars: a published index by month, of which the table holds the month alone."""
    rng = np.random.default_rng(rows)
    index = 185 * np.exp(np.cumsum(rng.normal(0.002, 0.003, 120)))
    month = rng.integers(0, 120, rows)
    names = np.array([f"{2004 + m // 12}-{m % 12 + 1:02}" for m in month])
    free = 40 * unit * rng.gamma(2, 10, rows)
    amounts = np.maximum(np.rint(free / unit), 1) * unit
    assert "'month'" in told(amounts * 304.702 / index[month], month=names)
    assert told(free * 304.702 / index[month], month=names) == "", "the control"
    assert told(amounts * 304.702 / rng.permutation(index)[rng.integers(0, 120, rows)], month=names) == ""


@pytest.mark.parametrize("how", [np.multiply, np.divide])
def test_amounts_by_a_number_of_their_row_are_told_by_it(how):
    rng = np.random.default_rng(5)
    index = rng.uniform(180, 300, 400)
    amounts, free = np.rint(rng.gamma(2, 3000, 400)) + 1, rng.gamma(2, 3000, 400)
    assert "'index'" in told(how(amounts, index), index=index)
    assert told(how(free, index), index=index) == "", "the control"


def test_a_mode_that_keeps_ranks_alone_does_not_mind():
    rng = np.random.default_rng(6)
    month = rng.integers(0, 60, 900)
    x = np.rint(rng.gamma(2, 2500, 900) + 1) / 100 * np.exp(0.05 * np.sin(month))
    table = pl.DataFrame({"x": x, "month": month.astype(str)})
    prior = (10.0, 150.0)
    known = sv.Structure(minimum=0)
    scaled = sv.plan(sv.Problem(secret=sv.Mean(), prior=prior, tolerance=1, known=known), max_risk=0.2)
    with pytest.raises(sv.StructureError, match="an index that makes them of round amounts"):
        sv.release(scaled, table, column="x", accept=["ratios", "heaps", "atoms", "digits"])
    drawn = sv.Problem(secret=sv.Mean(), prior=prior, tolerance=1, known=known, shape="gamma(2)")
    with pytest.warns(UserWarning, match="the model's ends are not the column's"):
        kept = sv.release(sv.plan(drawn, max_risk=0.2), table, column="x", accept=["groups", "order"])
    assert kept["x"].n_unique() == len(np.unique(x))


# --- with an offset, and behind a function ------------------------------------------------------
@pytest.mark.parametrize(("rows", "decimals", "off"), [(60, 1, 0.2), (150, 1, 0.4), (300, 2, 0.4), (1000, 3, 0.5)])
def test_a_lattice_off_zero_is_found_though_many_rows_are_off_it(rows, decimals, off):
    """An affine change of units with all digits, of numbers that are rounded but for some."""
    rng = np.random.default_rng(rows)
    missed = 0
    for _ in range(20):
        free = rng.normal(120, 25, rows)
        mixed = np.where(rng.random(rows) < off, free, np.round(free, decimals))
        missed += not find_structure(mixed / 2.2046226218 + 17.3)
        assert find_structure(free / 2.2046226218 + 17.3) == [], "the control"
    assert missed <= 2


@pytest.mark.parametrize("digits", [6, 7, 8])
def test_cells_of_many_digits_are_found_though_some_rows_are_off_them(digits):
    rng = np.random.default_rng(digits)
    missed = 0
    for _ in range(10):
        free = 1500 * rng.lognormal(0, 0.7, 300)
        short = np.array([float(f"{one:.{digits}g}") for one in free])
        column = np.where(rng.random(300) < 0.1, free, short) / 2.2046226218 + 150
        missed += "digits" not in [one.name for one in find_structure(column)]
    assert missed <= 1


@pytest.mark.parametrize(
    "back",
    [
        lambda k: 25 - 2.5 * np.log10(k),
        lambda k: 2 / 3 * np.log10(k) - 6.07,
        lambda k: 12 * np.log2(k) - 3.1,
        lambda k: np.pi / 6 * k**3,
        lambda k: 1.84 * k**1.5,
        lambda k: 13.7 * np.sqrt(k),
        lambda k: 52.36 * np.cbrt(k),
        lambda k: 7.7 / k**2,
    ],
    ids=["stars", "earthquakes", "tones", "spheres", "weirs", "roots", "cube roots", "inverse squares"],
)
@pytest.mark.parametrize("rows", [100, 1000])
def test_powers_and_logarithms_with_a_constant_of_their_own_are_found(back, rows):
    rng = np.random.default_rng(rows)
    free = rng.gamma(9, 300, rows) + 1
    assert "transform" in [one.name for one in find_structure(back(np.rint(free)))]
    assert find_structure(back(free)) == [], "the control"


def test_a_flag_for_values_that_occur_again_is_a_copy():
    rng = np.random.default_rng(8)
    x = np.rint(rng.lognormal(4, 0.5, 1500))
    first = ~pl.Series(x).is_first_distinct()
    again = pl.Series(x).is_duplicated()
    for flag in (first, again, pl.Series(x).is_last_distinct().cast(pl.String)):
        assert "'flag'" in told(x, flag=flag)
        assert told(x, flag=flag.shuffle(seed=1)) == "", "the control"
