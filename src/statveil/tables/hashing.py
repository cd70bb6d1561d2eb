"""The hash of a table on the disk, file or folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from statveil.errors import cannot

__all__ = ["hash_file"]


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
