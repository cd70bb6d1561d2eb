"""A table and its card take the places of the old ones: both new, or both as they were, wherever a run is stopped.

Both are made ready and synced in the output's work folder. Then a journal says what is about to happen, and the card
and the table change places with the old ones, one step each. Nothing is removed before both are in place and synced. A
run that is killed in between leaves a new card beside the old table: the journal tells the next run, which takes the
card back, and ``verify``, which says so.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from statveil import disk
from statveil.errors import cannot
from statveil.tables.card import card_path
from statveil.tables.hashing import hash_file
from statveil.whole_file import write_synced
from statveil.work_folder import JOURNAL, MARK, empty, work_folder_of

__all__ = ["interrupted", "publish", "recover", "table_in"]

_CARD = "card"
_FORMAT = "statveil-journal"


def table_in(folder: Path, target: Path) -> Path:
    """Where in the work folder the new table is written; its suffix says the format."""
    return folder / f"table{''.join(target.suffixes[-2:])}"


def publish(folder: Path, target: Path, card: bytes, *, replace: bool) -> None:
    """Put the table that was made in the work folder, and its card, in place.

    Parameters
    ----------
    folder : Path
        The work folder, held by the caller.
    target : Path
        The table's final name.
    card : bytes
        The card's content, which holds the table's hash.
    replace : bool
        Whether an old table may be there.

    Raises
    ------
    FileError
        Something could not be written; everything is as it was.
    """
    table = table_in(folder, target)
    try:
        disk.sync_tree(table)
        write_synced(folder / _CARD, card)
        journal = {
            "format": _FORMAT,
            "card": hashlib.sha256(card).hexdigest(),
            "table": json.loads(card)["sha256"],
        }
        write_synced(folder / "journal.new", json.dumps(journal).encode())
        fresh = {name: path.stat() for name, path in ((_CARD, folder / _CARD), (table.name, table))}
        try:
            (folder / "journal.new").rename(folder / JOURNAL)
            disk.sync(folder)
            disk.sync(target.parent)
            _put(folder, _CARD, card_path(target), replace=True)
            _put(folder, table.name, target, replace=replace)
            disk.sync(target.parent)
            disk.sync(folder)
        except BaseException:
            _roll_back(folder, target, lambda name, place: os.path.samestat(place.stat(), fresh[name]))
            disk.sync(target.parent)
            (folder / JOURNAL).unlink(missing_ok=True)
            raise
        # From here on the new pair stands, whatever happens; what is left in the folder is the old one. A journal that
        # cannot be removed is no danger: recover() sees by the new table that all was done.
        with suppress(OSError):
            (folder / JOURNAL).unlink()
    except OSError as error:
        raise cannot(f"write {target}", error) from None


def recover(folder: Path, target: Path) -> None:
    """Mend what a killed run left: a pair that is half new becomes the old one again. The work folder is then empty."""
    try:
        journal = _journal(folder)
        if journal is not None:

            def is_new(name: str, place: Path) -> bool:
                return hash_file(place) == str(journal[_CARD if name == _CARD else "table"])

            if not _finished(folder, target, is_new):
                _roll_back(folder, target, is_new)
                disk.sync(target.parent)
            (folder / JOURNAL).unlink()
        empty(folder)
    except OSError as error:
        raise cannot(f"write {target}", error) from None


def interrupted(target: Path) -> bool:
    """Whether a run was stopped while it put a table and its card in place, or is doing so right now."""
    return _journal(work_folder_of(target)) is not None


def _journal(folder: Path) -> dict[str, Any] | None:
    try:
        if not (folder / MARK).is_file():
            return None
        data = json.loads((folder / JOURNAL).read_bytes())
    except (OSError, ValueError):  # renamed into place after it was synced, so whole or absent
        return None
    return data if isinstance(data, dict) and data.get("format") == _FORMAT else None


def _places(folder: Path, target: Path) -> tuple[tuple[str, Path], ...]:
    """What is published, by its name in the work folder; the table goes back before its card."""
    return (table_in(folder, target).name, target), (_CARD, card_path(target))


def _finished(folder: Path, target: Path, is_new: Callable[[str, Path], bool]) -> bool:
    """Whether the new table, the last to be put, got its place: what was done to the pair since is its owner's doing.

    Where nothing has the table's name, a run that was stopped has the new table in its folder still.
    """
    name, place = _places(folder, target)[0]
    if os.path.lexists(place):
        return is_new(name, place)
    kept = (folder / one for one in (name, f"old.{name}", f"undone.{name}"))
    return not any(one.exists() and is_new(name, one) for one in kept)


def _put(folder: Path, name: str, place: Path, *, replace: bool) -> None:
    """The new file takes its place; what was there is kept in the work folder as ``old.name``."""
    fresh, aside = folder / name, folder / f"old.{name}"
    if not replace or not os.path.lexists(place):
        disk.rename_new(fresh, place)
    elif disk.exchange(fresh, place):
        fresh.rename(aside)
    elif place.is_dir():  # without an exchange a folder must go before another one can come
        place.rename(aside)
        fresh.rename(place)
    else:
        try:
            os.link(place, aside)
        except OSError:  # no second names on this file system
            place.rename(aside)
        fresh.replace(place)


def _roll_back(folder: Path, target: Path, is_new: Callable[[str, Path], bool]) -> None:
    """Whatever of the new pair is in place makes room for the old again. May be stopped and done anew."""
    for name, place in _places(folder, target):
        fresh, aside = folder / name, folder / f"old.{name}"
        if place.exists() and is_new(name, place):
            # right after an exchange the old one still has the new one's name
            old = aside if aside.exists() else fresh
            if not old.exists():
                place.rename(fresh)
            elif not disk.exchange(old, place):
                if place.is_dir():
                    place.rename(folder / f"undone.{name}")
                old.replace(place)
        elif not place.exists() and aside.exists():
            aside.rename(place)
