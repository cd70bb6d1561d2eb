"""The hash of a table on the disk, file or folder."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from statveil.errors import cannot
from statveil.tables.ahead import started

__all__ = ["hash_file", "hashed_as_written"]

_PIECE = 2**20
_PAUSE = 0.02  # seconds in which an engine writes a few pieces


def hash_file(path: Path, each: Callable[[Sequence[Path]], Iterable[str]] | None = None) -> str:
    """SHA-256 of a file, or of a folder's files with their names; ``each`` has those of several files found."""
    try:
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256()
        inside = sorted(entry for entry in path.rglob("*") if entry.is_file())
        for inner, own in zip(inside, map(hash_file, inside) if each is None else each(inside), strict=True):
            digest.update(f"{inner.relative_to(path).as_posix()}\0{own}\n".encode())
        return digest.hexdigest()
    except OSError as error:
        raise cannot(f"read {path}", error) from None


@contextmanager
def hashed_as_written(path: Path) -> Iterator[Callable[[], str]]:
    """Hash a file while it is written from its beginning to its end; gives what has the hash once it is written.

    Only the last bytes of a long file are left to be hashed once it is written. What was read counts only if the name
    still has the file that was read, with so many bytes: else it is hashed anew.
    """
    written, given_up = threading.Event(), threading.Event()
    followed = started(lambda: _follow(path, written, given_up))
    try:
        yield lambda: _hash_of(path, followed)
    except BaseException:
        given_up.set()
        raise
    finally:
        written.set()


class _Read(NamedTuple):
    """What was read of a file while it was written."""

    file: os.stat_result
    size: int
    digest: str


def _follow(path: Path, written: threading.Event, given_up: threading.Event) -> _Read | None:
    """The file from its first byte to its last; nothing where it cannot be read."""
    with suppress(OSError):
        while not path.exists():
            if written.wait(_PAUSE) and not path.exists():
                return None
        digest, size = hashlib.sha256(), 0
        with path.open("rb", buffering=0) as file:
            while not given_up.is_set():
                last = written.is_set()  # asked first: what is read now is all that there is
                while piece := file.read(_PIECE):
                    digest.update(piece)
                    size += len(piece)
                if last:
                    return _Read(os.fstat(file.fileno()), size, digest.hexdigest())
                written.wait(_PAUSE)
    return None


def _hash_of(path: Path, followed: Future[_Read | None]) -> str:
    read = followed.result()
    with suppress(OSError):
        if read is not None and os.path.samestat(read.file, now := path.stat()) and now.st_size == read.size:
            return read.digest
    return hash_file(path)
