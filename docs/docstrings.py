"""Our docstrings for the site: roles become code, examples become blocks. Loaded by mkdocstrings, see mkdocs.yml."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":[a-z]+:`~?([^`]+)`")
DOUBLE = re.compile(r"``([^`]+)``")
EXAMPLE = re.compile(r"^>>> .*?(?=^\s*$|\Z)", re.DOTALL | re.MULTILINE)


def as_markdown(text: str) -> str:
    """The docstring with what Markdown has for its roles and examples."""
    plain = DOUBLE.sub(r"`\1`", ROLE.sub(r"`\1`", text))
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", plain)


class Docstrings(griffe.Extension):  # type: ignore[misc]
    """Every docstring of the package as Markdown."""

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        """Walk the package once it is loaded."""
        waiting, seen = [pkg], set()
        while waiting:
            thing = waiting.pop()
            if thing.is_alias or id(thing) in seen:
                continue
            seen.add(id(thing))
            if thing.docstring is not None:
                thing.docstring.value = as_markdown(thing.docstring.value)
            waiting.extend(thing.members.values())
