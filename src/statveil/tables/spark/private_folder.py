"""Folders of this process that only its owner can read; they go with all that is in them when the process ends."""

from __future__ import annotations

import tempfile
from pathlib import Path

__all__ = ["private_folder"]

_MADE: dict[Path, tempfile.TemporaryDirectory[str]] = {}


def private_folder(inside: Path | None = None) -> Path:
    """The one in some folder; left out: in that for temporary files."""
    where = Path(tempfile.gettempdir()) if inside is None else inside.absolute()
    if where not in _MADE or not Path(_MADE[where].name).is_dir():  # others remove what is old
        _MADE[where] = tempfile.TemporaryDirectory(prefix="statveil-spark-", dir=where, ignore_cleanup_errors=True)
    return Path(_MADE[where].name)
