"""Other columns that tell in less usual ways: each kind is refused by name, in several variants, its likes are not."""

from __future__ import annotations

import base64
import hashlib
import struct

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import statveil as sv

ROWS = 800
PLAN = sv.plan(
    sv.Problem(family=sv.Location(), prior=sv.Box(mean=(50, 150)), secret=sv.Mean(), tolerance=1.0), max_risk=0.1
)
CENTS = sv.plan(
    sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=(50, 150)),
        secret=sv.Mean(),
        tolerance=1.0,
        known=sv.Structure(step=0.01),
    ),
    max_risk=0.1,
)
COUNTS = sv.plan(
    sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(3, 8)), secret=sv.Mean(), tolerance=0.1), max_risk=0.2
)
SHARES = sv.plan(
    sv.Problem(family=sv.Categorical(labels=("a", "b", "c")), secret=sv.Fraction(0), tolerance=0.02), max_risk=0.2
)
SLOW = ("order", "groups", "few-rows", "repeats", "misfit", "heaps", "atoms", "step", "rough", "digits")


def column(rng, rows=ROWS):
    return rng.uniform(95, 105) + rng.normal(0, 7, rows)


def refused(plan, x, other, *, accept=SLOW, name="other"):
    """Whether the release is refused because of this column, by that name."""
    others = other if isinstance(other, dict) else {name: other}
    try:
        sv.release(plan, pl.DataFrame({"x": x, **others}), column="x", accept=accept)
    except sv.StructureError as error:
        named = any(repr(one) in str(error) or f"'{one} (" in str(error) for one in others)
        return named and "--accept copies" in str(error)
    return False


def times(plan, make, seeds=4, draw=column):
    """How often a kind of column is refused."""
    hits = 0
    for seed in range(seeds):
        rng = np.random.default_rng([5, seed])
        x = draw(rng)
        hits += refused(plan, x, make(x, rng))
    return hits


def smooth(x, width):
    return 1 / (1 + np.exp(-(x - 100) / width))


# --- flags for a limit --------------------------------------------------------------------------
EDGES = {
    "2 % errors": lambda x, rng: (x >= 100) ^ (rng.random(len(x)) < 0.02),
    "5 % errors": lambda x, rng: (x >= 98.7) ^ (rng.random(len(x)) < 0.05),
    "15 % errors": lambda x, rng: (x >= 100) ^ (rng.random(len(x)) < 0.15),
    "half of those above": lambda x, rng: (x >= 100) & (rng.random(len(x)) < 0.5),
    "a third of those below": lambda x, rng: (x < 101) & (rng.random(len(x)) < 0.35),
    "words": lambda x, rng: np.where((x >= 100) ^ (rng.random(len(x)) < 0.1), "grant", "none"),
    "bands with errors": lambda x, rng: np.where(
        rng.random(len(x)) < 0.1, rng.integers(0, 4, len(x)), np.digitize(x, [95, 100, 106])
    ),
    "a bonus for some": lambda x, rng: np.where((x >= 100) & (rng.random(len(x)) < 0.6), rng.uniform(1, 9, len(x)), 0),
    "empty for most below": lambda x, rng: np.where(
        (x >= 100) ^ (rng.random(len(x)) < 0.1), rng.random(len(x)), np.nan
    ),
}
SLOPES = {
    "logistic, wide": lambda x, rng: rng.random(len(x)) < smooth(x, 5),
    "logistic": lambda x, rng: rng.random(len(x)) < smooth(x, 2.5),
    "rare and more likely above": lambda x, rng: rng.random(len(x)) < 0.2 * smooth(x, 3),
    "in proportion": lambda x, rng: rng.random(len(x)) < np.clip((x - 80) / 40, 0, 1),
    "unrelated": lambda x, rng: rng.random(len(x)) < 0.3,
    "three groups": lambda x, rng: np.digitize(x + rng.normal(0, 4, len(x)), [96, 103]),
}


@pytest.mark.parametrize("name", EDGES)
def test_an_edge_is_refused_whatever_the_errors(name):
    assert times(PLAN, EDGES[name]) == 4


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.heavy(2)
def test_a_slope_is_no_edge(name):
    assert times(PLAN, SLOPES[name], seeds=20) <= 1


