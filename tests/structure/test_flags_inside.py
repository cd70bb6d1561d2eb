"""Flags for ranges of the hidden column, inside columns of many values: refused, and nothing that only looks alike."""

from __future__ import annotations

import datetime
import uuid

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.structure.others.alongside import Gathering
from statveil.tables.structure.others.hidden_flags import hidden_flags

PLAN = sv.plan(sv.Problem(secret=sv.Mean(), prior=(80, 120), tolerance=0.5), max_risk=0.1)
WORDS = ("seen", "done", "note", "call", "mail", "sent", "later", "today", "file", "open")
DAY = datetime.date(2021, 3, 1)  # a Monday


def letters(rng, number):
    return "".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), number))


# --- one cell with a flag, or without ---------------------------------------------------------------
def rest(divisor, marked=0):
    def cell(flag, rng):
        other = (marked + 1 + rng.integers(0, divisor - 1)) % divisor
        return divisor * int(rng.integers(100, 9000)) + int(marked if flag else other)

    return cell


def digit(place, which, *, text):
    def cell(flag, rng):
        digits = [str(one) for one in rng.integers(1, 10, 7)]
        digits[place] = str(which) if flag else str(rng.choice([one for one in range(1, 10) if one != which]))
        return "".join(digits) if text else int("".join(digits))

    return cell


def block(low, high):
    """Ids in a range of their own."""

    def cell(flag, rng):
        if flag:
            return int(rng.integers(low, high))
        return int(rng.integers(100_000, low) if rng.random() < 0.5 else rng.integers(high, 1_000_000))

    return cell


def word(which):
    def cell(flag, rng):
        words = list(rng.choice(WORDS, 5))
        if flag:
            words[rng.integers(5)] = which
        return " ".join(words)

    return cell


def weekday(*days):
    def cell(flag, rng):
        chosen = days if flag else [day for day in range(7) if day not in days]
        return DAY + datetime.timedelta(days=7 * int(rng.integers(0, 150)) + int(rng.choice(chosen)))

    return cell


def first_of_month(flag, rng):
    return datetime.date(
        int(rng.integers(2015, 2024)), int(rng.integers(1, 13)), 1 if flag else int(rng.integers(2, 28))
    )


def afternoon(flag, rng):
    hour = int(rng.integers(0, 12)) + 12 * int(flag)
    return datetime.datetime(2021, 3, 1, hour, int(rng.integers(0, 60))) + datetime.timedelta(
        days=int(rng.integers(900))
    )


def capital(flag, rng):
    name = letters(rng, 6)
    return name.title() if flag else name


def sign(flag, rng):
    return (1 if flag else -1) * float(rng.gamma(2, 10))


def whole(flag, rng):
    return float(np.round(rng.gamma(5, 10), 0 if flag else 1))


def even_length(flag, rng):
    return letters(rng, 6 + int(flag) + 2 * int(rng.integers(0, 6)))


def domain(flag, rng):
    return f"{letters(rng, 6)}@{'a.com' if flag else rng.choice(['b.org', 'c.net', 'dd.com'])}"


INSIDE = {
    "even": rest(2),
    "multiple of 3": rest(3),
    "2 more than a multiple of 7": rest(7, 2),
    "digit 7": digit(3, 7, text=True),
    "digit 7 of a number": digit(3, 7, text=False),
    "first digit 2": digit(0, 2, text=True),
    "last digit 4 of a number": digit(6, 4, text=False),
    "ids 5xxxxx": block(500_000, 600_000),
    "ids between no round numbers": block(437_000, 562_000),
    "urgent": word("urgent"),
    "ok": word("ok"),
    "weekend": weekday(5, 6),
    "Tuesdays": weekday(1),
    "weekend, as text": lambda flag, rng: weekday(5, 6)(flag, rng).isoformat(),
    "first of the month": first_of_month,
    "afternoon": afternoon,
    "capital": capital,
    "sign": sign,
    "whole": whole,
    "even length": even_length,
    "domain": domain,
}


def written(one, other, *, share=1.0):
    """Cells written in one way with the flag, in the other without; the other cells of a share that has neither."""

    def cell(flag, rng):
        number = int(rng.integers(1, 100))
        if rng.random() >= share:
            return str(number)
        return (one if flag else other).format(n=number, w=letters(rng, 5), h=rng.integers(0, 24))

    return cell


