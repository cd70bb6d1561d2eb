"""CSV files, plain or compressed by gzip."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, ClassVar, cast

import numpy as np
import polars as pl

from statveil.errors import ColumnError
from statveil.tables.blocks import Array
from statveil.tables.files.csv_header import not_utf8, read_header
from statveil.tables.files.csv_numbers import (
    Form,
    contents,
    in_quotes,
    missing_marks,
    needs_quotes,
    numbers,
    numbers_as_text,
    refuse_beyond_exact,
)
from statveil.tables.files.csv_records import Records, in_blocks, read_tables
from statveil.tables.files.failures import cannot_read, cannot_write
from statveil.tables.files.table_file import TableFile
from statveil.tables.files.unpacking import unpacked
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.rounding_digits import rounded
from statveil.tables.series import ColumnType, codes_of
from statveil.tables.shuffling import Keys, keys_of, shuffled_frames
from statveil.tables.source import Progress

__all__ = ["CsvFile"]

_GUESS_BYTES = 1 << 18


class CsvFile(TableFile):
    """A CSV or TSV file. All bytes but those of the column's own fields are written back as they were read."""

    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
    alike: ClassVar[bool] = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = None
        self.notes = []
        name = path.name.lower()
        self._packed = name.endswith(".gz")
        with self._opened() as source:
            self._header = read_header(source, path, "\t" if ".tsv" in name[-7:] else None)
        self.names = self._header.names
        self._forms: dict[str, Form] = {}
        self._quoted: dict[str, bool] = {}

    # --- what the columns hold ------------------------------------------------------------------
    def type_of(self, column: str) -> ColumnType:
        form = self._form(column)
        scale = 0 if form.kind == "integer" else form.decimals if form.kind == "float" else None
        return ColumnType(
            kind=form.kind,
            name="true/false" if form.kind == "boolean" else form.kind,
            scale=scale,
            first_text=form.first_text,
        )

    def _form(self, column: str) -> Form:
        """How the column is written, from one pass over it."""
        position = self.position(column)
        if column not in self._forms:
            form, rows = Form(), 0
            for records in self._records(position):
                rows += len(records)
                form.see(contents(records.fields()))
                if form.settled:
                    break
            else:
                self.rows = rows
            self._forms[column] = form
        return self._forms[column]

    def quoted(self, column: str) -> bool:
        """Whether every value of the column stands in quotes, one that does not need them too."""
        if column not in self._quoted:
            needless = False
            for field in (field for records in self._records(self.position(column)) for field in records.fields()):
                if field[:1] == b'"':
                    needless = needless or not needs_quotes(contents([field])[0], self._header.separator)
                elif not missing_marks(contents([field]))[0]:
                    needless = False
                    break
            self._quoted[column] = needless
        return self._quoted[column]

    def column(self, name: str) -> pl.Series:
        parts = [contents(records.fields()) for records in self._records(self.position(name))]
        return pl.concat(parts).alias(name) if parts else pl.Series(name, [], dtype=pl.String)

    def numeric_columns(self) -> list[str]:
        with self._opened() as source:
            source.read(len(self._header.raw))
            text = source.read(_GUESS_BYTES).decode("utf-8", errors="replace")
        whole = text[: text.rfind("\n") + 1] or text
        try:
            rows = list(csv.reader(io.StringIO(whole, newline=""), delimiter=self._header.separator))
        except csv.Error:  # only a guess
            return []
        columns = zip(*(row for row in rows if len(row) == len(self.names)), strict=True)
        found = []
        for name, column in zip(self.names, columns, strict=False):  # no columns where there are no rows
            form = Form()
            form.see(pl.Series(column, dtype=pl.String))
            if form.numeric and form.values:
                found.append(name)
        return found

    # --- reading --------------------------------------------------------------------------------
    def blocks(
        self, column: str, *, labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Iterator[Array]:
        return self._blocks(column, self.position(column), labels, progress)

    def _blocks(
        self, column: str, position: int, labels: Sequence[str] | None, progress: Progress | None
    ) -> Iterator[Array]:
        done = 0
        for pieces in in_blocks(self._records(position)):
            fields = [field for piece in pieces for field in piece.fields()]
            if fields:
                yield self._values(contents(fields), column, done, labels)
                done += len(fields)
                if progress:
                    progress(len(fields))
        self.rows = done

    def beside(
        self, column: str, *, labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Iterator[tuple[Array, Mapping[str, pl.Series]]]:
        position, done = self.position(column), 0
        places = [position, *(place for place in range(len(self.names)) if place != position)]
        names = [self.names[place] for place in places[1:]]
        often = Counter(names)
        keys = [f"{name} ({place})" if often[name] > 1 else name for place, name in enumerate(names)]
        for own, *others in self._tables(places):
            values = self._values(contents(own.fields()), column, done, labels)
            yield values, {key: contents(one.fields()) for key, one in zip(keys, others, strict=True)}
            done += len(values)
            if progress:
                progress(len(values))
        self.rows = done

    def _values(self, text: pl.Series, column: str, done: int, labels: Sequence[str] | None) -> Array:
        """The rows as a map sees them."""
        if labels is not None:
            # a mark of a missing value is a category where the plan says so
            missing = missing_marks(text) & ~text.is_in(list(labels))
            return codes_of(pl.select(pl.when(~missing).then(text)).to_series().alias(column), labels)
        values, wrong = numbers(text)
        if wrong is not None:
            raise ColumnError(
                f"row {done + wrong + 1} of column {column!r} holds text, or more digits than a float, where a "
                "number is expected; mend it, leave it empty if it is missing, or plan for categories with --labels."
            )
        refuse_beyond_exact(text, values, column)
        return values

    def _records(self, position: int) -> Iterator[Records]:
        """All records, checked to be text."""
        return (records for (records,) in self._tables([position]))

    def _tables(self, positions: Sequence[int]) -> Iterator[list[Records]]:
        """All records, checked to be text, once for each field that is asked for."""
        with self._opened() as source:
            source.read(len(self._header.raw))
            yield from read_tables(
                _Utf8(source, self.path),
                name=str(self.path),
                line=self._header.raw.count(b"\n") + 1,
                separator=self._header.separator.encode(),
                columns=len(self.names),
                positions=positions,
            )

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """The file's content; what fails in reading it is a sentence."""
        try:
            with unpacked(self.path) if self._packed else self.path.open("rb") as source:
                yield source
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise cannot_read(self.path, ValueError(), "a whole gzip") from None
        except OSError as error:
            raise cannot_read(self.path, error, "a CSV") from None

    # --- writing --------------------------------------------------------------------------------
    def write(
        self,
        target: Path,
        column: str,
        column_map: ColumnMap,
        *,
        labels: Sequence[str] | None = None,
        round_digits: int | None = None,
        shuffle: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        position = self.position(column)
        # how the column is written matters only to a map that keeps whole numbers; others are spared the pass
        form = self._form(column) if labels is None and column_map.whole else Form()
        released = _released(self, column, position, column_map, form, labels, round_digits, progress)
        out = _joined(released) if shuffle is None else _shuffled(released, self.rows or 0, self._header.raw, shuffle)
        try:
            with target.open("wb") as file:
                out = chain([self._header.raw], out)
                if self._packed:  # neither the name nor the time of the file goes into it
                    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                        _copy(out, cast(BinaryIO, packed))
                else:
                    _copy(out, file)
        except OSError as error:
            raise cannot_write(target, error) from None


def _copy(parts: Iterator[bytes], file: BinaryIO) -> None:
    for part in parts:
        file.write(part)


def _released(
    table: CsvFile,
    column: str,
    position: int,
    column_map: ColumnMap,
    form: Form,
    labels: Sequence[str] | None,
    round_digits: int | None,
    progress: Progress | None,
) -> Iterator[list[tuple[Records, list[bytes]]]]:
    """Block by block, the records and the fresh text of their fields.

    A row's text depends on its new value alone, never on how its old one was written: quotes are those of the whole
    column, or what the new value needs. A row that kept the quotes of the value it left would tell that value.
    """
    quoted = table.quoted(column)
    done = 0
    for index, pieces in enumerate(in_blocks(table._records(position))):
        fields = [field for piece in pieces for field in piece.fields()]
        if fields:
            values = table._values(contents(fields), column, done, labels)
            released = column_map.block(values, index)
            if labels is None:
                fresh = _fresh_numbers(values, rounded(released, round_digits), form, column, whole=column_map.whole)
            else:
                fresh = _fresh_labels(values, released, labels, table._header.separator)
            for row, text in fresh:
                fields[row] = in_quotes(text) if quoted and text[:1] != b'"' else text
        start, block = 0, []
        for piece in pieces:
            block.append((piece, fields[start : start + len(piece)]))
            start += len(piece)
        yield block
        done += len(fields)
        if progress and fields:
            progress(len(fields))
    table.rows = done


def _joined(blocks: Iterator[list[tuple[Records, list[bytes]]]]) -> Iterator[bytes]:
    """The bytes of the file: whatever is not a field of the column stays as it was."""
    return (piece.with_fields(fields) for block in blocks for piece, fields in block)


def _shuffled(
    blocks: Iterator[list[tuple[Records, list[bytes]]]], rows: int, header: bytes, seed: int
) -> Iterator[bytes]:
    """The records in the order of the secret seed."""
    line_end = b"\r\n" if header.endswith(b"\r\n") else b"\n"

    def keyed() -> Iterator[tuple[pl.DataFrame, Keys]]:
        for index, block in enumerate(blocks):
            lines = [line for piece, fields in block for line in piece.lines(fields, line_end)]
            if lines:
                frame = pl.DataFrame({"record": lines}, schema={"record": pl.Binary})
                yield frame, keys_of(seed, index, len(lines))

    for frame in shuffled_frames(keyed(), rows=rows):
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


class _Utf8:
    """A binary file that must be text in UTF-8."""

    def __init__(self, source: BinaryIO, path: Path) -> None:
        self._source = source
        self._path = path
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def read(self, size: int, /) -> bytes:
        """Bytes, checked."""
        chunk = self._source.read(size)
        try:
            self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError:
            raise not_utf8(self._path) from None
        return chunk
