"""A private file for what was read from a database: without a name where the system can, so nothing is left of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from statveil.errors import FileError
from statveil.tables.files.failures import system_reason

__all__ = ["Spool", "not_kept"]

_OPEN = Path("/proc/self/fd")


def not_kept(error: BaseException) -> FileError:
    """Rows that could not be kept; the engine's own words are left out, as they may quote values."""
    why = system_reason(error) or "the engine could not write one of its columns"
    return FileError(f"cannot write to the folder for temporary files: {why}. Set TMPDIR to another folder.")


class Spool:
    """An empty file that its owner alone can read, and that goes with this object or with the process.

    Attributes
    ----------
    path : Path
        By which this process, and no other user's, opens it.
    """

    path: Path
    close: Callable[[], None]

    def __init__(self) -> None:
        try:
            if _OPEN.is_dir():  # Linux: a file without a name can be opened again by its number
                file = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as this object)
                self.path, self.close = _OPEN / str(file.fileno()), file.close
            else:
                folder = tempfile.TemporaryDirectory(prefix="statveil-")
                self.path, self.close = Path(folder.name) / "rows.parquet", folder.cleanup
        except OSError as error:
            raise not_kept(error) from None

    def __del__(self) -> None:
        if hasattr(self, "close"):
            self.close()
