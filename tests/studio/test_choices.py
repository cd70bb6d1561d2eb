"""What is chosen: texts that are read at once, messages at their field and column, nothing decided from data."""

from __future__ import annotations

import subprocess
import sys

import pytest

import statveil as sv
from statveil.studio import deciding, tradeoff
from statveil.studio.choice import Choice
from statveil.studio.refusal import Refusal
from tests.studio.desk import desk, staff

TEXTS = ("mean", "10:80", "5%", "min=0", "")


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choices") / "tables"
    folder.mkdir()
    staff(60).write_parquet(folder / "staff.parquet")
    with desk(folder) as found:
        yield found


@pytest.fixture
def fresh(at):
    at.open("staff.parquet")
    return at


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("prior", "80:10"),
        ("prior", "ten:80"),
        ("tolerance", "-3"),
        ("tolerance", "five"),
        ("secret", "mode"),
        ("secret", "rows"),  # of the table, not of a column
        ("known", "minimum=0"),
        ("shape", "no such shape"),
        ("expression", "log("),
        ("max_risk", "2"),
        ("max_risk", "nan"),
        ("factor", 0),
        ("linked_to", 99),
        ("linked_to", "wage"),
        ("action", "shred"),
        ("prior", 5),
        ("prior", "1" * 5000),
    ],
)
def test_a_text_that_cannot_be_read_is_said_at_its_field_and_nothing_changes(fresh, field, text):
    before = fresh.study
    answer = fresh.put(0, status=422, **{field: text})
    assert (answer["field"], answer["column"]) == (field, 0)
    assert len(answer["message"]) < 700
    assert fresh.study == before


def test_an_unknown_field_is_refused(fresh):
    assert "unknown field" in fresh.put(0, status=422, seed=5)["message"]


@pytest.mark.parametrize("column", [5, 99, 10**12])
def test_a_column_that_is_not_there_is_not_found(fresh, column):
    assert "no column" in fresh.put(column, status=404, action="keep")["message"]


def test_what_is_missing_stands_at_its_field(fresh):
    study = fresh.put(0, action="hide")
    assert [check["field"] for check in study["columns"][0]["checks"]] == ["prior"]
    assert study["columns"][0]["choice"]["secret"] == "mean"
    study = fresh.put(0, prior="10:80")
    assert [check["field"] for check in study["columns"][0]["checks"]] == ["tolerance"]
    study = fresh.put(0, tolerance="5%")
    assert study["columns"][0]["checks"] == []
    assert study["ready"]["plan"] is False
    assert "4 columns still need something" in study["ready"]["why"]
    study = fresh.put(0, prior="")
    assert [check["field"] for check in study["columns"][0]["checks"]] == ["prior"]


@pytest.mark.parametrize(
    ("choice", "field"),
    [
        ({"prior": "0:80", "tolerance": "5%"}, "prior"),  # a share of what may be 0
        ({"prior": "10:80", "tolerance": "5%", "known": "min=20"}, "known"),
        ({"prior": "10:80", "tolerance": "5%", "secret": "median", "known": "min=0,step=1"}, "known"),
        ({"prior": "10:80", "tolerance": "5%", "max_risk": 0.01}, "max_risk"),
    ],
)
def test_what_does_not_fit_together_stands_at_its_field(fresh, choice, field):
    study = fresh.put(0, action="hide", **choice)
    assert [check["field"] for check in study["columns"][0]["checks"]] == [field]


@pytest.mark.parametrize(
    ("column", "choice", "field"),
    [
        (1, {"action": "derive", "expression": "log(salary)"}, "expression"),
        (1, {"action": "derive", "expression": "note + 1"}, "expression"),
        (1, {"action": "link", "linked_to": 2}, "linked_to"),
        (1, {"action": "link", "linked_to": 1}, "linked_to"),
    ],
)
def test_columns_that_do_not_fit_together_are_said_at_the_one_that_is_wrong(fresh, column, choice, field):
    fresh.choose_staff()
    study = fresh.put(column, **choice)
    assert [check["field"] for check in study["columns"][column]["checks"]] == [field]
    assert study["ready"]["plan"] is False


