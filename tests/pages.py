"""The code of a page of the documentation, run as a reader would: in order, in one folder, with one set of names.

What a page may say, all of it visible in its source:

* A ``python`` block runs in the names that the blocks above it left. A comment directly below a line of code, or behind
  a ``print(...)``, is what was printed, and all that was printed; a comment below an empty line is a comment.
* A ``console`` block has commands (``$ ...``) and below each, if anything, what it prints on both streams. Each must
  succeed, unless the next command is ``echo $?``, which says with which exit code it ended.
* A block with a title (``toml title="spec.toml"``) is a file of that name, written at its place.
* ``...`` stands for anything in what is printed.
* ``<!-- setup`` opens a comment with Python code that runs at its place: what the page takes for granted, such as a
  file of the reader's.
* ``<!-- not run: WHY -->`` above a block keeps it from running.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from statveil.auditing import attackers as _attackers  # noqa: F401  (fills the registry)
from statveil.auditing.attacker import ATTACKERS
from statveil.cli.main import run
from statveil.design.methods import METHODS
from statveil.mechanisms.mechanism import MECHANISMS
from statveil.modes import MODES
from statveil.problem.axis import AXES
from statveil.problem.family import FAMILIES
from statveil.problem.secret import SECRETS
from statveil.tables.frames.frame import FRAMES

ROOT = Path(__file__).parents[1]
REGISTRIES: tuple[dict[str, Any], ...] = (FAMILIES, SECRETS, AXES, MECHANISMS, METHODS, MODES, ATTACKERS)
RUNS = ("python", "console")
PIECE = re.compile(
    r"^<!-- setup\n(?P<setup>.*?)^-->$"
    r"|(?:^<!-- not run: (?P<why>[^\n]+?) -->\n\n?)?"
    r"^```(?P<language>[a-z]*)(?: title=\"(?P<title>[^\"\n]+)\")?\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a page, or a hidden piece of setup."""

    language: str
    code: str
    line: int
    title: str | None = None
    why_not: str | None = None

    @property
    def runs(self) -> bool:
        return self.why_not is None and (self.language in (*RUNS, "setup") or self.title is not None)


@dataclass(slots=True, kw_only=True)
class Page:
    """A page after its run: the names its blocks left, what they printed, and what they added to each registry."""

    names: dict[str, Any] = field(default_factory=lambda: {"__name__": __name__})  # dataclasses look the module up
    printed: str = ""
    added: list[set[str]] = field(default_factory=list)


def pages() -> list[str]:
    """Every page, by its path from the root."""
    return [str(path.relative_to(ROOT)) for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]]


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(
            language="setup" if piece["setup"] is not None else piece["language"],
            code=piece["setup"] if piece["setup"] is not None else piece["code"],
            line=text[: piece.end()].count("\n") - (piece["setup"] or piece["code"] or "").count("\n"),
            title=piece["title"],
            why_not=piece["why"],
        )
        for piece in PIECE.finditer(text)
    ]


def run_page(page: str, folder: Path, *, more: Callable[[Page, Path], None] | None = None) -> Page:
    """Run every block in ``folder``, which gets a copy of ``examples``; an AssertionError where the page is not true.

    ``more`` looks at the page after its run, while what it has added to the library is still there.
    """
    shutil.copytree(ROOT / "examples", folder / "examples")
    done = Page()
    with contextlib.chdir(folder), _registries() as before:
        for block in blocks(page):
            where = f"{page}:{block.line}"
            if block.runs and block.title is not None:
                Path(block.title).write_text(block.code, encoding="utf-8")
            elif block.runs:
                (_console if block.language == "console" else _python)(block, where, done)
        if more is not None:
            done.added = [set(registry) - set(old) for registry, old in zip(REGISTRIES, before, strict=True)]
            more(done, folder)
    return done


@contextlib.contextmanager
def _registries() -> Iterator[list[dict[str, Any]]]:
    """What a page adds to the library is gone afterwards."""
    before, frames = [dict(registry) for registry in REGISTRIES], list(FRAMES)
    try:
        yield before
    finally:
        FRAMES[:] = frames
        for registry, entries in zip(REGISTRIES, before, strict=True):
            registry.clear()
            registry.update(entries)


def _python(block: Block, where: str, done: Page) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block.code, where, "exec", dont_inherit=True), done.names)
    done.printed += out.getvalue()
    _agree("\n".join(said(block.code)), out.getvalue(), where)


def said(code: str) -> list[str]:
    """The lines that a block of Python says it prints."""
    found, above = [], ""
    for line in code.splitlines():
        if line.startswith("#") and above.strip():
            found.append(line[2:])
        elif behind := re.match(r"print\(.*\)\s+# (.*)", line):
            found.append(behind[1])
            line = ""  # what stands below is no part of what this line printed
        above = line
    return found


def commands(code: str) -> list[tuple[str, str]]:
    """Each command of a console block, with what stands below it."""
    pieces = re.split(r"^\$ ", code.replace("\\\n", " "), flags=re.MULTILINE)
    assert not pieces[0].strip(), f"a console block begins with a command: {pieces[0]!r}"
    return [(head, tail.rstrip()) for head, _, tail in (piece.partition("\n") for piece in pieces[1:])]


def _console(block: Block, where: str, done: Page) -> None:
    listed = commands(block.code)
    code = 0
    for (command, wanted), (after, _) in zip(listed, [*listed[1:], ("", "")], strict=True):
        at = f"{where}: {command}"
        if command == "echo $?":
            _agree(wanted, str(code), at)
            continue
        code, printed = _statveil(command) if _plain(command) else _shell(command)
        done.printed += printed
        assert after == "echo $?" or code == 0, f"{at} ended with {code}: {printed}"
        if wanted:
            _agree(wanted, printed, at)


def _plain(command: str) -> bool:
    return command.startswith("statveil ") and not re.search(r"[|<>*;]", re.sub(r"'[^']*'|\"[^\"]*\"", "", command))


def _statveil(command: str) -> tuple[int, str]:
    out = io.StringIO()
    with (
        mock.patch.object(sys, "argv", shlex.split(command, comments=True)),
        mock.patch.dict(os.environ, COLUMNS="80"),  # help is laid out for it
        mock.patch("click.core._detect_program_name", return_value="statveil"),  # else what started the tests
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        try:
            run()
        except SystemExit as end:
            return int(end.code or 0), out.getvalue()
    return 0, out.getvalue()


def _shell(command: str) -> tuple[int, str]:
    """Only what looks at files or makes them: nothing that installs, or waits."""
    assert command.split()[0] in ("cat", "cp", "head", "ls", "mkdir", "statveil"), f"{command}: mark it as not run"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout


def _agree(wanted: str, printed: str, where: str) -> None:
    got = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    said = wanted.strip("\n")
    same = doctest.OutputChecker().check_output(f"{said}\n", f"{got}\n", doctest.ELLIPSIS)
    assert same, f"{where}\n--- the page says\n{wanted}\n--- it prints\n{got}"
