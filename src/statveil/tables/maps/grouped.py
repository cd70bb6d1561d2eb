"""One line for the rows of each of two groups: factors that move their means apart, or numbers that are added."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

from statveil.problem.families.any_shape import AnyShape
from statveil.problem.of_two import OfTwo
from statveil.tables.blocks import BLOCK, Array
from statveil.tables.groups import GroupRows
from statveil.tables.maps.affine import Affine, Quiet, largest_factor, largest_secret
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap

__all__ = ["Grouped", "prepare"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grouped(ColumnMap):
    """The two maps, and the rows that each is for; all others stay as they are."""

    groups: GroupRows
    maps: tuple[Affine, Affine]

    def block(self, values: Array, index: int) -> Array:
        moved = values.copy()
        for rows, one in zip(self.groups.rows(index * BLOCK, len(values)), self.maps, strict=True):
            moved[rows] = one.block(values[rows], index)
        return moved

    def coefficients(self) -> dict[str, Any]:
        group, base = (one.coefficients() for one in self.maps)
        return {"group": group, "base": base}


def prepare(job: Job) -> Grouped:
    """Both groups moved along their orbit until the secret is the released one."""
    plan, groups, measured = job.plan, job.groups, job.measured_groups
    secret, family, mode = plan.problem.secret, plan.problem.family, plan.release_mode
    assert isinstance(secret, OfTwo)
    assert isinstance(family, AnyShape)
    assert groups is not None
    assert measured is not None
    measured = secret.weighed(measured)
    statistic, wanted = job.ends
    # the rounding error of a mean shows its size after averaging: only rounded ones may touch the rows
    if mode.stretches:
        own = _coarse(statistic, largest_secret(plan))
        factors = [float(mean) for mean in secret.moved(own, 1.0, measured.share, wanted)]
        both = family.rows_shrunk(plan.distortion)
        quiet = Quiet.of(reach=0.0, factor=largest_factor(plan, 0.0), stretched=True)
        places = [(0.0, 0.0, both * factors[0] / own), (0.0, 0.0, both * factors[1])]
    else:
        # the prior does not say where the column lies; the mean of both groups is released as it is
        reach = max(largest_secret(plan), 2.0 ** math.ceil(math.log2(abs(measured.mean))) if measured.mean else 0.0)
        overall = _coarse(measured.mean, reach)
        targets = [float(mean) for mean in secret.moved(overall, overall, measured.share, wanted)]
        quiet = Quiet.of(reach=reach, factor=1.0, stretched=False)
        pivots = (_coarse(mean, reach) for mean in measured.means)
        places = [(pivot, target, 1.0) for pivot, target in zip(pivots, targets, strict=True)]
    one, two = (
        Affine(
            pivot=pivot,
            target=target,
            factor=factor,
            quiet=quiet,
            fixed=0.0 if mode.stretches else None,
            seed=seed,
            blur=mode.blurs,
            width=mode.blur_width(plan.problem),
        )
        for (pivot, target, factor), seed in zip(places, _seeds(job.smear_seed), strict=True)
    )
    return Grouped(groups=groups, maps=(one, two))


def _seeds(seed: int | None) -> tuple[int | None, int | None]:
    """One for each group: what both have by chance must not be spread alike, as values beside it are not."""
    if seed is None:
        return None, None
    other = hashlib.sha256(b"statveil base group\0" + seed.to_bytes(16, "big")).digest()
    return seed, int.from_bytes(other[:16], "big")


def _coarse(value: float, reach: float) -> float:
    """A number rounded to 2^-40 of what it can be at most, a grain that the plan and the release alone set."""
    grain = 2.0 ** (math.ceil(math.log2(reach)) - 40)
    return round(value / grain) * grain
