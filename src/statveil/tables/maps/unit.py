"""Counts 0, 1, 2, ...: keep or add whole units at random until the column has exactly the released total.

Both laws are exact at any size. A total is first shared among the blocks and then, inside a block, among its rows: a
random order of all units restricted to a block is a random order of that block's units, independent of how the blocks
take turns, and throws split the same way. So one pass prepares, and a block needs no other block.

The order in which units are taken away or added belongs to the column: a plan takes the first of them, so the smaller
of two releases lies within the larger one, and both tell no more than their totals: see ``nested.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from statveil.errors import ColumnError, unknown_name
from statveil.tables.blocks import Array, Blocks, Part, by_parts
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap, stream
from statveil.tables.maps.nested import AMONG_FEW, first_placed, first_units, nodes_of
from statveil.tables.maps.sampling import Counts

__all__ = ["Unit", "prepare", "prepare_unit"]

_AMONG_BLOCKS, _AMONG_ROWS, _ODDS = 0x10, 0x11, 0x12  # purposes of the random streams
_LARGEST = 2**53  # above it a float64 cannot tell neighbouring whole numbers apart


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Unit(ColumnMap):
    """Keeps or adds whole units at random; the total of the released column is exact."""

    whole: ClassVar[bool] = True

    rows: int
    units: Counts
    """Of each block, before."""
    target: Counts
    """Of each block, after."""
    urn: bool
    seed: int

    def block(self, values: Array, index: int) -> Array:
        finite = np.isfinite(values)
        counts = values[finite].astype(np.int64)
        if int(counts.sum()) != self.units[index]:
            raise ColumnError(
                "the column changed after the map was prepared: a block has another total than before. "
                "The rows must be the same in every pass; prepare the map again on the present table."
            )
        more = int(self.target[index] - self.units[index])
        draws = nodes_of(self.seed, _AMONG_ROWS, index)
        if more < 0:
            counts = first_units(counts, int(self.target[index]), draws)
        elif more > 0:
            odds = stream(self.seed, _ODDS, index)
            weights = odds.standard_gamma(counts + 1.0) if self.urn else np.ones(len(counts))
            counts = counts + first_placed(weights, more, draws)
        released = values.copy()
        released[finite] = counts
        return released

    def coefficients(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "units": int(self.units.sum()),
            "target": int(self.target.sum()),
            "weights": "urn" if self.urn else "equal",
        }


def prepare_unit(blocks: Blocks, *, mean: float, weights: str, seed: int) -> Unit:
    """The map that brings a column of counts to a mean, to the nearest whole total.

    Parameters
    ----------
    blocks
        The column: whole numbers from 0, already verified. Rows that are not finite do not count.
    mean
        Mean of the released column; its total is floor(rows * mean + 1/2).
    weights
        How units are added: ``"equal"`` over the rows (Poisson rows), or ``"urn"``, with odds drawn from
        Gamma(count + 1), the Polya urn of kappa = 1 (geometric rows). Nothing when units are taken away.
    seed
        128 secret bits.

    Raises
    ------
    ColumnError
        A total of 2**53 or more, or a mean that no counts can have.
    """
    if weights not in ("equal", "urn"):
        raise ColumnError(unknown_name("weights", weights, ["equal", "urn"]))
    found = [block for part in by_parts(blocks, _counted) for block in part]
    rows_of, units_of = [rows for rows, _ in found], [units for _, units in found]
    rows = sum(rows_of)
    if sum(units_of) >= _LARGEST:
        raise ColumnError(
            "the counts of the column add up to 2**53 or more, beyond what a float64 holds exactly. "
            "Unit sampling needs a smaller total; count in larger units."
        )
    if not (0 <= mean < math.inf and rows * mean < _LARGEST):
        raise ColumnError(
            "the released mean does not fit counts: it must be at least 0 and finite, and its total over the rows "
            "below 2**53. Check the prior of the plan against the unit of the column."
        )
    units = np.array(units_of).astype(np.int64)
    present, wanted = int(units.sum()), math.floor(rows * mean + 0.5)
    draws = nodes_of(seed, _AMONG_BLOCKS, 0)
    if wanted < present:
        target = first_units(units, wanted, draws, listed=AMONG_FEW)
    elif wanted > present:
        # A block's gammas add up to a gamma of the summed shape, independent of how they divide inside the block.
        odds = np.array(rows_of, dtype=np.float64)
        if weights == "urn":
            odds = stream(seed, _ODDS | 1 << 16, 0).standard_gamma(units + odds)
        target = units + first_placed(odds, wanted - present, draws, listed=AMONG_FEW, thrown=AMONG_FEW)
    else:
        target = units
    return Unit(rows=rows, units=units, target=target, urn=weights == "urn", seed=seed)


def _counted(part: Part) -> list[tuple[int, float]]:
    """Rows and units of the blocks of a part."""
    known = (values[np.isfinite(values)] for _, values in part)
    return [(len(counts), float(counts.sum())) for counts in known]


def prepare(job: Job) -> Unit:
    """Counts with the released mean."""
    family = job.plan.problem.family
    weights = "equal" if family.name == "poisson" else "urn"
    return prepare_unit(job.blocks, mean=float(family.mean(job.released)), weights=weights, seed=job.seed)
