"""A CSV file with some fields of its records changed, left out or added; every other byte is written as it was read.

But for cells and lines that are written in several ways (:mod:`statveil.tables.files.csv_ways`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import polars as pl

from statveil.tables.blocks import Array
from statveil.tables.changes import Changes, Labels, Replacement
from statveil.tables.files.csv_numbers import (
    Form,
    contents,
    in_quotes,
    needs_quotes,
    numbers_as_text,
    typed_fields,
)
from statveil.tables.files.csv_records import Edit, Records, in_blocks, read_records
from statveil.tables.files.csv_ways import Ways, in_one_way
from statveil.tables.rounding_digits import rounded
from statveil.tables.series import ColumnType
from statveil.tables.shuffling import First, Keys, keys_of, shuffled_frames
from statveil.tables.source import Progress

__all__ = ["Writing", "joined", "joined_records", "shuffled_records"]

Block = list[tuple[Records, list[Edit]]]
_BOM = b"\xef\xbb\xbf"


class Table(Protocol):
    """What is asked of a CSV file that is written anew."""

    names: list[str]
    rows: int | None
    separator: str

    def position(self, column: str) -> int: ...
    def type_of(self, column: str) -> ColumnType: ...
    def quoted(self, columns: Sequence[str]) -> dict[str, bool]: ...
    def values(self, text: pl.Series, column: str, done: int, labels: Labels) -> Array: ...
    def form_of(self, column: str) -> Form: ...


class Writing:
    """Which fields change, and how.

    A row's text depends on its new value alone, never on how its old one was written: quotes are those of the whole
    column, or what the new value needs. A row that kept the quotes of the value it left would tell that value.
    """

    def __init__(self, table: Table, changes: Changes, ways: Ways) -> None:
        self._table, self._changes, self._ways = table, changes, ways
        known = [*changes.replaced, *(name for name in changes.derived if name in table.names)]
        self._new = [name for name in changes.derived if name not in table.names]
        self._dropped = {table.position(name) for name in changes.dropped}
        kept = [place for place in range(len(table.names)) if place not in self._dropped]
        self._first = kept[0]
        last = len(table.names) - 1
        changed = {table.position(name) for name in known}
        self._several = ways.several - self._dropped - changed
        self.places = sorted(
            changed
            | {table.position(name) for name in changes.read}
            | self._several
            | self._dropped
            | ({last} if self._new else set())
        )
        """The fields that are looked at, from the left to the right."""
        self._number = {name: self.places.index(table.position(name)) for name in (*known, *changes.read)}
        # how a column is written matters only to a map that keeps whole numbers; others are spared the pass
        whole = [name for name, one in changes.replaced.items() if one.labels is None and one.column_map.whole]
        self._forms = {name: table.form_of(name) if name in whole else Form() for name in changes.replaced}
        self._kinds = {name: table.type_of(name).kind for name in changes.read if name not in changes.replaced}
        self._quoted = table.quoted(known)

    def header(self, raw: bytes) -> bytes:
        """The first line without the names that are left out, and with new ones."""
        if not self._dropped and not self._new:
            return raw
        bom = _BOM if raw.startswith(_BOM) else b""
        separator = self._table.separator
        (line,) = read_records(
            io.BytesIO(raw.removeprefix(_BOM)),
            name="the header",
            line=1,
            separator=separator.encode(),
            columns=len(self._table.names),
            positions=self.places,
        )
        fresh: dict[str | int, list[bytes]] = {
            name: [in_quotes(name.encode()) if needs_quotes(name, separator) else name.encode()] for name in self._new
        }
        return bom + line.edited(self._edits(line, fresh, slice(0, 1)))

    def line_end(self, raw: bytes) -> bytes | None:
        """How all lines end where they do so in several ways: as the header, of which these are the bytes."""
        return None if not self._ways.several_line_ends else b"\r\n" if raw.endswith(b"\r\n") else b"\n"

    def blocks(self, records: Iterator[Records], progress: Progress | None) -> Iterator[Block]:
        """Block by block, the records and what changes in them."""
        done = 0
        for index, pieces in enumerate(in_blocks(records)):
            size = sum(map(len, pieces))
            texts = self._texts(pieces, index, done) if size else {}
            start, block = 0, []
            for piece in pieces:
                edits = self._edits(piece, texts, slice(start, start + len(piece))) if len(piece) else []
                block.append((piece, edits))
                start += len(piece)
            yield block
            done += size
            if progress and size:
                progress(size)
        self._table.rows = done

    def _texts(self, pieces: Sequence[Records], index: int, done: int) -> dict[str | int, list[bytes]]:
        """The fresh text of every changed column in one block, by name; of one that stays by its place."""
        texts: dict[str | int, list[bytes]] = {
            place: in_one_way(joined(pieces, self.places.index(place)), self._table.separator)
            for place in self._several
        }
        released: dict[str, pl.Series] = {}
        for name, change in self._changes.replaced.items():
            fields = joined(pieces, self._number[name])
            for row, text in self._released(name, change, fields, index, done):
                fields[row] = in_quotes(text) if self._quoted[name] and text[:1] != b'"' else text
            texts[name] = fields
        for name in self._changes.read:
            # as it will be read: what is worked out of a released column must agree with what is written of it
            place = self._table.position(name)
            known = texts.get(name) or texts.get(place)
            field = contents(joined(pieces, self._number[name]) if known is None else known)
            labels = name in texts and self._changes.replaced[name].labels is not None
            released[name] = typed_fields(field, "text" if labels else self._kinds.get(name, "float"))
        for name, series in self._changes.worked_out(released).items():
            texts[name] = _written(series, self._table.separator, quoted=self._quoted.get(name, False))
        return texts

    def _released(
        self, name: str, change: Replacement, fields: list[bytes], index: int, done: int
    ) -> Iterator[tuple[int, bytes]]:
        values = self._table.values(contents(fields), name, done, change.labels)
        fresh = change.column_map.block(values, index)
        if change.labels is not None:
            return _fresh_labels(values, fresh, change.labels, self._table.separator)
        whole = change.column_map.whole
        return _fresh_numbers(values, rounded(fresh, change.round_digits), self._forms[name], name, whole=whole)

    def _edits(self, piece: Records, texts: Mapping[str | int, list[bytes]], rows: slice) -> list[Edit]:
        """What changes in the records, from the left to the right."""
        names: dict[int, str | int] = {place: place for place in self._several if place in texts}
        names |= {self.places[number]: name for name, number in self._number.items() if name in texts}
        edits = []
        for number, place in enumerate(self.places):
            start, end = piece.starts[number], piece.ends[number]
            if place in self._dropped:  # with the separator before it, or behind it where nothing stands before
                ahead = place < self._first
                edits.append(Edit(start - (not ahead), end + ahead, [b""] * len(piece)))
            elif place in names:
                edits.append(Edit(start, end, texts[names[place]][rows]))
        if self._new:
            mark = self._table.separator.encode()
            columns = [texts[name][rows] for name in self._new]
            end = piece.ends[-1]
            edits.append(Edit(end, end, [b"".join(mark + text for text in row) for row in zip(*columns, strict=True)]))
        return edits


def joined(pieces: Sequence[Records], number: int) -> list[bytes]:
    """One field of all records of a block."""
    return [field for piece in pieces for field in piece.fields(number)]


def joined_records(blocks: Iterator[Block], line_end: bytes | None = None) -> Iterator[bytes]:
    """The bytes of the file: whatever is not changed stays as it was, but for line ends where one is given."""
    if line_end is None:
        return (piece.edited(edits) for block in blocks for piece, edits in block)
    return (line for block in blocks for piece, edits in block for line in piece.lines(edits, line_end))


def shuffled_records(
    blocks: Iterator[Block], rows: int, header: bytes, seed: int, first: First | None = None
) -> Iterator[bytes]:
    """The records in the order of the secret seed, or the first of them."""
    line_end = b"\r\n" if header.endswith(b"\r\n") else b"\n"

    def keyed() -> Iterator[tuple[pl.DataFrame, Keys]]:
        for index, block in enumerate(blocks):
            lines = [line for piece, edits in block if len(piece) for line in piece.lines(edits, line_end)]
            if lines:
                frame = pl.DataFrame({"record": lines}, schema={"record": pl.Binary})
                yield frame, keys_of(seed, index, len(lines))

    for frame in shuffled_frames(keyed(), rows=rows, first=first):
        yield b"".join(frame.to_series().to_list())


def _fresh_numbers(
    values: Array, released: Array, form: Form, column: str, *, whole: bool
) -> Iterator[tuple[int, bytes]]:
    """Rows and their new text: finite numbers only.

    A number that the map leaves alone keeps its text, but not where the map moves some rows and not others within
    one lattice: there ``007`` beside ``8`` would tell which rows were moved, so all are written in one form.
    """
    touched = np.isfinite(values) if whole else np.isfinite(values) & (released != values)
    rows = np.flatnonzero(touched)
    return zip(rows.tolist(), numbers_as_text(released[rows], form, column, whole=whole), strict=True)


def _fresh_labels(before: Array, after: Array, labels: Sequence[str], separator: str) -> Iterator[tuple[int, bytes]]:
    """Every row with a category and its text: all rows of a label are written alike, changed or not."""
    texts = [in_quotes(label.encode()) if needs_quotes(label, separator) else label.encode() for label in labels]
    rows = np.flatnonzero(np.isfinite(before))
    return ((row, texts[int(after[row])]) for row in rows.tolist())


def _written(series: pl.Series, separator: str, *, quoted: bool) -> list[bytes]:
    """Derived values as fields; nothing where one is missing."""
    texts: list[str | None] = series.cast(pl.String).to_list()
    plain = series.dtype != pl.String
    return [
        b""
        if text is None
        else in_quotes(text.encode())
        if quoted or not (plain or not needs_quotes(text, separator))
        else text.encode()
        for text in texts
    ]
