"""Records of a CSV file as they stand in the file, with the places of some fields in each of them.

The bytes around these fields are never taken apart, so whatever the other columns hold is written back as it was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from statveil.errors import FileError
from statveil.tables.blocks import BLOCK

__all__ = ["Edit", "Records", "in_blocks", "read_records"]

CHUNK = 1 << 22
LONGEST_RECORD = 1 << 26
"""An opening quote without a closing one would otherwise pull the whole file into memory."""

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_Positions = NDArray[np.int64]


class Source(Protocol):
    """A binary file."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes; none at the end."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes that take the place of others, in every record."""

    starts: _Positions
    ends: _Positions
    fresh: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Records:
    """Whole records of the file.

    Parameters
    ----------
    raw : bytes
        The records with their line ends, and blank lines between them.
    starts, ends : array
        Where the fields that were asked for begin and end in ``raw``, quotes included: a row for each of them.
    stops : array
        Where each record ends, its line end included.
    """

    raw: bytes
    starts: _Positions
    ends: _Positions
    stops: _Positions

    def __len__(self) -> int:
        return len(self.stops)

    def fields(self, number: int = 0) -> list[bytes]:
        """One field of each record, quotes included, by its number among those that were asked for."""
        raw = self.raw
        return [
            raw[start:end] for start, end in zip(self.starts[number].tolist(), self.ends[number].tolist(), strict=True)
        ]

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The records with other bytes in some places, which are given from the left to the right."""
        raw, before = self.raw, 0
        out: list[bytes] = []
        for start, end, field in _by_record(edits):
            out.append(raw[before:start])
            out.append(field)
            before = end
        out.append(raw[before:])
        return b"".join(out)

    def lines(self, edits: Sequence[Edit], line_end: bytes) -> list[bytes]:
        """Each edited record by itself, without blank lines before it and with one and the same line end."""
        raw, out, before = self.raw, [], 0
        places = iter(_by_record(edits))
        for stop in self.stops.tolist():
            parts: list[bytes] = []
            for start, end, field in islice(places, len(edits)):
                # a record never begins with a line end, but for the one of a missing value in a table of one column
                parts.append(raw[before:start] if parts else raw[before:start].lstrip(b"\r\n"))
                parts.append(field)
                before = end
            tail = raw[before:stop] if parts else raw[before:stop].lstrip(b"\r\n")
            out.append(b"".join([*parts, tail.removesuffix(b"\n").removesuffix(b"\r"), line_end]))
            before = stop
        return out

    def split(self, count: int) -> tuple[Records, Records]:
        """The first ``count`` records, and the rest."""
        border = int(self.stops[count - 1])
        first = Records(self.raw[:border], self.starts[:, :count], self.ends[:, :count], self.stops[:count])
        rest = (part[..., count:] - border for part in (self.starts, self.ends, self.stops))
        return first, Records(self.raw[border:], *rest)


def _by_record(edits: Sequence[Edit]) -> Iterable[tuple[int, int, bytes]]:
    """All edits of the first record, then those of the next one, and so on."""
    if not edits:
        return ()
    if len(edits) == 1:
        return zip(edits[0].starts.tolist(), edits[0].ends.tolist(), edits[0].fresh, strict=True)
    starts = np.stack([edit.starts for edit in edits], axis=1).ravel().tolist()
    ends = np.stack([edit.ends for edit in edits], axis=1).ravel().tolist()
    fresh = chain.from_iterable(zip(*(edit.fresh for edit in edits), strict=True))
    return zip(starts, ends, fresh, strict=True)


def in_blocks(chunks: Iterable[Records]) -> Iterator[list[Records]]:
    """Records in pieces that together have ``BLOCK`` rows; the last block has the rest and may have no rows."""
    held: list[Records] = []
    size = 0
    for chunk in chunks:
        while size + len(chunk) >= BLOCK:
            first, chunk = chunk.split(BLOCK - size)
            yield [*held, first]
            held, size = [], 0
        held.append(chunk)
        size += len(chunk)
    if held:
        yield held


def read_records(
    source: Source, *, name: str, line: int, separator: bytes, columns: int, positions: Sequence[int]
) -> Iterator[Records]:
    """All records after the header, with the places of the fields that are asked for.

    Parameters
    ----------
    source : binary file
        The file, after its header.
    name : str
        Its name, for messages.
    line : int
        The number of its next line, for messages.
    separator : bytes
        What stands between two fields.
    columns : int
        How many fields the header has, and so every record.
    positions : sequence of int
        Which fields are asked for.
    """
    rest = b""
    while True:
        chunk = source.read(CHUNK)
        buffer = rest + chunk
        if not buffer:
            return
        # the last record may lack its line end; one is lent to it here and taken back below
        lent = not chunk and not buffer.endswith(b"\n")
        text = buffer + b"\n" if lent else buffer
        marks = _delimiters(text, separator)
        if not len(marks):
            if len(buffer) > LONGEST_RECORD and b'"' not in buffer:
                raise FileError(
                    f"cannot read {name}: line {line} is longer than {LONGEST_RECORD >> 20} MiB. Mend the line ends "
                    "there, or check that its suffix says what it is."
                )
            if not chunk or len(buffer) > LONGEST_RECORD:
                raise FileError(
                    f"cannot read {name}: the record at line {line} has an opening quote without a closing one. "
                    "Mend the quotes there."
                )
            rest = buffer
            continue
        records = _records(text, marks, columns, positions, name, line)
        stop = int(marks[-1]) + 1
        line += text.count(b"\n", 0, stop)
        rest = buffer[stop:]
        if lent and not rest:
            records = Records(records.raw[:-1], records.starts, records.ends, records.stops)
        yield records


