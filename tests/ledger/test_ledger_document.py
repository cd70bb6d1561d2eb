"""docs/ledger.md is true: its commands run and print what it says, and so does its example."""

from __future__ import annotations

import random
import re
import shlex
from pathlib import Path

import statveil as sv

TEXT = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_commands_print_what_the_page_says(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = random.Random(5)
    Path("staff.csv").write_text("wage\n" + "".join(f"{rows.gauss(50, 9)!r}\n" for _ in range(90)))
    sv.save_plan(sv.plan(sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1), max_risk=0.2), "plan.json")
    (commands,) = blocks("console")
    for line in commands.splitlines():
        code, out, err = cli(*shlex.split(line)[2:])
        assert code == 0, err
    (said,) = blocks("text")
    assert re.sub(r"head .*", "head", out.strip()) == re.sub(r"head .*", "head", said.strip())


def test_the_example_runs():
    (code,) = blocks("python")
    exec(compile(code, "ledger.md", "exec"), {})


def test_every_command_of_the_ledger_is_on_the_page():
    from statveil.cli.ledger_command import command

    assert set(re.findall(r"^\| `ledger ([a-z]+) ", TEXT, flags=re.MULTILINE)) == set(command.commands)
