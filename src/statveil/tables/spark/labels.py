"""Which rows of Parquet files are in the two groups that a secret compares: read where the rows are worked on.

Nobody holds what the labels say of every row. Workers read the column of labels once and tell what they saw, some bytes
a block; whoever needs the groups of a block later, a check or a map, reads its labels again, and they must be the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import BLOCK, GROUP, in_blocks
from statveil.tables.groups import GroupRows, LabelColumn, Masks, more_rows
from statveil.tables.spark.layout import unsteady
from statveil.tables.spark.spans import ParquetSpan, Piece, Span, span_of

__all__ = ["GroupsThere", "LabelsSeen", "labels_in_span"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsSeen:
    """What is told of the labels in a span. Private."""

    sums: list[int]
    """A checksum of each block: of what the groups are, not of what the labels are called."""
    counts: list[tuple[int, int]]
    """Rows of both groups in each block."""
    labels: list[str]
    """Some that there are."""


def labels_in_span(work: LabelColumn, span: Span) -> LabelsSeen:
    """Read the labels of a span."""
    seen: dict[str, None] = {}
    sums, counts = [], []
    for masks in _block_masks(ParquetSpan(span), work, seen):
        sums.append(_sum(masks))
        counts.append((int(np.count_nonzero(masks[0])), int(np.count_nonzero(masks[1]))))
    return LabelsSeen(sums=sums, counts=counts, labels=list(seen))


def _block_masks(table: ParquetSpan, column: LabelColumn, seen: dict[str, None]) -> Iterator[Masks]:
    """The rows of both groups in each block."""
    pieces = ((None, np.stack(masks, axis=1)) for masks in column.masks(table, seen))
    for block in in_blocks(pieces):
        both = np.concatenate([piece for _, piece in block])
        yield np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


def _sum(masks: Masks) -> int:
    return crc32(np.packbits(masks[1]).data, crc32(np.packbits(masks[0]).data))


class GroupsThere(GroupRows):
    """The rows of two groups, of which nothing is held but the stretch that was asked for last.

    Parameters
    ----------
    files : sequence of Piece
        All rows of each file.
    column : LabelColumn
        Where the labels are.
    seen : sequence of LabelsSeen
        What workers told of them, in row order.
    """

    def __init__(self, files: Sequence[Piece], column: LabelColumn, seen: Sequence[LabelsSeen]) -> None:
        self._files, self._column, self._size = list(files), column, sum(file.rows for file in files)
        self._sums = np.array([one for part in seen for one in part.sums], dtype=np.uint32)
        counts = np.array([one for part in seen for one in part.counts], dtype=np.int64).reshape(-1, 2)
        self._before: NDArray[np.int64] = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(counts, axis=0)])
        self._held: list[Masks] = []
        self._first = 0
        """The number of the first block that is held."""
        self._travelled = False

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__ | {"_held": [], "_first": 0, "_travelled": True}
        if self._travelled:  # what a worker tells holds it by chance: nobody asks that copy for anything
            state |= {"_files": [], "_sums": self._sums[:0], "_before": self._before[:1], "_size": 0}
        return state

    def rows(self, start: int, size: int) -> Masks:
        if start + size > self._size:
            raise more_rows()
        parts = [(np.zeros(0, np.bool_), np.zeros(0, np.bool_))]
        stop = start + size
        while start < stop:
            index = start // BLOCK
            inside = slice(start - index * BLOCK, min(stop - index * BLOCK, BLOCK))
            one, two = self._block(index)
            parts.append((one[inside], two[inside]))
            start = index * BLOCK + inside.stop
        if len(parts) == 2:
            return parts[1]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    @property
    def known(self) -> tuple[bool, bool]:
        one, two = self._before[-1].tolist()
        return one > 0, two > 0

    def before(self, row: int) -> tuple[int, int]:
        index = row // BLOCK
        one, two = self._before[index].tolist()
        for mask in () if row == index * BLOCK else (self.rows(index * BLOCK, row - index * BLOCK),):
            one, two = one + int(np.count_nonzero(mask[0])), two + int(np.count_nonzero(mask[1]))
        return one, two

    def most(self, rows: int) -> tuple[int, int, int]:
        one, two = self._before[-1].tolist()
        return min(one, rows), min(two, rows), min(self._size - one - two, rows)

    def _block(self, index: int) -> Masks:
        if not self._first <= index < self._first + len(self._held):
            self._read(index)
        return self._held[index - self._first]

    def _read(self, index: int) -> None:
        """Read the labels from a block on: of more blocks each time that they are asked for in their order."""
        follows = bool(self._held) and index == self._first + len(self._held)
        most = min(2 * len(self._held), GROUP) if follows else 1
        # long spans hold whole groups of blocks, so that nothing is read behind their ends
        stop = min(index + most, (index // GROUP + 1) * GROUP, len(self._sums))
        span = span_of(self._files, index * BLOCK, min(stop * BLOCK, self._size))
        held = list(_block_masks(ParquetSpan(span), self._column, {}))
        if [_sum(masks) for masks in held] != self._sums[index:stop].tolist():
            raise unsteady()
        self._held, self._first = held, index
