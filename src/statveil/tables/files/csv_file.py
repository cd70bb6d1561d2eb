"""CSV files, plain or compressed by gzip."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, ClassVar, cast

import polars as pl

from statveil.errors import ColumnError
from statveil.tables.blocks import Array
from statveil.tables.changes import Changes, Labels
from statveil.tables.files.csv_header import not_utf8, read_header
from statveil.tables.files.csv_numbers import (
    Form,
    contents,
    missing_marks,
    needs_quotes,
    numbers,
    refuse_beyond_exact,
)
from statveil.tables.files.csv_records import Records, in_blocks, read_records
from statveil.tables.files.csv_ways import Ways
from statveil.tables.files.csv_writing import Writing, joined, joined_records, shuffled_records
from statveil.tables.files.failures import cannot_read, cannot_write
from statveil.tables.files.table_file import TableFile
from statveil.tables.files.unpacking import unpacked
from statveil.tables.series import ColumnType, codes_of
from statveil.tables.shuffling import first_of
from statveil.tables.source import Progress, Rows

__all__ = ["CsvFile"]

_GUESS_BYTES = 1 << 18


class CsvFile(TableFile):
    """A CSV or TSV file. Other fields are written back as they were read, but for those written in several ways."""

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
        self.separator = self._header.separator
        self._forms: dict[str, Form] = {}
        self._quoted: dict[str, bool] = {}
        self._ways: Ways | None = None

    # --- what the columns hold ------------------------------------------------------------------
    def type_of(self, column: str) -> ColumnType:
        form = self.form_of(column)
        scale = 0 if form.kind == "integer" else form.decimals if form.kind == "float" else None
        return ColumnType(
            kind=form.kind,
            name="true/false" if form.kind == "boolean" else form.kind,
            scale=scale,
            first_text=form.first_text,
            marks=True,
        )

    def types_of(self, columns: Collection[str]) -> dict[str, ColumnType]:
        self._look(columns)
        return {name: self.type_of(name) for name in columns}

    def form_of(self, column: str) -> Form:
        """How the column is written."""
        self._look([column])
        return self._forms[column]

    def _look(self, columns: Collection[str]) -> None:
        """One pass over all of the columns whose form is not known yet."""
        places = {name: self.position(name) for name in columns if name not in self._forms}
        if not places:
            return
        forms, rows = {name: Form() for name in places}, 0
        for records in self._records([*places.values()]):
            rows += len(records)
            for number, form in enumerate(forms.values()):
                if not form.settled:
                    form.see(contents(records.fields(number)))
            if all(form.settled for form in forms.values()):
                break
        else:
            self.rows = rows
        self._forms |= forms

    def quoted(self, columns: Collection[str]) -> dict[str, bool]:
        """Whether every value of a column stands in quotes, one that does not need them too."""
        places = {name: self.position(name) for name in columns if name not in self._quoted}
        needless = dict.fromkeys(places, False)
        open_still = {name: number for number, name in enumerate(places)}
        for records in self._records([*places.values()]) if places else ():
            for name, number in list(open_still.items()):
                for field in records.fields(number):
                    if field[:1] == b'"':
                        needless[name] = needless[name] or not needs_quotes(contents([field])[0], self.separator)
                    elif not missing_marks(contents([field]))[0]:
                        needless[name] = False
                        del open_still[name]
                        break
            if not open_still:
                break
        self._quoted |= needless
        return {name: self._quoted[name] for name in columns}

    def pieces(self, column: str) -> Iterator[pl.Series]:
        return (contents(records.fields()) for records in self._records([self.position(column)]))

    def column(self, name: str) -> pl.Series:
        parts = list(self.pieces(name))
        return pl.concat(parts).alias(name) if parts else pl.Series(name, [], dtype=pl.String)

    def numeric_columns(self) -> list[str]:
        with self._opened() as source:
            source.read(len(self._header.raw))
            text = source.read(_GUESS_BYTES).decode("utf-8", errors="replace")
        whole = text[: text.rfind("\n") + 1] or text
        try:
            rows = list(csv.reader(io.StringIO(whole, newline=""), delimiter=self.separator))
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
    def together(self, columns: Mapping[str, Labels], *, progress: Progress | None = None) -> Iterator[Rows]:
        return self._together(columns, [self.position(name) for name in columns], progress)

    def _together(
        self, columns: Mapping[str, Labels], places: Sequence[int], progress: Progress | None
    ) -> Iterator[Rows]:
        done = 0
        for pieces in in_blocks(self._records(places)):
            size = sum(map(len, pieces))
            if size:
                yield {
                    name: self.values(contents(joined(pieces, number)), name, done, labels)
                    for number, (name, labels) in enumerate(columns.items())
                }
                done += size
                if progress:
                    progress(size)
        self.rows = done

    def beside(
        self, columns: Mapping[str, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        own, done = [self.position(name) for name in columns], 0
        others = [place for place in range(len(self.names)) if place not in own]
        names = [self.names[place] for place in others]
        often = Counter(names)
        keys = [f"{name} ({place})" if often[name] > 1 else name for place, name in enumerate(names)]
        ways = Ways(self.separator)
        for records in self._records([*own, *others]):
            ways.see(records, {place: records.fields(number) for number, place in enumerate(others, len(own))})
            rows = {
                name: self.values(contents(records.fields(number)), name, done, labels)
                for number, (name, labels) in enumerate(columns.items())
            }
            yield rows, {key: contents(records.fields(number)) for number, key in enumerate(keys, len(own))}
            done += len(records)
            if progress:
                progress(len(records))
        self.rows, self._ways = done, ways

    def values(self, text: pl.Series, column: str, done: int, labels: Labels) -> Array:
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

    def _records(self, positions: Sequence[int]) -> Iterator[Records]:
        """All records, checked to be text, with the places of the fields that are asked for."""
        with self._opened() as source:
            source.read(len(self._header.raw))
            yield from read_records(
                _Utf8(source, self.path),
                name=str(self.path),
                line=self._header.raw.count(b"\n") + 1,
                separator=self.separator.encode(),
                columns=len(self.names),
                positions=positions,
            )

    def _written_in(self) -> Ways:
        """How the cells are written, of columns that were looked at beside the hidden ones, or else of all."""
        if self._ways is None:
            places = range(len(self.names))
            ways = Ways(self.separator)
            for records in self._records([*places]):
                ways.see(records, {place: records.fields(place) for place in places})
            self._ways = ways
        return self._ways

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
        self, target: Path, changes: Changes, *, shuffle: int | None = None, progress: Progress | None = None
    ) -> None:
        writing = Writing(self, changes, self._written_in())
        blocks = writing.blocks(self._records(writing.places), progress)
        header = writing.header(self._header.raw)
        if shuffle is None:
            out = joined_records(blocks, writing.line_end(self._header.raw))
        else:
            first = first_of(shuffle, self.rows or 0, changes.keep)
            out = shuffled_records(blocks, self.rows or 0, header, shuffle, first)
        try:
            with target.open("wb") as file:
                out = chain([header], out)
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
