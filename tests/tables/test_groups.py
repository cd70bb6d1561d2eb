"""Releases of two groups: what becomes of the rows, on every engine and in every format, and what is refused."""

from __future__ import annotations

import datetime
import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.tables.groups import GroupRows
from tests.best_possible import none_known

KNOWN = sv.Structure(minimum=0)


def planned(secret, **options):
    with none_known():
        return sv.plan(sv.Problem(secret=secret, **options), max_risk=0.2, method="interval")


def ratio(by="region", group="north", base="south"):
    return planned(sv.GroupRatio(by, group, base), prior=(0.5, 2.0), tolerance=sv.Relative(0.05), known=KNOWN)


def difference(by="region", group="north", base="south"):
    return planned(sv.GroupDifference(by, group, base), prior=(-10, 10), tolerance=0.5)


RATIO, DIFFERENCE = ratio(), difference()


def table(rows=600, seed=1, kind="ratio"):
    """A column of two groups and others, with rows without a value and without a label."""
    rng = np.random.default_rng(seed)
    region = rng.choice(np.array(["north", "south", "west", None], dtype=object), rows, p=[0.3, 0.45, 0.15, 0.1])
    north = np.array([label == "north" for label in region])
    if kind == "ratio":
        x = rng.gamma(2.3, 1.7, rows) * np.where(north, 1.31, 1.0)
        x[:: rows // 5] = 0.0  # an end that stays
    else:
        x = rng.normal(103.3, 9.1, rows) + np.where(north, 1.7, 0.0)
    x[7], x[11] = np.nan, np.inf
    return pl.DataFrame({"region": region.tolist(), "x": x, "other": rng.normal(size=rows)}, strict=False)


def parts(frame):
    region, x = np.array(frame["region"].to_list(), dtype=object), frame["x"].to_numpy()
    return x, region == "north", region == "south"


# --- what becomes of the rows ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [60, 600, 70_001])
def test_a_ratio_is_that_of_the_plan_and_everything_else_stays(rows):
    before = table(rows)
    done = sv.release(RATIO, before, column="x", details=True, accept=["atoms"])
    x, north, south = parts(before)
    y, *_ = parts(done.table)
    finite = np.isfinite(x)
    mean = {name: (x[rows & finite].mean(), y[rows & finite].mean()) for name, rows in (("n", north), ("s", south))}
    wanted = float(RATIO.apply(value=mean["n"][0] / mean["s"][0]).secret)
    assert mean["n"][1] / mean["s"][1] == pytest.approx(wanted, rel=1e-6)
    assert wanted != pytest.approx(mean["n"][0] / mean["s"][0], rel=1e-3)
    # the product is the original's but for a number that the plan tells: both factors have one geometric mean
    x_of = 0.5 * math.atanh(RATIO.distortion) * 2
    assert mean["n"][1] * mean["s"][1] == pytest.approx(mean["n"][0] * mean["s"][0] / math.cosh(x_of) ** 2, rel=1e-6)
    for group in (north, south):
        inside = group & finite & (x != 0)
        factors = y[inside] / x[inside]
        assert np.ptp(factors) <= 2e-6 * factors.mean()
        assert abs(factors.mean() - 1) <= RATIO.distortion * (1 + 1e-6)
    assert np.array_equal(y[group & finite & (x == 0)], np.zeros(np.count_nonzero(group & finite & (x == 0))))
    rest = ~(north | south) | ~finite
    assert np.array_equal(y[rest], x[rest], equal_nan=True)
    assert done.table.drop("x").equals(before.drop("x"))
    assert sv.verify(done.table, done.card).ok


def test_a_difference_is_that_of_the_plan_and_the_mean_of_both_groups_stays():
    before = table(kind="difference")
    done = sv.release(DIFFERENCE, before, column="x", details=True)
    x, north, south = parts(before)
    y, *_ = parts(done.table)
    finite = np.isfinite(x)
    x, y = np.where(finite, x, 0.0), np.where(finite, y, 0.0)
    gap = x[north & finite].mean() - x[south & finite].mean()
    found = y[north & finite].mean() - y[south & finite].mean()
    blur = 5 * 2.0**-10 * DIFFERENCE.problem.tolerance  # at most, in every row
    assert found == pytest.approx(float(DIFFERENCE.apply(value=gap).secret), abs=blur)
    both = (north | south) & finite
    assert y[both].mean() == pytest.approx(x[both].mean(), abs=blur)
    for group in (north, south):
        assert 0 < np.ptp((y - x)[group & finite]) < 2 * blur
    # W1 of the rows of both groups: at most 2 p (1 - p) of the move, and below what the plan states
    share = np.count_nonzero(north & finite) / np.count_nonzero(both)
    moved = np.abs(y - x)[both].mean()
    assert moved == pytest.approx(2 * share * (1 - share) * abs(found - gap), abs=blur)
    assert moved <= DIFFERENCE.distortion
    assert np.array_equal(y[~both], x[~both], equal_nan=True)
    assert sv.verify(done.table, done.card).ok


def test_the_card_says_what_moved_and_no_number_of_it():
    before = table()
    done = sv.release(RATIO, before, column="x", details=True, accept=["atoms"])
    said = str({key: value for key, value in done.card.items() if key != "plan"})
    assert "Rows of neither group, and rows without a label, are as they were." in said
    group = done.record["coefficients"]["group"]["a"]
    own = done.record["estimates"]["groups"]["means"]
    for private in (group, *own, done.record["estimates"]["secret"]):
        assert f"{private:.6g}" not in said
        assert repr(private) not in str(done.card)


def test_a_release_again_with_its_record_is_the_same_and_other_labels_are_another_table():
    before = table()
    done = sv.release(RATIO, before, column="x", details=True, accept=["atoms"])
    again = sv.release(RATIO, before, column="x", record=done.record, accept=["atoms"])
    assert again.equals(done.table)
    swapped = before.with_columns(pl.col("region").reverse())
    with pytest.raises(sv.StatveilError, match="record of another release"):
        sv.release(RATIO, swapped, column="x", record=done.record, accept=["atoms"])


def test_shuffled_and_rounded_releases_hold_the_same_rows_and_pass():
    before = table(kind="difference").drop_nulls().filter(pl.col("x").is_finite())
    plain = sv.release(DIFFERENCE, before, column="x", details=True, seed=4)
    mixed = sv.release(DIFFERENCE, before, column="x", details=True, seed=4, shuffle=True)
    order = ["region", "x", "other"]
    assert mixed.table.sort(order).equals(plain.table.sort(order))
    rounded = sv.release(DIFFERENCE, before, column="x", details=True, round_digits=2)
    assert sv.verify(mixed.table, mixed.card).ok
    assert sv.verify(rounded.table, rounded.card).ok
    few = sv.release(RATIO, table(), column="x", details=True, round_digits=3, accept=["atoms"])
    assert sv.verify(few.table, few.card).ok


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.with_columns(x=pl.when(pl.col("region") == "north").then(1.01 * pl.col("x")).otherwise("x")), ""),
        (lambda t: t.with_columns(region=pl.col("region").reverse()), ""),
        (lambda t: t.drop("region"), "unknown column"),
        (lambda t: t.with_columns(region=pl.lit("south")), "no row with the label 'north'"),
    ],
)
def test_a_table_that_was_changed_does_not_pass(change, said):
    done = sv.release(RATIO, table(), column="x", details=True, accept=["atoms"])
    found = sv.verify(change(done.table), done.card)
    assert not found.ok
    assert said in str(found)


