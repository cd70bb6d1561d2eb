"""Labels that follow from two or more kept columns by a public rule, none of which tells the label by itself.

Each kind is refused by name over variants, and the rule counts the labels of a release that was forced; columns that
have nothing to do with the label, or merely go along with it, are released.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.structure.others.rule_columns import DAY, readable
from statveil.tables.structure.others.rule_odds import choices, sure
from statveil.tables.structure.others.rule_search import find_rules

PLAN = sv.plan(
    sv.Problem(family=sv.Categorical(labels=("yes", "no")), secret=sv.Fraction("yes"), tolerance=0.02), max_risk=0.2
)


def above(values, share):
    """Such a shift of the values that so many of them lie above 0."""
    return values - np.quantile(values, 1 - share)


def moments(minutes):
    return np.datetime64("2024-01-01T00:00:00", "us") + np.asarray(minutes).astype("timedelta64[m]")


def beside(rng, rows):
    """Other columns that have nothing to do with any of it."""
    return {
        "number": rng.permutation(10 * rows)[:rows],
        "amount": rng.lognormal(4, 1, rows).round(2),
        "age": rng.integers(18, 80, rows),
        "town": rng.choice(["Rome", "Oslo", "Bonn"], rows),
    }


def late(rng, rows, share):
    """Planned and real minutes, whole."""
    planned = rng.integers(0, 500_000, rows)
    delay = np.round(15 + above(rng.gamma(2, 10, rows), share)).astype(int)
    return delay >= 15, planned, planned + delay


def late_minutes(rng, rows, share):
    told, planned, real = late(rng, rows, share)
    return told, {"planned": planned, "real": real}


def late_moments(rng, rows, share):
    told, planned, real = late(rng, rows, share)
    return told, {"planned": moments(planned), "real": moments(real)}


def late_texts(rng, rows, share):
    told, planned, real = late(rng, rows, share)
    written = ([one.item().strftime("%d.%m.%Y %H:%M") for one in moments(made)] for made in (planned, real))
    return told, dict(zip(("planned", "real"), written, strict=True))


def late_by_the_clock(rng, rows, share):
    """Some of them after midnight."""
    told, planned, real = late(rng, rows, share)
    written = ([f"{m // 60 % 24:02}:{m % 60:02}" for m in made.tolist()] for made in (planned, real))
    return told, dict(zip(("planned", "real"), written, strict=True))


def late_by_whole_numbers(rng, rows, share):
    told, planned, real = late(rng, rows, share)
    return told, {"planned": planned // 60 % 24 * 100 + planned % 60, "real": real // 60 % 24 * 100 + real % 60}


def paid_late(rng, rows, share):
    """A date, and a point in time."""
    due = rng.integers(0, 700, rows)
    days = np.round(200 * above(rng.standard_normal(rows), share))
    paid = moments(1440 * (due + days) + rng.integers(0, 1440, rows))
    return paid >= moments(1440 * (due + 14)), {"due": moments(1440 * due).astype("datetime64[D]"), "paid": paid}


def over_budget(rng, rows, share):
    budget = rng.lognormal(9, 1, rows).round(-2)
    spent = (budget * np.exp(above(0.2 * rng.standard_normal(rows), share))).round(2)
    return spent > budget, {"budget": budget, "spent": spent}


def discount(rng, rows, share):
    full = rng.lognormal(4, 1, rows)
    part = 0.2 + above(rng.beta(2, 6, rows), share)
    return part >= 0.2, {"full": full, "price": full * (1 - part)}


def near_the_norm(rng, rows, share):
    """Within so many per cent of another column."""
    norm = rng.lognormal(4, 1, rows)
    off = 0.1 * rng.standard_normal(rows)
    return np.abs(off) < np.quantile(np.abs(off), share), {"norm": norm, "measured": norm * (1 + off)}


def most_votes(rng, rows, share):
    votes = np.round(rng.lognormal(6, 1, (rows, 1)) * rng.lognormal(0, 0.3, (rows, 4)))
    votes[:, 0] *= 2 * share + 0.5
    return votes[:, 0] > votes[:, 1:].max(axis=1), {f"party{i}": votes[:, i] for i in range(4)}


def fewest_points(rng, rows, share):
    told, columns = most_votes(rng, rows, share)
    return told, {name: 10**6 - one for name, one in columns.items()}


def within_its_limits(rng, rows, share):
    middle = rng.lognormal(4, 1, rows)
    low, high = middle * rng.uniform(0.6, 0.9, rows), middle * rng.uniform(1.1, 1.6, rows)
    value = middle * np.exp(0.25 * rng.standard_normal(rows))
    return (low < value) & (value < high), {"low": low, "high": high, "value": value}


def passed(rng, rows, share):
    marks = np.round(rng.normal(60, 12, (rows, 5)))
    told = above(marks.mean(axis=1), share) > 0
    return told, {f"exam{i}": marks[:, i] for i in range(5)}


def several_signs(rng, rows, share):
    """Three of six that are written as words, or more."""
    signs = rng.random((rows, 6)) < 0.45
    return signs.sum(axis=1) >= 3, {f"sign{i}": np.where(signs[:, i], "present", "absent") for i in range(6)}


def weighted(rng, rows, share):
    parts = rng.normal(0, 1, (rows, 4)) * [1, 2, 1, 5] + 20
    return above(parts @ [0.5, 0.3, -0.4, 0.1], share) > 0, {f"part{i}": parts[:, i] for i in range(4)}


def mass_index(rng, rows, share):
    size = rng.normal(170, 10, rows)
    index = np.exp(above(0.2 * rng.standard_normal(rows), share)) * 30
    return index > 30, {"size": size, "weight": index * size**2 / 10_000}


def same_town(rng, rows, share):
    names = np.array([f"{one}{two}ville" for one in "BCDFGHJKLM" for two in "aeiouy"])
    home, told = rng.integers(0, 60, rows), rng.random(rows) < share
    work = np.where(told, home, (home + rng.integers(1, 60, rows)) % 60)
    return told, {"home": names[home], "work": [f"{one.upper()} " for one in names[work]]}


LIMITS = [
    late_minutes,
    late_moments,
    late_texts,
    late_by_the_clock,
    late_by_whole_numbers,
    paid_late,
    over_budget,
    discount,
    near_the_norm,
]
COMPARED = [most_votes, fewest_points, within_its_limits]
SUMS = [passed, several_signs, weighted, mass_index]


def table(made, seed, rows, errors=0.0):
    rng = np.random.default_rng(seed)
    told, columns = made(rng, rows, rng.uniform(0.25, 0.75))
    label = np.where(told ^ (rng.random(rows) < errors), "yes", "no")
    return pl.DataFrame({**beside(rng, rows), **columns, "y": label}), list(columns)


def rules(frame):
    values = (frame["y"] == "yes").cast(pl.Float64).to_numpy()
    return find_rules(values, frame.drop("y").to_dict())


@pytest.mark.parametrize("rows", [300, 1_000])
@pytest.mark.parametrize("made", [*LIMITS, *COMPARED, *SUMS, same_town])
@pytest.mark.heavy(6)
def test_a_rule_of_several_columns_is_refused(made, rows):
    for seed in range(3):
        frame, _ = table(made, seed, rows)
        with pytest.raises(sv.StructureError, match="--accept groups"):
            sv.release(PLAN, frame, column="y", accept=["few-rows"])


@pytest.mark.parametrize("rows", [100, 1_000])
@pytest.mark.parametrize("made", [*LIMITS, *COMPARED, *SUMS, same_town])
def test_the_columns_of_the_rule_are_named_in_spite_of_some_errors(made, rows):
    named = 0
    for seed in range(6):
        frame, columns = table(made, seed, rows, errors=0.01)
        named += any(sum(f"'{name}'" in says for name in columns) >= 2 for says in rules(frame))
    assert named >= 5


def test_the_refusal_names_the_columns_and_says_what_to_do():
    frame, _ = table(late_moments, 0, 300)
    with pytest.raises(sv.StructureError, match=r"the time between 'planned' and 'real'.*drop one of the columns"):
        sv.release(PLAN, frame, column="y", accept=["few-rows"])
    sv.release(PLAN, frame.drop("real"), column="y", accept=["few-rows"])


def test_whoever_knows_the_rule_counts_the_labels_of_a_release_that_was_forced():
    for seed in range(6):
        frame, _ = table(late_moments, seed, 600)
        after = sv.release(PLAN, frame, column="y", accept=["groups"])
        assert not after["y"].equals(frame["y"])
        counted = ((after["real"] - after["planned"]).dt.total_minutes() >= 15).mean()
        assert counted == (frame["y"] == "yes").mean()


@pytest.mark.parametrize("several", [3, 5])
def test_several_labels_are_held_against_the_others(several):
    """Early, on time, late; five classes by the quotient."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        first = rng.lognormal(5, 1, 500)
        quotient = rng.lognormal(0, 0.3, 500)
        label = np.searchsorted(np.quantile(quotient, np.arange(1, several) / several), quotient)
        columns = {**beside(rng, 500), "first": first, "second": first * quotient}
        found = find_rules(rng.permutation(several)[label].astype(float), pl.DataFrame(columns).to_dict())
        assert any("'first' and 'second'" in one for one in found)


