"""On which line each key of a TOML text stands; ``tomllib`` reads the values and forgets where they were."""

from __future__ import annotations

import bisect
import re
import tomllib
from collections.abc import Mapping

__all__ = ["Path", "line_of", "lines_of"]

Path = tuple[str | int, ...]
"""Where a value is: keys, and places in a list."""

_SKIPPED = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"""(?:""(?!")|"(?!"))?', re.DOTALL),
    re.compile(r"'''.*?'''(?:''(?!')|'(?!'))?", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_PLAIN = re.compile(r"[^,\]}#\n]*")
_DEEPEST = 8
"""Keys inside one another that are told apart; a specification has five."""


def lines_of(text: str) -> dict[Path, int]:
    r"""The line (from 1) of every table, key and list entry of a text that ``tomllib`` has read without an error.

    >>> lines_of('a = 1\n[columns."net price"]\nkeep = true\n')[("columns", "net price", "keep")]
    3
    """
    return _Scanner(text).lines()


def line_of(lines: Mapping[Path, int], place: Path) -> int | None:
    """The line of a place, or of the nearest that holds it."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place)


class _Scanner:
    """Walks over keys and values; what is valid is known, so nothing is checked here."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Path, int] = {}
        self.ends = [place for place, char in enumerate(text) if char == "\n"]
        self.entries: dict[Path, int] = {}  # how many [[tables]] of a name there are so far

    def lines(self) -> dict[Path, int]:
        here: Path = ()
        while True:
            self.skip(_SKIPPED)
            if self.at >= len(self.text):
                return self.found
            if self.text.startswith("[", self.at):
                here = self.header()
            else:
                self.pair(here)

    def skip(self, what: re.Pattern[str]) -> str:
        match = what.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return match[0]

    def note(self, place: Path, at: int) -> None:
        """The first line on which a place is named, also by a longer one."""
        line = bisect.bisect_left(self.ends, at) + 1
        for length in range(1, len(place) + 1):
            self.found.setdefault(place[:length], line)

    def header(self) -> Path:
        start = self.at
        double = self.text.startswith("[[", self.at)
        self.at += 1 + double
        place = self.resolved(self.key(), double)
        self.at += 1 + double
        # the header of a table says more than that of a part of it that came before
        self.found[place] = bisect.bisect_left(self.ends, start) + 1
        self.note(place, start)
        return place

    def resolved(self, keys: list[str], double: bool) -> Path:
        """The place of a header, where the name of a list of tables means its last entry."""
        place: Path = ()
        for i, key in enumerate(keys[:_DEEPEST]):
            place = (*place, key)
            if double and i == len(keys) - 1:
                self.entries[place] = self.entries.get(place, 0) + 1
            if place in self.entries:
                place = (*place, self.entries[place] - 1)
        return place

    def key(self) -> list[str]:
        """A key, plain, quoted or dotted."""
        keys: list[str] = []
        while True:
            self.skip(_BLANK)
            if self.text[self.at] in "\"'":
                # tomllib itself reads the escapes
                keys.append(next(iter(tomllib.loads(f"{self.string()} = 0"))))
            else:
                keys.append(self.skip(_BARE))
            self.skip(_BLANK)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def pair(self, here: Path) -> None:
        start = self.at
        place = (*here, *self.key())[:_DEEPEST]
        self.note(place, start)
        self.at += 1  # the sign =
        self.skip(_BLANK)
        self.value(place)

    def value(self, place: Path) -> None:
        self.note(place, self.at)
        char = self.text[self.at]
        if char in "\"'":
            self.string()
        elif char in "[{":
            self.at += 1
            number = 0
            while True:
                self.skip(_SKIPPED)
                if self.text[self.at] in "]}":
                    self.at += 1
                    return
                if self.text[self.at] == ",":
                    self.at += 1
                elif char == "{":
                    self.pair(place)
                else:
                    self.value((*place, number)[:_DEEPEST])
                    number += 1
        else:
            self.skip(_PLAIN)

    def string(self) -> str:
        for pattern in _STRINGS:
            match = pattern.match(self.text, self.at)
            if match is not None:
                self.at = match.end()
                return match[0]
        raise ValueError("no text")  # cannot be: tomllib has read it
