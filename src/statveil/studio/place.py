"""The private folder of one start of the studio: 0700, and gone when it ends."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from statveil.errors import FileError
from statveil.work_folder import empty, work_folder

__all__ = ["private_folder"]

_NAME = re.compile(r"\.(studio-[0-9a-f]{16})\.statveil-[0-9a-f]{8}")


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder that only its owner can read; removed with all that is in it when the block ends.

    What an earlier start left that was killed is removed too: nobody holds its lock.
    """
    home = Path(tempfile.gettempdir())
    _sweep(home)
    with work_folder(home / f"studio-{secrets.token_hex(8)}") as folder:
        yield folder


def _sweep(home: Path) -> None:
    with suppress(OSError):
        for entry in list(home.iterdir()):
            name = _NAME.fullmatch(entry.name)
            with suppress(OSError, FileError):
                if (
                    name
                    and not entry.is_symlink()
                    and (not hasattr(os, "getuid") or entry.stat().st_uid == os.getuid())
                ):
                    with work_folder(home / name[1]) as folder:
                        empty(folder)