def harmless(rng, rows):
    """Columns that go along with one another, and a label that goes along with one of them, or with none."""
    common = rng.standard_normal((rows, 2)) @ rng.standard_normal((2, 8)) * rng.choice([0, 0.7, 2])
    made = rng.standard_normal((rows, 8)) + common
    start = rng.integers(0, 700, rows)
    end = start + np.round(20 * np.exp(made[:, 6] / 2)).astype(int)
    columns = {
        "price": np.exp(4 + made[:, 0]).round(2),
        "cost": np.exp(4 + made[:, 1] / 2).round(2),
        "age": np.clip(np.round(45 + 15 * made[:, 2]), 18, 90),
        "first": np.round(60 + 12 * made[:, 3]),
        "second": np.round(60 + 12 * made[:, 4]),
        "points": np.clip(np.round(3 + 1.5 * made[:, 5]), 0, 6),
        "start": [str(one)[:10] for one in moments(1440 * start)],
        "end": [str(one)[:10] for one in moments(1440 * end)],
        "home": rng.choice(["Rome", "Oslo", "Bonn"], rows),
        "work": rng.choice(["ROME", "Oslo", "Bern"], rows),
    }
    along = rng.choice([0, 0.5]) * made[:, rng.integers(8)] + rng.standard_normal(rows)
    return above(along, rng.uniform(0.03, 0.97)) > 0, columns


