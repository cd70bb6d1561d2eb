"""What the system must be asked for so that a power cut or a kill loses nothing: syncing, exchanging names."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["exchange", "rename_new", "sync", "sync_tree"]

_NOREPLACE, _EXCHANGE = 1, 2  # flags of renameat2(2)
_HERE = -100  # AT_FDCWD: paths as they are given
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)  # the kernel or the file system has no such call


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    folder = path.is_dir()
    if folder and os.name == "nt":  # folders cannot be opened there
        return
    # Windows syncs only what is open for writing; elsewhere reading is enough
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if not folder or error.errno not in _UNKNOWN:  # some network folders cannot be synced, and need not be
            raise
    finally:
        os.close(handle)


def sync_tree(path: Path) -> None:
    """The same for a file, or for a folder with all that is in it."""
    if path.is_dir():
        for entry in sorted(path.iterdir()):
            sync_tree(entry)
    sync(path)


def exchange(one: Path, two: Path) -> bool:
    """Two names for two things change places in one step; False where the system cannot do that."""
    return _renameat2(one, two, _EXCHANGE)


def rename_new(path: Path, target: Path) -> None:
    """Rename, but never onto something that is there; FileExistsError then."""
    if _renameat2(path, target, _NOREPLACE):
        return
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(target))
    path.rename(target)


def _renameat2(path: Path, target: Path, flags: int) -> bool:
    call = _system_call()
    if call is None:
        return False
    if call(_HERE, os.fsencode(path), _HERE, os.fsencode(target), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), os.fspath(path), None, os.fspath(target))


@cache
def _system_call() -> Any:
    """Linux's renameat2, or None."""
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
