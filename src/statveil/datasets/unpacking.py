"""The one CSV in a zip archive, which is how Kaggle ships its files."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from statveil.errors import FileError, StatveilError
from statveil.tables.files.failures import cannot_read

__all__ = ["unpacked"]

_FAILURES = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, OSError)
_ENCRYPTED = 0x1


@contextmanager
def unpacked(path: str | os.PathLike[str]) -> Iterator[str | os.PathLike[str]]:
    """The file as it is, or the CSV of a zip archive in a temporary folder that lasts as long as the block."""
    place = Path(path)
    if place.suffix.lower() != ".zip" or not place.is_file():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="statveil-") as folder:
        try:
            with zipfile.ZipFile(place) as archive:
                member = _only_csv(archive, place)
                target = Path(folder) / Path(member.filename).name
                with archive.open(member) as packed, target.open("wb") as plain:
                    shutil.copyfileobj(packed, plain, 1 << 20)
        except _FAILURES as error:
            raise cannot_read(place, error, "a whole zip") from None
        try:
            yield target
        except StatveilError as error:
            # the user knows the archive, not the temporary file
            raise type(error)(str(error).replace(str(target), f"{target.name} in {place}")) from None


def _only_csv(archive: zipfile.ZipFile, place: Path) -> zipfile.ZipInfo:
    """The archive's CSV file; an error if there is none, if there are more, or if it has a password."""
    names = [name for name in archive.namelist() if name.lower().endswith(".csv") and not name.startswith("__MACOSX/")]
    if len(names) != 1:
        found = f"{len(names)} CSV files ({', '.join(names[:5])})" if names else "no CSV file"
        raise FileError(f"{place} holds {found} where one is needed; unpack it and give the path of the table itself.")
    member = archive.getinfo(names[0])
    if member.flag_bits & _ENCRYPTED:
        raise FileError(f"{place} is locked with a password; unpack it and give the path of the table itself.")
    return member
