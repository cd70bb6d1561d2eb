"""Dates, digits and numerals as people write them, beside a column that they tell, and beside others."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from statveil.tables.structure.others.telling import find_copies
from statveil.tables.structure.rows.group_search import numbers_in

FIRST = dt.datetime(2019, 1, 1)
DAYS = (
    "%d-%b-%Y", "%B %d, %Y", "%d %b %y", "%a %b %d %Y", "%d%b%Y", "%A, %d. %B %Y", "%Y %B %d", "%Y-%d-%b", "%b. %d, %Y",
    "%d%m%y", "%m%d%y", "%y%m%d", "%d%m%Y", "%Y%m%d", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m.%d.%Y", "%Y/%m/%d",
    "%d, %m, %Y", "%Y\u5e74%m\u6708%d\u65e5", "%y%j", "%Y%j", "seen on the %dth of %B %Y",
)  # fmt: skip
TIMES = (
    "%d/%b/%Y:%H:%M:%S", "%d/%b/%Y:%H:%M:%S +0100", "%m/%d/%Y %I:%M:%S %p", "%a %b %d %H:%M:%S %Y", "%d%b%Y:%H:%M:%S",
    "%Y-%m-%dT%H:%M:%S+01:00", "%Y%m%dT%H%M%S", "%Y%m%d%H%M%S", "%H:%M:%S %d.%m.%Y",
)  # fmt: skip


def told(values, **others):
    columns = {name: pl.Series(other) for name, other in others.items()}
    return bool(find_copies(iter([(np.asarray(values, dtype=np.float64), columns)])))


def written(seconds, form, change=str):
    return [change((FIRST + dt.timedelta(seconds=float(one))).strftime(form)) for one in seconds]


def stay(seed, rows=80, day=86_400):
    """A start within two years, and a stay of some weeks, in whole days."""
    rng = np.random.default_rng(seed)
    start, days = rng.integers(0, 700, rows), np.round(rng.gamma(16, 8, rows))
    return day * start, day * (start + days), days


# --- dates ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", DAYS)
def test_a_start_and_an_end_tell_the_days_between_them(form):
    start, end, days = stay(1)
    for change in (str, str.upper):
        assert told(days, admitted=written(start, form, change), discharged=written(end, form, change))
    other = stay(2)[2]  # dates of other stays
    assert not told(other, admitted=written(start, form), discharged=written(end, form))


@pytest.mark.parametrize("form", TIMES)
def test_times_of_day_count(form):
    rng = np.random.default_rng(3)
    start, hours = rng.uniform(0, 3e7, 80), rng.gamma(16, 2, 80)
    ends = written(start + 3600 * hours, form)
    assert told(hours, begun=written(start, form), done=ends)
    assert not told(rng.gamma(16, 2, 80), begun=written(start, form), done=ends)


@pytest.mark.parametrize("form", DAYS)
def test_one_date_tells_the_days_since_a_day_that_all_know(form):
    since = np.random.default_rng(4).gamma(16, 12, 60)
    assert told(since, since=written(86_400 * since, form))


def test_dates_as_whole_numbers_and_with_some_missing():
    start, end, days = stay(5)
    assert told(days, a=np.array(written(start, "%d%m%y"), int), b=np.array(written(end, "%d%m%y"), int))
    gaps = [None if i == 3 else "n/a" if i == 7 else text for i, text in enumerate(written(end, "%d-%b-%Y"))]
    assert told(days, a=written(start, "%d-%b-%Y"), b=gaps)


@pytest.mark.parametrize(
    ("words", "month"),
    [("März", 3), ("mai", 5), ("févr.", 2), ("août", 8), ("octubre", 10), ("dic", 12), ("DEZ", 12), ("juil.", 7)],
)
def test_months_of_other_languages(words, month):
    texts = pl.Series([f"{day}. {words} 2020" for day in range(1, 21)])
    days = [(dt.date(2020, month, day) - dt.date(1970, 1, 1)).days for day in range(1, 21)]
    assert numbers_in(texts)[0].tolist() == days


def test_months_as_roman_numerals():
    numerals = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
    texts = pl.Series([f"5.{numeral}.2020" for numeral in numerals])
    assert numbers_in(texts)[0].tolist() == [(dt.date(2020, m, 5) - dt.date(1970, 1, 1)).days for m in range(1, 13)]


def test_what_can_be_read_in_two_ways_is():
    found = numbers_in(pl.Series(["01/02/2020", "03/04/2020", "05/12/2020"] * 5))
    first = [(dt.date(*parts) - dt.date(1970, 1, 1)).days for parts in ((2020, 2, 1), (2020, 1, 2))]
    assert {first[0], first[1]} <= {int(one[0]) for one in found}
    assert not any(one[0] == first[0] for one in numbers_in(pl.Series(["31/02/2020", "30/02/2020", "32/01/2020"])))


def test_a_number_beside_a_date_in_one_text_is_still_read():
    rng = np.random.default_rng(6)
    x = rng.normal(170, 8, 80)
    dates = written(86_400 * rng.integers(0, 700, 80), "%d %b %Y")
    assert told(x, note=[f"{v:.1f} cm on {date}" for v, date in zip(x, dates, strict=True)])
    assert not told(rng.normal(170, 8, 80), note=[f"{v:.1f} cm on {date}" for v, date in zip(x, dates, strict=True)])


# --- digits ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("zero", ["\u0660", "\u06f0", "\u0966", "\u09e6", "\uff10", "\u0e50", "\U0001d7ce"])
def test_digits_of_every_script_are_digits(zero):
    rng = np.random.default_rng(7)
    x = rng.normal(1700, 80, 60)
    there = {ord("0") + i: chr(ord(zero) + i) for i in range(10)}
    assert told(x, y=[f"{v:.0f}".translate(there) for v in x])
    assert told(x, y=[f"{v:,.1f} kg".translate({**there, ord(","): "\u066c", ord("."): "\u066b"}) for v in x])
    assert told(x, y=["\u200f" + hex(int(v))[2:].translate(there) for v in x])
    assert not told(rng.normal(1700, 80, 60), y=[f"{v:.0f}".translate(there) for v in x])


def numeral(number):
    pairs = (
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
    )
    made = ""
    for size, letters in (*pairs, (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        made, number = made + letters * (number // size), number % size
    return made


def test_roman_numerals_are_numbers():
    assert numbers_in(pl.Series([numeral(n) for n in range(1, 4000)]))[0].tolist() == list(range(1, 4000))
    rng = np.random.default_rng(8)
    x = rng.gamma(16, 10, 80)
    assert told(x, y=[numeral(round(v)) for v in x])
    assert told(x, y=[numeral(round(v)).lower() for v in x])
    assert not told(rng.gamma(16, 10, 80), y=[numeral(round(v)) for v in x])
    assert not np.isfinite(numbers_in(pl.Series(["M", "D", "C", "M"]))[0]).any()  # initials


# --- what tells nothing ---------------------------------------------------------------------------
def test_names_codes_and_dates_without_a_link_are_released():
    rows, refused = 120, 0
    for seed in range(20):
        rng = np.random.default_rng([9, seed])
        refused += told(
            rng.normal(100, 7, rows),
            name=rng.choice(["Mar\u00eda", "Jan", "June", "Ay\u015fe", "\u6797", "Dez"], rows),
            code=[f"{a:02}-{b:02}-{c:02}" for a, b, c in rng.integers(1, 13, (rows, 3))],
            version=[f"{a}.{b}.{c}" for a, b, c in rng.integers(0, 30, (rows, 3))],
            born=written(86_400 * rng.integers(0, 9000, rows), "%d %B %Y"),
            seen=written(86_400 * rng.integers(0, 900, rows), "%b %d, %Y %I:%M %p"),
            number=rng.integers(100_000, 999_999, rows),
        )
    assert refused <= 1
