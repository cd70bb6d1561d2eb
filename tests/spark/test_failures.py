"""Spark's long texts in one sentence."""

from __future__ import annotations

import pytest

from statveil.tables.spark.failures import _reason

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "x.py", line 3, in fail
    raise RuntimeError(why)
RuntimeError: spoiled
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (WORKER, "RuntimeError: spoiled."),
        (
            "Job aborted\n  at x\nCaused by: java.io.IOException: No space left on device\n  at y",
            "java.io.IOException: No",
        ),
        ("", "no reason was given."),
        ("Job aborted: ExecutorLostFailure (executor 1 exited)", "an executor or Spark itself was lost."),
        ("ModuleNotFoundError: No module named 'statveil'", "Install it where they run"),
    ],
)
def test_the_line_that_says_why_is_told(text, says):
    found = _reason(text)
    assert says in found
    assert "\n" not in found
