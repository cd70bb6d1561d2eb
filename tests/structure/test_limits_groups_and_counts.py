"""Columns that tell by a limit that another column says, by a number of each group, or by counts along the rows.

Each kind is refused by name over variants; the same columns beside other rows, and natural associations, are released.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.structure.others.long_groups import LongGroups
from statveil.tables.structure.others.running_links import rolled
from statveil.tables.structure.others.telling import Copies, telling_columns

ROWS = 1_000


def hidden(rng, rows=ROWS, mean=150.0):
    return mean + 20 * rng.standard_normal(rows)


def told(table):
    others = pl.DataFrame(table).drop("x").to_dict(as_series=True)
    return telling_columns(iter([(np.asarray(table["x"], dtype=float), others)]))


def per_group(values, code, made):
    return np.array([made(values[code == one]) for one in range(code.max() + 1)])[code]


def gini(v):
    v = np.sort(v)
    return np.sum((2 * np.arange(1, len(v) + 1) - len(v) - 1) * v) / (len(v) * v.sum())


LIMITS = {
    "by region": lambda rng, x: {"a": (a := rng.integers(0, 5, ROWS)), "f": x > 130 + 10 * a},
    "by region, below": lambda rng, x: {"a": (a := rng.integers(0, 40, ROWS)), "f": x < 130 + a},
    "by year and region": lambda rng, x: {
        "a": (a := rng.integers(2015, 2023, ROWS)),
        "b": (b := rng.choice(list("pqrs"), ROWS)),
        "f": x > 120 + 6 * (a - 2015) + 7 * (b == "q") - 9 * (b == "s"),
    },
    "a product": lambda rng, x: {"a": (a := rng.gamma(4, 1, ROWS) + 0.5), "f": x * a > 600},
    "a mass index": lambda rng, x: {"a": (a := rng.normal(1.7, 0.09, ROWS)), "f": x / a**2 > 52},
    "classes of a mass index": lambda rng, x: {
        "a": (a := rng.normal(1.7, 0.09, ROWS)),
        "f": np.array(["under", "normal", "over", "obese"])[np.digitize(x / a**2, [45, 52, 58])],
    },
    "a share of another": lambda rng, x: {"a": (a := x * rng.uniform(0.3, 1.5, ROWS) + 40), "f": a > 0.8 * x},
    "more than the row before": lambda rng, x: {"f": np.concatenate(([False], x[1:] > 1.1 * x[:-1]))},
}


def limits_of(rng, region, x):
    """Public limits of regions, between a tenth and nine tenths of the rows."""
    return np.quantile(x, rng.uniform(0.1, 0.9, region.max() + 1))[region]


@pytest.mark.parametrize("wrong", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("regions", [3, 12])
def test_flags_for_a_limit_by_label_are_named_however_many_are_wrong(regions, wrong):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, region = rng.gamma(4, 30, ROWS), rng.integers(0, regions, ROWS)
        if seed == 1:  # as the table stands in a report
            order = np.lexsort((x, region))
            x, region = x[order], region[order]
        flag = (x > limits_of(rng, region, x)) ^ (rng.random(ROWS) < wrong)
        assert any("flag" in columns for columns in told({"x": x, "region": region, "flag": flag.astype(int)}))


SOFT = {
    "a chance that rises": lambda rng, x, limit: rng.random(ROWS) < 1 / (1 + np.exp(-(x - limit) / (0.3 * x.std()))),
    "another quantity": lambda rng, x, limit: x + 0.4 * x.std() * rng.standard_normal(ROWS) > limit,
    "long errors": lambda rng, x, limit: x + 0.4 * x.std() * rng.standard_t(2, ROWS) > limit,
    "one number of errors": lambda rng, x, limit: (
        (x + 0.4 * x.std() * rng.standard_normal(ROWS) > limit) ^ (rng.random(ROWS) < 0.05)
    ),
}


@pytest.mark.parametrize("regions", [3, 12])
@pytest.mark.parametrize("kind", SOFT)
def test_labels_that_go_with_large_values_by_label_are_not_named(kind, regions):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, region = rng.gamma(4, 30, ROWS), rng.integers(0, regions, ROWS)
        flag = SOFT[kind](rng, x, limits_of(rng, region, x))
        assert not told({"x": x, "region": region, "flag": flag.astype(int)})


def test_rows_of_few_persons_make_no_limit():
    """Twelve rows of each with nearly one value and one label: a cut between persons is one piece of evidence."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        person = np.repeat(np.arange(100), 12)
        level, region = rng.gamma(4, 30, 100), rng.integers(0, 4, 100)
        limit = np.quantile(level, [0.2, 0.4, 0.6, 0.8])[region]
        label = level + 0.5 * level.std() * rng.standard_normal(100) > limit
        order = rng.permutation(1_200)
        x = level[person] + 0.02 * level.std() * rng.standard_normal(1_200)
        table = {"x": x[order], "region": region[person][order], "flag": label[person][order].astype(int)}
        found = told(table | {"person": person[order]})
        assert not any({"region", "flag"} == {*columns} for columns in found)


