"""x' = x + k spacing: whole steps, so that a lattice and its heaps stay where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from statveil.problem.location_scale import LocationScale
from statveil.tables.blocks import Array
from statveil.tables.maps.affine import Quiet, largest_secret, smeared
from statveil.tables.maps.blur import blurred_evenly
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap

__all__ = ["Lattice", "on_lattice", "prepare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice(ColumnMap):
    """A move by ``steps`` times ``spacing``.

    Where the column is a lattice (``step``), a value is written as its place on the lattice, so that the same place
    is the same float whatever the move was: 0.7 + 0.1 and 0.8 differ in their last bits, which would tell the move.
    """

    whole: ClassVar[bool] = True
    steps: int
    spacing: float
    step: float | None
    offset: float
    heap: float | None
    quiet: Quiet
    seed: int | None
    width: float = 0.0

    def block(self, values: Array, index: int) -> Array:
        with np.errstate(invalid="ignore"):
            moved = self._heaped(values) if self.step is None else self._placed(values, self.step, self.offset)
        return np.where(np.isfinite(values), moved, values)

    def _placed(self, values: Array, step: float, offset: float) -> Array:
        place = np.rint((values - offset) / step)
        return on_lattice(place + round(self.steps * self.spacing / step), step, offset)

    def _heaped(self, values: Array) -> Array:
        """Heaps on a continuous column: heaped rows by their place, the rest by a plain move."""
        assert self.heap is not None
        start = values
        if self.seed is not None:
            start = smeared(values, self.seed, fixed=None)
            start = blurred_evenly(start, self.seed, width=self.width) if self.width else start
        loose = self.quiet(start + self.steps * self.spacing)
        slack = np.maximum(1e-6 * self.heap, 2.0**-22 * np.abs(values))
        heaped = np.abs(values - self.heap * np.rint(values / self.heap)) <= np.minimum(slack, 0.01 * self.heap)
        return np.where(heaped, self._placed(values, self.heap, 0.0), loose)

    def coefficients(self) -> dict[str, Any]:
        return {"steps": self.steps, "spacing": self.spacing, "a": 1.0, "b": self.steps * self.spacing}


def on_lattice(place: Array, step: float, offset: float) -> Array:
    """``offset + place step``, as the float nearest to the decimal number where step and offset are decimal.

    >>> on_lattice(np.array([3.0, 8.0]), 0.1, 0.0).tolist()
    [0.3, 0.8]
    """
    for digits in range(13):
        power = 10.0**digits
        units, start = round(step * power), round(offset * power)
        if units and units / power == step and start / power == offset:
            return (start + place * units) / power
    return offset + place * step


def prepare(job: Job) -> Lattice:
    """One number of steps for all rows."""
    problem, (statistic, secret) = job.plan.problem, job.ends
    known, family = problem.known, problem.family
    assert known.spacing is not None
    assert isinstance(family, LocationScale)
    return Lattice(
        steps=round((secret - statistic) / (problem.secret.shift_rate(family) * known.spacing)),
        spacing=known.spacing,
        step=known.step,
        offset=job.offset,
        heap=min(known.heaps, default=None),
        quiet=Quiet.of(reach=largest_secret(job.plan), factor=1.0, stretched=False),
        seed=job.smear_seed,
        width=job.plan.release_mode.blur_width(problem),
    )
