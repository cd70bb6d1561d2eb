"""Who reads and writes the tables of a command: statveil itself, or Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from statveil.tables.release_file import Opened

__all__ = ["engine_option", "opener", "read_by"]

engine_option = click.option(
    "--engine",
    type=click.Choice(["spark"]),
    help="Who reads and writes the tables: spark for Parquet and CSV on a cluster; left out: statveil itself.",
)


def opener(engine: str | None) -> Opened:
    """What opens a table that is to be released."""
    if engine is None:
        from statveil.tables.files import open_table

        return open_table
    from statveil.tables.spark.spark_file import open_spark

    return open_spark


def read_by(engine: str | None, path: str) -> Any:
    """A table that is only read: its path, or what the engine makes of it."""
    if engine is None:
        return path
    from statveil.tables.spark.spark_file import read_spark

    return read_spark(path)
