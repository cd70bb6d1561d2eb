"""Rows that speak of other rows, where the number of rows is hidden: each kind is named, its neighbour is released."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

import statveil as sv
from statveil.tables.structure.reading.row_sample import RowSample
from statveil.tables.structure.row_count.count_search import RowTellers
from statveil.tables.structure.row_count.referring import beyond_chance, more_than_chance

PLAN = sv.plan(
    sv.Problem(secret=sv.Rows(), prior=sv.LogUniform(500, 20_000), tolerance=sv.Relative(0.05)), max_risk=0.2
)
LETTERS = np.array(list("ABCDEFGHJKLMNPQRSTUVWXYZ"))


def codes(rng, count, length=8):
    return np.array(["".join(row) for row in rng.choice(LETTERS, (count, length))])


def pooled(rng, size, rows, power=0.7):
    """Which of so many labels each row has, some of them far more often."""
    weight = 1 / np.arange(1, size + 1) ** power
    return rng.choice(size, rows, p=weight / weight.sum())


def orders(rng, rows):
    """Which order each item belongs to: orders of random sizes, in random order of the rows."""
    return rng.permutation(np.repeat(np.arange(rows), rng.geometric(0.25, rows))[:rows])


# --- rows that refer, and neighbours that do not ----------------------------------------------------
def manager(rng, n, refers):
    """The code of another row; or of people who are not in the table."""
    own = codes(rng, n)
    heads = own[: max(n // 8, 10)] if refers else codes(rng, max(n // 8, 10))
    return {"own": own, "manager": heads[rng.integers(0, len(heads), n)]}


def few_managers(rng, n, refers):
    own = codes(rng, n)
    heads = own[:12] if refers else codes(rng, 12)
    return {"own": own, "manager": heads[rng.integers(0, len(heads), n)]}


def previous(rng, n, refers):
    own, order = codes(rng, n), rng.permutation(n)
    before = np.empty(n, dtype=object)
    before[order[1:]], before[order[0]] = (own if refers else codes(rng, n))[order[:-1]], ""
    return {"order": own, "previous": before.astype(str)}


def reply(rng, n, refers):
    """Random numbers as keys, empty in most rows."""
    own = rng.integers(0, 2**40, n)
    to = rng.permutation(own) if refers else rng.integers(0, 2**40, n)
    return {"message": own, "reply_to": pl.Series(to).set(pl.Series(rng.random(n) < 0.6), None)}


def reply_as_text(rng, n, refers):
    """The same as a CSV file has it."""
    made = reply(rng, n, refers)
    return {name: pl.Series(column).cast(pl.String).fill_null("") for name, column in made.items()}


def edges(rng, n, refers):
    labels = codes(rng, max(n // 6, 6), 6)
    a, b = rng.integers(0, len(labels), (2, n // 2))
    if not refers:
        a, b = rng.integers(0, len(labels), (2, n))
        a, b = np.minimum(a, b), np.maximum(a, b)
        return {"a": labels[a], "b": labels[b]}
    order = rng.permutation(2 * (n // 2))
    return {"a": labels[np.concatenate((a, b))][order], "b": labels[np.concatenate((b, a))][order]}


def balance(rng, n, refers):
    at, order = rng.lognormal(8, 1, n + 1).round(2), rng.permutation(n)
    after = at[1:] if refers else rng.lognormal(8, 1, n).round(2)
    return {"before": at[:-1][order], "after": after[order]}


def continuous_balance(rng, n, refers):
    at, order = rng.normal(size=n + 1), rng.permutation(n)
    return {"before": at[:-1][order], "after": (at[1:] if refers else rng.normal(size=n))[order]}


def since_last(rng, n, refers):
    at = np.unique((rng.random(n + 1) * 1e6).round(1))
    gap, order = np.diff(at).round(1), rng.permutation(len(at) - 1)
    return {"at": at[1:][order], "since": gap[order] if refers else rng.permutation(gap)}


def amount(rng, n, refers):
    """The balance after, and what was booked: the difference is the balance of another row."""
    booked = rng.normal(0, 5000, n).round(2)
    at, order = (np.cumsum(booked) + 1e6).round(2), rng.permutation(n)
    return {"balance": at[order], "booked": booked[order] if refers else rng.permutation(booked)}


def round_robin(rng, n, refers):
    teams = int((1 + np.sqrt(1 + 8 * n)) / 2)
    a, b = np.triu_indices(teams, 1)
    if not refers:
        a = rng.integers(0, teams, len(a))
        b = (a + rng.integers(1, teams, len(a))) % teams
    swap, names, order = rng.random(len(a)) < 0.5, codes(rng, teams, 4), rng.permutation(len(a))
    return {"home": names[np.where(swap, a, b)][order], "away": names[np.where(swap, b, a)][order]}


def season(rng, n, refers):
    """Each team plays as often as any other, not against all; or teams play as it comes."""
    teams = 2 * (n // 24)
    rounds = [rng.permutation(teams).reshape(2, -1) for _ in range(24)]
    if not refers:
        rounds = [rng.integers(0, teams, (2, teams // 2)) for _ in range(24)]
    a, b = np.concatenate(rounds, axis=1)
    names = codes(rng, teams, 5)
    return {"home": names[a], "away": names[b]}


def order_total(rng, n, refers):
    order, price = orders(rng, n), rng.lognormal(3, 1, n).round(2)
    other = price if refers else rng.permutation(price)
    return {"order": codes(rng, n)[order], "price": price, "total": np.bincount(order, other).round(2)[order]}


def order_total_with_tax(rng, n, refers):
    made = order_total(rng, n, refers)
    return made | {"total": (made["total"] * 1.19).round(2)}


def class_mean(rng, n, refers):
    group, score = pooled(rng, 60, n), rng.normal(50, 10, n).round(1)
    other = score if refers else rng.permutation(score)
    mean = np.bincount(group, other) / np.maximum(np.bincount(group), 1)
    return {"class": codes(rng, 60)[group], "score": score, "class_mean": mean[group].round(2)}


def first_visit(rng, n, refers):
    """The first of a customer's days; or the day the customer was entered."""
    who, day = orders(rng, n), rng.integers(0, 3000, n)
    first = np.full(n, 99_999)
    np.minimum.at(first, who, day)
    first = first if refers else first - rng.integers(1, 50, n)
    days = {"day": pl.Series(day).cast(pl.Date), "first": pl.Series(first[who]).cast(pl.Date)}
    return {"customer": codes(rng, n)[who]} | days


