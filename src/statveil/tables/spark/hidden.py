"""The hidden column of Parquet files in a span of rows, or two that are looked at as one, block above block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.changes import Labels
from statveil.tables.spark.spans import ParquetSpan
from statveil.tables.stacked import Stacked

__all__ = ["Hidden"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What is read of a span, and of rows."""

    names: tuple[str, ...]
    labels: Labels = None

    @classmethod
    def of(cls, column: str | tuple[str, ...], labels: Labels = None) -> Hidden:
        """A column by its name, or two by theirs."""
        return cls(names=(column,) if isinstance(column, str) else column, labels=labels)

    @property
    def each(self) -> int:
        """How many values a row has."""
        return len(self.names)

    def blocks(self, table: ParquetSpan) -> Iterator[Array]:
        """Those of a span, the first of which has :attr:`each` times the number of the span's first block."""
        if len(self.names) == 1:
            return table.blocks(self.names[0], labels=self.labels)
        one, two = self.names
        return Stacked(table, (one, two)).blocks(None)

    def values(self, rows: Mapping[str, Array]) -> Array:
        """Those of some rows: of two columns with two numbers each."""
        found = [rows[name] for name in self.names]
        return found[0] if len(found) == 1 else np.stack(found, axis=1)
