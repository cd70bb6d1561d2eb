"""Releases of two columns that move apart: what becomes of the table, everywhere, and what is refused."""

from __future__ import annotations

import json
import math
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.tables.blocks import BLOCK
from tests.best_possible import none_known
from tests.blurring import most_off


def planned(**options):
    with none_known():
        return sv.plan(sv.Problem(**options), max_risk=0.2, method="interval")


RATIO = planned(
    secret=sv.ColumnRatio("cost", "revenue"),
    prior=(0.5, 2.0),
    tolerance=sv.Relative(0.05),
    known=sv.Structure(minimum=0),
)
DIFFERENCE = planned(secret=sv.ColumnDifference("cost", "revenue"), prior=(-10, 10), tolerance=0.5)
PLANS = {"ratio": RATIO, "difference": DIFFERENCE}


def table(kind="ratio", rows=400, seed=1, **columns):
    rng = np.random.default_rng(seed)
    if kind == "ratio":
        cost, revenue = rng.gamma(3.1, 7.3, rows), rng.gamma(4.2, 6.1, rows)
    else:
        cost, revenue = rng.normal(103.3, 9.1, rows), rng.normal(101.9, 12.7, rows)
    return pl.DataFrame({"site": rng.choice(["a", "b"], rows), "cost": cost, "revenue": revenue, **columns})


def both(frame):
    return frame["cost"].to_numpy(), frame["revenue"].to_numpy()


def secret(kind, frame):
    cost, revenue = (values[np.isfinite(values)].mean() for values in both(frame))
    return cost / revenue if kind == "ratio" else cost - revenue


# --- what becomes of the rows -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [60, 400, BLOCK, BLOCK + 1, 2 * BLOCK + 777])
@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.heavy(2)
def test_the_secret_is_that_of_the_plan_and_all_else_stays(kind, rows):
    plan, before = PLANS[kind], table(kind, rows)
    # rows without a value in one column only
    cost, revenue = (values.copy() for values in both(before))
    cost[3], cost[11], revenue[5] = np.nan, np.inf, np.nan
    before = before.with_columns(cost=pl.Series(cost), revenue=pl.Series(revenue))
    done = sv.release(plan, before, details=True)
    wanted, off = float(plan.apply(value=secret(kind, before)).secret), most_off(plan)
    assert (off == 0) == (kind == "ratio")
    assert secret(kind, done.table) == pytest.approx(wanted, rel=1e-6, abs=2 * off)
    assert done.table.drop("cost", "revenue").equals(before.drop("cost", "revenue"))
    assert done.table.columns == before.columns
    moves = []
    for x, y in zip(both(before), both(done.table), strict=True):
        finite = np.isfinite(x)
        assert np.array_equal(y[~finite], x[~finite], equal_nan=True)
        apart = y[finite] / x[finite] if kind == "ratio" else y[finite] - x[finite]
        assert np.ptp(apart) <= (2e-6 * np.abs(x[finite]).max() if kind == "ratio" else 2 * off)
        moves.append(float(np.mean(apart)))
    if kind == "ratio":
        assert max(abs(move - 1) for move in moves) <= plan.distortion * (1 + 1e-6)
        # the product of both factors is a number that the plan tells: each is released at its harmonic mean
        assert moves[0] * moves[1] == pytest.approx(1 / math.cosh(math.atanh(plan.distortion)) ** 2, rel=1e-6)
    else:
        assert max(map(abs, moves)) <= plan.distortion + off
        assert moves[0] == pytest.approx(-moves[1], abs=2 * off)  # half each, though one has fewer values
    assert sv.verify(done.table, done.card).ok


