"""Maps that draw row by row need exchangeable rows: the attacks that an order or an id makes possible.

Each attack is first a positive control: on a release that accepted the leak it beats the stated risk. Then the plain
release must be refused by name, and a shuffled one must bring the attack back to the stated risk.
"""

import json
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import statveil as sv
from statveil.modes import MODES
from statveil.tables.maps.keyed import uniform_of
from statveil.tables.preparing import prepare
from statveil.tables.series import ColumnType
from statveil.tables.structure.rows.exchangeable import find_groups, find_order
from statveil.tables.structure.rows.group_search import Others
from statveil.tables.structure.rows.order_search import Order
from statveil.tables.structure.rows.relation import scores_of, told_by_order
from statveil.tables.verification import LEAKS

pytestmark = pytest.mark.filterwarnings("ignore:The (smallest or|released column)")  # of columns that are redrawn
LABELS = ("red", "green", "blue")
TRIALS = 24

OTHERS = tuple(name for name in LEAKS if name not in ("order", "groups"))
"""Leaks that are not the subject here."""


def planned(max_risk=0.1, **problem):
    return sv.plan(sv.Problem(**problem), max_risk=max_risk)


def located(**known):
    problem = {"family": sv.Location(), "prior": sv.Box(mean=(40, 160)), "secret": sv.Mean(), "tolerance": 1}
    return planned(**problem, known=sv.Structure(minimum=0, step=1, **known))


PLANS = {
    "rank": planned(
        max_risk=0.2,
        family=sv.Binomial(trials=20),
        prior=sv.Box(p=(0.3, 0.7)),
        secret=sv.Mean(),
        tolerance=0.1,
    ),
    "jitter": located(),
    "smooth": located(heaps=(5,)),
    "model": planned(
        max_risk=0.1,
        prior=(30, 200),
        secret=sv.Mean(),
        tolerance=1,
        known=sv.Structure(minimum=0, step=1, heaps=(5,)),
        shape="catalogue",
    ),
    "unit": planned(max_risk=0.2, family=sv.Poisson(), prior=sv.Box(rate=(5, 30)), secret=sv.Mean(), tolerance=0.3),
    "category": planned(max_risk=0.2, family=sv.Categorical(labels=LABELS), secret=sv.Fraction("red"), tolerance=0.02),
}


def test_the_plans_here_are_those_of_every_mode_that_draws_rows():
    assert {name: plan.mode for name, plan in PLANS.items()} == {
        n: n for n, mode in MODES.items() if mode.random and not mode.of_table
    }


def column(mode, rows, rng):
    """Independent rows with a parameter drawn from the prior."""
    if mode == "rank":
        return rng.binomial(20, rng.uniform(0.35, 0.65), rows).astype(float)
    if mode in ("jitter", "smooth", "model"):
        return np.rint(rng.gamma(25, rng.uniform(45, 75) / 25, rows))
    if mode == "unit":
        return rng.poisson(rng.uniform(6, 28), rows).astype(float)
    return rng.choice(3, rows, p=rng.dirichlet(np.ones(3))).astype(float)


def as_column(mode, values):
    return [LABELS[int(v)] for v in values] if mode == "category" else values


def truth(mode, values):
    return np.mean(values == 0) if mode == "category" else values.mean()


# --- the attackers ----------------------------------------------------------------------------------
def steps_of(signal, released):
    """Rank: the binomial whose blocks of equal rows best explain how the released values rise along the signal."""
    along = released[np.argsort(signal, kind="stable")]
    sums = np.concatenate([[0.0], np.cumsum(along - along.mean())])

    def explained(p):
        ends = np.unique(np.rint(stats.binom.cdf(np.arange(-1, 21), 20, p) * len(along)).astype(int))
        return float((np.diff(sums[ends]) ** 2 / np.diff(ends)).sum())

    middle = released.mean() / 20
    candidates = np.linspace(middle - 0.03, middle + 0.03, 121)
    return 20 * candidates[np.argmax([explained(p) for p in candidates])]


def stairs_of(means, released):
    """Jitter, smooth: means over rows of one original place climb a staircase whose steps are as high as the factor."""
    factors = np.linspace(0.7, 1.4, 2_001)
    waves = np.abs(np.exp(2j * np.pi * means[None, :] / factors[:, None]).sum(axis=1))
    return released.mean() / factors[np.argmax(waves)]


