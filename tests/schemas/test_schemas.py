"""Files as they are written, old and new, against their schemas; damaged ones must not fit."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import polars as pl
import pytest
from referencing import Registry, Resource

import statveil as sv
from statveil.cli.main import run
from statveil.plan_file import content_of
from statveil.schemas import SCHEMAS, schema
from tests.plans import BY_MODE, column_for

NAMES = [name for names in SCHEMAS.values() for name in names]
REGISTRY = Registry().with_resources([(schema(n)["$id"], Resource.from_contents(schema(n))) for n in NAMES])
SPECIFICATION = """
shuffle = true
others = "refuse"
[budget]
max_risk = 0.4
[columns.pay]
hide = "mean"
prior = "20:220"
tolerance = "2%"
round = 3
[columns.hours]
hide = ["median"]
prior = ["5:90"]
tolerance = "5%"
known = "min=0"
[columns.tax]
link = "pay"
factor = 0.3
[columns.late]
derive = "hours > 40"
[columns.id]
drop = true
[columns.town]
keep = true
"""


def check(name, content):
    jsonschema.Draft202012Validator(schema(name), registry=REGISTRY).validate(content)


def fits(name, content):
    try:
        check(name, content)
    except jsonschema.ValidationError:
        return False
    return True


def written(value):
    """As a file has it."""
    return json.loads(json.dumps(value))


@pytest.fixture(scope="module")
def table():
    plans = sv.plan_specification(sv.Specification.from_toml(SPECIFICATION))
    rng = np.random.default_rng(3)
    rows = 400
    pay = rng.normal(90, 12, rows)
    frame = pl.DataFrame(
        {
            "pay": pay,
            "hours": rng.gamma(9, 4, rows),
            "tax": 0.3 * pay + rng.normal(0, 4, rows),
            "late": [False] * rows,
            "id": range(rows),
            "town": rng.choice(["A", "B"], rows),
        }
    )
    return plans, sv.release(plans, frame, details=True)


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_schemas(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))
    kind, version = name.rsplit("-", 1)
    assert schema(name)["$id"] == f"urn:statveil:schema:{kind}:{version}"


@pytest.mark.parametrize("mode", BY_MODE)
def test_plans_cards_and_records(mode):
    plan = BY_MODE[mode]
    check("plan", written(content_of(plan)))
    done = sv.release(plan, column_for(mode, np.random.default_rng(4), 1000), details=True)
    check("card", written(done.card))
    check("record", written(done.record))


def test_stored_plans():
    """The golden plans: all families, secrets, methods, priors (long lists in short)."""
    stored = json.loads((Path(__file__).parent.parent / "golden/behaviour.json").read_text(encoding="utf-8"))["plans"]
    assert len(stored) > 50
    for plan in (one for one in stored.values() if "refused" not in one):
        check("plan", {"format": "statveil-plan", "version": 1, **plan})


def test_whole_tables(table):
    plans, done = table
    check("specification", tomllib.loads(SPECIFICATION))
    check("specification", written(plans.specification.to_json()))
    check("table-plan", written(plans.to_json()))
    check("card-4", written(done.card))
    check("record-2", written(done.record))


RNG = np.random.default_rng(8)
STAFF = pl.DataFrame(
    {
        "pay": RNG.normal(50, 12, 3000),
        "revenue": RNG.gamma(4, 12, 3000),
        "sex": RNG.choice(["f", "m"], 3000),
        "part": RNG.choice([True, False], 3000),
    }
)
OTHERS = {
    "two secrets": (
        "pay",
        {
            "secret": sv.Mean(),
            "prior": (0, 100),
            "tolerance": 1,
            "also": [sv.Also(sv.Std(), prior=(5, 20), tolerance=0.5)],
        },
    ),
    "difference": ("pay", {"secret": sv.GroupDifference("sex", "f", "m"), "prior": (-10, 10), "tolerance": 0.5}),
    "ratio": (
        "revenue",
        {
            "secret": sv.GroupRatio("part", True, False),
            "prior": (0.5, 2),
            "tolerance": sv.Relative(0.05),
            "known": sv.Structure(minimum=0),
        },
    ),
    "rows": (None, {"secret": sv.Rows(), "prior": sv.LogUniform(1000, 100_000), "tolerance": sv.Relative(0.05)}),
    "comb": ("pay", {"secret": sv.Mean(), "prior": (0, 100), "tolerance": 1, "method": "comb"}),
    "density": (
        "pay",
        {
            "secret": sv.Median(),
            "prior": sv.Density("normal", (50, 20), low=5, high=100),
            "tolerance": sv.Relative(0.02),
        },
    ),
}
"""Problems whose plans, cards and records have parts that those of one secret do not."""


@pytest.mark.parametrize("name", OTHERS)
def test_other_kinds_of_secret(name):
    column, asked = OTHERS[name]
    method = asked.get("method", "auto")
    problem = sv.Problem(**{key: value for key, value in asked.items() if key != "method"})
    plan = sv.plan(problem, max_risk=0.4, method=method)
    check("plan", written(content_of(plan)))
    options = {} if column is None else {"column": column}
    done = sv.release(plan, STAFF, details=True, accept=["copies"], **options)
    check("card", written(done.card))
    check("record", written(done.record))


def test_files_as_the_commands_write_them(tmp_path, cli):
    """With --shuffle, --round and a ledger, and a specification with two secrets, groups and a rest that is kept."""
    STAFF.write_parquet(tmp_path / "staff.parquet")
    spec = tmp_path / "spec.toml"
    spec.write_text(
        """
        others = "keep"
        [budget]
        max_risk = 0.5
        [columns.pay]
        hide = ["mean", {secret = "std", prior = "5:20", tolerance = 0.5}]
        prior = "0:100"
        tolerance = 1
        [columns.revenue]
        hide = "ratio:sex=f/m"
        prior = "0.5:2"
        tolerance = "5%"
        known = "min=0"
        max_risk = 0.3
        """
    )
    check("specification", tomllib.loads(spec.read_text()))

    def call(*arguments):
        code, _, said = cli(*arguments)
        assert code == 0, said

    def read(name):
        return json.loads((tmp_path / name).read_text(encoding="utf-8"))

    call("plan", "--spec", spec, "-o", tmp_path / "plans.json")
    check("table-plan", read("plans.json"))
    out, record = tmp_path / "whole.parquet", tmp_path / "whole-record.json"
    call("release", tmp_path / "plans.json", tmp_path / "staff.parquet", out, "--record", record)
    check("card-4", read("whole.parquet.card.json"))
    check("record-2", read("whole-record.json"))
    asked = {"secret": "mean", "prior": "0:100", "tolerance": 1, "max-risk": 0.2, "output": tmp_path / "plan.json"}
    call("plan", *(word for name, value in asked.items() for word in (f"--{name}", value)))
    check("plan", read("plan.json"))
    call("ledger", "init", tmp_path / "books.ledger")
    call(
        *("release", tmp_path / "plan.json", tmp_path / "staff.parquet", tmp_path / "pay.parquet", "--column", "pay"),
        *("--record", tmp_path / "record.json", "--shuffle", "--round", "2"),
        *("--ledger", tmp_path / "books.ledger", "--dataset", "staff", "--audience", "press"),
    )
    check("card-3", read("pay.parquet.card.json"))
    check("record-1", read("record.json"))


def test_every_key_that_is_required_is_missed(table):
    plans, done = table
    whole = {
        "plan": content_of(BY_MODE["shift"]),
        "table-plan": plans.to_json(),
        "card-4": done.card,
        "record-2": done.record,
        "specification": plans.specification.to_json(),
    }
    for name, content in whole.items():
        for key in schema(name)["required"]:
            less = {k: v for k, v in written(content).items() if k != key}
            assert not fits(name, less), (name, key)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("risk",), 1.5),
        (("risk",), "0.1"),
        (("risk",), None),
        (("risk_kind",), "certain"),
        (("version",), 2),
        (("format",), "statveil-card"),
        (("distortion",), -1),
        (("problem", "tolerance"), 0),
        (("problem", "secret"), "mean"),
        (("problem", "known"), {}),
        (("mechanism",), {}),
    ],
)
def test_plans_that_are_none(path, value):
    content = copy.deepcopy(written(content_of(BY_MODE["shift"])))
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    assert not fits("plan", content)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[columns]",
        "[columns.x]\nhide = 3",
        '[columns.x]\nhide = "mean"\nkeep = true',
        '[columns.x]\nhide = "mean"\nprioor = "1:2"',
        "[columns.x]\nkeep = false",
        'others = "guess"\n[columns.x]\nkeep = true',
        "[budget]\nmax_risk = 2\n[columns.x]\nkeep = true",
        "surprise = 1\n[columns.x]\nkeep = true",
    ],
)
def test_specifications_that_are_none(text):
    assert not fits("specification", tomllib.loads(text))
    with pytest.raises(sv.StatveilError):
        sv.Specification.from_toml(text)


def test_the_command(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["statveil", "schema", "plan"])
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 0
    assert json.loads(capsys.readouterr().out) == schema("plan")
    monkeypatch.setattr("sys.argv", ["statveil", "schema", "plam"])
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 2
    assert "did you mean 'plan'" in capsys.readouterr().err.lower()
