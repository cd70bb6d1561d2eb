"""Large CSV files, streamed by Polars in memory that does not grow with the file."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import polars as pl
from polars.exceptions import PanicException, PolarsError

from statveil.errors import FileError, TableError
from statveil.tables.files.csv_file import CsvFile
from statveil.tables.files.csv_header import Header, read_header
from statveil.tables.files.csv_records import read_records
from statveil.tables.files.failures import cannot_read
from statveil.tables.files.table_file import TableFile

__all__ = ["collect_csv", "refuse_wrong_cell"]

# a panic of the engine is not an Exception
_ENGINE_FAILURES = (PolarsError, PanicException, OSError)


def collect_csv(
    table: TableFile, *, numbers: Sequence[str], query: Callable[[pl.LazyFrame], pl.LazyFrame]
) -> tuple[pl.DataFrame, int]:
    """The answer to a query over a large CSV file, and the number of the file's rows.

    Parameters
    ----------
    table : TableFile
        The file; an error unless it is a CSV.
    numbers : sequence of str
        Columns that hold numbers. They come as floats, null where a field is empty; all others come as text.
    query : callable
        From the whole file, not yet read, to what is wanted of it. A blank line is a row of nulls in it.
    """
    header = _header(table)
    rows = _count_records(table.path, header)
    types = dict.fromkeys(header.names, pl.String()) | dict.fromkeys(numbers, pl.Float64())
    try:
        return query(_scan(table.path, header, types)).collect(engine="streaming"), rows
    except _ENGINE_FAILURES as error:
        refuse_wrong_cell(table, numbers)
        raise cannot_read(table.path, error, "a CSV") from None


def _count_records(path: Path, header: Header) -> int:
    """How many rows there are; an error that names the line if one has too few or too many fields.

    The engine fills up a row that is too short with missing values, so a damaged row would pass for one with gaps.
    """
    with _opened(path) as source:
        source.read(len(header.raw))
        chunks = read_records(
            source,
            name=str(path),
            line=header.raw.count(b"\n") + 1,
            separator=header.separator.encode(),
            columns=len(header.names),
            positions=(0,),
        )
        return sum(len(chunk) for chunk in chunks)


def _header(table: TableFile) -> Header:
    """The header of a CSV file without repeated names."""
    path = table.path
    if not isinstance(table, CsvFile):
        raise FileError(f"{path} has the columns of a file that comes as CSV; give the {', '.join(CsvFile.suffixes)}.")
    with _opened(path) as source:
        header = read_header(source, path, "\t" if ".tsv" in path.name.lower()[-7:] else None)
    twice = sorted({name for name in header.names if header.names.count(name) > 1})
    if twice:
        raise TableError(f"{path} has more than one column called {twice[0]!r}; rename or remove all but one.")
    return header


def _scan(path: Path, header: Header, types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """The file, not yet read; its name is no pattern."""
    return pl.scan_csv(path, schema=dict(types), separator=header.separator, glob=False)


def refuse_wrong_cell(table: TableFile, numbers: Sequence[str]) -> None:
    """An error that names the first cell of the columns that is neither empty nor a finite number, if there is one."""
    path, header = table.path, _header(table)
    texts = _scan(path, header, dict.fromkeys(header.names, pl.String()))
    found = pl.col(numbers).str.strip_chars().cast(pl.Float64, strict=False)
    # text casts to null; NaN is a way to write a gap
    wrong = pl.col(numbers).is_not_null() & (found.is_null() | found.is_infinite())
    try:
        first = (
            texts.select(wrong)
            .with_row_index("row of a wrong cell")
            .filter(pl.any_horizontal(numbers))
            .head(1)
            .collect(engine="streaming")
        )
    except _ENGINE_FAILURES as error:
        raise cannot_read(path, error, "a CSV") from None
    for row in first.iter_rows(named=True):
        column = next(name for name in numbers if row[name])
        raise TableError(
            f"row {row['row of a wrong cell'] + 1} of column {column!r} in {path} holds something that is not a finite "
            "number; mend it, or leave it empty if it is missing."
        )


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked; what fails in reading them is a sentence."""
    try:
        packed = path.name.lower().endswith(".gz")
        with cast(BinaryIO, gzip.open(path)) if packed else path.open("rb") as source:
            yield source
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise cannot_read(path, ValueError(), "a whole gzip") from None
    except OSError as error:
        raise cannot_read(path, error, "a CSV") from None
