"""Completion in shells: commands and options, without an answer on the error stream."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("words", "answer"), [("statveil pl", "plain,plan"), ("statveil plan --sec", "plain,--secret")]
)
def test_completes(words, answer):
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_STATVEIL_COMPLETE": "bash_complete"}
    code = "import sys; sys.argv = ['statveil']; from statveil.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [answer]
    assert not done.stderr
