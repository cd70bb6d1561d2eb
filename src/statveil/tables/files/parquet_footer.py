"""What the footer of a Parquet file says of where its data lies: a file that was cut is told before it is read.

The engine stops its own threads on such files, and says so on standard error, at length. The footer is a structure of
Apache Thrift's compact protocol (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md);
its fields are those of https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["lacks_data"]

_MAGIC = b"PAR1"
_LARGEST = 1 << 24
"""Bytes of a footer that is looked at: a hundred thousand parts, which takes a second."""
_DEEPEST = 32
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
_ROW_GROUPS, _CHUNKS, _OF_CHUNK = 4, 1, 3
_COMPRESSED, _DATA, _DICTIONARY = 7, 9, 11
_INDEXES = ((4, 5), (6, 7))
"""Where the indexes of a chunk lie, and how long they are."""

Fields = dict[int, Any]


def lacks_data(path: Path) -> bool:
    """Whether the footer speaks of bytes that the file does not have; what cannot be understood is left to the engine.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < 12:
            return False
        file.seek(size - 8)
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        end = size - 8 - length
        if tail[4:] != _MAGIC or length > _LARGEST or end < 4:
            return False
        file.seek(end)
        footer = file.read(length)
    try:
        return any(start < stop and stop > end for start, stop in _spans(_Reader(footer).struct(0)))
    except (IndexError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _spans(footer: Fields) -> Iterator[tuple[int, int]]:
    """Where each part of the data begins and ends."""
    for group in footer.get(_ROW_GROUPS, ()):
        for chunk in group[_CHUNKS]:
            own = chunk.get(_OF_CHUNK)
            if own is not None:
                start = min(own[_DATA], own.get(_DICTIONARY) or own[_DATA])
                yield start, start + own[_COMPRESSED]
            for at, long in _INDEXES:
                if at in chunk:
                    yield chunk[at], chunk[at] + chunk.get(long, 0)


class _Reader:
    """Reads one value after the other; an IndexError or ValueError where there is none."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int) -> Fields:
        """The fields of a structure by their numbers."""
        if depth > _DEEPEST:
            raise ValueError("no footer is so deep")
        found: Fields = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            found[number] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._integer()
        if kind == _BINARY:
            length = self._length()  # which moves the place itself
            self._at += length
            return None
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth)
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in (_BYTE, _DOUBLE):
            self._at += 1 if kind == _BYTE else 8
            return None
        if kind == _MAP and self._length() == 0:
            return None
        raise ValueError("no footer has this")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count, kind = head >> 4, head & 15
        if count == 15:
            count = self._length()
        if kind in (_TRUE, _FALSE):  # of which each takes a byte
            self._at += count
            return []
        return [self._value(kind, depth) for _ in range(count)]

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _length(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7
            if shift > 63:
                raise ValueError("no number is so long")

    def _integer(self) -> int:
        found = self._length()
        return (found >> 1) ^ -(found & 1)
