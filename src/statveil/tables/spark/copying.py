"""DataFrames as Parquet files and back: what workers go on from, and what Spark makes of several tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["below_each_other", "remove_marks", "write_copy"]

_PLAIN = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}
"""Types that other programs read as well."""


def write_copy(native: Any, target: Path) -> None:
    """The table as it is: a file for each partition, in their order by name."""
    with _settings(native.sparkSession, _PLAIN):
        native.write.mode("error").option("compression", "snappy").parquet(target.absolute().as_uri())
    remove_marks(target)


def remove_marks(folder: Path) -> None:
    """Remove Spark's own marks and checksums."""
    for extra in folder.iterdir():
        if extra.name.startswith(("_", ".")):
            extra.unlink()


def below_each_other(parts: list[Any]) -> Any:
    """All rows, by a query that is not as deep as there are tables."""
    while len(parts) > 1:
        pairs = [parts[place : place + 2] for place in range(0, len(parts), 2)]
        parts = [pair[0].unionAll(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


@contextmanager
def _settings(session: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings of a session for a while."""
    before = {name: session.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)
