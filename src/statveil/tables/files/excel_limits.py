"""What a workbook may hold at most, looked at before a library that keeps all of it in memory reads it."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from statveil.errors import FileError

__all__ = ["check_workbook"]

MOST_ROWS = 1_048_576
"""Rows of a sheet, by Excel's own specification."""
LARGEST_KEPT = 1 << 22
"""Bytes, unpacked, of a part that is kept in memory as a whole (names of sheets, relations, themes)."""
LARGEST_STYLES = 1 << 22
"""Bytes, unpacked, of the styles, of which each becomes an object of a kilobyte."""
LARGEST_STRINGS = 1 << 27
"""Bytes, unpacked, of the shared strings: a million rows with 100 letters each."""
LARGEST_SHEET = 1 << 31
"""Bytes, unpacked, of a sheet, which is read piece by piece."""
LARGEST_RATIO = 400
"""Bytes of a large part per byte packed; real sheets reach about 30."""
BLANK_CELLS = 1 << 20
"""Cells of a sheet that may all be blank."""
CELLS_PER_BYTE = 4
"""Cells of a sheet, blank ones included, per byte of its text; one that is filled takes about 25 bytes."""
_SMALL = 1 << 20
_MOST = {"xl/sharedStrings.xml": LARGEST_STRINGS, "xl/styles.xml": LARGEST_STYLES}

_ROW = re.compile(rb"<(?:\w+:)?(?:row|c)\s[^>]*?\br=[\"'][A-Z]*([0-9]{7,})[\"']")


def check_workbook(path: Path) -> int:
    """An error where a part of the workbook unpacks to more than a table needs, or has rows that Excel has not.

    Returns
    -------
    int
        Over how many cells a sheet may spread: two cells in far corners take few bytes, and all between them is read.
    """
    text = 0
    with zipfile.ZipFile(path) as archive:
        for part in archive.infolist():
            name = part.filename
            sheet = name.startswith("xl/worksheets/")
            most = LARGEST_SHEET if sheet else _MOST.get(name, LARGEST_KEPT)
            if name.startswith("xl/media/"):  # pictures are not read
                continue
            if part.file_size > most:
                raise FileError(
                    f"cannot read {path}: its part {name!r} unpacks to more than {most >> 20} MiB. Save the table as "
                    "CSV or Parquet instead."
                )
            if part.file_size > max(_SMALL, LARGEST_RATIO * part.compress_size):
                raise FileError(
                    f"cannot read {path}: its part {name!r} unpacks to more than {LARGEST_RATIO} times its size, as no "
                    "table does. Save the table as CSV or Parquet instead."
                )
            if sheet and name.endswith(".xml"):
                _check_rows(archive, part, path)
                text += part.file_size
    return max(BLANK_CELLS, CELLS_PER_BYTE * text)


def _check_rows(archive: zipfile.ZipFile, part: zipfile.ZipInfo, path: Path) -> None:
    """Rows are filled up to the numbers that they claim, so a number beyond Excel's last row never ends."""
    with archive.open(part) as text:
        tail = b""
        while chunk := text.read(1 << 20):
            piece = tail + chunk
            if any(int(found[:19]) > MOST_ROWS for found in _ROW.findall(piece)):
                raise FileError(
                    f"cannot read {path}: a row has a number beyond {MOST_ROWS:,}, the last one of a sheet. Save it "
                    "anew in a spreadsheet program, or as CSV."
                )
            tail = piece[-200:]