def best(rng, n, refers):
    school, score = pooled(rng, 40, n, 0.3), rng.normal(size=n)
    top = np.zeros(n, dtype=bool)
    for one in range(40):
        rows = np.flatnonzero(school == one)
        if len(rows):
            top[rows[np.argmax(score[rows])]] = True
    return {
        "school": codes(rng, 40, 5)[school],
        "score": score.round(3),
        "best": top if refers else rng.permutation(top),
    }


def head(rng, n, refers):
    """One head in each household, in words."""
    home = orders(rng, n)
    role = rng.choice(["partner", "child", "other"], n).astype(object)
    role[np.unique(home, return_index=True)[1]] = "head"
    return {"home": codes(rng, n)[home], "role": (role if refers else rng.permutation(role)).astype(str)}


def deviation(rng, n, refers):
    group, value = pooled(rng, 60, n), rng.lognormal(3, 1, n).round(2)
    mean = (np.bincount(group, value) / np.maximum(np.bincount(group), 1))[group]
    return {"group": codes(rng, 60)[group], "off": (value - (mean if refers else value.mean() + 0.31)).round(4)}


def nearest(rng, n, refers):
    places = (rng.random((n, 2)) * 100).round(4)
    far = cKDTree(places).query(places, k=2)[0][:, 1]
    return {"x": places[:, 0], "y": places[:, 1], "nearest": (far if refers else rng.permutation(far)).round(4)}


def nearest_on_the_globe(rng, n, refers):
    lon, lat = rng.normal(8, 2, n), rng.normal(47, 2, n)
    e, s = np.radians(lon), np.radians(lat)
    globe = np.column_stack((np.cos(s) * np.cos(e), np.cos(s) * np.sin(e), np.sin(s)))
    km = 6371 * 2 * np.arcsin(cKDTree(globe).query(globe, k=2)[0][:, 1] / 2)
    return {"lat": lat.round(6), "lon": lon.round(6), "km": (km if refers else rng.permutation(km)).round(3)}