# --- engines and formats ----------------------------------------------------------------------------------------------
LABELS = {
    "text": (["a b", "c=d", "other", None], ("a b", "c=d")),
    "years": ([2023, 2024, 2022, None], (2023, "2024")),
    "truths": ([True, False, None, None], (True, False)),
    "days": ([datetime.date(2023, 1, 31), datetime.date(2024, 1, 31), datetime.date(2022, 1, 31), None], None),
}


def labelled(kind, rows=400):
    rng = np.random.default_rng(8)
    values, _ = LABELS[kind]
    codes = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    x = rng.gamma(3.1, 2.2, rows) * np.where(codes == 0, 1.2, 1.0)
    return pl.DataFrame({"x": x, "by": [values[code] for code in codes]}), codes


ENGINES = {
    "polars": (lambda t: t, lambda t: t["x"].to_list()),
    "lazy": (lambda t: t.lazy(), lambda t: t.collect()["x"].to_list()),
    "categories": (
        lambda t: t.with_columns(pl.col("by").cast(pl.Categorical)) if t.schema["by"] == pl.String else t,
        lambda t: t["x"].to_list(),
    ),
    "pandas": (lambda t: pd.DataFrame({"x": t["x"].to_numpy(), "by": t["by"].to_list()}), lambda t: t["x"].tolist()),
    "pandas-category": (
        lambda t: pd.DataFrame({"x": t["x"].to_numpy(), "by": pd.Categorical(t["by"].to_list())}),
        lambda t: t["x"].tolist(),
    ),
    "arrow": (lambda t: t.to_arrow(), lambda t: t["x"].to_pylist()),
    "duckdb": (lambda t: duckdb.from_arrow(t.to_arrow()), lambda t: [row[0] for row in t.project("x").fetchall()]),
}


