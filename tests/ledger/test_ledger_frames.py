"""A table in memory is entered before anyone gets it, and equal content is one release."""

from __future__ import annotations

import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import statveil as sv
from statveil.tables import release as releasing
from statveil.tables.frame_hash import hash_frame
from statveil.tables.frames import open_frame
from tests.ledger.books import entries

PROBLEM = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100)), secret=sv.Mean(), tolerance=1)
TEN, SEVEN = (sv.plan(PROBLEM, bin=width) for width in (10, 7))
AGES = sv.plan(
    sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(5, 50)), secret=sv.Mean(), tolerance=0.4), max_risk=0.3
)
HERE = {"dataset": "staff", "column": "x"}
TABLE = pl.DataFrame({"x": np.random.default_rng(1).normal(51, 4, 60), "name": [f"n{row % 7}" for row in range(60)]})


def released(ledger, plan=TEN, table=TABLE, **named):
    return sv.release(plan, table, column="x", ledger=ledger, dataset="staff", details=True, **named)


def two_columns():
    hidden = '[columns.{0}]\nhide = "mean"\nprior = "0:100"\ntolerance = 1\nmax_risk = 0.2\n'
    return sv.plan_specification(sv.Specification.from_toml("".join(hidden.format(name) for name in ("x", "y"))))


ROWS = np.random.default_rng(3)
BOTH = pl.DataFrame({"x": ROWS.normal(51, 4, 90), "y": ROWS.normal(30, 3, 90)})

