"""Whole steps from a bound: scaled, with a jitter of exactly one cell, and cut back to the steps.

Scaled whole numbers lie on a lattice of their own, which tells the factor. A uniform jitter of exactly one cell fills
its gaps: place k becomes a (k + U), as if the column had never been cut to steps, but for a shape that is level within
every old cell. What is left of the old cells is small where the shape changes little from one cell to the next: many
steps above the bound, and without favourite multiples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ColumnError
from statveil.tables.blocks import Array, Blocks, Part, by_parts, changed
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap, stream
from statveil.tables.maps.lattice import on_lattice
from statveil.tables.maps.whole_steps import (
    LARGEST,
    Floors,
    among,
    beyond_bound,
    cannot_reach,
    exact_total,
    first_free,
    nothing_moves,
)

__all__ = ["Jitter", "prepare", "prepare_jitter"]

_CELL = 0x50  # purpose of the random stream


_FLOORS = Floors()


class _OfBlock(NamedTuple):
    """Rows that move, and all with a value; the places of the former after the jitter, and steps of the others."""

    rows: int
    finite: int
    weight: float
    kept: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Jitter(ColumnMap):
    """Every row but the atoms: place k becomes first + floor(factor (k - first + U)), U uniform in [0, 1)."""

    whole: ClassVar[bool] = True

    about: float
    step: float
    sign: int
    """1 where the bound is a minimum, -1 where it is a maximum."""
    first: int
    """The first place that is not an atom."""
    factor: float
    atoms: tuple[float, ...]
    seed: int

    def block(self, values: Array, index: int) -> Array:
        moving, rows = self.jittered(values, index)
        places = self.first + np.floor(_FLOORS.numbers(rows, self.factor))
        released = values.copy()
        released[moving] = on_lattice(self.sign * places, self.step, self.about)
        return released

    def jittered(self, values: Array, index: int) -> tuple[NDArray[np.bool_], Array]:
        """Which rows move, and their places after the jitter, counted from the first free one."""
        moving = np.isfinite(values) & ~among(values, self.atoms, self.step)
        places = np.floor(self.sign * (values[moving] - self.about) / self.step + 0.5) - self.first
        if len(places) and places.min() < 0:
            raise beyond_bound()
        return moving, places + stream(self.seed, _CELL, index).random(len(values))[moving]

    def places(self, values: Array, index: int) -> Array:
        """Of the rows that move alone."""
        return self.jittered(values, index)[1]

    def measured(self, part: Part) -> list[_OfBlock]:
        """The blocks of a part."""
        return [self._of_block(values, index) for index, values in part]

    def _of_block(self, values: Array, index: int) -> _OfBlock:
        moving, places = self.jittered(values, index)
        still = np.isfinite(values) & ~moving
        kept = float((self.sign * (values[still] - self.about) / self.step).sum())
        return _OfBlock(rows=len(places), finite=len(places) + int(still.sum()), weight=float(places.sum()), kept=kept)

    def coefficients(self) -> dict[str, Any]:
        return {"a": self.factor, "about": self.about, "step": self.step, "first": self.first}


def prepare_jitter(
    blocks: Blocks, *, about: float, step: float, mean: float, atoms: tuple[float, ...], seed: int
) -> Jitter:
    """The map that scales whole steps from a bound to a mean, to the nearest whole total of steps.

    Parameters
    ----------
    blocks
        The column: ``about`` plus whole steps, all on one side, already verified. Rows not finite do not count.
    about
        The declared bound: a minimum if the released mean is not below it, else a maximum.
    step
        Of the lattice.
    mean
        Mean of the released column, atoms and all; met to half a step divided by the rows.
    atoms
        Declared frequent values. Their rows stay; the others stay beyond the atoms at the bound, as 1, 2, ... if 0 is
        an atom. An atom elsewhere is refused.
    seed
        128 secret bits.

    Raises
    ------
    ColumnError
        An atom away from the bound, no row that may move, or a mean that the column cannot be given.
    """
    sign = 1 if mean >= about else -1
    first = first_free(atoms, about=about, step=step, sign=sign)
    if any(sign * (atom - about) / step > first for atom in atoms):
        # The rows around it move and it does not: the place it came from would be left empty, at factor times the atom.
        raise ColumnError(
            "an atom away from the bound would leave a gap where the factor puts it, which tells the factor. "
            "Plan with the mode 'smooth', whose shape has no gap."
        )
    draft = Jitter(about=about, step=step, sign=sign, first=first, factor=0.0, atoms=atoms, seed=seed)
    rows, finite, weight, kept = 0, 0, 0.0, 0.0
    for one in (block for part in by_parts(blocks, draft.measured) for block in part):
        rows += one.rows
        weight += one.weight
        finite += one.finite
        kept += one.kept
    if not rows:
        raise nothing_moves()
    wanted = math.floor(finite * sign * (mean - about) / step - kept - rows * first + 0.5)
    if not 0 <= wanted < LARGEST:
        raise cannot_reach()

    places = changed(blocks, draft.places)
    factor = exact_total(places, _FLOORS, wanted=wanted, rows=rows, weight=weight) if wanted else 0.0
    return replace(draft, factor=factor)


def prepare(job: Job) -> Jitter:
    """Steps above the declared bound, with the released mean."""
    known, mean = job.plan.problem.known, job.ends[1] / (job.plan.problem.secret.times_mean or 1.0)
    assert known.step is not None
    return prepare_jitter(job.blocks, about=job.bound, step=known.step, mean=mean, atoms=known.atoms, seed=job.seed)
