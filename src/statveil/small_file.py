"""Small text files that others may have made: plans, cards and records."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from statveil.errors import FileError, cannot

__all__ = ["LARGEST_FILE", "read_small"]

LARGEST_FILE = 1 << 26
"""Bytes; the largest plans, linear programmes on fine grids, have about a megabyte."""


def read_small(path: str | os.PathLike[str]) -> str:
    """The text of a regular file of bounded size: a pipe may never end, and /dev/zero does not.

    Raises
    ------
    FileNotFoundError
        Where there is none, which callers name in their own words.
    UnicodeDecodeError
        Where it is not UTF-8.
    FileError
        Everything else.
    """
    try:
        # without O_NONBLOCK a pipe that nobody writes to would be waited for before it can be looked at
        handle = os.open(Path(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise FileError(f"cannot read {path}: it is not a regular file; give a file, not a pipe or a device.")
            content = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise cannot(f"read {path}", error) from None
    if len(content) > LARGEST_FILE:
        raise FileError(f"cannot read {path}: it is larger than {LARGEST_FILE >> 20} MiB; name another file.")
    return content.decode("utf-8-sig")
