"""Plans and releases are what they were: a change of code that means no change of numbers shows here if it made one."""

from __future__ import annotations

import json

import pytest

from statveil.modes import MODES
from tests.golden.behaviour import ENGINES, FILE, FORMATS, differences, planned, release_plans, released

OLD = json.loads(FILE.read_text(encoding="utf-8"))


def test_the_file_holds_every_mode_engine_and_format():
    plans = release_plans()
    # those of two groups are for tables: tests/tables/test_groups.py has them
    assert {plan.mode for plan in plans.values()} == {
        name for name, mode in MODES.items() if not (mode.apart or mode.of_table)
    }
    assert set(OLD["releases"]) == {f"{name} {place}" for name in plans for place in (*ENGINES, *FORMATS)}
    assert len(OLD["plans"]) >= 100
    assert sum("refused" in plan for plan in OLD["plans"].values()) < 10


def test_seeded_releases_are_what_they_were():
    found = {name: value["rounded"] for name, value in released().items()}
    assert list(differences({name: value["rounded"] for name, value in OLD["releases"].items()}, found)) == []


@pytest.mark.slow
def test_plans_are_what_they_were():
    # the last digits of a transcendental function depend on the processor: the script compares to the last bit
    assert list(differences(OLD["plans"], json.loads(json.dumps(planned())), within=1e-9)) == []
