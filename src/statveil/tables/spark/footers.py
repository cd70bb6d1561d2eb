"""What the footers of Parquet files say: where their rows lie, and whether Polars reads and writes what Spark does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import polars as pl

from statveil.errors import FileError
from statveil.tables.files.leaf_types import leaf_types

__all__ = ["Footer", "checksum", "known_to_all", "odd_columns", "read_footer"]

_END = 8  # bytes: the length of what stands before them, and the format's mark
_TYPES = {
    *(("BOOLEAN", "NONE"), ("FLOAT", "NONE"), ("DOUBLE", "NONE"), ("BYTE_ARRAY", "STRING"), ("BYTE_ARRAY", "NONE")),
    *(("INT32", kind) for kind in ("NONE", "INT", "DATE", "DECIMAL")),
    *(("INT64", kind) for kind in ("NONE", "INT", "TIMESTAMP", "DECIMAL")),
    *(("BYTE_ARRAY", "DECIMAL"), ("FIXED_LEN_BYTE_ARRAY", "DECIMAL")),
}
"""How a column may be stored, and what it then means: what Polars writes of it is for Spark what it was."""
_REPEATED = {"key_value", "map", "bag", "array"}
_READ = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Float32, pl.Float64, pl.String, pl.Boolean, pl.Date, pl.Datetime, pl.Decimal, pl.Binary),
)
_SPARK = "org.apache.spark."
_SPARK_TYPES = {
    *("byte", "short", "integer", "long", "float", "double", "boolean"),
    *("string", "binary", "date", "timestamp", "timestamp_ntz"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """A Parquet file as its footer describes it."""

    path: Path
    size: int
    """Bytes of the file."""
    mark: int
    """A checksum of the footer, which says where all values lie and how many: another file has another one."""
    rows: int
    odd: frozenset[str]
    """Columns of types that Polars does not read, or would not write as they were."""
    schema: Any
    """What PyArrow makes of it, which can be compared."""


def checksum(path: Path) -> tuple[int, int]:
    """The size of a Parquet file, and a checksum of its footer."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - _END, 0))
        length = int.from_bytes(file.read(_END)[:4], "little")
        if length + _END > size:
            raise FileError(f"cannot read {path}: it is no Parquet file, or was not written to the end.")
        file.seek(size - _END - length)
        return size, crc32(file.read(length))


def read_footer(path: Path) -> Footer:
    """The footer of a file; an ``OSError`` or one of PyArrow's own where it has none."""
    import pyarrow.parquet as pq

    size, mark = checksum(path)
    found = pq.read_metadata(path)
    return Footer(
        path=path,
        size=size,
        mark=mark,
        rows=found.num_rows,
        odd=frozenset((*_odd_leaves(found.schema), *_odd_in_spark(found.schema, found.metadata or {}))),
        schema=found.schema,
    )


def odd_columns(footers: Sequence[Footer], schema: pl.Schema) -> list[str]:
    """Columns that only Spark reads and writes as they are; ``schema`` is what Polars makes of the first file."""
    odd = {name for footer in footers for name in footer.odd}
    for name, dtype in schema.items():
        # a footer joins names by dots, so of a name that has some nobody can say what is inside
        if not all(isinstance(one, _READ) for one in leaf_types(dtype)) or (dtype.is_nested() and "." in name):
            odd.add(name)
    return sorted(odd)


def _odd_leaves(schema: Any) -> Iterator[str]:
    for place in range(len(schema)):
        leaf = schema.column(place)
        name, *inside = leaf.path.split(".")
        kind = leaf.logical_type
        fits = (leaf.physical_type, kind.type) in _TYPES
        if kind.type == "TIMESTAMP":  # Spark knows no billionths of a second
            fits &= json.loads(kind.to_json())["timeUnit"] in ("milliseconds", "microseconds")
        # maps, and lists as older programs wrote them, repeat in other ways
        if not fits or _REPEATED & {*inside} or leaf.max_repetition_level > inside.count("list"):
            yield name


def _odd_in_spark(schema: Any, notes: dict[bytes, bytes]) -> Iterator[str]:
    """Columns of which Spark noted more than the format says: intervals, types of users, an older calendar."""
    told = {key.decode("utf-8", "replace"): value for key, value in notes.items()}
    if f"{_SPARK}legacyDateTime" in told or told.get(f"{_SPARK}version", b"").startswith(b"2."):
        dated = (schema.column(place) for place in range(len(schema)))
        yield from (one.path.split(".")[0] for one in dated if one.logical_type.type in ("DATE", "TIMESTAMP"))
    try:
        fields = json.loads(told.get(f"{_SPARK}sql.parquet.row.metadata", b'{"fields": []}'))["fields"]
        yield from (str(field["name"]) for field in fields if not _known(field["type"]))
    except (ValueError, TypeError, KeyError):  # written by something else: nothing is known of any column
        yield from (schema.column(place).path.split(".")[0] for place in range(len(schema)))


def known_to_all(schema: Mapping[str, Any]) -> bool:
    """Whether workers read and write all columns of a table of Spark's as it does, by its schema in JSON."""
    return all(_known(field["type"]) for field in schema["fields"])


def _known(kind: Any) -> bool:
    if isinstance(kind, str):
        return kind in _SPARK_TYPES or kind.startswith("decimal(")
    if kind["type"] == "array":
        return _known(kind["elementType"])
    return kind["type"] == "struct" and all(_known(field["type"]) for field in kind["fields"])