def to_excel(frame, path):
    pd.DataFrame(frame.to_dict(as_series=False)).to_excel(path, index=False)


FILES = {
    "xlsx": (to_excel, lambda path: pl.DataFrame(pd.read_excel(path)[["x"]])),
    "csv": (lambda t, path: t.write_csv(path), pl.read_csv),
    "csv.gz": (lambda t, path: pd.DataFrame(t.to_dict(as_series=False)).to_csv(path, index=False), pl.read_csv),
    "parquet": (lambda t, path: t.write_parquet(path, row_group_size=150), pl.read_parquet),
    "arrow": (lambda t, path: t.write_ipc(path), pl.read_ipc),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.heavy(2)
def test_every_engine_and_format_releases_the_same_rows(kind, tmp_path):
    frame, codes = labelled(kind)
    labels = LABELS[kind][1] or ("2023-01-31", "2024-01-31")
    plan = ratio("by", *labels)
    expected = sv.release(plan, frame, column="x", seed=5)["x"].to_list()
    moved = np.array(expected) != frame["x"].to_numpy()
    assert np.array_equal(moved, (codes == 0) | (codes == 1))
    for name, (make, read) in ENGINES.items():
        if kind == "days" and name == "pandas-category":
            continue  # of dates: their text has hours
        assert read(sv.release(plan, make(frame), column="x", seed=5)) == expected, name
    for suffix, (write, read) in FILES.items():
        if (suffix, kind) in (("csv.gz", "years"), ("xlsx", "days")):
            continue  # pandas writes them as 2023.0, which the next test has, and with hours
        source, target = tmp_path / f"t.{suffix}", tmp_path / f"o.{suffix}"
        write(frame, source)
        sv.release(plan, source, output=target, column="x", seed=5)
        # Excel keeps 16 digits, and the seventh digit of a release depends on all of them
        found = read(target)["x"].to_list()
        assert found == (pytest.approx(expected, rel=1e-6) if suffix == "xlsx" else expected), suffix
        assert sv.verify(target).ok


def test_labels_that_are_numbers_are_compared_by_their_value(tmp_path):
    frame, _ = labelled("years")
    floats = frame.with_columns(pl.col("by").cast(pl.Float64))
    plan = ratio("by", "2023", "2.024e3")
    expected = sv.release(plan, frame, column="x", seed=5)["x"].to_list()
    assert sv.release(plan, floats, column="x", seed=5)["x"].to_list() == expected
    floats.write_csv(tmp_path / "t.csv")
    sv.release(plan, tmp_path / "t.csv", output=tmp_path / "o.csv", column="x", seed=5)
    assert pl.read_csv(tmp_path / "o.csv")["x"].to_list() == expected


@given(
    sizes=st.lists(st.integers(0, 40), max_size=8), start=st.integers(0, 200), size=st.integers(0, 200), data=st.data()
)
def test_the_rows_of_groups_are_found_again_whatever_the_pieces(sizes, start, size, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    pieces = [(rng.random(n) < 0.4, rng.random(n) < 0.3) for n in sizes]
    found = GroupRows.of(iter(pieces))
    whole = [np.concatenate([np.zeros(0, bool), *(piece[i] for piece in pieces)]) for i in range(2)]
    assert found.size == len(whole[0])
    if start + size > found.size:
        with pytest.raises(sv.ColumnError, match="more rows now"):
            found.rows(start, size)
    else:
        for one, two in zip(found.rows(start, size), whole, strict=True):
            assert np.array_equal(one, two[start : start + size])


# --- what is refused --------------------------------------------------------------------------------------------------
def clean(kind="ratio", rows=1_500):
    frame = table(rows, kind=kind).filter(pl.col("x").is_finite() & (pl.col("x") != 0))
    return frame.fill_null("none")


def in_north(values, frame, other="x"):
    return frame.with_columns(pl.when(pl.col("region") == "north").then(values).otherwise(pl.col(other)).alias(other))


REFUSED = {
    "a step in one group": (RATIO, lambda t: in_north((2 * pl.col("x")).round() / 2, t), "step"),
    "a step in all rows": (DIFFERENCE, lambda t: t.with_columns(pl.col("x").round(1)), "step"),
    "an atom in one group": (RATIO, lambda t: in_north(pl.col("x").clip(upper_bound=6.1234567), t), "atoms"),
    "a bound": (DIFFERENCE, lambda t: t.with_columns((pl.col("x") - 103.3).abs()), "bounds"),
    "a copy beside all rows": (RATIO, lambda t: t.with_columns(log=pl.col("x").log()), "copies"),
    "a copy beside one group": (
        RATIO,
        lambda t: in_north(3.1 * pl.col("x"), t.with_columns(also=pl.col("other")), "also"),
        "copies",
    ),
    "a value that does not change": (
        RATIO,
        lambda t: (
            pl.concat([t.filter(pl.col("region") == "south"), t.filter(pl.col("region") == "south").head(9)])
            .with_row_index("n")
            .with_columns(region=pl.when(pl.col("n") % 2 == 0).then(pl.lit("north")).otherwise(pl.lit("south")))
            .drop("n")
            .pipe(lambda own: pl.concat([own, own.head(40).with_columns(region=pl.lit("west"))]))
        ),
        "shared",
    ),
    "the mean of a group in a cell": (
        RATIO,
        lambda t: t.with_columns(mean=pl.lit(t.filter(pl.col("region") == "north")["x"].mean())),
        "copies",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_tells_a_group_is_refused_and_may_be_accepted_by_name(name):
    plan, change, leak = REFUSED[name]
    before = clean("ratio" if plan is RATIO else "difference")
    sv.release(plan, before, column="x")  # nothing tells as long as it is as it was
    with pytest.raises(sv.StatveilError, match=f"--accept.*{leak}") as caught:
        sv.release(plan, change(before), column="x")
    assert "\n" not in str(caught.value)
    assert "--shape" not in str(caught.value)


@pytest.mark.parametrize("plan", [RATIO, DIFFERENCE], ids=["ratio", "difference"])
def test_short_floats_that_two_groups_have_by_chance_are_neither_refused_nor_spread_alike(plan):
    rng = np.random.default_rng(2)
    region = rng.choice(["north", "south"], 40_000)
    x = (rng.gamma(2.3, 1.7, 40_000) + (40 if plan is DIFFERENCE else 0)).astype(np.float32)
    before = pl.DataFrame({"region": region, "x": x.astype(np.float64) if plan is RATIO else x})
    after = sv.release(plan, before, column="x")["x"].to_numpy().astype(np.float64)
    north, south = (dict(zip(x[region == label], after[region == label], strict=True)) for label in ("north", "south"))
    common = [value for value in north if value in south]
    assert len(common) >= 5  # by chance, as there are few such floats
    if plan is RATIO:
        apart = np.array([north[value] / south[value] for value in common])
        assert np.std(apart) > 0.5e-7 * np.mean(apart)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.drop("region"), "unknown column 'region'"),
        (lambda t: t.with_columns(region=pl.lit("south")), "no row with the label 'north'.*It has 'south'"),
        (lambda t: t.with_columns(region=pl.lit(None, pl.String)), "It has none at all"),
        (lambda t: in_north(None, t), "no row with a finite number"),
        (lambda t: in_north(pl.lit(0.0), t), "needs means above 0 in both"),
        (lambda t: in_north(-pl.col("x"), t), "below the minimum|needs means above 0"),
        (lambda t: in_north(40 * pl.col("x"), t), "above the prior's range"),
        (lambda t: t["x"], "a single column has no other beside it"),
        # numbers of another column are not printed, where there are too many to be labels
        (
            lambda t: t.rename({"x": "region", "region": "x"}),
            "no row with the label 'north', as the plan's .* asks for",
        ),
    ],
)
def test_a_table_without_the_two_groups_is_refused_in_a_sentence(change, said):
    given = change(table())
    with pytest.raises(sv.StatveilError, match=said) as caught:
        sv.release(RATIO, given, column=None if isinstance(given, pl.Series) else "x", accept=["atoms"])
    assert "\n" not in str(caught.value)
    assert "." not in str(caught.value).removesuffix(".").replace(". ", " ")  # no number of the table


def test_a_column_cannot_name_its_own_groups():
    plan = ratio("x", "1", "2")
    with pytest.raises(sv.ColumnError, match="cannot name the groups of its own rows"):
        sv.release(plan, table(), column="x")


def test_nothing_is_written_where_a_label_is_missing(tmp_path):
    source, target = tmp_path / "t.csv", tmp_path / "o.csv"
    table().drop_nulls().write_csv(source)
    with pytest.raises(sv.ColumnError, match="no row with the label 'east'"):
        sv.release(ratio("region", "east", "south"), source, output=target, column="x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv"]


# --- a whole table ----------------------------------------------------------------------------------------------------
SPECIFICATION = """
others = "keep"
[columns.x]
hide = "ratio:region=north/south"
prior = "0.5:2"
tolerance = "5%"
known = "min=0"
max_risk = 0.2
accept = ["atoms"]
"""


def test_a_specification_releases_groups_beside_other_columns():
    text = SPECIFICATION + '[columns.other]\nhide = "mean"\nprior = "-1:1"\ntolerance = 0.05\nmax_risk = 0.2\n'
    plans = sv.plan_specification(sv.Specification.from_toml(text))
    before = table()
    done = sv.release(plans, before, details=True)
    x, north, south = parts(before)
    y, *_ = parts(done.table)
    finite = np.isfinite(x)
    wanted = float(RATIO.apply(value=x[north & finite].mean() / x[south & finite].mean()).secret)
    assert y[north & finite].mean() / y[south & finite].mean() == pytest.approx(wanted, rel=1e-6)
    assert sv.verify(done.table, done.card).ok
    assert not sv.verify(done.table.with_columns(region=pl.col("region").reverse()), done.card).ok


@pytest.mark.parametrize(
    ("became", "change"),
    [
        ("dropped", "[columns.region]\ndrop = true\n"),
        ("linked", '[columns.region]\nlink = "x"\n'),
        ("derived", '[columns.region]\nderive = "x * 2"\n'),
        ("hidden", '[columns.region]\nhide = "mean"\nprior = "0:1"\ntolerance = 0.1\nmax_risk = 0.5\n'),
    ],
)
def test_the_labels_of_a_specification_are_published(became, change):
    with pytest.raises(sv.StatveilError, match=f"line 4.*'region' names, which is {became}.*Keep that column"):
        sv.Specification.from_toml(SPECIFICATION + change)
    with pytest.raises(sv.StatveilError, match="which is dropped"):
        sv.Specification.from_toml(SPECIFICATION.replace('"keep"', '"drop"'))


def test_nothing_is_linked_to_a_column_whose_groups_move_apart():
    plans = sv.plan_specification(sv.Specification.from_toml(SPECIFICATION + '[columns.other]\nlink = "x"\n'))
    with pytest.raises(sv.StatveilError, match=r"'other' cannot move along with 'x'.*two groups of rows apart"):
        sv.release(plans, table())


def test_a_step_of_a_pipeline_moves_the_table_that_it_was_fitted_to_and_no_other():
    pytest.importorskip("sklearn")
    before = table().to_pandas()
    step = sv.ReleaseTransformer(RATIO, column="x", accept=["atoms"], seed=5).fit(before)
    alone = sv.release(RATIO, before, column="x", accept=["atoms"], seed=5)
    assert step.transform(before)["x"].equals(alone["x"])
    for other in (before.iloc[::-1], before.assign(region=before["region"].iloc[::-1].to_numpy())):
        with pytest.raises(sv.StatveilError, match="moves groups, so only the table that was fitted"):
            step.transform(other)


def test_a_table_in_arrow_keeps_its_type():
    released = sv.release(RATIO, table().to_arrow(), column="x", accept=["atoms"])
    assert isinstance(released, pa.Table)


# --- the order of the rows --------------------------------------------------------------------------------------------
def raced(kind, seed=2, rows=400):
    """Rows in no order, twenty to a race, and their places in it."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "west"], rows, p=[0.4, 0.4, 0.2])
    x = rng.gamma(9, 4, rows) if kind == "ratio" else rng.normal(60, 8, rows)
    frame = pl.DataFrame({"region": region, "race": rng.permutation(np.arange(rows) // 20), "x": x})
    return frame, frame.with_columns(place=pl.col("x").rank("ordinal").over("race"))


def in_races(frame):
    """The races where they were, each with its rows in order."""
    rows = frame.with_row_index("at")
    inside = rows.sort("race", "x").with_columns(at=rows.sort("race", "at")["at"])
    return inside.sort("at").drop("at")


def undone(released, kind):
    """The move of the first group that puts the rows in order again, all over."""
    x, north = released["x"].to_numpy(), (released["region"] == "north").to_numpy()
    base, moves = (np.log(x), np.linspace(-0.6, 0.6, 601)) if kind == "ratio" else (x, np.linspace(-12, 12, 601))
    wrong = [np.count_nonzero(np.diff(base + move * north) < 0) for move in moves]
    move = float(moves[np.array(wrong) == min(wrong)].mean())
    own = x[(released["region"] == "south").to_numpy()].mean()
    return x[north].mean() * np.exp(move) / own if kind == "ratio" else x[north].mean() + move - own


def compared(frame, kind):
    x, north, south = parts(frame)
    return x[north].mean() / x[south].mean() if kind == "ratio" else x[north].mean() - x[south].mean()


@pytest.mark.parametrize("kind", ["ratio", "difference"])
@pytest.mark.heavy(1)
def test_sorted_rows_give_the_secret_away_so_they_are_refused_until_they_are_shuffled(kind):
    plan = {"ratio": RATIO, "difference": DIFFERENCE}[kind]
    within = 0.05 if kind == "ratio" else 0.5
    hits = []
    for seed in range(6):
        rising = raced(kind, seed)[0].drop("race").sort("x")
        with pytest.raises(sv.StructureError, match=r"--shuffle.*--accept order"):
            sv.release(plan, rising, column="x")
        leaked = sv.release(plan, rising, column="x", accept=["order"])
        mixed = sv.release(plan, rising, column="x", shuffle=True)
        true = compared(rising, kind)
        hits.append(
            [abs(undone(one, kind) - true) <= within * (true if kind == "ratio" else 1) for one in (leaked, mixed)]
        )
    assert np.sum(hits, axis=0)[0] == 6
    assert np.sum(hits, axis=0)[1] <= 4


@pytest.mark.parametrize("kind", ["ratio", "difference"])
@pytest.mark.heavy(1)
def test_order_in_blocks_is_refused_wherever_the_rows_of_a_block_stand(kind):
    plan = {"ratio": RATIO, "difference": DIFFERENCE}[kind]
    plain, _ = raced(kind)
    sv.release(plan, plain, column="x")
    rng = np.random.default_rng(5)
    noisy = plain["x"].to_numpy() + rng.normal(0, 0.2 * plain["x"].std(), len(plain))
    for ordered in (
        plain.sort("race", "x"),
        plain.sort("race", "x").drop("race"),
        in_races(plain),
        plain[np.argsort(noisy)],
    ):
        with pytest.raises(sv.StructureError, match="--accept order"):
            sv.release(plan, ordered, column="x")
        sv.release(plan, ordered, column="x", shuffle=True)


@pytest.mark.parametrize("kind", ["ratio", "difference"])
@pytest.mark.heavy(1)
def test_a_column_that_puts_the_rows_of_blocks_in_order_is_refused_by_its_name(kind):
    plan = {"ratio": RATIO, "difference": DIFFERENCE}[kind]
    for seed in range(6):
        with pytest.raises(sv.StructureError, match=r"'place'.*--accept copies"):
            sv.release(plan, raced(kind, seed)[1], column="x", shuffle=True)
    plain = raced(kind)[0].with_columns(match=pl.Series(np.random.default_rng(3).permutation(400) // 2))
    won = plain.with_columns(won=pl.col("x") == pl.col("x").max().over("match"))
    with pytest.raises(sv.StructureError, match=r"'won'.*--accept copies"):
        sv.release(plan, won, column="x")
    # the same flags in other rows tell nothing
    sv.release(plan, plain.with_columns(won=won["won"].shuffle(seed=1)), column="x")


def test_a_column_that_restores_the_order_of_sorted_rows_is_refused_though_they_are_shuffled():
    plain, _ = raced("ratio")
    keyed = plain.sort("race", "x").with_columns(key=pl.int_range(len(plain)) * 37)
    with pytest.raises(sv.StructureError, match=r"'key'.*--accept copies"):
        sv.release(RATIO, keyed, column="x", shuffle=True)
    # a date in its order, with a season, is no list of results
    day = np.arange(len(plain))
    dated = plain.drop("race").with_columns(
        pl.col("x") * (1 + 0.2 * np.sin(day / 58)), day=pl.Series(day).cast(pl.Date)
    )
    with pytest.raises(sv.StructureError, match="--accept order"):
        sv.release(RATIO, dated, column="x")
    sv.release(RATIO, dated, column="x", shuffle=True)


def test_groups_one_below_the_other_are_not_an_order_of_the_rows():
    plain, _ = raced("ratio")
    stacked = plain.with_columns(
        pl.col("x") * pl.col("region").replace_strict({"north": 1.5, "south": 1.0, "west": 3.0})
    )
    rows = stacked.sort("region", maintain_order=True)
    out = sv.release(RATIO, rows, column="x")
    assert out["region"].equals(rows["region"])
    assert not out["x"].equals(rows["x"])
