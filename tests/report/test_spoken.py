"""Results speak: printed, described and shown in a notebook they say the same, harmlessly and without the record."""

from __future__ import annotations

import html
import json

import numpy as np
import pytest
from click.testing import CliRunner

import statveil as sv
from statveil.cli.main import statveil as command

PROBLEM = sv.Problem(
    family=sv.Location(),
    prior=sv.Box(mean=(40_000, 140_000)),
    secret=sv.Mean(),
    tolerance=1_000,
    known=sv.Structure(step=1),
)
PLAN = sv.plan(PROBLEM, max_risk=0.2)
ROWS = 30_000 + np.random.default_rng(5).permutation(60_000)[:400]
HOSTILE = "</pre><script>alert(1)</script>\x1b[2J"


def results():
    return {
        "plan": PLAN,
        "limits": sv.limits(PROBLEM, max_risk=0.2),
        "rate": sv.simulate(PLAN, trials=1_000, seed=1),
        "frontier": sv.frontier(PROBLEM, points=4),
        "release": sv.release(PLAN, list(ROWS), details=True),
        "inspection": sv.inspect(ROWS.astype(float)),
    }


def test_printed_described_and_shown_in_a_notebook_are_one_text():
    for name, result in results().items():
        text = str(result)
        assert text == sv.describe(result), name
        assert html.unescape(result._repr_html_()) == f"<pre>{text}</pre>", name
        assert "(problem=" not in text, name
        assert len(text) > 60, name


def test_the_numbers_a_person_wants_are_in_the_text():
    found = results()
    # whole steps: a guess covers 2,001 of the 10,009 or more that a bin of risk below 0.2 holds
    assert "0.1999" in str(found["plan"])
    # Theorem 1 for a shift: distortion above (1/T - 1) tolerance = 4,000
    assert "4000" in str(found["limits"])
    assert f"{found['rate'].trials:,} trials" in str(found["rate"])
    assert "mode lattice" in str(found["release"])
    assert "at most 0.1999" in str(found["release"])


def test_a_release_says_nothing_of_its_private_record():
    done = sv.release(PLAN, list(ROWS), details=True)
    for text in (str(done), repr(done), done._repr_html_()):
        assert str(done.record["seed"]) not in text
        assert f"{ROWS.mean():.0f}" not in text


def test_names_that_others_chose_run_nothing_and_move_no_cursor(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({HOSTILE: ROWS})
    for result in (sv.release(PLAN, frame, column=HOSTILE, details=True), sv.inspect(frame)):
        assert "<script>" not in result._repr_html_()
        assert "\x1b" not in str(result)
        assert "\x1b" not in result._repr_html_()


def test_the_command_line_prints_the_same_words(tmp_path):
    sv.save_plan(PLAN, tmp_path / "plan.json")
    asked = ["--family", "location", "--prior", "mean=40000:140000", "--secret", "mean", "--tolerance", "1000"]
    done = CliRunner().invoke(command, ["limits", *asked, "--known", "step=1", "--max-risk", "0.2"])
    assert done.output.rstrip("\n") == str(sv.limits(PROBLEM, max_risk=0.2))
    done = CliRunner().invoke(command, ["simulate", str(tmp_path / "plan.json"), "--trials", "1000", "--seed", "1"])
    assert done.output.startswith(str(sv.simulate(PLAN, trials=1_000, seed=1)))


def test_only_results_are_described():
    with pytest.raises(TypeError, match="nothing to say of dict"):
        sv.describe(json.loads("{}"))


def test_a_file_that_is_not_there_is_an_error_of_files_as_everywhere(tmp_path):
    with pytest.raises(OSError, match="No such file") as caught:
        sv.load_plan(tmp_path / "none.json")
    assert isinstance(caught.value, sv.PlanFileError)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(OSError, match="No such file") as caught:
        sv.release_file(PLAN, tmp_path / "none.csv", tmp_path / "out.csv", column="x")
    assert str(caught.value) == f"cannot read {tmp_path / 'none.csv'}: No such file or directory."
