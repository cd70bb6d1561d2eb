"""ShiftedExponential(scale, shift)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from statveil.problem.domain import Param
from statveil.problem.families.exponential import ExponentialShape
from statveil.problem.location_scale import Form

__all__ = ["ShiftedExponential"]


class ShiftedExponential(ExponentialShape):
    """Exponential distribution with mean excess ``scale``, from ``shift`` up."""

    name: ClassVar[str] = "shifted-exponential"
    doc: ClassVar[str] = "exponential distribution from shift up: mean excess scale"
    secrets: ClassVar[tuple[str, ...]] = ("mean", "std", "quantile")
    quantile_ends: ClassVar[tuple[bool, bool]] = (True, False)
    coordinates: ClassVar[Mapping[str, Form]] = {"scale": {"scale": 1.0}, "shift": {"shift": 1.0}}
    location: ClassVar[str | None] = "shift"
    shift: ClassVar[Form] = {"shift": 1.0}
    loc_form: ClassVar[Form] = {"shift": 1.0}
    scale_form: ClassVar[Form] = {"scale": 1.0}
    minimum: ClassVar[str | float | None] = "shift"

    @property
    def params(self) -> tuple[Param, ...]:
        return (
            Param(name="scale", low=0.0, typical=(0.5, 20.0), doc="mean above the shift"),
            Param(name="shift", typical=(-10.0, 10.0), doc="smallest value"),
        )

    def direction(self, slope: float) -> Form:
        return {"scale": 1.0, "shift": -slope}

    def slope_of(self, direction: Form) -> float | None:
        rise = direction.get("scale", 0.0)
        return -direction.get("shift", 0.0) / rise if rise else None

    def shift_optimum(self, q: float) -> tuple[float | None, float]:
        slope = _quantile_slope(q)  # Corollary 2
        return slope, 0.5 if slope is None else abs(0.5 - math.exp(-slope))

    def scale_optimum(self) -> tuple[float | None, float]:
        return math.log(2), math.log(2) / 2  # Corollary 5


def _quantile_slope(q: float) -> float | None:
    """The paper's t0 by Lambert W; ``None`` (pure shift) where the quantile is the mean.

    At q = 1 (alpha = 1 - 1/e) the argument of W is 0 and the printed gamma is 0/0; gamma tends to 1/2.
    """
    from scipy.special import lambertw

    excess = q - 1
    if abs(excess) < 1e-15:
        return None
    argument = 0.5 * excess * math.exp(excess)
    branch = -1 if excess < 0 else 0
    value = float(np.real(lambertw(argument, branch)))
    return excess - value if math.isfinite(value) else None
