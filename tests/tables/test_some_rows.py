"""Some rows of a table released: which ones, what else would tell how many there were, and who says so."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import norm

import statveil as sv
from statveil.report.chart import tradeoff_chart
from statveil.tables.shuffling import first_of, keys_of, shuffled_frames, shuffled_order
from statveil.tables.structure.row_count.count_search import RowTellers
from statveil.words.caveats import not_protected
from statveil.words.plan import distortion_sentence

PROBLEM = sv.Problem(secret=sv.Rows(), prior=sv.LogUniform(1_000, 100_000), tolerance=sv.Relative(0.05))
PLAN = sv.plan(PROBLEM, max_risk=0.2)
FINER = sv.plan(PROBLEM, max_risk=0.3, after=[PLAN])
N = 5_432
LEAKS = ["panels", "ranks", "row-numbers", "running", "timestamps", "totals"]


def table(rows=N, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pay": rng.lognormal(10, 0.5, rows).round().astype(int),
            "price": rng.lognormal(3, 1, rows).round(2),
            "age": rng.integers(18, 90, rows),
            "place": rng.choice(["north", "south", "east"], rows),
            "born": pl.Series(rng.integers(-15_000, 10_000, rows)).cast(pl.Date),
            "key": rng.integers(0, 2**60, rows),
            "member": rng.random(rows) < 0.3,
            "children": rng.poisson(0.8, rows),
            "score": rng.normal(size=rows),
        }
    )


def planted(rows, seed=0):
    """Columns that tell the number of rows, each with the name of its leak."""
    rng = np.random.default_rng(seed)
    order, amount = rng.permutation(rows), rng.exponential(5, rows).round(2)
    household = np.repeat(np.arange(rows), rng.integers(1, 7, rows))[:rows]
    within = np.concatenate([np.arange(size) + 1 for size in np.bincount(household)])
    hours = pl.Series(order * 3_600_000_000).cast(pl.Datetime("us"))
    return {
        "id": ("row-numbers", order + 1),
        "sparse id": ("row-numbers", np.cumsum(rng.integers(1, 6, rows))[order]),
        "key text": ("row-numbers", [f"ORD-{number:07d}" for number in order]),
        "hours": ("timestamps", hours),
        "time text": ("timestamps", hours.dt.strftime("%Y-%m-%d %H:%M:%S")),
        "panel": ("panels", order // 12),
        "pairs": ("panels", [f"pair {number // 2}" for number in order]),
        "household": ("panels", household[order]),
        "household size": ("panels", np.bincount(household)[household][order]),
        "balance": ("running", np.cumsum(amount)),
        "rank": ("ranks", (order + 1) / (rows + 0.0)),
        "percentile": ("ranks", 100 * order / (rows - 1)),
        "share": ("totals", amount / amount.sum()),
        "rows": ("totals", np.full(rows, rows)),
        "turnover": ("totals", np.full(rows, table(rows)["pay"].sum())),
        "visit": ("panels", within[order]),
    }, household[order]


def look(frame, piece=1_000):
    tellers = RowTellers()
    for start in range(0, len(frame), piece):
        tellers.add({one.name: one for one in frame.slice(start, piece).get_columns()})
    return tellers.by_column()


# --- which rows ---------------------------------------------------------------------------------
def test_every_row_is_as_likely_as_any_other_and_so_is_every_order():
    rows, keep, trials = 6, 3, 6_000
    seen = np.zeros((rows, keep))
    for seed in range(trials):
        for place, row in enumerate(shuffled_order(seed, rows)[:keep]):
            seen[row, place] += 1
    # each count is binomial with share 1/6: five standard deviations
    assert np.abs(seen / trials - 1 / rows).max() < 5 * np.sqrt(1 / rows * (1 - 1 / rows) / trials)


@pytest.mark.parametrize(("rows", "keep"), [(1, 1), (1_000, 1), (1_000, 1_000), (150_000, 99_999)])
def test_the_part_of_a_long_table_is_that_of_one_in_memory(rows, keep):
    seed, block = 9, 65_536
    first = first_of(seed, rows, keep)
    frames = (
        (
            pl.DataFrame({"row": np.arange(start, min(start + block, rows))}),
            keys_of(seed, index, min(block, rows - start)),
        )
        for index, start in enumerate(range(0, rows, block))
    )
    found = pl.concat(shuffled_frames(frames, rows=rows, first=first, in_memory=20_000))["row"].to_numpy()
    assert np.array_equal(found, shuffled_order(seed, rows)[:keep])


def test_releases_with_one_record_are_nested_and_two_streams_can_be_recaptured():
    frame = table()
    first = sv.release(PLAN, frame, details=True)
    again = sv.release(PLAN, frame, record=first.record)
    finer = sv.release(FINER, frame, record=first.record, details=True)
    assert again.equals(first.table)
    assert finer.table.head(len(first.table)).equals(first.table)
    assert f"joint risk {FINER.risk:.1g}" in finer.notes[0]
    # positive control: rows that two streams have drawn are found again, and tell how many there are
    other = sv.release(PLAN, frame)
    both = first.table.join(other, on="key", how="inner")
    recaptured = len(first.table) * len(other) / len(both)
    assert abs(recaptured / N - 1) < 0.05
    # of nested parts the smaller one is found whole, whatever the table's length
    assert len(first.table.join(finer.table, on="key", how="inner")) == len(first.table)


def test_rows_stay_as_they_are_and_the_size_is_that_of_the_plan():
    frame = table()
    released = sv.release(PLAN, frame, details=True)
    assert len(released.table) == int(PLAN.apply(value=N).secret) == released.card["rows"]
    assert released.table.join(frame, on=frame.columns, how="semi").equals(released.table)
    assert 1 - len(released.table) / N <= PLAN.distortion
    # the same size for every table of the bin
    low, high = (int(np.exp(released.record["bin"][end])) for end in ("low", "high"))
    assert {len(sv.release(PLAN, table(rows))) for rows in (low + 1, high - 1)} == {len(released.table)}


def test_nothing_of_rows_that_are_left_out_stays_in_pandas_and_arrow():
    frame = table().to_pandas()
    frame["who"] = pd.Categorical([f"k{number:x}" for number in frame["key"]])
    frame["when"] = frame["who"].cat.as_ordered()
    released = sv.release(PLAN, frame)
    assert list(released.index) == list(range(len(released)))
    for name in ("who", "when"):
        assert len(released[name].cat.categories) == len(released)
    arrow = sv.release(PLAN, pa.Table.from_pandas(frame.drop(columns="when")))
    assert len(arrow["who"].combine_chunks().dictionary) == len(released)
    listed = table().with_columns(pl.Series("who", frame["who"].astype(str).to_numpy()))
    listed = listed.with_columns(pl.col("who").cast(pl.Enum(listed["who"])))
    with pytest.raises(sv.StructureError, match="lists all of its values"):
        sv.release(PLAN, listed)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_files_hold_the_same_rows_as_frames_and_pass_verification(tmp_path, suffix):
    frame, place, out = table(), tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}[suffix](place)
    sv.release_file(PLAN, place, out, seed=5)
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "arrow": pl.read_ipc}[suffix]
    expected = sv.release(PLAN, frame, seed=5)
    assert read(out)["key"].to_list() == expected["key"].to_list()
    assert read(out)["price"].to_list() == expected["price"].to_list()
    assert sv.verify(out).ok
    if suffix == "csv":
        lines = out.read_text().splitlines(keepends=True)
        out.write_text("".join(lines[:-1]))
        assert {check.name for check in sv.verify(out).checks if not check.ok} == {"hash"}


def test_a_csv_keeps_its_text_and_loses_its_blank_lines(tmp_path):
    place, out = tmp_path / "in.csv", tmp_path / "out.csv"
    rows = [
        f'{number:x},"{chr(97 + number % 26)}, x"\r\n'
        for number in np.random.default_rng(0).permutation(2_000) * 7_919 % 9_999_991
    ]
    place.write_text("k,t\r\n" + "\r\n".join(rows), newline="")
    sv.release_file(PLAN, place, out, accept=LEAKS)
    kept = out.read_bytes().decode().splitlines(keepends=True)
    assert kept[0] == "k,t\r\n"
    assert len(kept) - 1 == int(PLAN.apply(value=2_000).secret)
    assert set(kept[1:]) <= set(rows)


def test_verify_says_where_rows_were_taken_away():
    released = sv.release(PLAN, table(), details=True)
    assert sv.verify(released.table, released.card).ok
    found = sv.verify(released.table.head(len(released.table) - 1), released.card)
    assert [check.name for check in found.checks if not check.ok] == ["rows", "statistic"]
    changed = json.loads(json.dumps(released.card)) | {"rows": len(released.table) - 1}
    assert not sv.verify(released.table.head(len(released.table) - 1), changed).ok


# --- what would tell ------------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [1_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_every_column_that_tells_is_named_and_no_other(rows):
    plain = table(rows)
    assert {name: told for name, told in look(plain, 7_000).items() if told} == {}
    columns, household = planted(rows)
    for name, (leak, values) in columns.items():
        frame = plain.with_columns(pl.Series(name, values))
        if name == "visit":
            frame = frame.with_columns(pl.Series("person", household * 977 % 1_000_003))
        told = look(frame, 7_000)
        allowed = {leak, "row-numbers"} if leak in ("ranks", "timestamps") else {leak}
        assert told[name], name
        assert set(told[name]) <= allowed, name
        assert not any(others for column, others in told.items() if column not in (name, "person"))


def made(rows, seed=0):
    """Columns that were made from the number of rows."""
    rng = np.random.default_rng(seed)
    weight, z, rank = rng.lognormal(0, 0.5, rows), rng.normal(size=rows), rng.permutation(rows) + 1.0
    people = np.array([9e6, 7e6, 5e6, 4e6, 2.4e6])
    stratum = rng.choice(5, rows, p=people / people.sum())
    by_stratum = (people / np.bincount(stratum, minlength=5))[stratum]
    z = (z - z.mean()) / z.std()
    share = weight / weight.sum()
    return {
        "population": (33e6 * share).round(2),
        "constant": np.full(rows, 33e6 / rows),
        "strata": by_stratum,
        "strata in cents": by_stratum.round(2),
        "mean 1": weight / weight.mean(),
        "standardised": z,
        "standardised, n - 1": z * np.sqrt((rows - 1) / rows),
        "standardised, rounded": z.round(2),
        "iq": 100 + 15 * z,
        "per cent": (100 * share).round(5),
        "ppm": (1e6 * share).round(1),
        "blom": norm.ppf((rank - 0.375) / (rows + 0.25)),
        "van der Waerden": norm.ppf(rank / (rows + 1)),
        "tukey": norm.ppf((rank - 1 / 3) / (rows + 1 / 3)).round(6),
        "hazen": norm.ppf((rank - 0.5) / rows),
        "log rank": np.log(rank),
        "log10 p": -np.log10(rank / (rows + 1)),
    }


@pytest.mark.parametrize("rows", [1_234, pytest.param(17_321, marks=pytest.mark.slow)])
def test_columns_that_were_made_from_the_number_of_rows_are_named(rows):
    for name, values in made(rows).items():
        told = look(table(rows).with_columns(pl.Series(name, values)), 7_000)
        assert "copies" in told[name], name
        assert not any(others for column, others in told.items() if column != name)
        # of a part of the rows nobody can say it, but for what stands in each of them
        part = look(pl.DataFrame({name: values[: rows * 2 // 3]}))[name]
        assert "copies" not in part or name in ("constant", "strata", "log rank"), name


def test_columns_that_have_nothing_to_do_with_the_number_of_rows_are_not_named():
    named = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(1_000, 9_000))
        level = float(np.exp(rng.uniform(-2, 6)))
        columns = {
            "normal": rng.normal(level, 3, rows),
            "about 0": rng.normal(size=rows),
            "about 0, rounded": rng.normal(size=rows).round(2),
            "lognormal": rng.lognormal(np.log(level), 1, rows),
            "money": rng.lognormal(3, 1, rows).round(2),
            "prices": rng.choice([4.99, 10.0, 12.49, 20.0, 99.95], rows),
            "counts": rng.poisson(level, rows),
            "logs of counts": np.log1p(rng.poisson(20, rows)),
            "shares": rng.beta(2, 5, rows).round(4),
            "hundreds": 100 * rng.lognormal(5, 0.5, rows).round(),
            "year": np.full(rows, 2024),
            "tax": np.full(rows, 0.195),
        }
        named += sum(bool(told) for told in look(pl.DataFrame(columns), 7_000).values())
    assert named <= 2  # of 144


def test_survey_weights_are_refused_by_name_and_give_the_number_of_rows_away():
    values = made(N)["population"]
    frame = table().with_columns(weight=values)
    with pytest.raises(sv.StructureError, match=r"column 'weight' adds up.*--accept copies"):
        sv.release(PLAN, frame)
    part = sv.release(PLAN, frame, accept=["copies"])
    assert len(part) * 33e6 / part["weight"].sum() == pytest.approx(N, rel=0.05)
    sv.release(PLAN, frame.drop("weight"))


@pytest.mark.parametrize("name", ["id", "hours", "panel", "share", "balance"])
def test_a_table_that_tells_is_refused_by_name_without_a_number_of_it(name):
    leak, values = planted(N)[0][name]
    frame = table().with_columns(pl.Series(name, values))
    with pytest.raises(sv.StructureError) as refused:
        sv.release(PLAN, frame)
    said = str(refused.value)
    assert f"column {name!r}" in said
    assert f"--accept {leak}" in said
    assert "leave it out" in said
    assert not any(text in said for text in (str(N), f"{N:,}"))
    card = sv.release(PLAN, frame, accept=[leak], details=True).card
    assert [one["name"] for one in card["accepted_leaks"]] == [leak]
    assert "does not hold" in card["guarantee"]["says"]


def test_tables_of_which_no_part_can_be_released_are_refused(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    table().write_parquet(folder / "a.parquet")
    for given, said in ((table().lazy(), "collect"), ([1.0, 2.0], "single column"), (table()["pay"], "single column")):
        with pytest.raises(sv.TableError, match=said):
            sv.release(PLAN, given)
    with pytest.raises(sv.TableError, match="stays in its file"):
        sv.release_file(PLAN, folder, tmp_path / "out")
    for rows, said in ((500, "fewer rows"), (100_001, "more rows")):
        with pytest.raises(sv.TableError, match=said) as refused:
            sv.release(PLAN, table().sample(rows, with_replacement=True, seed=1))
        assert str(rows) not in str(refused.value)
    with pytest.raises(sv.TableError, match="whole table"):
        sv.release(PLAN, table(), column="pay")


# --- who is told ----------------------------------------------------------------------------------
def test_the_ledger_refuses_releases_whose_length_would_tell():
    problem = sv.Problem(secret=sv.Mean(), prior=(1, 100), tolerance=1)
    mean = sv.plan(problem, max_risk=0.3)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(pytest.importorskip("tempfile").mkdtemp())
        ledger = sv.Ledger.create("books.db")
        ledger.add(PLAN, dataset="one", column="(rows)")
        ledger.add(mean, dataset="two", column="price")
        with pytest.raises(sv.BudgetError, match="would show all"):
            ledger.add(mean, dataset="one", column="price")
        with pytest.raises(sv.BudgetError, match="is public"):
            ledger.check(PLAN, dataset="two", column="(rows)")
        (account,) = ledger.check(PLAN, dataset="one", column="(rows)").accounts
        assert account.after == account.before == PLAN.risk


def test_the_audit_holds_on_exchangeable_rows():
    frame = table()
    found = sv.audit(PLAN, frame, sv.release(PLAN, frame), seed=3)
    assert found.verdict == "holds"
    best = max(found.findings, key=lambda finding: finding.rate)
    assert best.low <= PLAN.risk <= best.high


@pytest.mark.parametrize(
    ("name", "attacker"), [("id", "largest-id"), ("sparse id", "gaps"), ("panel", "groups"), ("rank", "wholes")]
)
def test_the_audit_attacks_what_was_accepted(name, attacker):
    frame = table().with_columns(pl.Series(name, planted(N)[0][name][1]))
    found = sv.audit(PLAN, frame, sv.release(PLAN, frame, accept=LEAKS), seed=3, trials=200)
    assert found.leaks
    assert {finding.attacker: finding.rate for finding in found.findings}[attacker] > 0.8


def test_an_audit_of_rows_refuses_what_it_cannot_use():
    frame = table()
    released = sv.release(PLAN, frame)
    with pytest.raises(sv.ProblemError, match="column"):
        sv.audit(PLAN, frame, released, column="pay")
    with pytest.raises(sv.ProblemError, match="unknown attacker"):
        sv.audit(PLAN, frame, released, attackers=["bayes"])
    with pytest.raises(sv.TableError, match="as many rows"):
        sv.audit(PLAN, frame, released.head(100))


def test_the_words_of_a_plan_speak_of_rows_that_are_left_out():
    in_rows = sv.plan(sv.Problem(secret=sv.Rows(), prior=(1_000, 9_000), tolerance=40), max_risk=0.2)
    for plan, unit in ((PLAN, "share of the rows"), (in_rows, "rows")):
        said = distortion_sentence(plan.problem, plan.distortion)
        assert said.unit == unit
        assert "left out. No value changes." in said.says
        assert any("how many of them are left" in line for line in not_protected(plan))
        assert not any("column" in line for line in not_protected(plan))
        title = tradeoff_chart(sv.frontier(plan.problem, points=3)).to_dict()["layer"][0]["encoding"]["x"]["title"]
        assert "left out" in title
