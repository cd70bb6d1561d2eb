"""Fixed amounts, ratios and round totals that tie rows together: refused where a map breaks them, and else not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.card import make_card
from statveil.tables.structure.others.alongside import Gathering
from statveil.tables.structure.rows.tied_search import Broken, broken_by, find_ties_of_rows

STRETCHED = Broken(differences=True, ratios=False)
MOVED = Broken(differences=False, ratios=True)
BOTH = Broken(differences=True, ratios=True)
KNOWN = {
    "scale": sv.Structure(minimum=0),
    "shift": sv.Structure(),
    "lattice": sv.Structure(step=1),
    "jitter": sv.Structure(minimum=0, step=1),
}


def looked_at(frame, broken, *, shuffled=False):
    gathering = Gathering()
    others = {name: frame[name].alias("") for name in frame.columns if name != "x"}
    gathering.add(frame["x"].cast(pl.Float64).to_numpy().astype(float), others)
    return find_ties_of_rows(gathering.done(), broken, shuffled=shuffled)


def by_id(values, code, rng):
    order = rng.permutation(len(values))
    return pl.DataFrame({"x": values[order], "id": rng.permutation(10**6)[code][order]})


def drawn(rng, rows, whole=False):
    values = rng.gamma(3, 55, rows) + 1
    return np.round(values) if whole else values


def pairs(rng, rows, share, second, *, whole=False, order=False):
    """Two rows of an order, of which the second follows from the first in a share of them."""
    first, other = drawn(rng, rows // 2, whole) + 40, drawn(rng, rows // 2, whole) + 40
    other = np.where(rng.random(rows // 2) < share, second(first), other)
    if order:
        return pl.DataFrame({"x": np.c_[first, other].ravel()})
    return by_id(np.r_[first, other], np.r_[: rows // 2, : rows // 2], rng)


def invoices(rng, rows, unit, *, whole, order=False):
    code = np.repeat(np.arange(rows // 4), 4)
    x = drawn(rng, len(code), whole)
    total = np.bincount(code, x)
    rounded = np.maximum(np.round(total / unit), 1) * unit
    if whole:
        x[3::4] += rounded - total
        x = np.where(x < 0, x + unit, x)
    else:
        x *= (rounded / total)[code]
    return pl.DataFrame({"x": x}) if order else by_id(x, code, rng)


def offsets(rng, rows):
    code = np.repeat(np.arange(rows // 5), 5)
    return by_id(np.round(drawn(rng, len(code))) + rng.random(rows // 5)[code], code, rng)


def beside(rng, rows, sign):
    x, z = drawn(rng, rows) + 30, rng.uniform(0, 30, rows)
    return pl.DataFrame({"x": np.round((x + z) / 10) * 10 - z, "z": sign * z})


def one_rest(rng, rows, period):
    x = drawn(rng, rows, whole=True)
    x = x[np.lexsort((rng.random(rows), x % period))]
    return by_id(x, np.arange(rows) // 2, rng)


def added_up(rng, rows, unit):
    a, b = drawn(rng, rows // 2, whole=True), drawn(rng, rows // 2, whole=True)
    b -= (a + b) % unit
    return by_id(np.r_[a, np.where(b < 0, b + unit, b)], np.r_[: rows // 2, : rows // 2], rng)


def times(part):
    return lambda first: part * first


TIED = {
    "a fee in all": (lambda rng, n: pairs(rng, n, 1.0, lambda a: a + 5), STRETCHED, "scale"),
    "a fee in a third": (lambda rng, n: pairs(rng, n, 0.3, lambda a: a + 5), STRETCHED, "scale"),
    "a fee next to it": (lambda rng, n: pairs(rng, n, 0.3, lambda a: a + 5, order=True), STRETCHED, "scale"),
    "a net price": (lambda rng, n: pairs(rng, n, 0.3, times(0.8)), MOVED, "shift"),
    "a net price next to it": (lambda rng, n: pairs(rng, n, 0.3, times(0.8), order=True), MOVED, "shift"),
    "a rounded net price": (
        lambda rng, n: pairs(rng, n, 0.4, lambda a: np.round(0.8 * a), whole=True),
        MOVED,
        "lattice",
    ),
    "round invoices": (lambda rng, n: invoices(rng, n, 10, whole=False), BOTH, "scale"),
    "round invoices, moved": (lambda rng, n: invoices(rng, n, 10, whole=False), BOTH, "shift"),
    "round invoices in order": (lambda rng, n: invoices(rng, n, 200, whole=False, order=True), BOTH, "scale"),
    "whole invoices": (lambda rng, n: invoices(rng, n, 100, whole=True), BOTH, "lattice"),
    "whole invoices, drawn": (lambda rng, n: invoices(rng, n, 100, whole=True), BOTH, "jitter"),
    "an offset for each id": (offsets, STRETCHED, "scale"),
    "a round sum": (lambda rng, n: beside(rng, n, 1), BOTH, "scale"),
    "a round difference": (lambda rng, n: beside(rng, n, -1), BOTH, "scale"),
    "one last digit": (lambda rng, n: one_rest(rng, n, 10), STRETCHED, "jitter"),
    "one rest by 7": (lambda rng, n: one_rest(rng, n, 7), STRETCHED, "jitter"),
    "pairs that make hundreds": (lambda rng, n: added_up(rng, n, 100), BOTH, "jitter"),
    "pairs 30 apart": (lambda rng, n: pairs(rng, n, 1.0, lambda a: a + 30, whole=True), STRETCHED, "jitter"),
}


@pytest.mark.parametrize("rows", [300, 2000])
@pytest.mark.parametrize("kind", TIED)
def test_what_ties_rows_together_is_found(kind, rows):
    made, broken, _ = TIED[kind]
    for seed in range(3):
        assert looked_at(made(np.random.default_rng(seed), rows), broken)


@pytest.mark.parametrize("kind", TIED)
def test_and_a_release_is_refused(kind):
    made, _, mode = TIED[kind]
    frame = made(np.random.default_rng(5), 2000)
    if mode in ("lattice", "jitter"):
        frame = frame.with_columns(pl.col("x").cast(pl.Int64))
    plan = sv.plan(
        sv.Problem(secret=sv.Mean(), prior=(100, 300), tolerance=sv.Relative(0.05), known=KNOWN[mode]), max_risk=0.2
    )
    assert plan.mode == mode
    accepted = ("groups", "order", "rough", "bounds", "heaps")  # what else such a table may show
    with pytest.raises(sv.StructureError, match=r"tied together|ties rows together|other columns tell"):
        sv.release(plan, frame, column="x", accept=accepted, seed=1)


def test_a_tenth_of_the_pairs_is_enough():
    found = [
        bool(looked_at(pairs(np.random.default_rng(seed), 300, 0.1, lambda a: a + 5, order=True), STRETCHED))
        for seed in range(5)
    ]
    assert all(found)
    assert looked_at(pairs(np.random.default_rng(0), 300, 0.1, times(0.8)), MOVED)
    assert looked_at(pairs(np.random.default_rng(0), 2000, 0.1, lambda a: np.round(0.8 * a), whole=True), MOVED)


def test_what_a_map_keeps_is_no_tie():
    rng = np.random.default_rng(3)
    assert not looked_at(pairs(rng, 2000, 1.0, lambda a: a + 5), MOVED)  # a shift keeps differences
    assert not looked_at(pairs(rng, 2000, 1.0, times(0.8)), STRETCHED)  # and a scaling ratios
    assert not looked_at(offsets(rng, 2000), MOVED)
    assert not looked_at(one_rest(rng, 2000, 10), MOVED)


@pytest.mark.parametrize(
    ("mode", "about", "broken"),
    [
        ("scale", 0.0, STRETCHED),
        ("scale", 10.0, BOTH),
        ("shift", None, MOVED),
        ("lattice", None, MOVED),
        ("affine", None, BOTH),
        ("odds", None, BOTH),
        ("jitter", 0.0, STRETCHED),
        ("smooth", 0.0, STRETCHED),
        ("group-shift", None, MOVED),
        ("rank", None, None),
        ("model", None, None),
        ("category", None, None),
    ],
)
def test_which_relations_a_mode_breaks(mode, about, broken):
    from statveil.modes import MODES

    assert broken_by(MODES[mode], about) == broken


def test_a_shuffle_helps_against_round_totals_and_not_against_exact_amounts():
    rng = np.random.default_rng(2)
    assert not looked_at(invoices(rng, 2000, 10, whole=False, order=True), BOTH, shuffled=True)
    assert looked_at(pairs(rng, 2000, 0.3, lambda a: a + 5, order=True), STRETCHED, shuffled=True)
    away = pairs(rng, 2000, 0.3, lambda a: a + 5).drop("id")  # found among all pairs, in any order
    assert looked_at(away, STRETCHED, shuffled=True)
    numbered = invoices(rng, 2000, 10, whole=False, order=True).with_row_index("n")
    pieces = numbered.sample(fraction=1, shuffle=True, seed=1)
    assert not looked_at(pieces.drop("n"), BOTH)


def ordinary(kind, rng, rows):
    code = rng.integers(0, max(rows // int(rng.choice([2, 4, 10, 50])), 3), rows)
    own, noise = rng.standard_normal(rows)[code], rng.standard_normal(rows)
    endings = rng.choice([0.99, 0.95, 0.5, 0.0], rows, p=[0.5, 0.2, 0.1, 0.2])
    walk = np.cumsum(noise)
    x = {
        "independent": lambda: 170 * np.exp(0.4 * noise),
        "panel": lambda: 20 * (9 + own + noise),
        "panel in whole numbers": lambda: np.round(20 * (9 + own + 0.5 * noise)),
        "prices": lambda: np.floor(40 * np.exp(0.5 * own + 0.3 * noise)) + endings,
        "counts": lambda: rng.poisson(6 * np.exp(0.5 * own)).astype(float),
        "geometric": lambda: rng.geometric(0.1, rows).astype(float),
        "sorted": lambda: np.sort(np.round(170 * np.exp(0.4 * noise))),
        "sorted cents": lambda: np.sort(np.round(170 * np.exp(0.4 * noise), 2)),
        "a walk": lambda: np.round(500 + 3 * walk),
        "a walk in cents": lambda: np.round(500 + 3 * walk, 2),
        "zeros": lambda: np.where(rng.random(rows) < 0.3, 0, 170 * np.exp(0.4 * noise)),
        "twice each": lambda: np.repeat(np.round(20 * (9 + noise)), 2)[:rows],
        "32 bits": lambda: (170 * np.exp(0.4 * noise)).astype(np.float32).astype(float),
        "day and night": lambda: np.round(50 * (np.arange(rows) % 2) + 100 + 3 * noise),
    }[kind]()
    return pl.DataFrame({"x": x, "id": rng.permutation(10**6)[code], "z": np.round(rng.gamma(3, 50, rows), 2)})


@pytest.mark.parametrize(
    "kind",
    [
        "independent",
        "panel",
        "panel in whole numbers",
        "prices",
        "counts",
        "geometric",
        "sorted",
        "sorted cents",
        "a walk",
        "a walk in cents",
        "zeros",
        "twice each",
        "32 bits",
        "day and night",
    ],
)
def test_ordinary_tables_are_not_refused(kind):
    for seed in range(6):
        frame = ordinary(kind, np.random.default_rng(seed), 300 if seed % 2 else 1000)
        assert looked_at(frame, BOTH) == []


def test_copies_of_a_column_add_up_to_even_numbers_and_are_no_tie():
    rng = np.random.default_rng(0)
    x = rng.integers(50, 500, 600).astype(float)
    assert looked_at(pl.DataFrame({"x": x, "z": x + rng.integers(-1, 2, 600)}), BOTH) == []


@pytest.mark.parametrize(("mode", "says"), [("scale", True), ("shift", True), ("lattice", True), ("jitter", True)])
def test_the_card_says_that_nobody_knows_another_tie(mode, says):
    plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(20, 100), tolerance=2, known=KNOWN[mode]), max_risk=0.5)
    lines = make_card(plan, column="x")["assumptions"]
    assert any("fixed amount, ratio or round total that ties rows together" in line for line in lines) == says


def test_the_card_of_a_public_shape_does_not():
    plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(20, 100), tolerance=2, shape="lognorm(0.5)"), max_risk=0.5)
    assert not any("ties rows together" in line for line in make_card(plan, column="x")["assumptions"])