@settings(max_examples=25)
@given(data=st.data(), kind=st.sampled_from([*PLANS]))
def test_the_release_depends_on_the_secret_by_its_bin_alone(data, kind):
    """Two tables of one orbit, and one bin, become the same table: what it shows is no more than the bin."""
    plan = PLANS[kind]
    start = float(data.draw(st.floats(0.55, 1.9) if kind == "ratio" else st.floats(-9, 9)))
    target = plan.apply(value=start).secret
    step = float(data.draw(st.floats(-0.3, 0.3)))
    other = start * math.exp(step) if kind == "ratio" else start + 5 * step
    cost, revenue = both(table(kind, 60))
    tables = []
    for drawn in (start, other):
        if kind == "ratio":
            root = math.sqrt(drawn / (cost.mean() / revenue.mean()))
            tables.append(pl.DataFrame({"cost": cost * root, "revenue": revenue / root}))
        else:
            half = (drawn - (cost.mean() - revenue.mean())) / 2
            tables.append(pl.DataFrame({"cost": cost + half, "revenue": revenue - half}))
    low, high = (0.5, 2.0) if kind == "ratio" else (-10, 10)
    if not low < other < high or plan.apply(value=other).secret != target:
        return
    one, two = (sv.release(plan, frame, seed=3) for frame in tables)
    for name in ("cost", "revenue"):
        # what the blur of a value is depends on all its bits, so the two are blurred by themselves
        near = {"rtol": 1e-5, "atol": 1e-7} if kind == "ratio" else {"rtol": 0, "atol": 2 * most_off(plan)}
        assert np.allclose(one[name], two[name], **near)


def test_zeros_of_a_ratio_stay_and_tell_nothing():
    none = pl.Series(np.random.default_rng(3).random(600) < 0.2)  # in no order, which would tell
    before = table(rows=600).with_columns(cost=pl.when(none).then(0.0).otherwise("cost"))
    plan = planned(
        secret=sv.ColumnRatio("cost", "revenue"),
        prior=(0.4, 2.0),
        tolerance=sv.Relative(0.05),
        known=sv.Structure(minimum=0, atoms=(0,)),
    )
    released = sv.release(plan, before)
    assert np.array_equal(released["cost"].to_numpy() == 0, before["cost"].to_numpy() == 0)


# --- engines, files, databases ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", PLANS)
def test_every_engine_and_format_releases_the_same_rows(kind, tmp_path):
    plan, frame = PLANS[kind], table(kind)
    expected = sv.release(plan, frame, seed=5).to_dict(as_series=False)
    made = {
        "lazy": sv.release(plan, frame.lazy(), seed=5).collect(),
        "pandas": pl.DataFrame(sv.release(plan, pd.DataFrame(frame.to_dict(as_series=False)), seed=5)),
        "arrow": pl.DataFrame(sv.release(plan, frame.to_arrow(), seed=5)),
        "duckdb": sv.release(plan, duckdb.from_arrow(frame.to_arrow()), seed=5).pl(),
    }
    for name, found in made.items():
        assert found.to_dict(as_series=False) == expected, name
    files = {
        "csv": (lambda path: frame.write_csv(path), pl.read_csv),
        "parquet": (lambda path: frame.write_parquet(path, row_group_size=150), pl.read_parquet),
        "arrow": (lambda path: frame.write_ipc(path), pl.read_ipc),
    }
    for suffix, (write, read) in files.items():
        source, target = tmp_path / f"t.{suffix}", tmp_path / f"o.{suffix}"
        write(source)
        sv.release(plan, source, output=target, seed=5)
        found = read(target)
        assert found.to_dict(as_series=False) == expected, suffix
        # the statistic of what was written, read back
        wanted = float(plan.apply(value=secret(kind, frame)).secret)
        assert secret(kind, found) == pytest.approx(wanted, rel=1e-6, abs=2 * most_off(plan))
        assert sv.verify(target).ok


def test_a_table_of_a_database_is_released_as_the_file_is(tmp_path):
    frame, place = table(), tmp_path / "t.db"
    with sqlite3.connect(place) as db:
        db.execute("CREATE TABLE sales (site TEXT, cost DOUBLE, revenue DOUBLE)")
        db.executemany("INSERT INTO sales VALUES (?, ?, ?)", frame.rows())
    sv.release(RATIO, f"sqlite:///{place}?table=sales", output=f"sqlite:///{place}?table=released", seed=5)
    with sqlite3.connect(place) as db:
        rows = db.execute("SELECT site, cost, revenue FROM released").fetchall()
    assert sorted(rows) == sorted(sv.release(RATIO, frame, seed=5).rows())