WRITTEN = {
    "plus": written("+{n}", "{n}"),
    "zeros in front": written("{n:03d}", "{n}"),
    "zero at the end": written("{n}.50", "{n}.5"),
    "E": written("{n}.5E1", "{n}.5e1"),
    "no zero before the point": written(".{n:02d}", "0.{n:02d}"),
    "point": written("{n}.0", "{n}"),
    "power": written("{n}e0", "{n}"),
    "one number in two ways": written("1e3", "1000", share=0.5),
    "case inside": written("itEm{n}", "item{n}"),
    "zone": written("2024-03-{h:02d}T{h:02d}:10:00Z", "2024-03-{h:02d}T{h:02d}:10:00+00:00"),
    "no seconds": written("2024-03-04 {h:02d}:10", "2024-03-04 {h:02d}:10:00"),
    "blank": written("{w}\u00a0{w}", "{w} {w}"),
    "mark for missing": written("NA", "N/A", share=0.5),
    "dot at the end": written("w{n}.", "w{n}"),
    "accent": written("cafe\u0301{n}", "caf\u00e9{n}"),
}


def over(values):
    return values >= 100


def between(values):
    return (values >= 92) & (values < 112)


def drawn(seed, rows):
    rng = np.random.default_rng([11, seed, rows])
    return rng, rng.normal(rng.uniform(88, 112), 22, rows)


def beside(cell, flags, rng):
    return pl.Series([cell(flag, rng) for flag in flags.tolist()])


def refused(table):
    with pytest.raises(sv.StructureError, match="--accept copies") as raised:
        sv.release(PLAN, table, column="x")
    return str(raised.value)


@pytest.mark.parametrize("rows", [300, 2000])
@pytest.mark.parametrize("cell", INSIDE.values(), ids=INSIDE.keys())
def test_a_flag_inside_a_column_of_many_values_is_refused(cell, rows):
    rng, values = drawn(0, rows)
    said = refused(pl.DataFrame({"x": values, "other": beside(cell, over(values), rng)}))
    assert "other (" in said  # with what tells


@pytest.mark.parametrize("rows", [300, 2000])
@pytest.mark.parametrize("cell", WRITTEN.values(), ids=WRITTEN.keys())
def test_a_way_of_writing_is_a_flag(cell, rows, tmp_path):
    rng, values = drawn(1, rows)
    path = tmp_path / "table.csv"
    cells = beside(cell, over(values), rng).to_list()
    path.write_text("x,other\n" + "".join(f"{x!r},{one}\n" for x, one in zip(values.tolist(), cells, strict=True)))
    with pytest.raises(sv.StructureError, match="--accept copies"):
        sv.release(PLAN, path, output=tmp_path / "released.csv", column="x")


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("rows", [300, 2000])
def test_flags_that_tell_only_together_are_refused(number, rows):
    rng, values = drawn(2, rows)
    flags = [rng.random(rows) < 0.5 for _ in range(number - 1)]
    last = np.bitwise_xor.reduce([over(values), *flags])
    table = {"x": values, **{f"flag {i}": one for i, one in enumerate(flags)}, "last": last}
    assert "with 'last'" in refused(pl.DataFrame(table))
    del table["last"]
    sv.release(PLAN, pl.DataFrame(table), column="x")  # all but one of them say nothing


def found(values, columns):
    rows = Gathering()
    rows.add(values, {name: pl.Series(name, column) for name, column in columns.items()})
    sample = rows.done()
    return list(hidden_flags(sample.values, sample.inside))


