"""Why a file could not be read or written, as one sentence."""

from __future__ import annotations

import os
import re
from pathlib import Path

from polars.exceptions import DuplicateError

from statveil.errors import FileError

__all__ = ["cannot_read", "cannot_write", "system_reason"]


def system_reason(error: BaseException) -> str | None:
    """The operating system's reason for a failure, or None if it was not the system's.

    Polars reports a full disk as an error of its own kind whose text alone keeps the system's error number.

    >>> system_reason(RuntimeError("parquet: underlying IO error: File too large (os error 27)"))
    'File too large'
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    number = re.search(r"\(os error (\d+)\)", str(error))
    if number:
        return os.strerror(int(number.group(1)))
    return str(error) if isinstance(error, OSError) and str(error) else None


def cannot_read(path: Path, error: BaseException, what: str) -> FileError:
    """A file that cannot be read: the system's reason, or that it is not what its name says.

    The engine's own words are left out: they may quote the content.
    """
    if isinstance(error, FileError):
        return error
    reason = system_reason(error)
    if reason:
        return FileError(f"cannot read {path}: {reason}.")
    if isinstance(error, DuplicateError):
        return FileError(f"cannot read {path}: two of its columns have the same name. Rename one and write it again.")
    return FileError(
        f"cannot read {path}: it is not {what} file, it is damaged, or it holds a column that cannot be read. "
        "Check that its suffix says what it is, or write it again with the program that made it."
    )


def cannot_write(target: Path, error: BaseException) -> FileError:
    """A table that cannot be written."""
    if isinstance(error, FileError):
        return error
    reason = system_reason(error) or "the engine could not write one of its columns"
    return FileError(f"cannot write {target}: {reason}.")