def test_names_that_are_no_text_are_found():
    frame = pd.DataFrame(dict(zip((0, 1, "1'"), (*both(table()), np.arange(400) ** 1.5), strict=True)))
    plan = planned(secret=sv.ColumnDifference("0", "1"), prior=(-10, 10), tolerance=0.5)
    released = sv.release(plan, frame, accept=["bounds"])
    moved = (released - frame).abs().mean()
    assert moved[0] > 0
    assert moved[1] > 0
    assert moved["1'"] == 0


# --- what is refused --------------------------------------------------------------------------------------------------
def changed(kind, **columns):
    frame = table(kind, 1_000)
    rng = np.random.default_rng(5)
    made = {name: make(*both(frame), rng) for name, make in columns.items()}
    return frame.with_columns(**{name: pl.Series(values) for name, values in made.items()})


def mixed(values, others, rng):
    """The values, and others in one row of twenty."""
    return np.where(rng.random(len(values)) < 0.05, others, values)


def rank(values):
    return np.argsort(np.argsort(values)) + 1.0


def grade(values, rng):
    """A letter for each fifth, of values with some noise."""
    return np.array(list("ABCDE"))[((rank(values * rng.normal(1, 0.02, len(values))) - 1) // 200).astype(int)]


def means(values):
    """Those of 40 rows that follow one another."""
    return np.repeat(values.reshape(-1, 40).mean(axis=1), 40)


TOLD = {
    # one of the columns alone
    "a copy of the first": ("ratio", {"c": lambda x, y, rng: np.log(x)}, "copies", "(of 'cost')"),
    "a copy of the second": ("difference", {"c": lambda x, y, rng: 3 * y + 1}, "copies", "(of 'revenue')"),
    "a step of the first": ("ratio", {"cost": lambda x, y, rng: np.ceil(x)}, "step", ""),
    "a step of the second": ("difference", {"revenue": lambda x, y, rng: np.round(y, 1)}, "step", ""),
    "its spread in a cell": ("ratio", {"c": lambda x, y, rng: np.full(len(y), y.std(ddof=1))}, "copies", ""),
    # with a third column
    "the margin": ("ratio", {"margin": lambda x, y, rng: y - x}, "copies", "'margin'"),
    "the margin of a difference": ("difference", {"margin": lambda x, y, rng: y - x}, "copies", "'margin'"),
    "the sum": ("ratio", {"sum": lambda x, y, rng: x + y}, "copies", "'sum'"),
    "the product": ("ratio", {"product": lambda x, y, rng: x * y}, "copies", "'product'"),
    "the ratio": ("difference", {"share": lambda x, y, rng: x / y}, "copies", "'share'"),
    "the ratio in per cent": ("ratio", {"share": lambda x, y, rng: np.round(100 * x / y)}, "copies", "'share'"),
    "a flag for a loss": ("ratio", {"loss": lambda x, y, rng: x > y}, "copies", "'loss'"),
    "a flag for a loss, shifted": ("difference", {"loss": lambda x, y, rng: x > y}, "copies", "'loss'"),
    "the rank of the sum": ("ratio", {"place": lambda x, y, rng: rank(x + y)}, "copies", "'place'"),
    "the rank of the difference": ("ratio", {"place": lambda x, y, rng: rank(x - y)}, "copies", "'place'"),
    "the rank of a weighted sum": ("ratio", {"place": lambda x, y, rng: rank(0.3 * x + 0.7 * y)}, "copies", "'place'"),
    "the rank of a sum, shifted": ("difference", {"place": lambda x, y, rng: rank(x + y)}, "copies", "'place'"),
    "the rank of a product": ("ratio", {"place": lambda x, y, rng: rank(x * y**2)}, "copies", "'place'"),
    "the tenth of the sum": ("ratio", {"c": lambda x, y, rng: np.ceil(rank(x + y) / 100)}, "copies", "'c'"),
    "a grade of the sum": ("ratio", {"c": lambda x, y, rng: grade(x + y, rng)}, "copies", "'c'"),
    "groups' means of the sum": ("ratio", {"c": lambda x, y, rng: means(x + y)}, "copies", "'c'"),
    # the two alone
    "a fixed multiple": ("ratio", {"cost": lambda x, y, rng: 1.2 * y}, "step", ""),
    "a fixed distance": ("difference", {"cost": lambda x, y, rng: y + 3.5}, "atoms", ""),
    "a line": ("difference", {"cost": lambda x, y, rng: 0.9 * y + 9.3}, "copies", ""),
    "some fixed multiples": ("ratio", {"cost": lambda x, y, rng: mixed(x, 1.2 * y, rng)}, "atoms", ""),
    "some equal": ("ratio", {"cost": lambda x, y, rng: mixed(x, y, rng)}, "shared", ""),
    "some equal, shifted": ("difference", {"cost": lambda x, y, rng: mixed(x, y, rng)}, "shared", ""),
    "equal in other rows": ("ratio", {"cost": lambda x, y, rng: mixed(x, np.roll(y, 7), rng)}, "shared", ""),
    "whole multiples": ("ratio", {"cost": lambda x, y, rng: y * rng.integers(2, 6, len(x)) / 4}, "step", ""),
    "whole distances": ("difference", {"cost": lambda x, y, rng: y + rng.integers(-9, 9, len(x)) / 2}, "step", ""),
    "never above": ("ratio", {"cost": lambda x, y, rng: y * rng.beta(4, 1, len(x))}, "bounds", ""),
    "never below": ("ratio", {"cost": lambda x, y, rng: y / rng.beta(4, 1, len(x))}, "bounds", ""),
    "never above, shifted": ("difference", {"cost": lambda x, y, rng: y - rng.gamma(1.5, 3, len(x))}, "bounds", ""),
    "never below, shifted": ("difference", {"cost": lambda x, y, rng: y + rng.gamma(1.5, 3, len(x))}, "bounds", ""),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_tells_how_far_the_columns_moved_is_refused_by_name(name):
    kind, columns, leak, said = TOLD[name]
    with pytest.raises(sv.StructureError, match=f"--accept .*{leak}") as caught:
        sv.release(PLANS[kind], changed(kind, **columns))
    assert said in str(caught.value)


def test_what_is_refused_does_not_print_the_secret():
    frame = changed("ratio", cost=lambda x, y, rng: 1.2345678 * y)
    with pytest.raises(sv.StructureError) as caught:
        sv.release(RATIO, frame)
    assert "1.23" not in str(caught.value)


def test_plain_columns_are_not_refused_though_they_have_to_do_with_each_other():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        revenue = rng.gamma(4.2, 6.1, 500)
        cost = revenue * np.exp(rng.normal(-0.1, 0.3, 500))
        frame = pl.DataFrame({"cost": cost, "revenue": revenue, "n": rng.poisson(revenue), "z": rng.normal(size=500)})
        assert np.corrcoef(cost, revenue)[0, 1] > 0.75
        sv.release(RATIO, frame)
        level = rng.normal(103, 9, 500)
        sv.release(DIFFERENCE, pl.DataFrame({"cost": level + rng.normal(2, 9, 500), "revenue": level}))


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (lambda: table().drop("cost"), "unknown column 'cost'"),
        (lambda: table().with_columns(cost=pl.lit("a")), "'cost' holds String values"),
        (lambda: table()["cost"], "a single column without a name"),
        (lambda: table().with_columns(cost=5 * pl.col("cost")), "outside the stated prior|lies above"),
        (lambda: table().with_columns(revenue=pl.lit(float("nan"))), "no row with a finite number"),
        (lambda: table().with_columns(cost=-pl.col("cost")), "below the minimum"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_in_a_sentence(frame, said):
    with pytest.raises(sv.StatveilError, match=said):
        sv.release(RATIO, frame())


def test_a_column_is_not_named_twice():
    frame = table()
    with pytest.raises(sv.TableError, match="names itself"):
        sv.release(RATIO, frame, column="cost")
    released = sv.release(RATIO, frame)
    with pytest.raises(sv.ProblemError, match="names itself"):
        sv.audit(RATIO, frame, released, column="cost")
    with pytest.raises(sv.ProblemError, match="known records"):
        sv.audit(RATIO, frame, released, records=[(0, 1.0)])


# --- card, record, ledger ---------------------------------------------------------------------------------------------
def test_the_card_says_what_moved_and_no_number_of_it():
    before = table(rows=2_000)
    done = sv.release(RATIO, before, details=True)
    text = json.dumps(done.card)
    assert (done.card["column"], done.card["mode"], done.card["rows"]) == (None, "column-scale", 2_000)
    assert "column-ratio:cost/revenue" in text
    assert "group" not in text
    own = done.record["estimates"]
    for number in (own["secret"], *own["groups"]["means"], own["mean"]):
        assert f"{number:.6g}" not in text


def test_the_report_names_both_columns(tmp_path):
    sv.write_report(RATIO, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    _, _, rest = page.partition(">Columns<")
    assert "cost" in rest[:200]
    assert "revenue" in rest[:200]


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.with_columns(cost=1.01 * pl.col("cost")),
        lambda t: t.with_columns(cost=pl.col("revenue"), revenue=pl.col("cost")),
        lambda t: t.head(300),
        lambda t: t.drop("revenue"),
    ],
)
def test_a_table_that_was_changed_does_not_pass(change):
    done = sv.release(RATIO, table(), details=True)
    assert sv.verify(done.table, done.card).ok
    assert not sv.verify(change(done.table), done.card).ok


def test_a_release_again_with_its_record_is_the_same_and_another_pair_has_another_record(tmp_path):
    before = table()
    done = sv.release(RATIO, before, details=True)
    assert sv.release(RATIO, before, record=done.record).equals(done.table)
    with pytest.raises(sv.StatveilError, match="record of another release"):
        sv.release(RATIO, before.reverse(), record=done.record)
    # of a file the whole is hashed, so the record must know which columns it is of
    rng = np.random.default_rng(2)
    wide = before.with_columns(tax=pl.Series(rng.gamma(4.0, 6.0, 400)))
    wide.write_parquet(tmp_path / "t.parquet")
    other = planned(
        secret=sv.ColumnRatio("cost", "tax"),
        prior=(0.5, 2.0),
        tolerance=sv.Relative(0.05),
        known=sv.Structure(minimum=0),
    )
    record = tmp_path / "r.json"
    sv.release(RATIO, tmp_path / "t.parquet", output=tmp_path / "o.parquet", record=record)
    with pytest.raises(sv.StatveilError, match="another column"):
        sv.release(other, tmp_path / "t.parquet", output=tmp_path / "p.parquet", record=record)


def test_shuffled_and_rounded_releases_hold_the_same_rows_and_pass():
    before = table("difference")
    plain = sv.release(DIFFERENCE, before, seed=4)
    mixed = sv.release(DIFFERENCE, before, details=True, seed=4, shuffle=True)
    assert mixed.table.sort(plain.columns).equals(plain.sort(plain.columns))
    assert not mixed.table.equals(plain)
    few = sv.release(DIFFERENCE, before, details=True, round_digits=2)
    assert all(np.array_equal(values, np.round(values, 2)) for values in both(few.table))
    for done in (mixed, few):
        assert sv.verify(done.table, done.card).ok


def test_the_ledger_counts_a_release_against_both_columns(tmp_path):
    books = sv.Ledger.create(tmp_path / "books.db")
    sv.release(RATIO, table(), ledger=books, dataset="sales", budget=0.3, details=True)
    label = RATIO.problem.secret.label
    found = {one.column: one.risks[label].risk for one in books.show(dataset="sales").columns}
    assert found == {"cost": 0.2, "revenue": 0.2}
    mean = sv.Problem(secret=sv.Mean(), prior=(5, 60), tolerance=1, known=sv.Structure(minimum=0))
    with pytest.raises(sv.StatveilError, match="budget"):  # whoever learns how it moved learns both
        sv.release(sv.plan(mean, max_risk=0.2), table(), column="revenue", ledger=books, dataset="sales", budget=0.3)


# --- the command line, and who hides one column only ------------------------------------------------------------------
def test_the_command_line_plans_releases_verifies_and_audits(tmp_path, cli):
    frame = table()
    frame.write_csv(tmp_path / "t.csv")

    def run(*words):
        code, output, error = cli(*words)
        assert code == 0, error
        return output

    plan, out = tmp_path / "plan.json", tmp_path / "o.csv"
    run("plan", "--secret", "column-ratio:cost/revenue", "--prior", "0.5:2", "--tolerance", "5%", "--known", "min=0",
        "--max-risk", "0.2", "-o", plan)  # fmt: skip
    assert "two columns released, mode column-scale" in run("release", plan, tmp_path / "t.csv", out)
    assert "agrees with its card" in run("verify", out)
    found = pl.read_csv(out)
    wanted = float(sv.load_plan(plan).apply(value=secret("ratio", frame)).secret)
    assert secret("ratio", found) == pytest.approx(wanted, rel=1e-6)
    said = json.loads(run("audit", plan, tmp_path / "t.csv", out, "--attackers", "plug-in", "--trials", 200, "--json"))
    assert said["secret"] == "column-ratio:cost/revenue"
    assert "column-difference" in run("list")


def test_what_hides_one_column_only_says_so(tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text(
        '[columns.cost]\nhide = "column-ratio:cost/revenue"\nprior = "0.5:2"\ntolerance = "5%"\nknown = "min=0"\n'
        "max_risk = 0.2\n[columns.revenue]\nkeep = true\n",
        encoding="utf-8",
    )
    with pytest.raises(sv.StatveilError, match="a specification hides one column at a time"):
        sv.load_specification(spec)
    pytest.importorskip("sklearn")
    with pytest.raises(sv.StatveilError, match="a step of a pipeline releases one column"):
        sv.ReleaseTransformer(RATIO).fit(table().to_pandas())


BY = {
    "their sum": pl.col("cost") + pl.col("revenue"),
    "their ratio": pl.col("cost") / pl.col("revenue"),
    "their difference": pl.col("cost") - pl.col("revenue"),
    "the larger one": pl.max_horizontal("cost", "revenue"),
}


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("name", BY)
@pytest.mark.heavy(2)
def test_rows_that_are_sorted_by_both_columns_are_refused_until_they_are_shuffled(kind, name):
    rising = table(kind).sort(BY[name])
    for ordered in (rising, table(kind).with_columns(day=pl.int_range(400) // 20).sort("day", BY[name])):
        with pytest.raises(sv.StructureError, match=r"--shuffle.*--accept order"):
            sv.release(PLANS[kind], ordered)
    sv.release(PLANS[kind], rising, shuffle=True)
    with pytest.raises(sv.StructureError, match=r"'n'.*--accept copies"):
        sv.release(PLANS[kind], rising.with_columns(n=pl.int_range(400)), shuffle=True)


def test_sorted_rows_give_away_how_far_two_columns_moved():
    rising = table("ratio").sort(BY["their sum"])
    cost, revenue = both(sv.release(RATIO, rising, accept=["order", "copies"]))
    factors = np.exp(np.linspace(-0.7, 0.7, 701))
    wrong = np.array([np.count_nonzero(np.diff(factor * cost + revenue) < 0) for factor in factors])
    found = float(factors[wrong == wrong.min()].mean()) * cost.mean() / revenue.mean()
    assert found == pytest.approx(secret("ratio", rising), rel=0.01)