@pytest.mark.parametrize("name", ["even", "digit 7", "last digit 4 of a number", "urgent", "Tuesdays", "domain"])
@pytest.mark.parametrize("rows", [300, 2000])
def test_a_range_in_the_middle_and_one_error_in_a_hundred_are_found(name, rows):
    for seed in range(4):
        rng, values = drawn(seed, rows)
        flags = between(values)
        flags[rng.permutation(rows)[: rows // 100]] ^= True
        assert found(values, {"other": beside(INSIDE[name], flags, rng)}), seed


def test_a_flag_is_found_in_a_sorted_table_and_among_rows_without_a_value():
    rng, values = drawn(3, 400)
    values = np.sort(values)
    assert found(values, {"other": beside(INSIDE["multiple of 3"], over(values), rng)})
    values = rng.permutation(values)
    cells = beside(INSIDE["digit 7"], over(values), rng)
    assert found(values, {"other": pl.select(pl.when(pl.Series(rng.random(400) < 0.7)).then(cells)).to_series()})


def test_half_of_the_errors_that_a_slope_makes_are_too_many():
    """One row in twenty is wrong, and all of them beside the limit: nobody knows where that was."""
    rng, values = drawn(4, 2000)
    assert not found(values, {"other": beside(INSIDE["even"], over(values + rng.normal(0, 4, 2000)), rng)})


# --- what has nothing to do with the column ---------------------------------------------------------
def strangers(rng, rows, *, in_time):
    """Columns of the usual kinds; times and ids rise along the table where it is in time order."""
    order = np.sort if in_time else np.asarray
    days, seconds = order(rng.integers(0, 1500, rows)), order(rng.integers(0, 10**8, rows))
    person = order(rng.integers(0, max(rows // 8, 2), rows))
    names = [letters(rng, 4).title() for _ in range(30)]
    first, last = rng.choice(names, rows), rng.choice(names, rows)
    return days, person, {
        "code": order(rng.integers(10**4, 10**6, rows)),
        "date": pl.Series([DAY + datetime.timedelta(days=int(day)) for day in days]),
        "time": pl.Series([datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=int(one)) for one in seconds]),
        "note": [" ".join(rng.choice(WORDS, 5)) for _ in range(rows)],
        "name": [f"{one} {other}" for one, other in zip(first, last, strict=True)],
        "amount": np.round(rng.gamma(2, 40, rows), 2),
        "mail": [f"{one}{i}@{letters(rng, 2)}.com" for i, one in enumerate(first)],
        "uuid": [str(uuid.UUID(bytes=rng.bytes(16))) for _ in range(rows)],
        "category": rng.choice(["red", "green", "blue", "grey", "pink"], rows, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
        "written": [f"{one:.2f}" if one > 5 else "NA" for one in rng.gamma(2, 20, rows)],
        "flag": rng.random(rows) < 0.3,
        "other flag": rng.random(rows) < 0.5,
        "row": [f"P{one:04d}-{i:05d}" for i, one in enumerate(person)],
        "person": [f"K{one:04d}" for one in person],
    }  # fmt: skip


def slowly(rng, rows):
    steps = rng.normal(0, 1, rows)
    for i in range(1, rows):
        steps[i] += 0.95 * steps[i - 1]
    return steps


COLUMNS = {
    "normal": lambda rng, rows, days, person: rng.normal(100, 22, rows),
    "gamma": lambda rng, rows, days, person: rng.gamma(2, 30, rows),
    "rounded": lambda rng, rows, days, person: np.round(rng.normal(40, 8, rows)),
    "few": lambda rng, rows, days, person: np.round(rng.exponential(2, rows)),
    "walk": lambda rng, rows, days, person: np.cumsum(rng.normal(0, 1, rows)),
    "slow": lambda rng, rows, days, person: slowly(rng, rows),
    "trend": lambda rng, rows, days, person: days / 300 + rng.normal(0, 1, rows),
    "season": lambda rng, rows, days, person: 20 * np.sin(days / 58.1) + rng.normal(0, 8, rows),
    "persons": lambda rng, rows, days, person: rng.normal(0, 20, rows)[person] + rng.normal(0, 3, rows),
    "sorted": lambda rng, rows, days, person: np.sort(rng.normal(100, 22, rows)),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
@pytest.mark.parametrize("in_time", [False, True])
def test_columns_that_have_nothing_to_do_with_it_tell_nothing(column, in_time):
    for seed in range(3):
        rng = np.random.default_rng([12, seed])
        rows = int(np.exp(rng.uniform(np.log(60), np.log(2500))))
        days, person, columns = strangers(rng, rows, in_time=in_time)
        values = column(rng, rows, days, person)
        assert not found(values, columns), (seed, rows)


@pytest.mark.parametrize("correlation", [0.5, 0.7, 0.9])
def test_numbers_that_go_along_with_it_tell_nothing(correlation):
    for seed in range(20):
        rng, values = drawn(seed, [80, 300, 2000][seed % 3])
        rest = rng.normal(0, 1, len(values))
        along = correlation * (values - values.mean()) / values.std() + np.sqrt(1 - correlation**2) * rest
        group = np.digitize(along + rng.normal(0, 1, len(values)), [-1, 0, 1])
        columns = {
            "amount": np.round(100 + 30 * along, 2),
            "whole": np.round(100 + 30 * along).astype(np.int64),
            "around 0": along,
            "skewed": np.round(np.exp(3 + 0.8 * along), 1),
            "group": np.array(["north", "east", "south", "west"])[group],
        }
        assert not found(values, columns), seed


def test_a_column_that_knows_ranks_alone_tells_nothing():
    """Numbers of the rows in the column's order, whose leading digits are ranges of it."""
    _, values = drawn(5, 500)
    ranks = np.argsort(np.argsort(values))
    assert not found(values, {"id": 1000 + ranks, "quarter": np.array(["a", "b", "c", "d"])[ranks // 125]})
