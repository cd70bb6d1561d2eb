"""Totals beside their parts in words: points for answers, how many columns say yes, a price by its options.

Each kind is refused by name in short and longer tables, also where the values themselves do not show; an attacker who
adds the words up hits nearly always where the release is forced through; other words are released.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.structure.others.label_sums import find_label_sum
from statveil.tables.structure.others.telling import telling_columns

ANSWERS = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]
PRICES = np.array([390, 450, 520, 610, 700, 850, 940, 1020])


def chosen(rng, rows, items=20, labels=5):
    """Answers of persons who lean one way or the other."""
    lean = np.clip(rng.uniform(0.25, 0.75) + rng.normal(0, 0.11, rows), 0.03, 0.97)
    return rng.binomial(labels - 1, lean[:, None], (rows, items))


def named(codes, labels):
    return {f"q{i}": np.array(labels, dtype=object)[codes[:, i]] for i in range(codes.shape[1])}


def answers(rng, rows):
    codes = chosen(rng, rows)
    return codes.sum(axis=1) + 20.0, named(codes, ANSWERS)


def answers_of_which_some_count_backwards(rng, rows):
    codes = chosen(rng, rows, items=15)
    points = np.where(np.arange(15) % 3 == 0, 4 - codes, codes)
    return points.sum(axis=1) + 15.0, named(codes, ANSWERS)


def columns_that_say_yes(rng, rows):
    codes = (rng.random((rows, 30)) < rng.uniform(0.1, 0.4)).astype(int)
    return codes.sum(axis=1) + 0.0, named(codes, ["no", "yes"])


def truths(rng, rows):
    made = rng.random((rows, 12)) < 0.3
    return made @ np.arange(1.0, 13.0), {f"q{i}": made[:, i] for i in range(12)}


def cells_that_are_filled(rng, rows):
    filled = rng.random((rows, 12)) < rng.uniform(0.2, 0.5)
    words = np.array([f"word {i}" for i in range(60)], dtype=object)[rng.integers(0, 60, (rows, 12))]
    return filled.sum(axis=1) + 0.0, {
        f"q{i}": pl.Series([word if there else None for word, there in zip(words[:, i], filled[:, i], strict=True)])
        for i in range(12)
    }


def options(rng, rows):
    model, made = rng.integers(0, 3, rows), rng.random((rows, 8)) < rng.uniform(0.2, 0.8)
    price = np.array([15_990, 18_490, 22_300])[model] + made @ PRICES
    return price + 0.0, {"model": np.array(["basic", "comfort", "sport"])[model]} | named(
        made.astype(int), ["no", "yes"]
    )


def options_and_a_number(rng, rows):
    model, made, way = rng.integers(0, 3, rows), chosen(rng, rows, 4, 3), rng.gamma(4, 100, rows)
    price = np.array([100, 130, 190])[model] + made @ [10, 20, 40, 55] + 0.3 * way
    words = named(made, ["none", "one", "two"])
    return np.round(price, 2), {"model": np.array(["a", "b", "c"])[model], "way": way} | words


def factors(rng, rows):
    codes = rng.integers(0, 4, (rows, 3))
    rates = np.array([[1.0, 1.2, 1.5, 2.0], [0.8, 1.0, 1.3, 1.7], [1.0, 1.1, 1.25, 1.5]])
    return np.round(300 * np.prod(rates[np.arange(3), codes], axis=1), 2), named(codes, ["a", "b", "c", "d"])


KINDS = (
    answers,
    answers_of_which_some_count_backwards,
    columns_that_say_yes,
    truths,
    cells_that_are_filled,
    options,
    options_and_a_number,
    factors,
)


def told(x, others):
    return telling_columns(iter([(np.asarray(x, dtype=float), pl.DataFrame(others).to_dict(as_series=True))]))


def in_another_order(rng, others):
    order = rng.permutation(len(next(iter(others.values()))))
    return pl.DataFrame(others)[order].to_dict(as_series=True)


@pytest.mark.parametrize("rows", [300, 1_000])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.heavy(3)
def test_the_parts_of_a_total_are_named_and_in_another_order_are_not(kind, rows):
    for seed in range(2):
        rng = np.random.default_rng([seed, rows])
        x, others = kind(rng, rows)
        parts = [set(one) for one in told(x, others) if len(one) > 2]
        assert parts
        assert {name.split(" (")[0] for name in max(parts, key=len)} <= others.keys()
        assert not told(x, in_another_order(rng, others))


def test_few_rows_and_many_labels_prove_nothing():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        words = {f"q{i}": rng.integers(0, 5, 110).astype(np.uint64) for i in range(20)}
        assert find_label_sum(rng.normal(100, 7, 110), {}, words) == ()


def test_a_total_of_which_a_part_is_left_out_is_not_named():
    """What an item of twenty says is more than a hundredth of the variation: the others tell it loosely."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (1_000, 20))
    words = {f"q{i}": codes[:, i].astype(np.uint64) for i in range(19)}
    assert find_label_sum(codes.sum(axis=1) + 0.0, {}, words) == ()
    assert set(find_label_sum(codes.sum(axis=1) + 0.0, {}, words | {"q19": codes[:, 19].astype(np.uint64)})) == {
        f"q{i}" for i in range(20)
    }


def test_labels_for_classes_of_equal_size_are_no_sum():
    """They know ranks alone, and yet their means tell nearly all of a uniform column."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, 1_000)
    ranks = np.argsort(np.argsort(x))
    labels = {"twentieth": (ranks // 50).astype(np.uint64), "tenth": (ranks // 100).astype(np.uint64)}
    assert find_label_sum(x, {}, labels) == ()


STEP = sv.Problem(secret=sv.Mean(), prior=(30, 90), tolerance=0.75, known=sv.Structure(step=1))
SHAPE = sv.Problem(
    secret=sv.Mean(), prior=(30, 90), tolerance=0.75, known=sv.Structure(minimum=0, maximum=100, step=1), shape="norm"
)
RANKS = sv.Problem(
    family=sv.Gaussian(),
    prior=sv.Box(mu=(37, 84), sigma=(5, 12)),
    secret=sv.Mean(),
    tolerance=0.75,
    known=sv.Structure(minimum=0, step=1),
)


@pytest.mark.parametrize(("problem", "mode"), [(STEP, "lattice"), (SHAPE, "model"), (RANKS, "rank")])
@pytest.mark.heavy(1)
def test_words_that_add_up_are_refused_and_would_tell_the_mean(problem, mode):
    plan = sv.plan(problem, max_risk=0.2)
    assert plan.mode == mode
    hits = refused = 0
    for seed in range(8):
        rng = np.random.default_rng([2, seed])
        x, words = answers(rng, 600)
        frame = pl.DataFrame({"x": x, **words})
        accept = ["groups", "rough", "order", "bounds", "step", "atoms", "heaps", "repeats"]
        with pytest.raises(sv.StructureError, match=r"'q\d+' with 'q\d+'.*points for their labels"):
            sv.release(plan, frame, column="x", accept=accept)
        refused += 1
        released = sv.release(plan, frame, column="x", accept=[*accept, "copies"])
        points = sum(pl.DataFrame(released)[name].replace_strict(ANSWERS, range(1, 6)) for name in words)
        hits += abs(points.mean() - x.mean()) <= 0.75
    assert refused == hits == 8