@pytest.mark.parametrize("kind", LIMITS)
def test_flags_for_a_limit_that_another_column_says_are_named(kind):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        x = hidden(rng)
        table = {"x": x, **LIMITS[kind](rng, x)}
        assert any(names[-1] == "f" for names in told(table))
        assert not told(table | {"x": rng.permutation(x)})


@pytest.mark.parametrize("size", [8, 25])
@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("share above 145", lambda v: np.round(np.mean(v > 145), 3)),
        ("per cent below 160", lambda v: np.round(100 * np.mean(v < 160), 1)),
        ("number above 155", lambda v: np.sum(v > 155)),
        ("any above 190", lambda v: np.any(v > 190)),
        ("90 % quantile", lambda v: np.round(np.quantile(v, 0.9), 2)),
        ("geometric mean", lambda v: np.round(np.exp(np.log(v).mean()), 2)),
        ("trimmed mean", lambda v: np.sort(v)[1:-1].mean()),
        ("deviation", lambda v: np.round(np.std(v, ddof=1), 2)),
        ("variation", lambda v: np.round(np.std(v) / np.mean(v), 4)),
        ("quartile distance", lambda v: np.subtract(*np.quantile(v, [0.75, 0.25]))),
        ("Gini", gini),
        ("points", lambda v: np.floor(v / 50).sum()),
    ],
)
def test_numbers_of_groups_are_named(kind, made, size):
    rng = np.random.default_rng(size)
    x, groups = hidden(rng), ROWS // size
    code = np.concatenate((np.repeat(np.arange(groups), 4), rng.integers(0, groups, ROWS - 4 * groups)))
    table = {"x": x, "group": [f"g{one}" for one in code], "z": per_group(x, code, made)}
    assert ("group", "z") in told(table) or ("z",) in told(table)
    assert not told(table | {"x": rng.permutation(x)})


def test_the_share_of_a_hidden_category_by_district_is_refused():
    rng = np.random.default_rng(3)
    for fewer in (False, True):
        c, district = (rng.random(2000) < 0.4).astype(float), rng.integers(0, 20, 2000)
        rate = np.round(per_group(c, district, np.mean), 3)
        others = {"district": pl.Series(district), "rate": pl.Series(1 - rate if fewer else rate)}
        copies = Copies(categories=True)
        copies.add(c, others)
        assert "'district' with 'rate'" in copies.found()[0].says
        copies = Copies(categories=True)
        copies.add(rng.permutation(c), others)
        assert copies.found() == []


def rolling(values, width, made):
    return np.array([made(values[max(0, i - width + 1) : i + 1]) for i in range(len(values))])


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_running_number_of_exceedances_is_named(shuffled):
    rng = np.random.default_rng(4)
    x = hidden(rng)
    rows = rng.permutation(ROWS) if shuffled else np.arange(ROWS)
    assert ("z",) in told({"x": x[rows], "z": np.cumsum(x > 165)[rows]})
    assert ("z",) in told({"x": x[rows], "z": np.cumsum(x < 140)[rows]})
    assert not told({"x": x[rows], "z": np.cumsum(rng.random(ROWS) < 0.2)[rows]})


def test_a_running_number_of_each_customer_is_named():
    rng = np.random.default_rng(5)
    x, who = hidden(rng), rng.integers(0, 40, ROWS)
    number = np.zeros(ROWS)
    for one in range(40):
        number[who == one] = np.cumsum(x[who == one] > 160)
    assert ("who", "z") in told({"x": x, "who": who, "z": number})


@pytest.mark.parametrize("width", [5, 10, 30])
def test_rolling_spreads_and_counts_are_named(width):
    rng = np.random.default_rng(width)
    x = hidden(rng)
    for made in (np.std, np.max, lambda v: np.sum(v > 150)):
        z = rolling(x, width, made)
        assert ("z",) in told({"x": x, "z": z})
        assert not told({"x": rng.permutation(x), "z": z})


