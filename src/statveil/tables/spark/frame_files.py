"""DataFrames by way of files: Spark writes the table once, and workers measure, check and release what it wrote.

What is made for a release, the copy of the original first of all, lies in a folder that only its owner can read, and
goes when the release is done or has failed. The released files stay until the process ends, and are read by the
DataFrame that is handed back.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from statveil.errors import FileError, cannot
from statveil.tables.changes import Changes
from statveil.tables.files.parquet_file import ParquetFile
from statveil.tables.frames.frame import InMemory
from statveil.tables.handing_on import HandsOn
from statveil.tables.looking import BesideColumn, Look
from statveil.tables.looking_later import is_long
from statveil.tables.source import Progress, Source
from statveil.tables.spark.copying import below_each_other, write_copy
from statveil.tables.spark.failures import spark_works
from statveil.tables.spark.footers import known_to_all, odd_columns, read_footer
from statveil.tables.spark.private_folder import private_folder
from statveil.tables.spark.spans import ParquetSpan, first_rows
from statveil.tables.spark.spark_parquet import SparkParquet, remove_folder
from statveil.tables.structure.others.telling import Copies

if TYPE_CHECKING:  # which opens such tables
    from statveil.tables.frames.spark_frame import SparkFrame

__all__ = ["FOLDER", "FrameFiles"]

FOLDER = "spark.statveil.folder"
"""The setting that names a folder which all machines see."""
_RELEASED = "released"


class FrameFiles(HandsOn, InMemory):
    """A DataFrame whose rows are read where they lie, and from files of it as soon as that does not do.

    Parameters
    ----------
    frame : SparkFrame
        The table itself.
    where : Path
        In which folder the files lie, in one of their own.
    """

    def __init__(self, frame: SparkFrame, where: Path) -> None:
        self.names, self.notes, self.only_whole = frame.names, frame.notes, frame.only_whole  # type: ignore[misc]
        self._frame, self._where = frame, where
        self._folder: Path | None = None
        self._rows: Source = frame
        self._fits = _fits(frame)

    @classmethod
    @contextmanager
    def of(cls, frame: SparkFrame) -> Iterator[FrameFiles | None]:
        """The table for the time of a release; ``None`` where there is no folder that all machines see."""
        where = _place(frame.native.sparkSession)
        if where is None:
            yield None
            return
        table, released = cls(frame, where), False
        try:
            yield table
            released = True
        finally:
            try:
                table._clear(released)
            except BaseException:  # told to end meanwhile, which is no reason to leave anything
                table._clear(released)
                raise

    def _clear(self, released: bool) -> None:
        """Remove all files, or all but those that were released."""
        if self._folder is not None:
            whole = not released or self._rows is self._frame
            for place in [self._folder] if whole else [*self._folder.iterdir()]:
                if place.name != _RELEASED:
                    remove_folder(place)

    def __str__(self) -> str:
        return str(self._frame)

    def fill(self) -> bool:
        """Have the files written; false where that is not worth it, or would not give the same table."""
        frame = self._frame
        if not self._fits:
            return False
        frame.count()
        if not is_long(frame):
            return False
        with _on_disk(self._where):
            self._folder = private_folder(self._where) / uuid4().hex
            self._folder.mkdir(mode=0o700)
            original = self._folder / "original"
            with spark_works(f"write the DataFrame to {self._where} ({FOLDER} names another folder)"):
                write_copy(frame.native, original)
            files = sorted(original.iterdir(), key=lambda file: (int(file.name.split("-")[1]), file.name))
            footers = [read_footer(file) for file in files]
        if odd_columns(footers, ParquetFile(files[0]).schema):
            self._fits = False
            remove_folder(original)
            return False
        local = ParquetSpan(first_rows(footers, sum(footer.rows for footer in footers)))
        # in which of these files a row lies is nobody's business: those that are released end elsewhere
        table = SparkParquet(local, footers, frame.native.sparkSession, _never, called="the DataFrame", apart=False)
        table.work_in(self._folder)
        self._rows = table
        return True

    def look(self, column: Any, look: Look, copies: Copies | None, *, progress: Progress | None = None) -> bool:
        if self._rows is self._frame:
            if self._frame.look(column, look, copies, progress=progress):
                return True
            if not self.fill():
                return False
        if not self._rows.look(column, look, None, progress=progress):
            return False
        if copies is not None:
            asked = BesideColumn(column=column, searches=[copies], watchers=[*copies.watchers])
            (seen,) = self._rows.look_beside({column: None}, [asked])
            for rows, others in () if seen else self._rows.beside({column: None}):
                copies.add(rows[column], {name: one.alias("") for name, one in others.items()})
        return True

    def released(self, changes: Changes, *, shuffle: int | None = None) -> Any:
        if self._folder is None or not isinstance(self._rows, SparkParquet):
            return self._frame.released(changes, shuffle=shuffle)
        target = self._folder / _RELEASED
        with _on_disk(self._where):
            self._rows.write(target, changes)
            files = sorted(target.iterdir())
        native = _read(self._frame.native, files, {str(name) for name in (*changes.replaced, *changes.derived)})
        # Spark puts the rows in another order when someone asks for them
        return native if shuffle is None else type(self._frame)(native).released(Changes(), shuffle=shuffle)


def _place(session: Any) -> Path | None:
    """The folder that all machines of a session see, if there is one."""
    named = session.conf.get(FOLDER, None)
    if named is not None:
        place = Path(named.removeprefix("file://"))
        if not place.is_dir():
            raise FileError(
                f"{FOLDER} must name a folder that all machines of the cluster see, such as /shared/work. Got "
                f"{named!r}, which is none."
            )
        return place
    return Path(tempfile.gettempdir()) if session.sparkContext.master.startswith("local") else None


def _fits(frame: SparkFrame) -> bool:
    """Whether files can have such columns, and workers read and write them as Spark does."""
    names = [name.casefold() for name in frame.native.columns]
    return all(names) and len(set(names)) == len(names) and known_to_all(frame.native.schema.jsonValue())


def _never(folder: Path, target: Path, shuffle: int) -> None:
    raise AssertionError("rows of a DataFrame are put in another order when they are asked for")


def _read(like: Any, files: Sequence[Path], own: Collection[str]) -> Any:
    """Released files as a DataFrame, with the types that a DataFrame has but for its columns of some names."""
    from pyspark.sql.types import StructField, StructType

    session, types = like.sparkSession, {field.name: field.dataType for field in like.schema.fields}
    with spark_works("read what was released"):
        # one by one: of several files Spark reads the largest first
        found = [file.absolute().as_uri() for file in files]
        fields = session.read.parquet(found[0]).schema.fields
        # metadata of a column can hold anything, the true statistic too
        schema = StructType(
            [StructField(one.name, one.dataType if one.name in own else types[one.name]) for one in fields]
        )
        reader = session.read.schema(schema).option("datetimeRebaseMode", "CORRECTED")
        return below_each_other([reader.parquet(one) for one in found])


@contextmanager
def _on_disk(where: Path) -> Iterator[None]:
    """What a disk refuses, in a sentence with what to do."""
    try:
        yield
    except OSError as error:
        raise cannot(f"work in {where}", error, f"The setting {FOLDER} names another folder.") from None
