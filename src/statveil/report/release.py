"""A release in words: what may be published of it, and what its holder should know. Nothing of the private record."""

from __future__ import annotations

import os

from statveil.tables.release import Release

__all__ = ["describe_release"]


def describe_release(done: Release) -> str:
    """Mode, guarantee, accepted leaks and notes."""
    where = f"{os.fspath(done.table)}: column" if isinstance(done.table, str | os.PathLike) else "Column"
    name = "" if done.card["column"] is None else f" {done.card['column']!r}"
    lines = [f"{where}{name} released, mode {done.card['mode']}.", f"  {done.card['guarantee']['says']}"]
    lines += [f"  accepted leak {leak['name']}: {leak['says']}" for leak in done.card["accepted_leaks"]]
    return "\n".join([*lines, *(f"  note    {note}" for note in done.notes)])
