"""Every row moves by one number."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import Continuous, Moved
from statveil.problem.location_scale import LocationScale

__all__ = ["ShiftMode"]


class ShiftMode(Continuous):
    """x + b."""

    name: ClassVar[str] = "shift"
    says: ClassVar[str] = "shift every value by one number (x + b)"

    def goes(self, family: LocationScale, moved: Moved) -> bool:
        return bool(family.shift) and moved == dict(family.shift)