KINDS = {
    manager: "manager",
    few_managers: "manager",
    previous: "previous",
    reply: "reply_to",
    reply_as_text: "reply_to",
    edges: "a",
    balance: "after",
    continuous_balance: "after",
    since_last: "since",
    amount: "booked",
    round_robin: "home",
    season: "home",
    order_total: "total",
    order_total_with_tax: "total",
    class_mean: "class_mean",
    first_visit: "first",
    best: "best",
    head: "role",
    deviation: "off",
    nearest: "nearest",
    nearest_on_the_globe: "km",
}


def beside(made, rng):
    """With columns that have nothing to do with it."""
    rows = len(next(iter(made.values())))
    return pl.DataFrame(
        made | {"price_of_it": rng.lognormal(3, 1, rows).round(2), "region": rng.choice(["n", "s", "w"], rows)}
    )


def refer(frame, piece=7_000):
    tellers = RowTellers()
    for start in range(0, len(frame), piece):
        tellers.add({one.name: one for one in frame.slice(start, piece).get_columns()})
    return {name for name, told in tellers.by_column().items() if "references" in told}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), rows=st.integers(600, 6_000))
def test_rows_that_refer_are_named_and_their_neighbours_are_not(kind, seed, rows):
    rng = np.random.default_rng(seed)
    found = refer(beside(kind(rng, rows, True), rng))
    assert KINDS[kind] in found or (kind in (balance, continuous_balance) and found == {"before"})
    assert not found & {"price_of_it", "region"}
    assert refer(beside(kind(rng, rows, False), rng)) == set()


def test_what_rows_say_of_each_other_does_not_depend_on_pieces():
    rng = np.random.default_rng(3)
    frame = beside(manager(rng, 3_000, True), rng)
    assert refer(frame, 100) == refer(frame, 3_000) == {"manager"}


@settings(max_examples=5)
@given(pieces=st.lists(st.integers(1, 90_000), min_size=1, max_size=6))
def test_the_rows_that_are_held_are_the_same_however_the_table_comes(pieces):
    rows = 150_000
    column = pl.Series("row", np.arange(rows))
    cuts = sorted({0, rows, *(cut for cut in np.cumsum(pieces).tolist() if cut < rows)})
    held = RowSample()
    for start, stop in pairwise(cuts):
        held.add({"row": column[start:stop], "list": pl.Series([[1]] * (stop - start))})
    at_once = RowSample()
    at_once.add({"row": column})
    kept = held.columns["row"].to_numpy()
    assert list(held.columns) == ["row"]
    assert np.array_equal(kept, at_once.columns["row"].to_numpy())
    assert np.array_equal(kept[:32_768], np.arange(32_768))
    # the others: each as likely as any other, so their average is the middle, to five standard deviations
    others = kept[32_768:]
    assert 16_384 <= len(others) <= 32_768
    spread = (rows - 32_768) / np.sqrt(12 * len(others))
    assert abs(others.mean() - (rows + 32_768) / 2) < 5 * spread


@pytest.mark.parametrize("kind", [manager, previous, reply, edges, balance, since_last], ids=lambda kind: kind.__name__)
@pytest.mark.heavy(1)
def test_a_part_of_a_long_table_shows_that_its_rows_refer(kind):
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(kind(rng, 300_000, True)).sample(fraction=1, shuffle=True, seed=1)
    assert refer(frame, 50_000)
    assert refer(pl.DataFrame(kind(rng, 300_000, False)), 50_000) == set()


