"""Other columns that give the released one away: each attack works where it is forced, and is refused by name."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.verification import LEAKS

ROWS = 400
PLAN = sv.plan(
    sv.Problem(family=sv.Location(), prior=sv.Box(mean=(50, 150)), secret=sv.Mean(), tolerance=1.0), max_risk=0.1
)


def column(rng):
    return rng.uniform(60, 140) + rng.normal(0, 7, ROWS)


def attacked(frame, original):
    """The map undone with the copy: the shift is what lies between the released column and the one read off."""
    return float(np.mean(np.asarray(original(frame))))


def flagged(frame):
    """The number 100, which everyone knows, lies between the released values of the two sides."""
    x, passed = frame["x"].to_numpy(), frame["passed"].to_numpy()
    border = 0.5 * (x[passed].min() + x[~passed].max())
    return float(x.mean() - (border - 100))


TELLING = {
    "log": (lambda x, rng: {"y": np.log(x)}, lambda f: np.exp(f["y"])),
    "log printed with 2 digits": (lambda x, rng: {"y": np.round(np.log(x), 2)}, lambda f: np.exp(f["y"])),
    "rounded": (lambda x, rng: {"y": np.round(x)}, lambda f: f["y"]),
    "other unit": (lambda x, rng: {"y": np.round(x / 2.54, 1)}, lambda f: f["y"] * 2.54),
    "falling": (lambda x, rng: {"y": 1 / x}, lambda f: 1 / f["y"]),
    "with tax and cents": (lambda x, rng: {"y": np.round(1.19 * x, 2)}, lambda f: f["y"] / 1.19),
    "text of numbers": (lambda x, rng: {"y": [f"{v:.1f}" for v in x]}, lambda f: f["y"].cast(pl.Float64)),
    "clock times": (
        lambda x, rng: (lambda start: {"start": start, "end": start + x})(rng.uniform(0, 1e6, ROWS)),
        lambda f: f["end"] - f["start"],
    ),
    "in another unit between clock times": (
        lambda x, rng: (lambda start: {"start": start, "end": start + 60 * x})(rng.uniform(0, 1e6, ROWS)),
        lambda f: (f["end"] - f["start"]) / 60,
    ),
    "quantity and total": (
        lambda x, rng: (lambda count: {"count": count, "total": count * x})(rng.integers(1, 9, ROWS)),
        lambda f: f["total"] / f["count"],
    ),
    "parts of a sum": (
        lambda x, rng: (lambda part: {"a": part * x, "b": (1 - part) * x})(rng.uniform(0, 1, ROWS)),
        lambda f: f["a"] + f["b"],
    ),
    "bucket": (lambda x, rng: {"y": np.floor(x / 2) * 2 + 1}, lambda f: f["y"]),
    "running total": (lambda x, rng: {"y": 1e6 + np.cumsum(x)}, lambda f: np.diff(f["y"])),
    "clock times with one missing": (
        lambda x, rng: (lambda start: {"start": start, "end": np.where(np.arange(ROWS) == 5, np.nan, start + x)})(
            rng.uniform(0, 1e6, ROWS)
        ),
        lambda f: np.nan_to_num(f["end"].to_numpy() - f["start"].to_numpy(), nan=100.0),
    ),
    "clock times as text": (
        lambda x, rng: (
            lambda start: {
                name: [str(np.datetime64("2026-01-01T00:00:00") + int(s))[:19] for s in part]
                for name, part in (("start", start), ("end", start + x))
            }
        )(rng.uniform(0, 1e6, ROWS)),
        lambda f: (f["end"].str.to_datetime() - f["start"].str.to_datetime()).dt.total_seconds(),
    ),
    "weighted sum": (
        lambda x, rng: (lambda b: {"a": (x - 0.7 * b) / 0.3, "b": b})(rng.uniform(50, 150, ROWS)),
        lambda f: 0.3 * f["a"] + 0.7 * f["b"],
    ),
    "sum of three": (
        lambda x, rng: (lambda p: {"a": p[0] * x, "b": p[1] * x, "c": p[2] * x})(rng.dirichlet([2, 2, 2], ROWS).T),
        lambda f: f["a"] + f["b"] + f["c"],
    ),
    "two tax rates": (
        lambda x, rng: {"y": x * np.where(rng.random(ROWS) < 0.7, 1.19, 1.07)},
        lambda f: np.where(f["y"] / (f["x"]) > 0, f["y"] / 1.154, 0),
    ),
    "copy with some zeros": (
        lambda x, rng: {"y": np.where(rng.random(ROWS) < 0.05, 0.0, x)},
        lambda f: f["y"].filter(f["y"] > 0),
    ),
    "with errors": (lambda x, rng: {"y": 0.23 * x + rng.normal(0, 0.8, ROWS)}, lambda f: f["y"] / 0.23),
    "measured twice": (lambda x, rng: {"y": x + rng.normal(0, 4, ROWS)}, lambda f: f["y"]),
    "logarithm with errors": (
        lambda x, rng: {"y": np.log(x) + rng.normal(0, 0.01, ROWS)},
        lambda f: np.exp(f["y"]) * np.exp(-0.5 * 0.01**2),
    ),
    "the larger of two": (
        lambda x, rng: (lambda less, first: {"a": np.where(first, x, less), "b": np.where(first, less, x)})(
            x - rng.exponential(8, ROWS), rng.random(ROWS) < 0.9
        ),
        lambda f: np.maximum(f["a"], f["b"]),
    ),
    "inside a longer text": (
        lambda x, rng: {"y": [f"room {rng.integers(9)}: EUR {1000 * v:,.2f} per month" for v in x]},
        lambda f: [float(text.split("EUR ")[1].split(" ")[0].replace(",", "")) / 1000 for text in f["y"]],
    ),
    "with a decimal comma": (
        lambda x, rng: {"y": [f"{v:.1f} kg".replace(".", ",") for v in x]},
        lambda f: [float(text.split(" ")[0].replace(",", ".")) for text in f["y"]],
    ),
    "a pair among forty columns": (
        lambda x, rng: (
            {f"c{i}": rng.random(ROWS) for i in range(38)}
            | (lambda start: {"start": start, "end": start + x})(rng.uniform(0, 1e6, ROWS))
        ),
        lambda f: f["end"] - f["start"],
    ),
    "text with a unit": (lambda x, rng: {"y": [f"{v:.1f} kg" for v in x]}, lambda f: f["y"].str.head(-3).cast(float)),
}


@pytest.mark.parametrize("name", TELLING)
@pytest.mark.heavy(2)
def test_a_column_that_tells_is_refused_and_gives_all_away_where_forced(name):
    beside, original = TELLING[name]
    hits = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = column(rng)
        frame = pl.DataFrame({"x": x, **beside(x, rng)})
        with pytest.raises(sv.StructureError, match=r"other columns tell its values.*--accept copies"):
            sv.release(PLAN, frame, column="x")
        forced = sv.release(PLAN, frame, column="x", accept=["copies"])
        hits += abs(attacked(forced, original) - x.mean()) <= 1.0
    assert hits >= 5  # the attack is real: 0.1 is claimed, with which that happens once in 18,000 times


@pytest.mark.parametrize("strays", [0, 1])
def test_a_flag_for_a_known_number_is_refused(strays):
    hits = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.uniform(95, 105) + rng.normal(0, 7, 2_000)
        passed = x >= 100
        passed[: strays * 2] ^= True  # typing errors
        frame = pl.DataFrame({"x": x, "passed": passed})
        with pytest.raises(sv.StructureError, match="'passed'"):
            sv.release(PLAN, frame, column="x")
        hits += abs(flagged(sv.release(PLAN, frame, column="x", accept=["copies"])) - x.mean()) <= 1.0
    assert strays or hits == 12


FLAGS = {
    "two-sided": lambda x, rng: (x > 95) & (x < 105),
    "with errors": lambda x, rng: (x >= 100) ^ (rng.random(len(x)) < 0.01),
    "five bands": lambda x, rng: np.digitize(x, [90, 95, 100, 110]),
    "filled above": lambda x, rng: np.where(x > 100, rng.random(len(x)), np.nan),
}


@pytest.mark.parametrize("name", FLAGS)
def test_flags_of_every_kind_are_refused(name):
    refused = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.uniform(95, 105) + rng.normal(0, 7, 1_000)
        try:
            sv.release(PLAN, pl.DataFrame({"x": x, "flag": FLAGS[name](x, rng)}), column="x")
        except sv.StructureError as error:
            refused += "copies" in str(error)
    assert refused == 10


def test_columns_that_know_ranks_alone_are_no_copies():
    rng = np.random.default_rng(3)
    x = np.sort(100 + rng.normal(0, 7, 400))
    quarter = np.repeat(["lowest", "low", "high", "highest"], 100)
    frame = pl.DataFrame({"x": x, "number": np.arange(1, 401), "quarter": quarter, "day": 3.5 + np.arange(400) / 24})
    order = rng.permutation(400)
    for rows in (frame, frame[order]):
        moved = sv.release(PLAN, rows, column="x")["x"].to_numpy() - rows["x"].to_numpy()
        assert np.ptp(moved) < 2 * PLAN.release_mode.wander(PLAN.problem)


@pytest.mark.parametrize("rows", [20, 60, 100])
@pytest.mark.parametrize("ties", [1, 5])
def test_a_copy_with_a_few_ties_is_no_numbering_of_the_rows(rows, ties):
    """Ties leave classes of one row and of two: nearly of one size, but named by the values and not in equal steps."""
    rng = np.random.default_rng(rows + ties)
    x = 100 + rng.normal(0, 7, rows)
    x[:ties] = x[ties : 2 * ties]
    with pytest.raises(sv.StructureError, match="'copy'"):
        sv.release(PLAN, pl.DataFrame({"x": x, "copy": np.log(x).round(6)}), column="x", accept=("repeats", "atoms"))


@pytest.mark.parametrize("form", [np.square, np.log, np.sqrt, lambda t: 1 / t])
def test_a_function_of_the_numbers_of_the_rows_is_told_by_them(form):
    number = np.arange(1.0, 201.0)
    x = form(number)
    problem = sv.Problem(
        family=sv.Location(), prior=sv.Box(mean=(-1e5, 1e5)), secret=sv.Mean(), tolerance=float(np.std(x))
    )
    plan, frame = sv.plan(problem, max_risk=0.2), pl.DataFrame({"x": x, "t": number})
    with pytest.raises(sv.StructureError, match="'t'"):
        sv.release(plan, frame, column="x", accept=tuple(set(LEAKS) - {"copies"}))


def test_classes_of_one_size_that_are_called_by_their_means_are_copies():
    rng = np.random.default_rng(4)
    x = rng.permutation(np.sort(100 + rng.normal(0, 7, 400)))
    tenth = np.argsort(np.argsort(x)) // 40
    means = np.array([x[tenth == i].mean() for i in range(10)])[tenth]
    with pytest.raises(sv.StructureError, match="'mean'"):
        sv.release(PLAN, pl.DataFrame({"x": x, "mean": means}), column="x")


@pytest.mark.parametrize("mode", ["scale", "rank"])
def test_other_maps_are_given_away_as_well(mode):
    rng = np.random.default_rng(5)
    x = np.exp(rng.normal(4, 0.5, ROWS))
    known = sv.Structure(minimum=0.0)
    if mode == "scale":
        problem = sv.Problem(
            family=sv.Location(), prior=sv.Box(mean=(20, 200)), secret=sv.Mean(), tolerance=1, known=known
        )
    else:
        known = sv.Structure(minimum=0.0, maximum=1_000.0)
        problem = sv.Problem(
            family=sv.Gaussian(), prior=sv.Box(mu=(50, 80), sigma=(10, 40)), secret=sv.Mean(), tolerance=1, known=known
        )
    plan = sv.plan(problem, max_risk=0.3)
    assert plan.mode == mode
    with pytest.raises(sv.StructureError, match="copies"):
        sv.release(plan, pl.DataFrame({"x": x, "y": np.log(x)}), column="x")


def test_unrelated_and_merely_related_columns_are_no_copies():
    refused = []
    for seed in range(30):
        rng = np.random.default_rng(1_000 + seed)
        rows = int(rng.choice([12, 30, 100, 1_000]))
        x = rng.uniform(60, 140) + rng.normal(0, 7, rows)
        frame = pl.DataFrame(
            {
                "x": x,
                "id": np.arange(rows),
                "name": [f"n{i}" for i in rng.permutation(rows)],
                "age": rng.integers(18, 65, rows),
                "group": rng.choice(["a", "b", "c"], rows),
                "flag": rng.random(rows) < 0.5,
                "related": 40 + 0.5 * x + rng.normal(0, 2, rows),
                "likely": rng.random(rows) < 1 / (1 + np.exp(-(x - x.mean()) / 3)),
                "constant": np.ones(rows),
                "missing": np.full(rows, np.nan),
            }
        )
        try:
            sv.release(PLAN, frame, column="x")
        except sv.StructureError as error:
            refused.append((seed, str(error)))
    assert len(refused) <= 1, refused


def test_copies_beyond_the_first_rows_and_averages_beside_counts_are_refused():
    rng = np.random.default_rng(0)
    x = 100 + rng.normal(0, 7, 40_000)
    late = np.where(np.arange(len(x)) < 34_000, rng.random(len(x)), np.log(x))
    with pytest.raises(sv.StructureError, match="'late'"):
        sv.release(PLAN, pl.DataFrame({"x": x, "late": late}), column="x")
    count = rng.integers(2, 12, 400)
    marks = np.round(100 + np.array([rng.integers(1, 20, k).mean() for k in count]), 2)
    accept = [name for name in LEAKS if name != "copies"]
    with pytest.raises(sv.StructureError, match="'count'"):
        sv.release(PLAN, pl.DataFrame({"x": marks, "count": count}), column="x", accept=accept)
    shuffled = pl.DataFrame({"x": marks, "count": rng.permutation(count)})
    assert len(sv.release(PLAN, shuffled, column="x", accept=accept)) == 400


def test_the_card_says_what_was_looked_at_and_of_how_many_rows(tmp_path):
    rng = np.random.default_rng(0)
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pl.DataFrame({"x": 100 + rng.normal(0, 7, 25), "y": rng.random(25)}).write_parquet(source)
    card = sv.release_file(PLAN, source, target, column="x").card
    assert card["rows"] == 25
    assert any("fewer than 100 rows" in line for line in card["checked"])
    assert any("copy in another form" in line for line in card["checked"])
    assert sv.verify_file(target).ok
    path = target.with_name(target.name + ".card.json")
    path.write_text(json.dumps({**card, "rows": 1_000_000}))
    assert not sv.verify_file(target).ok


def test_a_card_of_the_second_version_in_its_own_words_still_verifies(tmp_path):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pl.DataFrame({"x": 100 + np.random.default_rng(0).normal(0, 7, 500)}).write_parquet(source)
    card = sv.release_file(PLAN, source, target, column="x").card
    path = target.with_name(target.name + ".card.json")
    second = card | {"version": 2, "checked": ["The other columns in the first rows."]}
    path.write_text(json.dumps(second))
    assert sv.verify_file(target).ok
    path.write_text(json.dumps(second | {"version": card["version"]}))
    assert not sv.verify_file(target).ok
    path.write_text(json.dumps(second | {"mode": "scale"}))
    assert not sv.verify_file(target).ok


def test_a_card_of_the_first_version_still_verifies_and_a_changed_one_does_not(tmp_path):
    rng = np.random.default_rng(0)
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pl.DataFrame({"x": 100 + rng.normal(0, 7, 500)}).write_parquet(source)
    card = sv.release_file(PLAN, source, target, column="x").card
    first = {key: value for key, value in card.items() if key not in ("checked", "shuffled", "rows")} | {"version": 1}
    first["guarantee"] = {**card["guarantee"], "says": "in the words of the first version"}
    path = target.with_name(target.name + ".card.json")
    path.write_text(json.dumps(first))
    assert sv.verify_file(target).ok
    for part in ({"mode": "scale"}, {"guarantee": {**first["guarantee"], "risk": 0.01}}):
        path.write_text(json.dumps(first | part))
        assert not sv.verify_file(target).ok


@pytest.mark.parametrize("late", ["departure", "arrival"])
def test_clock_times_tell_the_delay_between_them(late):
    """Times as HHMM, some after midnight: no sum or difference of the numbers is the delay."""
    rng = np.random.default_rng(8)
    planned = rng.integers(300, 1440, 1_500)
    delay = np.rint(rng.gamma(1.5, 25, 1_500) - 10)
    real = (planned + delay) % 1440
    times = {"planned": 100 * (planned // 60) + planned % 60, "real": (100 * (real // 60) + real % 60).astype(int)}
    if late == "arrival":
        times = {name: pl.Series(time).cast(pl.Int32) for name, time in times.items()}
    frame = pl.DataFrame({"x": 100 + delay, **times, "gate": rng.integers(0, 99, 1_500)})
    with pytest.raises(sv.StructureError, match="'real' with 'planned'"):
        sv.release(PLAN, frame, column="x", accept=tuple(set(LEAKS) - {"copies"}))
    other = frame.with_columns(x=100 + rng.permutation(delay))
    assert len(sv.release(PLAN, other, column="x", accept=tuple(set(LEAKS) - {"copies"}))) == 1_500
