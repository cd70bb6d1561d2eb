"""What all tests share. Hypothesis draws the same examples every time; HYPOTHESIS_PROFILE=search looks for new ones."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

from statveil import planning
from statveil.cli.main import run
from statveil.tables import inspection, verification
from statveil.tables.structure.others import telling
from tests.best_possible import Remembered, none_known
from tests.remembered import OnceForEachColumn, OnceForEachGoal, OnceForEachTable

settings.register_profile("steady", derandomize=True, deadline=None, max_examples=60)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture
def cli(monkeypatch, capsys):
    """The entry point in this process: (exit code, stdout, stderr)."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["statveil", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run()
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return call


@pytest.fixture
def no_optimum():
    """Plans that do not say how far they are from the best mechanism: for tests that never look at it."""
    with none_known():
        yield


# Nobody pulls the plug on this process, and a disk takes its time; test_faults.py looks at the syncs of others.
os.fsync = lambda handle: None

planning.least_possible = Remembered(planning.least_possible)
planning.choose = OnceForEachGoal(planning.choose)
verification.find_structure = inspection.find_structure = OnceForEachColumn(verification.find_structure)
verification.find_sums = OnceForEachColumn(verification.find_sums)
_told = telling._told
telling._told = OnceForEachTable(lambda sample: list(_told(sample)))

WITHOUT = {
    Path(__file__).parent / folder for folder in ("auditing", "databases", "files", "ledger", "structure", "tables")
}
"""Folders of tests that only use plans: none looks at how far a plan is from the best mechanism."""


@pytest.hookimpl(tryfirst=True)  # before those that are marked are left out
def pytest_collection_modifyitems(items):
    """Of a heavy test only some cases are run by `make test`, from all over their list."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("heavy") is not None:
            cases[item.nodeid.partition("[")[0]].append(item)
    for test in cases.values():
        (kept,) = test[0].get_closest_marker("heavy").args
        chosen = {index * len(test) // kept for index in range(kept)}
        for index, item in enumerate(test):
            if index not in chosen:
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Plans that a file makes when it is imported."""
    if collector.path.parent not in WITHOUT:
        return (yield)
    with none_known():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Plans of a test and of its fixtures: those of a whole file are made before the fixture above is."""
    if item.path.parent not in WITHOUT and "no_optimum" not in getattr(item, "fixturenames", ()):
        return (yield)
    with none_known():
        return (yield)
