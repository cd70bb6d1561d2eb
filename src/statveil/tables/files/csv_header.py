"""The first record of a CSV file: names, separator, where the rows begin."""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass
from pathlib import Path

from statveil.errors import FileError
from statveil.tables.files.csv_records import CHUNK, LONGEST_RECORD, Source

__all__ = ["Header", "read_header"]

_BOM = b"\xef\xbb\xbf"
_SEPARATORS = ",;\t|"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header as it stands in the file.

    Parameters
    ----------
    raw : bytes
        Its bytes with the line end, and with the mark of UTF-8 if there is one.
    names : list of str
        Column names as given, also empty and repeated ones.
    separator : str
        What stands between two fields.
    """

    raw: bytes
    names: list[str]
    separator: str


def read_header(source: Source, path: Path, separator: str | None) -> Header:
    """Read the first record; without a given separator, the comma unless it does not occur."""
    raw = _first_record(source, path)
    text = raw.removeprefix(_BOM).decode("utf-8")
    if "\0" in text:
        raise _no_text(path)
    line = text.removesuffix("\n").removesuffix("\r")
    outside = re.sub(r'"(?:[^"]++|"")*+"', "", line)
    if "\r" in outside:
        raise FileError(
            f"cannot read {path}: its lines end with carriage returns alone. Save it with line ends of Unix or Windows."
        )
    if not line.strip():
        raise FileError(f"cannot read {path}: its first line is blank. The first line must name the columns.")
    found = separator or max(_SEPARATORS, key=lambda mark: (mark == "," and "," in outside, outside.count(mark)))
    try:
        names = next(csv.reader([line], delimiter=found))
    except csv.Error as error:  # a name beyond 131,072 characters, or a stray return
        raise FileError(f"cannot read {path}: its first line does not name columns ({error}). Mend it.") from None
    return Header(raw=raw, names=names, separator=found)


def _whose(path: Path) -> str:
    return "it is compressed, and the unpacked text's" if path.name.lower().endswith(".gz") else "its"


def _no_text(path: Path) -> FileError:
    what = "it is compressed, and what it unpacks to is no text" if _whose(path) != "its" else "it is not text in UTF-8"
    return FileError(f"cannot read {path}: {what}. Check that its suffix says what it is.")


def not_utf8(path: Path) -> FileError:
    """A file in another encoding, or not text at all."""
    return FileError(f"cannot read {path}: it is not text in UTF-8. Save it as UTF-8, or check what its suffix says.")


def _first_record(source: Source, path: Path) -> bytes:
    """Bytes up to the first line end that is not inside quotes."""
    buffer, seen, quotes = b"", 0, 0
    decoder = codecs.getincrementaldecoder("utf-8")()
    while True:
        chunk = source.read(CHUNK)
        buffer += chunk
        if b"\0" in chunk and b"\n" not in chunk:  # such as a compressed file of nothing but zeros
            raise _no_text(path)
        try:  # the rest of the chunk too: what is no text at all is better refused here than as a strange header
            decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError:
            raise not_utf8(path) from None
        # each byte is looked at once: after an opening quote without a closing one a header may have millions of lines
        while (end := buffer.find(b"\n", seen)) >= 0:
            quotes += buffer.count(b'"', seen, end)
            seen = end + 1
            if quotes % 2 == 0:
                return buffer[:seen]
        if not chunk:
            if buffer.count(b'"') % 2:
                raise FileError(f"cannot read {path}: its header has an opening quote without a closing one.")
            return buffer
        if len(buffer) > LONGEST_RECORD:
            raise FileError(
                f"cannot read {path}: {_whose(path)} first line is longer than {LONGEST_RECORD >> 20} MiB. Check that "
                "its suffix says what it is."
            )
