"""Results show themselves: a chart, a data frame, both in a notebook, and nothing is loaded before it is asked for."""

from __future__ import annotations

import base64
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import statveil as sv
from tests.best_possible import none_known

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
ROWS = 30_000 + np.random.default_rng(5).permutation(60_000)[:300]


def problem(**stated):
    return sv.Problem(**{"secret": sv.Mean(), "prior": (40_000, 140_000), "tolerance": 1_000, **stated})


@pytest.fixture(scope="module")
def results():
    with none_known():
        plan = sv.plan(problem(known=sv.Structure(step=1)), max_risk=0.2)
    table = pl.DataFrame({HOSTILE: ROWS, "age": np.arange(300) % 40})
    released = sv.release(plan, table, column=HOSTILE, seed=1)
    spec = "[budget]\nmax_risk = 0.3\n"
    for name in ("wage", "rent"):
        spec += f'[columns.{name}]\nhide = "mean"\nprior = "100:9000"\ntolerance = 30\n'
    return {
        "plan": plan,
        "tables": sv.plan_specification(sv.Specification.from_toml(spec)),
        "audit": sv.audit(plan, table, released, column=HOSTILE, trials=200, seed=1, attackers=["plug-in"]),
        "frontier": sv.frontier(problem(), methods=["interval"], points=6),
        "comparison": sv.compare(
            table, column=HOSTILE, secret=sv.Mean(), methods=["ours"], points=2, seeds=2, trials=2, seed=1
        ),
        "inspection": sv.inspect(table),
    }


NAMES = ("plan", "tables", "audit", "frontier", "comparison", "inspection")


@pytest.mark.parametrize("name", NAMES)
def test_every_result_is_drawn_and_written_as_a_picture(results, name, tmp_path):
    chart = results[name].plot()
    chart.save(tmp_path / "chart.svg")
    chart.save(tmp_path / "chart.png")
    svg = (tmp_path / "chart.svg").read_text()
    assert svg.startswith("<svg")
    assert "<script" not in svg
    assert "<img" not in svg
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    if name in ("audit", "comparison", "inspection"):
        assert "PRIVATE" in svg


@pytest.mark.parametrize("name", NAMES)
def test_every_result_is_shown_in_a_notebook_with_its_picture(results, name):
    bundle = results[name]._repr_mimebundle_()
    assert bundle["text/plain"] == str(results[name])
    page = bundle["text/html"]
    assert "<script" not in page
    assert page.count("<img") == 1
    drawn = base64.b64decode(page.partition("base64,")[2].partition('"')[0])
    assert drawn.startswith(b"<svg")


def test_frames_hold_the_numbers_of_the_results(results):
    frames = {name: result.to_frame() for name, result in results.items()}
    assert all(isinstance(frame, pl.DataFrame) for frame in frames.values())
    plan = results["plan"]
    values = dict(frames["plan"].select("name", "value").iter_rows())
    assert values["risk"] == plan.risk
    assert values["distortion"] == plan.distortion
    assert values["limit"] == plan.lower_bound
    assert frames["plan"].filter(name="risk")["better"].item() == "lower"
    assert frames["tables"]["risk"].to_list() == [one["risk"] for one in results["tables"].secrets]
    audit = results["audit"]
    assert frames["audit"]["rate"].to_list() == [one.rate for one in audit.findings]
    assert set(frames["audit"]["column"]) == {HOSTILE}
    points = results["frontier"]
    assert frames["frontier"].height == len(points.points) + len(points.lower_bound)
    assert frames["frontier"].filter(method="lower_bound")["risk"].to_list() == [p["risk"] for p in points.lower_bound]
    assert frames["comparison"]["error"].to_list() == [point["error"] for point in results["comparison"].points]
    assert frames["inspection"]["column"].to_list() == [HOSTILE, "age"]
    assert frames["inspection"]["mean"][0] == pytest.approx(ROWS.mean())


def test_a_plan_is_drawn_as_what_it_releases(results):
    """Every step of the picture is a class of the mechanism: no end lies farther from the release than it may move."""
    spec = results["plan"].plot().to_dict()

    def drawn(panel, layer):
        return spec["datasets"][spec["hconcat"][panel]["layer"][layer]["data"]["name"]]

    steps = drawn(0, 1)
    assert steps
    for step in steps:
        assert max(abs(step["released"] - step["true"]), abs(step["released"] - step["end"])) <= (
            results["plan"].largest_move * (1 + 1e-9)
        )
    assert min(step["true"] for step in steps) == 40_000
    for row in drawn(1, 0):
        ((_, risk),) = results["plan"].risk_profile([row["close"]])
        assert row["risk"] == pytest.approx(risk, rel=1e-12)


def test_a_table_without_numbers_is_shown_as_text():
    found = sv.inspect(pl.DataFrame({"word": ["a", "b", "c"]}))
    with pytest.raises(sv.ProblemError, match="nothing to draw"):
        found.plot()
    assert "<img" not in found._repr_mimebundle_()["text/html"]


def test_planning_loads_neither_charts_nor_frames():
    code = (
        "import sys, statveil as sv\n"
        "sv.Plan, sv.Frontier\n"
        "print([name for name in ('altair', 'polars', 'vl_convert') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
