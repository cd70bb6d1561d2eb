"""Tests that need a program which may not be there: they are skipped, and under CI they fail."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(why: str) -> NoReturn:
    """Skip, but fail where nothing may be left out: ``.ci/run`` sets CI."""
    if os.environ.get("CI", "") not in ("", "0", "false"):
        pytest.fail(why)
    pytest.skip(why)
