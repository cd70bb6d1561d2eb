"""How far the rows really moved, for the holder alone: what is stated is about the model, not about one column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from statveil.made_plan import Plan
from statveil.tables.blocks import Array, Blocks
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.sampled_column import sampled_column
from statveil.tables.structure.reading.distinct import sorted_by_engine

__all__ = ["Change", "measure_change"]

_BEYOND = 1.1  # times the stated distortion
_FAR = 0.2  # of the column's range


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The distance between the original and the released column. Private."""

    w1: float
    rows: int
    """Rows that it was worked out from: all up to a million, a sample beyond."""
    minimum: tuple[float, float]
    maximum: tuple[float, float]
    """Before and after, of all rows."""

    log_w1: float | None = None
    """Of the logarithms, where a plan states that."""

    def to_json(self) -> dict[str, Any]:
        """For the private record."""
        ends = {"minimum": list(self.minimum), "maximum": list(self.maximum)}
        logs = {} if self.log_w1 is None else {"log_w1": self.log_w1}
        return {"w1": self.w1, **logs, "rows": self.rows, **ends}

    def warnings(self, plan: Plan) -> tuple[str, ...]:
        """What the holder should know, without a number of the column."""
        found = []
        moved, stated = (self.w1, plan.moves_rows) if self.log_w1 is None else (self.log_w1, plan.distortion)
        if plan.problem.distance != "tv" and moved > _BEYOND * stated:
            found.append(
                "The released column lies farther from the original than the stated distortion, which is about the "
                "model: the column's shape is not the model's. The private record says how far."
            )
        allowed = _FAR * (self.maximum[0] - self.minimum[0]) + 2 * plan.moves_rows
        if any(abs(after - before) > allowed for before, after in (self.minimum, self.maximum)):
            found.append(
                "The smallest or the largest value changed by much, as the model's ends are not the column's. The "
                "private record has both."
            )
        return tuple(found)


def measure_change(blocks: Blocks, column_map: ColumnMap, *, logs: bool = False) -> Change:
    """One pass over the column before and after its map; ``logs`` asks for the distance of the logarithms too."""
    before, after = sampled_column(blocks, (_finite, partial(_after, column_map)))  # the same rows of both
    one, two = (sorted_by_engine(sampled.sampler.values) for sampled in (before, after))
    return Change(
        w1=float(np.abs(one - two).mean()),
        rows=len(one),
        minimum=(before.low, after.low),
        maximum=(before.high, after.high),
        log_w1=_of_logarithms(one, two) if logs else None,
    )


def _finite(values: Array, index: int) -> Array:
    return np.where(np.isfinite(values), values, np.nan)


def _after(column_map: ColumnMap, values: Array, index: int) -> Array:
    return np.where(np.isfinite(values), column_map.block(values, index), np.nan)


def _of_logarithms(one: Array, two: Array) -> float:
    """The same of the logarithms; rows at 0 have none, and are left out with their partners."""
    both = (one > 0) & (two > 0)
    return float(np.abs(np.log(one[both]) - np.log(two[both])).mean()) if both.any() else 0.0