def test_what_a_flag_with_errors_gives_away():
    """The limit of 100 is known; where the flags change in the release is where it went."""
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = column(rng)
        frame = pl.DataFrame({"x": x, "flag": EDGES["15 % errors"](x, rng)})
        out = np.asarray(sv.release(PLAN, frame, column="x", accept=("copies",))["x"])
        order = np.argsort(out)
        right = np.cumsum(np.where(frame["flag"].to_numpy()[order], -1, 1))
        hits += abs(x.mean() - (out.mean() - (out[order][np.argmax(right)] - 100))) <= 1
    assert hits >= 16  # 0.1 is claimed


# --- columns that cannot be looked at, and numbers in disguise --------------------------------------
NESTED = {
    "list": lambda x: pl.Series([[v, 1.0] for v in x]),
    "record": lambda x: pl.Series([{"v": v, "w": 1} for v in x]),
    "bytes": lambda x: pl.Series([struct.pack("<d", v) for v in x]),
    "array": lambda x: pl.Series([[v, 1.0] for v in x], dtype=pl.Array(pl.Float64, 2)),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_column_that_nobody_can_look_into_is_refused_in_every_frame(name, tmp_path):
    x = column(np.random.default_rng(1), 100)
    frame = pl.DataFrame({"x": x, "other": NESTED[name](x)})
    as_pandas = pd.DataFrame({"x": x, "other": frame["other"].to_list()})
    frame.write_parquet(tmp_path / "in.parquet")
    frame.write_ipc(tmp_path / "in.arrow")
    for table in (frame, frame.lazy(), frame.to_arrow(), as_pandas):
        with pytest.raises(sv.StructureError, match=r"lists, records, bytes or objects \('other'\).*--accept copies"):
            sv.release(PLAN, table, column="x")
    for file in ("in.parquet", "in.arrow"):
        with pytest.raises(sv.StructureError, match=r"'other'.*--accept copies"):
            sv.release_file(PLAN, tmp_path / file, tmp_path / f"out-{file}", column="x")
    assert len(sv.release(PLAN, frame, column="x", accept=["copies"])) == 100
    same = pl.DataFrame({"x": x, "other": pl.Series([[1.0]] * 100)})  # one value for all rows tells nothing
    assert len(sv.release(PLAN, same, column="x")) == 100


def test_objects_of_arrow_are_refused_as_well():
    x = column(np.random.default_rng(1), 100)
    table = pa.table({"x": x, "other": pa.array([[("k", v)] for v in x], pa.map_(pa.string(), pa.float64()))})
    with pytest.raises(sv.StructureError, match=r"'other'.*--accept copies"):
        sv.release(PLAN, table, column="x")
    labels = pl.DataFrame({"x": ["a", "b", "c", "a"] * 50, "other": [[i] for i in range(200)]})
    with pytest.raises(sv.StructureError, match=r"'other'.*--accept copies"):
        sv.release(SHARES, labels, column="x", accept=("order", "groups", "few-rows"))


DISGUISED = {
    "hexadecimal": lambda x, rng: [f"{int(v * 100):x}" for v in x],
    "0x": lambda x, rng: [hex(int(v * 1000)) for v in x],
    "bytes in hexadecimal": lambda x, rng: [struct.pack(">d", v).hex() for v in x],
    "base64 of floats": lambda x, rng: [base64.b64encode(struct.pack("<d", v)).decode() for v in x],
    "base64 of 32-bit floats": lambda x, rng: [base64.b64encode(struct.pack("<f", v)).decode() for v in x],
    "base 36": lambda x, rng: [np.base_repr(int(v * 1000), 36) for v in x],
    "zeros before": lambda x, rng: [f"{v:012.3f}" for v in x],
    "thousands and a currency": lambda x, rng: [f"$ {1000 * v:,.2f}" for v in x],
    "per cent": lambda x, rng: [f"{v:.2f}%" for v in x],
    "scientific": lambda x, rng: [f"{v:.4e}" for v in x],
    "a date": lambda x, rng: [str(np.datetime64("2020-01-01") + int(10 * v)) for v in x],
    "length": lambda x, rng: ["x" * int(3 * v) for v in x],
    "categories": lambda x, rng: pl.Series([f"{v:.1f} kg" for v in x], dtype=pl.Categorical),
    "a digest of two decimals": lambda x, rng: [hashlib.sha256(f"{v:.2f}".encode()).hexdigest() for v in x],
    "a shortened digest": lambda x, rng: [hashlib.md5(f"{v:.1f}".encode()).hexdigest()[:12] for v in x],
}  # fmt: skip
NO_DISGUISE = {
    "ids": lambda x, rng: [f"A{i:04d}" for i in range(len(x))],
    "ids without zeros": lambda x, rng: [f"p{i}" for i in rng.permutation(len(x))],
    "random digests": lambda x, rng: [rng.bytes(16).hex() for _ in x],
    "names": lambda x, rng: ["".join(rng.choice(list("abcdefgh"), rng.integers(3, 9))) for _ in x],
    "random codes": lambda x, rng: [np.base_repr(int(v), 36) for v in rng.integers(10**6, 10**9, len(x))],
    "letters": lambda x, rng: rng.choice(list("abc"), len(x)),
}


@pytest.mark.parametrize("name", DISGUISED)
def test_a_number_in_disguise_is_refused(name):
    assert times(PLAN, DISGUISED[name], seeds=3) == 3


@pytest.mark.parametrize("name", NO_DISGUISE)
def test_other_texts_are_not(name):
    assert times(PLAN, NO_DISGUISE[name], seeds=5) == 0
    # nor where the rows stand in the column's order, and ids number them
    assert name not in ("ids", "letters") or times(PLAN, NO_DISGUISE[name], draw=lambda rng: np.sort(column(rng))) == 0


def test_one_label_for_each_value_is_refused_and_ids_that_share_values_are_not():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = np.round(column(rng))
        secret = rng.permutation(100_000)
        assert refused(PLAN, x, [f"c{secret[int(v)]}" for v in x])
        assert refused(PLAN, x, secret[x.astype(int)] + 0.5)
        assert refused(PLAN, x, [hashlib.sha1(b"salt%d" % v).hexdigest() for v in x.astype(int)])
        person = rng.integers(0, 200, ROWS)
        assert not refused(PLAN, np.round(column(rng, 200))[person], [f"c{secret[i]}" for i in person])


# --- rows around ------------------------------------------------------------------------------------
def rolling(x, width, shift=0):
    found = np.convolve(x, np.full(width, 1 / width))[: len(x)]
    found[: width - 1] = np.nan
    return np.roll(found, shift)


AROUND = {
    "average of 2": lambda x, rng: rolling(x, 2),
    "average of 7, rounded": lambda x, rng: np.round(rolling(x, 7), 1),
    "average of 30": lambda x, rng: rolling(x, 30),
    "average of 90": lambda x, rng: rolling(x, 90),
    "average around": lambda x, rng: rolling(x, 5, -2),
    "the row before": lambda x, rng: np.roll(x, 1),
    "five rows later": lambda x, rng: np.roll(x, -5) + 0.0,
    "difference": lambda x, rng: x - np.roll(x, 1),
    "difference to last week": lambda x, rng: x - np.roll(x, 7),
    "running total": lambda x, rng: np.cumsum(x),
    "running mean": lambda x, rng: np.cumsum(x) / np.arange(1, len(x) + 1),
    "faded": lambda x, rng: np.asarray(pl.Series(x).ewm_mean(alpha=0.3)),
    "sorted": lambda x, rng: np.sort(x),
    "in another order": lambda x, rng: rng.permutation(x),
}


@pytest.mark.parametrize("name", AROUND)
def test_what_is_made_of_the_rows_around_is_refused(name):
    assert times(PLAN, AROUND[name], seeds=3) == 3


@pytest.mark.parametrize("name", AROUND)
def test_the_same_of_counts_and_of_categories(name):
    assert times(COUNTS, AROUND[name], seeds=3, draw=lambda rng: rng.poisson(5.5, ROWS).astype(float)) == 3
    if name in ("sorted", "in another order"):
        return
    hits = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.choice(["a", "b", "c"], ROWS, p=[0.5, 0.3, 0.2])
        hits += refused(SHARES, x, AROUND[name]((x == "a").astype(float), rng))
    assert hits == 3


def test_labels_of_the_row_before_are_refused_and_unrelated_series_are_not():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.choice(["a", "b", "c"], ROWS, p=[0.5, 0.3, 0.2])
        assert refused(SHARES, x, np.roll(x, 1))
        assert refused(SHARES, x, np.roll(x, -3))
        assert not refused(SHARES, x, rng.permutation(x))
        assert not refused(SHARES, x, rng.normal(size=ROWS))


def test_series_that_merely_go_together_are_not_refused():
    hits = 0
    for seed in range(12):
        rng = np.random.default_rng([9, seed])
        walks = np.cumsum(rng.normal(0, 1, (3, ROWS)), axis=1)
        x = 100 + walks[0] - walks[0].mean()
        hits += refused(PLAN, x, {
            "other walk": walks[1], "smoothed walk": rolling(walks[2], 10), "time": np.arange(ROWS) * 60.0,
            "related": x + 3 * rng.normal(0, x.std(), ROWS), "day": np.arange(ROWS) % 7 + rng.normal(0, 0.1, ROWS),
        })  # fmt: skip
    assert hits <= 1


# --- partners that turn -----------------------------------------------------------------------------
TURNS = {
    "distance": lambda x, rng: np.abs(x - 100),
    "squared distance": lambda x, rng: np.round((x - 101) ** 2, 1),
    "best in the middle": lambda x, rng: np.exp(-((x - 99) ** 2) / 30) + rng.normal(0, 0.02, len(x)),
    "kinks": lambda x, rng: np.abs(np.abs(x - 100) - 5) + rng.normal(0, 0.1, len(x)),
    "minutes past the hour": lambda x, rng: (10 * x) % 60,
    "ranks of the distance": lambda x, rng: np.argsort(np.argsort(np.abs(x - 100))),
}
NO_TURNS = {
    "loose": lambda x, rng: np.abs(x - 100) + rng.normal(0, 3, len(x)),
    "spread": lambda x, rng: rng.normal(0, 1, len(x)) * np.abs(x - 100),
    "related": lambda x, rng: 0.5 * x + rng.normal(0, 4, len(x)),
    "unrelated": lambda x, rng: rng.normal(0, 2, len(x)),
    "time": lambda x, rng: np.arange(len(x)) * 3.7,
}


@pytest.mark.parametrize("name", TURNS)
def test_a_partner_that_turns_is_refused(name):
    assert times(PLAN, TURNS[name], seeds=3) == 3


@pytest.mark.parametrize("name", NO_TURNS)
def test_a_partner_that_turns_loosely_is_not(name):
    assert times(PLAN, NO_TURNS[name], seeds=10) == 0


# --- groups ---------------------------------------------------------------------------------------
def in_groups(x, rng, make, size=8):
    team = rng.integers(0, len(x) // size, len(x))
    total = np.bincount(team, weights=x)[team]
    return {"team": [f"t{i}" for i in team], "other": make(x, total, rng)}


WITHIN = {
    "shares of 1": lambda x, total, rng: x / total,
    "per cent": lambda x, total, rng: np.round(100 * x / total, 3),
    "of the largest": lambda x, total, rng: x / total**0.5,
}


@pytest.mark.parametrize("name", WITHIN)
@pytest.mark.parametrize("size", [3, 20])
def test_shares_within_groups_are_refused(name, size):
    assert times(PLAN, lambda x, rng: in_groups(x, rng, WITHIN[name], size), seeds=3) == 3


def test_other_shares_are_not():
    unrelated = lambda x, total, rng: rng.uniform(0.01, 0.2, len(x))  # noqa: E731
    assert times(PLAN, lambda x, rng: in_groups(x, rng, unrelated), seeds=10) == 0


@pytest.mark.parametrize("rows", [2, 5])
@pytest.mark.parametrize("form", [lambda v: v, lambda v: np.round(1.19 * v, 2), np.log])
def test_a_value_that_is_written_once_per_id_is_refused(rows, form):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        each = column(rng, 300)
        ids = np.repeat(np.arange(300), rows)
        first = np.arange(len(ids)) % rows == 0
        x = np.where(first, np.nan, each[ids] + rng.normal(0, 0.01, len(ids)))
        other = np.where(first, form(each)[ids], np.nan)
        assert refused(PLAN, x, {"id": ids, "other": other})
        mixed = np.where(first, form(rng.permutation(each))[ids], np.nan)
        assert not refused(PLAN, x, {"id": ids, "other": mixed})


def test_equal_rows_among_cents_are_refused():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = np.round(column(rng, 3_000), 2)
        some = rng.random(len(x)) < 0.02
        other = np.where(some, x, np.round(rng.normal(100, 9, len(x)), 2))
        assert refused(CENTS, x, other)
        assert refused(CENTS, x, np.where(some, x + 12.5, other))
        assert not refused(CENTS, x, np.round(rng.normal(100, 9, len(x)), 2))
        assert not refused(CENTS, x, np.round(x + rng.normal(0, 9, len(x)), 2))


# --- functions that repeat themselves -------------------------------------------------------------
DAYS = sv.plan(
    sv.Problem(family=sv.Location(), prior=sv.Box(mean=(18_000, 20_000)), secret=sv.Mean(), tolerance=0.25),
    max_risk=0.1,
)
WHOLE_DAYS = sv.plan(
    sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=(18_000, 20_000)),
        secret=sv.Mean(),
        tolerance=0.5,
        known=sv.Structure(step=1),
    ),
    max_risk=0.25,
)
NAMES = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
PERIODIC = {
    "weekday": lambda x, rng: NAMES[np.floor(x).astype(int) % 7],
    "hour": lambda x, rng: np.floor(x % 1 * 24),
    "time": lambda x, rng: [f"{int(m) // 60:02d}:{int(m) % 60:02d}" for m in x % 1 * 1440],
    "tide": lambda x, rng: np.sin(2 * np.pi * x * 24 / 12.42),
    "cents": lambda x, rng: np.round(x % 1 * 100),
    "weekend, mostly": lambda x, rng: (np.floor(x) % 7 >= 5) ^ (rng.random(len(x)) < 0.1),
    "warmer by day": lambda x, rng: -np.cos(2 * np.pi * x) + rng.normal(0, 1, len(x)),
}


