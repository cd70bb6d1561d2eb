"""The share of a label, a second statistic, rows that belong together, decimals, accepted leaks: from field to card."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.studio import deciding, tradeoff
from tests.studio.desk import desk

ROWS = 1200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("more") / "tables"
    place.mkdir()
    rng = np.random.default_rng(11)
    person = np.repeat(np.arange(ROWS // 2), 2)
    pl.DataFrame(
        {
            "contract": rng.choice(["full", "part", "leave"], ROWS // 2, p=[0.55, 0.35, 0.1])[person],
            "hours": rng.normal(38, 5, ROWS),
            "person": rng.permutation(10**6)[person],
        }
    ).sample(fraction=1.0, shuffle=True, seed=2).write_parquet(place / "staff.parquet")
    rounded = pl.DataFrame({"hours": rng.normal(38, 5, 400).round(1), "site": ["x", "y"] * 200})
    rounded.write_parquet(place / "rounded.parquet")
    return place


@pytest.fixture(scope="module")
def at(folder):
    with desk(folder) as found:
        yield found


@pytest.fixture
def fresh(at):
    at.open("staff.parquet")
    return at


def fields(study, column):
    return [one["field"] for one in study["columns"][column]["checks"]]


def test_a_text_column_asks_for_a_label_and_all_labels_and_for_no_belief(fresh):
    study = fresh.put(0, action="hide")
    assert (study["columns"][0]["numeric"], study["columns"][0]["choice"]["secret"]) == (False, "")
    assert fields(study, 0) == ["secret"]
    assert fields(fresh.put(0, secret="fraction:part"), 0) == ["labels"]
    assert fields(fresh.put(0, labels="full, part, leave"), 0) == ["tolerance"]
    assert fields(fresh.put(0, tolerance="0.02"), 0) == []
    assert fields(fresh.put(0, secret="fraction:none of them"), 0) == ["labels"]
    said = fresh("POST", "/api/check", {"secret": "fraction:part", "labels": "full,part,leave", "tolerance": "0.02"})
    assert said["ok"]
    assert "2 percentage points" in " ".join(said["words"])
    for bad in ("full", "full, full", "a=b, c"):
        assert fresh.put(0, status=422, labels=bad)["field"] == "labels"


def test_the_share_of_a_label_by_person_is_released_as_the_library_does(fresh, folder, tmp_path):
    fresh.put(0, action="hide", secret="fraction:part", labels="full, part, leave", tolerance="0.02", max_risk=0.4)
    fresh.put(1, action="keep")
    fresh.put(2, action="keep")
    fresh.put(0, group=2, accept=["few-rows"])
    text = fresh("GET", "/api/commands")["specification"]
    column = tomllib.loads(text)["columns"]["contract"]
    assert (column["group"], column["accept"], column["labels"]) == ("person", ["few-rows"], ["full", "part", "leave"])
    assert "prior" not in column
    plan = fresh.run("plan")
    assert plan["state"] == "done", plan
    found = fresh("POST", "/api/tradeoff", {"column": 0, "max_risk": 0.4})
    assert found["range"] == [0, 1]
    assert found["bins"][0] == 0
    assert found["unit"] == "%"  # of the rows
    released = fresh.run("release")
    assert released["state"] == "done", released
    card = json.loads(fresh.download("card"))
    assert [leak["name"] for leak in card["columns"]["contract"]["accepted_leaks"]] == ["few-rows"]
    strip = {one["label"]: one["value"] for one in fresh.study["strip"]}["contract"]
    assert "share of part, within 2 percentage points" in strip
    shown = fresh("GET", "/api/comparison/0")["shares"]
    table = pl.read_parquet(fresh.download("table"))
    original = pl.read_parquet(folder / "staff.parquet")
    assert table.group_by("person").agg(pl.col("contract").n_unique())["contract"].max() == 1
    for one in shown:  # counted anew
        assert one["before"] == pytest.approx((original["contract"] == one["label"]).mean())
        assert one["after"] == pytest.approx((table["contract"] == one["label"]).mean())
    (tmp_path / "plans.json").write_bytes(fresh.download("plan"))
    (tmp_path / "record.json").write_bytes(fresh.download("record"))
    again = tmp_path / "again.parquet"
    plans = sv.load_table_plan(tmp_path / "plans.json")
    sv.release_table(plans, str(folder / "staff.parquet"), str(again), record=str(tmp_path / "record.json"))
    assert pl.read_parquet(again).equals(table)
    audited = fresh.run("audit", trials=200)
    assert audited["state"] == "done", audited


def test_a_second_statistic_has_a_belief_of_its_own_where_a_shift_leaves_it(fresh):
    fresh.put(1, action="hide", prior="20:60", tolerance="0.5", max_risk=0.4)
    assert fields(fresh.put(1, also="std"), 1) == ["also_prior"]
    assert fields(fresh.put(1, also_prior="2:10"), 1) == ["also_tolerance"]
    assert fields(fresh.put(1, also_tolerance="0.2"), 1) == []
    assert fields(fresh.put(1, also_tolerance="5%"), 1) == ["also_tolerance"]  # two secrets: in units alone
    fresh.put(1, also_tolerance="0.2")
    assert fields(fresh.put(1, known="min=0"), 1) == ["also"]
    fresh.put(1, known="")
    assert fields(fresh.put(1, also="mean"), 1) == ["also"]  # named twice
    assert fresh.put(1, status=422, also="mode")["field"] == "also"


@pytest.mark.parametrize(("also", "prior", "close"), [("std", "2:10", "0.2"), ("median", "", "0.5")])
def test_two_statistics_are_planned_as_the_library_plans_them(fresh, also, prior, close):
    fresh.put(0, action="drop")
    fresh.put(2, action="drop")
    fresh.put(1, action="hide", prior="20:60", tolerance="0.5", max_risk=0.4, digits=3)
    fresh.put(1, also=also, also_prior=prior, also_tolerance=close)
    text = fresh("GET", "/api/commands")["specification"]
    made = sv.plan_specification(sv.Specification.from_toml(text))
    found = fresh("POST", "/api/tradeoff", {"column": 1, "max_risk": 0.4})
    assert found["here"]["distortion"] == pytest.approx(made.plans["hours"].distortion)
    assert found["others"] == []
    assert "two" in found["other_words"][0]
    assert len(found["points"]["interval"]) > 5
    done = fresh.run("plan")
    assert done["state"] == "done", done
    (column,) = fresh.study["plan"]["columns"]
    assert column["secret"] == f"mean and {also}"
    assert column["risk"] == pytest.approx(made.column_risks["hours"])
    said = " ".join(column["words"])
    assert "average" in said
    assert ("spread" if also == "std" else "median") in said
    done = fresh.run("release")
    assert done["state"] == "done", done
    table = pl.read_parquet(fresh.download("table"))
    assert table["hours"].round(3).equals(table["hours"])
    assert not table["hours"].round(2).equals(table["hours"])


def test_the_second_belief_counts_only_where_it_is_needed():
    """A median moves with the mean: what stands in the field of its belief is neither needed nor used."""
    texts = ("mean", "20:60", "0.5", "", "", "", "median", "1:2", "0.5")
    assert [one.prior for one in deciding.hide_of(*texts).secrets] == [("20:60",), ("20:60",)]
    words = " ".join(tradeoff.coarse(texts, 0.4)["here"]["words"])
    # windows of 1 in bins of 2.5: 0.4 each, and both windows side by side catch at most 0.8
    assert "in at most 80 of 100" in words
    assert "upper bound" in words


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("group", 9),
        ("group", "person"),
        ("digits", "1.5"),
        ("digits", "two"),
        ("digits", 40),
        ("accept", "step"),
        ("accept", ["everything"]),
        ("accept", [5]),
    ],
)
def test_what_cannot_be_is_said_at_its_field(fresh, field, value):
    before = fresh.study
    answer = fresh.put(1, status=422, **{field: value})
    assert (answer["field"], answer["column"]) == (field, 1)
    assert fresh.study == before


def test_decimals_are_not_chosen_where_steps_are_known(fresh):
    fresh.put(1, action="hide", prior="20:60", tolerance="0.5", known="step=0.001", digits=2)
    assert fields(fresh.study, 1) == ["digits"]
    assert fields(fresh.put(1, known=""), 1) == []


def test_a_group_is_a_column_that_stays(fresh):
    fresh.put(0, action="hide", secret="fraction:part", labels="full,part,leave", tolerance="0.02", group=1)
    fresh.put(2, action="keep")
    study = fresh.put(1, action="hide", prior="20:60", tolerance="0.5")
    assert fields(study, 0) == ["group"]


def test_an_accepted_leak_is_refused_first_then_named_everywhere(at):
    """The release names the leak; only what was ticked for this column lets it pass, and strip and card say so."""
    at.open("rounded.parquet")
    at.put(0, action="hide", prior="20:60", tolerance="0.5", max_risk=0.3)
    at.put(1, action="keep")
    assert at.run("plan")["state"] == "done"
    refused = at.run("release")
    assert (refused["state"], refused["column"], refused["field"]) == ("failed", 0, "known")
    assert "--accept step" in refused["message"]
    at("POST", "/api/unfreeze", {"revision": at.revision})
    names = {one["name"] for one in at("GET", "/api/leaks")}
    assert "step" in names
    assert "row-numbers" not in names  # of the number of rows, which is no statistic of a column
    at.put(0, accept=["step"])
    assert "in spite of step" in {one["label"]: one["value"] for one in at.study["strip"]}["hours"]
    assert at.run("plan")["state"] == "done"
    done = at.run("release")
    assert done["state"] == "done", done
    card = json.loads(at.download("card"))
    assert [leak["name"] for leak in card["columns"]["hours"]["accepted_leaks"]] == ["step"]
