"""Several releases with one record: what they tell together is stated, or refused where it is everything."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.rounding import shown_up
from statveil.specification.planned import plan_specification
from statveil.specification.specification import Specification
from statveil.tables.release_table import release_table

X = np.random.default_rng(5).lognormal(4, 0.3, 400)
Y = np.random.default_rng(6).normal(50, 9, 400)
FRAME = pl.DataFrame({"x": X, "y": Y})

MEAN = {"secret": sv.Mean(), "tolerance": 1}
SHIFT = sv.plan(sv.Problem(prior=(20, 120), **MEAN), bin=10)
SCALE = sv.plan(sv.Problem(prior=(20, 120), known=sv.Structure(minimum=0), **MEAN), max_risk=0.2)
ACROSS = sv.plan(sv.Problem(prior=(20, 120), **MEAN), bin=7)


def hide(column, *lines):
    """A hidden column of a specification, by a shift of bins of 10."""
    given = ['hide = "mean"', 'prior = "20:120"', "tolerance = 1", *(lines or ["bin = 10"])]
    return "\n".join([f"[columns.{column}]", *given, ""])


def keep(column):
    return f"[columns.{column}]\nkeep = true\n"


def spec(*columns):
    return plan_specification(Specification.from_toml("".join(columns)))


SCALED = ("max_risk = 0.2", 'known = "min=0"')
ACCEPT = 'accept = ["repeated"]'


@pytest.fixture
def source(tmp_path):
    FRAME.write_csv(tmp_path / "in.csv")
    return tmp_path / "in.csv"


def after(first, second, table=FRAME, **options):
    """The second release, with the record of the first one as a file would have it."""
    one = sv.release(first, table, details=True, **options)
    record = json.loads(json.dumps(one.record))
    return one, sv.release(second, table, record=record, details=True, **options)


# --- one column ---------------------------------------------------------------------------------------


def test_a_shift_and_a_scaling_give_the_column_away_and_are_refused():
    assert (SHIFT.mode, SCALE.mode) == ("shift", "scale")
    # what is refused: differences from the one, ratios from the other, and every value is known
    shifted, scaled = (np.asarray(sv.release(plan, X)) for plan in (SHIFT, SCALE))
    np.testing.assert_allclose(scaled / (np.ptp(scaled) / np.ptp(shifted)), X, rtol=1e-4)
    for first, second in ((SHIFT, SCALE), (SCALE, SHIFT)):
        with pytest.raises(sv.StructureError, match=r"joint risk is 1 .*give the rows away") as error:
            after(first, second, column="x")
        for way in ("column 'x'", "the same plan again", "plan --after", "--accept repeated"):
            assert way in str(error.value)
        assert str(error.value).count(". ") == 0  # one sentence
    with pytest.raises(sv.StructureError, match="the column: together"):
        after(SHIFT, SCALE, table=X)


def test_nothing_is_read_before_it_is_refused(source, tmp_path):
    record = tmp_path / "r.json"
    sv.release_file(SHIFT, source, tmp_path / "1.csv", column="x", record=record)
    kept, seen = record.read_bytes(), []
    with pytest.raises(sv.StructureError, match="--accept repeated"):
        sv.release_file(
            SCALE, source, tmp_path / "2.csv", column="x", record=record, progress=lambda *told: seen.append(told)
        )
    assert not seen
    assert record.read_bytes() == kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.csv", "1.csv.card.json", "in.csv", "r.json"]


def test_what_is_accepted_goes_through_and_stands_on_the_card(cli, source, tmp_path):
    for name, plan in {"shift": SHIFT, "scale": SCALE}.items():
        sv.save_plan(plan, tmp_path / f"{name}.json")
    words = [source, tmp_path / "1.csv", "--column", "x", "--record", tmp_path / "r.json"]
    assert cli("release", tmp_path / "shift.json", *words)[0] == 0
    words[1] = tmp_path / "2.csv"
    code, out, err = cli("release", tmp_path / "scale.json", *words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "--accept repeated" in err
    code, out, _ = cli("release", tmp_path / "scale.json", *words, "--accept", "repeated", "--json")
    assert code == 0
    assert any("joint risk 1 (upper bound), which was accepted" in note for note in json.loads(out)["notes"])
    card = json.loads((tmp_path / "2.csv.card.json").read_text())
    assert [leak["name"] for leak in card["accepted_leaks"]] == ["repeated"]
    kept = json.loads((tmp_path / "r.json").read_text())["releases"]
    assert [one["plan"] for one in kept] == [
        json.loads((tmp_path / f"{n}.json").read_text()) for n in ("shift", "scale")
    ]
    words[1] = tmp_path / "3.csv"  # both are out: the first one again tells nothing
    code, out, _ = cli("release", tmp_path / "shift.json", *words, "--json")
    assert (code, json.loads(out)["notes"]) == (0, [])
    assert (tmp_path / "3.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


def finest(*edges, low=20, high=120, tolerance=1):
    """The risk of knowing in which piece between these cuts a uniform mean lies: by hand."""
    cuts = np.unique(np.round(np.concatenate([[low, high], *edges]), 9))
    cuts = cuts[(cuts >= low) & (cuts <= high)]
    return np.minimum(np.diff(cuts), 2 * tolerance).sum() / (high - low)


def test_bins_across_each_other_are_released_with_their_joint_risk():
    risk = finest(np.arange(20, 121, 10), np.arange(20, 121, 7))
    _, second = after(SHIFT, ACROSS, column="x")
    (note,) = second.notes
    assert note.startswith("Together with the earlier release of this record: joint risk ")
    stated = float(note.split("joint risk ")[1].split()[0])
    assert risk <= stated == pytest.approx(risk, abs=2e-6)
    assert stated > SHIFT.risk + ACROSS.risk - 0.1  # far more than each alone
    record = json.loads(json.dumps(second.record))
    third = sv.release(sv.plan(ACROSS.problem, bin=20), FRAME, column="x", record=record, details=True)
    assert "the 2 earlier releases" in third.notes[0]
    assert float(third.notes[0].split("joint risk ")[1].split()[0]) == pytest.approx(risk, abs=2e-6)


def test_a_refinement_has_the_joint_risk_of_the_finer_plan():
    finer = sv.plan(SHIFT.problem, max_risk=0.5, after=[SHIFT])
    _, second = after(SHIFT, finer, column="x")
    assert second.notes == (
        f"Together with the earlier release of this record: joint risk {shown_up(finer.risk)} (exact).",
    )
    with pytest.warns(UserWarning, match="joint risk"):
        sv.release(finer, FRAME, column="x", record=sv.release(SHIFT, FRAME, column="x", details=True).record)


def test_other_models_of_a_column_are_refused():
    box = sv.Box(scale=(20, 120))
    shaped = sv.plan(sv.Problem(family=sv.Exponential(), prior=box, secret=sv.Mean(), tolerance=1), max_risk=0.3)
    with pytest.raises(sv.StructureError, match=r"different models of a column.*--accept repeated"):
        after(SHIFT, shaped, column="x")


def test_the_same_plan_again_is_silent():
    for plan, options in ((SHIFT, {"column": "x"}), (spec(hide("x"), keep("y")), {})):
        first, second = after(plan, plan, **options)
        assert second.notes == first.notes == ()
        assert second.table.equals(first.table)
        assert second.record == first.record


def hashed(record):
    """The record of an earlier version, with its own hash."""
    facts = {key: value for key, value in record.items() if key != "record_sha256"}
    return {**facts, "record_sha256": hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()}


def test_older_records_load_and_say_what_is_not_known():
    for plan, other, options in (
        (SHIFT, SCALE, {"column": "x"}),
        (spec(hide("x"), keep("y")), spec(hide("x", *SCALED), keep("y")), {}),
    ):
        record = sv.release(plan, FRAME, details=True, **options).record
        known = ("plan_sha256", "mode", "released")
        releases = [{key: one[key] for key in known if key in one} for one in record["releases"]]
        old = hashed({**record, "releases": releases})
        second = sv.release(other, FRAME, record=old, details=True, **options)
        assert [note for note in second.notes if "without the plan" in note]
        again = sv.release(plan, FRAME, record=old, details=True, **options)
        assert again.notes == ()
        assert again.record == record  # which gets its plan
        with pytest.raises(sv.FileError, match="damaged"):
            sv.release(
                other, FRAME, record=hashed({**record, "releases": [{"plan_sha256": "", "plans": 3}]}), **options
            )


# --- whole tables ---------------------------------------------------------------------------------------


def test_tables_are_refused_column_by_column(source, tmp_path):
    first, second = spec(hide("x"), hide("y")), spec(hide("x"), hide("y", *SCALED))
    with pytest.raises(
        sv.StructureError, match=r"column 'y': .*give the rows away.*accept = \[\"repeated\"\] of .*'y'"
    ):
        after(first, second)
    record = tmp_path / "r.json"
    release_table(first, source, tmp_path / "1.csv", record=record)
    with pytest.raises(sv.StructureError, match="column 'y'"):
        release_table(second, source, tmp_path / "2.csv", record=record)
    done = release_table(spec(hide("x"), hide("y", *SCALED, ACCEPT)), source, tmp_path / "2.csv", record=record)
    (note,) = done.notes
    assert note.startswith("Column 'y': together with the earlier release of this record: joint risk 1")
    assert [leak["name"] for leak in done.card["columns"]["y"]["accepted_leaks"]] == ["repeated"]
    _, across = after(first, spec(hide("x", "bin = 7"), hide("y")))
    assert "Column 'x': together with the earlier release of this record: joint risk 0." in across.notes[0]


def test_hidden_then_kept_is_refused_and_the_other_way_round(source, tmp_path):
    both, one = spec(hide("x"), hide("y")), spec(hide("x", "bin = 10", ACCEPT), keep("y"))
    says = "column 'y': an earlier release of this record hid it, and this one publishes it as it is"
    with pytest.raises(sv.StructureError, match=says) as error:
        after(both, one)
    assert "accept" not in str(error.value)
    other = "column 'y': an earlier release of this record published it as it is"
    with pytest.raises(sv.StructureError, match=other):
        after(one, both)
    rest = spec('others = "keep"\n', hide("x"))
    for first, second, told in ((both, one, says), (both, rest, says), (one, both, other), (rest, both, other)):
        record = tmp_path / f"{first is both}-{second is rest}-{first is rest}.json"
        release_table(first, source, tmp_path / "1.csv", record=record, overwrite=True)
        with pytest.raises(sv.StructureError, match=told):
            release_table(second, source, tmp_path / "2.csv", record=record)
    accepting = spec(hide("x"), hide("y", "bin = 10", ACCEPT))
    done = release_table(accepting, source, tmp_path / "2.csv", record=record)
    assert [leak["name"] for leak in done.card["columns"]["y"]["accepted_leaks"]] == ["repeated"]


def test_columns_that_follow_count_with_their_leader(tmp_path):
    table = FRAME.with_columns(z=2 * pl.col("x") + 1, w=pl.col("x").log())
    source, record = tmp_path / "t.parquet", tmp_path / "r.json"
    table.write_parquet(source)
    z, w, y = '[columns.z]\nlink = "x"\nfactor = 2.0\n', '[columns.w]\nderive = "log(x)"\n', keep("y")
    first = spec(hide("x"), z, w, y)
    release_table(first, source, tmp_path / "1.parquet", record=record)
    gone = "".join(f"[columns.{name}]\ndrop = true\n" for name in "xw")
    for second, says in (
        (spec(hide("x", *SCALED), z, w, y), "column 'x': .*give the rows away"),
        (spec(hide("z", "bin = 10"), gone, y), "column 'z': an earlier release of this record moved it with 'x'"),
        (spec(hide("y"), gone, keep("z")), "column 'z': .*moved it with 'x', and this one publishes it as it is"),
        (
            spec(hide("y", "bin = 10", ACCEPT), gone.replace("w", "z"), keep("w")),
            "column 'w': .*worked it out of hidden",
        ),
    ):
        with pytest.raises(sv.StructureError, match=says):
            release_table(second, source, tmp_path / "2.parquet", record=record)
    done = release_table(spec(hide("x", "bin = 5"), z, w, y), source, tmp_path / "2.parquet", record=record)
    (note,) = done.notes
    assert note.startswith("Column 'x': together with the earlier release of this record: joint risk ")
    assert float(note.split("joint risk ")[1].split()[0]) == pytest.approx(finest(np.arange(20, 121, 5)), abs=2e-6)