def days(rng):
    return rng.normal(rng.uniform(18_200, 19_800), 150, 400)


def whole_days(rng):
    return np.round(days(rng))


@pytest.mark.parametrize("name", PERIODIC)
def test_a_function_that_repeats_itself_is_refused(name):
    assert times(DAYS, PERIODIC[name], draw=days) == 4


@pytest.mark.parametrize("name", PERIODIC)
def test_the_same_column_of_other_rows_is_none(name):
    assert times(DAYS, lambda x, rng: PERIODIC[name](rng.permutation(x), rng), draw=days) == 0


@pytest.mark.parametrize("period", [7, 10, 2])
def test_a_function_of_whole_numbers_that_repeats_itself_is_refused(period):
    assert times(WHOLE_DAYS, lambda x, rng: x % period, draw=whole_days) == 4
    assert times(WHOLE_DAYS, lambda x, rng: rng.permutation(x) % period, draw=whole_days) == 0


def test_sixty_rows_show_a_weekday():
    assert times(DAYS, PERIODIC["weekday"], draw=lambda rng: days(rng)[:60]) == 4


def test_what_a_weekday_gives_away():
    hits = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = days(rng)
        day = np.floor(x).astype(int) % 7
        frame = pl.DataFrame({"x": x, "day": NAMES[day]})
        out = np.asarray(sv.release(DAYS, frame, column="x", accept=("copies",))["x"])
        moves = np.arange(-DAYS.bin / 2, DAYS.bin / 2, 0.01)  # type: ignore[operator]
        fits = [np.mean(np.floor(out - move).astype(int) % 7 == day) for move in moves]
        hits += abs(out.mean() - moves[np.argmax(fits)] - x.mean()) <= 0.25
    assert hits >= 9  # 0.1 is claimed


# --- sides of a right triangle ----------------------------------------------------------------------
def sides(x, rng):
    angle = rng.uniform(0, 2 * np.pi, len(x))
    return {"east": x * np.cos(angle), "north": x * np.sin(angle)}


def test_the_sides_of_a_right_triangle_are_refused():
    assert times(PLAN, sides) == 4
    assert times(PLAN, lambda x, rng: sides(rng.permutation(x), rng)) == 0
    rounded = times(PLAN, lambda x, rng: {name: np.round(side, 1) for name, side in sides(x, rng).items()})
    assert rounded == 4


def test_one_side_is_told_by_the_others():
    def others(x, rng):
        north = rng.normal(0, 80, len(x))
        return {"wind": np.hypot(x, north), "north": north}

    assert times(PLAN, others) == 4
    assert times(PLAN, lambda x, rng: others(rng.permutation(x), rng)) == 0
