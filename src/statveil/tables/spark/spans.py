"""Rows of Parquet files cut into spans of whole blocks, each read by itself, wherever files and row groups end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import polars as pl

from statveil.errors import FileError
from statveil.tables.blocks import BLOCK, GROUP
from statveil.tables.files.failures import cannot_read
from statveil.tables.files.parquet_file import ParquetFile
from statveil.tables.spark.footers import Footer, checksum

__all__ = ["ParquetSpan", "Piece", "Span", "cut_spans", "first_rows", "span_of", "whole_files"]

_LEAST_BYTES, _MOST_BYTES = 2**24, 2**27
"""Of a span: below the first a task takes longer to start than to work, beyond the second a lost one costs much."""
_EACH = 4  # spans for each core, so that none waits for long for the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Rows of one file that follow each other."""

    footer: tuple[str, int, int]
    """Where the file lies, its size, and the checksum of its footer."""
    start: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Rows of the table that one task works on: whole blocks, but for the last."""

    first: int
    """The number of its first row in the table, where a block begins."""
    pieces: tuple[Piece, ...]

    @property
    def rows(self) -> int:
        """How many."""
        return sum(piece.rows for piece in self.pieces)


class ParquetSpan(ParquetFile):
    """A span as a table: the same blocks, by number, as those of the whole table."""

    def __init__(self, span: Span) -> None:
        self._pieces = span.pieces
        for path, *known in dict.fromkeys(piece.footer for piece in span.pieces):
            try:
                same = list(checksum(Path(path))) == known
            except OSError as error:
                raise cannot_read(Path(path), error, self.what) from None
            if not same:
                raise FileError(
                    f"{path} changed while it was read, so nothing was published. Wait until nobody writes to it, or "
                    "release a copy; all machines must see the same files."
                )
        super().__init__(Path(span.pieces[0].footer[0]))
        self.first_block = span.first // BLOCK
        self.rows = span.rows

    def _scan(self) -> pl.LazyFrame:
        parts = [_scan(Path(piece.footer[0])).slice(piece.start, piece.rows) for piece in self._pieces]
        return parts[0] if len(parts) == 1 else pl.concat(parts, how="vertical")


def _scan(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def whole_files(footers: Sequence[Footer]) -> list[Piece]:
    """All rows of each file: what workers must know of a table to read any part of it."""
    return [Piece(footer=(str(one.path.absolute()), one.size, one.mark), start=0, rows=one.rows) for one in footers]


def first_rows(footers: Sequence[Footer], rows: int) -> Span:
    """The span of the first rows of the table."""
    return span_of(whole_files(footers), 0, min(rows, sum(footer.rows for footer in footers)))


def cut_spans(footers: Sequence[Footer], cores: int, *, columns: int = 1) -> list[Span]:
    """All rows as spans of the same number of blocks, several for each core; one at least.

    ``columns`` is how many there are where one of them is read alone: then spans are longer.

    Where they end depends on nothing but numbers of rows: files that were cut where row groups end would tell how
    large these were before the release.
    """
    files = whole_files(footers)
    starts, total = _starts(files), sum(footer.size for footer in footers) // columns
    wanted = min(max(total // (_EACH * max(cores, 1)), _LEAST_BYTES), _MOST_BYTES)
    blocks = max(1, round(wanted / max(total, 1) * starts[-1] / BLOCK))
    rows = BLOCK * (blocks - blocks % GROUP if blocks > GROUP else blocks)
    return [_span(files, starts, start, min(start + rows, starts[-1])) for start in range(0, max(starts[-1], 1), rows)]


def span_of(files: Sequence[Piece], start: int, stop: int) -> Span:
    """The rows from one number to another, of all rows of some files."""
    return _span(files, _starts(files), start, stop)


def _starts(files: Sequence[Piece]) -> list[int]:
    """The number of each file's first row, and how many rows there are."""
    return list(accumulate((file.rows for file in files), initial=0))


def _span(files: Sequence[Piece], starts: Sequence[int], start: int, stop: int) -> Span:
    pieces = []
    for place in range(max(bisect_right(starts, start) - 1, 0), len(files)):
        if starts[place] >= stop:
            break
        first, last = max(start, starts[place]), min(stop, starts[place + 1])
        if first < last:
            pieces.append(replace(files[place], start=first - starts[place], rows=last - first))
    return Span(first=start, pieces=tuple(pieces or [replace(files[0], start=0, rows=0)]))
