"""What ``-o`` may write to: nothing that a command reads, and of what is there only an earlier output of its kind.

One way for all commands. ``release`` alone has rules of its own (:mod:`statveil.tables.release_file`): its outputs are
several files that belong together.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from statveil.errors import FileError
from statveil.report.document.shell import page_kind, page_subject
from statveil.small_file import read_small
from statveil.whole_file import Named, check_apart, check_folder, is_special, names_folder

__all__ = [
    "check_output",
    "content",
    "json_kind",
    "keep_another",
    "overwrite_option",
    "page_of",
    "shape_files",
    "subject_of_page",
    "tables",
]

overwrite_option = click.option("--overwrite", is_flag=True, help="Replace an existing output.")

Ours = Callable[[Path], bool]
"""Whether a file is an earlier output of the same kind."""


def check_output(
    path: str,
    inputs: Iterable[Named] = (),
    *,
    overwrite: bool,
    ours: Ours | None = None,
    what: str = "",
    advice: str = "give another name, or --overwrite",
) -> None:
    """Refuse, before anything is computed, an output that would replace a file of another kind.

    Parameters
    ----------
    path : str
        Where the output goes; devices and pipes are written to, and an empty file has nothing to lose.
    inputs : iterable of pairs
        What the command reads, each with its name in a sentence.
    overwrite : bool
        Whether the user asked for an existing output to be replaced.
    ours : callable, optional
        Tells an earlier output of the same kind from other files: these are never replaced. Without it no file tells
        its kind, and each is kept unless the user asks for it.
    what : str
        The kind, with its article: "a plan".
    advice : str
        What to do about a file that is kept.
    """
    if not path or names_folder(path):
        return  # which is said where it is written
    place = Path(path)
    try:
        if is_special(place):
            return
        check_folder(path)
        check_apart(inputs, [("the output", path)])
        if not _holds_something(place):
            return
        if ours is None and not overwrite:
            raise FileError(f"{path} exists and is kept; {advice}.")
        if ours is not None and not ours(place):
            raise FileError(f"{path} exists and is not {what}; give another name for {re.sub('^an? ', 'the ', what)}.")
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}.") from None


def keep_another(path: str, what: str, *, same: Callable[[Path], bool], overwrite: bool) -> None:
    """Refuse to replace an earlier output of the same kind by one of something else, unless that was asked for."""
    place = Path(path)
    if overwrite or not path or is_special(place) or not _holds_something(place) or same(place):
        return
    raise FileError(f"{path} holds {what}, and is kept; give another name, or --overwrite.")


def json_kind(form: str) -> Ours:
    """Whether a file is JSON of this ``format``, in whatever version."""

    def ours(place: Path) -> bool:
        return content(place).get("format") == form

    return ours


def content(place: Path) -> Mapping[str, Any]:
    """The JSON object of a file; empty where it holds none."""
    try:
        found = json.loads(read_small(place))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def page_of(kind: str) -> Ours:
    """Whether a file is a page of ours, of this kind."""
    return lambda place: page_kind(_start(place)) == kind


def subject_of_page(place: Path) -> str | None:
    """The hash of what a page of ours is about."""
    return page_subject(_start(place))


def _start(place: Path) -> bytes:
    with place.open("rb") as file:
        return file.read(4096)


def shape_files(options: Mapping[str, Any]) -> list[Named]:
    """The public tables of ``--family shape:FILE:COLUMN`` and ``--shape FILE:COLUMN``, which are read."""
    texts = [str(text) for text in (options.get("family"), options.get("shape")) if text]
    files = [re.sub(r"^(log-)?shape:", "", text).rpartition(":")[0] for text in texts]
    return [("the public table", file) for file in files if file and os.path.lexists(file)]


def tables(**paths: str | None) -> list[Named]:
    """Tables by what they are to the command, each with the card beside it; of a database its file."""
    from statveil.tables.card import card_path
    from statveil.tables.databases.address import Address, is_address

    found: list[Named] = []
    for name, path in paths.items():
        if path is None:
            continue
        if is_address(path):
            file = Address.parse(path).file
            found += [] if file is None else [(f"the database of the {name} table", file)]
        else:
            found += [(f"the {name} table", path), (f"the card of the {name} table", card_path(Path(path)))]
    return found


def _holds_something(place: Path) -> bool:
    return place.is_file() and place.stat().st_size > 0
