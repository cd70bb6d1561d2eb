"""Whether a table on the disk is still the one that was measured: its files' sizes, times and identities."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from statveil.errors import FileError, StatveilError

__all__ = ["Fingerprint", "fingerprint", "refuse_change", "unchanged"]

Fingerprint = dict[str, tuple[int, ...]]
"""By file: device, number, size, and when its content and its entry last changed."""


def fingerprint(path: Path) -> Fingerprint:
    """What changes when someone writes to, replaces, adds or removes a file; empty where there is none."""
    found: Fingerprint = {}

    def look(place: str) -> None:
        try:
            entry = os.stat(place)  # noqa: PTH116  (many files: no Path each)
            found[place] = (entry.st_dev, entry.st_ino, entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns)
        except (OSError, ValueError):  # gone, or no name at all: whoever opens it says so
            found[place] = ()

    if path.is_dir():
        for root, _, names in os.walk(path):
            for name in names:
                look(os.path.join(root, name))  # noqa: PTH118
    else:
        look(os.fspath(path))
    return found


@contextmanager
def unchanged(path: Path, before: Fingerprint) -> Iterator[None]:
    """An error, in place of any other, where the table changed meanwhile: what was measured is not what was written."""
    try:
        yield
    except StatveilError:
        refuse_change(path, before)
        raise
    refuse_change(path, before)


def refuse_change(path: Path, before: Fingerprint) -> None:
    """An error where the table is no longer what it was."""
    after = fingerprint(path)
    if after == before:
        return
    gone = any(found and not after.get(place) for place, found in before.items())
    raise FileError(
        f"{path} {'was removed' if gone else 'changed'} while it was read, so nothing was published. Wait until nobody "
        "writes to it, or release a copy."
    ) from None
