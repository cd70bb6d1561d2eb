"""Spark DataFrames of any size."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK
from statveil.tables.changes import Changes, Labels
from statveil.tables.frames.frame import Frame, InMemory, is_a
from statveil.tables.released import read_rows, released_schema
from statveil.tables.series import ColumnType, column_type
from statveil.tables.source import Progress, Rows

if TYPE_CHECKING:  # what comes with Spark is loaded with the first of its tables
    from statveil.tables.looking import Look
    from statveil.tables.spark.layout import Seen
    from statveil.tables.structure.others.telling import Copies

__all__ = ["SparkFrame"]

_PARTS = "the partitions"


class SparkFrame(Frame):
    """A DataFrame of a classic Spark session; the released one is lazy, and its rows are made by the executors.

    Rows are numbered in the order of the partitions, as ``collect()`` gives them, so that a seed means the same rows as
    on one machine. A pass keeps how many rows each partition has and a checksum of each piece; rows that are not those
    when they are released are an error, and not a mixed-up table.
    """

    what: ClassVar[str] = "a Spark DataFrame"
    only_whole: ClassVar[str] = "a Spark DataFrame runs again where it is used; write it to one Parquet file first."

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self.native = _in_partitions(native)
        self._places = {name: place for place, name in enumerate(self.names)}
        self._known: Any = None
        self._seen: dict[Any, tuple[Labels, Any]] = {}

    @contextmanager
    def at_work(self, *, from_sums: bool) -> Iterator[InMemory]:
        from statveil.tables.spark.frame_files import FrameFiles
        from statveil.tables.spark.looking import partitions_stay

        with FrameFiles.of(self) as table:
            if table is not None and not (from_sums and partitions_stay(self.native)):
                table.fill()
            yield self if table is None else table

    def count(self) -> int:
        """How many rows there are."""
        from statveil.tables.spark.passes import counted

        if self.rows is None:
            self.rows = counted(self.native)[0].total
        return self.rows

    @classmethod
    def takes(cls, native: Any) -> bool:
        return is_a(native, "pyspark.sql", "DataFrame") or is_a(native, "pyspark.sql.connect.dataframe", "DataFrame")

    def columns(self) -> list[Any] | None:
        if type(self.native).__module__.startswith("pyspark.sql.connect"):
            raise ColumnError(
                "a DataFrame of Spark Connect cannot be released, as nothing can be handed to its executors; use a "
                "classic session, or write the table to Parquet and release that."
            )
        if self.native.isStreaming:
            raise ColumnError("a streaming DataFrame has no end, so no statistic; release a table that is written.")
        return list(self.native.columns)

    def read(self, column: Any) -> pl.Series:
        return pl.concat([self._empty(column), *self.pieces(column)])

    def pieces(self, column: Any) -> Iterator[pl.Series]:
        place = self._places[column]
        return (frame.to_series().alias(str(column)) for frame, _ in self._blocks([place]))

    def with_columns(self, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> Any:
        raise AssertionError("a Spark DataFrame is released by its executors")

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        raise AssertionError("a Spark DataFrame is shuffled by Spark")

    def type_of(self, column: Any) -> ColumnType:
        kind = self.native.schema[self._places[column]].dataType
        dtype = _polars_type(kind)
        return ColumnType(kind="other", name=kind.simpleString()) if dtype is None else column_type(dtype)

    def values(self, columns: Mapping[Any, Labels]) -> Iterator[Rows]:
        return (rows for rows, _, _ in self._steady([self._places[name] for name in columns], columns))

    def beside(
        self, columns: Mapping[Any, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        from statveil.tables.spark.passes import own_name

        labels = self._labels()
        others = [place for place, name in enumerate(self.names) if name not in columns]
        several = self.native.rdd.getNumPartitions() > 1
        done = 0
        for rows, frame, sizes in self._steady(list(range(len(self.names))), columns):
            found = {labels[place]: frame[own_name(place)].alias(labels[place]) for place in others}
            if several:  # which partition a row lies in is known as well: each is written to a file of its own
                found[_PARTS] = pl.Series(_PARTS, np.repeat(sizes[0], sizes[1]))
            yield rows, found
            done += len(frame)
            if progress:
                progress(len(frame))
        self.rows = done

    def whole(self, *, progress: Progress | None = None) -> Iterator[Mapping[str, pl.Series]]:
        for _, others in self.beside({}, progress=progress):
            yield {name: one for name, one in others.items() if name != _PARTS}

    def look(self, column: Any, look: Look, copies: Copies | None, *, progress: Progress | None = None) -> bool:
        from statveil.tables.spark.looking import Looked, look_there, partitions_stay
        from statveil.tables.spark.passes import counted

        # categories, and quantiles, which need more passes, go past the driver
        if look.labels is not None or look.levels or not partitions_stay(self.native):
            return False
        if self.rows is not None and self.rows <= BLOCK:
            return False
        layout, finite = counted(self.native, self._places[column])
        self.rows = layout.total
        if layout.total <= BLOCK or not (self._known is None or self._known.same(layout)):
            return False
        labels, several = self._labels(), self.native.rdd.getNumPartitions() > 1
        table = Looked(
            native=self.native,
            layout=layout,
            finite=finite,
            place=self._places[column],
            names={labels[place]: place for place, name in enumerate(self.names) if name != column},
            parts=_PARTS if several else None,
        )
        found = look_there(table, look, copies)
        if found is None:
            look.give_up()
            return False
        self._keep(column, None, found)
        self._known = layout
        if progress:
            progress(layout.total)
        return True

    def released(self, changes: Changes, *, shuffle: int | None = None) -> Any:
        from pyspark.sql import functions

        from statveil.tables.spark.passes import counted, numbered, own_name
        from statveil.tables.spark.releasing import KEY, released_columns

        if self._known is None:
            self._known, _ = counted(self.native)
        for name, change in changes.replaced.items():
            if name not in self._seen or self._seen[name][0] != change.labels:
                for _ in self.values({name: change.labels}):
                    pass
        types = {name: dtype for name in self.names if (dtype := self._dtype(name)) is not None}
        made = {
            name: dtype
            for name, dtype in released_schema(types, changes).items()
            if name in changes.replaced or name in changes.derived
        }
        plain = numbered(self.native)
        place_of = {name: place for place, name in enumerate(made)}
        if made or shuffle is not None:
            used = list(dict.fromkeys((*changes.replaced, *changes.read)))
            plain = released_columns(
                plain,
                changes,
                layout=self._known,
                seen={name: self._seen[name][1] for name in changes.replaced},
                places={name: self._places[name] for name in used},
                made=made,
                shuffle=shuffle,
            )
        if shuffle is not None:
            plain = plain.orderBy(KEY)
        chosen, names = [], []
        for place, name in enumerate(self.names):
            if name not in changes.dropped:
                chosen.append(f"statveil_made.f{place_of[name]}" if name in made else own_name(place))
                names.append(name)
        for name in made:
            if name not in self._places:
                chosen.append(f"statveil_made.f{place_of[name]}")
                names.append(str(name))
        # a column's metadata can hold anything, the true statistic too
        return plain.select(
            *[functions.col(one).alias(own_name(place), metadata={}) for place, one in enumerate(chosen)]
        ).toDF(*names)

    def _steady(
        self, places: list[int], columns: Mapping[Any, Labels]
    ) -> Iterator[tuple[Rows, pl.DataFrame, tuple[list[int], list[int]]]]:
        """Blocks of the columns, with the rows they stand in, and of these how many lie in which partition."""
        from statveil.tables.spark.passes import SeenColumn, own_name

        gathered = {name: SeenColumn() for name in columns}
        try:
            for frame, sizes in self._blocks(places):
                rows: Rows = {}
                for name, labels in columns.items():
                    rows[name] = read_rows(frame[own_name(self._places[name])].alias(str(name)), labels)
                    gathered[name].add(rows[name], sizes[1])
                yield rows, frame, sizes
            for name, labels in columns.items():
                self._keep(name, labels, gathered[name].done())
        finally:
            for one in gathered.values():
                one.close()

    def _keep(self, column: Any, labels: Labels, found: Seen) -> None:
        """What a pass has seen of a column, which must be what an earlier one saw."""
        from statveil.tables.spark.layout import unsteady

        known = self._seen.get(column)
        if known is not None and known[0] == labels and not np.array_equal(known[1].sums, found.sums):
            raise unsteady()
        self._seen[column] = (labels, found)

    def _blocks(self, places: list[int]) -> Iterator[tuple[pl.DataFrame, tuple[list[int], list[int]]]]:
        """Blocks of rows; a pass to the end counts those of each partition."""
        from statveil.tables.spark.layout import Layout, unsteady
        from statveil.tables.spark.passes import blocks_of_rows, rows_of

        parts: dict[int, int] = {}
        for frame, held in blocks_of_rows(rows_of(self.native, places), parts):
            numbers = list(parts)[len(parts) - len(held) :]
            yield frame, (numbers, held)
        rows = np.zeros(1 + max(parts, default=-1), dtype=np.int64)
        for part, size in parts.items():
            rows[part] = size
        found = Layout(rows=rows)
        if self._known is not None and not self._known.same(found):
            raise unsteady()
        self._known, self.rows = found, found.total

    def _labels(self) -> list[str]:
        """What each column is called among the others."""
        texts = [str(name) for name in self.names]
        return [f"{text} ({place})" if texts.count(text) > 1 else text for place, text in enumerate(texts)]

    def _dtype(self, column: Any) -> pl.DataType | None:
        return _polars_type(self.native.schema[self._places[column]].dataType)

    def _empty(self, column: Any) -> pl.Series:
        """No rows, of the type that the column has."""
        return pl.Series(str(column), [], dtype=self._dtype(column) or pl.String())


def _in_partitions(native: Any) -> Any:
    """The same rows held in partitions: Spark numbers those of a table that its plan holds before it divides them."""
    held = native._jdf.queryExecution().optimizedPlan().nodeName() == "LocalRelation"
    return native.localCheckpoint() if held else native


def _polars_type(kind: Any) -> pl.DataType | None:
    """What Polars calls the type; ``None`` where columns of it are only looked at."""
    name = kind.typeName()
    if name == "decimal":
        return pl.Decimal(kind.precision, kind.scale)
    return _TYPES.get(name)


_TYPES: dict[str, pl.DataType] = {
    "double": pl.Float64(),
    "float": pl.Float32(),
    "byte": pl.Int8(),
    "short": pl.Int16(),
    "integer": pl.Int32(),
    "long": pl.Int64(),
    "boolean": pl.Boolean(),
    "string": pl.String(),
    "varchar": pl.String(),
    "char": pl.String(),
}