def test_natural_associations_pass():
    """Income by region, height and weight, flags and classes with a correlation of 0.9, sizes of households."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        region = rng.integers(0, 12, ROWS)
        effect = rng.normal(0, 10, 12)
        x = 150 + effect[region] + 17 * rng.standard_normal(ROWS)
        z = (x - x.mean()) / x.std()
        height = 170 + 7 * (0.6 * z + 0.8 * rng.standard_normal(ROWS))
        near = 0.9 * z + np.sqrt(0.19) * rng.standard_normal(ROWS)
        house = np.arange(ROWS) // 4
        table = {
            "x": x,
            "region": region,
            "index": np.round((effect + rng.normal(0, 3, 12))[region], 1),
            "rows": np.bincount(region)[region],
            "height": np.round(height),
            "grown": np.digitize(height, [163, 170, 177]),
            "flag": near > 0.3,
            "class": np.digitize(near, [-1, 0, 1]),
            "both": z + (height - 170) / 7 + 0.4 * rng.standard_normal(ROWS) > 0.5,
            "house": house,
            "rich": (per_group(z, house, np.mean) + np.repeat(rng.normal(0, 0.25, ROWS // 4), 4)) > 0.2,
        }
        assert not told(table)


def test_the_release_says_which_columns_and_what_to_do():
    problem = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(100, 200)), secret=sv.Mean(), tolerance=1)
    plan = sv.plan(problem, max_risk=0.2)
    rng = np.random.default_rng(6)
    x, region = hidden(rng), rng.integers(0, 5, ROWS)
    frame = pl.DataFrame({"x": x, "region": region, "poor": x < 130 + 9 * region})
    with pytest.raises(sv.StructureError, match=r"'region' with 'poor'.*a limit that another column says.*drop them"):
        sv.release(plan, frame, column="x")
    assert len(sv.release(plan, frame.drop("poor"), column="x")) == ROWS


# --- tables that are too long to be kept as a whole -----------------------------------------------
LONG = 70_000


def long_table(rng, groups):
    team = rng.permutation(np.arange(LONG) % groups)
    x = rng.lognormal(3.0, 0.5, LONG) * rng.lognormal(0, 0.2, groups)[team]
    size = np.bincount(team)
    above = np.bincount(team, weights=x > 25)
    return team, x, {"share": np.round(above / size, 4)[team], "number": above[team], "noise": rng.random(groups)[team]}


@pytest.mark.parametrize(("groups", "piece"), [(700, 65_536), (7_000, 5_000)])
def test_numbers_of_groups_are_named_in_long_tables(groups, piece):
    rng = np.random.default_rng(groups)
    team, x, made = long_table(rng, groups)
    frame = pl.DataFrame({"team": [f"t{i}" for i in team], **made})
    pieces = ((x[i : i + piece], frame[i : i + piece].to_dict(as_series=True)) for i in range(0, LONG, piece))
    named = {name for columns in telling_columns(pieces) for name in columns if "team" in columns}
    assert "share" in named
    assert "number" in named or groups == 7_000  # of ten rows each: the size of a group says as much
    assert "noise" not in named


def test_of_long_tables_whole_groups_are_kept_and_no_more_than_that():
    """Whatever is kept of a group are all of its rows, and groups whose rows are too many are given up."""
    rng = np.random.default_rng(1)
    team = rng.integers(0, 60_000, 600_000)
    kept = LongGroups(above=2**15, categories=False)
    for rows in np.split(np.arange(600_000), 10):
        kept.add(team[rows].astype(float), {"team": pl.Series(team[rows]), "level": pl.Series(team[rows] % 97)})
    (groups,) = (one for one in kept._groups if one.name == "team")
    _, values, levels = groups.rows()
    assert len(values) <= 2**18
    assert np.array_equal(levels["level"], values % 97)
    names, counts = np.unique(values, return_counts=True)
    assert len(names) >= 16
    assert np.array_equal(counts, np.bincount(team, minlength=60_000)[names.astype(int)])
    large = LongGroups(above=2**15, categories=False)
    for _ in range(10):
        block = rng.integers(0, 20, 60_000)
        large.add(rng.random(60_000), {"team": pl.Series(block), "level": pl.Series(block % 7)})
    assert list(large.found()) == []
    assert all(one.rows() is None for one in large._groups)


def test_shares_of_a_label_by_group_are_named_in_long_tables():
    rng = np.random.default_rng(2)
    team, label = rng.integers(0, 500, LONG), rng.integers(0, 3, LONG).astype(float)
    share = np.round(np.bincount(team, weights=label == 1) / np.bincount(team), 4)[team]
    copies = Copies(categories=True)
    copies.add(label, {"team": pl.Series(team), "share": pl.Series(share), "noise": pl.Series(rng.random(500)[team])})
    (finding,) = copies.found()
    assert "'team' with 'share'" in finding.says
    assert "'team' with 'noise'" not in finding.says


@pytest.mark.parametrize("width", [2, 3, 8, 9])
def test_numbers_of_windows_are_those_of_each_window_by_itself(width):
    rng = np.random.default_rng(width)
    column = np.round(rng.normal(0, 20, 200), 1)
    column[[30, 90, 91, 150]] = np.nan, np.inf, -np.inf, np.inf
    pieces = [column[at : at + width] for at in range(200 - width + 1)]
    with np.errstate(invalid="ignore"):
        for name, one in (("largest", np.max), ("smallest", np.min), ("range", np.ptp), ("median", np.median)):
            by_itself = np.array([one(piece) for piece in pieces])
            np.testing.assert_array_equal(rolled(column, name, width, 0)[width - 1 :], by_itself)
            np.testing.assert_array_equal(rolled(column, name, width, 1)[width - 2 : -1], by_itself)
