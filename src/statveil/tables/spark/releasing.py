"""The released columns of a Spark DataFrame, made by its executors when someone asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from statveil.tables.changes import Changes
from statveil.tables.spark.executors import KEY, Work, releaser
from statveil.tables.spark.failures import quiet
from statveil.tables.spark.layout import Layout, Seen
from statveil.tables.spark.passes import NUMBER, own_name
from statveil.tables.spark.shipping import packed

__all__ = ["KEY", "released_columns"]

_MADE = "statveil_made"


def released_columns(
    plain: Any,
    changes: Changes,
    *,
    layout: Layout,
    seen: Mapping[Any, Seen],
    places: Mapping[Any, int],
    made: Mapping[Any, pl.DataType],
    shuffle: int | None,
) -> Any:
    """The numbered DataFrame with a column of what is made, and with the keys of a shuffle.

    Only the columns that are used go through Python; all others stay where they are.
    """
    from pyspark.sql import functions
    from pyspark.sql.pandas.functions import ArrowUDFType

    types = {name: _types(dtype) for name, dtype in made.items()}
    work = Work(
        changes=changes,
        layout=layout,
        seen=seen,
        names=list(places),
        made={name: arrow for name, (_, arrow) in types.items()},
        shuffle=shuffle,
    )
    fields = [f"f{place}: {spark}" for place, (spark, _) in enumerate(types.values())]
    fields += [] if shuffle is None else [f"{KEY}: bigint"]
    with quiet():
        release = functions.arrow_udf(
            releaser(packed(work, plain.sparkSession.sparkContext)),
            f"struct<{', '.join(fields)}>",
            ArrowUDFType.SCALAR_ITER,
        )
    used = [*[own_name(place) for place in places.values()], NUMBER]
    # not deterministic, and filtered: else Spark might run it once for each column, or on a part of a block
    out = plain.withColumn(_MADE, release.asNondeterministic()(*used)).where(functions.col(_MADE).isNotNull())
    return out if shuffle is None else out.withColumn(KEY, functions.col(f"{_MADE}.{KEY}"))


def _types(dtype: pl.DataType) -> tuple[str, Any]:
    """What Spark and Arrow call a type of released rows."""
    import pyarrow as pa

    if isinstance(dtype, pl.Decimal):
        return f"decimal({dtype.precision},{dtype.scale})", pa.decimal128(dtype.precision or 38, dtype.scale)
    known: dict[Any, tuple[str, Any]] = {
        pl.Float64: ("double", pa.float64()),
        pl.Float32: ("float", pa.float32()),
        pl.Int32: ("int", pa.int32()),
        pl.Int64: ("bigint", pa.int64()),
        pl.Boolean: ("boolean", pa.bool_()),
        pl.String: ("string", pa.string()),
    }
    return known[type(dtype)]