def test_the_specification_is_the_one_that_the_choices_state(fresh):
    fresh.choose_staff()
    fresh("PUT", "/api/table/options", {"revision": fresh.revision, "shuffle": True, "joint_risk": 0.3})
    found = sv.Specification.from_toml(fresh("GET", "/api/commands")["specification"])
    wanted = sv.Specification.from_toml("""
    shuffle = true
    [budget]
    max_risk = 0.3
    [columns.wage]
    hide = "mean"
    prior = "10:80"
    tolerance = "5%"
    known = "min=0"
    max_risk = 0.2
    [columns.lwage]
    derive = "log(wage)"
    [columns.hours]
    keep = true
    [columns.region]
    keep = true
    [columns.note]
    drop = true
    """)
    assert found == wanted


@pytest.mark.parametrize("joint", ["a lot", 0, 1.5, True])
def test_a_joint_risk_is_a_share(fresh, joint):
    answer = fresh("PUT", "/api/table/options", {"revision": fresh.revision, "joint_risk": joint}, status=422)
    assert answer["field"] == "joint_risk"


def test_two_tabs_see_each_other(fresh):
    """A change that rests on what the other tab has changed meanwhile is refused, with what stands now."""
    first = fresh.study["revision"]
    fresh("PUT", "/api/columns/0", {"revision": first, "action": "keep"})
    late = fresh("PUT", "/api/columns/0", {"revision": first, "action": "drop"}, status=409)
    assert late["study"]["columns"][0]["choice"]["action"] == "keep"
    assert late["study"]["revision"] == fresh.revision == first + 1
    for revision in (None, "1", True, -1):
        fresh("PUT", "/api/columns/0", {"revision": revision, "action": "drop"}, status=409)
    assert fresh.study["columns"][0]["choice"]["action"] == "keep"


def test_the_strip_says_every_choice(fresh):
    fresh.choose_staff()
    said = {part["label"]: part["value"] for part in fresh.study["strip"]}
    assert said["Table"] == "staff.parquet"
    for word in ("mean", "10:80", "5 %", "min=0", "0.2"):
        assert word in said["wage"]
    assert (said["Derived"], said["Kept"], said["Dropped"]) == ("lwage", "hours, region", "note")


# --- without data --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("texts", "field"),
    [
        ({"prior": "80:10"}, "prior"),
        ({"secret": "mean", "prior": "0:80", "tolerance": "5%"}, "prior"),
        ({"secret": "mean", "prior": "10:80", "tolerance": "x"}, "tolerance"),
        ({"secret": 5}, "secret"),
    ],
)
def test_the_live_check_names_the_field(at, texts, field):
    found = at("POST", "/api/check", texts)
    assert found["ok"] is False
    assert [one["field"] for one in found["problems"]] == [field]


def test_the_picture_is_the_stated_belief(at):
    """90 % sure between 20 and 40: so much of the drawn mass lies there, on the log scale of a positive number."""
    texts = {"secret": "mean", "prior": "between(20,40,0.9)", "tolerance": "5%", "known": "min=0"}
    drawn = at("POST", "/api/check", texts)["picture"]
    x, density = drawn["x"][1:-1], drawn["density"][1:-1]
    inside = sum(d for at_, d in zip(x, density, strict=True) if 20 <= at_ <= 40)
    assert inside / sum(density) == pytest.approx(0.9, abs=0.02)
    middle = 0.5 * sum(drawn["window"])
    assert middle == pytest.approx((20 * 40) ** 0.5, rel=0.01)
    assert drawn["window"][1] - middle == pytest.approx(0.05 * middle)


def test_a_curve_along_a_density_keeps_above_the_limit_and_below_equal_bins():
    """The coarse curve is found on a grid: better than bins of equal width, as a coarse grid allows, and possible."""
    texts = ("mean", "between(20,40,0.9)", "0.5", "", "")
    found, problem = tradeoff.coarse(texts, 0.3), deciding.problem_of(*texts)
    limit = dict(found["points"]["limit"])
    assert all(limit[risk] <= distortion for risk, distortion in found["points"]["interval"] if risk < 1)
    equal = sv.plan(problem, bin=2 * found["here"]["distortion"])
    assert found["here"]["risk"] <= 0.3 < equal.risk * 1.2


