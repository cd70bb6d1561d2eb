"""What a table file can do beyond every table: write itself with some columns changed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from statveil.tables.changes import Changes
from statveil.tables.hashing import hash_file
from statveil.tables.source import Progress, Rows, Source

__all__ = ["FORMATS", "TableFile", "Watch", "WatchedFile"]

FORMATS: dict[str, type[TableFile]] = {}
"""Every format by suffix; filled when the files of ``tables/files`` are loaded."""

Watch = Callable[[Rows, Mapping[str, pl.Series]], None]
"""Sees rows on their way past: the columns that are replaced as maps see them, and all others."""


class TableFile(Source):
    """A table in a file or folder, read in passes of bounded memory.

    A subclass in one new file is enough: its suffixes register it. It is made from a path.

    Attributes
    ----------
    path : Path
        The file or folder.
    """

    suffixes: ClassVar[tuple[str, ...]]
    alike: ClassVar[bool] = True
    """Whether all suffixes mean the same format, so that a table may be written under another one."""
    as_folder: ClassVar[bool] = False
    """Whether it is written as a folder, whatever it is read from."""
    path: Path

    @abstractmethod
    def __init__(self, path: Path) -> None: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        FORMATS.update(dict.fromkeys(cls.__dict__.get("suffixes", ()), cls))

    def __str__(self) -> str:
        return str(self.path)

    def find(self, column: Any) -> Any:
        return super().find(None if column is None else str(column))

    def position(self, column: str) -> int:
        """Where the column stands; an error if it is missing, or if two columns have its name."""
        return self.names.index(self.find(column))

    def work_in(self, folder: Path) -> None:
        """A private folder beside the output, for a table whose rows are worked on by several machines that see it.

        It goes with all that is in it when the run ends.
        """

    def hashed(self) -> str:
        """Hash of what was read, by which a record knows its table."""
        return self.hash_of(self.path)

    def hash_of(self, path: Path) -> str:
        """Hash of this table, or of one that was written from it."""
        return hash_file(path)

    @abstractmethod
    def write(
        self, target: Path, changes: Changes, *, shuffle: int | None = None, progress: Progress | None = None
    ) -> None:
        """Write the whole table to ``target`` with the changes, and all else as it is.

        Parameters
        ----------
        target : Path
            Where to write; the format is the input's whatever this is called. The caller removes it after an error.
        changes : Changes
            What becomes of which columns; :meth:`Changes.one` for one column alone.
        shuffle : int, optional
            The secret seed that puts all rows in another order; in a folder, those of each file.
        progress : callable, optional
            Called with the number of rows of each block.
        """


class WatchedFile(TableFile):
    """A file that shows the rows it reads while it is written, so that nobody has to read all columns once more."""

    @abstractmethod
    def write(
        self,
        target: Path,
        changes: Changes,
        *,
        shuffle: int | None = None,
        progress: Progress | None = None,
        watch: Watch | None = None,
    ) -> None:
        """The same; ``watch`` is called with what :meth:`beside` gives of the columns that are replaced."""
