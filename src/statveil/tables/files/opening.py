"""Which format a path is, by its suffix."""

from __future__ import annotations

import os
from pathlib import Path

from statveil.errors import FileError
from statveil.tables.files.failures import cannot_read
from statveil.tables.files.parquet_folder import ParquetFolder
from statveil.tables.files.table_file import FORMATS, TableFile

__all__ = ["check_name", "format_of", "open_table"]


def _suffix(path: Path) -> str | None:
    return next((suffix for suffix in FORMATS if path.name.lower().endswith(suffix)), None)


def format_of(path: Path) -> str:
    """The suffix that says the format, one for all that say the same."""
    found = _suffix(path)
    if found is None:
        return path.suffix.lower()
    return FORMATS[found].suffixes[0] if FORMATS[found].alike else found


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
    suffix = _suffix(place)
    if suffix is None:
        raise FileError(
            f"{place} has no suffix of a known table format; known are {', '.join(FORMATS)}, and a folder of "
            "Parquet files. Rename the file to what it holds, or convert it."
        )
    if not place.is_file():
        raise FileError(
            f"cannot read {place}: it is not a regular file. The table is read twice, so save it to a file."
        )
    if not size:
        raise FileError(f"cannot read {place}: the file is empty. Check that it was written to the end.")
    return FORMATS[suffix](place)
