"""Rows in an order of the secret seed: each row has a random key, and the table is sorted by it.

A table too long for memory is divided by key into parts, and each part is sorted by itself: the order is the same to
the row. The parts lie in one file without a name, so that nothing is left behind however the process ends.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import cannot
from statveil.tables.blocks import BLOCK
from statveil.tables.maps.column_map import stream

__all__ = ["First", "Keys", "first_of", "keys_of", "shuffled_frames", "shuffled_order"]

Keys = NDArray[np.uint64]

_SHUFFLE = 0x60  # purpose of the random stream
_IN_MEMORY = 2**20
_LEADING = 16  # bits of a key by which keys are counted
_FLUSHED = 2**15  # rows of a part that are gathered before they are written


def keys_of(seed: int, index: int, rows: int) -> Keys:
    """The keys of block number ``index``; they depend on the seed and the row's number alone."""
    return stream(seed, _SHUFFLE, index).integers(0, 2**64 - 1, size=rows, dtype=np.uint64, endpoint=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """A part of a table: the first rows in the order of their keys, and so the first of any longer part too."""

    rows: int
    last: np.uint64
    """No later one has a smaller key than this."""


def first_of(seed: int, rows: int, keep: int | None) -> First | None:
    """The first ``keep`` of ``rows`` rows, found from the keys alone, which are counted by their leading bits."""
    if keep is None:
        return None
    if not 0 < keep <= rows:
        raise AssertionError("a part of a table has some of its rows")

    def blocks() -> Iterator[Keys]:
        sizes = (min(BLOCK, rows - start) for start in range(0, rows, BLOCK))
        return (keys_of(seed, index, size) for index, size in enumerate(sizes))

    counts = np.zeros(2**_LEADING, dtype=np.int64)
    shift = np.uint64(64 - _LEADING)
    for keys in blocks():
        counts += np.bincount((keys >> shift).astype(np.int64), minlength=len(counts))
    before = np.cumsum(counts)
    part = int(np.searchsorted(before, keep))  # the first range of keys with which there are enough
    left = keep - (int(before[part - 1]) if part else 0)
    inside = np.concatenate([keys[keys >> shift == part] for keys in blocks()])
    return First(rows=keep, last=np.partition(inside, left - 1)[left - 1])


def shuffled_order(seed: int, rows: int) -> NDArray[np.int64]:
    """For each row of the shuffled table, which row it was."""
    sizes = [min(BLOCK, rows - start) for start in range(0, rows, BLOCK)]
    keys = [keys_of(seed, index, size) for index, size in enumerate(sizes)]
    return np.argsort(np.concatenate(keys), kind="stable") if keys else np.zeros(0, dtype=np.int64)


def shuffled_frames(
    frames: Iterable[tuple[pl.DataFrame, Keys]], *, rows: int, first: First | None = None, in_memory: int = _IN_MEMORY
) -> Iterator[pl.DataFrame]:
    """The rows of all frames in the order of their keys, in blocks.

    Parameters
    ----------
    frames
        Frames of one schema with the key of each row.
    rows
        How many there are, about: decides into how many parts they go.
    first
        The part of them that is kept; all of them otherwise.
    in_memory
        Rows of a part.
    """
    if first is not None:
        # the others are dropped at once; of rows with one key, too many for a part, the later ones at the end
        early = ((frame.filter(keys <= first.last), keys[keys <= first.last]) for frame, keys in frames)
        yield from _cut(shuffled_frames(early, rows=first.rows, in_memory=in_memory), first.rows)
        return
    parts = max(1, -(-rows // in_memory))
    if parts == 1:
        yield from _sorted(list(frames))
        return
    # Rows and keys together tell the original order, so nobody may find this file after a kill.
    try:
        with tempfile.TemporaryFile() as file:
            held = [_Part(file) for _ in range(parts)]
            for frame, keys in frames:
                part = np.minimum(keys // np.uint64(2**64 // parts), parts - 1).astype(np.int64)
                order = np.argsort(part, kind="stable")
                stops = np.cumsum(np.bincount(part, minlength=parts))
                for number, chosen in enumerate(np.split(order, stops[:-1])):
                    if len(chosen):
                        held[number].add(frame[chosen], keys[chosen])
            for one in held:
                yield from _sorted(one.read())
    except OSError as error:
        raise cannot("write to the folder for temporary files", error, "Set TMPDIR to another folder.") from None


def _cut(frames: Iterator[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """So many rows, and no more."""
    for frame in frames:
        yield frame.head(rows)
        rows -= min(rows, len(frame))


class _Part:
    """The rows of one range of keys: the latest in memory, the others in a file that all parts share."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._waiting: list[tuple[pl.DataFrame, Keys]] = []
        self._rows = 0
        self._places: list[tuple[int, int, int]] = []
        """Where pieces begin in the file, and the bytes of their keys and of their rows."""

    def add(self, frame: pl.DataFrame, keys: Keys) -> None:
        self._waiting.append((frame, keys))
        self._rows += len(frame)
        if self._rows >= _FLUSHED:
            rows = io.BytesIO()
            pl.concat([frame for frame, _ in self._waiting]).write_ipc(rows, compression="uncompressed")
            joined = np.concatenate([keys for _, keys in self._waiting]).tobytes()
            self._places.append((self._file.seek(0, io.SEEK_END), len(joined), rows.tell()))
            self._file.write(joined)
            self._file.write(rows.getbuffer())
            self._waiting, self._rows = [], 0

    def read(self) -> list[tuple[pl.DataFrame, Keys]]:
        """All rows."""
        found = []
        for start, keys, rows in self._places:
            self._file.seek(start)
            held = np.frombuffer(self._file.read(keys), dtype=np.uint64)
            found.append((pl.read_ipc(io.BytesIO(self._file.read(rows))), held))
        return [*found, *self._waiting]


def _sorted(pieces: list[tuple[pl.DataFrame, Keys]]) -> Iterator[pl.DataFrame]:
    if not pieces:
        return
    order = np.argsort(np.concatenate([keys for _, keys in pieces]), kind="stable")
    joined = pl.concat([frame for frame, _ in pieces])
    for start in range(0, len(order), BLOCK):
        yield joined[order[start : start + BLOCK]]
