"""x' = target + factor (x - pivot): the maps shift, scale and affine of the continuous families."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from statveil.planning import Plan
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.location_scale import LocationScale
from statveil.tables.blocks import Array
from statveil.tables.maps.blur import Blur
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap

__all__ = ["Affine", "Quiet", "largest_factor", "largest_secret", "prepare"]

_MOVED, _STRETCHED = 49, 36  # significant bits that are released of 53


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
        split = values * (2.0 ** (53 - self.bits) + 1.0)
        short = split - values
        np.subtract(split, short, out=short)  # in place from here on: fresh memory costs more than the arithmetic
        if self.grain:
            short *= 1 / self.grain  # a power of two
            short += 0.5
            np.floor(short, out=short)
            short *= self.grain
        return short


@dataclass(frozen=True, slots=True, kw_only=True)
class Affine(ColumnMap):
    """The map with its private coefficients; ``blur`` where the values are blurred first."""

    pivot: float
    factor: float
    target: float
    quiet: Quiet
    blur: Blur | None = None

    def block(self, values: Array, index: int) -> Array:
        start = values if self.blur is None else self.blur(values)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = start - self.pivot
            moved *= self.factor
            moved = self.quiet(moved)
            moved += self.target
        finite = np.isfinite(values)
        return moved if finite.all() else np.where(finite, moved, values)

    def coefficients(self) -> dict[str, Any]:
        return {
            "a": self.factor,
            "b": self.target - self.factor * self.pivot,
            "pivot": self.pivot,
            "target": self.target,
            "bits": self.quiet.bits,
            "grain": self.quiet.grain,
            "blurred": self.blur is not None,
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
        blur=job.blur() if about is None else job.blur(about),
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
