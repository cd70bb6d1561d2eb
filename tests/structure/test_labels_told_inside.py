"""A hidden label that something inside other columns tells: an hour, a weekday, a digit, case, two digits together."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.structure.others.label_facets import told_inside
from statveil.tables.structure.others.rule_search import _flags

LABELS = ("A", "B", "C")
PLAN = sv.plan(sv.Problem(family=sv.Categorical(labels=LABELS), secret=sv.Fraction("B"), tolerance=0.02), max_risk=0.2)
START = dt.datetime(2023, 1, 1)


def at_night(rng, b):
    hour = np.where(b, rng.choice([22, 23, 0, 1, 2, 3, 4, 5], len(b)), rng.integers(6, 22, len(b)))
    return {"t": [START + dt.timedelta(days=int(rng.integers(365)), hours=int(h), minutes=7) for h in hour]}


def at_weekends(rng, b):
    day = np.where(b, rng.integers(5, 7, len(b)), rng.integers(0, 5, len(b))) + 7 * rng.integers(0, 250, len(b))
    return {"day": [dt.date(2020, 1, 6) + dt.timedelta(days=int(one)) for one in day]}


def at_weekends_in_german(rng, b):
    return {"day": [day.strftime("%d.%m.%Y") for day in at_weekends(rng, b)["day"]]}


def third_letter(rng, b):
    words = ["".join(word) for word in rng.choice(list("abcdefghij"), (len(b), 7))]
    return {
        "word": [
            word[:2] + (word[2].upper() if one else word[2]) + word[3:] for word, one in zip(words, b, strict=True)
        ]
    }


def some_digits(rng, b):
    digit = np.where(b, rng.choice([1, 2, 5, 8], len(b)), rng.choice([0, 3, 4, 6, 7, 9], len(b)))
    return {"number": 10 * rng.integers(0, 10_000, len(b)) + digit}


def even_sum(rng, b):
    one, two = rng.integers(0, 1_000, (2, len(b)))
    return {"one": one, "two": two + ((one + two) % 2 != b)}


def one_last_digit(rng, b):
    one = rng.integers(0, 10_000, len(b))
    two = 10 * rng.integers(0, 1_000, len(b)) + (one + np.where(b, 0, rng.integers(1, 10, len(b)))) % 10
    return {"one": one, "two": two}


MADE = [at_night, at_weekends, at_weekends_in_german, third_letter, some_digits, even_sum, one_last_digit]


def labels(rng, rows, share):
    return np.where(rng.random(rows) < share, "B", rng.choice(["A", "C"], rows))


@pytest.mark.parametrize(("rows", "share"), [(300, 0.3), (2_000, 0.05), (2_000, 0.5)])
@pytest.mark.parametrize("made", MADE)
def test_a_label_that_something_inside_other_columns_tells_is_refused(made, rows, share):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        x = labels(rng, rows, share)
        with pytest.raises(sv.StructureError, match="--accept groups"):
            sv.release(PLAN, pl.DataFrame({"x": x, **made(rng, x == "B")}), column="x")


@pytest.mark.parametrize("made", MADE)
def test_a_label_that_it_tells_half_of_the_time_passes(made):
    rng = np.random.default_rng(5)
    x = labels(rng, 1_000, 0.3)
    b = np.where(rng.random(1_000) < 0.5, x == "B", rng.random(1_000) < 0.3)
    made_of = made(rng, b)
    assert not list(told(x, made_of))


def told(x, columns):
    code = np.unique(x, return_inverse=True)[1]
    yield from told_inside(code, _flags(code), {name: pl.Series(values) for name, values in columns.items()})


def test_two_in_a_hundred_may_be_exceptions_and_a_number_of_the_row_may_tell():
    rng = np.random.default_rng(6)
    x = labels(rng, 1_000, 0.3)
    b = (x == "B") ^ (rng.random(1_000) < 0.015)
    [(names, says)] = told(x, at_night(rng, b))
    assert names == ("t",)
    assert says == "hour of 't'"
    number = rng.permutation(1_000)
    assert list(told(np.where(number % 3 == 1, "B", "A"), {"number": number}))


def test_columns_that_have_nothing_to_do_with_the_label_pass():
    rng = np.random.default_rng(7)
    words = ["red", "green", "blue", "north", "south", "east", "west", "Alpha", "beta"]
    found = 0
    for rows in (60, 200, 1_000) * 12:
        kinds = int(rng.integers(2, 9))
        x = rng.choice(kinds, rows, p=rng.dirichlet(np.full(kinds, 0.7)))
        start = [START + dt.timedelta(seconds=int(one)) for one in rng.integers(0, 3 * 10**7, rows)]
        columns = {
            "start": start,
            "day": [one.date() for one in start],
            "id": rng.permutation(10**6)[:rows],
            "code": [
                f"{a}-{b:06d}" for a, b in zip(rng.choice(list("ABC"), rows), rng.integers(0, 10**6, rows), strict=True)
            ],
            "text": [" ".join(one) for one in rng.choice(words, (rows, 3))],
            "amount": rng.lognormal(3 + 0.3 * (x == 0), 1).round(2),
            "count": rng.poisson(5 + x),
        }
        found += len(list(told(x, columns)))
    assert found == 0
