"""A flag that few rows have: just those beyond a public limit, or any."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from statveil.tables.structure.others.few_search import few_at_the_ends
from statveil.tables.structure.others.telling import find_copies


def told(values, **others):
    columns = {name: pl.Series(other) for name, other in others.items()}
    return bool(find_copies(iter([(values, columns)])))


def at_random(rng, rows, number):
    return np.isin(np.arange(rows), rng.choice(rows, number, replace=False))


@pytest.mark.parametrize("rows", [100, 1000])
@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_a_flag_of_the_rows_beyond_a_limit_is_refused(rows, number):
    rng = np.random.default_rng([1, rows, number])
    x = rng.normal(140, 14, rows)
    places = np.sort(x)
    high, low, outside = x >= places[-number], x < places[number], (x < places[1]) | (x >= places[1 - number])
    for flag in (high, low, outside):
        assert told(x, alarm=flag.astype(int))
        assert told(x, note=[f"see {i}" if one else None for i, one in enumerate(flag)])  # filled in there alone
    other = rng.choice(["ok", "fine"], rows, p=[0.8, 0.2])
    assert told(x, state=np.where(high, "alarm", other))
    assert not told(x, alarm=at_random(rng, rows, number).astype(int))


def test_one_row_and_rows_with_an_exception_pass():
    x = np.random.default_rng(2).normal(140, 14, 300)
    order = np.argsort(x)
    assert few_at_the_ends(x, {"largest": x == x.max()}) == []
    assert few_at_the_ends(x, {"nearly": np.isin(np.arange(300), order[[-1, -3]])}) == []
    assert few_at_the_ends(x, {"exactly": np.isin(np.arange(300), order[[-1, -2]])}) == ["exactly"]


def test_rows_of_one_person_count_once():
    """Eight persons of unequal numbers of rows are alike by themselves, and one of them is the largest."""
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(8), [3, 5, 4, 9, 12, 7, 6, 4])
    x = rng.normal(100, 7, 8)[person] + rng.normal(0, 0.1, 50)
    assert few_at_the_ends(x, {"person": person}) == []
    one = rng.normal(100, 7, 40)[np.repeat(np.arange(40), 4)]
    assert few_at_the_ends(one, {"flag": one == one.max()}) == []


def test_flags_at_random_are_hardly_ever_taken_for_a_limit():
    rng, found = np.random.default_rng(4), 0
    for _ in range(400):
        x = rng.normal(100, 14, 100)
        flags = {f"f{i}": at_random(rng, 100, int(rng.integers(2, 6))) for i in range(6)}
        levels = {f"l{i}": rng.choice(6, 100, p=[0.6, 0.3, 0.04, 0.03, 0.02, 0.01]) for i in range(4)}
        found += bool(few_at_the_ends(x, flags | levels))
    assert found <= 8  # one in a hundred is allowed by chance
