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


def test_two_secrets():
    also = [sv.Also(sv.Std(), prior=(5, 20), tolerance=0.5)]
    plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1, also=also), max_risk=0.4)
    check("plan", written(content_of(plan)))


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
