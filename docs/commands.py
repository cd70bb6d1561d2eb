"""What `--help` says of every command, into docs/reference/commands.md. Run it where an option has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from statveil.cli.main import statveil

PAGE = Path(__file__).with_name("reference") / "commands.md"
TOP = """# Every option of every command

What `--help` says, word for word (`python docs/commands.py` writes this page). [command-line.md](../command-line.md)
says how values are written, and has the JSON keys and exit codes.
"""


def paths(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that does something, by its words."""
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from paths(inner, (*path, name))


def text() -> str:
    """The page."""
    parts = [TOP]
    for path in paths(statveil):
        said = CliRunner().invoke(statveil, [*path, "--help"], prog_name="statveil", terminal_width=78).output
        lines = "\n".join(line.rstrip() for line in said.rstrip().splitlines())
        words = " ".join(path)
        parts.append(f"## {words}\n\n```console\n$ statveil {words} --help\n{lines}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8", newline="")
