"""A release in words: what may be published of it, and what its holder should know. Nothing of the private record."""

from __future__ import annotations

import os
from collections import Counter

from statveil.modes import MODES
from statveil.tables.release import Release

__all__ = ["describe_release"]


def describe_release(done: Release) -> str:
    """Mode, guarantee, accepted leaks and notes; of a whole table, what was done with each column."""
    if "columns" in done.card:
        return _describe_table(done)
    mode = MODES[done.card["mode"]]
    what = "table" if mode.of_table else "two columns" if mode.of_columns else "column"
    where = f"{os.fspath(done.table)}: {what}" if isinstance(done.table, str | os.PathLike) else what.capitalize()
    name = "" if done.card["column"] is None else f" {done.card['column']!r}"
    promised = done.card["guarantee"]
    lines = [f"{where}{name} released, mode {done.card['mode']}.", f"  {promised['in_words']}", f"  {promised['says']}"]
    lines += [f"  accepted leak {leak['name']}: {leak['says']}" for leak in done.card["accepted_leaks"]]
    return "\n".join([*lines, *_for_the_holder(done)])


def _describe_table(done: Release) -> str:
    """What was done with each column, and the risk that all of it has together."""
    where = f"{os.fspath(done.table)}: table" if isinstance(done.table, str | os.PathLike) else "Table"
    columns = done.card["columns"]
    counted = Counter(one["done"] for one in columns.values())
    lines = [f"{where} released; columns: {', '.join(f'{count} {what}' for what, count in counted.items())}."]
    lines += [f"  {done.card['guarantee'][said]}" for said in ("in_words", "says")]
    for name, one in columns.items():
        if one["done"] == "hidden":
            lines.append(f"  {name}: hidden, mode {one['mode']}. {one['guarantee']['in_words']}")
            lines += [f"    accepted leak {leak['name']}: {leak['says']}" for leak in one["accepted_leaks"]]
        elif one["done"] == "linked":
            lines.append(f"  {name}: moved along with {one['to']}.")
        elif one["done"] == "derived":
            lines.append(f"  {name}: derived, {one['expression']}.")
    return "\n".join([*lines, *_for_the_holder(done)])


def _for_the_holder(done: Release) -> list[str]:
    return [*(f"  check   {one}" for one in done.to_check), *(f"  note    {note}" for note in done.notes)]
