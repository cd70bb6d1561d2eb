"""Other columns that merely stand beside the hidden one are not refused: of many tables without a link, hardly any."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from statveil.tables.structure.others import copy_search, telling
from statveil.tables.structure.others.edge_search import Ranked
from statveil.tables.structure.others.telling import MOST_COLUMNS, find_copies


def drawn(rng, rows):
    """A column without a shape that says something by itself."""
    return rng.normal(100, 7, rows) if rng.random() < 0.5 else rng.lognormal(3, 0.5, rows)


def correlated(rng, x):
    """Other numbers with a correlation of up to 0.9, some of them rounded."""
    z = (x - x.mean()) / x.std()
    made = {}
    for i, r in enumerate(rng.uniform(-0.9, 0.9, 4)):
        other = r * z + np.sqrt(1 - r * r) * rng.normal(size=len(x))
        made[f"n{i}"] = np.round(20 * other + 60) if i % 2 else other
    return x, made


def labelled(rng, x):
    """Labels of unequal frequency, some of them more likely among large values."""
    z = (x - x.mean()) / x.std()
    weights = rng.dirichlet(np.full(int(rng.integers(2, 9)), 0.7))
    return x, {
        "label": rng.choice(len(weights), len(x), p=weights).astype(str),
        "likely": rng.random(len(x)) < 1 / (1 + np.exp(-rng.uniform(0.2, 2) * z)),
        "class": np.digitize(z + rng.normal(0, 1, len(x)), [-1, 0.5]),
    }


def panel(rng, x):
    """Rows of persons who have a level, labels and a region of their own."""
    person = np.sort(rng.integers(0, len(x) // 6, len(x)))
    people = int(person.max()) + 1
    level = rng.normal(0, 1, people)
    values = 100 + 7 * (0.95 * level[person] + 0.3 * rng.normal(size=len(x)))
    if rng.random() < 0.5:  # one value each
        values = 100 + 7 * level[person]
    made = {"id": person, "region": rng.integers(0, 5, people)[person], "member": (rng.random(people) < 0.3)[person]}
    return values, made if rng.random() < 0.5 else {name: made[name] for name in ("region", "member")}


def heaped(rng, x):
    """Whole numbers with favourite tens, beside others of that kind."""
    whole = np.where(rng.random(len(x)) < 0.3, np.round(x, -1), np.round(x))
    return whole, {
        "age": rng.integers(18, 80, len(x)),
        "count": rng.poisson(3, len(x)),
        "flag": rng.random(len(x)) < 0.4,
    }


def dated(rng, x):
    """Days of a few years, weekdays and months."""
    day = rng.integers(0, 900, len(x))
    dates = np.datetime64("2020-01-01") + day.astype("timedelta64[D]")
    return x, {"date": np.sort(dates), "weekday": (day % 7).astype(str), "month": day // 30 % 12, "done": dates}


KINDS = (correlated, labelled, panel, heaped, dated)


def refused(kind, seed, rows):
    rng = np.random.default_rng([11, KINDS.index(kind), seed])
    values, others = kind(rng, drawn(rng, rows))
    columns = {name: pl.Series(other) for name, other in others.items()}
    return bool(find_copies(iter([(values.astype(np.float64), columns)])))


def many(each, sizes):
    cases = [(kind, seed) for kind in KINDS for seed in range(each)]
    return [(kind.__name__, seed) for kind, seed in cases if refused(kind, seed, sizes[seed % len(sizes)])]


def test_tables_without_a_link_are_hardly_ever_refused():
    assert len(many(8, (100, 300, 1000, 2000))) <= 2  # of 40


@pytest.mark.slow
def test_two_hundred_tables_without_a_link():
    assert len(many(40, (100, 300, 1000, 2000, 5000))) <= 10


# --- clusters -----------------------------------------------------------------------------------
@pytest.mark.parametrize("person", [True, False])
def test_rows_of_one_person_are_no_edge(person):
    """One person with 40 rows of one income has the label: 40 rows beside it, and a single piece of evidence."""
    rng = np.random.default_rng(3)
    level = np.repeat(np.sort(rng.normal(100, 7, 60)), 20)
    has = np.repeat(np.arange(60) == 30, 20) | np.repeat(np.arange(60) == 31, 20)
    noise = rng.normal(0, 1e-3, len(level)) if person else 0.0  # a value of their own, if an id tells who they are
    ids = {"id": np.repeat(np.arange(60), 20)}
    mixed = rng.permutation(len(level))
    values = (level + noise)[mixed]
    labels = {name: one[mixed] for name, one in ids.items()} if person else {}
    assert Ranked(values, labels).edge(has[mixed]) is None
    # the same share of single rows beyond a limit is one
    free = rng.normal(100, 7, 1200)
    assert Ranked(free, {}).edge((free >= 100) & (rng.random(1200) < 0.3)) is not None


def test_a_column_that_is_mostly_0_hides_no_edge():
    rng = np.random.default_rng(4)
    x = rng.normal(100, 7, 800)
    flag = (x >= 100) ^ (rng.random(800) < 0.1)
    fines = np.where(rng.random(800) < 0.04, rng.integers(1, 500, 800), 0)
    assert len(np.unique(fines)) >= 20  # as an id has
    edge = Ranked(x, {"fines": fines}).edge(flag, name="flag")
    assert edge is not None
    assert edge.low - 1 < 100 < edge.high + 1


# --- wide tables ----------------------------------------------------------------------------------
def test_pairs_of_a_wide_table_are_bounded(monkeypatch):
    """All pairs are compared at once; closely, in Python, only the most likely ones, however many rows explain."""
    rng = np.random.default_rng(0)
    x = rng.normal(100, 7, 10)  # so few rows that chance explains a lot
    columns = {f"c{i}": rng.normal(size=10) for i in range(300)}
    looked = []
    monkeypatch.setattr(copy_search, "_copied", lambda *_: looked.append(1) and False)
    copy_search.find_ties(x, columns)
    pairs = (len(looked) - 3 * len(columns)) / len(copy_search.JOINTS)
    assert 0 < pairs <= 2000


def test_a_pair_among_many_columns_is_found():
    rng = np.random.default_rng(1)
    start = rng.uniform(0, 1e5, 60)
    x = rng.normal(100, 7, 60)
    columns = {f"c{i}": rng.normal(size=60) for i in range(400)} | {"start": start, "end": start + x}
    found = [tie.columns for tie in copy_search.find_ties(x, columns)]
    assert found == [("start", "end")]


def test_the_larger_of_two_columns_is_looked_at():
    rng = np.random.default_rng(2)
    one, two = rng.normal(100, 7, (2, 200))
    columns = {f"c{i}": rng.normal(size=200) for i in range(50)} | {"one": one, "two": two}
    assert copy_search.likely_pairs(np.maximum(one, two), list(columns), columns) == [(50, 51)]


def test_too_many_columns_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(telling, "Alongside", None)  # nothing is read
    x = np.random.default_rng(0).normal(100, 7, 20)
    column = pl.Series(np.ones(20))
    (found,) = find_copies(iter([(x, dict.fromkeys(map(str, range(MOST_COLUMNS + 1)), column))]))
    assert found.name == "copies"
    assert "2,001 other columns" in found.says
