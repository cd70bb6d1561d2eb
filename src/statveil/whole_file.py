"""Files written whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from statveil.errors import FileError

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], content: bytes, *, private: bool = False) -> None:
    """Write a file, whole or not at all; links are followed, devices and pipes are written to.

    A private file can be read by its owner only.
    """
    if not os.fspath(path):
        raise FileError("the name of the output file is empty; give a file name.")
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as device:
                device.write(content)
            return
        _replace(target, content, private)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}.") from None


def _replace(target: Path, content: bytes, private: bool) -> None:
    """Write under a temporary name, then rename; what a kill leaves behind is removed by the next run."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory")
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    # exclusive, so that no link that someone laid is followed; its owner's alone from the first byte
    handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if not private:  # the permissions of any new file
            umask = os.umask(0)
            os.umask(umask)
            partial.chmod(0o666 & ~umask)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
