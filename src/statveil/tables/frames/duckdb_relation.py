"""DuckDB relations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.frames.frame import Frame, is_a

__all__ = ["DuckDBRelation"]


class DuckDBRelation(Frame):
    """A relation; the released one lives in the same connection.

    The released column is joined by position, so that no coefficient stands in the relation's SQL, where a view
    made of it would show them. Each row is compared with what was read: should the relation give its rows in another
    order when it runs again, that is an error and not a mixed-up table.
    """

    what: ClassVar[str] = "a DuckDB relation"
    only_whole: ClassVar[str] = "a relation runs again where it is used; fetch it first, with .pl(), .df() or .arrow()."

    @classmethod
    def takes(cls, native: Any) -> bool:
        return is_a(native, "duckdb", "DuckDBPyRelation")

    def columns(self) -> list[Any] | None:
        return list(self.native.columns)

    def read(self, column: Any) -> pl.Series:
        try:
            series: pl.Series = self.native.project(_quoted(column)).pl()[column]
        except pl.exceptions.PolarsError:
            raise ColumnError(f"column {column!r} has a type that cannot be released; cast it first.") from None
        return series

    def others(self, columns: Collection[Any]) -> Mapping[str, pl.Series]:
        names = [name for name in self.native.columns if name not in columns]
        if not names:
            return {}
        # the types that Polars does not know are looked at as text
        plain = [_quoted(name) if _known_type(self.native, name) else f"{_quoted(name)}::VARCHAR" for name in names]
        table = self.native.project(", ".join(f"{one} AS c{place}" for place, one in enumerate(plain))).pl()
        return dict(zip(names, table.get_columns(), strict=True))

    def taken(self, native: Any, order: NDArray[np.int64]) -> Any:
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        statveil_shuffled_4d0e6a21 = pl.DataFrame({"statveil_place": place})  # noqa: F841
        return native.query(
            "statveil_unshuffled",
            "SELECT statveil_unshuffled.* FROM statveil_unshuffled POSITIONAL JOIN statveil_shuffled_4d0e6a21 s "
            "ORDER BY s.statveil_place",
        )

    def with_columns(self, fresh: Mapping[Any, pl.Series], dropped: Collection[Any]) -> Any:
        columns: dict[str, pl.Series] = {}
        made, checks = {}, []
        for number, (name, released) in enumerate(fresh.items()):
            columns[f"after{number}"] = released
            made[name] = f"r.after{number}"
            if name not in self.labels:
                continue
            own = self.native.types[self.native.columns.index(name)]
            if released.dtype == self.column(name).dtype:
                made[name] = f"CAST(r.after{number} AS {own})"
            if own.id == "enum" and not set(self.labels[name] or ()) <= set(own.children[0][1]):
                raise ColumnError(f"column {name!r} is an ENUM without all of the plan's categories; cast it to text.")
            columns[f"before{number}"] = self.column(name)
            checks.append(f"statveil_original.{_quoted(name)} IS NOT DISTINCT FROM r.before{number}")
        own_row = " AND ".join(checks)
        for name, value in made.items():  # a value is given only to the row that it was made of
            made[name] = (
                f"CASE WHEN {own_row} THEN {value} "
                "ELSE error('the rows came in another order; sort the relation first') END"
            )
        replaced = [f"{made[name]} AS {_quoted(name)}" for name in made if name in self.native.columns]
        new = [f"{made[name]} AS {_quoted(name)}" for name in made if name not in self.native.columns]
        left_out = f"EXCLUDE ({', '.join(map(_quoted, dropped))}) " if dropped else ""
        # DuckDB finds the frame by the name of this variable
        statveil_released_9c1f5b7e = pl.DataFrame(columns)  # noqa: F841
        chosen = ", ".join([f"statveil_original.* {left_out}REPLACE ({', '.join(replaced)})", *new])
        return self.native.query(
            "statveil_original",
            f"SELECT {chosen} FROM statveil_original POSITIONAL JOIN statveil_released_9c1f5b7e r",
        )


def _known_type(relation: Any, name: str) -> bool:
    kind = str(relation.types[relation.columns.index(name)])
    return not any(
        word in kind for word in ("STRUCT", "MAP", "UNION", "HUGEINT", "BIT", "UUID", "ENUM", "INTERVAL", "[", "ZONE")
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
