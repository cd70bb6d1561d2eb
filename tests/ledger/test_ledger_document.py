"""docs/ledger.md names every command; that its blocks run is tested with all pages."""

from __future__ import annotations

import re
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")


def test_every_command_of_the_ledger_is_on_the_page():
    from statveil.cli.ledger_command import command

    assert set(re.findall(r"^\| `ledger ([a-z]+) ", TEXT, flags=re.MULTILINE)) == set(command.commands)
