"""Statistics of a column in one pass: the same to the last bit whatever the engine, its chunks and its threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK, Array, Blocks
from statveil.tables.quantile import Tally, linear_quantile

__all__ = ["Measured", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured. Private: it contains the secret."""

    rows: int
    """Rows with a finite value."""
    mean: float
    std: float
    """Population standard deviation (divided by the number of rows)."""
    minimum: float
    maximum: float
    quantile: float | None = None


def measure(
    blocks: Blocks, *, alpha: float | None = None, watch: Callable[[Array, int], None] = lambda values, start: None
) -> Measured:
    """Count, mean, standard deviation, range and, for an ``alpha``, the exact quantile of the finite values.

    ``watch`` sees every block with the number of its first row, so that checks cost no pass of their own.
    """
    counts: list[int] = []
    sums: list[float] = []
    squares: list[float] = []  # about each block's own mean
    low, high, start = math.inf, -math.inf, 0
    room: Array = np.empty(BLOCK)
    tally = None if alpha is None else Tally()
    for block in blocks():
        watch(block, start)
        start += len(block)
        values = block[mask] if not (mask := np.isfinite(block)).all() else block
        if not len(values):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(values.sum())
            offset = np.subtract(values, total / len(values), out=room[: len(values)])
            squares.append(float(np.dot(offset, offset)))
        counts.append(len(values))
        sums.append(total)
        low, high = min(low, float(values.min())), max(high, float(values.max()))
        if tally is not None:
            tally.add(values, alpha)
    rows = sum(counts)
    if rows == 0:
        raise ColumnError(
            "the column has no finite number, so it has no statistic to hide. Leave the column as it is, or drop it."
        )
    if not all(map(math.isfinite, (*sums, *squares))):
        raise ColumnError(
            "the column's values are too large for their squares to be added up; measure it in a larger unit."
        )
    mean = math.fsum(sums) / rows
    # the squares about the common mean: those within the blocks and those between them
    between = math.fsum(n * (s / n - mean) ** 2 for n, s in zip(counts, sums, strict=True))
    spread = math.sqrt((math.fsum(squares) + between) / rows) if high > low else 0.0
    quantile = None if alpha is None or tally is None else linear_quantile(blocks, alpha, rows, tally)
    return Measured(rows=rows, mean=mean, std=spread, minimum=low, maximum=high, quantile=quantile)
