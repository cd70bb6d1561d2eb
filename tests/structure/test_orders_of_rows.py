"""Rows that belong together by where they stand: mirrored, shifted, riffled, in blocks, or before a usual shuffle.

Each attack is first a positive control: on a release that accepted the leak it beats the stated risk. Then every order
is refused by name, and taken when the rows are shuffled. Rows in no order are taken as they are.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.model_selection import train_test_split
from sklearn.utils import shuffle as sklearn_shuffle

import statveil as sv
from statveil.modes import MODES
from statveil.tables.structure.rows.exchangeable import find_order
from statveil.tables.structure.rows.order_search import Order
from statveil.tables.structure.rows.part_pairs import one_shape, told_by_parts
from statveil.tables.structure.rows.usual_shuffles import SEEDS, WAYS, origins
from tests.best_possible import none_known
from tests.tables.test_groups import DIFFERENCE, RATIO, compared
from tests.tables.test_release_rows import OTHERS, PLANS, as_column, column, stairs_of

pytestmark = pytest.mark.filterwarnings("ignore:The (smallest or|released column)")  # of columns that are redrawn


def bits_reversed(rows):
    width = (rows - 1).bit_length()
    turned = [int(f"{i:0{width}b}"[::-1], 2) for i in range(2**width)]
    return np.array([place for place in turned if place < rows])


# --- orders: from pairs (rows 0 and 1, 2 and 3, ...) to where each row stands ---------------------------------------
def _apart(first, second, rows):
    """Rows 2i and 2i + 1 of the pairs at the places first[i] and second[i]."""
    at = np.empty(rows, dtype=np.int64)
    at[0::2], at[1::2] = first, second
    return at


def _blocks(length):
    def places(rows):
        start = np.arange(rows) // length * length
        inside = np.arange(rows) % length
        half = inside // 2
        return start + np.where(inside % 2, np.minimum(length, rows - start) - 1 - half, half)

    return places


PAIRED = {
    "mirrored": lambda n: _apart(np.arange(n // 2), n - 1 - np.arange(n // 2), n),
    "one half after the other": lambda n: _apart(np.arange(n // 2), n // 2 + np.arange(n // 2), n),
    "mirrored in blocks of 20": _blocks(20),
    "mirrored in blocks of 250": _blocks(250),
    "the halves of blocks of 50": lambda n: np.arange(n) // 50 * 50 + np.arange(n) % 2 * 25 + np.arange(n) % 50 // 2,
    "every second pair of neighbours": lambda n: np.arange(n),
    "a transposed matrix": lambda n: (np.arange(n) % 20) * (n // 20) + np.arange(n) // 20,
    "steps of 7 modulo the rows": lambda n: np.arange(n) * 7 % n,
}
"""Where the rows of pairs stand."""

SORTED = {
    "bits reversed": bits_reversed,
    "riffled six times": lambda n: (
        np.arange(n) * 64 % (n + 1) if n % 2 else np.append(np.arange(n - 1) * 64 % (n - 1), n - 1)
    ),
    "two sorted halves, one reversed, riffled": lambda n: np.where(
        np.arange(n) % 2, n - 1 - np.arange(n), np.arange(n)
    ).argsort(kind="stable"),
    "lines that run to and fro": lambda n: np.where(
        np.arange(n) // 50 % 2, np.arange(n) // 50 * 50 + 49 - np.arange(n) % 50, np.arange(n)
    ),
    "RandomState(42)": lambda n: np.random.RandomState(42).permutation(n),
    "default_rng(0)": lambda n: np.random.default_rng(0).permutation(n),
    "pandas": lambda n: pd.Series(np.arange(n)).sample(frac=1, random_state=2024).to_numpy(),
    "polars": lambda n: pl.int_range(n, eager=True).sample(fraction=1.0, shuffle=True, seed=7).to_numpy(),
    "random.shuffle": lambda n: np.array(random.Random(123).sample(range(n), n)),
}
"""Which row of a sorted table stands at each place."""


def paired(values, places):
    """Rows in pairs of one value at these places."""
    rows = len(places)
    out = np.empty(rows)
    out[places] = np.repeat(values[: -(-rows // 2)], 2)[:rows]
    return out


@pytest.mark.parametrize(("mode", "rows"), [*((mode, 1_000) for mode in PLANS), ("rank", 500), ("category", 3_000)])
@pytest.mark.parametrize("order", [*PAIRED, *SORTED])
@pytest.mark.heavy(5)
def test_every_order_is_refused_by_name_and_goes_when_shuffled(mode, order, rows):
    rng = np.random.default_rng([rows, *order.encode()])
    drawn = column(mode, rows, rng)
    if order in PAIRED:
        made = paired(drawn, PAIRED[order](rows))
        if order == "every second pair of neighbours":
            made[rng.random(rows // 2).repeat(2) < 0.5] = drawn[rows // 2]
    else:
        made = np.sort(drawn)[SORTED[order](rows)]
    values = as_column(mode, made)
    with pytest.raises(sv.StructureError, match=r"the order of the rows.*--shuffle.*--accept order"):
        sv.release(PLANS[mode], values, accept=OTHERS)
    assert sv.release(PLANS[mode], values, accept=OTHERS, shuffle=True, details=True).card["shuffled"] is True


# --- the ways of libraries ------------------------------------------------------------------------------------------
def test_the_ways_are_those_of_the_libraries():
    rows, frame = 137, pd.DataFrame({"x": np.arange(137)})
    for seed in (0, 42, 2024):
        ways = {name: shuffled(rows, seed).tolist() for name, (shuffled, _) in WAYS.items()}
        listed = list(range(rows))
        random.Random(seed).shuffle(listed)
        old = np.arange(rows)
        np.random.RandomState(seed).shuffle(old)
        new, by_rows = np.arange(rows), np.column_stack([np.arange(rows), np.arange(rows)])
        np.random.default_rng(seed).shuffle(new)
        np.random.default_rng(seed).shuffle(by_rows)
        drawn = {
            "numpy.random.RandomState": [
                old,
                frame.sample(frac=1, random_state=seed)["x"],
                sklearn_shuffle(frame, random_state=seed)["x"],
            ],
            "numpy.random.default_rng": [new, by_rows[:, 0]],
            "numpy.random.Generator.choice": [frame.sample(frac=1, random_state=np.random.default_rng(seed))["x"]],
            "random.shuffle": [listed],
            "random.sample": [random.Random(seed).sample(range(rows), rows)],
            "polars shuffle": [pl.Series(range(rows)).shuffle(seed=seed)],
            "polars sample": [pl.DataFrame({"x": range(rows)}).sample(fraction=1.0, shuffle=True, seed=seed)["x"]],
        }
        for name, several in drawn.items():
            for one in several:
                assert list(one) == ways[name], name
        tried = {tuple(one.tolist()) for one in origins(rows)}
        for kept in (
            train_test_split(np.arange(171), test_size=0.2, random_state=seed)[0],
            pd.Series(np.arange(171)).sample(frac=0.8, random_state=seed).to_numpy(),
        ):
            assert seed == 2024 or len(kept) != rows or tuple(np.argsort(np.argsort(kept)).tolist()) in tried


def test_every_way_and_usual_seed_of_a_short_table_is_tried():
    tried = {one.tobytes() for one in origins(300)}
    for shuffled, _ in WAYS.values():
        for seed in SEEDS:
            assert shuffled(300, seed).astype(np.uint16).tobytes() in tried


# --- two groups -----------------------------------------------------------------------------------------------------
def pairs_of_groups(kind, pairs, rng, noise=0.0):
    """Values of both groups: all pairs differ by one factor, or one amount, which nobody knows."""
    base = rng.gamma(9, 4, pairs) if kind == "ratio" else rng.normal(60, 8, pairs)
    spread = rng.normal(0, noise, pairs)
    if kind == "ratio":
        return base * rng.uniform(0.8, 1.25) * np.exp(spread), base
    return base + rng.uniform(-4, 4) + 8 * spread, base


def interleaved(first, second, rng):
    """Rows of both groups in turn, in no rule, each group in its own order."""
    at = rng.permutation(np.repeat([0, 1], [len(first), len(second)]))
    x = np.empty(len(at))
    x[at == 0], x[at == 1] = first, second
    return pl.DataFrame({"region": np.where(at == 0, "north", "south"), "x": x})


def stacked(first, second, rng):
    return pl.DataFrame({"region": np.repeat(["north", "south"], [len(first), len(second)]), "x": [*first, *second]})


GROUPED = {
    "stacked, reversed": lambda a, b, rng: stacked(a, b[::-1], rng),
    "stacked": stacked,
    "the r-th with the r-th": interleaved,
    "the r-th with the last but r": lambda a, b, rng: interleaved(a, b[::-1], rng),
    "the second half first": lambda a, b, rng: interleaved(a, np.roll(b, len(b) // 2), rng),
    "one more row before": lambda a, b, rng: interleaved(a, np.append(b[:1] * 1.01, b), rng),
    "several pairs of neighbours": lambda a, b, rng: pl.DataFrame(
        {"region": ["north", "south"] * len(a), "x": np.column_stack([a, b]).ravel()}
    ),
    "shuffled by 42": lambda a, b, rng: GROUPED["several pairs of neighbours"](a, b, rng)[
        np.random.RandomState(42).permutation(2 * len(a))
    ],
    "blocks of ten, mirrored": lambda a, b, rng: pl.concat(
        [stacked(a[i : i + 5], b[i : i + 5][::-1], rng) for i in range(0, len(a), 5)]
    ),
}


@pytest.mark.parametrize("pairs", [60, 1_000])
@pytest.mark.parametrize("order", GROUPED)
@pytest.mark.parametrize("kind", ["ratio", "difference"])
@pytest.mark.heavy(3)
def test_pairs_of_two_groups_are_refused_however_they_stand_and_taken_when_shuffled(kind, order, pairs):
    plan = {"ratio": RATIO, "difference": DIFFERENCE}[kind]
    rng = np.random.default_rng([pairs, *order.encode()])
    frame = GROUPED[order](*pairs_of_groups(kind, pairs, rng, noise=0.02), rng)
    with pytest.raises(sv.StructureError, match=r"--shuffle.*--accept order"):
        sv.release(plan, frame, column="x")
    assert len(sv.release(plan, frame, column="x", shuffle=True)) == len(frame)


def test_who_knows_the_mirror_of_two_groups_knows_the_secret_until_the_rows_are_shuffled():
    """All pairs differ by one amount that nobody knows: under two factors they lie on a line whose slope is theirs."""
    hits = np.zeros(2, dtype=int)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        base = rng.gamma(9, 4, 200) + 1
        frame = stacked(base + rng.uniform(-0.5, 2), base[::-1], rng)
        with pytest.raises(sv.StructureError, match="--accept order"):
            sv.release(RATIO, frame, column="x")
        true = compared(frame, "ratio")
        for place, options in enumerate(({"accept": ["order", "copies"]}, {"accept": ["copies"], "shuffle": True})):
            out = sv.release(RATIO, frame, column="x", **options)
            x, north = out["x"].to_numpy(), (out["region"] == "north").to_numpy()
            slope, _ = np.polyfit(x[~north][::-1], x[north], 1)
            guess = x[north].mean() / max(slope, 0.1) / x[~north].mean()
            hits[place] += abs(guess - true) <= 0.05 * true
    assert hits[0] == 12
    assert hits[1] <= stats.binom.ppf(0.999, 12, RATIO.risk)


def test_two_groups_of_one_shape_are_refused_in_any_order():
    """Sorted, they are pairs again: no shuffle helps, and the attack by sorted rows says so."""
    hits = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        base = rng.gamma(9, 4, 200) + 1
        frame = stacked(base + rng.uniform(0.5, 2), rng.permutation(base), rng)
        with pytest.raises(sv.StructureError, match=r"plus one amount.*--accept copies"):
            sv.release(RATIO, frame, column="x", shuffle=True)
        out = sv.release(RATIO, frame, column="x", shuffle=True, accept=["copies"])
        x, north = out["x"].to_numpy(), (out["region"] == "north").to_numpy()
        slope, _ = np.polyfit(np.sort(x[~north]), np.sort(x[north]), 1)
        true = compared(frame, "ratio")
        hits += abs(x[north].mean() / slope / x[~north].mean() - true) <= 0.05 * true
    assert hits == 8


def test_groups_drawn_from_one_shape_are_none():
    """Chance makes no copies, on a lattice of few places either."""
    rng = np.random.default_rng(5)
    draws = {
        "normal": lambda rows: rng.normal(60, 8, rows),
        "whole numbers": lambda rows: np.round(rng.normal(60, 8, rows)),
        "a scale of eleven": lambda rows: rng.integers(0, 11, rows).astype(float),
        "a scale of five": lambda rows: rng.integers(1, 6, rows).astype(float),
    }
    for draw in draws.values():
        assert not any(one_shape(draw(rows), draw(rows)) for rows in (10, 40, 300) for _ in range(50))
    assert one_shape(np.arange(20.0), np.arange(20.0)[::-1] + 3)
    assert one_shape(np.arange(1.0, 20), 1.02 * np.arange(1.0, 20))


@pytest.mark.parametrize("partners", [2, 3, 5])
def test_a_case_and_its_controls_are_found_in_any_order_of_the_groups(partners):
    rng = np.random.default_rng(partners)
    case = rng.gamma(9, 4, 120)
    control = np.repeat(case, partners) * np.exp(rng.normal(0, 0.2, 120 * partners))
    assert told_by_parts(case, control, level=1e-3) > 0.3
    assert told_by_parts(case, control[::-1], level=1e-3) > 0.3
    assert told_by_parts(rng.permutation(case), control, level=1e-3) == 0


def test_a_tenth_of_the_pairs_at_one_difference_is_enough():
    rng = np.random.default_rng(3)
    one, two = rng.normal(60, 8, 600), rng.normal(60, 8, 600)
    at = rng.choice(600, 60, replace=False)
    two[at] = one[at] + 3.7
    assert told_by_parts(one, two, level=1e-3) >= 0.09
    assert told_by_parts(one, two[::-1], level=1e-3) >= 0.09
    assert told_by_parts(one, rng.permutation(two), level=1e-3) == 0


# --- two columns ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", ["mirrored", "RandomState(42)"])
def test_orders_of_two_columns_are_refused(order):
    with none_known():
        problem = sv.Problem(secret=sv.ColumnDifference("a", "b"), prior=(-10, 10), tolerance=0.5)
        plan = sv.plan(problem, max_risk=0.2, method="interval")
    rng = np.random.default_rng(1)
    a, b = rng.normal(60, 8, 400), rng.normal(58, 8, 400)
    if order == "mirrored":
        a, b = (np.append(one[:200], one[:200][::-1]) + rng.normal(0, 1, 400) for one in (a, b))
    else:
        by = np.argsort(a + b)[np.random.RandomState(42).permutation(400)]
        a, b = a[by], b[by]
    frame = pl.DataFrame({"a": a, "b": b})
    with pytest.raises(sv.StructureError, match=r"--shuffle.*--accept order"):
        sv.release(plan, frame)
    assert len(sv.release(plan, frame, shuffle=True)) == 400
    sv.release(plan, frame[rng.permutation(400)])


# --- a usual seed, attacked -----------------------------------------------------------------------------------------
def undo(out, width=24):
    """Means of rows that were neighbours before the shuffle by 42."""
    before = np.empty(len(out))
    before[np.random.RandomState(42).permutation(len(out))] = out
    return before[: len(out) // width * width].reshape(-1, width).mean(axis=1)


def test_a_sorted_table_that_was_shuffled_by_42_tells_the_mean_until_it_is_shuffled_again():
    plan, hits = PLANS["smooth"], np.zeros(2, dtype=int)
    rng = np.random.default_rng(5)
    for _ in range(12):
        values = np.sort(column("smooth", 6_000, rng))[np.random.RandomState(42).permutation(6_000)]
        with pytest.raises(sv.StructureError, match="--accept order"):
            sv.release(plan, values, accept=OTHERS)
        for place, options in enumerate(({"accept": (*OTHERS, "order")}, {"accept": OTHERS, "shuffle": True})):
            out = np.asarray(sv.release(plan, values, **options))
            hits[place] += abs(stairs_of(undo(out), out) - values.mean()) <= plan.problem.tolerance
    most = stats.binom.ppf(0.999, 12, plan.risk)
    assert hits[0] > most >= hits[1]


# --- rows without a value, and false alarms -------------------------------------------------------------------------
@pytest.mark.parametrize("order", ["mirrored", "RandomState(42)"])
def test_rows_without_a_value_keep_their_place(order):
    rng = np.random.default_rng(2)
    values = column("rank", 2_000, rng)
    made = paired(values, PAIRED["mirrored"](2_000)) if order == "mirrored" else np.sort(values)[SORTED[order](2_000)]
    made[rng.random(2_000) < 0.3] = np.nan
    seen = Order()
    seen.add(made)
    assert find_order(MODES["rank"], seen)


SHAPES = {
    "poisson": lambda rng, rows: rng.poisson(5, rows),
    "binomial": lambda rng, rows: rng.binomial(20, 0.4, rows),
    "rare ones": lambda rng, rows: rng.random(rows) < 3 / math.sqrt(rows),
    "mostly 0": lambda rng, rows: np.where(rng.random(rows) < 0.9, 0, rng.poisson(40, rows)),
    "a long tail": lambda rng, rows: np.rint(rng.pareto(1.1, rows) * 10),
    "all different": lambda rng, rows: rng.normal(size=rows),
}


def test_rows_in_no_order_are_taken_as_they_are():
    """Of 810 such tables two were refused (0.25 %), by a wave and by neighbours."""
    found, looked = [], 0
    for number, (shape, draw) in enumerate(SHAPES.items()):
        for categories in (False, True)[: 1 if shape in ("a long tail", "all different") else 2]:
            for size in (60, 100, 300, 1_000) * 3:
                rng = np.random.default_rng([looked, number, size])
                seen = Order(categories=categories)
                seen.add(draw(rng, size).astype(float))
                looked += 1
                found += [(shape, categories, size)] if seen.share() > 0 else []
    assert looked == 120
    assert len(found) <= 2, found


def test_parts_in_no_order_are_taken_as_they_are():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        one, two = rng.gamma(9, 4, 30 * (1 + seed)), rng.gamma(9, 4, 50 + 11 * seed)
        assert told_by_parts(one, two, level=1e-3) == 0
        assert told_by_parts(np.rint(one / 4), np.rint(two / 4), level=1e-3) == 0


def test_the_two_values_of_a_row_are_no_pair_of_rows():
    """Two columns that go along: mirrored rows meet twice, which chance must account for."""
    alarms = 0
    for seed in range(80):
        rng = np.random.default_rng(10_000 + seed)
        level = rng.normal(103, 9, 300)
        alarms += told_by_parts(level + rng.normal(2, 5, 300), level, level=1e-3, beside=True) > 0
    assert alarms <= 1


@pytest.mark.parametrize("rows", [0, 1, 9])
def test_few_rows_with_a_value_among_empty_ones_tell_nothing(rows):
    order = Order(categories=True)
    order.add(np.concatenate((np.arange(rows) % 2, np.full(30, np.nan))).astype(float))
    assert order.share() == 0.0