def _records(text: bytes, marks: _Positions, columns: int, positions: Sequence[int], name: str, line: int) -> Records:
    """The places of some fields in each record, from the places of all separators and line ends."""
    data = np.frombuffer(text, dtype=np.uint8)
    newlines = np.flatnonzero(data[marks] == _NEWLINE)
    counts = np.diff(newlines, prepend=-1)
    if columns > 1 and (counts == 1).any():  # with one column a blank line is a row with a missing value
        stops = marks[newlines]
        sizes = np.diff(stops, prepend=-1) - 1
        blank = (sizes == 0) | ((sizes == 1) & (data[stops - 1] == _RETURN))
        newlines, counts = newlines[~blank], counts[~blank]
    wrong = np.flatnonzero(counts != columns)
    if len(wrong):
        first = int(newlines[wrong[0]] - counts[wrong[0]])
        begin = int(marks[first]) + 1 if first >= 0 else 0
        at = line + text.count(b"\n", 0, begin)
        raise FileError(
            f"line {at} of {name} has {counts[wrong[0]]} field(s), but the header has "
            f"{columns}. Mend that line; a field that holds the separator must be in quotes."
        )
    starts = np.empty((len(positions), len(newlines)), dtype=np.int64)
    ends = np.empty_like(starts)
    for number, position in enumerate(positions):
        before = newlines - columns + position
        starts[number] = np.where(before >= 0, marks[np.maximum(before, 0)] + 1, 0)
        ends[number] = marks[before + 1]
        if position == columns - 1:  # a line may end with a carriage return as well
            end = ends[number]
            ends[number] = end - ((end > starts[number]) & (data[np.maximum(end - 1, 0)] == _RETURN))
    stop = int(marks[-1]) + 1
    return Records(text[:stop], starts, ends, marks[newlines] + 1)


def _delimiters(text: bytes, separator: bytes) -> _Positions:
    """Places of the separators and line ends that are not inside quotes, up to the last whole record."""
    data = np.frombuffer(text, dtype=np.uint8)
    hits = (data == separator[0]) | (data == _NEWLINE)
    if b'"' not in text:
        return _up_to_last_newline(data, np.flatnonzero(hits))
    quotes = data == _QUOTE
    # one bit of the running count of quotes says whether a byte is inside them
    hits &= (np.cumsum(quotes, dtype=np.uint8) & 1) == 0
    marks = _up_to_last_newline(data, np.flatnonzero(hits))
    if len(marks) and _quotes_are_plain(data, np.flatnonzero(quotes[: marks[-1]]), separator[0]):
        return marks
    return _delimiters_one_by_one(text, data, separator)


def _up_to_last_newline(data: NDArray[np.uint8], marks: _Positions) -> _Positions:
    """The places that belong to whole records."""
    last = np.flatnonzero(data[marks] == _NEWLINE)[-1:]
    return marks[: last[0] + 1] if len(last) else marks[:0]


def _quotes_are_plain(data: NDArray[np.uint8], quotes: _Positions, separator: int) -> bool:
    """Whether quotes stand only where a quoted field begins, ends, or doubles one; then counting them is enough."""
    opening, closing = quotes[0::2], quotes[1::2]
    before = data[np.maximum(opening - 1, 0)]
    after = data[closing + 1]
    further = data[np.minimum(closing + 2, len(data) - 1)]
    begins = (opening == 0) | (before == separator) | (before == _NEWLINE) | (before == _QUOTE)
    closes = (after == separator) | (after == _NEWLINE) | (after == _QUOTE)
    return bool(begins.all() and (closes | ((after == _RETURN) & (further == _NEWLINE))).all())


def _delimiters_one_by_one(text: bytes, data: NDArray[np.uint8], separator: bytes) -> _Positions:
    """The same for text with stray quotes such as ``5" pipe``: a quote counts only at the beginning of a field."""
    ends: list[int] = []
    reached, field = 0, _field_pattern(separator)
    # matched from field to field, not searched: behind a quoted field that does not end here every place would be tried
    while (match := field.match(text, reached)) is not None:
        reached = match.end()
        ends.append(reached - 1)
    return _up_to_last_newline(data, np.array(ends, dtype=np.int64))


@lru_cache
def _field_pattern(separator: bytes) -> re.Pattern[bytes]:
    """A field and what ends it."""
    plain = rb"[^" + re.escape(separator) + rb"\n]*+"
    quoted = rb'"(?:[^"]++|"")*+"' + plain
    return re.compile(rb"(?:" + quoted + rb'|(?!")' + plain + rb")[" + re.escape(separator) + rb"\n]")
