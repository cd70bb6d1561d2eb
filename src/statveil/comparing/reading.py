"""One column of a file or a frame as sorted numbers: nothing that is compared depends on the order of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from statveil.errors import ColumnError
from statveil.tables.blocks import Array
from statveil.tables.source import open_source

__all__ = ["FEWEST", "MOST", "Column", "read_column"]

FEWEST, MOST = 10, 500_000
"""Rows of a column that is compared: fewer show nothing, of more a random part is taken."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Column:
    """The finite values of a column, sorted."""

    name: str
    values: Array
    untouched: int
    """Rows without a finite value."""
    sampled_from: int | None
    """Number of finite values of a column that is too long, of which a random part was taken."""


def read_column(table: Any, column: Any, rng: Generator) -> Column:
    """Read a file or anything that :func:`statveil.release` takes, in passes of bounded memory."""
    source = open_source(table)
    name = source.find(column)
    source.check_numbers(name, why=", but noise and bins need numbers")
    return _kept(source.label(name), lambda: source.blocks(name), rng)


def _kept(name: str, blocks: Callable[[], Iterator[Array]], rng: Generator) -> Column:
    rows = finite = 0
    parts: list[Array] = []
    for block in blocks():
        values = block[np.isfinite(block)]
        rows, finite = rows + len(block), finite + len(values)
        if finite <= MOST:
            parts.append(values)
    if finite > MOST:  # a second pass, as the share to keep is known only now
        parts = []
        for block in blocks():
            values = block[np.isfinite(block)]
            parts.append(values[rng.random(len(values)) < MOST / finite])
    values = np.sort(np.concatenate(parts)) if parts else np.zeros(0)
    if len(values) < FEWEST:
        raise ColumnError(f"column {name!r} has {len(values)} finite values; a comparison needs {FEWEST} or more.")
    if values[0] == values[-1]:
        raise ColumnError(f"column {name!r} is constant, so there is no distribution to compare; name another column.")
    with np.errstate(over="ignore"):
        if not np.isfinite(np.dot(values, values)):
            raise ColumnError(f"the values of column {name!r} are too large for their squares; use a larger unit.")
    values.flags.writeable = False
    return Column(name=name, values=values, untouched=rows - finite, sampled_from=finite if finite > MOST else None)
