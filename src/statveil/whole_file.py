"""Files written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from statveil.disk import sync
from statveil.errors import FileError, cannot
from statveil.work_folder import empty, work_folder

__all__ = [
    "Named",
    "check_apart",
    "check_folder",
    "is_special",
    "names_folder",
    "put_whole",
    "write_synced",
    "write_whole",
]

Named = tuple[str, str | os.PathLike[str]]
"""What a file is to the one who asked, such as "the input", and where it is."""


def write_whole(path: str | os.PathLike[str], content: bytes, *, private: bool = False) -> None:
    """Write a file, whole or not at all; links are followed, devices and pipes are written to.

    When this returns, the file is on the disk. A private file can be read by its owner only.
    """
    if not os.fspath(path):
        raise FileError("the name of the output file is empty; give a file name.")
    if names_folder(path):
        raise FileError(f"{os.fspath(path)} names a folder; give the name of a file, without a slash at its end.")
    target = Path(os.path.realpath(path))
    try:
        if is_special(target):
            # a pipe that nobody reads is an error, not something to wait for
            with os.fdopen(os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0)), "wb") as device:
                if hasattr(os, "set_blocking"):
                    os.set_blocking(device.fileno(), True)
                device.write(content)
            return
        check_folder(path)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        with work_folder(target) as folder:
            empty(folder)
            put_whole(target, content, folder=folder, private=private)
    except OSError as error:
        raise cannot(f"write {path}", error) from None


def check_folder(path: str | os.PathLike[str], *, named: str | None = None) -> None:
    """Refuse an output whose folder is not there: the system would speak of the file, which nobody expects to be.

    ``named`` is how the one who asked called the output, where that is not its path.
    """
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileError(f"cannot write {named or os.fspath(path)}: there is no folder {folder}.")


def check_apart(inputs: Iterable[Named], outputs: Iterable[Named]) -> None:
    """Refuse an output that is, holds or lies inside an input or another output."""
    seen = {_real(path): f"{what} {os.fspath(path)}" for what, path in inputs}
    for what, path in outputs:
        real = _real(path)
        for taken, other in seen.items():
            if real == taken:
                raise FileError(f"{what} {os.fspath(path)} would be written over {other}; give it another name.")
            if real in taken.parents:
                raise FileError(f"{what} {os.fspath(path)} is a folder that holds {other}; write it elsewhere.")
            if taken in real.parents:
                raise FileError(f"{what} {os.fspath(path)} lies inside {other}; write it elsewhere.")
        seen[real] = f"{what} {os.fspath(path)}"


def _real(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(path))


def names_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a name can only be a folder's: it ends with a slash, or with a slash and a point."""
    text = os.fspath(path)
    return text.endswith((os.sep, os.altsep or os.sep)) or Path(text).name != os.path.basename(text)  # noqa: PTH119


def is_special(path: Path) -> bool:
    """Whether this is a device or a pipe, which no file may replace."""
    return path.exists() and not path.is_file() and not path.is_dir()


def put_whole(target: Path, content: bytes, *, folder: Path, private: bool = False) -> None:
    """The same in a work folder that the caller holds: written there, then renamed."""
    fresh = folder / "file"
    write_synced(fresh, content, private=private)
    fresh.replace(target)
    sync(target.parent)


def write_synced(path: Path, content: bytes, *, private: bool = False) -> None:
    """A new file, on the disk when this returns."""
    # exclusive, so that no link that someone laid is followed; its owner's alone from the first byte
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if not private:  # the permissions of any new file
        umask = os.umask(0)
        os.umask(umask)
        path.chmod(0o666 & ~umask)