def test_columns_that_have_no_rule_pass():
    found = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        label, columns = harmless(rng, int(rng.choice([60, 200, 1_000])))
        found += bool(find_rules(label.astype(float), pl.DataFrame(columns).to_dict()))
    assert found <= 1


def test_tables_without_a_rule_are_released():
    refused = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        frame = pl.DataFrame({**beside(rng, 400), "x": rng.normal(0, 1, 400), "z": rng.gamma(3, 2, 400)})
        label = np.where(rng.random(400) < rng.uniform(0.1, 0.9), "yes", "no")
        try:
            sv.release(PLAN, frame.with_columns(y=pl.Series(label)), column="y", accept=["few-rows"])
        except sv.StructureError:
            refused += 1
    assert refused <= 2


def test_the_odds_of_luck_are_those_of_counted_choices():
    """Of ten labelled rows of forty, all above one of 41 limits: 41 of all choices of ten, and that many more tries."""
    assert np.exp(choices(40, 10)) == pytest.approx(847_660_528)
    limit = 847_660_528 * 1e-5 / 41
    assert sure(0, 40, 10, np.log(41 * 0.99 * limit))
    assert not sure(0, 40, 10, np.log(41 * 1.01 * limit))


def test_times_of_all_kinds_have_one_unit():
    when = moments(np.arange(0, 50_000, 500))
    columns = {
        "moment": pl.Series(when),
        "milliseconds": pl.Series(when).dt.cast_time_unit("ms"),
        "text": pl.Series([one.item().strftime("%d.%m.%Y %H:%M") for one in when]),
        "day": pl.Series(when.astype("datetime64[D]")),
        "written day": pl.Series([one.item().strftime("%d.%m.%Y") for one in when]),
        "clock": pl.Series(when).dt.time(),
        "written clock": pl.Series([one.item().strftime("%H:%M") for one in when]),
    }
    read = {one.name: one for one in reversed(readable(columns)) if one.kind != "number"}
    exact = when.astype(np.int64).astype(float)
    for name in ("moment", "milliseconds", "text"):
        assert (read[name].kind, np.array_equal(read[name].numbers, exact)) == ("time", True)
    for name in ("day", "written day"):
        assert (read[name].kind, np.array_equal(read[name].numbers, exact // DAY * DAY)) == ("time", True)
    for name in ("clock", "written clock"):
        assert (read[name].kind, np.array_equal(read[name].numbers, exact % DAY)) == ("clock", True)