@pytest.mark.parametrize("prior", ["10:80", "10:80~log", "10:80~slope(0.1)"])
def test_every_point_of_the_curve_is_one_that_a_plan_has(prior, no_optimum):
    """Coarse points are rough, never better than what planning finds at the same risk, and never below the limit."""
    texts = ("mean", prior, "5%", "min=0", "")
    found = tradeoff.coarse(texts, 0.3)
    problem = deciding.problem_of(*texts)
    limit = dict(found["points"]["limit"])
    points = found["points"]["interval"]
    assert len(points) >= 8
    assert points == sorted(points)
    some = [point for point in points if 0.15 < point[0] < 0.9]
    for risk, distortion in some[::3]:
        best = 100 * sv.plan(problem, max_risk=risk * (1 + 1e-9)).distortion
        assert best <= distortion * (1 + 1e-6)
        assert limit[risk] <= best * (1 + 1e-9)
    here = found["here"]
    assert here["risk"] <= 0.3 * (1 + 1e-9)
    assert here["distortion"] >= 100 * sv.plan(problem, max_risk=0.3).distortion * (1 - 1e-9)


def test_bins_fill_the_range(at):
    found = tradeoff.coarse(TEXTS, 0.3)
    assert found["range"] == [10, 80]
    assert found["bins"][0] == pytest.approx(10)
    assert found["bins"][-1] == pytest.approx(80)
    assert found["bins"] == sorted(found["bins"])
    assert found["without"]["risk"] == pytest.approx((80 - 0.95 * 80 / 1.05) / 70)  # of all hits the widest: up to 80


def test_the_trade_off_is_worked_out_from_texts_alone(fresh, monkeypatch):
    """What goes on from a request is texts and a number."""
    seen = []
    real = tradeoff.coarse
    monkeypatch.setattr("statveil.studio.refining.coarse", lambda *given: seen.append(given) or real(*given))
    fresh.choose_staff()
    fresh("POST", "/api/tradeoff", {"column": 0, "max_risk": 0.4})
    assert seen == [((*TEXTS, "", "", "", ""), 0.4)]


def test_an_infeasible_risk_is_said_and_the_curve_stays(fresh):
    fresh.choose_staff()
    found = fresh("POST", "/api/tradeoff", {"column": 0, "max_risk": 0.05})
    assert found["here"] is None
    assert found["problem"]["field"] == "max_risk"
    assert "smallest reachable risk" in found["problem"]["message"]
    assert len(found["points"]["interval"]) > 5


def test_a_finer_curve_comes_after_the_first(fresh):
    import time

    fresh.choose_staff()
    asked = {"column": 0, "max_risk": 0.35}
    assert fresh("POST", "/api/tradeoff", asked)["complete"] is False
    for _ in range(600):
        found = fresh("POST", "/api/tradeoff", asked)
        if found["complete"]:
            break
        time.sleep(0.05)
    assert found["complete"]
    assert len(found["points"]["comb"]) > 3
    planned = sv.plan(deciding.problem_of(*TEXTS), max_risk=0.35)
    assert found["here"]["distortion"] == pytest.approx(100 * planned.distortion)


@pytest.mark.parametrize(("column", "field"), [(2, "action"), (None, None), (99, None), ("0", None)])
def test_a_trade_off_needs_a_hidden_column(fresh, column, field):
    fresh.choose_staff()
    answer = fresh.client.post("/api/tradeoff", json={"column": column})
    assert 400 <= answer.status_code < 500
    assert answer.json()["field"] == field


def test_a_choice_states_columns_by_their_names():
    names = ["<b>", "x`y"]
    linked = Choice(action="link", linked_to=0, factor=2.0)
    assert linked.stated(names) == {"link": "<b>", "factor": 2.0}
    with pytest.raises(Refusal):
        Choice().changed({"linked_to": 2}, 2)


def test_what_decides_loads_nothing_that_reads_tables():
    """The processes in which the trade-off is refined and the texts are checked have no engine for tables at all."""
    code = (
        "import sys; import statveil.studio.refining, statveil.studio.plan_summary, statveil.studio.assembling\n"
        "from statveil.studio.tradeoff import coarse; coarse(('mean', '10:80', '5%', '', ''), 0.3)\n"
        "print(sorted(n for n in sys.modules if n.startswith(('statveil.tables', 'statveil.auditing', 'polars'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_plan_is_made_from_names_and_texts(fresh, monkeypatch):
    """The job that plans is given the specification and where to write; no path of a table, no row."""
    given = []

    def start(kind, task, **rest):
        given.append((kind, dict(task)))
        raise Refusal("enough")

    monkeypatch.setattr("statveil.studio.study.Job", start)
    fresh.choose_staff()
    fresh("POST", "/api/plan", {"revision": fresh.revision}, status=400)
    ((kind, task),) = given
    assert (kind, sorted(task)) == ("plan", ["names", "plans", "specification"])
    assert task["specification"]["columns"]["wage"]["prior"] == "10:80"
    assert "staff.parquet" not in str(task)