KINDS = {
    "polars": lambda: TABLE,
    "lazy": lambda: TABLE.lazy(),
    "pandas": lambda: pd.DataFrame({name: TABLE[name].to_list() for name in TABLE.columns}),
    "arrow": lambda: pa.table({name: TABLE[name].to_list() for name in TABLE.columns}),
    "duckdb": lambda: duckdb.from_arrow(TABLE.to_arrow()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_entered_with_the_hash_of_what_is_in_it(ledger, kind):
    done = released(ledger, table=KINDS[kind](), budget=0.2, seed=3)
    assert any("first entry of 'x' of 'staff'" in note for note in done.notes)
    _, budget, release, state = entries(ledger)
    assert (budget["kind"], budget["max_risk"], state["state"]) == ("budget", 0.2, "done")
    assert (release["target"], release["column"], release["audience"]) == (None, "x", "everyone")
    # the content, however it is held: worked out by a plain release of the same rows, as Polars
    same = sv.release(TEN, TABLE, column="x", seed=3)
    assert release["output"] == hash_frame(open_frame(same))
    assert ledger.verify().ok
    assert done.table is not None


def test_a_hash_tells_values_names_order_and_gaps_apart():
    base = {"a": [1.0, 2.0, None], "b": ["u", "v", "w"]}
    tables = [
        base,
        {**base, "a": [1.0, None, 2.0]},
        {**base, "a": [1.0, 2.0, 0.0]},
        {**base, "a": [1.0, np.nextafter(2.0, 3), None]},
        {**base, "b": ["u", "v", None]},
        {**base, "b": ["u", "v", "None"]},
        {"b": base["b"], "a": base["a"]},
        {"a": base["a"], "c": base["b"]},
        {"a": base["a"]},
        {"a": base["a"], "b": ["u", "v', 'w", ""]},
        {"a": [True, False, None], "b": base["b"]},
        {"a": [1, 2, None], "b": base["b"]},
    ]
    found = [hash_frame(open_frame(pl.DataFrame(table))) for table in tables]
    assert len(set(found)) == len(tables)
    assert found == [hash_frame(open_frame(pl.DataFrame(table).lazy())) for table in tables]
    indexed = [pd.DataFrame({"a": [1.0, 2.0]}, index=index) for index in (["p", "q"], ["p", "r"])]
    assert len({hash_frame(open_frame(table)) for table in (*indexed, indexed[0]["a"], indexed[1]["a"])}) == 4


def test_the_budget_refuses_before_anything_is_read(ledger, monkeypatch):
    first = released(ledger, budget=0.3, seed=3)

    def read(*arguments):
        raise AssertionError("data was read")

    with monkeypatch.context() as patched:
        patched.setattr(releasing, "open_frame", read)
        # edges of both bins: .43 together (docs/composition.md)
        with pytest.raises(sv.BudgetError, match=r"'x' of 'staff' does not allow .* 0\.2 before .* 0\.430001 after"):
            released(ledger, SEVEN)
    assert [one["kind"] for one in entries(ledger)] == ["ledger", "budget", "release", "state"]
    (column,) = ledger.show().columns
    assert column.states == {"pending": 0, "done": 1, "abandoned": 0}
    again = released(ledger, seed=3)
    assert again.table.equals(first.table)
    assert not any("counts as" in note for note in again.notes), "equal content is proof enough"
    changed = released(ledger, table=TABLE.with_columns(pl.col("x") + 1e-6), seed=3)
    redrawn = released(ledger)  # nothing shows that only its blur is another one
    for other in (changed, redrawn):
        assert any("counts as a release of the same rows as before: only the name" in note for note in other.notes)
    assert ledger.show().columns[0].risks["mean"].risk == pytest.approx(0.2, abs=1e-9)


def test_what_draws_is_one_release_by_its_record_alone(ledger):
    table = pl.DataFrame({"x": np.random.default_rng(2).poisson(21, 400)})
    first = released(ledger, AGES, table, budget=0.5)
    with pytest.raises(sv.BudgetError, match="no record shows that they are one"):
        released(ledger, AGES, table)
    again = released(ledger, AGES, table, record=first.record)
    assert again.table.equals(first.table)
    one, two = (entry for entry in entries(ledger) if entry["kind"] == "release")
    assert (one["output"], one["source"]) == (two["output"], two["source"])
    assert one["source"] is not None
    raw = ledger.path.read_bytes().decode("latin-1")
    assert all(first.record[name] not in raw for name in ("seed", "input_sha256"))


def test_a_specification_enters_every_column_or_none(ledger):
    plans = two_columns()
    done = sv.release(plans, BOTH, ledger=ledger, dataset="staff", budget=0.25, audience="partner", details=True)
    made = [one for one in entries(ledger) if one["kind"] == "release"]
    assert [(one["column"], one["audience"]) for one in made] == [("x", "partner"), ("y", "partner")]
    assert {one["output"] for one in made} == {hash_frame(open_frame(done.table))}
    # a release of one column by itself, between: the other one of the table is not let through alone
    ledger.set_budget(0.1, dataset="staff", column="y", secret="mean")
    with pytest.raises(sv.BudgetError, match="'y' of 'staff'"):
        sv.release(plans, BOTH, ledger=ledger, dataset="staff")
    assert len([one for one in entries(ledger) if one["kind"] == "release"]) == 2


def test_nobody_gets_a_table_whose_columns_are_not_all_entered(ledger, monkeypatch):
    """Where the second column is refused at the last moment, the first one is abandoned."""
    plain, calls = sv.Ledger.enter, []

    def late(self, plan, **named):
        calls.append(named["column"])
        if len(calls) == 2:
            raise sv.FileError("cannot write the ledger: the disk is full.")
        return plain(self, plan, **named)

    plans = two_columns()
    monkeypatch.setattr(sv.Ledger, "enter", late)
    with pytest.raises(sv.FileError, match="disk is full"):
        sv.release(plans, BOTH, ledger=ledger, dataset="staff")
    assert calls == ["x", "y"]
    assert ledger.show().columns[0].states == {"pending": 0, "done": 0, "abandoned": 1}


def test_an_interrupt_right_after_the_entry_leaves_nothing_pending(ledger, monkeypatch):
    plain = sv.Ledger.enter

    def interrupted(*arguments, **named):
        plain(*arguments, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(sv.Ledger, "enter", interrupted)
    with pytest.raises(KeyboardInterrupt):
        released(ledger)
    assert ledger.show().columns[0].states == {"pending": 0, "done": 0, "abandoned": 1}


def test_the_entry_stands_before_the_table_is_handed_over(ledger, monkeypatch):
    """Where it cannot be finished it stays pending and counts; where it cannot be made there is no table."""

    def locked(*arguments, **named):
        raise sv.FileError("cannot write the ledger: locked.")

    with monkeypatch.context() as patched:
        patched.setattr(sv.Ledger, "enter", locked)
        with pytest.raises(sv.FileError, match="locked"):
            released(ledger)
    assert ledger.show().columns == ()
    with monkeypatch.context() as patched:
        patched.setattr(sv.Ledger, "finish", locked)
        done = released(ledger)
    assert any("stays pending, and counts" in note for note in done.notes)
    (pending,) = ledger.pending()
    assert pending.target is None
    assert [said for _, said in ledger.resolve()] == ["pending"], "nothing proves that nobody has it"


def test_a_file_through_the_same_function(ledger, tmp_path):
    TABLE.write_csv(tmp_path / "t.csv")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sv.release(
            TEN, tmp_path / "t.csv", output=tmp_path / "o.csv", column="x", ledger=ledger, dataset="staff", budget=0.2
        )
    assert any("first entry" in str(one.message) for one in told)
    assert entries(ledger)[2]["target"] == str((tmp_path / "o.csv").resolve())
    with pytest.raises(sv.BudgetError):
        released(ledger, SEVEN)


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ({"dataset": "staff"}, "dataset is for a release that is entered in a ledger"),
        ({"budget": 0.2}, "budget is for a release that is entered"),
        ({"ledger": "books.db", "dataset": "staff"}, r"such as sv\.Ledger\('books\.db'\)\. Got str"),
        ({"ledger": True}, "counts releases of a dataset"),
        ({"ledger": True, "dataset": " "}, "the dataset must be"),
        ({"ledger": True, "dataset": "staff", "budget": 2}, "above 0 and at most 1"),
        ({"ledger": "keeper", "budget": 0.2}, "leave out budget"),
    ],
)
def test_what_cannot_be_entered_is_said(ledger, named, says):
    books = {True: ledger, "keeper": ledger.keeper(dataset="staff")}
    named = {name: books.get(value, value) if name == "ledger" else value for name, value in named.items()}
    with pytest.raises(sv.StatveilError, match=says):
        sv.release(TEN, TABLE, column="x", **named)
    with pytest.raises(sv.TableError, match="by the name of the column"):
        sv.release(TEN, [1.0, 2.0], ledger=ledger, dataset="staff")
    assert ledger.show().columns == ()