def along_rows(out, width=24):
    """Means of neighbouring rows."""
    y = out["x"].to_numpy()
    return y[: len(y) // width * width].reshape(-1, width).mean(axis=1)


def within_groups(groups, released):
    """Unit: rows of one id had one count, so what varies among them was drawn."""
    frame = pl.DataFrame({"g": groups, "y": released}).group_by("g").agg(m=pl.col("y").mean(), v=pl.col("y").var())
    m, v = frame["m"].to_numpy(), frame["v"].to_numpy()
    shrunk = np.cov(m, v)[0, 1] / m.var() > 0.5 * v.mean() / m.mean()  # thinned: more units, more variance
    return m.mean() / (1 - v.mean() / m.mean()) if shrunk else m.mean() - v.mean()


def majorities(groups, released):
    """Category: rows of one id had one label, that of most of them."""
    frame = pl.DataFrame({"g": groups, "y": released}).group_by("g").agg(pl.col("y").mode().first(), n=pl.len())
    return float((frame["n"] * (frame["y"] == "red")).sum()) / len(released)


def hits(mode, make, attack, trials=TRIALS, **options):
    """How often the attack hits over tables with fresh parameters."""
    rng = np.random.default_rng(2026)
    count = 0
    for _ in range(trials):
        table, values = make(rng)
        out = sv.release(PLANS[mode], table, column="x", details=True, **options).table
        count += abs(attack(out) - truth(mode, values)) <= PLANS[mode].problem.tolerance
    return count


def at_stated_risk(mode):
    """The most hits that a release at its stated risk gives, but for one time in a thousand."""
    return stats.binom.ppf(0.999, TRIALS, PLANS[mode].risk)


# --- order ------------------------------------------------------------------------------------------
def steps_in_order(out):
    y = out["x"].to_numpy()
    rows = np.arange(len(y), dtype=float)
    return steps_of(rows if np.corrcoef(rows, y)[0, 1] > 0 else -rows, y)


def stairs_in_order(out):
    return stairs_of(along_rows(out), out["x"].to_numpy())


@pytest.mark.parametrize("direction", [1, -1], ids=["ascending", "descending"])
@pytest.mark.parametrize(
    ("mode", "rows", "attack"),
    [
        ("rank", 300, steps_in_order),
        pytest.param("rank", 5_000, steps_in_order, marks=pytest.mark.slow),
        pytest.param("rank", 20_000, steps_in_order, marks=pytest.mark.slow),
        ("jitter", 6_000, stairs_in_order),
        ("smooth", 6_000, stairs_in_order),
    ],
)
@pytest.mark.heavy(2)
def test_sorted_rows_tell_everything_unless_shuffled(mode, rows, attack, direction):
    def make(rng):
        values = np.sort(column(mode, rows, rng))[::direction]
        return pl.DataFrame({"x": values}), values

    # some of the columns end just below 100 by chance, which looks like a bound
    assert hits(mode, make, attack, accept=["order", "bounds"]) > at_stated_risk(mode)
    table, _ = make(np.random.default_rng(1))
    with pytest.raises(sv.StructureError, match="--accept order"):
        sv.release(PLANS[mode], table, column="x")
    assert hits(mode, make, attack, shuffle=True, accept=["bounds"]) <= at_stated_risk(mode)


def test_sorted_counts_tell_their_standard_deviation():
    """Poisson counts by rank: blocks of ties in the sorted rows draw the original distribution function."""
    plan = planned(max_risk=0.2, family=sv.Poisson(), prior=sv.Box(rate=(5, 30)), secret=sv.Std(), tolerance=0.05)
    assert plan.mode == "rank"

    def attack(released):
        sums = np.concatenate([[0.0], np.cumsum(released - released.mean())])
        rates = np.linspace(0.8, 1.25, 181) * released.mean()
        places = np.rint(stats.poisson.cdf(np.arange(-1, 80), rates[:, None]) * len(released)).astype(int)
        blocks = [np.unique(ends) for ends in places]
        explained = [float((np.diff(sums[ends]) ** 2 / np.diff(ends)).sum()) for ends in blocks]
        return np.sqrt(rates[np.argmax(explained)])

    rng, hit = np.random.default_rng(11), 0
    for _ in range(7):
        values = np.sort(rng.poisson(rng.uniform(6, 28), 12_000)).astype(float)
        released = np.asarray(sv.release(plan, values, accept=["order"]))
        hit += abs(attack(released) - np.sqrt(values.mean())) <= 0.05  # of a Poisson column, its mean tells its spread
    assert hit > stats.binom.ppf(0.999, 7, plan.risk)
    with pytest.raises(sv.StructureError, match="--accept order"):
        sv.release(plan, values)


ORDERS = {
    "sorted": lambda values, rng: np.sort(values),
    "descending": lambda values, rng: np.sort(values)[::-1],
    "sorted in blocks of 50": lambda values, rng: np.sort(values.reshape(-1, 50), axis=1).ravel(),
    "sorted in blocks of any size": lambda values, rng: np.concatenate(
        [np.sort(part) for part in np.split(values, np.sort(rng.choice(len(values), 60, replace=False)))]
    ),
    "a slow wave": lambda values, rng: by_signal(values, np.sin(np.arange(len(values)) / 130), rng),
    "a quick wave": lambda values, rng: by_signal(values, np.sin(np.arange(len(values)) * 2.1), rng),
    "a random walk": lambda values, rng: by_signal(values, np.cumsum(rng.normal(size=len(values))), rng),
    "a drift": lambda values, rng: by_signal(values, np.arange(len(values)) / len(values), rng),
    "pairs": lambda values, rng: np.repeat(values[: len(values) // 2], 2),
    "runs of 9, shuffled": lambda values, rng: np.repeat(values, 9)[: len(values)],
    "first half sorted": lambda values, rng: np.concatenate([np.sort(values[:1500]), values[1500:]]),
    "repeated after 300 rows": lambda values, rng: np.tile(values[:300], 10),
}


def by_signal(values, signal, rng):
    """The same rows in an order that goes half by a signal, half by chance."""
    noisy = signal / signal.std() + rng.normal(size=len(values))
    placed = np.empty(len(values))
    placed[np.argsort(noisy)] = np.sort(values)
    return placed


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.heavy(12)
def test_every_order_is_refused_by_name_and_goes_when_shuffled(mode, order):
    rng = np.random.default_rng(7)
    values = as_column(mode, ORDERS[order](column(mode, 3_000, rng), rng))
    with pytest.raises(sv.StructureError, match=r"the order of the rows.*--shuffle.*--accept order"):
        sv.release(PLANS[mode], values, accept=OTHERS)
    released = sv.release(PLANS[mode], values, accept=OTHERS, shuffle=True, details=True)
    assert released.card["shuffled"] is True
    assert released.card["accepted_leaks"] == [
        leak for leak in released.card["accepted_leaks"] if leak["name"] != "order"
    ]


def test_modes_that_keep_equal_values_equal_take_any_order():
    values = np.sort(np.random.default_rng(0).normal(100, 10, 2_000))
    plan = planned(family=sv.Location(), prior=sv.Box(mean=(0, 200)), secret=sv.Mean(), tolerance=1)
    assert plan.mode == "shift"
    assert np.all(np.diff(sv.release(plan, values)) >= -10 * 2.0**-10)  # but for their blur


def test_a_long_table_is_looked_at_in_pieces_all_over_it():
    rng = np.random.default_rng(0)
    order = Order()
    for number in range(40):  # 2.6 million rows; only the last quarter drifts
        order.add(rng.poisson(5 if number < 30 else 6, 65_536).astype(float))
    assert len(order.values) <= 2**21
    assert find_order(MODES["rank"], order)


# --- groups -----------------------------------------------------------------------------------------
def panel(mode, ids, size, rng, name="id"):
    """Shuffled rows of ids with one value each."""
    own = column(mode, ids, rng)
    groups = rng.permutation(np.repeat(np.arange(ids), size))
    values = own[groups]
    return pl.DataFrame({name: groups, "x": as_column(mode, values)}), values


def group_means(out, per_row=True):
    if per_row:
        return out.with_columns(m=pl.col("x").mean().over("id"))["m"].to_numpy()
    return out.group_by("id").agg(pl.col("x").mean())["x"].to_numpy()


@pytest.mark.parametrize(
    ("mode", "ids", "size", "attack"),
    [
        ("rank", 500, 20, lambda out: steps_of(group_means(out), out["x"].to_numpy())),
        ("jitter", 300, 20, lambda out: stairs_of(group_means(out, per_row=False), out["x"].to_numpy())),
        ("unit", 500, 10, lambda out: within_groups(out["id"], out["x"])),
        ("category", 300, 12, lambda out: majorities(out["id"], out["x"])),
    ],
)
def test_ids_with_one_value_each_tell_the_column(mode, ids, size, attack):
    accept = tuple(LEAKS)
    assert hits(mode, lambda rng: panel(mode, ids, size, rng), attack, accept=accept) > at_stated_risk(mode)


@pytest.mark.parametrize("size", [2, 3, pytest.param(8, marks=pytest.mark.slow), 40])
@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.heavy(2)
def test_ids_with_one_value_each_are_refused_by_name(mode, size):
    table, _ = panel(mode, 2_000 // size, size, np.random.default_rng(3))
    # how the ids are written has nothing to do with how many rows each has
    others = (table.with_columns(id=pl.format("user {}", "id")), table.to_pandas().set_index("id")) if size == 3 else ()
    for kind in (table, *others):
        for shuffle in (False, True):
            with pytest.raises(sv.StructureError, match=r"\('(id|index)'\).*--accept groups"):
                sv.release(PLANS[mode], kind, column="x", shuffle=shuffle, accept=OTHERS)


@pytest.mark.parametrize("mode", PLANS)
def test_nearly_one_value_each_is_refused_too(mode):
    rng = np.random.default_rng(4)
    table, values = panel(mode, 200, 20, rng)
    noisy = np.where(rng.random(len(values)) < 0.03, rng.permutation(values), values)
    table = table.with_columns(x=pl.Series(as_column(mode, noisy)))
    with pytest.raises(sv.StructureError, match="--accept groups"):
        sv.release(PLANS[mode], table, column="x", accept=OTHERS)


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("mode", PLANS)
def test_a_time_column_restores_the_order_of_shuffled_rows(mode, as_text):
    rng = np.random.default_rng(5)
    values = np.sort(column(mode, 3_000, rng))
    when = pl.datetime_range(
        pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 1) + pl.duration(minutes=2_999), "1m", eager=True
    )
    table = pl.DataFrame({"when": when.cast(pl.String) if as_text else when, "x": as_column(mode, values)})
    table = table.sample(fraction=1.0, shuffle=True, seed=1)
    with pytest.raises(sv.StructureError, match=r"\('when'\).*--accept groups"):
        sv.release(PLANS[mode], table, column="x", accept=OTHERS)


def test_a_label_that_a_group_never_has_is_found():
    """Half of the rows can only be 'red': a changed one among them sticks out, although the groups are two."""
    rng = np.random.default_rng(6)
    only = rng.random(2_000) < 0.5
    words = np.where(only, "red", rng.choice(LABELS, 2_000, p=[0.6, 0.3, 0.1]))
    table = pl.DataFrame({"only": only, "x": words})
    with pytest.raises(sv.StructureError, match=r"\('only'\)"):
        sv.release(PLANS["category"], table, column="x")


def test_a_covariate_matters_where_ties_are_parted_and_not_where_units_are_drawn():
    rng = np.random.default_rng(8)
    for mode, refused in (("rank", True), ("unit", False)):
        values = column(mode, 5_000, rng)
        table = pl.DataFrame({"age": values + rng.normal(0, 3 * values.std(), 5_000), "x": values})
        if refused:
            with pytest.raises(sv.StructureError, match=r"\('age'\)"):
                sv.release(PLANS[mode], table, column="x")
        else:
            sv.release(PLANS[mode], table, column="x")


ODD = {
    "arrow decimals": lambda x: pa.table({"x": x, "o": pa.array([Decimal(1)] * len(x), pa.decimal256(50, 2))}),
    "arrow structs": lambda x: pa.table({"x": x, "o": pa.array([{"a": [1]}] * len(x))}),
    "polars objects": lambda x: pl.DataFrame({"x": x, "o": pl.Series([object] * len(x), dtype=pl.Object)}),
    "polars lists": lambda x: pl.DataFrame({"x": x, "o": [[1, 2]] * len(x)}),
    "polars nulls": lambda x: pl.DataFrame({"x": x, "o": [None] * len(x)}),
    "pandas mixed": lambda x: pd.DataFrame({"x": x, "o": pd.Series([1, "a", None, {}] * (len(x) // 4), dtype=object)}),
    "pandas periods": lambda x: pd.DataFrame({"x": x, "o": pd.period_range("2024", periods=len(x), freq="D")}),
    "pandas nullable": lambda x: pd.DataFrame({"x": x, "o": pd.array([None, 2] * (len(x) // 2), dtype="Int64")}),
    "duckdb intervals": lambda x: duckdb.sql("select x, INTERVAL 1 DAY as o, uuid() as u from x_rows"),
}


@pytest.mark.parametrize("kind", ODD)
def test_other_columns_of_any_type_are_looked_at_and_kept(kind):
    x_rows = pl.DataFrame({"x": np.random.default_rng(29).poisson(12, 400)})
    if kind.startswith("duckdb"):
        duckdb.register("x_rows", x_rows.to_arrow())
    table, accept = ODD[kind](x_rows["x"].to_numpy()), ()
    if kind == "pandas mixed":  # objects of which nobody can say what they tell
        with pytest.raises(sv.StructureError, match=r"objects \('o'\)"):
            sv.release(PLANS["unit"], table, column="x", shuffle=True)
        accept = ("copies",)
    released = sv.release(PLANS["unit"], table, column="x", shuffle=True, accept=accept)
    names = getattr(released, "column_names", None) or list(released.columns)
    assert "o" in names


def test_large_tables_keep_whole_groups_and_bounded_memory():
    rng = np.random.default_rng(9)
    others, order = Others(categories=False), Order()
    own = rng.poisson(9, 100_000).astype(float)
    for _ in range(4):
        groups = rng.integers(0, 100_000, 65_536)
        others.add(own[groups], {"id": pl.Series(groups), "noise": pl.Series(rng.random(65_536))})
        order.add(own[groups])
    (found,) = find_groups(MODES["unit"], order, others)
    assert "('id')" in found.says


def test_heaps_on_a_continuous_column_are_blocks_too():
    """A fifth of the rows at multiples of 10, the others without equals: sorted rows still show where the heaps lie."""
    rng = np.random.default_rng(27)
    values = np.sort(np.where(rng.random(3_000) < 0.2, 10 * rng.integers(3, 12, 3_000), rng.uniform(30, 120, 3_000)))
    order = Order()
    order.add(values)
    assert find_order(MODES["smooth"], order)
    loose = Order()
    loose.add(np.sort(rng.uniform(30, 120, 3_000)))  # nothing is drawn: rows without equals keep their places
    assert not find_order(MODES["smooth"], loose)


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.heavy(1)
def test_independent_rows_pass(mode):
    rng = np.random.default_rng(10)
    alarms, tables = 0, 60
    # few lengths one after another: usual shuffles are drawn once for each
    for rows in np.repeat(np.geomspace(50, 5_000, 8).astype(int), 8)[:tables].tolist():
        values = column(mode, rows, rng)
        order, others = Order(categories=mode == "category"), Others(categories=mode == "category")
        order.add(values)
        columns = {
            "id": rng.permutation(np.arange(rows) // 3),
            "sex": rng.integers(0, 2, rows),
            "when": np.sort(rng.random(rows)),
            "row": np.arange(rows),
        }
        others.add(values, {name: pl.Series(held) for name, held in columns.items()})
        alarms += bool(find_order(MODES[mode], order)) or bool(find_groups(MODES[mode], order, others))
    assert alarms <= 1


def test_a_rare_value_is_no_order():
    """Three special rows among 300 have some distance: a formula for many rows would take it for likeness."""
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(100):
        values = np.zeros(300)
        values[rng.choice(300, 3, replace=False)] = 1.0
        alarms += told_by_order(scores_of(values, categories=False), level=1e-3) > 0
    assert alarms <= 2


# --- shuffled rows ----------------------------------------------------------------------------------
def test_whole_rows_move_together_and_the_record_repeats_them():
    rng = np.random.default_rng(12)
    values = rng.poisson(12, 70_000)  # more than one block
    frame = pd.DataFrame({"row": np.arange(len(values)), "x": values, "twin": rng.integers(0, 9, len(values))})
    plain = sv.release(PLANS["unit"], frame, column="x", seed=5)
    mixed = sv.release(PLANS["unit"], frame, column="x", seed=5, shuffle=True)
    assert not np.array_equal(mixed["row"], frame["row"])
    assert list(mixed.index) == list(range(len(frame)))  # the numbers of the old rows are gone
    pd.testing.assert_frame_equal(mixed.sort_values("row", ignore_index=True), plain)
    first = sv.release(PLANS["unit"], frame, column="x", shuffle=True, details=True)
    again = sv.release(PLANS["unit"], frame, column="x", shuffle=True, record=first.record)
    pd.testing.assert_frame_equal(first.table, again)
    with pytest.raises(sv.FileError, match="another order"):  # the two could be matched row by row
        sv.release(PLANS["unit"], frame, column="x", record=first.record)


def test_places_after_shuffling_are_uniform():
    rows, seeds = 5, 4_000
    frame = pl.DataFrame({"x": [7.0, 9.0, 8.0, 11.0, 10.0], "row": np.arange(rows)})
    plan = planned(family=sv.Location(), prior=sv.Box(mean=(0, 200)), secret=sv.Mean(), tolerance=1)
    accept = ["step", "atoms", "heaps", "ratios"]
    counts = np.zeros((rows, rows))
    for seed in range(seeds // 10):
        out = sv.release(plan, frame, column="x", seed=seed, shuffle=True, accept=accept)["row"].to_numpy()
        counts[np.arange(rows), out] += 1
    expected = seeds / 10 / rows
    assert ((counts - expected) ** 2 / expected).sum() < stats.chi2.ppf(0.9999, (rows - 1) ** 2)


# --- 32-bit floats ----------------------------------------------------------------------------------
def test_the_keyed_numbers_are_siphash():
    """The published test vector: key 00..0f, message 00..07, from the paper of Aumasson and Bernstein's code."""
    seed = int.from_bytes(bytes(range(16)), "little")
    value = np.frombuffer(bytes(range(8)), dtype=np.float64)
    assert uniform_of(value, seed)[0] == (0x93F5F5799A932462 >> 11) * 2.0**-53
    many = uniform_of(np.arange(100_000.0), 3)
    assert stats.kstest(many, "uniform").pvalue > 1e-4
    assert uniform_of(np.array([0.0]), 3) == uniform_of(np.array([-0.0]), 3)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("known", [{}, {"minimum": 0}], ids=["shift", "scale"])
def test_copies_of_a_32_bit_float_stay_copies(kind, known):
    """Two copies that were smeared apart differ by up to the width of their cell, times the secret factor."""
    rng = np.random.default_rng(13)
    own = rng.gamma(9, 12, 40_000).astype(np.float32)
    values = rng.permutation(np.concatenate([own, own])).astype(kind)
    plan = planned(
        family=sv.Location(),
        prior=sv.Box(mean=(40, 160)),
        secret=sv.Mean(),
        tolerance=1,
        known=sv.Structure(**known),
    )
    released = sv.release(plan, values, accept=["atoms", "step", "heaps", "ratios"])
    before, where = np.unique(values, return_inverse=True)
    spread = np.zeros(len(before)), np.full(len(before), np.inf)
    np.maximum.at(spread[0], where, released)
    np.minimum.at(spread[1], where, released)
    assert np.array_equal(*spread)
    assert len(np.unique(released.astype(np.float64))) > 0.99 * len(before) or kind is np.float32


# --- how a value is written -------------------------------------------------------------------------
QUOTED = ("red, dark", "green", "blue")
QUOTES = planned(max_risk=0.2, family=sv.Categorical(labels=QUOTED), secret=sv.Fraction("green"), tolerance=0.02)


def written_csv(path, words, *, quote=()):
    """A CSV as programs write it: quotes where needed, and around the labels of ``quote``."""
    fields = [f'"{word}"' if "," in word or word in quote else word for word in words]
    path.write_text("row,x\n" + "".join(f"{row},{field}\n" for row, field in enumerate(fields)))
    return path


@pytest.mark.parametrize("quote", [(), ("green",), ("green", "blue"), QUOTED], ids=str)
def test_a_label_is_written_alike_in_every_row(tmp_path, quote):
    rng = np.random.default_rng(14)
    words = rng.choice(QUOTED, 2_000, p=[0.5, 0.3, 0.2])
    sv.release_file(QUOTES, written_csv(tmp_path / "in.csv", words, quote=quote), tmp_path / "out.csv", column="x")
    texts = {line.split(",", 1)[1] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]}
    wanted = {f'"{label}"' if "," in label or len(quote) > 1 else label for label in QUOTED}
    assert texts == wanted


def test_quotes_do_not_count_the_rows_that_left_a_label(tmp_path):
    """The attack: a row in quotes that needs none was 'red, dark' before."""
    rng = np.random.default_rng(15)
    caught = 0
    for trial in range(12):
        share = rng.uniform(0.2, 0.8)
        words = rng.choice(QUOTED, 2_000, p=[0.5 * (1 - share), share, 0.5 * (1 - share)])
        source = written_csv(tmp_path / f"in{trial}.csv", words)
        sv.release_file(QUOTES, source, tmp_path / f"out{trial}.csv", column="x")
        lines = (tmp_path / f"out{trial}.csv").read_text().splitlines()[1:]
        caught += sum(line.endswith(('"green"', '"blue"')) for line in lines)
    assert caught == 0


@pytest.mark.parametrize("spelling", ["{:.0f}", "+{:.0f}", "{:05.0f}", '"{:.0f}"', " {:.0f} "], ids=str)
def test_a_count_is_written_alike_whatever_it_was_before(tmp_path, spelling):
    """Large counts spelt another way: the spelling must not stay with the row."""
    rng = np.random.default_rng(16)
    counts = rng.poisson(15, 1_000)
    fields = [spelling.format(count) if count > 15 else f"{count}" for count in counts]
    (tmp_path / "in.csv").write_text("x\n" + "\n".join(fields) + "\n")
    sv.release_file(PLANS["unit"], tmp_path / "in.csv", tmp_path / "out.csv", column="x")
    texts = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert all(text == str(int(text)) for text in texts)


def test_excel_cells_of_one_label_are_alike(tmp_path):
    """Formats and cell types that go with a label (a number among texts, a format of its own) stay with no row."""
    openpyxl = pytest.importorskip("openpyxl")
    labels = ("1", "green", "blue")
    plan = planned(max_risk=0.2, family=sv.Categorical(labels=labels), secret=sv.Fraction("green"), tolerance=0.02)
    rng = np.random.default_rng(17)
    book = openpyxl.Workbook()
    book.active.append(["x"])
    for word in rng.choice(labels, 1_500, p=[0.5, 0.3, 0.2]):
        cell = openpyxl.cell.WriteOnlyCell(book.active, value=1 if word == "1" else str(word))
        cell.number_format = {"1": "0.00", "green": "@", "blue": "General"}[str(word)]
        book.active.append([cell])
    book.save(tmp_path / "in.xlsx")
    sv.release_file(plan, tmp_path / "in.xlsx", tmp_path / "out.xlsx", column="x")
    cells = [row[0] for row in openpyxl.load_workbook(tmp_path / "out.xlsx").active.iter_rows(min_row=2)]
    assert {str(cell.value) for cell in cells} == set(labels)
    assert len({(cell.value, cell.data_type, cell.number_format) for cell in cells}) == len(labels)
    assert len({cell.number_format for cell in cells}) == 1


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_dictionaries_tell_nothing_of_the_original(tmp_path, format):
    """The dictionary of a coded column lists the labels as they appear in the release, and none that it lacks."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(18)
    words = ["blue", *rng.choice(LABELS, 1_999, p=[0.5, 0.3, 0.2])]
    frame = pl.DataFrame({"x": pl.Series(words, dtype=pl.Categorical)})
    source, target = tmp_path / f"in.{format}", tmp_path / f"out.{format}"
    frame.write_parquet(source) if format == "parquet" else frame.write_ipc(source)
    for seed in range(8):  # in some of them the first row changes its label
        sv.release_file(PLANS["category"], source, target, column="x", seed=seed, overwrite=True)
        column = (
            pq.read_table(target, read_dictionary=["x"]) if format == "parquet" else pa.ipc.open_file(target).read_all()
        )["x"]
        assert column.chunk(0).dictionary.to_pylist() == list(dict.fromkeys(column.to_pylist()))


def test_a_column_that_changes_while_it_is_read_is_refused():
    """Between counting and preparing, the map itself looks again."""
    rng = np.random.default_rng(19)
    passes = iter([rng.choice(3, 800, p=[0.5, 0.3, 0.2]), *[rng.choice(3, 800, p=[0.4, 0.3, 0.3])] * 3])
    with pytest.raises(sv.ColumnError, match="changed since its categories were counted"):
        prepare(
            PLANS["category"],
            lambda labels: iter([next(passes).astype(float)]),
            column="x",
            type=ColumnType(kind="text", name="text"),
        )


# --- files ------------------------------------------------------------------------------------------
FORMATS = ["csv", "csv.gz", "tsv", "parquet", "arrow", "xlsx"]


def write_table(frame, path):
    if path.suffix == ".xlsx":
        frame.to_pandas().to_excel(path, index=False)
    elif ".parquet" in path.name:
        frame.write_parquet(path)
    elif ".arrow" in path.name:
        frame.write_ipc(path)
    else:
        separator = "\t" if ".tsv" in path.name else ","
        text = frame.write_csv(separator=separator).encode()
        if path.suffix == ".gz":
            import gzip

            text = gzip.compress(text)
        path.write_bytes(text)


def read_table(path):
    if path.suffix == ".xlsx":
        return pl.from_pandas(pd.read_excel(path, keep_default_na=False))
    if ".parquet" in path.name:
        return pl.read_parquet(path)
    if ".arrow" in path.name:
        return pl.read_ipc(path)
    return pl.read_csv(path, separator="\t" if ".tsv" in path.name else ",")


@pytest.mark.parametrize("format", FORMATS)
def test_files_are_shuffled_by_whole_rows(tmp_path, format):
    rng = np.random.default_rng(20)
    frame = pl.DataFrame({"row": np.arange(900), "x": rng.poisson(12, 900), "note": rng.choice(["a", "b, c"], 900)})
    source = tmp_path / f"in.{format}"
    write_table(frame, source)
    one = sv.release_file(PLANS["unit"], source, tmp_path / f"one.{format}", column="x", seed=4)
    two = sv.release_file(PLANS["unit"], source, tmp_path / f"two.{format}", column="x", seed=4, shuffle=True)
    plain, mixed = read_table(one.table), read_table(two.table)
    assert mixed["row"].to_list() != plain["row"].to_list()
    assert mixed.sort("row").equals(plain)
    in_memory = sv.release(PLANS["unit"], frame, column="x", seed=4, shuffle=True)
    assert mixed["row"].to_list() == in_memory["row"].to_list()  # one meaning of a seed everywhere
    assert sv.verify_file(two.table).ok
    assert (one.card["shuffled"], two.card["shuffled"]) == (False, True)


def test_the_last_line_without_an_end_is_not_told(tmp_path):
    (tmp_path / "in.csv").write_bytes(b"row,x\r\n" + b"\r\n".join(b"%d,%d" % (i, i % 7 + 9) for i in range(400)))
    sv.release_file(
        PLANS["unit"], tmp_path / "in.csv", tmp_path / "out.csv", column="x", shuffle=True, accept=["misfit", "groups"]
    )
    lines = (tmp_path / "out.csv").read_bytes().split(b"\r\n")
    assert len(lines) == 402
    assert not any(b"\n" in line for line in lines)


def test_a_folder_keeps_rows_in_their_files_and_looks_at_files_as_groups(tmp_path):
    rng = np.random.default_rng(21)
    (tmp_path / "in").mkdir()
    parts = {name: pl.DataFrame({"row": np.arange(500), "x": rng.poisson(12, 500)}) for name in ("a", "b", "c")}
    for name, part in parts.items():
        part.write_parquet(tmp_path / "in" / f"{name}.parquet")
    sv.release_file(PLANS["unit"], tmp_path / "in", tmp_path / "out", column="x", shuffle=True)
    for name, part in parts.items():
        rows = pl.read_parquet(tmp_path / "out" / f"{name}.parquet")["row"].to_list()
        assert rows != part["row"].to_list()
        assert sorted(rows) == part["row"].to_list()
    for name, rate in (("a", 5), ("b", 12), ("c", 25)):
        pl.DataFrame({"x": rng.poisson(rate, 500)}).write_parquet(tmp_path / "in" / f"{name}.parquet")
    with pytest.raises(sv.StructureError, match="the files of the folder"):
        sv.release_file(PLANS["unit"], tmp_path / "in", tmp_path / "other", column="x", shuffle=True, accept=OTHERS)


def test_a_table_longer_than_memory_is_shuffled_to_the_same_rows():
    from statveil.tables.shuffling import keys_of, shuffled_frames, shuffled_order

    rows = 150_000
    frames = [pl.DataFrame({"row": np.arange(s, min(s + 65_536, rows))}) for s in range(0, rows, 65_536)]
    keyed = [(frame, keys_of(9, index, len(frame))) for index, frame in enumerate(frames)]
    once = np.concatenate([f["row"].to_numpy() for f in shuffled_frames(iter(keyed), rows=rows)])
    parts = np.concatenate([f["row"].to_numpy() for f in shuffled_frames(iter(keyed), rows=rows, in_memory=20_000)])
    assert np.array_equal(once, parts)
    assert np.array_equal(once, shuffled_order(9, rows))


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_sees_ids(tmp_path, format):
    table, _ = panel("unit", 100, 8, np.random.default_rng(22))
    source = tmp_path / f"in.{format}"
    write_table(table.with_columns(pl.col("x").cast(pl.Int64)), source)
    with pytest.raises(sv.StructureError, match=r"\('id'\).*--accept groups"):
        sv.release_file(PLANS["unit"], source, tmp_path / f"out.{format}", column="x", accept=OTHERS)
    assert not (tmp_path / f"out.{format}").exists()


# --- what the card and the record say ---------------------------------------------------------------
@pytest.mark.parametrize("mode", PLANS)
def test_the_card_states_exchangeable_rows_and_what_was_checked(mode):
    values = as_column(mode, column(mode, 1_000, np.random.default_rng(23)))
    for shuffle in (False, True):
        card = sv.release(PLANS[mode], values, shuffle=shuffle, details=True, accept=OTHERS).card
        assert any("The rows are exchangeable" in line for line in card["assumptions"])
        start = "The rows were put" if shuffle else "The order of the rows"
        assert any(line.startswith(start) for line in card["checked"])
        assert any(line.startswith("Not looked at") for line in card["checked"])


def test_a_printed_risk_is_never_below_the_risk():
    rng = np.random.default_rng(24)
    plan = planned(max_risk=0.227, family=sv.Location(), prior=sv.Box(mean=(0, 97)), secret=sv.Mean(), tolerance=1)
    says = sv.release(plan, rng.normal(50, 9, 500), details=True).card["guarantee"]["says"]
    shown = float(says.split("at most ")[1].split(" ")[0])
    assert plan.risk <= shown < plan.risk * (1 + 1e-5)
    assert "at best" not in says


def test_the_holder_is_warned_when_the_model_is_not_the_column():
    """A heavy tail under a Gaussian model: the largest value shrinks, and the rows move by more than the model says."""
    rng = np.random.default_rng(25)
    values = np.clip(60 + np.rint(rng.lognormal(2.5, 1.0, 4_000)), 0, 5_000)
    plan = planned(
        family=sv.Gaussian(),
        prior=sv.Box(mu=(70, 120), sigma=(5, 60)),
        secret=sv.Mean(),
        tolerance=0.2,
        known=sv.Structure(minimum=0, maximum=5_000, step=1),
    )
    assert plan.mode == "rank"
    done = sv.release(plan, values, details=True)
    released = np.asarray(done.table)
    w1 = np.abs(np.sort(values) - np.sort(released)).mean()
    assert done.record["measured"]["w1"] == pytest.approx(w1, rel=1e-12)
    assert done.record["measured"]["maximum"] == [values.max(), released.max()]
    assert w1 > plan.distortion
    assert list(done.notes) == done.record["warnings"]
    assert len(done.notes) == 2
    assert not any(char.isdigit() for note in done.notes for char in note)
    with pytest.warns(UserWarning, match="stated distortion"), pytest.warns(UserWarning, match="largest value"):
        sv.release(plan, values)


def test_a_column_of_the_model_gives_no_warning():
    done = sv.release(PLANS["rank"], np.random.default_rng(26).binomial(20, 0.5, 3_000), details=True)
    assert done.notes == ()
    assert done.record["measured"]["w1"] <= 1.1 * PLANS["rank"].distortion


def test_the_command_line_shuffles_and_names_what_it_refuses(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from statveil.cli.main import statveil

    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"x": np.sort(np.random.default_rng(28).poisson(12, 1_500))}).write_csv("in.csv")
    sv.save_plan(PLANS["unit"], "plan.json")
    line = ["release", "plan.json", "in.csv", "out.csv", "--column", "x"]
    refused = CliRunner().invoke(statveil, line)
    assert isinstance(refused.exception, sv.StructureError)
    assert "--shuffle" in str(refused.exception)
    assert not (tmp_path / "out.csv").exists()
    done = CliRunner().invoke(statveil, [*line, "--shuffle", "--json"])
    assert done.exit_code == 0
    told = json.loads(done.output)
    assert told["shuffled"] is True
    assert any("--record" in note for note in told["notes"])  # the order is the seed's too
    assert sv.verify_file("out.csv").ok


@pytest.mark.parametrize("seed", range(6))
def test_a_column_of_few_values_that_tells_nothing_does_not_stop_a_shuffled_release(seed):
    # rows of one age stood in the order of the table, which is sorted: what is shuffled has no such order
    rng = np.random.default_rng(seed)
    table = pl.DataFrame({"x": np.sort(rng.poisson(8, 600)), "age": rng.integers(20, 65, 600)})
    with pytest.raises(sv.StructureError, match="order"):
        sv.release(PLANS["unit"], table, column="x", accept=("heaps", "misfit"))
    sv.release(PLANS["unit"], table, column="x", shuffle=True, accept=("heaps", "misfit"))
    # positive control: an age that follows the column is still found
    told = table.with_columns(age=pl.col("x") // 2 + rng.integers(0, 2, 600))
    with pytest.raises(sv.StructureError, match="age"):
        sv.release(PLANS["unit"], told, column="x", shuffle=True, accept=("heaps", "misfit"))
