"""A folder beside an output in which it is made ready: ours by its name and its mark, and locked while a run uses it.

Its name follows from the output's, so that the next run finds what a killed one left. A lock ends with its process,
however that ends.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from statveil.errors import FileError

try:
    import fcntl
except ImportError:  # Windows: an open file cannot be removed there, which keeps runs apart as well
    fcntl = None  # type: ignore[assignment]

__all__ = ["JOURNAL", "MARK", "empty", "work_folder", "work_folder_of"]

MARK = "made-by-statveil"
"""The file that says that a folder is ours; whoever holds its lock may use the folder."""

JOURNAL = "journal"
"""Where this file is, the folder may hold the only copy of something: it stays until a run has mended that."""

_SHOWN = 40  # characters of the output's name


def work_folder_of(target: Path) -> Path:
    """Where ``target`` is made ready.

    >>> work_folder_of(Path("out.csv")).name
    '.out.csv.statveil-bad417da'
    """
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]
    return target.with_name(f".{target.name[:_SHOWN]}.statveil-{digest}")


@contextmanager
def work_folder(target: Path) -> Iterator[Path]:
    """The folder, locked; it goes with all that is in it when the block ends. It may hold what a kill left.

    Where a journal is in it at the end, it stays: what is in it is still needed.

    Raises
    ------
    FileError
        Another process writes the same output, or something that is not ours has the folder's name.
    """
    folder = work_folder_of(target)
    mark = _locked(folder, target)
    try:
        yield folder
    finally:
        try:
            _remove(folder)
        except BaseException:  # told to end meanwhile, which is no reason to leave anything
            _remove(folder)
            raise
        finally:
            os.close(mark)


def _remove(folder: Path) -> None:
    """Remove the folder, unless it is still needed; what cannot be removed now is removed by the next run."""
    with suppress(OSError):
        if not (folder / JOURNAL).exists():
            empty(folder)
            (folder / MARK).unlink(missing_ok=True)
            folder.rmdir()


def empty(folder: Path) -> None:
    """Remove everything in a work folder but its mark, which goes last: a folder without it is not ours."""
    for entry in folder.iterdir():
        if entry.name == MARK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _locked(folder: Path, target: Path) -> int:
    """Make the folder unless it is there, and lock its mark; the open file that holds the lock."""
    while True:
        try:
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                _refuse_unless_ours(folder)
            try:
                # never through a link that someone laid
                mark = os.open(folder / MARK, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
            except FileNotFoundError:  # removed by the run that had it
                continue
        except BaseException:
            with suppress(OSError):
                folder.rmdir()  # just made; one that holds anything stays
            raise
        try:
            if fcntl is not None:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # the run that had it may have removed the file that was just locked
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(mark), (folder / MARK).stat()):
                    return mark
        except BlockingIOError:
            os.close(mark)
            raise FileError(
                f"another process is writing {target} right now; wait until it has ended, or give another name."
            ) from None
        except BaseException:  # the folder stays, with nothing of ours but the mark: another run may have the lock
            os.close(mark)
            raise
        os.close(mark)


def _refuse_unless_ours(folder: Path) -> None:
    """An empty folder of that name is what a kill right after its making leaves."""
    with suppress(FileNotFoundError):
        if folder.is_symlink() or not folder.is_dir() or (not (folder / MARK).is_file() and any(folder.iterdir())):
            raise FileError(f"{folder} is needed as a temporary name, but holds something else; rename it.")
