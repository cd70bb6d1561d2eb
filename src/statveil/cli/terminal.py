"""What reaches a terminal: no control characters of names, labels or paths, nothing that cannot be encoded."""

from __future__ import annotations

import re

import click

__all__ = ["IN_PLACE", "echo", "harmless"]

IN_PLACE: list[str] = []
"""What the running command has written for good: where its output then cannot be printed, the error says so."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and line end, marks that turn the direction of writing, lone surrogates."""


def harmless(text: str) -> str:
    r"""The text with control characters spelled out as in JSON: a name cannot clear the screen or rewrite a line.

    >>> print(harmless("a" + chr(27) + "[2Jb"))
    a\u001b[2Jb
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def echo(message: str, *, err: bool = False) -> None:
    """Print what may hold names that others chose."""
    click.echo(harmless(message), err=err)
