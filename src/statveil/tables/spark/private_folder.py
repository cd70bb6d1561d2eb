"""Folders of this process that only its owner can read; they go with all that is in them when the process ends.

What a killed process leaves is removed by the next one on the same machine: each holds a lock as long as it lives.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from statveil.work_folder import MARK

try:
    import fcntl
except ImportError:  # Windows: what was left stays
    fcntl = None  # type: ignore[assignment]

__all__ = ["private_folder"]

_NAME = "statveil-spark-"
_MADE: dict[Path, tempfile.TemporaryDirectory[str]] = {}


def private_folder(inside: Path | None = None) -> Path:
    """The one in some folder; left out: in that for temporary files."""
    here = Path(tempfile.gettempdir())
    where = here if inside is None else inside.absolute()
    if where not in _MADE or not Path(_MADE[where].name).is_dir():  # others remove what is old
        if where == here:  # on a disk of several machines a lock may not say who lives
            _remove_left(where)
        _MADE[where] = tempfile.TemporaryDirectory(prefix=_NAME, dir=where, ignore_cleanup_errors=True)
        _lock(Path(_MADE[where].name))
    return Path(_MADE[where].name)


def _lock(folder: Path) -> None:
    """Hold a lock until the process ends; it is there before the file has the name that others look for."""
    if fcntl is not None:
        mark = os.open(folder / "new", os.O_CREAT | os.O_RDWR, 0o600)
        with suppress(OSError):  # a disk without locks
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (folder / "new").rename(folder / MARK)


def _remove_left(where: Path) -> None:
    """Remove folders of ours whose process is gone."""
    for folder in where.glob(f"{_NAME}*") if fcntl is not None else ():
        with suppress(OSError):  # of others, or gone meanwhile
            mark = os.open(folder / MARK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not folder.is_symlink() and folder.stat().st_uid == os.getuid():
                    shutil.rmtree(folder)
            finally:
                os.close(mark)