# --- columns that are alike and do not refer --------------------------------------------------------
def unrelated(rng, n):
    """Columns of a usual table, which say nothing of other rows."""
    cities, names = codes(rng, int(rng.integers(8, 300)), 5), codes(rng, int(rng.integers(200, 9_000)), 7)
    who, what = orders(rng, n), pooled(rng, int(rng.integers(20, 200)), n)
    unit, pieces = rng.lognormal(2, 1, 200).round(2), 1 + rng.poisson(1, n)
    list_of_prices = np.floor(rng.lognormal(3, 1, 800)) + 0.99
    address = codes(rng, n, 9)
    return pl.DataFrame(
        {
            "origin": cities[pooled(rng, len(cities), n)],
            "destination": cities[pooled(rng, len(cities), n)],
            "buyer": names[pooled(rng, len(names), n, 0.3)],
            "seller": names[pooled(rng, len(names), n, 0.9)],
            "sender": rng.integers(0, max(n // 6, 5), n),
            "receiver": rng.integers(0, max(n // 6, 5), n),
            "billing": address,
            "shipping": np.where(rng.random(n) < 0.8, address, codes(rng, n, 9)),
            "old_price": rng.choice(list_of_prices, n),
            "new_price": rng.choice(list_of_prices, n),
            "product": codes(rng, 200)[what],
            "unit": unit[what],
            "amount": (unit[what] * pieces).round(2),
            "customer": codes(rng, n)[who],
            "income": rng.lognormal(10, 0.5, n).round()[who],
            "member": (rng.random(n) < 0.5)[who],
            "key": rng.integers(0, 2**60, n),
            "number": rng.integers(0, 40 * n, n),
            "other_number": rng.integers(0, 40 * n, n),
            "born": pl.Series(rng.integers(-15_000, 10_000, n)).cast(pl.Date),
            "hired": pl.Series(rng.integers(5_000, 10_000, n)).cast(pl.Date),
            "x": (100 * rng.random(n)).round(4),
            "y": (100 * rng.random(n)).round(4),
            "way": rng.gamma(1, 1, n).round(4),
            "score": rng.normal(size=n),
            "flag": rng.random(n) < rng.random(),
            "rating": rng.integers(1, 11, n),
            "other_rating": rng.integers(1, 11, n),
        }
    )


TOGETHER = [
    ["origin", "destination", "buyer", "seller"],
    ["sender", "receiver", "rating", "other_rating"],
    ["billing", "shipping", "customer", "income", "member"],
    ["old_price", "new_price", "product", "unit", "amount"],
    ["key", "number", "other_number", "score"],
    ["x", "y", "way", "born", "hired", "flag"],
]


@pytest.mark.parametrize(
    ("seeds", "most"), [(range(60), 1), pytest.param(range(60, 200), 1, marks=pytest.mark.slow)], ids=["some", "more"]
)
def test_columns_of_usual_tables_are_not_named(seeds, most):
    named = {}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        frame = unrelated(rng, int(np.exp(rng.uniform(np.log(300), np.log(2_000)))))
        # some of them in each table: all pairs of all columns would take minutes
        some = [name for at in rng.choice(len(TOGETHER), 2, replace=False) for name in TOGETHER[at]]
        found = refer(frame.select(some))
        if found:
            named[seed] = found
    assert len(named) <= most, named


def test_chance_is_what_a_binomial_number_gives():
    # at least 9 of 10 with a share of 0.6 happens by itself, all of 40 with 0.37 does not: 0.37 ** 40 < 1e-17
    assert not beyond_chance(9, 10, 0.6)
    assert beyond_chance(40, 40, 0.37)
    assert not beyond_chance(10, 100, 0.1)
    assert not more_than_chance(0.03, 0.01)
    assert more_than_chance(0.06, 0.01)
    assert not more_than_chance(1.0, 0.6)


# --- end to end -------------------------------------------------------------------------------------
def test_a_table_whose_rows_refer_is_refused_and_gives_the_number_of_rows_away():
    rng = np.random.default_rng(5)
    frame = beside(manager(rng, 7_312, True), rng)
    with pytest.raises(
        sv.StructureError, match=r"column 'manager'.*'own' in other rows.*--accept references"
    ) as refused:
        sv.release(PLAN, frame)
    assert "7312" not in str(refused.value)
    part = sv.release(PLAN, frame, accept=["references"], details=True)
    # positive control: the share of managers who are there is the share of rows that are
    there = part.table["manager"].unique().is_in(part.table["own"].to_list()).mean()
    assert len(part.table) / there == pytest.approx(7_312, rel=0.05)
    assert [one["name"] for one in part.card["accepted_leaks"]] == ["references"]
    card = sv.release(PLAN, frame.drop("own"), details=True).card
    assert card["accepted_leaks"] == []
    assert any("rows speak of other rows" in line for line in card["checked"])
    assert any("No row says anything of another row" in line for line in card["assumptions"])


def test_a_file_of_texts_is_refused_as_a_table_is(tmp_path):
    rng = np.random.default_rng(6)
    beside(reply(rng, 2_000, True), rng).write_csv(tmp_path / "in.csv")
    with pytest.raises(sv.StructureError, match="--accept references"):
        sv.release_file(PLAN, tmp_path / "in.csv", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
