"""DuckDB relations."""

from __future__ import annotations

from typing import Any

import polars as pl

from statveil.tables.frames.frame import Frame
from statveil.tables.frames.kinds import is_a

__all__ = ["DuckDBRelation"]


class DuckDBRelation(Frame):
    """A relation; the released one lives in the same connection.

    The released column is joined by position, so that no coefficient stands in the relation's SQL, where a view
    made of it would show them. Each row is compared with what was read: should the relation give its rows in another
    order when it runs again, that is an error and not a mixed-up table.
    """

    def __init__(self, native: Any, column: Any) -> None:
        super().__init__(native, column)
        self._series: pl.Series | None = None

    @classmethod
    def takes(cls, native: Any) -> bool:
        return is_a(native, "duckdb", "DuckDBPyRelation")

    def names(self) -> list[Any] | None:
        return list(self.native.columns)

    def series(self) -> pl.Series:
        if self._series is None:
            self._series = self.native.project(_quoted(self.column)).pl()[self.column]
        return self._series

    def with_series(self, released: pl.Series) -> Any:
        name = _quoted(self.column)
        # DuckDB finds the frame by the name of this variable
        statveil_released = pl.DataFrame({"before": self.series(), "after": released})  # noqa: F841
        return self.native.query(
            "statveil_original",
            f"SELECT statveil_original.* REPLACE (CASE WHEN statveil_original.{name} IS NOT DISTINCT FROM r.before "
            "THEN r.after ELSE error('the rows came in another order; sort the relation first') END "
            f"AS {name}) FROM statveil_original POSITIONAL JOIN statveil_released r",
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
