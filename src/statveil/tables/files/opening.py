"""Which format a path is, by its suffix."""

from __future__ import annotations

import os
from pathlib import Path

from statveil.errors import FileError
from statveil.tables.files.csv_file import CsvFile
from statveil.tables.files.excel_file import ExcelFile
from statveil.tables.files.failures import cannot_read
from statveil.tables.files.ipc_file import IpcFile
from statveil.tables.files.parquet_file import ParquetFile
from statveil.tables.files.parquet_folder import ParquetFolder
from statveil.tables.files.table_file import TableFile

__all__ = ["check_name", "open_table"]

_FORMATS: tuple[type[ParquetFile | IpcFile | CsvFile | ExcelFile], ...] = (ParquetFile, CsvFile, IpcFile, ExcelFile)


def check_name(path: Path) -> None:
    """Refuse a name that is no text: the engine could not open it."""
    try:
        os.fspath(path).encode("utf-8")
    except UnicodeEncodeError:
        raise FileError("the name of a table file must be UTF-8 text; rename the file.") from None


def open_table(path: str | os.PathLike[str]) -> TableFile:
    """The table in a file or in a folder of Parquet files; the suffix says the format."""
    place = Path(path)
    if not os.fspath(path):
        raise FileError("the name of the table file is empty; give a file or a folder of Parquet files.")
    check_name(place)
    try:
        size = place.stat().st_size
    except (OSError, ValueError) as error:  # a name may not hold a zero byte
        raise cannot_read(place, error, "a table") from None
    if place.is_dir():
        return ParquetFolder(place)
    kind = next((kind for kind in _FORMATS if place.name.lower().endswith(kind.suffixes)), None)
    if kind is None:
        known = ", ".join(suffix for kind in _FORMATS for suffix in kind.suffixes)
        raise FileError(
            f"{place} has no suffix of a known table format; known are {known}, and a folder of Parquet files. "
            "Rename the file to what it holds, or convert it."
        )
    if not place.is_file():
        raise FileError(
            f"cannot read {place}: it is not a regular file. The table is read twice, so save it to a file."
        )
    if not size:
        raise FileError(f"cannot read {place}: the file is empty. Check that it was written to the end.")
    return kind(place)
