"""Folders of Parquet files as one table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from statveil.errors import ColumnError, FileError
from statveil.tables.files.columnar import ColumnarFile, ColumnarParts
from statveil.tables.files.failures import cannot_write
from statveil.tables.files.parquet_file import ParquetFile
from statveil.tables.series import ColumnType

__all__ = ["ParquetFolder"]


class ParquetFolder(ColumnarParts):
    """All Parquet files below a folder, in the order of their relative paths; written to a folder of the same shape.

    Names that begin with ``_`` or ``.`` and files of other kinds are left out: files such as ``_metadata`` hold
    statistics of the original.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()
    only_whole: ClassVar[str] = (
        "a row of a folder stays in its file, and the sizes of files that were filled one after the other tell how "
        "many rows there are; write all rows into one file first."
    )

    def __init__(self, path: Path) -> None:
        self.path = path
        found, left_out = _parquet_files(path)
        if not found:
            raise FileError(
                f"the folder {path} holds no Parquet files ({', '.join(ParquetFile.suffixes)}); "
                "give a table file or a folder of Parquet files."
            )
        self.files = [ParquetFile(path / relative) for relative in found]
        self._relative = found
        self.names = self.files[0].names
        self.rows = sum(file.rows or 0 for file in self.files)
        self.notes = []
        if left_out:
            self.notes.append(
                f"{left_out} other file(s) of the folder (metadata, hidden, not Parquet) are not carried over."
            )

    def type_of(self, column: str) -> ColumnType:
        self.position(column)
        types = []
        for file in self.files:
            if column not in file.names:
                raise ColumnError(f"the file {file.path} has no column {column!r}, but the folder's first file has it.")
            types.append(file.type_of(column))
            if types[-1].kind != types[0].kind:
                raise ColumnError(
                    f"column {column!r} is of type {types[-1].name} in {file.path}, but of type {types[0].name} in the "
                    "folder's first file; cast it to one type."
                )
        # the coarsest numbers decide what the whole column can hold
        return min(types, key=lambda found: found.bits)

    def numeric_columns(self) -> list[str]:
        return self.files[0].numeric_columns()

    def _parts(self) -> Sequence[ColumnarFile]:
        return self.files

    def _targets(self, target: Path) -> Sequence[Path]:
        targets = [target / relative for relative in self._relative]
        try:
            for path in targets:
                path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(target, error) from None
        return targets


def _parquet_files(folder: Path) -> tuple[list[Path], int]:
    """Relative paths of the Parquet files in order, and how many other files there are."""
    found: list[Path] = []
    others = 0

    def refuse(error: OSError) -> None:
        raise FileError(f"cannot read the folder {error.filename}: {error.strerror}.")

    for root, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        for name in names:
            if name.lower().endswith(ParquetFile.suffixes) and not name.startswith(("_", ".")):
                found.append((Path(root) / name).relative_to(folder))
            else:
                others += 1
    return sorted(found, key=lambda path: path.parts), others
