"""Every row is scaled and shifted."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import Continuous, Moved
from statveil.modes.scale import ScaleMode
from statveil.modes.shift import ShiftMode
from statveil.problem.location_scale import LocationScale

__all__ = ["AffineMode"]


class AffineMode(Continuous):
    """a x + b: what neither a shift nor a scaling does alone."""

    name: ClassVar[str] = "affine"
    says: ClassVar[str] = "scale and shift every value (a x + b)"
    stretches: ClassVar[bool] = True

    def goes(self, family: LocationScale, moved: Moved) -> bool:
        return not ShiftMode().goes(family, moved) and not ScaleMode().goes(family, moved)
