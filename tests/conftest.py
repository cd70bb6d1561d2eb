"""What all tests share. Hypothesis draws the same examples every time; HYPOTHESIS_PROFILE=search looks for new ones."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import settings

from statveil.cli.main import run

settings.register_profile("steady", derandomize=True, deadline=None)
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
def no_optimum(monkeypatch):
    """Plans that do not say how far they are from the best mechanism: for tests that never look at it.

    For one uncertain parameter under a density it takes a linear programme, nearly all the time of a plan.
    """
    monkeypatch.setattr("statveil.planning.least_possible", lambda *_, **__: None)
