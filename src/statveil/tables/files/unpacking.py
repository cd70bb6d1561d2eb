"""Files compressed by gzip, read as they unpack, but no bombs."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from statveil.errors import FileError

__all__ = ["unpacked"]

LARGEST_RATIO = 400
"""Bytes per byte packed; text of real tables reaches about 100, gzip itself 1,032."""
_SMALL = 1 << 26
"""Bytes that may unpack from anything: a short table of one value repeated is no harm."""


class _Unpacked:
    """What a file unpacks to; an error where it is far more than a table's text could be."""

    def __init__(self, source: BinaryIO, path: Path) -> None:
        self._source, self._path, self._read = source, path, 0
        self._most = max(_SMALL, LARGEST_RATIO * path.stat().st_size)

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        found = self._source.read(size)
        self._read += len(found)
        if self._read > self._most:
            raise FileError(
                f"cannot read {self._path}: it is compressed and unpacks to more than {LARGEST_RATIO} times its size, "
                "as no table does. If it is one, unpack it first."
            )
        return found


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """The content of a gzip file."""
    with gzip.open(path) as source:
        yield cast(BinaryIO, _Unpacked(cast(BinaryIO, source), path))
