"""Completion in shells: commands and options, without an answer on the error stream."""

from __future__ import annotations

import os
import shutil
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


SHELLS = {
    "bash": """
        eval "$(_STATVEIL_COMPLETE=bash_source statveil)"
        COMP_WORDS=(statveil pl) COMP_CWORD=1; _statveil_completion statveil; echo ${COMPREPLY[*]}; COMPREPLY=()
        COMP_WORDS=(statveil release --rec) COMP_CWORD=2; _statveil_completion statveil; echo ${COMPREPLY[*]}
        complete -p statveil | grep --quiet "_statveil_completion statveil"
        """,
    "fish": """
        _STATVEIL_COMPLETE=fish_source statveil | source
        complete --do-complete "statveil pl" | string split --fields 1 \\t
        complete --do-complete "statveil release --rec" | string split --fields 1 \\t
        """,
    "zsh": """
        autoload -U compinit; compinit -u -D
        eval "$(_STATVEIL_COMPLETE=zsh_source statveil)"
        [[ $_comps[statveil] == _statveil_completion ]] || exit 1
        _describe() { print -- ${${(P)3}%%:*} }  # what zsh would show
        compadd() { [[ $1 == -U ]] || print -- $@ }
        words=(statveil pl) CURRENT=2; _statveil_completion
        words=(statveil release --rec) CURRENT=3; _statveil_completion
        """,
}


@pytest.mark.parametrize("shell", SHELLS)
def test_completes_in_the_shell_as_documented(tmp_path, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    command = tmp_path / "statveil"
    code = "import sys; sys.argv[0] = 'statveil'; from statveil.cli.main import main; main()"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')
    command.chmod(0o755)
    found = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run(
        [shell, "-c", SHELLS[shell]],
        env={**os.environ, **found},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == ["plan", "--record"]
