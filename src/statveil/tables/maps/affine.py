"""x' = target + factor (x - pivot): the maps shift, scale and affine of the continuous families."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from statveil.made_plan import Plan
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.location_scale import LocationScale
from statveil.tables.blocks import Array, all_finite
from statveil.tables.maps.blur import blurred, blurred_evenly
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.maps.keyed import uniform_of

__all__ = ["Affine", "Quiet", "largest_factor", "largest_secret", "prepare", "smeared"]

_MOVED, _STRETCHED = 49, 36  # significant bits that are released of 53
_BEYOND = np.uint64(2**29 - 1)  # bits of a float that a 32-bit one does not have
_STRIPE = 2**14  # rows at once: what stays in the cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """Rounding that hides the last bits of a sum or product, which depend on how far a value was moved.

    A float has a fixed number of bits, so a value that was moved towards 0 ends in zeros, and after a scaling only
    some floats can be reached: both tell the coefficients. Rounding to ``bits`` significant bits, and to multiples
    of ``grain``, coarser than the steps of the originals, makes every candidate possible. Both numbers come from the
    plan alone.

    A column that is only moved keeps 49 bits: a fine lattice tells the move up to its tiny step. A column that is
    stretched keeps 36 (ten digits): a lattice too fine to be found would tell the factor.
    """

    bits: int
    grain: float

    @classmethod
    def of(cls, *, reach: float, factor: float, stretched: bool) -> Quiet:
        """For originals up to ``reach`` in size and factors up to ``factor``."""
        bits = _STRETCHED if stretched else _MOVED
        growth = math.ceil(math.log2(max(1.0, factor)))
        return cls(bits=bits, grain=2.0 ** (math.ceil(math.log2(reach)) + growth - bits) if reach > 0 else 0.0)

    def __call__(self, values: Array) -> Array:
        """The rounded values (Veltkamp's splitting, then the grid; both exact in IEEE arithmetic on any engine)."""
        return self.within(values.copy())

    def within(self, short: Array) -> Array:
        """The same in place, some rows at a time: fresh memory costs more than the arithmetic."""
        room = np.empty(min(_STRIPE, len(short)))
        for at in range(0, len(short), _STRIPE):
            part = short[at : at + _STRIPE]
            split = np.multiply(part, 2.0 ** (53 - self.bits) + 1.0, out=room[: len(part)])
            np.subtract(split, part, out=part)
            np.subtract(split, part, out=part)
            if self.grain:
                part *= 1 / self.grain  # a power of two
                part += 0.5
                np.floor(part, out=part)
                part *= self.grain
        return short


def smeared(values: Array, seed: int, *, fixed: float | None) -> Array:
    """Values that are 32-bit floats, each moved to a random place in its own cell; all others as they are.

    Only 2^23 such floats lie between a number and its double: few enough to try every factor until one explains a
    column of thousands. A jitter of exactly one cell, half a unit of the last bit either way, makes them continuous,
    and the traces of the cells vanish (the Fourier transform of the cell is 0 at every frequency of the lattice).
    It goes value by value: one corrected value in a column of 32-bit floats must not leave the others bare, and copies
    of one value stay copies, or the distance of two copies would tell how wide their cell is after the map. The fixed
    point of a scaling stays where it is, and nothing crosses it.
    """
    if not np.any(values.view(np.uint64) & _BEYOND == 0):
        return values  # as a rule: none ends in as many zeros as a 32-bit float
    with np.errstate(over="ignore", invalid="ignore"):
        short = values.astype(np.float32)
        exact = short == values
        if not exact.any():
            return values
        cell = np.where(exact, np.spacing(np.abs(short)), 0.0).astype(np.float64)
    moved = values + (uniform_of(values, seed) - 0.5) * cell
    if fixed is None:
        return moved
    held = np.where(values > fixed, np.maximum(moved, fixed), np.minimum(moved, fixed))
    return np.where(values == fixed, values, held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Affine(ColumnMap):
    """The map with its private coefficients; ``seed`` where values are spread first.

    They are blurred in proportion to their size (``blur``), or 32-bit floats are smeared over their cells and all
    values blurred by one ``width``.
    """

    pivot: float
    factor: float
    target: float
    quiet: Quiet
    fixed: float | None = None
    seed: int | None = None
    blur: bool = False
    width: float = 0.0

    def block(self, values: Array, index: int) -> Array:
        start = values if self.seed is None else self._spread(values, self.seed)
        with np.errstate(over="ignore", invalid="ignore"):
            # in place where the values are ours already: fresh memory costs more than the arithmetic
            if start is values:
                moved = values - self.pivot
            else:
                moved = start if self.pivot == 0 else np.subtract(start, self.pivot, out=start)
            moved *= self.factor
            moved = self.quiet.within(moved)
            moved += self.target
        return moved if all_finite(values) else np.where(np.isfinite(values), moved, values)

    def _spread(self, values: Array, seed: int) -> Array:
        if not self.blur:
            spread = smeared(values, seed, fixed=self.fixed)
            return blurred_evenly(spread, seed, width=self.width) if self.width else spread
        return blurred(values, seed, held=() if self.fixed is None else (self.fixed,))

    def coefficients(self) -> dict[str, Any]:
        return {
            "a": self.factor,
            "b": self.target - self.factor * self.pivot,
            "pivot": self.pivot,
            "target": self.target,
            "bits": self.quiet.bits,
            "grain": self.quiet.grain,
            "smeared": self.seed is not None,
            "blurred": self.seed is not None and (self.blur or self.width > 0),
        }


def prepare(job: Job) -> Affine:
    """One shift, scaling or both for all rows."""
    plan, (statistic, secret) = job.plan, job.ends
    family, mode = plan.problem.family, plan.release_mode
    assert isinstance(family, LocationScale)
    rate = plan.problem.secret.shift_rate(family)
    about = mode.fixed_point(plan.problem)
    # the rounding error of a mean shows its size after averaging: only a rounded one may touch the rows
    own = _coarse(plan, statistic)
    if not mode.stretches:
        # the same move whatever the secret is; for a spread there would be nothing to hide
        pivot, target, factor = own / rate, secret / rate, 1.0
    elif about is not None:
        pivot = target = about
        factor = (secret - rate * about) / (own - rate * about)
    elif family.shapeless:  # a spread, about the column's own centre, which stays
        pivot = target = job.centre
        factor = secret / own
    else:
        factor = float(family.scale(job.released)) / _coarse(plan, float(family.scale(job.params)))
        pivot, target = (
            (own / rate, secret / rate)
            if rate
            else (_coarse(plan, float(family.loc(job.params))), float(family.loc(job.released)))
        )
    quiet = Quiet.of(
        reach=_reach(plan, job) if about is None else abs(about),
        factor=largest_factor(plan, about) if mode.stretches else 1.0,
        stretched=mode.stretches,
    )
    return Affine(
        pivot=pivot,
        factor=factor,
        target=target,
        quiet=quiet,
        fixed=about,
        seed=job.smear_seed,
        blur=mode.blurs,
        width=mode.blur_width(plan.problem),
    )


def largest_factor(plan: Plan, about: float | None) -> float:
    """By how much the column can be stretched at most, which the plan alone says."""
    family = plan.problem.family
    if isinstance(family, AnyShape):
        return family.largest_factor(plan.distortion)
    return plan.mechanism.largest_factor(plan.problem, about)


def _reach(plan: Plan, job: Job) -> float:
    """How large originals are at most, as the prior tells."""
    most = largest_secret(plan)
    if plan.problem.family.shapeless and plan.release_mode.stretches and job.centre:
        # the prior of a spread does not say where the column lies; its centre is released as it is
        return max(most, 2.0 ** math.ceil(math.log2(abs(job.centre))))
    return most


def _coarse(plan: Plan, value: float) -> float:
    """A statistic rounded to 2^-40 of the largest that the prior allows, a grain that the plan alone sets."""
    grain = 2.0 ** (math.ceil(math.log2(largest_secret(plan))) - 40)
    return round(value / grain) * grain


# --- sizes that come from the plan alone, so that the rounding tells nothing --------------------
def largest_secret(plan: Plan) -> float:
    """How large the secret can be under the prior."""
    family = plan.problem.family
    assert isinstance(family, LocationScale)
    if family.shapeless:
        return max(max(abs(axis.low), abs(axis.high)) for axis in plan.problem.beliefs)
    axes = plan.problem.box.axes
    slopes = {
        param.name: (family.loc_form.get(param.name, 0.0), family.scale_form.get(param.name, 0.0))
        for param in family.params
    }
    return sum(
        max(abs(one), abs(two)) * max(abs(axes[name].low), abs(axes[name].high)) for name, (one, two) in slopes.items()
    )
