"""Releases of whole tables on the command line: what is written, what is refused, what is drafted."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import tomllib

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.specification.planned import plan_specification
from statveil.specification.specification import Specification

SPEC = """
others = "keep"
[columns.price]
hide = "mean"
prior = "20:200"
tolerance = 1
max_risk = 0.2
[columns.tax]
link = "price"
factor = 0.19
[columns.dear]
derive = "price >= 100"
[columns.note]
drop = true
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    price = rng.normal(100, 15, 400)
    frame = pl.DataFrame({"id": np.arange(400), "price": price, "tax": 0.19 * price, "note": ["private"] * 400})
    frame.write_csv(tmp_path / "in.csv")
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


def test_a_specification_and_the_plans_made_of_it_release_the_same(cli, folder):
    code, out, err = cli("release", folder / "spec.toml", folder / "in.csv", folder / "a.csv", "--seed", 5, "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert {name: one["done"] for name, one in said["columns"].items()} == {
        "price": "hidden",
        "tax": "linked",
        "dear": "derived",
        "id": "kept",
        "note": "dropped",
    }
    assert said["columns"]["price"]["risk"] <= said["risk"] <= 0.2
    (folder / "plans.json").write_text(json.dumps(plan_specification(Specification.from_toml(SPEC)).to_json()))
    code, out, err = cli("release", folder / "plans.json", folder / "in.csv", folder / "b.csv", "--seed", 5)
    assert (code, err) == (0, "")
    assert "columns: 1 hidden" in out
    assert "test seed" in out
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    after = pl.read_csv(folder / "a.csv")
    assert after.columns == ["id", "price", "tax", "dear"]
    np.testing.assert_allclose(after["tax"].to_numpy(), 0.19 * after["price"].to_numpy(), atol=0.19 * 2 * 5 / 1024)
    assert after["dear"].to_list() == (after["price"] >= 100).to_list()
    code, out, _ = cli("verify", folder / "a.csv")
    assert code == 0
    assert "agrees with its card" in out
    (folder / "a.csv").write_bytes((folder / "a.csv").read_bytes().replace(b"true", b"TRUE", 1))
    assert cli("verify", folder / "a.csv")[0] == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--column", "price"], "leave out --column"),
        (["--accept", "order"], "leave out --accept"),
        (["--shuffle"], "leave out --shuffle"),
        (["--round", "2"], "leave out --round"),
        (["--record", "SPEC"], "would be written over"),
    ],
)
def test_what_a_specification_says_itself_is_refused(cli, folder, options, complaint):
    options = [folder / "spec.toml" if one == "SPEC" else one for one in options]
    before = sorted(folder.iterdir())
    code, out, err = cli("release", folder / "spec.toml", folder / "in.csv", folder / "out.csv", *options)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_bad_specifications_are_one_sentence_with_the_line(cli, folder):
    (folder / "bad.toml").write_text(SPEC.replace('link = "price"', 'link = "cost"'))
    code, out, err = cli("release", folder / "bad.toml", folder / "in.csv", folder / "out.csv")
    assert (code, out) == (2, "")
    assert "line 9" in err
    assert not (folder / "out.csv").exists()
    (folder / "bad.toml").write_text(SPEC + "[columns.absent]\nkeep = true\n")
    code, _, err = cli("release", folder / "bad.toml", folder / "in.csv", folder / "out.csv")
    assert code == 2
    assert "'absent'" in err


def test_a_plan_of_one_column_still_needs_its_name(cli, folder):
    plan = plan_specification(Specification.from_toml(SPEC)).plans["price"]
    sv.save_plan(plan, folder / "plan.json")
    code, _, err = cli("release", folder / "plan.json", folder / "in.csv", folder / "out.csv")
    assert code == 2
    assert "--column" in err


def test_a_draft_is_private_names_what_tells_and_lacks_only_the_priors(cli, folder):
    draft = folder / "draft.toml"
    code, out, err = cli("inspect", "--spec", folder / "in.csv", "-o", draft)
    assert (code, err) == (0, "")
    assert "PRIVATE" in out
    assert oct(draft.stat().st_mode)[-3:] == "600"
    text = draft.read_text()
    assert text.startswith("# PRIVATE")
    columns = tomllib.loads(text)["columns"]
    assert columns["tax"] == {"derive": "price * 0.19"}
    assert columns["note"] == {"keep": True}
    assert columns["price"]["hide"] == "mean"
    assert "prior" not in columns["price"]
    with pytest.raises(sv.ProblemError, match="prior"):
        Specification.from_toml(text)
    filled = text.replace('# prior = "LO:HI"', 'prior = "1:300"')  # within the ends of the running number, too
    made = Specification.from_toml(filled)
    assert list(made.columns) == ["id", "price", "tax", "note"]
    code, _, err = cli("inspect", "--spec", folder / "in.csv", "-o", draft)
    assert code == 2
    assert "exists and is kept" in err
    for options in (["--column", "price", "--spec"], ["-o", draft], ["--spec", "--json"]):
        assert cli("inspect", folder / "in.csv", *options)[0] == 2


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from statveil.specification.planned import plan_specification
    from statveil.specification.specification import load_specification
    from statveil.tables import release_file
    from statveil.tables.release_table import release_table
    folder = Path(sys.argv[1])
    release_file.publish = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    plan = plan_specification(load_specification(folder / "spec.toml"))
    release_table(plan, folder / "in.csv", folder / "out.csv", record=folder / "record.json")
"""


def test_a_killed_run_publishes_nothing_and_the_next_one_cleans_up(cli, folder):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), str(folder)], timeout=120, check=False)
    assert done.returncode == -9
    assert not (folder / "out.csv").exists()
    assert not (folder / "out.csv.card.json").exists()
    seed = json.loads((folder / "record.json").read_text())["seed"]
    code, _, err = cli(
        "release", folder / "spec.toml", folder / "in.csv", folder / "out.csv", "--record", folder / "record.json"
    )
    assert (code, err) == (0, "")
    assert json.loads((folder / "record.json").read_text())["seed"] == seed
    left = {"in.csv", "spec.toml", "out.csv", "out.csv.card.json", "record.json"}
    assert {path.name for path in folder.iterdir()} == left
