"""A file that the page names: opened first, then held against the folder that it must lie in.

What is read afterwards is the very file that was opened: a link that someone swaps after the check changes nothing.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from statveil.studio.refusal import Refusal

__all__ = ["Opened", "open_inside"]

_OPEN_FILES = Path("/proc/self/fd")


@dataclass(slots=True, kw_only=True)
class Opened:
    """A file or folder of Parquet files that is held open."""

    handle: int
    path: Path
    """Where it was found, without links."""
    size: int

    def close(self) -> None:
        """Let it go."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def stand_in(self, folder: Path, name: str) -> Path:
        """A path that opens this very file, whatever happens to the names on the way to it."""
        if not _OPEN_FILES.exists():
            return self.path
        place = folder / name
        place.symlink_to(f"/proc/{os.getpid()}/fd/{self.handle}")
        return place


def open_inside(text: str, folder: Path) -> Opened:
    """Open what ``text`` names, from ``folder`` on or in full, if it lies inside; a :class:`Refusal` otherwise.

    Links may be used on the way as long as they end inside the folder.
    """
    outside = Refusal(
        f"only files in {folder} can be opened; move the table there, or start the studio with --folder.",
        status=403,
        field="path",
    )
    if not text.strip() or "\0" in text:
        raise Refusal("give the path of a table file.", field="path")
    home = Path(os.path.realpath(folder))
    wanted = home / text
    if home not in (real := Path(os.path.realpath(wanted))).parents:  # before opening: a pipe would wait
        raise outside
    try:
        kind = real.stat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise Refusal("that is neither a file nor a folder of Parquet files.", field="path")
        handle = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        raise Refusal(f"cannot read {text}: {error.strerror or error}.", status=404, field="path") from None
    try:
        found = _place_of(handle, real)
        about = os.fstat(handle)
        if home not in found.parents or stat.S_IFMT(about.st_mode) != stat.S_IFMT(kind):
            raise outside
        if stat.S_ISDIR(about.st_mode):
            _check_folder(handle)
        return Opened(handle=handle, path=found, size=about.st_size)
    except BaseException:
        os.close(handle)
        raise


def _place_of(handle: int, path: Path) -> Path:
    """Where an open file lies; its name may have been given to another one meanwhile."""
    if _OPEN_FILES.exists():
        return (_OPEN_FILES / str(handle)).readlink()
    if sys.platform == "darwin":
        import fcntl

        return Path(os.fsdecode(fcntl.fcntl(handle, 50, bytes(1024)).rstrip(b"\0")))  # F_GETPATH
    real = Path(os.path.realpath(path))
    return real if os.path.samestat(os.fstat(handle), real.stat()) else Path(os.devnull)


def _check_folder(handle: int) -> None:
    """A folder of Parquet files holds files, no links to others."""
    if os.scandir in os.supports_fd:
        with os.scandir(handle) as entries:
            if any(entry.is_symlink() for entry in entries):
                raise Refusal("the folder holds links; only a folder of files can be opened.", status=403, field="path")
